/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/time_us.h"
#include "core/overdue.h"
#include <string.h>

#define S "127.0.0.1:6379"
#define REFUSED "connect " S ": Connection refused"
#define MS 1000
#define SECOND 1000000

static const struct text_case {
    shoal__overdue_t facts;
    const char *text;
} text_cases[] = {
    {{.stage = SHOAL__OVERDUE_NOT_TAKEN, .waited_us = 200 * MS, .late_us = SECOND},
     "the loop thread was busy and did not take the command over within 200 ms; the "
     "command was never sent"},
    {{.stage = SHOAL__OVERDUE_OFFLINE,
      .since_us = 5 * SECOND,
      .count = 12,
      .words = REFUSED},
     "no connection to " S " for 5.0 s: Connection refused (12 attempts); the command "
     "was never sent"},
    {{.stage = SHOAL__OVERDUE_OFFLINE,
      .since_us = 90 * MS,
      .words = "the server closed the connection",
      .was_sent = true},
     "no connection to " S " for 90 ms: the server closed the connection; it was sent "
     "before, over a connection that was lost"},
    {{.stage = SHOAL__OVERDUE_OFFLINE, .since_us = 730},
     "no connection to " S
     " for 730 us: the first attempt is under way; the command was "
     "never sent"},
    {{.stage = SHOAL__OVERDUE_GREETING, .since_us = SECOND},
     "no connection to " S
     " for 1.0 s: it accepted the connection and has not answered "
     "the greeting; the command was never sent"},
    {{.stage = SHOAL__OVERDUE_GREETING,
      .since_us = SECOND,
      .count = 1,
      .words = "ECHO: NOPERM User ann has no permissions to run the 'echo' command"},
     "no connection to " S
     " for 1.0 s: ECHO: NOPERM User ann has no permissions to run "
     "the 'echo' command (1 attempt); the command was never sent"},
    {{.stage = SHOAL__OVERDUE_TURNED_AWAY,
      .since_us = 2 * SECOND + 345 * MS,
      .count = 3,
      .words = "LOADING Redis is loading the dataset in memory"},
     S " refuses commands for now, 3 times in 2.3 s: LOADING Redis is loading the "
       "dataset in memory; the command was never executed"},
    {{.stage = SHOAL__OVERDUE_HANDED_OVER, .count = 3, .silent_us = SECOND},
     "not written within the deadline: its slot goes to another node, and " S
     " owes 3 replies; the server's last bytes came 1.0 s ago; the command was never "
     "sent"},
    {{.stage = SHOAL__OVERDUE_HANDED_OVER, .count = 1, .silent_us = SECOND},
     "not written within the deadline: its slot goes to another node, and " S
     " owes 1 reply; the server's last bytes came 1.0 s ago; the command was never "
     "sent"},
    {{.stage = SHOAL__OVERDUE_NO_OWNER, .slot = 12182, .words = "was asked last"},
     "no owner of slot 12182 is known; " S
     " was asked last; the command was never sent"},
    {{.stage = SHOAL__OVERDUE_NO_OWNER, .slot = 12183, .words = "was asked last"},
     "no owner of slot 12183 is known; " S
     " was asked last; the command was never sent"},
    {{.stage = SHOAL__OVERDUE_NO_OWNER, .slot = SHOAL__OVERDUE_ANY_SLOT, .server = ""},
     "no owner of any slot is known; the command was never sent"},
    {{.stage = SHOAL__OVERDUE_WINDOW, .count = 16384, .silent_us = 4 * SECOND},
     "not written within the deadline: 16384 commands before it are unanswered, as "
     "many "
     "as may be; the server's last bytes came 4.0 s ago; the command was never sent"},
    {{.stage = SHOAL__OVERDUE_UNREAD, .silent_us = SHOAL__NEVER_US},
     "not written within the deadline: " S
     " does not read what is sent; the command was "
     "never sent"},
    {{.stage = SHOAL__OVERDUE_UNREAD, .silent_us = MS, .is_partly_sent = true},
     "not written within the deadline: " S " does not read what is sent; the server's "
     "last bytes came 1 ms ago; a part of the command was sent"},
    {{.stage = SHOAL__OVERDUE_QUEUED, .waited_us = 20 * MS},
     "not written within 20 ms; the command was never sent"},
    {{.stage = SHOAL__OVERDUE_SENT,
      .since_us = 4900 * MS,
      .silent_us = 4900 * MS,
      .count = 17},
     "sent to " S
     " 4.9 s ago and not answered; the server's last bytes came 4.9 s ago; "
     "17 commands are unanswered"},
    {{.stage = SHOAL__OVERDUE_SENT,
      .since_us = 20 * MS,
      .silent_us = 3,
      .count = 1,
      .late_us = 2800 * MS},
     "sent to " S " 20 ms ago and not answered; the server's last bytes came 3 us ago; "
     "the loop thread was busy until 2.8 s after the deadline"},
    {{.stage = SHOAL__OVERDUE_REPLYING, .since_us = SECOND},
     "sent to " S " 1.0 s ago; a part of the reply came, the rest did not"},
};

