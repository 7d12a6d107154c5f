/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "net/tls_vault.h"
#include "unit/net/tls_rig.h"

#include <fcntl.h>
#include <openssl/pem.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char copied[300];

/* The bytes of one file of the certificates become those of another: by a new file, as
 * tools that renew certificates do. */
static void put(const char *from)
{
    char command_bytes[20000], temporary[320];
    int in = open(certificate_path(from), O_RDONLY | O_CLOEXEC);
    ssize_t got = read(in, command_bytes, sizeof command_bytes);

    close(in);
    assert_true(got > 0);
    snprintf(copied, sizeof copied, "%s/copied.crt", certificate_folder());
    snprintf(temporary, sizeof temporary, "%s.new", copied);
    int out = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_int_equal(write(out, command_bytes, (size_t)got), got);
    close(out);
    assert_int_equal(rename(temporary, copied), 0);
}

static void put_text(const char *text)
{
    char temporary[320];

    snprintf(temporary, sizeof temporary, "%s.new", copied);
    int out = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_int_equal(write(out, text, strlen(text)), strlen(text));
    close(out);
    assert_int_equal(rename(temporary, copied), 0);
}

/* As the next attempt to connect does. */
static int refresh(bool *ret_has_last)
{
    return shoal__tls_context_refresh(context, ret_has_last, why);
}

static int connect_again(void)
{
    shoal__tls_engine_free(engine);
    engine = shoal__tls_engine_new(context, &home, &rig_error);
    assert_non_null(engine);
    open_server();
    return shake_hands(SIZE_MAX);
}

static void test_files_that_change(void **state)
{
    bool has_last;

    (void)state;
    put("ca.crt");
    settings.ca_file = copied;
    dial();
    assert_int_equal(shake_hands(SIZE_MAX), 0);

    put("other_ca.crt");
    assert_int_equal(connect_again(), 0); /* nobody looked */
    assert_int_equal(refresh(&has_last), 0);
    assert_int_equal(connect_again(), SHOAL_ETLS);

    put_text("rubbish"); /* the last good ones stay, and it is told once */
    assert_int_equal(refresh(&has_last), SHOAL_ETLS);
    assert_true(has_last);
    assert_non_null(strstr(why, "tls_ca_file"));
    assert_int_equal(refresh(&has_last), 0);
    assert_int_equal(connect_again(), SHOAL_ETLS);
    assert_int_equal(unlink(copied), 0);
    assert_int_equal(refresh(&has_last), SHOAL_ETLS);
    assert_non_null(strstr(why, "No such file"));

    put("ca.crt");
    assert_int_equal(refresh(&has_last), 0);
    assert_int_equal(connect_again(), 0);
}

static void test_files_that_were_never_good(void **state)
{
    bool has_last;

    (void)state;
    put_text("rubbish");
    settings.ca_file = copied;
    context = shoal__tls_context_new(&settings);
    for (int i = 0; i < 2; i++) { /* each attempt tries */
        assert_int_equal(refresh(&has_last), SHOAL_ETLS);
        assert_false(has_last);
    }
    assert_null(shoal__tls_engine_new(context, &home, &rig_error));
    put("ca.crt");
    assert_int_equal(refresh(&has_last), 0);
    assert_int_equal(connect_again(), 0);
}

static void test_reload_on_call(void **state)
{
    bool has_last;

    (void)state;
    put("ca.crt");
    settings.ca_file = copied;
    dial();
    put_text("rubbish");
    assert_int_equal(shoal__tls_context_reload(context, why), SHOAL_ETLS);
    assert_int_equal(connect_again(), 0);
    assert_int_equal(refresh(&has_last), 0); /* it is told once */
    put("other_ca.crt");
    assert_int_equal(shoal__tls_context_reload(context, why), 0);
    assert_int_equal(connect_again(), SHOAL_ETLS);
}

/* Connections go on with what they began with. */
static void test_a_connection_outlives_what_was_read(void **state)
{
    const shoal__bytes_t hello = {"hello", 5};

    (void)state;
    dial();
    assert_int_equal(shoal__tls_context_reload(context, why), 0);
    assert_int_equal(shake_hands(SIZE_MAX), 0);
    assert_int_equal(shoal__tls_context_reload(context, why), 0);
    assert_int_equal(shoal__tls_engine_write(engine, &hello, 1), 5);
    assert_int_equal(to_server(SIZE_MAX), 5);
}

static void check_reason(const char *part)
{
    bool has_last;

    context = shoal__tls_context_new(&settings);
    assert_int_equal(refresh(&has_last), SHOAL_ETLS);
    if (!strstr(why, part))
        fail_msg("'%s' is not in '%s'", part, why);
    shoal__tls_context_free(context);
    context = NULL;
}

