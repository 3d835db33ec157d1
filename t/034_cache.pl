
# Copyright (c) 2026, streamstat contributors

# cache_summary and cache_map say what pg_buffercache says of shared buffers, page for
# page, and what fincore(1) says of the page cache; on a standby as well, and beside
# others that make relations grow and drop them.  What layout_map says of the parts of a
# file adds up to what fincore says.

use strict;
use warnings;

use FindBin;
use IPC::Run ();
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes ();

use lib "$FindBin::RealBin/lib";
use Faults;
use Node;
use PageCache;
use Pages;
use Session;

my $node = new_node('cache', "shared_buffers = 64MB\nmax_wal_size = 1GB", streaming => 1);
my $standby = new_standby($node);

sub sql
{
	my ($query) = @_;

	return $node->safe_psql('postgres', $query);
}

sql(<<'SQL');
CREATE TABLE t AS SELECT g AS id, repeat('x', 100) AS w FROM generate_series(1, 60000) g;
CREATE INDEX t_id ON t (id);
CREATE TABLE wide (id int, w text);
ALTER TABLE wide ALTER w SET STORAGE external;
INSERT INTO wide SELECT g, repeat('x', 10000) FROM generate_series(1, 300) g;
CREATE UNLOGGED TABLE unlogged AS SELECT g AS id FROM generate_series(1, 5000) g;
CREATE TABLE parts (id int) PARTITION BY RANGE (id);
CREATE TABLE parts_1 PARTITION OF parts DEFAULT;
CREATE TABLE none (id int);
VACUUM;
CHECKPOINT;
SQL

# --- rows

is( sql(q(SELECT string_agg(concat_ws(' ', relation_name, coalesce(parent_name, '-'), kind, fork, bytes = pg_relation_size(relid, fork)), ', '
		ORDER BY relation_name COLLATE "C", fork) FROM streamstat.cache_summary() WHERE schema_name = 'public')),
	join(', ',
		'none - table main t',
		'parts_1 public.parts partition main t',
		't - table fsm t', 't - table main t', 't - table vm t', 't_id public.t index main t',
		'unlogged - table fsm t', 'unlogged - table init t', 'unlogged - table main t', 'unlogged - table vm t',
		'wide - table fsm t', 'wide - table main t', 'wide - table vm t'),
	'a row for each fork that there is');
is( sql(q(SELECT count(*) FROM streamstat.cache_summary() WHERE parent_name = 'public.wide' AND kind = 'toast table' AND fork = 'main')),
	1, 'TOAST tables, with their tables');
is( sql(q(SELECT num_nulls(buffered_percent, page_cache_percent, usage_count), buffered_bytes, page_cache_bytes
		FROM streamstat.cache_summary() WHERE relation_name = 'none')),
	'3|0|0', 'nothing of nothing');

# --- shared buffers

my $theirs = q(SELECT relfilenode, reltablespace, (ARRAY['main', 'fsm', 'vm', 'init'])[relforknumber + 1] AS fork, relblocknumber, isdirty, usagecount
	FROM pg_buffercache WHERE reldatabase IN (0, (SELECT oid FROM pg_database WHERE datname = current_database())));

# What pg_buffercache and cache_summary tell apart
sub compare_sums
{
	return sql(qq(
CREATE TEMP TABLE theirs AS $theirs;
CREATE TEMP TABLE ours AS SELECT * FROM streamstat.cache_summary();
SELECT sum(abs(buffered_bytes / 8192 - coalesce(n, 0))), sum(abs(dirty_bytes / 8192 - coalesce(d, 0))), max(abs(usage_count - u)) < 0.2, sum(n) > 900, sum(d) > 100
	FROM ours LEFT JOIN (SELECT relfilenode, fork, count(*) AS n, count(*) FILTER (WHERE isdirty) AS d, avg(usagecount) AS u FROM theirs GROUP BY 1, 2) b
		ON b.relfilenode = pg_relation_filenode(relid) AND b.fork = ours.fork
	WHERE schema_name = 'public'));
}

my $have_buffercache = create_extension($node, 'pg_buffercache');

