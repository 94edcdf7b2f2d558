/* SPDX-License-Identifier: Apache-2.0
 *
 * Texels: what the bytes of one mean, as floats, as integers, and back. */
#include "emulator/machine/lanes.h"
#include "emulator/texture/texture.h"

#include <pthread.h>

bool emu_texel_valid(emu_texel t) {
    const bool count = t.channels == 1 || t.channels == 2 || t.channels == 4;
    switch (t.channel) {
    case EMU_CHANNEL_UINT:
    case EMU_CHANNEL_SINT:
        return count && (t.bits == 8 || t.bits == 16 || t.bits == 32);
    case EMU_CHANNEL_FLOAT:
        return count && (t.bits == 16 || t.bits == 32);
    case EMU_CHANNEL_UNORM:
    case EMU_CHANNEL_SNORM:
        return count && (t.bits == 8 || t.bits == 16);
    }
    return false;
}

bool emu_texel_reads_float(emu_texel t, bool normalized) {
    return t.channel >= EMU_CHANNEL_FLOAT || (normalized && t.bits < 32);
}

/* One channel as it is. */
static uint32_t load_channel(emu_texel t, const uint8_t *from, int channel) {
    const bool sign = t.channel == EMU_CHANNEL_SINT || t.channel == EMU_CHANNEL_SNORM;
    uint32_t word;
    uint16_t half;
    switch (t.bits) {
    case 8:
        return sign ? (uint32_t)(int32_t)(int8_t)from[channel] : from[channel];
    case 16:
        memcpy(&half, from + 2 * channel, 2);
        if (t.channel == EMU_CHANNEL_FLOAT)
            return bits_of_float(half_to_float(half));
        return sign ? (uint32_t)(int32_t)(int16_t)half : half;
    default:
        memcpy(&word, from + 4 * channel, 4);
        return word;
    }
}

void emu_texel_load(emu_texel t, const void *from, uint32_t value[4]) {
    value[1] = value[2] = 0;
    value[3] = t.channel == EMU_CHANNEL_FLOAT ? bits_of_float(1) : 1;
    for (int c = 0; c < t.channels; c++)
        value[c] = load_channel(t, from, c);
}

/* IEC 61966-2-1 */
static float srgb_table[256];

static void fill_srgb(void) {
    for (int i = 0; i < 256; i++) {
        double v = i / 255.0;
        srgb_table[i] = (float)(v <= 0.04045 ? v / 12.92 : pow((v + 0.055) / 1.055, 2.4));
    }
}

static float decode_srgb(uint32_t value) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, fill_srgb);
    return srgb_table[value & 255];
}

void emu_texel_load_float(emu_texel t, bool normalized, bool srgb, const void *from,
                          float value[4]) {
    const bool sign = t.channel == EMU_CHANNEL_SINT || t.channel == EMU_CHANNEL_SNORM;
    const float scale = t.channel == EMU_CHANNEL_FLOAT ? 1
                        : sign                         ? (float)((UINT64_C(1) << (t.bits - 1)) - 1)
                                                       : (float)((UINT64_C(1) << t.bits) - 1);
    value[1] = value[2] = 0;
    value[3] = 1;
    for (int c = 0; c < t.channels; c++) {
        const uint32_t bits = load_channel(t, from, c);
        if (t.channel == EMU_CHANNEL_FLOAT || !emu_texel_reads_float(t, normalized))
            value[c] = float_of_bits(bits);
        else if (sign)
            value[c] = fmaxf((float)(int32_t)bits / scale, -1);
        else if (srgb && t.bits == 8 && c < 3)
            value[c] = decode_srgb(bits);
        else
            value[c] = (float)bits / scale;
    }
}

/* A float on [LOW, 1] as an integer of SCALE steps to 1; not a number: 0. */
static uint32_t quantize(float value, float low, float scale) {
    if (!(value == value))
        return 0;
    value = value < low ? low : value > 1 ? 1 : value;
    return (uint32_t)(int32_t)rintf(value * scale);
}

static uint32_t convert(emu_texel t, uint32_t bits) {
    const uint32_t most = t.bits == 32 ? UINT32_MAX : (1u << t.bits) - 1;
    const int32_t high = (int32_t)(most >> 1), signed_bits = (int32_t)bits;
    switch (t.channel) {
    case EMU_CHANNEL_UINT:
        return bits > most ? most : bits;
    case EMU_CHANNEL_SINT:
        return (uint32_t)(signed_bits > high        ? high
                          : signed_bits < -high - 1 ? -high - 1
                                                    : signed_bits);
    case EMU_CHANNEL_FLOAT:
        return t.bits == 16 ? float_to_half(float_of_bits(bits)) : bits;
    case EMU_CHANNEL_UNORM:
        return quantize(float_of_bits(bits), 0, (float)most);
    case EMU_CHANNEL_SNORM:
        return quantize(float_of_bits(bits), -1, (float)high);
    }
    return 0;
}

void emu_texel_store(emu_texel t, void *to, const uint32_t value[4]) {
    for (int c = 0; c < t.channels; c++) {
        const uint32_t bits = convert(t, value[c]);
        /* the low bytes come first */
        memcpy((uint8_t *)to + t.bits / 8 * c, &bits, t.bits / 8);
    }
}
