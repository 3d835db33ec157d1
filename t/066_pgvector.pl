
# Copyright (c) 2026, streamstat contributors

# Indexes of pgvector: what pages have, by their bytes and by the rows of the table, and the size
# after REINDEX.  Then damage, and another version of the format.

use strict;
use warnings;

use FindBin;
use PostgreSQL::Test::Utils;
use Test::More;

use lib "$FindBin::RealBin/lib";
use Node;
use Pages;

my $node = new_node('pgvector', "max_parallel_maintenance_workers = 0\nmaintenance_work_mem = 200MB\n", checksums => 0);
if (!create_extension($node, 'vector'))
{
	$node->stop;
	plan skip_all => 'the server has no pgvector';
}
create_outcome($node);

sub sql
{
	my ($query) = @_;

	return $node->safe_psql('postgres', "SET client_min_messages = error; SET jit = off;\n$query");
}

# ---------------------------------------------------------------------------
# Indexes, and what happens to their tables

my %index = (
	h_default => 'v USING hnsw (v vector_l2_ops)',
	h_m4 => 'v USING hnsw (v vector_cosine_ops) WITH (m = 4, ef_construction = 16)',
	h_half => 'v USING hnsw ((v::halfvec(12)) halfvec_l2_ops) WITH (m = 48, ef_construction = 100)',
	h_partial => 'v USING hnsw (v vector_ip_ops) WHERE i % 3 = 0',
	h_bit => 'v USING hnsw ((binary_quantize(v)::bit(12)) bit_hamming_ops) WITH (m = 8)',
	h_wide => 'wide USING hnsw (v vector_l2_ops) WITH (m = 6, ef_construction = 12)',
	h_sparse => 'v USING hnsw ((v::sparsevec(12)) sparsevec_l2_ops) WITH (m = 5, ef_construction = 10)',
	h_same => 'same USING hnsw (v vector_l2_ops)',
	i_default => 'v USING ivfflat (v vector_l2_ops)',
	i_few => 'v USING ivfflat (v vector_l2_ops) WITH (lists = 3)',
	i_many => 'v USING ivfflat (v vector_cosine_ops) WITH (lists = 900)',
	i_half => 'v USING ivfflat ((v::halfvec(12)) halfvec_l2_ops) WITH (lists = 20)',
	i_bit => 'v USING ivfflat ((binary_quantize(v)::bit(12)) bit_hamming_ops) WITH (lists = 5)',
	i_partial => 'v USING ivfflat (v vector_ip_ops) WITH (lists = 10) WHERE i % 3 = 0',
	i_wide => 'wide USING ivfflat (v vector_l2_ops) WITH (lists = 7)',
	i_same => 'same USING ivfflat (v vector_l2_ops) WITH (lists = 10)');

# Rows of each table: nulls have no entry.  The wide vectors do not fit on a page with their
# neighbors; "same" has many rows for each vector.
my %rows = (
	v => "(SELECT array_agg(sin(i * (j + 1))::real) FROM generate_series(1, 12) j)::vector(12)",
	wide => "(SELECT array_agg(cos(i * j)::real) FROM generate_series(1, 2000) j)::vector(2000)",
	same => "ARRAY[i % 60, 1, 2]::vector(3)");
my $samples = 4;
my %factor = (v => 1, wide => 0.05, same => 1);

sub fill
{
	my ($first, $last) = @_;

	return join '', map {
		my ($from, $to) = map { int } $first * $factor{$_}, $last * $factor{$_};
		"INSERT INTO $_ SELECT i, CASE WHEN i % 50 > 0 THEN $rows{$_} END, 0 FROM generate_series($from, $to) i;\n"
	} sort keys %rows;
}

