
# Copyright (c) 2026, streamstat contributors

# The file stream reads pages that are in no buffer past the buffer manager.  At
# quiet it has the results of the buffer stream, and of damage the buffer manager's word.
#
# One cluster is without checksums and has a standby, the other is with them.

use strict;
use warnings;

use FindBin;
use PostgreSQL::Test::Utils;
use Test::More;

use lib "$FindBin::RealBin/lib";
use FileStream;
use Node;
use PageCache;
use Pages;

$ENV{PGOPTIONS} = '-c client_min_messages=warning';

# Buffers stay as they are.
my $settings = "shared_buffers = 32MB\nbgwriter_lru_maxpages = 0\n";
my $plain = file_stream_node('plain', 0, $settings);
my $summed = file_stream_node('summed', 1, $settings);
my $standby = new_standby($plain);

is($plain->safe_psql('postgres', 'SHOW data_checksums'), 'off', 'no checksums');
is($summed->safe_psql('postgres', 'SHOW data_checksums'), 'on', 'checksums');

# Pages in many states
foreach my $node ($plain, $summed)
{
	create_relations($node);
	$node->safe_psql('postgres', <<'SQL');
DELETE FROM t WHERE k % 7 = 0 OR k BETWEEN 9000 AND 14000;
VACUUM (INDEX_CLEANUP ON) t;
INSERT INTO t SELECT i % 31000, 1 FROM generate_series(1, 60000, 3) i;
UPDATE t SET k = k + 11, v = v + 1 WHERE k % 5 = 0;
DELETE FROM t WHERE k % 11 = 0;
VACUUM (INDEX_CLEANUP ON) t;
SQL
}

# ---------------------------------------------------------------------------
# At quiet

