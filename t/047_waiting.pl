
# Copyright (c) 2026, streamstat contributors

# While a call waits, it is in nobody's way: no page is pinned while a read is waited
# for, so that VACUUM goes on; and leader and workers of a scan that ends early
# end together, also for the sake of a session that waits for their lock.
#
# Reads are held by a library between server and kernel (t/lib/Faults.pm).

use strict;
use warnings;

use FindBin;
use PostgreSQL::Test::Utils;
use Test::More;

use lib "$FindBin::RealBin/lib";
use Faults;
use Node;
use Pages;
use Session;

plan skip_all => 'this is not Linux' if $^O ne 'linux';

# Blocks of a table that are in buffers: some runs of the file stream
use constant BUFFERED => 192;

# Blocks of a relation for two workers, most of them zeros that take no disk
use constant BIG => 26000;

my $faults;
my $node = new_node('waiting', q(
shared_buffers = 16MB
max_worker_processes = 8
max_parallel_workers = 8
max_parallel_maintenance_workers = 2
streamstat.max_workers = 2
bgwriter_lru_maxpages = 0
jit = off
), checksums => 0, start => sub {
		$faults = Faults->new($_[0]);
		plan skip_all => 'no C compiler for test/faults' if !$faults;
		$faults->start($_[0]);
	});
my $have_buffercache = create_extension($node, 'pg_buffercache');

my @tables = qw(files rings buffers indexed);
$node->safe_psql('postgres',
	join("\n",
		map { "CREATE TABLE $_ AS SELECT i AS k, repeat('x', 100) AS s FROM generate_series(1, 20000) i;" } @tables)
	  . <<'SQL');
CREATE INDEX indexed_btree ON indexed (k) WITH (fillfactor = 10);
CREATE TABLE big AS SELECT i AS k FROM generate_series(1, 10000) i;
CREATE INDEX big_btree ON big (k) WITH (fillfactor = 10);
-- who opens the table reads the catalog of triggers
CREATE TRIGGER big BEFORE UPDATE ON big FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger();
CHECKPOINT;
SQL
my %path = map { $_ => file_of($node, $_) } @tables, 'indexed_btree', 'big', 'big_btree';

# Pages that are no pages of a b-tree, beyond what one process reads ahead.  The buffer
# manager takes them for good ones without checksums.
my ($first_bad, $next_bad) = (4000, 4050);
$node->stop;
foreach my $name ('big', 'big_btree')
{
	truncate($path{$name}, BIG * BLCKSZ) or die "could not extend $path{$name}: $!";
}
cmp_ok((-s $path{indexed_btree}) / BLCKSZ, '>', BUFFERED + 64, 'the index is large enough');
my $bad = with16(read_block($path{big_btree}, 1), PD_SPECIAL, BLCKSZ - 8);
write_block($path{big_btree}, $_, $bad) foreach $first_bad, $next_bad;
$faults->start($node);

my $scanner = Session->new($node);
my $other = Session->new($node);
my $observer = Session->new($node);

# ---------------------------------------------------------------------------
# The first blocks are in buffers.  The call waits for the others.

sub check_pins
{
	my ($what, $name, $call, $settings, $vacuums) = @_;
	my $relation = $name =~ s/_btree//r;

	$observer->query("SELECT streamstat.pg_prewarm('$name', 'buffer', 'main', 0, @{[BUFFERED - 1]})");
	$scanner->query($settings);
	$faults->set(
		file => $path{$name},
		reads => 'held',
		from => BUFFERED * BLCKSZ,
		to => 1e9,
		uncached => 1,
		only => $vacuums ? $scanner->{pid} : 0);
	$scanner->send_query("SELECT streamstat.$call('$name')");
	Session::poll("$what: a read is waited for", sub { $faults->hits > 0 });
	ok($scanner->busy, "$what: the call waits");

	# Blocks behind those are pinned by their reads.
  SKIP:
	{
		skip 'no pg_buffercache', 1 if !$have_buffercache;
		is( $observer->query(
				"SELECT relblocknumber FROM pg_buffercache WHERE pinning_backends > 0 AND relfilenode = pg_relation_filenode('$name') AND relblocknumber < @{[BUFFERED]}"
			),
			'',
			"$what: no page that was visited is pinned");
	}
	if ($vacuums)
	{
		$other->query("SET statement_timeout = '2min'; VACUUM (FREEZE) $relation");
		is($other->{err}, '', "$what: VACUUM does not wait");
		ok($scanner->busy, "$what: and the call still does");
	}
	$faults->clear;
	isnt($scanner->answer, '', "$what: then the call goes on");
	is($scanner->{err}, '', "$what: without an error");
}

