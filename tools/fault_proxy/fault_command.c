/* SPDX-License-Identifier: MIT */
#include "fault_proxy/fault_command.h"

#include "fault_proxy/fault_spec.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WRONG_WAY "expected to-server or to-client"
#define WRONG_END "expected fin, reset or half"
#define WRONG_NUMBER "expected a whole number"
#define WRONG_BYTES "expected bytes between double quotes"

/* The next word of a line, or "". */
static char *next_word(char **line)
{
    char *word = *line + strspn(*line, " \t\r\n");
    char *end = word + strcspn(word, " \t\r\n");

    *line = *end == '\0' ? end : end + 1;
    *end = '\0';
    return word;
}

static bool read_way(char **line, fault_way_t *ret_way)
{
    const char *word = next_word(line);

    *ret_way = strcmp(word, "to-client") == 0 ? FAULT_TO_CLIENT : FAULT_TO_SERVER;
    return *ret_way == FAULT_TO_CLIENT || strcmp(word, "to-server") == 0;
}

static bool read_end(char **line, fault_end_t *ret_how)
{
    static const char *const names[] = {"fin", "reset", "half"};
    const char *word = next_word(line);

    for (int i = 0; i < 3; i++) {
        *ret_how = (fault_end_t)i;
        if (strcmp(word, names[i]) == 0)
            return true;
    }
    return false;
}

static bool read_number(char **line, uint64_t *ret_number)
{
    const char *word = next_word(line);
    char *end;

    *ret_number = strtoull(word, &end, 10);
    return *word >= '0' && *word <= '9' && *end == '\0';
}

/* One byte of a quoted text, and how many characters it stands in; 0: none. */
static size_t read_byte(const char *text, char *ret_byte)
{
    static const char names[] = "rnt0\"\\", bytes[] = "\r\n\t\0\"\\";

    *ret_byte = *text;
    if (*text == '\0' || *text == '"')
        return 0;
    if (*text != '\\')
        return 1;
    if (text[1] == 'x') {
        char digits[3] = "";
        strncat(digits, text + 2, 2);
        *ret_byte = (char)strtoul(digits, NULL, 16);
        return strspn(digits, "0123456789abcdefABCDEF") == 2 ? 4 : 0;
    }
    const char *name = text[1] == '\0' ? NULL : strchr(names, text[1]);
    if (!name)
        return 0;
    *ret_byte = bytes[name - names];
    return 2;
}

/* Unquotes in place.  Returns how many bytes that are, or -1. */
static ptrdiff_t read_quoted(char *text, char **ret_bytes)
{
    size_t used;

    text += strspn(text, " \t");
    if (*text++ != '"')
        return -1;
    char *to = *ret_bytes = text;
    for (char byte; (used = read_byte(text, &byte)) > 0; text += used)
        *to++ = byte;
    return *text == '"' ? to - *ret_bytes : -1;
}

static const char *run_carry(fault_proxy_t *proxy, char *line)
{
    fault_way_t way;
    fault_carriage_t carriage;

    if (!read_way(&line, &way))
        return WRONG_WAY;
    const char *problem = fault_spec_parse(next_word(&line), &carriage);
    if (!problem)
        fault_proxy_carry(proxy, way, &carriage);
    return problem;
}

static const char *run_cut(fault_proxy_t *proxy, char *line)
{
    fault_way_t way;
    fault_end_t how;

    if (!read_way(&line, &way))
        return WRONG_WAY;
    if (!read_end(&line, &how))
        return WRONG_END;
    fault_proxy_cut(proxy, way, how);
    return NULL;
}

static const char *run_cut_after(fault_proxy_t *proxy, char *line)
{
    uint64_t connection, bytes;
    fault_way_t way;
    fault_end_t how;

    if (!read_number(&line, &connection) || connection > UINT32_MAX)
        return WRONG_NUMBER;
    if (!read_way(&line, &way))
        return WRONG_WAY;
    if (!read_number(&line, &bytes))
        return WRONG_NUMBER;
    if (!read_end(&line, &how))
        return WRONG_END;
    fault_proxy_cut_after(proxy, (unsigned)connection, way, bytes, how);
    return NULL;
}

static const char *run_inject(fault_proxy_t *proxy, char *line)
{
    fault_way_t way;
    char *data;

    if (!read_way(&line, &way))
        return WRONG_WAY;
    ptrdiff_t bytes = read_quoted(line, &data);
    if (bytes < 0)
        return WRONG_BYTES;
    fault_proxy_inject(proxy, way, data, (size_t)bytes);
    return NULL;
}

static const char *run_turn_away(fault_proxy_t *proxy, char *line)
{
    const char *word = next_word(&line);
    bool is_on = strcmp(word, "on") == 0;

    if (!is_on && strcmp(word, "off") != 0)
        return "expected on or off";
    fault_proxy_turn_away(proxy, is_on);
    return NULL;
}

static void write_counts(fault_proxy_t *proxy, char *answer)
{
    fault_proxy_counts_t counts = fault_proxy_counts(proxy);

    snprintf(answer, FAULT_ANSWER_BYTES,
             "accepted=%u open_now=%u to_server=%" PRIu64 " to_client=%" PRIu64
             " harmed=%" PRIu64,
             counts.accepted, counts.open_now, counts.bytes[FAULT_TO_SERVER],
             counts.bytes[FAULT_TO_CLIENT], counts.harmed);
}

void fault_command_run(fault_proxy_t *proxy, char *line,
                       char ret_answer[FAULT_ANSWER_BYTES])
{
    static const struct {
        const char *name;
        const char *(*run)(fault_proxy_t *proxy, char *line);
    } commands[] = {
        {"carry", run_carry},         {"cut", run_cut},
        {"cut-after", run_cut_after}, {"inject", run_inject},
        {"turn-away", run_turn_away},
    };
    const char *problem = "no such command";
    const char *name = next_word(&line);

    if (strcmp(name, "counts") == 0) {
        write_counts(proxy, ret_answer);
        return;
    }
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (strcmp(name, commands[i].name) == 0)
            problem = commands[i].run(proxy, line);
    snprintf(ret_answer, FAULT_ANSWER_BYTES, "%s%s", problem ? "error: " : "ok",
             problem ? problem : "");
}
