/* SPDX-License-Identifier: Apache-2.0
 *
 * NVML's door: libnvidia-ml.so.1 over the emulated devices, as much of it as monitors and profilers
 * ask for. It shows the machine: CUDA_VISIBLE_DEVICES hides nothing here. Devices and memory are
 * what the runtime's door of this process says; other processes are not seen. Utilisation is the
 * share of virtual time that kernels ran since it was last asked for. An emulated device draws no
 * power and never throttles: ROOFPROF_EMU_NVML, a list of NAME=VALUE, makes it say that it does:
 * power (W), temperature (C), throttle (bits of the clocks' event reasons), clock and memory_clock
 * (MHz). What is not said and cannot be known is refused as not supported, as by a device without
 * the sensor.
 */
#include "emulator/cuda/find.h"
#include "emulator/cudart/visible.h"
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NVML_EXPORT(name, ...)                                                                     \
    __attribute__((visibility("default"))) int name(__VA_ARGS__);                                  \
    int name(__VA_ARGS__)

enum {
    NVML_SUCCESS = 0,
    NVML_UNINITIALIZED = 1,
    NVML_INVALID_ARGUMENT = 2,
    NVML_NOT_SUPPORTED = 3,
    NVML_NOT_FOUND = 6,
    NVML_INSUFFICIENT_SIZE = 7,
    NVML_DRIVER_NOT_LOADED = 9
};

enum { MAX_DEVICES = 16 };

/* What a nvmlDevice_t points to. */
typedef struct nvml_device {
    int index;
    double seen_s, seen_busy_s; /* when utilisation was last asked for */
} nvml_device;

static struct {
    pthread_mutex_t lock;
    const emu_doors *doors;
    int users; /* of nvmlInit */
    nvml_device device[MAX_DEVICES];
} nvml = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- Start -----------------------------------------------------------------------------------
 */

static void find(void) {
    const emu_doors *found[2];
    int count = emu_find_doors(found);
    for (int i = count - 1; i >= 0; i--) /* the first, or the last that is in use */
        if (i == 0 || found[i]->started()) {
            nvml.doors = found[i];
            break;
        }
    for (int i = 0; i < MAX_DEVICES; i++)
        nvml.device[i].index = i;
}

NVML_EXPORT(nvmlInit_v2, void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find);
    if (!nvml.doors)
        return NVML_DRIVER_NOT_LOADED;
    nvml.doors->list_devices();
    if (!nvml.doors->machine_count())
        return NVML_DRIVER_NOT_LOADED;
    pthread_mutex_lock(&nvml.lock);
    nvml.users++;
    pthread_mutex_unlock(&nvml.lock);
    return NVML_SUCCESS;
}

NVML_EXPORT(nvmlInit, void) {
    return nvmlInit_v2();
}

NVML_EXPORT(nvmlInitWithFlags, unsigned flags) {
    (void)flags;
    return nvmlInit_v2();
}

NVML_EXPORT(nvmlShutdown, void) {
    pthread_mutex_lock(&nvml.lock);
    bool there = nvml.users > 0;
    nvml.users -= there;
    pthread_mutex_unlock(&nvml.lock);
    return there ? NVML_SUCCESS : NVML_UNINITIALIZED;
}

static int ready(void) {
    pthread_mutex_lock(&nvml.lock);
    bool there = nvml.users > 0;
    pthread_mutex_unlock(&nvml.lock);
    return there ? NVML_SUCCESS : NVML_UNINITIALIZED;
}

/* For a function that is exported but not there. */
int nvml_not_supported(void);
int nvml_not_supported(void) {
    int error = ready();
    return error ? error : NVML_NOT_SUPPORTED;
}

/* A handle's device; OUT must not be NULL. */
static int look(void *handle, const void *out, emu_door_device *device) {
    nvml_device *d = handle;
    int error = ready();
    if (error)
        return error;
    if (!out || d < nvml.device || d >= nvml.device + MAX_DEVICES ||
        !nvml.doors->machine_device(d->index, device))
        return NVML_INVALID_ARGUMENT;
    return NVML_SUCCESS;
}

