/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables of labels and roles; see ncu_names.h. Source of the labels: the details pages and section
 * files of Nsight Compute 2020.1 to 2025.x.
 */
#include "importers/ncu_names.h"

#include <stdio.h>
#include <string.h>

typedef struct label_row {
    const char *label, *unit, *raw; /* unit NULL: any */
} label_row;

static const label_row labels[] = {
    {"Duration", "s", "gpu__time_duration.sum"},
    /* the clock domain of the SMs; before 2022 the label stood for sm__ and smsp__ of the same */
    {"Elapsed Cycles", NULL, "gpc__cycles_elapsed.max"},
    {"Cycles", "cycle", "gpc__cycles_elapsed.max"},
    {"SM Frequency", "Hz", "gpc__cycles_elapsed.avg.per_second"},
    {"DRAM Frequency", "Hz", "dram__cycles_elapsed.avg.per_second"},
    {"Memory Frequency", "Hz", "dram__cycles_elapsed.avg.per_second"},
    {"SM Active Cycles", NULL, "sm__cycles_active.avg"},
    {"Average SM Active Cycles", NULL, "sm__cycles_active.avg"},
    {"Average SMSP Active Cycles", NULL, "smsp__cycles_active.avg"},
    {"Average L1 Active Cycles", NULL, "l1tex__cycles_active.avg"},
    {"Average L2 Active Cycles", NULL, "lts__cycles_active.avg"},
    {"Average DRAM Active Cycles", NULL, "dram__cycles_active.avg"},
    {"Total SM Elapsed Cycles", NULL, "sm__cycles_elapsed.sum"},
    {"Total SMSP Elapsed Cycles", NULL, "smsp__cycles_elapsed.sum"},
    {"Total L1 Elapsed Cycles", NULL, "l1tex__cycles_elapsed.sum"},
    {"Total L2 Elapsed Cycles", NULL, "lts__cycles_elapsed.sum"},
    {"Total DRAM Elapsed Cycles", NULL, "dram__cycles_elapsed.sum"},
    /* speed of light: 2019, 2020, 2021 and later, GUI summary */
    {"SOL SM", "1", "sm__throughput.avg.pct_of_peak_sustained_elapsed"},
    {"SM [%]", NULL, "sm__throughput.avg.pct_of_peak_sustained_elapsed"},
    {"Compute (SM) Throughput", "1", "sm__throughput.avg.pct_of_peak_sustained_elapsed"},
    {"Compute (SM) [%]", NULL, "sm__throughput.avg.pct_of_peak_sustained_elapsed"},
    {"Compute Throughput", "1", "sm__throughput.avg.pct_of_peak_sustained_elapsed"},
    {"SOL Memory", "1", "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed"},
    {"Memory [%]", NULL, "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed"},
    {"Memory Throughput", "1", "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed"},
    {"Memory Throughput", "byte/s", "dram__bytes.sum.per_second"},
    {"SOL FB", "1", "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"},
    {"SOL DRAM", "1", "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"},
    {"DRAM Throughput", "1", "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"},
    {"SOL L1/TEX Cache", "1", "l1tex__throughput.avg.pct_of_peak_sustained_active"},
    {"SOL TEX", "1", "l1tex__throughput.avg.pct_of_peak_sustained_active"},
    {"L1/TEX Cache Throughput", "1", "l1tex__throughput.avg.pct_of_peak_sustained_active"},
    {"SOL L2 Cache", "1", "lts__throughput.avg.pct_of_peak_sustained_elapsed"},
    {"SOL L2", "1", "lts__throughput.avg.pct_of_peak_sustained_elapsed"},
    {"L2 Cache Throughput", "1", "lts__throughput.avg.pct_of_peak_sustained_elapsed"},
    /* memory */
    {"Mem Busy", "1", "gpu__compute_memory_access_throughput.avg.pct_of_peak_sustained_elapsed"},
    {"Max Bandwidth", "1",
     "gpu__compute_memory_request_throughput.avg.pct_of_peak_sustained_elapsed"},
    {"Mem Pipes Busy", "1", "sm__memory_throughput.avg.pct_of_peak_sustained_elapsed"},
    {"L1/TEX Hit Rate", "1", "l1tex__t_sector_hit_rate.pct"},
    {"L2 Hit Rate", "1", "lts__t_sector_hit_rate.pct"},
    /* compute and scheduler */
    {"Executed Ipc Active", NULL, "sm__inst_executed.avg.per_cycle_active"},
    {"Executed Ipc Elapsed", NULL, "sm__inst_executed.avg.per_cycle_elapsed"},
    {"Issued Ipc Active", NULL, "sm__inst_issued.avg.per_cycle_active"},
    {"Issue Slots Busy", "1", "sm__inst_issued.avg.pct_of_peak_sustained_active"},
    {"SM Busy", "1", "sm__instruction_throughput.avg.pct_of_peak_sustained_active"},
    {"Executed Instructions", NULL, "smsp__inst_executed.sum"},
    {"Issued Instructions", NULL, "smsp__inst_issued.sum"},
    {"Active Warps Per Scheduler", NULL, "smsp__warps_active.avg.per_cycle_active"},
    {"Eligible Warps Per Scheduler", NULL, "smsp__warps_eligible.avg.per_cycle_active"},
    {"Issued Warp Per Scheduler", NULL, "smsp__issue_active.avg.per_cycle_active"},
    {"No Eligible", "1", "smsp__issue_inst0.avg.pct_of_peak_sustained_active"},
    {"One or More Eligible", "1", "smsp__issue_active.avg.pct_of_peak_sustained_active"},
    {"Avg. Active Threads Per Warp", NULL, "smsp__thread_inst_executed_per_inst_executed.ratio"},
    {"Avg. Not Predicated Off Threads Per Warp", NULL,
     "smsp__thread_inst_executed_pred_on_per_inst_executed.ratio"},
    /* launch and occupancy */
    {"Registers Per Thread", NULL, "launch__registers_per_thread"},
    {"# Registers", NULL, "launch__registers_per_thread"},
    {"Static Shared Memory Per Block", "byte/block", "launch__shared_mem_per_block_static"},
    {"Dynamic Shared Memory Per Block", "byte/block", "launch__shared_mem_per_block_dynamic"},
    {"Driver Shared Memory Per Block", "byte/block", "launch__shared_mem_per_block_driver"},
    {"Shared Memory Configuration Size", "byte", "launch__shared_mem_config_size"},
    {"Block Size", NULL, "launch__block_size"},
    {"Grid Size", NULL, "launch__grid_size"},
    {"Threads", NULL, "launch__thread_count"},
    {"Waves Per SM", NULL, "launch__waves_per_multiprocessor"},
    {"# SMs", NULL, "launch__sm_count"},
    {"Cluster Size", NULL, "launch__cluster_size"},
    {"Theoretical Occupancy", "1", "sm__maximum_warps_per_active_cycle_pct"},
    {"Theoretical Active Warps per SM", NULL, "sm__maximum_warps_avg_per_active_cycle"},
    {"Achieved Occupancy", "1", "sm__warps_active.avg.pct_of_peak_sustained_active"},
    {"Achieved Active Warps Per SM", NULL, "sm__warps_active.avg.per_cycle_active"},
    {"Block Limit SM", NULL, "launch__occupancy_limit_blocks"},
    {"Block Limit Registers", NULL, "launch__occupancy_limit_registers"},
    {"Block Limit Shared Mem", NULL, "launch__occupancy_limit_shared_mem"},
    {"Block Limit Warps", NULL, "launch__occupancy_limit_warps"},
};

