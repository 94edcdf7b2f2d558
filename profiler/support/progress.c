/* SPDX-License-Identifier: Apache-2.0
 *
 * Drawing progress.
 */
#include "support/progress.h"
#include "support/text.h"
#include "support/units.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void rp_progress_start(rp_progress *progress, const char *what, double total) {
    const char *terminal = getenv("TERM");
    *progress = (rp_progress){.what = what, .total = total};
    progress->visible = isatty(STDERR_FILENO) && !(terminal && strcmp(terminal, "dumb") == 0);
    progress->started_ns = progress->drawn_ns = now_ns();
}

static void draw(rp_progress *progress, double done, int64_t now) {
    char amount[32], rest[32] = "";
    double elapsed = (double)(now - progress->started_ns) * 1e-9;
    double fraction = progress->total > 0 ? done / progress->total : 0;
    if (fraction > 0) {
        snprintf(amount, sizeof amount, "%3.0f %%", 100 * (fraction > 1 ? 1 : fraction));
        if (fraction < 1)
            rp_format_time(rest, sizeof rest, elapsed / fraction * (1 - fraction));
    } else {
        rp_format_si(amount, sizeof amount, done, "");
    }
    char *printable = rp_text_printable(progress->what, strlen(progress->what));
    char *what = printable ? rp_text_fit(printable, 50) : NULL;
    fprintf(stderr, "\r\x1b[K%s: %s%s%s", what ? what : "", amount, *rest ? ", left " : "", rest);
    fflush(stderr);
    free(what);
    free(printable);
    progress->drawn_ns = now;
    progress->drawn = true;
}

void rp_progress_update(rp_progress *progress, double done) {
    if (!progress->visible)
        return;
    int64_t now = now_ns(), wait = progress->drawn ? 100000000 : 500000000;
    if (now - progress->drawn_ns >= wait)
        draw(progress, done, now);
}

void rp_progress_stop(rp_progress *progress) {
    if (progress->drawn)
        fputs("\r\x1b[K", stderr);
    progress->visible = progress->drawn = false;
}
