/* SPDX-License-Identifier: Apache-2.0
 *
 * Opening the CUDA driver and NVML.
 */
#include "kernels/driver.h"

#include <dlfcn.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* ---- The driver ------------------------------------------------------------------------------ */

static bool resolve(rp_cuda *cuda, const char **missing) {
#define RP_CUDA_RESOLVE(NAME, PARAMETERS)                                                          \
    *(void **)&cuda->NAME = dlsym(cuda->library, #NAME);                                           \
    if (!cuda->NAME) {                                                                             \
        *missing = #NAME;                                                                          \
        return false;                                                                              \
    }
    RP_CUDA_FUNCTIONS(RP_CUDA_RESOLVE)
#undef RP_CUDA_RESOLVE
    *(void **)&cuda->cuDeviceGetUuid_v2 = dlsym(cuda->library, "cuDeviceGetUuid_v2");
    return true;
}

static bool is_stand_in(void *function) {
    Dl_info info;
    return dladdr(function, &info) && info.dli_fname && strstr(info.dli_fname, "/emulator/lib");
}

/* The stand-in works on the emulated runtime, which is known by the table that it exports; and it
 * lies in a folder of that name. Either will do: a modelled figure must not pass for a measured
 * one. */
static bool is_emulated(void *function) {
    return dlsym(RTLD_DEFAULT, "emu_doors_table") || is_stand_in(function);
}

rp_code rp_cuda_open(rp_cuda *cuda, rp_error *error) {
    const char *missing = "";
    int count = 0;
    cu_result result;

    *cuda = (rp_cuda){0};
    cuda->library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!cuda->library)
        return rp_fail(
            error, RP_MACHINE,
            "no CUDA driver here (libcuda.so.1 cannot be opened: %s); install the NVIDIA "
            "driver, or use --host to measure the CPU alone",
            dlerror());
    if (!resolve(cuda, &missing)) {
        rp_cuda_close(cuda);
        return rp_fail(
            error, RP_MACHINE,
            "the CUDA driver has no %s: it is too old, update it (11.0 and later will do)",
            missing);
    }
    cuda->emulated = is_emulated(*(void **)&cuda->cuInit);
    result = cuda->cuInit(0);
    if (result == 0)
        result = cuda->cuDeviceGetCount(&count);
    if (result != 0 || count == 0) {
        rp_cuda_check(cuda, result, error, "the CUDA driver does not start");
        if (result == 0)
            rp_fail(error, RP_MACHINE, "the CUDA driver sees no device (CUDA_VISIBLE_DEVICES?)");
        rp_cuda_close(cuda);
        return RP_MACHINE;
    }
    return RP_OK;
}

void rp_cuda_close(rp_cuda *cuda) {
    if (cuda->library)
        dlclose(cuda->library);
    *cuda = (rp_cuda){0};
}

/* What a person can do about RESULT; "" nothing in particular. */
static const char *remedy(cu_result result) {
    switch (result) {
    case CU_OUT_OF_MEMORY:
        return "; something else holds the device's memory (nvidia-smi shows what)";
    case CU_DEVICE_UNAVAILABLE:
        return "; another process has the device to itself (exclusive compute mode: nvidia-smi -q "
               "-d COMPUTE), wait for it or pick another one with -d";
    case CU_NO_BINARY:
    case CU_INVALID_PTX:
    case CU_PTX_VERSION:
        return "; this build's kernels are for other devices, or its PTX is newer than the driver: "
               "update the driver, or build roofprof with a toolkit of the driver's version";
    case CU_ECC_UNCORRECTABLE:
        return "; the device's memory has an error that ECC cannot correct: reset or replace it";
    case CU_LAUNCH_TIMEOUT:
        return "; the display's watchdog ended the kernel: use a device without a display";
    case CU_SYSTEM_NOT_READY:
        return "; the NVLink fabric is not up (is nvidia-fabricmanager running?)";
    default:
        return "";
    }
}

rp_code rp_cuda_check(const rp_cuda *cuda, cu_result result, rp_error *error, const char *format,
                      ...) {
    char what[512];
    const char *name = NULL;
    va_list arguments;

    if (result == 0)
        return RP_OK;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    if (cuda->cuGetErrorName(result, &name) != 0 || !name)
        name = "an error that the driver has no name for";
    return rp_fail(error, RP_MACHINE, "%s: %s (%d)%s", what, name, result, remedy(result));
}

/* ---- NVML ------------------------------------------------------------------------------------ */

enum { NVML_TEMPERATURE_GPU = 0, NVML_CLOCK_SM = 1, NVML_CLOCK_MEMORY = 2 };

