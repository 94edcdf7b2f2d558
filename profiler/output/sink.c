/* SPDX-License-Identifier: Apache-2.0
 *
 * Output files that are whole or not there; see sink.h.
 */
#include "output/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The rank as launchers tell it, most specific first. */
static const char *rank_text(void) {
    static const char *const variables[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK",      "PMI_RANK",
                                            "MV2_COMM_WORLD_RANK",  "FLUX_TASK_RANK", "RANK",
                                            "SLURM_PROCID"};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *value = getenv(variables[i]);
        if (value && *value && strspn(value, "0123456789") == strlen(value) && strlen(value) < 12)
            return value;
    }
    return "0";
}

char *rp_expand_name(const char *pattern, rp_error *error) {
    char *out = NULL, host[256] = "host";
    size_t size = 0;
    FILE *stream = open_memstream(&out, &size);
    if (!stream) {
        rp_fail(error, RP_INTERNAL, "out of memory");
        return NULL;
    }
    gethostname(host, sizeof host - 1);
    for (const char *p = pattern; *p; p++) {
        if (*p != '%') {
            fputc(*p, stream);
            continue;
        }
        switch (*++p) {
        case 'p':
            fprintf(stream, "%ld", (long)getpid());
            break;
        case 'h':
            fputs(host, stream);
            break;
        case 'r':
            fputs(rank_text(), stream);
            break;
        case '%':
            fputc('%', stream);
            break;
        default:
            rp_fail(error, RP_USAGE, "'%s': a name takes %%p, %%h, %%r and %%%%; this has '%%%.1s'",
                    pattern, p);
            fclose(stream);
            free(out);
            return NULL;
        }
    }
    if (fclose(stream) != 0) {
        free(out);
        rp_fail(error, RP_INTERNAL, "out of memory");
        return NULL;
    }
    return out;
}

rp_code rp_sink_open(rp_sink *sink, const char *path, rp_error *error) {
    memset(sink, 0, sizeof *sink);
    if (!path || strcmp(path, "-") == 0) {
        sink->file = stdout;
        return RP_OK;
    }
    struct stat status;
    sink->path = rp_expand_name(path, error);
    if (!sink->path)
        return error ? error->code : RP_USAGE;
    if (stat(sink->path, &status) == 0 && !S_ISREG(status.st_mode)) {
        /* a device or a pipe (/dev/stderr, a FIFO) is written straight: it cannot be renamed onto
         */
        sink->file = S_ISDIR(status.st_mode) ? NULL : fopen(sink->path, "w");
        if (!sink->file)
            errno = S_ISDIR(status.st_mode) ? EISDIR : errno;
    } else if (asprintf(&sink->temporary, "%s.tmp.%ld", sink->path, (long)getpid()) < 0) {
        sink->temporary = NULL;
    } else {
        int fd = open(sink->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        sink->file = fd < 0 ? NULL : fdopen(fd, "w");
    }
    if (sink->file)
        return RP_OK;
    rp_fail(error, RP_INTERNAL, "cannot write '%s': %s", sink->path, strerror(errno));
    free(sink->temporary);
    free(sink->path);
    memset(sink, 0, sizeof *sink);
    return RP_INTERNAL;
}

rp_code rp_sink_finish(rp_sink *sink, rp_error *error) {
    FILE *file = sink->file;
    if (!file)
        return RP_OK;
    int bad = fflush(file) != 0 || ferror(file);
    if (!sink->path) {
        sink->file = NULL;
        return bad ? rp_fail(error, RP_INTERNAL, "cannot write to standard output: %s",
                             strerror(errno))
                   : RP_OK;
    }
    if (fclose(file) != 0)
        bad = 1;
    sink->file = NULL;
    if (!bad && sink->temporary && rename(sink->temporary, sink->path) != 0)
        bad = 1;
    rp_code code = RP_OK;
    if (bad) {
        code = rp_fail(error, RP_INTERNAL, "cannot write '%s': %s", sink->path, strerror(errno));
        if (sink->temporary)
            unlink(sink->temporary);
    }
    free(sink->temporary);
    free(sink->path);
    sink->temporary = sink->path = NULL;
    return code;
}

void rp_sink_abandon(rp_sink *sink) {
    if (!sink->file)
        return;
    if (sink->path)
        fclose(sink->file);
    if (sink->temporary)
        unlink(sink->temporary);
    free(sink->temporary);
    free(sink->path);
    memset(sink, 0, sizeof *sink);
}
