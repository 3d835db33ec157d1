
# Copyright (c) 2026, streamstat contributors

# bloat() and database_report() of relations with damaged pages: they come to an
# end, without an error, and say that there are corrupt pages.
#
# All is damaged while the server is down, without checksums.

use strict;
use warnings;

use FindBin;
use PostgreSQL::Test::Utils;
use Test::More;

use lib "$FindBin::RealBin/lib";
use Node;
use Pages;

my $node = new_node('main', '', checksums => 0);

# Relations of each kind, with so many pages that samples miss some
my %index = (
	btree => 'btree (i)',
	equal => 'btree (k)',
	hash => 'hash (i)',
	gin => 'gin (a)',
	gist => 'gist (p)',
	spgist => 'spgist (p)',
	brin => 'brin (i, t) WITH (pages_per_range = 1)',
);
$index{bloom} = 'bloom (i, t) WITH (length = 2000)' if create_extension($node, 'bloom');
my @damage = qw(random zeroed header pointers tuples truncated);

foreach my $damage (@damage)
{
	my $queries = <<"SQL";
CREATE TABLE heap_$damage (i int, k int, a int[], p point, gone text, t text) WITH (autovacuum_enabled = off);
INSERT INTO heap_$damage SELECT g, g % 30, ARRAY[g % 9, g % 1000], point(g % 100, g * 7.1 % 1009), repeat('g', g % 40), CASE WHEN g % 7 > 0 THEN md5(g::text) END
	FROM generate_series(1, 4000) g;
ALTER TABLE heap_$damage DROP gone, ADD later text DEFAULT 'later';
SQL
	$queries .= "CREATE INDEX ${_}_$damage ON heap_$damage USING $index{$_};\n"
	  foreach (sort keys %index);
	$node->safe_psql('postgres', $queries . "DELETE FROM heap_$damage WHERE i % 3 = 0; CHECKPOINT;");
}

# An index whose pages are in no order that is known, as a link leads behind its end
my $linked = "SELECT predicted_bytes FROM streamstat.bloat('linked_i_idx', 1000000, with_toast => 'no')";
$node->safe_psql('postgres',
	'CREATE TABLE linked AS SELECT g AS i FROM generate_series(1, 20000) g; CREATE INDEX ON linked (i); CHECKPOINT');
my $predicted = $node->safe_psql('postgres', $linked);
my $linked_path = $node->safe_psql('postgres', "SELECT current_setting('data_directory') || '/' || pg_relation_filepath('linked_i_idx')");

# One of which a rebuild makes the entries of damaged pages, too
$node->safe_psql('postgres', 'CREATE TABLE holes AS SELECT g AS i FROM generate_series(1, 40000) g; CREATE INDEX ON holes (i); CHECKPOINT');
my $holes_path = $node->safe_psql('postgres', "SELECT current_setting('data_directory') || '/' || pg_relation_filepath('holes_i_idx')");

# And one whose entries are shorter than any can be, so that a page has more of them
$node->safe_psql('postgres', 'CREATE TABLE tiny AS SELECT ARRAY[g] AS a FROM generate_series(1, 5000) g; CREATE INDEX ON tiny USING gin (a); CHECKPOINT');
my $tiny_path = $node->safe_psql('postgres', "SELECT current_setting('data_directory') || '/' || pg_relation_filepath('tiny_a_idx')");

my %path = map { split /\|/ } split /\n/,
  $node->safe_psql('postgres',
	"SELECT relname, current_setting('data_directory') || '/' || pg_relation_filepath(oid) FROM pg_class WHERE relname ~ '_(@{[join '|', @damage]})\$' AND relkind <> 'S'");
is(keys %path, @damage * (1 + keys %index), 'relations');
$node->stop;

# An entry leaf page full of headers of tuples that point to posting trees
sub tiny_entries
{
	my ($page) = @_;
	my $n = int((BLCKSZ - 8 - PD_LINP) / 12);
	my $upper = BLCKSZ - 8 - 8 * $n;

	substr($page, PD_LINP, 12 * $n) =
	  pack('L*', map { $upper + 8 * $_ | 1 << 15 | 8 << 17 } 0 .. $n - 1) .
	  "\0" x ($upper - PD_LINP - 4 * $n) . pack('S4', 0, 1, 0xffff, 8) x $n;
	substr($page, PD_LOWER, 4) = pack('S2', PD_LINP + 4 * $n, $upper);
	return $page;
}

# What becomes of one page.  The bytes of tuples are those between pd_upper and
# pd_special; of bloom, those before pd_lower.
sub flipped
{
	my ($page, $from, $to) = @_;

	for (1 .. 20)
	{
		my $at = $from + next_random($to - $from);

		substr($page, $at, 1) = chr(ord(substr($page, $at, 1)) ^ 1 << next_random(8));
	}
	return $page;
}

my %change = (
	random => sub { random_page() },
	zeroed => sub { "\0" x BLCKSZ },
	header => sub { flipped($_[0], 0, PD_LINP) },
	pointers => sub { flipped($_[0], PD_LINP, get16($_[0], PD_LOWER)) },
	tuples => sub {
		my ($upper, $special) = map { get16($_[0], $_) } PD_UPPER, PD_SPECIAL;
		flipped($_[0], $upper < $special ? ($upper, $special) : (PD_LINP, get16($_[0], PD_LOWER)));
	});

