/* SPDX-License-Identifier: Apache-2.0
 *
 * Loads a library with a kernel (unload.cu, beside this program), calls it and unloads it, four
 * times: the runtime, which only that library needs, comes and goes with it.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(void) {
    char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 16);
    if (n < 0)
        return 2;
    path[n] = 0;
    strcpy(strrchr(path, '/') + 1, "libunload.so");
    for (int i = 0; i < 4; i++) {
        void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        int (*answer)(void) = library ? (int (*)(void))dlsym(library, "answer") : NULL;
        if (!answer) {
            fprintf(stderr, "%s\n", dlerror());
            return 2;
        }
        printf("%d\n", answer());
        dlclose(library);
    }
    return 3;
}
