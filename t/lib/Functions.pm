
# Copyright (c) 2026, streamstat contributors

# Every function, view and table of the extension, as data: what the tests know of them
# all comes from here.  t/001_functions.pl compares the list with the catalogs.
#
# A new function is a line in the list below.

package Functions;

use strict;
use warnings;

use Exporter 'import';

our @EXPORT = qw(all_functions internal_functions functions_on views calls signature);

# Kinds of relations
my $indexes = 'btree hash gin gist spgist brin bloom hnsw ivfflat';
my $any = "table sequence $indexes";

# What the functions that warm relations have in common
my $warming = 'mode text, max_bytes text, max_time interval, max_rate text, stop_when_full boolean, '
  . 'include_indexes boolean, include_toast boolean, include_maps boolean, only_maps boolean, resume_from text';

# - The name.
# - The arguments for the caller: their names and types.
#   Only what says which relation, and a saved cache, has no default.
# - The kinds of relations it takes.  A tree is a partitioned table or its index.
#   Without a relation it is about the database, the last report or stored ones, the last
#   probe, the cache, the sessions, or the session's last call.
# - Whether a large relation is worth parallel workers to it.
# - Arguments to try.  A kind in braces stands for a relation of that kind,
#   {kind:text} for its name as text.
my @own = (
	[ 'btree_stats', 'relation regclass', 'btree', 1, '{btree}' ],
	[ 'hash_stats', 'relation regclass', 'hash', 1, '{hash}' ],
	[ 'gin_stats', 'relation regclass', 'gin', 1, '{gin}' ],
	[ 'gist_stats', 'relation regclass', 'gist', 1, '{gist}' ],
	[ 'spgist_stats', 'relation regclass', 'spgist', 1, '{spgist}' ],
	[ 'brin_stats', 'relation regclass', 'brin', 1, '{brin}' ],
	[ 'bloom_stats', 'relation regclass', 'bloom', 1, '{bloom}' ],
	[ 'hnsw_stats', 'relation regclass', 'hnsw', 1, '{hnsw}' ],
	[ 'ivfflat_stats', 'relation regclass', 'ivfflat', 1, '{ivfflat}' ],
	[ 'index_stats', 'relation regclass', $indexes, 1, '{btree}', '{gin}', '{gist}' ],
	[ 'index_stats_tree', 'relation regclass', 'tree_index', 1, '{tree_index}' ],
	[ 'table_stats', 'relation regclass, with_toast text', 'table sequence', 1,
		'{table}', "{table}, 'row'" ],
	[ 'table_stats_tree', 'relation regclass, with_toast text', 'tree', 1, '{tree}' ],
	[ 'visibility_map_summary', 'relation regclass', 'table', 0, '{table}' ],
	[ 'unfrozen_ranges', 'relation regclass', 'table', 0, '{table}' ],
	[ 'free_space_map_summary', 'relation regclass', "table $indexes", 0, '{table}' ],
	[ 'layout_map', 'relation regclass, buckets integer, blocks integer', $any, 0,
		'{table}, 20', '{btree}, 5', '{table}, 20, 40' ],
	[ 'layout_maps', 'relations regclass[], buckets integer, blocks integer', 'database', 0,
		"ARRAY['pg_catalog.pg_class', 'pg_catalog.pg_views']::pg_catalog.regclass[], 5" ],
	[ 'layout_picture', 'relation regclass, buckets integer, width integer, blocks integer', $any, 0,
		'{table}, 20, 10', '{btree}, 5, 5, 20' ],
	[ 'corrupt_blocks', 'relation regclass, first_block bigint, max_rows bigint, max_time interval', $any, 0,
		'{table}', '{btree}', '{hash}, 1, 10', '{gin}', '{gist}', '{spgist}', '{brin}', '{bloom}', '{hnsw}',
		'{ivfflat}' ],
	[ 'sample_stats',
		'relation regclass, blocks integer, margin double precision, max_time interval, seed bigint',
		$any, 1,
		'{table}, 50, seed => 1', '{hash}, 50, seed => 1', '{btree}, 1000000, seed => 1' ],
	[ 'bloat', 'relation regclass, blocks integer, seed bigint, with_toast text', $any, 0,
		"{table}, 50, with_toast => 'no', seed => 1", '{btree}, 50, seed => 1',
		'{gin}, 50, seed => 1', '{bloom}, 50, seed => 1', '{hnsw}, 50, seed => 1', '{ivfflat}, 50, seed => 1' ],
	[ 'bloat_tree', 'relation regclass, blocks integer, seed bigint, with_toast text', 'tree tree_index', 0,
		'{tree}, 50, seed => 1', '{tree_index}, 50, seed => 1' ],
	[ 'database_report',
		'margin double precision, budget text, max_time interval, max_rate text, seed bigint, '
		  . 'tables regclass[], schemas regnamespace[], min_table_size text',
		'database', 0, "budget => '2MB', max_time => '2 s'" ],
	[ 'run_database_report',
		'margin double precision, budget text, max_time interval, max_rate text, seed bigint, '
		  . 'tables regclass[], schemas regnamespace[], min_table_size text',
		'database', 0, "budget => '2MB', max_time => '2 s'" ],
	[ 'collect',
		'margin double precision, budget text, max_time interval, max_rate text, seed bigint, '
		  . 'tables regclass[], schemas regnamespace[], min_table_size text, retention interval, top_relations integer, min_bytes text',
		'database', 0, "budget => '2MB', max_time => '2 s'" ],
	[ 'last_database_report', '', 'report', 0, '' ],
	[ 'database_plan',
		'margin double precision, budget text, max_time interval, max_rate text, seed bigint, '
		  . 'tables regclass[], schemas regnamespace[], min_table_size text, online boolean, '
		  . 'max_duration interval',
		'database', 0, "budget => '100MB', max_time => '2 s'" ],
	[ 'last_database_plan', 'online boolean, max_duration interval', 'report', 0, '' ],
	[ 'database_report_summary', '', 'report', 0, '' ],
	[ 'report_json', 'run bigint', 'report', 0, '' ],
	[ 'report_html', 'run bigint', 'report', 0, '' ],
	[ 'report_caches', '', 'cache', 0, '' ],
	[ 'report_history', 'relation regclass', 'report', 0, '{table}', '{btree}' ],
	[ 'report_growth', 'period interval', 'report', 0, '' ],
	[ 'host_name', '', 'sessions', 0, '' ],
	[ 'file_created', 'relation regclass', $any, 0, '{table}', '{btree}' ],
	[ 'prewarm', "relation regclass, $warming", "$any tree tree_index", 0,
		'{table}', "{table}, 'read'", "{btree}, 'prefetch'", '{gin}, only_maps => true', '{tree}', '{tree_index}' ],
	[ 'prewarm_relations', "relations regclass[], $warming", 'database', 0,
		"ARRAY['pg_catalog.pg_class', 'pg_catalog.pg_views']::pg_catalog.regclass[]" ],
	[ 'prewarm_schema', "schema regnamespace, $warming", 'database', 0, "'pg_toast'" ],
	[ 'prewarm_database', $warming, 'database', 0, "max_bytes => '1MB'" ],
	[ 'cache_summary', '', 'cache', 0, '' ],
	[ 'cache_map', '', 'cache', 0, '' ],
	[ 'cache_save', 'max_bytes text', 'cache', 0, '', "'1MB'" ],
	[ 'cache_load',
		'saved text, mode text, min_usage_count integer, max_bytes text, max_time interval, max_rate text, stop_when_full boolean, details boolean',
		'cache', 0, "streamstat.cache_save('1MB')", "streamstat.cache_save('1MB'), 'read', max_rate => '1GB'" ],
	[ 'io_probe', 'relation regclass, max_bytes text, max_time interval, max_rate text', $any, 0,
		"{table}, '1MB', '1 s'", "{btree}, '1MB', '1 s', '100MB'" ],
	[ 'io_advice', '', 'probe', 0, '' ],
	[ 'stat_get_progress', '', 'sessions', 0, '' ],
	[ 'stream_stats', '', 'call', 0, '' ],
	[ 'stream_stats_workers', '', 'call', 0, '' ]);

