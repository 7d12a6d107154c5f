/* SPDX-License-Identifier: MIT */
#include "peer.h"

#include "load/clock.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void peer_begin(const peer_t *peer, peer_shot_t *shot, uint64_t count,
                uint64_t intended_ns)
{
    shot->is_timed = peer->sampling == 1 || count % peer->sampling == 0;
    shot->begin_ns = shot->is_timed ? clock_ns() : 0;
    shot->intended_ns = intended_ns != 0 ? intended_ns : shot->begin_ns;
}

void peer_end(peer_t *peer, const peer_shot_t *shot)
{
    if (shot->is_timed && peer_phase(peer) == PEER_MEASURING) {
        uint64_t end_ns = clock_ns();
        histogram_record_shared(peer->latency, end_ns - shot->intended_ns);
        if (peer->options->rate != 0)
            histogram_record_shared(peer->service, end_ns - shot->begin_ns);
    }
    atomic_fetch_add_explicit(&peer->ops, 1, memory_order_relaxed);
}

void peer_command(peer_t *peer, const char *argv[PEER_ARGUMENTS])
{
    memcpy(argv, peer->argv, sizeof peer->argv);
    if (!peer->keys)
        return;
    peer->random ^= peer->random << 13;
    peer->random ^= peer->random >> 7;
    peer->random ^= peer->random << 17;
    argv[1] = peer->keys[peer->random % PEER_KEYS];
}

uint64_t peer_released(const peer_t *peer)
{
    uint64_t now = clock_ns();
    if (now < peer->start_ns)
        return 0;
    return 1 + (uint64_t)((double)(now - peer->start_ns) / peer->interval_ns);
}

void peer_note_error(peer_t *peer, const char *text)
{
    atomic_fetch_add_explicit(&peer->errors, 1, memory_order_relaxed);
    if (!atomic_flag_test_and_set(&peer->has_error))
        snprintf(peer->first_error, sizeof peer->first_error, "%s", text);
}

void peer_fail(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("peer: ", stderr);
    vfprintf(stderr, format, args);
    fputs("\n", stderr);
    va_end(args);
    _exit(1);
}

void *peer_allocate(size_t count, size_t bytes)
{
    void *memory = calloc(count, bytes);
    if (!memory)
        peer_fail("out of memory");
    return memory;
}
