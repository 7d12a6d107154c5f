/* SPDX-License-Identifier: MIT */
#include "report/report.h"

#include <errno.h>
#include <limits.h>

static int write_one(const char *path, const series_t *series)
{
    FILE *out = fopen(path, "we");
    if (!out)
        return -1;
    histogram_write_hgrm(series->latency, out);
    int failed = ferror(out);
    failed |= fclose(out);
    return failed ? -1 : 0;
}

int report_hdr(const char *path, const plan_t *plans, size_t plans_count)
{
    char numbered[PATH_MAX];
    size_t count = 0;
    size_t number = 0;

    for (size_t i = 0; i < plans_count; i++)
        count += plans[i].series_count;
    for (size_t i = 0; i < plans_count; i++) {
        for (size_t k = 0; k < plans[i].series_count; k++) {
            int bytes = count > 1 ? snprintf(numbered, sizeof numbered, "%s.%zu", path,
                                             ++number)
                                  : snprintf(numbered, sizeof numbered, "%s", path);
            if (bytes < 0 || (size_t)bytes >= sizeof numbered) {
                errno = ENAMETOOLONG;
                return -1;
            }
            if (write_one(numbered, &plans[i].series[k]) < 0)
                return -1;
        }
    }
    return 0;
}