/* What ROOFPROF_EMU_NVML says of NAME; false: nothing. */
static bool feigned(const char *name, unsigned long long *value) {
    const char *at = getenv("ROOFPROF_EMU_NVML");
    size_t length = strlen(name);
    while (at && *at) {
        if (!strncmp(at, name, length) && at[length] == '=') {
            *value = strtoull(at + length + 1, NULL, 0);
            return true;
        }
        at += strcspn(at, ",");
        at += *at == ',';
    }
    return false;
}

__attribute__((visibility("default"))) const char *nvmlErrorString(int error);
const char *nvmlErrorString(int error) {
    switch (error) {
    case NVML_SUCCESS:
        return "Success";
    case NVML_UNINITIALIZED:
        return "Uninitialized";
    case NVML_INVALID_ARGUMENT:
        return "Invalid Argument";
    case NVML_NOT_SUPPORTED:
        return "Not Supported";
    case NVML_NOT_FOUND:
        return "Not Found";
    case NVML_INSUFFICIENT_SIZE:
        return "Insufficient Size";
    case NVML_DRIVER_NOT_LOADED:
        return "Driver Not Loaded";
    default:
        return "Unknown Error";
    }
}

/* ---- The system ------------------------------------------------------------------------------
 */

static int give_text(char *out, unsigned length, const char *text) {
    if (!out)
        return NVML_INVALID_ARGUMENT;
    if (strlen(text) >= length)
        return NVML_INSUFFICIENT_SIZE;
    memcpy(out, text, strlen(text) + 1);
    return NVML_SUCCESS;
}

NVML_EXPORT(nvmlSystemGetDriverVersion, char *out, unsigned length) {
    int error = ready();
    return error ? error : give_text(out, length, "580.00 (emulated)");
}

NVML_EXPORT(nvmlSystemGetNVMLVersion, char *out, unsigned length) {
    int error = ready();
    return error ? error : give_text(out, length, "13.580.00");
}

NVML_EXPORT(nvmlSystemGetCudaDriverVersion_v2, int *version) {
    int error = ready();
    if (!error && !version)
        error = NVML_INVALID_ARGUMENT;
    if (!error)
        *version = nvml.doors->cudart >= 13 ? 13000 : 12080;
    return error;
}

NVML_EXPORT(nvmlSystemGetCudaDriverVersion, int *version) {
    return nvmlSystemGetCudaDriverVersion_v2(version);
}

NVML_EXPORT(nvmlDeviceGetCount_v2, unsigned *count) {
    int error = ready();
    if (!error && !count)
        error = NVML_INVALID_ARGUMENT;
    if (!error)
        *count = (unsigned)nvml.doors->machine_count();
    return error;
}

NVML_EXPORT(nvmlDeviceGetCount, unsigned *count) {
    return nvmlDeviceGetCount_v2(count);
}

NVML_EXPORT(nvmlDeviceGetHandleByIndex_v2, unsigned index, void **handle) {
    emu_door_device device;
    int error = index < MAX_DEVICES ? look(&nvml.device[index], handle, &device) : ready();
    if (!error && index >= MAX_DEVICES)
        error = NVML_INVALID_ARGUMENT;
    if (!error)
        *handle = &nvml.device[index];
    return error;
}

NVML_EXPORT(nvmlDeviceGetHandleByIndex, unsigned index, void **handle) {
    return nvmlDeviceGetHandleByIndex_v2(index, handle);
}

/* ---- Identity --------------------------------------------------------------------------------
 */

NVML_EXPORT(nvmlDeviceGetName, void *handle, char *name, unsigned length) {
    emu_door_device d;
    int error = look(handle, name, &d);
    return error ? error : give_text(name, length, d.spec->name);
}

NVML_EXPORT(nvmlDeviceGetUUID, void *handle, char *uuid, unsigned length) {
    emu_door_device d;
    char bytes[16], text[EMU_UUID_TEXT];
    int error = look(handle, uuid, &d);
    if (error)
        return error;
    emu_device_uuid(d.physical, bytes, text);
    return give_text(uuid, length, text);
}

