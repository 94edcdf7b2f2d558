/* SPDX-License-Identifier: Apache-2.0
 *
 * What train.cu learns: a short text, written for it, of lower-case letters and little else, so
 * that 64 symbols are more than enough.
 */
#ifndef TRAIN_TEXT_H
#define TRAIN_TEXT_H

static const char train_text[] =
    "the harbour at first light is a quiet place. the boats lie side by side and the water "
    "is so still that every mast stands twice, once in the air and once below it. an old man "
    "walks along the wall with a lamp in his hand. he puts out the lights one by one, as he "
    "has done for forty years, and at each of them he stops and looks at the sea. then the "
    "gulls wake, and after the gulls the men, and after the men the engines, and the day "
    "begins.\n"
    "a boat goes out with bread and rope and ice, and it comes back with fish or without. "
    "nobody on the wall asks which. they see how deep she lies in the water, and they know. "
    "a boat that lies deep is met with baskets and with jokes. a boat that rides high is met "
    "with silence, and somebody puts a hand on the skipper's arm, and they talk about the "
    "weather.\n"
    "there is a house above the harbour with a green door. the woman who lives there keeps a "
    "book. each evening she writes down which boats have come in and at what hour, and what "
    "the wind was, and whether there was fog. her mother kept the book before her, and her "
    "grandmother before that. on the first page it says: write what you saw, and not what "
    "you think you saw. the wind of every day of ninety years is in that book, and it has "
    "never been wrong.\n"
    "one winter a clerk came from the town. he wanted to know how much fish the harbour "
    "could bring in if it had more boats. he measured the wall and counted the boats, and he "
    "worked it out with a pencil: so many boats, so many trips, so much fish. the old man "
    "with the lamp listened to him. it is not the boats, he said. look at the gate. two "
    "boats can pass the gate when the tide is high and one when it is low. you may have a "
    "hundred boats, and they will stand in a row outside the gate and wait. the clerk looked "
    "at the gate. then he rubbed out what he had written, and began again with the tide.\n"
    "so the harbour widened the gate and not the fleet. the first year it brought in half as "
    "much fish again, with the same boats and the same men. the year after that it was the "
    "ice that ran short, and then the carts, and then the road to the town. there is always "
    "something that is the narrowest, said the old man. the trick is to know which it is "
    "today. he wrote nothing down himself. but the woman with the green door did, and it is "
    "all in the book: the tide, the gate, the ice, the carts, the road, and how the harbour "
    "grew by looking, each time, at the one thing that held it back.\n"
    "the children of the harbour learn to count on the boats and to read on the book. they "
    "read aloud, in the evening, with the window open: wind from the west, a little rain, "
    "four boats in before dark and one after. and the one after is always the part they like "
    "best, because somebody stood on the wall with a lamp and waited for it, and it came.\n";

#endif
