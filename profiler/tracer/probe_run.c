/* SPDX-License-Identifier: Apache-2.0
 *
 * Running the probe: see probe_run.h. A child that runs our own code has no exit signal and waits
 * for a grandchild, which becomes the probe: execve would give the child back its SIGCHLD.
 */
#include "tracer/probe_run.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { STEP_MS = 5 };

#define CRASHED        "-1 it crashed"
#define DID_NOT_RETURN "-1 it did not come back in time"

/* As fork, with SIGNAL at its end (0 none) and without the handlers of pthread_atfork. */
static pid_t raw_fork(int signal_at_end) {
    return (pid_t)syscall(SYS_clone, (long)signal_at_end, 0L, 0L, 0L, 0L);
}

/* The environment without what would trace the probe. NULL: no memory. */
static char **plain_environment(void) {
    static const char *const without[] = {"CUDA_INJECTION64_PATH=", "NVTX_INJECTION64_PATH=",
                                          "ROOFPROF_SPOOL=", "ROOFPROF_EMU_COUNTS="};
    size_t n = 0, kept = 0;
    while (environ[n])
        n++;
    char **plain = malloc((n + 1) * sizeof *plain);
    for (size_t i = 0; plain && i < n; i++) {
        bool drop = false;
        for (size_t k = 0; k < sizeof without / sizeof without[0]; k++)
            drop |= !strncmp(environ[i], without[k], strlen(without[k]));
        if (!drop)
            plain[kept++] = environ[i];
    }
    if (plain)
        plain[kept] = NULL;
    return plain;
}

static void become_probe(char *const *argv, char *const *environment, int out) {
    int null = open("/dev/null", O_RDWR);
    sigset_t none;
    sigemptyset(&none);
    dup2(null, 0);
    dup2(out, 1);
    dup2(null, 2);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execve(argv[0], argv, environment);
    _exit(126);
}

static void say(int out, const char *text) {
    size_t length = strlen(text);
    while (write(out, text, length) < 0 && errno == EINTR)
        ;
}

/* In the child: only what a signal handler might call as well. */
static void watch_probe(char *const *argv, char *const *environment, int out, double limit_s) {
    struct timespec step = {0, STEP_MS * 1000000};
    int status = 0;
    pid_t probe = raw_fork(SIGCHLD);
    if (probe == 0)
        become_probe(argv, environment, out);
    for (long ms = 0; waitpid(probe, &status, WNOHANG) == 0; ms += STEP_MS) {
        nanosleep(&step, NULL);
        if ((double)ms < limit_s * 1e3)
            continue;
        kill(probe, SIGKILL);
        waitpid(probe, &status, 0);
        say(out, "\n" DID_NOT_RETURN "\n");
        _exit(0);
    }
    if (WIFSIGNALED(status))
        say(out, "\n" CRASHED "\n");
    else if (WEXITSTATUS(status) == 126)
        say(out, "\n-1 it cannot be executed\n");
    _exit(0);
}

/* "CODE WORDS" */
static void parse_answer(const char *line, bool traces, probe_answer *answer) {
    char *end;
    long code = strtol(line, &end, 10);
    *answer = (probe_answer){.works = end > line && code == 0,
                             .dangerous = !traces &&
                                          (!strcmp(line, CRASHED) || !strcmp(line, DID_NOT_RETURN)),
                             .result = code > 0 ? (cupti_result)code : CUPTI_OK};
    snprintf(answer->text, sizeof answer->text, "%s", end + strspn(end, " "));
}

/* Everything that the probe and its watcher say; the last line counts. */
static void read_answer(int in, probe_answer *answer) {
    char text[4096];
    size_t used = 0;
    ssize_t n;
    while (used < sizeof text - 1 &&
           ((n = read(in, text + used, sizeof text - 1 - used)) > 0 || (n < 0 && errno == EINTR)))
        used += n > 0 ? (size_t)n : 0;
    text[used] = 0;
    while (used && text[used - 1] == '\n')
        text[--used] = 0;
    const char *line = strrchr(text, '\n');
    bool traces = !strncmp(text, PROBE_TRACES "\n", strlen(PROBE_TRACES) + 1);
    parse_answer(line ? line + 1 : text, traces, answer);
}

static void run(const tracer_settings *settings, const char *cupti, probe_answer *answer) {
    char *argv[] = {(char *)(uintptr_t)settings->probe, (char *)(uintptr_t)cupti,
                    *settings->file ? (char *)(uintptr_t)settings->file : NULL, NULL};
    char **environment = plain_environment();
    sigset_t all, kept;
    int ends[2];
    snprintf(answer->text, sizeof answer->text, "it could not be started");
    if (!environment || pipe2(ends, O_CLOEXEC)) {
        free(environment);
        return;
    }
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &kept);
    pid_t child = raw_fork(0);
    if (child == 0)
        watch_probe(argv, environment, ends[1], settings->probe_limit_s);
    pthread_sigmask(SIG_SETMASK, &kept, NULL);
    close(ends[1]);
    if (child > 0) {
        read_answer(ends[0], answer);
        while (waitpid(child, NULL, __WALL) < 0 && errno == EINTR)
            ;
    }
    close(ends[0]);
    free(environment);
}

/* ---- The kept answer ------------------------------------------------------------------------- */

static bool recall(const char *path, const char *cupti, probe_answer *answer) {
    char library[4096] = "", danger[16] = "", line[300] = "";
    FILE *file = fopen(path, "re");
    bool known = file && fgets(library, sizeof library, file) &&
                 fgets(danger, sizeof danger, file) && fgets(line, sizeof line, file);
    if (file)
        fclose(file);
    library[strcspn(library, "\n")] = 0;
    line[strcspn(line, "\n")] = 0;
    if (!known || strcmp(library, cupti))
        return false;
    parse_answer(line, true, answer);
    answer->dangerous = danger[0] == '1';
    return true;
}

static void keep(const char *path, const char *cupti, const probe_answer *answer) {
    char temporary[4352];
    snprintf(temporary, sizeof temporary, "%s.%ld", path, (long)getpid());
    FILE *file = fopen(temporary, "we");
    if (!file)
        return;
    fprintf(file, "%s\n%d\n%d %s\n", cupti, answer->dangerous,
            answer->works    ? 0
            : answer->result ? answer->result
                             : -1,
            answer->text);
    if (fclose(file) || rename(temporary, path))
        unlink(temporary);
}

/* True: nobody else is at it (or it cannot be told), and we are now. */
static bool begin(const char *lock) {
    int file = open(lock, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file >= 0)
        close(file);
    return file >= 0 || errno != EEXIST;
}

void probe_run(const tracer_settings *settings, const char *folder, const char *cupti,
               probe_answer *answer) {
    struct timespec step = {0, STEP_MS * 1000000};
    char path[4224], lock[4240];
    snprintf(path, sizeof path, "%.4096s/probe", folder);
    snprintf(lock, sizeof lock, "%s.lock", path);
    *answer = (probe_answer){0};
    bool ours = begin(lock);
    for (double waited_s = 0; !recall(path, cupti, answer); waited_s += STEP_MS * 1e-3) {
        if (ours || waited_s > settings->probe_limit_s) { /* or who began has been killed */
            run(settings, cupti, answer);
            keep(path, cupti, answer);
            break;
        }
        nanosleep(&step, NULL);
        ours = begin(lock);
    }
    if (ours)
        unlink(lock);
}
