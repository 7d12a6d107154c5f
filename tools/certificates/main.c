/* SPDX-License-Identifier: MIT */
/* shoal-certificates FOLDER: the certificates of certificates.h, for tests in other
 * languages and for trials by hand. */
#include "certificates/certificates.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: shoal-certificates FOLDER\n");
        return 2;
    }
    if (!certificates_make(argv[1])) {
        fprintf(stderr, "shoal-certificates: %s: cannot be written\n", argv[1]);
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
