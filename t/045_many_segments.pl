
# Copyright (c) 2026, streamstat contributors

# Samples of a relation of many segment files: reads of different segments are in
# flight at the same time, no page is doubted because of that, and one descriptor
# is enough.
#
# The segments are links to one sparse file, so that they take no disk, and faults.c
# delays the reads of all of them.

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

use constant SEGMENTS => 40;

my $faults;
my $node = new_node('many_segments', q(
shared_buffers = 8MB
bgwriter_lru_maxpages = 0
max_worker_processes = 8
jit = off
client_min_messages = warning
streamstat.io_path = file
), checksums => 0, start => sub {
		$faults = Faults->new($_[0]);
		plan skip_all => 'no C compiler for test/faults' if !$faults;
		$faults->start($_[0]);
	});

$node->safe_psql('postgres', <<'SQL');
CREATE TABLE many AS SELECT i AS k FROM generate_series(1, 10000) i;
CREATE TABLE written (k int);
CHECKPOINT;
SQL
my $file = file_of($node, 'many');
my $segment = $node->safe_psql('postgres', "SELECT pg_size_bytes(current_setting('segment_size'))");

$node->stop;
plan skip_all => 'the file system has no such large files' if !truncate($file, $segment);
foreach my $i (1 .. SEGMENTS - 1)
{
	link($file, "$file.$i") or plan skip_all => "the file system has no links: $!";
}
$faults->start($node);

my $s = Session->new($node);
my %rows;

# A sample, and what stream_stats() says of it
sub sample
{
	my ($label, $npages) = @_;
	my @names = qw(stream io_method blocks_requested blocks_private reads_in_flight_avg reads_in_flight_max);
	my %n;

	my $rows = $s->query("SELECT * FROM streamstat.sample_stats('many', $npages, seed => $npages)");
	is($s->{err}, '', "$label: no error");
	$rows{$npages} //= $rows;
	is($rows, $rows{$npages}, "$label: the same rows");
	@n{@names} = split /\|/,
	  $s->query('SELECT ' . join(', ', @names) . ' FROM streamstat.stream_stats()'), -1;
	is("$n{stream}: $n{blocks_requested} $n{blocks_private}",
		"file stream: $npages $npages", "$label: each page from its file");
	note "$label: " . join(', ', map { "$_ $n{$_}" } @names);
	return %n;
}

# Reads have to wait; or they take so many milliseconds, and a ring counts each of them twice.
sub uncached
{
	$faults->set(file => $file, uncached => 1);
}

sub slow
{
	my ($ms) = @_;

	$faults->set(file => $file, uncached => 1, reads => 'slow', from => 0, to => 1 << 40, most => $ms);
}

