/* SPDX-License-Identifier: MIT */
#include "resp/reply.h"

#include "base/alloc.h"
#include <assert.h>
#include <stdatomic.h>
#include <string.h>

#define FIRST_BYTES ((size_t)1024)
#define BLOCK_BYTES_MAX ((size_t)256 * 1024)
#define KEEP_BYTES_MAX ((size_t)64 * 1024)
/* Larger objects get a block of their own, which can grow where it is. */
#define OBJECT_BYTES_MAX ((size_t)32 * 1024)
/* A decoder builds no deeper trees: shoal_options_set_reply_max(). */
#define DEPTH_MAX 1024

typedef struct arena_block {
    struct arena_block *next, *previous; /* older, newer */
    size_t bytes;                        /* this header included */
} arena_block_t;

struct shoal__arena {
    _Atomic uint32_t references;
    char *at, *end;          /* room in the current block */
    arena_block_t *blocks;   /* newest first; shared by many objects each */
    arena_block_t *objects;  /* newest first; one large object each */
    arena_block_t *spare;    /* kept for the next block; NULL: none */
    size_t block_bytes_next; /* size of the next block */
    size_t bytes;            /* all of the above and this header */
    size_t first_bytes;      /* room behind this header */
};

_Static_assert(sizeof(struct shoal__arena) % 8 == 0, "objects are aligned to 8");
_Static_assert(sizeof(arena_block_t) % 8 == 0, "objects are aligned to 8");

static size_t aligned(size_t bytes)
{
    return (bytes + 7) & ~(size_t)7;
}

static void use_first(shoal__arena_t *arena)
{
    arena->at = (char *)(arena + 1);
    arena->end = arena->at + arena->first_bytes;
}

/* With room for objects of `bytes` bytes together. */
static shoal__arena_t *arena_new_sized(size_t bytes)
{
    size_t first_bytes = aligned(bytes);
    shoal__arena_t *arena = shoal__malloc(sizeof *arena + first_bytes);
    if (!arena)
        return NULL;

    *arena = (shoal__arena_t){.references = 1,
                              .block_bytes_next = 2 * FIRST_BYTES,
                              .bytes = sizeof *arena + first_bytes,
                              .first_bytes = first_bytes};
    use_first(arena);
    return arena;
}

shoal__arena_t *shoal__arena_new(void)
{
    return arena_new_sized(FIRST_BYTES - sizeof(shoal__arena_t));
}

static void link_block(arena_block_t **list, arena_block_t *block)
{
    block->previous = NULL;
    block->next = *list;
    if (*list)
        (*list)->previous = block;
    *list = block;
}

static arena_block_t *new_block(shoal__arena_t *arena, size_t bytes)
{
    arena_block_t *block = shoal__malloc(bytes);

    if (block) {
        block->bytes = bytes;
        arena->bytes += bytes;
    }
    return block;
}

static void *alloc_own(shoal__arena_t *arena, size_t bytes)
{
    arena_block_t *block = new_block(arena, sizeof *block + bytes);
    if (!block)
        return NULL;
    link_block(&arena->objects, block);
    return block + 1;
}

/* `bytes` are aligned and more than the current block has. */
static void *alloc_slowly(shoal__arena_t *arena, size_t bytes)
{
    if (bytes > OBJECT_BYTES_MAX)
        return alloc_own(arena, bytes);

    arena_block_t *block = arena->spare;
    if (block && block->bytes - sizeof *block >= bytes) {
        arena->spare = NULL;
    } else {
        while (arena->block_bytes_next - sizeof *block < bytes)
            arena->block_bytes_next *= 2;
        block = new_block(arena, arena->block_bytes_next);
        if (!block)
            return NULL;
        if (arena->block_bytes_next < BLOCK_BYTES_MAX)
            arena->block_bytes_next *= 2;
    }

    link_block(&arena->blocks, block);
    char *memory = (char *)(block + 1);
    arena->at = memory + bytes;
    arena->end = (char *)block + block->bytes;
    return memory;
}

void *shoal__arena_alloc(shoal__arena_t *arena, size_t bytes)
{
    if (bytes > SIZE_MAX / 2)
        return NULL;

    bytes = aligned(bytes);
    if ((size_t)(arena->end - arena->at) < bytes)
        return alloc_slowly(arena, bytes);
    char *memory = arena->at;
    arena->at += bytes;
    return memory;
}

static void *grow_own(shoal__arena_t *arena, void *memory, size_t bytes)
{
    arena_block_t *block = (arena_block_t *)memory - 1;
    bool is_newest = block == arena->objects;

    block = shoal__realloc(block, sizeof *block + bytes);
    if (!block)
        return NULL;
    arena->bytes += sizeof *block + bytes - block->bytes;
    block->bytes = sizeof *block + bytes;
    if (is_newest)
        arena->objects = block;
    else
        block->previous->next = block;
    if (block->next)
        block->next->previous = block;
    return block + 1;
}

