/* SPDX-License-Identifier: MIT */
#include "core/overdue.h"

#include "base/time_us.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define LATE_US_MIN 100000 /* a loop thread that is later than this is worth a word */

/* A line that grows; what does not fit is left out. */
typedef struct line {
    char *text;
    size_t bytes;
} line_t;

__attribute__((format(printf, 2, 3))) static void say(line_t *line, const char *format,
                                                      ...)
{
    size_t room = SHOAL__OVERDUE_BYTES - line->bytes;
    va_list arguments;

    va_start(arguments, format);
    int bytes = vsnprintf(line->text + line->bytes, room, format, arguments);
    va_end(arguments);
    if (bytes > 0)
        line->bytes += (size_t)bytes < room ? (size_t)bytes : room - 1;
}

/* Say a time in the unit that fits it: "730 us", "250 ms", "5.0 s". */
static void say_time(line_t *line, uint64_t us)
{
    if (us < 1000)
        say(line, "%" PRIu64 " us", us);
    else if (us < 1000000)
        say(line, "%" PRIu64 " ms", us / 1000);
    else
        say(line, "%" PRIu64 ".%" PRIu64 " s", us / 1000000, us / 100000 % 10);
}

/* What say_time() can tell apart. */
static uint64_t rounded(uint64_t us)
{
    if (us == SHOAL__NEVER_US || us < 1000)
        return us;
    return us < 1000000 ? us / 1000 * 1000 : us / 100000 * 100000;
}

static bool is_late(const shoal__overdue_t *facts)
{
    return facts->late_us >= LATE_US_MIN;
}

bool shoal__overdue_is_like(const shoal__overdue_t *one, const shoal__overdue_t *other)
{
    return one->stage == other->stage && one->is_partly_sent == other->is_partly_sent &&
           one->was_sent == other->was_sent &&
           rounded(one->waited_us) == rounded(other->waited_us) &&
           is_late(one) == is_late(other) &&
           (!is_late(one) || rounded(one->late_us) == rounded(other->late_us)) &&
           rounded(one->since_us) == rounded(other->since_us) &&
           rounded(one->silent_us) == rounded(other->silent_us) &&
           one->count == other->count && one->slot == other->slot &&
           one->server == other->server && one->words == other->words;
}

static const char *plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

/* "connect 127.0.0.1:6379: Connection refused" names the server once more. */
static const char *without_server(const char *words, const char *server)
{
    const char *at = *server ? strstr(words, server) : NULL;
    size_t bytes = strlen(server);

    return at && strncmp(at + bytes, ": ", 2) == 0 ? at + bytes + 2 : words;
}

static void say_offline(line_t *line, const shoal__overdue_t *facts)
{
    say(line, "no connection to %.120s for ", facts->server);
    say_time(line, facts->since_us);
    if (*facts->words)
        say(line, ": %.200s", without_server(facts->words, facts->server));
    else if (facts->stage == SHOAL__OVERDUE_GREETING)
        say(line, ": it accepted the connection and has not answered the greeting");
    else
        say(line, ": the first attempt is under way");
    if (facts->count > 0)
        say(line, " (%" PRIu64 " attempt%s)", facts->count, plural(facts->count));
}

static void say_no_owner(line_t *line, const shoal__overdue_t *facts)
{
    if (facts->slot == SHOAL__OVERDUE_ANY_SLOT)
        say(line, "no owner of any slot is known");
    else
        say(line, "no owner of slot %u is known", facts->slot);
    if (*facts->server)
        say(line, "; %.120s %.80s", facts->server, facts->words);
}

static void say_silence(line_t *line, const shoal__overdue_t *facts)
{
    if (facts->silent_us == SHOAL__NEVER_US)
        return;
    say(line, "; the server's last bytes came ");
    say_time(line, facts->silent_us);
    say(line, " ago");
}

static void say_sent(line_t *line, const shoal__overdue_t *facts)
{
    say(line, "sent to %.120s ", facts->server);
    say_time(line, facts->since_us);
    if (facts->stage == SHOAL__OVERDUE_REPLYING) {
        say(line, " ago; a part of the reply came, the rest did not");
        return;
    }
    say(line, " ago and not answered");
    say_silence(line, facts);
    if (facts->count > 1)
        say(line, "; %" PRIu64 " commands are unanswered", facts->count);
}

static void say_cause(line_t *line, const shoal__overdue_t *facts)
{
    switch (facts->stage) {
    case SHOAL__OVERDUE_NOT_TAKEN:
        say(line, "the loop thread was busy and did not take the command over within ");
        say_time(line, facts->waited_us);
        return;
    case SHOAL__OVERDUE_OFFLINE:
    case SHOAL__OVERDUE_GREETING:
        say_offline(line, facts);
        return;
    case SHOAL__OVERDUE_HANDED_OVER:
        say(line,
            "not written within the deadline: its slot goes to another node, and "
            "%.120s owes "
            "%" PRIu64 " repl%s",
            facts->server, facts->count, facts->count == 1 ? "y" : "ies");
        say_silence(line, facts);
        return;
    case SHOAL__OVERDUE_NO_OWNER:
        say_no_owner(line, facts);
        return;
    case SHOAL__OVERDUE_TURNED_AWAY:
        say(line, "%.120s refuses commands for now, %" PRIu64 " time%s in ",
            facts->server, facts->count, plural(facts->count));
        say_time(line, facts->since_us);
        say(line, ": %.200s", facts->words);
        return;
    case SHOAL__OVERDUE_WINDOW:
        say(line,
            "not written within the deadline: %" PRIu64
            " commands before it are unanswered, as many as may be",
            facts->count);
        say_silence(line, facts);
        return;
    case SHOAL__OVERDUE_UNREAD:
        say(line, "not written within the deadline: %.120s does not read what is sent",
            facts->server);
        say_silence(line, facts);
        return;
    case SHOAL__OVERDUE_QUEUED:
        say(line, "not written within ");
        say_time(line, facts->waited_us);
        return;
    case SHOAL__OVERDUE_SENT:
    case SHOAL__OVERDUE_REPLYING:
        say_sent(line, facts);
        return;
    }
}

static void say_fate(line_t *line, const shoal__overdue_t *facts)
{
    if (facts->stage == SHOAL__OVERDUE_SENT || facts->stage == SHOAL__OVERDUE_REPLYING)
        return;
    if (facts->was_sent)
        say(line, "; it was sent before, over a connection that was lost");
    else if (facts->is_partly_sent)
        say(line, "; a part of the command was sent");
    else if (facts->stage == SHOAL__OVERDUE_TURNED_AWAY)
        say(line, "; the command was never executed");
    else
        say(line, "; the command was never sent");
}

void shoal__overdue_write(const shoal__overdue_t *facts,
                          char text[SHOAL__OVERDUE_BYTES])
{
    line_t line = {0};

    line.text = text;
    say_cause(&line, facts);
    say_fate(&line, facts);
    if (is_late(facts) && facts->stage != SHOAL__OVERDUE_NOT_TAKEN) {
        say(&line, "; the loop thread was busy until ");
        say_time(&line, facts->late_us);
        say(&line, " after the deadline");
    }
}
