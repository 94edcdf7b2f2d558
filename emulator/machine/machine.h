/* SPDX-License-Identifier: Apache-2.0
 *
 * Insides of the warp machine, shared by its files and by nobody else.
 *
 * Files: module.c links texts, program.c walks the functions of a kernel. decode.c and operand.c
 * hold what all instructions need to become ops; each family of them has a file that decodes it and
 * one that runs it: arithmetic (execute_lanes.c, operations.def), video, move, memory, async,
 * control (with what crosses lanes: execute_warp.c; groups.c moves program counters), matrix,
 * texture. reach.h is how handlers get at memory. launch.c deals blocks to host threads, execute.c
 * runs a warp.
 *
 * A kernel is decoded into a program: one array of ops for the kernel and every device function it
 * can reach. An op is run for a whole warp by its handler, a function over 32-lane arrays:
 * registers lie in frames as structure of arrays, 32 x 4 bytes for everything up to 32 bits (8- and
 * 16-bit values zero-extended), 32 x 8 bytes for 64 bits, twice that for 128 (the low half first),
 * and 4 bytes (a lane mask) for a predicate. Operands are byte offsets into the frame; an offset
 * with bit 0 set is one into the program's constant pool, where literals and kernel parameters
 * stand, spread over the lanes.
 *
 * Divergence: the lanes of a warp are split into groups, each with its own program counter. Of the
 * groups that can run, the deepest call, then the lowest program counter goes first, so that groups
 * meet again at the earliest point where they can, and merge there. A group that spins (many
 * backward branches without any change to memory) falls behind the others, so that whoever holds
 * the lock comes to run.
 *
 * Determinism: launches in which the order of blocks might show (an atomic whose old value is used,
 * a floating-point atomic, a volatile or acquiring load, cooperative launches, the device heap) run
 * on one host thread; all others give the same for any order and run on many. */
#ifndef EMU_MACHINE_MACHINE_H
#define EMU_MACHINE_MACHINE_H

#include "emulator/emulator.h"
#include "emulator/machine/tensor.h"
#include "emulator/machine/texture.h"
#include "emulator/machine/video.h"
#include "emulator/memory/traffic.h"
#include "emulator/ptx/ptx.h"

#include <pthread.h>
#include <stdatomic.h>

enum {
    WARP = 32,
    MAX_WARPS = 32,
    MAX_BARRIERS = 16,
    CLUSTER_BARRIER = MAX_BARRIERS /* that of barrier.cluster: programs cannot name it */
};

/* Addresses of the generic space: shared and local memory are windows that no host address can lie
 * in; everything else is global and is its own host address. */
#define SHARED_WINDOW   (UINT64_C(1) << 56)
#define LOCAL_WINDOW    (UINT64_C(2) << 56)
#define FUNCTION_WINDOW (UINT64_C(3) << 56)
#define WINDOW_MASK     (UINT64_C(0xff) << 56)
#define OFFSET_MASK     (~WINDOW_MASK)

typedef struct emu_warp emu_warp;
typedef struct emu_op emu_op;
typedef struct emu_program emu_program;
typedef struct emu_block emu_block;
typedef struct emu_worker emu_worker;

/* 0, or an emu_status with the worker's fault filled in. */
typedef int (*emu_handler)(emu_warp *warp, const emu_op *op);

/* What the main loop does itself, since it moves the program counter. */
typedef enum emu_control {
    CONTROL_NONE,
    CONTROL_BRANCH,
    CONTROL_BRANCH_INDEXED,
    CONTROL_CALL,
    CONTROL_CALL_INDIRECT,
    CONTROL_RETURN,
    CONTROL_EXIT,
    CONTROL_BARRIER, /* bar.sync, bar.red */
    CONTROL_ARRIVE,
    CONTROL_CLUSTER_ARRIVE,
    CONTROL_CLUSTER_WAIT,
    CONTROL_WARP_BARRIER, /* bar.warp.sync */
    CONTROL_GATHER,       /* *.sync with a member mask: the members come together first */
    CONTROL_YIELD         /* nanosleep: runs the handler, then counts as spinning */
} emu_control;

typedef enum emu_combine { COMBINE_NONE, COMBINE_AND, COMBINE_OR, COMBINE_XOR } emu_combine;

