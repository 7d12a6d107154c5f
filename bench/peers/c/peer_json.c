/* SPDX-License-Identifier: MIT */
#include "peer_json.h"

#include "async_link.h"
#include "server/machine.h"

#include <math.h>
#include <stdio.h>
#include <uv.h>

static void print_number(const char *key, double number)
{
    if (isfinite(number))
        printf("\"%s\": %.6g", key, number);
    else
        printf("\"%s\": null", key);
}

static void print_latency(const char *key, const histogram_t *histogram)
{
    static const char *const names[] = {"p0",  "p50",   "p90",    "p95",
                                        "p99", "p99_9", "p99_99", "p100"};
    static const double quantiles[] = {0, 0.5, 0.9, 0.95, 0.99, 0.999, 0.9999, 1};
    double us[sizeof quantiles / sizeof *quantiles];

    histogram_quantiles_us(histogram, quantiles, sizeof us / sizeof *us, us);
    printf("\"%s\": {", key);
    for (size_t i = 0; i < sizeof us / sizeof *us; i++) {
        print_number(names[i], us[i]);
        printf(", ");
    }
    print_number("mean", histogram_mean_us(histogram));
    printf("}, ");
}

static void print_text(const char *key, const char *text)
{
    printf("\"%s\": \"", key);
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            printf("\\%c", c);
        else if (c < 0x20)
            printf("\\u%04x", c);
        else
            putchar(c);
    }
    printf("\", ");
}

static void print_config(const peer_t *peer)
{
    const peer_options_t *options = peer->options;
    char version[32];

    printf("\"config\": {\"callers\": %llu, \"rate\": %llu, "
           "\"value_bytes\": %llu, \"latency_sampling\": %llu, ",
           (unsigned long long)options->callers, (unsigned long long)options->rate,
           (unsigned long long)options->value_bytes,
           (unsigned long long)peer->sampling);
    print_number("duration_s", (double)options->duration_us / 1e6);
    printf(", ");
    print_number("warmup_s", (double)options->warmup_us / 1e6);
    async_link_version(version, sizeof version);
    printf(", \"versions\": {\"%s\": \"%s\", \"libuv\": \"%s\"}}", async_link_library,
           version, uv_version_string());
}

void peer_json_print(const peer_t *peer, const peer_moment_t *from,
                     const peer_moment_t *to)
{
    double ops = (double)(to->ops - from->ops);
    double ns = (double)(to->at_ns - from->at_ns);
    double cpu_ns = (double)(to->cpu_ns - from->cpu_ns);
    uint64_t errors = atomic_load(&peer->errors);

    printf("{");
    print_text("client", peer->options->client);
    printf("\"commands\": %.0f, \"errors\": %llu, ", ops, (unsigned long long)errors);
    if (errors > 0)
        print_text("first_error", peer->first_error);
    print_number("seconds", ns / 1e9);
    printf(", ");
    print_number("ops_per_s", ops * 1e9 / ns);
    printf(", ");
    print_number("client_cpu_us_per_op", cpu_ns / 1e3 / ops);
    printf(", ");
    print_number("client_cpu_percent", cpu_ns * 100 / ns);
    printf(", \"peak_rss_bytes\": %llu, ",
           (unsigned long long)machine_peak_rss_bytes());
    print_latency("latency_us", peer->latency);
    if (peer->options->rate != 0)
        print_latency("service_latency_us", peer->service);
    print_config(peer);
    printf("}\n");
}
