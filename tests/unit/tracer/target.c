/* SPDX-License-Identifier: Apache-2.0
 *
 * The target of the tracer's tests: a program that initialises CUDA (fake_cuda.c), drives the
 * record generator (fake_cupti.c) as its first argument says, prints what it always prints and
 * exits with a code of its own. What it prints and returns must be the same with the tracer as
 * without.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void (*kernel)(const char *name, uint32_t grid, uint64_t start, uint64_t end);
static void (*node)(const char *name, uint64_t node, uint64_t start, uint64_t end);
static void (*copy)(uint64_t bytes, uint64_t start, uint64_t end);
static void (*memory)(uint32_t operation, uint64_t address, uint64_t bytes, uint64_t time);
static void (*drop)(size_t n);
static void (*deliver)(void);
static void (*driver_call)(uint32_t cbid);
static void (*captured)(const char *name);
static void (*next_context)(void);

/* The generator is there only if the tracer loaded it; without it the target just does not call. */
static void find_generator(void) {
    const char *path = getenv("ROOFPROF_CUPTI");
    void *library = path ? dlopen(path, RTLD_NOW | RTLD_NOLOAD) : NULL;
    if (!library)
        return;
    kernel = (void (*)(const char *, uint32_t, uint64_t, uint64_t))dlsym(library, "fake_kernel");
    node = (void (*)(const char *, uint64_t, uint64_t, uint64_t))dlsym(library, "fake_node");
    copy = (void (*)(uint64_t, uint64_t, uint64_t))dlsym(library, "fake_copy");
    memory = (void (*)(uint32_t, uint64_t, uint64_t, uint64_t))dlsym(library, "fake_memory");
    drop = (void (*)(size_t))dlsym(library, "fake_drop");
    deliver = (void (*)(void))dlsym(library, "fake_deliver");
    driver_call = (void (*)(uint32_t))dlsym(library, "fake_call");
    captured = (void (*)(const char *))dlsym(library, "fake_captured");
    next_context = (void (*)(void))dlsym(library, "fake_next_context");
}

static void initialise_cuda(void) {
    void *cuda = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    int (*init)(unsigned) = cuda ? (int (*)(unsigned))dlsym(cuda, "cuInit") : NULL;
    if (!init) {
        fprintf(stderr, "target: no libcuda.so.1: %s\n", dlerror());
        exit(99);
    }
    init(0);
    find_generator();
}

static uint64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void launch(const char *name, uint32_t grid, uint64_t duration) {
    uint64_t start = now();
    if (kernel)
        kernel(name, grid, start, start + duration);
}

static void *launcher(void *count) {
    for (long i = 0; i < (long)(intptr_t)count; i++)
        launch("threaded", (uint32_t)(i % 4 + 1), 1000);
    return NULL;
}

static void basic(long n) {
    for (long i = 0; i < n; i++) {
        launch("saxpy", 16, 20000);
        launch("gemm", (uint32_t)(i % 3 + 1), 100000);
    }
    if (copy)
        copy(1 << 20, now(), now() + 50000);
    if (memory)
        memory(1, 0x1000, 1 << 20, now());
    if (node)
        node("graphed", 77, now(), now() + 3000);
}

static void broken_records(void) {
    if (!kernel)
        return;
    kernel("zero", 1, 0, 0);
    kernel("backwards", 1, 5000, 4000);
    kernel("absurd", 1, 1, UINT64_MAX / 2);
    drop(5);
}

/* N rounds of kernels of several kinds, as a training loop has them. */
static void loop(long n) {
    for (long i = 0; i < n; i++) {
        launch("saxpy", 16, 20000);
        launch("_Z4gemmIfEvPT_", (uint32_t)(i % 2 + 1), 100000);
        launch("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", 8,
               30000);
    }
}

static void graphs(long n) {
    if (!driver_call)
        return;
    driver_call(495); /* cuStreamBeginCapture */
    captured("captured");
    driver_call(497); /* and its end */
    for (long i = 0; i < n; i++) {
        node("captured", 5, now(), now() + 3000);
        launch("saxpy", 16, 20000);
    }
}

/* Launches before, between and after cuProfilerStart and Stop. */
static void from_api(long n) {
    for (long i = 0; driver_call && i < 3; i++) {
        if (i)
            driver_call(i == 1 ? 308u : 309u);
        for (long k = 0; k < n; k++)
            launch(i == 1 ? "inside" : "outside", 4, 1000);
    }
}

/* A launch each 5 ms or more. */
static void paced(long n) {
    for (long i = 0; i < n; i++) {
        launch("paced", 4, 1000);
        usleep(5000);
    }
}

/* NVTX without its headers: what the program's own NVTX would call through the injected table. */
typedef void (*function)(void);
static function push_slot, pop_slot, empty[16];
static function *core[16], *core2[16];

