/* SPDX-License-Identifier: Apache-2.0
 *
 * Progress: seen on a terminal, and never in a pipe.
 */
#include "support/progress.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Runs long enough work with standard error at FD; returns what was drawn. */
static void work(int fd) {
    rp_progress progress;
    int saved = dup(STDERR_FILENO);
    dup2(fd, STDERR_FILENO);
    rp_progress_start(&progress, "importing a\nb.csv", 100);
    for (int i = 0; i < 14; i++) {
        usleep(50000);
        rp_progress_update(&progress, i * 7);
    }
    rp_progress_stop(&progress);
    dup2(saved, STDERR_FILENO);
    close(saved);
}

static void test_pipe(void **state) {
    (void)state;
    int ends[2];
    char byte;
    assert_int_equal(pipe(ends), 0);
    work(ends[1]);
    close(ends[1]);
    assert_int_equal(read(ends[0], &byte, 1), 0);
    close(ends[0]);
}

static void test_terminal(void **state) {
    (void)state;
    char drawn[4096] = "";
    int master = posix_openpt(O_RDWR | O_NOCTTY);
    if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0)
        skip();
    int slave = open(ptsname(master), O_RDWR | O_NOCTTY);
    if (slave < 0)
        skip();
    setenv("TERM", "xterm", 1);
    work(slave);
    assert_true(read(master, drawn, sizeof drawn - 1) > 0);
    assert_non_null(strstr(drawn, "importing a\\nb.csv"));
    assert_non_null(strstr(drawn, "%"));
    close(slave);
    close(master);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_pipe),
                                       cmocka_unit_test(test_terminal)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
