#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# real_driver.sh ROOFPROF TRACER: NVIDIA's own libcuda on a machine without a device. It loads the
# tracer inside cuInit, once, and the program's own error stays what it is. The library is looked for
# in $ROOFPROF_TEST_LIBCUDA (a folder), then where the loader looks; without it the test is skipped.
set -u
roofprof=$1
export ROOFPROF_TRACER=$2 ASAN_OPTIONS=detect_leaks=0
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
[ -z "${ROOFPROF_TEST_LIBCUDA:-}" ] || export LD_LIBRARY_PATH=$ROOFPROF_TEST_LIBCUDA
cat >init.c <<'C'
#include <dlfcn.h>
#include <stdio.h>
int main(void) {
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    int (*init)(unsigned) = driver ? (int (*)(unsigned))dlsym(driver, "cuInit") : 0;
    if (!init)
        return 77;
    int result = init(0);
    printf("cuInit %d\n", result);
    return result;
}
C
cc -o init init.c -ldl || exit 77
./init >bare.out 2>&1
bare=$?
[ $bare -ne 77 ] || { echo "no libcuda.so.1 here"; exit 77; }
[ $bare -ne 0 ] || { echo "there is a device: the GPU tests cover this"; exit 77; }
"$roofprof" --keep-spool -o a.roof ./init >out 2>err
code=$?
failures=0
[ $code -eq $bare ] || { echo "exit code $code, not $bare"; failures=1; }
cmp -s bare.out out || { echo "the output differs"; diff bare.out out; failures=1; }
[ "$(ls a.roof.*/*.spool | wc -l)" -eq 1 ] || { echo "not one spool: injected never or twice"; failures=1; }
grep -q "started CUDA, but no kernel was traced" err || { cat err; failures=1; }
exit $failures
