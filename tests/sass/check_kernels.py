#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The machine code of the calibration kernels, in every architecture of the fat binaries:

- vector: the loop is the meant instruction in at least 95 % of its slots (the fillers that ptxas puts
  behind each DFMA on chips with two FP64 lanes an SM are not counted: they cost nothing there)
- mma, wgmma: the loop holds exactly the tensor instructions that the source says, nothing that
  serialises them, and besides fillers and four slots of loop control nothing at all: operands and
  descriptors are not made again
- memory: every load and store of global memory in a stream kernel is 128 bits wide (256 in those that
  are named so), and the on-chip kernels' loop loads are
- sweep: the loop has 16 x DEPTH multiply-adds, or turns of 16 x 32, and four 128-bit loads
- all: no local memory (spills are that), no calls in a loop

    check_kernels.py CUOBJDUMP FOLDER     FOLDER: where the .fatbin files are
"""
import collections
import re
import subprocess
import sys

import sass

CHAINS, STEPS = 8, 64          # kernels/shapes.h
MMA_IN_LOOP = 8 * 8
WGMMA_IN_LOOP = 32
LOOP_CONTROL = 4
FILLERS = {"NOP"}

VECTOR = {"rp_fp64": "DFMA", "rp_fp32": "FFMA", "rp_fp32x2": "FFMA2", "rp_fp16x2": "HFMA2",
          "rp_bf16x2": "HFMA2", "rp_int32": "IMAD"}
MMA = {"fp64": "DMMA", "tf32": "HMMA", "bf16": "HMMA", "fp16": "HMMA", "fp8": "QMMA", "int8": "IMMA"}
WGMMA = {"tf32": "HGMMA", "bf16": "HGMMA", "fp16": "HGMMA", "fp8": "QGMMA", "int8": "IGMMA"}
STREAM = re.compile(r"rp_(read|write|copy|scale|add|triad|dot)_(16|32)_(\d)$")


class Check:
    def __init__(self):
        self.failures, self.passed = [], 0

    def that(self, holds, where, what):
        if holds:
            self.passed += 1
        else:
            self.failures.append(f"{where}: {what}")


def base(instruction):
    return instruction.opcode.split(".")[0]


def loop_with(body, opcode):
    """The innermost loop with the most instructions of OPCODE; [] if there is none."""
    loops = [l for l in sass.loops(body) if any(base(i) == opcode for i in l)]
    loops.sort(key=lambda l: (-sum(base(i) == opcode for i in l), len(l)))
    return loops[0] if loops else []


def counted(loop):
    return dict(collections.Counter(i.opcode for i in loop).most_common(6))


def is_filler(instruction):
    """NOP, and the add of nothing that ptxas puts behind some tensor instructions."""
    return base(instruction) in FILLERS or (
        base(instruction) == "UIADD3" and instruction.operands.count("URZ") >= 3)


def check_vector(check, where, name, body):
    meant = VECTOR[name]
    loop = loop_with(body, meant)
    hits = sum(base(i) == meant for i in loop)
    slots = sum(not is_filler(i) for i in loop) if meant == "DFMA" else len(loop)
    check.that(loop and hits >= 0.95 * slots, where,
               f"{hits} of {slots} slots of the loop are {meant}: {counted(loop)}")
    check.that(hits == CHAINS * STEPS, where, f"{hits} {meant} in the loop, not {CHAINS * STEPS}")


def check_tensor(check, where, body, meant, expected):
    loop = loop_with(body, meant)
    hits = sum(base(i) == meant for i in loop)
    check.that(hits == expected, where, f"{hits} {meant} in the loop, not {expected}")
    rest = [i for i in loop if base(i) != meant and not is_filler(i)]
    waits = [i for i in rest if base(i) == "WARPGROUP"]
    check.that(len(rest) - len(waits) <= LOOP_CONTROL and len(waits) <= 2, where,
               f"more than loop control beside {meant}: {counted(rest)}")


def check_stream(check, where, name, body):
    width = STREAM.match(name).group(2)
    mark = ".128" if width == "16" else ".256"
    accesses = [i for i in body if base(i) in ("LDG", "STG", "LD", "ST")]
    check.that(bool(accesses), where, "no global access at all")
    for i in accesses:
        check.that(mark in i.opcode, where, f"an access that is not {mark[1:]} bits wide: {i}")


def check_onchip(check, where, body, opcode, least):
    loop = loop_with(body, opcode)
    loads = [i for i in loop if base(i) == opcode]
    check.that(len(loads) == least, where, f"{len(loads)} {opcode} in the loop, not {least}")
    for i in loads:
        check.that(".128" in i.opcode, where, f"a load that is not 128 bits wide: {i}")


def check_sweep(check, where, name, body):
    depth = int(name.rsplit("_", 1)[1])
    loop = loop_with(body, "LDG")
    loads = [i for i in loop if base(i) == "LDG"]
    fmas = sum(base(i) == "FFMA" for i in loop)
    packed = sum(base(i) == "FFMA2" for i in loop)
    check.that(fmas + 2 * packed == 16 * min(depth, 32), where,
               f"{fmas} FFMA and {packed} FFMA2 in the loop, not {16 * min(depth, 32)}")
    check.that(len(loads) == 4 and all(".128" in i.opcode for i in loads), where,
               f"loads are not four of 128 bits: {loads}")


def check_function(check, where, name, body):
    for i in body:
        if base(i) in ("LDL", "STL"):
            check.that(False, where, f"local memory: {i}")
            break
    if name in VECTOR:
        check_vector(check, where, name, body)
    elif name.startswith("rp_mma_"):
        check_tensor(check, where, body, MMA[name.split("_")[2]], MMA_IN_LOOP)
    elif name.startswith("rp_wgmma_"):
        check_tensor(check, where, body, WGMMA[name.split("_")[2]], WGMMA_IN_LOOP)
    elif STREAM.match(name):
        check_stream(check, where, name, body)
    elif name.startswith("rp_sweep_"):
        check_sweep(check, where, name, body)
    elif name == "rp_l2_read":
        check_onchip(check, where, body, "LDG", 4)
    elif name == "rp_l1_read":
        check_onchip(check, where, body, "LDG", 8)
    elif name == "rp_shared_read":
        check_onchip(check, where, body, "LDS", 8)
    elif name.startswith("rp_chase_"):
        opcode = "LDS" if name.endswith("shared") else "LDG"
        loop = loop_with(body, opcode)
        loads = sum(base(i) == opcode for i in loop)
        check.that(loads == 16, where, f"{loads} {opcode} in the loop, not 16")
    elif name.startswith("rp_fill_") or name == "rp_check_doubles":
        pass
    else:
        check.that(False, where, "a kernel that this test does not know")


def expected_kernels(part, cc):
    """Names that must be there, so that a kernel lost to a macro does not pass unseen."""
    if part == "vector":
        names = set(VECTOR)
        if not 100 <= cc < 110:
            names.discard("rp_fp32x2")
        if cc < 80:
            names.discard("rp_bf16x2")
        return names
    if part == "wgmma":
        return {f"rp_wgmma_{p}" for p in WGMMA} if cc == 90 else set()
    if part == "mma":
        if cc < 75:
            return set()
        if cc == 75:
            return {"rp_mma_fp16_m16n8k8", "rp_mma_fp16_acc16_m16n8k8", "rp_mma_int8_m8n8k16"}
        names = {"rp_mma_fp16_m16n8k16", "rp_mma_fp16_acc16_m16n8k16", "rp_mma_bf16_m16n8k16",
                 "rp_mma_tf32_m16n8k8", "rp_mma_int8_m16n8k32"}
        if cc < 110:
            names.add("rp_mma_fp64_m8n8k4")
        if cc == 90:
            names.add("rp_mma_fp64_m16n8k16")
        if cc == 89 or cc >= 120:
            names.add("rp_mma_fp8_m16n8k32")
        return names
    if part == "memory":
        names = {f"rp_{p}_16_{u}" for u in (2, 4, 8)
                 for p in ("read", "write", "copy", "scale", "add", "triad", "dot")}
        if cc >= 100:
            names |= {f"rp_{p}_32_{u}" for u in (2, 4)
                      for p in ("read", "write", "copy", "scale", "add", "triad", "dot")}
        return names | {"rp_l2_read", "rp_l1_read", "rp_shared_read", "rp_chase_cached",
                        "rp_chase_uncached", "rp_chase_shared"}
    return {f"rp_sweep_{1 << i}" for i in range(9)}


def listing(cuobjdump, arch, fatbin):
    run = subprocess.run([cuobjdump, "-sass", "-arch", arch, fatbin], capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(f"{cuobjdump} -sass -arch {arch} {fatbin}: {run.stderr.strip()}")
    return run.stdout


def architectures(cuobjdump, fatbin):
    run = subprocess.run([cuobjdump, "-lelf", fatbin], capture_output=True, text=True)
    return sorted(set(re.findall(r"\.(sm_\d+a?)\.cubin", run.stdout)))


def main():
    cuobjdump, folder = sys.argv[1:3]
    check = Check()
    for part in ("vector", "mma", "wgmma", "memory", "sweep"):
        fatbin = f"{folder}/{part}.fatbin"
        archs = architectures(cuobjdump, fatbin)
        check.that(len(archs) >= 8, fatbin, f"only {archs}")
        for arch in archs:
            cc = int(re.sub(r"\D", "", arch))
            found = sass.functions(listing(cuobjdump, arch, fatbin))
            for name in expected_kernels(part, cc) - set(found):
                check.that(False, f"{arch} {part}", f"{name} is not there")
            for name, body in found.items():
                check_function(check, f"{arch} {name}", name, body)
    for failure in check.failures:
        print(failure)
    print(f"{check.passed} checks passed, {len(check.failures)} failed")
    return 1 if check.failures else 0


if __name__ == "__main__":
    sys.exit(main())
