/* SPDX-License-Identifier: MIT */
#include "html_study.h"

#include "chart_scale.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool has_depth(const strategy_t *strategy)
{
    return strategy->mode == MODE_EXPLICIT || strategy->mode == MODE_RAW;
}

static bool is_line(const study_line_t *line, const plan_t *plan,
                    const strategy_t *strategy)
{
    if (line->strategy.mode != strategy->mode)
        return false;
    if (has_depth(strategy))
        return line->follows_callers ? strategy->depth == plan->options->callers
                                     : strategy->depth == line->strategy.depth;
    if (!strategy_is_shoal(strategy))
        return true;
    return line->strategy.flush == strategy->flush &&
           (strategy->flush != SHOAL_FLUSH_FIXED ||
            line->strategy.pause_us == strategy->pause_us);
}

size_t study_line_of(const study_t *study, const plan_t *plan, const series_t *series)
{
    size_t i = 0;
    while (i < study->lines_count &&
           !is_line(&study->lines[i], plan, &series->strategy))
        i++;
    return i;
}

/* Whether a batch of raw is as deep as there are callers, in all plans and in plans
 * with different callers. */
static bool depth_follows_callers(const study_t *study, bench_mode_t mode)
{
    uint64_t first = 0;
    bool differs = false;

    for (size_t i = 0; i < study->plans_count; i++) {
        const plan_t *plan = &study->plans[i];
        for (size_t k = 0; k < plan->series_count; k++) {
            const strategy_t *strategy = &plan->series[k].strategy;
            if (strategy->mode != mode)
                continue;
            if (strategy->depth != plan->options->callers)
                return false;
            differs = differs || (first != 0 && first != strategy->depth);
            first = strategy->depth;
        }
    }
    return differs;
}

static int collect_lines(study_t *study)
{
    size_t capacity = 0;
    for (size_t i = 0; i < study->plans_count; i++)
        capacity += study->plans[i].series_count;
    study->lines = calloc(capacity + 1, sizeof *study->lines);
    if (!study->lines)
        return -1;

    for (size_t i = 0; i < study->plans_count; i++) {
        const plan_t *plan = &study->plans[i];
        for (size_t k = 0; k < plan->series_count; k++) {
            const strategy_t *strategy = &plan->series[k].strategy;
            if (study_line_of(study, plan, &plan->series[k]) < study->lines_count)
                continue;
            study->lines[study->lines_count++] = (study_line_t){
                .strategy = *strategy,
                .follows_callers =
                    has_depth(strategy) && depth_follows_callers(study, strategy->mode),
            };
        }
    }
    return 0;
}

/* Whether all strategies of shoal use the same mode: labels need not repeat it. */
static bool has_one_mode(const study_t *study)
{
    const study_line_t *first = NULL;

    for (size_t i = 0; i < study->lines_count; i++) {
        const study_line_t *line = &study->lines[i];
        if (!strategy_is_shoal(&line->strategy))
            continue;
        if (first && first->strategy.mode != line->strategy.mode)
            return false;
        first = line;
    }
    return true;
}

static void name_line(study_line_t *line, bool is_short)
{
    if (is_short && strategy_is_shoal(&line->strategy))
        strategy_flush_name(&line->strategy, line->label, sizeof line->label);
    else
        strategy_name(&line->strategy, line->label, sizeof line->label);
    if (line->follows_callers)
        line->label[strcspn(line->label, ":")] = '\0';
}

/* What orders the strategies of one kind among themselves. */
static uint64_t rank_key(const strategy_t *strategy)
{
    return has_depth(strategy) ? strategy->depth : strategy->pause_us;
}

/* Where a line stands among those that share its kind, 0 .. 4. */
static size_t shade(const study_t *study, const study_line_t *line)
{
    size_t below = 0;
    size_t others = 0;

    for (size_t i = 0; i < study->lines_count; i++) {
        const strategy_t *other = &study->lines[i].strategy;
        bool is_kin =
            has_depth(&line->strategy)
                ? other->mode == line->strategy.mode
                : strategy_is_shoal(other) && other->flush == SHOAL_FLUSH_FIXED;
        bool is_new = is_kin && rank_key(other) != rank_key(&line->strategy);
        for (size_t k = 0; k < i && is_new; k++) {
            const strategy_t *former = &study->lines[k].strategy;
            is_new = former->mode != other->mode || rank_key(former) != rank_key(other);
        }
        others += is_new;
        below += is_new && rank_key(other) < rank_key(&line->strategy);
    }
    return others == 0 ? 2 : (below * 4 + others / 2) / others;
}

