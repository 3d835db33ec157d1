
# Copyright (c) 2026, streamstat contributors

# On a server with a second storage manager, which encrypts its relations' files or has
# them elsewhere, those relations are read through it, and all others from their files.
# test/smgr has such a storage manager: tools/servers make 15-smgr.

use strict;
use warnings;

use FindBin;
use PostgreSQL::Test::Utils;
use Test::More;

use lib "$FindBin::RealBin/lib";
use FileStream;
use Node;
use Pages;

# What the header of a page that is not encrypted says: its size and layout
use constant SIZE_AND_LAYOUT => BLCKSZ | 4;

my $settings = "shared_buffers = 16MB\nbgwriter_lru_maxpages = 0\nmax_wal_size = 1GB\n";
my $node = file_stream_node('second', 0, $settings);

sub sql
{
	my ($query) = @_;

	return $node->safe_psql('postgres', $query);
}

# Give a relation new files until their number is even, or odd: by that the storage
# manager is chosen.
sub renumber
{
	my ($relation, $command, $odd) = @_;

	for (1 .. 100)
	{
		return if sql("SELECT pg_relation_filenode('$relation')::bigint % 2") == $odd;
		sql($command);
	}
	die "$relation stays as it is";
}

sub file_of_relation
{
	my ($relation) = @_;

	return $node->data_dir . '/' . sql("SELECT pg_relation_filepath('$relation')");
}

sub is_plain
{
	my ($relation) = @_;
	my $file = file_of_relation($relation);

	return -s $file && get16(read_block($file, 0), PD_PAGESIZE) == SIZE_AND_LAYOUT;
}

# --- is there one?

sql('CREATE TABLE probe AS SELECT 1 AS k');
renumber('probe', 'VACUUM FULL probe', 0);
sql('CHECKPOINT');
if (is_plain('probe'))
{
	$node->stop;
	plan skip_all => 'this server has no second storage manager';
}

# --- relations of each kind: encrypted, elsewhere, and as they are

my @methods = qw(btree hash gin gist spgist brin);
my %column = (btree => 'k', hash => 'k', gin => 'a', gist => 'p', spgist => 'p', brin => 'k');
my %odd = (encrypted => 0, elsewhere => 0, plain => 1);

sql("CREATE TABLESPACE elsewhere LOCATION ''");
foreach my $where (sort keys %odd)
{
	my $tablespace = $where eq 'elsewhere' ? 'TABLESPACE elsewhere' : '';

	sql(qq(CREATE TABLE $where (k int, a int[], p point, w text) $tablespace;
		ALTER TABLE $where ALTER w SET STORAGE external;
		INSERT INTO $where SELECT i, ARRAY[i % 100, i], point(i % 300, i / 300), CASE WHEN i % 100 = 0 THEN repeat('w', 3000) END
			FROM generate_series(1, 60000) i));
	renumber($where, "VACUUM FULL $where", $odd{$where});
	foreach my $method (@methods)
	{
		my $index = "${where}_$method";

		sql("CREATE INDEX $index ON $where USING $method ($column{$method}) $tablespace");
		renumber($index, "REINDEX INDEX $index", $odd{$where});
	}
	sql("DELETE FROM $where WHERE k % 10 = 0");
	$node->safe_psql('postgres', "VACUUM (INDEX_CLEANUP ON) $where");
	sql("DELETE FROM $where WHERE k % 11 = 0");
}
sql('CHECKPOINT');
$node->restart;

ok(is_plain('plain'), 'a file as it is');
ok(-s file_of_relation('encrypted') && !is_plain('encrypted'), 'an encrypted file');
ok(!-e file_of_relation('elsewhere'), 'no file');

# --- the same answers

my @calls = map {
	my $w = $_;
	(   map({ "${_}_stats('${w}_$_')" } @methods),
		map({ ("index_stats('${w}_$_')", "bloat('${w}_$_')") } @methods),
		"table_stats('$w')", "pgstattuple('$w')", "pgstattuple_approx('$w')",
		"pgstatindex('${w}_btree')", "pgstathashindex('${w}_hash')",
		"sample_stats('$w', 40, seed => 7)", "sample_stats('${w}_btree', 20, seed => 7)",
		"bloat('$w')", "visibility_map_summary('$w')", "free_space_map_summary('$w')",
		"corrupt_blocks('$w')", "corrupt_blocks('${w}_btree')",
		"corrupt_blocks('${w}_gist')")
} sort keys %odd;

sub answers
{
	my ($session, @settings) = @_;
	my (%answers, %streams);

	query($session, "SET $_") foreach @settings;
	foreach my $call (@calls)
	{
		$answers{$call} = query($session, "SELECT * FROM streamstat.$call");
		my $stats = stream_stats($session);
		$streams{$call} = $stats->{stream} eq 'file stream' || $stats->{blocks_private} > 0;
	}
	return (\%answers, \%streams);
}

sub check_answers
{
	my ($what) = @_;
	my $session = new_session($node);
	my ($by_file, $from_files) = answers($session);
	my ($by_buffer) = answers($session, 'streamstat.io_path = buffer');

	is_deeply($by_file, $by_buffer, "$what: the same answers by both ways");
	is(join(', ', grep { $from_files->{$_} && !/plain/ } @calls),
		'', "$what: no file of the second storage manager was read");
	is(join(', ', grep { !$from_files->{$_} && /plain/ } @calls),
		'', "$what: files of md.c were");
	$session->end;
	return $by_file;
}

