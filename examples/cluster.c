/* SPDX-License-Identifier: MIT */

/* Users of a cluster: what belongs together has a common tag, and so one node.
 *
 *     cluster [URL]
 *
 * The URL names nodes, for example redis+cluster://127.0.0.1:7000.  Any other URL works, too:
 * one server has all slots; and with redis://127.0.0.1:7000?topology=auto the client finds out. */

#include <shoal/shoal.h>
#include <stdio.h>

#define USERS 5

/* Name and visits of a user have one slot: one command, and one transaction, may have both. */
static int add_user(shoal_client_t *client, int number)
{
    shoal_result_t *result;
    int rc = shoal_client_callf(client, &result,
                                "MSET {user%d}.name user-%d {user%d}.visits 1", number,
                                number, number);

    if (rc < 0)
        return rc;
    if (shoal_result_error(result))
        printf("user %d: %s\n", number, shoal_result_error(result));
    shoal_result_release(result);
    return 0;
}

/* Users have different slots: their commands go to different nodes. */
static void on_visits(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    const int *number = data;
    (void)client;

    if (shoal_result_error(result))
        printf("user %d: %s\n", *number, shoal_result_error(result));
    else
        printf("user %d: %lld visits\n", *number,
               (long long)shoal_reply_integer(shoal_result_reply(result)));
}

/* Keys without a common tag: the library says so before anything is sent. */
static void show_refusal(shoal_client_t *client)
{
    static const char *const words[] = {"MGET", "{user0}.name", "{user1}.name"};
    const shoal_command_t command = {3, words, NULL};
    shoal_error_t error = SHOAL_ERROR_INIT;
    shoal_call_t call = SHOAL_CALL_INIT;
    shoal_result_t *result;

    call.error = &error;
    if (shoal_client_call_with(client, &command, &call, &result) < 0)
        printf("%s\n", error.text);
    else
        shoal_result_release(result);
}

int main(int argc, char **argv)
{
    const char *url = argc > 1 ? argv[1] : "redis://127.0.0.1:6379";
    shoal_error_t error = SHOAL_ERROR_INIT;
    int numbers[USERS];
    shoal_client_t *client;

    if (shoal_client_open_url(url, &client, &error) < 0) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    for (int i = 0; i < USERS; i++) {
        int rc = add_user(client, i);
        if (rc < 0)
            fprintf(stderr, "%s\n", shoal_strerror(rc));
    }
    for (int i = 0; i < USERS; i++) {
        numbers[i] = i;
        shoal_client_submitf(client, on_visits, &numbers[i], "INCR {user%d}.visits", i);
    }
    show_refusal(client);
    shoal_client_close_and_wait(client, 5000000); /* with time for the answers */
    shoal_client_release(client);
    return 0;
}
