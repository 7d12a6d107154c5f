/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/sentinel/sentinel_rule.h"
#include <stdio.h>
#include <string.h>

/* A voice in one word: '-' unknown, '.' silent, '?' asked, '~' being reached, or a letter
 * for the address, and a digit for the epoch; a capital letter was said in the round
 * before. */
static void speak(shoal__sentinel_rule_t *rule, const char *words)
{
    size_t at = 0;

    memset(rule->voices, 0, sizeof rule->voices);
    for (; *words; words += *words ? 1 : 0) {
        shoal__sentinel_voice_t *voice = &rule->voices[at++];
        if (*words == ' ') {
            at--;
            continue;
        }
        voice->is_known = *words != '-';
        voice->is_asked = *words == '?';
        voice->is_reaching = *words == '~';
        bool is_former = *words >= 'A' && *words <= 'Z';
        if (!is_former && (*words < 'a' || *words > 'z'))
            continue;
        voice->has_view = !is_former;
        voice->had_view = true;
        snprintf(voice->view.address.host, sizeof voice->view.address.host, "%c",
                 *words | 0x20);
        voice->view.address.port = 6379;
        voice->view.epoch = (uint64_t)(*++words - '0');
    }
}

/* The address that is chosen at a time; "": none. */
static const char *choose_at(shoal__sentinel_rule_t *rule, const char *words,
                             bool works, uint64_t now_us)
{
    speak(rule, words);
    return shoal__sentinel_rule_choose(rule, works, now_us) ? rule->chosen.address.host
                                                            : "";
}

static const char *choose(shoal__sentinel_rule_t *rule, const char *words)
{
    return choose_at(rule, words, false, 1);
}

/* ---- a round ---- */

static shoal__sentinel_round_t look_after(const shoal__sentinel_rule_t *rule,
                                          bool is_urgent, uint64_t us)
{
    return shoal__sentinel_rule_look(rule, is_urgent, 1000, 1000 + us);
}

static void test_enough_answers(void **state)
{
    static const struct {
        const char *words;
        shoal__sentinel_round_t urgent, late;
    } cases[] = {
        {"a1 a1 a1", SHOAL__SENTINEL_DECIDE, SHOAL__SENTINEL_DECIDE},
        {"a1 a1 ?", SHOAL__SENTINEL_DECIDE, SHOAL__SENTINEL_DECIDE},
        {"a1 ? ?", SHOAL__SENTINEL_WAIT, SHOAL__SENTINEL_DECIDE},
        {"a1 . .", SHOAL__SENTINEL_DECIDE, SHOAL__SENTINEL_DECIDE},
        {"a1 ~ .", SHOAL__SENTINEL_WAIT, SHOAL__SENTINEL_DECIDE},
        {"a1 ? - -", SHOAL__SENTINEL_WAIT, SHOAL__SENTINEL_DECIDE},
        {"a1 - - -", SHOAL__SENTINEL_DECIDE, SHOAL__SENTINEL_DECIDE},
        {"? ? ?", SHOAL__SENTINEL_WAIT, SHOAL__SENTINEL_DECIDE},
        {"? ~ .", SHOAL__SENTINEL_WAIT, SHOAL__SENTINEL_WAIT},
        {"~ ~ ~", SHOAL__SENTINEL_WAIT, SHOAL__SENTINEL_WAIT},
        {". . .", SHOAL__SENTINEL_DECIDE, SHOAL__SENTINEL_DECIDE},
        {"", SHOAL__SENTINEL_DECIDE, SHOAL__SENTINEL_DECIDE},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        shoal__sentinel_rule_t rule = {0};
        speak(&rule, cases[i].words);
        if (look_after(&rule, true, SHOAL__SENTINEL_ROUND_US - 1) != cases[i].urgent ||
            look_after(&rule, true, SHOAL__SENTINEL_ROUND_US) != cases[i].late ||
            look_after(&rule, false, SHOAL__SENTINEL_ROUND_US) != cases[i].late)
            fail_msg("'%s'", cases[i].words);
    }
}

/* A round that nobody waits for hears all sentinels: the last one may know more. */
static void test_nobody_waits(void **state)
{
    shoal__sentinel_rule_t rule = {0};

    (void)state;
    speak(&rule, "a1 a1 ?");
    assert_int_equal(look_after(&rule, false, 1), SHOAL__SENTINEL_WAIT);
    speak(&rule, "a1 a1 a1");
    assert_int_equal(look_after(&rule, false, 1), SHOAL__SENTINEL_DECIDE);
}

/* Most of them name another primary, of no newer epoch.  One that knew what was proved has not
 * answered yet; so they are not believed, and its answer is worth the wait. */
