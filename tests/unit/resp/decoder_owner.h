/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_RESP_DECODER_OWNER_H
#define TESTS_UNIT_RESP_DECODER_OWNER_H

/* One decoder, its owner, the ways to feed it, and a meter of its memory. */

#include "resp/decoder.h"
#include "unit/resp/transcript.h"

#define WHOLE (SIZE_MAX / 2) /* in one piece */

/* Writes down what it gets. */
typedef struct owner {
    transcript_t heard;
    shoal__decoder_target_t target;
    size_t replies, begins;
    shoal_reply_type_t begun; /* what on_begin was told last */
    size_t stop_at;           /* returns false at this reply; 0: never */
    bool is_quiet;            /* counts only */
    bool keeps;
    const shoal_reply_t *kept[64];
    size_t kept_count;
} owner_t;

extern owner_t owner;
extern shoal__decoder_t *decoder;
extern const shoal__decoder_hooks_t owner_hooks;
extern const shoal__decoder_limits_t limits;

/* The decoder, with an owner that has heard nothing; and the end of both. */
void open_decoder(const shoal__decoder_limits_t *with);
void close_decoder(void);
/* The same around a test, with `limits`. */
int set_up(void **state);
int tear_down(void **state);

int feed(const char *wire);
/* From memory of the exact size, so that a sanitizer sees every look beyond. */
int feed_piece(const char *data, size_t bytes);
/* `head`, then `count` times `body`, then `tail`, in pieces. */
int feed_many(const char *head, const char *body, size_t count, const char *tail,
              size_t piece_bytes);

/* Bytes of the library that are live, and the most that were, while these are its
 * allocator. */
extern size_t live_bytes, live_bytes_max;
void *meter_malloc(size_t bytes);
void *meter_calloc(size_t count, size_t bytes);
void *meter_realloc(void *memory, size_t bytes);
void meter_free(void *memory);

#endif
