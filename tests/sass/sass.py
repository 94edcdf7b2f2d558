# SPDX-License-Identifier: Apache-2.0
"""Reads what `cuobjdump -sass` prints: functions, their instructions and their loops. Used by
check_kernels.py; kept apart so that its own reading can be tested without a disassembler."""
import re

FUNCTION = re.compile(r"^\s*Function : (\S+)")
INSTRUCTION = re.compile(r"^\s*/\*([0-9a-f]{4,})\*/\s+(?:(@!?\w+)\s+)?([A-Z][\w.]*)\s*([^;]*);")


class Instruction:
    def __init__(self, address, predicate, opcode, operands):
        self.address, self.predicate = address, predicate
        self.opcode, self.operands = opcode, operands.strip()

    def __repr__(self):
        return f"{self.address:04x} {self.opcode} {self.operands}"


def functions(text):
    """{name: [Instruction]} of a listing of one architecture."""
    found, body = {}, None
    for line in text.splitlines():
        match = FUNCTION.match(line)
        if match:
            body = found.setdefault(match.group(1), [])
            continue
        match = INSTRUCTION.match(line)
        if match and body is not None:
            address, predicate, opcode, operands = match.groups()
            body.append(Instruction(int(address, 16), predicate, opcode, operands))
    return found


def loops(body):
    """Lists of instructions from a backward branch's target to the branch; BRA to itself, which ends
    every function, is none."""
    found = []
    for instruction in body:
        if instruction.opcode.split(".")[0] != "BRA":
            continue
        target = re.search(r"0x([0-9a-f]+)|`\(", instruction.operands)
        if not target or not target.group(1):
            continue
        start = int(target.group(1), 16)
        if start < instruction.address:
            found.append([i for i in body if start <= i.address <= instruction.address])
    return found


def main_loop(body):
    """The longest loop that holds no other one; None if there is no loop."""
    found = loops(body)
    inner = [l for l in found
             if not any(o is not l and l[0].address <= o[0].address and
                        o[-1].address <= l[-1].address for o in found)]
    return max(inner, key=len) if inner else None
