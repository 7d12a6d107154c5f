/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_RESP_KEY_SLOT_H
#define SHOAL_RESP_KEY_SLOT_H

/*
 * The hash slot of a key, as a cluster counts it: CRC16 (XMODEM) modulo 16384 (Redis Cluster
 * specification, "Key distribution model").  Keys with the same text between the first { and
 * the next } have one slot, if that text is not empty.
 */

#include "base/bytes.h"

#define SHOAL__SLOTS 16384

unsigned shoal__key_slot(shoal__bytes_t key);

#endif
