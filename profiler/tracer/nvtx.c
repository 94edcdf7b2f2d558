/* SPDX-License-Identifier: Apache-2.0
 *
 * NVTX injection: see nvtx.h. The interface (module tables, slots, attribute layout) is that of the
 * public NVTX headers, version 2 and 3. A library that the user had injected is initialised first;
 * what it put into a slot is called before us.
 */
#include "tracer/nvtx.h"
#include "tracer/launches.h"
#include "tracer/names.h"
#include "tracer/select.h"
#include "tracer/writer.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

#define EXPORT __attribute__((visibility("default")))

enum { MODULE_CORE = 1, MODULE_CORE2 = 5, TABLE_CALLBACKS = 1 };
enum { /* slots of MODULE_CORE */
       CORE_START_EX = 4,
       CORE_START_A,
       CORE_START_W,
       CORE_END,
       CORE_PUSH_EX,
       CORE_PUSH_A,
       CORE_PUSH_W,
       CORE_POP
};
enum { /* slots of MODULE_CORE2 */
       CORE2_START = 2,
       CORE2_END,
       CORE2_PUSH,
       CORE2_POP,
       CORE2_REGISTER_A = 10,
       CORE2_REGISTER_W,
       CORE2_CREATE_A,
       CORE2_CREATE_W
};
enum { MESSAGE_ASCII = 1, MESSAGE_WIDE = 2, MESSAGE_REGISTERED = 3 };
enum { SLOTS = 16, DEPTH = 256, STARTED = 64 };

typedef struct attributes { /* nvtxEventAttributes_v2 */
    uint16_t version, size;
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type, reserved;
    uint64_t payload;
    int32_t message_type;
    const void *message;
} attributes;

typedef void (*function)(void);
typedef struct callbacks {
    size_t size;
    int (*get_table)(int module, function ***table, unsigned *count);
} callbacks;

typedef struct open_range {
    uint32_t id, name;
    uint64_t start_ns;
    const void *domain;
    bool selected; /* --range matches it or one around it */
} open_range;

/* One a thread that pushes. By pthread_getspecific, not _Thread_local: thread-local storage would
 * make the library need the dynamic loader by name. */
typedef struct range_stack {
    uint32_t depth; /* may be more than DEPTH: what is deeper is counted, not kept */
    open_range range[DEPTH];
} range_stack;
static pthread_key_t stack_key;
static pthread_once_t stack_once = PTHREAD_ONCE_INIT;

static open_range started[STARTED]; /* under the writer's lock; id SPOOL_NONE: free */
static _Atomic uint32_t next_id, started_now = SPOOL_NONE;
static atomic_int started_selected; /* how many of the started ones --range matches */
static atomic_bool in_use, abandoned;
static function next_core[SLOTS], next_core2[SLOTS];

int InitializeInjectionNvtx2(const void *(*get_export_table)(uint32_t));

bool nvtx_in_use(void) {
    return atomic_load(&in_use);
}

void nvtx_abandon(void) {
    atomic_store(&abandoned, true);
}

static void make_key(void) {
    if (pthread_key_create(&stack_key, free))
        atomic_store(&abandoned, true);
}

/* NULL: no memory, or (without MAKE) this thread has pushed nothing yet. */
static range_stack *stack_of_thread(bool make) {
    pthread_once(&stack_once, make_key);
    if (atomic_load(&abandoned))
        return NULL;
    range_stack *stack = pthread_getspecific(stack_key);
    if (!stack && make && (stack = calloc(1, sizeof *stack)) &&
        pthread_setspecific(stack_key, stack)) {
        free(stack);
        stack = NULL;
    }
    return stack;
}

uint32_t nvtx_current(void) {
    const range_stack *stack = stack_of_thread(false);
    if (!stack || !stack->depth)
        return atomic_load(&started_now);
    return stack->range[stack->depth <= DEPTH ? stack->depth - 1 : DEPTH - 1].id;
}

