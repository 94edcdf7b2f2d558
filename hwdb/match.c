/* SPDX-License-Identifier: Apache-2.0
 *
 * Finding a device by what a person types, and by what a profiler or a driver says of it. Names are
 * compared without case, punctuation and vendor words, so that "NVIDIA A100-SXM4-80GB",
 * "A100_SXM4_80GB" and "a100 sxm4 80gb" are one.
 */
#include "hwdb/internal.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME = 128, WORDS = 24 };

/* A name cut into words of letters and digits, lower case, vendor words left out. */
typedef struct words {
    char text[NAME];
    const char *word[WORDS];
    size_t n;
    char squeezed[NAME]; /* all words in a row */
} words;

static bool is_vendor_word(const char *word) {
    static const char *const vendor[] = {"nvidia",   "tesla",  "geforce", "amd",
                                         "instinct", "google", "intel"};
    for (size_t i = 0; i < sizeof vendor / sizeof *vendor; i++)
        if (!strcmp(word, vendor[i]))
            return true;
    return false;
}

static void split(const char *name, size_t length, words *w) {
    size_t n = 0;

    *w = (words){0};
    for (size_t i = 0; i <= length && n + 1 < NAME && w->n < WORDS; i++) {
        unsigned char c = i < length ? (unsigned char)name[i] : 0;
        if (isalnum(c) && c < 128) {
            w->text[n++] = (char)tolower(c);
            continue;
        }
        const char *start = n && w->n ? w->word[w->n - 1] + strlen(w->word[w->n - 1]) + 1 : w->text;
        w->text[n] = 0;
        if (!*start || start >= w->text + n)
            continue;
        if (is_vendor_word(start)) {
            n = (size_t)(start - w->text);
            memset(w->text + n, 0, NAME - n);
            continue;
        }
        w->word[w->n++] = start;
        n++;
    }
    for (size_t i = 0; i < w->n; i++)
        strcat(w->squeezed, w->word[i]);
}

/* Calls for each item of a ;-separated list; stops and returns true when VISIT does. */
static bool each_item(const char *list, bool (*visit)(const words *item, void *context),
                      void *context) {
    for (const char *p = list; p && *p;) {
        size_t n = strcspn(p, ";");
        words item;
        split(p, n, &item);
        if (item.n && visit(&item, context))
            return true;
        p += n + (p[n] == ';');
    }
    return false;
}

static bool each_name(const rp_device *d, bool (*visit)(const words *item, void *context),
                      void *context) {
    return each_item(d->name, visit, context) || each_item(d->aliases, visit, context) ||
           each_item(d->device_names, visit, context);
}

static bool is_same(const words *item, void *context) {
    return !strcmp(item->squeezed, ((const words *)context)->squeezed);
}

/* Every word asked for is a word of the name; letters alone may be its beginning ("sxm": SXM5). */
static bool has_words(const words *item, void *context) {
    const words *asked = context;
    for (size_t a = 0; a < asked->n; a++) {
        bool found = false;
        for (size_t i = 0; i < item->n && !found; i++) {
            size_t n = strlen(asked->word[a]);
            found = !strcmp(item->word[i], asked->word[a]) ||
                    (!strpbrk(asked->word[a], "0123456789") &&
                     !strncmp(item->word[i], asked->word[a], n) &&
                     isdigit((unsigned char)item->word[i][n]));
        }
        if (!found)
            return false;
    }
    return asked->n > 0;
}

/* ---- PCI ids --------------------------------------------------------------------------------- */

/* "10de:2330", "0x10DE:0x2330": the device part, if the vendor is that of the device's row. */
static bool has_pci_id(const rp_device *d, const char *id) {
    unsigned vendor, device;
    char text[8];
    int used = 0;

    if (sscanf(id, "%x:%x%n", &vendor, &device, &used) != 2 || id[used])
        return false;
    if (vendor != (!strcmp(d->vendor, "NVIDIA") ? 0x10deu
                   : !strcmp(d->vendor, "AMD")  ? 0x1002u
                                                : 0u))
        return false;
    snprintf(text, sizeof text, "%04x", device & 0xffff);
    return rp_list_has(d->pci_ids, text);
}

