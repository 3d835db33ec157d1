
# Copyright (c) 2026, streamstat contributors

# What nobody gets by this extension that the server and contrib do not give:
# rights to functions, knowledge of relations, a superuser's rights for code of one's
# own, commands made of names, and ways to harm the server with nonsense or locks.

use strict;
use warnings;

use FindBin;
use PostgreSQL::Test::Utils;
use Test::More;

use lib "$FindBin::RealBin/lib";
use Functions;
use Node;
use Session;
use Torture;

torture_seconds(3);
torture_seed();

# the schema is there first
my $node = new_node('rights', 'log_temp_files = 0', initdb => [ '-E', 'UTF8', '--no-locale' ], extension => 0);

sub sql
{
	my ($query) = @_;

	return $node->safe_psql('postgres', $query);
}

# What a script prints, and what it complains of
sub talk
{
	my ($script) = @_;
	my ($ret, $stdout, $stderr) = $node->psql('postgres', $script);

	return ($stdout, $stderr);
}

# ---------------------------------------------------------------------------
# Whoever may make the schema before the extension can put there what would be
# found in place of the server's operators, or of our functions.

my $evil = q(LANGUAGE plpgsql AS $$ BEGIN RAISE WARNING 'EVIL %', current_user; RETURN NULL; END $$);

# Operators of all pairs of the types that the views use, and functions and types
# of the names that they use, in a schema
sub plant
{
	my ($schema) = @_;
	my @types = ('float8', 'int4', 'int8', 'text', 'oid', 'timestamptz', 'bool', 'numeric');
	my $script = '';

	foreach my $left (@types)
	{
		foreach my $right (@types)
		{
			$script .= "CREATE FUNCTION $schema.evil($left, $right) RETURNS bool $evil;\n";
			$script .= "CREATE FUNCTION $schema.evil_value($left, $right) RETURNS float8 $evil;\n";
			$script .= "CREATE OPERATOR $schema.$_ (LEFTARG = $left, RIGHTARG = $right, FUNCTION = $schema.evil);\n"
			  foreach '=', '<>', '>', '<';
			$script .= "CREATE OPERATOR $schema.$_ (LEFTARG = $left, RIGHTARG = $right, FUNCTION = $schema.evil_value);\n"
			  foreach '/', '*', '+', '||';
		}
	}
	foreach my $function ('row_number()', 'extract(text, timestamptz)',
		'date_part(text, timestamptz)', 'pg_size_bytes(text)', 'format(text)',
		'quote_ident(text)', 'float8(int8)', 'int4(bool)', 'count(int8)')
	{
		$script .= "CREATE FUNCTION $schema.$function RETURNS float8 $evil;\n";
	}
	$script .= "CREATE DOMAIN $schema.$_ AS pg_catalog.text CHECK ($schema.evil(VALUE, VALUE));\n"
	  foreach 'text', 'interval', 'regclass';
	return $script;
}

sql(q(
CREATE ROLE attacker;
GRANT CREATE ON DATABASE postgres TO attacker;
CREATE SCHEMA streamstat AUTHORIZATION attacker;
GRANT CREATE ON SCHEMA public TO attacker;
));
sql("SET ROLE attacker; " . plant('streamstat') . plant('public'));

# Of the same name and arguments: the extension is not made.
my ($out, $err) = talk(qq(
SET ROLE attacker;
CREATE FUNCTION streamstat.stat_get_progress() RETURNS float8 $evil;
RESET ROLE;
CREATE EXTENSION streamstat;));
like($err, qr/function "stat_get_progress" already exists/,
	'a planted function is not replaced');
unlike($err, qr/EVIL/, '... and does not run');
# With fewer arguments it would be ambiguous at most.
($out, $err) = talk(qq(
DROP FUNCTION streamstat.stat_get_progress();
SET ROLE attacker;
CREATE FUNCTION streamstat.database_report() RETURNS float8 $evil;
CREATE FUNCTION streamstat.database_report(text) RETURNS float8 $evil;
CREATE FUNCTION streamstat.last_database_plan(bool, text) RETURNS float8 $evil;
RESET ROLE;
CREATE EXTENSION streamstat;));
is($err, '', 'other planted objects do not matter');

