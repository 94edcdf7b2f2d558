/* SPDX-License-Identifier: Apache-2.0
 *
 * CUDA_VISIBLE_DEVICES: visible.h has the contract.
 */
#include "emulator/cudart/visible.h"
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

void emu_device_uuid(int physical, char bytes[16], char text[EMU_UUID_TEXT]) {
    char said[17] = "";
    snprintf(said, sizeof said, "emulated %d", physical);
    memcpy(bytes, said, 16);
    char *to = text ? text + sprintf(text, "GPU-") : NULL;
    for (int i = 0; to && i < 16; i++)
        to += sprintf(to, i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x",
                      (unsigned char)bytes[i]);
}

/* The one device whose UUID begins like this; -1: none, or several. */
static int by_uuid(const char *entry, size_t length, int count) {
    int found = -1;
    for (int i = 0; i < count; i++) {
        char bytes[16], text[EMU_UUID_TEXT];
        emu_device_uuid(i, bytes, text);
        if (length > strlen(text) || strncasecmp(entry, text, length) != 0)
            continue;
        if (found >= 0)
            return -1;
        found = i;
    }
    return found;
}

/* As strtol reads it: what follows the digits is not looked at. */
static int by_number(const char *entry, int count) {
    char *end;
    long number = strtol(entry, &end, 10);
    return end == entry || number < 0 || number >= count ? -1 : (int)number;
}

static int device_of(const char *entry, size_t length, int count) {
    if (length > 4 && strncmp(entry, "GPU-", 4) == 0)
        return by_uuid(entry, length, count);
    return by_number(entry, count);
}

static bool contains(const int *order, int n, int device) {
    for (int i = 0; i < n; i++)
        if (order[i] == device)
            return true;
    return false;
}

/* The devices that are named, in ORDER; how many. */
static int read_list(const char *list, int count, int order[]) {
    int n = 0;
    while (*list) {
        list += strspn(list, " \t");
        size_t length = strcspn(list, ",");
        int device = device_of(list, length, count);
        if (device < 0)
            return n;
        if (contains(order, n, device))
            return 0;
        order[n++] = device;
        list += length + (list[length] == ',');
    }
    return n;
}

int emu_visible_devices(const char *list, int count, int order[]) {
    int visible = 0;
    if (list)
        visible = read_list(list, count, order);
    int n = visible;
    for (int i = 0; i < count; i++)
        if (!contains(order, n, i))
            order[n++] = i;
    return list ? visible : count;
}
