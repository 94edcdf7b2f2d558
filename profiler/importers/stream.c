/* SPDX-License-Identifier: Apache-2.0
 *
 * The streaming reader behind stream.h: zlib's gzip reader passes plain files through unchanged, so
 * both kinds take one path here.
 */
#include "importers/stream.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { CHUNK = 256 * 1024, LONGEST_LINE = 64 * 1024 * 1024 };

struct rp_stream {
    gzFile file;
    char *path;
    bool truncated;
    char *chunk; /* bytes [begin, end) are read and not yet taken */
    size_t begin, end;
    char *line; /* a line that crosses chunks is put together here */
    size_t line_capacity;
};

rp_code rp_stream_open(rp_stream **stream, const char *path, rp_error *error) {
    rp_stream *s = calloc(1, sizeof *s);
    if (!s)
        return rp_fail(error, RP_INTERNAL, "%s: out of memory", path);
    s->path = strdup(path);
    s->chunk = malloc(CHUNK);
    errno = 0;
    s->file = s->path && s->chunk ? gzopen(path, "rbe") : NULL;
    if (!s->file) {
        int reason = errno ? errno : ENOMEM;
        rp_stream_close(s);
        return rp_fail(error, reason == ENOMEM ? RP_INTERNAL : RP_INPUT, "%s: cannot be opened: %s",
                       path, strerror(reason));
    }
    gzbuffer(s->file, 128 * 1024);
    *stream = s;
    return RP_OK;
}

void rp_stream_close(rp_stream *stream) {
    if (!stream)
        return;
    if (stream->file)
        gzclose(stream->file);
    free(stream->path);
    free(stream->chunk);
    free(stream->line);
    free(stream);
}

static rp_code read_error(rp_stream *s, int code, const char *what, rp_error *error) {
    if (code == Z_ERRNO)
        return rp_fail(error, RP_INPUT, "%s: cannot be read: %s", s->path, strerror(errno));
    if (code == Z_MEM_ERROR)
        return rp_fail(error, RP_INTERNAL, "%s: out of memory", s->path);
    return rp_fail(error, RP_INPUT,
                   "%s: the gzip data are damaged (%s); copy the file again or unpack it by hand",
                   s->path, what);
}

/* Fills the chunk; leaves it empty at the end. */
static rp_code refill(rp_stream *s, rp_error *error) {
    s->begin = s->end = 0;
    if (s->truncated)
        return RP_OK;
    int got = gzread(s->file, s->chunk, CHUNK);
    int code = Z_OK;
    const char *what = gzerror(s->file, &code);
    /* zlib reports a missing trailer as Z_BUF_ERROR, beside or after the last bytes it has. */
    if (code == Z_BUF_ERROR) {
        s->truncated = true;
        got = got > 0 ? got : 0;
    } else if (got < 0) {
        return read_error(s, code, what, error);
    }
    s->end = (size_t)got;
    return RP_OK;
}

rp_code rp_stream_read(rp_stream *s, void *buffer, size_t size, size_t *got, rp_error *error) {
    *got = 0;
    if (s->begin == s->end) {
        rp_code code = refill(s, error);
        if (code)
            return code;
    }
    size_t n = s->end - s->begin < size ? s->end - s->begin : size;
    memcpy(buffer, s->chunk + s->begin, n);
    s->begin += n;
    *got = n;
    return RP_OK;
}

bool rp_stream_truncated(const rp_stream *s) {
    return s->truncated;
}

static rp_code append(rp_stream *s, size_t have, size_t n, rp_error *error) {
    if (have + n > LONGEST_LINE)
        return rp_fail(error, RP_INPUT,
                       "%s: a line is longer than 64 MiB: this is no profiler's text", s->path);
    if (have + n > s->line_capacity) {
        size_t capacity = (have + n) * 2;
        char *line = realloc(s->line, capacity);
        if (!line)
            return rp_fail(error, RP_INTERNAL, "%s: out of memory", s->path);
        s->line = line;
        s->line_capacity = capacity;
    }
    memcpy(s->line + have, s->chunk + s->begin, n);
    s->begin += n;
    return RP_OK;
}

rp_code rp_stream_line(rp_stream *s, const char **line, size_t *length, rp_error *error) {
    size_t have = 0;
    for (;;) {
        if (s->begin == s->end) {
            rp_code code = refill(s, error);
            if (code)
                return code;
            if (s->begin == s->end)
                break;
        }
        char *from = s->chunk + s->begin;
        char *newline = memchr(from, '\n', s->end - s->begin);
        size_t n = newline ? (size_t)(newline - from) + 1 : s->end - s->begin;
        if (newline && have == 0) { /* the usual case: no copy */
            s->begin += n;
            *line = from;
            *length = n;
            return RP_OK;
        }
        rp_code code = append(s, have, n, error);
        if (code)
            return code;
        have += n;
        if (newline)
            break;
    }
    *line = s->line;
    *length = have;
    return RP_OK;
}
