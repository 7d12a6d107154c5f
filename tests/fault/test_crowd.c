/* SPDX-License-Identifier: MIT */

/* A client of several connections: a lone caller meets the loss of all of them in one
 * turn. */

#include "client/client.h"
#include "client/life.h"
#include "many/crowd.h"
#include "support/lone_caller.h"

#include <pthread.h>

#define CONNECTIONS 3
#define ROUNDS_MAX 50
/* A connection begins with two events; each loss adds four. */
#define EVENTS_OF_ONE(rounds) (2 + 4 * (rounds))
#define EVENTS_OF_ONE_MAX EVENTS_OF_ONE(ROUNDS_MAX)

typedef struct diary {
    pthread_mutex_t lock;
    pthread_t caller;
    unsigned count, on_caller, strange;
    unsigned counts[CONNECTIONS];
    shoal_event_kind_t kinds[CONNECTIONS][EVENTS_OF_ONE_MAX];
} diary_t;

static void note(shoal_client_t *client, const shoal_event_t *event, void *data)
{
    diary_t *diary = data;
    uint64_t connection = shoal_event_connection(event);
    (void)client;

    pthread_mutex_lock(&diary->lock);
    diary->count++;
    diary->on_caller += pthread_equal(diary->caller, pthread_self()) != 0;
    if (connection < 1 || connection > CONNECTIONS ||
        diary->counts[connection - 1] == EVENTS_OF_ONE_MAX)
        diary->strange++;
    else
        diary->kinds[connection - 1][diary->counts[connection - 1]++] =
            shoal_event_kind(event);
    pthread_mutex_unlock(&diary->lock);
}

static unsigned noted(diary_t *diary)
{
    pthread_mutex_lock(&diary->lock);
    unsigned count = diary->count;
    pthread_mutex_unlock(&diary->lock);
    return count;
}

static const shoal__route_ops_t *crowd_ops;

/* The crowd answers from its account, which is behind while results are delivered: nobody
 * would ever be alone. */
static void view_up_to_date(const shoal__route_t *route, shoal__route_view_t *ret_view)
{
    crowd_ops->publish((shoal__route_t *)route);
    crowd_ops->view(route, ret_view);
}

static int new_crowd(const shoal_options_t *options, uint64_t seed,
                     const shoal__route_hooks_t *hooks, void *owner,
                     shoal__route_t **ret_route)
{
    static shoal__route_ops_t ops;
    int rc = crowd_new(options, seed, hooks, owner, ret_route);

    if (rc < 0)
        return rc;
    crowd_ops = (*ret_route)->ops;
    ops = *crowd_ops;
    ops.view = view_up_to_date;
    (*ret_route)->ops = &ops;
    return 0;
}

static void open_crowd(scene_t *scene, diary_t *diary)
{
    const shoal__client_plan_t plan = {.drive = SHOAL__DRIVE_THREAD,
                                       .new_route = new_crowd};

    pthread_mutex_init(&diary->lock, NULL);
    diary->caller = pthread_self();
    assert_int_equal(shoal_options_set_on_event(scene->options, note, diary), 0);
    crowd_expect(CONNECTIONS);
    assert_int_equal(shoal__client_open(&plan, scene->options, &scene->client), 0);
    WAIT_FOR(noted(diary) == 2 * CONNECTIONS);
}

/* All connections end while nobody looks, and a lone call finds out.  If the background
 * thread looks just then, it may write to one that has ended: so the command is one that is
 * sent again. */
static void lose_all(scene_t *scene)
{
    lone_caller_become_direct(scene);
    fake_server_cut(scene->server, FAKE_CUT_FIN);
    WAIT_FOR(fake_server_is_done(scene->server));
    lone_caller_echo(scene, "found");
}

static void test_a_lone_caller_meets_many_losses(void **state)
{
    static const shoal_event_kind_t want[] = {SHOAL_EVENT_CONNECTED, SHOAL_EVENT_READY,
                                              SHOAL_EVENT_LOST, SHOAL_EVENT_RETRYING};
    scene_t *scene = *state;
    diary_t *diary = scene_alloc(scene, sizeof *diary);
    unsigned rounds = 0;
    bool is_met = false;

    open_crowd(scene, diary);
    while (!is_met) {
        assert_true(rounds++ < ROUNDS_MAX);
        lose_all(scene);
        WAIT_FOR(noted(diary) >= CONNECTIONS * EVENTS_OF_ONE(rounds));
        /* Now and then the background thread looks first. */
        is_met = scene->client->events.held_room >= 2 * CONNECTIONS;
    }
    scene_close(scene, 0);
    pthread_mutex_destroy(&diary->lock);
    assert_int_equal(diary->on_caller, 0);
    assert_int_equal(diary->strange, 0);
    for (unsigned i = 0; i < CONNECTIONS; i++) {
        assert_int_equal(diary->counts[i], EVENTS_OF_ONE(rounds));
        for (unsigned j = 0; j < EVENTS_OF_ONE(rounds); j++)
            assert_int_equal(diary->kinds[i][j], want[j % 4]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(test_a_lone_caller_meets_many_losses),
    };
    return cmocka_run_group_tests_name("fault/crowd", tests, NULL, NULL);
}
