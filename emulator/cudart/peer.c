/* SPDX-License-Identifier: Apache-2.0
 *
 * Access to other devices' memory. Devices of one chip may reach each other. What is reached counts
 * apart (peer_bytes) and costs no time, as pinned memory does not either.
 */
#include "emulator/cudart/door.h"
#include <string.h>

static door_device *device_at(int index) {
    return index >= 0 && index < door.device_count ? &door.device[index] : NULL;
}

/* As on a board of like devices, whatever links them. */
static bool can_reach(const door_device *d, const door_device *peer) {
    return d != peer && strcmp(d->profile.spec.chip, peer->profile.spec.chip) == 0;
}

DOOR_EXPORT(cudaError_t, cudaDeviceCanAccessPeer, int *can, int device, int peer) {
    cudaError_t error = door_enter_query();
    if (!error && (!device_at(device) || !device_at(peer)))
        error = cudaErrorInvalidDevice;
    if (!error && !can)
        error = cudaErrorInvalidValue;
    if (!error)
        *can = can_reach(device_at(device), device_at(peer));
    return door_return(error);
}

cudaError_t door_allow_peer(door_device *d, door_device *peer) {
    cudaError_t error = door_open_device(d, true);
    if (!error)
        error = door_open_device(peer, true);
    if (error)
        return error;
    if (!can_reach(d, peer))
        return cudaErrorPeerAccessUnsupported;
    pthread_mutex_lock(&d->run);
    bool fresh = emu_peer_allow(d->emu, peer->emu);
    pthread_mutex_unlock(&d->run);
    return fresh ? cudaSuccess : cudaErrorPeerAccessAlreadyEnabled;
}

void door_forget_peer(const door_device *peer) {
    for (int i = 0; i < door.device_count; i++) {
        door_device *d = &door.device[i];
        if (d == peer || !d->emu || !peer->emu)
            continue;
        pthread_mutex_lock(&d->run);
        emu_peer_forbid(d->emu, peer->emu);
        pthread_mutex_unlock(&d->run);
    }
}

DOOR_EXPORT(cudaError_t, cudaDeviceEnablePeerAccess, int peer, unsigned flags) {
    door_device *d;
    cudaError_t error = door_enter(&d);
    if (!error && flags)
        error = cudaErrorInvalidValue;
    if (!error && (!device_at(peer) || device_at(peer) == d))
        error = cudaErrorInvalidDevice;
    return door_return(error ? error : door_allow_peer(d, device_at(peer)));
}

DOOR_EXPORT(cudaError_t, cudaDeviceDisablePeerAccess, int peer) {
    door_device *d;
    cudaError_t error = door_enter(&d);
    if (!error && !device_at(peer))
        error = cudaErrorInvalidDevice;
    if (error)
        return door_return(error);
    door_device *p = device_at(peer);
    pthread_mutex_lock(&d->run);
    bool was = p->emu && emu_peer_forbid(d->emu, p->emu);
    pthread_mutex_unlock(&d->run);
    return door_return(was ? cudaSuccess : cudaErrorPeerAccessNotEnabled);
}

/* No link is better than another; atomics go through; arrays are not shared. */
static bool peer_attribute(int number, bool reaches, int *value) {
    enum { PERFORMANCE_RANK = 1, ACCESS, NATIVE_ATOMICS, ARRAYS };
    if (number < PERFORMANCE_RANK || number > ARRAYS)
        return false;
    *value = reaches && (number == ACCESS || number == NATIVE_ATOMICS);
    return true;
}

DOOR_EXPORT(cudaError_t, cudaDeviceGetP2PAttribute, int *value, int number, int from, int to) {
    cudaError_t error = door_enter_query();
    if (!error && (!device_at(from) || !device_at(to)))
        error = cudaErrorInvalidDevice;
    if (!error && (!value || from == to ||
                   !peer_attribute(number, can_reach(device_at(from), device_at(to)), value)))
        error = cudaErrorInvalidValue;
    return door_return(error);
}