static bool looks_like_pci_id(const char *name) {
    unsigned vendor, device;
    int used = 0;
    return sscanf(name, "%x:%x%n", &vendor, &device, &used) == 2 && !name[used] && vendor >= 0x1000;
}

/* ---- Chip, SMs and memory clock -------------------------------------------------------------- */

static bool has_chip(const rp_device *d, const char *chip) {
    size_t n = strlen(chip);
    for (const char *p = d->chip; n && p && *p; p = strchr(p, '/') ? strchr(p, '/') + 1 : NULL)
        if (!strncasecmp(p, chip, n) && (p[n] == '/' || !p[n]))
            return true;
    return false;
}

static bool close_to(double a, double b, double tolerance) {
    return !isnan(a) && !isnan(b) && fabs(a - b) <= tolerance * b;
}

/* ---- A person's words ------------------------------------------------------------------------ */

static size_t edit_distance(const char *a, const char *b) {
    size_t row[NAME + 1], n = strlen(b);

    for (size_t j = 0; j <= n; j++)
        row[j] = j;
    for (size_t i = 1; a[i - 1]; i++) {
        size_t corner = row[0];
        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            size_t above = row[j], best = corner + (a[i - 1] != b[j - 1]);
            if (above + 1 < best)
                best = above + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            row[j] = best;
            corner = above;
        }
    }
    return row[n];
}

typedef struct nearness {
    const words *asked;
    size_t best;
} nearness;

static bool measure(const words *item, void *context) {
    nearness *near = context;
    size_t d = edit_distance(near->asked->squeezed, item->squeezed);
    if (d < near->best)
        near->best = d;
    return false;
}

static rp_code unknown(const rp_hwdb *db, const char *name, const words *asked, rp_error *error) {
    enum { SHOWN = 5 };
    const rp_device *device[SHOWN] = {0};
    size_t distance[SHOWN];
    char list[512] = "";

    for (size_t i = 0; i < db->device_count; i++) {
        nearness near = {asked, NAME};
        each_name(&db->devices[i], measure, &near);
        for (size_t s = 0; s < SHOWN; s++) {
            if (device[s] && distance[s] <= near.best)
                continue;
            memmove(device + s + 1, device + s, (SHOWN - s - 1) * sizeof *device);
            memmove(distance + s + 1, distance + s, (SHOWN - s - 1) * sizeof *distance);
            device[s] = &db->devices[i];
            distance[s] = near.best;
            break;
        }
    }
    for (size_t s = 0; s < SHOWN && device[s]; s++)
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", s ? ", " : "",
                 device[s]->name);
    return rp_fail(error, RP_INPUT,
                   "no device \"%.80s\" in the hardware database; the nearest names are %s. "
                   "`roofprof devices` lists all; --hwdb FILE adds your own",
                   name, list);
}

/* Fills db->found with the devices for which TEST holds; returns how many. */
static size_t collect(const rp_hwdb *db, bool (*test)(const rp_device *, const void *),
                      const void *context) {
    size_t n = 0;
    for (size_t i = 0; i < db->device_count; i++)
        if (test(&db->devices[i], context))
            db->found[n++] = &db->devices[i];
    db->found[n] = NULL;
    return n;
}

static bool test_name(const rp_device *d, const void *asked) {
    return each_item(d->name, is_same, (void *)(uintptr_t)asked);
}

static bool test_alias(const rp_device *d, const void *asked) {
    return each_item(d->aliases, is_same, (void *)(uintptr_t)asked);
}

static bool test_device_name(const rp_device *d, const void *asked) {
    return each_item(d->device_names, is_same, (void *)(uintptr_t)asked);
}

static bool test_words(const rp_device *d, const void *asked) {
    return each_name(d, has_words, (void *)(uintptr_t)asked);
}

static bool test_pci(const rp_device *d, const void *id) {
    return has_pci_id(d, id);
}

typedef struct shape {
    char chip[32];
    long sms;
    double memory_mhz; /* NaN not given */
} shape;

