/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_STATS_H
#define SHOAL_STATS_H

#include <shoal/options.h>
#include <shoal/version.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Buckets of the histogram of batch sizes.  Bucket b counts values v with
 * 2^b <= v < 2^(b+1); the last bucket also counts all larger values.  Never grows. */
#define SHOAL_STATS_BATCH_BUCKETS 20

/** Buckets of a latency histogram; see shoal_stats_bucket_us().  Never grows. */
#define SHOAL_STATS_LATENCY_BUCKETS 128

/** Room in shoal_stats_t for the reasons and stages of this version and later ones. */
#define SHOAL_STATS_REASONS_ROOM 16
#define SHOAL_STATS_STAGES_ROOM 6

/** Why the library wrote a batch (a flush). */
typedef enum shoal_flush_reason {
    SHOAL_FLUSHED_LONE = 0,     /**< the caller is alone; its commands never wait */
    SHOAL_FLUSHED_FULL = 1,     /**< the batch reached a bound of bytes or commands */
    SHOAL_FLUSHED_COMPLETE = 2, /**< `auto`: every caller had a command queued or in
                                     flight, or no reply was due */
    SHOAL_FLUSHED_GATE = 3,     /**< `auto`: enough commands were queued, compared with
                                     the number in flight */
    SHOAL_FLUSHED_BUDGET = 4,   /**< the pause or the latency budget was spent */
    SHOAL_FLUSHED_TURN = 5,     /**< the policy is off, and the loop turn ended */
    SHOAL_FLUSHED_URGENT = 6,   /**< a command had SHOAL_CALL_URGENT */
    SHOAL_FLUSHED_DEADLINE = 7, /**< a command's deadline was near */
    SHOAL_FLUSHED_STAGGER = 8,  /**< the second half of a batch that `auto` split, so
                                     that client and server work at the same time */
    SHOAL_FLUSH_REASONS = 9
} shoal_flush_reason_t;

/** The stages of a command's life.  Each stage has a latency histogram. */
typedef enum shoal_stage {
    SHOAL_STAGE_QUEUED = 0,  /**< from submission until the loop took the command
                                  over */
    SHOAL_STAGE_BATCHED = 1, /**< from then until the loop wrote it to the socket */
    SHOAL_STAGE_WIRE = 2,    /**< from then until its reply was decoded */
    SHOAL_STAGE_TOTAL = 3,   /**< from submission until its reply was decoded */
    SHOAL_STAGES = 4
} shoal_stage_t;

/**
 * Counters since the client was opened.  Fields whose name ends in "now" are momentary
 * values.  Begin with SHOAL_STATS_INIT.  Newer versions append fields and never move
 * one.
 */
typedef struct shoal_stats {
    size_t size;              /**< sizeof(shoal_stats_t) */
    uint64_t commands;        /**< commands accepted */
    uint64_t completed;       /**< results delivered, with any status */
    uint64_t refused;         /**< submissions that returned an error */
    uint64_t replies;         /**< results with a reply (status 0) */
    uint64_t error_replies;   /**< replies of type SHOAL_REPLY_ERROR */
    uint64_t timeouts;        /**< results with status SHOAL_ETIMEOUT */
    uint64_t cancels;         /**< results with status SHOAL_ECANCELLED */
    uint64_t failures;        /**< results with any other status below 0 */
    uint64_t retries;         /**< commands sent again, for any reason */
    uint64_t zombies_dropped; /**< replies dropped, because the deadline had passed or
                                   the caller had cancelled the command */
    uint64_t pushes;          /**< messages that the server sent unasked */
    uint64_t writes;          /**< system calls that wrote */
    uint64_t reads;           /**< system calls that read at least a byte */
    uint64_t bytes_out;       /**< bytes written */
    uint64_t bytes_in;        /**< bytes read */
    uint64_t flushes;         /**< batches written */
    uint64_t wakeups;         /**< times another thread had to wake the loop */
    uint64_t caller_wakeups;  /**< times the loop woke a blocked caller or announced
                                  results to a completion queue */
    uint64_t direct_calls; /**< blocking calls whose own thread ran the loop, or stayed
                                  awake while others did */
    uint64_t handovers;    /**< times the loop passed from one thread to another */
    uint64_t turns;        /**< loop turns */
    uint64_t connects;     /**< connections that became ready */
    uint64_t losses;       /**< ready connections that were lost */
    uint64_t desyncs;      /**< connections that ended, ready or not, because the
                                  server broke the protocol */
    uint64_t queued_now;   /**< commands that wait to be written */
    uint64_t inflight_now; /**< commands written and unanswered */
    uint64_t bytes_now;    /**< encoded bytes of all outstanding commands */
    uint64_t batch_histogram[SHOAL_STATS_BATCH_BUCKETS]; /**< flushes, by commands */
    uint64_t flush_reasons[SHOAL_STATS_REASONS_ROOM];    /**< flushes, by reason */
    uint64_t holds;       /**< times the flush policy decided to hold the queued
                               commands back: more than once for some batches */
    uint64_t probes;      /**< holds by which `auto` tests whether more commands come */
    uint64_t trials;      /**< comparisons of throughput with and without holds */
    uint64_t callers_now; /**< number of callers, as `auto` estimates it */
    uint64_t is_open_now; /**< 1: `auto` finds that callers do not wait for replies
                               before they submit more, and gathers for the latency
                               budget */
    uint64_t gap_ns_now;  /**< mean time between commands; 0: not known */
    uint64_t rtt_us_now;  /**< mean time from a write to its first reply */
    uint64_t late_us_now; /**< how late the wake-up after a hold comes */
    uint64_t latency[SHOAL_STATS_STAGES_ROOM]
                    [SHOAL_STATS_LATENCY_BUCKETS]; /**< commands, by stage */
    uint64_t fences;         /**< ECHOs that the library added; see shoal_integrity_t */
    uint64_t fences_unclear; /**< fences answered with an error that proves nothing,
                                  such as BUSY */
    uint64_t settled;   /**< connections that were ready only after all earlier ones had
                             provably ended; see shoal_result_is_settled() */
    uint64_t unsettled; /**< ready connections for which that is not proved */
    uint64_t attempts_failed; /**< attempts to connect that ended before the connection
                                   was ready */
    uint64_t leases_now; /**< open leases, and blocking commands without a result that
                              have, or wait for, a connection of their own */
    uint64_t leases_waiting_now; /**< those of them that wait for a connection */
    uint64_t leases_idle_now;    /**< leased connections that wait for a holder */
    uint64_t bytes_referred; /**< bytes of large arguments (SHOAL_REFERENCE_BYTES_MIN)
                                   that the library did not copy; see
                                   shoal_release_cb */
    uint64_t bytes_copied;   /**< bytes of large arguments that the library copied: at
                                   their submission, or later when a command was given
                                   up that was partly written */
    uint64_t bulk;        /**< commands that took the bulk lane (in a cluster: and have
                                   their results), or waited for several connections
                                   (shoal_options_set_connections()) */
    uint64_t reordered;   /**< commands that a server executed, or may have executed,
                                   after a later one of the same key; see
                                   shoal_result_was_reordered() */
    uint64_t tls_full;    /**< full handshakes of TLS */
    uint64_t tls_resumed; /**< handshakes that resumed a session, which are cheaper */
    uint64_t replica_reads; /**< commands that were handed to replicas, each once
                                   (<shoal/replicas.h>) */
    uint64_t views_asked;   /**< times a node was asked for its view of the cluster */
    uint64_t
        views_refused; /**< views that were not believed: of another cluster, of fewer
                                 slots, or not understood */
    uint64_t
        redirects_refused; /**< times a server led the client to a server that it must
                                     not know, or that no other node knows; see
                                     SHOAL_EVENT_REDIRECT_REFUSED */
    uint64_t moved;        /**< commands that nodes of a cluster sent on with MOVED */
    uint64_t asked;        /**< ... and with ASK */
} shoal_stats_t;

