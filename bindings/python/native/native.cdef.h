/* SPDX-License-Identifier: MIT */
/* What Python sees.  bindings/python/tools/check_cdef.py holds it against the headers. */

typedef struct shoal_options shoal_options_t;
typedef struct shoal_error {
    size_t size;
    int code;
    int system_errno;
    char text[240];
} shoal_error_t;
typedef enum shoal_flush_mode {
    SHOAL_FLUSH_AUTO,
    SHOAL_FLUSH_OFF,
    SHOAL_FLUSH_FIXED,
    ...
} shoal_flush_mode_t;
typedef enum shoal_offline_mode {
    SHOAL_OFFLINE_QUEUE,
    SHOAL_OFFLINE_FAIL,
    ...
} shoal_offline_mode_t;
typedef enum shoal_integrity {
    SHOAL_INTEGRITY_SHAPES,
    SHOAL_INTEGRITY_DETECT,
    SHOAL_INTEGRITY_STRICT,
    ...
} shoal_integrity_t;

int shoal_options_new(shoal_options_t **ret_options);
int shoal_options_from_url(const char *url, shoal_options_t **ret_options,
                           shoal_error_t *ret_error);
void shoal_options_free(shoal_options_t *options);
int shoal_options_set_address(shoal_options_t *options, const char *host, int port);
int shoal_options_set_unix_path(shoal_options_t *options, const char *path);
int shoal_options_add_address(shoal_options_t *options, const char *host, int port);
int shoal_options_add_unix_path(shoal_options_t *options, const char *path);
int shoal_options_set_auth(shoal_options_t *options, const char *user,
                           const char *password);
int shoal_options_set_database(shoal_options_t *options, int database);
int shoal_options_set_client_name(shoal_options_t *options, const char *name);
int shoal_options_set_protocol(shoal_options_t *options, int version);
int shoal_options_set_timeout_us(shoal_options_t *options, uint64_t timeout_us);
int shoal_options_set_connect_timeout_us(shoal_options_t *options, uint64_t connect_us,
                                         uint64_t handshake_us);
int shoal_options_set_stall_timeout_us(shoal_options_t *options, uint64_t stall_us);
int shoal_options_set_ping_idle_us(shoal_options_t *options, uint64_t idle_us);
int shoal_options_set_probe_us(shoal_options_t *options, uint64_t probe_us);
int shoal_options_set_backoff_us(shoal_options_t *options, uint64_t base_us,
                                 uint64_t max_us);
int shoal_options_set_keepalive_us(shoal_options_t *options, uint64_t idle_us);
int shoal_options_set_source_address(shoal_options_t *options, const char *address);
int shoal_options_set_offline_mode(shoal_options_t *options, shoal_offline_mode_t mode);
int shoal_options_set_outstanding_max(shoal_options_t *options, size_t queued_max,
                                      size_t inflight_max, uint64_t bytes_max);
int shoal_options_set_reply_max(shoal_options_t *options, uint64_t bytes_max,
                                uint64_t elements_max, int depth_max);
int shoal_options_set_flush(shoal_options_t *options, shoal_flush_mode_t mode,
                            uint64_t pause_us);
int shoal_options_set_attempts_max(shoal_options_t *options, int attempts_max);
typedef enum shoal_order { SHOAL_ORDER_MARK, SHOAL_ORDER_STRICT, ... } shoal_order_t;
int shoal_options_set_order(shoal_options_t *options, shoal_order_t order);
int shoal_options_set_integrity(shoal_options_t *options, shoal_integrity_t integrity);
int shoal_options_set_settle(shoal_options_t *options, bool is_settling);
int shoal_options_set_bulk_lane(shoal_options_t *options, bool has_bulk_lane);
int shoal_options_set_maintenance(shoal_options_t *options, bool heeds);
int shoal_options_set_connections(shoal_options_t *options, unsigned connections);
int shoal_options_set_connections_max(shoal_options_t *options,
                                      unsigned connections_max);
