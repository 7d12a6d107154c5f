/* SPDX-License-Identifier: MIT */
#include "number_text.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Beyond these, repr() writes an exponent. */
#define EXPONENT_MIN (-4)
#define EXPONENT_MAX 16
#define DIGITS_MIN 15 /* that every normal double has */
#define DIGITS_MAX 17 /* that tell any two apart */

size_t shoalpy_integer_text(int64_t value, char *text)
{
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    char reversed[SHOALPY_NUMBER_BYTES];
    size_t digits = 0, bytes = 0;

    do {
        reversed[digits++] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest);
    if (value < 0)
        text[bytes++] = '-';
    while (digits)
        text[bytes++] = reversed[--digits];
    return bytes;
}

/* Round the digits of "d.ddde+x" up by one unit of the last place.  False: all are 9. */
static bool round_up(char *text)
{
    char *at = strchr(text, 'e');

    while (at-- > text) {
        if (*at >= '0' && *at < '9') {
            ++*at;
            return true;
        }
        if (*at == '9')
            *at = '0';
    }
    return false;
}

/* Write the value with so many digits.  Does the text read back as the value?  Above a
 * power of two the doubles are twice as far apart as below it.  At such a value the
 * text that reads back may be the next one above the nearest. */
static bool is_exact(double value, int digits, char *text, size_t bytes_max)
{
    int exponent;

    snprintf(text, bytes_max, "%.*e", digits - 1, value);
    if (strtod(text, NULL) == value)
        return true;
    return frexp(value, &exponent) == 0.5 && round_up(text) &&
           strtod(text, NULL) == value;
}

/* value = 0.digits * 10^(exponent + 1), without zeros at the end.  The number of digits.
 * The decimal point may be a comma, by the locale: it is skipped, and strtod() knows it.
 */
static size_t split(double value, char digits[DIGITS_MAX], int *ret_exponent)
{
    char text[48];
    size_t count = 0;
    int wanted = value < DBL_MIN ? 1 : DIGITS_MIN;

    while (!is_exact(value, wanted, text, sizeof text) && wanted < DIGITS_MAX)
        wanted++;
    for (const char *at = text; *at != 'e'; at++)
        if (*at >= '0' && *at <= '9')
            digits[count++] = *at;
    while (count > 1 && digits[count - 1] == '0')
        count--;
    *ret_exponent = atoi(strchr(text, 'e') + 1);
    return count;
}

static char *put(char *to, const char *from, size_t bytes)
{
    memcpy(to, from, bytes);
    return to + bytes;
}

static char *put_zeros(char *to, int count)
{
    for (int i = 0; i < count; i++)
        *to++ = '0';
    return to;
}

static char *put_plain(char *at, const char *digits, int count, int exponent)
{
    if (exponent < 0) {
        at = put_zeros(put(at, "0.", 2), -exponent - 1);
        return put(at, digits, (size_t)count);
    }
    if (count <= exponent + 1) {
        at = put_zeros(put(at, digits, (size_t)count), exponent + 1 - count);
        return put(at, ".0", 2);
    }
    at = put(at, digits, (size_t)exponent + 1);
    *at++ = '.';
    return put(at, digits + exponent + 1, (size_t)(count - exponent - 1));
}

static char *put_scientific(char *at, const char *digits, int count, int exponent)
{
    int absolute = abs(exponent);

    *at++ = digits[0];
    if (count > 1) {
        *at++ = '.';
        at = put(at, digits + 1, (size_t)count - 1);
    }
    *at++ = 'e';
    *at++ = exponent < 0 ? '-' : '+';
    if (absolute < 10)
        *at++ = '0';
    return at + shoalpy_integer_text(absolute, at);
}

size_t shoalpy_float_text(double value, char *text)
{
    char digits[DIGITS_MAX], *at = text;
    int count, exponent;

    if (isnan(value))
        return (size_t)(put(at, "nan", 3) - text);
    if (signbit(value))
        *at++ = '-';
    if (isinf(value))
        return (size_t)(put(at, "inf", 3) - text);
    count = (int)split(fabs(value), digits, &exponent);
    if (exponent < EXPONENT_MIN || exponent >= EXPONENT_MAX)
        at = put_scientific(at, digits, count, exponent);
    else
        at = put_plain(at, digits, count, exponent);
    return (size_t)(at - text);
}
