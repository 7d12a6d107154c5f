/* SPDX-License-Identifier: MIT */

/* Write a value to a file, however large it is: it comes in chunks, and is never in memory
 * as a whole.
 *
 *     download KEY FILE [URL]                      default redis://127.0.0.1:6379 */

#include <shoal/shoal.h>
#include <stdbool.h>
#include <stdio.h>

typedef struct download {
    const char *path;
    FILE *file;
    bool is_broken; /* the file took not all of it */
    bool is_whole;
} download_t;

static void on_begin(uint64_t bytes, void *data)
{
    (void)data;
    printf("%llu bytes\n", (unsigned long long)bytes);
}

/* A file may block for a while, and everything else of this client waits meanwhile: a
 * server would hand the chunk to another thread. */
static void on_chunk(const char *chunk, size_t bytes, void *data)
{
    download_t *download = data;

    if (!download->file || fwrite(chunk, 1, bytes, download->file) != bytes)
        download->is_broken = true;
}

static void on_end(void *data)
{
    ((download_t *)data)->is_whole = true;
}

/* The connection was lost in the middle.  The library asks again: from the beginning, and
 * the value may be another one then. */
static void on_reset(void *data)
{
    download_t *download = data;

    download->file = freopen(download->path, "wb", download->file);
}

/* 0 if the file has the value. */
static int get(shoal_client_t *client, const char *key, download_t *download)
{
    static const shoal_chunk_sink_t chunks = {on_begin, on_chunk, on_end, on_reset};
    const char *const argv[] = {"GET", key};
    const shoal_command_t command = {.argc = 2, .argv = argv};
    shoal_call_t call = SHOAL_CALL_INIT;
    shoal_result_t *result;
    size_t bytes = 0;
    const char *text;
    int rc;

    call.chunks = &chunks;
    call.sink_data = download;
    call.flags = SHOAL_CALL_SINK_HERE; /* the functions above take no lock */
    rc = shoal_client_call_with(client, &command, &call, &result);
    if (rc < 0) {
        fprintf(stderr, "GET: %s\n", shoal_strerror(rc));
        return 1;
    }
    text = shoal_reply_string(shoal_result_reply(result), &bytes);
    if (shoal_result_error(result)) {
        fprintf(stderr, "GET: %s\n", shoal_result_error(result));
        rc = 1;
    } else if (text) { /* a short value is the result, as always */
        on_begin(bytes, download);
        on_chunk(text, bytes, download);
        on_end(download);
    } else if (!download->is_whole) {
        fprintf(stderr, "there is no such key\n");
    }
    shoal_result_release(result);
    return rc || !download->is_whole || download->is_broken;
}

int main(int argc, char **argv)
{
    const char *url = argc > 3 ? argv[3] : "redis://127.0.0.1:6379";
    shoal_error_t error = SHOAL_ERROR_INIT;
    download_t download = {.is_broken = false};
    shoal_client_t *client;
    int rc;

    if (argc < 3) {
        fprintf(stderr, "usage: %s KEY FILE [URL]\n", argv[0]);
        return 2;
    }
    download.path = argv[2];
    download.file = fopen(download.path, "wb");
    if (!download.file) {
        perror(argv[2]);
        return 1;
    }
    rc = shoal_client_open_url(url, &client, &error);
    if (rc < 0) {
        fprintf(stderr, "open: %s\n", error.text);
        fclose(download.file);
        return 1;
    }
    rc = get(client, argv[1], &download);
    shoal_client_close_and_wait(client, 1000000);
    shoal_client_release(client);
    if (!download.file || fclose(download.file) != 0)
        rc = 1;
    return rc;
}
