/* SPDX-License-Identifier: MIT */
#include "scan.h"

#include "bell.h"
#include <stdlib.h>
#include <unistd.h>

struct shoalpy_scan {
    pid_t process;
    shoalpy_core_t *core;
    shoal_scan_t *scan;
    shoalpy_writer_t writer; /* the loop thread's, while a page is asked for */
    shoalpy_stream_t stream;
    unsigned reply_flags;
    pthread_mutex_t lock; /* of all that follows */
    shoalpy_bell_t bell;  /* rings when the page has come */
    bool is_asking;       /* for a page */
    bool is_given_up;     /* by its reader */
    int64_t outcome;      /* of the page that has come, as the reader gets it */
};

static void release(shoalpy_scan_t *scan)
{
    shoalpy_bell_close(&scan->bell);
    shoalpy_stream_release(&scan->stream);
    shoalpy_writer_release(&scan->writer);
    pthread_mutex_destroy(&scan->lock);
    free(scan);
}

/* ---- the loop thread ---- */

/* NULL: the scan is over. */
static int64_t write_page(shoalpy_scan_t *scan, const shoal_result_t *page)
{
    enum shoalpy_kind kind;

    if (!page)
        return 1;
    shoalpy_stream_begin(&scan->stream);
    shoalpy_writer_begin(&scan->writer, scan->reply_flags, &scan->stream);
    kind = shoalpy_result_write(page, &scan->writer, &scan->stream);
    return shoalpy_stream_end(&scan->stream) ? (int64_t)scan->stream.bytes * 8 + kind
                                             : SHOAL_ENOMEM;
}

static void on_page(shoal_client_t *client, const shoal_result_t *page, void *data)
{
    shoalpy_scan_t *scan = data;
    bool is_forgotten;

    (void)client;
    pthread_mutex_lock(&scan->lock);
    is_forgotten = scan->is_given_up;
    if (!is_forgotten)
        scan->outcome = write_page(scan, page);
    scan->is_asking = false;
    shoalpy_bell_ring(&scan->bell);
    pthread_mutex_unlock(&scan->lock);
    if (is_forgotten)
        release(scan);
}

/* ---- the reader ---- */

static int open_scan(shoalpy_scan_t *scan, const shoalpy_scan_plan_t *plan)
{
    shoal_scan_options_t options = SHOAL_SCAN_OPTIONS_INIT;
    int rc = shoalpy_core_enter(scan->core);

    if (rc < 0)
        return rc;
    options.kind = (shoal_scan_kind_t)plan->kind;
    options.key = plan->key.data;
    options.key_bytes = plan->key.bytes;
    options.match = plan->match.data;
    options.match_bytes = plan->match.bytes;
    options.type = plan->type;
    options.count = plan->count;
    rc = shoal_scan_new(scan->core->client, &options, &scan->scan);
    shoalpy_core_leave(scan->core);
    return rc;
}

int shoalpy_scan_new(shoalpy_core_t *core, const shoalpy_scan_plan_t *plan,
                     shoalpy_scan_t **ret_scan)
{
    shoalpy_scan_t *scan = calloc(1, sizeof *scan);
    int rc = SHOAL_ESYSTEM;

    if (!scan)
        return SHOAL_ENOMEM;
    scan->process = getpid();
    scan->core = core;
    if (pthread_mutex_init(&scan->lock, NULL) != 0)
        goto fail_lock;
    if (!shoalpy_bell_open(&scan->bell))
        goto fail_bell;
    rc = open_scan(scan, plan);
    if (rc < 0) {
        release(scan);
        return rc;
    }
    *ret_scan = scan;
    return 0;

fail_bell:
    pthread_mutex_destroy(&scan->lock);
fail_lock:
    free(scan);
    return rc;
}

void shoalpy_scan_free(shoalpy_scan_t *scan)
{
    bool is_asking;

    /* In the child of a fork the lock may be held by a thread that is not here. */
    if (!scan || scan->process != getpid())
        return;
    shoal_scan_free(scan->scan);
    pthread_mutex_lock(&scan->lock);
    scan->is_given_up = true;
    is_asking = scan->is_asking;
    pthread_mutex_unlock(&scan->lock);
    if (!is_asking)
        release(scan);
}

int shoalpy_scan_ask(shoalpy_scan_t *scan, uint64_t timeout_us, unsigned reply_flags)
{
    int rc = shoalpy_core_enter(scan->core);

    if (rc < 0)
        return rc;
    scan->reply_flags = reply_flags;
    scan->is_asking = true; /* nobody else looks, unless the page has been asked for */
    rc = shoal_scan_submit(scan->scan, timeout_us, on_page, scan);
    if (rc != 0)
        scan->is_asking = false;
    shoalpy_core_leave(scan->core);
    return rc;
}

int shoalpy_scan_fd(const shoalpy_scan_t *scan)
{
    return scan->bell.fds[0];
}

const char *shoalpy_scan_data(const shoalpy_scan_t *scan)
{
    return scan->stream.data;
}

int64_t shoalpy_scan_take(shoalpy_scan_t *scan, uint64_t wait_us)
{
    int64_t outcome;

    if (!shoalpy_bell_wait(&scan->bell, wait_us))
        return 0;
    pthread_mutex_lock(&scan->lock);
    shoalpy_bell_stop(&scan->bell);
    outcome = scan->outcome;
    pthread_mutex_unlock(&scan->lock);
    return outcome;
}
