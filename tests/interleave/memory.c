/* SPDX-License-Identifier: MIT */

/* The library's allocator, as far as the files under test use it: what is freed is never
 * given out again in the same schedule, so a touch of it is seen. */

#define SHIM_IMPLEMENTATION
#include "interleave/shim.h"

#include "base/alloc.h"
#include "interleave/shim_parts.h"
#include <string.h>

#define ARENA_BYTES (1 << 21)
#define BLOCKS_MAX 256
#define GONE 0xdd

typedef struct block {
    char *at;
    size_t bytes;
    bool is_free;
} block_t;

static _Alignas(64) char arena[ARENA_BYTES];
static block_t blocks[BLOCKS_MAX]; /* by address */
static unsigned count;
static size_t used;

bool (*shim_may_grow)(void);

void shim_memory_begin(void)
{
    shim_may_grow = NULL;
    count = 0;
    used = 0;
}

void shim_memory_end(void)
{
    for (unsigned i = 0; i < count; i++) {
        if (!blocks[i].is_free)
            explore_fail("%zu bytes were not freed", blocks[i].bytes);
    }
}

static block_t *find(const volatile void *object)
{
    const volatile char *at = object;

    for (unsigned i = 0; i < count; i++) {
        if (at >= blocks[i].at && at < blocks[i].at + blocks[i].bytes)
            return &blocks[i];
    }
    return NULL;
}

void shim_check_alive(const char *what, const volatile void *object)
{
    const volatile char *at = object;
    const block_t *block;

    if (at < arena || at >= arena + ARENA_BYTES)
        return;
    block = find(object);
    if (!block || block->is_free)
        explore_fail("%s: in memory that was freed", what);
}

void *shoal__malloc(size_t bytes)
{
    size_t taken = (bytes + 63) / 64 * 64;

    if (used + taken > ARENA_BYTES || count == BLOCKS_MAX)
        explore_fail("too much memory for the test");
    blocks[count] = (block_t){arena + used, bytes, false};
    used += taken;
    return blocks[count++].at;
}

void *shoal__calloc(size_t items, size_t bytes)
{
    return memset(shoal__malloc(items * bytes), 0, items * bytes);
}

void shoal__free(void *memory)
{
    block_t *block = find(memory);

    if (!memory)
        return;
    if (!block || block->at != memory || block->is_free)
        explore_fail("freed twice, or never allocated");
    block->is_free = true;
    memset(memory, GONE, block->bytes);
}

void *shoal__realloc(void *memory, size_t bytes)
{
    const block_t *block = memory ? find(memory) : NULL;
    void *grown;

    if (shim_may_grow && !shim_may_grow())
        return NULL;
    grown = shoal__malloc(bytes);
    if (block) {
        memcpy(grown, memory, block->bytes < bytes ? block->bytes : bytes);
        shoal__free(memory);
    }
    return grown;
}

char *shoal__strdup(const char *text)
{
    size_t bytes = strlen(text) + 1;

    return memcpy(shoal__malloc(bytes), text, bytes);
}

void shoal__wipe_free(void *memory, size_t bytes)
{
    (void)bytes;
    shoal__free(memory);
}

/* ---- atomics ---- */

void shim_touch(const char *what, const volatile void *object, bool is_write)
{
    explore_touch(what, (const void *)object, is_write);
    shim_check_alive(what, object);
}

uint32_t shim_or(_Atomic uint32_t *word, uint32_t bits)
{
    uint32_t former;

    shim_touch("or", word, true);
    former = *word;
    *word = former | bits;
    return former;
}

uint32_t shim_exchange(_Atomic uint32_t *word, uint32_t value)
{
    uint32_t former;

    shim_touch("exchange", word, true);
    former = *word;
    *word = value;
    return former;
}

void shim_begin(void)
{
    shim_locks_begin();
    shim_descriptors_begin();
    shim_memory_begin();
}

void shim_end(void)
{
    shim_locks_end();
    shim_descriptors_end();
    shim_memory_end();
}
