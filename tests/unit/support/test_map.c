/* SPDX-License-Identifier: Apache-2.0
 *
 * The hash map and growing arrays.
 */
#include "support/array.h"
#include "support/map.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void test_put_get(void **state) {
    (void)state;
    rp_map map = {0};
    bool added;
    assert_int_equal(rp_map_get(&map, "x", 1), -1);
    *rp_map_put(&map, "x", 1, &added) = 5;
    assert_true(added);
    assert_int_equal(*rp_map_put(&map, "x", 1, &added), 5);
    assert_false(added);
    assert_int_equal(rp_map_get(&map, "x", 1), 5);
    assert_int_equal(rp_map_get(&map, "xy", 2), -1);
    *rp_map_put(&map, "", 0, &added) = 9;
    assert_true(added);
    assert_int_equal(rp_map_get(&map, "", 0), 9);
    rp_map_free(&map);
}

/* Keys of every length, with zero bytes in them, through several times of growing. */
static void test_many(void **state) {
    (void)state;
    enum { N = 50000 };
    rp_map map = {0};
    char key[64];
    for (int i = 0; i < N; i++) {
        memset(key, 0, sizeof key);
        snprintf(key, sizeof key, "%d", i);
        int64_t *value = rp_map_put(&map, key, (size_t)(8 + i % 40), NULL);
        assert_int_equal(*value, -1);
        *value = i;
    }
    assert_int_equal(map.count, N);
    for (int i = 0; i < N; i++) {
        memset(key, 0, sizeof key);
        snprintf(key, sizeof key, "%d", i);
        assert_int_equal(rp_map_get(&map, key, (size_t)(8 + i % 40)), i);
        assert_int_equal(rp_map_get(&map, key, (size_t)(8 + (i + 1) % 40)), -1);
    }
    rp_map_free(&map);
}

static void test_array(void **state) {
    (void)state;
    int *items = NULL;
    size_t capacity = 0;
    for (size_t count = 0; count < 1000; count++) {
        assert_true(RP_ARRAY_ROOM(items, capacity, count));
        assert_true(capacity > count);
        items[count] = (int)count;
    }
    for (int i = 0; i < 1000; i++)
        assert_int_equal(items[i], i);
    size_t huge = SIZE_MAX / 4;
    assert_false(rp_array_room((void **)&items, &huge, huge, 64));
    assert_int_equal(items[999], 999);
    free(items);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_put_get), cmocka_unit_test(test_many),
                                       cmocka_unit_test(test_array)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
