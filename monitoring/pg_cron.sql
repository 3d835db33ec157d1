-- pg_cron.sql - reports by pg_cron, every night: psql -d DATABASE -f pg_cron.sql
--
-- DATABASE is that of cron.database_name, as a role that may use the schema cron and is a
-- member of pg_stat_scan_tables; old reports are deleted if it has DELETE on
-- streamstat.report_runs. Choose budget and max_rate by what the storage can spare.

-- the database that pg_cron is in
SELECT cron.schedule('streamstat', '17 3 * * *',
	$$CALL streamstat.collect(budget => '10GB', max_time => '30 min', max_rate => '50MB', retention => '90 days')$$);

-- another database of the server, with a name that is not the first one's
-- SELECT cron.schedule_in_database('streamstat in sales', '47 3 * * *',
-- 	$$CALL streamstat.collect(budget => '10GB', max_time => '30 min', max_rate => '50MB')$$, 'sales');

-- did it work? The last runs, and what they said
-- SELECT start_time, status, return_message FROM cron.job_run_details ORDER BY runid DESC LIMIT 10;

-- no more of it
-- SELECT cron.unschedule('streamstat');
