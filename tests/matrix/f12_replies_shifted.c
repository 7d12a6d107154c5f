/* SPDX-License-Identifier: MIT */
/* F12: at every position of a batch a reply is left out, repeated, added, or exchanged with
 * its neighbour, all of the right form.  Without fences wrong values cannot be told from
 * right ones: then nothing may hang or crash.  With strict integrity not one wrong value
 * is delivered; with detection the connection ends, and that is counted. */
#include "matrix/child.h"
#include "matrix/matrix.h"

#include <stdio.h>
#include <string.h>

#include <shoal/integrity.h>

#define BATCH 8
#define TIMEOUT_US 150000
#define LATE_US_MAX 1000000 /* ten processes at once; F5 measures deadlines */

typedef enum trick { DROPPED, REPEATED, ADDED, SWAPPED, TRICKS } trick_t;

static const char *const trick_names[] = {"dropped", "repeated", "added", "swapped"};

typedef struct scene {
    const matrix_mode_t *mode;
    trick_t trick;
    shoal_integrity_t integrity;
} scene_t;

typedef struct play {
    matrix_t *m;
    fake_server_t *server;
    char keys[BATCH][16], replies[BATCH][48];
    uint64_t timeout_us; /* of a batch's commands */
    unsigned tricks;
    size_t rule; /* of the last trick */
} play_t;

/* A command of the batch answers with its own key; a unit with that in an array. */
static bool is_own(const shoal_reply_t *value, void *data)
{
    size_t bytes = 0;
    const char *text = shoal_reply_string(value, &bytes);
    return text && bytes == strlen(data) && memcmp(text, data, bytes) == 0;
}

/* In a unit it is the EXEC that is played tricks on, in the order of submission. */
static fake_rule_t rule_of(play_t *play, unsigned position)
{
    bool is_unit = play->m->mode->is_unit;
    return (fake_rule_t){.command = is_unit ? "EXEC" : "ECHO",
                         .argument = is_unit ? NULL : play->keys[position],
                         .skip = is_unit ? position : 0,
                         .times = 1};
}

static void set_trick(play_t *play, trick_t trick, unsigned position)
{
    const char *extra =
        play->m->mode->is_unit ? "*1\r\n$5\r\nextra\r\n" : "$5\r\nextra\r\n";
    unsigned neighbour = (position + 1) % BATCH;
    fake_rule_t rule = rule_of(play, position), other = rule_of(play, neighbour);

    fake_server_forget_rules(play->server);
    rule.is_swallowed = trick == DROPPED;
    rule.before = trick == ADDED ? extra : NULL;
    rule.after = trick == REPEATED ? play->replies[position] : NULL;
    rule.reply = trick == SWAPPED ? play->replies[neighbour] : NULL;
    other.reply = play->replies[position];
    rule.is_executed = other.is_executed = trick == SWAPPED;
    play->rule = fake_server_rule(play->server, &rule);
    if (trick == SWAPPED) {
        if (play->m->mode->is_unit && neighbour > position)
            other.skip--; /* the first rule keeps one match to itself */
        fake_server_rule(play->server, &other);
    }
}

/* Other keys for each batch: a reply of a former one is wrong as well. */
static void name_batch(play_t *play)
{
    const char *head = play->m->mode->is_unit ? "*1\r\n" : "";

    for (unsigned i = 0; i < BATCH; i++) {
        snprintf(play->keys[i], sizeof play->keys[i], "key-%05u-%u",
                 play->tricks % 100000, i % 10);
        snprintf(play->replies[i], sizeof play->replies[i], "%s$%zu\r\n%s\r\n", head,
                 strlen(play->keys[i]), play->keys[i]);
    }
    play->tricks++;
}

static void submit_batch(play_t *play, const char *argv[BATCH][2])
{
    for (unsigned i = 0; i < BATCH; i++) {
        argv[i][0] = "ECHO";
        argv[i][1] = play->keys[i];
        (void)matrix_submit(play->m, &(matrix_spec_t){.kind = MATRIX_OTHER,
                                                      .flags = SHOAL_CALL_ONCE,
                                                      .timeout_us = play->timeout_us,
                                                      .command = {2, argv[i], NULL},
                                                      .is_right = is_own,
                                                      .data = play->keys[i]});
    }
    matrix_wait(play->m);
}

