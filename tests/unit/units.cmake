# One line per unit: shoal_unit_test(<floor>/<file> [ALSO <floor>/<file> ...] [LIBS ...])
# WITH names further sources of tests/unit; LIBS shoal_hiredis is for the units that stand on
# hiredis.
shoal_unit_test(base/alloc)
shoal_unit_test(base/buffer ALSO base/alloc base/random)
shoal_unit_test(base/error)
shoal_unit_test(base/escape)
shoal_unit_test(base/hash)
shoal_unit_test(base/random)
shoal_unit_test(base/sha1)
shoal_unit_test(base/sized)
shoal_unit_test(resp/command_info ALSO resp/reply_shape)
shoal_unit_test(resp/arguments)
shoal_unit_test(resp/command_keys ALSO resp/arguments resp/key_spec resp/command_info resp/reply_shape)
shoal_unit_test(resp/key_slot)
shoal_unit_test(resp/learned_keys ALSO resp/arguments)
shoal_unit_test(resp/command_answer ALSO resp/decoder resp/partial_value resp/string_run resp/large_string resp/frame
  resp/reply base/alloc WITH core/wire LIBS shoal_hiredis m)
shoal_unit_test(resp/command_book ALSO base/alloc)
shoal_unit_test(resp/command_slot ALSO resp/learned_keys resp/command_book resp/command_keys resp/arguments resp/key_spec resp/key_slot resp/command_info base/alloc
  resp/reply_shape resp/encoder)
shoal_unit_test(resp/key_spec ALSO resp/command_info resp/reply_shape)
shoal_unit_test(resp/decoder ALSO resp/partial_value resp/string_run resp/large_string resp/frame resp/reply base/alloc
  WITH resp/decoder_cases resp/decoder_owner resp/transcript LIBS shoal_hiredis m)
shoal_unit_test(resp/decoder.large ALSO resp/partial_value resp/string_run resp/large_string resp/frame resp/reply
  base/alloc WITH resp/decoder_owner resp/transcript LIBS shoal_hiredis m)
shoal_unit_test(resp/decoder.memory ALSO resp/partial_value resp/string_run resp/large_string resp/frame resp/reply base/alloc
  WITH resp/decoder_cases resp/decoder_owner resp/transcript LIBS shoal_hiredis m)
shoal_unit_test(resp/decoder.rest ALSO resp/partial_value resp/string_run resp/large_string resp/frame resp/reply base/alloc
  WITH resp/decoder_cases resp/decoder_owner resp/transcript LIBS shoal_hiredis m)
shoal_unit_test(resp/encoder)
shoal_unit_test(resp/format ALSO base/alloc LIBS shoal_hiredis)
shoal_unit_test(resp/frame ALSO resp/reply base/alloc WITH resp/transcript)
shoal_unit_test(resp/large_string ALSO resp/frame resp/reply base/alloc WITH resp/transcript)
shoal_unit_test(resp/partial_value)
shoal_unit_test(resp/string_run)
shoal_unit_test(resp/reply ALSO base/alloc WITH resp/transcript)
shoal_unit_test(resp/push ALSO resp/decoder resp/partial_value resp/string_run resp/large_string resp/frame resp/reply base/alloc
  LIBS shoal_hiredis m)
