/* SPDX-License-Identifier: MIT */
#include "matrix/world.h"

#include "matrix/rig.h"

#include <malloc.h>
#include <stdlib.h>

static _Atomic size_t held, held_max;

static void *count_in(void *memory)
{
    if (memory) {
        size_t bytes = malloc_usable_size(memory);
        size_t now = atomic_fetch_add(&held, bytes) + bytes;
        size_t most = held_max;
        while (now > most && !atomic_compare_exchange_weak(&held_max, &most, now))
            continue;
    }
    return memory;
}

static void count_out(void *memory)
{
    if (memory)
        held -= malloc_usable_size(memory);
}

static void *counted_malloc(size_t bytes)
{
    return count_in(malloc(bytes));
}

static void *counted_calloc(size_t count, size_t bytes)
{
    return count_in(calloc(count, bytes));
}

static void *counted_realloc(void *memory, size_t bytes)
{
    size_t before = memory ? malloc_usable_size(memory) : 0;
    void *moved = realloc(memory, bytes);

    if (!moved)
        return NULL; /* the old one is still there: no caller asks for 0 bytes */
    held -= before;
    return count_in(moved);
}

static void counted_free(void *memory)
{
    count_out(memory);
    free(memory);
}

/* The first loop of a process brings a pipe of libuv's that stays. */
static void warm_up(void)
{
    shoal_options_t *options = NULL;
    shoal_client_t *client = NULL;

    if (shoal_options_new(&options) != 0 ||
        shoal_options_set_unix_path(options, "/dev/null") != 0 || /* nobody there */
        shoal_client_open_borrowed(options, &client, NULL) != 0 ||
        shoal_client_close_and_wait(client, 0) != 0)
        abort();
    shoal_client_release(client);
    shoal_options_free(options);
}

void matrix_world_start(void)
{
    static const shoal_allocator_t counted = {counted_malloc, counted_calloc,
                                              counted_realloc, counted_free};

    if (shoal_allocator_set(&counted) != 0)
        abort();
    warm_up();
}

void matrix_world_reset(void)
{
    held_max = held;
}

size_t matrix_memory_now(void)
{
    return held;
}

size_t matrix_memory_peak(void)
{
    return held_max;
}

double matrix_scale(void)
{
    const char *scale = getenv("SHOAL_TEST_SCALE");
    return scale ? strtod(scale, NULL) : 1.0;
}

size_t matrix_scaled(size_t count)
{
    double scaled = (double)count * matrix_scale();
    return scaled < 1.0 ? 1 : (size_t)scaled;
}
