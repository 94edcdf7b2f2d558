/* SPDX-License-Identifier: Apache-2.0
 *
 * From a database row to the spec of an emulated device. Limits and rates come from the database;
 * the size of the unified L1/shared memory, which it does not hold, from the table below.
 */
#include "emulator/device/profile.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEVICES = 16, WARP = 32 };

/* KiB of the unified data cache of an SM: CUDA C++ Programming Guide, "Technical Specifications per
 * Compute Capability". Before 7.0 L1 and shared memory are apart: L1 of GP100 is 24 KiB and of the
 * other Pascal chips 48 KiB (NVIDIA Pascal tuning guide). */
static uint32_t unified_cache_kib(int cc) {
    switch (cc) {
    case 60:
        return 24 + 64;
    case 61:
        return 48 + 96;
    case 70:
    case 72:
        return 128;
    case 75:
        return 96;
    case 80:
    case 87:
        return 192;
    case 86:
    case 89:
    case 120:
    case 121:
        return 128;
    case 90:
    case 100:
    case 103:
    case 110:
        return 256;
    default:
        return 0;
    }
}

/* NaN, the database's "not known", becomes the spec's 0. */
static double known(double value) {
    return isnan(value) ? 0 : value;
}

static uint32_t limit(const rp_hwdb *db, const rp_device *device, const char *name) {
    double value = rp_hwdb_limit(db, device, name);
    return isnan(value) || value < 0 ? 0 : (uint32_t)value;
}

static double bandwidth(const rp_device *device, rp_hw_level level) {
    const rp_ceiling *ceiling = rp_device_bandwidth(device, level);
    return ceiling ? known(ceiling->rate) : 0;
}

static void fill_limits(const rp_hwdb *db, const rp_device *device, emu_profile *p) {
    emu_device_spec *s = &p->spec;
    s->max_threads_per_sm = limit(db, device, "max_threads");
    s->max_warps_per_sm = limit(db, device, "max_warps");
    s->max_blocks_per_sm = limit(db, device, "max_blocks");
    s->registers_per_sm = limit(db, device, "registers");
    s->shared_bytes_per_sm = limit(db, device, "shared_bytes_per_sm");
    if (device->shared_bytes_per_sm > 0)
        s->shared_bytes_per_sm = (uint32_t)device->shared_bytes_per_sm;
    s->shared_bytes_per_block = limit(db, device, "shared_per_block");
    s->shared_bytes_per_block_optin = limit(db, device, "shared_optin");
    s->l1_bytes_per_sm = unified_cache_kib(s->cc_major * 10 + s->cc_minor) * 1024;
    p->registers_per_block = limit(db, device, "registers_per_block");
    p->max_threads_per_block = limit(db, device, "max_threads_per_block");
}

static double vector_rate(const rp_hwdb *db, const rp_device *device, rp_hw_precision precision) {
    return known(rp_hwdb_ops_per_clock(db, device, precision, RP_VECTOR, NULL));
}

static double tensor_rate(const rp_hwdb *db, const rp_device *device, rp_hw_precision precision) {
    return known(rp_hwdb_ops_per_clock(db, device, precision, RP_TENSOR, NULL));
}

static void fill_rates(const rp_hwdb *db, const rp_device *device, emu_device_spec *s) {
    s->dram_bytes_per_s = bandwidth(device, RP_DRAM);
    s->l2_bytes_per_s = bandwidth(device, RP_L2);
    s->l1_bytes_per_s = bandwidth(device, RP_L1);
    s->shared_bytes_per_s = bandwidth(device, RP_SHARED);
    s->fp64_per_clk = vector_rate(db, device, RP_FP64);
    s->fp32_per_clk = vector_rate(db, device, RP_FP32);
    s->fp16_per_clk = vector_rate(db, device, RP_FP16);
    s->int32_per_clk = vector_rate(db, device, RP_INT32);
    s->special_per_clk = known(rp_hwdb_limit(db, device, "xu")) * WARP;
    s->tensor_fp64_per_clk = tensor_rate(db, device, RP_FP64);
    s->tensor_tf32_per_clk = tensor_rate(db, device, RP_TF32);
    s->tensor_fp16_per_clk = tensor_rate(db, device, RP_FP16);
    s->tensor_bf16_per_clk = tensor_rate(db, device, RP_BF16);
    s->tensor_fp8_per_clk = tensor_rate(db, device, RP_FP8);
    s->tensor_int8_per_clk = tensor_rate(db, device, RP_INT8);
}

/* The first of a ";"-separated list; the string a real runtime would show. */
static void copy_first(char *to, size_t size, const char *list) {
    size_t n = list ? strcspn(list, ";") : 0;
    snprintf(to, size, "%.*s", (int)(n < size ? n : size - 1), list ? list : "");
}

