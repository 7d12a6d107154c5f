/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_TESTS_SCENE_H
#define SHOAL_TESTS_SCENE_H

/* A scripted server, a client of it, and what was heard of the connection.  Set up and
 * torn down around each test, also when the test fails. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/fake/fake_server.h"
#include "support/outcome.h"
#include "support/waiting.h"
#include <shoal/shoal.h>

/* Events heard so far. */
typedef struct scene_events {
    unsigned connected, ready;
    unsigned lost;            /* lost connections, and attempts that failed */
    unsigned attempts_failed; /* how many of `lost` were never ready */
    unsigned lost_auth, lost_desync, lost_timeout, lost_conn; /* `lost` by its status */
    unsigned changed, silent; /* another primary; no sentinel answers */
    unsigned credentials;     /* outcomes of questions to a provider, and of AUTH */
    int credentials_status;   /* of the last of them ... */
    char credentials_detail[256];
    unsigned notices; /* of maintenance, and of the map of a cluster */
    unsigned nodes_up, nodes_down, failovers, redirects_refused, zones_unknown;
    char heir[256];     /* the server of the last failover */
    char redirect[256]; /* the detail of the last redirect that was refused */
    char detail[256];   /* the reason of the last loss */
    char renewed[256];  /* why the last connection that was renewed was; "": none */
} scene_events_t;

typedef struct scene {
    fake_server_t *server;
    shoal_options_t *options; /* the test may change them before scene_open() */
    shoal_client_t *client;   /* NULL: not open; a test that closes it sets NULL */
    scene_events_t events;
    struct scene_memory *memory; /* freed when the client is gone */
} scene_t;

/* For cmocka_unit_test_setup_teardown(): a modern server on TCP, and options with
 * short pauses between connections and timeouts no test reaches.  Teardown also
 * requires that the server met no broken request. */
int scene_setup(void **state);
int scene_teardown(void **state);

/* Replace the server by another one. */
void scene_serve(scene_t *scene, const fake_config_t *config);
/* Open the client; ends the test on failure. */
void scene_open(scene_t *scene);
/* Open the client and wait until it is ready. */
void scene_open_ready(scene_t *scene);
/* The same without a bulk lane: large commands, too, take the connection that the test
 * counts on. */
void scene_open_one(scene_t *scene);
/* Close the client and wait until it is gone. */
void scene_close(scene_t *scene, uint64_t drain_us);

/* Zeroed memory that outlives the client, so that a failing test leaves no callback
 * with a dead pointer. */
void *scene_alloc(scene_t *scene, size_t bytes);
outcome_t *scene_outcomes(scene_t *scene, size_t count);

scene_events_t scene_events(scene_t *scene);
shoal_stats_t scene_stats(const scene_t *scene);
/* The same, once nothing is outstanding.  A caller has its answer before the turn that
 * answered publishes its figures; this function waits for them. */
shoal_stats_t scene_idle_stats(const scene_t *scene);

/* Build a command of at most 8 NUL-terminated words; a NULL ends them.  It stays valid
 * until the same thread has built 32 more. */
shoal_command_t scene_words(const char *first, ...);

/* Submit one command of words; call may be NULL.  Returns the ticket. */
uint64_t scene_submit(scene_t *scene, shoal_command_t command, const shoal_call_t *call,
                      outcome_t *outcome);
/* Submit and wait for the outcome. */
outcome_t scene_call(scene_t *scene, shoal_command_t command, const shoal_call_t *call);
/* Submit `count` commands by one call, and wait for the outcomes. */
void scene_call_many(scene_t *scene, const shoal_command_t *commands, size_t count,
                     const shoal_call_t *call, outcome_t *outcomes);

void scene_await(const outcome_t *outcome);
/* Wait for the outcome, and fail the test unless it came once, with this status and
 * fate. */
void scene_check(const outcome_t *outcome, int status, shoal_fate_t fate);
/* The same with a reply: a string or status of this text. */
void scene_check_text(const outcome_t *outcome, const char *text);
/* The same with a reply: an error that begins with this text. */
void scene_check_error(const outcome_t *outcome, const char *beginning);
/* Fail the test unless the connection works: an echo comes back unchanged. */
void scene_check_works(scene_t *scene);
/* Is the reply to a command that is sent now settled? */
bool scene_is_settled(scene_t *scene);

#define SCENE_TEST(function)                                                           \
    cmocka_unit_test_setup_teardown(function, scene_setup, scene_teardown)

#endif