shoal_unit_test(resp/reply_shape ALSO resp/command_info)
shoal_unit_test(core/backoff ALSO base/random)
shoal_unit_test(core/awake_rule)
shoal_unit_test(core/company)
shoal_unit_test(core/conn_fsm)
shoal_unit_test(core/address_order)
shoal_unit_test(core/dial_failure)
shoal_unit_test(core/dial_report)
shoal_unit_test(core/mode_rule)
shoal_unit_test(core/role_rule ALSO resp/reply base/alloc)
shoal_unit_test(core/places)
shoal_unit_test(core/secret ALSO base/alloc)
shoal_unit_test(core/credentials_rule)
shoal_unit_test(core/target ALSO core/role_rule resp/reply base/alloc)
shoal_unit_test(core/pipe/deadlines ALSO base/random)
shoal_unit_test(core/driver_token)
shoal_unit_test(core/due_times ALSO base/alloc base/random)
shoal_unit_test(core/error_rule ALSO core/redirect)
shoal_unit_test(core/overtaken ALSO core/extra resp/command_slot resp/learned_keys resp/command_book resp/command_keys resp/arguments resp/key_spec resp/key_slot resp/command_info resp/encoder base/alloc)
shoal_unit_test(core/unit_rule ALSO core/error_rule core/redirect)
shoal_unit_test(core/redirect)
shoal_unit_test(core/trust_rule)
shoal_unit_test(core/address_map ALSO base/alloc)
shoal_unit_test(core/push/item_log ALSO base/alloc)
shoal_unit_test(core/push/item_marks ALSO base/alloc)
shoal_unit_test(core/push/item_store ALSO core/push/item_log core/push/item_marks base/alloc)
shoal_unit_test(core/push/item_store.random ALSO core/push/item_store core/push/item_log
  core/push/item_marks base/alloc base/random)
shoal_unit_test(core/snapshot ALSO base/alloc)
shoal_unit_test(core/scan_rule ALSO core/cluster/slots_reply core/description resp/key_slot resp/reply
  base/alloc)
shoal_unit_test(core/extra ALSO base/alloc)
shoal_unit_test(core/request_list ALSO core/extra base/alloc)
shoal_unit_test(core/fence/fence_rule)
shoal_unit_test(core/greeting/former ALSO base/alloc)
shoal_unit_test(core/fence/nonce)
shoal_unit_test(resp/scanner)
shoal_unit_test(core/flush/flush_auto
  ALSO core/flush/flush_policy core/flush/flush_census core/flush/flush_guard core/flush/flush_tempo)
shoal_unit_test(core/flush/flush_auto.company
  ALSO core/flush/flush_policy core/flush/flush_census core/flush/flush_guard core/flush/flush_tempo base/random)
shoal_unit_test(core/flush/flush_auto.stagger
  ALSO core/flush/flush_policy core/flush/flush_census core/flush/flush_guard core/flush/flush_tempo)
shoal_unit_test(core/flush/flush_census ALSO base/random)
shoal_unit_test(core/flush/flush_guard)
shoal_unit_test(core/flush/flush_policy
  ALSO core/flush/flush_auto core/flush/flush_census core/flush/flush_guard core/flush/flush_tempo base/random)
shoal_unit_test(core/flush/flush_tempo ALSO base/random)
shoal_unit_test(core/greeting/greeting ALSO core/greeting/greeting_setup core/fence/fence_rule core/greeting/former
  core/fence/nonce core/mode_rule core/role_rule core/target resp/encoder resp/reply base/alloc base/buffer base/escape)
shoal_unit_test(core/greeting/greeting_setup ALSO core/greeting/greeting core/fence/fence_rule core/greeting/former
  core/fence/nonce core/mode_rule core/role_rule core/target resp/encoder resp/reply base/alloc base/buffer base/escape)
shoal_unit_test(core/overdue)
shoal_unit_test(core/replica_rule ALSO base/random resp/command_info resp/reply_shape)
shoal_unit_test(core/zone)
shoal_unit_test(core/role_reply ALSO core/role_rule resp/reply base/alloc)
shoal_unit_test(core/refusal ALSO core/block_time resp/command_info resp/reply_shape)
shoal_unit_test(core/blame)
shoal_unit_test(core/block_time)
shoal_unit_test(core/heavy ALSO resp/command_keys resp/arguments resp/key_spec resp/command_info resp/reply_shape)
shoal_unit_test(core/lane_rule ALSO resp/key_slot)
shoal_unit_test(core/lease_pool ALSO core/places)
shoal_unit_test(core/lease_rule)
shoal_unit_test(core/cluster/slot_map)
shoal_unit_test(core/cluster/lane_life)
shoal_unit_test(core/cluster/lane_slots ALSO base/alloc)
shoal_unit_test(core/cluster/fan_rule ALSO resp/encoder)
shoal_unit_test(core/cluster/split_rule ALSO resp/encoder resp/command_keys resp/arguments resp/command_info
  resp/key_spec resp/key_slot base/alloc)