SKIP:
{
	skip 'no pg_buffercache', 3 if !$have_buffercache;

	# dirty and clean, used once and often
	sql('UPDATE t SET id = -id WHERE id % 50 = 0; SELECT count(*) FROM t; SELECT count(*) FROM t');
	is(compare_sums(), '0|0|t|t|t', 'as many buffers as by pg_buffercache, as many of them dirty');
	is( sql(qq(
CREATE TEMP TABLE theirs AS $theirs;
CREATE TEMP TABLE ours AS SELECT relid, fork, block, usage_count FROM streamstat.cache_map(), generate_series(first_block, last_block) block WHERE schema_name = 'public';
SELECT count(*) > 900, count(*) FILTER (WHERE ours.relid IS NULL), count(*) FILTER (WHERE b.fork IS NULL), count(*) FILTER (WHERE usage_count <> usagecount)
	FROM ours FULL JOIN (SELECT t.*, c.oid AS relid FROM theirs t JOIN pg_class c ON t.relfilenode = pg_relation_filenode(c.oid)
			WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'i')) b
		ON ours.relid = b.relid AND ours.fork = b.fork AND ours.block = b.relblocknumber)),
		't|0|0|0', 'the same blocks, with the same usage counts');
	is( sql(q(SELECT count(*) FROM streamstat.cache_map() a, streamstat.cache_map() b
		WHERE a.relid = b.relid AND a.fork = b.fork AND b.first_block = a.last_block + 1 AND a.usage_count = b.usage_count)),
		0, 'ranges are as long as can be');
}

my $session = Session->new($node);
$session->query('BEGIN; DECLARE c CURSOR FOR SELECT * FROM t; FETCH c');
# a read stream pins some ahead
cmp_ok(sql("SELECT pinned_bytes FROM streamstat.cache_summary() WHERE relation_name = 't' AND fork = 'main'"), '>=', 8192, 'a pinned buffer');
$session->query('ROLLBACK; CREATE TEMP TABLE temporary AS SELECT g AS id FROM generate_series(1, 3000) g; SELECT count(*) FROM temporary');
is( sql("SELECT num_nulls(buffered_bytes, dirty_bytes, pinned_bytes, buffered_percent) FROM streamstat.cache_summary() WHERE relation_name = 'temporary' AND fork = 'main'"),
	4, 'temporary relations are not in shared buffers');
is( $session->query("SELECT count(*) FROM streamstat.cache_map() WHERE relation_name = 'temporary'"), 0, '... for their session as well');

# --- the page cache

my $file = $node->data_dir . '/' . sql("SELECT pg_relation_filepath('t')");
my $size = -s $file;

sub in_page_cache
{
	return sql("SELECT page_cache_bytes FROM streamstat.cache_summary() WHERE relation_name = 't' AND fork = 'main'");
}

sub fincore
{
	my $out = `fincore -b -n -o RES '$file' 2>&1`;

	return $out =~ /^\s*(\d+)\s*$/ ? $1 : 'not known';
}

# What layout_map says of the page cache, from parts of the file: bytes, parts that are
# there as a whole, and parts of which nothing is.
sub layout
{
	my ($buckets) = @_;

	return sql(qq(SELECT round(sum(page_cache_percent / 100 * (last_block - first_block + 1) * 8192)),
			count(*) FILTER (WHERE page_cache_percent = 100), count(*) FILTER (WHERE page_cache_percent = 0), max(page_cache_percent) <= 100
		FROM streamstat.layout_map('t', $buckets)));
}

# Drop what follows a block from the page cache, but for large folios of the kernel that
# reach into what comes before.
sub drop_from
{
	my ($block) = @_;

	sql('CHECKPOINT');
	system("sync '$file'; dd if='$file' of=/dev/null bs=8192 skip=$block count=0 iflag=nocache 2>'$file.log'; rm '$file.log'");
}

# Nothing of it is dirty; then the kernel drops it, and reads a part.
sub drop_all_but
{
	my ($blocks) = @_;

	sql('CHECKPOINT');
	system("sync '$file'; dd of='$file' oflag=nocache conv=notrunc,fdatasync count=0 2>'$file.dd'; dd if='$file' of='$file.dd' bs=8192 count=$blocks 2>'$file.log'; rm '$file.dd' '$file.log'");
}

# A kernel that is short of memory may drop some of it at any time: look again until the code
# returns true.
sub settle
{
	my ($code) = @_;

	return Session::poll('the page cache', $code);
}

