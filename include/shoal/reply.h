/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_REPLY_H
#define SHOAL_REPLY_H

#include <shoal/version.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** One value that the server sent, with all values inside it.  Opaque, immutable. */
typedef struct shoal_reply shoal_reply_t;

/** Types of values.  RESP2 servers send the first six only. */
typedef enum shoal_reply_type {
    SHOAL_REPLY_NIL = 0,
    SHOAL_REPLY_STATUS = 1,  /**< a short text such as OK */
    SHOAL_REPLY_ERROR = 2,   /**< an error text such as WRONGTYPE ... */
    SHOAL_REPLY_INTEGER = 3, /**< 64 bits, signed */
    SHOAL_REPLY_STRING = 4,  /**< any bytes */
    SHOAL_REPLY_ARRAY = 5,   /**< values in an order */
    SHOAL_REPLY_DOUBLE = 6,
    SHOAL_REPLY_BOOL = 7,
    SHOAL_REPLY_MAP = 8, /**< key, value, key, value ... */
    SHOAL_REPLY_SET = 9,
    SHOAL_REPLY_PUSH = 10,
    SHOAL_REPLY_BIGNUM = 11,  /**< decimal digits, as text */
    SHOAL_REPLY_VERBATIM = 12 /**< text with a three-letter format */
} shoal_reply_type_t;

/**
 * The type of a value.  Every function here treats a NULL reply, which
 * shoal_result_reply() may return, as nil.
 *
 * Threads: any
 * Since:   0.1
 */
SHOAL_EXTERN shoal_reply_type_t shoal_reply_type(const shoal_reply_t *reply);

/**
 * The bytes of a STRING, STATUS, ERROR, BIGNUM, VERBATIM or DOUBLE (as the server wrote
 * it); NULL for other types.  A NUL follows the bytes; a STRING may also contain NUL
 * bytes.  The bytes live as long as the reply.
 *
 * @param ret_bytes receives the length in bytes; may be NULL
 *
 * Threads: any
 * Since:   0.1
 */
SHOAL_EXTERN const char *shoal_reply_string(const shoal_reply_t *reply,
                                            size_t *ret_bytes);

/**
 * The value of an INTEGER or BOOL (0 or 1); 0 for other types.
 *
 * Threads: any
 * Since:   0.1
 */
SHOAL_EXTERN int64_t shoal_reply_integer(const shoal_reply_t *reply);

/**
 * The value of a DOUBLE, or of an INTEGER as a double; 0 for other types.
 *
 * Threads: any
 * Since:   0.1
 */
SHOAL_EXTERN double shoal_reply_double(const shoal_reply_t *reply);

/**
 * The value of a BOOL; for an INTEGER true if it is not 0; false for other types.
 *
 * Threads: any
 * Since:   0.1
 */
SHOAL_EXTERN bool shoal_reply_bool(const shoal_reply_t *reply);

/**
 * The number of direct children of an ARRAY, SET, PUSH or MAP; 0 for other types.
 *
 * A map of n pairs has 2n children: key 0, value 0, key 1, value 1 ...
 *
 * Threads: any
 * Since:   0.1
 */
SHOAL_EXTERN size_t shoal_reply_count(const shoal_reply_t *reply);

/**
 * A direct child, or NULL if there is no such index.  The child lives as long as its
 * parent.  The call takes constant time.
 *
 * Threads: any
 * Since:   0.1
 */
SHOAL_EXTERN const shoal_reply_t *shoal_reply_at(const shoal_reply_t *reply,
                                                 size_t index);

/**
 * The three-letter format of a VERBATIM ("txt", "mkd"), NUL-terminated; "" for other
 * types.  The text lives as long as the reply.
 *
 * Threads: any
 * Since:   0.1
 */
SHOAL_EXTERN const char *shoal_reply_verbatim_format(const shoal_reply_t *reply);

/**
 * Keep a reply beyond the life of its result.
 *
 * The call returns a reply of the same content that lives until the caller releases it.
 * The returned reply may be the same object or a copy, so use the returned pointer.
 *
 * @return the kept reply, or NULL if memory ran out or `reply` is NULL
 *
 * Threads:   any
 * Ownership: release the returned reply once with shoal_reply_release()
 * Since:     0.1
 */
