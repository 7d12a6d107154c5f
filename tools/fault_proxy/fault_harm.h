/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_TOOLS_FAULT_HARM_H
#define SHOAL_TOOLS_FAULT_HARM_H

/*
 * What happens to the bytes of one way of one connection: first to whole replies, then to
 * single bytes.  The same seed and the same stream give the same harm, however the stream
 * was split.  While replies may be harmed, each is withheld until it is whole.
 */

#include "base/random.h"
#include "fault_proxy/fake_bytes.h"
#include "fault_proxy/fault_carriage.h"
#include "fault_proxy/fault_frames.h"

typedef struct fault_harm {
    bool has_frames; /* this way carries replies */
    fault_frames_t frames;
    shoal__random_t frame_dice, byte_dice;
    bool is_gathering;    /* the present reply is withheld */
    fake_bytes_t partial; /* what is there of it */
    fake_bytes_t waiting; /* a whole reply that changes places with the next one */
    uint64_t harmed;      /* bytes and replies */
} fault_harm_t;

void fault_harm_init(fault_harm_t *harm, uint64_t seed, bool has_frames);
void fault_harm_release(fault_harm_t *harm);

/* Would bytes be carried as they come?  Then fault_harm_pass() suffices. */
bool fault_harm_is_idle(const fault_harm_t *harm, const fault_carriage_t *carriage);
/* Keep count of replies that are carried as they come. */
void fault_harm_pass(fault_harm_t *harm, const char *data, size_t bytes);
/* Add to `out` what becomes of the bytes. */
void fault_harm_apply(fault_harm_t *harm, const fault_carriage_t *carriage,
                      const char *data, size_t bytes, fake_bytes_t *out);
/* Add to `out` what is withheld without a reason: the carriage is a new one. */
void fault_harm_let_go(fault_harm_t *harm, const fault_carriage_t *carriage,
                       fake_bytes_t *out);
/* Add to `out` all that is withheld: nothing more comes. */
void fault_harm_end(fault_harm_t *harm, const fault_carriage_t *carriage,
                    fake_bytes_t *out);

#endif