enum {                  /* emu_op.flags */
       OP_NEGATE_A = 1, /* predicate operand negated */
       OP_NEGATE_B = 2,
       OP_NEGATE_C = 4,
       OP_WIDE_ADDRESS = 8, /* address register of 64 bits */
       OP_VOLATILE = 16,    /* may be what a spin loop watches */
       OP_SIGNED = 32,      /* load: extends the sign */
       OP_WIDE_D = 64,      /* load, store, shuffle: register of 64 bits */
       OP_L2_ONLY = 128,
       OP_NO_RESULT = 256, /* atomic whose old value is not used */
       OP_COUNTED = 512    /* barrier with a thread count */
};

/* Operands beyond the four of an op: vectors, calls, branch tables, fragments. */
typedef struct emu_extra {
    int count;
    uint32_t *ref;    /* vector elements: operand references; UINT32_MAX: sink */
    uint32_t *target; /* brx: op indices */
    int function;     /* call: index in the program, -1: indirect */
    int builtin;      /* call: emu_builtin */
    int argument_count, result_count;
    struct emu_transfer { /* a variable or a register of the caller */
        uint32_t place;   /* offset in the frame's parameter area; of a register its reference */
        uint32_t bytes;
        bool in_register;
    } * argument, *result;
    emu_tensor tensor;      /* of a matrix instruction */
    emu_video video;        /* of a video instruction */
    emu_texture_op texture; /* of one of textures or surfaces: ref is as TEXTURE_* say */
} emu_extra;

struct emu_op {
    emu_handler run;
    uint32_t d, a, b, c, e;
    int64_t immediate; /* address offset, and whatever one number an op needs */
    uint32_t guard;    /* offset of a predicate in the frame, plus 1; 0: none */
    uint32_t target;
    uint16_t flags;
    uint8_t guard_negated, control, combine, bytes, vector, space, kind, slot_bytes;
    uint32_t memory; /* number among the program's memory ops: its cached range */
    uint32_t line;
    emu_handler inner; /* run under CSR by emu_run_rounded */
    uint32_t csr;
    uint32_t second; /* second destination (setp p|q, shfl d|p), UINT32_MAX: none */
    const emu_extra *extra;
};

/* What an op counts as, for the fold at the end of a launch. */
typedef enum emu_count_kind {
    COUNT_FP,
    COUNT_INTEGER,
    COUNT_CONVERSION,
    COUNT_BIT,
    COUNT_CONTROL,
    COUNT_MOVE,
    COUNT_BARRIER,
    COUNT_SHUFFLE,
    COUNT_VOTE,
    COUNT_CALL,
    COUNT_MEMORY,
    COUNT_TENSOR
} emu_count_kind;

typedef struct emu_op_info {
    uint8_t kind, precision, op_class, packed;
    uint8_t flops_algorithmic, flops_hardware; /* a thread instruction; already doubled if packed */
    uint8_t flops_single; /* of single precision, in the expansion of a double-precision one */
    uint8_t space, access, bytes; /* param and constant accesses are counted here */
    bool memory_counted;
    uint32_t tensor_ops; /* of a warp instruction: 2 m n k */
    const char *mnemonic;
} emu_op_info;

/* Executions are counted by runs of straight code: at the first op of a run what it adds, at the op
 * behind its last what is taken back, so that the sum of all cells up to an op is the op's own. */
typedef struct emu_count_cell {
    uint64_t warps, active; /* differences, modulo 2^64 */
    uint64_t off;           /* threads that a guard kept off this very op */
} emu_count_cell;

typedef struct emu_function_code {
    ptx_function *source;
    int *callee, callee_count;                 /* functions of the program that it calls */
    int text;                                  /* the module text it stands in */
    uint64_t address;                          /* as a function pointer */
    uint32_t entry;                            /* first op; UINT32_MAX: not decoded */
    uint32_t frame_bytes;                      /* registers */
    uint32_t local_bytes;                      /* of one thread */
    uint32_t area_offset, area_bytes;          /* parameters, a stretch of area_bytes per lane */
    struct emu_transfer *parameter, *returned; /* in this function's own frame */
    uint32_t *zeroed; /* offsets | 1 for a 64-bit register, | 2 for a predicate */
    int zeroed_count;
    bool decoded, failed, visiting, recursive;
    emu_fault failure;
} emu_function_code;

typedef struct emu_constant {
    uint32_t offset; /* in the pool, without the tag */
    bool wide;
    uint64_t value;
} emu_constant;

