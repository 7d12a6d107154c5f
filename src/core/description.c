/* SPDX-License-Identifier: MIT */
#include "core/description.h"

#define DIGITS_MAX 18 /* so that the number cannot overflow */

shoal__bytes_t shoal__text_of(const shoal_reply_t *reply)
{
    size_t bytes = 0;
    const char *data = shoal_reply_string(reply, &bytes);

    return (shoal__bytes_t){data, data ? bytes : 0};
}

bool shoal__text_read_number(shoal__bytes_t text, uint64_t max, uint64_t *ret_number)
{
    uint64_t number = 0;

    if (text.bytes == 0 || text.bytes > DIGITS_MAX)
        return false;
    for (size_t i = 0; i < text.bytes; i++) {
        if (text.data[i] < '0' || text.data[i] > '9')
            return false;
        number = number * 10 + (uint64_t)(text.data[i] - '0');
    }
    *ret_number = number;
    return number <= max;
}

bool shoal__text_read_word(shoal__bytes_t text, char *ret_word, size_t room)
{
    if (text.bytes == 0 || text.bytes >= room)
        return false;
    for (size_t i = 0; i < text.bytes; i++)
        if (text.data[i] <= ' ' || text.data[i] > '~')
            return false;
    memcpy(ret_word, text.data, text.bytes);
    ret_word[text.bytes] = '\0';
    return true;
}

shoal__bytes_t shoal__description_value(const shoal_reply_t *description,
                                        const char *name)
{
    shoal_reply_type_t type = shoal_reply_type(description);
    size_t count = shoal_reply_count(description);

    if (type != SHOAL_REPLY_MAP && type != SHOAL_REPLY_ARRAY)
        count = 0;
    for (size_t i = 0; i + 1 < count; i += 2)
        if (shoal__bytes_equal(shoal__text_of(shoal_reply_at(description, i)),
                               (shoal__bytes_t){name, strlen(name)}))
            return shoal__text_of(shoal_reply_at(description, i + 1));
    return (shoal__bytes_t){NULL, 0};
}

bool shoal__text_has_flag(shoal__bytes_t flags, const char *flag)
{
    size_t bytes = strlen(flag), begin = 0;

    for (size_t i = 0; i <= flags.bytes; i++) {
        if (i < flags.bytes && flags.data[i] != ',')
            continue;
        if (i - begin == bytes && memcmp(flags.data + begin, flag, bytes) == 0)
            return true;
        begin = i + 1;
    }
    return false;
}