check_pins('files', 'files', 'table_stats',
	'SET streamstat.io_path = file; SET streamstat.io_method = sync', 1);
check_pins('files, io_uring', 'rings', 'table_stats',
	'SET streamstat.io_path = file; SET streamstat.io_method = io_uring', 1);
check_pins('buffers', 'buffers', 'table_stats', 'SET streamstat.io_path = buffer', 0);
check_pins('buffers, drop-in', 'indexed_btree', 'pgstatindex', 'SET streamstat.io_path = buffer', 0);
$scanner->query('RESET ALL');

# ---------------------------------------------------------------------------
# A strict scan ends at the first page that makes no sense, all of its processes.

my $index_error = qr/ERROR:  XX002: index "big_btree" contains corrupted page at block $first_bad$/m;
my $stats = 'SELECT workers, blocks_requested FROM streamstat.stream_stats()';

# The leader waits for its first read, so that workers find the pages.  (Or the other
# way round, should a worker be first.)
$scanner->query('SET streamstat.io_path = file; SET streamstat.io_method = sync');
$faults->set(file => $path{big_btree}, reads => 'held', to => 32 * BLCKSZ, uncached => 1);
$scanner->send_query("SELECT streamstat.pgstatindex('big_btree')");
Session::poll('a read is waited for', sub { $faults->hits > 0 });
$observer->query('SELECT pg_sleep(0.5)');
Session::poll(
	'the others have looked',
	sub {
		$observer->query(
			"SELECT (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'parallel worker') = (SELECT count(*) FROM pg_stat_activity WHERE pid = $scanner->{pid} AND wait_event = 'ParallelFinish')"
		) eq 't';
	});
$faults->clear;
$scanner->answer;
like($scanner->{err}, $index_error, 'found by another process');
my ($workers, $requested) = split /\|/, $scanner->query($stats);
cmp_ok($requested, '<', 15000, 'found by another process: the first one does not read on');
note "found by another process: $requested blocks";
$scanner->query('RESET ALL');

foreach my $path ('file', 'buffer')
{
	my @requested;

	$scanner->query("SET streamstat.io_path = $path");
	foreach (1 .. 5)
	{
		$scanner->query("SELECT streamstat.pgstatindex('big_btree')");
		like($scanner->{err}, $index_error, "$path: the first of the bad pages");
		my ($workers, $requested) = split /\|/, $scanner->query($stats);
		is($workers, 2, "$path: by workers");
		push @requested, $requested;
	}
	# One may be held up before the bad page on a busy machine, and the others read on.
	cmp_ok((sort { $a <=> $b } @requested)[2], '<', 6000, "$path: nobody reads on");
	note "$path: blocks @requested";
}

# ---------------------------------------------------------------------------
# The leader waits for its workers, and a session for the leader's lock.
#
# Workers are made to wait: they have to open the table, for which they read a
# catalog that another session has locked.  The leader has the table in its cache.

foreach my $call ('table_stats', 'pgstattuple')
{
	$scanner->query("SET streamstat.max_workers = 0; SELECT streamstat.$call('big'); RESET streamstat.max_workers;
		SET streamstat.max_blocking_time = '200ms'");
	$observer->query('BEGIN; LOCK TABLE pg_trigger IN ACCESS EXCLUSIVE MODE');
	$scanner->send_query("SELECT streamstat.$call('big')");
	Session::poll(
		"$call: the leader waits",
		sub {
			$observer->query(
				"SELECT pg_stat_clear_snapshot(); SELECT wait_event FROM pg_stat_activity WHERE pid = $scanner->{pid}"
			) =~ /ParallelFinish/;
		});
	ok($scanner->busy, "$call: the leader waits for its workers");
	$other->query("BEGIN; SET LOCAL lock_timeout = '2min'; LOCK big; ROLLBACK");
	is($other->{err}, '', "$call: a session waits no longer");
	$observer->query('COMMIT') if $other->{err} ne '';
	$scanner->answer;
	like(
		$scanner->{err},
		qr/ERROR:  55P03: canceling statement due to conflict with a lock request on relation "big"/,
		"$call: for its sake");
	$observer->query('COMMIT');
	is($observer->query("SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'parallel worker'"),
		0, "$call: no worker is left");
}

$_->end foreach $scanner, $other, $observer;
stop_clean($node);
done_testing();
