
# Copyright (c) 2026, streamstat contributors

# A cache that was saved on one server is loaded on another, or into another database,
# and the queries that made it hit it again; the hottest blocks come first; what has
# changed meanwhile, or changes during the load, cannot be read or is not permitted,
# costs a note and nothing else; a damaged text is refused.

use strict;
use warnings;

use FindBin;
use PostgreSQL::Test::Utils;
use Test::More;

use lib "$FindBin::RealBin/lib";
use Extra 'slow';
use Faults;
use Node;
use Pages;
use Session;

my $settings = q(
shared_buffers = 64MB
max_wal_size = 1GB
bgwriter_lru_maxpages = 0
jit = off
max_parallel_workers_per_gather = 0
);
my $node = new_node('cache_load', $settings, initdb => [ '-E', 'UTF8', '--no-locale' ], streaming => 1);

sub sql
{
	my ($query, $database) = @_;

	return $node->safe_psql($database // 'postgres', $query);
}

# What a script prints and complains of; the server as it is
sub talk
{
	my ($server, $script, %options) = @_;
	my ($ret, $stdout, $stderr) = $server->psql('postgres', $script, %options);

	return ($stdout, $stderr);
}

sub restart
{
	my ($server) = @_;

	$server->stop;
	$server->start;
}

sql(<<'SQL');
CREATE TABLE accounts (id int PRIMARY KEY, filler text) WITH (fillfactor = 50);
INSERT INTO accounts SELECT g, repeat('x', 80) FROM generate_series(1, 200000) g;
CREATE TABLE wide (id int PRIMARY KEY, w text);
ALTER TABLE wide ALTER w SET STORAGE external;
INSERT INTO wide SELECT g, repeat('x', 10000) FROM generate_series(1, 200) g;
CREATE UNLOGGED TABLE unlogged AS SELECT g AS id FROM generate_series(1, 5000) g;
CREATE SCHEMA "It's a \ ""schema""";
CREATE TABLE "It's a \ ""schema"""."größe
in 日本" AS SELECT g AS id FROM generate_series(1, 5000) g;
CREATE TABLE texts (name text, saved text);
VACUUM;
CHECKPOINT;
SQL
my $odd = q("It's a \ ""schema"""."größe
in 日本");

# Look-ups of some thousand rows, always the same, in another order each time
sub look_up
{
	my ($server) = @_;

	$server->safe_psql('postgres',
		'SELECT count(filler) FROM (SELECT 1 + (g * 7919) % 150000 AS n FROM generate_series(1, 4000) g) r, LATERAL (SELECT filler FROM accounts WHERE id = n OFFSET 0) a; SELECT pg_stat_force_next_flush()');
}

# Percent of hits that look-ups have, by pg_stat_database
sub hit_percent
{
	my ($server) = @_;
	my $query = "SELECT blks_hit, blks_read FROM pg_stat_database WHERE datname = 'postgres'";

	my @before = split /\|/, $server->safe_psql('postgres', $query);
	look_up($server);
	my @after = split /\|/, $server->safe_psql('postgres', $query);
	my ($hit, $read) = ($after[0] - $before[0], $after[1] - $before[1]);
	note("$hit hits, $read reads");
	return 100 * $hit / ($hit + $read);
}

# ---------------------------------------------------------------------------
# A failover: saved on the primary, loaded on the standby by the line of the README

my $standby = new_standby($node, '');
restart($node);
look_up($node) foreach 1 .. 4;
sql("SELECT count(*) FROM $odd; SELECT sum(length(w)) FROM wide; SELECT count(*) FROM unlogged; SELECT pg_stat_force_next_flush()");
my $before = hit_percent($node);
cmp_ok($before, '>', 99, 'hits before');

$node->wait_for_catchup($standby);
restart($standby);
my $cold = hit_percent($standby);
cmp_ok($cold, '<', 90, 'hits of a standby that nobody has used');
restart($standby);

my ($primary_is, $standby_is) = map { $_->connstr('postgres') } $node, $standby;
my $line =
  "psql -XAtc \"SELECT format('SELECT * FROM streamstat.cache_load(%L, details => true);', streamstat.cache_save())\" \"$primary_is\" | psql -XAt -v ON_ERROR_STOP=1 \"$standby_is\"";
my $rows = `$line`;
is($?, 0, 'from psql to psql');
my @rows = split /\n(?=[ft]\|)/, $rows;
my ($sum) = grep { /^t\|/ } @rows;
my @noted = grep { (split /\|/)[14] !~ /^\n?$/ && !/^t\|/ } @rows;
like($sum, qr/\|complete\|\|rows with a note: ${\ scalar @noted}\n?$/, 'all of it was loaded');
is( join(', ', sort map { (split /\|/)[14] =~ s/\n//r } grep { /\|public\|unlogged\|/ } @rows),
	join(', ', ('no data during recovery') x (grep { /\|public\|unlogged\|/ } @rows)), 'unlogged relations have a note');
cmp_ok(scalar(grep { /\|public\|unlogged\|/ } @rows), '>', 0, '... and were saved');
is(join(', ', grep { !/unlogged/ } @noted), '', 'there is no other note');

$standby->promote;
my $after = hit_percent($standby);
cmp_ok($after, '>=', 0.95 * $before, 'hits of the promoted standby, at once');
cmp_ok($cold, '<', 0.9 * $after, 'and without the load there were not');
is( $standby->safe_psql('postgres', "SELECT count(*) FROM streamstat.cache_map() WHERE relation_name ~ '^größe' AND fork = 'main'") > 0,
	1, 'a relation with an odd name is there');
is( $standby->safe_psql('postgres', "SELECT buffered_percent FROM streamstat.cache_summary() WHERE parent_name = 'public.wide' AND kind = 'toast table' AND fork = 'main'"),
	100, 'a TOAST table as well');
$standby->stop;

# ---------------------------------------------------------------------------
# By name: after REINDEX and VACUUM FULL, and in a database that was restored

sql("INSERT INTO texts SELECT 'before', streamstat.cache_save()");
is( sql("SELECT string_agg(line, ',' ORDER BY regexp_replace(line, '\\d+', '') COLLATE \"C\") FROM texts, regexp_split_to_table(saved, '\\n') line WHERE line ~ 'wide\$' AND line !~ ' i '") =~ s/\d+/N/gr,
	'N r public.wide,N t public.wide,N x public.wide', 'TOAST tables go by their tables');
my $toast_files = sql("SELECT pg_relation_filenode(reltoastrelid) FROM pg_class WHERE relname = 'wide'");

sub loaded_of
{
	my ($saved, $database) = @_;

	# everything but what is cached for the session: blocks of the tables, and what there is to note
	return $node->safe_psql($database // 'postgres', qq(
SELECT string_agg(concat_ws(' ', coalesce(relation_name, '-') ~ '^pg_toast', regexp_replace(coalesce(parent_name, relation_name), '_\\d+', ''), kind, blocks_requested > 0, note), ', '
		ORDER BY coalesce(parent_name, relation_name) COLLATE "C", kind COLLATE "C")
	FROM streamstat.cache_load(($saved), details => true) WHERE fork = 'main' AND NOT is_sum AND (relation_name ~ '^(accounts|wide)' OR parent_name = 'public.wide' OR parent_name ~ 'pg_toast_\\d{5}\$' AND relation_name !~ 'pg_toast_1[234]')));
}

my $all_of_them = 'f accounts table t, t pg_toast.pg_toast index t, f public.accounts index t, f public.wide index t, t public.wide toast table t, f wide table t';
is(loaded_of("SELECT saved FROM texts WHERE name = 'before'"), $all_of_them, 'as it was');
sql('REINDEX TABLE accounts; VACUUM FULL wide; REINDEX TABLE wide');
isnt(sql("SELECT pg_relation_filenode(reltoastrelid) FROM pg_class WHERE relname = 'wide'"), $toast_files, 'files have changed');
restart($node);
is(loaded_of("SELECT saved FROM texts WHERE name = 'before'"), $all_of_them, 'after REINDEX and VACUUM FULL');
# an index that is built anew is denser, and a range may end behind it
cmp_ok(hit_percent($node), '>=', 0.95 * $before, '... with the hits');

sql('CREATE DATABASE restored TEMPLATE template0');
my $dump = $node->basedir . '/dump.sql';
$node->command_ok([ 'pg_dump', '-f', $dump, '-d', $node->connstr('postgres') ], 'pg_dump');
$node->command_ok([ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-f', $dump, $node->connstr('restored') ], 'restored');
isnt( sql("SELECT reltoastrelid FROM pg_class WHERE relname = 'wide'", 'restored'),
	sql("SELECT reltoastrelid FROM pg_class WHERE relname = 'wide'"), 'with other OIDs');
sql('CHECKPOINT');
restart($node);
is(loaded_of("SELECT saved FROM texts WHERE name = 'before'", 'restored'), $all_of_them, 'after dump and restore');
is( sql("SELECT buffered_percent > 99 FROM streamstat.cache_summary() WHERE parent_name = 'public.wide' AND kind = 'toast table' AND fork = 'main'", 'restored'),
	't', '... TOAST as well');
is( sql("SELECT count(*) FROM streamstat.cache_load((SELECT saved FROM texts WHERE name = 'before'), details => true) WHERE note IS NOT NULL", 'restored'),
	0, '... without a note');
sql('DROP DATABASE restored');

# ---------------------------------------------------------------------------
# The hottest come first, and so a load that ends early has them

# Which blocks of "accounts" are hot is of no order.
restart($node);
sql(<<'SQL');
SELECT streamstat.pg_prewarm('accounts');
DO $$
BEGIN
	FOR i IN 1 .. 6 LOOP
		PERFORM filler FROM accounts WHERE ctid = ANY (ARRAY(SELECT format('(%s,1)', b)::tid FROM generate_series(0, 3500, 7) b));
	END LOOP;
END
$$;
CHECKPOINT;
INSERT INTO texts SELECT 'hot', streamstat.cache_save();
CREATE TABLE hot AS SELECT block::int FROM streamstat.cache_map(), generate_series(first_block, last_block) block
	WHERE relation_name = 'accounts' AND fork = 'main' AND usage_count >= 5;
SQL
my $nhot = sql('SELECT count(*) FROM hot WHERE block % 7 = 0');
cmp_ok($nhot, '>=', 500, 'blocks are hot');

# How many of the hot blocks are in buffers, and how many others of the table
sub cached_blocks
{
	return split /\|/, sql(<<'SQL');
WITH cached AS MATERIALIZED (SELECT block::int FROM streamstat.cache_map(), generate_series(first_block, last_block) block
	WHERE relation_name = 'accounts' AND fork = 'main')
SELECT count(*) FILTER (WHERE h.block IS NOT NULL), count(*) FILTER (WHERE h.block IS NULL) FROM cached c LEFT JOIN hot h USING (block)
SQL
}

my $hottest = sql("SELECT sum(coalesce(nullif(split_part(range, '+', 2), ''), '1')::int)
	FROM texts, regexp_split_to_table(split_part(split_part(saved, E'usage 5\\n', 2), E'\\nusage', 1), '\\n') line,
		regexp_split_to_table(regexp_replace(line, '^\\d+ (main|fsm|vm) ', ''), ' ') range WHERE name = 'hot'");
my $load = "streamstat.cache_load((SELECT saved FROM texts WHERE name = 'hot')";
restart($node);
is(sql("SELECT ended_by FROM $load, max_bytes => '@{[ 8 * $hottest ]} kB') WHERE is_sum"), 'max_bytes', 'ended by max_bytes');
my ($hot, $others) = cached_blocks();
is($hot, sql('SELECT count(*) FROM hot'), 'all of the hottest blocks');
cmp_ok($others, '<', 200, 'and few others');

restart($node);
is(sql("SELECT ended_by FROM $load, min_usage_count => 5) WHERE is_sum"), 'complete', 'one usage count');
($hot, $others) = cached_blocks();
is("$hot $others", sql('SELECT count(*) FROM hot') . ' 0', 'only the hottest');

restart($node);
my $session = Session->new($node);
my $all_hot = sql('SELECT count(*) FROM hot');
$session->send_query("SELECT ended_by FROM $load, max_rate => '2MB')");
Session::poll('the hottest', sub { (cached_blocks())[0] >= $all_hot || !$session->busy });
sql("SELECT pg_cancel_backend($session->{pid})");
$session->answer;
like($session->{err}, qr/57014/, 'canceled in the middle');
($hot, $others) = cached_blocks();
cmp_ok($hot, '==', $all_hot, 'it had begun with the hottest') or note("$hot, $others");
cmp_ok($others, '<', 3000, '... and had not come to its end');
is(sql("SELECT ended_by FROM $load, max_time => '1 s', max_rate => '2MB') WHERE is_sum"), 'max_time', 'ended by max_time');
$session->end;

# ---------------------------------------------------------------------------
# Relations that are dropped or truncated during the load, and locked ones

sql(<<'SQL');
CREATE TABLE a_first AS SELECT g AS id, repeat('x', 80) FROM generate_series(1, 20000) g;
CREATE TABLE b_big AS SELECT g AS id, repeat('x', 80) FROM generate_series(1, 200000) g;
CREATE TABLE c_dropped AS TABLE a_first;
CREATE TABLE d_truncated AS TABLE a_first;
CREATE TABLE e_locked AS TABLE a_first;
CREATE TABLE f_last AS TABLE a_first;
VACUUM;
CHECKPOINT;
SQL
# only what is about them, in this order, with one usage count
my $only = q(
SELECT string_agg(name || ':' || pg_relation_size(name::regclass) / 8192, ' ' ORDER BY name) FROM unnest(ARRAY['a_first', 'b_big', 'c_dropped', 'd_truncated', 'e_locked', 'f_last']) name);
my %blocks = map { split /:/ } split / /, sql($only);
my @names = sort keys %blocks;
my $text = saved_text({ %blocks });
sql("INSERT INTO texts VALUES ('during', '$text')");
restart($node);

my $loader = Session->new($node);
my $other = Session->new($node);
$other->query('BEGIN; LOCK TABLE e_locked');
$loader->send_query("SELECT relation_name, blocks_requested, blocks_read, note FROM streamstat.cache_load((SELECT saved FROM texts WHERE name = 'during'), max_rate => '2MB', details => true) WHERE NOT is_sum");
Session::poll('the load is at the large table',
	sub { sql("SELECT count(*) FROM streamstat.stat_progress WHERE function = 'cache_load' AND relid = 'b_big'::regclass AND blocks_done > 100") });
sql('DROP TABLE c_dropped; TRUNCATE d_truncated');
sql('TRUNCATE b_big');
my %row = map { /^(\w+)\|(.*)$/ } split /\n/, $loader->answer;
is($loader->{err}, '', 'the load goes on');
is(join(' ', sort keys %row), join(' ', @names), 'a row for each relation');
is($row{$_}, "$blocks{$_}|$blocks{$_}|", "$_ was loaded") foreach 'a_first', 'f_last';
like($row{b_big}, qr{^\d+\|\d+\|(stopped because another session waits for a lock|locked by another session|\d+ saved blocks are past the end of the fork)$}, 'what another session waits for is let go');
is($row{c_dropped}, '0|0|dropped meanwhile', 'a relation that was dropped');
is($row{d_truncated}, "0|0|$blocks{d_truncated} saved blocks are past the end of the fork", 'a relation that was truncated');
is($row{e_locked}, '0|0|locked by another session', 'a relation that is locked');
is( sql("SELECT string_agg(relation_name, ' ' ORDER BY relation_name) FROM streamstat.cache_summary() WHERE relation_name IN ('a_first', 'f_last') AND fork = 'main' AND buffered_percent = 100"),
	'a_first f_last', 'and the others are in buffers');
$other->query('ROLLBACK');

# ... and all at once, again and again
$other->send_query(q(SELECT count(*) FROM generate_series(1, 1)));
$other->answer;
$loader->send_query(q(
DO $$
BEGIN
	FOR i IN 1 .. 40 LOOP
		CREATE TABLE IF NOT EXISTS c_dropped (id int);
		INSERT INTO c_dropped SELECT generate_series(1, 20000);
		COMMIT;
		DROP TABLE c_dropped;
		TRUNCATE d_truncated;
		INSERT INTO d_truncated SELECT generate_series(1, 20000);
		COMMIT;
	END LOOP;
END
$$));
my ($loads, $wrong) = (0, '');
while ($loader->busy)
{
	my $answer = $other->query("SELECT count(*) FROM streamstat.cache_load((SELECT saved FROM texts WHERE name = 'during'), details => true) WHERE relation_name ~ '^(a|f)_' AND note IS NULL AND blocks_requested = blocks_total");

	$wrong .= "$answer$other->{err}" if $answer ne '2';
	$loads++;
}
is($wrong, '', 'loads beside DROP and TRUNCATE');
cmp_ok($loads, '>', 3, '... so many of them: ' . $loads);
is($loader->{err} =~ s/^mark.*\n//mr =~ s/.*NOTICE.*\n//gr, '', '... whose commands went on as well');

# ---------------------------------------------------------------------------
# Rights

sql(q(
CREATE ROLE reader;
CREATE ROLE scanner IN ROLE pg_stat_scan_tables;
CREATE ROLE monitor IN ROLE pg_monitor;
GRANT USAGE ON SCHEMA streamstat TO PUBLIC;
GRANT SELECT ON texts, a_first, wide TO reader, scanner));
sql("SELECT sum(length(w)) FROM wide; INSERT INTO texts SELECT 'rights', streamstat.cache_save()");

sub noted_as
{
	my ($role) = @_;

	return sql("SET ROLE $role; SELECT string_agg(DISTINCT concat_ws(' ', coalesce(parent_name, relation_name), kind, note), ', ')
		FROM streamstat.cache_load((SELECT saved FROM texts WHERE name = 'rights'), details => true)
		WHERE relation_name ~ '^(a_first|f_last|wide|wide_pkey)\$' OR parent_name = 'public.wide'");
}
is(noted_as('reader'), 'a_first table, f_last table permission denied, public.wide index, public.wide toast table, wide table',
	'whoever may read a table may load it, with its indexes and its TOAST table');
is(noted_as('scanner'), 'a_first table, f_last table, public.wide index, public.wide toast table, wide table', 'pg_stat_scan_tables may load all');
is( sql("SET ROLE reader; SELECT count(*) FROM streamstat.cache_load((SELECT saved FROM texts WHERE name = 'rights'), details => true) WHERE note = 'permission denied' AND (blocks_total IS NOT NULL OR blocks_requested > 0)"),
	0, '... and nobody gets to know the size of another table');
foreach my $role ('reader', 'scanner')
{
	my ($out, $err) = talk($node, "SET ROLE $role; SELECT streamstat.cache_save()");
	like($err, qr/permission denied for function cache_save/, "cache_save is not for $role");
}
is(sql('SET ROLE monitor; SELECT length(streamstat.cache_save()) > 1000'), 't', '... but for pg_monitor');

# ---------------------------------------------------------------------------
# Damage

# A text that is sound, with some blocks of each table, in this order
sub saved_text
{
	my ($blocks, %options) = @_;
	my @lines = (
		'streamstat cache ' . ($options{version} // 1), 'database postgres', 'saved at noon', 'block_size 8192');
	my ($sum, $n) = (0, 0);

	$sum += $_ foreach values %$blocks;
	push @lines, "blocks $sum";
	push @lines, map { ++$n . " r public.$_" } sort keys %$blocks;
	push @lines, 'usage 5';
	$n = 0;
	push @lines, map { ++$n . " main 0+$blocks->{$_}" } sort keys %$blocks;
	return with_checksum(join('', map { "$_\n" } @lines));
}

sub with_checksum
{
	my ($lines) = @_;

	return $lines . sprintf("crc %08x", crc32c($lines));
}

# Temporary relations are not in shared buffers, and no saved cache has one.
{
	my $temporary = Session->new($node);
	my $schema = $temporary->query('CREATE TEMP TABLE mine AS SELECT generate_series(1, 1000) AS id; SELECT pg_my_temp_schema()::regnamespace');
	my $lines = saved_text({ mine => 5 }) =~ s/public\.mine/$schema.mine/r =~ s/crc .*//r;

	is($temporary->query("SELECT blocks_read, note FROM streamstat.cache_load('" . with_checksum($lines) . "', details => true) WHERE NOT is_sum"),
		"0|temporary relation: its pages are in the session's local buffers", 'a temporary relation');
	$temporary->end;
}

sql(<<'SQL');
CREATE FUNCTION refused(saved text) RETURNS text LANGUAGE plpgsql AS
$$
BEGIN
	PERFORM streamstat.cache_load(saved, 'read', max_bytes => '8kB');
	RETURN 'no error';
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE || ' ' || SQLERRM;
END
$$;
SQL
is(sql("SELECT refused(saved) FROM texts WHERE name = 'rights'"), 'no error', 'a sound text');
is( sql("SELECT string_agg(DISTINCT refused(part), ', ') FROM (SELECT string_agg(line, E'\\n') OVER (ORDER BY n) AS part, n, count(*) OVER () AS lines
		FROM texts, regexp_split_to_table(saved, '\\n') WITH ORDINALITY l (line, n) WHERE name = 'rights') p WHERE n < lines"),
	'22P02 invalid saved cache', 'cut behind any line');
is( sql("SELECT string_agg(DISTINCT refused(left(saved, cut)), ', ') FROM texts, generate_series(0, length(saved) - 1, 1 + length(saved) / 500) cut WHERE name = 'rights'"),
	'22P02 invalid saved cache', 'cut anywhere');
is( sql("SELECT string_agg(DISTINCT refused(string_agg), ', ') FROM (SELECT string_agg(line, E'\\n' ORDER BY n) FROM texts, regexp_split_to_table(saved, '\\n') WITH ORDINALITY l (line, n), generate_series(1, 200, 4) without WHERE name = 'rights' AND n <> without GROUP BY without) l"),
	'22P02 invalid saved cache', 'without a line');
# The first is that of the first line; most of a character's bits give another one.
is( sql("SELECT setseed(0.5); SELECT count(*) >= 190, string_agg(DISTINCT refused(overlay(saved PLACING chr(flipped) FROM place FOR 1)), ', ')
	FROM (SELECT saved, place, ascii(substr(saved, place, 1)) # (1 << (n % 7)) AS flipped
		FROM texts, LATERAL (SELECT n, 1 + floor(random() * (length(saved) - 1))::int AS place FROM generate_series(1, 200) n) p WHERE name = 'rights') f
	WHERE flipped > 0") =~ s/^\n//r,
	't|22P02 invalid saved cache', 'a flipped bit');
is(sql("SELECT refused('" . saved_text({ a_first => 1 }) . "')"), 'no error', 'made by hand, with its checksum');
is(sql("SELECT refused('" . saved_text({ a_first => 1 }, version => 2) . "')"), '0A000 invalid saved cache', 'a newer version');
like((talk($node, "SELECT streamstat.cache_load('" . saved_text({ a_first => 1 }, version => 2) . "')"))[1],
	qr/DETAIL:  Line 1: The text was saved by a newer version of streamstat\./, '... is said to be that');
is(sql("SELECT refused(repeat('streamstat cache 1' || E'\\n', 3000000))"), '22P02 invalid saved cache', 'some 60 MB of it');
is(sql("SELECT refused(repeat('9', 60000000))"), '22P02 invalid saved cache', '... without a line end');

# ---------------------------------------------------------------------------
# Large texts, and psql between

my $ranges = join('', map { "1 main " . join(' ', map { 3 + $_ % 7 } $_ .. $_ + 49) . "\n" } 1 .. 20000);
my $quoted = $odd =~ s/\\/\\\\/gr =~ s/\n/\\x0a/gr;
my $large = with_checksum(pack('C*', unpack('C*',
	"streamstat cache 1\ndatabase \"it's \\\\ \"\nsaved at noon\nblock_size 8192\nblocks 1000000\n1 r $quoted\n2 r public.\"none'\\\\\"\nusage 3\n$ranges")));
cmp_ok(length($large), '>', 2_000_000, 'a large text');
append_to_file($node->basedir . '/large', $large);
sql("INSERT INTO texts SELECT 'large', rtrim(convert_from(pg_read_binary_file('" . $node->basedir . "/large'), 'UTF8'), E'\\n')");
$primary_is = $node->connstr('postgres');
$rows = `psql -XAtc "SELECT format('SELECT * FROM streamstat.cache_load(%L, details => true);', (SELECT saved FROM texts WHERE name = 'large'))" "$primary_is" | psql -XAt -v ON_ERROR_STOP=1 "$primary_is"`;
like($rows, qr/größe\nin 日本\|/, 'a large text, through psql');
like($rows, qr/^t\|.*\|complete\|\|rows with a note: 1$/m, '... and all of it');
like(sql("SELECT concat_ws('|', is_sum, ended_by, note) FROM streamstat.cache_load((SELECT saved FROM texts WHERE name = 'large'))"),
	qr/^t\|complete\|rows with a note, shown by details => true: [1-9]\d*$/, 'without details, one row');
# with CRLF from a file, by a variable
(my $crlf = $large) =~ s/\n/\r\n/g;
append_to_file($node->basedir . '/crlf', "$crlf\r\n\r\n");
append_to_file($node->basedir . '/script', "\\set saved `cat '" . $node->basedir . "/crlf'`\nSELECT ended_by FROM streamstat.cache_load(:'saved') WHERE is_sum;\n");
is(`psql -XAt -f "@{[ $node->basedir ]}/script" "$primary_is"`, "complete\n", 'a file with CRLF, by a variable of psql');

# ---------------------------------------------------------------------------
# Other encodings

sql("CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0; CREATE DATABASE ascii ENCODING 'SQL_ASCII' TEMPLATE template0; CREATE DATABASE unicode TEMPLATE template0");
foreach my $database ('latin', 'ascii', 'unicode')
{
	$node->command_ok([ 'psql', '-Xqc', "SET client_encoding = 'UTF8'", '-c', 'CREATE EXTENSION streamstat', '-c',
		'CREATE TABLE "größer" AS SELECT generate_series(1, 1000) AS id', $node->connstr($database) ], "$database: a name");
}
foreach my $case ([ 'latin', 'unicode' ], [ 'unicode', 'latin' ], [ 'latin', 'latin' ], [ 'ascii', 'ascii' ], [ 'ascii', 'unicode' ])
{
	my ($from, $to) = map { $node->connstr($_) } @$case;
	local $ENV{PGCLIENTENCODING} = 'UTF8';
	my $found = `psql -XAtc "SELECT format('SELECT count(*) > 0, count(note) FROM streamstat.cache_load(%L, details => true) WHERE relation_name = %L AND fork = %L;', streamstat.cache_save(), 'größer', 'main')" "$from" | psql -XAt "$to"`;

	is($found, "t|0\n", "from @$case[0] to @$case[1]");
}
sql("DROP DATABASE $_") foreach 'latin', 'ascii', 'unicode';

# ---------------------------------------------------------------------------
# Blocks that cannot be read

SKIP:
{
	my $faults = $^O eq 'linux' ? Faults->new($node) : undef;

	skip 'no C compiler for test/faults', 4 if !$faults;
	$loader->end;
	$other->end;
	my $file = file_of($node, 'a_first');
	$node->stop;
	$faults->start($node);
	$faults->set(file => $file, from => 50 * BLCKSZ, to => 53 * BLCKSZ, reads => 'error', error => 5);
	my %answer = map { /^(\w+)\|(.*)$/ } split /\n/,
	  sql("SELECT relation_name, blocks_requested, note FROM streamstat.cache_load((SELECT saved FROM texts WHERE name = 'during'), details => true) WHERE NOT is_sum");
	cmp_ok($faults->clear, '>', 0, 'reads failed');
	like($answer{a_first}, qr/^$blocks{a_first}\|could not read block.*50/, 'a bad range: a note');
	is($answer{f_last}, "$blocks{f_last}|", '... about nothing else');
	is( sql("SELECT sum(last_block - first_block + 1) FROM streamstat.cache_map() WHERE relation_name = 'a_first' AND fork = 'main'"),
		$blocks{a_first} - 3, '... and all but these blocks are there');
}

stop_clean($node);
logs_are_clean($standby);
done_testing();