static bool is_label(const label_row *row, const char *label, size_t length) {
    return strlen(row->label) == length && memcmp(row->label, label, length) == 0;
}

const char *ncu_name_of_label(const char *label, size_t length, const char *unit) {
    for (size_t i = 0; i < sizeof labels / sizeof *labels; i++)
        if (is_label(&labels[i], label, length) &&
            (!labels[i].unit || strcmp(labels[i].unit, unit) == 0))
            return labels[i].raw;
    return NULL;
}

bool ncu_name_is_label(const char *label, size_t length) {
    for (size_t i = 0; i < sizeof labels / sizeof *labels; i++)
        if (is_label(&labels[i], label, length))
            return true;
    return false;
}

typedef struct role_row {
    const char *name;
    ncu_role role;
} role_row;

static const role_row roles[] = {
    {"gpu__time_duration.sum", NCU_TIME},
    {"gpu__time_duration.max", NCU_TIME},
    {"gpu__time_duration.avg", NCU_TIME_AVG},
    {"gpu__time_duration_measured_user.sum", NCU_TIME_RANGE},
    {"sm__cycles_elapsed.avg", NCU_SM_CYCLES},
    {"sm__cycles_elapsed.avg.per_second", NCU_SM_CLOCK},
    {"gpc__cycles_elapsed.max", NCU_GPC_CYCLES},
    {"gpc__cycles_elapsed.avg.per_second", NCU_GPC_CLOCK},
    {"launch__registers_per_thread", NCU_REGISTERS},
    {"launch__shared_mem_per_block_static", NCU_SHARED_STATIC},
    {"launch__shared_mem_per_block_dynamic", NCU_SHARED_DYNAMIC},
    {"launch__grid_dim_x", NCU_GRID_X},
    {"launch__grid_dim_y", NCU_GRID_Y},
    {"launch__grid_dim_z", NCU_GRID_Z},
    {"launch__block_dim_x", NCU_BLOCK_X},
    {"launch__block_dim_y", NCU_BLOCK_Y},
    {"launch__block_dim_z", NCU_BLOCK_Z},
    {"launch__device_id", NCU_DEVICE_ORDINAL},
    {"launch__sm_count", NCU_DEVICE_SMS},
    {"device__attribute_device_index", NCU_DEVICE_ORDINAL},
    {"device__attribute_display_name", NCU_DEVICE_NAME},
    {"device__attribute_compute_capability_major", NCU_DEVICE_CC_MAJOR},
    {"device__attribute_compute_capability_minor", NCU_DEVICE_CC_MINOR},
    {"device__attribute_multiprocessor_count", NCU_DEVICE_SMS},
    {"device__attribute_total_memory", NCU_DEVICE_MEMORY},
    {"device__attribute_l2_cache_size", NCU_DEVICE_L2},
    {"device__attribute_global_memory_bus_width", NCU_DEVICE_BUS},
    {"device__attribute_clock_rate", NCU_DEVICE_CLOCK},
    {"device__attribute_max_gpu_frequency_khz", NCU_DEVICE_CLOCK},
    {"device__attribute_memory_clock_rate", NCU_DEVICE_MEMORY_CLOCK},
    {"device__attribute_max_mem_frequency_khz", NCU_DEVICE_MEMORY_CLOCK},
    {"device__attribute_gpu_pci_device_id", NCU_DEVICE_PCI},
};

