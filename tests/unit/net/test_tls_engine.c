/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/net/tls_rig.h"

#define BIG 300000

static char text[BIG], heard[BIG];

static void fill(void)
{
    for (size_t i = 0; i < BIG; i++)
        text[i] = (char)('a' + i % 23 + i / 4099 % 3);
}

static shoal__bytes_t piece(size_t at, size_t bytes)
{
    return (shoal__bytes_t){text + at, bytes};
}

static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};

/* ---- talking ---- */

static void check_talk(size_t chunk)
{
    const shoal__bytes_t hello = {"hello", 5};
    char room[16] = "";

    dial();
    assert_int_equal(shake_hands(chunk), 0);
    assert_int_equal(server.heard_bytes, 0);
    assert_int_equal(shoal__tls_engine_write(engine, &hello, 1), 5);
    assert_int_equal(shoal__tls_engine_kept(engine), 5);
    assert_int_equal(to_server(chunk), 5);
    assert_int_equal(shoal__tls_engine_kept(engine), 0);
    assert_int_equal(server.heard_bytes, 5);
    assert_memory_equal(server.heard, "hello", 5);
    assert_int_equal(SSL_write(server.ssl, "world", 5), 5);
    assert_int_equal(hear(room, sizeof room, chunk), 5);
    assert_memory_equal(room, "world", 5);
}

static void test_a_talk_in_chunks_of_any_size(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        serve("server", versions[i]);
        check_talk(1);
        check_talk(7);
        check_talk(SIZE_MAX);
    }
}

/* Parts of all sizes become records of 16 KiB, but the last. */
static void test_a_batch_of_parts(void **state)
{
    static const size_t cuts[][5] = {{1, 2, 3, 4, 5},
                                     {100, 40000, 100, 9000, 7},
                                     {16384, 16384, 1, 16383, 16384},
                                     {5, 16379, 16384, 20000, 12384},
                                     {70000, 1, 1, 1, 1},
                                     {0, 3, 0, 0, 2}};

    (void)state;
    fill();
    dial();
    assert_int_equal(shake_hands(SIZE_MAX), 0);
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        shoal__bytes_t parts[5];
        size_t bytes = 0;
        for (size_t j = 0; j < 5; j++) {
            parts[j] = piece(bytes, cuts[i][j]);
            bytes += cuts[i][j];
        }
        size_t expected =
            bytes < SHOAL__TLS_AHEAD_BYTES ? bytes : SHOAL__TLS_AHEAD_BYTES;
        server.heard_bytes = 0;
        assert_int_equal(shoal__tls_engine_write(engine, parts, 5), expected);
        size_t records = (expected + 16383) / 16384;
        /* TLS 1.3: 5 bytes of header, 1 of type, 16 of proof. */
        assert_int_equal(shoal__tls_engine_output(engine).bytes,
                         expected + 22 * records);
        assert_int_equal(to_server(SIZE_MAX), expected);
        assert_int_equal(server.heard_bytes, expected);
        assert_memory_equal(server.heard, text, expected);
    }
}

/* What stands in the server's answer must not stay behind when the room is small. */
static void test_rooms_of_any_size(void **state)
{
    (void)state;
    fill();
    dial();
    assert_int_equal(shake_hands(SIZE_MAX), 0);
    assert_int_equal(SSL_write(server.ssl, text, 50000), 50000);
    for (size_t at = 0, room = 1; at < 50000; room = room % 20000 + 997) {
        size_t bytes = room < 50000 - at ? room : 50000 - at;
        if (!shoal__tls_engine_has_input(engine))
            assert_true(feed(30000));
        ptrdiff_t got = shoal__tls_engine_read(engine, heard, bytes);
        assert_int_equal(shoal__tls_engine_keep(engine), 0);
        if (got == -EAGAIN)
            continue;
        assert_in_range(got, 1, bytes);
        assert_memory_equal(heard, text + at, (size_t)got);
        at += (size_t)got;
    }
}

/* T15: whatever of the ciphertext has left, exactly so much plaintext is told as the server
 * can read. */
static void check_every_byte(size_t bytes)
{
    size_t told = 0;
    shoal__bytes_t part = piece(0, bytes);

    server.heard_bytes = 0;
    assert_int_equal(shoal__tls_engine_write(engine, &part, 1), bytes);
    while (shoal__tls_engine_output(engine).bytes > 0) {
        char byte = *shoal__tls_engine_output(engine).data;
        assert_int_equal(told + shoal__tls_engine_kept(engine), bytes);
        told += shoal__tls_engine_sent(engine, 1);
        give_server(&byte, 1);
        assert_int_equal(told, server.heard_bytes);
    }
    assert_int_equal(told, bytes);
}

