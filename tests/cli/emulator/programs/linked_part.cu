// SPDX-License-Identifier: Apache-2.0
// The other half of linked.cu.
__device__ int base = 1000;
__device__ int twice(int v) {
    return 2 * v;
}
