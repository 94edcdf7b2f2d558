#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Arguments that callbacks get, against the structures that a toolkit's headers give for them: for each
function of the driver's and the runtime's doors that tells its arguments, as many of them, each of the
same size and kind.    parameters.py SOURCE-FOLDER INCLUDE-FOLDER
"""
import glob
import re
import sys

SIZES = {"char": 1, "unsigned char": 1, "unsigned short": 2, "short": 2, "float": 4, "dim3": 12}
EIGHT = {"size_t", "unsigned long long", "uint64_t", "cuuint64_t", "device_pointer", "CUdeviceptr", "CUdeviceptr_v1",
         "CUdeviceptr_v2", "CUmemGenericAllocationHandle", "CUmemGenericAllocationHandle_v1"}
HANDLES = re.compile(r"^(CU(stream|event|context|module|function|kernel|library|linkState|memoryPool|array|graph\w*|"
                     r"mipmappedArray|texref|surfref|hostFn|streamCallback|occupancyB2DSize)|"
                     r"cuda(Stream|Event|MemPool|Kernel|Library)_t|shared_of_block)$")
BY_VALUE = {"ipc_handle": 64, "CUipcMemHandle": 64, "CUipcEventHandle": 64, "cudaMemLocation": 8, "CUmemLocation": 8,
            "struct cudaMemLocation": 8}


def kind(declaration):
    """(size, is it an address) of a parameter."""
    d = re.sub(r"\b(const|volatile|CUDAAPI)\b", "", declaration)
    if "*" in d or "[" in d:
        return 8, True
    words = d.split()
    base = " ".join(words[:-1]) if len(words) > 1 else words[0]
    if HANDLES.match(base):
        return 8, True
    if base in BY_VALUE:
        return BY_VALUE[base], False
    if base in EIGHT:
        return 8, False
    return SIZES.get(base, 4), False  # int, unsigned, enumerations


def split(text):
    parts, depth, part = [], 0, ""
    for c in text:
        depth += (c in "([{") - (c in ")]}")
        if c == "," and depth == 0:
            parts.append(part)
            part = ""
        else:
            part += c
    return [" ".join(p.split()) for p in parts + [part]]


def invocations(text, pattern):
    for m in re.finditer(pattern, text, re.M):
        at, depth = m.end(), 1
        while depth:
            depth += (text[at] == "(") - (text[at] == ")")
            at += 1
        yield m, split(text[m.end():at - 1]), at


def name_of(declaration):
    return re.findall(r"\w+", re.sub(r"\[.*", "", declaration))[-1]


def told(source):
    """{function: declarations of what it tells, in that order}"""
    result = {}
    for path in glob.glob(source + "/emulator/cuda/*.c"):
        text = open(path).read()
        for m, a, _ in invocations(text, r"^DRIVER_(CALL|QUERY|STREAM|SYNC)_TOLD\("):
            declared = {name_of(d): d for d in a[3:]}
            if m.group(1) == "STREAM":
                declared["stream"] = "cudaStream_t stream"
            result[a[0]] = [declared[n] for n in split(a[1].strip("()"))]
    for path in glob.glob(source + "/emulator/cudart/*.c"):
        text = open(path).read()
        for m, a, end in invocations(text, r"^DOOR_EXPORT\("):
            body = text[end:text.find("\n}", end)]
            names = re.search(r"EMU_TOLD\(([^()]*)\)", body)
            if names:
                declared = {name_of(d): d for d in a[2:]}
                result[a[1]] = [declared[n] for n in split(names.group(1))]
    return result


def expected(include):
    result = {}
    for header in ("generated_cuda_meta.h", "generated_cuda_runtime_api_meta.h"):
        text = open(f"{include}/{header}").read()
        for name, fields in re.findall(r"typedef struct (\w+?)_params_st \{(.*?)\}", text, re.S):
            name = re.sub(r"_v\d{4,5}$", "", name) if name.startswith("cuda") else name
            result[re.sub(r"_v\d{4,5}(?=_pt[ds]s$|_ptsz$)", "", name)] = [
                " ".join(f.split()) for f in fields.split(";") if f.strip()]
    return result


def main():
    ours, theirs = told(sys.argv[1]), expected(sys.argv[2])
    bad = checked = 0
    for name, declarations in sorted(ours.items()):
        if name not in theirs:
            continue  # the headers of this toolkit have no such structure
        checked += 1
        a, b = [kind(d) for d in declarations], [kind(d) for d in theirs[name]]
        if a != b:
            bad += 1
            print(f"{name}: tells {declarations}, is {theirs[name]}")
    print(f"{checked} of {len(ours)} functions checked, {bad} differ")
    return bad > 0 or checked < 60


sys.exit(main())