static bool test_shape(const rp_device *d, const void *context) {
    const shape *s = context;
    return has_chip(d, s->chip) && d->sm_count == s->sms &&
           (isnan(s->memory_mhz) || close_to(d->memory_hz, s->memory_mhz * 1e6, 0.02));
}

static bool parse_shape(const char *name, shape *s) {
    int used = 0;
    s->memory_mhz = NAN;
    if (sscanf(name, "%31[A-Za-z0-9]:%ld:%lf%n", s->chip, &s->sms, &s->memory_mhz, &used) == 3 &&
        !name[used])
        return true;
    s->memory_mhz = NAN;
    return sscanf(name, "%31[A-Za-z0-9]:%ld%n", s->chip, &s->sms, &used) == 2 && !name[used];
}

/* Takes DEVICE out of db->found and leaves the rest as "others". */
static void leave_others(const rp_hwdb *db, const rp_device *device) {
    size_t n = 0;
    for (size_t i = 0; db->found[i]; i++)
        if (db->found[i] != device)
            db->found[n++] = db->found[i];
    db->found[n] = NULL;
}

static rp_code ambiguous(const rp_hwdb *db, const char *name, rp_error *error) {
    char list[1024] = "";
    for (size_t i = 0; db->found[i] && strlen(list) < 900; i++)
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", i ? ", " : "",
                 db->found[i]->name);
    return rp_fail(error, RP_INPUT, "\"%.80s\" may be any of: %s; say which", name, list);
}

/* Of db->found the user's own record, if there is one: a person's name for a thing counts more. */
static const rp_device *first_found(const rp_hwdb *db) {
    for (size_t i = 0; db->found[i]; i++)
        if (db->found[i]->user)
            return db->found[i];
    return db->found[0];
}

/* The device that ASKED names: by its name in the table, as a documented default, or as a driver
 * calls it. Fills db->found with all that the words may mean. */
static const rp_device *find_by_words(const rp_hwdb *db, const words *asked) {
    const rp_device *exact = NULL;

    if (collect(db, test_name, asked))
        return db->found[0];
    if (collect(db, test_alias, asked) || collect(db, test_device_name, asked))
        exact = first_found(db);
    collect(db, test_words, asked);
    return exact;
}

rp_code rp_hwdb_find(const rp_hwdb *db, const char *name, const rp_device **device,
                     const rp_device *const **others, rp_error *error) {
    words asked;
    shape s;
    const rp_device *exact = NULL;

    *device = NULL;
    db->found[0] = NULL;
    split(name, strlen(name), &asked);
    if (looks_like_pci_id(name)) {
        collect(db, test_pci, name);
        exact = db->found[0];
    } else if (parse_shape(name, &s)) {
        collect(db, test_shape, &s);
        exact = db->found[0];
    } else if (asked.n) {
        exact = find_by_words(db, &asked);
    }
    if (!exact && !db->found[0])
        return unknown(db, name, &asked, error);
    if (!exact && db->found[1])
        return ambiguous(db, name, error);
    *device = exact ? exact : db->found[0];
    leave_others(db, *device);
    if (others)
        *others = db->found;
    return RP_OK;
}

/* ---- A device seen at run time --------------------------------------------------------------- */

/* How many of the numbers that both know differ (memory: 8 %, as labels and drivers do). */
static int contradictions(const rp_device *d, const rp_device_identity *id) {
    int n = 0;
    if (id->sm_count > 0 && d->sm_count > 0)
        n += id->sm_count != d->sm_count ? 4 : 0;
    if (id->memory_bytes > 0 && d->memory_bytes > 0)
        n += close_to((double)id->memory_bytes, (double)d->memory_bytes, 0.08) ? 0 : 2;
    /* A clock that follows from the printed bandwidth is as rounded as that is. */
    double tolerance = rp_list_has(d->derived, "memory_mhz") ? 0.04 : 0.02;
    if (id->memory_clock_hz > 0 && d->memory_hz > 0)
        n += close_to(id->memory_clock_hz, d->memory_hz, tolerance) ? 0 : 1;
    return n;
}

