/* SPDX-License-Identifier: MIT */
/* Connections with TLS: who is talked to, what is said if it is the wrong one, and how they
 * end. */
#include "support/scene.h"
#include "support/tls/certificate_folder.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define TLS_1_1 0x0302
#define TLS_1_2 0x0303
#define TLS_1_3 0x0304

static fake_tls_config_t shown; /* by the server; outlives it */

static const fake_tls_config_t *show(const char *name)
{
    char file[64];

    snprintf(file, sizeof file, "%s.crt", name);
    shown = (fake_tls_config_t){.certificate_file = certificate_path(file)};
    snprintf(file, sizeof file, "%s.key", name);
    shown.key_file = certificate_path(file);
    return &shown;
}

static void use_tls(scene_t *scene)
{
    assert_int_equal(shoal_options_set_tls(scene->options, true), 0);
    assert_int_equal(
        shoal_options_set_tls_ca_file(scene->options, certificate_path("ca.crt")), 0);
}

static void serve(scene_t *scene, const char *name)
{
    scene_serve(scene, &(fake_config_t){.tls = show(name)});
    use_tls(scene);
}

/* ---- it works ---- */

static void test_commands_of_all_sizes(void **state)
{
    scene_t *scene = *state;
    static char big[300000];

    serve(scene, "server");
    memset(big, 'x', sizeof big - 1);
    scene_open_one(scene);
    scene_check_works(scene);
    outcome_t outcome = scene_call(scene, scene_words("SET", "key", big, NULL), NULL);
    scene_check(&outcome, 0, SHOAL_FATE_REPLIED);
    outcome = scene_call(scene, scene_words("GET", "key", NULL), NULL);
    scene_check(&outcome, 0, SHOAL_FATE_REPLIED);
    assert_int_equal(outcome.bytes, sizeof big - 1);
    assert_int_equal(scene_stats(scene).tls_full, 1);
}

static void check_server(scene_t *scene, fake_config_t config)
{
    config.tls = &shown;
    scene_serve(scene, &config);
    use_tls(scene);
    scene_open_ready(scene);
    for (int i = 0; i < 3; i++)
        scene_check_works(scene);
    scene_close(scene, 1000000);
}

static void test_bytes_in_small_pieces(void **state)
{
    scene_t *scene = *state;

    show("server");
    shown.version = TLS_1_3;
    check_server(scene, (fake_config_t){.chunk_bytes = 11});
    shown.version = TLS_1_2;
    check_server(scene, (fake_config_t){.chunk_bytes = 11});
}

static void test_a_unix_socket(void **state)
{
    show("server"); /* it is for "localhost", too */
    check_server(*state, (fake_config_t){.is_unix = true});
}

/* The socket takes little at once, so that ciphertext waits. */
static void test_a_full_socket(void **state)
{
    scene_t *scene = *state;
    enum { COMMANDS = 64 };
    static char big[60000];
    outcome_t *outcomes = scene_outcomes(scene, COMMANDS);
    shoal_command_t commands[COMMANDS];

    scene_serve(scene, &(fake_config_t){.tls = show("server"), .buffer_bytes = 4096});
    use_tls(scene);
    memset(big, 'y', sizeof big - 1);
    for (size_t i = 0; i < COMMANDS; i++)
        commands[i] = scene_words("ECHO", big, NULL);
    scene_open_one(scene);
    scene_call_many(scene, commands, COMMANDS / 2, NULL, outcomes);
    for (size_t i = 0; i < COMMANDS / 2; i++) {
        scene_check(&outcomes[i], 0, SHOAL_FATE_REPLIED);
        assert_int_equal(outcomes[i].bytes, sizeof big - 1);
    }
}

/* ---- sessions and keys ---- */

static void test_a_session_is_resumed(void **state)
{
    scene_t *scene = *state;

    serve(scene, "server");
    scene_open_one(scene);
    scene_check_works(scene);
    for (unsigned i = 1; i <= 3; i++) {
        fake_server_cut(scene->server, FAKE_CUT_RESET);
        WAIT_FOR(scene_events(scene).ready == i + 1);
        scene_check_works(scene);
        assert_int_equal(scene_stats(scene).tls_full, 1);
        assert_int_equal(scene_stats(scene).tls_resumed, i);
        assert_int_equal(fake_server_resumed(scene->server), 1);
    }
}

