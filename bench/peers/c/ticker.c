/* SPDX-License-Identifier: MIT */
#include "ticker.h"

#include "peer.h"

#include <errno.h>
#include <unistd.h>

#define TICKS_MAX 4096 /* that one read takes */

uint64_t ticker_read_start(void)
{
    uint64_t start_ns;
    if (read(STDIN_FILENO, &start_ns, sizeof start_ns) != sizeof start_ns)
        peer_fail("--rate needs peer-pacer on the standard input");
    return start_ns;
}

void ticker_wait(void)
{
    char ticks[TICKS_MAX];
    ssize_t count = read(STDIN_FILENO, ticks, sizeof ticks);

    if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR))
        peer_fail("the pacer has ended");
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
    ticker_t *ticker = poll->data;

    (void)status;
    (void)events;
    ticker_wait();
    ticker->on_tick(ticker->data);
}

void ticker_start(ticker_t *ticker, uv_loop_t *loop, void (*on_tick)(void *data),
                  void *data)
{
    ticker->on_tick = on_tick;
    ticker->data = data;
    ticker->poll.data = ticker;
    if (uv_poll_init(loop, &ticker->poll, STDIN_FILENO) < 0 ||
        uv_poll_start(&ticker->poll, UV_READABLE, on_readable) < 0)
        peer_fail("the standard input cannot be watched");
}

void ticker_stop(ticker_t *ticker)
{
    uv_close((uv_handle_t *)&ticker->poll, NULL);
}