static void test_a_witness_is_awaited(void **state)
{
    shoal__sentinel_rule_t rule = {0};

    (void)state;
    choose(&rule, "a0 a0 a0");
    shoal__sentinel_rule_proved(&rule, &rule.chosen);
    speak(&rule, "b0 b0 A0");
    rule.voices[2].is_asked = true;
    assert_int_equal(look_after(&rule, true, 1), SHOAL__SENTINEL_WAIT);
    assert_string_equal(choose(&rule, "b0 b0 A0"), "");
    speak(&rule, "b0 b0 b0");
    assert_int_equal(look_after(&rule, true, 1), SHOAL__SENTINEL_DECIDE);
    assert_string_equal(choose(&rule, "b0 b0 b0"), "b");
}

static void test_a_round_forgets_the_last_one(void **state)
{
    shoal__sentinel_rule_t rule = {0};

    (void)state;
    speak(&rule, "a1 ? ~ .");
    shoal__sentinel_rule_begin(&rule);
    for (size_t i = 0; i < 4; i++) {
        assert_true(rule.voices[i].is_known);
        assert_false(rule.voices[i].has_view);
    }
    assert_true(rule.voices[1].is_asked); /* its answer is due, and will count */
    assert_true(rule.voices[2].is_reaching);
}

/* Most sentinels hear of a failover from the one that has news of it. */
static void test_news_are_awaited(void **state)
{
    shoal__sentinel_rule_t rule = {0};

    (void)state;
    speak(&rule, "? a5 a5");
    rule.voices[0].has_news = true; /* in the middle of a round: the next one waits */
    assert_int_equal(look_after(&rule, true, 1), SHOAL__SENTINEL_DECIDE);
    shoal__sentinel_rule_begin(&rule);
    rule.voices[1].has_view = rule.voices[2].has_view = true;
    assert_int_equal(look_after(&rule, true, 1), SHOAL__SENTINEL_WAIT);
    assert_int_equal(look_after(&rule, true, SHOAL__SENTINEL_ROUND_US),
                     SHOAL__SENTINEL_DECIDE);
    rule.voices[0].is_asked = false;
    assert_int_equal(look_after(&rule, true, 1), SHOAL__SENTINEL_DECIDE);
    shoal__sentinel_rule_begin(&rule);
    rule.voices[0].is_asked = rule.voices[1].has_view = rule.voices[2].has_view = true;
    assert_int_equal(look_after(&rule, true, 1), SHOAL__SENTINEL_DECIDE);
}

/* ---- choosing ---- */

static void test_choices(void **state)
{
    static const struct {
        const char *words;
        const char *chosen;
        const char *proved; /* words of an earlier round, whose choice was proved */
    } cases[] = {
        {"a1", "a", NULL},
        {"a1 b2 a1", "b", NULL}, /* the highest epoch */
        {"a1 b1 b1", "b", NULL}, /* most of them */
        {"a1 b1 . .", "a", NULL},
        {". . .", "", NULL},
        {". - a0", "a", NULL},
        {"a1 a1 b2", "b", "a1 a1 a1"}, /* a failover */
        {"b2 . .", "b", "a1 a1 a1"},   /* one is enough for news ... */
        {"a2 b2 a1", "b", "a1 a1 a1"}, /* the first one leads the failover */
        {"b2 a2 a2", "b", "a1 a1 a1"},
        {"a2 a2 b2", "a", "a2 a2 a2"},
        {"a2 a1 a1", "a", "a1 a1 a1"},
        {"a1 . .", "", "b2 b2 b2"}, /* ... not for what is old */
        {"a1 . -", "", "b2 b2 b2"},
        {"a1 a1 b2", "b", "b2 b2 b2"},
        {"a1 a1 .", "a", "b2 b2 b2"}, /* most of them began anew */
        {"a0 a0 c0", "a", "b2 b2 b2"},
        {"a1 a1 B2", "", "b2 b2 b2"}, /* two have not heard of it yet */
        {"a1 a1 A1", "a", "b2 b2 b2"},
        {"a0 c0 d0", "", "b2 b2 b2"},
        {"b2 . .", "b", "b2 b2 b2"},
        {"c2 . .", "", "b2 b2 b2"}, /* the first one leads the failover */
        {"c2 a1 .", "", "b2 b2 b2"},
        {"c2 b2 .", "b", "b2 b2 b2"},
        {"c2 c2 .", "c", "b2 b2 b2"},
        {"c2 c2 B2", "", "b2 b2 b2"},
        {"c2 c2 C2", "c", "b2 b2 b2"}, /* it said so, but later */
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        shoal__sentinel_rule_t rule = {0};
        if (cases[i].proved) {
            choose(&rule, cases[i].proved);
            shoal__sentinel_rule_proved(&rule, &rule.chosen);
        }
        const char *chosen = choose(&rule, cases[i].words);
        if (strcmp(chosen, cases[i].chosen) != 0)
            fail_msg("'%s' after '%s': '%s'", cases[i].words,
                     cases[i].proved ? cases[i].proved : "", chosen);
    }
}

