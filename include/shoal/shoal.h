/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_SHOAL_H
#define SHOAL_SHOAL_H

/* Everything but <shoal/uv.h>. */

#include <shoal/alloc.h>
#include <shoal/client.h>
#include <shoal/command.h>
#include <shoal/completions.h>
#include <shoal/connection.h>
#include <shoal/errors.h>
#include <shoal/events.h>
#include <shoal/format.h>
#include <shoal/integrity.h>
#include <shoal/options.h>
#include <shoal/pending.h>
#include <shoal/reply.h>
#include <shoal/result.h>
#include <shoal/retry.h>
#include <shoal/stats.h>
#include <shoal/version.h>

#endif
