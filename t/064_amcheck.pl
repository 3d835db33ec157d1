
# Copyright (c) 2026, streamstat contributors

# corrupt_blocks() finds what contrib's amcheck finds by looking at one page.
#
# Pages of a table with rows in all states, and of b-trees, are damaged at random
# (test/damage/Damage.pm): each page of the table once, and one page of each of many copies of
# the indexes.  What verify_heapam() and bt_index_check() say of them is compared with what
# corrupt_blocks() says.  Sound pages are not called corrupt by either.

use strict;
use warnings;

use FindBin;
use PostgreSQL::Test::Utils;
use Test::More;

use lib "$FindBin::RealBin/lib", "$FindBin::RealBin/../test/damage";
use Damage;
use Node;
use Pages;
use Session;
use Torture;

my $npages = 300;
my $ncopies = 40;
my $seed;

my $node = new_node('amcheck', "jit = off\nrestart_after_crash = on\n", checksums => 0);
if (!have_extension($node, 'amcheck'))
{
	$node->stop;
	plan skip_all => 'the server has no amcheck';
}
create_extension($node, 'amcheck');

# What needs more than the page: another page, or the order of values
my $other_page = join('|', 'left link', 'sibling', 'fell off', 'leftmost', 'downlink to', 'downlink points', 'down-link',
	'circular', 'true root', 'cross page', 'link pair', 'expected zero page', 'could not (?:read|open)');
my $values = join('|', 'item order invariant', 'high key invariant', 'pglz data is corrupt', 'memory alloc', 'invalid byte sequence',
	'missing chunk', 'unexpected chunk', 'compressed .*data', 'deduplication is safe');

# ---------------------------------------------------------------------------
# A table with rows in all states, on pages that are all-visible and others

my @indexes = ('(i)', '(k)', '(t)', '(k, t) INCLUDE (i)', '(i DESC, n)');
my $rows = <<'SQL';
SELECT g AS i, nullif(g % 7, 3) AS k, repeat(chr(97 + g % 26), g % 40) AS t, g % 3 > 0 AS b, g * 1.5 AS n,
	CASE WHEN g % 50 = 0 THEN (SELECT string_agg(md5((g + h)::text), '') FROM generate_series(1, 100) h) END AS long,
	CASE WHEN g % 20 = 0 THEN repeat(g::text, 800) END AS compressed, ARRAY[g, g % 3] AS a
SQL
$node->safe_psql('postgres', "CREATE TABLE heap WITH (fillfactor = 60) AS $rows FROM generate_series(1, 17000) g");
$node->safe_psql('postgres', $_) foreach (
	'CREATE INDEX ON heap (i)',
	'UPDATE heap SET n = n + 1 WHERE i % 3 = 0',
	'DELETE FROM heap WHERE i % 11 = 0 OR i BETWEEN 8000 AND 8100',
	'VACUUM (FREEZE, INDEX_CLEANUP off) heap',
	"ALTER TABLE heap ADD COLUMN more int DEFAULT 7, DROP COLUMN b",
	'UPDATE heap SET n = n + 1 WHERE i < 9000 AND i % 6 = 0',
	'SELECT count(*) FROM heap',
	'VACUUM (INDEX_CLEANUP off) heap',
	'UPDATE heap SET n = n + 1, k = k WHERE i < 6000 AND i % 12 = 0',
	'DELETE FROM heap WHERE i BETWEEN 100 AND 2000 AND i % 13 = 0',
	'UPDATE heap SET k = -k WHERE i BETWEEN 2000 AND 4000 AND i % 5 = 0',
	'INSERT INTO heap SELECT i + 100000, k, t, n, long FROM heap WHERE i % 37 = 0');

# updates that have failed, rows that are locked by several, and updated by one of them
$node->psql('postgres', "BEGIN; UPDATE heap SET n = 0 WHERE i % 17 = 0; UPDATE heap SET i = 0 WHERE i % 41 = 0; ROLLBACK");
$node->safe_psql('postgres', <<'SQL');
BEGIN;
SELECT FROM heap WHERE i % 23 = 0 FOR KEY SHARE \g /dev/null
SAVEPOINT a;
SELECT FROM heap WHERE i % 46 = 0 FOR SHARE \g /dev/null
UPDATE heap SET n = n + 2 WHERE i % 69 = 0;
DELETE FROM heap WHERE i % 460 = 0;
COMMIT;
SELECT count(*) FROM heap WHERE i % 2 = 0 \g /dev/null
SQL

