
# Copyright (c) 2026, streamstat contributors

# A report whose budget is far less than the database spends it where most bytes
# are uncertain: the largest relation does not get most of it.

use strict;
use warnings;

use FindBin;
use PostgreSQL::Test::Utils;
use Test::More;

use lib "$FindBin::RealBin/lib";
use Node;

# 40 tables of 280 blocks, and one of 12,500; where rows are deleted, it is in runs
my $node = new_node('budget');
$node->safe_psql('postgres', <<'SQL');
DO $$
BEGIN
	FOR i IN 1 .. 40 LOOP
		EXECUTE format('CREATE TABLE some_%s AS SELECT g AS id, repeat(''x'', 200) AS t FROM generate_series(1, 9000) g', i);
		EXECUTE format('DELETE FROM some_%s WHERE hashint4(id + %s) %% 100 < %s AND hashint4(id / 100) %% 3 = 0', i, i, i * 2);
	END LOOP;
END $$;
CREATE TABLE large AS SELECT g AS id, repeat('x', 200) AS t FROM generate_series(1, 400000) g;
DELETE FROM large WHERE hashint4(id / 1000) % 4 = 0 AND id % 3 > 0;
VACUUM;
SQL

# (relations, those with a free_percent that is unsure by more than 20 points, fraction of the budget that the largest got)
sub report
{
	my ($megabytes, $seed) = @_;

	return split /\|/, $node->safe_psql('postgres', <<"SQL");
SELECT count(*), count(*) FILTER (WHERE free_percent_high - free_percent_low > 40),
		max(bytes_read) FILTER (WHERE relation_name = 'large') / ($megabytes * 1048576.0),
		(SELECT bytes_read <= $megabytes * 1048576 FROM streamstat.database_report_summary())
	FROM streamstat.database_report(2, '${megabytes}MB', seed => $seed) WHERE relation_name ~ '^(some_|large)'
SQL
}

foreach my $megabytes (24, 60)
{
	foreach my $seed (1 .. 3)
	{
		my ($relations, $unsure, $of_largest, $kept) = report($megabytes, $seed);
		my $what = "$megabytes MB, seed $seed";

		is($relations, 41, "$what: all relations are there");
		cmp_ok($unsure, '<=', 1, "$what: none or one is unsure by more than 20 points");
		cmp_ok($of_largest, '<', 0.5, "$what: the largest has less than half of the budget");
		is($kept, 't', "$what: the budget is kept");
	}
}

# Twice the budget makes the sum of all less unsure.
my @widths = map { $node->safe_psql('postgres', <<"SQL") } (24, 60);
SELECT count(*) > 41 FROM streamstat.database_report(2, '${_}MB', seed => 1);
SELECT reclaimable_bytes_high - reclaimable_bytes_low FROM streamstat.database_report_summary()
SQL
s/^t\n// foreach @widths;
cmp_ok($widths[1], '<', $widths[0], 'a larger budget makes the sum less unsure');

# How much of a TOAST table is needed, its table's rows tell: of those more are read.  Here
# one page of 295 has the rows of all that is in the TOAST table.  The last one is so small that
# its first sample is all of it.
$node->safe_psql('postgres', <<'SQL');
DO $$
BEGIN
	FOR i IN 1 .. 4 LOOP
		EXECUTE format('CREATE TABLE rare_%s (id int, t text, long text)', i);
		EXECUTE format('ALTER TABLE rare_%s ALTER long SET STORAGE EXTERNAL', i);
		EXECUTE format('INSERT INTO rare_%s SELECT g, repeat(''x'', 200), CASE WHEN g BETWEEN 5001 AND 5010 THEN repeat(''x'', %s) END FROM generate_series(1, 10000) g', i, CASE WHEN i = 4 THEN 30000 ELSE 300000 END);
	END LOOP;
END $$;
SQL
is($node->safe_psql('postgres', <<'SQL'), '4|t', 'rows of a table are read for its TOAST table');
SELECT count(*), bool_and(reclaimable_bytes_high - reclaimable_bytes_low < bytes / 10)
	FROM streamstat.database_report(20, '1GB', seed => 1) WHERE parent_name ~ 'rare_' AND kind = 'toast table';
SQL

# Where there is a limit, no blocks between those of a sample are read.  One block in four is
# wanted here, so that reads of many blocks at a time would be faster.
$node->restart;
is( $node->safe_psql('postgres', <<'SQL'), "t\nt", 'only what the limits know of is read');
SET streamstat.max_rate = '1GB';
SELECT count(*) > 0 FROM streamstat.sample_stats('large', blocks => 3000, seed => 1);
SELECT round(reads * avg_read_bytes / current_setting('block_size')::int) = blocks_requested - blocks_hit
	FROM streamstat.stream_stats() WHERE blocks_requested >= 3000;
SQL

stop_clean($node);
done_testing();