SHOAL_EXTERN SHOAL_CHECKED const shoal_reply_t *
shoal_reply_retain(const shoal_reply_t *reply);

/**
 * Give back a reply that shoal_reply_retain() returned.  NULL is allowed.
 *
 * Threads: any
 * Since:   0.1
 */
SHOAL_EXTERN void shoal_reply_release(const shoal_reply_t *reply);

/**
 * Receives a reply piece by piece while the library decodes it, so that the library
 * builds no tree of values.
 *
 * The library delivers a value without children by on_leaf, and any other value by
 * on_begin, its children and on_end.  If the reply is cut (connection lost, deadline),
 * the library calls on_reset: the pieces delivered so far are void, and after a retry
 * the whole reply may follow.  The command's result callback follows last, with a NULL
 * reply.  An error reply does not go to the sink: the result has it.
 *
 * All four functions are required; without one of them the library refuses the call
 * with SHOAL_EINVAL.  The functions run on the loop thread (see also
 * SHOAL_CALL_SINK_HERE), must not block, and must not call into the client.  The
 * structure is closed: it never gets another field.
 */
typedef struct shoal_sink {
    /** A value without children; borrowed until the call returns. */
    void (*on_leaf)(const shoal_reply_t *leaf, void *data);
    /** ARRAY, SET, PUSH or MAP with `count` children (2 per pair of a map). */
    void (*on_begin)(shoal_reply_type_t type, size_t count, void *data);
    /** All children of the innermost open aggregate were delivered. */
    void (*on_end)(void *data);
    /** The pieces of this reply delivered so far are void. */
    void (*on_reset)(void *data);
} shoal_sink_t;

/** A string reply with more bytes than this is large: see shoal_chunk_sink_t. */
#define SHOAL_LARGE_STRING_BYTES 65536

/**
 * Receives a large string in chunks while it arrives, so that the library neither keeps
 * nor copies it.
 *
 * The sink gets a reply that is one string of more than SHOAL_LARGE_STRING_BYTES bytes.
 * The library calls on_begin, then on_chunk as often as bytes arrive, then on_end.  The
 * chunks may have any sizes; all of them together are the string.  If the reply is cut
 * (connection lost, deadline, cancel), the library calls on_reset: the chunks delivered
 * so far are void, and after a retry the whole reply may follow, from on_begin on.  The
 * command's result callback follows last, with a NULL reply.
 *
 * Every other reply (a shorter string, an error, nil, an array) does not go to this
 * sink: the command's shoal_sink_t has it, or its result.
 *
 * With SHOAL_INTEGRITY_STRICT the library holds all bytes until the reply is proved, and
 * the sink gets the held bytes.
 *
 * All four functions are required; without one of them the library refuses the call
 * with SHOAL_EINVAL.  The functions run where those of a shoal_sink_t run, under the same
 * rules.  The structure is closed: it never gets another field.
 */
typedef struct shoal_chunk_sink {
    /** A string of `bytes` bytes begins.  The server announced this length; nothing
     *  proves yet that so many bytes will come. */
    void (*on_begin)(uint64_t bytes, void *data);
    /** The next `bytes` bytes of the string, 1 at least; borrowed until the call
     *  returns. */
    void (*on_chunk)(const char *chunk, size_t bytes, void *data);
    /** The string is whole. */
    void (*on_end)(void *data);
    /** The chunks of this string delivered so far are void. */
    void (*on_reset)(void *data);
} shoal_chunk_sink_t;

/**
 * Hand a complete reply to a sink piece by piece, as the decoder does.
 *
 * @param sink receives the pieces; on_reset is not called, and an error counts as a
 *             leaf.  If one of the other three functions is NULL, none of them is
 *             called
 * @param data handed to the sink untouched
 *
 * Threads:   any; the sink's functions run before this call returns
 * Ownership: nothing passed in is kept
 * Since:     0.1
 */
SHOAL_EXTERN void shoal_reply_visit(const shoal_reply_t *reply,
                                    const shoal_sink_t *sink, void *data);

#ifdef __cplusplus
}
#endif

#endif
