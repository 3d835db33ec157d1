
# Copyright (c) 2026, streamstat contributors

# Settings: what knows them, how they are loaded for all sessions without a restart,
# that this is all it does, and who may set them.

use strict;
use warnings;

use FindBin;
use PostgreSQL::Test::Utils;
use Test::More;

use lib "$FindBin::RealBin/lib";
use Node;
use Session;

my $node = new_node('settings', '', streaming => 1);

sub sql
{
	my ($query, $database) = @_;

	return $node->safe_psql($database // 'postgres', $query);
}

# What a session says, errors included
sub talk
{
	my ($script, $database) = @_;
	my ($ret, $stdout, $stderr) = $node->psql($database // 'postgres', $script);

	return $stderr ne '' ? $stderr : $stdout;
}

sql('CREATE DATABASE bare');
sql('CREATE ROLE one LOGIN; CREATE ROLE scanner IN ROLE pg_stat_scan_tables; CREATE ROLE other');
my $in_psql = q(SELECT lower(name) FROM pg_settings WHERE context IN ('user', 'superuser') AND lower(name) LIKE 'streamstat.%' ORDER BY 1);
my $all = join("\n", map { "streamstat.$_" }
	  qw(io_combine_limit io_concurrency io_method io_path map_files max_blocking_time max_rate max_workers));
my $typo = 'SET streamstat.max_rat = 1';
my $refused = qr/ERROR:  invalid configuration parameter name "streamstat\.max_rat"\nDETAIL:  "streamstat" is a reserved prefix\./;

# ---------------------------------------------------------------------------
# Nothing loads the library: the server knows no setting, and takes any name.

is(sql($in_psql), '', 'without the library, there are no settings');
is(talk("$typo; SHOW streamstat.max_rat"), '1', '... and a typo is taken');

# A call or LOAD loads it.
is(talk("LOAD 'streamstat'; $in_psql"), $all, 'LOAD');
like(talk("LOAD 'streamstat'; $typo"), $refused, '... and a typo is refused');
is(talk("SELECT FROM streamstat.table_stats('pg_class'); $in_psql") =~ s/^\n//r, $all, 'a call');
like(talk("$typo; LOAD 'streamstat'"), qr/WARNING:  invalid configuration parameter name "streamstat\.max_rat", removing it/,
	'a typo before that is removed');
is( sql(q(LOAD 'streamstat'; SELECT string_agg(name || ' ' || context || ' ' || vartype || ' ' || coalesce(unit, '-') || ' ' || boot_val, E'\n' ORDER BY name)
	FROM pg_settings WHERE name LIKE 'streamstat.%')),
	join("\n",
		'streamstat.cache_save_interval sighup integer s -1',
		'streamstat.io_combine_limit user integer 8kB 0',
		'streamstat.io_concurrency user integer - 0',
		'streamstat.io_method user enum - auto',
		'streamstat.io_path user enum - auto',
		'streamstat.map_files user enum - auto',
		'streamstat.max_blocking_time superuser integer ms 1000',
		'streamstat.max_rate user integer kB 0',
		'streamstat.max_workers user integer - 2'),
	'units and defaults');
is( sql(q(LOAD 'streamstat'; SELECT count(*) FILTER (WHERE short_desc = '' OR length(short_desc) > 130 OR short_desc !~ '\.$')
	FROM pg_settings WHERE name LIKE 'streamstat.%')),
	0, 'each is described');
is(sql(q(LOAD 'streamstat'; SET streamstat.max_rate = '50MB'; SHOW streamstat.max_rate)), '50MB', 'units are shown');
foreach my $case ("max_rate = '50 apples'", "max_rate = -1", "io_path = 'disk'", "io_method = 'worker'", 'max_workers = 100000')
{
	like(talk("LOAD 'streamstat'; SET streamstat.$case"), qr/ERROR:  (invalid value for parameter|-?\d+(?: kB)? is outside the valid range)/, "SET streamstat.$case");
}

# ---------------------------------------------------------------------------
# For all sessions, from now on: no restart

my $started = sql('SELECT pg_postmaster_start_time()');
my $before = Session->new($node);
my $size = sql('SELECT sum(size) FROM pg_shmem_allocations');
sql("ALTER SYSTEM SET session_preload_libraries = 'streamstat'");
sql('SELECT pg_reload_conf()');
Session::poll('the setting', sub { sql('SHOW session_preload_libraries') eq 'streamstat' });
foreach my $database ('postgres', 'bare', 'template1')
{
	is(sql($in_psql, $database), $all, "preloaded: settings in $database");
	like(talk($typo, $database), $refused, "... and a typo is refused in $database");
}
is($before->query($in_psql), '', 'a session that was there before is as it was');
$before->end;
is(talk("SET ROLE other; $in_psql"), $all, 'every role has them');
is(sql('SELECT pg_postmaster_start_time()'), $started, 'there was no restart');
is(sql('SELECT sum(size) FROM pg_shmem_allocations'), $size, '... and there is no more shared memory');
is(sql("SELECT count(*) FROM pg_stat_activity WHERE backend_type ~ 'streamstat' OR application_name ~ 'streamstat'"),
	0, '... and no process');
is(sql("SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'relation' AND relation <> 'pg_locks'::regclass"),
	0, '... and no lock');
is( sql("SELECT blocks_requested FROM streamstat.stream_stats()"), '', '... and nothing has been read');

# in parallel workers, too
sql('CREATE TABLE t AS SELECT i FROM generate_series(1, 10000) i; ALTER TABLE t SET (parallel_workers = 2); ANALYZE t');
my $parallel = q(
SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SET parallel_leader_participation = off;
SET streamstat.max_rate = '1GB';
);
like(sql("$parallel EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT count(*) FROM t WHERE current_setting('streamstat.max_rate') = '1GB'"),
	qr/Workers Launched: [12]/, 'a query with parallel workers');
is(sql("$parallel SELECT count(*) FROM t WHERE current_setting('streamstat.max_rate') = '1GB'"), 10000, '... which have the setting');
# and a session of replication
my ($ret, $stdout, $stderr) = $node->psql('postgres', 'IDENTIFY_SYSTEM', replication => 'database');
is($stderr, '', 'a session of replication');

# A value of the server's or a role's own is checked as well.
sql("ALTER ROLE one SET streamstat.max_rate = '10MB'");
like(talk("ALTER ROLE one SET streamstat.max_rate = 'fast'"), qr/ERROR:  invalid value for parameter "streamstat\.max_rat/, 'ALTER ROLE checks values');
like(talk("ALTER SYSTEM SET streamstat.max_rat = 1"), qr/ERROR:  invalid configuration parameter name|ERROR:  unrecognized configuration parameter/, 'ALTER SYSTEM checks names');
is($node->safe_psql('postgres', 'SHOW streamstat.max_rate', extra_params => [ '-U', 'one' ]), '10MB', "a role's own value");

# Without the extension, and with it again
sql('DROP EXTENSION streamstat');
is(talk("$in_psql; SELECT 1"), "$all\n1", 'after DROP EXTENSION');
sql('CREATE EXTENSION streamstat');
is(talk("SELECT pages > 0 FROM streamstat.table_stats('t')"), 't', 'after CREATE EXTENSION');

# For one role, or one database
sql('ALTER SYSTEM RESET session_preload_libraries');
sql('SELECT pg_reload_conf()');
Session::poll('the setting', sub { sql('SHOW session_preload_libraries') eq '' });
sql("ALTER DATABASE bare SET session_preload_libraries = 'streamstat'; ALTER ROLE one SET session_preload_libraries = 'streamstat'");
is(sql($in_psql), '', 'elsewhere: no settings');
is(sql($in_psql, 'bare'), $all, 'ALTER DATABASE');
is($node->safe_psql('postgres', $in_psql, extra_params => [ '-U', 'one' ]), $all, 'ALTER ROLE');

# ---------------------------------------------------------------------------
# max_blocking_time can be granted.  It does not matter what is loaded when.

my $set = 'SET streamstat.max_blocking_time = \'5s\'';
my $denied = qr/ERROR:  42501: permission denied to set parameter "streamstat\.max_blocking_time"/;

sub as_scanner
{
	my ($script) = @_;

	return talk("\\set VERBOSITY verbose\nLOAD 'streamstat'; SET ROLE scanner; $script");
}

like(as_scanner($set), $denied, 'max_blocking_time: not for every role');
is(as_scanner('SHOW streamstat.max_blocking_time'), '1s', '... which may see it');
sql('GRANT SET ON PARAMETER streamstat.max_blocking_time TO scanner');
is(as_scanner("$set; SHOW streamstat.max_blocking_time"), '5s', '... but granted');
is(talk("LOAD 'streamstat'; SET ROLE scanner; $set; SELECT pages > 0 FROM streamstat.table_stats('t')"), 't', '... for its calls');
is(sql("SELECT has_parameter_privilege('scanner', 'streamstat.max_blocking_time', 'SET'), has_parameter_privilege('other', 'streamstat.max_blocking_time', 'SET')"),
	't|f', '... as the catalogs say');
like(talk("\\set VERBOSITY verbose\nLOAD 'streamstat'; SET ROLE other; $set"), $denied, '... to that role alone');
# set before the library is there
is(talk("SET ROLE scanner; $set; SELECT FROM streamstat.table_stats('t'); SHOW streamstat.max_blocking_time") =~ s/^\n//r,
	'5s', '... also before the library is loaded');
sql('REVOKE SET ON PARAMETER streamstat.max_blocking_time FROM scanner');
like(as_scanner($set), $denied, '... until it is revoked');
like(talk("SET ROLE scanner; $set; SELECT FROM streamstat.table_stats('t')"),
	qr/WARNING:  permission denied to set parameter "streamstat\.max_blocking_time"/, '... also before the library is loaded');
# Others are for everybody.
is(as_scanner("SET streamstat.max_rate = '1MB'; SHOW streamstat.max_rate"), '1MB', 'max_rate is for every role');

stop_clean($node);
done_testing();
