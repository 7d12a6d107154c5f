/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_SENTINEL_H
#define SHOAL_SENTINEL_H

/**
 * @file
 * Failover: the primary is the server that the sentinels name.
 *
 * Sentinels are servers that watch a primary and its replicas, and promote a replica when
 * the primary fails.  A client that knows the sentinels needs no address of the primary:
 *
 * - Before each attempt to connect, the library asks all sentinels that it reaches.  The
 *   answer with the highest configuration epoch counts.  Nothing is sent to a server
 *   before that server has answered ROLE with "master".
 * - The library stays connected to the sentinels, asks them every 5 s, and hears at once
 *   when they exchange the primary (+switch-master).  It then connects to the new primary,
 *   as shoal_client_reconnect() says.
 * - While there is no primary, commands wait until their deadline, as they do without a
 *   connection.  What happens to commands that were sent to the old primary and not
 *   answered, shoal/retry.h says.  A write that the old primary acknowledged may be lost:
 *   replication is asynchronous, and no client can change that.
 * - While no sentinel answers, the library goes on with the primary that works.
 * - If no connection works, and for 30 s the sentinels that are reached name only servers
 *   of older epochs, the library believes them, as a new client would.  Where the network
 *   is cut, and they are on the side of the former primary, writes that this one
 *   acknowledges are lost when the cut is over: let its min-replicas-to-write refuse them.
 * - The library also learns of further sentinels from those that it knows, up to 16 in
 *   all.  Those that the program named are never forgotten.
 *
 * Each sentinel has a connection of its own with credentials of its own: nothing is taken
 * from the settings for the primary but the timeouts, the protocol and the client's name.
 *
 * As a URL:
 *
 *     redis+sentinel://[[user]:password@]host[:port][,host[:port]...]/name[/db][?key=...]
 *
 * The hosts are sentinels, whose default port is 26379, and `name` is what they call the
 * primary.  User and password are the primary's; those of the sentinels are the keys
 * `sentinel_user` and `sentinel_password`.  `valkey+sentinel://` means the same.  With
 * `rediss+sentinel://` the primary and the sentinels speak TLS.
 */

#include <shoal/options.h>
#include <shoal/version.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The greatest number of sentinels that a client uses. */
#define SHOAL_SENTINELS_MAX 16

/**
 * Ask sentinels for the address of the primary of this name.  The address of
 * shoal_options_set_address() is then not used.  Credentials, database and all other
 * settings are those for the primary.
 *
 * @param options to be changed
 * @param name    as the sentinels know it ("mymaster"): 1 to 127 printable ASCII characters
 *                without a blank, copied; NULL: ask no sentinels, which is the default
 *
 * Threads: setup
 * Errors:  SHOAL_EINVAL options is NULL, or not such a name
 *          SHOAL_ENOMEM
 * Since:   0.2
 */
SHOAL_EXTERN int shoal_options_set_sentinel(shoal_options_t *options, const char *name);

/**
 * Name one sentinel.  At least one is needed; name all that are known, because the client
 * cannot begin while none of them answers.
 *
 * @param options to be changed
 * @param host    a name or a numeric address, copied
 * @param port    1 .. 65535; sentinels usually listen on 26379
 *
 * Threads: setup
 * Errors:  SHOAL_EINVAL options or host is NULL, host is empty, port is out of range, or
 *                       there are SHOAL_SENTINELS_MAX already
 *          SHOAL_ENOMEM
 * Since:   0.2
 */
SHOAL_EXTERN int shoal_options_add_sentinel(shoal_options_t *options, const char *host,
                                            int port);

/**
 * The credentials for the sentinels.  Default: none.
 *
 * @param options  to be changed
 * @param user     copied; NULL: the default user
 * @param password copied; NULL: no authentication; user must then be NULL, too
 *
 * Threads: setup
 * Errors:  SHOAL_EINVAL options is NULL, or a user without a password
 *          SHOAL_ENOMEM
 * Since:   0.2
 */
SHOAL_EXTERN int shoal_options_set_sentinel_auth(shoal_options_t *options,
                                                 const char *user,
                                                 const char *password);

/**
 * Do the sentinels speak TLS?  Default: no, whether or not the primary does.  They are then
 * checked by the files and settings of shoal/tls.h, as the primary is, which must speak TLS
 * too: shoal_options_set_tls().
 *
 * @param options to be changed
 * @param is_on   whether they do
 *
 * Threads: setup
 * Errors:  SHOAL_EINVAL options is NULL
 * Since:   0.2
 */
SHOAL_EXTERN int shoal_options_set_sentinel_tls(shoal_options_t *options, bool is_on);

#ifdef __cplusplus
}
#endif

#endif
