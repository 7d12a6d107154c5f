/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "core/scan_rule.h"
#include "resp/key_slot.h"
#include <shoal/errors.h>
#include <stdio.h>
#include <string.h>

static void page(shoal__scan_rule_t *rule, const char *cursor, uint64_t process)
{
    assert_true(
        shoal__scan_rule_page(rule, (shoal__bytes_t){cursor, strlen(cursor)}, process));
}

static void check_page(const shoal__scan_rule_t *rule, const char *node,
                       const char *cursor)
{
    assert_int_equal(rule->step, SHOAL__SCAN_PAGE);
    assert_string_equal(rule->cursor, cursor);
    if (node)
        assert_string_equal(shoal__scan_rule_node(rule), node);
    else
        assert_null(shoal__scan_rule_node(rule));
}

/* ---- one server ---- */

static void test_one_server(void **state)
{
    shoal__scan_rule_t rule;
    (void)state;

    assert_int_equal(shoal__scan_rule_init(&rule, false), 0);
    check_page(&rule, NULL, "0");
    page(&rule, "7", 1);
    check_page(&rule, NULL, "7");
    shoal__scan_rule_failed(&rule); /* the same again */
    check_page(&rule, NULL, "7");
    page(&rule, "18446744073709551615", 1);
    check_page(&rule, NULL, "18446744073709551615");
    page(&rule, "0", 1);
    assert_int_equal(rule.step, SHOAL__SCAN_OVER);
    shoal__scan_rule_release(&rule);
}

static void test_a_cursor_belongs_to_a_process(void **state)
{
    shoal__scan_rule_t rule;
    (void)state;

    assert_int_equal(shoal__scan_rule_init(&rule, false), 0);
    page(&rule, "7", 1);
    page(&rule, "9", 2); /* of another process, for the cursor 7 */
    check_page(&rule, NULL, "0");
    page(&rule, "5", 2);
    page(&rule, "0", 3); /* the end of nothing that we began */
    check_page(&rule, NULL, "0");
    page(&rule, "0", 4);
    assert_int_equal(rule.step, SHOAL__SCAN_OVER);
    shoal__scan_rule_release(&rule);
}

static void test_what_is_no_cursor(void **state)
{
    static const char *const bad[] = {"", "1 2", "184467440737095516150"};
    shoal__scan_rule_t rule;
    (void)state;

    assert_int_equal(shoal__scan_rule_init(&rule, false), 0);
    page(&rule, "7", 1);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_false(
            shoal__scan_rule_page(&rule, (shoal__bytes_t){bad[i], strlen(bad[i])}, 1));
        check_page(&rule, NULL, "7");
    }
    shoal__scan_rule_release(&rule);
}

/* ---- a cluster ---- */

#define HEAD(id, port, flags, epoch)                                                   \
    id " 127.0.0.1:" #port "@1 " flags " - 0 0 " #epoch " connected "

/* What nodes say, one after the other; then the step is this, at this node or slot.  "": the
 * node does not say a word. */
typedef struct look {
    const char *a, *b, *c;
    shoal__scan_step_t step;
    const char *node; /* PAGE */
    unsigned slot;    /* FIND, LOST */
} look_t;

static void hear(shoal__scan_rule_t *rule, const char *name, const char *said)
{
    if (said)
        assert_int_equal(
            shoal__scan_rule_hear(rule, name, (shoal__bytes_t){said, strlen(said)}), 0);
}

static void look(shoal__scan_rule_t *rule, const look_t *seen)
{
    assert_int_equal(rule->step, SHOAL__SCAN_LOOK);
    shoal__scan_rule_listen(rule);
    hear(rule, "a:1", seen->a);
    hear(rule, "b:2", seen->b);
    hear(rule, "c:3", seen->c);
    shoal__scan_rule_heard(rule);
    assert_int_equal(rule->step, seen->step);
    if (seen->step == SHOAL__SCAN_PAGE)
        check_page(rule, seen->node, "0");
    if (seen->step == SHOAL__SCAN_FIND)
        assert_int_equal(rule->slot, seen->slot);
}