my %view_for = views();
my $views = join '', map { "TABLE streamstat.$_;\n" } sort keys %view_for;

sql(q(
CREATE TABLE dead (i int, t text) WITH (autovacuum_enabled = off);
INSERT INTO dead SELECT g, repeat('x', 100) FROM generate_series(1, 5000) g;
DELETE FROM dead));
($out, $err) = talk($views);
is($err, '', 'views do not use what was planted in the schema');
like($out, qr/\|VACUUM public\.dead\|/, '... and have rows');
($out, $err) = talk('CALL streamstat.run_database_report(); SELECT length(streamstat.report_html()) > 10000;');
is("$out $err", 't ', '... nor do the document and the page of a report');

# Who owns the schema can have functions in it that are called alike, and can rename it and have a schema of
# that name with tables and triggers of his own.  Reports are stored as the superuser all the same.
($out, $err) = talk(qq(
SET ROLE attacker;
CREATE FUNCTION streamstat.store_report(timestamptz, int, bigint, boolean, text) RETURNS timestamptz LANGUAGE sql AS 'SELECT streamstat.evil(1, 1)::pg_catalog.text::timestamptz';
CREATE FUNCTION streamstat.store_report() RETURNS timestamptz LANGUAGE sql AS 'SELECT streamstat.evil(1, 1)::pg_catalog.text::timestamptz';
ALTER SCHEMA streamstat RENAME TO renamed;
CREATE SCHEMA streamstat;
CREATE TABLE streamstat.report_runs (run bigint);
CREATE FUNCTION streamstat.evil() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE ''EVIL''; END';
CREATE TRIGGER evil BEFORE INSERT ON streamstat.report_runs FOR EACH ROW EXECUTE FUNCTION streamstat.evil();
RESET ROLE;
SET client_min_messages = warning;
CALL renamed.collect(min_bytes => '0');
SELECT count(*) FROM renamed.report_runs;
DROP SCHEMA streamstat CASCADE;
ALTER SCHEMA renamed RENAME TO streamstat;));
is("$out $err", '1 ', 'the owner of the schema has no code run where reports are stored');
($out, $err) = talk($views);
is($err, '', '... nor by views of them');
sql(q(
DROP EXTENSION streamstat;
DROP SCHEMA streamstat CASCADE;
CREATE EXTENSION streamstat;
));