typedef struct emu_parameter_slot { /* a parameter read at a fixed offset: a constant of the launch
                                     */
    uint32_t offset, from;
    uint8_t bytes, wide, sign;
} emu_parameter_slot;

struct emu_program {
    emu_op *op;
    emu_op_info *info;
    uint32_t op_count, op_capacity;
    uint8_t *pool; /* constants */
    uint32_t pool_bytes;
    emu_constant *constant;
    int constant_count, constant_capacity;
    emu_parameter_slot *slot;
    int slot_count, slot_capacity;
    emu_function_code *function;
    int function_count, function_capacity;
    emu_extra **extra;
    int extra_count, extra_capacity;
    uint32_t memory_count;
    uint32_t local_limit;  /* bytes of local memory a thread can reach */
    uint32_t shared_bytes; /* static */
    struct emu_shared_variable {
        const ptx_variable *variable;
        const char *name;
        uint32_t offset;
    } * shared;
    int shared_count, shared_capacity;
    uint32_t dynamic_base; /* where dynamic shared memory starts */
    bool dynamic;          /* it is used */
    bool ordered;          /* the order of blocks might show */
    bool recursive, indirect;
    uint32_t registers;
};

struct emu_kernel {
    emu_module *module;
    const ptx_function *source;
    ptx_module *text;
    int text_index;
    emu_kernel_info info;
    uint32_t *parameter_size, *parameter_offset;
    emu_program *program; /* NULL until the first launch */
    bool failed;
    emu_fault failure;
    struct emu_kernel *next;
};

typedef struct emu_symbol {
    const char *name;
    int text; /* which module text it came from: names without linkage are private to it */
    bool local;
    const ptx_variable *variable; /* one of the two */
    ptx_function *function;
    uint64_t address; /* of a variable; of a function FUNCTION_WINDOW + 16 * (index + 1) */
    struct emu_symbol *next;
} emu_symbol;

struct emu_module {
    emu_device *device;
    ptx_module **text;
    char **copy; /* the texts: the parser's tokens point into them */
    int text_count;
    emu_symbol *symbol;
    int symbol_count, symbol_capacity;
    emu_symbol **table;
    uint32_t buckets;
    emu_kernel *kernels;
    int target;
    pthread_mutex_t lock; /* lazy decoding */
};

/* ---- memory -----------------------------------------------------------------------------------
 */

typedef struct emu_range {
    uint64_t base, size;
    emu_memory_kind kind;
    bool registered; /* host memory of the program's own */
    bool heap;       /* of device-side malloc */
    bool shared;     /* its pages are a file's, see emu_memory_share */
    bool attached;   /* mapped by the front door, see emu_memory_attach */
} emu_range;

enum { EMU_MOST_PEERS = 15 };

typedef struct emu_arena { /* one reserved stretch of addresses */
    uint64_t base, size;
    uint64_t mapped; /* bytes from base on that are mapped with the poison */
} emu_arena;

struct emu_device {
    emu_device_spec spec;
    emu_options options;
    emu_arena device_arena, host_arena;
    pthread_mutex_t memory_lock;
    emu_range *range; /* sorted by base */
    int range_count, range_capacity;
    emu_device *peer[EMU_MOST_PEERS]; /* whose memory this one's kernels may reach */
    int peer_count;
    uint64_t used;
    int poison_file;
    int shared_file; /* of the device's stretch, for the pages that other processes map; -1: none */
    uint64_t parameters; /* address of the parameter block of the launch in progress */
    uint64_t workspace;  /* of grid-wide barriers: a word for its size, the word they count in */
    uint64_t ticks;      /* where the clock registers of the next launch start */
    uint64_t heap_limit, heap_used; /* of device-side malloc */
    atomic_ullong frees;            /* times that memory was freed or unregistered */
    emu_object **object;            /* textures and surfaces: changed under the launch lock */
    int object_count, object_capacity;
    emu_traffic *traffic;
    atomic_int interrupted;
    pthread_mutex_t launch_lock;
    struct emu_pool *pool; /* host threads; made by the first launch that wants them */
    emu_worker **worker;
    int worker_count;
    pthread_mutex_t print_lock;
    char *printed;
    size_t printed_bytes, printed_capacity;
    const emu_handler *handlers; /* of the instruction set found at run time */
    int (*run_warp)(emu_warp *warp, uint64_t budget);
};

