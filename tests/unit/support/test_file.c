/* SPDX-License-Identifier: Apache-2.0
 *
 * Files that are there whole or not at all, and heads of inputs.
 */
#include "support/file.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

static char folder[] = "/tmp/roofprof-file-XXXXXX";

static int set_up(void **state) {
    (void)state;
    return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int tear_down(void **state) {
    (void)state;
    return chdir("/") == 0 && rmdir(folder) == 0 ? 0 : -1; /* fails if anything was left behind */
}

static void write_file(const char *path, const char *text) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void check_content(const char *path, const char *expected) {
    char text[64] = "";
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_int_equal(fread(text, 1, sizeof text - 1, file), strlen(expected));
    assert_string_equal(text, expected);
    fclose(file);
}

static void test_output(void **state) {
    (void)state;
    rp_error error;
    rp_output output;
    write_file("out", "old");
    assert_int_equal(rp_output_open(&output, "out", &error), RP_OK);
    fputs("new", output.stream);
    check_content("out", "old");
    assert_int_equal(rp_output_commit(&output, &error), RP_OK);
    check_content("out", "new");
    assert_int_equal(rp_output_open(&output, "out", &error), RP_OK);
    fputs("half", output.stream);
    rp_output_discard(&output);
    check_content("out", "new");
    unlink("out");
}

/* As a file that the shell makes: readable by others if the umask lets it. */
static void test_permissions(void **state) {
    (void)state;
    rp_error error;
    rp_output output;
    struct stat info;
    mode_t old = umask(027);
    assert_int_equal(rp_output_open(&output, "./out", &error), RP_OK);
    assert_int_equal(rp_output_commit(&output, &error), RP_OK);
    umask(old);
    assert_int_equal(stat("out", &info), 0);
    assert_int_equal(info.st_mode & 0777, 0640);
    unlink("out");
}

static void test_standard_output(void **state) {
    (void)state;
    rp_error error;
    rp_output output;
    assert_int_equal(rp_output_open(&output, "-", &error), RP_OK);
    assert_ptr_equal(output.stream, stdout);
    assert_int_equal(rp_output_commit(&output, &error), RP_OK);
    assert_true(fputs("", stdout) >= 0);
}

static void test_refused(void **state) {
    (void)state;
    rp_error error;
    rp_temp temp;
    assert_int_equal(mkdir("sub", 0755), 0);
    assert_int_equal(rp_temp_create(&temp, "sub", &error), RP_INTERNAL);
    assert_non_null(strstr(error.message, "folder"));
    assert_int_equal(rp_temp_create(&temp, "sub/", &error), RP_INTERNAL);
    assert_int_equal(rp_temp_create(&temp, "", &error), RP_INTERNAL);
    assert_non_null(strstr(error.message, "is empty"));
    assert_int_equal(rp_temp_create(&temp, "none/out", &error), RP_INTERNAL);
    assert_non_null(strstr(error.message, "No such file"));
    char *name = malloc(PATH_MAX + 10);
    memset(name, 'x', PATH_MAX + 9);
    name[PATH_MAX + 9] = '\0';
    assert_int_equal(rp_temp_create(&temp, name, &error), RP_INTERNAL);
    name[300] = '\0'; /* longer than a file name may be */
    assert_int_equal(rp_temp_create(&temp, name, &error), RP_OK);
    assert_int_equal(rp_temp_commit(&temp, &error), RP_INTERNAL);
    free(name);
    rmdir("sub");
}

/* What a link points at is replaced, whether it is there or not; the link stays. */
static void test_links(void **state) {
    (void)state;
    rp_error error;
    rp_output output;
    struct stat info;
    assert_int_equal(mkdir("sub", 0755), 0);
    assert_int_equal(symlink("sub/real", "link"), 0);
    assert_int_equal(symlink("../link", "sub/chain"), 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(rp_output_open(&output, "sub/chain", &error), RP_OK);
        fputs(i ? "second" : "first", output.stream);
        assert_int_equal(rp_output_commit(&output, &error), RP_OK);
        check_content("sub/real", i ? "second" : "first");
        assert_int_equal(lstat("link", &info), 0);
        assert_true(S_ISLNK(info.st_mode));
    }
    assert_int_equal(symlink("b", "a"), 0);
    assert_int_equal(symlink("a", "b"), 0);
    assert_int_equal(rp_output_open(&output, "a", &error), RP_INTERNAL);
    assert_non_null(strstr(error.message, "symbolic"));
    assert_int_equal(system("rm -r a b link sub"), 0);
}

/* Pipes and devices take text as they are, and are there afterwards; what must be a file is refused
 * before anything is made. */
static void test_streams(void **state) {
    (void)state;
    rp_error error;
    rp_output output;
    rp_temp temp;
    struct stat info;
    char text[8] = "";
    assert_int_equal(mkfifo("pipe", 0600), 0);
    assert_int_equal(symlink("pipe", "link"), 0);
    int reader = open("pipe", O_RDONLY | O_NONBLOCK);
    assert_int_equal(rp_output_open(&output, "link", &error), RP_OK);
    fputs("text", output.stream);
    assert_int_equal(rp_output_commit(&output, &error), RP_OK);
    assert_int_equal(read(reader, text, sizeof text), 4);
    close(reader);
    assert_int_equal(stat("pipe", &info), 0);
    assert_true(S_ISFIFO(info.st_mode));
    assert_int_equal(rp_temp_create(&temp, "pipe", &error), RP_INTERNAL);
    assert_non_null(strstr(error.message, "pipe"));
    unsigned char head[4];
    size_t length = sizeof head;
    assert_int_equal(rp_file_head("link", head, &length, &error), RP_INPUT);
    assert_non_null(strstr(error.message, "pipe"));
    unlink("link");
    unlink("pipe");
    assert_int_equal(rp_output_open(&output, "/dev/full", &error), RP_OK);
    fputs("text", output.stream);
    assert_int_equal(rp_output_commit(&output, &error), RP_INTERNAL);
    assert_non_null(strstr(error.message, "\"/dev/full\""));
    assert_int_equal(stat("/dev/full", &info), 0);
    assert_true(S_ISCHR(info.st_mode));
    assert_true(rp_file_is_stream("/dev/stdout") && rp_file_is_stream("/proc/self/fd/7"));
    assert_false(rp_file_is_stream("/dev/shm/none") || rp_file_is_stream("none"));
}

/* A full disk, as a limit on file sizes: the old file stays, nothing else is left. */
static void test_no_room(void **state) {
    (void)state;
    rp_error error;
    rp_output output;
    struct rlimit limit, small;
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &limit);
    small = limit;
    small.rlim_cur = 10000;
    write_file("out", "old");
    assert_int_equal(rp_output_open(&output, "out", &error), RP_OK);
    setrlimit(RLIMIT_FSIZE, &small);
    for (int i = 0; i < 10000; i++)
        fputs("many bytes\n", output.stream);
    rp_code code = rp_output_commit(&output, &error);
    setrlimit(RLIMIT_FSIZE, &limit);
    assert_int_equal(code, RP_INTERNAL);
    assert_non_null(strstr(error.message, "out"));
    check_content("out", "old");
    unlink("out");
}