shoal_unit_test(core/cluster/gather ALSO core/result resp/decoder resp/partial_value resp/string_run
  resp/large_string resp/frame resp/reply base/alloc WITH core/wire LIBS shoal_hiredis m)
shoal_unit_test(core/result ALSO resp/reply base/alloc)
shoal_unit_test(core/target_name)
shoal_unit_test(core/cluster/topology_rule ALSO base/random)
shoal_unit_test(core/cluster/slots_reply ALSO core/description resp/decoder resp/partial_value resp/string_run
  resp/large_string resp/frame resp/reply base/alloc WITH core/wire LIBS shoal_hiredis m)
shoal_unit_test(core/description ALSO resp/decoder resp/partial_value resp/string_run resp/large_string
  resp/frame resp/reply base/alloc WITH core/wire LIBS shoal_hiredis m)
shoal_unit_test(core/sentinel/sentinel_reply ALSO core/description resp/decoder resp/partial_value resp/string_run
  resp/large_string resp/frame resp/reply base/alloc WITH core/wire LIBS shoal_hiredis m)
shoal_unit_test(core/sentinel/follow_rule)
shoal_unit_test(core/sentinel/sentinel_rule)
shoal_unit_test(core/settle_rule)
shoal_unit_test(core/pipe/stage_times ALSO base/alloc api/stats_math base/random)
shoal_unit_test(api/errors ALSO base/error)
shoal_unit_test(core/options ALSO core/address_map core/secret core/tls_settings base/alloc)
shoal_unit_test(core/tls_settings ALSO base/alloc)
shoal_unit_test(api/options ALSO api/options_credentials core/options core/address_map core/secret core/tls_settings base/alloc)
shoal_unit_test(api/options_credentials ALSO core/options core/address_map core/secret core/tls_settings base/alloc)
shoal_unit_test(api/options_tls ALSO api/options core/options core/address_map core/secret core/tls_settings base/alloc)
shoal_unit_test(api/cluster ALSO core/options core/address_map core/secret core/tls_settings base/alloc)
shoal_unit_test(api/sentinel ALSO core/options core/address_map core/secret core/tls_settings base/alloc)
shoal_unit_test(api/options_url ALSO api/cluster api/options api/sentinel api/options_keys api/options_credentials api/options_tls api/replicas core/options core/address_map core/secret core/tls_settings api/errors base/error base/escape
  base/alloc)
shoal_unit_test(api/options_url.reasons ALSO api/cluster api/options api/sentinel api/options_keys api/options_credentials api/options_tls api/replicas core/options core/address_map core/secret core/tls_settings api/errors base/error base/escape
  base/alloc)
shoal_unit_test(api/options_url.keys ALSO api/cluster api/options api/sentinel api/options_keys api/options_credentials api/options_tls api/replicas core/options core/address_map core/secret core/tls_settings api/errors base/error base/escape
  base/alloc)
shoal_unit_test(client/ledger ALSO core/extra base/alloc)
shoal_unit_test(client/plan ALSO core/cluster/fan_rule core/cluster/split_rule resp/command_slot resp/learned_keys resp/command_book resp/command_keys resp/arguments resp/key_spec resp/key_slot base/error core/extra core/target_name core/refusal core/replica_rule base/random core/block_time resp/command_info resp/encoder resp/reply_shape
  base/alloc)
shoal_unit_test(client/plan.large ALSO core/cluster/fan_rule core/cluster/split_rule resp/command_slot resp/learned_keys resp/command_book resp/command_keys resp/arguments resp/key_spec resp/key_slot base/error core/extra core/target_name core/refusal core/replica_rule base/random core/block_time resp/command_info resp/encoder resp/reply_shape
  base/alloc)
