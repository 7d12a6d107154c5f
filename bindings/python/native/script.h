/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_PYTHON_SCRIPT_H
#define SHOAL_PYTHON_SCRIPT_H

/* Scripts that connections load. */

#include "core.h"
#include <shoal/script.h>

/* 0 or an error of shoal_script_new(); SHOAL_ECLOSED. */
int shoalpy_script_new(shoalpy_core_t *core, const char *text, size_t bytes,
                       shoal_script_t **ret_script);

#endif
