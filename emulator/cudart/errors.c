/* SPDX-License-Identifier: Apache-2.0
 *
 * Errors: their names and texts, and the functions that read and clear the last one.
 */
#include "emulator/cudart/door.h"

/* The last error is cleared, but for a fault of a kernel: that stays until the device is reset. */
static cudaError_t pending(void) {
    if (door.started && !door.forked && door.device_count > 0 &&
        door.device[door_self.device].sticky)
        return door.device[door_self.device].sticky;
    return door_self.last_error;
}

DOOR_EXPORT(cudaError_t, cudaGetLastError, void) {
    cudaError_t error = pending();
    door_self.last_error = cudaSuccess;
    return error;
}

DOOR_EXPORT(cudaError_t, cudaPeekAtLastError, void) {
    return pending();
}

static const struct {
    int value;
    const char *name, *text;
} table[] = {
#define E(value, name, text)                                                                       \
    { value, "cudaError" #name, text }
    {0, "cudaSuccess", "no error"},
    E(1, InvalidValue, "invalid argument"),
    E(2, MemoryAllocation, "out of memory"),
    E(3, InitializationError, "initialization error"),
    E(4, CudartUnloading, "driver shutting down"),
    E(5, ProfilerDisabled, "profiler disabled"),
    E(9, InvalidConfiguration, "invalid configuration argument"),
    E(12, InvalidPitchValue, "invalid pitch argument"),
    E(13, InvalidSymbol, "invalid device symbol"),
    E(16, InvalidHostPointer, "invalid host pointer"),
    E(17, InvalidDevicePointer, "invalid device pointer"),
    E(18, InvalidTexture, "invalid texture reference"),
    E(20, InvalidChannelDescriptor, "invalid channel descriptor"),
    E(21, InvalidMemcpyDirection, "invalid copy direction"),
    E(26, InvalidFilterSetting, "linear filtering not supported for non-float type"),
    E(27, InvalidNormSetting, "read as normalized float not supported for 32-bit non float type"),
    E(31, NotYetImplemented, "feature not yet implemented"),
    E(34, StubLibrary, "stub library in use"),
    E(35, InsufficientDriver, "driver too old for this runtime"),
    E(37, InvalidSurface, "invalid surface reference"),
    E(46, DevicesUnavailable, "all devices are busy or unavailable"),
    E(52, MissingConfiguration, "launch configuration missing"),
    E(53, PriorLaunchFailure, "an earlier launch failed"),
    E(98, InvalidDeviceFunction, "invalid device function"),
    E(100, NoDevice, "no CUDA-capable device is detected"),
    E(101, InvalidDevice, "invalid device ordinal"),
    E(127, StartupFailure, "startup failure"),
    E(200, InvalidKernelImage, "device kernel image is invalid"),
    E(201, DeviceUninitialized, "invalid device context"),
    E(209, NoKernelImageForDevice, "no kernel image is available for execution on the device"),
    E(215, UnsupportedLimit, "limit is not supported on this device"),
    E(216, DeviceAlreadyInUse, "device already in use"),
    E(217, PeerAccessUnsupported, "peer access is not supported between these two devices"),
    E(218, InvalidPtx, "PTX cannot be compiled"),
    E(222, UnsupportedPtxVersion, "PTX version is not supported"),
    E(300, InvalidSource, "invalid device kernel source"),
    E(301, FileNotFound, "file not found"),
    E(302, SharedObjectSymbolNotFound, "shared object symbol not found"),
    E(304, OperatingSystem, "operating system call failed"),
    E(400, InvalidResourceHandle, "invalid resource handle"),
    E(401, IllegalState, "illegal state"),
    E(500, SymbolNotFound, "named symbol not found"),
    E(600, NotReady, "device not ready"),
    E(700, IllegalAddress, "an illegal memory access was encountered"),
    E(701, LaunchOutOfResources, "too many resources requested for launch"),
    E(702, LaunchTimeout, "the launch timed out and was terminated"),
    E(704, PeerAccessAlreadyEnabled, "peer access is already enabled"),
    E(705, PeerAccessNotEnabled, "peer access has not been enabled"),
    E(708, SetOnActiveProcess, "cannot set while a device is active in this process"),
    E(709, ContextIsDestroyed, "context is destroyed"),
    E(710, Assert, "device-side assert triggered"),
    E(712, HostMemoryAlreadyRegistered, "part or all of the memory is already registered"),
    E(713, HostMemoryNotRegistered, "pointer is not registered host memory"),
    E(714, HardwareStackError, "hardware stack error"),
    E(715, IllegalInstruction, "an illegal instruction was encountered"),
    E(716, MisalignedAddress, "misaligned address"),
    E(717, InvalidAddressSpace, "operation not supported on this address space"),
    E(718, InvalidPc, "invalid program counter"),
    E(719, LaunchFailure, "unspecified launch failure"),
    E(720, CooperativeLaunchTooLarge, "too many blocks in cooperative launch"),
    E(800, NotPermitted, "operation not permitted"),
    E(801, NotSupported, "operation not supported"),
    E(802, SystemNotReady, "system not yet initialized"),
    E(900, StreamCaptureUnsupported, "operation not permitted while a stream is capturing"),
    E(901, StreamCaptureInvalidated, "capture invalidated by an earlier error"),
    E(902, StreamCaptureMerge, "two captures would be merged into one"),
    E(903, StreamCaptureUnmatched, "capture was not begun in this stream"),
    E(904, StreamCaptureUnjoined, "capture has work that was not joined into its first stream"),
    E(905, StreamCaptureIsolation, "a dependency would cross the border of a capture"),
    E(906, StreamCaptureImplicit,
      "operation would make the legacy stream depend on a capturing one"),
    E(907, CapturedEvent, "operation not permitted on an event recorded in a capturing stream"),
    E(908, StreamCaptureWrongThread, "capture was begun by another thread"),
    E(909, Timeout, "wait timed out"),
    E(910, GraphExecUpdateFailure, "graph update violates its constraints"),
    E(912, InvalidClusterSize, "invalid cluster size"),
    E(999, Unknown, "unknown error"),
#undef E
};

DOOR_EXPORT(const char *, cudaGetErrorName, int error) {
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].value == error)
            return table[i].name;
    return "unrecognized error code";
}

DOOR_EXPORT(const char *, cudaGetErrorString, int error) {
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].value == error)
            return table[i].text;
    return "unrecognized error code";
}