# Parts of others, which nobody else may call: name and arguments
my @internal = ([ 'store_report', 'keep_since timestamp with time zone, top_relations integer, min_bytes text, is_partial boolean, note text' ]);

# with the names of contrib's
my @drop_ins = (
	[ 'pgstattuple', 'relname text', 'table sequence btree hash gist', 1, '{table:text}', '{btree:text}' ],
	[ 'pgstattuple', 'reloid regclass', 'table sequence btree hash gist', 1, '{table}' ],
	[ 'pgstattuple_approx', 'reloid regclass', 'table', 1, '{table}' ],
	[ 'pgstatindex', 'relname text', 'btree', 1, '{btree:text}' ],
	[ 'pgstatindex', 'relname regclass', 'btree', 1, '{btree}' ],
	[ 'pgstathashindex', 'relname regclass', 'hash', 1, '{hash}' ],
	[ 'pgstatginindex', 'relname regclass', 'gin', 0, '{gin}' ],
	[ 'pg_relpages', 'relname text', $any, 0, '{table:text}', '{btree:text}' ],
	[ 'pg_relpages', 'relname regclass', $any, 0, '{table}' ],
	[ 'pg_prewarm', 'regclass, mode text, fork text, first_block bigint, last_block bigint', $any, 1,
		'{table}', "{table}, 'read'", "{gin}, 'read'", "{btree}, 'prefetch'", "{table}, 'buffer', 'vm'" ]);