/* Each node has one page. */
static void scan_all(shoal__scan_rule_t *rule, const char *names)
{
    for (const char *at = names; *at; at++) {
        assert_int_equal(rule->step, SHOAL__SCAN_PAGE);
        assert_int_equal(shoal__scan_rule_node(rule)[0], *at);
        page(rule, "0", (uint64_t)*at);
    }
}

#define A_OLD HEAD("a", 1, "myself,master", 1) "0-9 11\n"
#define B_OLD HEAD("b", 2, "myself,master", 2) "10\n"
#define BOTH .a = A_OLD, .b = B_OLD

static void begin(shoal__scan_rule_t *rule)
{
    assert_int_equal(shoal__scan_rule_init(rule, true), 0);
    look(rule, &(look_t){BOTH, .step = SHOAL__SCAN_PAGE, .node = "a:1"});
}

/* What nodes say when both were scanned, and which of them are scanned again. */
static void test_what_is_scanned_again(void **state)
{
    static const struct {
        const char *a, *b, *c, *again;
    } rows[] = {
        /* The same. */
        {A_OLD, B_OLD, NULL, ""},
        /* A slot went from a to b; and all to a node that is new. */
        {HEAD("a", 1, "myself,master", 1) "0-9\n", //
         HEAD("b", 2, "myself,master", 2) "10-11\n", NULL, "b"},
        {NULL, B_OLD, HEAD("c", 3, "myself,master", 9) "0-9 11\n", "c"},
        /* Slots that nobody has any more, and nobody else speaks of. */
        {HEAD("a", 1, "myself,master", 1) "0-9\n", B_OLD, NULL, ""},
        /* The epoch of a is another one: a slot may have gone and come back. */
        {HEAD("a", 1, "myself,master", 4) "0-9 11\n", B_OLD, NULL, "a"},
        /* Both claim the slot 11: the higher epoch has it, whoever speaks first. */
        {A_OLD, HEAD("b", 2, "myself,master", 2) "10-11\n", NULL, "b"},
        {HEAD("a", 1, "myself,master", 1) "0-11\n", B_OLD, NULL, ""},
        /* Keys are moved to b; and away from a, which has them. */
        {A_OLD, HEAD("b", 2, "myself,master", 2) "10 [11-<-a]\n", NULL, "b"},
        {HEAD("a", 1, "myself,master", 1) "0-9 11 [11->-b]\n", B_OLD, NULL, ""},
        /* What others say of a node counts for nothing, as long as it speaks itself. */
        {A_OLD HEAD("b", 2, "master", 9) "0-5 10\n", B_OLD, NULL, ""},
        /* It is a replica now. */
        {HEAD("a", 1, "myself,slave", 4) "\n",
         HEAD("b", 2, "myself,master", 4) "0-11\n", NULL, "b"},
    };
    (void)state;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *again = rows[i].again;
        shoal__scan_rule_t rule;
        char node[4] = {again[0], ':', (char)('1' + (again[0] - 'a')), '\0'};
        begin(&rule);
        scan_all(&rule, "ab");
        look_t seen = {rows[i].a, rows[i].b,
                       rows[i].c, again[0] ? SHOAL__SCAN_PAGE : SHOAL__SCAN_OVER,
                       node,      0};
        look(&rule, &seen);
        if (again[0]) { /* once: now it ends, if nothing changes */
            scan_all(&rule, again);
            seen.step = SHOAL__SCAN_OVER;
            look(&rule, &seen);
        }
        shoal__scan_rule_release(&rule);
    }
}

#define B_IMPORTS(slots, imports)                                                      \
    HEAD("b", 2, "myself,master", 2) slots " " imports "\n"