$node->safe_psql('postgres', 'CREATE TABLE source AS SELECT * FROM heap WHERE i % 4 = 0; CREATE TABLE empty (LIKE source)');
my @copies;
foreach my $n (0 .. $#indexes)
{
	$node->safe_psql('postgres', "CREATE INDEX source_$n ON source $indexes[$n]");
	foreach (0 .. $ncopies)
	{
		push @copies, { name => "copy_${n}_$_", source => $n, sound => $_ == 0 };
		$node->safe_psql('postgres', "CREATE INDEX $copies[-1]{name} ON empty $indexes[$n]");
	}
}
$node->safe_psql('postgres', 'DELETE FROM source WHERE i < 3000; VACUUM source; INSERT INTO source SELECT * FROM heap WHERE i < 1000');
$node->safe_psql('postgres', <<'SQL');
CREATE FUNCTION heap_says(rel regclass, block bigint) RETURNS text LANGUAGE plpgsql AS
$$
BEGIN
	RETURN (SELECT string_agg(concat_ws(' ', offnum, attnum, msg), '; ')
		FROM verify_heapam(rel, startblock => block, endblock => block));
EXCEPTION WHEN OTHERS THEN
	RETURN SQLERRM;
END
$$;
CREATE FUNCTION btree_says(rel regclass) RETURNS text LANGUAGE plpgsql AS
$$
BEGIN
	PERFORM bt_index_check(rel);
	RETURN NULL;
EXCEPTION WHEN OTHERS THEN
	RETURN SQLERRM;
END
$$;
CREATE VIEW heap_results AS
	SELECT b AS block, heap_says('heap', b) AS amcheck, c.error || ': ' || c.detail AS ours
	FROM generate_series(0, pg_relation_size('heap') / 8192 - 1) b
	LEFT JOIN streamstat.corrupt_blocks('heap') c ON c.block_no = b ORDER BY b;
SQL
$node->safe_psql('postgres', 'CHECKPOINT');

is($node->safe_psql('postgres', 'SELECT * FROM heap_results WHERE amcheck <> $$$$ OR ours <> $$$$'), '', 'sound pages of a table');
my @heap = read_blocks(file_of($node, 'heap'));
cmp_ok(scalar @heap, '>=', $npages, 'pages of the table');
my @source = map { [ read_blocks(file_of($node, "source_$_")) ] } 0 .. $#indexes;
my $heap_file = file_of($node, 'heap');
$_->{file} = file_of($node, $_->{name}) foreach @copies;

# ---------------------------------------------------------------------------
# Damage

$seed = torture_seed();
$node->stop;
my %how;
foreach my $blkno (map { int($_ * @heap / $npages) } 0 .. $npages - 1)
{
	my ($page, $how) = damage_page($heap[$blkno], $blkno, \@heap);

	$how{$blkno} = $how;
	write_block($heap_file, $blkno, $page);
}
foreach my $copy (@copies)
{
	my @pages = @{ $source[ $copy->{source} ] };
	my $blkno = int rand @pages;

	($pages[$blkno], $copy->{how}) = damage_page($pages[$blkno], $blkno, \@pages) if !$copy->{sound};
	open(my $fh, '>:raw', $copy->{file}) or die "could not open $copy->{file}: $!";
	print $fh @pages;
	close $fh;
}
$node->start;

# ---------------------------------------------------------------------------
# What both say

my (@missed, %count);

sub compare
{
	my ($what, $amcheck, $ours, $pattern) = @_;
	my $one_page = $amcheck ne '' && $amcheck !~ /$pattern/;

	$count{ ($one_page ? 'amcheck' : $amcheck ne '' ? 'other' : 'none') . ($ours ne '' ? ' ours' : '') }++;
	push @missed, "$what: $amcheck" if $one_page && $ours eq '';
	note("$what: " . join(' | ', $amcheck || '-', $ours || '-'));
}

foreach (split /\n/, $node->safe_psql('postgres', "SELECT block, coalesce(amcheck, ''), coalesce(ours, '') FROM heap_results"))
{
	my ($blkno, $amcheck, $ours) = split /\|/, $_, 3;

	if (defined $how{$blkno})
	{
		compare("table block $blkno ($how{$blkno})", $amcheck, $ours, qr/ALL OF IT/);
	}
	elsif ($amcheck ne '' || $ours ne '')
	{
		fail("block $blkno, which is sound: $amcheck | $ours");
	}
}
is(join("\n", splice @missed), '', "nothing that verify_heapam finds on a page is missed, seed $seed");

my $find_checkpointer = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'checkpointer'";
my $checkpointer = $node->safe_psql('postgres', $find_checkpointer);

foreach my $copy (@copies)
{
	my $ours = $node->safe_psql('postgres', "SELECT error || ': ' || detail FROM streamstat.corrupt_blocks('$copy->{name}')");
	my ($rc, $amcheck) = $node->psql('postgres', "SELECT btree_says('$copy->{name}')");

	# It can follow anything.  The server has restarted when there is another checkpointer; until
	# then psql may end before it has read the query.
	if ($rc != 0)
	{
		Session::poll('the server has restarted', sub {
				my $pid = eval { ($node->psql('postgres', $find_checkpointer))[1] };

				return $pid && $pid != $checkpointer;
			}) if $rc == 2;
		$checkpointer = $node->safe_psql('postgres', $find_checkpointer);
		$amcheck = 'could not read block: crash';
	}

	is("$amcheck$ours", '', "a sound index on $indexes[$copy->{source}]") if $copy->{sound};
	compare("index on $indexes[$copy->{source}] ($copy->{how})", $amcheck, $ours, qr/$other_page|$values/) if !$copy->{sound};
}
is(join("\n", splice @missed), '', "nothing that bt_index_check finds on a page is missed, seed $seed");
note(join(', ', map { "$_: $count{$_}" } sort keys %count));

$node->stop;
done_testing();