static void test_told_is_what_the_server_can_read(void **state)
{
    (void)state;
    fill();
    for (size_t i = 0; i < 2; i++) {
        serve("server", versions[i]);
        dial();
        assert_int_equal(shake_hands(SIZE_MAX), 0);
        check_every_byte(1);
        check_every_byte(40000);
        check_every_byte(SHOAL__TLS_AHEAD_BYTES);
    }
}

/* A key update that asks for one, while a write has not left. */
static void test_new_keys_with_a_write_under_way(void **state)
{
    const shoal__bytes_t one = {"one", 3}, two = {"two", 3};
    char room[16];

    (void)state;
    serve("server", TLS1_3_VERSION);
    dial();
    assert_int_equal(shake_hands(SIZE_MAX), 0);
    hear(room, sizeof room, SIZE_MAX); /* tickets */
    assert_int_equal(shoal__tls_engine_write(engine, &one, 1), 3);
    assert_int_equal(shoal__tls_engine_sent(engine, 0), 0);
    assert_int_equal(SSL_key_update(server.ssl, SSL_KEY_UPDATE_REQUESTED), 1);
    assert_int_equal(SSL_do_handshake(server.ssl), 1);
    assert_int_equal(SSL_write(server.ssl, "more", 4), 4);
    assert_int_equal(hear(room, sizeof room, SIZE_MAX), 4);
    assert_int_equal(shoal__tls_engine_kept(engine), 3);
    assert_int_equal(to_server(1), 3);
    assert_int_equal(shoal__tls_engine_write(engine, &two, 1), 3);
    assert_int_equal(to_server(1), 3);
    assert_memory_equal(server.heard, "onetwo", 6);
    assert_int_equal(SSL_write(server.ssl, "last", 4), 4);
    assert_int_equal(hear(room, sizeof room, 1), 4);
    assert_memory_equal(room, "last", 4);
}

/* TLS 1.2: the client does not negotiate anew.  The connection goes on, or ends as the
 * server likes: OpenSSL's ends it. */
static void test_no_renegotiation(void **state)
{
    const shoal__bytes_t hello = {"hello", 5};
    char room[16];

    (void)state;
    serve("server", TLS1_2_VERSION);
    dial();
    assert_int_equal(shake_hands(SIZE_MAX), 0);
    assert_int_equal(SSL_renegotiate(server.ssl), 1);
    SSL_do_handshake(server.ssl);
    assert_int_equal(hear(room, sizeof room, SIZE_MAX), -EAGAIN);
    assert_int_equal(shoal__tls_engine_write(engine, &hello, 1), 5);
    to_server(SIZE_MAX);
    assert_int_equal(SSL_num_renegotiations(server.ssl), 1); /* asked, and ... */
    assert_int_equal(SSL_in_init(server.ssl), 1);            /* ... not answered */
    assert_int_equal(hear(room, sizeof room, SIZE_MAX), SHOAL_ETLS);
    assert_string_equal(shoal__tls_engine_text(engine),
                        "the server negotiated TLS anew, which the client refuses");
}

/* ---- the end ---- */

static void test_the_word_for_the_end(void **state)
{
    char room[16];

    (void)state;
    dial();
    assert_int_equal(shake_hands(SIZE_MAX), 0);
    assert_int_equal(SSL_write(server.ssl, "bye", 3), 3);
    SSL_shutdown(server.ssl);
    assert_true(feed(SIZE_MAX));
    assert_int_equal(shoal__tls_engine_read(engine, room, sizeof room), 3);
    assert_true(shoal__tls_engine_has_input(engine));
    assert_int_equal(shoal__tls_engine_read(engine, room, sizeof room), 0);

    dial();
    assert_int_equal(shake_hands(SIZE_MAX), 0);
    shoal__tls_engine_end(engine);
    to_server(SIZE_MAX);
    assert_true(server.is_ended);

    dial(); /* nothing of the kind before the handshake is over */
    shoal__tls_engine_end(engine);
    assert_int_equal(shoal__tls_engine_output(engine).bytes, 0);
}

static void test_a_forged_record(void **state)
{
    const shoal__bytes_t hello = {"hello", 5};
    char record[64], room[16];

    (void)state;
    dial();
    assert_int_equal(shake_hands(SIZE_MAX), 0);
    hear(room, sizeof room, SIZE_MAX);
    assert_int_equal(SSL_write(server.ssl, "fine", 4), 4);
    assert_int_equal(SSL_write(server.ssl, "money", 5), 5);
    int got = BIO_read(server.out, record, sizeof record);
    record[got - 1] ^= 1;
    shoal__tls_engine_feed(engine, record, (size_t)got);
    assert_int_equal(shoal__tls_engine_read(engine, room, sizeof room), 4);
    assert_true(shoal__tls_engine_has_input(engine));
    assert_int_equal(shoal__tls_engine_read(engine, room, sizeof room), SHOAL_ETLS);
    assert_string_equal(shoal__tls_engine_text(engine),
                        "TLS: decryption failed or bad record mac");
    assert_int_equal(shoal__tls_engine_read(engine, room, sizeof room), SHOAL_ETLS);
    assert_int_equal(shoal__tls_engine_write(engine, &hello, 1), SHOAL_ETLS);
    assert_int_equal(shoal__tls_engine_keep(engine), 0);
}

