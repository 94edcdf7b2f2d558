/* SPDX-License-Identifier: Apache-2.0
 *
 * A fuzzer's bytes as a file, for code that takes a path.
 */
#ifndef TEST_FUZZ_INPUT_H
#define TEST_FUZZ_INPUT_H

#include <stddef.h>
#include <stdint.h>

/* The entry that libFuzzer and driver.c call. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Writes the bytes to a file that is this process' own and returns its path; the same file each
 * time. Ends the process if it cannot: then nothing could be tested. */
const char *input_file(const uint8_t *data, size_t size);

#endif
