/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_TESTS_DIALER_RIG_H
#define SHOAL_TESTS_DIALER_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/time_us.h"
#include "net/clock.h"
#include "net/dialer.h"
#include "net/finder.h"
#include <shoal/errors.h>
#include <stdio.h>
#include <string.h>

/* A resolver and streams of the test's own: nothing is connected. */

#define CONNECT_US 6000000
#define STREAMS_MAX 20
#define REFUSED 111
#define UNREACHABLE 101

static struct world {
    bool no_lookup;            /* a look-up cannot begin */
    shoal__lookup_cb on_found; /* of the look-up under way; NULL: none */
    void *on_found_owner;      /* its owner */
    unsigned refused_opens;    /* so many streams cannot be opened */
    shoal__stream_t streams[STREAMS_MAX];
    unsigned opened, closed, forgotten, abandoned, lookups_forgotten;
    socklen_t tried[STREAMS_MAX];       /* the addresses, by their length */
    const char *endpoints[STREAMS_MAX]; /* their endpoints */
    const char *looked_up;              /* the last name that was */
    sa_family_t family;                 /* of the addresses that are found */
    uint64_t due_us;                    /* the last that on_waiting told */
    unsigned waits;
    shoal__stream_t *reached;
    shoal__reached_t where;
    int failed; /* 0: it did not */
    char detail[256];
} world;

static shoal__dialer_t dialer;

/* ---- the resolver: addresses have lengths 1, 2, 3 ... ---- */

static inline void some_addresses(unsigned count, shoal__addresses_t *ret_addresses)
{
    memset(ret_addresses, 0, sizeof *ret_addresses);
    ret_addresses->count = count;
    for (unsigned i = 0; i < count; i++) {
        ret_addresses->items[i].bytes = (socklen_t)(i + 1);
        ret_addresses->items[i].at.ss_family = world.family;
    }
}

bool shoal__resolver_numeric(const char *host, int port,
                             shoal__addresses_t *ret_addresses)
{
    assert_int_equal(port, 6379);
    if (strcmp(host, "10.0.0.1") != 0)
        return false;
    some_addresses(1, ret_addresses);
    return true;
}

void shoal__resolver_unix(const char *path, shoal__addresses_t *ret_addresses)
{
    assert_string_equal(path, "/run/redis.sock");
    some_addresses(1, ret_addresses);
}

shoal__lookup_t *shoal__resolver_lookup(uv_loop_t *loop, const char *host, int port,
                                        shoal__lookup_cb on_found, void *owner)
{
    assert_null(loop);
    assert_true(strncmp(host, "name", 4) == 0);
    assert_int_equal(port, 6379);
    world.looked_up = host;
    if (world.no_lookup)
        return NULL;
    world.on_found = on_found;
    world.on_found_owner = owner;
    return (shoal__lookup_t *)&world;
}

void shoal__resolver_abandon(shoal__lookup_t *lookup)
{
    world.abandoned += lookup != NULL;
}

void shoal__resolver_forget(shoal__lookup_t *lookup)
{
    world.lookups_forgotten += lookup != NULL;
}

static inline void find(unsigned count, const char *error)
{
    shoal__addresses_t addresses;

    some_addresses(count, &addresses);
    world.on_found(world.on_found_owner, &addresses, error);
}

/* ---- streams ---- */

static inline shoal__stream_t *open_stream(const shoal__stream_kind_t *kind,
                                           const shoal__stream_request_t *request,
                                           int *ret_error)
{
    assert_ptr_equal(request->owner, &world);
    assert_int_equal(request->keepalive_us, 15);
    world.endpoints[world.opened] = request->endpoint->name;
    assert_int_equal(request->source ? request->source->bytes : 0, 16);
    assert_true(world.opened < STREAMS_MAX);
    world.tried[world.opened] = request->address->bytes;
    world.streams[world.opened].kind = kind;
    if (world.opened++ < world.refused_opens) {
        world.closed++;
        *ret_error = UNREACHABLE;
        return NULL;
    }
    return &world.streams[world.opened - 1];
}

static inline const char *error_text(const shoal__stream_t *stream, int error)
{
    if (error == SHOAL_ETIMEOUT)
        return "timed out";
    if (error == SHOAL_ETLS)
        return "forged";
    assert_int_equal(error, stream ? REFUSED : UNREACHABLE);
    return stream ? "refused" : "unreachable";
}

static inline void close_stream(shoal__stream_t *stream, bool is_orderly)
{
    assert_false(is_orderly);
    assert_ptr_equal(stream, &world.streams[world.opened - 1]);
    world.closed++;
}

static inline void forget_stream(shoal__stream_t *stream)
{
    assert_ptr_equal(stream, &world.streams[world.opened - 1]);
    world.forgotten++;
}

static const shoal__stream_kind_t kind = {.open = open_stream,
                                          .error_text = error_text,
                                          .close = close_stream,
                                          .forget = forget_stream};

/* ---- the owner ---- */

static inline void on_waiting(void *owner, uint64_t due_us)
{
    assert_ptr_equal(owner, &world);
    world.waits++;
    world.due_us = due_us;
}

static inline void on_reached(void *owner, shoal__stream_t *stream,
                              const shoal__reached_t *reached)
{
    assert_ptr_equal(owner, &world);
    assert_null(world.reached);
    world.where = *reached;
    world.reached = stream;
}

/* As a connection does: it stops the dialer at once. */
static inline void on_failed(void *owner, int status, const char *detail)
{
    assert_ptr_equal(owner, &world);
    assert_int_equal(world.failed, 0);
    world.failed = status;
    snprintf(world.detail, sizeof world.detail, "%s", detail);
    shoal__dialer_stop(&dialer);
}

static const shoal__dialer_hooks_t hooks = {
    .on_waiting = on_waiting, .on_reached = on_reached, .on_failed = on_failed};
static const shoal__dial_config_t config = {.stream = &kind,
                                            .source = {.bytes = 16},
                                            .keepalive_us = 15,
                                            .connect_us = CONNECT_US};
static inline uint64_t begin(shoal__target_t *target)
{
    uint64_t now_us = shoal__clock_us();

    shoal__dialer_begin(
        &dialer,
        &(shoal__dialer_plan_t){
            .config = &config, .target = target, .hooks = &hooks, .owner = &world},
        now_us);
    return now_us;
}

static inline int set_up(void **state)
{
    (void)state;
    world = (struct world){0};
    return 0;
}

/* Whatever happened, the streams that were opened are closed, but for the owner's. */
static inline int tear_down(void **state)
{
    (void)state;
    shoal__dialer_stop(&dialer);
    shoal__dialer_stop(&dialer);
    return dialer.attempt || world.closed + (world.reached != NULL) != world.opened;
}

static inline void check_failed(int status, const char *detail)
{
    assert_int_equal(world.failed, status);
    assert_string_equal(world.detail, detail);
    assert_null(dialer.attempt);
}

/* The due time of the address, if the dialer looks at the clock now: later for a later
 * look. */
static inline uint64_t due_at(uint64_t now_us, uint64_t end_us, unsigned left)
{
    return now_us + shoal__time_since(now_us, end_us) / left;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

#endif
