/* SPDX-License-Identifier: MIT */
#include "support/fake/fake_script.h"

#include "fault_proxy/fake_bytes.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

size_t fake_script_add(fake_script_t *script, const fake_rule_t *rule)
{
    size_t bytes = (script->rules_count + 1) * sizeof *script->rules;
    script->rules = fake_must(realloc(script->rules, bytes));
    script->rules[script->rules_count] =
        (struct fake_scripted){.rule = *rule, .is_waiting = script->is_preparing};
    return script->rules_count++;
}

void fake_script_prepare(fake_script_t *script)
{
    script->is_preparing = true;
    script->prepared_from = script->rules_count;
}

void fake_script_forget(fake_script_t *script)
{
    size_t kept = script->is_preparing ? script->prepared_from : script->rules_count;

    for (size_t i = 0; i < script->rules_count; i++) {
        script->rules[i].is_forgotten |= i < kept;
        script->rules[i].is_waiting = false;
    }
    script->is_preparing = false;
}

/* Is this the ECHO by which a client checks whether it is in step? */
static bool is_fence(const char *command, size_t command_bytes, const char *argument,
                     size_t argument_bytes)
{
    bool is_echo = command_bytes == 4 && strncasecmp(command, "ECHO", 4) == 0;

    for (size_t i = 0; is_echo && i < argument_bytes; i++)
        is_echo = strchr("0123456789abcdef", argument[i]) && argument[i];
    return is_echo && argument_bytes == 16;
}

static bool is_fence_entry(const fake_entry_t *entry)
{
    return entry->argc == 2 && is_fence(entry->args[0], strlen(entry->args[0]),
                                        entry->args[1], strlen(entry->args[1]));
}

static bool is_fence_request(const fake_request_t *request)
{
    return request->argc == 2 && is_fence(request->argv[0].data, request->argv[0].size,
                                          request->argv[1].data, request->argv[1].size);
}

static bool applies(const fake_rule_t *rule, unsigned connection,
                    const fake_request_t *request)
{
    bool on_accept = rule->command && strcmp(rule->command, FAKE_ON_ACCEPT) == 0;

    if (rule->connection && rule->connection != connection)
        return false;
    if (!request || on_accept)
        return !request && on_accept;
    if (rule->command && is_fence_request(request))
        return strcmp(rule->command, FAKE_FENCE) == 0;
    if (rule->command && !fake_request_is(request, 0, rule->command))
        return false;
    return !rule->argument || fake_request_is(request, 1, rule->argument);
}

const fake_rule_t *fake_script_match(fake_script_t *script, unsigned connection,
                                     const fake_request_t *request)
{
    for (size_t i = 0; i < script->rules_count; i++) {
        struct fake_scripted *scripted = &script->rules[i];
        const fake_rule_t *rule = &scripted->rule;

        if (scripted->is_forgotten || scripted->is_waiting ||
            !applies(rule, connection, request))
            continue;
        if (scripted->matches++ < rule->skip)
            continue;
        if (rule->times && scripted->hits >= rule->times)
            continue;
        scripted->hits++;
        return rule;
    }
    return NULL;
}

size_t fake_script_log(fake_script_t *script, unsigned connection,
                       const fake_request_t *request, bool is_executed)
{
    if (script->entries_count == script->entries_room) {
        size_t room = script->entries_room ? 2 * script->entries_room : 64;
        script->entries =
            fake_must(realloc(script->entries, room * sizeof *script->entries));
        script->entries_room = room;
    }
    fake_entry_t *entry = &script->entries[script->entries_count];
    *entry = (fake_entry_t){connection, is_executed, request->argc, {{0}}};
    for (size_t i = 0; i < request->argc && i < FAKE_ARGS_KEPT; i++) {
        size_t bytes = request->argv[i].size;
        if (bytes > FAKE_ARG_BYTES_KEPT - 1)
            bytes = FAKE_ARG_BYTES_KEPT - 1;
        memcpy(entry->args[i], request->argv[i].data, bytes);
    }
    return script->entries_count++;
}

size_t fake_script_count(const fake_script_t *script, unsigned connection,
                         const char *command, const char *argument, bool executed_only)
{
    size_t count = 0;
    for (size_t i = 0; i < script->entries_count; i++) {
        const fake_entry_t *entry = &script->entries[i];
        if (connection && entry->connection != connection)
            continue;
        if (executed_only && !entry->is_executed)
            continue;
        if (is_fence_entry(entry)) {
            count += strcmp(command, FAKE_FENCE) == 0;
            continue;
        }
        if (strcasecmp(entry->args[0], command) == 0 &&
            (!argument || (entry->argc > 1 && strcmp(entry->args[1], argument) == 0)))
            count++;
    }
    return count;
}

size_t fake_script_user_commands(const fake_script_t *script, unsigned connection)
{
    static const char *const greeting[] = {"HELLO", "AUTH", "SELECT",  "CLIENT",
                                           "INFO",  "ROLE", "CLUSTER", "COMMAND"};
    size_t count = 0;

    for (size_t i = 0; i < script->entries_count; i++) {
        const fake_entry_t *entry = &script->entries[i];
        bool is_greeting = is_fence_entry(entry);

        if (connection && entry->connection != connection)
            continue;
        for (size_t j = 0; j < sizeof greeting / sizeof *greeting; j++)
            is_greeting = is_greeting || strcasecmp(entry->args[0], greeting[j]) == 0;
        count += !is_greeting;
    }
    return count;
}

void fake_script_release(fake_script_t *script)
{
    free(script->rules);
    free(script->entries);
    *script = (fake_script_t){0};
}
