
# Copyright (c) 2026, streamstat contributors

# Relations with odd names, with OIDs above 2^31, with next to nothing in them, and
# many of them; and every place in which a call can stand.

use strict;
use warnings;

use FindBin;
use PostgreSQL::Test::Utils;
use Test::More;

use lib "$FindBin::RealBin/lib";
use Functions;
use Node;
use Session;

# a small table of locks
my $node = new_node('odd', q(
max_prepared_transactions = 2
max_connections = 8
max_locks_per_transaction = 10
max_wal_senders = 0
), initdb => [ '-E', 'UTF8', '--no-locale' ], before => sub {
		# All OIDs of this file are above 2^31.
		command_ok([ 'pg_resetwal', '-f', '-o', 3000000000, $_[0]->data_dir ], 'OIDs above 2^31');
	});
create_outcome($node);

sub sql
{
	my ($query) = @_;

	return $node->safe_psql('postgres', $query);
}

# What the session that stays says, errors included
my $session;

sub ask
{
	my ($query) = @_;
	my $answer = $session->query($query);

	return $session->{err} eq '' ? $answer : $session->{err};
}

sub talk
{
	my ($script) = @_;
	my ($ret, $stdout, $stderr) =
	  $node->psql('postgres', $script, on_error_stop => 0);

	return ($stdout, $stderr);
}

sql(q(
CREATE TABLE victim (i int);
));

# ---------------------------------------------------------------------------
# Names: of a schema with a table, a column and indexes that are worth a command

my @names = ('a"b', "a'b", 'x; DROP TABLE victim', "y\"; DROP TABLE victim; --",
	'o\'; DROP TABLE victim; --', "\xc3\xbcn\xc3\xaf \xe2\x98\x83 \xf0\x9f\x90\x98",
	'z' x 63, "\xe2\x98\x83" x 20, '1digit', 'UPPER', 'select', "new\nline\ttab",
	'a.b', 'a\\b', '--', '/*', '$$', '%s %n %I', ' ', '"', "''", ':a :"a" \\q', 'a_ccnew', '{}');

sub quote_literal
{
	my ($string) = @_;

	$string =~ s/'/''/g;
	return $string =~ /\\/ ? ' E\'' . $string =~ s/\\/\\\\/gr . "'" : "'$string'";
}

