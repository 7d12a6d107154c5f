/* SPDX-License-Identifier: MIT */

/* A libuv program: the client runs on its loop, beside its own handles.
 *
 *     own_uv_loop [URL]                            default redis://127.0.0.1:6379 */

#include <shoal/shoal.h>
#include <shoal/uv.h>
#include <stdio.h>

#define TICKS 5
#define TOGETHER 20

typedef struct app {
    shoal_client_t *client;
    uv_timer_t timer;
    int ticks, answers, failures;
} app_t;

static void on_closed(void *data)
{
    app_t *app = data;
    printf("closed after %d answers, %d failures\n", app->answers, app->failures);
}

static void on_result(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    app_t *app = data;

    app->answers++;
    app->failures += shoal_result_error(result) != NULL;
    if (app->answers == TICKS * TOGETHER) /* the last one: leave */
        shoal_client_close(client, 0, on_closed, app);
}

static void on_tick(uv_timer_t *timer)
{
    app_t *app = timer->data;

    /* These leave together, at the end of this turn of the loop. */
    for (int i = 0; i < TOGETHER; i++)
        shoal_client_submitf(app->client, on_result, app, "PING tick-%d", app->ticks);
    if (++app->ticks == TICKS)
        uv_close((uv_handle_t *)timer, NULL);
}

int main(int argc, char **argv)
{
    app_t app = {0};
    const char *url = argc > 1 ? argv[1] : "redis://127.0.0.1:6379";
    shoal_error_t error = SHOAL_ERROR_INIT;
    shoal_options_t *options;
    uv_loop_t *loop = uv_default_loop();

    if (shoal_options_from_url(url, &options, &error) < 0 ||
        shoal_client_open_uv(loop, options, &app.client, &error) < 0) {
        fprintf(stderr, "open: %s\n", error.text);
        return 1;
    }
    shoal_options_free(options);
    uv_timer_init(loop, &app.timer);
    app.timer.data = &app;
    uv_timer_start(&app.timer, on_tick, 0, 10);
    uv_run(loop, UV_RUN_DEFAULT);
    shoal_client_release(app.client);
    return uv_loop_close(loop) != 0 || app.failures > 0;
}