sub check_quiet
{
	my ($node, $what, %relations) = @_;
	my @calls = calls_on(%relations);
	my ($session, $results, $stats, $cold_results);

	# replay must not begin at changes
	if ($node == $standby)
	{
		$plain->safe_psql('postgres', 'CHECKPOINT');
		$plain->wait_for_catchup($standby, 'replay', $plain->lsn('insert'));
		$standby->safe_psql('postgres', 'CHECKPOINT');
	}
	$node->restart;
	$session = new_session($node);
	($cold_results, $stats) = check_same($session, "$what, cold", @calls);

	# pgstathashindex reads the metapage by itself
	is( join(
			' ',
			grep {
				my $s = $stats->{$_};
				$s->{blocks_private} < $s->{blocks_requested} - 1
			} @calls),
		'',
		"$what, cold: no page went through buffers");
	$session->end;

	# every other few blocks in buffers
	$node->restart;
	$session = new_session($node);
	query($session, "SELECT sum(streamstat.pg_prewarm('$_', 'buffer', 'main', b, b + 6))
		FROM generate_series(0, streamstat.pg_relpages('$_') - 7, 13) b")
	  foreach (keys %relations);
	($results, $stats) = check_same($session, "$what, half in buffers", @calls);
	is_deeply($results, $cold_results, "$what, half in buffers: as before");
	is( join(
			' ',
			grep {
				my $s = $stats->{$_};
				$s->{blocks_private} < $s->{blocks_requested} / 5
				  || $s->{blocks_hit} < $s->{blocks_requested} / 5
			} @calls),
		'',
		"$what, half in buffers: pages of both kinds");

	return ($session, $cold_results) if $node == $standby;

	# changes that are in buffers only
	my @files = map { file_of($node, $_) } sort keys %relations;
	my @before = map { slurp_file($_) } @files;
	query($session, "DELETE FROM $_ WHERE k < 4000") foreach qw(t u);
	query($session, "INSERT INTO $_ SELECT i FROM generate_series(12000, 13000) i")
	  foreach qw(t u);
	query($session, 'VACUUM (INDEX_CLEANUP ON, TRUNCATE OFF) ' . $_) foreach qw(t u);
	($results, $stats) = check_same($session, "$what, changed", @calls);
	is(join(' ', grep { $results->{$_} eq $cold_results->{$_} } @calls),
		'', "$what, changed: the changes are seen");
	is(join(' ', grep { $stats->{$_}{blocks_hit} == 0 } @calls),
		'', "$what, changed: in buffers");
	ok( 0 == (
			grep { substr(slurp_file($files[$_]), 0, length($before[$_])) ne $before[$_] }
			  0 .. $#files),
		"$what, changed: and not in the files");

	return ($session, $results);
}

# ---------------------------------------------------------------------------
# Files that are not what they should be

# Pages are in buffers, and garbage is in the file: nobody reads it.
sub check_garbage
{
	my ($session, $what) = @_;
	my @calls = calls_on(g_btree => 'btree', g_hash => 'hash');
	my %good = map { $_ => query($session, "SELECT * FROM streamstat.$_") } @calls;
	my %content;
	my ($results, $stats);

	query($session, "SELECT streamstat.pg_prewarm('$_')") foreach qw(g_btree g_hash);
	foreach my $file (map { file_of($session->{node}, $_) } qw(g_btree g_hash))
	{
		$content{$file} = slurp_file($file);
		my @pages = unpack('(a' . BLCKSZ . ')*', $content{$file});

		# a page torn, a page of zeros, another page, and so on
		foreach my $i (0 .. $#pages)
		{
			write_block($file, $i,
				  $i % 3 == 0 ? torn($pages[$i], $pages[ ($i + 3) % @pages ])
				: $i % 3 == 1 ? "\0" x BLCKSZ
				: $pages[ ($i + 1) % @pages ]);
		}
	}
	($results, $stats) = check_same($session, "$what, garbage in the file", @calls);
	is_deeply($results, \%good, "$what, garbage in the file: never believed");
	is(join(' ', grep { $stats->{$_}{blocks_missed} != 0 } @calls),
		'', "$what, garbage in the file: never read");
	write_at($_, 0, $content{$_}) foreach (keys %content);
}

sub set_lsn
{
	my ($file, @blocks) = @_;

	write_at($file, $_ * BLCKSZ + PD_LSN, pack('L2', 0x7fffffff, 0)) foreach (@blocks);
}

sub flip_byte
{
	my ($file, $blkno) = @_;
	my $page = read_block($file, $blkno);

	substr($page, 5000, 1) ^= "\x40";
	write_block($file, $blkno, $page);
}

# How a query fails: the error, the warning that comes before it up to 17, and
# how many failures it adds to the server's count.
sub failure
{
	my ($session, $path, $query) = @_;
	my $failures =
	  "SELECT pg_stat_clear_snapshot(); SELECT checksum_failures FROM pg_stat_database WHERE datname = 'postgres'";
	my $before = query($session, $failures) =~ s/\s//gr;

	query($session, "SET streamstat.io_path = $path");
	$session->send_query($query);
	$session->answer;
	my $err = $session->{err} =~ s/^psql:.*?: //mgr;
	query($session, 'SET streamstat.io_path = file');

	my $after = query($session, $failures) =~ s/\s//gr;
	return "$err failures: " . ($after - $before);
}

sub check_checksum_failures
{
	my ($session) = @_;
	my ($results, $stats);

	# First the drop-ins: a page that is refused comes into no buffer.
	foreach my $index (qw(c_btree c_hash))
	{
		my $method = $index =~ s/^c_//r;
		my $query = 'SELECT * FROM streamstat.'
		  . ($method eq 'btree' ? 'pgstatindex' : 'pgstathashindex')
		  . "('$index')";
		my $by_file = failure($session, 'file', $query);

		like($by_file,
			qr/^ERROR:  invalid page in block 5 of relation .*failures: 1$/ms,
			"checksum failure: $method");
		is($by_file, failure($session, 'buffer', $query),
			"checksum failure: $method, in the buffer manager's words");

		($results, $stats) = check_same($session, "checksum failure: $method",
			"${method}_stats('$index')", "sample_stats('$index', 1000000)");
		my $call = "${method}_stats('$index')";
		is( query($session,
				"SELECT corrupt_pages, first_corrupt_block FROM streamstat.$call"),
			'1|5',
			"checksum failure: $method, counted");
		# A combined read that failed has left buffers that are not valid.
		cmp_ok(
			$stats->{$call}{blocks_private}, '>',
			$stats->{$call}{blocks_requested} / 2,
			"checksum failure: $method, the other pages are read");
	}

	# Several in a row: from 18 on a combined read has words of its own for that.
	is( failure($session, 'file', "SELECT streamstat.pgstatindex('d_btree')"),
		failure($session, 'buffer',
			"SELECT streamstat.pg_prewarm('d_btree', 'buffer', 'main', 5, 5)"),
		'checksum failures in a row: of the first one');
	check_same($session, 'checksum failures in a row',
		"btree_stats('d_btree')", "sample_stats('d_btree', 1000000)");
	is( query($session,
			"SELECT corrupt_pages, first_corrupt_block FROM streamstat.btree_stats('d_btree')"
		),
		'3|5',
		'checksum failures in a row: counted');

	# What the buffer manager is told to put up with is no damage to us.
	foreach my $setting (qw(ignore_checksum_failure zero_damaged_pages))
	{
		my $index = $setting =~ /^ignore/ ? 'i_btree' : 'z_btree';

		query($session, "SET $setting = on");
		check_same($session, $setting,
			"btree_stats('$index')", "sample_stats('$index', 1000000)", "pgstatindex('$index')");
		query($session, "RESET $setting");
	}
}

# ---------------------------------------------------------------------------

foreach my $node ($plain, $summed)
{
	$node->safe_psql('postgres', "CREATE TABLESPACE elsewhere LOCATION ''");
	$node->safe_psql('postgres', <<'SQL');
CREATE INDEX t_elsewhere ON t (k) TABLESPACE elsewhere;
CREATE TABLE small AS SELECT i AS k FROM generate_series(1, 20000) i;
CREATE INDEX g_btree ON small (k);
CREATE INDEX g_hash ON small USING hash (k);
SQL
}
$plain->safe_psql('postgres', <<'SQL');
CREATE INDEX future_some ON small (k);
CREATE INDEX future_many ON small (k) WITH (fillfactor = 20);
CREATE TABLE sparse AS SELECT i AS k FROM generate_series(1, 1000) i;
CREATE TABLE large AS SELECT i AS k FROM generate_series(1, 700000) i;
CREATE INDEX large_btree ON large (k) WITH (fillfactor = 10);
SQL
$summed->safe_psql('postgres', 'CREATE INDEX '
	  . ($_ =~ s/.*_//r eq 'hash' ? "$_ ON small USING hash (k)" : "$_ ON small (k)"))
  foreach qw(c_btree c_hash d_btree i_btree z_btree);

$plain->wait_for_catchup($standby, 'replay', $plain->lsn('insert'));
check_quiet($plain, 'without checksums', t => 'heap', t_btree => 'btree',
	t_hash => 'hash', t_elsewhere => 'btree');
check_quiet($summed, 'with checksums', t => 'heap', t_btree => 'btree',
	t_hash => 'hash', t_elsewhere => 'btree', u => 'heap', u_btree => 'btree',
	u_hash => 'hash');

# ---------------------------------------------------------------------------

my $session = new_session($plain);
$plain->wait_for_catchup($standby, 'replay', $plain->lsn('insert'));
my (undef, $results) = check_quiet($standby, 'standby', t => 'heap',
	t_btree => 'btree', t_hash => 'hash', t_elsewhere => 'btree');
is_deeply(
	$results,
	{ map { $_ => query($session, "SELECT * FROM streamstat.$_") } keys %$results },
	"standby: the primary's results");

check_garbage($session, 'without checksums');
$session->end;
$standby->stop;

# ---------------------------------------------------------------------------
# Damage to files while the server is down

my %file = map { $_ => file_of($plain, $_) } qw(future_some future_many sparse);
my $segment = $plain->safe_psql('postgres',
	"SELECT pg_size_bytes(current_setting('segment_size')) / " . BLCKSZ);
$plain->stop;
set_lsn($file{future_some}, 5, 6, 20);
set_lsn($file{future_many}, 0 .. 99);
# one more segment, and in that one page
my $page = read_block($file{sparse}, 0);
truncate($file{sparse}, $segment * BLCKSZ) or die "could not truncate: $!";
append_to_file("$file{sparse}.1", "\0" x BLCKSZ . $page . "\0" x BLCKSZ);

%file = map { $_ => file_of($summed, $_) } qw(c_btree c_hash d_btree i_btree z_btree);
$summed->stop;
flip_byte($file{$_}, 5) foreach (keys %file);
flip_byte($file{d_btree}, $_) foreach (6, 7);
$_->start foreach ($plain, $summed);

# ---------------------------------------------------------------------------
# Pages that are newer than the WAL go through buffers.

$session = new_session($plain);
my $stats;
(undef, $stats) =
  check_same($session, 'LSNs of the future', "btree_stats('future_some')");
$stats = $stats->{"btree_stats('future_some')"};
is( $stats->{blocks_private},
	$stats->{blocks_requested} - 3,
	'LSNs of the future: pages from buffers');
(undef, $stats) =
  check_same($session, 'many LSNs of the future', "btree_stats('future_many')");
$stats = $stats->{"btree_stats('future_many')"};
cmp_ok($stats->{blocks_requested}, '>', 200, 'many LSNs of the future: and other pages');
is( $stats->{blocks_private},
	$stats->{blocks_requested} - 100,
	'many LSNs of the future: these pages from buffers');

# ---------------------------------------------------------------------------
# Without WAL and checksums there is no telling.

query($session, "SELECT * FROM streamstat.btree_stats('u_btree')");
isnt(stream_stats($session)->{stream}, 'file stream',
	'unlogged, without checksums: through buffers');

# ---------------------------------------------------------------------------
# Several segments, and workers

my %large;
foreach my $way ([ 0, 'on' ], [ 2, 'off' ], [ 2, 'on' ])
{
	my ($workers, $map) = @$way;
	my $label = "$workers workers, map_files $map";

	query($session, "SET streamstat.max_workers = $workers; SET streamstat.map_files = $map");
	my ($results, $stats) = check_same($session, $label,
		"sample_stats('sparse', 10000000)", "sample_stats('sparse', 30000, seed => 3)",
		"btree_stats('large_btree')", "pgstatindex('large_btree')",
		"sample_stats('large_btree', 10000000)", "sample_stats('large_btree', 17000, seed => 1)");
	$large{$label} = $results;
	# Samples are read by one process, unless they are everything; and what is mapped may be.
	is(join(' ', grep { ($stats->{$_}{workers} > 0) != ($workers > 0 && !/, [0-9]{5}, seed/) } sort keys %$stats),
		'', "$label: so many helped")
	  if $workers == 0 || $map eq 'off';
	is( join(' ', grep { $stats->{$_}{blocks_private} < 10000 } sort keys %$stats),
		'',
		"$label: pages from the files");
	my $blocks = query($session, "SELECT pg_relation_size('large_btree') / current_setting('block_size')::int");
	is($stats->{"btree_stats('large_btree')"}{blocks_requested}, $blocks, "$label: each block once");
}
is_deeply([ values %large ], [ ($large{'0 workers, map_files on'}) x 3 ], 'workers: the same without them');
my %sparse = map { (split /\|/)[ 0, 1 ] } split /\n/,
  $large{'0 workers, map_files on'}{"sample_stats('sparse', 10000000)"};
is($sparse{new_pages}, $segment + 3 - 6, 'two segments: new pages');
is($sparse{live_tuples}, 1226, 'two segments: a page in the second one');

# ---------------------------------------------------------------------------
# Ways to read

SKIP:
{
	skip 'files stay in the page cache', 3 if !can_drop();

	my $file = file_of($plain, 't_hash');
	foreach my $method (qw(sync auto io_uring))
	{
		my $used = '';

		query($session, "SET streamstat.io_method = $method");
		foreach (1 .. 10)
		{
			drop_files($file);
			query($session, "SELECT * FROM streamstat.hash_stats('t_hash')");
			$used = stream_stats($session)->{io_method};
			last if $used ne '';
		}
		like($used, $method eq 'sync' ? qr/^sync$/ : qr/^(sync|io_uring)$/,
			"io_method $method");
	}
}
check_descriptors($session, 'in the end');
$session->end;

$session = new_session($summed);
check_garbage($session, 'with checksums');
check_checksum_failures($session);
check_descriptors($session, 'after errors');
$session->end;

stop_clean($standby, $plain, $summed);
done_testing();
