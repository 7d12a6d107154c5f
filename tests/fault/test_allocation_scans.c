/* SPDX-License-Identifier: MIT */
/* Memory runs out at each point of a scan.  (F32) */
#include "support/failing/failing_trial.h"

#include <string.h>

static void prepare(trial_t *trial)
{
    fake_server_rule(trial->scene->server,
                     &(fake_rule_t){.command = "SCAN",
                                    .argument = "0",
                                    .reply = "*2\r\n$1\r\n7\r\n*1\r\n$1\r\na\r\n"});
    fake_server_rule(trial->scene->server,
                     &(fake_rule_t){.command = "SCAN",
                                    .argument = "7",
                                    .reply = "*2\r\n$1\r\n0\r\n*1\r\n$1\r\nb\r\n"});
    trial_open_ready(trial, false);
}

/* A page that memory fails is asked for again; or it is there, and both have come. */
static void pages(trial_t *trial)
{
    shoal_scan_t *scan = NULL;
    shoal_result_t *page;
    char text[3] = "";
    int rc = shoal_scan_new(trial->scene->client, NULL, &scan);

    if (rc == SHOAL_ENOMEM)
        rc = shoal_scan_new(trial->scene->client, NULL, &scan);
    while (rc == 0 || rc == SHOAL_ENOMEM) {
        rc = scan ? shoal_scan_next(scan, 0, &page) : SHOAL_EINVAL;
        const shoal_reply_t *keys = rc == 0 ? shoal_result_reply(page) : NULL;
        if (keys && shoal_reply_type(keys) == SHOAL_REPLY_ARRAY && strlen(text) < 2)
            strcat(text, shoal_reply_string(shoal_reply_at(keys, 0), &(size_t){0}));
        if (rc == 0)
            shoal_result_release(page);
    }
    if (scan) {
        assert_int_equal(rc, 1);
        assert_string_equal(text, "ab");
    }
    shoal_scan_free(scan);
}

int main(void)
{
    static const failing_scenario_t scenarios[] = {{"pages", prepare, pages}};

    return failing_main("allocation_scans", scenarios, 1);
}