my %ndamaged;
foreach my $name (sort keys %path)
{
	my ($kind, $damage) = split /_/, $name;
	my @pages = read_blocks($path{$name});

	# in the middle of a block
	if ($damage eq 'truncated')
	{
		truncate($path{$name}, int(@pages / 2) * BLCKSZ + 1000) or die "could not truncate: $!";
		next;
	}
	foreach my $blkno (0 .. $#pages)
	{
		next if $blkno % 3 == 2 || $pages[$blkno] !~ /[^\0]/;
		next if get16($pages[$blkno], PD_LOWER) <= PD_LINP
		  || $kind ne 'bloom' && get16($pages[$blkno], PD_UPPER) >= get16($pages[$blkno], PD_SPECIAL);
		write_block($path{$name}, $blkno, $change{$damage}->($pages[$blkno]));
		$ndamaged{$name}++;
	}
}
write_block($linked_path, 20, with32(read_block($linked_path, 20), BLCKSZ - 12, 999999));
write_block($holes_path, $_ * 5, random_page()) foreach (1 .. 20);
my @tiny_pages = read_blocks($tiny_path);
my @tiny_leaves = grep { get16($tiny_pages[$_], BLCKSZ - 2) == 2 } 0 .. $#tiny_pages;
write_block($tiny_path, $_, tiny_entries($tiny_pages[$_])) foreach (@tiny_leaves);
$node->start;

is( $node->safe_psql('postgres', "SELECT abs(predicted_bytes - bytes) <= 2 * 8192, bytes BETWEEN predicted_bytes_low AND predicted_bytes_high FROM streamstat.bloat('holes_i_idx', 1000000)"),
	't|t', 'b-tree with damaged pages: what they have had comes back');
is($node->safe_psql('postgres', $linked), $predicted, 'b-tree with a link behind its end: as many pages');

is($node->safe_psql('postgres', "SELECT predicted_bytes > 0, note ~ 'corrupt' IS TRUE FROM streamstat.bloat('tiny_a_idx', 1000000)"),
	't|f', 'GIN index with entries that are too short');
ok(@tiny_leaves > 10, 'leaf pages with these: ' . @tiny_leaves);

my $nsampled = 0;
foreach my $path ('file', 'buffer')
{
	foreach my $name (sort keys %path)
	{
		my ($kind, $damage) = split /_/, $name;
		my $label = "$path: $name";
		my ($rc, $out, $err) = $node->psql('postgres', <<"SQL");
SET statement_timeout = '2min';
SET streamstat.io_path = $path;
SELECT 'all', count(*), count(predicted_bytes),
		bool_and(coalesce(predicted_bytes_low BETWEEN 0 AND predicted_bytes AND predicted_bytes_high >= predicted_bytes
			AND predicted_bytes < 1000000000 AND reclaimable_bytes BETWEEN 0 AND bytes, note IS NOT NULL)),
		max(note)
	FROM streamstat.bloat('$name', 1000000, with_toast => 'no');
SELECT count(*) FROM generate_series(1, 3) seed, streamstat.bloat('$name', 15, seed, 'row');
SELECT 'sampled', count(*) FILTER (WHERE note ~ 'corrupt page'), count(*) FILTER (WHERE note ~ 'corrupt page' AND NOT note ~ '(^1 corrupt page, |^[0-9]+ corrupt pages, the first is )block [0-9]+, in a sample of [0-9]+ of [0-9]+ blocks: see corrupt_blocks[(][)]\$')
	FROM generate_series(1, 3) seed, streamstat.bloat('$name', 3, seed, 'no') WHERE measured = 'sampled';
SQL
		is($err, '', "$label: no error");
		$nsampled += $out =~ /^sampled\|(\d+)/m ? $1 : 0;
		like($out, qr/^all\|1\|[01]\|t\|.*\n[36]\nsampled\|\d+\|0$/, "$label: a prediction that makes sense, or a note");
		like($out, qr/^all\|1\|1\|t\|[1-9][0-9]* corrupt pages?, (the first is )?block [0-9]+: see corrupt_blocks\(\)$/m, "$label: corrupt pages")
		  if $damage =~ /random|header/ && $ndamaged{$name} && $out !~ /^all\|1\|0\|/m;
	}
	my ($rc, $out, $err) = $node->psql('postgres', <<"SQL");
SET statement_timeout = '2min';
SET streamstat.io_path = $path;
SELECT relation_name FROM streamstat.database_report(margin => 0)
	WHERE relation_name ~ '_random\$' AND note ~ '^[1-9][0-9]* corrupt pages?, ' ORDER BY relation_name COLLATE "C";
SQL
	is($err, '', "$path: database_report: no error");
	is( $out,
		join("\n", sort grep { /_random$/ && $ndamaged{$_} } keys %path),
		"$path: database_report: corrupt pages");
}

ok($nsampled > 0, "corrupt pages in samples of some blocks: $nsampled");

stop_clean($node);
done_testing();
