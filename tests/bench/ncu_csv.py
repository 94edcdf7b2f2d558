#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A large Nsight Compute CSV, and the loop that people read such files with.

usage: ncu_csv.py make MEGABYTES FILE   write a CSV of that size (long format, 15 columns)
       ncu_csv.py sum FILE              read it with csv.DictReader, sum per kernel and metric

The second is what the import is measured against: it does less (no launches, no units, no
quantities, nothing kept), so a ratio of times is a lower bound of what is gained.
"""
import csv
import sys
import time

COLUMNS = ["ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream",
           "Block Size", "Grid Size", "Device", "CC", "Section Name", "Metric Name", "Metric Unit",
           "Metric Value"]
KERNELS = ["void gemm_tiled<(int)128, (int)64, (int)8>(const float *, const float *, float *, int, int, int)",
           "void at::native::vectorized_elementwise_kernel<(int)4, at::native::CUDAFunctor_add<float>, "
           "at::detail::Array<char *, (int)3>>(int, T2, T3)",
           "saxpy(float, const float *, float *, int)",
           "transpose_naive(const float *, float *, int, int)",
           "void reduce_kernel<(int)512, (int)1, at::native::ReduceOp<float, at::native::func_wrapper_t<float, "
           "at::native::sum_functor<float, float, float>::operator ()(at::TensorIterator &)::[lambda(float, float) "
           "(instance 1)]>, unsigned int, float, (int)4>>(T3)"]
METRICS = [("gpu__time_duration.sum", "ns", "292,928"), ("sm__cycles_elapsed.max", "cycle", "512,004"),
           ("dram__bytes_read.sum", "byte", "134,221,568"), ("dram__bytes_write.sum", "byte", "43,631,104"),
           ("lts__t_bytes.sum", "byte", "201,334,784"), ("l1tex__t_bytes.sum", "byte", "268,435,456")]
METRICS += [(f"smsp__sass_thread_inst_executed_op_{op}_pred_on.sum", "inst", value)
            for op, value in (("dadd", "0"), ("dmul", "0"), ("dfma", "0"), ("fadd", "16,777,216"),
                              ("fmul", "1,048,576"), ("ffma", "33,554,432"), ("hadd", "0"), ("hmul", "0"),
                              ("hfma", "0"), ("integer", "88,080,384"), ("conversion", "12"), ("bit", "4,194,304"))]
METRICS += [("sm__warps_active.sum", "warp", "901,120,411"), ("sm__cycles_active.sum", "cycle", "21,771,003"),
            ("smsp__inst_executed.sum", "inst", "9,437,184"), ("sm__throughput.avg.pct_of_peak_sustained_elapsed", "%", "41.27")]


def make(size, path):
    with open(path, "w", newline="") as out:
        out.write("==PROF== Connected to process 4711 (/usr/bin/train)\n")
        out.write(",".join(f'"{c}"' for c in COLUMNS) + "\n")
        written, launch = 0, 0
        while written < size:
            kernel = KERNELS[launch % len(KERNELS)]
            start = (f'"{launch}","4711","train","127.0.0.1","{kernel}","1","7","(256, 1, 1)",'
                     f'"({64 * (launch % 7 + 1)}, 1, 1)","0","8.0","Command line profiler metrics",')
            written += out.write("".join(f'{start}"{name}","{unit}","{value}"\n' for name, unit, value in METRICS))
            launch += 1
        print(f"{launch} launches, {launch * len(METRICS)} rows", file=sys.stderr)


def total(path):
    start, sums, rows = time.time(), {}, 0
    with open(path, newline="") as lines:
        for line in lines:
            if line.startswith('"ID"'):
                break
        names = next(csv.reader([line]))
        for row in csv.DictReader(lines, fieldnames=names):
            key = row["Kernel Name"], row["Metric Name"]
            sums[key] = sums.get(key, 0.0) + float(row["Metric Value"].replace(",", ""))
            rows += 1
    print(f"{time.time() - start:.2f}")
    print(f"{rows} rows, {len(sums)} sums", file=sys.stderr)


if __name__ == "__main__":
    if len(sys.argv) == 4 and sys.argv[1] == "make":
        make(float(sys.argv[2]) * 1e6, sys.argv[3])
    elif len(sys.argv) == 3 and sys.argv[1] == "sum":
        total(sys.argv[2])
    else:
        sys.exit(__doc__)