shoal_unit_test(client/plan.replicas ALSO core/cluster/fan_rule core/cluster/split_rule resp/command_slot resp/learned_keys resp/command_book resp/command_keys resp/arguments resp/key_spec resp/key_slot base/error core/extra core/target_name core/refusal core/replica_rule base/random core/block_time
  resp/command_info resp/encoder resp/reply_shape base/alloc)
shoal_unit_test(client/plan.auto ALSO core/cluster/fan_rule core/cluster/split_rule resp/command_slot resp/learned_keys resp/command_book resp/command_keys resp/arguments resp/key_spec resp/key_slot base/error core/extra core/target_name core/refusal core/replica_rule base/random core/block_time resp/command_info resp/encoder resp/reply_shape
  base/alloc)
shoal_unit_test(client/plan.leases ALSO core/cluster/fan_rule core/cluster/split_rule resp/command_slot resp/learned_keys resp/command_book resp/command_keys resp/arguments resp/key_spec resp/key_slot base/error core/extra core/target_name core/refusal core/replica_rule base/random core/block_time resp/command_info resp/encoder resp/reply_shape
  base/alloc)
shoal_unit_test(client/plan.extras ALSO core/cluster/fan_rule core/cluster/split_rule resp/command_slot resp/learned_keys resp/command_book resp/command_keys resp/arguments resp/key_spec resp/key_slot base/error core/extra core/target_name core/refusal core/replica_rule base/random core/block_time resp/command_info resp/encoder resp/reply_shape
  base/alloc)
shoal_unit_test(client/plan.chunks ALSO core/cluster/fan_rule core/cluster/split_rule resp/command_slot resp/learned_keys resp/command_book resp/command_keys resp/arguments resp/key_spec resp/key_slot base/error core/extra core/target_name core/refusal core/replica_rule base/random core/block_time resp/command_info resp/encoder
  resp/reply_shape base/alloc)
shoal_unit_test(client/reason ALSO core/cluster/fan_rule core/cluster/split_rule resp/command_slot resp/learned_keys resp/command_book resp/command_keys resp/arguments resp/key_spec resp/key_slot base/error core/refusal core/block_time resp/command_info resp/encoder
  resp/reply_shape base/alloc)
shoal_unit_test(client/stats_sum)
shoal_unit_test(api/replicas ALSO api/options core/options core/address_map core/secret core/tls_settings base/alloc)
shoal_unit_test(api/stats_math)
shoal_unit_test(api/version)
shoal_unit_test(core/greeting/hello_doubt)
shoal_unit_test(core/push/relay_rule)
shoal_unit_test(core/push/topics ALSO base/alloc)
shoal_unit_test(core/push/subscriptions ALSO core/push/topics resp/key_slot base/alloc)
shoal_unit_test(core/push/subscriptions.oracle ALSO core/push/topics resp/key_slot base/alloc
  base/random)
shoal_unit_test(core/push/audience ALSO core/push/topics base/alloc)
shoal_unit_test(core/push/ringing)
shoal_unit_test(core/push/keyspace_rule)
shoal_unit_test(core/push/placement ALSO core/push/topics core/cluster/slot_map resp/key_slot
  base/alloc)
