/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_TOOLS_FAULT_SPEC_H
#define SHOAL_TOOLS_FAULT_SPEC_H

/* The text of a carriage: KEY=NUMBER with commas between, e.g. "delay_us=5000,flip=10".
 * Keys: delay_us, jitter_us, bytes_per_s, chunk (bytes), stopped (0 or 1), and per million
 * flip, lose, insert, drop, repeat, swap, extra.  What is not named is zero. */

#include "fault_proxy/fault_carriage.h"

/* NULL, or what is wrong with the text; then `ret_carriage` is untouched. */
const char *fault_spec_parse(const char *text, fault_carriage_t *ret_carriage);

/* Does everything arrive, in order and unharmed, however late? */
bool fault_spec_is_lossless(const fault_carriage_t *carriage);

#endif