sql('CREATE TABLE names (n int, name text)');
my $n = 0;
sql(join('', map { $n++; 'INSERT INTO names VALUES (' . "$n, " . quote_literal($_) . ");\n" } @names));
sql(q(
DO $$
DECLARE
	r record;
BEGIN
	FOR r IN SELECT name, left(name, 16) || 'I' AS i, left(name, 16) || '_ccnew_ccnew1' AS gone FROM names LOOP
		EXECUTE format('CREATE SCHEMA %1$I;
CREATE TABLE %1$I.%1$I (%1$I int, t text) WITH (autovacuum_enabled = off);
INSERT INTO %1$I.%1$I SELECT g, repeat(''x'', 100) FROM generate_series(1, 6000) g;
CREATE INDEX %2$I ON %1$I.%1$I (%1$I);
CREATE INDEX %3$I ON %1$I.%1$I (%1$I) WHERE %1$I < 10;
DELETE FROM %1$I.%1$I WHERE mod(%1$I, 12) <> 0;', r.name, r.i, r.gone);
		UPDATE pg_index SET indisvalid = false WHERE indexrelid = format('%I.%I', r.name, r.gone)::regclass;
	END LOOP;
END $$));
sql('VACUUM');

my $where = 'schema_name IN (SELECT name FROM names)';
my $report = "SELECT command FROM streamstat.database_report(margin => 0) WHERE $where AND command IS NOT NULL ORDER BY kind = 'table', command";
my $files = "SELECT string_agg(relfilenode::text, ' ' ORDER BY oid) FROM pg_class WHERE relnamespace IN (SELECT oid FROM pg_namespace WHERE nspname IN (SELECT name FROM names))";
is( sql("SELECT count(*) FILTER (WHERE command LIKE 'REINDEX INDEX CONCURRENTLY %'), count(*) FILTER (WHERE command LIKE 'DROP INDEX CONCURRENTLY %'),
		count(*) FILTER (WHERE command ~ '^(VACUUM FULL|REPACK) '), count(*) FROM ($report) r"),
	join('|', $n, $n, $n, 3 * $n),
	'a command for each table, and for each index that is of no use');
foreach my $last ('last_database_report()', 'last_database_plan()')
{
	my ($answer, $error) = talk("SELECT count(*) FROM streamstat.$last;\n");
	like($error, qr/no report has been made in this session, and none is stored/, "$last: no report yet");
}
is( sql("SELECT count(*) FROM streamstat.database_report(budget => '0') WHERE $where AND kind = 'index' AND parent_name::regclass = (SELECT indrelid FROM pg_index WHERE indexrelid = relid)"),
	2 * $n, 'names of parents can be read back');
my ($out, $err) = talk("SELECT 1 AS rank WHERE false;\n$report \\gexec\n");
is($err, '', 'all commands can be executed as they are');
is(sql("SELECT count(*) FROM ($report) r"), 0, 'and have done what they were for');
is( sql("SELECT count(*) FILTER (WHERE relkind = 'r'), count(*) FILTER (WHERE relkind = 'i'), count(*) FILTER (WHERE pg_relation_size(oid) < 100000)
		FROM pg_class WHERE relnamespace IN (SELECT oid FROM pg_namespace WHERE nspname IN (SELECT name FROM names))
			AND relkind IN ('r', 'i')"),
	"$n|$n|" . 2 * $n,
	'for each table and index');
is(sql("SELECT count(*) FROM pg_class WHERE relname = 'victim'"), 1, 'and for nothing else');
# names as an argument
is( sql(q(
SELECT bool_and(streamstat.pg_relpages(q) = streamstat.pg_relpages(q::regclass) AND a.table_len > 0 AND a.tuple_count = 500
		AND i.index_size > 0 AND s.relation = q::regclass AND x.relation = (quote_ident(name) || '.' || quote_ident(left(name, 16) || 'I'))::regclass)
	FROM names, LATERAL (SELECT quote_ident(name) || '.' || quote_ident(name) AS q) q,
		streamstat.pgstattuple(q) a, streamstat.table_stats(q::regclass) s,
		streamstat.pgstatindex(quote_ident(name) || '.' || quote_ident(left(name, 16) || 'I')) i,
		streamstat.index_stats((quote_ident(name) || '.' || quote_ident(left(name, 16) || 'I'))::regclass) x)),
	't', 'every name can be asked for');
sql(q(DO $$ DECLARE r record; BEGIN FOR r IN TABLE names LOOP EXECUTE format('DROP SCHEMA %I CASCADE', r.name); END LOOP; END $$));

# ---------------------------------------------------------------------------
# Next to nothing, in each way

my %index = (
	btree => 'k', hash => 'k', gin => 'a', gist => 'p', spgist => 'p', brin => 'k');
$index{bloom} = 'k' if create_extension($node, 'bloom');
my @states = ('never', 'one_row', 'deleted', 'vacuumed', 'truncated', 'rolled_back', 'unlogged', 'temporary');
my $script = '';
foreach my $state (@states)
{
	my $kind = $state eq 'unlogged' ? 'UNLOGGED' : $state eq 'temporary' ? 'TEMP' : '';

	$script .= "CREATE $kind TABLE $state (k int, a int[], p point, t text) WITH (autovacuum_enabled = off);\n";
	$script .= "CREATE INDEX ${state}_$_ ON $state USING $_ ($index{$_});\n" foreach sort keys %index;
	$script .= "INSERT INTO $state SELECT g, ARRAY[g], point(g, g), 'x' FROM generate_series(1, $_) g;\n"
	  foreach $state eq 'one_row' ? 1 : $state =~ /^(deleted|vacuumed|truncated)/ ? 3000 : ();
	$script .= "DELETE FROM $state;\n" if $state =~ /^(deleted|vacuumed)/;
	$script .= "VACUUM $state;\n" if $state eq 'vacuumed';
	$script .= "TRUNCATE $state;\n" if $state eq 'truncated';
	$script .= "BEGIN; INSERT INTO $state SELECT 1 FROM generate_series(1, 1000); ROLLBACK;\n" if $state eq 'rolled_back';
}
# These have to stay in one session.
$session = Session->new($node);
$session->query("$script; CREATE SEQUENCE never_seq; CREATE MATERIALIZED VIEW never_mv AS TABLE never; CREATE MATERIALIZED VIEW never_data AS TABLE never WITH NO DATA");
is($session->{err}, '', 'relations with next to nothing');
# samples of hash indexes tell of new pages
$session->query('SET client_min_messages = warning');
my @scans = functions_on();
my $odd = "(SELECT pg_class.oid, relname, relkind, amname FROM pg_class LEFT JOIN pg_am a ON a.oid = relam WHERE pg_class.oid > 2147483648 AND relname ~ '^("
  . join('|', @states) . ")' AND relkind <> 't') c";
is( ask(qq(
SELECT f, relname, o FROM $odd, unnest('{@{[join ',', @scans]}}'::text[]) f, error_of(format('SELECT * FROM streamstat.%s(%s::oid::regclass)', f, c.oid)) o
	WHERE (o = 'no error') <> CASE
		WHEN f IN ('btree_stats', 'pgstatindex') THEN amname IS NOT DISTINCT FROM 'btree'
		WHEN f IN ('hash_stats', 'pgstathashindex') THEN amname IS NOT DISTINCT FROM 'hash'
		WHEN f IN ('gin_stats', 'pgstatginindex') THEN amname IS NOT DISTINCT FROM 'gin'
		WHEN f LIKE '%ist_stats' OR f IN ('brin_stats', 'bloom_stats', 'hnsw_stats', 'ivfflat_stats') THEN f = amname || '_stats' AND amname IS NOT NULL
		WHEN f IN ('visibility_map_summary', 'unfrozen_ranges', 'pgstattuple_approx') THEN relkind IN ('r', 'm')
		WHEN f = 'pgstattuple' THEN coalesce(amname, '') NOT IN ('gin', 'spgist', 'brin', 'bloom')
		ELSE true END
	AND NOT (o ~ '42809|0A000|22023' AND (f IN ('pgstattuple', 'free_space_map_summary', 'layout_map') AND relkind = 'S'
		OR f = 'pg_prewarm' AND pg_relation_size(oid) = 0)))),
	'', 'each function takes each relation of its kind');
is( ask(qq(
SELECT relname, s.* FROM $odd, streamstat.index_stats(oid::regclass) s WHERE relkind = 'i' AND (corrupt_pages > 0 OR new_pages > 0 AND amname <> 'hash' OR pages <> pg_relation_size(oid) / 8192
	OR pages - leaf_pages - internal_pages - deleted_pages - new_pages NOT IN (0, 1) AND amname NOT IN ('hash', 'spgist', 'btree')))),
	'', 'index_stats: every page is of one kind');
$session->query(q(CREATE FUNCTION count_rows(name) RETURNS bigint LANGUAGE plpgsql AS
$$ DECLARE n bigint; BEGIN EXECUTE format('SELECT count(*) FROM %I', $1) INTO n; RETURN n; END $$));
is( ask(qq(
SELECT relname, s.*, n FROM $odd, streamstat.table_stats(oid::regclass) s, count_rows(relname) n
	WHERE relkind = 'r' AND (corrupt_pages > 0 OR live_tuples <> n OR pages <> pg_relation_size(oid) / 8192 OR free_percent NOT BETWEEN 0 AND 100))),
	'', 'table_stats: rows and pages');
is( ask(qq(
SELECT c.relname, r.measured, r.note FROM $odd LEFT JOIN streamstat.database_report(margin => 0) r ON r.relid = c.oid
	WHERE relkind <> 'S' AND (r.measured IS DISTINCT FROM 'exact' OR r.bytes <> pg_relation_size(c.oid) OR r.note LIKE '%corrupt%'))),
	'', 'database_report: all of them are read');
cmp_ok(ask(qq(SELECT sum(streamstat.pg_prewarm(('unlogged_' || m)::regclass, 'buffer', 'init')) FROM unnest('{btree,hash,gin,gist,spgist,brin}'::text[]) m)), '>', 5, 'init forks');
cmp_ok(ask("SELECT min(oid::bigint) FROM $odd"), '>', 3000000000 - 1, 'OIDs above 2^31');

# ---------------------------------------------------------------------------
# OIDs above 2^31 in what is told of a call

sql(q(
CREATE TABLE t (k int PRIMARY KEY, a int[], p point, s text) WITH (autovacuum_enabled = off);
INSERT INTO t SELECT g, ARRAY[g % 50], point(g, g), repeat('x', 50) FROM generate_series(1, 5000) g;
DELETE FROM t WHERE k % 3 = 0;
CREATE INDEX t_hash ON t USING hash (k);
CREATE INDEX t_gin ON t USING gin (a);
CREATE INDEX t_gist ON t USING gist (p);
CREATE INDEX t_spgist ON t USING spgist (p);
CREATE INDEX t_brin ON t USING brin (k)));
my $oid = sql("SELECT 't_pkey'::regclass::oid");
is( ask("SELECT count(*) FROM streamstat.btree_stats('$oid'); SELECT function, relation, relation::oid FROM streamstat.stream_stats()"),
	"1\nbtree_stats|t_pkey|$oid", 'an OID above 2^31 in stream_stats');
$session->query("SET streamstat.max_rate = '16kB'");
$session->send_query("SELECT * FROM streamstat.btree_stats($oid)");
is(Session::poll('progress', sub { sql('SELECT relid FROM streamstat.stat_progress WHERE relid IS NOT NULL') }),
	$oid, '... in progress');
sql("SELECT pg_cancel_backend($session->{pid})");
$session->answer;
is( ask("RESET streamstat.max_rate; SELECT count(*) FROM streamstat.database_report(); SELECT relid, parent_name::regclass::oid::bigint > 2147483648, measured FROM streamstat.last_database_report() WHERE relid = $oid") =~ s/^\d+\n//r,
	"$oid|t|exact", '... and in the last report');
is(sql("SELECT error_of('SELECT * FROM streamstat.pgstatindex(4294967295)')"),
	'XX000 could not open relation with OID 4294967295', 'the largest OID');

# ---------------------------------------------------------------------------
# Places.  Of each call there is one value, which has to be the same everywhere; but
# REFRESH has a search path of its own from 17 on, so that names are qualified.

my %calls = map {
	my ($f) = /^(\w+)/;
	my $from = "streamstat.$_ x";

	$_ => $f =~ /report/ ? "SELECT (count(*) > 200)::text AS value FROM $from" :
	  $f eq 'layout_map' ? "SELECT md5(string_agg(concat_ws(' ', bucket, first_block, last_block, free_percent, dead_percent, bar), '|' ORDER BY bucket)) AS value FROM $from" :
	  $f =~ /^(stream_stats|stat_get_progress)/ ? "SELECT (count(*) = 1)::text AS value FROM $from" :
	  "SELECT md5(string_agg(replace(x::text, 'public.', ''), '|' ORDER BY x::text)) AS value FROM $from"
} ("btree_stats('t_pkey')", "hash_stats('t_hash')", "gin_stats('t_gin')", "brin_stats('t_brin')",
	"gist_stats('t_gist')", "spgist_stats('t_spgist')", "index_stats('t_gin')", "index_stats_tree('t_pkey')",
	"table_stats('t')", "table_stats_tree('t')", "visibility_map_summary('t')", "unfrozen_ranges('t')",
	"free_space_map_summary('t')", "layout_map('t')", "sample_stats('t', 20, seed => 1)", "sample_stats('t_gin', 5, margin => 1, seed => 1)", "bloat('t', 20, 1, 'row')",
	"bloat('t_pkey', 10, 1, 'row')", "bloat_tree('t_gin', 10, 1)", "database_report(budget => '50MB')", 'stream_stats()', "pgstattuple('t'::regclass)", "pgstattuple('public.t'::text)",
	"pgstattuple_approx('t')", "pgstatindex('t_pkey'::regclass)", "pgstatindex('public.t_pkey'::text)", "pgstathashindex('t_hash')", "pgstatginindex('t_gin')",
	"pg_relpages('t'::regclass)", "pg_relpages('public.t'::text)", "pg_prewarm('t', 'read')");
# What has looked at a temporary table cannot be prepared.
$session->query('DROP TABLE temporary');
# Once before, so that all is in buffers.
$session->query("SELECT count(*) FROM streamstat.pg_prewarm(oid::regclass) FROM pg_class WHERE relname ~ '^t(_|\$)'");
$session->query('CREATE TABLE kept (value text); CREATE TABLE triggering (query text);
CREATE FUNCTION run(query text) RETURNS text LANGUAGE plpgsql AS $$ DECLARE v text; BEGIN EXECUTE query INTO v; RETURN v; END $$;
CREATE FUNCTION run_caught(query text) RETURNS text LANGUAGE plpgsql AS $$ DECLARE v text; BEGIN BEGIN EXECUTE query INTO v; EXCEPTION WHEN division_by_zero THEN NULL; END; RETURN v; END $$;
CREATE FUNCTION run_as_definer(query text) RETURNS text LANGUAGE plpgsql SECURITY DEFINER SET search_path = public AS $$ DECLARE v text; BEGIN EXECUTE query INTO v; RETURN v; END $$;
CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO kept SELECT run(NEW.query); RETURN NEW; END $$;
CREATE TRIGGER keep AFTER INSERT ON triggering FOR EACH ROW EXECUTE FUNCTION keep();
CREATE CONSTRAINT TRIGGER late AFTER UPDATE ON triggering INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION keep();
CREATE ROLE definer IN ROLE pg_monitor; ALTER FUNCTION run_as_definer OWNER TO definer; CREATE ROLE caller');
my $parallel = $node->pg_version >= 16 ? 'debug_parallel_query' : 'force_parallel_mode';
my $kept = 'SELECT value FROM kept; TRUNCATE kept';
my %places = (
	'read only' => 'BEGIN READ ONLY; %s; COMMIT',
	'serializable, read only, deferrable' => 'BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY DEFERRABLE; %s; COMMIT',
	'savepoint' => 'BEGIN; SAVEPOINT a; SAVEPOINT b; %s; RELEASE b; ROLLBACK TO a; COMMIT',
	'cursor, closed' => 'BEGIN; DECLARE c CURSOR FOR %s; FETCH 1 FROM c; CLOSE c; COMMIT',
	'cursor that stays' => 'BEGIN; DECLARE c CURSOR WITH HOLD FOR %s; COMMIT; FETCH ALL FROM c; CLOSE c',
	'parallel mode' => "SET $parallel = on; %s; RESET $parallel",
	'COPY' => 'COPY (%s) TO STDOUT',
	'prepared statement' => 'PREPARE s AS %s; EXECUTE s; DEALLOCATE s',
	'LATERAL' => 'SELECT l.value FROM pg_class c, LATERAL (%s OFFSET 0) l WHERE c.relname = \'t\'',
	'sub-select' => 'SELECT (%s) FROM generate_series(1, 1)',
	'DO' => 'DO $d$ BEGIN INSERT INTO kept %s; END $d$; ' . $kept,
	'function' => 'SELECT run($q$%s$q$)',
	'EXCEPTION' => 'SELECT run_caught($q$%s$q$)',
	'SECURITY DEFINER' => 'SET ROLE caller; SELECT run_as_definer($q$%s$q$); RESET ROLE',
	'trigger' => 'INSERT INTO triggering VALUES ($q$%s$q$); ' . $kept,
	'deferred trigger' => 'INSERT INTO triggering VALUES (\'SELECT NULL\'); TRUNCATE kept; BEGIN; UPDATE triggering SET query = $q$%s$q$ WHERE query = \'SELECT NULL\'; COMMIT; ' . $kept,
	'CREATE TABLE AS' => 'CREATE TABLE made AS %s; SELECT value FROM made; DROP TABLE made',
	'materialized view' => 'CREATE MATERIALIZED VIEW made AS %s WITH NO DATA; REFRESH MATERIALIZED VIEW made; SELECT value FROM made; DROP MATERIALIZED VIEW made',
	'prepared transaction' => 'BEGIN; %s; PREPARE TRANSACTION \'p\'; COMMIT PREPARED \'p\'',
	'EXPLAIN' => 'EXPLAIN (ANALYZE, BUFFERS, COSTS OFF) %s; %s',
	'within another' => 'SELECT value FROM streamstat.table_stats(\'t\') o, (%s) i WHERE o.pages > 0');
my @wrong;
my $ntried = 0;
my %plain;
foreach my $call (sort keys %calls)
{
	$plain{$call} = $session->query($calls{$call});
	push @wrong, "$call: $session->{err}" if $session->{err} ne '';
}
is(scalar(grep { !/^([0-9a-f]{32}|true)$/ } values %plain), 0, 'values of all calls');
foreach my $place (sort keys %places)
{
	foreach my $call (sort keys %calls)
	{
		# It needs SELECT, and the other one looks at what the session did.
		next if $place eq 'SECURITY DEFINER' && $call =~ /prewarm/;
		my $got = $session->query($places{$place} =~ s/%s/$calls{$call}/gr) =~ s/.*\n//sr;

		$ntried++;
		push @wrong, "$place: $call: $got instead of $plain{$call} $session->{err}"
		  if $got ne $plain{$call} || $session->{err} ne '';
	}
}
is(join("\n", @wrong), '', 'the same in every place');
cmp_ok($ntried, '>', 500, 'calls in places');

# In a query with workers, theirs is what may run there, and that alone.
is( sql(q(
SELECT string_agg(DISTINCT proname || ' ' || proparallel::text, ', ' ORDER BY proname || ' ' || proparallel::text) FROM pg_proc
	WHERE pronamespace = 'streamstat'::regnamespace AND proparallel <> 'u')),
	'database_report_summary r, file_created s, host_name s, io_advice r, last_database_plan r, last_database_report r, pg_prewarm r, pg_relpages s, pgstatginindex r, pgstathashindex r, '
	  . 'pgstatindex r, pgstattuple r, pgstattuple_approx r, stat_get_progress r, stream_stats r, stream_stats_workers r',
	'what a parallel query may call');

# the procedure: with commits, and where there can be none
my $procedure = "CALL streamstat.run_database_report(budget => '50MB')";
$session->query('CREATE FUNCTION run_call(query text) RETURNS void LANGUAGE plpgsql AS $$ BEGIN EXECUTE query; END $$');
foreach my $place ('%s', 'BEGIN; %s; COMMIT', 'BEGIN READ ONLY; %s; COMMIT', 'BEGIN; SAVEPOINT a; %s; ROLLBACK TO a; COMMIT',
	'DO $d$ BEGIN %s; END $d$', 'SELECT run_call($q$%s$q$)', 'BEGIN; %s; PREPARE TRANSACTION \'p\'; COMMIT PREPARED \'p\'')
{
	$session->query($place =~ s/%s/$procedure/r);
	is($session->{err} . $session->query('SELECT exact_relations > 100 FROM streamstat.database_report_summary()'),
		't', 'run_database_report: ' . $place =~ s/%s/CALL/r);
}

# ---------------------------------------------------------------------------
# More partitions than there are locks to be had

my ($nparts, $nleaves) = (20, 50);
$session->query(qq(
CREATE TABLE root (a int, b int) PARTITION BY LIST (a);
CREATE INDEX root_b ON root (b);
DO \$\$ BEGIN
	FOR m IN 1..$nparts LOOP
		EXECUTE format('CREATE TABLE m%s PARTITION OF root FOR VALUES IN (%s) PARTITION BY LIST (b)', m, m);
		FOR i IN 1..$nleaves LOOP
			EXECUTE format('CREATE TABLE p%s_%s PARTITION OF m%s FOR VALUES IN (%s)', m, i, m, i);
			EXECUTE format('INSERT INTO p%s_%s VALUES (%s, %s)', m, i, m, i);
			IF i % 25 = 0 THEN COMMIT; END IF;
		END LOOP;
	END LOOP;
END \$\$));
is($session->{err}, '', 'many partitions');
my $all = $nparts * $nleaves;
$session->query('SELECT count(*) FROM root');
like($session->{err}, qr/out of shared memory/, 'a query cannot lock all of them');
my $locks = q(SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'relation' AND relation > 2147483648);
$session->query('BEGIN');
foreach my $case (
	[ "streamstat.database_report(budget => '0') WHERE relation_name ~ '^p\\d+_\\d+\$'", $all ],
	[ "streamstat.database_report() WHERE relation_name ~ '^p\\d+_\\d+' AND measured = 'exact'", 2 * $all ],
	[ "streamstat.index_stats_tree('root_b')", $all + 1 ],
	[ "streamstat.table_stats_tree('root')", $all + 1 ],
	[ "streamstat.bloat_tree('root')", $all + 1 ],
	[ "streamstat.bloat_tree('root_b')", $all + 1 ])
{
	my ($from, $rows) = @$case;

	is(ask("SELECT count(*) FROM $from"), $rows, "$all partitions: $from");
	is(ask($locks), 0, '... leaves no lock');
}
$session->query('COMMIT');

# What samples add to what a report keeps: next to nothing of tables without a TOAST table
my ($bare, $sampled) = map
{
	ask("SELECT count(*) FROM streamstat.database_report(budget => '$_')");
	ask("SELECT sum(used_bytes) FROM pg_backend_memory_contexts WHERE name ~ '^streamstat'");
} '0', '1GB';
note "$bare bytes, $sampled with samples";
cmp_ok($sampled - $bare, '<', 64 * 1024, 'memory that samples of a report leave');
is(ask("SELECT string_agg(name, ' ' ORDER BY name) FROM pg_backend_memory_contexts WHERE name ~ '^streamstat' AND name <> 'streamstat probe'"),
	'streamstat plan streamstat report', 'only the report and its plan stay in memory');
$session->end;

stop_clean($node);
done_testing();