static void color_shoal_line(const study_t *study, study_line_t *line)
{
    switch (line->strategy.flush) {
    case SHOAL_FLUSH_AUTO:
        snprintf(line->color, sizeof line->color, "auto");
        line->is_strong = true;
        break;
    case SHOAL_FLUSH_OFF:
        snprintf(line->color, sizeof line->color, "off");
        line->mark = SVG_MARK_SQUARE;
        break;
    case SHOAL_FLUSH_FIXED:
        snprintf(line->color, sizeof line->color, "fixed-%zu", shade(study, line));
        line->mark = (svg_mark_t)(SVG_MARK_DIAMOND + shade(study, line) % 3);
        break;
    }
}

static void color_line(const study_t *study, study_line_t *line, bench_mode_t main_mode)
{
    bench_mode_t mode = line->strategy.mode;

    line->mark = SVG_MARK_CIRCLE;
    if (strategy_is_shoal(&line->strategy)) {
        line->is_dashed = mode != main_mode;
        color_shoal_line(study, line);
        if (line->is_dashed)
            line->mark = (svg_mark_t)((line->mark + 1 + mode) % SVG_MARKS);
    } else if (mode == MODE_EXPLICIT) {
        snprintf(line->color, sizeof line->color, "explicit-%zu", shade(study, line));
        line->mark = (svg_mark_t)(shade(study, line) % SVG_MARKS);
    } else if (mode == MODE_RAW) {
        snprintf(line->color, sizeof line->color, "raw");
        line->mark = SVG_MARK_DIAMOND;
        line->is_dashed = true;
    } else {
        snprintf(line->color, sizeof line->color, "%s",
                 mode == MODE_POOL ? "pool" : "collector");
        line->mark = mode == MODE_POOL ? SVG_MARK_TRIANGLE_DOWN : SVG_MARK_TRIANGLE;
    }
}

static void style_lines(study_t *study)
{
    bool is_short = has_one_mode(study);
    bench_mode_t main_mode = MODE_CALLBACK;

    for (size_t i = study->lines_count; i-- > 0;) {
        if (strategy_is_shoal(&study->lines[i].strategy))
            main_mode = study->lines[i].strategy.mode;
    }
    for (size_t i = 0; i < study->lines_count; i++) {
        name_line(&study->lines[i], is_short);
        color_line(study, &study->lines[i], main_mode);
    }
}

static uint64_t axis_value(const plan_t *plan)
{
    return plan->options->rate ? plan->options->rate : plan->options->callers;
}

static bool is_member(const study_group_t *group, const plan_t *plan)
{
    const options_t *options = plan->options;
    bool is_open = options->rate != 0;

    return group->is_open == is_open && group->is_step == options->is_step &&
           group->rtt_us == options->rtt_us &&
           group->connections == options->connections &&
           (!is_open || group->callers == options->callers);
}

static void add_point(study_group_t *group, uint64_t value)
{
    size_t at = group->points;

    for (size_t i = 0; i < group->points; i++) {
        if (group->axis[i] == value)
            return;
    }
    assert(group->axis); /* as of every group that is counted */
    for (; at > 0 && group->axis[at - 1] > value; at--)
        group->axis[at] = group->axis[at - 1];
    group->axis[at] = value;
    group->points++;
}

static int collect_groups(study_t *study)
{
    study->groups = calloc(study->plans_count + 1, sizeof *study->groups);
    if (!study->groups)
        return -1;
    for (size_t i = 0; i < study->plans_count; i++) {
        const plan_t *plan = &study->plans[i];
        size_t at = 0;
        while (at < study->groups_count && !is_member(&study->groups[at], plan))
            at++;
        study_group_t *group = &study->groups[at];
        if (at == study->groups_count) {
            *group = (study_group_t){
                .is_open = plan->options->rate != 0,
                .is_step = plan->options->is_step,
                .rtt_us = plan->options->rtt_us,
                .connections = plan->options->connections,
                .callers = plan->options->callers,
                .axis = calloc(study->plans_count, sizeof *group->axis),
            };
            if (!group->axis)
                return -1;
            study->groups_count++;
        }
        add_point(group, axis_value(plan));
    }
    return 0;
}

int study_init(study_t *study, const plan_t *plans, size_t plans_count)
{
    *study = (study_t){.plans = plans, .plans_count = plans_count};
    if (collect_lines(study) < 0 || collect_groups(study) < 0) {
        study_release(study);
        return -1;
    }
    style_lines(study);
    return 0;
}

void study_release(study_t *study)
{
    for (size_t i = 0; i < study->groups_count; i++)
        free(study->groups[i].axis);
    free(study->groups);
    free(study->lines);
    *study = (study_t){0};
}

