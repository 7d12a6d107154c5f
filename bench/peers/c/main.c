/* SPDX-License-Identifier: MIT */

/* peer-hiredis, peer-libvalkey: the workload of shoal-bench, as programs use these. */

#include "peer.h"
#include "peer_json.h"
#include "ticker.h"

#include "load/clock.h"
#include "server/machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CALLERS_ALL_TIMED 64 /* beyond these a closed loop is sampled */
#define SAMPLING 8

static const peer_client_t *const clients[] = {
    &peer_client_async,
};

static const peer_client_t *find_client(const char *name)
{
    for (size_t i = 0; name && i < sizeof clients / sizeof *clients; i++) {
        if (strcmp(clients[i]->name, name) == 0)
            return clients[i];
    }
    fprintf(stderr, "peer: --client must be one of");
    for (size_t i = 0; i < sizeof clients / sizeof *clients; i++)
        fprintf(stderr, " %s", clients[i]->name);
    fprintf(stderr, "\n");
    return NULL;
}

static void sleep_us(uint64_t us)
{
    struct timespec rest = {.tv_sec = (time_t)(us / 1000000),
                            .tv_nsec = (long)(us % 1000000) * 1000};
    while (nanosleep(&rest, &rest) < 0) {
    }
}

static void take_moment(const peer_t *peer, peer_moment_t *moment)
{
    moment->cpu_ns = machine_cpu_ns();
    moment->ops = atomic_load(&peer->ops);
    moment->at_ns = clock_ns();
}

static void make_keys(peer_t *peer)
{
    peer->random = 1;
    peer->keys = peer_allocate(PEER_KEYS, sizeof *peer->keys);
    for (size_t i = 0; i < PEER_KEYS; i++)
        snprintf(peer->keys[i], sizeof *peer->keys, "key:%012zu", i);
}

static void prepare(peer_t *peer, const peer_options_t *options)
{
    bool is_sampled = options->rate == 0 && options->callers > CALLERS_ALL_TIMED;

    peer->options = options;
    peer->value = peer_allocate(options->value_bytes, 1);
    memset(peer->value, 'x', options->value_bytes);
    peer->argv[0] = "SET";
    peer->argv[1] = "key:000000000000";
    peer->argv[2] = peer->value;
    peer->argvlen[0] = 3;
    peer->argvlen[1] = PEER_KEY_BYTES;
    peer->argvlen[2] = options->value_bytes;
    if (options->is_cluster)
        make_keys(peer);
    peer->sampling = is_sampled ? SAMPLING : 1;
    peer->latency = peer_allocate(1, sizeof *peer->latency);
    peer->service = peer_allocate(1, sizeof *peer->service);
    peer->interval_ns = options->rate != 0 ? 1e9 / (double)options->rate : 0;
    peer->start_ns = options->rate != 0 ? ticker_read_start() : 0;
}

int main(int argc, char **argv)
{
    static peer_t peer;
    peer_options_t options;
    peer_moment_t from;
    peer_moment_t to;

    if (peer_options_parse(&options, argc, argv) < 0)
        return 2;
    const peer_client_t *client = find_client(options.client);
    if (!client)
        return 2;

    machine_raise_descriptors();
    prepare(&peer, &options);
    client->start(&peer);
    sleep_us(options.warmup_us);
    fputs("measuring\n", stderr);
    atomic_store(&peer.phase, PEER_MEASURING);
    take_moment(&peer, &from);
    sleep_us(options.duration_us);
    take_moment(&peer, &to);
    atomic_store(&peer.phase, PEER_STOPPING);
    fputs("measured\n", stderr);
    client->stop(&peer);

    if (to.ops == from.ops)
        peer_fail("no command finished");
    peer_json_print(&peer, &from, &to);
    free(peer.value);
    free(peer.keys);
    free(peer.latency);
    free(peer.service);
    return fflush(stdout) == 0 ? 0 : 1;
}