# Descriptors of the segments that our reads have opened: the server's own can write
sub open_segments
{
	my $n = 0;

	foreach my $fd (glob "/proc/$s->{pid}/fd/*")
	{
		next if (readlink($fd) // '') !~ /^\Q$file\E/;
		slurp_file($fd =~ s/fd/fdinfo/r) =~ /^flags:\s*[0-7]*([0-7])$/m;
		$n++ if ($1 & 3) == 0;
	}
	return $n;
}

# ---------------------------------------------------------------------------
# Two pages of each segment, or one

sub check_in_flight
{
	my ($what) = @_;

	foreach my $method ('io_uring', 'sync')
	{
		$s->query("SET streamstat.io_method = $method");

		$s->query('SET streamstat.io_concurrency = 16');
		uncached();
		my %n = sample("$what, $method, 16 reads", 2 * SEGMENTS);
		is($n{reads_in_flight_max}, 16, "$what, $method, 16 reads: in flight");
		cmp_ok($n{reads_in_flight_avg}, '>=', 6, "$what, $method, 16 reads: on average");

		# One page of each segment
		$s->query("SET streamstat.io_concurrency = 64; SET streamstat.io_combine_limit = '64kB'");
		%n = sample("$what, $method, 64 reads", SEGMENTS);
		is($n{reads_in_flight_max}, SEGMENTS, "$what, $method, 64 reads: in flight");
		is(open_segments(), 0, "$what, $method: no file is left open");
		$s->query('RESET streamstat.io_concurrency; RESET streamstat.io_combine_limit');
		$faults->clear;
	}
}

check_in_flight('many descriptors');

# ---------------------------------------------------------------------------
# While others write WAL, each page is checked by its LSN in the file.

my $writer = Session->new($node);
$writer->send_query(<<'SQL');
DO $$
BEGIN
	FOR i IN 1 .. 60000 LOOP
		INSERT INTO written VALUES (i);
		PERFORM pg_sleep(0.001);
	END LOOP;
END
$$
SQL
foreach my $method ('io_uring', 'sync')
{
	$s->query("SET streamstat.io_method = $method");
	slow(4);
	my $before = $s->query('SELECT pg_current_wal_insert_lsn()');
	sample("written to, $method", 5 * SEGMENTS);
	is($s->query("SELECT pg_current_wal_insert_lsn() > '$before'"), 't', "written to, $method: so it was");
	$faults->clear;
}
$s->query("SELECT pg_cancel_backend($writer->{pid})");
$writer->answer;
like($writer->{err}, qr/ERROR:  57014: /, 'the writer was there until now');
$writer->end;

# ---------------------------------------------------------------------------
# Errors close the files at once, and not at the end of the transaction.

foreach my $method ('io_uring', 'sync')
{
	my $call = "streamstat.sample_stats('many', 10000)";

	$s->query("SET streamstat.io_method = $method");
	slow(20);
	$s->query("SET statement_timeout = '200ms'; SELECT * FROM $call");
	if ($faults->hits == 0)
	{
		note "$method: its reads cannot be slow";
		$s->query('RESET statement_timeout');
		$faults->clear;
		next;
	}
	like($s->{err}, qr/ERROR:  57014: /, "canceled, $method: error");
	is(open_segments(), 0, "canceled, $method: no file is left open");

	$s->query('RESET statement_timeout; BEGIN');
	$s->query("SET LOCAL statement_timeout = '200ms'");
	$s->query("DO \$\$ BEGIN PERFORM $call; EXCEPTION WHEN query_canceled THEN RAISE WARNING 'caught'; END \$\$");
	like($s->{err}, qr/WARNING:.*caught/, "caught, $method: error");
	is(open_segments(), 0, "caught, $method: no file is left open");
	$s->query('COMMIT');
	is($s->rings, 0, "caught, $method: no ring is left");
	$faults->clear;
}
$s->end;

# ---------------------------------------------------------------------------
# A server of few descriptors

$node->append_conf('postgresql.conf', 'max_files_per_process = 64');
$node->stop;
$faults->start($node);
$s = Session->new($node);
check_in_flight('few descriptors');

SKIP:
{
	skip 'no prlimit', 1 if !grep { -x "$_/prlimit" } split /:/, $ENV{PATH};

	# The server closes files of its relations when it needs descriptors.
	my $data_dir = $node->data_dir;
	my $fds = grep { (readlink // '') !~ m{^\Q$data_dir\E/(base|global)/} } glob "/proc/$s->{pid}/fd/*";
	system('prlimit', '--pid', $s->{pid}, '--nofile=' . ($fds + 3) . ':') == 0 or die;
	$s->query('SET streamstat.io_method = sync');
	uncached();
	my %n = sample('hardly a descriptor is left', SEGMENTS);
	is($n{reads_in_flight_max}, 32, 'hardly a descriptor is left: in flight');
	system('prlimit', '--pid', $s->{pid}, '--nofile=1024:') == 0 or die;
	$faults->clear;
}

# ---------------------------------------------------------------------------
# Through buffers

$s->query('SET streamstat.io_path = buffer');
is($s->query("SELECT * FROM streamstat.sample_stats('many', $_, seed => $_)"),
	$rows{$_}, "$_ pages: the same rows through buffers")
  foreach (sort { $a <=> $b } keys %rows);

$s->end;
stop_clean($node);
done_testing();
