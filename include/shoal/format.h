/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_FORMAT_H
#define SHOAL_FORMAT_H

/* Commands made from a format, as in hiredis, for C code that people write by hand:
 *
 *     shoal_client_submitf(client, on_result, data, "SET %s %b", key, value, bytes);
 *
 * The format is split at its own spaces only, so an argument never becomes two.
 *
 *   %s                         a NUL-terminated string
 *   %b                         a pointer and a size_t: any bytes
 *   %d %i %u %o %x %X          an integer, with the lengths hh, h, l and ll
 *   %f %F %e %E %g %G %a %A    a double
 *   %%                         a percent sign
 *
 * Numbers take flags, a width and a precision in digits as for printf().  Any other
 * conversion or length, such as %zu, %p or %c, is SHOAL_EINVAL: for a size_t use %llu
 * and cast it to unsigned long long.  shoal_call_t.error describes what is wrong in a
 * format.
 *
 * These functions allocate memory for each command; shoal_client_submit() does not. */

#include <shoal/command.h>
#include <shoal/version.h>
#include <stdarg.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * shoal_client_submit() with the command from a format.
 *
 * Threads:   any
 * Blocks:    never
 * Ownership: nothing passed in is kept
 * Errors:    those of shoal_client_submit(); SHOAL_EINVAL also for a bad format
 * Since:     0.1
 */
SHOAL_EXTERN int shoal_client_submitf(shoal_client_t *client, shoal_result_cb on_result,
                                      void *data, const char *format, ...);

/**
 * shoal_client_submitf() with a va_list.
 *
 * Threads:   any
 * Blocks:    never
 * Ownership: nothing passed in is kept
 * Errors:    those of shoal_client_submitf()
 * Since:     0.1
 */
SHOAL_EXTERN int shoal_client_vsubmitf(shoal_client_t *client,
                                       shoal_result_cb on_result, void *data,
                                       const char *format, va_list args);

/**
 * shoal_client_call() with the command from a format.
 *
 * Threads:   any, but not the loop thread
 * Blocks:    until the result, at most to the deadline
 * Ownership: nothing passed in is kept; the caller releases the result
 * Errors:    those of shoal_client_call(); SHOAL_EINVAL also for a bad format
 * Since:     0.1
 */
SHOAL_EXTERN int shoal_client_callf(shoal_client_t *client, shoal_result_t **ret_result,
                                    const char *format, ...);

/**
 * shoal_client_callf() with a va_list.
 *
 * Threads:   any, but not the loop thread
 * Blocks:    until the result, at most to the deadline
 * Ownership: nothing passed in is kept; the caller releases the result
 * Errors:    those of shoal_client_callf()
 * Since:     0.1
 */
SHOAL_EXTERN int shoal_client_vcallf(shoal_client_t *client,
                                     shoal_result_t **ret_result, const char *format,
                                     va_list args);

/**
 * shoal_client_submitf() with extras.
 *
 * @param call       extras; NULL for none
 * @param on_result, data as for shoal_client_submit()
 * @param ret_ticket receives the command's ticket, for shoal_client_cancel(); 0 if the
 *                   command was refused.  May be NULL
 *
 * Threads:   any
 * Blocks:    never, unless SHOAL_CALL_WAIT_FOR_ROOM asks for it
 * Ownership: nothing passed in is kept; a sink must live until the result
 * Errors:    those of shoal_client_submit_many(); SHOAL_EINVAL also for a bad format
 * Since:     0.2
 */
SHOAL_EXTERN int shoal_client_submitf_with(shoal_client_t *client,
                                           const shoal_call_t *call,
                                           shoal_result_cb on_result, void *data,
                                           uint64_t *ret_ticket, const char *format,
                                           ...);

/**
 * shoal_client_submitf_with() with a va_list.
 *
 * Threads:   any
 * Blocks:    never, unless SHOAL_CALL_WAIT_FOR_ROOM asks for it
 * Ownership: nothing passed in is kept; a sink must live until the result
 * Errors:    those of shoal_client_submitf_with()
 * Since:     0.2
 */
SHOAL_EXTERN int shoal_client_vsubmitf_with(shoal_client_t *client,
                                            const shoal_call_t *call,
                                            shoal_result_cb on_result, void *data,
                                            uint64_t *ret_ticket, const char *format,
                                            va_list args);

/**
 * shoal_client_callf() with extras.
 *
 * @param call extras; NULL for none
 *
 * Threads:   any, but not the loop thread
 * Blocks:    until the result, at most to the deadline
 * Ownership: nothing passed in is kept; the caller releases the result
 * Errors:    those of shoal_client_call_with(); SHOAL_EINVAL also for a bad format
 * Since:     0.2
 */
SHOAL_EXTERN int shoal_client_callf_with(shoal_client_t *client,
                                         const shoal_call_t *call,
                                         shoal_result_t **ret_result,
                                         const char *format, ...);

/**
 * shoal_client_callf_with() with a va_list.
 *
 * Threads:   any, but not the loop thread
 * Blocks:    until the result, at most to the deadline
 * Ownership: nothing passed in is kept; the caller releases the result
 * Errors:    those of shoal_client_callf_with()
 * Since:     0.2
 */
SHOAL_EXTERN int shoal_client_vcallf_with(shoal_client_t *client,
                                          const shoal_call_t *call,
                                          shoal_result_t **ret_result,
                                          const char *format, va_list args);

#ifdef __cplusplus
}
#endif

#endif