/* The best of db->found for ID; TIED: another one fits as well. */
static const rp_device *best_found(const rp_hwdb *db, const rp_device_identity *id, bool *tied) {
    const rp_device *best = NULL;
    int least = 0;

    *tied = false;
    for (size_t i = 0; db->found[i]; i++) {
        int c = contradictions(db->found[i], id);
        if (best && c == least)
            *tied = true;
        if (best && c >= least)
            continue;
        best = db->found[i];
        least = c;
        *tied = false;
    }
    return best;
}

static bool test_identity(const rp_device *d, const void *context) {
    const rp_device_identity *id = context;
    bool same_chip = id->chip && *id->chip ? has_chip(d, id->chip)
                                           : id->cc_major >= 0 && d->cc_major == id->cc_major &&
                                                 d->cc_minor == id->cc_minor;
    return same_chip && id->sm_count > 0 && d->sm_count == id->sm_count &&
           contradictions(d, id) == 0 &&
           ((id->memory_clock_hz > 0 && d->memory_hz > 0) ||
            (id->memory_bytes > 0 && d->memory_bytes > 0));
}

/* A slice of a device (MIG): its share of the SMs computes, its share of the memory is read. */
static void make_slice(const rp_hwdb *db, const rp_device *whole, const rp_device_identity *id,
                       rp_device_match *match) {
    rp_ceiling_list list = {.items = match->derived_ceilings,
                            .room =
                                sizeof match->derived_ceilings / sizeof *match->derived_ceilings,
                            .bounded = true};
    const rp_ceiling *dram = rp_device_bandwidth(whole, RP_DRAM);
    rp_device *d = &match->derived;

    *d = *whole;
    d->sm_count = id->sm_count;
    d->memory_bus_bits = -1;
    rp_ceilings_theoretical(db, d, &list);
    if (dram && id->memory_bytes > 0 && whole->memory_bytes > 0) {
        double eighths = ceil(8 * (double)id->memory_bytes / (double)whole->memory_bytes - 0.05);
        rp_ceiling c = *dram;
        c.rate *= eighths / 8;
        c.provenance = RP_ESTIMATED;
        c.source = "the device's bandwidth x the slice's share of its memory";
        rp_ceilings_add(&list, &c);
        d->memory_bytes = id->memory_bytes;
        d->memory_bytes_reported = true;
    }
    d->ceilings = match->derived_ceilings;
    d->ceiling_count = list.count;
    match->device = NULL;
    snprintf(match->how, sizeof match->how, "derived: a slice of %s with %lld SMs", whole->name,
             (long long)id->sm_count);
    match->certain = false;
}

/* No row: SMs x operations per clock of the compute capability x clock. */
static bool make_derived(const rp_hwdb *db, const rp_device_identity *id, rp_device_match *match) {
    rp_ceiling_list list = {.items = match->derived_ceilings,
                            .room =
                                sizeof match->derived_ceilings / sizeof *match->derived_ceilings,
                            .bounded = true};
    rp_device *d = &match->derived;
    bool geforce = id->name && strcasestr(id->name, "geforce");

    if (id->cc_major < 0 || id->sm_count <= 0 || !(id->sm_clock_hz > 0))
        return false;
    *d = (rp_device){.name = id->name ? id->name : "",
                     .vendor = "NVIDIA",
                     .arch = "",
                     .chip = id->chip ? id->chip : "",
                     .variant = geforce ? "geforce" : "",
                     .aliases = "",
                     .cc_major = id->cc_major,
                     .cc_minor = id->cc_minor,
                     .sm_count = id->sm_count,
                     .boost_hz = id->sm_clock_hz,
                     .tensor_hz = NAN,
                     .memory_hz = id->memory_clock_hz > 0 ? id->memory_clock_hz : NAN,
                     .memory_bytes = id->memory_bytes,
                     .memory_bytes_reported = id->memory_bytes > 0,
                     .memory_label_gb = NAN,
                     .memory_type = "",
                     .memory_bus_bits = id->memory_bus_bits,
                     .l2_bytes = -1,
                     .shared_bytes_per_sm = -1,
                     .tdp_w = NAN,
                     .sparse_factor = id->cc_major >= 8 ? 2 : 1,
                     .nvlink_bytes_per_s = NAN,
                     .pcie_bytes_per_s = NAN,
                     .pcie = "",
                     .pci_ids = "",
                     .device_names = "",
                     .derived = "",
                     .flags = "",
                     .ops_check = "",
                     .source = "",
                     .note = ""};
    snprintf(d->compute_capability, sizeof d->compute_capability, "%d.%d", id->cc_major,
             id->cc_minor);
    rp_ceilings_theoretical(db, d, &list);
    d->ceilings = match->derived_ceilings;
    d->ceiling_count = list.count;
    snprintf(match->how, sizeof match->how,
             "derived: %lld SMs x operations per clock of compute capability %s x %.0f MHz",
             (long long)id->sm_count, d->compute_capability, id->sm_clock_hz / 1e6);
    match->certain = false;
    return true;
}

