/* SPDX-License-Identifier: Apache-2.0
 *
 * A fuzz target as a plain test, for any compiler: each seed as it is, then N mutations of it, the
 * same on every run. usage: driver N SEED-OR-FOLDER...
 *
 * It finds what careless parsing gets wrong; libFuzzer, which follows the code, finds the rest.
 */
#include "input.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { LONGEST = 1 << 20, GROWTH = 4096 };

static uint64_t random_state;
static unsigned long inputs;

/* splitmix64 */
static uint64_t next_random(void) {
    uint64_t z = (random_state += UINT64_C(0x9E3779B97F4A7C15));
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

static size_t below(size_t n) {
    return n ? (size_t)(next_random() % n) : 0;
}

/* What parsers trip over. */
static const char *const tokens[] = {"\"",
                                     ",",
                                     "\n",
                                     "{",
                                     "}",
                                     "[",
                                     "]",
                                     ":",
                                     "\\u",
                                     "NaN",
                                     "-1",
                                     "0",
                                     "1e999",
                                     "18446744073709551616",
                                     "-9223372036854775808",
                                     "n/a",
                                     "\xff",
                                     "\xEF\xBB\xBF",
                                     "(",
                                     ")",
                                     "==1== ",
                                     "%"};

static size_t insert_token(uint8_t *data, size_t size, size_t room) {
    const char *token = tokens[below(sizeof tokens / sizeof *tokens)];
    size_t n = strlen(token), at = below(size + 1);
    if (size + n > room)
        return size;
    memmove(data + at + n, data + at, size - at);
    memcpy(data + at, token, n);
    return size + n;
}

static size_t drop_part(uint8_t *data, size_t size) {
    size_t at = below(size), n = 1 + below(size - at < 64 ? size - at : 64);
    n = n < size - at ? n : size - at;
    memmove(data + at, data + at + n, size - at - n);
    return size - n;
}

static size_t repeat_part(uint8_t *data, size_t size, size_t room) {
    size_t at = below(size), n = 1 + below(200);
    n = n < size - at ? n : size - at;
    if (size + n > room)
        return size;
    memmove(data + at + n, data + at, size - at);
    return size + n;
}

static size_t mutate(uint8_t *data, size_t size, size_t room) {
    switch (size ? below(7) : 6) {
    case 0:
        data[below(size)] ^= (uint8_t)(1u << below(8));
        return size;
    case 1:
        data[below(size)] = (uint8_t)below(256);
        return size;
    case 2:
        return drop_part(data, size);
    case 3:
        return repeat_part(data, size, room);
    case 4:
        return below(8) ? size : below(size); /* cut off, now and then */
    case 5:
        memset(data + below(size), below(2) ? 0xff : 0, 1);
        return size;
    default:
        return insert_token(data, size, room);
    }
}

static void run(const char *path, unsigned long mutations) {
    static uint8_t seed[LONGEST], data[LONGEST + GROWTH];
    FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        exit(1);
    }
    size_t size = fread(seed, 1, sizeof seed, file);
    fclose(file);
    LLVMFuzzerTestOneInput(seed, size);
    inputs++;
    random_state = size;
    for (unsigned long i = 0; i < mutations; i++) {
        size_t n = size;
        memcpy(data, seed, size);
        for (size_t steps = 1 + below(6); steps-- > 0;)
            n = mutate(data, n, sizeof data);
        LLVMFuzzerTestOneInput(data, n);
        inputs++;
    }
}

static int by_name(const struct dirent **a, const struct dirent **b) {
    return strcmp((*a)->d_name, (*b)->d_name);
}

static void run_folder(const char *folder, unsigned long mutations) {
    struct dirent **entries;
    int n = scandir(folder, &entries, NULL, by_name);
    for (int i = 0; i < n; i++) {
        char path[4096];
        struct stat info;
        snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
        if (stat(path, &info) == 0 && S_ISREG(info.st_mode))
            run(path, mutations);
        free(entries[i]);
    }
    if (n >= 0)
        free(entries);
}

int main(int argc, char **argv) {
    if (argc < 3) {
        fprintf(stderr, "usage: %s MUTATIONS SEED-OR-FOLDER...\n", argv[0]);
        return 2;
    }
    unsigned long mutations = strtoul(argv[1], NULL, 10);
    for (int i = 2; i < argc; i++) {
        struct stat info;
        if (stat(argv[i], &info) == 0 && S_ISDIR(info.st_mode))
            run_folder(argv[i], mutations);
        else
            run(argv[i], mutations);
    }
    printf("%lu inputs\n", inputs);
    return inputs > 1 ? 0 : 1; /* no seed: nothing was tested */
}