/* nvmlClocksEventReasons: those that hold a busy device back. */
static const struct {
    uint64_t bit;
    const char *text;
} reasons[] = {{0x4, "power cap"},
               {0x8, "hardware slowdown"},
               {0x10, "sync boost"},
               {0x20, "thermal slowdown (software)"},
               {0x40, "thermal slowdown (hardware)"},
               {0x80, "power brake"},
               {0x100, "display clock setting"},
               {0x2, "application clocks setting"}};

/* The first of two names: newer libraries say "events" where older ones said "throttle". */
static void *either(void *library, const char *name, const char *older) {
    void *found = dlsym(library, name);
    return found ? found : dlsym(library, older);
}

void rp_nvml_open(rp_nvml *nvml, const char *pci_address, bool emulated) {
    int (*start)(void), (*find)(const char *, void **);

    *nvml = (rp_nvml){0};
    nvml->library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!nvml->library)
        return;
    *(void **)&start = dlsym(nvml->library, "nvmlInit_v2");
    *(void **)&find = dlsym(nvml->library, "nvmlDeviceGetHandleByPciBusId_v2");
    if (!start || !find || is_stand_in(*(void **)&start) != emulated || start() != 0) {
        dlclose(nvml->library);
        *nvml = (rp_nvml){0};
        return;
    }
    *(void **)&nvml->shut_down = dlsym(nvml->library, "nvmlShutdown");
    *(void **)&nvml->power = dlsym(nvml->library, "nvmlDeviceGetPowerUsage");
    *(void **)&nvml->power_limit = dlsym(nvml->library, "nvmlDeviceGetEnforcedPowerLimit");
    *(void **)&nvml->temperature = dlsym(nvml->library, "nvmlDeviceGetTemperature");
    *(void **)&nvml->clock = dlsym(nvml->library, "nvmlDeviceGetClockInfo");
    *(void **)&nvml->throttle = either(nvml->library, "nvmlDeviceGetCurrentClocksEventReasons",
                                       "nvmlDeviceGetCurrentClocksThrottleReasons");
    *(void **)&nvml->driver_version = dlsym(nvml->library, "nvmlSystemGetDriverVersion");
    *(void **)&nvml->uuid = dlsym(nvml->library, "nvmlDeviceGetUUID");
    if (find(pci_address, &nvml->device) != 0)
        nvml->device = NULL;
}

void rp_nvml_close(rp_nvml *nvml) {
    if (!nvml->library)
        return;
    if (nvml->shut_down)
        nvml->shut_down();
    dlclose(nvml->library);
    *nvml = (rp_nvml){0};
}

rp_reading rp_nvml_read(const rp_nvml *nvml) {
    rp_reading r = {NAN, NAN, NAN, NAN, 0, false};
    unsigned value;
    unsigned long long bits;

    if (!nvml->device)
        return r;
    if (nvml->power && nvml->power(nvml->device, &value) == 0)
        r.power_w = value / 1e3;
    if (nvml->temperature && nvml->temperature(nvml->device, NVML_TEMPERATURE_GPU, &value) == 0)
        r.temperature_c = value;
    if (nvml->clock && nvml->clock(nvml->device, NVML_CLOCK_SM, &value) == 0)
        r.sm_clock_hz = value * 1e6;
    if (nvml->clock && nvml->clock(nvml->device, NVML_CLOCK_MEMORY, &value) == 0)
        r.memory_clock_hz = value * 1e6;
    if (nvml->throttle && nvml->throttle(nvml->device, &bits) == 0) {
        r.throttle = bits;
        r.throttle_known = true;
    }
    return r;
}

double rp_nvml_power_limit_w(const rp_nvml *nvml) {
    unsigned value;
    if (nvml->device && nvml->power_limit && nvml->power_limit(nvml->device, &value) == 0)
        return value / 1e3;
    return NAN;
}

bool rp_nvml_ask(const char *pci_address, const char *uuid, bool emulated, char driver[80],
                 double *power_limit_w) {
    rp_nvml nvml;
    char here[96] = "";

    *driver = 0;
    *power_limit_w = NAN;
    rp_nvml_open(&nvml, pci_address, emulated);
    bool same = nvml.device && nvml.uuid && nvml.uuid(nvml.device, here, sizeof here) == 0 &&
                strcasecmp(here, uuid) == 0;
    if (same) {
        if (!nvml.driver_version || nvml.driver_version(driver, 80) != 0)
            *driver = 0;
        *power_limit_w = rp_nvml_power_limit_w(&nvml);
    }
    rp_nvml_close(&nvml);
    return same;
}

const char *rp_throttle_text(uint64_t bits, char *buffer, size_t size) {
    *buffer = 0;
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (bits & reasons[i].bit) {
            size_t used = strlen(buffer);
            snprintf(buffer + used, size - used, "%s%s", used ? ", " : "", reasons[i].text);
        }
    return buffer;
}