bool nvtx_selected(void) {
    const range_stack *stack = stack_of_thread(false);
    uint32_t depth = stack ? stack->depth <= DEPTH ? stack->depth : DEPTH : 0;
    return atomic_load(&started_selected) > 0 || (depth && stack->range[depth - 1].selected);
}

/* ---- Messages -------------------------------------------------------------------------------- */

static uint32_t name_of_wide(const wchar_t *text) {
    char narrow[1024];
    size_t n = 0;
    for (; text && *text && n + 4 < sizeof narrow; text++) { /* UTF-32 to UTF-8 */
        uint32_t c = (uint32_t)*text;
        if (c < 0x80) {
            narrow[n++] = (char)c;
        } else if (c < 0x800) {
            narrow[n++] = (char)(0xC0 | c >> 6);
            narrow[n++] = (char)(0x80 | (c & 63));
        } else if (c < 0x10000) {
            narrow[n++] = (char)(0xE0 | c >> 12);
            narrow[n++] = (char)(0x80 | (c >> 6 & 63));
            narrow[n++] = (char)(0x80 | (c & 63));
        } else {
            narrow[n++] = (char)(0xF0 | (c >> 18 & 7));
            narrow[n++] = (char)(0x80 | (c >> 12 & 63));
            narrow[n++] = (char)(0x80 | (c >> 6 & 63));
            narrow[n++] = (char)(0x80 | (c & 63));
        }
    }
    return names_intern(narrow, n);
}

static uint32_t name_of_text(const char *text) {
    return names_intern(text ? text : "", text ? strlen(text) : 0);
}

/* A registered string's handle is its name's number + 1. */
static uint32_t name_of(const attributes *a) {
    if (!a || a->size < offsetof(attributes, message) + sizeof a->message)
        return name_of_text("");
    switch (a->message_type) {
    case MESSAGE_ASCII:
        return name_of_text(a->message);
    case MESSAGE_WIDE:
        return name_of_wide(a->message);
    case MESSAGE_REGISTERED:
        return a->message ? (uint32_t)((uintptr_t)a->message - 1) : name_of_text("");
    default:
        return name_of_text("");
    }
}

/* ---- Ranges ---------------------------------------------------------------------------------- */

static uint64_t now(void) {
    return (uint64_t)writer_now(CLOCK_MONOTONIC);
}

static void first_use(void) {
    if (!atomic_load(&in_use) && !atomic_exchange(&in_use, true))
        launches_ranges_begin();
}

static void write_range(const open_range *r, uint32_t parent, uint64_t end) {
    spool_range range = {r->id, parent, r->name, (uint32_t)syscall(SYS_gettid), r->start_ns, end};
    writer_frame(SPOOL_RANGE, &range, sizeof range, NULL, 0);
}

static bool matches(uint32_t name) {
    writer_lock();
    bool yes = select_range_name(names_text(name));
    writer_unlock();
    return yes;
}

static int push(uint32_t name, const void *domain) {
    range_stack *stack = stack_of_thread(true);
    if (!stack)
        return 0;
    first_use();
    uint32_t at = stack->depth;
    if (at < DEPTH)
        stack->range[at] = (open_range){atomic_fetch_add(&next_id, 1), name, now(), domain,
                                        (at && stack->range[at - 1].selected) || matches(name)};
    return (int)stack->depth++;
}

static int pop(const void *domain) {
    range_stack *stack = stack_of_thread(false);
    uint32_t at = stack ? stack->depth : 0;
    if (!at)
        return -2; /* NVTX_NO_PUSH_POP_TRACKING */
    stack->depth--;
    if (at > DEPTH)
        return (int)stack->depth;
    while (at > 1 && stack->range[at - 1].domain != domain)
        at--; /* domains interleave: the innermost of this one closes */
    open_range closed = stack->range[at - 1];
    memmove(&stack->range[at - 1], &stack->range[at], (stack->depth - (at - 1)) * sizeof closed);
    write_range(&closed, at > 1 ? stack->range[at - 2].id : atomic_load(&started_now), now());
    return (int)stack->depth;
}

