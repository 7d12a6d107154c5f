/* SPDX-License-Identifier: MIT */
#include "core/dial_report.h"

#include <shoal/errors.h>
#include <stdio.h>
#include <string.h>

#define MORE_BYTES (sizeof "; and 16 more" - 1)

static void add_first(shoal__dial_report_t *report, int status, const char *reason)
{
    report->status = status;
    snprintf(report->text, sizeof report->text, "%s", reason);
}

void shoal__dial_report_add(shoal__dial_report_t *report, int status,
                            const char *reason)
{
    size_t said = strlen(report->text), bytes = strlen(reason);

    if (report->status == 0) {
        add_first(report, status, reason);
        return;
    }
    if (report->status == SHOAL_ETIMEOUT)
        report->status = status;
    if (report->untold == 0 && said + 2 + bytes + MORE_BYTES < sizeof report->text) {
        snprintf(report->text + said, sizeof report->text - said, "; %s", reason);
        return;
    }
    if (report->untold > 0)
        *strrchr(report->text, ';') = '\0';
    else if (said + MORE_BYTES >= sizeof report->text) /* a long first piece */
        report->text[sizeof report->text - 1 - MORE_BYTES] = '\0';
    said = strlen(report->text);
    snprintf(report->text + said, sizeof report->text - said, "; and %u more",
             ++report->untold);
}