int shoal_options_set_sentinel(shoal_options_t *options, const char *name);
int shoal_options_add_sentinel(shoal_options_t *options, const char *host, int port);
int shoal_options_set_sentinel_auth(shoal_options_t *options, const char *user,
                                    const char *password);
int shoal_options_set_sentinel_tls(shoal_options_t *options, bool is_on);
typedef enum shoal_read_from {
    SHOAL_READ_PRIMARY,
    SHOAL_READ_REPLICA_PREFERRED,
    SHOAL_READ_REPLICA,
    SHOAL_READ_ZONE,
    SHOAL_READ_ZONE_OR_PRIMARY,
    ...
} shoal_read_from_t;
int shoal_options_set_read_from(shoal_options_t *options, shoal_read_from_t read_from);
int shoal_options_set_zone(shoal_options_t *options, const char *zone);
int shoal_options_add_replica(shoal_options_t *options, const char *host, int port);

int shoal_options_map_address(shoal_options_t *options, const char *host, int port,
                              const char *to_host, int to_port);

typedef struct shoal_credentials_request shoal_credentials_request_t;
typedef enum shoal_rotation {
    SHOAL_ROTATE_SUCCESSOR,
    SHOAL_ROTATE_IN_PLACE,
    ...
} shoal_rotation_t;
int shoal_options_set_credentials_timeout_us(shoal_options_t *options,
                                             uint64_t timeout_us);
int shoal_options_set_rotation(shoal_options_t *options, shoal_rotation_t rotation);
int shoal_credentials_give(shoal_credentials_request_t *request, const char *user,
                           const char *password, uint64_t refresh_after_ms);
int shoal_credentials_fail(shoal_credentials_request_t *request, const char *reason);
typedef struct shoalpy_desk shoalpy_desk_t;
shoalpy_desk_t *shoalpy_desk_new(void);
void shoalpy_desk_open(shoalpy_desk_t *desk);
void shoalpy_desk_close(shoalpy_desk_t *desk);
int shoalpy_desk_serve(shoalpy_desk_t *desk, shoal_options_t *options);
shoal_credentials_request_t *shoalpy_desk_take(shoalpy_desk_t *desk);
bool shoalpy_desk_is_awaited(shoalpy_desk_t *desk);

typedef enum shoal_tls_version {
    SHOAL_TLS_1_2,
    SHOAL_TLS_1_3,
    ...
} shoal_tls_version_t;
bool shoal_has_tls(void);
int shoal_options_set_tls(shoal_options_t *options, bool is_on);
int shoal_options_set_tls_ca_file(shoal_options_t *options, const char *path);
int shoal_options_set_tls_ca_dir(shoal_options_t *options, const char *path);
int shoal_options_set_tls_certificate(shoal_options_t *options, const char *cert_file,
                                      const char *key_file);
int shoal_options_set_tls_server_name(shoal_options_t *options, const char *name);
int shoal_options_set_tls_min_version(shoal_options_t *options,
                                      shoal_tls_version_t version);
int shoal_options_set_tls_ciphers(shoal_options_t *options, const char *ciphers);
int shoal_options_set_tls_ciphersuites(shoal_options_t *options,
                                       const char *ciphersuites);
int shoal_options_set_tls_insecure(shoal_options_t *options, bool is_insecure);
const char *shoalpy_openssl_find(void);

const char *shoal_version(void);
const char *shoal_strerror(int code);
const char *shoal_error_name(int code);

