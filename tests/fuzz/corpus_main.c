/* SPDX-License-Identifier: MIT */

/* Runs a fuzz target on files, without a fuzzer: each argument is a file or a folder of
 * files.  A finding aborts, and the file's name was printed before; the end says how
 * many there were. */

#include "fuzz_input.h"
#include <dirent.h>
#include <sys/stat.h>

#define INPUT_BYTES_MAX (1 << 20)

static unsigned run_path(const char *path);

static void run_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    uint8_t *data = malloc(INPUT_BYTES_MAX);

    FUZZ_CHECK(file && data, "%s cannot be read", path);
    size_t bytes = fread(data, 1, INPUT_BYTES_MAX, file);
    fclose(file);

    /* Exactly the file's size, so that a sanitizer reports each read beyond its end. */
    uint8_t *exact = realloc(data, bytes > 0 ? bytes : 1);
    FUZZ_CHECK(exact, "no memory");
    fprintf(stderr, "running %s\n", path);
    LLVMFuzzerTestOneInput(exact, bytes);
    free(exact);
}

static unsigned run_folder(DIR *folder, const char *path)
{
    unsigned files = 0;

    for (const struct dirent *entry; (entry = readdir(folder));) {
        char name[4096];

        if (entry->d_name[0] == '.')
            continue;
        int length = snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        FUZZ_CHECK(length > 0 && (size_t)length < sizeof name, "too long: %s", path);
        files += run_path(name);
    }
    closedir(folder);
    return files;
}

static unsigned run_path(const char *path)
{
    DIR *folder = opendir(path);

    if (folder)
        return run_folder(folder, path);
    run_file(path);
    return 1;
}

int main(int argc, char **argv)
{
    unsigned files = 0;

    for (int i = 1; i < argc; i++)
        files += run_path(argv[i]);
    printf("%u inputs\n", files);
    return files > 0 ? 0 : 1;
}