my @tables = sort keys %rows;
my $vacuum = join '', map { "VACUUM $_;" } @tables;
my @states = (
	[ 'nothing', '' ],
	[ 'one row', 'INSERT INTO v SELECT 1, ' . $rows{v} . ', 0 FROM (VALUES (1)) x (i);' ],
	[ 'inserted', fill(2, 1500) ],
	[ 'deleted', join '', map { "DELETE FROM $_ WHERE i % 4 = 0;" } @tables ],
	[ 'vacuumed', $vacuum ],
	[ 'inserted again', fill(1501, 1800) ],
	[ 'rebuilt', join '', map { "REINDEX TABLE $_;" } @tables ],
	[ 'HOT updates', join '', map { "UPDATE $_ SET other = 1 WHERE i % 20 = 1;" } @tables ],
	[ 'updated', join '', map { "UPDATE $_ SET i = i + 3 WHERE i % 3 = 0;" } @tables ],
	[ 'updated and vacuumed', $vacuum ],
	[ 'updated vectors', join '', map { "UPDATE $_ SET v = v + v WHERE i % 5 = 0;" } @tables ],
	[ 'mostly deleted', (join '', map { "DELETE FROM $_ WHERE i > 300 * $factor{$_};" } @tables) . $vacuum ],
	[ 'other settings', 'ALTER INDEX h_default SET (m = 24); ALTER INDEX i_default SET (lists = 40);' . fill(2000, 2200) ],
	[ 'rolled back', 'BEGIN;' . fill(3000, 3100) . 'ROLLBACK;' ],
	[ 'all dead', join '', map { "DELETE FROM $_;" } @tables ],
	[ 'empty', $vacuum ]);