typedef struct shoal_stats {
    size_t size;
    uint64_t commands;
    uint64_t completed;
    uint64_t refused;
    uint64_t replies;
    uint64_t error_replies;
    uint64_t timeouts;
    uint64_t cancels;
    uint64_t failures;
    uint64_t retries;
    uint64_t zombies_dropped;
    uint64_t pushes;
    uint64_t writes;
    uint64_t reads;
    uint64_t bytes_out;
    uint64_t bytes_in;
    uint64_t flushes;
    uint64_t wakeups;
    uint64_t caller_wakeups;
    uint64_t direct_calls;
    uint64_t handovers;
    uint64_t turns;
    uint64_t connects;
    uint64_t losses;
    uint64_t desyncs;
    uint64_t queued_now;
    uint64_t inflight_now;
    uint64_t bytes_now;
    uint64_t batch_histogram[20];
    uint64_t flush_reasons[16];
    uint64_t holds;
    uint64_t probes;
    uint64_t trials;
    uint64_t callers_now;
    uint64_t is_open_now;
    uint64_t gap_ns_now;
    uint64_t rtt_us_now;
    uint64_t late_us_now;
    uint64_t latency[6][128];
    uint64_t fences;
    uint64_t fences_unclear;
    uint64_t settled;
    uint64_t unsettled;
    uint64_t attempts_failed;
    uint64_t leases_now;
    uint64_t leases_waiting_now;
    uint64_t leases_idle_now;
    uint64_t bytes_referred;
    uint64_t bytes_copied;
    uint64_t bulk;
    uint64_t reordered;
    uint64_t tls_full;
    uint64_t tls_resumed;
    uint64_t replica_reads;
    uint64_t views_asked;
    uint64_t views_refused;
    uint64_t redirects_refused;
    uint64_t moved;
    uint64_t asked;
    ...;
} shoal_stats_t;
typedef enum shoal_stage {
    SHOAL_STAGE_QUEUED,
    SHOAL_STAGE_BATCHED,
    SHOAL_STAGE_WIRE,
    SHOAL_STAGE_TOTAL,
    ...
} shoal_stage_t;
typedef enum shoal_flush_reason { SHOAL_FLUSHED_LONE, ... } shoal_flush_reason_t;
uint64_t shoal_stats_latency_us(const shoal_stats_t *stats, shoal_stage_t stage,
                                unsigned permille);
const char *shoal_flush_reason_name(shoal_flush_reason_t reason);

enum shoal_call_flag {
    SHOAL_CALL_IDEMPOTENT,
    SHOAL_CALL_ONCE,
    SHOAL_CALL_URGENT,
    SHOAL_CALL_WAIT_FOR_ROOM,
    SHOAL_CALL_MAY_BLOCK,
    SHOAL_CALL_CONTIGUOUS,
    SHOAL_CALL_BULK,
    SHOAL_CALL_PRIMARY,
    SHOAL_CALL_REPLICA,
    SHOAL_CALL_MAY_SPLIT,
    ...
};
enum shoal_error_code {
    SHOAL_EINVAL,
    SHOAL_ENOMEM,
    SHOAL_EFULL,
    SHOAL_ETOOBIG,
    SHOAL_ECLOSED,
    SHOAL_EREFUSED,
    SHOAL_EFORK,
    SHOAL_ELOOP,
    SHOAL_EURL,
    SHOAL_EINTR,
    SHOAL_EAGAIN,
    SHOAL_ECROSSSLOT,
    SHOAL_ENOENT,
    SHOAL_ESYSTEM,
    SHOAL_ETIMEOUT,
    SHOAL_ECANCELLED,
    SHOAL_ECONN,
    SHOAL_EDESYNC,
    SHOAL_EAUTH,
    SHOAL_ESHUTDOWN,
    SHOAL_ETLS,
    ...
};
enum shoalpy_reply_flag { SHOALPY_AS_TEXT, SHOALPY_CLASSIC, SHOALPY_INTO, ... };
enum shoalpy_kind { SHOALPY_PLAIN, SHOALPY_HELP, SHOALPY_ERROR, SHOALPY_FAILURE, ... };

typedef enum shoal_connection_state {
    SHOAL_CONNECTION_IDLE,
    SHOAL_CONNECTION_CLOSED,
    ...
} shoal_connection_state_t;
typedef struct shoal_connection_info {
    size_t size;
    uint64_t connection;
    shoal_connection_state_t state;
    int protocol;
    uint64_t server_id;
    uint64_t epoch;
    char server[272];
} shoal_connection_info_t;
const char *shoal_connection_state_name(shoal_connection_state_t state);