static shoal__overdue_t named(const shoal__overdue_t *facts)
{
    shoal__overdue_t all = *facts;

    if (!all.server)
        all.server = S;
    if (!all.words)
        all.words = "";
    return all;
}

static void test_texts(void **state)
{
    char text[SHOAL__OVERDUE_BYTES];

    (void)state;
    for (size_t i = 0; i < sizeof text_cases / sizeof *text_cases; i++) {
        shoal__overdue_t facts = named(&text_cases[i].facts);
        shoal__overdue_write(&facts, text);
        assert_string_equal(text, text_cases[i].text);
    }
}

/* Facts that are alike give one text, and those that are not give two. */
static void test_what_is_alike(void **state)
{
    const size_t count = sizeof text_cases / sizeof *text_cases;

    (void)state;
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < count; j++) {
            shoal__overdue_t one = named(&text_cases[i].facts);
            shoal__overdue_t other = named(&text_cases[j].facts);
            assert_int_equal(shoal__overdue_is_like(&one, &other), i == j);
        }
    }
}

/* Another failure since then: the text that was written is not the one. */
static void test_other_words_are_not_alike(void **state)
{
    shoal__overdue_t one = named(&text_cases[1].facts), other = one;

    (void)state;
    assert_true(shoal__overdue_is_like(&one, &other));
    other.words = "the server closed the connection";
    assert_false(shoal__overdue_is_like(&one, &other));
}

static const struct like_case {
    uint64_t one_us, other_us;
    bool is_like;
} like_cases[] = {
    {999, 998, false},           {20000, 20999, true},
    {20000, 21000, false},       {5000000, 5099999, true},
    {5000000, 5100000, false},   {999999, 1000000, false},
    {SHOAL__NEVER_US, 0, false}, {SHOAL__NEVER_US, SHOAL__NEVER_US, true},
};

static void test_times_are_alike_if_they_read_alike(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof like_cases / sizeof *like_cases; i++) {
        const struct like_case *c = &like_cases[i];
        shoal__overdue_t one = named(&(shoal__overdue_t){.silent_us = c->one_us});
        shoal__overdue_t other = named(&(shoal__overdue_t){.silent_us = c->other_us});
        assert_int_equal(shoal__overdue_is_like(&one, &other), c->is_like);
    }
}

/* Whatever the names and the words are. */
static void test_no_text_is_longer_than_its_room(void **state)
{
    static char name[1000], words[2000];
    struct {
        char text[SHOAL__OVERDUE_BYTES];
        char after;
    } line = {.after = 'x'};

    (void)state;
    memset(name, 'n', sizeof name - 1);
    memset(words, 'w', sizeof words - 1);
    for (int stage = 0; stage <= SHOAL__OVERDUE_REPLYING; stage++) {
        const shoal__overdue_t facts = {.stage = (shoal__overdue_stage_t)stage,
                                        .waited_us = UINT64_MAX,
                                        .late_us = UINT64_MAX,
                                        .since_us = UINT64_MAX,
                                        .silent_us = UINT64_MAX - 1,
                                        .count = UINT64_MAX,
                                        .server = name,
                                        .words = words};
        shoal__overdue_write(&facts, line.text);
        assert_true(strlen(line.text) < sizeof line.text);
        assert_int_equal(line.after, 'x');
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_what_is_alike),
        cmocka_unit_test(test_other_words_are_not_alike),
        cmocka_unit_test(test_times_are_alike_if_they_read_alike),
        cmocka_unit_test(test_no_text_is_longer_than_its_room),
    };
    return cmocka_run_group_tests_name("core/overdue", tests, NULL, NULL);
}
