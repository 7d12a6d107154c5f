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

/** Bucket b of a size histogram counts values v with 2^b <= v < 2^(b+1), the last one all
 * that are larger.  Never grows. */
#define SHOAL_STATS_BATCH_BUCKETS 20

/** Buckets of a latency histogram; see shoal_stats_bucket_us().  Never grows. */
#define SHOAL_STATS_LATENCY_BUCKETS 128

/** Room in shoal_stats_t for the reasons and stages of this version and of later ones. */
#define SHOAL_STATS_REASONS_ROOM 16
#define SHOAL_STATS_STAGES_ROOM 6

/** Why a flush happened. */
typedef enum shoal_flush_reason {
    SHOAL_FLUSHED_LONE = 0,     /**< a lone caller is never held */
    SHOAL_FLUSHED_FULL = 1,     /**< a bound of bytes or commands was reached */
    SHOAL_FLUSHED_COMPLETE = 2, /**< nobody was left to wait for */
    SHOAL_FLUSHED_GATE = 3,     /**< enough were queued for those in flight */
    SHOAL_FLUSHED_BUDGET = 4,   /**< the pause or the latency budget was spent */
    SHOAL_FLUSHED_TURN = 5,     /**< policy off: the loop turn ended */
    SHOAL_FLUSHED_URGENT = 6,   /**< a command asked for it */
    SHOAL_FLUSHED_DEADLINE = 7, /**< a command's deadline is near */
    SHOAL_FLUSHED_STAGGER = 8,  /**< the second half of a batch that was split, so that
                                     client and server work at the same time */
    SHOAL_FLUSH_REASONS = 9
} shoal_flush_reason_t;

/** The stages of a command's life, each with a latency histogram. */
typedef enum shoal_stage {
    SHOAL_STAGE_QUEUED = 0,  /**< submission until the loop took it over */
    SHOAL_STAGE_BATCHED = 1, /**< until it was handed to the socket */
    SHOAL_STAGE_WIRE = 2,    /**< until its reply was decoded */
    SHOAL_STAGE_TOTAL = 3,   /**< submission until the reply was decoded */
    SHOAL_STAGES = 4
} shoal_stage_t;

/**
 * Counters since the client was opened; those with "now" are momentary.  Begin with
 * SHOAL_STATS_INIT.  Newer versions append fields and never move one.
 */
typedef struct shoal_stats {
    size_t size;              /**< sizeof(shoal_stats_t) */
    uint64_t commands;        /**< accepted */
    uint64_t completed;       /**< results delivered, whatever they are */
    uint64_t refused;         /**< submissions that returned an error */
    uint64_t replies;         /**< results with a reply */
    uint64_t error_replies;   /**< replies of type SHOAL_REPLY_ERROR */
    uint64_t timeouts;        /**< results SHOAL_ETIMEOUT */
    uint64_t cancels;         /**< results SHOAL_ECANCELLED */
    uint64_t failures;        /**< results with any other status below 0 */
    uint64_t retries;         /**< commands sent again, for whatever reason */
    uint64_t zombies_dropped; /**< replies that came after their command was given up */
    uint64_t pushes;          /**< messages that the server sent unasked */
    uint64_t writes;          /**< system calls that wrote */
    uint64_t reads;           /**< system calls that read at least a byte */
    uint64_t bytes_out;
    uint64_t bytes_in;
    uint64_t flushes;        /**< batches */
    uint64_t wakeups;        /**< times another thread had to wake the loop */
    uint64_t caller_wakeups; /**< times the loop woke a blocked caller or announced
                                  results to a completion queue */
    uint64_t direct_calls;   /**< blocking calls that drove the connection themselves */
    uint64_t handovers;      /**< times the loop passed from one thread to another */
    uint64_t turns;          /**< loop turns */
    uint64_t connects;       /**< connections that became ready */
    uint64_t losses;         /**< ready connections that were lost */
    uint64_t desyncs;        /**< connections that ended, ready or not, because the
                                  server broke the protocol */
    uint64_t queued_now;     /**< commands that wait to be written */
    uint64_t inflight_now;   /**< commands written and unanswered */
    uint64_t bytes_now;      /**< encoded bytes of all outstanding commands */
    uint64_t batch_histogram[SHOAL_STATS_BATCH_BUCKETS]; /**< commands per flush */
    uint64_t flush_reasons[SHOAL_STATS_REASONS_ROOM];    /**< flushes, by reason */
    uint64_t holds;       /**< times the flush policy, when asked, held back what
                                     was queued: once or more for each batch */
    uint64_t probes;      /**< holds of `auto` to find out whether more would come */
    uint64_t trials;      /**< comparisons of throughput with and without holds */
    uint64_t callers_now; /**< callers there are, as `auto` sees it */
    uint64_t is_open_now; /**< 1: commands come whether or not replies do, as `auto`
                                sees it, and are gathered for the latency budget */
    uint64_t gap_ns_now;  /**< mean time between commands; 0: not known */
    uint64_t rtt_us_now;  /**< mean time from a write to its first reply */
    uint64_t late_us_now; /**< how late a wake-up comes */
    uint64_t latency[SHOAL_STATS_STAGES_ROOM]
                    [SHOAL_STATS_LATENCY_BUCKETS]; /**< commands, by stage */
    uint64_t fences;         /**< ECHOs of our own, to stay in step with the server */
    uint64_t fences_unclear; /**< answered with an error that proves nothing, as BUSY */
    uint64_t settled;   /**< connections before which all former ones had ended, for
                                  sure; see shoal_result_is_settled() */
    uint64_t unsettled; /**< connections of which that is not known */
    uint64_t attempts_failed; /**< attempts to connect that ended before the connection
                                   was ready */
} shoal_stats_t;

/** Nothing counted: `shoal_stats_t stats = SHOAL_STATS_INIT;`. */
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
 * @param ret_stats   its size is read, and says what the caller knows; then it receives
 *                    the figures.  Fields that one side does not know are left out or
 *                    zero; after a failure all are zero, but the size
 *
 * Threads: any
 * Blocks:  never; values of one loop turn may be split between two snapshots
 * Errors:  SHOAL_EINVAL  client or ret_stats is NULL, or its size was never set
 *          SHOAL_ECLOSED the client is closed, and each command has its result
 *          SHOAL_EFORK   the client belongs to the parent process
 * Since:   0.1
 */
SHOAL_EXTERN int shoal_stats_get(shoal_client_t *client, shoal_stats_t *ret_stats);

/**
 * The same for one connection of the client.  Fields that are the client's as a whole
 * are 0: commands, refused, wakeups, caller_wakeups, direct_calls, handovers, turns,
 * latency.
 *
 * @param connection  number of the connection, from 1; shoal_event_connection() tells it
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
 * The latency in microseconds below which `permille` thousandths of a stage's
 * commands stayed; the upper edge of the bucket.  0 if there were none.
 *
 * @param stats    of shoal_stats_get()
 * @param stage    which stage
 * @param permille 0 .. 1000: 500 the median, 990 the 99th percentile
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
