/* SPDX-License-Identifier: Apache-2.0
 *
 * The device that a program is shown: a row of the hardware database, and what its architecture
 * adds, as an emu_device_spec. Rates that no source gives stay 0 ("not known") in the spec; the
 * time model leaves them out. NVIDIA devices of compute capability 6.0 and up can be emulated.
 */
#ifndef EMU_DEVICE_PROFILE_H
#define EMU_DEVICE_PROFILE_H

#include "emulator/emulator.h"
#include "hwdb/hwdb.h"

typedef struct emu_profile {
    emu_device_spec spec;
    char database_name[64];  /* the row's own name ("H100-SXM5-80GB") */
    char pci_id[16];         /* "2330": the first of the row; "" not known */
    double pcie_bytes_per_s; /* one direction; 0 not known */
    double tdp_w;            /* 0 not known */
    uint32_t registers_per_block;
    uint32_t max_threads_per_block;
} emu_profile;

/* LIST is "NAME[:COUNT],...": "H100", "H100:2,A100"; names as rp_hwdb_find takes them. A count is
 * the last ":"-separated part when it is a number of at most two digits. Fills *profiles (to be
 * freed) with *count devices. RP_INPUT names what is wrong and what there is. */
rp_code emu_profiles_parse(const rp_hwdb *db, const char *list, emu_profile **profiles, int *count,
                           rp_error *error);

/* False, with the reason in *why, if the row cannot be emulated. */
bool emu_profile_fill(const rp_hwdb *db, const rp_device *device, emu_profile *profile,
                      const char **why);

#endif
