/* SPDX-License-Identifier: MIT */

/*
 * The engine of TLS between a program and a server that is OpenSSL's own.  The input says
 * what both write, how the ciphertext is cut and damaged, and when keys change or one side
 * ends.  What is told as left is what the server can read; what the engine hands out is what
 * the server wrote, from its beginning; after damage it hands out nothing that was not
 * proved.  Mode 0 begins with bytes of the input instead of a server's.
 */

#include "fuzz_input.h"
#include "net/tls_engine.h"
#include "support/tls/certificate_folder.h"
#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <shoal/errors.h>

#define STEPS_MAX 200
#define PLAIN_BYTES_MAX 200000

typedef struct world {
    shoal__tls_engine_t *engine;
    SSL *ssl;
    BIO *in, *out;                       /* of the server */
    size_t written, told, heard_there;   /* plaintext to the server */
    size_t answered, heard_here;         /* plaintext to the program */
    bool is_damaged, is_over, is_wanted; /* the stream; the talk; a handshake */
} world_t;

static SSL_CTX *server_ctx;
static shoal__tls_context_t *context;

static char byte_at(size_t at)
{
    return (char)(at * 7 + at / 251);
}

static void begin_once(void)
{
    static const shoal__tls_settings_t defaults = {.is_on = true,
                                                   .min_version = SHOAL_TLS_1_2};
    char why[SHOAL__TLS_WHY_BYTES];
    bool has_last;

    if (server_ctx)
        return;
    shoal__tls_settings_t settings = defaults;
    settings.ca_file = (char *)(uintptr_t)certificate_path("ca.crt");
    server_ctx = SSL_CTX_new(TLS_server_method());
    FUZZ_CHECK(server_ctx, "no memory");
    FUZZ_CHECK(SSL_CTX_use_certificate_chain_file(server_ctx,
                                                  certificate_path("server.crt")) == 1,
               "the certificate");
    FUZZ_CHECK(SSL_CTX_use_PrivateKey_file(server_ctx, certificate_path("server.key"),
                                           SSL_FILETYPE_PEM) == 1,
               "the key");
    context = shoal__tls_context_new(&settings);
    FUZZ_CHECK(context && shoal__tls_context_refresh(context, &has_last, why) == 0,
               "the context");
}

/* ---- the server ---- */

static void server_reads(world_t *world)
{
    char room[4096];
    int got;

    ERR_clear_error();
    while ((got = SSL_read(world->ssl, room, sizeof room)) > 0)
        for (int i = 0; i < got; i++)
            FUZZ_CHECK(room[i] == byte_at(world->heard_there++), "other bytes");
}

/* So much of the output leaves. */
static void leave(world_t *world, size_t bytes_max)
{
    shoal__bytes_t output = shoal__tls_engine_output(world->engine);
    size_t bytes = output.bytes < bytes_max ? output.bytes : bytes_max;

    if (bytes > 0)
        BIO_write(world->in, output.data, (int)bytes);
    world->told += shoal__tls_engine_sent(world->engine, bytes);
    server_reads(world);
    if (!world->is_damaged && !SSL_get_shutdown(world->ssl))
        FUZZ_CHECK(world->told == world->heard_there, "%zu told, %zu heard",
                   world->told, world->heard_there);
    FUZZ_CHECK(world->told + shoal__tls_engine_kept(world->engine) == world->written,
               "plaintext is missing");
}

static void server_writes(world_t *world, size_t bytes)
{
    char room[20000];

    if (!SSL_is_init_finished(world->ssl) || world->answered + bytes > PLAIN_BYTES_MAX)
        return;
    for (size_t i = 0; i < bytes; i++)
        room[i] = byte_at(world->answered + i);
    ERR_clear_error();
    int done = bytes > 0 ? SSL_write(world->ssl, room, (int)bytes) : 0;
    if (done > 0)
        world->answered += (size_t)done;
}

/* ---- the program ---- */

static void check_error(world_t *world, ptrdiff_t rc)
{
    if (rc == -EAGAIN)
        return;
    FUZZ_CHECK(rc == 0 || rc == SHOAL_ETLS || rc == SHOAL_ENOMEM, "%td", rc);
    FUZZ_CHECK(rc == 0 || shoal__tls_engine_text(world->engine)[0], "no words");
    world->is_over = true;
}

/* The engine looks at its input. */
static void look(world_t *world, size_t room_bytes)
{
    char room[20000];

    if (world->is_wanted) {
        int rc = shoal__tls_engine_handshake(world->engine);
        world->is_wanted = rc == -EAGAIN;
        if (rc != 0)
            check_error(world, rc);
        return;
    }
    ptrdiff_t got = shoal__tls_engine_read(world->engine, room, room_bytes);
    for (ptrdiff_t i = 0; i < got; i++)
        FUZZ_CHECK(room[i] == byte_at(world->heard_here++), "other bytes");
    FUZZ_CHECK(world->heard_here <= world->answered, "more than was written");
    if (got <= 0)
        check_error(world, got);
}

