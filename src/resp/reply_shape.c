/* SPDX-License-Identifier: MIT */
#include "resp/reply_shape.h"

#define BIT(type) (1u << SHOAL_REPLY_##type)
#define ANY UINT16_MAX

#include "resp/reply_shape_masks.inc"

_Static_assert(REPLY_SHAPE_COUNT <= SHOAL__SHAPE_PUSHES,
               "a request has six bits for it");
