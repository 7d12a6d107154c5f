/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_CORE_GREETING_SCRIPTS_H
#define TESTS_UNIT_CORE_GREETING_SCRIPTS_H

/* What is said and heard in a greeting, row by row: the table of test_greeting.c. */

#include "unit/core/greeting/greeting_rig.h"

#define EXCHANGES_MAX 4
#define SHAPE "the answer has an unexpected shape"
#define HIDDEN "refused, in words that may repeat the password"

#define DETECT SHOAL_INTEGRITY_DETECT
#define STRICT SHOAL_INTEGRITY_STRICT
#define NONCE "7b00000000000000" /* the digits of 0xb7, see fill_nonces() */

/* Fields of the greeting's configuration and of its target. */
typedef struct setting {
    int protocol;
    const char *user, *password;
    int database;
    const char *client_name;
    shoal_integrity_t integrity;
    bool is_settling, needs_primary, is_sentinel, finds_mode;
} setting_t;

/* clang-format off */
static const struct script {
    const char *name;
    shoal__greeting_style_t style;
    setting_t setting;
    struct {
        const char *says; /* what is written */
        const char *hears[5]; /* the answers to it, in order */
    } exchanges[EXCHANGES_MAX];
    shoal__greeting_verdict_t verdict; /* the verdict on the last answer */
    int protocol; /* if it is DONE */
    int status; /* if it is FAILED */
    const char *detail; /* if it is FAILED: the whole text */
} scripts[] = {
    {"RESP3, nothing configured", FULL, {.protocol = 3},
     {{"HELLO 3", {"%3"}}, {SETINFO, {"+OK", "+OK"}}}, DONE, 3, 0, NULL},
    {"HELLO answered as an array", FULL, {.protocol = 3},
     {{"HELLO 3", {"*3"}}, {SETINFO, {"+OK", "+OK"}}}, DONE, 3, 0, NULL},
    {"RESP3, everything configured", FULL, {3, .user = "ann", .password = SECRET, .database = 5, .client_name = "me"},
     {{"HELLO 3 AUTH ann " SECRET, {"%3"}},
      {"SELECT 5|CLIENT SETNAME me|" SETINFO, {"+OK", "+OK", "+OK", "+OK"}}},
     DONE, 3, 0, NULL},
    {"password only: the default user", FULL, {.protocol = 3, .password = SECRET},
     {{"HELLO 3 AUTH default " SECRET, {"%3"}}, {SETINFO, {"+OK", "+OK"}}},
     DONE, 3, 0, NULL},
    {"RESP2", FULL, {.protocol = 2}, {{SETINFO, {"+OK", "+OK"}}}, DONE, 2, 0, NULL},
    {"RESP2 with credentials", FULL, {2, .user = "ann", .password = SECRET},
     {{"AUTH ann " SECRET, {"+OK"}}, {SETINFO, {"+OK", "+OK"}}}, DONE, 2, 0, NULL},
    {"bare, nothing to say", BARE, {.protocol = 3, .client_name = "me"},
     {{"PING", {"+PONG"}}}, DONE, 2, 0, NULL},
    {"bare, PING refused", BARE, {.protocol = 3},
     {{"PING", {"-ERR unknown command"}}}, DONE, 2, 0, NULL},
    {"bare, credentials asked for", BARE, {.protocol = 3},
     {{"PING", {"-NOAUTH Authentication required."}}},
     FAILED, 0, SHOAL_EAUTH, "the server asks for credentials"},
    {"a test, passed", TEST, {.protocol = 3, .client_name = "me"},
     {{"PING", {"+PONG"}}},
     FAILED, 0, SHOAL_ECONN, "it hung up on HELLO: asking once more"},
    {"a test, credentials asked for", TEST, {.protocol = 3},
     {{"PING", {"-NOAUTH Authentication required."}}},
     FAILED, 0, SHOAL_EAUTH, "the server asks for credentials"},
    {"bare, with credentials and database", BARE,
     {.protocol = 3, .password = SECRET, .database = 1, .client_name = "me"},
     {{"AUTH " SECRET, {"+OK"}}, {"SELECT 1", {"+OK"}}}, DONE, 2, 0, NULL},
    {"the largest database", BARE, {.protocol = 2, .database = INT32_MAX},
     {{"SELECT 2147483647", {"+OK"}}}, DONE, 2, 0, NULL},

    /* falling back */
    {"HELLO unknown", FULL, {.protocol = 3},
     {{"HELLO 3", {"-ERR unknown command 'HELLO'"}}, {SETINFO, {"-ERR", "-ERR"}}},
     DONE, 2, 0, NULL},
    {"HELLO unknown, with credentials", FULL, {.protocol = 3, .password = SECRET},
     {{"HELLO 3 AUTH default " SECRET,
       {"-ERR unknown command `HELLO`, with args: `" SECRET "`"}},
      {"AUTH " SECRET, {"+OK"}}, {SETINFO, {"+OK", "+OK"}}}, DONE, 2, 0, NULL},
    {"protocol 3 not supported", FULL, {.protocol = 3},
     {{"HELLO 3", {"-NOPROTO no"}}, {SETINFO, {"+OK", "+OK"}}}, DONE, 2, 0, NULL},
    {"HELLO not permitted", FULL, {.protocol = 3, .password = SECRET},
     {{"HELLO 3 AUTH default " SECRET, {"-NOPERM this user has no permissions"}},
      {"AUTH " SECRET, {"+OK"}}, {SETINFO, {"+OK", "+OK"}}}, DONE, 2, 0, NULL},
    {"HELLO without arguments", FULL, {.protocol = 3},
     {{"HELLO 3", {"-ERR wrong number"}}, {SETINFO, {"+OK", "+OK"}}}, DONE, 2, 0, NULL},
    {"SETINFO may fail after SELECT", FULL, {.protocol = 2, .database = 1},
     {{"SELECT 1|" SETINFO, {"+OK", "-ERR no", "-ERR no"}}}, DONE, 2, 0, NULL},
    {"SETNAME and SETINFO may fail", FULL, {.protocol = 3, .client_name = "me"},
     {{"HELLO 3", {"%3"}},
      {"CLIENT SETNAME me|" SETINFO, {"-ERR no", "-ERR unknown", "-NOPERM"}}},
     DONE, 3, 0, NULL},

    /* credentials */
    {"wrong password", FULL, {.protocol = 3, .password = SECRET},
     {{"HELLO 3 AUTH default " SECRET, {"-WRONGPASS invalid username-password pair"}}},
     FAILED, 0, SHOAL_EAUTH, "HELLO: WRONGPASS invalid username-password pair"},
    {"wrong password, RESP2", FULL, {.protocol = 2, .password = SECRET},
     {{"AUTH " SECRET, {"-WRONGPASS invalid username-password pair"}}},
     FAILED, 0, SHOAL_EAUTH, "AUTH: WRONGPASS invalid username-password pair"},
    {"no password where one is asked for", FULL, {.protocol = 3},
     {{"HELLO 3", {"-NOAUTH HELLO must be called after authentication"}}},
     FAILED, 0, SHOAL_EAUTH, "the server asks for credentials"},
    {"the same, seen at SELECT", BARE, {.protocol = 2, .database = 1},
     {{"SELECT 1", {"-NOAUTH Authentication required."}}},
     FAILED, 0, SHOAL_EAUTH, "the server asks for credentials"},
    {"the same, seen at SETINFO", FULL, {.protocol = 2},
     {{SETINFO, {"-NOAUTH Authentication required."}}},
     FAILED, 0, SHOAL_EAUTH, "the server asks for credentials"},
    {"NOAUTH in spite of a password", FULL, {.protocol = 3, .password = SECRET},
     {{"HELLO 3 AUTH default " SECRET, {"-NOAUTH no"}}},
     FAILED, 0, SHOAL_EAUTH, "HELLO: NOAUTH no"},
    {"a password where none is set", FULL, {.protocol = 2, .password = SECRET},
     {{"AUTH " SECRET, {"-ERR Client sent AUTH, but no password is set"}}},
     FAILED, 0, SHOAL_EAUTH, "AUTH: ERR Client sent AUTH, but no password is set"},
    {"the same, newer words", FULL, {.protocol = 3, .password = SECRET},
     {{"HELLO 3 AUTH default " SECRET, {"-ERR AUTH <password> called without any"}}},
     FAILED, 0, SHOAL_EAUTH, "HELLO: ERR AUTH <password> called without any"},
    {"AUTH unknown", BARE, {.protocol = 2, .password = SECRET},
     {{"AUTH " SECRET, {"-ERR unknown command 'AUTH'"}}},
     FAILED, 0, SHOAL_EAUTH, "AUTH: ERR unknown command 'AUTH'"},
    {"a user where there are none", BARE, {2, .user = "u", .password = SECRET},
     {{"AUTH u " SECRET, {"-ERR wrong number of arguments for 'auth' command"}}},
     FAILED, 0, SHOAL_EAUTH, "AUTH: ERR wrong number of arguments for 'auth' command"},
    {"the answer repeats the password", FULL, {.protocol = 3, .password = SECRET},
     {{"HELLO 3 AUTH default " SECRET, {"-WRONGPASS default:" SECRET}}},
     FAILED, 0, SHOAL_EAUTH, "HELLO: " HIDDEN},
    {"or its beginning", FULL, {.protocol = 2, .password = SECRET},
     {{"AUTH " SECRET, {"-ERR no such word: s3cr"}}},
     FAILED, 0, SHOAL_ECONN, "AUTH: " HIDDEN},
    {"a short password", FULL, {.protocol = 2, .password = "xy"},
     {{"AUTH xy", {"-WRONGPASS xy"}}}, FAILED, 0, SHOAL_EAUTH, "AUTH: " HIDDEN},
    {"a password with control characters", FULL, {.protocol = 2, .password = "a\nb"},
     {{"AUTH a\nb", {"-WRONGPASS a b"}}}, FAILED, 0, SHOAL_EAUTH, "AUTH: " HIDDEN},

    /* other refusals */
    {"too many clients", FULL, {.protocol = 3},
     {{"HELLO 3", {"-ERR max number of clients reached"}}},
     FAILED, 0, SHOAL_ECONN, "HELLO: ERR max number of clients reached"},
    {"too many clients, said to SETINFO", FULL, {.protocol = 2},
     {{SETINFO, {"-ERR max number of clients reached"}}},
     FAILED, 0, SHOAL_ECONN, "CLIENT: ERR max number of clients reached"},
    {"protected mode", FULL, {.protocol = 3},
     {{"HELLO 3", {"-DENIED Redis is running in protected mode"}}},
     FAILED, 0, SHOAL_ECONN, "HELLO: DENIED Redis is running in protected mode"},
    {"loading", FULL, {.protocol = 2, .password = SECRET},
     {{"AUTH " SECRET, {"-LOADING data"}}},
     FAILED, 0, SHOAL_ECONN, "AUTH: LOADING data"},
    {"no such database", FULL, {.protocol = 3, .database = 99},
     {{"HELLO 3", {"%3"}}, {"SELECT 99|" SETINFO, {"-ERR DB index is out of range"}}},
     FAILED, 0, SHOAL_ECONN, "SELECT: ERR DB index is out of range"},

    /* nonsense */
    {"HELLO agrees on another protocol", FULL, {.protocol = 3},
     {{"HELLO 3", {"%2"}}}, FAILED, 0, SHOAL_EDESYNC, "HELLO: " SHAPE},
    {"HELLO answered with OK", FULL, {.protocol = 3},
     {{"HELLO 3", {"+OK"}}}, FAILED, 0, SHOAL_EDESYNC, "HELLO: " SHAPE},
    {"AUTH answered with a number", BARE, {.protocol = 2, .password = SECRET},
     {{"AUTH " SECRET, {":1"}}}, FAILED, 0, SHOAL_EDESYNC, "AUTH: " SHAPE},
    {"AUTH answered with another status", BARE, {.protocol = 2, .password = SECRET},
     {{"AUTH " SECRET, {"+QUEUED"}}}, FAILED, 0, SHOAL_EDESYNC, "AUTH: " SHAPE},
    {"SELECT answered with nil", BARE, {.protocol = 2, .database = 1},
     {{"SELECT 1", {"_"}}}, FAILED, 0, SHOAL_EDESYNC, "SELECT: " SHAPE},
    {"SETINFO answered with a map", FULL, {.protocol = 2},
     {{SETINFO, {"+OK", "%3"}}}, FAILED, 0, SHOAL_EDESYNC, "CLIENT: " SHAPE},
    {"PING answered with OK", BARE, {.protocol = 2},
     {{"PING", {"+OK"}}}, FAILED, 0, SHOAL_EDESYNC, "PING: " SHAPE},

    /* the connection's identity, so that its successor can end it */
    {"identity", FULL, {.protocol = 2, .is_settling = true},
     {{SETINFO "|CLIENT INFO|INFO server", {"+OK", "+OK", IDENTITY, PROCESS}}},
     DONE, 2, 0, NULL},
    {"identity is not told", FULL, {.protocol = 2, .is_settling = true},
     {{SETINFO "|CLIENT INFO|INFO server", {"+OK", "+OK", "-NOPERM", "-NOPERM"}}},
     DONE, 2, 0, NULL},
    {"identity is a number", FULL, {.protocol = 2, .is_settling = true},
     {{SETINFO "|CLIENT INFO|INFO server", {"+OK", "+OK", ":1"}}},
     FAILED, 0, SHOAL_EDESYNC, "CLIENT: " SHAPE},
    {"INFO answered with a number", FULL, {.protocol = 2, .is_settling = true},
     {{SETINFO "|CLIENT INFO|INFO server", {"+OK", "+OK", IDENTITY, ":1"}}},
     FAILED, 0, SHOAL_EDESYNC, "INFO: " SHAPE},
    {"a bare greeting asks for no identity", BARE, {.protocol = 2, .is_settling = true},
     {{"PING", {"+PONG"}}}, DONE, 2, 0, NULL},

    /* what is the server? */
    {"HELLO says it", FULL, {.protocol = 3, .finds_mode = true},
     {{"HELLO 3", {"%3c"}}, {SETINFO, {"+OK", "+OK"}}}, DONE, 3, 0, NULL},
    {"HELLO names a sentinel", FULL, {.protocol = 3, .finds_mode = true},
     {{"HELLO 3", {"%3s"}}}, FAILED, 0, SHOAL_ECONN,
     "a sentinel: it has no keys (redis+sentinel:// is for the primary that it knows)"},
    {"a sentinel, which is wanted", FULL, {.protocol = 3},
     {{"HELLO 3", {"%3s"}}, {SETINFO, {"+OK", "+OK"}}}, DONE, 3, 0, NULL},
    {"INFO says it", FULL, {.protocol = 2, .finds_mode = true},
     {{SETINFO "|INFO server", {"+OK", "+OK", "$redis_mode:cluster\r\n"}}},
     DONE, 2, 0, NULL},
    {"INFO is forbidden", FULL, {.protocol = 2, .finds_mode = true},
     {{SETINFO "|INFO server", {"+OK", "+OK", "-NOPERM"}}}, DONE, 2, 0, NULL},
    {"INFO names a sentinel", FULL, {.protocol = 2, .finds_mode = true},
     {{SETINFO "|INFO server", {"+OK", "+OK", "$redis_mode:sentinel\r\n"}}},
     FAILED, 0, SHOAL_ECONN,
     "a sentinel: it has no keys (redis+sentinel:// is for the primary that it knows)"},
    {"INFO is asked once", FULL, {.protocol = 2, .is_settling = true, .finds_mode = true},
     {{SETINFO "|CLIENT INFO|INFO server", {"+OK", "+OK", IDENTITY, PROCESS}}},
     DONE, 2, 0, NULL},

    /* are we in step? */
    {"ECHO", FULL, {.protocol = 2, .integrity = DETECT},
     {{SETINFO "|ECHO " NONCE, {"+OK", "+OK", "$" NONCE}}}, DONE, 2, 0, NULL},
    {"ECHO is forbidden", FULL, {.protocol = 2, .integrity = DETECT},
     {{SETINFO "|ECHO " NONCE, {"+OK", "+OK", "-NOPERM"}}}, DONE, 2, 0, NULL},
    {"ECHO of something else", FULL, {.protocol = 2, .integrity = DETECT},
     {{SETINFO "|ECHO " NONCE, {"+OK", "+OK", "$0000000000000000"}}},
     FAILED, 0, SHOAL_EDESYNC, "ECHO: " SHAPE},
    {"ECHO cut short", FULL, {.protocol = 2, .integrity = DETECT},
     {{SETINFO "|ECHO " NONCE, {"+OK", "+OK", "$7b1"}}},
     FAILED, 0, SHOAL_EDESYNC, "ECHO: " SHAPE},
    {"ECHO as a status", FULL, {.protocol = 2, .integrity = DETECT},
     {{SETINFO "|ECHO " NONCE, {"+OK", "+OK", "+" NONCE}}},
     FAILED, 0, SHOAL_EDESYNC, "ECHO: " SHAPE},
    {"a bare greeting does without", BARE, {.protocol = 2, .integrity = DETECT},
     {{"PING", {"+PONG"}}}, DONE, 2, 0, NULL},
    {"unless it must not", BARE, {.protocol = 2, .integrity = STRICT},
     {{"ECHO " NONCE, {"$" NONCE}}}, DONE, 2, 0, NULL},
    {"ECHO is needed and forbidden", FULL, {.protocol = 2, .integrity = STRICT},
     {{SETINFO "|ECHO " NONCE, {"+OK", "+OK", "-NOPERM no"}}},
     FAILED, 0, SHOAL_ECONN, "ECHO: NOPERM no"},
    /* is it the primary? */
    {"a primary", FULL, {.protocol = 2, .needs_primary = true},
     {{SETINFO "|ROLE", {"+OK", "+OK", "@master"}}}, DONE, 2, 0, NULL},
    {"a bare greeting asks, too", BARE, {.protocol = 2, .needs_primary = true},
     {{"ROLE", {"@master"}}}, DONE, 2, 0, NULL},
    {"a replica", FULL, {.protocol = 2, .needs_primary = true},
     {{SETINFO "|ROLE", {"+OK", "+OK", "@slave"}}},
     FAILED, 0, SHOAL_ECONN, "ROLE: the server is a replica, no primary"},
    {"a sentinel in its place", FULL, {.protocol = 2, .needs_primary = true},
     {{SETINFO "|ROLE", {"+OK", "+OK", "@sentinel"}}},
     FAILED, 0, SHOAL_ECONN, "ROLE: the answer is not that of a primary"},
    {"ROLE is forbidden", FULL, {.protocol = 2, .needs_primary = true},
     {{SETINFO "|ROLE", {"+OK", "+OK", "-NOPERM no"}}},
     FAILED, 0, SHOAL_ECONN, "ROLE: NOPERM no"},
    {"a role of its own", FULL, {.protocol = 2, .needs_primary = true},
     {{SETINFO "|ROLE", {"+OK", "+OK", "@king"}}},
     FAILED, 0, SHOAL_ECONN, "ROLE: the answer is not that of a primary"},
    {"a role without an array", FULL, {.protocol = 2, .needs_primary = true},
     {{SETINFO "|ROLE", {"+OK", "+OK", "$master"}}},
     FAILED, 0, SHOAL_ECONN, "ROLE: the answer is not that of a primary"},

    /* a sentinel */
    {"events", FULL, {.protocol = 3, .is_sentinel = true},
     {{"HELLO 3", {"%3"}}, {SETINFO "|SUBSCRIBE +switch-master", {"+OK", "+OK", ">subscribe"}}},
     DONE, 3, 0, NULL},
    {"events are forbidden", FULL, {.protocol = 3, .is_sentinel = true},
     {{"HELLO 3", {"%3"}}, {SETINFO "|SUBSCRIBE +switch-master", {"+OK", "+OK", "-NOPERM no"}}},
     DONE, 3, 0, NULL},
    {"events are answered as no push", FULL, {.protocol = 3, .is_sentinel = true},
     {{"HELLO 3", {"%3"}}, {SETINFO "|SUBSCRIBE +switch-master", {"+OK", "+OK", "@subscribe"}}},
     FAILED, 0, SHOAL_EDESYNC, "SUBSCRIBE: " SHAPE},
    {"RESP2 has no pushes", FULL, {.protocol = 2, .is_sentinel = true},
     {{SETINFO, {"+OK", "+OK"}}}, DONE, 2, 0, NULL},

    {"control characters are escaped", FULL, {.protocol = 3},
     {{"HELLO 3", {"-ERR a\r\nb\x1b[2J\xff"}}},
     FAILED, 0, SHOAL_ECONN, "HELLO: ERR a\\x0d\\x0ab\\x1b[2J\\xff"},
};
/* clang-format on */

#endif
