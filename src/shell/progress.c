/*
 * progress.c: a bar on the terminal while a statement runs for more than half a second.
 *
 *      42% ▕██████████            ▏ 3.2 s
 *
 * The callback comes from a thread of the library; the lock keeps it and the main thread from writing at
 * once, and `active` keeps a late callback from drawing over results.
 */
#include "shell.h"

#include <assert.h>
#include <pthread.h>

enum { BAR = 30, INTERVAL_MS = 100 };

typedef struct Bar {
    pthread_mutex_t lock;
    bool drawn;
    bool hold; /* rows are being printed: no bar any more */
} Bar;

static Bar bar = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void draw(double part, double seconds)
{
    assert(part >= 0 && part <= 1);
    int full = (int)(part * BAR);
    fprintf(stderr, "\r\033[K%3d%% ▕", (int)(100 * part));
    for (int i = 0; i < BAR; i++) fputs(i < full ? "█" : " ", stderr);
    fprintf(stderr, "▏ %.1f s", seconds);
    fflush(stderr);
}

static int on_progress(void *ctx, uint64_t done, uint64_t total, double seconds)
{
    (void)ctx;
    pthread_mutex_lock(&bar.lock);
    if (seconds >= 0.5 && !bar.hold) {
        if (total > 0)
            draw(done < total ? (double)done / (double)total : 1, seconds);
        else
            fprintf(stderr, "\r\033[Krunning, %.1f s", seconds), fflush(stderr);
        bar.drawn = true;
    }
    pthread_mutex_unlock(&bar.lock);
    return 0;
}

void progress_on(Shell *shell)
{
    tcudb_error err;
    if (!shell->tty_err || shell->quiet) return;
    if (tcudb_set_progress(shell->conn, on_progress, NULL, INTERVAL_MS, &err) != TCUDB_OK)
        shell_error(shell, &err, NULL);
}

void progress_begin(void)
{
    pthread_mutex_lock(&bar.lock);
    bar.hold = false;
    pthread_mutex_unlock(&bar.lock);
}

void progress_clear(void)
{
    pthread_mutex_lock(&bar.lock);
    if (bar.drawn) {
        fputs("\r\033[K", stderr);
        fflush(stderr);
    }
    bar.drawn = false;
    bar.hold = true;
    pthread_mutex_unlock(&bar.lock);
}