/* ---- who is it? ---- */

/* Not a byte of plaintext may have left. */
static void check_refusal(const char *expected)
{
    dial();
    assert_int_equal(shake_hands(SIZE_MAX), SHOAL_ETLS);
    if (!strstr(shoal__tls_engine_text(engine), expected))
        fail_msg("'%s', not '%s'", shoal__tls_engine_text(engine), expected);
    assert_int_equal(server.heard_bytes, 0);
    shoal__tls_context_free(context);
    context = NULL;
}

static void test_certificates_that_are_refused(void **state)
{
    static const struct {
        const char *certificate, *text;
    } cases[] = {
        {"other_name", "the certificate is for other.example, 192.0.2.1, not for "
                       "localhost"},
        {"expired", "the certificate of localhost, 127.0.0.1, ::1 expired on 20"},
        {"not_yet", "the certificate of localhost, 127.0.0.1, ::1 is not valid before "
                    "20"},
        {"foreign", "the certificate is from an unknown authority ("},
        {"self_signed", "the certificate is self-signed: trust it with tls_ca_file"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        serve(cases[i].certificate, 0);
        check_refusal(cases[i].text);
    }
    serve("server", 0);
    settings.server_name = (char *)(uintptr_t) "10.1.2.3";
    check_refusal("the certificate is for localhost, 127.0.0.1, ::1, not for 10.1.2.3");
    settings.server_name = NULL;
    trust(NULL); /* the system's */
    check_refusal("the certificate is from an unknown authority (");
}

/* Names and addresses that the certificate is for; SNI for names only. */
static void test_names_that_fit(void **state)
{
    static const char *const names[] = {"localhost", "localhost.", "127.0.0.1", "::1",
                                        "::1%lo"};

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        settings.server_name = (char *)(uintptr_t)names[i];
        dial();
        assert_int_equal(shake_hands(SIZE_MAX), 0);
        const char *sni = SSL_get_servername(server.ssl, TLSEXT_NAMETYPE_host_name);
        if (i < 2)
            assert_string_equal(sni, "localhost");
        else
            assert_null(sni);
        shoal__tls_context_free(context);
        context = NULL;
        shoal__tls_engine_free(engine);
        engine = NULL;
    }
}

/* OpenSSL takes a name that begins with a dot for all names below it. */
static void test_names_that_no_certificate_has(void **state)
{
    static const char *const names[] = {".", ".localhost", ""};
    bool has_last;

    (void)state;
    context = shoal__tls_context_new(&settings);
    assert_int_equal(shoal__tls_context_refresh(context, &has_last, why), 0);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const shoal__endpoint_t named = {.name = names[i],
                                         .host = (char *)(uintptr_t)names[i]};
        assert_null(shoal__tls_engine_new(context, &named, &rig_error));
        assert_int_equal(rig_error, SHOAL_ETLS);
        assert_int_equal(ERR_peek_error(), 0);
    }
}

static void test_whoever_answers_if_the_program_insists(void **state)
{
    (void)state;
    settings.is_insecure = true;
    serve("self_signed", 0);
    dial();
    assert_int_equal(shake_hands(SIZE_MAX), 0);
    serve("other_name", 0);
    dial();
    assert_int_equal(shake_hands(SIZE_MAX), 0);
}

static void test_versions(void **state)
{
    (void)state;
    serve("server", TLS1_1_VERSION);
    check_refusal("client and server have no version of TLS in common");
    settings.min_version = SHOAL_TLS_1_3;
    serve("server", TLS1_2_VERSION);
    check_refusal("client and server have no version of TLS in common");
    serve("server", TLS1_3_VERSION);
    dial();
    assert_int_equal(shake_hands(SIZE_MAX), 0);
}

