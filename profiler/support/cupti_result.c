/* SPDX-License-Identifier: Apache-2.0
 *
 * CUPTI's result codes in words: see cupti_result.h.
 */
#include "support/cupti_result.h"

#include <stddef.h>

static const rp_cupti_result table[] = {
    {0, "SUCCESS", "it worked", ""},
    {1, "INVALID_PARAMETER", "CUPTI did not accept an argument",
     "Report this: it is a fault in roofprof."},
    {2, "INVALID_DEVICE", "the device is not one of CUPTI's", ""},
    {3, "INVALID_CONTEXT", "the context is gone or not valid", ""},
    {7, "INVALID_OPERATION", "the call is not allowed in this state",
     "Report this: it is a fault in roofprof."},
    {8, "OUT_OF_MEMORY", "CUPTI had no memory", "Free host or device memory and try again."},
    {9, "HARDWARE", "the hardware reported an error", "Look at the kernel log for Xid messages."},
    {12, "MAX_LIMIT_REACHED", "a limit was reached", ""},
    {14, "NOT_COMPATIBLE", "what was asked for cannot be combined", ""},
    {15, "NOT_INITIALIZED",
     "CUPTI could not start: there is no device, or the driver is older than this CUPTI",
     "Use a CUPTI of the driver's CUDA version or older: set ROOFPROF_CUPTI to its libcupti.so, or "
     "update the driver."},
    {21, "INVALID_KIND", "this CUPTI does not know the record kind", ""},
    {23, "DISABLED", "the counters are off", ""},
    {26, "HARDWARE_BUSY", "something else is using the counters",
     "If DCGM is monitoring, pause it: dcgmi profile --pause (afterwards: --resume); otherwise end "
     "the other profiler."},
    {27, "NOT_SUPPORTED", "this device or driver does not support it",
     "Use --mode trace: times and copies need no counters."},
    {33, "VIRTUALIZED_DEVICE_NOT_SUPPORTED", "a virtual GPU does not support it",
     "Use --mode trace, or run on a physical device."},
    {35, "INSUFFICIENT_PRIVILEGES", "the driver lets only administrators read counters",
     "On the host (nothing inside a container can change it) set the module option "
     "NVreg_RestrictProfilingToAdminUsers=0 and reload the driver, or run with CAP_SYS_ADMIN "
     "(docker run --cap-add SYS_ADMIN; from driver R565 on, CAP_PERFMON). Times and copies need no "
     "permission; counts can come from --emulate or --work."},
    {36, "OLD_PROFILER_API_INITIALIZED", "the program uses CUPTI's old event interface",
     "Switch that off in the program: both cannot run in one process."},
    {38, "LEGACY_PROFILER_NOT_SUPPORTED", "the old interface does not know this device", ""},
    {39, "MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED", "another tool holds CUPTI in this process",
     "End or disable it: torch.profiler (Kineto), XLA's profiler, nsys, ncu, cuda-gdb and "
     "compute-sanitizer each take CUPTI for themselves."},
    {40, "VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES",
     "this virtual GPU has profiling switched off",
     "The hypervisor's administrator enables it for a VM (plugin0.enable_profiling=1)."},
    {41, "CONFIDENTIAL_COMPUTING_NOT_SUPPORTED", "confidential computing hides the counters",
     "Counters are not to be had while it is on; --mode trace works."},
    {42, "CMP_DEVICE_NOT_SUPPORTED", "mining cards have no counters", "Use --mode trace."},
    {43, "MIG_DEVICE_NOT_SUPPORTED", "this MIG slice shares the counted units with others",
     "Use a slice that has the whole memory system, or --mode trace."},
    {44, "SLI_DEVICE_NOT_SUPPORTED", "SLI is on", "Switch SLI off in the driver's settings."},
    {45, "WSL_DEVICE_NOT_SUPPORTED", "this version of WSL gives no access to counters",
     "Windows 11 and a current driver are needed; --mode trace works."},
    {46, "INVALID_CHIP_NAME", "this CUPTI is older than the device",
     "Use a newer CUPTI: set ROOFPROF_CUPTI to its libcupti.so."},
    {999, "UNKNOWN", "CUPTI gave no reason (without a usable driver or device it says this too)",
     "Run roofprof doctor."},
};

const rp_cupti_result *rp_cupti_result_find(int code) {
    static const rp_cupti_result other = {-1, "(no name)",
                                          "CUPTI gave a code without a known meaning", ""};
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (table[i].code == code)
            return &table[i];
    return &other;
}