static void come(world_t *world, fuzz_input_t *input, bool is_damaging)
{
    static char room[65536];
    int got = BIO_read(world->out, room, (int)fuzz_number(input, 2) % 65535 + 1);

    if (got > 0 && is_damaging) {
        room[fuzz_number(input, 2) % (unsigned)got] ^= (char)(fuzz_byte(input) | 1);
        world->is_damaged = true;
    }
    if (got > 0)
        shoal__tls_engine_feed(world->engine, room, (size_t)got);
    look(world, fuzz_byte(input) % 8 ? sizeof room / 4 : 1);
    FUZZ_CHECK(shoal__tls_engine_keep(world->engine) == 0, "no memory");
}

static void program_writes(world_t *world, fuzz_input_t *input)
{
    static char room[3][20000];
    shoal__bytes_t parts[3];
    size_t bytes = 0;

    if (world->is_wanted || world->written > PLAIN_BYTES_MAX ||
        shoal__tls_engine_output(world->engine).bytes > 0)
        return;
    for (int i = 0; i < 3; i++) {
        parts[i] = (shoal__bytes_t){room[i], fuzz_number(input, 2) % sizeof room[i]};
        for (size_t j = 0; j < parts[i].bytes; j++)
            room[i][j] = byte_at(world->written + bytes++);
    }
    ptrdiff_t taken = shoal__tls_engine_write(world->engine, parts, 3);
    if (taken < 0) {
        check_error(world, taken);
        return;
    }
    FUZZ_CHECK((size_t)taken == bytes || (size_t)taken == SHOAL__TLS_AHEAD_BYTES,
               "%td of %zu", taken, bytes);
    world->written += (size_t)taken;
}

/* ---- the talk ---- */

static void step(world_t *world, fuzz_input_t *input)
{
    switch (fuzz_byte(input) % 10) {
    case 0:
        program_writes(world, input);
        break;
    case 1:
        server_writes(world, fuzz_number(input, 2) % 20000);
        break;
    case 2:
        leave(world, 1);
        break;
    case 3:
    case 4:
        leave(world, fuzz_number(input, 2));
        break;
    case 5:
        come(world, input, false);
        break;
    case 6:
        come(world, input, fuzz_byte(input) % 4 == 0);
        break;
    case 7:
        ERR_clear_error();
        if (SSL_is_init_finished(world->ssl) &&
            SSL_version(world->ssl) == TLS1_3_VERSION)
            SSL_key_update(world->ssl, SSL_KEY_UPDATE_REQUESTED);
        break;
    case 8:
        if (SSL_is_init_finished(world->ssl) && fuzz_byte(input) % 4 == 0)
            SSL_shutdown(world->ssl);
        break;
    default:
        leave(world, SIZE_MAX);
        come(world, input, false);
        break;
    }
}

/* Whatever bytes a server sends. */
static void begin_with_noise(world_t *world, fuzz_input_t *input)
{
    while (fuzz_left(input) > 0 && !world->is_over) {
        size_t bytes;
        char *noise = fuzz_take(input, fuzz_byte(input) + 1u, &bytes);
        shoal__tls_engine_feed(world->engine, noise, bytes);
        look(world, 100);
        FUZZ_CHECK(shoal__tls_engine_keep(world->engine) == 0, "no memory");
        free(noise);
        FUZZ_CHECK(world->is_wanted || world->is_over, "noise is no server");
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static const shoal__endpoint_t home = {.name = "localhost:1", .host = "localhost"};
    fuzz_input_t input = {data, data + bytes};
    world_t world = {.is_wanted = true};
    int error;
    uint8_t mode = fuzz_byte(&input);

    begin_once();
    world.engine = shoal__tls_engine_new(context, &home, &error);
    FUZZ_CHECK(world.engine, "%d", error);
    world.ssl = SSL_new(server_ctx);
    world.in = BIO_new(BIO_s_mem());
    world.out = BIO_new(BIO_s_mem());
    FUZZ_CHECK(world.ssl && world.in && world.out, "no memory");
    SSL_set_bio(world.ssl, world.in, world.out);
    SSL_set_accept_state(world.ssl);
    if (mode % 3 == 2)
        SSL_set_max_proto_version(world.ssl, TLS1_2_VERSION);

    look(&world, 1); /* says hello */
    if (mode % 3 == 0)
        begin_with_noise(&world, &input);
    for (int i = 0; i < STEPS_MAX && fuzz_left(&input) > 0 && !world.is_over; i++)
        step(&world, &input);
    shoal__tls_engine_end(world.engine);
    shoal__tls_engine_free(world.engine);
    SSL_free(world.ssl);
    return 0;
}