static const char *missing(const emu_device_spec *s) {
    if (s->sm_count <= 0)
        return "the database does not know how many SMs it has";
    if (s->memory_bytes == 0)
        return "the database does not know how much memory it has";
    if (!(s->sm_clock_hz > 0))
        return "the database does not know its SM clock";
    if (s->max_threads_per_sm == 0 || s->registers_per_sm == 0 || s->shared_bytes_per_sm == 0)
        return "the database does not know the limits of its architecture";
    return NULL;
}

bool emu_profile_fill(const rp_hwdb *db, const rp_device *device, emu_profile *profile,
                      const char **why) {
    emu_device_spec *s = &profile->spec;
    *profile = (emu_profile){0};
    if (!device->vendor || strcmp(device->vendor, "NVIDIA") != 0 || device->cc_major < 6) {
        *why = "only NVIDIA devices of compute capability 6.0 and up can be emulated";
        return false;
    }
    snprintf(profile->database_name, sizeof profile->database_name, "%s", device->name);
    copy_first(s->name, sizeof s->name, device->device_names);
    if (!s->name[0])
        snprintf(s->name, sizeof s->name, "NVIDIA %s", device->name);
    copy_first(profile->pci_id, sizeof profile->pci_id, device->pci_ids);
    snprintf(s->chip, sizeof s->chip, "%s", device->chip ? device->chip : "");
    s->cc_major = device->cc_major;
    s->cc_minor = device->cc_minor;
    s->sm_count = (int)device->sm_count;
    s->sm_clock_hz = known(device->boost_hz);
    s->memory_clock_hz = known(device->memory_hz);
    s->memory_bus_bits = device->memory_bus_bits > 0 ? (int)device->memory_bus_bits : 0;
    s->memory_bytes = device->memory_bytes > 0 ? (uint64_t)device->memory_bytes : 0;
    s->l2_bytes = device->l2_bytes > 0 ? (uint64_t)device->l2_bytes : 0;
    profile->pcie_bytes_per_s = known(device->pcie_bytes_per_s);
    profile->tdp_w = known(device->tdp_w);
    fill_limits(db, device, profile);
    fill_rates(db, device, s);
    *why = missing(s);
    return *why == NULL;
}

/* ---- "H100:2,A100" ----------------------------------------------------------------------------
 */

/* Takes ":COUNT" off the end of NAME. */
static int split_count(char *name) {
    char *colon = strrchr(name, ':');
    size_t digits = colon ? strspn(colon + 1, "0123456789") : 0;
    if (digits == 0 || digits > 2 || colon[1 + digits] != 0)
        return 1;
    *colon = 0;
    return atoi(colon + 1);
}

static rp_code add_devices(const rp_hwdb *db, char *item, emu_profile *profiles, int *n,
                           rp_error *error) {
    const rp_device *device;
    const char *why;
    int count = split_count(item);
    if (count < 1 || *n + count > MAX_DEVICES)
        return rp_fail(error, RP_INPUT,
                       "emulated devices: '%s:%d': 1 to %d devices can be emulated", item, count,
                       MAX_DEVICES);
    rp_code code = rp_hwdb_find(db, item, &device, NULL, error);
    if (code != RP_OK)
        return code;
    if (!emu_profile_fill(db, device, &profiles[*n], &why))
        return rp_fail(error, RP_INPUT,
                       "%s cannot be emulated: %s; `roofprof --emulate list` "
                       "shows what can",
                       device->name, why);
    for (int i = 1; i < count; i++)
        profiles[*n + i] = profiles[*n];
    *n += count;
    return RP_OK;
}

rp_code emu_profiles_parse(const rp_hwdb *db, const char *list, emu_profile **profiles, int *count,
                           rp_error *error) {
    char *copy = strdup(list ? list : ""), *rest = NULL;
    emu_profile *found = calloc(MAX_DEVICES, sizeof *found);
    rp_code code = RP_OK;
    int n = 0;
    if (!copy || !found)
        code = rp_fail(error, RP_INTERNAL, "emulated devices: no memory");
    for (char *item = code == RP_OK ? strtok_r(copy, ",", &rest) : NULL; item && code == RP_OK;
         item = strtok_r(NULL, ",", &rest))
        code = add_devices(db, item, found, &n, error);
    if (code == RP_OK && n == 0)
        code = rp_fail(error, RP_INPUT,
                       "emulated devices: none is named; for example H100 or "
                       "H100:2,A100");
    free(copy);
    if (code != RP_OK) {
        free(found);
        return code;
    }
    *profiles = found;
    *count = n;
    return RP_OK;
}
