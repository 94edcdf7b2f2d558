/* SPDX-License-Identifier: Apache-2.0
 *
 * The protocol buffer reader: every wire type, and every way to be cut off.
 */
#include "importers/ncu_wire.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* 1: varint 300, 2: "ab", 3: double 1.5, 4: float 0.5, 536870911: varint 1 */
static const unsigned char message[] = {
    0x08, 0xac, 0x02, 0x12, 0x02, 'a', 'b',  0x19, 0,    0,    0,    0,    0,    0,
    0xf8, 0x3f, 0x25, 0,    0,    0,   0x3f, 0xf8, 0xff, 0xff, 0xff, 0x0f, 0x01,
};

static void test_types(void **state) {
    (void)state;
    ncu_wire wire = ncu_wire_of(message, sizeof message);
    ncu_wire_field field;
    assert_int_equal(ncu_wire_next(&wire, &field), 1);
    assert_int_equal(field.number, 1);
    assert_int_equal(field.integer, 300);
    assert_int_equal(ncu_wire_next(&wire, &field), 1);
    assert_int_equal(ncu_wire_length(field.bytes), 2);
    assert_memory_equal(field.bytes.at, "ab", 2);
    assert_int_equal(ncu_wire_next(&wire, &field), 1);
    assert_true(ncu_wire_double(&field) == 1.5);
    assert_int_equal(ncu_wire_next(&wire, &field), 1);
    assert_true(ncu_wire_float(&field) == 0.5f);
    assert_int_equal(ncu_wire_next(&wire, &field), 1);
    assert_int_equal(field.number, 536870911);
    assert_int_equal(ncu_wire_next(&wire, &field), 0);
}

/* Every prefix of the message ends or breaks, and no read leaves it (the sanitizer watches). */
static void test_cut(void **state) {
    (void)state;
    for (size_t n = 0; n <= sizeof message; n++) {
        unsigned char *copy = test_malloc(n ? n : 1);
        memcpy(copy, message, n);
        ncu_wire wire = ncu_wire_of(copy, n);
        ncu_wire_field field;
        int fields = 0, result;
        while ((result = ncu_wire_next(&wire, &field)) == 1)
            fields++;
        bool whole = n == 0 || n == 3 || n == 7 || n == 16 || n == 21 || n == sizeof message;
        assert_int_equal(result, whole ? 0 : -1);
        assert_true(fields <= 5);
        test_free(copy);
    }
}

static int first(const char *bytes, size_t length) {
    ncu_wire wire = ncu_wire_of(bytes, length);
    ncu_wire_field field;
    return ncu_wire_next(&wire, &field);
}

static void test_broken(void **state) {
    (void)state;
    assert_int_equal(first("\x00\x01", 2), -1);                                      /* field 0 */
    assert_int_equal(first("\x0b", 1), -1);                                          /* a group */
    assert_int_equal(first("\x0e\x01", 2), -1);                                      /* type 6 */
    assert_int_equal(first("\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11), -1); /* length */
    assert_int_equal(first("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12), -1);
    assert_int_equal(first("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11), 1); /* 2^64 - 1 */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_types),
        cmocka_unit_test(test_cut),
        cmocka_unit_test(test_broken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