sql("CREATE TABLE v (i int, v vector(12), other int) WITH (autovacuum_enabled = off, fillfactor = 90);
CREATE TABLE wide (i int, v vector(2000), other int);
CREATE TABLE same (i int, v vector(3), other int);
ALTER TABLE wide ALTER v SET STORAGE PLAIN;" . join('', map { "CREATE INDEX $_ ON $index{$_};" } sort keys %index));

# ---------------------------------------------------------------------------
# What the bytes say

my ($magic, $version) = (PD_LINP, PD_LINP + 4);

# Counts of an hnsw index: an element has the type 1, and up to ten TIDs
sub count_hnsw
{
	my %count = map { $_ => 0 } qw(live_items dead_items neighbor_items heap_tids free_bytes);

	foreach my $page (@_)
	{
		foreach my $n (1 .. items($page))
		{
			my $tuple = substr $page, (item($page, $n))[0], (item($page, $n))[2];

			$count{neighbor_items}++, next if ord $tuple == 2;
			my @tids = grep { $_ > 0 } unpack '(x4 S)10', substr $tuple, 4, 60;
			$count{@tids ? 'live_items' : 'dead_items'}++;
			$count{heap_tids} += @tids;
		}
		$count{free_bytes} += get16($page, PD_UPPER) - get16($page, PD_LOWER);
	}
	return %count;
}

# Counts of an ivfflat index: follow the chains of pages, as a search does
sub count_ivfflat
{
	my @pages = @_;
	my $next = sub { unpack 'L', substr $pages[ $_[0] ], BLCKSZ - 8, 4 };
	my %count = map { $_ => 0 } qw(list_pages leaf_pages live_items free_bytes lists);

	for (my $block = 1; $block != 0xffffffff; $block = $next->($block))
	{
		$count{list_pages}++;
		foreach my $n (1 .. items($pages[$block]))
		{
			$count{lists}++;
			for (my $b = unpack 'L', substr $pages[$block], (item($pages[$block], $n))[0], 4; $b != 0xffffffff; $b = $next->($b))
			{
				$count{leaf_pages}++;
				$count{live_items} += items($pages[$b]);
				$count{free_bytes} += get16($pages[$b], PD_UPPER) - get16($pages[$b], PD_LOWER);
			}
		}
	}
	return %count;
}

# What functions say of an index, one line for each value
sub questions
{
	my ($index) = @_;
	my $hnsw = $index =~ /^h/;
	my $stats = 'streamstat.' . ($hnsw ? 'hnsw' : 'ivfflat') . "_stats('$index')";
	my $items = $hnsw ? 'heap_tids' : 'live_items';
	my ($table) = split / /, $index{$index};
	my $where = $index =~ /partial/ ? 'AND i % 3 = 0' : '';
	my $row = sub { "SELECT '$index', '$_[0]', key, coalesce(value, '') FROM $_[1] s, jsonb_each_text(to_jsonb(s))" };

	return join "\nUNION ALL\n",
	  $row->('ours', $stats),
	  $row->('general', "streamstat.index_stats('$index')"),
	  $row->('bloat', "streamstat.bloat('$index', 1000000)"),
	  "SELECT '$index', 'sample', statistic, coalesce(estimate::text, '') FROM streamstat.sample_stats('$index', 1000000)",
	  "SELECT '$index', 'said', 'corrupt', string_agg(concat_ws(' ', block_no, error, detail), ',') FROM streamstat.corrupt_blocks('$index')",
	  "SELECT '$index', 'said', 'missing', (SELECT count(*) FROM $table WHERE v IS NOT NULL $where) - $items || '' FROM $stats",
	  map { "SELECT '$index', 'samples', '$_', concat_ws(' ', predicted_bytes_low, predicted_bytes_high) FROM streamstat.bloat('$index', 10, seed => $_)" } 1 .. $samples;
}

sub answers
{
	my %said;

	foreach (split /\n/, sql(join "\nUNION ALL\n", map { questions($_) } sort keys %index))
	{
		my ($index, $what, $key, $value) = split /\|/, $_, 4;
		$said{$index}{$what}{$key} = $value;
	}
	return \%said;
}

# What of that differs from the bytes
sub differences
{
	my ($index, $said, $vacuumed) = @_;
	my $hnsw = $index =~ /^h/;
	my @pages = read_blocks(file_of($node, $index));
	my ($ours, $general, $sample) = @$said{qw(ours general sample)};
	my %theirs = (
		$hnsw ? count_hnsw(@pages[ 1 .. $#pages ]) : count_ivfflat(@pages),
		bytes => BLCKSZ * @pages,
		pages => scalar @pages,
		version => 1,
		new_pages => 0, corrupt_pages => 0, first_new_block => '', first_corrupt_block => '');

	@theirs{ $hnsw ? qw(dimensions m ef_construction entry_level) : qw(dimensions lists) } =
	  unpack $hnsw ? 'x8 L S S x6 s' : 'x8 S S', substr $pages[0], PD_LINP, 28;
	return (
		map({ "$_: $ours->{$_}, not $theirs{$_}" } grep { $ours->{$_} ne $theirs{$_} } sort keys %theirs),
		map({ "sample: $_ $sample->{$_}, not $ours->{$_}" } grep { abs(($sample->{$_} || 0) - ($ours->{$_} || 0)) > 1e-6 } sort keys %$sample),
		map({ "index_stats: $_ $general->{$_}, not $ours->{$_}" } grep { $general->{$_} ne $ours->{$_} } qw(bytes pages free_bytes corrupt_pages)),
		map({ "another column: $_" } grep { !defined $theirs{$_} && !/^(?:free_percent|avg_leaf_density)$/ } sort keys %$ours),
		$said->{said}{corrupt} ne '' ? "corrupt: $said->{said}{corrupt}" : (),
		$vacuumed && $said->{said}{missing} != 0 ? "$said->{said}{missing} rows without an entry" : ());
}

# The sizes after REINDEX, which is undone
sub sizes
{
	my $tables = join ' ', map { "REINDEX TABLE $_;" } @tables;

	return split /[|\n]/, sql("BEGIN; $tables SELECT relname, pg_relation_size(oid) FROM pg_class WHERE relname IN ("
		  . join(', ', map { "'$_'" } keys %index) . '); ROLLBACK');
}

my (@wrong, %held, %all);
foreach my $s (@states)
{
	my ($state, $commands) = @$s;
	my %different;

	# VACUUM and CHECKPOINT are commands of their own
	$node->safe_psql('postgres', "SET client_min_messages = error;\n" . ($commands =~ s/;/;\n/gr) . "\nCHECKPOINT;");
	my $said = answers();
	my %size = sizes();
	foreach my $index (sort keys %index)
	{
		my @found = differences($index, $said->{$index}, $state =~ /inserted$|vacuumed|rebuilt|empty/);
		my $bloat = $said->{$index}{bloat};

		$different{$index} = \@found if @found;
		push @wrong, "$index, $state: $size{$index} bytes, not $bloat->{predicted_bytes} ($bloat->{predicted_bytes_low} to $bloat->{predicted_bytes_high}) $bloat->{note}"
		  if $size{$index} < $bloat->{predicted_bytes_low} || $size{$index} > $bloat->{predicted_bytes_high};
		note(sprintf "%s, %s: %d blocks, becomes %d, predicted %s (%s to %s) %s", $index, $state, $said->{$index}{ours}{pages},
			map({ $_ / BLCKSZ } $size{$index}, @$bloat{qw(predicted_bytes predicted_bytes_low predicted_bytes_high)}), $bloat->{note});
		foreach (values %{ $said->{$index}{samples} })
		{
			my ($low, $high) = split / /;
			$held{samples} += $size{$index} >= $low && $size{$index} <= $high;
			$all{samples}++;
		}
	}
	is_deeply(\%different, {}, "$state: statistics") || diag(explain(\%different));
}
is(join("\n", @wrong), '', 'all blocks: the size after REINDEX is between the ends');
note("$held{samples} of $all{samples} samples");
cmp_ok($held{samples}, '>=', 0.95 * $all{samples}, 'samples of 10 blocks have it between their ends');

like(sql("SELECT error_of('SELECT streamstat.hnsw_stats(''i_few'')')"), qr/42809 relation "i_few" is not an hnsw index/, 'another access method');
like(sql("SELECT error_of('SELECT streamstat.ivfflat_stats(''v'')')"), qr/42809 relation "v" is not an ivfflat index/, 'a table');


# ---------------------------------------------------------------------------
# Another version of the format, or another magic number, is refused: where there is a row, with a note.
# Damaged pages are counted.

my @fuzzed = qw(h_bit h_sparse h_wide i_bit i_half i_wide);
my %file = map { $_ => file_of($node, $_) } qw(h_default h_m4 i_few i_many);
my %damaged = map { $_ => file_of($node, $_) } qw(h_half i_default), @fuzzed;

# One tuple of the page with the first entries or elements is changed.
sub damage
{
	my ($index, $block, $n, $at, $byte) = @_;
	my $page = read_block($damaged{$index}, $block);

	substr($page, (item($page, $n))[0] + $at, 1) = chr $byte;
	write_block($damaged{$index}, $block, $page);
}

$node->safe_psql('postgres', fill(1, 200) =~ s/;/;\n/gr . 'CHECKPOINT;');
my $entries = sql("SELECT 1 + list_pages FROM streamstat.ivfflat_stats('i_default')");
# one entry with another length could be a list
my ($with_entries) = grep { items(read_block($damaged{i_default}, $_)) > 1 } $entries .. $entries + 99;
$node->stop;
write_block($file{$_}, 0, with32(read_block($file{$_}, 0), PD_LINP + 4, 2)) foreach qw(h_default i_few);
write_block($file{$_}, 0, with32(read_block($file{$_}, 0), PD_LINP, 0x12345678)) foreach qw(h_m4 i_many);
damage('h_half', 1, 1, 0, 3);
damage('h_half', 2, 2, 0, 0);
damage('i_default', $with_entries, 1, 6, 7);
foreach my $index (@fuzzed)
{
	my $metapage = read_block($damaged{$index}, 0);

	fuzz_file($damaged{$index});
	write_block($damaged{$index}, 0, $metapage);
}
$node->start;
foreach my $index (sort keys %file)
{
	my $function = $index =~ /^h/ ? 'hnsw' : 'ivfflat';
	my $note = 'unknown format: the metapage has another magic or version number';

	like(sql("SELECT error_of('SELECT streamstat.$_(''$index'')')"), qr/0A000 cannot read index "$index"/, "$index: $_ refuses it")
	  foreach "${function}_stats", 'layout_map';
	is(sql("SELECT detail FROM streamstat.corrupt_blocks('$index')"), $note, "$index: corrupt_blocks");
	is(sql("SELECT DISTINCT concat(pages, note) FROM streamstat.index_stats('$index')"), $note, "$index: index_stats");
	is(sql("SELECT DISTINCT concat(estimate, note) FROM streamstat.sample_stats('$index')"), $note, "$index: sample_stats");
	is(sql("SELECT concat(predicted_bytes, note) FROM streamstat.bloat('$index')"), $note, "$index: bloat");
	is(sql("SELECT concat(predicted_bytes, note) FROM streamstat.database_report() WHERE relation_name = '$index'"), $note, "$index: a report");
}
is(sql("SELECT corrupt_pages, first_corrupt_block, live_items > 0 FROM streamstat.hnsw_stats('h_half')"), '2|1|t', 'hnsw: tuples of no kind');
is(sql("SELECT corrupt_pages, first_corrupt_block, live_items > 0 FROM streamstat.ivfflat_stats('i_default')"), "1|$with_entries|t", 'ivfflat: a tuple of another length');
foreach my $index (@fuzzed)
{
	is(sql("SELECT leaf_pages + internal_pages + new_pages + corrupt_pages + 1 = pages AND corrupt_pages > 0 FROM streamstat.index_stats('$index')"),
		't', "$index: each page is counted once");
	is(sql("SELECT count(*) >= (SELECT corrupt_pages FROM streamstat.index_stats('$index')) FROM streamstat.corrupt_blocks('$index')"),
		't', "$index: corrupt_blocks");
	like(sql("SELECT note FROM streamstat.bloat('$index', 1000000)"), qr/corrupt page/, "$index: bloat");
}

stop_clean($node);
done_testing();
