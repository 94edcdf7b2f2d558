// SPDX-License-Identifier: Apache-2.0
// CUDA_VISIBLE_DEVICES, as the real driver reads it: this program runs itself with many values of it.
// DEVICES: H100,A100,L4
// STDERR: which hides every emulated device (there are 3)
#include "check.h"
#include <cstring>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

// Letters of the devices that are seen, in order, and their bus numbers.
static std::string seen() {
    std::string names;
    int count = 0, again;
    if (cudaGetDeviceCount(&count) != cudaSuccess)
        return cudaGetLastError() == cudaErrorNoDevice ? "none" : "failed";
    for (int i = 0; i < count; i++) {
        cudaDeviceProp p;
        char bus[32];
        CUDA(cudaGetDeviceProperties(&p, i));
        CUDA(cudaDeviceGetPCIBusId(bus, sizeof bus, i));
        CUDA(cudaDeviceGetByPCIBusId(&again, bus));
        CHECK(again == i && p.pciBusID == atoi(bus + 5));
        CHECK(p.uuid.bytes[9] == '0' + p.pciBusID - 1);
        names += strstr(p.name, "H100") ? 'H' : strstr(p.name, "A100") ? 'A' : 'L';
    }
    return names;
}

static void expect(const char *list, const char *names) {
    pid_t child = fork();
    if (child == 0) {
        list ? setenv("CUDA_VISIBLE_DEVICES", list, 1) : unsetenv("CUDA_VISIBLE_DEVICES");
        execl("/proc/self/exe", "visible", names, (char *)NULL);
        _exit(127);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (status) {
        fprintf(stderr, "CUDA_VISIBLE_DEVICES=%s\n", list ? list : "(not set)");
        exit(1);
    }
}

int main(int argc, char **argv) {
    if (argc > 1) {
        std::string names = seen();
        if (names != argv[1])
            fprintf(stderr, "sees %s, not %s\n", names.c_str(), argv[1]);
        return names != argv[1];
    }
    expect(NULL, "HAL");
    expect("0,1,2", "HAL");
    expect("2,0", "LH");
    expect("1", "A");
    expect("1, 0", "AH");
    expect("", "none");
    expect("-1", "none");
    expect("NoDevFiles", "none");
    expect("0,2,-1,1", "HL"); // what is wrong ends the list
    expect("0,3,1", "H");
    expect("1,x,0", "A");
    expect("0,1,0", "none"); // a device twice: none
    expect("GPU-656d756c-6174-6564-2031", "A");
    expect("GPU-656d756c-6174-6564-2032-000000000000,0", "LH");
    expect("gpu-656d756c-6174-6564-2031", "none");
    expect("GPU-656d756c", "none"); // any of them
    expect("0,GPU-656d756c-6174-6564-2039", "H");
    expect("1,GPU-656d756c-6174-6564-2031", "none");
    expect("MIG-656d756c", "none");
    return 0;
}