my $cold = check_answers('cold');
is_deeply(check_answers('cached'), $cold, 'cold and cached are the same');
foreach my $call (grep { /plain/ && !/bloat/ } @calls)
{
	foreach my $where (qw(encrypted elsewhere))
	{
		my ($other, $expected) = map { s/plain/$where/gr } $call, $cold->{$call};

		is($cold->{$other}, $expected, "$other as $call");
	}
}
if (create_extension($node, 'pgstattuple'))
{
	foreach my $where (qw(encrypted elsewhere))
	{
		is( sql("SELECT streamstat.pgstattuple('$where')::text"),
			sql("SELECT pgstattuple('$where')::text"),
			"$where: pgstattuple as contrib's");
		is( sql("SELECT streamstat.pgstatindex('${where}_btree')::text"),
			sql("SELECT pgstatindex('${where}_btree')::text"),
			"$where: pgstatindex as contrib's");
	}
}

# --- what is in the page cache is not known

sql(q(CREATE TABLE sizes AS SELECT c.oid AS relation, (streamstat.index_stats(c.oid)).bytes AS bytes
	FROM pg_class c WHERE relname ~ '^(encrypted|elsewhere|plain)_'));
is( sql(q(SELECT string_agg(DISTINCT concat_ws(' ', split_part(relation_name, '_', 1), c.bytes = s.bytes,
		page_cache_bytes IS NULL, page_cache_percent IS NULL), ', ')
	FROM streamstat.cache_summary() c JOIN sizes s ON s.relation = relid WHERE fork = 'main')),
	'elsewhere t t t, encrypted t t t, plain t f f',
	'cache_summary: sizes are known, and what is in the page cache is not');
foreach my $where (sort keys %odd)
{
	is( sql("SELECT count(*), count(page_cache_percent), count(buffered_percent) FROM streamstat.layout_map('${where}_btree', 10)"),
		$where eq 'plain' ? '10|10|10' : '10|0|10',
		"layout_map: $where");
}

# --- into buffers, into the page cache

sub buffered
{
	my ($relation) = @_;

	return sql("SELECT coalesce(sum(last_block - first_block + 1), 0) FROM streamstat.cache_map() WHERE relid = '$relation'::regclass");
}

foreach my $where (sort keys %odd)
{
	my $index = "${where}_btree";
	my $nblocks = sql("SELECT bytes / 8192 FROM sizes WHERE relation = '$index'::regclass");

	$node->restart;
	foreach my $mode (qw(prefetch read buffer))
	{
		is(sql("SELECT streamstat.pg_prewarm('$index', '$mode')"), $nblocks, "pg_prewarm: $mode, $where");
		is(buffered($index), $mode eq 'buffer' ? $nblocks : 0, 'buffers have what they should');
	}
	$node->restart;
	foreach my $mode (qw(read buffer))
	{
		is( sql(qq(SELECT blocks_total, blocks_cached + blocks_read, coalesce(note, 'no note')
				FROM streamstat.prewarm_relations('{$index}', '$mode') WHERE fork = 'main')),
			"$nblocks|$nblocks|no note", "prewarm_relations: $mode, $where");
		is(buffered($index), $mode eq 'buffer' ? $nblocks : 0, 'buffers have what they should');
	}
}

# --- many relations

my $report = q(SELECT string_agg(concat_ws(' ', relation_name, bytes, measured, free_percent, note), E'\n' ORDER BY relation_name)
	FROM streamstat.database_report(margin => 0) WHERE relation_name ~ '^%s');
foreach my $where (qw(encrypted elsewhere))
{
	(my $other = sql(sprintf $report, 'plain')) =~ s/plain/$where/g;
	is(sql(sprintf $report, $where), $other, "database_report: $where");
}
foreach my $odd (1, 0)
{
	# the next number, and then an even number of them
	renumber('pg_class', "SELECT lo_create(0);\nVACUUM FULL pg_class", $odd);
	sql('SELECT streamstat.pg_prewarm(\'pg_class\')');
	like(
		sql("SELECT count(*) FROM streamstat.database_report(); SELECT stream FROM streamstat.stream_stats()"),
		$odd ? qr/^file stream$/m : qr/read stream/,
		'stream_stats: what most relations were read by, pg_class ' . ($odd ? 'as it is' : 'encrypted'));
}

# --- a cache that is saved and loaded

my $saved = sql(q(SELECT streamstat.cache_save()));
$node->restart;
is( sql(qq(SELECT count(*), count(note) FROM streamstat.cache_load(\$\$$saved\$\$, details => true) WHERE relation_name ~ '^(encrypted|elsewhere|plain)')) =~
	  /^[1-9][0-9]*\|0$/ ? 'loaded' : 'not', 'loaded', 'cache_load: no note');

# --- a standby, which reads pages into private memory before it reads them into buffers

my $standby = new_standby($node);
foreach my $where (sort keys %odd)
{
	my $index = "${where}_btree";

	is( $standby->safe_psql('postgres',
			"SELECT blocks_total = blocks_cached + blocks_read, coalesce(note, 'no note') FROM streamstat.prewarm_relations('{$index}', 'buffer') WHERE fork = 'main'"),
		't|no note', "on a standby, prewarm_relations: $where");
	is( $standby->safe_psql('postgres', "SELECT r::text FROM streamstat.btree_stats('$index') r"),
		sql("SELECT r::text FROM streamstat.btree_stats('$index') r"),
		"on a standby, btree_stats: $where");
}

stop_clean($standby);
stop_clean($node);
done_testing();
