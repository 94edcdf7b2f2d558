#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The reader of listings and the checks themselves, on listings written by hand: each check must fail
on what it is there to find."""
import unittest

import check_kernels as kernels
import sass

HEAD = "\t\tFunction : {}\n"


def listing(name, instructions):
    lines = [HEAD.format(name)]
    for i, text in enumerate(instructions):
        lines.append(f"        /*{i * 16:04x}*/                   {text} ;       /* 0x0 */\n")
    return sass.functions("".join(lines))[name]


def vector(meant, other=0, name="rp_fp32"):
    body = [f"{meant} R0, R0, R1, R2"] * 512 + ["MOV R3, R4"] * other
    return listing(name, ["S2R R0, SR_TID.X"] + body + ["@P0 BRA 0x10", "EXIT", "BRA 0x2040"])


def failures(name, body):
    check = kernels.Check()
    kernels.check_function(check, "x", name, body)
    return check.failures


class Reading(unittest.TestCase):
    def test_instructions(self):
        body = listing("f", ["@!P0 LDG.E.128 R4, [R2.64]", "STG.E [R2.64+0x10], R4", "EXIT"])
        self.assertEqual([i.opcode for i in body], ["LDG.E.128", "STG.E", "EXIT"])
        self.assertEqual(body[0].predicate, "@!P0")
        self.assertEqual(body[1].address, 16)

    def test_loops(self):
        body = listing("f", ["MOV R0, R1", "FFMA R0, R0, R1, R2", "@P0 BRA 0x10", "EXIT", "BRA 0x40"])
        loops = sass.loops(body)
        self.assertEqual(len(loops), 1)
        self.assertEqual([i.opcode for i in loops[0]], ["FFMA", "BRA"])
        self.assertIsNone(sass.main_loop(body[3:]))


class Checks(unittest.TestCase):
    def test_vector(self):
        self.assertEqual(failures("rp_fp32", vector("FFMA")), [])
        self.assertTrue(failures("rp_fp32", vector("FFMA", other=40)))
        self.assertTrue(failures("rp_fp32", vector("FADD")))

    def test_spill(self):
        body = vector("FFMA") + listing("x", ["STL [R1], R2"])
        self.assertTrue(any("local memory" in f for f in failures("rp_fp32", body)))

    def test_tensor(self):
        good = ["HMMA.16816.F32 R4, R8, R12, R4", "NOP"] * 64
        tail = ["IADD3 R0, R0, 0x1, RZ", "@P0 BRA 0x0", "EXIT"]
        name = "rp_mma_fp16_m16n8k16"
        self.assertEqual(failures(name, listing(name, good + tail)), [])
        self.assertTrue(failures(name, listing(name, good[2:] + tail)))
        self.assertTrue(failures(name, listing(name, good + ["MOV R1, R2"] * 8 + tail)))

    def test_stream(self):
        good = ["LDG.E.128.CONSTANT R4, [R2.64]", "STG.E.128 [R6.64], R4", "EXIT"]
        self.assertEqual(failures("rp_copy_16_2", listing("rp_copy_16_2", good)), [])
        self.assertTrue(failures("rp_copy_32_2", listing("rp_copy_32_2", good)))
        narrow = [good[0].replace("128", "64")] + good[1:]
        self.assertTrue(failures("rp_copy_16_2", listing("rp_copy_16_2", narrow)))

    def test_unknown(self):
        self.assertTrue(failures("rp_new_kernel", listing("rp_new_kernel", ["EXIT"])))


if __name__ == "__main__":
    unittest.main()
