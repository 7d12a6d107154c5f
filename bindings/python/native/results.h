/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_PYTHON_RESULTS_H
#define SHOAL_PYTHON_RESULTS_H

/*
 * Many results as one pickled list, for one pickle.loads():
 *
 *     [number, what, number, what, ...]
 *
 * `what` is a list of replies that need no help, of the commands `number`, `number` + 1,
 * ...; or a tuple on the one command `number`: see shoalpy_kind.  Numbers stand for
 * tickets, see shoalpy_number().
 *
 * The sink writes replies while they are decoded, before it is known which command each
 * belongs to: as a rule, to the next one.  A reply of another command is moved.
 *
 * The sink takes the replies of one connection only, because those of two, which may
 * arrive in turns, would be mixed up: calls use it with SHOAL_CALL_SINK_SHARED.  Replies
 * of any other connection come as a whole, also in the middle of one that the sink
 * writes.
 */

#include "replies.h"
#include "stream.h"
#include <shoal/command.h>
#include <shoal/result.h>

enum shoalpy_kind {
    SHOALPY_PLAIN = 0,  /* a reply that needs no help */
    SHOALPY_HELP = 1,   /* (1, reply) */
    SHOALPY_ERROR = 2,  /* (2, text of an error reply, as bytes) */
    SHOALPY_FAILURE = 3 /* (3, status, fate, detail as bytes, attempts, is_offline) */
};

/* Combinations of shoalpy_reply_flag. */
#define SHOALPY_REPLY_FLAGS 8

typedef struct shoalpy_results shoalpy_results_t;

/* For the sink: whose results, and how replies are written. */
typedef struct shoalpy_way {
    shoalpy_results_t *results;
    unsigned reply_flags;
} shoalpy_way_t;

struct shoalpy_results {
    shoalpy_stream_t stream;
    shoalpy_stream_t aside; /* a reply that does not stand where it belongs */
    shoalpy_writer_t writer;
    shoalpy_stream_t whole; /* a reply that did not come by the sink */
    shoalpy_writer_t whole_writer;
    uint64_t next;    /* number that continues the list of replies */
    bool is_borrowed; /* for numbers */
    bool is_begun;    /* there is a stream */
    bool in_list;
    bool is_list_empty;
    size_t list_from; /* where in the stream the list begins */
    bool is_aside;    /* the reply under way is in `aside` */
    size_t count;     /* results in the stream */
    shoalpy_way_t ways[SHOALPY_REPLY_FLAGS];
};

/* Of zeroed memory.  Afterwards it must stay where it is. */
void shoalpy_results_init(shoalpy_results_t *results, bool is_borrowed);
void shoalpy_results_release(shoalpy_results_t *results);

/* Forget the results, begin anew. */
void shoalpy_results_clear(shoalpy_results_t *results);
/* Takes the replies; its data is one of `ways`. */
extern const shoal_sink_t shoalpy_results_sink;
/* Add a result.  The sink took its reply, or it has one, or none. */
void shoalpy_results_add(shoalpy_results_t *results, const shoal_result_t *result,
                         unsigned reply_flags);
/* The stream is complete; what was added is in it.  Its length, 0 if there is nothing, or
 * SHOAL_ENOMEM: the results are lost. */
int64_t shoalpy_results_end(shoalpy_results_t *results);

/* One result by itself, without its number: a whole stream of the value.  If a sink took
 * the reply, the stream has it already.  `writer` was begun there.  Its kind. */
enum shoalpy_kind shoalpy_result_write(const shoal_result_t *result,
                                       shoalpy_writer_t *writer,
                                       shoalpy_stream_t *stream);

/* Has it no reply, or an error reply?  Such a result as a tuple of its kind. */
bool shoalpy_result_is_problem(const shoal_result_t *result);
void shoalpy_result_write_problem(const shoal_result_t *result,
                                  shoalpy_stream_t *stream);

/* A client has tickets of one of the two sequences of SHOAL_TICKET_OF_LOOP as a rule
 * (is_borrowed: of the loop thread's), and its numbers are small; those of the other are
 * large, so that no two are the same. */
uint64_t shoalpy_number(uint64_t ticket, bool is_borrowed);
uint64_t shoalpy_ticket(uint64_t number, bool is_borrowed);

#endif