# Now in front in the search path.  The first query shows that this works.
sql('CREATE SCHEMA evil AUTHORIZATION attacker; SET ROLE attacker;' . plant('evil'));
my $path = "SET search_path = evil, public, pg_catalog;\n";
($out, $err) = talk("$path SELECT 1::float8 / 2;");
like($err, qr/EVIL/, 'an operator of the search path runs');
sql('CREATE INDEX dead_btree ON dead (i); CREATE INDEX dead_hash ON dead USING hash (i);
CREATE INDEX dead_gin ON dead USING gin ((ARRAY[i])); CREATE INDEX dead_gist ON dead USING gist (point(i, i));
CREATE INDEX dead_spgist ON dead USING spgist (point(i, i)); CREATE INDEX dead_brin ON dead USING brin (i);');
my %dead = (
	table => 'dead', tree => 'dead', tree_index => 'dead_btree',
	map { $_ => "dead_$_" } qw(btree hash gin gist spgist brin));
# there is no visibility map
my @calls = map {
	my $f = $_;
	map { ($f->{procedure} ? 'CALL' : 'SELECT * FROM') . " streamstat.$_;\n" }
	grep { !/'vm'/ } calls($f, \%dead, 'pg_catalog.text')
} all_functions();
($out, $err) = talk(join('', $path, $views, @calls,
	"SELECT * FROM streamstat.sample_stats('dead_hash', margin => 1, max_time => '1s');\n"));
is($err, '', 'nothing uses what is in front in the search path');
sql('DROP OWNED BY attacker; DROP ROLE attacker');

# ---------------------------------------------------------------------------
# Who may do what: all that the extension has, one by one

is( sql(q(
SET search_path = streamstat;
SELECT string_agg(CASE grantee WHEN 0 THEN 'PUBLIC' ELSE grantee::regrole::text END, ',' ORDER BY grantee)
		|| ' ' || p.oid::regprocedure::text
	FROM pg_depend d JOIN pg_proc p ON classid = 'pg_proc'::regclass AND objid = p.oid,
		aclexplode(coalesce(proacl, acldefault('f', proowner))) a
	WHERE refobjid = (SELECT oid FROM pg_extension WHERE extname = 'streamstat')
		AND deptype = 'e' AND grantee <> proowner AND privilege_type = 'EXECUTE'
	GROUP BY p.oid ORDER BY p.oid::regprocedure::text COLLATE "C")),
	join("\n", map { "$_->[1] $_->[0]" } sort { $a->[0] cmp $b->[0] } map { [ signature($_), $_->{who} ] } all_functions()),
	'who may execute each function');
is( sql(q(
SELECT string_agg(c.relname || ' ' || CASE grantee WHEN 0 THEN 'PUBLIC' ELSE grantee::regrole::text END
		|| ' ' || privilege_type, ', ' ORDER BY relname)
	FROM pg_depend d JOIN pg_class c ON classid = 'pg_class'::regclass AND objid = c.oid, aclexplode(relacl)
	WHERE refobjid = (SELECT oid FROM pg_extension WHERE extname = 'streamstat')
		AND deptype = 'e' AND grantee <> relowner)),
	join(', ', map { "$_ $view_for{$_} SELECT" } sort keys %view_for),
	'who may read each view and table');
is( sql(q(
SELECT string_agg(DISTINCT classid::regclass::text, ' ') || ' ' || (SELECT count(*)
		FROM pg_proc p JOIN pg_language l ON prolang = l.oid
		WHERE pronamespace = 'streamstat'::regnamespace AND (prosecdef OR proleakproof
			OR (lanname <> 'c' AND NOT (lanname = 'sql' AND (prosqlbody IS NOT NULL OR 'search_path=pg_catalog, pg_temp' = ANY (coalesce(proconfig, '{}')))))))
	FROM pg_depend
	WHERE refobjid = (SELECT oid FROM pg_extension WHERE extname = 'streamstat') AND deptype = 'e'
		-- but for the types of the views' rows
		AND NOT (classid = 'pg_type'::regclass AND EXISTS (SELECT FROM pg_type WHERE oid = objid AND (typrelid <> 0 OR typelem <> 0))))),
	'pg_class pg_proc 0',
	'nothing but tables, views, functions in C and functions in SQL with names that are bound or a search path of their own, none with the rights of its owner');

# Settings: anybody may set them, as those of the server that they are like, but
# for how long others have to wait; a new one is to be thought about.
is( sql(q(LOAD 'streamstat'; SELECT string_agg(name || ' ' || context || ' ' || coalesce(max_val, ''), ', ' ORDER BY name)
	FROM pg_settings WHERE name LIKE 'streamstat.%')),
	'streamstat.cache_save_interval sighup 2147483647, streamstat.io_combine_limit user 128, streamstat.io_concurrency user 1000, streamstat.io_method user , '
	  . 'streamstat.io_path user , streamstat.map_files user , streamstat.max_blocking_time superuser 2147483647, streamstat.max_rate user 2147483647, streamstat.max_workers user 1024',
	'settings');

# ---------------------------------------------------------------------------
# What contrib tells each role, and what we do

sql(q(
CREATE ROLE nobody;
CREATE ROLE scanner IN ROLE pg_stat_scan_tables;
CREATE ROLE monitor IN ROLE pg_monitor;
CREATE ROLE reader;
CREATE ROLE owner;
CREATE SCHEMA hidden;
CREATE TABLE hidden.t (k text, a text[], p point, secret text) WITH (autovacuum_enabled = off);
INSERT INTO hidden.t SELECT 'XYZZY' || g % 100, ARRAY['XYZZY' || g % 10], point(g, g), repeat('XYZZY', 200) FROM generate_series(1, 3000) g;
CREATE INDEX t_btree ON hidden.t (k) WHERE secret <> 'XYZZY';
CREATE INDEX t_hash ON hidden.t USING hash (k);
CREATE INDEX t_gin ON hidden.t USING gin (a);
CREATE INDEX t_gist ON hidden.t USING gist (p) WHERE k > 'XYZZY';
CREATE INDEX t_spgist ON hidden.t USING spgist (k);
CREATE INDEX t_brin ON hidden.t USING brin (k);
CREATE TABLE hidden.parts (k text) PARTITION BY LIST (k);
CREATE TABLE hidden.part PARTITION OF hidden.parts FOR VALUES IN ('XYZZY');
CREATE INDEX parts_btree ON hidden.parts (k);
CREATE VIEW hidden.v AS SELECT * FROM hidden.t;
CREATE SEQUENCE hidden.s;
CREATE TYPE hidden.row AS (i int);
CREATE MATERIALIZED VIEW hidden.mv AS SELECT * FROM hidden.t;
CREATE UNLOGGED TABLE hidden.u (i int);
DELETE FROM hidden.t WHERE k LIKE '%7';
GRANT SELECT ON hidden.t TO reader;
ALTER TABLE hidden.t OWNER TO owner;
GRANT USAGE ON SCHEMA hidden TO owner;
));
create_outcome($node);

my $other = Session->new($node);
$other->query('CREATE TEMP TABLE tt AS SELECT 1 AS k; CREATE INDEX tt_btree ON tt (k); CREATE INDEX tt_hash ON tt USING hash (k)');
my $relations = q(
	(SELECT oid, oid::regclass::text AS name FROM pg_class
		WHERE relnamespace = 'hidden'::regnamespace OR relname LIKE 'tt%'
	UNION ALL VALUES (0::oid, ''), (1, 'no_table'), (4294967295, 'hidden.no_table'), (2147483648, 'no.t')) r);

my @roles = ('nobody', 'reader', 'owner', 'scanner', 'monitor');
SKIP:
{
	skip 'no contrib', 10
	  if sql(q(SELECT count(*) FROM pg_available_extensions WHERE name IN ('pgstattuple', 'pg_prewarm'))) < 2;
	sql(q(
CREATE SCHEMA contrib;
GRANT USAGE ON SCHEMA contrib TO PUBLIC;
CREATE EXTENSION pgstattuple SCHEMA contrib;
CREATE EXTENSION pg_prewarm SCHEMA contrib));
	foreach my $role (@roles)
	{
		my $compare = qq(
SET ROLE $role;
SELECT call, ours, theirs FROM (
	SELECT call, error_of('SELECT * FROM streamstat.' || call) AS ours, error_of('SELECT * FROM contrib.' || call) AS theirs
		FROM $relations,
			unnest(ARRAY['pgstattuple', 'pgstattuple_approx', 'pgstatindex', 'pgstathashindex', 'pgstatginindex', 'pg_relpages', 'pg_prewarm']) f,
			format('%s(%s::regclass)', f, r.oid) call
	UNION ALL
	SELECT call, error_of('SELECT * FROM streamstat.' || call), error_of('SELECT * FROM contrib.' || call)
		FROM $relations, unnest(ARRAY['pgstattuple', 'pgstatindex', 'pg_relpages']) f,
			format('%s(%L::text)', f, r.name) call) x);

		is(sql("$compare WHERE ours <> theirs"), '', "$role: refused and told as by contrib");
		cmp_ok(sql("SELECT count(*) FROM ($compare) y" =~ s/SET ROLE $role;//r),
			'>', 100, "$role: calls");
	}
}

# The others are for those who may run contrib's.  pg_buffercache, which tells
# what is in buffers, is for pg_monitor.
foreach my $role ('scanner', 'monitor')
{
	is( sql(qq(SET ROLE $role; SELECT count(buffered_percent) > 0, count(page_cache_percent) > 0 FROM streamstat.layout_map((SELECT oid FROM pg_class WHERE relname = 't_btree')))),
		$role eq 'monitor' ? 't|t' : 'f|f',
		"$role: what is cached");
}
# Rights to a view do not bring rights to what it calls.
sql('GRANT SELECT ON streamstat.report_advice TO nobody');
is( sql("SET ROLE nobody; SELECT error_of('TABLE streamstat.report_advice')"),
	"42501 permission denied for function database_plan",
	"report_advice: functions are the caller's");

# No function shows a value out of a relation, in its rows or errors.
my $have_bloom = create_extension($node, 'bloom');
sql('CREATE INDEX t_bloom ON hidden.t USING bloom (k)') if $have_bloom;
my @about = grep { $_ ne 'pg_prewarm' && ($have_bloom || $_ ne 'bloom_stats') && !/^(?:hnsw|ivfflat)_stats/ } functions_on();
my $oids = sql("SELECT string_agg(oid::text, ' ') FROM $relations");
($out, $err) = talk("\\set ON_ERROR_STOP off\n\\set VERBOSITY verbose\nSET ROLE scanner;\n"
	  . join('', map { my $f = $_; map { "SELECT * FROM streamstat.$f($_\::regclass);\n" } split / /, $oids } @about)
	  . "CALL streamstat.collect(margin => 0);\nTABLE streamstat.report_run_relations;\nTABLE streamstat.report_metrics;\n");
cmp_ok(length($out), '>', 50_000, 'rows of hidden relations');
unlike("$out$err", qr/XYZZY/, 'no value is told');

# ---------------------------------------------------------------------------
# Nonsense, from a role with pg_stat_scan_tables and nothing else

my %values = (
	regclass => [ 'NULL', map { "$_\::regclass" } split / /, $oids ],
	text => [ 'NULL', map({ "'$_'" } '', 'no', 'row', 'sum', 'buffer', 'read', 'prefetch',
			'main', 'vm', 'fsm', 'init', '0', '-1', '1 TB', '1e400', 'NaN', '1 kB', 'hidden.t', 'pg_class',
			'"', 'a.b.c.d', 'pg_catalog.pg_am', '16 EB', "\xe2\x98\x83"), "repeat('x', 1000000)", "repeat('x.', 1000)" ],
	'regclass[]' => [ 'NULL', map { "'$_'" } '{}', '{NULL}', '{pg_class,pg_class,pg_views}', '{0,4294967295}', "{{pg_class},{1}}" ],
	regnamespace => [ 'NULL', map { "'$_'" } 'hidden', 'pg_catalog', '0', '4294967295' ],
	'regnamespace[]' => [ 'NULL', map { "'$_'" } '{}', '{NULL}', '{hidden}', '{0,4294967295}', '{{pg_catalog},{hidden}}' ],
	boolean => [ 'NULL', 'true', 'false' ],
	integer => [ 'NULL', '0', '-1', '1', '2', '64', '10000', '10001', '2147483647', '(-2147483648)' ],
	bigint => [ 'NULL', '0', '-1', '1', '4294967295', '4294967296', '9223372036854775807', '(-9223372036854775808)' ],
	'double precision' => [ 'NULL', '0', '-1', '1e-300', '5', '100', '1e308', map { "'$_'" } 'NaN', 'Infinity', '-Infinity', '5e-324', '-0' ],
	interval => [ 'NULL', map { "'$_'" } '0', '-1 s', '1 us', '10 ms', '1 s', '178000000 years', '-178000000 years', '1 mon -30 days', 'infinity' ]);
# a rate as well, but none that a report would take long with
my @scanning = grep { $_->{scans} } all_functions();
my $ncalls = 0;
my $rounds = 0;
my %outcomes;
my $scanner = Session->new($node);
$scanner->query("SET ROLE scanner; SET statement_timeout = '5s'");
do
{
	foreach my $function (@scanning)
	{
		my $f = $function->{name};
		my @chosen = map {
			my @a = @{ $values{$_} };
			$a[ int(rand(@a)) ] . "::$_"
		} @{ $function->{types} };
		my $call = "streamstat.$f(" . join(', ', @chosen) . ')';
		my $query = $function->{procedure} ? "CALL $call" : "SELECT * FROM $call";
		my $outcome = $scanner->query('SELECT error_of($call$' . $query . '$call$)');

		# a machine can stall for so long
		$outcome = $scanner->query('SELECT error_of($call$' . $query . '$call$)') if $outcome =~ /^57014/;
		$ncalls++;
		$outcomes{ substr($outcome, 0, 5) }{$f}++;
		# but for what the server says when there is no such relation, and for
		# a report or a prewarm that is to read 1 kB in a second
		is(substr($outcome, 0, 200), 'no error of this kind', "nonsense: $query")
		  if $outcome =~ /^(XX|53|57|$)(?!000 could not open relation with OID \d+$)/
		  && !($outcome =~ /^57014/ && $query =~ /(?:report|prewarm\w*)\(.*'1 kB'/);
	}
} while (++$rounds < 3 || time_left());
note("$ncalls calls; " . join(', ', map { "$_: " . keys(%{ $outcomes{$_} }) . ' functions' } sort keys %outcomes));
cmp_ok($ncalls, '>=', 50, 'calls with nonsense');
cmp_ok(scalar(keys %outcomes), '>=', 4, 'of which some fail in several ways, and some do not');
is($scanner->query('SELECT 1'), '1', 'the session lives');

# ---------------------------------------------------------------------------
# Locks: a scan has the one of a SELECT, and lets go of it when the call ends

my $t = sql("SELECT 'hidden.t'::regclass::oid");
my $count = "SELECT count(*) FROM pg_locks WHERE locktype = 'relation' AND pid = $scanner->{pid} AND relation >= 16384 AND mode <> 'x'";
my @left;
foreach my $f (@about, 'pg_prewarm')
{
	my ($takes) = map { $_->{takes} } grep { $_->{name} eq $f && $_->{relation} eq 'regclass' } all_functions();
	my $relation = $takes->{table} || $takes->{tree} ? 't' : $takes->{btree} || $takes->{tree_index} ? 't_btree' : 't_' . (keys %$takes)[0];
	my $oid = sql("SELECT oid FROM pg_class WHERE relname = '$relation'");

	$scanner->query($f eq 'pg_prewarm' ? 'RESET ROLE' : 'SET ROLE scanner');
	$scanner->query("BEGIN; SELECT count(*) FROM streamstat.$f($oid\::regclass)");
	push @left, "$f: $scanner->{err}" if $scanner->{err} ne '';
	push @left, $f if sql($count) != 0;
	$scanner->query('COMMIT');
}
$scanner->query('SET ROLE scanner; BEGIN; SELECT count(*) FROM streamstat.database_report()');
push @left, 'database_report' if sql($count) != 0;
$scanner->query('COMMIT');
is("@left", '', 'a call leaves no lock to its transaction');

# A slow one: the owner's work goes on, but for what needs the table alone.
$scanner->query("SET statement_timeout = 0; SET streamstat.max_rate = '8kB'");
$scanner->send_query("SELECT * FROM streamstat.table_stats($t\::regclass)");
my $modes = "SELECT string_agg(mode, ' ') FROM pg_locks WHERE locktype = 'relation' AND pid = $scanner->{pid} AND relation = $t";
Session::poll('a slow scan', sub { sql($modes) ne '' });
is(sql($modes), 'AccessShareLock', 'a scan has an AccessShareLock');
my $role = "SET ROLE owner; SET lock_timeout = '1s'; ";
foreach my $work ("UPDATE hidden.t SET k = 'a' WHERE k LIKE '%8'", 'VACUUM hidden.t', 'ANALYZE hidden.t',
	'LOCK TABLE hidden.t IN EXCLUSIVE MODE')
{
	is(($node->psql('postgres', "$role\n" . ($work =~ /^LOCK/ ? "BEGIN; $work; COMMIT" : $work)))[0],
		0, "$work beside a scan");
}
# what does waits a while, and the scan gives way (t/028_blocking.pl)
is(($node->psql('postgres', "SET ROLE owner; SET lock_timeout = '2min'; TRUNCATE hidden.t"))[0],
	0, 'TRUNCATE does not wait for a scan to end');
$scanner->answer;
like($scanner->{err}, qr/canceling statement due to conflict with/, 'the scan has ended');
# That is no more than every role has that may connect.
$scanner->query("ROLLBACK; SET ROLE nobody; BEGIN; PREPARE p AS SELECT FROM dead");
is( sql("SELECT mode FROM pg_locks WHERE locktype = 'relation' AND pid = $scanner->{pid} AND relation = 'dead'::regclass"),
	'AccessShareLock', 'the server gives that lock to a role without rights, too');
$scanner->end;
$other->end;

stop_clean($node);
unlike(slurp_file($node->logfile), qr/temporary file:/, 'no temporary file');
done_testing();