chart_look_t study_look(const study_line_t *line)
{
    return (chart_look_t){
        .label = line->label,
        .color = line->color,
        .mark = line->mark,
        .is_strong = line->is_strong,
        .is_dashed = line->is_dashed,
    };
}

bool study_is_at(const study_group_t *group, size_t point, const plan_t *plan)
{
    return is_member(group, plan) && axis_value(plan) == group->axis[point];
}

const series_t *study_series(const study_t *study, const study_group_t *group,
                             size_t point, size_t line)
{
    for (size_t i = 0; i < study->plans_count; i++) {
        const plan_t *plan = &study->plans[i];
        bool is_here = study_is_at(group, point, plan);
        for (size_t k = 0; is_here && k < plan->series_count; k++) {
            const series_t *series = &plan->series[k];
            if (series->rounds_count > 0 &&
                is_line(&study->lines[line], plan, &series->strategy))
                return series;
        }
    }
    return NULL;
}

double study_value(const study_t *study, const study_group_t *group, size_t point,
                   size_t line, figure_t figure)
{
    const series_t *series = study_series(study, group, point, line);
    return series ? series->median.value[figure] : (double)NAN;
}

void study_range(const series_t *series, figure_t figure, double *ret_low,
                 double *ret_high)
{
    *ret_low = *ret_high = (double)NAN;
    for (size_t i = 0; series && i < series->rounds_count; i++) {
        *ret_low = fmin(*ret_low, series->rounds[i].value[figure]); /* ignores NaN */
        *ret_high = fmax(*ret_high, series->rounds[i].value[figure]);
    }
}

double study_spread(const study_t *study)
{
    double spread = 0;

    for (size_t i = 0; i < study->plans_count; i++) {
        const plan_t *plan = &study->plans[i];
        for (size_t k = 0; k < plan->series_count; k++)
            spread = fmax(spread, series_spread(&plan->series[k], FIGURE_OPS_PER_S));
    }
    return spread;
}

void study_time_text(uint64_t us, char *text, size_t text_bytes)
{
    if (us >= 1000000)
        snprintf(text, text_bytes, "%g s", (double)us / 1e6);
    else if (us >= 1000)
        snprintf(text, text_bytes, "%g ms", (double)us / 1e3);
    else
        snprintf(text, text_bytes, "%llu \u00b5s", (unsigned long long)us);
}

/* Adds a part to a text, behind a comma if it is not the first. */
static void append(char *text, size_t text_bytes, const char *part)
{
    size_t used = strlen(text);
    snprintf(text + used, text_bytes - used, "%s%s", used ? ", " : "", part);
}

void study_group_name(const study_t *study, const study_group_t *group, char *text,
                      size_t text_bytes)
{
    bool has_rtt = group->rtt_us != 0;
    bool has_connections = false;
    bool has_callers = false;
    char part[80];
    char time[40];

    for (size_t i = 0; i < study->groups_count; i++) {
        const study_group_t *other = &study->groups[i];
        has_rtt = has_rtt || other->rtt_us != 0;
        has_connections = has_connections || other->connections != group->connections;
        has_callers = has_callers || (group->is_open && other->is_open &&
                                      other->callers != group->callers);
    }
    text[0] = '\0';
    if (has_rtt && group->rtt_us == 0) {
        append(text, text_bytes, "no round trip added");
    } else if (has_rtt) {
        study_time_text(group->rtt_us, time, sizeof time);
        snprintf(part, sizeof part, "%s of round trip added", time);
        append(text, text_bytes, part);
    }
    if (has_connections) {
        snprintf(part, sizeof part, "%llu connection%s",
                 (unsigned long long)group->connections,
                 group->connections == 1 ? "" : "s");
        append(text, text_bytes, part);
    }
    if (has_callers) {
        snprintf(part, sizeof part, "up to %llu callers",
                 (unsigned long long)group->callers);
        append(text, text_bytes, part);
    }
}

void study_point_name(const study_t *study, const study_group_t *group, size_t point,
                      char *text, size_t text_bytes)
{
    char number[32];
    char group_name[160];
    uint64_t value = group->axis[point];

    if (group->is_open)
        snprintf(text, text_bytes, "%s commands/s",
                 chart_tick_text((double)value, number, sizeof number));
    else
        snprintf(text, text_bytes, "%llu caller%s%s", (unsigned long long)value,
                 value == 1 ? "" : "s", group->is_step ? ", coming and going" : "");
    study_group_name(study, group, group_name, sizeof group_name);
    if (group_name[0] != '\0')
        append(text, text_bytes, group_name);
}