static void test_new_keys(void **state)
{
    static const int versions[] = {TLS_1_3, TLS_1_2};
    scene_t *scene = *state;

    for (size_t i = 0; i < 2; i++) {
        show("server");
        shown.version = versions[i];
        scene_serve(scene, &(fake_config_t){.tls = &shown});
        use_tls(scene);
        scene_open_one(scene);
        scene_check_works(scene);
        fake_server_rekey(scene->server);
        scene_check_works(scene);
        if (versions[i] == TLS_1_3) {
            assert_int_equal(scene_events(scene).lost, 0);
        } else {
            WAIT_FOR(scene_events(scene).lost == 1);
            assert_string_equal(
                scene_events(scene).detail,
                "the server negotiated TLS anew, which the client refuses");
        }
        scene_close(scene, 1000000);
    }
}

/* ---- who is it? ---- */

/* The attempt fails with ETLS and this text, commands that wait fail with it, and the server
 * was told nothing. */
static void check_refusal(scene_t *scene, const char *text)
{
    assert_int_equal(shoal_options_set_auth(scene->options, "ann", "hunter2"), 0);
    scene_open(scene);
    outcome_t outcome =
        scene_call(scene, scene_words("SET", "secret", "1", NULL), NULL);
    scene_check(&outcome, SHOAL_ETLS, SHOAL_FATE_NOT_EXECUTED);
    if (!strstr(outcome.detail, text))
        fail_msg("'%s' is not in '%s'", text, outcome.detail);
    assert_int_equal(scene_events(scene).connected, 0);
    assert_int_equal(fake_server_ledger_size(scene->server), 0);
    assert_int_equal(fake_server_broken(scene->server), 0);
    scene_close(scene, 0);
}

static void test_servers_that_are_refused(void **state)
{
    static const struct {
        const char *certificate;
        int version;
        const char *text;
    } cases[] = {
        {"other_name", 0,
         "the certificate is for other.example, 192.0.2.1, not for "
         "127.0.0.1"},
        {"common_name", 0, "the certificate is for localhost, not for 127.0.0.1"},
        {"expired", 0, "expired on 20"},
        {"not_yet", 0, "is not valid before 20"},
        {"foreign", 0, "is from an unknown authority ("},
        {"self_signed", 0, "the certificate is self-signed: trust it with tls_ca_file"},
        {"server", TLS_1_1, "client and server have no version of TLS in common"},
    };
    scene_t *scene = *state;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        show(cases[i].certificate);
        shown.version = cases[i].version;
        scene_serve(scene, &(fake_config_t){.tls = &shown});
        use_tls(scene);
        check_refusal(scene, cases[i].text);
    }
}

static void test_a_wrong_server_comes_right(void **state)
{
    scene_t *scene = *state;
    fake_tls_config_t good = *show("server");

    serve(scene, "expired");
    scene_open(scene);
    WAIT_FOR(scene_events(scene).attempts_failed >= 1);
    fake_server_set_tls(scene->server, &good);
    outcome_t outcome = scene_call(scene, scene_words("PING", NULL), NULL);
    if (outcome.status == SHOAL_ETLS) /* it was there before the attempt failed */
        outcome = scene_call(scene, scene_words("PING", NULL), NULL);
    scene_check(&outcome, 0, SHOAL_FATE_REPLIED);
}

static void test_certificates_of_clients(void **state)
{
    scene_t *scene = *state;

    show("server");
    shown.client_ca_file = certificate_path("ca.crt");
    shown.version = TLS_1_2; /* 1.3 tells behind the handshake: see the engine's test */
    scene_serve(scene, &(fake_config_t){.tls = &shown});
    use_tls(scene);
    check_refusal(scene, "wants a certificate of the client");
    assert_int_equal(shoal_options_set_tls_certificate(scene->options,
                                                       certificate_path("client.crt"),
                                                       certificate_path("client.key")),
                     0);
    assert_int_equal(shoal_options_set_auth(scene->options, NULL, NULL), 0);
    scene_open_ready(scene);
    scene_check_works(scene);
}

/* ---- one side speaks no TLS ---- */

