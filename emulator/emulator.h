/* SPDX-License-Identifier: Apache-2.0
 *
 * Contract between the parts of the emulated device: the front doors (cudart, later driver and
 * CUPTI) stand on this header alone. It names a device, its memory, modules of PTX, launches and
 * what a launch is counted to have done. Parts: ptx/ (text to instructions), machine/ (runs them),
 * memory/ (address space, coalescing, cache models), fatbin/ (containers to PTX text).
 *
 * Units are in the names or the comments. Everything returns an emu_status; the text of a failure
 * is in the emu_fault that the caller passes. Thread safety: one device may be used from any number
 * of host threads; a launch is run by one caller at a time per device (the front door serialises).
 */
#ifndef EMU_EMULATOR_H
#define EMU_EMULATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum emu_status {
    EMU_OK = 0,
    EMU_BAD_PTX,         /* text cannot be parsed, or a kernel holds an opcode that is not there */
    EMU_NOT_FOUND,       /* no such kernel or symbol */
    EMU_BAD_LAUNCH,      /* shape over the device's limits, too much shared memory ... */
    EMU_OUT_OF_MEMORY,   /* the device's capacity is used up */
    EMU_ILLEGAL_ADDRESS, /* access outside every allocation */
    EMU_MISALIGNED,      /* access not aligned to its size */
    EMU_TRAP,            /* trap instruction */
    EMU_ASSERT,          /* device-side assert() */
    EMU_DEADLOCK,        /* no warp of the grid can go on */
    EMU_INTERRUPTED,     /* emu_interrupt() was called */
    EMU_ILLEGAL_INSTRUCTION
} emu_status;

/* One failure, told fully: kernel, place, thread, address. All strings are NUL-terminated. */
typedef struct emu_fault {
    emu_status status;
    char message[1024]; /* one sentence for a person */
    char kernel[256];
    int ptx_line; /* 0: not known */
    uint32_t block[3], thread[3];
    uint64_t address;
} emu_fault;

/* ---- The device ------------------------------------------------------------------------------ */

/* Properties of the emulated device. The front door fills it from the hardware database; zero in a
 * rate means "not known", and the time model then leaves that ceiling out and says so. */
typedef struct emu_device_spec {
    char name[128], chip[32];
    int cc_major, cc_minor;
    int sm_count;
    double sm_clock_hz, memory_clock_hz;
    int memory_bus_bits;
    uint64_t memory_bytes;
    uint64_t l2_bytes;
    uint32_t l1_bytes_per_sm;        /* unified L1 and shared */
    uint32_t shared_bytes_per_sm, shared_bytes_per_block, shared_bytes_per_block_optin;
    uint32_t registers_per_sm, max_threads_per_sm, max_blocks_per_sm, max_warps_per_sm;
    double dram_bytes_per_s, l2_bytes_per_s, l1_bytes_per_s, shared_bytes_per_s;
    /* Operations per clock and SM, FMA counted as 2 (dense). */
    double fp64_per_clk, fp32_per_clk, fp16_per_clk, int32_per_clk, special_per_clk;
    double tensor_fp64_per_clk, tensor_tf32_per_clk, tensor_fp16_per_clk, tensor_bf16_per_clk,
        tensor_fp8_per_clk, tensor_int8_per_clk;
} emu_device_spec;

typedef struct emu_device emu_device;

typedef enum emu_cache_mode { EMU_CACHE_COLD, EMU_CACHE_WARM } emu_cache_mode;

typedef struct emu_options {
    int host_threads;     /* 0: one per online core */
    emu_cache_mode cache; /* cold: every launch starts with empty caches and is charged for the
                             dirty lines that it leaves; warm: state is carried over */
    bool count;           /* false: run only, as fast as it goes */
    bool model_caches;    /* false: L2 and DRAM traffic are not counted (valid bits say so) */
} emu_options;

emu_device *emu_device_create(const emu_device_spec *spec, const emu_options *options,
                              emu_fault *fault);
void emu_device_destroy(emu_device *device);
const emu_device_spec *emu_device_get_spec(const emu_device *device);

/* Stops the launch in progress as soon as every worker sees it. Async-signal-safe. */
void emu_interrupt(emu_device *device);

/* ---- Memory ----------------------------------------------------------------------------------
 * A device address is a host address inside one reserved arena per device, so that the machine
 * loads and stores directly; every access is checked against the live allocations. */
typedef enum emu_memory_kind {
    EMU_MEMORY_DEVICE,  /* counts against the capacity */
    EMU_MEMORY_HOST,    /* pinned: the device may access it over the bus */
    EMU_MEMORY_MANAGED, /* both may; counts against the capacity */
} emu_memory_kind;

/* A 256-byte aligned block of SIZE > 0 bytes. A new device block holds a poison pattern, not zeros
 * (real devices do not zero either); a managed one zeros (real ones do). */
