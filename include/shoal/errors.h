/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_ERRORS_H
#define SHOAL_ERRORS_H

#include <shoal/version.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The one list of codes: name, value, text.  The range -7099 .. -7000 holds no errno
 * and no code of libuv, so a foreign code is easy to see.  No value ever changes. */
#define SHOAL_ERROR_MAP(X)                                                             \
    X(EINVAL, -7001, "invalid argument")                                               \
    X(ENOMEM, -7002, "out of memory")                                                  \
    X(EFULL, -7003, "too many commands or bytes are outstanding")                      \
    X(ETOOBIG, -7004, "the command can never fit the configured limits")               \
    X(ECLOSED, -7005, "the client is closed")                                          \
    X(EREFUSED, -7006, "the command may not be sent on a shared connection")           \
    X(EFORK, -7007, "the client belongs to the parent process")                        \
    X(ELOOP, -7008, "this call would block the loop thread")                           \
    X(EURL, -7009, "the URL cannot be understood")                                     \
    X(EINTR, -7010, "interrupted by a signal")                                         \
    X(ENOENT, -7011, "no such command, connection or node")                            \
    X(ESYSTEM, -7012, "the operating system refused a resource")                       \
    X(EAGAIN, -7013, "the result is not there yet")                                    \
    X(ECROSSSLOT, -7014, "the keys belong to several slots of the cluster")            \
    X(ETIMEOUT, -7020, "the deadline passed")                                          \
    X(ECANCELLED, -7021, "cancelled by the caller")                                    \
    X(ECONN, -7022, "the connection could not be made or was lost")                    \
    X(EDESYNC, -7023, "the server broke the protocol")                                 \
    X(EAUTH, -7024, "the server rejected the credentials")                             \
    X(ESHUTDOWN, -7025, "the client was closed before the reply came")                 \
    X(ETLS, -7026, "TLS failed: a certificate, or the protocol")

enum shoal_error_code {
#define SHOAL_ERROR_VALUE(name, value, text) SHOAL_##name = value,
    SHOAL_ERROR_MAP(SHOAL_ERROR_VALUE)
#undef SHOAL_ERROR_VALUE
};

/**
 * The reason of a refused call, in words.  The caller owns the structure and hands it
 * to a call; afterwards it holds the reason of that one call.  The library keeps no
 * "last error" elsewhere.
 *
 *     shoal_error_t error = SHOAL_ERROR_INIT;
 *     if (shoal_client_open_url(url, &client, &error) < 0)
 *         fprintf(stderr, "%s\n", error.text);
 *
 * Newer versions append fields; the library writes only within `size`, and sets fields
 * that it does not know to 0.  If `size` was never set, the call returns SHOAL_EINVAL
 * and writes nothing.
 */
typedef struct shoal_error {
    size_t size;      /**< sizeof(shoal_error_t) */
    int code;         /**< value that the call returned: 0, or one of the codes above */
    int system_errno; /**< for SHOAL_ESYSTEM the system's errno; 0 for other codes */
    char text[240];   /**< one line of English without a full stop; "" after a success.
                        The text holds no credentials and no argument of a command */
} shoal_error_t;

/** Begin with `shoal_error_t error = SHOAL_ERROR_INIT;`. */
#define SHOAL_ERROR_INIT                                                               \
    {                                                                                  \
        sizeof(shoal_error_t), 0, 0, ""                                                \
    }

/**
 * One line of English for a code, without a full stop.
 *
 * Every number has a text: 0 gives "success", an unknown code gives "unknown error".
 *
 * @return a static string
 *
 * Threads: any
 * Since:   0.1
 */
SHOAL_EXTERN const char *shoal_strerror(int code);

/**
 * The name of a code, for logs: "SHOAL_EFULL".
 *
 * Every number has a name: 0 gives "OK", an unknown code gives "UNKNOWN".
 *
 * @return a static string
 *
 * Threads: any
 * Since:   0.1
 */
SHOAL_EXTERN const char *shoal_error_name(int code);

#ifdef __cplusplus
}
#endif

#endif