typedef enum shoal_topology {
    SHOAL_TOPOLOGY_STANDALONE,
    SHOAL_TOPOLOGY_CLUSTER,
    SHOAL_TOPOLOGY_SENTINEL,
    SHOAL_TOPOLOGY_AUTO,
    ...
} shoal_topology_t;
int shoal_options_set_topology(shoal_options_t *options, shoal_topology_t topology);
typedef enum shoal_node_role {
    SHOAL_NODE_UNKNOWN,
    SHOAL_NODE_PRIMARY,
    SHOAL_NODE_REPLICA,
    ...
} shoal_node_role_t;
typedef struct shoal_topology_snapshot shoal_topology_snapshot_t;
typedef struct shoal_slot_range {
    unsigned first;
    unsigned last;
} shoal_slot_range_t;
typedef struct shoal_node_info {
    const char *name;
    const char *host;
    int port;
    const char *id;
    shoal_node_role_t role;
    const struct shoal_node_info *primary;
    shoal_connection_state_t state;
    uint64_t connection;
    bool is_listed;
    bool is_down;
    unsigned slots;
    const shoal_slot_range_t *ranges;
    size_t ranges_count;
    ...;
} shoal_node_info_t;
void shoal_topology_release(shoal_topology_snapshot_t *topology);
shoal_topology_t shoal_topology_kind(const shoal_topology_snapshot_t *topology);
size_t shoal_topology_nodes_count(const shoal_topology_snapshot_t *topology);
const shoal_node_info_t *shoal_topology_node(const shoal_topology_snapshot_t *topology,
                                             size_t index);

typedef struct shoalpy_core shoalpy_core_t;
typedef struct shoalpy_event {
    int kind, status;
    uint64_t delay_us, epoch, connection;
    char detail[160];
    char server[272];
} shoalpy_event_t;
int shoalpy_core_open(shoal_options_t *options, bool is_borrowed,
                      shoalpy_core_t **ret_core, shoal_error_t *ret_error);
void shoalpy_core_free(shoalpy_core_t *core);
void shoalpy_core_refuse(shoalpy_core_t *core);
bool shoalpy_core_wait_idle(shoalpy_core_t *core, uint64_t wait_us);
int shoalpy_core_close(shoalpy_core_t *core, uint64_t drain_us);
bool shoalpy_core_wait_gone(shoalpy_core_t *core, uint64_t wait_us);
bool shoalpy_core_step(shoalpy_core_t *core, uint64_t wait_us);
int shoalpy_core_is_ready(shoalpy_core_t *core);
int shoalpy_core_wait_ready(shoalpy_core_t *core, uint64_t wait_us);
int shoalpy_core_stats(shoalpy_core_t *core, shoal_stats_t *ret_stats);
int shoalpy_core_connection_stats(shoalpy_core_t *core, uint64_t connection,
                                  shoal_stats_t *ret_stats);
int shoalpy_core_connection(shoalpy_core_t *core, uint64_t connection,
                            shoal_connection_info_t *ret_info);
int shoalpy_core_topology(shoalpy_core_t *core,
                          shoal_topology_snapshot_t **ret_topology);
int shoalpy_core_reconnect(shoalpy_core_t *core);
int shoalpy_core_set_credentials(shoalpy_core_t *core, const char *user,
                                 const char *password);
int shoalpy_core_reload_tls(shoalpy_core_t *core, shoal_error_t *ret_error);
size_t shoalpy_core_events(shoalpy_core_t *core, shoalpy_event_t *events,
                           size_t count_max, uint64_t *ret_lost);
void shoalpy_core_failure(shoalpy_core_t *core, char *text);
#define SHOALPY_FAILURE_BYTES 256
#define SHOALPY_UNIX_PATH_BYTES_MAX ...
void shoalpy_core_forget(shoalpy_core_t *core);