void *shoal__arena_grow(shoal__arena_t *arena, void *memory, size_t bytes_before,
                        size_t bytes)
{
    if (bytes > SIZE_MAX / 2)
        return NULL;

    size_t had = aligned(bytes_before), want = aligned(bytes);
    if (had > OBJECT_BYTES_MAX)
        return grow_own(arena, memory, want);
    if (had > 0 && (char *)memory + had == arena->at &&
        (size_t)(arena->end - arena->at) >= want - had) {
        arena->at += want - had;
        return memory;
    }

    void *larger = shoal__arena_alloc(arena, bytes);
    if (larger && bytes_before > 0)
        memcpy(larger, memory, bytes_before);
    return larger;
}

void shoal__arena_retain(shoal__arena_t *arena)
{
    atomic_fetch_add_explicit(&arena->references, 1, memory_order_relaxed);
}

static void free_blocks(shoal__arena_t *arena, arena_block_t **list)
{
    while (*list) {
        arena_block_t *block = *list;
        *list = block->next;
        arena->bytes -= block->bytes;
        shoal__free(block);
    }
}

void shoal__arena_release(shoal__arena_t *arena)
{
    if (!arena ||
        atomic_fetch_sub_explicit(&arena->references, 1, memory_order_acq_rel) > 1)
        return;
    free_blocks(arena, &arena->blocks);
    free_blocks(arena, &arena->objects);
    shoal__free(arena->spare);
    shoal__free(arena);
}

bool shoal__arena_is_shared(const shoal__arena_t *arena)
{
    return atomic_load_explicit(&arena->references, memory_order_acquire) > 1;
}

/* Keep the largest block that may stay, and free the others. */
static void choose_spare(shoal__arena_t *arena)
{
    while (arena->blocks) {
        arena_block_t *block = arena->blocks;
        arena->blocks = block->next;
        bool keep = block->bytes <= KEEP_BYTES_MAX &&
                    (!arena->spare || arena->spare->bytes < block->bytes);
        arena_block_t *unwanted = keep ? arena->spare : block;
        if (keep)
            arena->spare = block;
        if (unwanted) {
            arena->bytes -= unwanted->bytes;
            shoal__free(unwanted);
        }
    }
}

void shoal__arena_reset(shoal__arena_t *arena)
{
    if (arena->blocks || arena->objects) {
        free_blocks(arena, &arena->objects);
        choose_spare(arena);
        arena->block_bytes_next =
            arena->spare ? 2 * arena->spare->bytes : 2 * FIRST_BYTES;
    }
    use_first(arena);
}

size_t shoal__arena_bytes(const shoal__arena_t *arena)
{
    return arena->bytes;
}

static bool is_aggregate(const shoal_reply_t *reply)
{
    switch ((shoal_reply_type_t)reply->type) {
    case SHOAL_REPLY_ARRAY:
    case SHOAL_REPLY_MAP:
    case SHOAL_REPLY_SET:
    case SHOAL_REPLY_PUSH:
        return true;
    case SHOAL_REPLY_NIL:
    case SHOAL_REPLY_STATUS:
    case SHOAL_REPLY_ERROR:
    case SHOAL_REPLY_INTEGER:
    case SHOAL_REPLY_STRING:
    case SHOAL_REPLY_DOUBLE:
    case SHOAL_REPLY_BOOL:
    case SHOAL_REPLY_BIGNUM:
    case SHOAL_REPLY_VERBATIM:
        return false;
    }
    return false;
}

/* The types whose value is text, a bit for each. */
#define TEXTS                                                                          \
    (1U << SHOAL_REPLY_STATUS | 1U << SHOAL_REPLY_ERROR | 1U << SHOAL_REPLY_STRING |   \
     1U << SHOAL_REPLY_DOUBLE | 1U << SHOAL_REPLY_BIGNUM | 1U << SHOAL_REPLY_VERBATIM)
#define HAS_TEXT(reply) (TEXTS >> (reply)->type & 1)

/* What a NULL reply is taken for. */
static const shoal_reply_t nil;

static const shoal_reply_t *or_nil(const shoal_reply_t *reply)
{
    return reply ? reply : &nil;
}

/* `inline`: sinks call these two for each value of a reply. */
inline shoal_reply_type_t shoal_reply_type(const shoal_reply_t *reply)
{
    return reply ? (shoal_reply_type_t)reply->type : SHOAL_REPLY_NIL;
}

inline const char *shoal_reply_string(const shoal_reply_t *reply, size_t *ret_bytes)
{
    bool is_text = reply && HAS_TEXT(reply);

    if (ret_bytes)
        *ret_bytes = is_text ? reply->as.text.bytes : 0;
    return is_text ? reply->as.text.data : NULL;
}

int64_t shoal_reply_integer(const shoal_reply_t *reply)
{
    shoal_reply_type_t type = shoal_reply_type(reply);
    bool is_integer = type == SHOAL_REPLY_INTEGER || type == SHOAL_REPLY_BOOL;

    return is_integer ? reply->as.integer : 0;
}

