/* SPDX-License-Identifier: MIT */
/* A user of the installed library: one command, by the public headers alone. */
#include <shoal/shoal.h>
#include <shoal/uv.h> /* libuv's header must be found too */
#include <stdio.h>

int main(int argc, char **argv)
{
    shoal_client_t *client;
    shoal_result_t *result;

    if (argc != 2)
        return 2;
    int rc = shoal_client_open_url(argv[1], &client, NULL);
    if (rc < 0) {
        fprintf(stderr, "open: %s\n", shoal_strerror(rc));
        return 1;
    }

    rc = shoal_client_callf(client, &result, "PING %s", "consumer");
    if (rc == 0) {
        const shoal_reply_t *reply = shoal_result_reply(result);
        size_t bytes = 0;
        const char *text = reply ? shoal_reply_string(reply, &bytes) : NULL;
        printf("shoal %s, libuv %s: %.*s\n", shoal_version(), uv_version_string(),
               (int)bytes, text ? text : "");
        rc = bytes == sizeof "consumer" - 1 ? 0 : -1;
        shoal_result_release(result);
    }
    shoal_client_close_and_wait(client, 0);
    shoal_client_release(client);
    return rc == 0 ? 0 : 1;
}
