/* SPDX-License-Identifier: MIT */

/* What is written and read; sockets that fail, and servers that mean ill. */

#include "unit/net/stream_tls_rig.h"

/* ---- talking ---- */

static void check_single_bytes(int version)
{
    const shoal__bytes_t hello = {"hello", 5};
    char room[16] = "";
    size_t kept, got = 0;
    bool is_dry;

    serve("server", version);
    open_it();
    wire.read_bytes = 1;
    go_on();
    assert_int_equal(owner.connected, 1);
    assert_int_equal(owner.error, 0);
    assert_int_equal(server.heard_bytes, 0);
    read_tickets();

    wire.takes = 0;
    assert_int_equal(stream->kind->write(stream, &hello, 1, &kept), 5);
    assert_int_equal(kept, 5);
    assert_int_equal(stream->kind->write(stream, &hello, 1, &kept), -EAGAIN);
    stream->kind->want_write(stream);
    while (owner.writable == 0) {
        assert_int_equal(owner.left, 0);
        go_on_writing(1, -EAGAIN);
    }
    assert_int_equal(owner.left, 5);
    assert_int_equal(server.heard_bytes, 5);
    go_on_writing(SIZE_MAX, -EAGAIN);
    assert_int_equal(owner.writable, 1); /* once */

    assert_int_equal(SSL_write(server.ssl, "world", 5), 5);
    while (got < 5) {
        ptrdiff_t count = stream->kind->read(stream, room, sizeof room, &is_dry);
        if (count != -EINPROGRESS)
            got += (size_t)count;
        assert_true(is_dry);
    }
    assert_string_equal(room, "world");
    assert_false(stream->kind->is_resumed(stream));
    close_it(true);
    assert_true(server.is_ended);
}

static void test_single_bytes(void **state)
{
    (void)state;
    check_single_bytes(TLS1_2_VERSION);
    check_single_bytes(TLS1_3_VERSION);
}

/* What a record has more than there is room for: the loop does not know of it. */
static void test_what_is_left_of_a_record(void **state)
{
    char room[3] = "";
    bool is_dry;

    (void)state;
    connect_it();
    assert_int_equal(SSL_write(server.ssl, "hello", 5), 5);
    assert_int_equal(stream->kind->read(stream, room, 3, &is_dry), 3);
    assert_false(is_dry);
    assert_int_equal(stream->kind->read(stream, room, 3, &is_dry), 2);
    close_it(false);
}

/* The server speaks at once: its bytes come with the last of its handshake. */
static void open_to_the_last_flight(void)
{
    serve("server", TLS1_2_VERSION);
    open_it();
    while (!SSL_is_init_finished(server.ssl))
        wire.hooks.on_readable(wire.owner);
    assert_int_equal(owner.connected, 0);
    assert_int_equal(SSL_write(server.ssl, "early", 5), 5);
}

static void test_what_comes_with_the_handshake(void **state)
{
    char room[16] = "";
    bool is_dry;

    (void)state;
    open_to_the_last_flight();
    wire.hooks.on_readable(wire.owner);
    assert_int_equal(owner.connected, 1);
    assert_int_equal(owner.readable, 1); /* the loop does not know of it */
    assert_int_equal(stream->kind->read(stream, room, sizeof room, &is_dry), 5);
    assert_string_equal(room, "early");
    wire.hooks.on_readable(wire.owner);
    assert_int_equal(owner.readable, 2);
    close_it(false);

    open_to_the_last_flight();
    shoal__test_fail_alloc_after(0);
    wire.hooks.on_readable(wire.owner);
    shoal__test_fail_alloc_never();
    assert_int_equal(owner.connected, 1);
    assert_int_equal(owner.error, SHOAL_ENOMEM);
}

/* The socket takes the client's part of the handshake later. */
static void test_a_handshake_that_waits(void **state)
{
    (void)state;
    open_it();
    wire.takes = 0;
    go_on();
    assert_int_equal(owner.connected, 1);
    assert_int_equal(owner.error, 0);
    assert_false(SSL_is_init_finished(server.ssl));
    go_on_writing(SIZE_MAX, -EAGAIN);
    assert_true(SSL_is_init_finished(server.ssl));
    read_tickets();
    close_it(true);
    assert_true(server.is_ended);

    open_it();
    assert_int_equal(owner.connected, 0);
    go_on();
    assert_true(stream->kind->is_resumed(stream));
    close_it(false);
}

static void test_a_forged_record(void **state)
{
    char room[64];
    bool is_dry;

    (void)state;
    connect_it();
    assert_int_equal(SSL_write(server.ssl, "money", 5), 5);
    int bytes = BIO_read(server.out, room, sizeof room);
    room[bytes - 1] ^= 1;
    assert_int_equal(BIO_write(server.out, room, bytes), bytes);
    ptrdiff_t got = stream->kind->read(stream, room, sizeof room, &is_dry);
    assert_int_equal(got, SHOAL_ETLS);
    assert_string_equal(stream->kind->error_text(stream, (int)got),
                        "TLS: decryption failed or bad record mac");
    close_it(false);
}

/* ---- a socket that fails ---- */