static const char *const ignored[] = {
    "device__",         "nvlink__",          "profiler__",           "numa__",
    "launch__context_", "launch__stream_",   "launch__function_pcs", "launch__occupancy_per_",
    "launch__uses_",    "launch__kernel_id", "smsp__pcsamp_",        "derived__pct_occupancy_per_",
};

ncu_role ncu_role_of(const char *raw_name) {
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
        if (strcmp(roles[i].name, raw_name) == 0)
            return roles[i].role;
    if (strchr(raw_name, ':')) /* "breakdown:...", "pmsampling:...", a request's "regex:..." */
        return NCU_IGNORED;
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
        if (strncmp(raw_name, ignored[i], strlen(ignored[i])) == 0)
            return NCU_IGNORED;
    return NCU_COUNTER;
}

static bool ends_with(const char *text, size_t length, const char *end) {
    size_t n = strlen(end);
    return length >= n && memcmp(text + length - n, end, n) == 0;
}

bool ncu_name_of_count(const char *raw_name, char *count, size_t count_size, char *unit,
                       size_t unit_size, double *factor) {
    static const char per_cycle[] = ".per_cycle_elapsed", derived[] = "derived__";
    size_t length = strlen(raw_name);
    const char *start = raw_name, *suffix = "";
    *factor = 1;
    if (ends_with(raw_name, length, ".sum.per_cycle_elapsed")) {
        length -= strlen(per_cycle);
    } else if (strncmp(raw_name, derived, strlen(derived)) == 0 &&
               (ends_with(raw_name, length, "_x2") || ends_with(raw_name, length, "_x4"))) {
        /* derived__smsp__..._x2 is what was achieved; derived__sm__..._x2 is the peak */
        start += strlen(derived);
        length -= strlen(derived) + strlen("_x2");
        *factor = raw_name[strlen(raw_name) - 1] - '0';
        suffix = ".sum";
        if (strncmp(start, "smsp__", 6) != 0)
            return false;
    } else {
        return false;
    }
    const char *underscores = strstr(start, "__");
    if (!underscores || length + strlen(suffix) >= count_size ||
        (size_t)(underscores - start) >= unit_size)
        return false;
    snprintf(count, count_size, "%.*s%s", (int)length, start, suffix);
    snprintf(unit, unit_size, "%.*s", (int)(underscores - start), start);
    return true;
}