/* What a client sends to a server that says nothing, or something else. */
static void talk_to_a_plain_port(scene_t *scene, const char *answer, int status,
                                 const char *text)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof at;
    char heard[4096] = "";
    int port = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(bind(port, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(port, 5), 0);
    getsockname(port, (struct sockaddr *)&at, &bytes);
    shoal_options_set_address(scene->options, "127.0.0.1", ntohs(at.sin_port));
    shoal_options_set_auth(scene->options, "ann", "hunter2");
    shoal_options_set_connect_timeout_us(
        scene->options, answer ? WAITING_US_MAX : 300000, WAITING_US_MAX);
    use_tls(scene);
    unsigned failed = scene_events(scene).attempts_failed;
    scene_open(scene);
    int fd = accept(port, NULL, NULL);
    assert_true(fd >= 0);
    ssize_t got = read(fd, heard, sizeof heard);
    assert_true(got > 0);
    if (answer)
        assert_int_equal(write(fd, answer, strlen(answer)), strlen(answer));
    WAIT_FOR(scene_events(scene).attempts_failed > failed);
    if (!strstr(scene_events(scene).detail, text))
        fail_msg("'%s' is not in '%s'", text, scene_events(scene).detail);
    assert_true(status == SHOAL_ETIMEOUT ? scene_events(scene).lost_timeout > 0 : true);
    for (ssize_t more; (more = read(fd, heard + got, sizeof heard - (size_t)got)) > 0;)
        got += more;
    assert_null(memmem(heard, (size_t)got, "hunter2", 7));
    assert_null(memmem(heard, (size_t)got, "HELLO", 5));
    close(fd);
    close(port);
    scene_close(scene, 0);
}

static void test_a_server_without_tls(void **state)
{
    talk_to_a_plain_port(*state, "-ERR unknown command\r\n", SHOAL_ETLS,
                         "the server speaks no TLS on this port");
    talk_to_a_plain_port(*state, NULL, SHOAL_ETIMEOUT,
                         "the TLS handshake was not answered in time");
}

/* What a client in the clear hears from a server with TLS. */
static void test_a_server_with_tls(void **state)
{
    static const struct {
        const char *answer, *text;
    } cases[] = {
        {"\x15\x03\x03\x01\x02\x02\x46", "the server speaks TLS: use rediss://"},
        {"", "the server closed the connection, and had not answered anything: does it "
             "want TLS (rediss://)?"},
    };
    scene_t *scene = *state;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sockaddr_in at = {.sin_family = AF_INET,
                                 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        socklen_t bytes = sizeof at;
        char heard[4096];
        int port = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

        assert_int_equal(bind(port, (struct sockaddr *)&at, sizeof at), 0);
        assert_int_equal(listen(port, 5), 0);
        getsockname(port, (struct sockaddr *)&at, &bytes);
        shoal_options_set_address(scene->options, "127.0.0.1", ntohs(at.sin_port));
        unsigned failed = scene_events(scene).attempts_failed;
        scene_open(scene);
        int fd = accept(port, NULL, NULL);
        assert_true(read(fd, heard, sizeof heard) > 0);
        assert_int_equal(write(fd, cases[i].answer, strlen(cases[i].answer)),
                         strlen(cases[i].answer));
        shutdown(fd, SHUT_WR);
        WAIT_FOR(scene_events(scene).attempts_failed > failed);
        assert_string_equal(scene_events(scene).detail, cases[i].text);
        close(fd);
        close(port);
        scene_close(scene, 0);
    }
}

/* ---- the end ---- */

static void test_a_close_says_so(void **state)
{
    scene_t *scene = *state;

    serve(scene, "server");
    scene_open_ready(scene);
    scene_check_works(scene);
    scene_close(scene, 1000000);
    WAIT_FOR(fake_server_open_now(scene->server) == 0);
    assert_int_equal(fake_server_broken(scene->server), 0);
}

static void check_loss(scene_t *scene, bool is_rude, const char *text)
{
    scene_serve(scene, &(fake_config_t){.tls = show("server"), .is_rude = is_rude});
    use_tls(scene);
    scene_open_one(scene);
    scene_check_works(scene);
    unsigned lost = scene_events(scene).lost;
    fake_server_cut(scene->server, FAKE_CUT_FIN);
    WAIT_FOR(scene_events(scene).lost > lost);
    assert_string_equal(scene_events(scene).detail, text);
    scene_check_works(scene);
    scene_close(scene, 1000000);
}

static void test_ends_with_and_without_a_word(void **state)
{
    check_loss(*state, false, "the server closed the connection");
    check_loss(*state, true, "the connection ended without TLS's close_notify");
}

/* ---- files ---- */

typedef struct told {
    _Atomic unsigned files, unverified;
    char detail[300];
} told_t;

static void on_event(shoal_client_t *client, const shoal_event_t *event, void *data)
{
    told_t *told = data;

    (void)client;
    if (shoal_event_kind(event) == SHOAL_EVENT_TLS_FILES) {
        assert_int_equal(shoal_event_status(event), SHOAL_ETLS);
        snprintf(told->detail, sizeof told->detail, "%s", shoal_event_detail(event));
        told->files++;
    }
    if (shoal_event_kind(event) == SHOAL_EVENT_TLS_UNVERIFIED)
        told->unverified++;
}