/* A process that is ended by a signal leaves no temporary file. */
static void test_signal(void **state) {
    (void)state;
    int ready[2], status;
    char byte;
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        rp_temp temp;
        signal(SIGTERM, SIG_DFL);
        rp_temp_handle_signals();
        if (rp_temp_create(&temp, "out", NULL) != RP_OK || write(ready[1], "x", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    kill(child, SIGTERM);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    assert_int_not_equal(access("out", F_OK), 0);
}

static void test_head(void **state) {
    (void)state;
    rp_error error;
    unsigned char buffer[8];
    size_t length = sizeof buffer;
    write_file("in", "0123456789");
    assert_int_equal(rp_file_head("in", buffer, &length, &error), RP_OK);
    assert_int_equal(length, 8);
    assert_memory_equal(buffer, "01234567", 8);
    write_file("in", "ab");
    length = sizeof buffer;
    assert_int_equal(rp_file_head("in", buffer, &length, &error), RP_OK);
    assert_int_equal(length, 2);
    write_file("in", "");
    length = sizeof buffer;
    assert_int_equal(rp_file_head("in", buffer, &length, &error), RP_OK);
    assert_int_equal(length, 0);
    unlink("in");
    length = sizeof buffer;
    assert_int_equal(rp_file_head("in", buffer, &length, &error), RP_INPUT);
    assert_int_equal(rp_file_head(folder, buffer, &length, &error), RP_INPUT);
    assert_non_null(strstr(error.message, "folder"));
}

/* Compressed, whole and cut in the middle: the head is of the content. */
static void test_gzip_head(void **state) {
    (void)state;
    rp_error error;
    unsigned char buffer[100];
    gzFile file = gzopen("in.gz", "wb");
    for (int i = 0; i < 100000; i++)
        gzprintf(file, "line %d\n", i * 7919);
    gzclose(file);
    for (int cut = 0; cut < 2; cut++) {
        size_t length = sizeof buffer;
        assert_int_equal(rp_file_head("in.gz", buffer, &length, &error), RP_OK);
        assert_int_equal(length, sizeof buffer);
        assert_memory_equal(buffer, "line 0\nline 7919\n", 17);
        assert_int_equal(truncate("in.gz", 5000), 0);
    }
    unlink("in.gz");
}

static void test_repeated(void **state) {
    (void)state;
    write_file("a", "same");
    write_file("b", "same");
    assert_int_equal(symlink("a", "c"), 0);
    assert_int_equal(link("b", "d"), 0);
    assert_null(rp_file_repeated((const char *[]){"a", "b", "none", "none"}, 4));
    assert_string_equal(rp_file_repeated((const char *[]){"a", "b", "c"}, 3), "c");
    assert_string_equal(rp_file_repeated((const char *[]){"b", "a", "./d"}, 3), "./d");
    assert_null(rp_file_repeated(NULL, 0));
    rp_error error;
    const char *inputs[] = {"a", "d"};
    assert_int_equal(rp_file_spare("b", inputs, 2, &error), RP_USAGE);
    assert_int_equal(rp_file_spare("none", inputs, 2, &error), RP_OK);
    assert_int_equal(rp_file_spare("b", inputs, 1, &error), RP_OK);
    assert_int_equal(rp_file_spare(NULL, inputs, 2, &error), RP_OK);
    assert_int_equal(system("rm a b c d"), 0);
}

static void test_name(void **state) {
    (void)state;
    assert_string_equal(rp_file_name("/a/b.c"), "b.c");
    assert_string_equal(rp_file_name("b.c"), "b.c");
    assert_string_equal(rp_file_name("a/"), "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_output),   cmocka_unit_test(test_permissions),
        cmocka_unit_test(test_refused),  cmocka_unit_test(test_standard_output),
        cmocka_unit_test(test_no_room),  cmocka_unit_test(test_signal),
        cmocka_unit_test(test_head),     cmocka_unit_test(test_gzip_head),
        cmocka_unit_test(test_name),     cmocka_unit_test(test_links),
        cmocka_unit_test(test_repeated), cmocka_unit_test(test_streams)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