typedef struct shoal_lease shoal_lease_t;
#define SHOAL_LEASE_CONNECTIONS_MAX 64
#define SHOAL_LEASE_WAITING_MAX 1024
int shoalpy_core_lease(shoalpy_core_t *core, shoal_lease_t **ret_lease);
void shoal_lease_close(shoal_lease_t *lease);

typedef struct shoalpy_monitor shoalpy_monitor_t;
int shoalpy_monitor_new(shoalpy_core_t *core, shoal_lease_t *lease, uint64_t timeout_us,
                        shoal_error_t *ret_error, shoalpy_monitor_t **ret_monitor);
void shoalpy_monitor_free(shoalpy_monitor_t *monitor);
int shoalpy_monitor_fd(const shoalpy_monitor_t *monitor);
int64_t shoalpy_monitor_take(shoalpy_monitor_t *monitor, uint64_t wait_us);
const char *shoalpy_monitor_data(const shoalpy_monitor_t *monitor);

typedef struct shoalpy_into shoalpy_into_t;
shoalpy_into_t *shoalpy_into_new(char *data, size_t capacity);
void shoalpy_into_free(shoalpy_into_t *into);
void shoalpy_into_detach(shoalpy_into_t *into);
int64_t shoalpy_into_bytes(shoalpy_into_t *into);

enum shoal_route {
    SHOAL_ROUTE_ANY,
    SHOAL_ROUTE_PRIMARIES,
    SHOAL_ROUTE_NODES,
    SHOAL_ROUTE_SLOT,
    SHOAL_ROUTE_NODE,
    ...
};
typedef struct shoalpy_target {
    shoal_lease_t *lease;
    uint32_t route;
    uint32_t route_slot;
    const char *route_node;
} shoalpy_target_t;

enum shoalpy_opcode { OP_NEXT_BUFFER, ... };
#define SHOALPY_PROTOCOL 5
#define SHOAL_REFERENCE_BYTES_MIN 16384
typedef struct shoalpy_buffer {
    const char *data;
    size_t bytes;
} shoalpy_buffer_t;
typedef enum shoal_scan_kind {
    SHOAL_SCAN_KEYS,
    SHOAL_SCAN_HASH,
    SHOAL_SCAN_SET,
    SHOAL_SCAN_SORTED_SET,
    ...
} shoal_scan_kind_t;
typedef struct shoalpy_scan shoalpy_scan_t;
typedef struct shoalpy_scan_plan {
    int kind;
    shoalpy_buffer_t key, match;
    const char *type;
    uint64_t count;
} shoalpy_scan_plan_t;
int shoalpy_scan_new(shoalpy_core_t *core, const shoalpy_scan_plan_t *plan,
                     shoalpy_scan_t **ret_scan);
void shoalpy_scan_free(shoalpy_scan_t *scan);
int shoalpy_scan_ask(shoalpy_scan_t *scan, uint64_t timeout_us, unsigned reply_flags);
int shoalpy_scan_fd(const shoalpy_scan_t *scan);
int64_t shoalpy_scan_take(shoalpy_scan_t *scan, uint64_t wait_us);
const char *shoalpy_scan_data(const shoalpy_scan_t *scan);

typedef enum shoal_script_kind {
    SHOAL_SCRIPT_COMPARE_AND_SET,
    SHOAL_SCRIPT_COMPARE_AND_DELETE,
    SHOAL_SCRIPT_COMPARE_AND_EXPIRE,
    SHOAL_SCRIPT_ADD_WITHIN,
    SHOAL_SCRIPT_LOCK,
    SHOAL_SCRIPT_RATE_LIMIT,
    ...
} shoal_script_kind_t;
const char *shoal_script_text(shoal_script_kind_t kind);
typedef struct shoal_script shoal_script_t;
int shoalpy_script_new(shoalpy_core_t *core, const char *text, size_t bytes,
                       shoal_script_t **ret_script);