/* Imports that are there from the beginning: a is scanned, and then b, to which its keys go. */
static void test_imports_come_last(void **state)
{
    shoal__scan_rule_t rule;
    look_t seen = {A_OLD, B_IMPORTS("10", "[11-<-a]"), NULL, SHOAL__SCAN_PAGE, "a:1",
                   0};
    (void)state;

    assert_int_equal(shoal__scan_rule_init(&rule, true), 0);
    look(&rule, &seen);
    scan_all(&rule, "ab");
    seen.node = "b:2";
    look(&rule, &seen);
    scan_all(&rule, "b");
    seen.b = B_IMPORTS("10", "[11-<-a] [9-<-a]"); /* another one */
    look(&rule, &seen);
    scan_all(&rule, "b");
    /* An import is looked at when nothing else is due. */
    seen.a = HEAD("a", 1, "myself,master", 7) "0-9 11\n";
    seen.b = B_IMPORTS("10", "[8-<-a]");
    seen.node = "a:1";
    look(&rule, &seen);
    scan_all(&rule, "a");
    seen.node = "b:2";
    look(&rule, &seen);
    scan_all(&rule, "b");
    seen.b = B_OLD; /* given up */
    seen.step = SHOAL__SCAN_OVER;
    look(&rule, &seen);
    shoal__scan_rule_release(&rule);
}

static void test_a_page_that_fails(void **state)
{
    shoal__scan_rule_t rule;
    (void)state;

    begin(&rule);
    page(&rule, "7", 1);
    shoal__scan_rule_failed(&rule);
    assert_int_equal(rule.step, SHOAL__SCAN_LOOK);
    shoal__scan_rule_listen(&rule);
    hear(&rule, "other:1", A_OLD); /* the client calls it so now */
    hear(&rule, "b:2", B_OLD);
    shoal__scan_rule_heard(&rule);
    check_page(&rule, "other:1", "7"); /* where it was */
    shoal__scan_rule_failed(&rule);
    /* It has got a slot meanwhile. */
    look(&rule, &(look_t){HEAD("a", 1, "myself,master", 1) "0-12\n", B_OLD, NULL,
                          SHOAL__SCAN_PAGE, "a:1", 0});
    page(&rule, "7", 1);
    shoal__scan_rule_failed(&rule);
    /* It has left the cluster. */
    look(&rule, &(look_t){NULL, HEAD("b", 2, "myself,master", 3) "0-12\n", NULL,
                          SHOAL__SCAN_PAGE, "b:2", 0});
    scan_all(&rule, "b");
    look(&rule, &(look_t){NULL, HEAD("b", 2, "myself,master", 3) "0-12\n", NULL,
                          SHOAL__SCAN_OVER, NULL, 0});
    shoal__scan_rule_release(&rule);
}

static void test_a_restart_in_a_cluster(void **state)
{
    shoal__scan_rule_t rule;
    (void)state;

    begin(&rule);
    page(&rule, "7", 1);
    page(&rule, "8", 2);
    check_page(&rule, "a:1", "0");
    page(&rule, "6", 2);
    page(&rule, "0", 2);
    check_page(&rule, "b:2", "0");
    page(&rule, "5", 3); /* another node is another process */
    check_page(&rule, "b:2", "5");
    shoal__scan_rule_release(&rule);
}

#define C_IS_NAMED HEAD("c", 3, "master", 5) "12-13\n"

static void test_slots_of_a_node_that_was_not_asked(void **state)
{
    shoal__scan_rule_t rule;
    char key[SHOAL__SCAN_KEY_BYTES];
    look_t seen = {A_OLD C_IS_NAMED, B_OLD, NULL, SHOAL__SCAN_FIND, NULL, 13};
    (void)state;

    assert_int_equal(shoal__scan_rule_init(&rule, true), 0);
    look(&rule, &seen);
    shoal__scan_rule_key(&rule, key);
    assert_int_equal(shoal__key_slot((shoal__bytes_t){key, strlen(key)}), 13);
    shoal__scan_rule_found(&rule);
    seen.c = HEAD("c", 3, "myself,master", 5) "12-13\n";
    seen.step = SHOAL__SCAN_PAGE;
    seen.node = "a:1";
    look(&rule, &seen);
    scan_all(&rule, "abc");
    seen.step = SHOAL__SCAN_OVER;
    look(&rule, &seen);
    shoal__scan_rule_release(&rule);
}

