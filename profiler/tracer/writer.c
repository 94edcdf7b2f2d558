/* SPDX-License-Identifier: Apache-2.0
 *
 * The spool's writer: see writer.h.
 */
#include "tracer/writer.h"
#include "tracer/crc.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    BUFFER = 2 << 20, /* written when it is fuller than this less a batch */
    BATCH = 64 << 10  /* bytes of records to a frame: what a torn last write can lose at most */
};

static struct {
    pthread_mutex_t lock;
    int file, error;
    char path[4096];
    uint8_t *buffer; /* whole frames, and at its end the open batch */
    size_t used;
    spool_type batch; /* 0: none is open */
    size_t batch_at;  /* where its frame begins in the buffer */
} w = {.file = -1};

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make_lock(void) {
    pthread_mutexattr_t recursive;
    pthread_mutexattr_init(&recursive);
    pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&w.lock, &recursive);
    pthread_mutexattr_destroy(&recursive);
}

void writer_lock(void) {
    pthread_once(&once, make_lock);
    pthread_mutex_lock(&w.lock);
}

void writer_unlock(void) {
    pthread_mutex_unlock(&w.lock);
}

int64_t writer_now(int clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* A file that grows past the target's limit (ulimit -f) raises a signal that would end the target:
 * here it is only an error. */
static ssize_t write_without_signal(int file, const void *data, size_t size) {
    static const struct timespec at_once;
    sigset_t limit, kept;
    sigemptyset(&limit);
    sigaddset(&limit, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &limit, &kept);
    ssize_t n = write(file, data, size);
    int why = errno;
    if (n < 0 && why == EFBIG)
        sigtimedwait(&limit, NULL, &at_once);
    pthread_sigmask(SIG_SETMASK, &kept, NULL);
    errno = why;
    return n;
}

static void write_out(void) {
    size_t done = 0;
    while (done < w.used && !w.error) {
        ssize_t n = write_without_signal(w.file, w.buffer + done, w.used - done);
        if (n > 0)
            done += (size_t)n;
        else if (n == 0 || errno != EINTR)
            w.error = n == 0 ? EIO : errno;
    }
    w.used = 0;
}

static void close_batch(void) {
    if (!w.batch)
        return;
    spool_frame *frame = (spool_frame *)(void *)(w.buffer + w.batch_at);
    uint32_t length = (uint32_t)(w.used - w.batch_at - sizeof *frame);
    *frame = (spool_frame){.magic = SPOOL_MAGIC, .type = (uint16_t)w.batch, .length = length};
    frame->crc = crc32_of(crc32_of(0, &frame->type, 8), frame + 1, length);
    w.batch = 0;
    /* Frames begin at multiples of 8, so that records can be read where they lie. */
    while (w.used % 8)
        w.buffer[w.used++] = 0;
}

static bool usable(void) {
    return w.file >= 0 && !w.error && w.buffer;
}

void writer_record(spool_type type, const void *record, size_t size) {
    writer_lock();
    if (!usable())
        goto out;
    if (w.batch && (w.batch != type || w.used - w.batch_at > BATCH))
        close_batch();
    if (!w.batch) {
        if (w.used > BUFFER - 2 * BATCH)
            write_out();
        w.batch = type;
        w.batch_at = w.used;
        w.used += sizeof(spool_frame);
    }
    memcpy(w.buffer + w.used, record, size);
    w.used += size;
out:
    writer_unlock();
}

void writer_frame(spool_type type, const void *head, size_t head_size, const void *body,
                  size_t body_size) {
    size_t length = head_size + body_size;
    writer_lock();
    if (!usable() || length > SPOOL_FRAME_LIMIT)
        goto out;
    close_batch();
    spool_frame frame = {.magic = SPOOL_MAGIC, .type = (uint16_t)type, .length = (uint32_t)length};
    frame.crc = crc32_of(crc32_of(0, &frame.type, 8), head, head_size);
    frame.crc = crc32_of(frame.crc, body, body_size);
    if (w.used + sizeof frame + length + 8 > BUFFER) {
        write_out();
        if (length + sizeof frame + 8 > BUFFER) { /* a name of over a megabyte: past the buffer */
            uint8_t *larger = realloc(w.buffer, length + sizeof frame + 8);
            if (!larger)
                goto out;
            w.buffer = larger;
        }
    }
    memcpy(w.buffer + w.used, &frame, sizeof frame);
    w.used += sizeof frame;
    if (head_size)
        memcpy(w.buffer + w.used, head, head_size);
    if (body_size)
        memcpy(w.buffer + w.used + head_size, body, body_size);
    w.used += length;
    while (w.used % 8)
        w.buffer[w.used++] = 0;
out:
    writer_unlock();
}

void writer_flush(void) {
    writer_lock();
    if (usable()) {
        close_batch();
        write_out();
    }
    writer_unlock();
}

void writer_close(void) {
    writer_lock();
    if (usable()) {
        writer_frame(SPOOL_END, NULL, 0, NULL, 0);
        write_out();
    }
    if (w.file >= 0)
        close(w.file);
    w.file = -1;
    writer_unlock();
}

void writer_abandon(void) {
    /* The lock may be held by a thread that the child does not have: a fresh one takes its place.
     */
    make_lock();
    if (w.file >= 0)
        close(w.file);
    w.file = -1;
    w.used = 0;
    w.batch = 0;
}

int writer_error(void) {
    return w.error;
}

const char *writer_path(void) {
    return w.path;
}

static void write_header(const char *host, const char *program, int rank) {
    char names[1024];
    spool_header header = {.version = SPOOL_VERSION,
                           .pid = (uint32_t)getpid(),
                           .parent = (uint32_t)getppid(),
                           .rank = rank,
                           .start_ns = writer_now(CLOCK_MONOTONIC),
                           .wall_ns = writer_now(CLOCK_REALTIME)};
    int length =
        snprintf(names, sizeof names, "%.200s%c%.500s%c%s", host, 0, program, 0, ROOFPROF_VERSION);
    writer_frame(SPOOL_HEADER, &header, sizeof header, names, (size_t)length + 1);
}

int writer_open(const char *folder, const char *program, int rank) {
    char host[256] = "host";
    int result = 0;
    gethostname(host, sizeof host - 1);
    writer_lock();
    int n = snprintf(w.path, sizeof w.path, "%s/%s.%ld.%lld.%d%s", folder, host, (long)getpid(),
                     (long long)writer_now(CLOCK_REALTIME), rank, SPOOL_SUFFIX);
    if (n >= (int)sizeof w.path) {
        result = ENAMETOOLONG;
        goto out;
    }
    w.buffer = malloc(BUFFER);
    if (!w.buffer) {
        result = ENOMEM;
        goto out;
    }
    w.file = open(w.path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
    if (w.file < 0) {
        result = errno;
        goto out;
    }
    write_header(host, program, rank);
    write_out();
    result = w.error;
out:
    writer_unlock();
    return result;
}
