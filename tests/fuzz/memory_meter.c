/* SPDX-License-Identifier: MIT */
#include "memory_meter.h"

#include "fuzz_input.h"
#include <shoal/alloc.h>

/* Each block has its size in front.  There is room for two sizes, so that the block
 * stays aligned. */
#define HEAD_WORDS 2

memory_meter_t memory_meter;

static void look_for_secret(const void *memory, size_t bytes)
{
    const char *secret = memory_meter.secret;

    FUZZ_CHECK(!secret || !memmem(memory, bytes, secret, strlen(secret)),
               "a secret is in memory that is given back");
}

static void *meter_malloc(size_t bytes)
{
    size_t *head = malloc(HEAD_WORDS * sizeof *head + bytes);

    FUZZ_CHECK(head, "no memory");
    *head = bytes;
    memory_meter.live_bytes += bytes;
    if (memory_meter.live_bytes > memory_meter.live_bytes_max)
        memory_meter.live_bytes_max = memory_meter.live_bytes;
    return head + HEAD_WORDS;
}

static void meter_free(void *memory)
{
    size_t *head = memory;

    if (!memory)
        return;
    head -= HEAD_WORDS;
    look_for_secret(memory, *head);
    memory_meter.live_bytes -= *head;
    free(head);
}

static void *meter_calloc(size_t count, size_t bytes)
{
    return memset(meter_malloc(count * bytes), 0, count * bytes);
}

/* Always moves the block, so that a sanitizer reports a pointer to the old place. */
static void *meter_realloc(void *memory, size_t bytes)
{
    void *moved = meter_malloc(bytes);

    if (memory) {
        size_t had = ((size_t *)memory)[-HEAD_WORDS];
        memcpy(moved, memory, had < bytes ? had : bytes);
        meter_free(memory);
    }
    return moved;
}

void memory_meter_on(void)
{
    const shoal_allocator_t hook = {meter_malloc, meter_calloc, meter_realloc,
                                    meter_free};

    memory_meter = (memory_meter_t){0};
    FUZZ_CHECK(shoal_allocator_set(&hook) == 0, "the hook is refused");
}

void memory_meter_off(void)
{
    FUZZ_CHECK(memory_meter.live_bytes == 0, "%zu bytes leak", memory_meter.live_bytes);
    FUZZ_CHECK(shoal_allocator_set(NULL) == 0, "the hook stays");
}
