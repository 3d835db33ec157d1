
# Copyright (c) 2026, streamstat contributors

# Every function that scans, called on small relations and on some that are large
# enough for parallel workers; each call gives one row that stays the same.

package Rows;

use strict;
use warnings;

use Exporter 'import';

use Functions;
use Pages;

our @EXPORT = qw(make_relations %query $spilling);

# Enough blocks for one worker, and for two
use constant { ONE_WORKER => 16384, TWO_WORKERS => 24576 };

# Make the relations in the database postgres, and functions that call: again(),
# and caught(), which catches cancels.  Returns the relations' names and files.
sub make_relations
{
	my ($node) = @_;

	$node->safe_psql('postgres', <<'SQL');
CREATE TABLE t AS SELECT i AS k, ARRAY[i % 100, i] AS a, point(i % 300, i / 300) AS p FROM generate_series(1, 20000) i;
CREATE INDEX t_btree ON t (k);
CREATE INDEX t_hash ON t USING hash (k);
CREATE INDEX t_gin ON t USING gin (a);
CREATE INDEX t_gist ON t USING gist (p);
CREATE INDEX t_spgist ON t USING spgist (p);
CREATE INDEX t_brin ON t USING brin (k) WITH (pages_per_range = 1);
DELETE FROM t WHERE k % 10 = 0;
VACUUM t;
DELETE FROM t WHERE k % 11 = 0;
CREATE TABLE parts (k int, s text) PARTITION BY RANGE (k);
CREATE TABLE part_1 PARTITION OF parts FOR VALUES FROM (0) TO (1000);
CREATE TABLE part_2 PARTITION OF parts FOR VALUES FROM (1000) TO (9000);
INSERT INTO parts SELECT i, repeat('x', 100) FROM generate_series(0, 8999) i;
CREATE INDEX parts_btree ON parts (k);
CREATE TABLE big AS SELECT * FROM t;
CREATE INDEX big_btree ON big (k);
CREATE INDEX big_hash ON big USING hash (k);

CREATE FUNCTION again(query text, n int) RETURNS text LANGUAGE plpgsql AS
$$
DECLARE
	answer text;
BEGIN
	FOR i IN 1 .. n LOOP
		EXECUTE query INTO answer;
	END LOOP;
	RETURN answer;
END
$$;

CREATE FUNCTION caught(query text, n int) RETURNS text LANGUAGE plpgsql AS
$$
BEGIN
	RETURN again(query, n);
EXCEPTION WHEN query_canceled THEN
	RETURN 'was caught';
END
$$;
CHECKPOINT;
SQL

	# Pages that are not in use make a relation large enough for workers in no time.
	my %file = split /[|\n]/,
	  $node->safe_psql('postgres',
		"SELECT relname, pg_relation_filepath(oid) FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'i')"
	  );
	foreach my $case ([ 'big', TWO_WORKERS ], [ 'big_btree', ONE_WORKER ],
		[ 'big_hash', ONE_WORKER ])
	{
		my ($name, $blocks) = @$case;

		truncate($node->data_dir . "/$file{$name}", ($blocks + 1) * BLCKSZ)
		  or die "could not extend $name: $!";
	}

	return %file;
}

# By the call, a query for its row.  Those that use workers are on "big".
my %on_small = (
	table => 't', tree => 'parts', tree_index => 'parts_btree',
	map { $_ => "t_$_" } qw(btree hash gin gist spgist brin));
my %on_big = (table => 'big', btree => 'big_btree', hash => 'big_hash');
# without its bounds, a report does not end by them
my $in_public =
  "(SELECT relation_name, measured, bytes, free_percent, predicted_bytes FROM streamstat.%s WHERE schema_name = 'public' ORDER BY relation_name)";
# That many rows take more than a small work_mem.
our $spilling = "layout_map('big', 10000)";
our %query = map { $_ => "streamstat.$_" } $spilling, "sample_stats('big', 1000000, seed => 1)",
  map {
	my $f = $_;
	($f->{takes}{database} || $f->{takes}{report} ? () : calls($f, \%on_small),
		# there is no visibility map
		$f->{workers} ? grep { !/'vm'/ } calls($f, \%on_big) : ());
  } grep { $_->{relation} } all_functions();