# Files in memory cannot be dropped.
foreach my $how (can_drop() ? ('cachestat', 'mincore') : ())
{
	my $faults;

	if ($how eq 'mincore')
	{
		$faults = Faults->new($node);
		$node->stop;
		$faults->start($node);
		$faults->set(no_cachestat => 1);
	}
	my ($empty, $some, $said);
	settle(
		sub {
			drop_all_but(0);
			$empty = in_page_cache();
			drop_all_but(40);
			$some = in_page_cache();
			$said = fincore();
			return $empty < $some && $some >= 40 * 8192 && $said =~ /^(?:$some|not known)$/;
		});
	cmp_ok($empty, '<', $some, "$how: some is read back");
	cmp_ok($some, '>=', 40 * 8192, "$how: at least what was read");
	cmp_ok($some, '<', $size, "$how: and not all");
	is($some, $said, "$how: as fincore says") if $said ne 'not known';
	sql('SELECT count(*) FROM t');

	my $blocks = $size / 8192;
	my ($all, $layout);
	settle(
		sub {
			drop_all_but($blocks);
			$all = in_page_cache();
			$layout = layout($blocks);
			return $all == $size && $layout eq "$size|$blocks|0|t";
		});
	is($all, $size, "$how: all of it");
	is($layout, "$size|$blocks|0|t", "$how: all of it by layout_map");
	my ($bytes, $full, $none);
	settle(
		sub {
			drop_all_but($blocks);
			drop_from(512);
			$said = fincore();
			($bytes, $full, $none) = split /\|/, layout($blocks);
			return $said =~ /^(?:$bytes|not known)$/ && $none >= 256 && $full >= 256;
		});
	is($bytes, $said, "$how: some of it, as fincore says") if $said ne 'not known';
	cmp_ok($none, '>=', 256, "$how: blocks that were dropped") && cmp_ok($full, '>=', 256, "$how: ... and that were not");
	settle(
		sub {
			drop_all_but($blocks);
			drop_from(512);
			$said = fincore();
			($bytes, $full, $none) = split /\|/, layout(7);
			return $said =~ /^(?:$bytes|not known)$/ && $full >= 2 && $full < 7;
		});
	is($bytes, $said, "$how: the same of larger parts") if $said ne 'not known';
	cmp_ok($full, '>=', 2, "$how: ... some of which are there") && cmp_ok($full, '<', 7, "$how: ... and some not");
	cmp_ok($faults->clear, '>', 0, 'without cachestat(2)') if $faults;
}

# --- beside others

my $until = Time::HiRes::time() + 3;
my ($out, $err) = ('', '');
my $scripts = PostgreSQL::Test::Utils::tempdir();

$session->end;
$session = Session->new($node);
append_to_file("$scripts/grow.sql",
	"INSERT INTO grow_:client_id SELECT g, repeat('x', 1000) FROM generate_series(1, 100) g;\n");
append_to_file("$scripts/drop.sql",
	"CREATE TABLE gone_:client_id AS SELECT g AS id FROM generate_series(1, 3000) g;\nCREATE INDEX ON gone_:client_id (id);\n"
	  . "DROP TABLE gone_:client_id;\nTRUNCATE grow_:client_id;\n");
sql("CREATE TABLE grow_$_ (id int, w text)") foreach 0 .. 3;
my $pgbench = IPC::Run::start(
	[ 'pgbench', '-n', '-c', 4, '-T', 4, '-f', "$scripts/grow.sql\@9", '-f', "$scripts/drop.sql\@1", $node->connstr('postgres') ],
	'<', \undef, '>', \$out, '2>', \$err, IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
my ($calls, $sane) = (0, 0);
while (Time::HiRes::time() < $until || $calls <= 4)
{
	foreach my $query (
		'count(*) > 100, sum(buffered_bytes) < 128 * 1024 * 1024, bool_and(dirty_bytes <= buffered_bytes AND usage_count BETWEEN 0 AND 5) FROM streamstat.cache_summary()',
		'count(*) > 10, sum(last_block - first_block + 1) * 8192 < 128 * 1024 * 1024, bool_and(first_block <= last_block AND usage_count BETWEEN 0 AND 5) FROM streamstat.cache_map()')
	{
		$calls++;
		$sane += ($session->query("SELECT $query") // '') eq 't|t|t';
	}
}
$pgbench->finish;
like($out, qr/number of transactions actually processed: [1-9]/, 'relations grew, and were dropped');
cmp_ok($calls, '>', 4, 'calls meanwhile');
is($sane, $calls, '... all with rows that make sense');
SKIP:
{
	skip 'no pg_buffercache', 1 if !$have_buffercache;

	sql('CHECKPOINT');
	sql('UPDATE t SET id = -id WHERE id % 50 = 0; SELECT count(*) FROM t; SELECT count(*) FROM t');
	# A new page of a catalog can take the buffer of another page between the two looks.
	my $sums;
	settle(sub { ($sums = compare_sums()) eq '0|0|t|t|t' });
	is($sums, '0|0|t|t|t', 'as many buffers as by pg_buffercache afterwards');
}

# --- a standby

$node->wait_for_catchup($standby);
$standby->safe_psql('postgres', 'SELECT count(*) FROM t');
my $cached;
settle(
	sub {
		slurp_file(file_of($standby, 't'));
		$cached = $standby->safe_psql('postgres', "SELECT buffered_bytes = bytes, page_cache_bytes = bytes FROM streamstat.cache_summary() WHERE relation_name = 't' AND fork = 'main'");
		return $cached eq 't|t';
	});
is($cached, 't|t', 'a standby');
is( $standby->safe_psql('postgres', "SELECT sum(last_block - first_block + 1) * 8192 = pg_relation_size('t') FROM streamstat.cache_map() WHERE relation_name = 't' AND fork = 'main'"),
	't', '... and its map');

$session->end;
stop_clean($standby);
stop_clean($node);
done_testing();
