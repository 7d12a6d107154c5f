/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_EXTRA_H
#define SHOAL_CORE_EXTRA_H

/*
 * What few commands have, and therefore is allocated: one for all commands of a
 * submission.  It counts the requests that own it.  The last of them frees it, and
 * tells the caller that the memory of large values is free.
 */

#include "resp/encoder.h"
#include <shoal/command.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The values of one command that the library sends from the caller's memory. */
typedef struct shoal__values {
    shoal__reference_t *references; /* in the order of their places */
    uint32_t count;
    uint32_t bytes; /* of all of them */
} shoal__values_t;

typedef struct shoal__extra {
    const shoal_sink_t *sink; /* the caller's; replies become no tree.  NULL: they do */
    const shoal_chunk_sink_t *chunks; /* the caller's, for large strings; or NULL */
    void *sink_data;
    shoal_lease_t *lease; /* that carries the commands; NULL: the shared connection */
    bool is_sink_shared;  /* the sink gets replies of the ordinary connection only */
    uint8_t route;        /* enum shoal_route: of the caller, or of the library */
    uint16_t route_slot;  /* SLOT */
    char *route_node; /* NODE, owned: its name; NULL: the one that has the command */
    int refusal;      /* of a cluster, if it turns out to be one: SHOAL_E*; 0: none */
    size_t owners;    /* requests */
    shoal_release_cb on_release; /* NULL: the caller does not wait for it */
    void *release_data;
    shoal__values_t *values; /* one for each command; NULL: no command has any */
    uint64_t first_tag;      /* the tag of the command that has the first of them */
} shoal__extra_t;

/* An extra of `commands` owners, with room for so many references (0: no command has
 * values).  All else is zero.  NULL: no memory. */
shoal__extra_t *shoal__extra_new(size_t commands, size_t references);

/* The room for references. */
shoal__reference_t *shoal__extra_references(const shoal__extra_t *extra,
                                            size_t commands);

/* Which servers the caller wants.  False: no memory. */
bool shoal__extra_take_route(shoal__extra_t *extra, const shoal_call_t *call);

/* It had no request: nobody hears of it.  NULL is allowed. */
void shoal__extra_free(shoal__extra_t *extra);
/* A request is done with its extra; NULL is allowed. */
void shoal__extra_drop_last(shoal__extra_t *extra);
static inline void shoal__extra_drop(shoal__extra_t *extra)
{
    if (extra && --extra->owners == 0)
        shoal__extra_drop_last(extra);
}

#endif