/* It is looked for as long as that brings something, and else 16 times. */
static void test_nobody_answers_for_a_slot(void **state)
{
    shoal__scan_rule_t rule;
    look_t seen = {A_OLD C_IS_NAMED, B_OLD, NULL, SHOAL__SCAN_FIND, NULL, 13};
    (void)state;

    assert_int_equal(shoal__scan_rule_init(&rule, true), 0);
    for (unsigned i = 0; i < SHOAL__SCAN_FINDS_MAX; i++) {
        look(&rule, &seen);
        shoal__scan_rule_found(&rule);
    }
    seen.c = HEAD("c", 3, "myself,master", 5) "13\n"; /* one of them */
    seen.slot = 12;
    for (unsigned i = 0; i < SHOAL__SCAN_FINDS_MAX; i++) {
        look(&rule, &seen);
        shoal__scan_rule_found(&rule);
    }
    seen.step = SHOAL__SCAN_LOST;
    look(&rule, &seen);
    shoal__scan_rule_found(&rule); /* its caller tries again */
    seen.step = SHOAL__SCAN_FIND;
    look(&rule, &seen);
    shoal__scan_rule_release(&rule);
}

static void test_nobody_speaks(void **state)
{
    shoal__scan_rule_t rule;
    look_t seen = {"what?\n", NULL, NULL, SHOAL__SCAN_LOST, NULL, 0};
    (void)state;

    assert_int_equal(shoal__scan_rule_init(&rule, true), 0);
    look(&rule, &seen);
    shoal__scan_rule_found(&rule);
    assert_int_equal(rule.step, SHOAL__SCAN_LOOK);
    shoal__scan_rule_release(&rule);
}

static void test_no_memory(void **state)
{
    shoal__scan_rule_t rule;
    (void)state;

    shoal__test_fail_alloc_after(0);
    assert_int_equal(shoal__scan_rule_init(&rule, true), SHOAL_ENOMEM);
    shoal__test_fail_alloc_after(1);
    assert_int_equal(shoal__scan_rule_init(&rule, true), 0);
    shoal__scan_rule_listen(&rule);
    assert_int_equal(
        shoal__scan_rule_hear(&rule, "a:1", (shoal__bytes_t){A_OLD, sizeof A_OLD - 1}),
        SHOAL_ENOMEM);
    shoal__test_fail_alloc_after(SIZE_MAX);
    look(&rule, &(look_t){BOTH, .step = SHOAL__SCAN_PAGE, .node = "a:1"});
    shoal__scan_rule_release(&rule);
}

static void test_many_nodes(void **state)
{
    shoal__scan_rule_t rule;
    (void)state;

    assert_int_equal(shoal__scan_rule_init(&rule, true), 0);
    shoal__scan_rule_listen(&rule);
    for (unsigned i = 0; i < 40; i++) {
        char said[80], name[8];
        snprintf(name, sizeof name, "n:%u", i);
        snprintf(said, sizeof said, "id%u x:1@1 myself,master - 0 0 1 connected %u", i,
                 i);
        hear(&rule, name, said);
    }
    shoal__scan_rule_heard(&rule);
    for (unsigned i = 0; i < 40; i++) {
        char name[8];
        snprintf(name, sizeof name, "n:%u", i);
        check_page(&rule, name, "0");
        page(&rule, "0", i);
    }
    assert_int_equal(rule.step, SHOAL__SCAN_LOOK);
    shoal__scan_rule_release(&rule);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_server),
        cmocka_unit_test(test_a_cursor_belongs_to_a_process),
        cmocka_unit_test(test_what_is_no_cursor),
        cmocka_unit_test(test_what_is_scanned_again),
        cmocka_unit_test(test_imports_come_last),
        cmocka_unit_test(test_a_page_that_fails),
        cmocka_unit_test(test_a_restart_in_a_cluster),
        cmocka_unit_test(test_slots_of_a_node_that_was_not_asked),
        cmocka_unit_test(test_nobody_answers_for_a_slot),
        cmocka_unit_test(test_nobody_speaks),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_many_nodes),
    };
    return cmocka_run_group_tests_name("core/scan_rule", tests, NULL, NULL);
}
