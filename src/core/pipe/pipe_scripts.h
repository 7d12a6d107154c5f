/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_PIPE_PIPE_SCRIPTS_H
#define SHOAL_CORE_PIPE_PIPE_SCRIPTS_H

/*
 * Scripts (core/scripts.h) are loaded on each connection before anything else that waits
 * leaves: those that are there when it is ready, and those that come later.
 *
 * If the server lost them since (SCRIPT FLUSH), a command that calls one by its hash is
 * refused, and was not executed: all are loaded again, and the command goes again, behind
 * what was queued meanwhile.  Not if it is a part of something larger, whose next part has
 * run already.
 */

#include "core/pipe/pipe.h"

/* READY: load what this connection has not loaded.  Without memory the next turn does. */
void shoal__pipe_load_scripts(shoal__pipe_t *pipe);

/* The command at the head of the registry was answered with an error. */
shoal__pipe_verdict_t shoal__pipe_script_missing(shoal__pipe_t *pipe,
                                                 const shoal__request_t *request,
                                                 shoal__bytes_t error);

#endif
