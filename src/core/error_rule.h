/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_ERROR_RULE_H
#define SHOAL_CORE_ERROR_RULE_H

/*
 * What an error reply at the top level means for a command: hand it to the caller, or
 * hold the command and send it again.  Errors below the top level are never interpreted.
 *
 * Scripts' errors are always handed over: a script may have written before it failed.
 */

#include "base/bytes.h"
#include "resp/command_info.h"
#include <stdbool.h>

typedef enum shoal__error_verdict {
    SHOAL__ERROR_SURFACE, /* the caller gets it */
    /* The others prove that the command was not executed: */
    SHOAL__ERROR_HOLD,       /* the server refuses everything for now: LOADING,
                                 MASTERDOWN, CLUSTERDOWN */
    SHOAL__ERROR_HOLD_ALONE, /* it refuses some keys for now: TRYAGAIN; CLUSTERDOWN of one
                                 slot */
    SHOAL__ERROR_REDIAL,     /* all, but perhaps not on the next connection: NOAUTH */
    SHOAL__ERROR_REDIAL_ROLE /* writes, but perhaps not on the next connection: READONLY
                                 (a demoted primary), and UNBLOCKED by the server itself */
} shoal__error_verdict_t;

typedef struct shoal__error_input {
    shoal__bytes_t text; /* the whole error text, without the dash */
    shoal__command_class_t command_class;
    bool is_once;
    bool is_unit;         /* part of MULTI ... EXEC: surfaces */
    bool has_credentials; /* the greeting authenticated: NOAUTH is a surprise */
} shoal__error_input_t;

/* The code is the first word and must match whole: "LOADINGX" is not LOADING. */
shoal__error_verdict_t shoal__error_rule(const shoal__error_input_t *input);

#endif