bool emu_memory_open(emu_device *device, emu_fault *fault);
void emu_memory_close(emu_device *device);
/* Range around ADDRESS, of this device or one whose memory it may reach, copied; false if none.
 * Thread-safe. */
bool emu_memory_range(emu_device *device, uint64_t address, emu_range *range);

/* Device-side malloc and free. 0: the heap's limit or the device's memory is used up; false: no
 * block of the heap starts there. */
uint64_t emu_heap_allocate(emu_device *device, uint64_t size);
bool emu_heap_free(emu_device *device, uint64_t address);

/* ---- program ----------------------------------------------------------------------------------
 */

/* Decodes KERNEL once. */
emu_status emu_program_get(emu_kernel *kernel, emu_program **program, emu_fault *fault);
void emu_program_free(emu_program *program);
/* Symbol NAME as seen from text TEXT; NULL if there is none. */
emu_symbol *emu_module_find(const emu_module *module, const char *name, int text);
/* Whether kernels may call NAME though no PTX defines it. */
bool emu_is_builtin(const char *name);

emu_status emu_fail(emu_fault *fault, emu_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

typedef enum emu_builtin {
    BUILTIN_NONE,
    BUILTIN_VPRINTF,
    BUILTIN_ASSERT,
    BUILTIN_MALLOC,
    BUILTIN_FREE
} emu_builtin;

/* ---- running ----------------------------------------------------------------------------------
 */

/* One activation of a function by some lanes of a warp. */
typedef struct emu_frame {
    struct emu_frame *parent;
    uint8_t *registers;
    uint32_t return_pc;
    int depth;
    uint32_t lanes; /* that have not returned yet */
    int function;
    uint32_t local_base;   /* of its local variables, in a thread's local memory */
    const emu_extra *call; /* results to hand over */
    size_t capacity;
} emu_frame;

typedef enum emu_group_state {
    GROUP_READY,
    GROUP_BARRIER,
    GROUP_WARP_BARRIER,
    GROUP_GATHER
} emu_group_state;

typedef struct emu_group {
    uint32_t mask, pc;
    emu_frame *frame;
    emu_group_state state;
    uint32_t members; /* of a warp barrier */
    uint32_t waiting; /* lanes at a block barrier (all of the group) */
    int barrier;
    uint32_t penalty; /* times it was found spinning */
    bool forced;      /* its *.sync runs without the members that cannot come */
} emu_group;

struct emu_warp {
    uint8_t *base[2]; /* frame, constant pool less the tag */
    uint32_t mask;    /* lanes that run the current op */
    uint32_t active;  /* lanes of the current group */
    emu_block *block;
    emu_worker *worker;
    const emu_program *program;
    uint8_t *local;    /* WARP stretches of local_limit bytes */
    uint64_t local_id; /* start of its addresses as the memory model sees them */
    emu_frame *frame;
    uint32_t existing, exited;
    uint32_t cluster_arrived; /* lanes that have, in a phase of the cluster's barrier yet open */
    int group_count, current;
    emu_group group[WARP];
    uint32_t carry;      /* condition code register, one bit a lane */
    uint32_t compare[2]; /* what the last comparison found */
    uint32_t spin;       /* backward branches since memory last changed */
    bool watched;        /* something was read that another thread may change */
    bool spinning;       /* gave up its last slice spinning */
    int index;           /* in the block */
    uint32_t tid[3][WARP];
    uint32_t shape[3]; /* of the block that tid was made for */
    emu_frame root;
    emu_frame *spare; /* frames to use again */
};

typedef struct emu_barrier {
    uint32_t arrived, expected; /* threads */
    uint32_t red_and, red_or, red_count;
    bool pending;
} emu_barrier;

struct emu_block {
    uint32_t index[3];
    uint64_t linear;
    int warp_count;
    uint32_t threads, exited;
    emu_warp *warp;
    int warp_capacity;
    uint8_t *shared;
    uint32_t shared_capacity;
    uint8_t *registers;
    size_t registers_capacity;
    uint8_t *local;
    size_t local_capacity;
    emu_barrier barrier[MAX_BARRIERS + 1];
    bool finished, parked;
    struct emu_block *next; /* in a list of blocks in flight or to use again */
    emu_traffic_sm *sm;
    int sm_index;
    uint64_t ticks; /* for clock registers */
};

typedef struct emu_run { /* a launch in progress */
    emu_device *device;
    emu_kernel *kernel;
    emu_program *program;
    const emu_launch *launch;
    uint64_t blocks;
    uint32_t threads_per_block, warps_per_block;
    uint32_t shared_bytes;
    const uint8_t *parameters;
    uint64_t parameter_address; /* the same as a generic address */
    uint32_t parameter_bytes;
    uint64_t workspace; /* 0 if the launch is not cooperative */
    uint64_t first_tick;
    uint64_t residents; /* blocks that may be in flight at once where one host thread runs all */
    uint32_t round;     /* blocks that each SM runs between two drains of the memory model */
    bool counting;
    int workers;
    pthread_barrier_t *barrier;
    emu_block **held; /* by SM: a block stopped in its midst until the next drain */
    uint64_t *cursor; /* by SM: its next block */
    atomic_int next_sm;
    atomic_ullong next_block, done_blocks;
    atomic_int failed; /* an emu_status */
    pthread_mutex_t lock;
    emu_fault fault;
    pthread_t caller; /* the only thread that reports progress */
    uint64_t progress_at;
} emu_run;

struct emu_worker {
    emu_run *run;
    emu_device *device;
    emu_range *range; /* by op->memory */
    uint32_t range_capacity;
    emu_count_cell *cell;
    uint32_t cell_capacity;
    emu_fault fault;
    bool counting;
    emu_block *block; /* to use again */
    bool alone;       /* the only worker of its launch: atomics need no lock */
    emu_traffic_sm *sm;
    int number;
};

/* Puts the fault of LANE at OP into the worker; returns STATUS. */
int emu_fault_lane(emu_warp *warp, const emu_op *op, int lane, emu_status status, uint64_t address,
                   const char *format, ...) __attribute__((format(printf, 6, 7)));

int emu_call_builtin(emu_warp *warp, const emu_op *op);

/* Memory accesses off the fast path (reach.c). */
/* The fault of the first lane that is misaligned or outside of [LOW, LOW + LIMIT]. */
int emu_report_lane(emu_warp *w, const emu_op *o, int space, const uint64_t *address, uint64_t low,
                    uint64_t limit, uint32_t bytes) __attribute__((cold));
/* Global lanes that are not all in the range this op used last: each is looked up. */
int emu_search_ranges(emu_warp *w, const emu_op *o, const uint64_t *address, uint32_t bytes);
/* What the memory model sees of local memory: 4-byte words of the lanes of a warp lie side by side.
 */
void emu_count_local(emu_warp *w, const emu_op *o, emu_access_op access, uint32_t bytes,
                     const uint64_t *address);

/* Groups of a warp (groups.c). The group to run next, -1 if none can; what meets there is merged.
 * *LIMIT: the pc at which another group waits. */
int emu_choose_group(emu_warp *warp, uint32_t *limit);
/* Whether another group that can run has been found spinning less often than SPINNER. */
bool emu_group_behind(const emu_warp *warp, int spinner);
/* Splits the lanes of MASK off the current group, to go on at PC. */
void emu_split_group(emu_warp *warp, uint32_t mask, uint32_t pc);
/* Everything that moves the program counter but branches: current group, lanes MASK at OP. */
int emu_control_step(emu_warp *warp, const emu_op *op, uint32_t mask);
/* A warp at the start of a kernel. */
void emu_warp_start(emu_warp *warp, uint32_t existing);
void emu_warp_stop(emu_warp *warp); /* frees its frames */
/* Lets a *.sync that waits for members which cannot come run without them; false: there is none. */
bool emu_force_gather(emu_warp *warp);
bool emu_warp_ready(const emu_warp *warp);

/* Ops [FIRST, END) ran once, with LANES of a warp. */
static inline void emu_count_run(emu_count_cell *cell, uint32_t first, uint32_t end,
                                 uint64_t lanes) {
    cell[first].warps += 1;
    cell[first].active += lanes;
    cell[end].warps -= 1;
    cell[end].active -= lanes;
}

/* Folds the cells of a launch into COUNTS. */
/* Thread instructions in them, helpers included: for progress. */
uint64_t emu_fold_threads(const emu_program *program, const emu_count_cell *cell);
void emu_fold_counts(const emu_program *program, const emu_count_cell *cell, emu_counts *counts);

#endif
