/* SPDX-License-Identifier: MIT */
#include "caller.h"
#include "core.h"
#include "desk.h"
#include "feed.h"
#include "into.h"
#include "monitor.h"
#include "opcodes.h"
#include "openssl.h"
#include "port.h"
#include "scan.h"
#include "script.h"
#include <shoal/shoal.h>
