/* SPDX-License-Identifier: Apache-2.0
 *
 * Bytes of a kernel by memory level, and its intensities. L2 is the traffic between the SMs and L2;
 * where only the total of the L2 slices was counted (fills and fabric included) that is used and
 * said. L1 does not see bulk copies of Hopper and later.
 */
#include "analysis/internal.h"

#include <math.h>

static void set(const rp_group *group, rp_quantity quantity, rp_hw_level level,
                rp_report_kernel *kernel) {
    double bytes = rp_group_total(group, quantity);
    if (!isnan(kernel->bytes[level]) || isnan(bytes))
        return;
    kernel->bytes[level] = bytes;
    kernel->bytes_provenance =
        rp_provenance_worse(kernel->bytes_provenance, rp_group_provenance(group, quantity));
}

static void set_dram(const rp_group *group, rp_report_kernel *kernel) {
    double read = rp_group_total(group, RP_Q_DRAM_READ);
    double write = rp_group_total(group, RP_Q_DRAM_WRITE);
    set(group, RP_Q_DRAM_BYTES, RP_DRAM, kernel);
    if (!isnan(kernel->bytes[RP_DRAM]) || (isnan(read) && isnan(write)))
        return;
    kernel->bytes[RP_DRAM] = (isnan(read) ? 0 : read) + (isnan(write) ? 0 : write);
    kernel->bytes_provenance = rp_provenance_worse(
        kernel->bytes_provenance, rp_provenance_worse(rp_group_provenance(group, RP_Q_DRAM_READ),
                                                      rp_group_provenance(group, RP_Q_DRAM_WRITE)));
    if (isnan(read) || isnan(write)) {
        kernel->bytes_provenance = rp_provenance_worse(kernel->bytes_provenance, RP_ESTIMATED);
        rp_kernel_note(kernel, "DRAM %s were not counted: bytes are a lower bound",
                       isnan(read) ? "reads" : "writes");
    }
}

void rp_count_bytes(const rp_group *group, rp_report_kernel *kernel) {
    for (int l = 0; l < RP_LEVELS; l++)
        kernel->bytes[l] = NAN;
    set_dram(group, kernel);
    set(group, RP_Q_L2_BYTES, RP_L2, kernel);
    if (isnan(kernel->bytes[RP_L2]) && group->q[RP_Q_L2_ALL_BYTES].n) {
        set(group, RP_Q_L2_ALL_BYTES, RP_L2, kernel);
        rp_kernel_note(kernel, "l2: bytes of the L2 slices, fills from DRAM included");
    }
    set(group, RP_Q_L1_BYTES, RP_L1, kernel);
    set(group, RP_Q_SHARED_BYTES, RP_SHARED, kernel);
    set(group, RP_Q_HOST_BYTES, RP_PCIE, kernel);
    for (int l = 0; l < RP_LEVELS; l++)
        kernel->intensity[l] = kernel->bytes[l] > 0 ? kernel->flops_total / kernel->bytes[l] : NAN;
    /* Known to do no arithmetic: intensity 0, whatever it moves. */
    if (kernel->flops_total == 0 && kernel->bytes[RP_DRAM] == 0)
        kernel->intensity[RP_DRAM] = 0;
    if (kernel->flops_total > 0 && kernel->bytes[RP_DRAM] == 0)
        rp_kernel_note(kernel, "no DRAM traffic at all: the intensity has no finite value");
}