void shoal_script_free(shoal_script_t *script);

typedef enum shoal_name_kind {
    SHOAL_NAME_CHANNEL,
    SHOAL_NAME_PATTERN,
    SHOAL_NAME_SHARD,
    SHOAL_NAME_KEYSPACE,
    ...
} shoal_name_kind_t;
typedef enum shoal_item_kind {
    SHOAL_ITEM_MESSAGE,
    SHOAL_ITEM_SUBSCRIBED,
    SHOAL_ITEM_SUSPENDED,
    SHOAL_ITEM_GAP,
    SHOAL_ITEM_DROPPED,
    SHOAL_ITEM_REJECTED,
    SHOAL_ITEM_ENDED,
    ...
} shoal_item_kind_t;
typedef enum shoal_gap_reason {
    SHOAL_GAP_NONE,
    SHOAL_GAP_LOST,
    SHOAL_GAP_MOVED,
    SHOAL_GAP_PROBE,
    SHOAL_GAP_NODE,
    ...
} shoal_gap_reason_t;
typedef enum shoal_overflow {
    SHOAL_OVERFLOW_NEWEST,
    SHOAL_OVERFLOW_OLDEST,
    SHOAL_OVERFLOW_END,
    ...
} shoal_overflow_t;
typedef struct shoal_name {
    shoal_name_kind_t kind;
    const char *data;
    size_t bytes;
} shoal_name_t;
typedef struct shoal_pubsub_stats {
    size_t size;
    uint64_t messages;
    uint64_t message_bytes;
    uint64_t unwanted;
    uint64_t names_wanted_now;
    uint64_t names_confirmed_now;
    uint64_t gaps;
    uint64_t rejected;
    uint64_t requests;
    uint64_t unknown_pushes;
    uint64_t connects;
    uint64_t losses;
    uint64_t attempts_failed;
    uint64_t desyncs;
    uint64_t epoch;
    uint64_t reads;
    uint64_t writes;
    uint64_t bytes_in;
    uint64_t bytes_out;
    uint64_t is_connected_now;
    uint64_t protocol_now;
    uint64_t probes;
    uint64_t probe_restarts;
    uint64_t probe_us_now;
    uint64_t is_probe_forbidden_now;
} shoal_pubsub_stats_t;
#define SHOALPY_FEED_ITEMS_MAX 1024
typedef struct shoalpy_hub shoalpy_hub_t;
typedef struct shoalpy_feed shoalpy_feed_t;
int shoalpy_hub_open(shoal_options_t *options, bool is_borrowed,
                     shoalpy_hub_t **ret_hub, shoal_error_t *ret_error);
void shoalpy_hub_free(shoalpy_hub_t *hub);
bool shoalpy_hub_close(shoalpy_hub_t *hub, uint64_t wait_us);
void shoalpy_hub_forget(shoalpy_hub_t *hub);
bool shoalpy_hub_is_connected(shoalpy_hub_t *hub);
size_t shoalpy_hub_events(shoalpy_hub_t *hub, shoalpy_event_t *events, size_t count_max,
                          uint64_t *ret_lost);
int shoalpy_hub_stats(shoalpy_hub_t *hub, shoal_pubsub_stats_t *ret_stats);
int shoalpy_hub_set_credentials(shoalpy_hub_t *hub, const char *user,
                                const char *password);
bool shoalpy_hub_is_probed(shoalpy_hub_t *hub);
void shoalpy_hub_set_prober(shoalpy_hub_t *hub, shoalpy_core_t *core);
int shoalpy_hub_fd(const shoalpy_hub_t *hub);
int64_t shoalpy_hub_pump(shoalpy_hub_t *hub, uint64_t *ready, size_t ready_max);
int shoalpy_feed_open(shoalpy_hub_t *hub, const shoal_name_t *names, size_t count,
                      size_t messages_max, uint64_t bytes_max, int overflow,
                      shoalpy_feed_t **ret_feed);
