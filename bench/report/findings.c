/* SPDX-License-Identifier: MIT */
#include "report/findings.h"

#include "report/table.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define NOTE_COLUMNS 78

const char *finding_kind_name(finding_kind_t kind)
{
    static const char *const names[] = {"note", "ok", "fails", "unknown"};
    return names[kind];
}

void findings_begin(findings_t *findings, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(findings->place, sizeof findings->place, format, args);
    va_end(args);
    fprintf(findings->out, "%s\n", findings->place);
}

/* Keeps a finding; without memory it is only printed. */
static void keep(findings_t *findings, const finding_t *finding)
{
    finding_t *grown =
        realloc(findings->list, (findings->count + 1) * sizeof *findings->list);
    if (!grown)
        return;
    findings->list = grown;
    findings->list[findings->count++] = *finding;
}

__attribute__((format(printf, 3, 0))) static finding_t
compose(const findings_t *findings, finding_kind_t kind, const char *format,
        va_list args)
{
    finding_t finding = {.kind = kind};

    memcpy(finding.place, findings->place, sizeof finding.place);
    vsnprintf(finding.text, sizeof finding.text, format, args);
    return finding;
}

void findings_note(findings_t *findings, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    finding_t finding = compose(findings, FINDING_NOTE, format, args);
    va_end(args);
    fputs("-", findings->out);
    report_wrapped(findings->out, finding.text, 1, NOTE_COLUMNS);
    keep(findings, &finding);
}

void findings_judge(findings_t *findings, const verdict_t *verdict, const char *format,
                    ...)
{
    static const char *const marks[] = {"", "  ok    ", "  FAILS ", "  ?     "};
    finding_kind_t kind = !verdict->is_known ? FINDING_UNKNOWN
                          : verdict->holds   ? FINDING_OK
                                             : FINDING_FAILS;
    va_list args;

    va_start(args, format);
    finding_t finding = compose(findings, kind, format, args);
    va_end(args);
    fprintf(findings->out, "%s%s\n", marks[kind], finding.text);
    findings->failed += kind == FINDING_FAILS;
    keep(findings, &finding);
}

void findings_release(findings_t *findings)
{
    free(findings->list);
    findings->list = NULL;
    findings->count = 0;
}
