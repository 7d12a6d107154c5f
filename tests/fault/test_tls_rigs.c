/* SPDX-License-Identifier: MIT */
/* The scripted server and the proxy speak TLS: what the tests of TLS rely on, seen by a
 * client that is OpenSSL's own. */
#include "fault_proxy/fault_proxy.h"
#include "support/fake/fake_server.h"
#include "support/tls/certificate_folder.h"
#include "support/waiting.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

typedef struct peer {
    SSL_CTX *context;
    SSL *ssl;
    int fd;
} peer_t;

static fake_tls_config_t good(void)
{
    return (fake_tls_config_t){.certificate_file = certificate_path("server.crt"),
                               .key_file = certificate_path("server.key")};
}

static int dial(int port, const char *path)
{
    struct sockaddr_in tcp = {.sin_family = AF_INET,
                              .sin_port = htons((uint16_t)port),
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_un local = {.sun_family = AF_UNIX};
    struct timeval patience = {30, 0};
    int fd = socket(path ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (path)
        strncpy(local.sun_path, path, sizeof local.sun_path - 1);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    assert_int_equal(path ? connect(fd, (struct sockaddr *)&local, sizeof local)
                          : connect(fd, (struct sockaddr *)&tcp, sizeof tcp),
                     0);
    return fd;
}

static peer_t prepare(void)
{
    peer_t peer = {.context = SSL_CTX_new(TLS_client_method()), .fd = -1};

    assert_non_null(peer.context);
    assert_int_equal(SSL_CTX_load_verify_file(peer.context, certificate_path("ca.crt")),
                     1);
    SSL_CTX_set_verify(peer.context, SSL_VERIFY_PEER, NULL);
    return peer;
}

/* Returns whether the handshake worked. */
static bool shake_hands(peer_t *peer, int fd, SSL_SESSION *session)
{
    peer->fd = fd;
    peer->ssl = SSL_new(peer->context);
    SSL_set_fd(peer->ssl, peer->fd);
    if (session)
        SSL_set_session(peer->ssl, session);
    ERR_clear_error();
    return SSL_connect(peer->ssl) == 1;
}

static bool connect_to(peer_t *peer, const fake_server_t *server, SSL_SESSION *session)
{
    return shake_hands(peer, dial(fake_server_port(server), fake_server_path(server)),
                       session);
}

static void hang_up(peer_t *peer)
{
    SSL_free(peer->ssl);
    if (peer->fd >= 0)
        close(peer->fd);
    peer->ssl = NULL;
    peer->fd = -1;
}

static void forget(peer_t *peer)
{
    hang_up(peer);
    SSL_CTX_free(peer->context);
}

static void check_ping(peer_t *peer)
{
    static const char ping[] = "*1\r\n$4\r\nPING\r\n";
    char answer[16] = "";
    size_t got = 0;

    assert_int_equal(SSL_write(peer->ssl, ping, sizeof ping - 1), sizeof ping - 1);
    while (got < 7) {
        int count = SSL_read(peer->ssl, answer + got, (int)(sizeof answer - 1 - got));
        assert_true(count > 0);
        got += (size_t)count;
    }
    assert_string_equal(answer, "+PONG\r\n");
}

/* A handshake and a command. */
static void check_talk(const fake_config_t *config)
{
    fake_server_t *server = fake_server_start(config);
    peer_t peer = prepare();

    assert_true(connect_to(&peer, server, NULL));
    check_ping(&peer);
    assert_int_equal(fake_server_executed(server, 1, "PING", NULL), 1);
    assert_int_equal(fake_server_resumed(server), 0);
    forget(&peer);
    WAIT_FOR(fake_server_open_now(server) == 0);
    fake_server_stop(server);
}

static void it_talks_over_tcp_and_unix_sockets_and_in_single_bytes(void **state)
{
    fake_tls_config_t tls = good();
    (void)state;

    check_talk(&(fake_config_t){.tls = &tls});
    check_talk(&(fake_config_t){.tls = &tls, .is_unix = true});
    check_talk(&(fake_config_t){.tls = &tls, .is_unix = true, .chunk_bytes = 1});
    tls.version = TLS1_2_VERSION;
    check_talk(&(fake_config_t){.tls = &tls});
}

static void it_wants_a_certificate_if_told_to(void **state)
{
    fake_tls_config_t tls = good();
    tls.client_ca_file = certificate_path("ca.crt");
    tls.version = TLS1_2_VERSION; /* there a refusal is part of the handshake */
    fake_server_t *server = fake_server_start(&(fake_config_t){.tls = &tls});
    peer_t peer = prepare();
    (void)state;

    assert_false(connect_to(&peer, server, NULL));
    hang_up(&peer);
    assert_int_equal(SSL_CTX_use_certificate_file(peer.context,
                                                  certificate_path("client.crt"),
                                                  SSL_FILETYPE_PEM),
                     1);
    assert_int_equal(SSL_CTX_use_PrivateKey_file(peer.context,
                                                 certificate_path("client.key"),
                                                 SSL_FILETYPE_PEM),
                     1);
    assert_true(connect_to(&peer, server, NULL));
    check_ping(&peer);
    forget(&peer);
    fake_server_stop(server);
}

static void check_resumption(bool is_forgetful)
{
    fake_tls_config_t tls = good();
    tls.is_forgetful = is_forgetful;
    fake_server_t *server = fake_server_start(&(fake_config_t){.tls = &tls});
    peer_t peer = prepare();

    assert_true(connect_to(&peer, server, NULL));
    check_ping(&peer); /* tickets of TLS 1.3 come behind the handshake */
    SSL_SESSION *session = SSL_get1_session(peer.ssl);
    SSL_shutdown(peer.ssl);
    hang_up(&peer);
    WAIT_FOR(fake_server_open_now(server) == 0);
    assert_true(connect_to(&peer, server, session));
    check_ping(&peer);
    assert_int_equal(SSL_session_reused(peer.ssl), !is_forgetful);
    assert_int_equal(fake_server_resumed(server), !is_forgetful);
    SSL_SESSION_free(session);
    forget(&peer);
    fake_server_stop(server);
}

static void it_resumes_sessions_unless_it_is_forgetful(void **state)
{
    (void)state;
    check_resumption(false);
    check_resumption(true);
}

static void new_keys_change_nothing(void **state)
{
    fake_tls_config_t tls = good();
    (void)state;

    for (int version = TLS1_2_VERSION; version <= TLS1_3_VERSION; version++) {
        tls.version = version;
        fake_server_t *server = fake_server_start(&(fake_config_t){.tls = &tls});
        peer_t peer = prepare();
        assert_true(connect_to(&peer, server, NULL));
        check_ping(&peer);
        fake_server_rekey(server);
        check_ping(&peer);
        forget(&peer);
        fake_server_stop(server);
    }
}

/* What a client reads at the end: SSL_ERROR_ZERO_RETURN if it was told of it. */
static int end_of(bool is_rude)
{
    fake_tls_config_t tls = good();
    fake_server_t *server =
        fake_server_start(&(fake_config_t){.tls = &tls, .is_rude = is_rude});
    peer_t peer = prepare();
    char byte;

    assert_true(connect_to(&peer, server, NULL));
    check_ping(&peer);
    fake_server_cut(server, FAKE_CUT_FIN);
    int rc = SSL_read(peer.ssl, &byte, 1);
    int error = SSL_get_error(peer.ssl, rc);
    forget(&peer);
    fake_server_stop(server);
    return error;
}

static void it_says_that_it_ends_unless_it_is_rude(void **state)
{
    (void)state;
    assert_int_equal(end_of(false), SSL_ERROR_ZERO_RETURN);
    assert_int_equal(end_of(true), SSL_ERROR_SSL);
}

static void what_it_has_not_read_can_be_seen(void **state)
{
    static const char ping[] = "*1\r\n$4\r\nPING\r\n";
    static const char echo[] = "*2\r\n$4\r\nECHO\r\n$3\r\nabc\r\n";
    fake_tls_config_t tls = good();
    fake_server_t *server = fake_server_start(&(fake_config_t){.tls = &tls});
    peer_t peer = prepare();
    (void)state;

    fake_server_rule(server, &(fake_rule_t){.command = "PING",
                                            .is_cut = true,
                                            .times = 1,
                                            .then = FAKE_STOP_READING});
    assert_true(connect_to(&peer, server, NULL));
    assert_true(SSL_write(peer.ssl, ping, sizeof ping - 1) > 0);
    WAIT_FOR(fake_server_received(server, 0, "PING", NULL) == 1);
    assert_true(SSL_write(peer.ssl, echo, sizeof echo - 1) > 0);
    WAIT_FOR(fake_server_holds(server, "abc"));
    assert_false(fake_server_holds(server, "xyz"));
    assert_int_equal(fake_server_received(server, 0, "ECHO", NULL), 0);
    fake_server_release(server);
    WAIT_FOR(fake_server_received(server, 0, "ECHO", NULL) == 1);
    assert_int_equal(fake_server_broken(server), 0);
    forget(&peer);
    fake_server_stop(server);
}

static void old_versions_and_other_files_are_taken_up(void **state)
{
    fake_tls_config_t tls = good();
    fake_server_t *server = fake_server_start(&(fake_config_t){.tls = &tls});
    peer_t peer = prepare();
    (void)state;

    tls.certificate_file = certificate_path("expired.crt");
    tls.key_file = certificate_path("expired.key");
    fake_server_set_tls(server, &tls);
    assert_false(connect_to(&peer, server, NULL));
    assert_int_equal(SSL_get_verify_result(peer.ssl), X509_V_ERR_CERT_HAS_EXPIRED);
    hang_up(&peer);

    tls = good();
    tls.version = TLS1_1_VERSION;
    fake_server_set_tls(server, &tls);
    SSL_CTX_set_min_proto_version(peer.context, TLS1_2_VERSION);
    assert_false(connect_to(&peer, server, NULL));
    hang_up(&peer);
    SSL_CTX_set_min_proto_version(peer.context, TLS1_1_VERSION);
    SSL_CTX_set_security_level(peer.context, 0);
    assert_true(connect_to(&peer, server, NULL));
    check_ping(&peer);
    forget(&peer);
    WAIT_FOR(fake_server_open_now(server) == 0);
    fake_server_stop(server);
}

typedef struct relay {
    fake_tls_config_t tls;
    fake_server_t *server;
    fault_proxy_t *proxy;
    peer_t peer;
} relay_t;

/* A client of a proxy that speaks TLS, and a server behind it that speaks none. */
static void relay_begin(relay_t *relay, fault_proxy_config_t config)
{
    relay->tls = good();
    relay->server = fake_server_start(NULL);
    config.server_port = fake_server_port(relay->server);
    config.tls = &relay->tls;
    relay->proxy = fault_proxy_start(&config);
    assert_non_null(relay->proxy);
    relay->peer = prepare();
    assert_true(shake_hands(
        &relay->peer,
        dial(fault_proxy_port(relay->proxy), fault_proxy_path(relay->proxy)), NULL));
}

static void relay_end(relay_t *relay)
{
    forget(&relay->peer);
    WAIT_FOR(fault_proxy_counts(relay->proxy).open_now == 0);
    WAIT_FOR(fake_server_open_now(relay->server) == 0);
    fault_proxy_stop(relay->proxy);
    fake_server_stop(relay->server);
}

static void ping(relay_t *relay)
{
    static const char text[] = "*1\r\n$4\r\nPING\r\n";

    assert_int_equal(SSL_write(relay->peer.ssl, text, sizeof text - 1),
                     sizeof text - 1);
}

static void the_proxy_can_be_what_speaks_tls(void **state)
{
    const fault_carriage_t single = {.chunk_bytes = 1},
                           doubled = {.repeat_rate = FAULT_RATE_ALWAYS};
    relay_t relay;
    char answer[16];
    (void)state;

    relay_begin(&relay, (fault_proxy_config_t){.is_unix = true});
    check_ping(&relay.peer);
    fault_proxy_carry(relay.proxy, FAULT_TO_CLIENT, &doubled);
    ping(&relay);
    assert_int_equal(SSL_read(relay.peer.ssl, answer, sizeof answer), 14);
    assert_memory_equal(answer, "+PONG\r\n+PONG\r\n", 14);
    fault_proxy_carry(relay.proxy, FAULT_TO_CLIENT, &single);
    ping(&relay);
    for (int i = 0; i < 7; i++) /* a record each */
        assert_int_equal(SSL_read(relay.peer.ssl, answer, sizeof answer), 1);
    relay_end(&relay);
}

static void the_proxy_cuts_what_is_said(void **state)
{
    relay_t relay;
    char answer[16];
    (void)state;

    relay_begin(&relay, (fault_proxy_config_t){0});
    fault_proxy_cut_after(relay.proxy, 1, FAULT_TO_CLIENT, 3, FAULT_END_FIN);
    ping(&relay);
    assert_int_equal(SSL_read(relay.peer.ssl, answer, sizeof answer), 3);
    assert_memory_equal(answer, "+PO", 3);
    int rc = SSL_read(relay.peer.ssl, answer, sizeof answer);
    assert_int_equal(SSL_get_error(relay.peer.ssl, rc), SSL_ERROR_ZERO_RETURN);
    relay_end(&relay);
}

static void large_values_pass_the_proxy_through_small_buffers(void **state)
{
    enum { BYTES = 1000000 };
    static char text[BYTES + 64], answer[BYTES + 64];
    int head = snprintf(text, 64, "*2\r\n$4\r\nECHO\r\n$%d\r\n", BYTES);
    relay_t relay;
    (void)state;

    memset(text + head, 'x', BYTES);
    text[head + BYTES] = '\r';
    text[head + BYTES + 1] = '\n';
    relay_begin(&relay, (fault_proxy_config_t){.buffer_bytes = 4096});
    assert_int_equal(SSL_write(relay.peer.ssl, text, head + BYTES + 2),
                     head + BYTES + 2);
    int want = head - 14 + BYTES + 2, got = 0;
    while (got < want) {
        int count = SSL_read(relay.peer.ssl, answer + got, want - got);
        assert_true(count > 0);
        got += count;
    }
    assert_memory_equal(answer, text + 14, (size_t)want);
    relay_end(&relay);
}

static void the_proxy_wants_files_that_it_can_use(void **state)
{
    const fake_tls_config_t tls = {.certificate_file = certificate_path("server.crt"),
                                   .key_file = certificate_path("client.key")};
    (void)state;

    assert_null(fault_proxy_start(&(fault_proxy_config_t){.tls = &tls}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_talks_over_tcp_and_unix_sockets_and_in_single_bytes),
        cmocka_unit_test(it_wants_a_certificate_if_told_to),
        cmocka_unit_test(it_resumes_sessions_unless_it_is_forgetful),
        cmocka_unit_test(new_keys_change_nothing),
        cmocka_unit_test(it_says_that_it_ends_unless_it_is_rude),
        cmocka_unit_test(what_it_has_not_read_can_be_seen),
        cmocka_unit_test(old_versions_and_other_files_are_taken_up),
        cmocka_unit_test(the_proxy_can_be_what_speaks_tls),
        cmocka_unit_test(the_proxy_cuts_what_is_said),
        cmocka_unit_test(large_values_pass_the_proxy_through_small_buffers),
        cmocka_unit_test(the_proxy_wants_files_that_it_can_use),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
