/* SPDX-License-Identifier: Apache-2.0
 *
 * Running a program: see launch.h.
 */
#include "commands/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t child_pid;
static volatile sig_atomic_t came; /* the last signal that asks to end, while the child runs */

/* From the terminal (si_code SI_KERNEL) the whole process group has the signal already. */
static void pass_on(int number, siginfo_t *info, void *context) {
    int kept = errno;
    (void)context;
    if (number != SIGUSR1 && number != SIGUSR2 && info->si_pid != child_pid)
        came = number;
    if (child_pid > 0 && info->si_code != SI_KERNEL && info->si_pid != child_pid)
        kill(child_pid, number);
    errno = kept;
}

static const int passed[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};
enum { PASSED = sizeof passed / sizeof passed[0] };

static void catch_signals(struct sigaction *old) {
    struct sigaction action = {.sa_sigaction = pass_on, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigemptyset(&action.sa_mask);
    for (int i = 0; i < PASSED; i++) {
        sigaction(passed[i], NULL, &old[i]);
        if (old[i].sa_handler != SIG_IGN) /* nohup stays nohup */
            sigaction(passed[i], &action, NULL);
    }
}

static void restore_signals(const struct sigaction *old) {
    for (int i = 0; i < PASSED; i++)
        sigaction(passed[i], &old[i], NULL);
}

static void set_environment(const rp_launch_variable *environment, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (environment[i].value)
            setenv(environment[i].name, environment[i].value, 1);
        else
            unsetenv(environment[i].name);
}

/* Never returns: the program, or its errno through REPORT. */
static void become(char *const *argv, const rp_launch_variable *environment, size_t n,
                   const int streams[3], const struct sigaction *old, const sigset_t *mask,
                   int report) {
    for (int i = 0; streams && i < 3; i++)
        dup2(streams[i], i);
    restore_signals(old);
    sigprocmask(SIG_SETMASK, mask, NULL);
    set_environment(environment, n);
    execvp(argv[0], argv);
    int why = errno;
    while (write(report, &why, sizeof why) < 0 && errno == EINTR)
        ;
    _exit(why == ENOENT ? 127 : 126);
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int read_report(int report) {
    int why = 0;
    ssize_t n;
    while ((n = read(report, &why, sizeof why)) < 0 && errno == EINTR)
        ;
    return n == (ssize_t)sizeof why ? why : 0;
}

static void wait_for(pid_t child, rp_launch_result *result) {
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    result->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    result->code = result->signal ? 128 + result->signal : WEXITSTATUS(status);
}

rp_code rp_launch(char *const *argv, const rp_launch_variable *environment, size_t n,
                  const int streams[3], rp_launch_result *result, rp_error *error) {
    struct sigaction old[PASSED];
    sigset_t all, mask;
    int report[2];
    *result = (rp_launch_result){.code = RP_INTERNAL};
    if (pipe2(report, O_CLOEXEC))
        return rp_fail(error, RP_INTERNAL, "cannot start %s: %s", argv[0], strerror(errno));
    /* No signal may fall between fork and our knowing the child. */
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &mask);
    came = 0;
    catch_signals(old);
    double start = now();
    pid_t child = fork();
    if (child == 0)
        become(argv, environment, n, streams, old, &mask, report[1]);
    child_pid = child > 0 ? (sig_atomic_t)child : 0;
    sigprocmask(SIG_SETMASK, &mask, NULL);
    close(report[1]);
    rp_code code = RP_OK;
    if (child < 0) {
        code = rp_fail(error, RP_INTERNAL, "cannot start %s: %s", argv[0], strerror(errno));
    } else {
        int why = read_report(report[0]);
        wait_for(child, result);
        if (!result->signal)
            result->signal = came;
        result->started = why == 0;
        if (why)
            rp_fail(error, RP_INPUT, "%s: %s", argv[0],
                    why == ENOENT ? "there is no such program (or its interpreter is missing)"
                                  : strerror(why));
    }
    result->wall_s = now() - start;
    child_pid = 0;
    restore_signals(old);
    close(report[0]);
    return code;
}