emu_status emu_memory_allocate(emu_device *device, emu_memory_kind kind, uint64_t size,
                               uint64_t *address, emu_fault *fault);
emu_status emu_memory_free(emu_device *device, uint64_t address, emu_fault *fault);
/* Makes [address, address+size) of ordinary host memory reachable from kernels. */
emu_status emu_memory_register_host(emu_device *device, void *address, uint64_t size);
emu_status emu_memory_unregister_host(emu_device *device, void *address);
/* The live allocation around ADDRESS; false if there is none. Any out pointer may be NULL. */
bool emu_memory_find(const emu_device *device, uint64_t address, uint64_t *base, uint64_t *size,
                     emu_memory_kind *kind);
uint64_t emu_memory_used(const emu_device *device); /* bytes that count against the capacity */
/* Lets DEVICE's kernels reach all memory of PEER (counts.peer_bytes, past the cache models), or no
 * longer. False: it is so already, or there is no memory to note it. PEER must not be destroyed while
 * it is allowed, and no launch on DEVICE may be in progress. */
bool emu_peer_allow(emu_device *device, emu_device *peer);
bool emu_peer_forbid(emu_device *device, emu_device *peer);
/* Makes [ADDRESS, ADDRESS+SIZE), which the caller has mapped, memory of DEVICE, or (REMOTE) of another
 * one that its kernels may reach; detach takes away what was attached within. Neither is charged
 * against the capacity, and no launch on DEVICE may be in progress. */
emu_status emu_memory_attach(emu_device *device, uint64_t address, uint64_t size, bool remote);
void emu_memory_detach(emu_device *device, uint64_t address, uint64_t size);
/* The pages around the allocation that starts at ADDRESS become those of a file in memory, at OFFSET
 * and PAGES bytes long, which other processes may map; it is the device's, and the same each time. No
 * launch on DEVICE may be in progress. EMU_OUT_OF_MEMORY: there is no such file. */
emu_status emu_memory_share(emu_device *device, uint64_t address, int *file, uint64_t *offset,
                            uint64_t *pages, emu_fault *fault);
/* Charges BYTES that lie elsewhere against the capacity; false: there is not so much left. */
bool emu_memory_charge(emu_device *device, uint64_t bytes);
void emu_memory_refund(emu_device *device, uint64_t bytes);
/* Bytes that malloc() in kernels may hand out in all; 8 MiB until it is set (cudaLimitMallocHeapSize). */
void emu_device_set_heap_limit(emu_device *device, uint64_t bytes);

/* ---- Modules --------------------------------------------------------------------------------- */
typedef struct emu_module emu_module;
typedef struct emu_kernel emu_kernel;

/* Parses N texts of PTX (more than one: they are linked, as -rdc does), lays out their globals in
 * device memory and initialises them. Kernels are decoded at their first launch: an instruction
 * that is not there fails that kernel alone. */
emu_status emu_module_load(emu_device *device, const char *const *texts, const size_t *lengths,
                           int n, emu_module **module, emu_fault *fault);
void emu_module_unload(emu_module *module);
/* Its kernels, in no particular order: how many there are; the first ROOM of them go to KERNELS. */
int emu_module_kernels(const emu_module *module, emu_kernel **kernels, int room);
/* A function or variable that its texts use and none defines, that of the runtime (vprintf, malloc ...)
 * aside; NULL: all is there. */
const char *emu_module_undefined(const emu_module *module);
int emu_module_ptx_target(const emu_module *module); /* 75, 80, 90 ...; suffix letters dropped */

emu_status emu_module_get_kernel(emu_module *module, const char *name, emu_kernel **kernel,
                                 emu_fault *fault);
emu_status emu_module_get_global(emu_module *module, const char *name, uint64_t *address,
                                 uint64_t *size, emu_fault *fault);

typedef struct emu_kernel_info {
    const char *name;          /* mangled; lives as long as the module */
    int parameter_count;
    const uint32_t *parameter_size, *parameter_offset;
    uint32_t parameter_bytes;  /* of the whole parameter block */
    uint32_t shared_bytes, local_bytes_per_thread, constant_bytes; /* static */
    int max_threads_per_block; /* .maxntid, else 1024 */
    uint32_t registers_per_thread;
    bool registers_estimated;  /* from PTX liveness, not from a cubin or ptxas */
} emu_kernel_info;
const emu_kernel_info *emu_kernel_get_info(const emu_kernel *kernel);
/* What a cubin beside the PTX says; turns registers_estimated off. */
void emu_kernel_set_registers(emu_kernel *kernel, uint32_t registers_per_thread,
                              uint32_t local_bytes_per_thread);

