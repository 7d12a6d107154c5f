# One line per unit: shoal_unit_test(<floor>/<file> [ALSO <floor>/<file> ...] [LIBS ...])
# LIBS shoal_hiredis for the units that stand on hiredis.
shoal_unit_test(base/alloc)
shoal_unit_test(base/buffer ALSO base/alloc base/random)
shoal_unit_test(base/escape)
shoal_unit_test(base/random)
shoal_unit_test(resp/command_info ALSO resp/reply_shape)
shoal_unit_test(resp/decoder ALSO resp/frame resp/reply base/alloc LIBS shoal_hiredis m)
shoal_unit_test(resp/encoder)
shoal_unit_test(resp/format ALSO base/alloc LIBS shoal_hiredis)
shoal_unit_test(resp/frame ALSO resp/reply base/alloc)
shoal_unit_test(resp/reply ALSO base/alloc)
shoal_unit_test(resp/reply_shape ALSO resp/command_info)
shoal_unit_test(core/backoff ALSO base/random)
shoal_unit_test(core/conn_fsm)
shoal_unit_test(core/deadlines ALSO base/random)
shoal_unit_test(core/driver_token)
shoal_unit_test(core/error_rule)
shoal_unit_test(core/fence_rule)
shoal_unit_test(core/former)
shoal_unit_test(core/nonce)
shoal_unit_test(resp/scanner)
shoal_unit_test(core/flush_auto
  ALSO core/flush_policy core/flush_census core/flush_guard core/flush_tempo)
shoal_unit_test(core/flush_census ALSO base/random)
shoal_unit_test(core/flush_guard)
shoal_unit_test(core/flush_policy
  ALSO core/flush_auto core/flush_census core/flush_guard core/flush_tempo base/random)
shoal_unit_test(core/flush_tempo ALSO base/random)
shoal_unit_test(core/greeting ALSO core/greeting_setup core/fence_rule core/former
  core/nonce resp/encoder resp/reply base/alloc base/buffer base/escape)
shoal_unit_test(core/greeting_setup ALSO core/greeting core/fence_rule core/former
  core/nonce resp/encoder resp/reply base/alloc base/buffer base/escape)
shoal_unit_test(core/refusal ALSO resp/command_info resp/reply_shape)
shoal_unit_test(core/settle_rule)
shoal_unit_test(core/stage_times ALSO api/stats_math base/random)
shoal_unit_test(api/errors)
shoal_unit_test(api/options ALSO base/alloc)
shoal_unit_test(api/options_url ALSO api/options api/errors base/alloc)
shoal_unit_test(api/stats_math)
shoal_unit_test(core/hello_doubt)
shoal_unit_test(core/inbound)
shoal_unit_test(core/request_ring ALSO base/alloc base/random)
shoal_unit_test(core/retries ALSO base/alloc)
set(pipe_units core/deadlines core/error_rule core/fence_rule core/flush_auto
  core/flush_census core/flush_guard core/flush_policy core/flush_tempo core/former
  core/greeting core/greeting_setup core/inbound core/nonce core/request_ring
  core/retries core/settle_rule core/stage_times resp/decoder resp/encoder resp/frame resp/reply resp/reply_shape
  resp/scanner base/alloc base/buffer base/escape base/random)
shoal_unit_test(core/pipe ALSO core/pipe_endings core/pipe_fence core/pipe_output core/pipe_time
  ${pipe_units} LIBS shoal_hiredis m)
shoal_unit_test(core/pipe_endings ALSO core/pipe core/pipe_fence core/pipe_output core/pipe_time
  ${pipe_units} LIBS shoal_hiredis m)
shoal_unit_test(core/pipe_fence ALSO core/pipe core/pipe_endings core/pipe_output core/pipe_time
  ${pipe_units} LIBS shoal_hiredis m)
shoal_unit_test(core/pipe_output ALSO core/pipe core/pipe_endings core/pipe_fence core/pipe_time
  ${pipe_units} LIBS shoal_hiredis m)
shoal_unit_test(core/pipe_time ALSO core/pipe core/pipe_endings core/pipe_fence core/pipe_output
  ${pipe_units} LIBS shoal_hiredis m)
# Above floor 2: what no server can provoke, and who is woken by what.
shoal_unit_test(net/entropy ALSO base/random LIBS PkgConfig::SHOAL_LIBUV)
shoal_unit_test(net/inbox ALSO net/notifier net/parker core/driver_token base/alloc
  base/buffer LIBS PkgConfig::SHOAL_LIBUV)
