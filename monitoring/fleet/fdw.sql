-- In the database that has the overview, by a role that may use postgres_fdw: a foreign
-- server, and a schema with foreign tables, for each service of pg_service.conf; and the
-- views fleet.runs, fleet.relations and fleet.commands, of the last stored run of each.
-- Rights: those of fleet_reader there; here, SELECT on the views is enough for anybody.
-- Cost: a query reads the rows of a run from each server at the same time, and no page
-- of any relation there.
CREATE SCHEMA fleet;
DO $$
DECLARE
	servers text[] := ARRAY['east', 'west'];
	columns text;
	"table" text;
	view text;
	server text;
BEGIN
	FOREACH server IN ARRAY servers
	LOOP
		EXECUTE format('CREATE SERVER %I FOREIGN DATA WRAPPER postgres_fdw
			OPTIONS (service %L, async_capable ''true'', fetch_size ''10000'')', server, server);
		EXECUTE format('CREATE USER MAPPING FOR CURRENT_USER SERVER %I OPTIONS (user ''fleet_reader'')', server);
		EXECUTE format('CREATE SCHEMA %I', 'fleet_' || server);
		EXECUTE format('IMPORT FOREIGN SCHEMA streamstat
			LIMIT TO (report_runs, report_run_relations, report_run_commands) FROM SERVER %I INTO %I',
			server, 'fleet_' || server);
	END LOOP;

	-- columns by name, as servers may have different versions
	FOR view, "table", columns IN VALUES
		('runs', 'report_runs', 'NULL::text AS error, datname, started AS asked, started, relations,
			skipped_relations, commands, bytes_total, bytes_read, reclaimable_bytes, reclaimable_bytes_low,
			reclaimable_bytes_high, planned_bytes, ended_by'),
		('relations', 'report_run_relations', 'schema_name, relation_name, parent_name, kind,
			access_method, measured, bytes, reclaimable_bytes, reclaimable_bytes_low,
			reclaimable_bytes_high, corrupt_pages, is_valid, rebuilt_by, note'),
		('commands', 'report_run_commands', 'rank, schema_name, relation_name, kind, bytes,
			reclaimable_bytes, reclaimable_bytes_low, reclaimable_bytes_high, scratch_bytes,
			command, lock_mode, blocks_reads, blocks_writes, is_online, reason')
	LOOP
		EXECUTE format('CREATE VIEW fleet.%I AS ', view) || (
			SELECT string_agg(format('SELECT %L::text AS node, %s FROM %I.%I
				WHERE run = (SELECT run FROM %3$I.report_runs ORDER BY is_partial, run DESC LIMIT 1)',
				s, columns, 'fleet_' || s, "table"), ' UNION ALL ')
			  FROM unnest(servers) s);
	END LOOP;
END
$$;
