/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_TESTS_SENTINEL_SCENE_H
#define SHOAL_TESTS_SENTINEL_SCENE_H

/* Sentinels that the test plays, and a client that asks them. */

#include "support/scene.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORDS(...) scene_words(__VA_ARGS__, NULL)
#define NAME "mymaster"
#define SENTINELS_MAX 4
#define SERVERS_MAX 2
#define TEXT_BYTES 600

#define REPLICA "*5\r\n$5\r\nslave\r\n$1\r\nh\r\n:1\r\n$9\r\nconnected\r\n:0\r\n"
#define SUBSCRIBED ">3\r\n$9\r\nsubscribe\r\n$14\r\n+switch-master\r\n:1\r\n"

/* Texts of rules outlive the servers. */
typedef struct texts {
    char primary[TEXT_BYTES], peers[TEXT_BYTES], id[64];
} texts_t;

static fake_server_t *sentinels[SENTINELS_MAX], *others[SERVERS_MAX];
static texts_t texts[64];
static size_t texts_count;

static inline int tear_down(void **state)
{
    int rc = scene_teardown(state);

    for (size_t i = 0; i < SENTINELS_MAX; i++) {
        fake_server_stop(sentinels[i]);
        sentinels[i] = NULL;
    }
    for (size_t i = 0; i < SERVERS_MAX; i++) {
        fake_server_stop(others[i]);
        others[i] = NULL;
    }
    texts_count = 0;
    return rc;
}

/* ---- sentinels ---- */

typedef struct view {
    const char *host; /* NULL: 127.0.0.1 */
    int port;         /* of the primary; 0: it does not know it */
    unsigned epoch;
    int peer_port;          /* of another sentinel, that this one names; 0: none */
    const char *subscribed; /* NULL: the usual answer to SUBSCRIBE */
    uint64_t delay_us;      /* before it names the primary */
} view_t;

static inline texts_t *write_texts(size_t sentinel, const view_t *view)
{
    texts_t *to = &texts[texts_count++];
    const char *host = view->host ? view->host : "127.0.0.1";
    char port[12], epoch[12];

    assert_true(texts_count < sizeof texts / sizeof *texts);
    snprintf(port, sizeof port, "%d", view->port);
    snprintf(epoch, sizeof epoch, "%u", view->epoch);
    if (view->port)
        snprintf(to->primary, sizeof to->primary,
                 "*6\r\n$2\r\nip\r\n$%zu\r\n%s\r\n$4\r\nport\r\n$%zu\r\n%s\r\n"
                 "$12\r\nconfig-epoch\r\n$%zu\r\n%s\r\n",
                 strlen(host), host, strlen(port), port, strlen(epoch), epoch);
    else
        snprintf(to->primary, sizeof to->primary,
                 "-ERR No such master with that name\r\n");
    snprintf(port, sizeof port, "%d", view->peer_port);
    if (view->peer_port)
        snprintf(
            to->peers, sizeof to->peers,
            "*1\r\n*4\r\n$2\r\nip\r\n$9\r\n127.0.0.1\r\n$4\r\nport\r\n$%zu\r\n%s\r\n",
            strlen(port), port);
    else
        snprintf(to->peers, sizeof to->peers, "*0\r\n");
    snprintf(to->id, sizeof to->id, "$2\r\ns%zu\r\n", sentinel);
    return to;
}

/* From now on the sentinel says this. */
static inline void say(size_t sentinel, view_t view)
{
    fake_server_t *server = sentinels[sentinel];
    const texts_t *to = write_texts(sentinel, &view);

    fake_server_prepare_rules(server);
    fake_server_rule(server, &(fake_rule_t){.command = "SENTINEL",
                                            .argument = "MASTER",
                                            .reply = to->primary,
                                            .delay_us = view.delay_us});
    fake_server_rule(server, &(fake_rule_t){.command = "SENTINEL",
                                            .argument = "SENTINELS",
                                            .reply = to->peers});
    fake_server_rule(
        server,
        &(fake_rule_t){.command = "SENTINEL", .argument = "MYID", .reply = to->id});
    fake_server_rule(server, &(fake_rule_t){.command = "SUBSCRIBE",
                                            .reply = view.subscribed ? view.subscribed
                                                                     : SUBSCRIBED});
    fake_server_forget_rules(server);
}

static inline void start_sentinel(size_t sentinel, const fake_config_t *config,
                                  view_t view)
{
    sentinels[sentinel] = fake_server_start(config);
    say(sentinel, view);
}

static inline int sentinel_port(size_t sentinel)
{
    return fake_server_port(sentinels[sentinel]);
}

/* The client knows this one. */
static inline void know(scene_t *scene, size_t sentinel)
{
    assert_int_equal(shoal_options_set_sentinel(scene->options, NAME), 0);
    assert_int_equal(shoal_options_add_sentinel(scene->options, "127.0.0.1",
                                                sentinel_port(sentinel)),
                     0);
}

static inline int primary_port(const scene_t *scene)
{
    return fake_server_port(scene->server);
}

static inline int other_port(size_t other)
{
    if (!others[other])
        others[other] = fake_server_start(NULL);
    return fake_server_port(others[other]);
}

/* The sentinel publishes that the primary of this name was exchanged. */
static inline void publish(size_t sentinel, const char *name)
{
    char text[200];

    snprintf(text, sizeof text,
             ">3\r\n$7\r\nmessage\r\n$14\r\n+switch-master\r\n$%zu\r\n%s 1.2.3.4 1 "
             "1.2.3.4 2\r\n",
             strlen(name) + 20, name);
    fake_server_send(sentinels[sentinel], text);
}

static inline void check_taken_by(scene_t *scene, fake_server_t *server,
                                  const char *key)
{
    outcome_t outcome = scene_call(scene, WORDS("INCR", key), NULL);

    scene_check(&outcome, 0, SHOAL_FATE_REPLIED);
    assert_int_equal(fake_server_number(server, 0, key), 1);
}

/* Commands go to this server as soon as the client has noticed. */
static inline void await_taken_by(scene_t *scene, fake_server_t *server,
                                  const char *key)
{
    WAIT_FOR((scene_call(scene, WORDS("INCR", key), NULL),
              fake_server_number(server, 0, key) > 0));
}

static inline void open_at_the_primary(scene_t *scene, const fake_config_t *config,
                                       const char *subscribed)
{
    start_sentinel(
        0, config,
        (view_t){.port = primary_port(scene), .epoch = 1, .subscribed = subscribed});
    know(scene, 0);
    scene_open_ready(scene);
    check_taken_by(scene, scene->server, "first");
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, scene_setup, tear_down)

#endif
