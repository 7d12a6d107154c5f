/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_BASE_LIST_H
#define SHOAL_BASE_LIST_H

/* Intrusive doubly linked list.  The head is a node of its own; an empty list points
 * at itself. */

#include <stdbool.h>
#include <stddef.h>

typedef struct shoal__list {
    struct shoal__list *next, *previous;
} shoal__list_t;

#define SHOAL__LIST_ENTRY(node, type, field)                                           \
    ((type *)(void *)((char *)(node)-offsetof(type, field)))

static inline void shoal__list_init(shoal__list_t *list)
{
    list->next = list->previous = list;
}

static inline bool shoal__list_is_empty(const shoal__list_t *list)
{
    return list->next == list;
}

static inline void shoal__list_append(shoal__list_t *list, shoal__list_t *node)
{
    node->next = list;
    node->previous = list->previous;
    list->previous->next = node;
    list->previous = node;
}

/* Move all nodes of `from` into `to`, which is uninitialised. */
static inline void shoal__list_move(shoal__list_t *from, shoal__list_t *to)
{
    shoal__list_init(to);
    if (shoal__list_is_empty(from))
        return;
    *to = *from;
    to->next->previous = to->previous->next = to;
    shoal__list_init(from);
}

static inline void shoal__list_remove(shoal__list_t *node)
{
    node->next->previous = node->previous;
    node->previous->next = node->next;
    shoal__list_init(node);
}

#endif