NVML_EXPORT(nvmlDeviceGetHandleByUUID, const char *uuid, void **handle) {
    char bytes[16], text[EMU_UUID_TEXT];
    int error = ready();
    if (!error && (!uuid || !handle))
        error = NVML_INVALID_ARGUMENT;
    for (int i = 0; !error && i < nvml.doors->machine_count(); i++) {
        emu_device_uuid(i, bytes, text);
        if (!strcmp(text, uuid)) {
            *handle = &nvml.device[i];
            return NVML_SUCCESS;
        }
    }
    return error ? error : NVML_NOT_FOUND;
}

NVML_EXPORT(nvmlDeviceGetIndex, void *handle, unsigned *index) {
    emu_door_device d;
    int error = look(handle, index, &d);
    if (!error)
        *index = (unsigned)((nvml_device *)handle)->index;
    return error;
}

NVML_EXPORT(nvmlDeviceGetMinorNumber, void *handle, unsigned *minor) {
    return nvmlDeviceGetIndex(handle, minor);
}

typedef struct nvml_pci {
    char legacy[16];
    unsigned domain, bus, device, id, subsystem;
    char bus_id[32];
} nvml_pci;

NVML_EXPORT(nvmlDeviceGetPciInfo_v3, void *handle, nvml_pci *pci) {
    emu_door_device d;
    int error = look(handle, pci, &d);
    if (error)
        return error;
    *pci = (nvml_pci){.bus = (unsigned)((nvml_device *)handle)->index + 1};
    pci->id = (unsigned)strtoul(d.pci_id, NULL, 16) << 16 | 0x10de;
    snprintf(pci->legacy, sizeof pci->legacy, "0000:%02x:00.0", pci->bus);
    snprintf(pci->bus_id, sizeof pci->bus_id, "00000000:%02X:00.0", pci->bus);
    return NVML_SUCCESS;
}

NVML_EXPORT(nvmlDeviceGetPciInfo_v2, void *handle, nvml_pci *pci) {
    return nvmlDeviceGetPciInfo_v3(handle, pci);
}

NVML_EXPORT(nvmlDeviceGetPciInfo, void *handle, nvml_pci *pci) {
    return nvmlDeviceGetPciInfo_v3(handle, pci);
}

NVML_EXPORT(nvmlDeviceGetHandleByPciBusId_v2, const char *bus_id, void **handle) {
    unsigned bus = 0;
    int error = ready();
    if (!error && (!bus_id || !handle || sscanf(bus_id, "%*x:%x:", &bus) != 1))
        error = NVML_INVALID_ARGUMENT;
    if (!error && (bus == 0 || (int)bus > nvml.doors->machine_count()))
        error = NVML_NOT_FOUND;
    if (!error)
        *handle = &nvml.device[bus - 1];
    return error;
}

NVML_EXPORT(nvmlDeviceGetHandleByPciBusId, const char *bus_id, void **handle) {
    return nvmlDeviceGetHandleByPciBusId_v2(bus_id, handle);
}

NVML_EXPORT(nvmlDeviceGetCudaComputeCapability, void *handle, int *major, int *minor) {
    emu_door_device d;
    int error = look(handle, major, &d);
    if (!error && !minor)
        error = NVML_INVALID_ARGUMENT;
    if (error)
        return error;
    *major = d.spec->cc_major;
    *minor = d.spec->cc_minor;
    return NVML_SUCCESS;
}

/* ---- Memory, utilisation, clocks -------------------------------------------------------------
 */

typedef struct nvml_memory {
    unsigned long long total, left, used;
} nvml_memory;

typedef struct nvml_memory_v2 {
    unsigned version;
    unsigned long long total, reserved, left, used;
} nvml_memory_v2;
enum { MEMORY_V2 = (int)(sizeof(nvml_memory_v2) | 2u << 24) };

NVML_EXPORT(nvmlDeviceGetMemoryInfo, void *handle, nvml_memory *memory) {
    emu_door_device d;
    int error = look(handle, memory, &d);
    if (!error)
        *memory =
            (nvml_memory){d.spec->memory_bytes, d.spec->memory_bytes - d.used_bytes, d.used_bytes};
    return error;
}