static int table_of(int module, function ***table, unsigned *count) {
    for (int i = 0; i < 16; i++) {
        core[i] = &empty[i];
        core2[i] = &empty[i];
    }
    core[9] = &push_slot; /* nvtxRangePushA */
    core[11] = &pop_slot;
    *table = module == 1 ? core : core2;
    *count = 16;
    return 1;
}

static const void *export_table(uint32_t id) {
    static const struct {
        size_t size;
        int (*get)(int, function ***, unsigned *);
    } callbacks = {sizeof callbacks, table_of};
    return id == 1 ? &callbacks : NULL;
}

static void ranges(long n) {
    const char *path = getenv("NVTX_INJECTION64_PATH");
    void *library = path ? dlopen(path, RTLD_NOW) : NULL;
    int (*inject)(const void *(*)(uint32_t)) =
        library ? (int (*)(const void *(*)(uint32_t)))dlsym(library, "InitializeInjectionNvtx2")
                : NULL;
    if (!inject || !inject(export_table))
        return;
    int (*push)(const char *) = (int (*)(const char *))push_slot;
    int (*pop)(void) = (int (*)(void))pop_slot;
    for (long i = 0; i < n; i++) {
        launch("outside", 4, 1000);
        push("step 1");
        push("inner");
        launch("inside", 4, 1000);
        pop();
        pop();
        push("other");
        launch("outside", 4, 1000);
        pop();
    }
}

static void contexts(long n) {
    for (long i = 0; i < 2 * n; i++) {
        if (i == n && next_context)
            next_context();
        launch("saxpy", 16, 20000);
    }
}

/* Launches until it is killed. Each tenth of a second their number so far goes to the file PROGRESS
 * names, a line. */
static void forever(void) {
    const char *path = getenv("PROGRESS");
    FILE *progress = path ? fopen(path, "w") : NULL;
    uint64_t next = now();
    for (long made = 0;; made++) {
        if (progress && now() >= next) {
            fprintf(progress, "%ld\n", made);
            fflush(progress);
            next += 100000000;
        }
        launch("saxpy", 16, 1000);
        usleep(200);
    }
}

/* The same launches, in another order if TURNED. */
static void order(bool turned) {
    for (long i = 0; i < 6; i++)
        if ((i < 3) != turned)
            launch("saxpy", 16, 20000);
        else
            launch("_Z4gemmIfEvPT_", 2, 100000);
}

static void stuck(void) {
    launch("before", 1, 1000);
    launch("spins", 1, 1000);
    launch("after", 1, 1000);
}

static void long_name(void) {
    char *name = malloc(100001);
    memset(name, 'n', 100000);
    name[100000] = 0;
    launch(name, 1, 1000);
    if (deliver)
        deliver();
    strcpy(name, "another kernel at the same address");
    launch(name, 1, 1000);
    if (deliver)
        deliver();
    free(name);
}

static void threads(long n) {
    pthread_t thread[64];
    for (int i = 0; i < 64; i++)
        pthread_create(&thread[i], NULL, launcher, (void *)(intptr_t)n);
    for (int i = 0; i < 64; i++)
        pthread_join(thread[i], NULL);
}

static void fork_without_exec(void) {
    pid_t child = fork();
    if (child == 0) {
        launch("in the child", 1, 1000);
        exit(5);
    }
    int status;
    waitpid(child, &status, 0);
    launch("in the parent", 1, 1000);
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "basic";
    long n = argc > 2 ? atol(argv[2]) : 10;
    initialise_cuda();
    puts("target: out");
    fputs("target: err\n", stderr);
    fflush(stdout);
    if (!strcmp(what, "basic"))
        basic(n);
    else if (!strcmp(what, "broken"))
        broken_records();
    else if (!strcmp(what, "loop"))
        loop(n);
    else if (!strcmp(what, "graphs"))
        graphs(n);
    else if (!strcmp(what, "api"))
        from_api(n);
    else if (!strcmp(what, "paced"))
        paced(n);
    else if (!strcmp(what, "ranges"))
        ranges(n);
    else if (!strcmp(what, "contexts"))
        contexts(n);
    else if (!strcmp(what, "order"))
        order(n > 1);
    else if (!strcmp(what, "stuck"))
        stuck();
    else if (!strcmp(what, "name"))
        long_name();
    else if (!strcmp(what, "threads"))
        threads(n);
    else if (!strcmp(what, "fork"))
        fork_without_exec();
    else if (!strcmp(what, "nothing"))
        return 42;
    else if (!strcmp(what, "exec"))
        execl("/bin/sh", "sh", "-c", "exit 9", (char *)NULL);
    else if (!strcmp(what, "_exit"))
        basic(n), sleep(3), _exit(7);
    else if (!strcmp(what, "abort"))
        basic(n), abort();
    else if (!strcmp(what, "forever"))
        forever();
    else if (!strcmp(what, "stdin"))
        for (int c; (c = getchar()) != EOF;)
            putchar(c);
    return 42;
}