static void test_reasons(void **state)
{
    (void)state;
    settings.ca_file = (char *)(uintptr_t) "/no/such/file";
    check_reason("tls_ca_file /no/such/file: No such file or directory");
    trust("ca.crt");
    settings.cert_file = (char *)(uintptr_t) "/no/such/file";
    check_reason("tls_cert_file /no/such/file: No such file or directory");
    settings.cert_file = (char *)(uintptr_t)certificate_path("client.crt");
    settings.key_file = (char *)(uintptr_t)certificate_path("server.key");
    check_reason("key values mismatch");
    settings.key_file = (char *)(uintptr_t) "/no/such/key";
    check_reason("tls_key_file /no/such/key: No such file or directory");
    settings.key_file = NULL; /* it should be in the file of the certificate */
    check_reason("tls_key_file");
    settings.cert_file = NULL;
    settings.ciphers = (char *)(uintptr_t) "NO-SUCH";
    check_reason("tls_ciphers NO-SUCH: no cipher match");
    settings.ciphers = NULL;
    settings.ciphersuites = (char *)(uintptr_t) "NO-SUCH";
    check_reason("tls_ciphersuites NO-SUCH: ");
}

static void test_a_folder_of_authorities(void **state)
{
    char link_name[320];

    (void)state;
    settings.ca_file = NULL;
    settings.ca_dir = (char *)(uintptr_t)certificate_folder();
    dial();
    assert_int_equal(shake_hands(SIZE_MAX), SHOAL_ETLS);
    BIO *file = BIO_new_file(certificate_path("ca.crt"), "r");
    X509 *authority = PEM_read_bio_X509(file, NULL, NULL, NULL);
    assert_non_null(authority);
    snprintf(link_name, sizeof link_name, "%s/%08lx.0", certificate_folder(),
             X509_subject_name_hash(authority));
    X509_free(authority);
    BIO_free(file);
    assert_int_equal(symlink(certificate_path("ca.crt"), link_name), 0);
    assert_int_equal(connect_again(), 0);
    unlink(link_name);
}

/* Nobody has memory to begin with. */
static void test_no_memory(void **state)
{
    bool has_last;

    (void)state;
    for (size_t allowed = 0; allowed < 2; allowed++) {
        shoal__test_fail_alloc_after(allowed);
        assert_null(shoal__tls_context_new(&settings));
        shoal__test_fail_alloc_never();
    }
    context = shoal__tls_context_new(&settings);
    assert_non_null(context);
    for (int i = 0; i < 2; i++) { /* each attempt tries */
        shoal__test_fail_alloc_after(0);
        assert_int_equal(refresh(&has_last), SHOAL_ENOMEM);
        shoal__test_fail_alloc_never();
        assert_string_equal(why, "no memory");
        assert_false(has_last);
    }
    assert_int_equal(refresh(&has_last), 0);
    shoal__test_fail_alloc_after(0);
    assert_int_equal(shoal__tls_context_reload(context, why), SHOAL_ENOMEM);
    shoal__test_fail_alloc_never();
    assert_int_equal(connect_again(), 0);
}

/* ---- sessions ---- */

/* Connect, and take the tickets that come. */
static bool is_resumed(void)
{
    char room[16];

    dial();
    assert_int_equal(shake_hands(SIZE_MAX), 0);
    assert_int_equal(hear(room, sizeof room, SIZE_MAX), -EAGAIN);
    assert_int_equal(SSL_session_reused(server.ssl),
                     shoal__tls_engine_is_resumed(engine));
    return shoal__tls_engine_is_resumed(engine);
}

static void test_sessions_are_resumed(void **state)
{
    static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        serve("server", versions[i]);
        assert_false(is_resumed());
        assert_true(is_resumed());
        assert_int_equal(shoal__tls_context_reload(context, why), 0);
        assert_false(is_resumed()); /* another vault may trust others */
        shoal__tls_engine_free(engine);
        engine = NULL;
        shoal__tls_context_free(context);
        context = NULL;
    }
}

/* A ticket is shown once: two connections would be one to those who listen. */
static void test_a_ticket_is_used_once(void **state)
{
    (void)state;
    serve("server", TLS1_3_VERSION);
    SSL_CTX_set_num_tickets(server.ctx, 1);
    assert_false(is_resumed());
    dial(); /* takes the ticket, and goes no further */
    shoal__tls_engine_t *first = engine;
    engine = NULL;
    assert_false(is_resumed());
    shoal__tls_engine_free(first);
}

/* Servers that know their own tickets no more get full handshakes, and after some of them
 * no more tickets. */
static void test_tickets_that_are_refused(void **state)
{
    (void)state;
    serve("server", TLS1_3_VERSION);
    assert_false(is_resumed());
    for (int i = 0; i < 5; i++) {
        serve("server", TLS1_3_VERSION); /* new keys */
        assert_false(is_resumed());
    }
    assert_false(is_resumed()); /* it would work now */

    shoal__tls_engine_free(engine);
    engine = NULL;
    shoal__tls_context_free(context);
    context = NULL;
    assert_false(is_resumed());
    serve("server", TLS1_3_VERSION);
    assert_false(is_resumed()); /* one refusal is a restart */
    assert_true(is_resumed());
}

static int (*kept_ticket)(SSL *, SSL_SESSION *);
static long age_s;

