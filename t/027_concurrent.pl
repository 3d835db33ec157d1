
# Copyright (c) 2026, streamstat contributors

# Scans in a loop while others insert, delete and vacuum: no error, and every
# page in one class at each call.  At quiet the numbers are contrib's.

use strict;
use warnings;

use FindBin;
use PostgreSQL::Test::Utils;
use Test::More;

use lib "$FindBin::RealBin/lib";
use Node;
use Session;

my $seconds = 4;

my $node = new_node('concurrent', q(
synchronous_commit = off
shared_buffers = 2MB
));

my $have_contrib = create_extension($node, 'pgstattuple');
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE t AS SELECT i AS k FROM generate_series(1, 60000) i;
CREATE INDEX t_btree ON t (k);
CREATE INDEX t_hash ON t USING hash (k);

-- Write until there is a row in "ended".
CREATE TABLE ended ();
CREATE PROCEDURE write(which int) LANGUAGE plpgsql AS
$$
DECLARE
	low int;
BEGIN
	FOR i IN 1 .. 1000000 LOOP
		EXIT WHEN EXISTS (SELECT FROM ended);
		low := random() * 100000;
		INSERT INTO t SELECT low + random() * 1000 FROM generate_series(1, 500);
		COMMIT;
		low := random() * 100000;
		DELETE FROM t WHERE k BETWEEN low AND low + 1500;
		IF i % 5 = which THEN
			ROLLBACK;
		ELSE
			COMMIT;
		END IF;
	END LOOP;
END
$$;

-- Scan for some time, and until there were changes.  Returns how often, and what was wrong.
CREATE FUNCTION scan(seconds float8) RETURNS TABLE (what text, number bigint)
LANGUAGE plpgsql AS
$$
DECLARE
	until timestamptz := clock_timestamp() + seconds * interval '1 s';
	block int := current_setting('block_size')::int;
	size_before bigint;
	b record;
	h record;
	p record;
	s record;
	scans bigint := 0;
	wrong bigint := 0;
	changes bigint := 0;
	items_before bigint := 0;
BEGIN
	WHILE clock_timestamp() < until OR changes < 3 LOOP
		size_before := pg_relation_size('t_btree');
		SELECT * INTO b FROM streamstat.btree_stats('t_btree');
		IF b.internal_pages + b.leaf_pages + b.empty_pages + b.deleted_pages +
				b.new_pages + b.corrupt_pages + 1 <> b.bytes / block
			OR b.bytes % block <> 0
			OR b.bytes < size_before
			OR b.corrupt_pages <> 0
			OR b.tree_level < 1 OR b.root_block_no < 1
			OR b.live_items < 1000 OR b.dead_items < 0
			OR NOT b.avg_leaf_density BETWEEN 1 AND 100
			OR NOT b.leaf_fragmentation BETWEEN 0 AND 100
			OR NOT b.posting_percent BETWEEN 0 AND 100
			OR b.free_bytes NOT BETWEEN 0 AND b.leaf_pages * block THEN
			wrong := wrong + 1;
			RAISE WARNING 'btree_stats: %, size before: %', b, size_before;
		END IF;
		IF b.live_items <> items_before THEN
			changes := changes + 1;
		END IF;
		items_before := b.live_items;

		SELECT * INTO p FROM streamstat.pgstatindex('t_btree');
		IF p.internal_pages + p.leaf_pages + p.empty_pages + p.deleted_pages + 1
				<> p.index_size / block
			OR p.index_size < b.bytes
			OR NOT p.avg_leaf_density BETWEEN 1 AND 100 THEN
			wrong := wrong + 1;
			RAISE WARNING 'pgstatindex: %', p;
		END IF;

		SELECT * INTO h FROM streamstat.hash_stats('t_hash');
		IF h.bucket_pages + h.overflow_pages + h.bitmap_pages + h.unused_pages +
				h.corrupt_pages + 1 <> h.bytes / block
			OR h.corrupt_pages <> 0
			OR h.new_pages > h.unused_pages
			-- the metapage is read after the size; buckets can have come in between
			OR h.buckets > h.bucket_pages + h.unused_pages + h.overflow_pages + 64
			OR h.live_items < 1000
			OR NOT h.free_percent BETWEEN 0 AND 100 THEN
			wrong := wrong + 1;
			RAISE WARNING 'hash_stats: %', h;
		END IF;

		-- every block, then some blocks
		SELECT sum(estimate) FILTER (WHERE statistic IN ('leaf_pages', 'internal_pages',
				'empty_pages', 'deleted_pages', 'new_pages', 'corrupt_pages')) AS pages,
				max(blocks_total) AS total, min(blocks_read) AS sampled,
				bool_and(measured = 'exact') AS exact,
				sum(estimate) FILTER (WHERE statistic = 'corrupt_pages') AS corrupt
			INTO s FROM streamstat.sample_stats('t_btree', 1000000);
		IF s.pages + 1 <> s.total OR s.sampled <> s.total OR NOT s.exact
			OR s.corrupt <> 0 OR s.total < p.index_size / block THEN
			wrong := wrong + 1;
			RAISE WARNING 'sample of all: %', s;
		END IF;
		FOR s IN SELECT * FROM streamstat.sample_stats('t_btree', 50, seed => scans)
				UNION ALL SELECT * FROM streamstat.sample_stats('t', 50, seed => scans) LOOP
			IF s.blocks_read <> 50 OR s.measured <> 'sampled' OR s.low > s.high
				OR s.estimate < s.low OR s.estimate > s.high
				OR (s.statistic IN ('corrupt_pages') AND s.estimate <> 0) THEN
				wrong := wrong + 1;
				RAISE WARNING 'sample: %', s;
			END IF;
		END LOOP;
		scans := scans + 1;
	END LOOP;
	RETURN QUERY VALUES ('scans', scans), ('wrong', wrong), ('changes', changes);