static void put(const char *path, const char *from)
{
    char bytes[20000], temporary[320];
    ssize_t got = (ssize_t)strlen(from);

    snprintf(temporary, sizeof temporary, "%s.new", path);
    memcpy(bytes, from, (size_t)got);
    if (strstr(from, ".crt")) {
        int in = open(certificate_path(from), O_RDONLY | O_CLOEXEC);
        got = read(in, bytes, sizeof bytes);
        close(in);
    }
    int out = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_int_equal(write(out, bytes, (size_t)got), got);
    close(out);
    assert_int_equal(rename(temporary, path), 0);
}

static void test_a_bad_file_keeps_the_last_good_one(void **state)
{
    scene_t *scene = *state;
    told_t *told = scene_alloc(scene, sizeof *told);
    shoal_error_t error = SHOAL_ERROR_INIT;
    char path[300];

    serve(scene, "server");
    snprintf(path, sizeof path, "%s/trusted.crt", certificate_folder());
    put(path, "ca.crt");
    assert_int_equal(shoal_options_set_tls_ca_file(scene->options, path), 0);
    shoal_options_set_on_event(scene->options, on_event, told);
    scene_open_one(scene);
    scene_check_works(scene);

    put(path, "rubbish");
    assert_int_equal(shoal_client_reload_tls(scene->client, &error), SHOAL_ETLS);
    assert_int_equal(error.code, SHOAL_ETLS);
    assert_non_null(strstr(error.text, path));
    put(path, "more rubbish");
    fake_server_cut(scene->server, FAKE_CUT_RESET);
    WAIT_FOR(told->files == 1);
    scene_check_works(scene);
    assert_non_null(strstr(told->detail, path));

    put(path, "ca.crt");
    assert_int_equal(shoal_client_reload_tls(scene->client, &error), 0);
    fake_server_cut(scene->server, FAKE_CUT_RESET);
    scene_check_works(scene);
    assert_int_equal(told->files, 1);
    assert_int_equal(told->unverified, 0);
}

static void test_reload_without_tls(void **state)
{
    scene_t *scene = *state;
    shoal_error_t error = SHOAL_ERROR_INIT;

    scene_open_ready(scene);
    assert_int_equal(shoal_client_reload_tls(scene->client, &error), SHOAL_EINVAL);
    assert_string_equal(error.text, "the client has no TLS");
    error.size = 0;
    assert_int_equal(shoal_client_reload_tls(scene->client, &error), SHOAL_EINVAL);
    shoal_client_retain(scene->client);
    shoal_client_t *client = scene->client;
    scene_close(scene, 0);
    assert_int_equal(shoal_client_reload_tls(client, NULL), SHOAL_ECLOSED);
    shoal_client_release(client);
}

static void test_insecure_is_told_each_time(void **state)
{
    scene_t *scene = *state;
    told_t *told = scene_alloc(scene, sizeof *told);

    serve(scene, "self_signed");
    assert_int_equal(shoal_options_set_tls_insecure(scene->options, true), 0);
    shoal_options_set_on_event(scene->options, on_event, told);
    scene_open_one(scene);
    scene_check_works(scene);
    assert_int_equal(told->unverified, 1);
    fake_server_cut(scene->server, FAKE_CUT_RESET);
    WAIT_FOR(told->unverified == 2);
    scene_check_works(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(test_commands_of_all_sizes),
        SCENE_TEST(test_bytes_in_small_pieces),
        SCENE_TEST(test_a_unix_socket),
        SCENE_TEST(test_a_full_socket),
        SCENE_TEST(test_a_session_is_resumed),
        SCENE_TEST(test_new_keys),
        SCENE_TEST(test_servers_that_are_refused),
        SCENE_TEST(test_a_wrong_server_comes_right),
        SCENE_TEST(test_certificates_of_clients),
        SCENE_TEST(test_a_server_without_tls),
        SCENE_TEST(test_a_server_with_tls),
        SCENE_TEST(test_a_close_says_so),
        SCENE_TEST(test_ends_with_and_without_a_word),
        SCENE_TEST(test_a_bad_file_keeps_the_last_good_one),
        SCENE_TEST(test_reload_without_tls),
        SCENE_TEST(test_insecure_is_told_each_time),
    };
    return cmocka_run_group_tests_name("tls", tests, NULL, NULL);
}