/* What was tried in vain stands back. */
static void test_a_liar(void **state)
{
    static const char words[] = "x9 b2 b2 a1";
    shoal__sentinel_rule_t rule = {0};

    (void)state;
    for (int round = 0; round < 2; round++) {
        assert_string_equal(choose(&rule, words), "x");
        shoal__sentinel_rule_failed(&rule, &rule.chosen);
        shoal__sentinel_rule_failed(&rule, &rule.chosen); /* says nothing new */
        assert_string_equal(choose(&rule, words), "b");
        shoal__sentinel_rule_failed(&rule, &rule.chosen);
        assert_string_equal(choose(&rule, words), "a");
        shoal__sentinel_rule_failed(
            &rule, &rule.chosen); /* all of them: from the best one again */
    }
    assert_string_equal(choose(&rule, words), "x");
    shoal__sentinel_rule_failed(&rule, &rule.chosen);
    assert_string_equal(choose(&rule, words), "b");
    shoal__sentinel_rule_proved(&rule, &rule.chosen);
    /* The epoch of the lie counts for nothing. */
    assert_string_equal(choose(&rule, ". b2 b2 a1"), "b");
    assert_string_equal(choose(&rule, ". . . a1"), "");
}

/* Most sentinels have not heard of the failover yet, and answer first in the next round. */
static void test_a_choice_stays(void **state)
{
    shoal__sentinel_rule_t rule = {0};

    (void)state;
    assert_string_equal(choose(&rule, "a5 a5 a5"), "a");
    shoal__sentinel_rule_proved(&rule, &rule.chosen);
    assert_string_equal(choose(&rule, "b6 a5 a5"), "b");
    assert_string_equal(choose(&rule, ". a5 a5"), "b");
    assert_int_equal(rule.chosen.epoch, 6);
    assert_string_equal(choose(&rule, ". . ."), "");
    assert_string_equal(choose(&rule, "c7 a5 a5"), "c"); /* but for a newer one */
    shoal__sentinel_rule_failed(&rule, &(shoal__sentinel_view_t){.epoch = 6});
    assert_string_equal(choose(&rule, ". a5 a5"), "c");
    shoal__sentinel_rule_failed(&rule, &rule.chosen);
    assert_string_equal(choose(&rule, ". a5 a5"), "a");
    assert_string_equal(choose(&rule, "b6 a5 a5"), "b");
    shoal__sentinel_rule_proved(&rule, &rule.chosen);
    assert_string_equal(choose(&rule, "b6 a5 a5"), "b");
    assert_string_equal(choose(&rule, "a5 a5 a5"), "a"); /* all began anew */
}

/* Nothing is to be tried where the client is: what comes next is not measured by it. */
static void test_the_same_address_of_a_new_epoch(void **state)
{
    shoal__sentinel_rule_t rule = {0};

    (void)state;
    assert_string_equal(choose(&rule, "a5 a5 a5"), "a");
    shoal__sentinel_rule_proved(&rule, &rule.chosen);
    assert_string_equal(choose(&rule, "a6 a5 a5"), "a");
    assert_string_equal(choose(&rule, "c0 c0 c0"), "c");
}

static void test_nothing_was_chosen(void **state)
{
    shoal__sentinel_rule_t rule = {0};

    (void)state;
    shoal__sentinel_rule_failed(&rule, &rule.chosen);
    assert_int_equal(rule.tried_count, 0);
    assert_string_equal(choose(&rule, ". ."), "");
}

/* More addresses than can be remembered. */
static void test_many_failures(void **state)
{
    shoal__sentinel_rule_t rule = {0};
    char words[] = "a1";

    (void)state;
    for (char letter = 'a'; letter <= 'z'; letter++) {
        words[0] = letter;
        assert_string_not_equal(choose(&rule, words), "");
        shoal__sentinel_rule_failed(&rule, &rule.chosen);
    }
    assert_int_equal(rule.tried_count, SHOAL__SENTINEL_TRIED_MAX);
}

/* ---- older views, and nothing else ---- */

#define OLD SHOAL__SENTINEL_OLD_US

