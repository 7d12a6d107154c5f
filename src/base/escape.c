/* SPDX-License-Identifier: MIT */
#include "base/escape.h"

void shoal__escape(char *at, size_t room, shoal__bytes_t text)
{
    static const char digits[] = "0123456789abcdef";
    size_t used = 0;

    for (size_t i = 0; i < text.bytes && used + 5 <= room; i++) {
        unsigned char c = (unsigned char)text.data[i];
        if (c >= 0x20 && c < 0x7f) {
            at[used++] = (char)c;
        } else {
            at[used++] = '\\';
            at[used++] = 'x';
            at[used++] = digits[c >> 4];
            at[used++] = digits[c & 15];
        }
    }
    at[used] = '\0';
}