void shoalpy_feed_free(shoalpy_feed_t *feed);
uint64_t shoalpy_feed_number(const shoalpy_feed_t *feed);
int shoalpy_feed_add(shoalpy_feed_t *feed, const shoal_name_t *names, size_t count);
int shoalpy_feed_remove(shoalpy_feed_t *feed, const shoal_name_t *names, size_t count);
int shoalpy_feed_wait_confirmed(shoalpy_feed_t *feed, uint64_t wait_us);
int shoalpy_feed_wait(shoalpy_feed_t *feed, uint64_t wait_us);
int shoalpy_feed_fd(shoalpy_feed_t *feed);
void shoalpy_feed_await(shoalpy_feed_t *feed, bool is_confirming);
int64_t shoalpy_feed_take(shoalpy_feed_t *feed, size_t count_max, bool as_text);
const char *shoalpy_feed_data(const shoalpy_feed_t *feed);

typedef struct shoalpy_caller {
    const char *data;
    size_t refused_at;
    uint64_t first;
    shoal_error_t error;
    ...;
} shoalpy_caller_t;
int shoalpy_callers_init(void);
unsigned shoalpy_callers_turns(void);
shoalpy_caller_t *shoalpy_caller_new(void);
void shoalpy_caller_free(shoalpy_caller_t *caller);
typedef struct shoalpy_requests shoalpy_requests_t;
shoalpy_requests_t *shoalpy_caller_requests(shoalpy_caller_t *caller);
int64_t shoalpy_caller_call(shoalpy_caller_t *caller, shoalpy_core_t *core,
                            const char *stream, size_t bytes, uint32_t call_flags,
                            uint64_t timeout_us, unsigned reply_flags,
                            const shoalpy_target_t *target, shoalpy_into_t *into);
int64_t shoalpy_caller_call_many(shoalpy_caller_t *caller, shoalpy_core_t *core,
                                 const char *stream, size_t bytes, uint32_t call_flags,
                                 uint64_t timeout_us, unsigned reply_flags,
                                 const shoalpy_target_t *target);
int shoalpy_caller_lend(shoalpy_caller_t *caller, const shoalpy_buffer_t *buffers,
                        size_t count);
int64_t shoalpy_caller_resume(shoalpy_caller_t *caller);
int64_t shoalpy_caller_give_up(shoalpy_caller_t *caller);

typedef struct shoalpy_port shoalpy_port_t;
typedef struct shoalpy_port_view {
    const char *data;
    uint64_t first;
    size_t refused_at;
    shoal_error_t error;
    int fd;
} shoalpy_port_view_t;
int shoalpy_port_new(shoalpy_core_t *core, size_t outstanding_max,
                     shoalpy_port_t **ret_port);
void shoalpy_port_free(shoalpy_port_t *port);
const shoalpy_port_view_t *shoalpy_port_view(const shoalpy_port_t *port);
shoalpy_requests_t *shoalpy_port_requests(shoalpy_port_t *port);
int64_t shoalpy_port_submit(shoalpy_port_t *port, const char *stream, size_t bytes,
                            uint32_t call_flags, uint64_t timeout_us,
                            unsigned reply_flags, bool more_follow,
                            const shoalpy_target_t *target, shoalpy_into_t *into);
int64_t shoalpy_port_pump(shoalpy_port_t *port);
typedef struct shoalpy_loan shoalpy_loan_t;
shoalpy_loan_t *shoalpy_loan_new(void);
void shoalpy_loan_free(shoalpy_loan_t *loan);
bool shoalpy_loan_is_back(const shoalpy_loan_t *loan);
int shoalpy_port_lend(shoalpy_port_t *port, shoalpy_loan_t *loan,
                      const shoalpy_buffer_t *buffers, size_t count);
int shoalpy_port_cancel(shoalpy_port_t *port, uint64_t number);