static void test_older_views_in_the_end(void **state)
{
    static const struct look {
        const char *words;
        bool works;
        uint64_t at_us;
        const char *chosen;
    } courses[][5] = {
        /* the two others have gone for good, and an operator began anew with this one */
        {{"a0 . .", false, 1, ""},
         {"a0 . .", false, OLD, ""},
         {"a0 . .", false, OLD + 1, "a"}},
        /* while the primary works, an older view is never better */
        {{"a0 . .", true, 1, ""},
         {"a0 . .", true, 9 * OLD, ""},
         {"a0 . .", false, 9 * OLD + 1, ""},
         {"a0 . .", false, 10 * OLD + 1, "a"}},
        /* silence says nothing */
        {{"a0 . .", false, 1, ""},
         {". . .", false, OLD, ""},
         {". . .", false, OLD + 1, ""},
         {"a0 . .", false, OLD + 2, "a"}},
        /* a newer one ends the wait */
        {{"a0 . .", false, 1, ""},
         {"a0 c3 .", false, OLD, "c"},
         {"a0 . .", false, OLD + 1, ""},
         {"a0 . .", false, 2 * OLD, ""}},
    };

    (void)state;
    for (size_t i = 0; i < sizeof courses / sizeof *courses; i++) {
        shoal__sentinel_rule_t rule = {0};
        choose(&rule, "b2 b2 b2");
        shoal__sentinel_rule_proved(&rule, &rule.chosen);
        for (const struct look *look = courses[i]; look < courses[i] + 5; look++)
            if (look->words &&
                strcmp(choose_at(&rule, look->words, look->works, look->at_us),
                       look->chosen) != 0)
                fail_msg("course %zu, '%s' at %llu", i, look->words,
                         (unsigned long long)look->at_us);
    }
}

/* It is as if the client began then. */
static void test_the_older_view_is_proved(void **state)
{
    shoal__sentinel_rule_t rule = {0};

    (void)state;
    choose(&rule, "b2 b2 b2");
    shoal__sentinel_rule_proved(&rule, &rule.chosen);
    assert_string_equal(choose_at(&rule, "a0 . .", false, 1), "");
    assert_string_equal(choose_at(&rule, "a0 . .", false, OLD + 1), "a");
    shoal__sentinel_rule_proved(&rule, &rule.chosen);
    assert_string_equal(choose_at(&rule, "a0 . .", true, OLD + 2), "a");
    assert_string_equal(choose_at(&rule, "d1 . .", true, OLD + 3), "d");
}

/* ---- the sentinels themselves ---- */

static void test_who_is_gone(void **state)
{
    static const struct {
        shoal__sentinel_voice_t voice, other;
        bool is_gone;
    } cases[] = {
        {{.is_known = true, .failures = 5}, {.is_known = true, .is_ready = true}, true},
        {{.is_known = true, .failures = 4},
         {.is_known = true, .is_ready = true},
         false},
        {{.is_known = true, .failures = 9}, {.is_known = true}, false}, /* all are */
        {{.is_known = true, .failures = 9}, {.is_ready = true}, false}, /* it was one */
        {{.is_known = true, .is_seed = true, .failures = 9},
         {.is_known = true, .is_ready = true},
         false},
        {{.failures = 9}, {.is_known = true, .is_ready = true}, false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        shoal__sentinel_rule_t rule = {.voices = {cases[i].voice, cases[i].other}};
        if (shoal__sentinel_rule_is_gone(&rule, 0) != cases[i].is_gone)
            fail_msg("case %zu", i);
        assert_false(shoal__sentinel_rule_is_gone(&rule, 1));
    }
}

static void test_who_is_waited_for(void **state)
{
    static const struct {
        bool is_reaching;
        unsigned failures;
        bool has_other; /* which is ready */
        bool is_calm;
    } cases[] = {
        {false, 0, false, true}, {false, 9, true, true}, {true, 0, true, false},
        {true, 1, true, false},  {true, 2, true, true},  {true, 2, false, false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        shoal__sentinel_rule_t rule = {
            .voices = {{.is_known = true, .is_ready = cases[i].has_other},
                       {.is_known = true,
                        .is_reaching = cases[i].is_reaching,
                        .failures = cases[i].failures}}};
        if (shoal__sentinel_rule_is_calm(&rule) != cases[i].is_calm)
            fail_msg("case %zu", i);
        assert_int_equal(shoal__sentinel_rule_has_ready(&rule), cases[i].has_other);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_enough_answers),
        cmocka_unit_test(test_nobody_waits),
        cmocka_unit_test(test_a_witness_is_awaited),
        cmocka_unit_test(test_a_round_forgets_the_last_one),
        cmocka_unit_test(test_news_are_awaited),
        cmocka_unit_test(test_choices),
        cmocka_unit_test(test_a_liar),
        cmocka_unit_test(test_a_choice_stays),
        cmocka_unit_test(test_the_same_address_of_a_new_epoch),
        cmocka_unit_test(test_nothing_was_chosen),
        cmocka_unit_test(test_many_failures),
        cmocka_unit_test(test_older_views_in_the_end),
        cmocka_unit_test(test_the_older_view_is_proved),
        cmocka_unit_test(test_who_is_gone),
        cmocka_unit_test(test_who_is_waited_for),
    };
    return cmocka_run_group_tests_name("core/sentinel/sentinel_rule", tests, NULL,
                                       NULL);
}