$query{$_} = sprintf($in_public, $_)
  foreach "database_report(margin => 0)", "last_database_report()";
$query{$_} = "(SELECT string_agg(r::text, ' ' ORDER BY r::text) FROM $query{$_} r)"
  foreach keys %query;
# without what is in buffers
$query{$_} = "(SELECT string_agg(concat_ws(' ', bucket, free_percent, dead_percent, bar), ' ') FROM streamstat.$_)"
  foreach grep { /^layout_map/ } keys %query;
$query{$_} = "(SELECT string_agg(concat_ws(' ', first_block, picture), ' ') FROM streamstat.$_ WHERE first_block IS NOT NULL)"
  foreach grep { /^layout_picture/ } keys %query;
# without what was cached, or did not fit
$query{$_} = "(SELECT string_agg(concat_ws(' ', is_sum, relation_name, fork, note), ', ') FROM streamstat.$_)"
  foreach grep { /^prewarm/ } keys %query;
# nothing is corrupt
$query{$_} = "(SELECT count(*) FROM streamstat.$_)" foreach grep { /^corrupt_blocks/ } keys %query;
$query{$spilling} =~ s/\(SELECT (.*) FROM/(SELECT md5($1) FROM/;
my $commands =
  "(SELECT string_agg(concat_ws(' ', relation_name, command), ', ' ORDER BY relation_name) FROM streamstat.%s WHERE schema_name = 'public')";
$query{'database_plan(margin => 0)'} = sprintf($commands, 'database_plan(margin => 0)');
$query{'last_database_plan()'} = "(SELECT count(*) - count(*) FROM streamstat.last_database_plan())";
$query{"$_()"} = "(SELECT least(count(*), 1) FROM streamstat.$_())" foreach qw(cache_summary cache_map);
$query{"cache_save()"} = "(SELECT left(streamstat.cache_save(), 16))";
$query{"cache_load()"} =
  "(SELECT ended_by FROM streamstat.cache_load(streamstat.cache_save('1MB'), 'read') WHERE is_sum)";
$query{"$_, 'read')"} =
  "(SELECT string_agg(concat_ws(' ', is_sum, relation_name, fork, note), ', ') FROM streamstat.$_, 'read'))"
  foreach "prewarm_relations('{t,t_hash}'", "prewarm_schema('public'";
$query{'prewarm_database()'} = "(SELECT count(*) FROM streamstat.prewarm_database() WHERE is_sum)";
$query{'database_report_summary()'} =
  "(SELECT count(*) FROM streamstat.database_report_summary())";
$query{'report_html()'} = "(SELECT (length(streamstat.report_html()) > 0)::int)";
$query{'report_json()'} = "(SELECT coalesce(length(streamstat.report_json()::text) < 0, false)::int)";
$query{"layout_maps('{t,t_btree}', 5)"} =
  "(SELECT string_agg(concat_ws(' ', relation, bucket, free_percent, dead_percent, note), ' ') FROM streamstat.layout_maps('{t,t_btree}', 5))";
$query{'report_caches()'} = '(SELECT (streamstat.report_caches() IS NOT NULL)::int)';
# the procedure returns nothing
$query{'run_database_report()'} =
  "CALL streamstat.run_database_report(margin => 0); SELECT ended_by FROM streamstat.database_report_summary()";
$query{'collect()'} =
  "CALL streamstat.collect(margin => 0); SELECT count(*) > 0 FROM streamstat.report_run_metrics";
# what another call has left
$query{$_} = "(SELECT count(*) - count(*) FROM streamstat.$_)" foreach "report_history('t')", 'report_growth()';
$query{'last_database_report()'} =
  "(SELECT count(*) - count(*) FROM streamstat.last_database_report())";
# ... or this one
$query{$_} = "(SELECT CASE WHEN (SELECT count(*) FROM streamstat.database_report(budget => '0')) > 0 THEN $query{$_} END)"
  foreach 'last_database_report()', 'last_database_plan()', 'database_report_summary()', 'report_json()', 'report_html()';

1;