static void test_no_cipher_in_common(void **state)
{
    (void)state;
    serve("server", TLS1_2_VERSION);
    assert_int_equal(
        SSL_CTX_set_cipher_list(server.ctx, "ECDHE-ECDSA-AES128-GCM-SHA256"), 1);
    settings.ciphers = (char *)(uintptr_t) "ECDHE-ECDSA-AES256-GCM-SHA384";
    check_refusal("no cipher in common");
    settings.ciphers = NULL;
    serve("server", TLS1_3_VERSION);
    assert_int_equal(SSL_CTX_set_ciphersuites(server.ctx, "TLS_AES_128_GCM_SHA256"), 1);
    settings.ciphersuites = (char *)(uintptr_t) "TLS_AES_256_GCM_SHA384";
    check_refusal("no cipher in common");
}

/* OpenSSL verifies nothing if the ciphers that the program chose need no certificate. */
static void test_a_server_without_certificate(void **state)
{
    (void)state;
    serve("server", TLS1_2_VERSION);
    assert_int_equal(SSL_CTX_set_cipher_list(server.ctx, "AECDH:ADH:@SECLEVEL=0"), 1);
    SSL_CTX_set_dh_auto(server.ctx, 1);
    settings.ciphers = (char *)(uintptr_t) "ALL:@SECLEVEL=0";
    check_refusal("the server showed no certificate");
}

/* TLS 1.2 finds it in the handshake, TLS 1.3 behind it. */
static void test_the_server_wants_a_certificate(void **state)
{
    char room[16];

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        serve("server", versions[i]);
        SSL_CTX_set_verify(server.ctx,
                           SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
        assert_int_equal(
            SSL_CTX_load_verify_file(server.ctx, certificate_path("ca.crt")), 1);
        dial();
        int rc = shake_hands(SIZE_MAX);
        if (rc == 0)
            rc = (int)hear(room, sizeof room, SIZE_MAX);
        assert_int_equal(rc, SHOAL_ETLS);
        assert_non_null(
            strstr(shoal__tls_engine_text(engine), "certificate of the client"));
        shoal__tls_context_free(context);
        context = NULL;

        settings.cert_file = (char *)(uintptr_t)certificate_path("client.crt");
        settings.key_file = (char *)(uintptr_t)certificate_path("client.key");
        dial();
        assert_int_equal(shake_hands(SIZE_MAX), 0);
        assert_int_equal(hear(room, sizeof room, SIZE_MAX), -EAGAIN);
        shoal__tls_engine_free(engine);
        engine = NULL;
        shoal__tls_context_free(context);
        context = NULL;

        settings.cert_file = (char *)(uintptr_t)certificate_path("self_signed.crt");
        settings.key_file = (char *)(uintptr_t)certificate_path("self_signed.key");
        dial();
        rc = shake_hands(SIZE_MAX);
        if (rc == 0)
            rc = (int)hear(room, sizeof room, SIZE_MAX);
        assert_int_equal(rc, SHOAL_ETLS);
        assert_string_equal(shoal__tls_engine_text(engine),
                            "the server refused the client's certificate "
                            "(tls_cert_file)");
        shoal__tls_context_free(context);
        context = NULL;
        settings.cert_file = settings.key_file = NULL;
    }
}

static void test_a_server_that_speaks_no_tls(void **state)
{
    static const char *const answers[] = {
        "-ERR unknown command\r\n", "+PONG\r\n+OK\r\n", "HTTP/1.1 400 Bad Request\r\n",
        "-DENIED Redis is running in protected mode"};

    (void)state;
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        dial();
        assert_int_equal(shoal__tls_engine_handshake(engine), -EAGAIN);
        shoal__tls_engine_feed(engine, answers[i], strlen(answers[i]));
        assert_int_equal(shoal__tls_engine_handshake(engine), SHOAL_ETLS);
        assert_string_equal(shoal__tls_engine_text(engine),
                            "the server speaks no TLS on this port");
    }
}

int main(void)
{
#define TEST(name)                                                                     \
    cmocka_unit_test_setup_teardown(name, rig_set_up_tls, rig_tear_down_tls)
    const struct CMUnitTest tests[] = {
        TEST(test_a_talk_in_chunks_of_any_size),
        TEST(test_a_batch_of_parts),
        TEST(test_rooms_of_any_size),
        TEST(test_told_is_what_the_server_can_read),
        TEST(test_new_keys_with_a_write_under_way),
        TEST(test_no_renegotiation),
        TEST(test_the_word_for_the_end),
        TEST(test_a_forged_record),
        TEST(test_certificates_that_are_refused),
        TEST(test_names_that_fit),
        TEST(test_names_that_no_certificate_has),
        TEST(test_whoever_answers_if_the_program_insists),
        TEST(test_versions),
        TEST(test_no_cipher_in_common),
        TEST(test_a_server_without_certificate),
        TEST(test_the_server_wants_a_certificate),
        TEST(test_a_server_that_speaks_no_tls),
    };
    return cmocka_run_group_tests_name("net/tls_engine", tests, NULL, NULL);
}
