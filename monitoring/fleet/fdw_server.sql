-- On each server, by a superuser: the role that the overview reads with.  It reads
-- what streamstat.collect() stores, and may do so on the server's standbys, too.
CREATE ROLE fleet_reader LOGIN IN ROLE pg_monitor;