NVML_EXPORT(nvmlDeviceGetMemoryInfo_v2, void *handle, nvml_memory_v2 *memory) {
    emu_door_device d;
    int error = look(handle, memory, &d);
    if (!error && memory->version != MEMORY_V2)
        error = NVML_INVALID_ARGUMENT;
    if (error)
        return error;
    memory->total = d.spec->memory_bytes;
    memory->reserved = 0;
    memory->used = d.used_bytes;
    memory->left = d.spec->memory_bytes - d.used_bytes;
    return NVML_SUCCESS;
}

NVML_EXPORT(nvmlDeviceGetMemoryBusWidth, void *handle, unsigned *bits) {
    emu_door_device d;
    int error = look(handle, bits, &d);
    if (!error && d.spec->memory_bus_bits <= 0)
        error = NVML_NOT_SUPPORTED;
    if (!error)
        *bits = (unsigned)d.spec->memory_bus_bits;
    return error;
}

typedef struct nvml_utilization {
    unsigned gpu, memory; /* percent */
} nvml_utilization;

NVML_EXPORT(nvmlDeviceGetUtilizationRates, void *handle, nvml_utilization *rates) {
    emu_door_device d;
    nvml_device *device = handle;
    int error = look(handle, rates, &d);
    if (error)
        return error;
    pthread_mutex_lock(&nvml.lock);
    double now_s = nvml.doors->now_s(), passed_s = now_s - device->seen_s;
    double busy = passed_s > 0 ? (d.busy_s - device->seen_busy_s) / passed_s : 0;
    device->seen_s = now_s;
    device->seen_busy_s = d.busy_s;
    pthread_mutex_unlock(&nvml.lock);
    rates->gpu = (unsigned)(100 * (busy < 1 ? busy : 1) + 0.5); /* streams overlap */
    rates->memory = rates->gpu; /* while a kernel runs, memory is in use: NVML's own definition */
    return NVML_SUCCESS;
}

enum { CLOCK_GRAPHICS = 0, CLOCK_SM = 1, CLOCK_MEM = 2, CLOCK_VIDEO = 3 };

static int clock_mhz(void *handle, int type, unsigned *mhz, bool now) {
    emu_door_device d;
    unsigned long long said;
    int error = look(handle, mhz, &d);
    if (error)
        return error;
    if (type < CLOCK_GRAPHICS || type > CLOCK_VIDEO)
        return NVML_INVALID_ARGUMENT;
    double hz = type == CLOCK_MEM ? d.spec->memory_clock_hz : d.spec->sm_clock_hz;
    if (type == CLOCK_VIDEO || !(hz > 0))
        return NVML_NOT_SUPPORTED;
    *mhz = (unsigned)(hz / 1e6 + 0.5);
    if (now && feigned(type == CLOCK_MEM ? "memory_clock" : "clock", &said))
        *mhz = (unsigned)said;
    return NVML_SUCCESS;
}

NVML_EXPORT(nvmlDeviceGetClockInfo, void *handle, int type, unsigned *mhz) {
    return clock_mhz(handle, type, mhz, true);
}

NVML_EXPORT(nvmlDeviceGetMaxClockInfo, void *handle, int type, unsigned *mhz) {
    return clock_mhz(handle, type, mhz, false);
}

NVML_EXPORT(nvmlDeviceGetApplicationsClock, void *handle, int type, unsigned *mhz) {
    return clock_mhz(handle, type, mhz, false);
}

NVML_EXPORT(nvmlDeviceGetDefaultApplicationsClock, void *handle, int type, unsigned *mhz) {
    return clock_mhz(handle, type, mhz, false);
}

/* ID: 0 current, 1 and 2 of applications, 3 the most that may be asked for. */
NVML_EXPORT(nvmlDeviceGetClock, void *handle, int type, int id, unsigned *mhz) {
    return clock_mhz(handle, type, mhz, id == 0);
}

/* ---- Power, heat, throttling -----------------------------------------------------------------
 */

static int sensor(void *handle, const char *name, unsigned scale, unsigned *value) {
    emu_door_device d;
    unsigned long long said;
    int error = look(handle, value, &d);
    if (!error && !feigned(name, &said))
        error = NVML_NOT_SUPPORTED;
    if (!error)
        *value = (unsigned)said * scale;
    return error;
}

