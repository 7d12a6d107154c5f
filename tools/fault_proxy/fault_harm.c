/* SPDX-License-Identifier: MIT */
#include "fault_proxy/fault_harm.h"

#include <string.h>

/* Bytes and replies draw from dice of their own: asking for one kind of fault does not
 * change where the other strikes. */
void fault_harm_init(fault_harm_t *harm, uint64_t seed, bool has_frames)
{
    shoal__random_t dice = {seed};

    *harm = (fault_harm_t){.has_frames = has_frames};
    harm->frame_dice.state = shoal__random_next(&dice);
    harm->byte_dice.state = shoal__random_next(&dice);
}

void fault_harm_release(fault_harm_t *harm)
{
    fake_bytes_release(&harm->partial);
    fake_bytes_release(&harm->waiting);
}

/* No draw without a rate: turning one fault on does not shift the others' dice. */
static bool hits(shoal__random_t *dice, uint32_t rate)
{
    return rate > 0 && shoal__random_below(dice, FAULT_RATE_ALWAYS) < rate;
}

static void harm_byte(fault_harm_t *harm, const fault_carriage_t *carriage,
                      unsigned char byte, fake_bytes_t *out)
{
    shoal__random_t *dice = &harm->byte_dice;

    if (hits(dice, carriage->lose_rate)) {
        harm->harmed++;
        return;
    }
    if (hits(dice, carriage->flip_rate)) {
        harm->harmed++;
        byte ^= (unsigned char)(1u << shoal__random_below(dice, 8));
    }
    fake_bytes_add(out, &byte, 1);
    if (hits(dice, carriage->insert_rate)) {
        harm->harmed++;
        byte = (unsigned char)shoal__random_below(dice, 256);
        fake_bytes_add(out, &byte, 1);
    }
}

static void put(fault_harm_t *harm, const fault_carriage_t *carriage, const char *data,
                size_t bytes, fake_bytes_t *out)
{
    if (!fault_carriage_harms_bytes(carriage)) {
        fake_bytes_add(out, data, bytes);
        return;
    }
    for (size_t i = 0; i < bytes; i++)
        harm_byte(harm, carriage, (unsigned char)data[i], out);
}

static void put_all(fault_harm_t *harm, const fault_carriage_t *carriage,
                    const fake_bytes_t *bytes, fake_bytes_t *out)
{
    put(harm, carriage, bytes->data, bytes->size, out);
}

/* A reply of any shape, so that some pass for the one that is awaited. */
static const char *make_up(shoal__random_t *dice)
{
    static const char *const replies[] = {"+OK\r\n", ":42\r\n", "$5\r\nextra\r\n",
                                          "$-1\r\n", "*0\r\n",  "-ERR made up\r\n"};
    return replies[shoal__random_below(dice, sizeof replies / sizeof *replies)];
}

/* The reply in `partial` is whole. */
static void settle(fault_harm_t *harm, const fault_carriage_t *carriage,
                   fake_bytes_t *out)
{
    shoal__random_t *dice = &harm->frame_dice;

    if (hits(dice, carriage->extra_rate)) {
        const char *reply = make_up(dice);
        harm->harmed++;
        put(harm, carriage, reply, strlen(reply), out);
    }
    if (hits(dice, carriage->drop_rate)) {
        harm->harmed++;
    } else if (harm->waiting.size > 0) {
        harm->harmed += 2;
        put_all(harm, carriage, &harm->partial, out);
        put_all(harm, carriage, &harm->waiting, out);
        harm->waiting.size = 0;
    } else if (hits(dice, carriage->repeat_rate)) {
        harm->harmed++;
        put_all(harm, carriage, &harm->partial, out);
        put_all(harm, carriage, &harm->partial, out);
    } else if (hits(dice, carriage->swap_rate)) {
        fake_bytes_add(&harm->waiting, harm->partial.data, harm->partial.size);
    } else {
        put_all(harm, carriage, &harm->partial, out);
    }
    harm->partial.size = 0;
}

bool fault_harm_is_idle(const fault_harm_t *harm, const fault_carriage_t *carriage)
{
    return !fault_carriage_harms_bytes(carriage) && !harm->is_gathering &&
           harm->waiting.size == 0 &&
           !(harm->has_frames && fault_carriage_harms_frames(carriage));
}

void fault_harm_pass(fault_harm_t *harm, const char *data, size_t bytes)
{
    bool is_whole;

    for (size_t at = 0; harm->has_frames && at < bytes;)
        at += fault_frames_feed(&harm->frames, data + at, bytes - at, &is_whole);
}

/* What is withheld, in the order in which it came and unharmed as a reply. */
void fault_harm_end(fault_harm_t *harm, const fault_carriage_t *carriage,
                    fake_bytes_t *out)
{
    put_all(harm, carriage, &harm->waiting, out);
    put_all(harm, carriage, &harm->partial, out);
    harm->waiting.size = 0;
    harm->partial.size = 0;
    harm->is_gathering = false;
}

void fault_harm_apply(fault_harm_t *harm, const fault_carriage_t *carriage,
                      const char *data, size_t bytes, fake_bytes_t *out)
{
    bool is_whole;

    if (!harm->has_frames) {
        put(harm, carriage, data, bytes, out);
        return;
    }
    while (bytes > 0) {
        if (fault_frames_is_between(&harm->frames))
            harm->is_gathering =
                fault_carriage_harms_frames(carriage) || harm->waiting.size > 0;
        size_t used = fault_frames_feed(&harm->frames, data, bytes, &is_whole);
        if (!harm->is_gathering) {
            put(harm, carriage, data, used, out);
        } else {
            fake_bytes_add(&harm->partial, data, used);
            if (is_whole)
                settle(harm, carriage, out);
            else if (harm->frames.state == FAULT_FRAMES_LOST)
                fault_harm_end(harm, carriage, out);
        }
        if (is_whole)
            harm->is_gathering = false;
        data += used;
        bytes -= used;
    }
}

void fault_harm_let_go(fault_harm_t *harm, const fault_carriage_t *carriage,
                       fake_bytes_t *out)
{
    if (!fault_carriage_harms_frames(carriage)) {
        fault_harm_end(harm, carriage, out);
    } else if (carriage->swap_rate == 0) {
        put_all(harm, carriage, &harm->waiting, out);
        harm->waiting.size = 0;
    }
}
