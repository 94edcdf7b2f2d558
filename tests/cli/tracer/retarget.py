#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""retarget.py PROGRAM OUTPUT FROM TO: PROGRAM for an older device than its compiler makes code for.

CUDA 13 has no sm_70 any more, and an emulated V100 runs PTX, of which the text for sm_75 is the same
where a program uses nothing that came with it. PROGRAM was built with --compress-mode=none and PTX
for FROM alone; in OUTPUT the PTX says TO.
"""
import struct
import sys

FAT_MAGIC, PTX = 0xBA55ED50, 1
HEADER, ENTRY = struct.Struct("<IHHQ"), struct.Struct("<HHIQ")
ARCH_AT = 28


def retarget(data, old, new):
    """Changes every PTX entry of every fat binary in DATA; returns how many there were."""
    changed, at = 0, data.find(struct.pack("<I", FAT_MAGIC))
    while at >= 0:
        _, _, header, size = HEADER.unpack_from(data, at)
        entry, end = at + header, at + header + size
        while end <= len(data) and entry + ARCH_AT + 4 <= end:
            kind, _, head, payload = ENTRY.unpack_from(data, entry)
            arch, = struct.unpack_from("<I", data, entry + ARCH_AT)
            if kind == PTX and arch == old:
                text = bytes(data[entry + head:entry + head + payload])
                word = b".target sm_%d" % old
                if word not in text:
                    sys.exit("the PTX is compressed: build with --compress-mode=none")
                data[entry + head:entry + head + payload] = text.replace(word, b".target sm_%d" % new)
                struct.pack_into("<I", data, entry + ARCH_AT, new)
                changed += 1
            if not head:
                break
            entry += head + payload
        at = data.find(struct.pack("<I", FAT_MAGIC), at + 4)
    return changed


def main(program, output, old, new):
    with open(program, "rb") as file:
        data = bytearray(file.read())
    if not retarget(data, int(old), int(new)):
        sys.exit(f"{program}: no PTX for sm_{old}")
    with open(output, "wb") as file:
        file.write(data)


if len(sys.argv) != 5:
    sys.exit(__doc__)
main(*sys.argv[1:])