double shoal_reply_double(const shoal_reply_t *reply)
{
    shoal_reply_type_t type = shoal_reply_type(reply);

    if (type == SHOAL_REPLY_DOUBLE)
        return reply->as.text.number;
    return type == SHOAL_REPLY_INTEGER ? (double)reply->as.integer : 0;
}

bool shoal_reply_bool(const shoal_reply_t *reply)
{
    return shoal_reply_integer(reply) != 0;
}

size_t shoal_reply_count(const shoal_reply_t *reply)
{
    return is_aggregate(or_nil(reply)) ? reply->as.children.count : 0;
}

const shoal_reply_t *shoal_reply_at(const shoal_reply_t *reply, size_t index)
{
    return index < shoal_reply_count(reply) ? &reply->as.children.items[index] : NULL;
}

const char *shoal_reply_verbatim_format(const shoal_reply_t *reply)
{
    return or_nil(reply)->type == SHOAL_REPLY_VERBATIM ? reply->verbatim : "";
}

const shoal_reply_t *shoal_reply_retain(const shoal_reply_t *reply)
{
    if (!reply)
        return NULL;
    if (reply->arena) {
        shoal__arena_retain(reply->arena);
        return reply;
    }

    size_t text_bytes = HAS_TEXT(reply) ? reply->as.text.bytes + 1 : 0;
    shoal__arena_t *arena =
        arena_new_sized(aligned(sizeof *reply) + aligned(text_bytes));
    /* The arena's one reference is the caller's from here on. */
    return arena ? shoal__reply_copy(reply, arena) : NULL;
}

void shoal_reply_release(const shoal_reply_t *reply)
{
    if (reply)
        shoal__arena_release(reply->arena);
}

/* Children that were copied, but whose contents were not copied yet. */
typedef struct copied_children {
    struct copied_children *next;
    size_t count;
} copied_children_t;

/* `node` is a copy that still points at the original's contents: give it its own.
 * Its children, if any, are queued behind *last. */
static bool own_contents(shoal_reply_t *node, shoal__arena_t *arena,
                         copied_children_t **last)
{
    node->arena = arena;
    if (HAS_TEXT(node) && node->as.text.bytes > 0) {
        size_t bytes = node->as.text.bytes;
        char *text = shoal__arena_alloc(arena, bytes + 1);
        if (!text)
            return false;
        text[bytes] = '\0';
        node->as.text.data = memcpy(text, node->as.text.data, bytes);
    } else if (HAS_TEXT(node)) {
        node->as.text.data = "";
    } else if (shoal_reply_count(node) > 0) {
        size_t count = node->as.children.count;
        copied_children_t *children =
            shoal__arena_alloc(arena, sizeof *children + count * sizeof *node);
        if (!children)
            return false;
        *children = (copied_children_t){.count = count};
        shoal_reply_t *items = (shoal_reply_t *)(void *)(children + 1);
        memcpy(items, node->as.children.items, count * sizeof *items);
        node->as.children.items = items;
        node->as.children.capacity = count;
        (*last)->next = children;
        *last = children;
    }
    return true;
}

shoal_reply_t *shoal__reply_copy(const shoal_reply_t *reply, shoal__arena_t *arena)
{
    copied_children_t first = {0}, *last = &first;
    shoal_reply_t *root = shoal__arena_alloc(arena, sizeof *root);
    if (!root)
        return NULL;

    *root = *reply;
    if (!own_contents(root, arena, &last))
        return NULL;
    for (copied_children_t *children = first.next; children;
         children = children->next) {
        shoal_reply_t *items = (shoal_reply_t *)(void *)(children + 1);
        for (size_t i = 0; i < children->count; i++)
            if (!own_contents(&items[i], arena, &last))
                return NULL;
    }
    return root;
}

void shoal__reply_to_sink(const shoal_reply_t *reply, const shoal_sink_t *sink,
                          void *sink_data)
{
    const shoal_reply_t *parents[DEPTH_MAX]; /* the open aggregates */
    size_t depth = 0;

    for (;;) {
        if (is_aggregate(reply)) {
            size_t count = reply->as.children.count;
            sink->on_begin((shoal_reply_type_t)reply->type, count, sink_data);
            if (count > 0) {
                assert(depth < DEPTH_MAX);
                parents[depth++] = reply;
                reply = reply->as.children.items;
                continue;
            }
            sink->on_end(sink_data);
        } else {
            sink->on_leaf(reply, sink_data);
        }

        /* Close the aggregates that end with this value, and go on with its sibling. */
        for (; depth > 0; reply = parents[--depth]) {
            const shoal_reply_t *parent = parents[depth - 1];
            size_t index = (size_t)(reply - parent->as.children.items);
            if (index + 1 < parent->as.children.count)
                break;
            sink->on_end(sink_data);
        }
        if (depth == 0)
            return;
        reply++;
    }
}

void shoal_reply_visit(const shoal_reply_t *reply, const shoal_sink_t *sink, void *data)
{
    if (sink && sink->on_leaf && sink->on_begin && sink->on_end)
        shoal__reply_to_sink(or_nil(reply), sink, data);
}