static void find_innermost_started(void) {
    uint32_t found = SPOOL_NONE;
    uint64_t latest = 0;
    for (int i = 0; i < STARTED; i++)
        if (started[i].start_ns >= latest && started[i].start_ns) {
            latest = started[i].start_ns;
            found = started[i].id;
        }
    atomic_store(&started_now, found);
}

static uint64_t start(uint32_t name) {
    uint64_t id = 0;
    if (atomic_load(&abandoned))
        return 0;
    first_use();
    writer_lock();
    for (int i = 0; i < STARTED && !id; i++)
        if (!started[i].start_ns) {
            started[i] =
                (open_range){atomic_fetch_add(&next_id, 1), name, now(), NULL, matches(name)};
            id = (uint64_t)started[i].id + 1;
            atomic_fetch_add(&started_selected, started[i].selected);
        }
    find_innermost_started();
    writer_unlock();
    return id;
}

static void end(uint64_t id) {
    if (atomic_load(&abandoned))
        return;
    writer_lock();
    for (int i = 0; i < STARTED; i++)
        if (started[i].start_ns && (uint64_t)started[i].id + 1 == id) {
            write_range(&started[i], SPOOL_NONE, now());
            started[i].start_ns = 0;
            atomic_fetch_sub(&started_selected, started[i].selected);
        }
    find_innermost_started();
    writer_unlock();
}

void nvtx_write_open(void) {
    const range_stack *stack = stack_of_thread(false);
    writer_lock();
    for (int i = 0; i < STARTED; i++)
        if (started[i].start_ns)
            write_range(&started[i], SPOOL_NONE, 0);
    for (uint32_t i = 0; stack && i < stack->depth && i < DEPTH; i++) /* of the exiting thread */
        write_range(&stack->range[i], i ? stack->range[i - 1].id : SPOOL_NONE, 0);
    writer_unlock();
}

/* ---- Slots ----------------------------------------------------------------------------------- */

static uint32_t locked_name(uint32_t (*of)(const void *), const void *what) {
    writer_lock();
    uint32_t name = of(what);
    writer_unlock();
    return name;
}

static uint32_t of_attributes(const void *a) {
    return name_of(a);
}

static uint32_t of_text(const void *text) {
    return name_of_text(text);
}

static uint32_t of_wide(const void *text) {
    return name_of_wide(text);
}

static int push_ex(const attributes *a) {
    int level = push(locked_name(of_attributes, a), NULL);
    int (*next)(const attributes *) = (int (*)(const attributes *))next_core[CORE_PUSH_EX];
    return next ? next(a) : level;
}

static int push_a(const char *text) {
    int level = push(locked_name(of_text, text), NULL);
    int (*next)(const char *) = (int (*)(const char *))next_core[CORE_PUSH_A];
    return next ? next(text) : level;
}

static int push_w(const wchar_t *text) {
    int level = push(locked_name(of_wide, text), NULL);
    int (*next)(const wchar_t *) = (int (*)(const wchar_t *))next_core[CORE_PUSH_W];
    return next ? next(text) : level;
}

static int pop_core(void) {
    int level = pop(NULL);
    int (*next)(void) = (int (*)(void))next_core[CORE_POP];
    return next ? next() : level;
}

static int push_domain(const void *domain, const attributes *a) {
    int level = push(locked_name(of_attributes, a), domain);
    int (*next)(const void *, const attributes *) =
        (int (*)(const void *, const attributes *))next_core2[CORE2_PUSH];
    return next ? next(domain, a) : level;
}

static int pop_domain(const void *domain) {
    int level = pop(domain);
    int (*next)(const void *) = (int (*)(const void *))next_core2[CORE2_POP];
    return next ? next(domain) : level;
}

static uint64_t start_ex(const attributes *a) {
    return start(locked_name(of_attributes, a));
}

static uint64_t start_a(const char *text) {
    return start(locked_name(of_text, text));
}

static uint64_t start_w(const wchar_t *text) {
    return start(locked_name(of_wide, text));
}

static void end_core(uint64_t id) {
    end(id);
}

static uint64_t start_domain(const void *domain, const attributes *a) {
    (void)domain;
    return start(locked_name(of_attributes, a));
}