NVML_EXPORT(nvmlDeviceGetPowerUsage, void *handle, unsigned *milliwatts) {
    return sensor(handle, "power", 1000, milliwatts);
}

NVML_EXPORT(nvmlDeviceGetTemperature, void *handle, int which, unsigned *celsius) {
    return which ? NVML_INVALID_ARGUMENT : sensor(handle, "temperature", 1, celsius);
}

NVML_EXPORT(nvmlDeviceGetPowerManagementLimit, void *handle, unsigned *milliwatts) {
    emu_door_device d;
    int error = look(handle, milliwatts, &d);
    if (!error && !(d.tdp_w > 0))
        error = NVML_NOT_SUPPORTED;
    if (!error)
        *milliwatts = (unsigned)(d.tdp_w * 1000);
    return error;
}

NVML_EXPORT(nvmlDeviceGetEnforcedPowerLimit, void *handle, unsigned *milliwatts) {
    return nvmlDeviceGetPowerManagementLimit(handle, milliwatts);
}

NVML_EXPORT(nvmlDeviceGetPowerManagementDefaultLimit, void *handle, unsigned *milliwatts) {
    return nvmlDeviceGetPowerManagementLimit(handle, milliwatts);
}

NVML_EXPORT(nvmlDeviceGetCurrentClocksEventReasons, void *handle, unsigned long long *reasons) {
    emu_door_device d;
    int error = look(handle, reasons, &d);
    if (!error && !feigned("throttle", reasons))
        *reasons = 0;
    return error;
}

NVML_EXPORT(nvmlDeviceGetCurrentClocksThrottleReasons, void *handle, unsigned long long *reasons) {
    return nvmlDeviceGetCurrentClocksEventReasons(handle, reasons);
}

NVML_EXPORT(nvmlDeviceGetSupportedClocksEventReasons, void *handle, unsigned long long *reasons) {
    emu_door_device d;
    enum { ALL = 0x7ff };
    int error = look(handle, reasons, &d);
    if (!error)
        *reasons = ALL;
    return error;
}

NVML_EXPORT(nvmlDeviceGetSupportedClocksThrottleReasons, void *handle,
            unsigned long long *reasons) {
    return nvmlDeviceGetSupportedClocksEventReasons(handle, reasons);
}

/* State 0: the most that it can. */
NVML_EXPORT(nvmlDeviceGetPerformanceState, void *handle, unsigned *state) {
    emu_door_device d;
    int error = look(handle, state, &d);
    if (!error)
        *state = 0;
    return error;
}

NVML_EXPORT(nvmlDeviceGetComputeMode, void *handle, unsigned *mode) {
    return nvmlDeviceGetPerformanceState(handle, mode); /* 0: the default, shared */
}

/* ---- Processes -------------------------------------------------------------------------------
 */

typedef struct nvml_process {
    unsigned pid;
    unsigned long long used;
    unsigned gpu_instance, compute_instance;
} nvml_process;

NVML_EXPORT(nvmlDeviceGetComputeRunningProcesses_v3, void *handle, unsigned *count,
            nvml_process *list) {
    emu_door_device d;
    int error = look(handle, count, &d);
    if (error)
        return error;
    unsigned room = *count;
    *count = d.open;
    if (!d.open)
        return NVML_SUCCESS;
    if (room < 1 || !list)
        return NVML_INSUFFICIENT_SIZE;
    *list = (nvml_process){(unsigned)getpid(), d.used_bytes, UINT32_MAX, UINT32_MAX}; /* no MIG */
    return NVML_SUCCESS;
}

NVML_EXPORT(nvmlDeviceGetComputeRunningProcesses_v2, void *handle, unsigned *count,
            nvml_process *list) {
    return nvmlDeviceGetComputeRunningProcesses_v3(handle, count, list);
}

NVML_EXPORT(nvmlDeviceGetGraphicsRunningProcesses_v3, void *handle, unsigned *count,
            nvml_process *list) {
    emu_door_device d;
    int error = look(handle, count, &d);
    (void)list;
    if (!error)
        *count = 0;
    return error;
}
