/* SPDX-License-Identifier: MIT */

/* A cluster whose nodes speak TLS with clients and with each other, and tell the ports of the
 * proxies before them. */

#include "certificates/certificates.h"
#include "support/cluster_load.h"
#include "support/tls/certificate_folder.h"

#include <stdio.h>
#include <stdlib.h>

#define WINDOW 4
#define DIALS_PER_S 10
#define CUTS 6         /* one after the other */
#define CUT_BYTES 3000 /* a connection carries less than this */

static fake_tls_config_t tls; /* outlives the servers */

/* Nodes are patient, or are promoted: only if the test tells them to. */
static cluster_load_t *begin(bool is_patient)
{
    cluster_rig_t *rig =
        cluster_rig_start_as(&(cluster_plan_t){.tls = &tls,
                                               .ca_file = certificate_path("ca.crt"),
                                               .has_proxies = true,
                                               .is_patient = is_patient,
                                               .keeps_roles = !is_patient});

    if (!rig)
        skip();
    return cluster_load_begin(rig, WINDOW);
}

static void expect_no_failure(cluster_load_t *load)
{
    cluster_tally_t tally = cluster_load_stop(load);

    assert_int_equal(tally.unknown, 0);
    assert_int_equal(tally.not_executed, 0);
    assert_int_equal(tally.errors, 0);
    assert_int_equal(tally.lost, 0);
    assert_int_equal(tally.inversions, 0);
    cluster_load_end(load);
}

static void move_slots(cluster_load_t *load)
{
    cluster_rig_t *rig = load->rig;

    for (size_t round = live_scaled(1); round > 0; round--)
        for (size_t i = 0; i < CLUSTER_LOAD_CALLERS; i++) {
            const char *key = cluster_load_key(load, i);
            size_t from = cluster_rig_agreed_owner(rig, key);
            size_t to = (from + 1) % CLUSTER_PRIMARIES;
            cluster_rig_move(rig, cluster_load_slot(load, i), from, to);
            cluster_rig_await_owner(rig, key, to);
        }
    cluster_load_await_progress(load, 10);
    expect_no_failure(load);
}

static void slots_move_under_load(void **state)
{
    (void)state;
    move_slots(begin(true));
}

/* Certificates that are good for the name, which the nodes tell beside their addresses, and
 * for no address. */
static void names_are_checked_under_load(void **state)
{
    const certificate_t named = {.name = "named",
                                 .issuer = "ca",
                                 .common_name = "named",
                                 .alternative_names = "DNS:localhost",
                                 .until_s = 3600};
    static fake_tls_config_t by_name; /* outlives the servers */
    (void)state;

    assert_true(certificate_make(certificate_folder(), &named));
    by_name = (fake_tls_config_t){.certificate_file = certificate_path("named.crt"),
                                  .key_file = certificate_path("named.key")};
    cluster_rig_t *rig =
        cluster_rig_start_as(&(cluster_plan_t){.tls = &by_name,
                                               .ca_file = certificate_path("ca.crt"),
                                               .hostname = "localhost",
                                               .is_patient = true});
    if (!rig)
        skip();
    move_slots(cluster_load_begin(rig, WINDOW));
}

static void replicas_are_promoted_under_load(void **state)
{
    cluster_load_t *load = begin(false);
    (void)state;

    for (size_t round = live_scaled(1); round > 0; round--)
        for (size_t i = 0; i < CLUSTER_PRIMARIES; i++) {
            size_t replica = cluster_rig_is_primary(load->rig, i) ? i + 3 : i;
            cluster_rig_failover(load->rig, replica, "");
            cluster_rig_await_calm(load->rig);
            cluster_load_await_progress(load, 10);
        }
    expect_no_failure(load);
}

/* ---- sends are cut ---- */

static void check_fates(const cluster_load_t *load, const cluster_tally_t *tally)
{
    assert_int_equal(tally->errors, 0);
    assert_int_equal(tally->not_executed, 0);
    assert_int_equal(tally->lost, 0);
    assert_int_equal(tally->inversions, 0);
    assert_true(tally->unknown <= (size_t)WINDOW * load->plan.callers * load->losses);
}

static void cut_at(fault_proxy_t *proxy, uint64_t bytes, fault_end_t how)
{
    unsigned dials = fault_proxy_counts(proxy).accepted;

    fault_proxy_cut_after(proxy, 0, FAULT_TO_SERVER, bytes, how);
    fault_proxy_cut(proxy, FAULT_TO_SERVER, FAULT_END_RESET);
    WAIT_FOR(fault_proxy_counts(proxy).accepted > dials + 1);
}

static void mend(cluster_load_t *load, fault_proxy_t *proxy)
{
    fault_proxy_cut_after(proxy, 0, FAULT_TO_SERVER, UINT64_MAX, FAULT_END_RESET);
    fault_proxy_cut(proxy, FAULT_TO_SERVER, FAULT_END_RESET);
    cluster_load_await_progress(load, 10);
}

/* Each connection to a primary ends when it has carried so many bytes: in the handshake, in
 * the greeting, inside of records of commands.  What left in part cannot have run. */
static void sends_are_cut_under_load(void **state)
{
    cluster_load_t *load = begin(true);
    fault_proxy_t *proxy = load->rig->nodes[0].proxy;
    uint64_t connects = live_stats(load->client).connects, since_us = waiting_now_us();
    unsigned random = 1;
    cluster_tally_t tally;
    (void)state;

    for (size_t round = live_scaled(2); round > 0; round--) {
        for (unsigned i = 0; i < CUTS; i++)
            cut_at(proxy, live_roll(&random) % CUT_BYTES,
                   i % 2 ? FAULT_END_RESET : FAULT_END_FIN);
        mend(load, proxy);
        if (round % 10 != 0)
            continue;
        tally = cluster_load_stop(load);
        check_fates(load, &tally);
        cluster_load_go_on(load);
    }
    assert_in_range(live_stats(load->client).connects - connects, 0,
                    (waiting_now_us() - since_us) * DIALS_PER_S / 1000000 + 1);
    tally = cluster_load_stop(load);
    check_fates(load, &tally);
    cluster_load_end(load);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slots_move_under_load),
        cmocka_unit_test(names_are_checked_under_load),
        cmocka_unit_test(replicas_are_promoted_under_load),
        cmocka_unit_test(sends_are_cut_under_load),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    tls = (fake_tls_config_t){.certificate_file = certificate_path("server.crt"),
                              .key_file = certificate_path("server.key")};
    return cmocka_run_group_tests_name("cluster_tls", tests, NULL, NULL);
}
