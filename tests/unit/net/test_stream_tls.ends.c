/* SPDX-License-Identifier: MIT */

/* Its beginning and its end, and memory that runs out. */

#include "unit/net/stream_tls_rig.h"

/* ---- the beginning ---- */

static void test_connecting_fails(void **state)
{
    (void)state;
    open_it(); /* the server hangs up */
    (void)BIO_reset(server.out);
    wire.nothing_more = 0;
    wire.hooks.on_readable(wire.owner);
    assert_int_equal(owner.connected, 1);
    assert_int_equal(owner.error, -SHOAL_ECONN);
    assert_null(stream);

    open_it();
    (void)BIO_reset(server.out);
    wire.hooks.on_readable(wire.owner); /* nothing yet */
    assert_int_equal(owner.connected, 0);
    wire.nothing_more = -ECONNRESET;
    wire.hooks.on_readable(wire.owner);
    assert_int_equal(owner.error, ECONNRESET);

    serve("expired", 0);
    open_it();
    go_on();
    assert_int_equal(owner.error, SHOAL_ETLS);
    assert_int_equal(server.heard_bytes, 0);

    serve("server", 0); /* the answer does not leave */
    open_it();
    wire.takes = 0;
    wire.failure = -EPIPE;
    go_on();
    assert_int_equal(owner.connected, 1);
    assert_int_equal(owner.error, EPIPE);
}

/* Wherever the server's part of the handshake ends, the attempt fails with a reason, and
 * nothing of the program has left. */
static void test_a_handshake_that_is_cut(void **state)
{
    static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        serve("server", versions[i]);
        open_it();
        size_t all = BIO_ctrl_pending(server.out); /* certificate and proof */
        close_it(false);
        assert_true(all > 500);
        for (size_t had = 0; had + 20 < all; had += had < 30 ? 1 : 11) {
            open_it();
            wire.read_bytes = had;
            if (had > 0)
                wire.hooks.on_readable(wire.owner);
            assert_int_equal(owner.connected, 0);
            (void)BIO_reset(server.out);
            wire.nothing_more = 0;
            wire.hooks.on_readable(wire.owner);
            assert_int_equal(owner.connected, 1);
            assert_int_equal(owner.error, -SHOAL_ECONN);
            assert_int_equal(server.heard_bytes, 0);
        }
    }
}

static void test_the_socket_is_not_connected(void **state)
{
    (void)state;
    make_context();
    memset(&owner, 0, sizeof owner);
    memset(&wire, 0, sizeof wire);
    stream = try_to_open(&home, &rig_error);
    assert_non_null(stream);
    assert_string_equal(stream->kind->error_text(stream, SHOAL_ETIMEOUT),
                        "the socket's words");
    wire.hooks.on_connected(wire.owner, ECONNREFUSED);
    assert_int_equal(owner.error, ECONNREFUSED);
    assert_null(stream);
}

static void test_closed_when_it_is_connected(void **state)
{
    (void)state;
    open_it();
    owner.is_closing = true;
    go_on();
    assert_int_equal(owner.connected, 1);
    assert_null(stream);
    assert_int_equal(wire.closed, 1);
}

static void test_it_cannot_be_opened(void **state)
{
    const shoal__endpoint_t bad = {.name = ".example:1", .host = ".example"};

    (void)state;
    make_context();
    memset(&wire, 0, sizeof wire);
    wire.is_refusing = true;
    assert_null(try_to_open(&home, &rig_error));
    assert_int_equal(rig_error, ECONNREFUSED);
    assert_null(try_to_open(&bad, &rig_error));
    assert_int_equal(rig_error, SHOAL_ETLS);
    assert_string_equal(shoal__stream_tls.error_text(NULL, rig_error),
                        "no certificate can be for this name (tls_server_name)");
    for (size_t allowed = 0; allowed < 2; allowed++) {
        shoal__test_fail_alloc_after(allowed);
        assert_null(try_to_open(&home, &rig_error));
        shoal__test_fail_alloc_never();
        assert_int_equal(rig_error, ENOMEM);
    }
}

/* ---- memory ---- */

/* A record must be kept, and cannot. */
static void test_no_memory_for_input(void **state)
{
    char room[16];
    bool is_dry;

    (void)state;
    connect_it();
    assert_int_equal(SSL_write(server.ssl, "hello", 5), 5);
    assert_int_equal(SSL_write(server.ssl, "world", 5), 5);
    shoal__test_fail_alloc_after(0);
    ptrdiff_t got = stream->kind->read(stream, room, 1, &is_dry);
    shoal__test_fail_alloc_never();
    assert_int_equal(got, SHOAL_ENOMEM);
    assert_string_equal(stream->kind->error_text(stream, (int)got), "no memory");
    close_it(false);
}

