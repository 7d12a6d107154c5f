/* SPDX-License-Identifier: MIT */

/* The stream with TLS, over a socket that this file plays: it takes as many bytes as it is
 * told to, and fails when it is told to. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/net/tls_rig.h"

#include "base/alloc.h"
#include "net/stream.h"

/* ---- the socket ---- */

static struct {
    shoal__stream_t stream; /* first: what its owner holds */
    shoal__stream_hooks_t hooks;
    void *owner;
    bool is_refusing;    /* it cannot be opened */
    size_t takes;        /* so many bytes more; then `failure` */
    int failure;         /* below 0 */
    size_t read_bytes;   /* most of one read */
    int nothing_more;    /* what a read behind the server's last byte gives */
    size_t sent;         /* bytes that it took */
    unsigned waited_for; /* calls of want_write */
    unsigned closed, closed_orderly, forgotten;
} wire;

static shoal__stream_t *open_wire(const shoal__stream_kind_t *kind,
                                  const shoal__stream_request_t *request,
                                  int *ret_error)
{
    wire.stream.kind = kind;
    wire.hooks = *request->hooks;
    wire.owner = request->owner;
    *ret_error = ECONNREFUSED;
    return wire.is_refusing ? NULL : &wire.stream;
}

static ptrdiff_t write_wire(shoal__stream_t *stream, const shoal__bytes_t *parts,
                            size_t count, size_t *ret_kept)
{
    size_t bytes = parts->bytes < wire.takes ? parts->bytes : wire.takes;

    assert_ptr_equal(stream, &wire.stream);
    assert_int_equal(count, 1);
    *ret_kept = 0;
    if (bytes == 0)
        return wire.failure;
    give_server(parts->data, bytes);
    wire.takes -= bytes;
    wire.sent += bytes;
    return (ptrdiff_t)bytes;
}

static ptrdiff_t read_wire(shoal__stream_t *stream, char *room, size_t bytes,
                           bool *ret_is_dry)
{
    int got = BIO_read(server.out, room,
                       (int)(bytes < wire.read_bytes ? bytes : wire.read_bytes));

    assert_ptr_equal(stream, &wire.stream);
    *ret_is_dry = true;
    return got > 0 ? got : wire.nothing_more;
}

static void want_to_write(shoal__stream_t *stream)
{
    (void)stream;
    wire.waited_for++;
}

static const char *words_of_wire(const shoal__stream_t *stream, int code)
{
    (void)stream, (void)code;
    return "the socket's words";
}

static void close_wire(shoal__stream_t *stream, bool is_orderly)
{
    (void)stream;
    wire.closed++;
    wire.closed_orderly += is_orderly;
}

static void forget_wire(shoal__stream_t *stream)
{
    (void)stream;
    wire.forgotten++;
}

const shoal__stream_kind_t shoal__stream_socket = {
    .open = open_wire,
    .write = write_wire,
    .read = read_wire,
    .want_write = want_to_write,
    .error_text = words_of_wire,
    .close = close_wire,
    .forget = forget_wire,
};

/* ---- the owner ---- */

static shoal__stream_t *stream;

static struct {
    unsigned connected, readable, writable; /* calls */
    int error;                              /* of the connect */
    size_t left;                            /* bytes that on_left told */
    bool is_closing; /* it closes the stream when it is connected */
} owner;

static void close_it(bool is_orderly)
{
    stream->kind->close(stream, is_orderly);
    stream = NULL;
}

static void on_connected(void *data, int code)
{
    (void)data;
    owner.connected++;
    owner.error = code;
    if (owner.is_closing || code != 0)
        close_it(false);
}

static void on_readable(void *data)
{
    (void)data;
    owner.readable++;
}

static void on_writable(void *data)
{
    (void)data;
    owner.writable++;
}

static void on_left(void *data, size_t bytes)
{
    (void)data;
    owner.left += bytes;
}

static shoal__stream_t *try_to_open(const shoal__endpoint_t *endpoint, int *ret_error)
{
    static const shoal__stream_hooks_t hooks = {.on_connected = on_connected,
                                                .on_readable = on_readable,
                                                .on_writable = on_writable,
                                                .on_left = on_left};
    const shoal__stream_kind_t *kind = shoal__stream_kind(context);
    static shoal__stream_request_t request;

    request = (shoal__stream_request_t){
        .endpoint = endpoint, .tls = context, .hooks = &hooks, .owner = &owner};
    return kind->open(kind, &request, ret_error);
}

static void make_context(void)
{
    bool has_last;

    if (!context)
        context = shoal__tls_context_new(&settings);
    assert_non_null(context);
    assert_int_equal(shoal__tls_context_refresh(context, &has_last, why), 0);
}

static void open_it(void)
{
    make_context();
    open_server();
    memset(&owner, 0, sizeof owner);
    memset(&wire, 0, sizeof wire);
    wire.takes = wire.read_bytes = SIZE_MAX;
    wire.failure = wire.nothing_more = -EAGAIN;
    stream = try_to_open(&home, &rig_error);
    assert_non_null(stream);
    wire.hooks.on_connected(wire.owner, 0);
}

/* As the loop does while the socket has something to read. */
static void go_on(void)
{
    while (owner.connected == 0 && BIO_ctrl_pending(server.out) > 0)
        wire.hooks.on_readable(wire.owner);
}

static void read_tickets(void)
{
    char room[16];
    bool is_dry;

    while (BIO_ctrl_pending(server.out) > 0)
        assert_int_equal(stream->kind->read(stream, room, sizeof room, &is_dry),
                         -EINPROGRESS);
    assert_int_equal(stream->kind->read(stream, room, sizeof room, &is_dry), -EAGAIN);
}

/* Connected, and the server has said all. */
static void connect_it(void)
{
    open_it();
    go_on();
    assert_int_equal(owner.connected, 1);
    assert_int_equal(owner.error, 0);
    read_tickets();
    wire.sent = 0;
}

/* It takes more again, or fails. */
static void go_on_writing(size_t takes, int failure)
{
    wire.takes = takes;
    wire.failure = failure;
    wire.hooks.on_writable(wire.owner);
}

/* ---- talking ---- */

#define BIG 100000
static char text[BIG];

static void fill(void)
{
    for (size_t i = 0; i < BIG; i++)
        text[i] = (char)('a' + i % 23 + i / 4099 % 3);
}

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
#define TEST(name)                                                                     \
    cmocka_unit_test_setup_teardown(name, rig_set_up_tls, rig_tear_down_tls)
    const struct CMUnitTest tests[] = {
        TEST(test_single_bytes),
        TEST(test_what_is_left_of_a_record),
        TEST(test_what_comes_with_the_handshake),
        TEST(test_a_handshake_that_waits),
        TEST(test_a_forged_record),
        TEST(test_a_send_is_cut_at_every_byte),
        TEST(test_a_send_in_pieces),
        TEST(test_answers_that_are_not_read),
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
    return cmocka_run_group_tests_name("net/stream_tls", tests, NULL, NULL);
}