/* End what the fault led to: all begin anew, on new connections. */
static void begin_anew(play_t *play)
{
    matrix_t *m = play->m;
    unsigned ready = m->events.ready;

    fake_server_forget_rules(play->server);
    fake_server_cut(play->server, FAKE_CUT_RESET);
    MATRIX_WAIT_FOR(m, m->events.ready > ready);
}

/* If the deadline passed before the server had the command, it is doubled. */
static void play_batch(play_t *play, trick_t trick, unsigned position)
{
    const char *argv[BATCH][2];

    for (;; play->timeout_us *= 2) {
        name_batch(play);
        set_trick(play, trick, position);
        submit_batch(play, argv);
        if (fake_server_hits(play->server, play->rule) == 1)
            return;
        begin_anew(play);
    }
}

static void play_trick(play_t *play, trick_t trick, unsigned position)
{
    matrix_t *m = play->m;

    play_batch(play, trick, position);
    if (m->wrong > 0 && !m->may_be_wrong)
        fail_msg("%s at %u: a wrong value", trick_names[trick], position);
    matrix_forget(m);
    begin_anew(play);
}

static void begin(play_t *play, const scene_t *scene)
{
    *play = (play_t){.m = matrix_begin(scene->mode), .timeout_us = TIMEOUT_US};
    play->server = matrix_fake(play->m, NULL);
    play->m->callers = BATCH;
    play->m->late_us_max = LATE_US_MAX;
    play->m->may_be_wrong = scene->integrity != SHOAL_INTEGRITY_STRICT;
    matrix_to_fake(play->m, play->server);
    matrix_set_timeout(play->m, TIMEOUT_US);
#if MATRIX_HAS_INTEGRITY
    assert_int_equal(shoal_options_set_integrity(play->m->options, scene->integrity),
                     0);
#endif
    matrix_open_ready(play->m);
}

/* One trick at every position. */
static void play_positions(void *data)
{
    const scene_t *scene = data;
    play_t play;

    begin(&play, scene);
    for (unsigned position = 0; position < BATCH; position++)
        play_trick(&play, scene->trick, position);
    /* A reply that is left out may only be missed. */
    if (scene->trick != DROPPED && scene->integrity == SHOAL_INTEGRITY_STRICT)
        assert_true(play.m->events.lost_desync > 0);
    matrix_expect_works(play.m);
    matrix_check_fake(play.m, play.server);
    matrix_end(play.m);
}

#if MATRIX_HAS_INTEGRITY
/* A shift by one is noticed, though late. */
static void play_detection(void *data)
{
    const scene_t *scene = data;
    play_t play;

    begin(&play, scene);
    play_batch(&play, scene->trick, BATCH / 2);
    fake_server_forget_rules(play.server);
    for (uint64_t since_us = waiting_now_us(); play.m->events.lost_desync == 0;) {
        (void)matrix_call(play.m, NULL);
        assert_true(waiting_now_us() - since_us < WAITING_US_MAX);
    }
    assert_true(matrix_stats(play.m).desyncs >= 1);
    matrix_expect_works(play.m);
    matrix_end(play.m);
}
#endif

/* Each in a process of its own: most of their time is waiting. */
static void f12(const matrix_mode_t *mode)
{
    pid_t children[3 * TRICKS];
    size_t count = 0;

    for (trick_t trick = DROPPED; trick < TRICKS; trick++) {
        children[count++] = matrix_child_start(
            play_positions, &(scene_t){mode, trick, SHOAL_INTEGRITY_SHAPES});
#if MATRIX_HAS_INTEGRITY
        /* Two replies of one batch that change places leave its fence where it was: no
         * fence can tell. */
        if (trick == SWAPPED)
            continue;
        children[count++] = matrix_child_start(
            play_positions, &(scene_t){mode, trick, SHOAL_INTEGRITY_STRICT});
        children[count++] = matrix_child_start(
            play_detection, &(scene_t){mode, trick, SHOAL_INTEGRITY_DETECT});
#endif
    }
    while (count > 0)
        matrix_child_end(children[--count]);
}

MATRIX_ROW(12){
    MATRIX_CELLS_EVERYWHERE(f12),
    MATRIX_ROW_END,
};
