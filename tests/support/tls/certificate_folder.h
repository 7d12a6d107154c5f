/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_TESTS_CERTIFICATE_FOLDER_H
#define SHOAL_TESTS_CERTIFICATE_FOLDER_H

/* The certificates of tools/certificates/certificates.h in a folder of this program's own.
 * It is made at the first call, and removed when the program ends.  Any thread. */

const char *certificate_folder(void);
/* The path of a file in it: certificate_path("server.crt").  It stays valid. */
const char *certificate_path(const char *file);

#endif