/* Nothing leaves any more, whatever happens. */
static void check_silence(void)
{
    const shoal__bytes_t more = {"more", 4};
    size_t sent = wire.sent, left = owner.left, kept;
    char room[16];
    bool is_dry;

    wire.takes = SIZE_MAX;
    if (SSL_version(server.ssl) == TLS1_3_VERSION) {
        assert_int_equal(SSL_key_update(server.ssl, SSL_KEY_UPDATE_REQUESTED), 1);
        assert_int_equal(SSL_do_handshake(server.ssl), 1);
    }
    assert_int_equal(SSL_write(server.ssl, "world", 5), 5);
    assert_int_equal(stream->kind->read(stream, room, sizeof room, &is_dry), 5);
    wire.hooks.on_writable(wire.owner);
    assert_int_equal(stream->kind->write(stream, &more, 1, &kept), -EPIPE);
    close_it(true);
    assert_int_equal(wire.sent, sent);
    assert_int_equal(owner.left, left);
    assert_false(server.is_ended);
}

/* T15: the socket fails behind so many bytes of a batch, at once or later.  What was told
 * as left is what the server can read. */
static void check_cut(size_t bytes, size_t takes, bool is_later)
{
    const shoal__bytes_t part = {text, bytes};
    size_t kept, told;

    connect_it();
    wire.takes = takes;
    wire.failure = is_later ? -EAGAIN : -EPIPE;
    ptrdiff_t taken = stream->kind->write(stream, &part, 1, &kept);
    if (is_later) {
        assert_int_equal(taken, bytes);
        told = (size_t)taken - kept;
        stream->kind->want_write(stream);
        go_on_writing(0, -EPIPE);
        assert_int_equal(owner.writable, 1); /* its next write finds the failure */
    } else {
        assert_int_equal(kept, 0);
        told = taken > 0 ? (size_t)taken : 0;
        if (taken <= 0)
            assert_int_equal(taken, -EPIPE);
    }
    assert_int_equal(told + owner.left, server.heard_bytes);
    check_silence();
}

/* The ciphertext of a batch, by the whole. */
static size_t cipher_bytes(size_t bytes)
{
    const shoal__bytes_t part = {text, bytes};
    size_t kept;

    connect_it();
    assert_int_equal(stream->kind->write(stream, &part, 1, &kept), bytes);
    assert_int_equal(kept, 0);
    assert_int_equal(server.heard_bytes, bytes);
    close_it(false);
    return wire.sent;
}

static void test_a_send_is_cut_at_every_byte(void **state)
{
    static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};

    (void)state;
    fill();
    for (size_t i = 0; i < 2; i++) {
        serve("server", versions[i]);
        size_t all = cipher_bytes(100);
        for (size_t takes = 0; takes < all; takes++) {
            check_cut(100, takes, false);
            check_cut(100, takes, true);
        }
        /* Three records: at their edges, and between. */
        all = cipher_bytes(40000);
        size_t record = 16384 + (all - 40000) / 3;
        for (size_t takes = 0; takes < all; takes++)
            if (takes % record < 2 || takes % record > record - 2 || takes % 997 == 0)
                check_cut(40000, takes, takes % 2 == 0);
    }
}

/* In several pieces: what left before the failure is told. */
static void test_a_send_in_pieces(void **state)
{
    const shoal__bytes_t part = {text, SHOAL__TLS_AHEAD_BYTES};
    size_t kept;

    (void)state;
    fill();
    connect_it();
    wire.takes = 20000;
    assert_int_equal(stream->kind->write(stream, &part, 1, &kept), part.bytes);
    assert_int_equal(kept, part.bytes - 16384);
    assert_int_equal(wire.waited_for, 1);
    go_on_writing(30000, -EAGAIN);
    assert_int_equal(owner.left + 16384, server.heard_bytes);
    assert_int_equal(owner.writable, 0); /* nobody asked */
    stream->kind->want_write(stream);
    go_on_writing(10, -EPIPE);
    assert_int_equal(owner.left + 16384, server.heard_bytes);
    check_silence();
}

/* ---- a server that makes the client answer ---- */

static void check_hostile(int version)
{
    char room[16];
    bool is_dry;
    ptrdiff_t got = -EINPROGRESS;

    serve("server", version);
    connect_it();
    wire.takes = 0;
    for (unsigned i = 0; got == -EINPROGRESS && i < 100000; i++) {
        if (version == TLS1_3_VERSION)
            SSL_key_update(server.ssl, SSL_KEY_UPDATE_REQUESTED);
        else
            SSL_renegotiate(server.ssl);
        SSL_do_handshake(server.ssl);
        got = stream->kind->read(stream, room, sizeof room, &is_dry);
    }
    assert_int_equal(got, SHOAL_ETLS);
    assert_string_equal(stream->kind->error_text(stream, (int)got),
                        "the server asks for answers, and does not read them");
    close_it(false);
}

static void test_answers_that_are_not_read(void **state)
{
    (void)state;
    check_hostile(TLS1_3_VERSION);
    check_hostile(TLS1_2_VERSION);
}

/* Nothing of a record is kept back: the socket's pause is enough. */
static void test_a_pause(void **state)
{
    (void)state;
    connect_it();
    stream->kind->pause(stream, true);
    assert_true(wire.is_paused);
    stream->kind->pause(stream, false);
    assert_false(wire.is_paused);
    close_it(false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_single_bytes),
        TEST(test_what_is_left_of_a_record),
        TEST(test_what_comes_with_the_handshake),
        TEST(test_a_handshake_that_waits),
        TEST(test_a_forged_record),
        TEST(test_a_send_is_cut_at_every_byte),
        TEST(test_a_send_in_pieces),
        TEST(test_answers_that_are_not_read),
        TEST(test_a_pause),
    };
    return cmocka_run_group_tests_name("net/stream_tls", tests, NULL, NULL);
}