/** Initial value: `shoal_stats_t stats = SHOAL_STATS_INIT;`. */
#ifdef __cplusplus
#define SHOAL_STATS_INIT                                                               \
    [] {                                                                               \
        shoal_stats_t init{};                                                          \
        init.size = sizeof init;                                                       \
        return init;                                                                   \
    }()
#else
#define SHOAL_STATS_INIT                                                               \
    {                                                                                  \
        .size = sizeof(shoal_stats_t)                                                  \
    }
#endif

/**
 * Take a snapshot.
 *
 * @param ret_stats   receives the counters.  The caller sets `size`: the library fills
 *                    in only fields within that size, and sets fields that it does not
 *                    know to 0.  After a failure all fields but `size` are 0
 *
 * Threads: any
 * Blocks:  never; two snapshots may divide the counts of one loop turn between them
 * Errors:  SHOAL_EINVAL  client or ret_stats is NULL, or its size was never set
 *          SHOAL_ECLOSED the client is closed, and each command has its result
 *          SHOAL_EFORK   the client belongs to the parent process
 * Since:   0.1
 */
SHOAL_EXTERN int shoal_stats_get(shoal_client_t *client, shoal_stats_t *ret_stats);

/**
 * Take a snapshot of one connection of the client.  Fields that count for the client as
 * a whole are 0: commands, refused, wakeups, caller_wakeups, direct_calls, handovers,
 * turns, latency, leases_now, leases_waiting_now, leases_idle_now, bytes_referred, bulk,
 * views_asked, views_refused.
 *
 * @param connection  number of the connection, from 1; shoal_event_connection() gives
 *                    it
 * @param ret_stats   as for shoal_stats_get()
 *
 * Threads: any
 * Blocks:  never
 * Errors:  SHOAL_EINVAL  client or ret_stats is NULL, or its size was never set
 *          SHOAL_ENOENT  the client has no such connection
 *          SHOAL_ECLOSED the client is closed, and each command has its result
 *          SHOAL_EFORK   the client belongs to the parent process
 * Since:   0.1
 */
SHOAL_EXTERN int shoal_stats_get_connection(shoal_client_t *client, uint64_t connection,
                                            shoal_stats_t *ret_stats);

/**
 * The smallest latency, in microseconds, that falls into a bucket of the latency
 * histograms.  Buckets 0 .. 7 are 1 us wide; after them each power of two has 4.
 *
 * @param bucket 0 .. SHOAL_STATS_LATENCY_BUCKETS - 1
 *
 * Threads: any
 * Since:   0.1
 */
SHOAL_EXTERN uint64_t shoal_stats_bucket_us(size_t bucket);

/**
 * The latency in microseconds below which `permille` thousandths of a stage's commands
 * stayed: the upper edge of a bucket.  0 if the stage has counted no command.
 *
 * @param stats    from shoal_stats_get()
 * @param stage    the stage
 * @param permille 0 .. 1000: 500 is the median, 990 the 99th percentile
 *
 * Threads: any
 * Since:   0.1
 */
SHOAL_EXTERN uint64_t shoal_stats_latency_us(const shoal_stats_t *stats,
                                             shoal_stage_t stage, unsigned permille);

/**
 * The name of a flush reason: "lone", "full", "complete", "gate", "budget", "turn",
 * "urgent", "deadline", "stagger".
 *
 * @return a static string
 *
 * Threads: any
 * Since:   0.1
 */
SHOAL_EXTERN const char *shoal_flush_reason_name(shoal_flush_reason_t reason);

#ifdef __cplusplus
}
#endif

#endif
