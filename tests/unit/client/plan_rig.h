/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_CLIENT_PLAN_RIG_H
#define TESTS_UNIT_CLIENT_PLAN_RIG_H

/* Commands of submissions, from texts.  Included after <cmocka.h>. */

#include "client/plan.h"
#include <string.h>

#define LINE_COMMANDS_MAX 6
#define WORDS_MAX 8
#define NOW_US 1000
#define COUNT(array) (sizeof(array) / sizeof *(array))
#define TOGETHER SHOAL_CALL_CONTIGUOUS

typedef struct line {
    char text[128];
    const char *argv[LINE_COMMANDS_MAX][WORDS_MAX];
    shoal_command_t commands[LINE_COMMANDS_MAX];
    size_t count;
} line_t;

/* Fill the line from a text: single blanks separate words, " ; " separates commands. */
static inline void parse(line_t *line, const char *text)
{
    shoal_command_t *command = line->commands;

    *line = (line_t){.count = 1};
    assert_true(strlen(text) < sizeof line->text);
    memcpy(line->text, text, strlen(text) + 1);
    for (char *word = strtok(line->text, " "); word; word = strtok(NULL, " ")) {
        if (strcmp(word, ";") == 0) {
            assert_true(line->count < LINE_COMMANDS_MAX);
            command = &line->commands[line->count++];
            continue;
        }
        assert_true(command->argc < WORDS_MAX);
        command->argv = line->argv[line->count - 1];
        line->argv[line->count - 1][command->argc++] = word;
    }
}

static const shoal_options_t roomy = {
    .bytes_max = UINT64_MAX, .queued_max = SIZE_MAX, .timeout_us = 50};

#endif
