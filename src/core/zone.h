/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_ZONE_H
#define SHOAL_CORE_ZONE_H

/* In which availability zone is a server?  Its INFO says so: "availability_zone:eu-1a". */

#include "base/bytes.h"

#define SHOAL__ZONE_BYTES 255 /* of the name of a zone, at most */

/* The zone in this text of a server; no bytes: it does not say. */
shoal__bytes_t shoal__zone_read(shoal__bytes_t info);

#endif