# May be called by everybody, for it asks for the table's own rights or reads
# nothing; the others by members of pg_stat_scan_tables.
my %for_everybody = map { $_ => 1 }
  qw(cache_load pg_prewarm prewarm prewarm_database prewarm_relations prewarm_schema stat_get_progress stream_stats stream_stats_workers);

# As pg_buffercache's: not by those who may only read tables
my %for_monitors = map { $_ => 1 } qw(cache_summary cache_map cache_save);

my %procedures = map { $_ => 1 } qw(run_database_report collect);

# Without a relation these are about the database.
my %any_relation = (io_probe => 1);

# View, or table of stored reports => who may read it
my %views = (
	stat_progress => 'PUBLIC',
	map { $_ => 'pg_stat_scan_tables' }
	  qw(report_metrics report_relation_metrics report_run_metrics report_advice report_drop_candidates
	  report_runs report_runs_run_seq report_run_relations report_run_others report_run_commands));

my @functions;

foreach my $list ([ 'own', @own ], [ 'contrib', @drop_ins ])
{
	my ($whose, @lines) = @$list;

	foreach my $line (@lines)
	{
		my ($name, $arguments, $takes, $workers, @calls) = @$line;
		my %takes = map { $_ => 1 } split / /, $takes;

		push @functions,
		  {
			name => $name,
			arguments => $arguments,
			types => types_of($arguments),
			takes => \%takes,
			# the first argument says which relation
			relation => $arguments =~ /^(?:\S+ )?regclass(?!\S*\[)\b/ ? 'regclass' : $arguments =~ /^relname text/ ? 'text' : '',
			# what else has no default
			required => $arguments =~ /^(?:relations|schema|saved) / ? 1 : 0,
			optional => $any_relation{$name} // 0,
			scans => !($takes{report} || $takes{probe} || $takes{cache} || $takes{sessions} || $takes{call}) || 0,
			workers => $workers,
			whose => $whose,
			who => $for_everybody{$name} ? 'PUBLIC' : $for_monitors{$name} ? 'pg_monitor' : 'pg_stat_scan_tables',
			procedure => $procedures{$name} // 0,
			calls => \@calls
		  };
	}
}

sub types_of
{
	return [ map { s/^(?:\w+|"\w+") //r } split /, /, $_[0] ];
}

# As a list of hashes: name, arguments, types, takes (kinds of relations, as keys),
# relation (the type of the argument that names it, or ''), required, optional, scans, workers, whose
# ("own" or "contrib"), who (the role that may execute it), procedure, calls
sub all_functions
{
	return @functions;
}

# As a list of hashes: name, arguments
sub internal_functions
{
	return map { { name => $_->[0], arguments => $_->[1] } } @internal;
}

# Names of the functions that read a relation, take its OID and are for one of these
# kinds; all of them, if there are none
sub functions_on
{
	my (@kinds) = @_;

	return map { $_->{name} }
	  grep { my $f = $_; $f->{relation} eq 'regclass' && !$f->{takes}{report} && (!@kinds || grep { $f->{takes}{$_} } @kinds) }
	  @functions;
}

# View or table => the role that may read it
sub views
{
	return %views;
}

# As a cast to regprocedure prints it
sub signature
{
	my ($function) = @_;

	return "$function->{name}(" . join(',', @{ $function->{types} }) . ')';
}

# Calls of a function over relations, kind => name, as "name(arguments)"; of kinds
# that are not named, none.  Text is cast to $text, or to text.
sub calls
{
	my ($function, $relations, $text) = @_;
	my @calls;

	$text //= 'text';
	foreach my $call (@{ $function->{calls} })
	{
		next if grep { !defined $relations->{$_} } $call =~ /\{(\w+)/g;
		push @calls,
		  "$function->{name}("
		  . $call =~ s/\{(\w+)(:text)?\}/"'$relations->{$1}'" . ($2 ? "::$text" : '')/ger . ')';
	}
	return @calls;
}

1;
