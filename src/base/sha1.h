/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_BASE_SHA1_H
#define SHOAL_BASE_SHA1_H

/* SHA-1 (FIPS 180-4), by which servers name scripts.  It protects nothing. */

#include "base/bytes.h"

#define SHOAL__SHA1_HEX_BYTES 40

/* 40 hexadecimal digits, in lower case, and a NUL. */
void shoal__sha1_hex(shoal__bytes_t text, char ret[SHOAL__SHA1_HEX_BYTES + 1]);

#endif