static int on_old_ticket(SSL *ssl, SSL_SESSION *ticket)
{
    SSL_SESSION_set_time(ticket, SSL_SESSION_get_time(ticket) - age_s);
    return kept_ticket(ssl, ticket);
}

/* Connect; the tickets that come are this old. */
static bool is_resumed_by_old(long seconds)
{
    bool has_last;

    age_s = 0;
    if (!context) {
        context = shoal__tls_context_new(&settings);
        assert_int_equal(refresh(&has_last), 0);
        shoal__tls_vault_t *vault = shoal__tls_context_vault(context);
        SSL_CTX *ctx = shoal__tls_vault_ctx(vault);
        kept_ticket = SSL_CTX_sess_get_new_cb(ctx);
        SSL_CTX_sess_set_new_cb(ctx, on_old_ticket);
        shoal__tls_vault_drop(vault);
    }
    age_s = seconds;
    return is_resumed();
}

/* Tickets that are too old are not shown, and say nothing of the server: it gets the next
 * one. */
static void check_old_tickets(int version, bool is_by_number, long life_s)
{
    serve("server", version);
    SSL_CTX_set_timeout(server.ctx, life_s);
    if (is_by_number)
        SSL_CTX_set_options(server.ctx, SSL_OP_NO_TICKET);
    for (int i = 0; i < 6; i++)
        assert_false(is_resumed_by_old(life_s));
    for (int i = 0; i < 6; i++) /* a clock was set back */
        assert_false(is_resumed_by_old(-10));
    assert_false(is_resumed_by_old(life_s - 100));
    assert_true(is_resumed_by_old(0));
    shoal__tls_engine_free(engine);
    engine = NULL;
    shoal__tls_context_free(context);
    context = NULL;
}

static void test_tickets_that_are_too_old(void **state)
{
    (void)state;
    check_old_tickets(TLS1_3_VERSION, false, 1000);
    check_old_tickets(TLS1_2_VERSION, false, 1000);
    /* The server keeps the session, and does not say for how long. */
    check_old_tickets(TLS1_2_VERSION, true, SSL_get_default_timeout(server.ssl));
}

static void test_many_tickets(void **state)
{
    (void)state;
    serve("server", TLS1_3_VERSION);
    SSL_CTX_set_num_tickets(server.ctx, 12); /* more than are kept */
    for (int i = 0; i < 6; i++)
        assert_int_equal(is_resumed(), i > 0);
    /* After a refusal the others are not tried. */
    serve("server", TLS1_3_VERSION);
    assert_false(is_resumed());
    assert_true(is_resumed());
}

/* Without memory, or room for its name, a server has no tickets. */
static void test_no_room_for_tickets(void **state)
{
    char name[400], room[16];
    shoal__endpoint_t far = home;

    (void)state;
    memset(name, 'x', sizeof name);
    name[sizeof name - 1] = '\0';
    far.name = name;
    dial();
    for (int i = 0; i < 2; i++) {
        shoal__tls_engine_free(engine);
        engine = shoal__tls_engine_new(context, &far, &rig_error);
        assert_non_null(engine);
        open_server();
        assert_int_equal(shake_hands(SIZE_MAX), 0);
        assert_int_equal(hear(room, sizeof room, SIZE_MAX), -EAGAIN);
        assert_false(shoal__tls_engine_is_resumed(engine));
    }
    for (int i = 0; i < 2; i++) {
        dial();
        assert_int_equal(shake_hands(SIZE_MAX), 0);
        shoal__test_fail_alloc_after(0);
        assert_int_equal(hear(room, sizeof room, SIZE_MAX), -EAGAIN);
        shoal__test_fail_alloc_never();
        assert_false(shoal__tls_engine_is_resumed(engine));
    }
}

/* The other name is another server. */
static void test_tickets_belong_to_a_server(void **state)
{
    const shoal__endpoint_t other = {.name = "localhost:2", .host = "localhost"};

    (void)state;
    assert_false(is_resumed());
    shoal__tls_engine_free(engine);
    engine = shoal__tls_engine_new(context, &other, &rig_error);
    open_server();
    assert_int_equal(shake_hands(SIZE_MAX), 0);
    assert_false(shoal__tls_engine_is_resumed(engine));
}

int main(void)
{
#define TEST(name)                                                                     \
    cmocka_unit_test_setup_teardown(name, rig_set_up_tls, rig_tear_down_tls)
    const struct CMUnitTest tests[] = {
        TEST(test_files_that_change),
        TEST(test_files_that_were_never_good),
        TEST(test_reload_on_call),
        TEST(test_a_connection_outlives_what_was_read),
        TEST(test_reasons),
        TEST(test_no_memory),
        TEST(test_sessions_are_resumed),
        TEST(test_a_ticket_is_used_once),
        TEST(test_tickets_that_are_refused),
        TEST(test_tickets_that_are_too_old),
        TEST(test_many_tickets),
        TEST(test_no_room_for_tickets),
        TEST(test_a_folder_of_authorities),
        TEST(test_tickets_belong_to_a_server),
    };
    return cmocka_run_group_tests_name("net/tls_context", tests, NULL, NULL);
}
