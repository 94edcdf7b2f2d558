#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a Kineto trace of a given size, for measuring the import's time and memory.

usage: kineto_trace.py MEGABYTES > trace.json

One kernel in five events, the rest CPU operators, launches and flows, as in real traces.
"""
import sys


def main():
    size = int(float(sys.argv[1]) * 1e6)
    out = sys.stdout
    written = out.write('{"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA H100 80GB HBM3", '
                        '"totalGlobalMem": 84942979072, "computeMajor": 9, "computeMinor": 0, "numSms": 132}],\n'
                        '"traceEvents": [\n')
    i = 0
    while written < size:
        ts = 1000000000.125 + i * 20
        written += out.write(
            f'{{"ph": "X", "cat": "cpu_op", "name": "aten::op{i % 50}", "pid": 100, "tid": 100, "ts": {ts}, "dur": 9.5, '
            f'"args": {{"External id": {i}, "Input Dims": [[{i % 7}, 1024], [1024, 1024], []], "Ev Idx": {i}}}}},\n'
            f'{{"ph": "X", "cat": "python_function", "name": "torch/nn/modules/module.py(1501): _call_impl", "pid": 100, '
            f'"tid": 100, "ts": {ts}, "dur": 12.25, "args": {{"Python id": {i}, "Python parent id": {i // 2}}}}},\n'
            f'{{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 100, "tid": 100, "ts": {ts + 1}, '
            f'"dur": 4.5, "args": {{"External id": {i}, "cbid": 211, "correlation": {i}}}}},\n'
            f'{{"ph": "s", "id": {i}, "pid": 100, "tid": 100, "ts": {ts + 1}, "cat": "ac2g", "name": "ac2g"}},\n'
            f'{{"ph": "X", "cat": "kernel", "name": "void at::native::vectorized_elementwise_kernel<4, '
            f'at::native::Functor{i % 200}<float>, std::array<char*, 3ul> >(int, float)", "pid": 0, "tid": 7, '
            f'"ts": {ts + 5}, "dur": {1 + i % 13}.376, "args": {{"External id": {i}, "queued": 0, "device": 0, '
            f'"context": 1, "stream": 7, "correlation": {i}, "registers per thread": 32, "shared memory": 0, '
            f'"blocks per SM": 3.5, "warps per SM": 14.0, "grid": [{512 + i % 3}, 1, 1], "block": [128, 1, 1], '
            f'"est. achieved occupancy %": 22}}}},\n')
        i += 1
    out.write('{"name": "process_name", "ph": "M", "ts": 1, "pid": 100, "tid": 0, "args": {"name": "python"}}\n],\n'
              '"baseTimeNanoseconds": 1700000000000000000}\n')
    print(f"{i} kernels", file=sys.stderr)


if __name__ == "__main__":
    main()