static void test_no_memory_for_output(void **state)
{
    const shoal__bytes_t part = {text, SHOAL__TLS_AHEAD_BYTES};
    size_t kept;

    (void)state;
    fill();
    connect_it();
    shoal__test_fail_alloc_after(0);
    ptrdiff_t rc = stream->kind->write(stream, &part, 1, &kept);
    shoal__test_fail_alloc_never();
    assert_int_equal(rc, SHOAL_ENOMEM);
    assert_string_equal(stream->kind->error_text(stream, (int)rc), "no memory");
    assert_int_equal(wire.sent, 0);
    close_it(true);
    assert_int_equal(wire.sent, 0);

    connect_it(); /* the first record has room, the others do not */
    shoal__test_fail_alloc_after(1);
    rc = stream->kind->write(stream, &part, 1, &kept);
    shoal__test_fail_alloc_never();
    assert_int_equal(rc, 16384);
    assert_int_equal(server.heard_bytes, 16384);
    assert_int_equal(stream->kind->write(stream, &part, 1, &kept), SHOAL_ENOMEM);
    close_it(true);
    assert_int_equal(server.heard_bytes, 16384);
}

/* ---- the end ---- */

static void test_the_end(void **state)
{
    char room[16];
    bool is_dry;

    (void)state;
    connect_it(); /* without a word */
    wire.nothing_more = 0;
    assert_int_equal(stream->kind->read(stream, room, sizeof room, &is_dry),
                     SHOAL_ECONN);
    assert_string_equal(stream->kind->error_text(stream, SHOAL_ECONN),
                        "the connection ended without TLS's close_notify");
    close_it(false);
    assert_int_equal(wire.sent, 0); /* it is not orderly: nor do we say one */
    assert_int_equal(wire.closed_orderly, 0);

    connect_it();
    SSL_shutdown(server.ssl);
    assert_int_equal(stream->kind->read(stream, room, sizeof room, &is_dry), 0);
    close_it(true);
    assert_int_equal(wire.closed_orderly, 1);

    connect_it();
    wire.nothing_more = -ECONNRESET;
    assert_int_equal(stream->kind->read(stream, room, sizeof room, &is_dry),
                     -ECONNRESET);
    assert_string_equal(stream->kind->error_text(stream, ECONNRESET),
                        "the socket's words");
    close_it(false);
}

/* Behind what did not leave, the word for the end would be a lie. */
static void test_no_word_behind_what_did_not_leave(void **state)
{
    const shoal__bytes_t hello = {"hello", 5};
    size_t kept;

    (void)state;
    connect_it();
    wire.takes = 3;
    assert_int_equal(stream->kind->write(stream, &hello, 1, &kept), 5);
    wire.takes = SIZE_MAX;
    close_it(true);
    assert_int_equal(wire.sent, 3);
}

static void test_nobody_answers(void **state)
{
    (void)state;
    open_it();
    assert_string_equal(
        stream->kind->error_text(stream, SHOAL_ETIMEOUT),
        "the TLS handshake was not answered in time: does the server speak TLS on this "
        "port?");
    close_it(false);
    assert_int_equal(wire.closed, 1);
    assert_ptr_equal(shoal__stream_kind(NULL), &shoal__stream_socket);
}

/* The child of a fork tells the server nothing, and frees nothing. */
static void test_a_child_forgets(void **state)
{
    (void)state;
    connect_it();
    stream->kind->forget(stream);
    assert_int_equal(wire.forgotten, 1);
    assert_int_equal(wire.sent, 0);
    close_it(false); /* as the parent does */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_connecting_fails),
        TEST(test_a_handshake_that_is_cut),
        TEST(test_the_socket_is_not_connected),
        TEST(test_closed_when_it_is_connected),
        TEST(test_it_cannot_be_opened),
        TEST(test_no_memory_for_input),
        TEST(test_no_memory_for_output),
        TEST(test_the_end),
        TEST(test_no_word_behind_what_did_not_leave),
        TEST(test_nobody_answers),
        TEST(test_a_child_forgets),
    };
    return cmocka_run_group_tests_name("net/stream_tls.ends", tests, NULL, NULL);
}