/* ---- Launches -------------------------------------------------------------------------------- */
typedef struct emu_launch {
    emu_kernel *kernel;
    uint32_t grid[3], block[3];
    uint32_t dynamic_shared_bytes;
    bool cooperative; /* all blocks resident: grid-wide synchronisation may be used */
    const void *const *parameters; /* parameter_count pointers, as cudaLaunchKernel takes them */
    /* Called now and then while it runs; may be NULL. */
    void (*progress)(void *context, uint64_t blocks_done, uint64_t blocks, uint64_t thread_insts);
    void *progress_context;
} emu_launch;

/* Kinds of arithmetic that are counted apart. */
typedef enum emu_precision {
    EMU_FP64, EMU_FP32, EMU_TF32, EMU_BF16, EMU_FP16, EMU_FP16_ACC16, EMU_FP8, EMU_INT8, EMU_INT32,
    EMU_PRECISIONS
} emu_precision;

typedef enum emu_space { EMU_GLOBAL, EMU_SHARED, EMU_LOCAL, EMU_CONSTANT, EMU_PARAM, EMU_TEXTURE,
    EMU_SPACES } emu_space;

/* Classes of instructions, for counts by operation. */
typedef enum emu_op_class {
    EMU_OP_ADD, EMU_OP_MUL, EMU_OP_FMA,      /* floating point add/sub, mul, fma/mad */
    EMU_OP_DIV, EMU_OP_SQRT, EMU_OP_RCP,     /* the forms that expand to several SASS instructions */
    EMU_OP_SPECIAL,                          /* ex2 lg2 sin cos rsqrt tanh .approx */
    EMU_OP_FP_OTHER,                         /* min max neg abs setp selp of floating point */
    EMU_OP_CLASSES
} emu_op_class;

/* What one launch did. Exact, and the same for any number of host threads, but for the fields that
 * the comment calls a model. Thread instructions count threads whose predicate held. */
typedef struct emu_counts {
    /* instructions */
    uint64_t warp_insts, thread_insts;       /* executed; threads predicated on */
    uint64_t thread_insts_active;            /* threads active, predicated off or not */
    uint64_t fp[EMU_PRECISIONS][EMU_OP_CLASSES]; /* thread instructions; packed ones count once
                                                    here and twice in flops_* */
    uint64_t packed[EMU_PRECISIONS][EMU_OP_CLASSES]; /* of those, packed x2 */
    uint64_t integer_insts, conversion_insts, bit_insts, control_insts, move_insts;
    uint64_t barrier_insts, shuffle_insts, vote_insts, call_insts;
    uint64_t tensor_ops[EMU_PRECISIONS];     /* 2*m*n*k per warp instruction */
    uint64_t tensor_insts;
    uint64_t flops_algorithmic[EMU_PRECISIONS]; /* add mul = 1, fma = 2, div sqrt rcp special = 1 */
    uint64_t flops_hardware[EMU_PRECISIONS];    /* as SASS counters see it: the expansion table */
    /* memory, requested */
    uint64_t load_bytes[EMU_SPACES], store_bytes[EMU_SPACES], atomic_bytes[EMU_SPACES];
    uint64_t load_requests[EMU_SPACES], store_requests[EMU_SPACES], atomic_requests[EMU_SPACES];
                                             /* warp instructions */
    uint64_t load_sectors, store_sectors, atomic_sectors; /* 32-byte, global, local and texture, after coalescing */
    uint64_t shared_wavefronts, shared_bank_conflicts;    /* conflicts: wavefronts over the least */
    uint64_t l1_wavefronts;                  /* tag+data stage passes of global, local, texture: model */
    /* caches: a model */
    bool caches_valid;
    uint64_t l1_hit_sectors, l1_miss_sectors;
    uint64_t l2_read_sectors, l2_write_sectors, l2_hit_sectors, l2_miss_sectors; /* from the SMs */
    uint64_t dram_read_bytes, dram_write_bytes;
    uint64_t host_bytes;                     /* over the bus: pinned memory accessed by the kernel */
    uint64_t peer_bytes;                     /* over links: other devices' memory */
    /* occupancy */
    double occupancy_theoretical;            /* resident warps / max warps; 0..1 */
    double waves;                            /* blocks / (blocks that fit the whole device) */
    uint32_t blocks_per_sm;
    const char *occupancy_limiter;           /* "registers", "shared", "threads", "blocks", static */
    /* time: a model, see design section 5 */
    double time_s;
    const char *time_bound;                  /* the ceiling that sets it, static */
} emu_counts;

/* Runs a launch to its end. COUNTS may be NULL. On failure what was counted so far is in COUNTS. */
emu_status emu_launch_run(emu_device *device, const emu_launch *launch, emu_counts *counts,
                          emu_fault *fault);

/* Text that kernels printed with printf since the last call goes to WRITE, in launch order. */
void emu_device_drain_printf(emu_device *device, void (*write)(void *context, const char *text,
                             size_t length), void *context);

#endif
