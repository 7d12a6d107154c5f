/* SPDX-License-Identifier: MIT */
#include "core/unit_rule.h"

#include "core/error_rule.h"
#include "core/redirect.h"

static bool names_node(shoal__bytes_t error)
{
    shoal__slot_redirect_t named;

    return shoal__redirect_read_slot(error, &named);
}

static shoal__error_verdict_t verdict_on(shoal__bytes_t error)
{
    const shoal__error_input_t input = {.text = error,
                                        .command_class = SHOAL__CLASS_WRITE};

    return shoal__error_rule(&input);
}

/* Some parts were redirected, and others not, or elsewhere. */
static void put_off(shoal__unit_t *unit)
{
    static const char mixed[] = "TRYAGAIN a part of the unit was sent elsewhere";

    unit->state = SHOAL__UNIT_LATER;
    unit->words = (shoal__bytes_t){mixed, sizeof mixed - 1};
}

static void name(shoal__unit_t *unit, shoal__bytes_t error)
{
    if (unit->state == SHOAL__UNIT_WHOLE) {
        unit->state = SHOAL__UNIT_NAMED;
        unit->words = error;
    } else if (unit->state == SHOAL__UNIT_NAMED &&
               !shoal__bytes_equal(unit->words, error)) {
        put_off(unit);
    }
}

/* A refusal that concerns other commands as well is more than one that does not. */
static void hold(shoal__unit_t *unit, shoal__bytes_t error)
{
    bool is_narrow = unit->state != SHOAL__UNIT_LATER ||
                     verdict_on(unit->words) == SHOAL__ERROR_HOLD_ALONE;

    unit->state = SHOAL__UNIT_LATER;
    if (is_narrow)
        unit->words = error;
}

void shoal__unit_refused(shoal__unit_t *unit, shoal__bytes_t error)
{
    if (unit->state == SHOAL__UNIT_FINAL)
        return;
    if (names_node(error))
        name(unit, error);
    else if (verdict_on(error) != SHOAL__ERROR_SURFACE)
        hold(unit, error);
    else
        unit->state = SHOAL__UNIT_FINAL;
}

bool shoal__unit_ended(shoal__unit_t *unit, shoal__bytes_t error,
                       shoal__bytes_t *ret_words)
{
    static const char because[] = "EXECABORT Transaction discarded because of: ";
    const size_t bytes = sizeof because - 1;

    if (shoal__bytes_start(error, because))
        shoal__unit_refused(unit,
                            (shoal__bytes_t){error.data + bytes, error.bytes - bytes});
    else if (!shoal__bytes_start(error, "EXECABORT"))
        shoal__unit_refused(unit, error);
    *ret_words = unit->words;
    return unit->state == SHOAL__UNIT_NAMED || unit->state == SHOAL__UNIT_LATER;
}