shoal_unit_test(core/push/probe_rule)
shoal_unit_test(core/pipe/inbound)
shoal_unit_test(core/pipe/request_ring ALSO base/alloc base/random)
shoal_unit_test(core/pipe/renewal)
shoal_unit_test(core/pipe/retry_budget)
shoal_unit_test(core/hold_rule ALSO base/random)
shoal_unit_test(core/maintenance ALSO core/redirect core/trust_rule resp/reply base/alloc)
set(pipe_units core/extra core/pipe/pipe core/pipe/pipe_doubt core/pipe/pipe_endings core/pipe/pipe_extent core/pipe/pipe_fence core/pipe/pipe_give_up core/pipe/pipe_output
  core/pipe/pipe_values core/pipe/pipe_hold core/pipe/pipe_move core/pipe/pipe_overdue core/overdue core/pipe/pipe_replies core/pipe/pipe_scripts core/scripts base/sha1 core/pipe/pipe_subscriber core/pipe/pipe_succession core/pipe/pipe_time core/pipe/pipe_unit core/unit_rule core/overtaken resp/command_slot resp/learned_keys resp/command_book resp/key_slot core/pipe/deadlines
  core/pipe/inbound core/pipe/renewal core/pipe/request_ring core/hold_rule
  core/heavy core/pipe/pipe_lane resp/command_keys resp/arguments resp/key_spec resp/command_info core/pipe/stage_times core/blame core/error_rule core/settle_rule core/fence/fence_rule
  core/fence/nonce core/flush/flush_auto core/flush/flush_census core/flush/flush_guard
  core/flush/flush_policy core/flush/flush_tempo core/greeting/former core/greeting/greeting
  core/greeting/greeting_setup core/maintenance core/trust_rule core/redirect core/mode_rule core/role_rule core/target resp/decoder resp/encoder resp/frame resp/large_string resp/partial_value resp/string_run resp/push resp/reply
  resp/reply_shape resp/scanner base/alloc base/buffer base/escape base/random)
shoal_unit_test(core/pipe/pipe ALSO ${pipe_units} LIBS shoal_hiredis m)
shoal_unit_test(core/pipe/pipe_doubt ALSO ${pipe_units} LIBS shoal_hiredis m)
shoal_unit_test(core/pipe/pipe_endings ALSO ${pipe_units} LIBS shoal_hiredis m)
shoal_unit_test(core/pipe/pipe_endings.blame ALSO ${pipe_units} LIBS shoal_hiredis m)
shoal_unit_test(core/pipe/pipe_endings.bound ALSO ${pipe_units} LIBS shoal_hiredis m)
shoal_unit_test(core/pipe/pipe_endings.strict ALSO ${pipe_units} LIBS shoal_hiredis m)
shoal_unit_test(core/pipe/pipe_endings.units ALSO ${pipe_units} LIBS shoal_hiredis m)
shoal_unit_test(core/pipe/pipe_extent ALSO ${pipe_units} LIBS shoal_hiredis m)
shoal_unit_test(core/pipe/pipe_fence ALSO ${pipe_units} LIBS shoal_hiredis m)
shoal_unit_test(core/pipe/pipe_fence.corners ALSO ${pipe_units} LIBS shoal_hiredis m)
shoal_unit_test(core/pipe/pipe_fence.strict ALSO ${pipe_units} LIBS shoal_hiredis m)
shoal_unit_test(core/pipe/pipe_give_up ALSO ${pipe_units} LIBS shoal_hiredis m)
shoal_unit_test(core/pipe/pipe_lane ALSO ${pipe_units} LIBS shoal_hiredis m)
shoal_unit_test(core/pipe/pipe_move ALSO ${pipe_units} LIBS shoal_hiredis m)
shoal_unit_test(core/handover ALSO ${pipe_units} LIBS shoal_hiredis m)
shoal_unit_test(core/pipe/pipe_output ALSO ${pipe_units} LIBS shoal_hiredis m)
shoal_unit_test(core/pipe/pipe_output.committed ALSO ${pipe_units} LIBS shoal_hiredis m)
shoal_unit_test(core/pipe/pipe_overdue ALSO ${pipe_units} LIBS shoal_hiredis m)
shoal_unit_test(core/pipe/pipe_replies ALSO ${pipe_units} LIBS shoal_hiredis m)
shoal_unit_test(core/pipe/pipe_replies.large ALSO ${pipe_units} LIBS shoal_hiredis m)
shoal_unit_test(core/pipe/pipe_scripts ALSO ${pipe_units} LIBS shoal_hiredis m)
shoal_unit_test(core/scripts ALSO base/sha1 base/alloc resp/arguments resp/encoder)
shoal_unit_test(core/pipe/pipe_subscriber ALSO ${pipe_units} LIBS shoal_hiredis m)
shoal_unit_test(core/pipe/pipe_hold ALSO ${pipe_units} LIBS shoal_hiredis m)
shoal_unit_test(core/pipe/pipe_hold.endings ALSO ${pipe_units} LIBS shoal_hiredis m)
shoal_unit_test(core/pipe/pipe_values ALSO ${pipe_units} LIBS shoal_hiredis m)
shoal_unit_test(core/pipe/pipe_values.endings ALSO ${pipe_units} LIBS shoal_hiredis m)
shoal_unit_test(core/pipe/pipe_succession ALSO ${pipe_units} LIBS shoal_hiredis m)
shoal_unit_test(core/pipe/pipe_unit ALSO ${pipe_units} LIBS shoal_hiredis m)
shoal_unit_test(core/pipe/pipe_time ALSO ${pipe_units} LIBS shoal_hiredis m)
shoal_unit_test(core/pipe/pipe_time.rest ALSO ${pipe_units} LIBS shoal_hiredis m)
# Above floor 2: what no server can provoke, and who is woken by what.
if(SHOAL_HAS_TLS)
  set(tls_alone net/tls_context net/tls_vault net/tls_words core/tls_settings ${pipe_units})
  set(tls_with WITH ../support/tls/certificate_folder
    LIBS shoal_hiredis shoal_fault_proxy shoal_certificates shoal::openssl m)
  shoal_unit_test(net/tls_context ALSO net/tls_engine ${tls_alone} ${tls_with})
  shoal_unit_test(net/tls_engine ALSO ${tls_alone} ${tls_with})
  shoal_unit_test(net/tls_engine.fates ALSO ${tls_alone} ${tls_with})
  shoal_unit_test(net/tls_words ALSO base/escape LIBS shoal::openssl)
  shoal_unit_test(net/stream_tls ALSO net/tls_engine ${tls_alone} ${tls_with} shoal::libuv)
  shoal_unit_test(net/stream_tls.ends ALSO net/tls_engine ${tls_alone} ${tls_with} shoal::libuv)