static void end_domain(const void *domain, uint64_t id) {
    (void)domain;
    end(id);
}

static void *register_a(const void *domain, const char *text) {
    (void)domain;
    return (void *)((uintptr_t)locked_name(of_text, text) + 1);
}

static void *register_w(const void *domain, const wchar_t *text) {
    (void)domain;
    return (void *)((uintptr_t)locked_name(of_wide, text) + 1);
}

/* A domain's handle only has to differ from others and from NULL. */
static void *create_a(const char *name) {
    return (void *)((uintptr_t)locked_name(of_text, name) * 16 + 8);
}

static void *create_w(const wchar_t *name) {
    return (void *)((uintptr_t)locked_name(of_wide, name) * 16 + 8);
}

typedef struct slot {
    int index;
    function ours;
    bool chained; /* calls what another injection put there; false: takes its place only if empty */
} slot;

static const slot core_slots[] = {
    {CORE_PUSH_EX, (function)push_ex, true},    {CORE_PUSH_A, (function)push_a, true},
    {CORE_PUSH_W, (function)push_w, true},      {CORE_POP, (function)pop_core, true},
    {CORE_START_EX, (function)start_ex, false}, {CORE_START_A, (function)start_a, false},
    {CORE_START_W, (function)start_w, false},   {CORE_END, (function)end_core, false}};
static const slot core2_slots[] = {{CORE2_PUSH, (function)push_domain, true},
                                   {CORE2_POP, (function)pop_domain, true},
                                   {CORE2_START, (function)start_domain, false},
                                   {CORE2_END, (function)end_domain, false},
                                   {CORE2_REGISTER_A, (function)register_a, false},
                                   {CORE2_REGISTER_W, (function)register_w, false},
                                   {CORE2_CREATE_A, (function)create_a, false},
                                   {CORE2_CREATE_W, (function)create_w, false}};

static void remember(function **table, unsigned count, function *before) {
    for (unsigned i = 0; i < SLOTS; i++)
        before[i] = i < count && table[i] ? *table[i] : NULL;
}

static void fill(function **table, unsigned count, const function *before, const slot *slots,
                 size_t n, function *next) {
    for (size_t i = 0; i < n; i++) {
        int at = slots[i].index;
        if ((unsigned)at >= count || !table[at])
            continue;
        bool taken = *table[at] != before[at] && *table[at];
        if (taken && !slots[i].chained)
            continue;
        if (taken)
            next[at] = *table[at];
        *table[at] = slots[i].ours;
    }
}

static void initialise_next(const void *(*get_export_table)(uint32_t)) {
    const char *path = getenv("ROOFPROF_NVTX_NEXT");
    void *library = path && *path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    int (*initialise)(const void *(*)(uint32_t)) =
        library ? (int (*)(const void *(*)(uint32_t)))dlsym(library, "InitializeInjectionNvtx2")
                : NULL;
    if (initialise)
        initialise(get_export_table);
}

/* Called by NVTX at the program's first NVTX call. */
EXPORT int InitializeInjectionNvtx2(const void *(*get_export_table)(uint32_t)) {
    const callbacks *c = get_export_table(TABLE_CALLBACKS);
    function **core = NULL, **core2 = NULL, core_before[SLOTS], core2_before[SLOTS];
    unsigned core_count = 0, core2_count = 0;
    if (!c || c->size < sizeof *c || !c->get_table || !getenv("ROOFPROF_SPOOL"))
        return 0;
    if (!c->get_table(MODULE_CORE, &core, &core_count) ||
        !c->get_table(MODULE_CORE2, &core2, &core2_count))
        return 0;
    remember(core, core_count, core_before);
    remember(core2, core2_count, core2_before);
    initialise_next(get_export_table);
    fill(core, core_count, core_before, core_slots, sizeof core_slots / sizeof *core_slots,
         next_core);
    fill(core2, core2_count, core2_before, core2_slots, sizeof core2_slots / sizeof *core2_slots,
         next_core2);
    return 1;
}
