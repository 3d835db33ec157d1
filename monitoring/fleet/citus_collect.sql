-- Each node makes a report and stores it, with all shards, and with no snapshot while it reads.
-- Rights: EXECUTE on streamstat.collect, as members of pg_monitor have.
SELECT nodeid, success, result
  FROM run_command_on_all_nodes($$CALL streamstat.collect(budget => '10GB', max_time => '1 hour', max_rate => '50MB', min_bytes => '0')$$);