END
$$;
SQL

my @writers = map { Session->new($node) } 1, 2;
my $scanner = Session->new($node);
my $maintenance = Session->new($node);

$writers[ $_ - 1 ]->send_query("CALL write($_)") foreach 1, 2;
# A table has new pages while it is extended, and sample_stats() says so.
$scanner->query('SET client_min_messages = warning');
$scanner->send_query("SELECT * FROM scan($seconds)");
my $errors = '';
while ($scanner->busy)
{
	$maintenance->query('VACUUM (INDEX_CLEANUP ON) t; SELECT pg_sleep(0.2)');
	$errors .= $maintenance->{err};
}
$maintenance->query('INSERT INTO ended DEFAULT VALUES');
my %result = $scanner->answer =~ /^(\w+)\|(\d+)$/mg;
$_->answer foreach @writers;

is(join('', $errors, map { $_->{err} } @writers, $scanner, $maintenance), '', 'no error and no warning');
cmp_ok($result{scans}, '>=', 3, 'scans were made');
cmp_ok($result{changes}, '>=', 3, 'of an index that changed');
is($result{wrong}, 0, 'the numbers are plausible');

SKIP:
{
	skip 'this server has no pgstattuple', 3 if !$have_contrib;

	is( $node->safe_psql(
			'postgres',
			"SELECT s = p FROM streamstat.pgstatindex('t_btree') s, public.pgstatindex('t_btree') p"
		),
		't',
		'pgstatindex, at quiet');
	is( $node->safe_psql(
			'postgres', q(
SELECT (s.version, s.tree_level, s.bytes, s.root_block_no, s.internal_pages, s.leaf_pages,
	s.empty_pages, s.deleted_pages, round(s.avg_leaf_density::numeric, 2)::float8,
	round(s.leaf_fragmentation::numeric, 2)::float8)::text = p::text
FROM streamstat.btree_stats('t_btree') s, public.pgstatindex('t_btree') p)),
		't',
		'btree_stats, at quiet');
	is( $node->safe_psql(
			'postgres', q(
SELECT (s.version, s.bucket_pages, s.overflow_pages, s.bitmap_pages, s.unused_pages,
	s.live_items, s.dead_items, s.free_percent)::text = p::text
FROM streamstat.hash_stats('t_hash') s, public.pgstathashindex('t_hash') p)),
		't',
		'hash_stats, at quiet');
}

$_->end foreach @writers, $scanner, $maintenance;
stop_clean($node);
done_testing();