/* The name without a MIG suffix ("NVIDIA A100-SXM4-40GB MIG 1g.5gb"). */
static size_t plain_length(const char *name, bool *slice) {
    const char *mig = strstr(name, " MIG ");
    *slice = mig != NULL;
    return mig ? (size_t)(mig - name) : strlen(name);
}

static bool goes_by(const rp_device *d, const char *name) {
    words asked;
    bool slice;
    split(name, plain_length(name, &slice), &asked);
    return each_name(d, is_same, &asked);
}

/* An id that several products carry counts only where the name does not speak against it. */
static bool match_by_pci(const rp_hwdb *db, const rp_device_identity *id, rp_device_match *match) {
    bool tied, shared;

    if (!id->pci_id || !*id->pci_id || !collect(db, test_pci, id->pci_id))
        return false;
    match->device = best_found(db, id, &tied);
    shared = rp_list_has(match->device->flags, "pci_shared");
    if (shared && id->name && *id->name && !goes_by(match->device, id->name)) {
        match->device = NULL;
        return false;
    }
    match->certain = !tied && !(shared && !(id->name && *id->name));
    snprintf(match->how, sizeof match->how, "PCI id");
    return true;
}

static bool match_by_name(const rp_hwdb *db, const rp_device_identity *id, rp_device_match *match,
                          bool *slice) {
    words asked;
    bool tied = false;
    size_t n;

    if (!id->name || !*id->name)
        return false;
    split(id->name, plain_length(id->name, slice), &asked);
    /* What a driver calls a part is one row's; a looser name ("A100") may be any of several, and
     * its numbers decide. */
    n = collect(db, test_device_name, &asked);
    if (!n)
        n = collect(db, test_name, &asked);
    if (!n || (n == 1 && contradictions(db->found[0], id) && !*slice))
        n = collect(db, test_words, &asked);
    if (!n)
        return false;
    match->device = best_found(db, id, &tied);
    if (!*slice && contradictions(match->device, id) >= 4) {
        match->device = NULL;
        return false;
    }
    match->certain = !tied && contradictions(match->device, id) == 0;
    snprintf(match->how, sizeof match->how, "name");
    return true;
}

/* How well a calibrated record fits the device as it is now. */
typedef enum fit {
    FIT_FOREIGN, /* made on another device of this name */
    FIT_POWER,   /* at another power limit: it clocks differently */
    FIT_DRIVER,  /* under another driver: little changes, as a rule */
    FIT_WHOLE    /* as far as is known; whatever is not calibrated */
} fit;

static bool differ(const char *a, const char *b) {
    return a && *a && b && *b && strcmp(a, b) != 0;
}

static fit fit_of(const rp_ceiling *c, const rp_device_identity *id) {
    if (c->provenance != RP_CALIBRATED)
        return FIT_WHOLE;
    if (differ(c->uuid, id->uuid))
        return FIT_FOREIGN;
    if (c->power_limit_w > 0 && id->power_limit_w > 0 &&
        !close_to(c->power_limit_w, id->power_limit_w, 0.01))
        return FIT_POWER;
    return differ(c->driver, id->driver) ? FIT_DRIVER : FIT_WHOLE;
}