endif()
shoal_unit_test(net/conn_set ALSO core/overtaken core/extra resp/command_slot resp/learned_keys resp/command_book resp/command_keys resp/arguments resp/key_spec resp/key_slot resp/command_info resp/encoder net/entropy core/due_times core/fence/nonce base/alloc
  base/random LIBS shoal::libuv)
shoal_unit_test(net/dialer ALSO core/address_order core/dial_report core/trust_rule base/alloc LIBS shoal::libuv)
shoal_unit_test(net/dialer.endpoints ALSO core/address_order core/dial_report core/trust_rule base/alloc LIBS shoal::libuv)
shoal_unit_test(net/entropy ALSO base/random LIBS shoal::libuv)
shoal_unit_test(net/driver_seat ALSO net/notifier core/driver_token
  LIBS shoal::libuv)
shoal_unit_test(net/gate ALSO net/driver_seat net/notifier core/driver_token
  LIBS shoal::libuv)
shoal_unit_test(client/events ALSO net/gate net/driver_seat net/notifier core/driver_token
  base/alloc LIBS shoal::libuv)
shoal_unit_test(client/item_queue ALSO api/mailbox core/push/item_store core/push/item_log
  core/push/item_marks net/fork_guard net/notifier net/parker base/alloc base/error base/escape LIBS shoal::libuv)
shoal_unit_test(net/mailbox ALSO core/secret net/driver_seat net/notifier core/driver_token core/extra base/alloc
  base/buffer LIBS shoal::libuv)
set(tls_libs "")
if(SHOAL_HAS_TLS)
  set(tls_libs shoal::openssl)
endif()
set(tls_units net/tls_engine net/tls_context net/tls_vault net/tls_words core/tls_settings base/alloc base/buffer
  base/escape)
shoal_unit_test(route/config ALSO core/target_name net/stream_socket net/stream_tls net/resolver net/notifier net/quiet_thread
  net/waker ${tls_units}
  LIBS shoal::libuv ${tls_libs})
