/* SPDX-License-Identifier: Apache-2.0
 *
 * Temporary files, renaming and heads of files.
 */
#include "support/file.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

/* Files that a signal handler must remove. A slot is claimed by name; few are ever open. */
enum { OPEN_TEMPS = 16 };
static _Atomic(rp_temp *) open_temps[OPEN_TEMPS];

static void remember(rp_temp *temp) {
    for (int i = 0; i < OPEN_TEMPS; i++) {
        rp_temp *none = NULL;
        if (atomic_compare_exchange_strong(&open_temps[i], &none, temp))
            return;
    }
}

static void forget(rp_temp *temp) {
    for (int i = 0; i < OPEN_TEMPS; i++) {
        rp_temp *held = temp;
        if (atomic_compare_exchange_strong(&open_temps[i], &held, NULL))
            return;
    }
}

void rp_temp_discard_all(void) {
    for (int i = 0; i < OPEN_TEMPS; i++) {
        rp_temp *temp = atomic_exchange(&open_temps[i], NULL);
        if (temp)
            unlink(temp->path);
    }
}

static void end_by_signal(int signal_number) {
    rp_temp_discard_all();
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

void rp_temp_handle_signals(void) {
    static const int ending[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < sizeof ending / sizeof *ending; i++) {
        struct sigaction old;
        if (sigaction(ending[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL)
            signal(ending[i], end_by_signal);
    }
    signal(SIGXFSZ, SIG_IGN);
}

const char *rp_file_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* FOLDER/.NAME.tmp-PID-N: hidden, and told from any other process's. A long name is cut so that
 * what is added still fits into a file name. */
static int open_temp(rp_temp *temp, unsigned attempt) {
    const char *name = rp_file_name(temp->target);
    int folder = (int)(name - temp->target);
    int length = snprintf(temp->path, sizeof temp->path, "%.*s.%.200s.tmp-%ld-%u", folder,
                          temp->target, name, (long)getpid(), attempt);
    if (length < 0 || (size_t)length >= sizeof temp->path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    return open(temp->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
}

/* Pipes, terminals and devices are written as they are: a file renamed over them would take their
 * place. So are open files by their number, whatever they are. */
bool rp_file_is_stream(const char *path) {
    static const char *const folders[] = {"/dev/fd/", "/proc/", "/dev/std"};
    struct stat info;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        if (strncmp(path, folders[i], strlen(folders[i])) == 0)
            return true;
    return stat(path, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
}

/* Puts in the place of a symbolic link's name (PATH_MAX bytes) the name that it stands for, which
 * need not exist: the link stays, and what it points at is replaced. */
static bool follow_links(char *path) {
    char link[PATH_MAX], joined[PATH_MAX];
    for (int step = 0; step < 40; step++) {
        ssize_t length = readlink(path, link, sizeof link - 1);
        if (length < 0)
            return true; /* no link */
        link[length] = '\0';
        int folder = link[0] == '/' ? 0 : (int)(rp_file_name(path) - path);
        int all = snprintf(joined, sizeof joined, "%.*s%s", folder, path, link);
        if (all < 0 || (size_t)all >= sizeof joined)
            break;
        strcpy(path, joined);
    }
    errno = ELOOP;
    return false;
}

static rp_code check_target(rp_temp *temp, const char *target, rp_error *error) {
    struct stat info;
    if (strlen(target) >= sizeof temp->target)
        return rp_fail(error, RP_INTERNAL, "cannot write \"%.60s...\": the name is too long",
                       target);
    if (!*target)
        return rp_fail(error, RP_INTERNAL, "the name of the output is empty; give a file name");
    strcpy(temp->target, target);
    if (!*rp_file_name(target) || (stat(target, &info) == 0 && S_ISDIR(info.st_mode)))
        return rp_fail(error, RP_INTERNAL, "cannot write \"%s\": it is a folder; give a file name",
                       target);
    if (rp_file_is_stream(target))
        return rp_fail(error, RP_INTERNAL,
                       "cannot write \"%s\": it is a pipe or a device, and what is written here "
                       "must be a file; give another name",
                       target);
    if (!follow_links(temp->target))
        return rp_fail(error, RP_INTERNAL, "cannot write \"%s\": %s", target, strerror(errno));
    return RP_OK;
}

rp_code rp_temp_create(rp_temp *temp, const char *target, rp_error *error) {
    *temp = (rp_temp){0};
    rp_code code = check_target(temp, target, error);
    if (code != RP_OK)
        return code;
    int fd = -1;
    for (unsigned attempt = 0; attempt < 1000; attempt++) {
        fd = open_temp(temp, attempt);
        if (fd >= 0 || errno != EEXIST)
            break;
    }
    if (fd < 0) {
        temp->path[0] = '\0';
        return rp_fail(error, RP_INTERNAL,
                       "cannot write \"%s\": %s; choose another place for the output", target,
                       strerror(errno));
    }
    close(fd);
    remember(temp);
    return RP_OK;
}

static int sync_path(const char *path, int flags) {
    int fd = open(path, flags | O_CLOEXEC);
    if (fd < 0)
        return -1;
    int result = fsync(fd);
    int cause = errno;
    close(fd);
    errno = cause;
    return result;
}

rp_code rp_temp_commit(rp_temp *temp, rp_error *error) {
    if (sync_path(temp->path, O_RDWR) != 0 || rename(temp->path, temp->target) != 0) {
        int cause = errno;
        rp_temp_discard(temp);
        return rp_fail(error, RP_INTERNAL, "cannot write \"%s\": %s", temp->target,
                       strerror(cause));
    }
    forget(temp);
    temp->path[0] = '\0';
    char folder[PATH_MAX];
    int length = (int)(rp_file_name(temp->target) - temp->target);
    snprintf(folder, sizeof folder, "%.*s.", length, temp->target);
    sync_path(folder, O_RDONLY | O_DIRECTORY); /* some file systems cannot: the file is there */
    return RP_OK;
}

void rp_temp_discard(rp_temp *temp) {
    if (!temp->path[0])
        return;
    forget(temp);
    unlink(temp->path);
    temp->path[0] = '\0';
}

rp_code rp_output_open(rp_output *output, const char *path, rp_error *error) {
    *output = (rp_output){0};
    if (!path || strcmp(path, "-") == 0) {
        output->stream = stdout;
        return RP_OK;
    }
    bool direct = rp_file_is_stream(path);
    snprintf(output->temp.target, sizeof output->temp.target, "%s", path);
    rp_code code = direct ? RP_OK : rp_temp_create(&output->temp, path, error);
    if (code != RP_OK)
        return code;
    output->stream = fopen(direct ? path : output->temp.path, direct ? "a" : "w");
    if (output->stream)
        return RP_OK;
    code = rp_fail(error, RP_INTERNAL, "cannot write \"%s\": %s", path, strerror(errno));
    rp_temp_discard(&output->temp);
    return code;
}

rp_code rp_output_commit(rp_output *output, rp_error *error) {
    FILE *stream = output->stream;
    const char *name = stream == stdout ? "standard output" : output->temp.target;
    output->stream = NULL;
    errno = 0;
    int failed = fflush(stream) != 0 || ferror(stream);
    int cause = errno;
    if (stream != stdout && fclose(stream) != 0 && !failed) {
        failed = 1;
        cause = errno;
    }
    if (failed) {
        rp_temp_discard(&output->temp);
        return rp_fail(error, RP_INTERNAL, "cannot write \"%s\": %s", name,
                       cause ? strerror(cause) : "an earlier write failed");
    }
    return *output->temp.path ? rp_temp_commit(&output->temp, error) : RP_OK;
}

void rp_output_discard(rp_output *output) {
    if (output->stream && output->stream != stdout)
        fclose(output->stream);
    output->stream = NULL;
    rp_temp_discard(&output->temp);
}

const char *rp_file_repeated(const char *const *paths, size_t n) {
    struct stat a, b;
    for (size_t i = 1; i < n; i++)
        for (size_t k = 0; k < i; k++)
            if (stat(paths[i], &a) == 0 && stat(paths[k], &b) == 0 && a.st_dev == b.st_dev &&
                a.st_ino == b.st_ino)
                return paths[i];
    return NULL;
}

rp_code rp_file_spare(const char *output, const char *const *inputs, size_t n, rp_error *error) {
    for (size_t i = 0; output && i < n; i++)
        if (inputs[i] && rp_file_repeated((const char *[]){output, inputs[i]}, 2))
            return rp_fail(error, RP_USAGE,
                           "the output \"%s\" is an input, which would be lost; give another name",
                           output);
    return RP_OK;
}

rp_code rp_file_head(const char *path, unsigned char *buffer, size_t *length, rp_error *error) {
    struct stat info;
    if (stat(path, &info) != 0)
        return rp_fail(error, RP_INPUT, "cannot read \"%s\": %s", path, strerror(errno));
    if (S_ISDIR(info.st_mode))
        return rp_fail(error, RP_INPUT, "cannot read \"%s\": it is a folder; give a file", path);
    if (!S_ISREG(info.st_mode))
        return rp_fail(
            error, RP_INPUT,
            "cannot read \"%s\": it is a pipe or a device, and a profile is read more than "
            "once; write it into a file first",
            path);
    gzFile file = gzopen(path, "rbe");
    if (!file)
        return rp_fail(error, RP_INPUT, "cannot read \"%s\": %s", path,
                       errno ? strerror(errno) : "no memory");
    size_t got = 0;
    int n = 1;
    while (got < *length && n > 0) {
        size_t rest = *length - got;
        n = gzread(file, buffer + got, rest > INT_MAX ? INT_MAX : (unsigned)rest);
        got += n > 0 ? (size_t)n : 0;
    }
    /* A stream that is cut or damaged further on still has a head; the importer will say more. */
    int cause = 0;
    const char *what = n < 0 ? gzerror(file, &cause) : "";
    rp_code code = RP_OK;
    if (n < 0 && got == 0)
        code = rp_fail(error, RP_INPUT, "cannot read \"%s\": %s", path,
                       cause == Z_ERRNO ? strerror(errno) : what);
    gzclose(file);
    *length = got;
    return code;
}