/* Whether another calibrated record of the same ceiling fits better than C, whose fit is WORSE. */
static bool is_replaced(const rp_device *row, const rp_ceiling *c, const rp_device_identity *id,
                        fit worse) {
    char key[64], other[64];
    rp_ceiling_key(c, key, sizeof key);
    for (size_t i = 0; i < row->ceiling_count; i++) {
        const rp_ceiling *o = &row->ceilings[i];
        rp_ceiling_key(o, other, sizeof other);
        if (o->provenance == RP_CALIBRATED && fit_of(o, id) > worse && !strcmp(key, other))
            return true;
    }
    return false;
}

/* Says which records count though the driver is another, or do not count for the power limit. */
static void describe_calibration(const rp_device *row, const rp_device_identity *id,
                                 rp_device_match *match) {
    const rp_ceiling *driver = NULL, *power = NULL;

    for (size_t i = 0; i < row->ceiling_count; i++) {
        const rp_ceiling *c = &row->ceilings[i];
        fit f = fit_of(c, id);
        if ((f == FIT_DRIVER || f == FIT_POWER) && is_replaced(row, c, id, f))
            continue;
        if (f == FIT_DRIVER && !driver)
            driver = c;
        if (f == FIT_POWER && !power)
            power = c;
    }
    if (driver)
        snprintf(
            match->calibration, sizeof match->calibration,
            "calibrated%s%.10s under driver %.40s, not %.40s as here: calibrate again if in doubt",
            *driver->date ? " on " : "", driver->date, driver->driver, id->driver);
    else if (power)
        snprintf(match->calibration, sizeof match->calibration,
                 "the calibration%s%.10s is of a power limit of %.0f W, not %.0f W as here: it "
                 "does not count, calibrate again",
                 *power->date ? " of " : "", power->date, power->power_limit_w, id->power_limit_w);
}

/* Leaves out the records that do not fit and moves those of another driver behind the others. */
static void choose_records(rp_device_match *match, const rp_device_identity *id) {
    const rp_device *row = match->device;
    const size_t room = sizeof match->derived_ceilings / sizeof *match->derived_ceilings;
    static const fit passes[] = {FIT_WHOLE, FIT_DRIVER};
    size_t whole = 0, n = 0;

    for (size_t i = 0; row && i < row->ceiling_count; i++)
        whole += fit_of(&row->ceilings[i], id) == FIT_WHOLE;
    if (!row || whole == row->ceiling_count)
        return;
    describe_calibration(row, id, match);
    for (size_t p = 0; p < sizeof passes / sizeof *passes; p++)
        for (size_t i = 0; i < row->ceiling_count && n < room; i++)
            if (fit_of(&row->ceilings[i], id) == passes[p])
                match->derived_ceilings[n++] = row->ceilings[i];
    match->derived = *row;
    match->derived.ceilings = match->derived_ceilings;
    match->derived.ceiling_count = n;
    match->device = &match->derived;
}

rp_code rp_hwdb_match(const rp_hwdb *db, const rp_device_identity *id, rp_device_match *match,
                      rp_error *error) {
    bool slice = false, tied;

    *match = (rp_device_match){0};
    if (id->name)
        plain_length(id->name, &slice);
    if (match_by_pci(db, id, match) || match_by_name(db, id, match, &slice)) {
        if (id->sm_count > 0 && match->device->sm_count > id->sm_count && slice)
            make_slice(db, match->device, id, match);
        choose_records(match, id);
        return RP_OK;
    }
    if (collect(db, test_identity, id)) {
        match->device = best_found(db, id, &tied);
        match->certain = false;
        snprintf(match->how, sizeof match->how, "%s, SM count and memory",
                 id->chip && *id->chip ? "chip" : "compute capability");
        choose_records(match, id);
        return RP_OK;
    }
    if (make_derived(db, id, match))
        return RP_OK;
    return rp_fail(
        error, RP_INPUT,
        "the device \"%.80s\" is not in the hardware database and too little is known of "
        "it (compute capability, SM count, clock); name one with --device",
        id->name && *id->name ? id->name : "(no name)");
}
