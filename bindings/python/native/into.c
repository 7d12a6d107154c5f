/* SPDX-License-Identifier: MIT */
#include "into.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct shoalpy_into {
    pthread_mutex_t lock; /* of all that follows */
    char *data;           /* NULL: detached */
    size_t capacity;
    uint64_t bytes;  /* of the string, as the server announced it */
    uint64_t filled; /* so many have come */
    bool is_whole;
};

shoalpy_into_t *shoalpy_into_new(char *data, size_t capacity)
{
    shoalpy_into_t *into = calloc(1, sizeof *into);

    if (!into)
        return NULL;
    if (pthread_mutex_init(&into->lock, NULL) != 0) {
        free(into);
        return NULL;
    }
    into->data = data;
    into->capacity = capacity;
    return into;
}

void shoalpy_into_free(shoalpy_into_t *into)
{
    if (!into)
        return;
    pthread_mutex_destroy(&into->lock);
    free(into);
}

void shoalpy_into_detach(shoalpy_into_t *into)
{
    pthread_mutex_lock(&into->lock);
    into->data = NULL;
    pthread_mutex_unlock(&into->lock);
}

int64_t shoalpy_into_bytes(shoalpy_into_t *into)
{
    int64_t bytes;

    pthread_mutex_lock(&into->lock);
    bytes = into->is_whole ? (int64_t)into->bytes : -1;
    pthread_mutex_unlock(&into->lock);
    return bytes;
}

static void restart(shoalpy_into_t *into, uint64_t bytes)
{
    pthread_mutex_lock(&into->lock);
    into->bytes = bytes;
    into->filled = 0;
    into->is_whole = false;
    pthread_mutex_unlock(&into->lock);
}

static void on_begin(uint64_t bytes, void *data)
{
    restart(data, bytes);
}

static void on_chunk(const char *chunk, size_t bytes, void *data)
{
    shoalpy_into_t *into = data;

    pthread_mutex_lock(&into->lock);
    if (into->data && into->bytes <= into->capacity &&
        bytes <= into->capacity - into->filled)
        memcpy(into->data + into->filled, chunk, bytes);
    into->filled += bytes;
    pthread_mutex_unlock(&into->lock);
}

static void on_end(void *data)
{
    shoalpy_into_t *into = data;

    pthread_mutex_lock(&into->lock);
    into->is_whole = into->filled == into->bytes;
    pthread_mutex_unlock(&into->lock);
}

static void on_reset(void *data)
{
    restart(data, 0);
}

const shoal_chunk_sink_t shoalpy_into_sink = {on_begin, on_chunk, on_end, on_reset};
