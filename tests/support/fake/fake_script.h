/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_TESTS_FAKE_SCRIPT_H
#define SHOAL_TESTS_FAKE_SCRIPT_H

/* The rules of a scripted server, and its ledger.  Not thread-safe. */

#include "support/fake/fake_request.h"
#include "support/fake/fake_server.h"
#include <stdbool.h>
#include <stddef.h>

typedef struct fake_script {
    struct fake_scripted {
        fake_rule_t rule;
        unsigned matches, hits;
        bool is_forgotten, is_waiting;
    } * rules;
    size_t rules_count, prepared_from;
    bool is_preparing;
    fake_entry_t *entries;
    size_t entries_count, entries_room;
} fake_script_t;

size_t fake_script_add(fake_script_t *script, const fake_rule_t *rule);
/* Rules that are added from now on wait; then they act, and those before them no more. */
void fake_script_prepare(fake_script_t *script);
void fake_script_forget(fake_script_t *script);
/* The rule for a command, or for an accepted connection (request NULL); NULL: none. */
const fake_rule_t *fake_script_match(fake_script_t *script, unsigned connection,
                                     const fake_request_t *request);
/* Returns the entry's index. */
size_t fake_script_log(fake_script_t *script, unsigned connection,
                       const fake_request_t *request, bool is_executed);
size_t fake_script_count(const fake_script_t *script, unsigned connection,
                         const char *command, const char *argument, bool executed_only);
size_t fake_script_user_commands(const fake_script_t *script, unsigned connection);
void fake_script_release(fake_script_t *script);

#endif
