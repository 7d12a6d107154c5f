/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_TESTS_ADDRESSES_SCENE_H
#define SHOAL_TESTS_ADDRESSES_SCENE_H

/* Several servers that the test plays, whose addresses a client has. */

#include "support/lease_scene.h"

#include <shoal/connection.h>
#include <stdio.h>
#include <string.h>

#define OTHERS_MAX 3

/* The scene's server is the first address; these are the others. */
static fake_server_t *others[OTHERS_MAX];
static unsigned others_count;

static inline fake_server_t *add_server(scene_t *scene, const fake_config_t *config)
{
    fake_server_t *server = fake_server_start(config);
    const char *path = fake_server_path(server);

    others[others_count++] = server;
    assert_int_equal(path ? shoal_options_add_unix_path(scene->options, path)
                          : shoal_options_add_address(scene->options, "127.0.0.1",
                                                      fake_server_port(server)),
                     0);
    return server;
}

static inline int tear_down(void **state)
{
    int rc = scene_teardown(state);

    while (others_count > 0)
        fake_server_stop(others[--others_count]);
    return rc;
}

static inline const char *name_of(const fake_server_t *server)
{
    static char name[32];

    snprintf(name, sizeof name, "127.0.0.1:%d", fake_server_port(server));
    return name;
}

static inline const char *server_of(scene_t *scene)
{
    static shoal_connection_info_t info;

    info.size = sizeof info;
    assert_int_equal(shoal_connection_get(scene->client, 1, &info), 0);
    return info.server;
}

/* A command of the client comes here. */
static inline void check_leads_to(scene_t *scene, fake_server_t *server)
{
    const char *path = fake_server_path(server);
    size_t before = fake_server_executed(server, 0, "INCR", NULL);

    outcome_t outcome = scene_call(scene, WORDS("INCR", "k"), NULL);
    scene_check(&outcome, 0, SHOAL_FATE_REPLIED);
    assert_int_equal(fake_server_executed(server, 0, "INCR", NULL), before + 1);
    assert_string_equal(server_of(scene), path ? path : name_of(server));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scene_setup, tear_down)

#endif
