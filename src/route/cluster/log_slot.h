/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_ROUTE_CLUSTER_LOG_SLOT_H
#define SHOAL_ROUTE_CLUSTER_LOG_SLOT_H

/* The slot of a command in a log.  For the rare cases: a command that comes with a side of
 * the mailbox brings its slot along. */

#include "core/request.h"
#include "resp/command_book.h"

/* As resp/command_slot.h says.  An argument that stands in its caller's memory is not
 * among the bytes: keys behind it are not seen. */
unsigned shoal__log_slot(const shoal__request_t *request, const char *bytes,
                         shoal__command_book_t *book);

#endif
