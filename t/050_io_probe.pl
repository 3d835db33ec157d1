
# Copyright (c) 2026, streamstat contributors

# io_probe keeps its limits, reads disks and not caches, and leaves nothing behind,
# whatever ends it: a cancel, other sessions, a bad disk.  faults.c makes the disk bad.

use strict;
use warnings;

use File::Temp qw(tempdir);
use FindBin;
use POSIX ();
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes ();

use lib "$FindBin::RealBin/lib";
use Faults;
use Node;
use Pages;
use Session;

plan skip_all => 'this is not Linux' if $^O ne 'linux';

my $faults;
my $node = new_node('io_probe', q(
shared_buffers = 8MB
bgwriter_lru_maxpages = 0
max_wal_size = 1GB
jit = off
), start => sub {
		$faults = Faults->new($_[0]);
		plan skip_all => 'no C compiler for test/faults' if !$faults;
		$faults->start($_[0]);
	});
$node->safe_psql('postgres',
	"SET allow_in_place_tablespaces = on; CREATE TABLESPACE \"an other\" LOCATION ''");
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE t (k int, filler text);
INSERT INTO t SELECT i, repeat('x', 1000) FROM generate_series(1, 45000) i;
CREATE TABLE u TABLESPACE "an other" AS SELECT * FROM t LIMIT 12000;
CREATE TABLE second AS SELECT * FROM t;
CREATE TABLE dropped AS SELECT * FROM t;
CREATE TABLE holes AS SELECT * FROM t LIMIT 100;
CHECKPOINT;
SQL
my %path = map { $_ => file_of($node, $_) } qw(t u second holes);
my $s = Session->new($node);
my $observer = Session->new($node);

sub probe
{
	my ($arguments, $columns) = @_;

	$columns //= 'count(reads), count(*), sum(bytes_read)';
	return $s->query("SELECT $columns FROM streamstat.io_probe($arguments)");
}

# What the process has had read from disks; 0 where the kernel does not count that
sub disk_bytes
{
	return slurp_file("/proc/$s->{pid}/io") =~ /^read_bytes: (\d+)/m ? $1 : 0;
}

# Reads that the server has in flight at most, where workers read
my $most_in_flight = $node->safe_psql('postgres', q(
SELECT coalesce(min(setting::int) FILTER (WHERE name ~ 'worker' AND current_setting('io_method', true) = 'worker'), 1000)
FROM pg_settings WHERE name IN ('io_workers', 'io_max_workers')));

sub cpus
{
	my @cpus = slurp_file('/proc/cpuinfo') =~ /^processor/mg;

	return @cpus || 1000;
}

# A machine that has much else to do can make anything late, or read more, but not always.
sub in_time
{
	my ($code) = @_;

	foreach (1 .. 5)
	{
		return 1 if $code->();
	}
	return 0;
}

my $first = probe("'t', '1MB', '2 s'", "string_agg(note, ', ')");
if ($first =~ /memory|its own cache|compressed|encrypted/)
{
	$s->end;
	$observer->end;
	$node->stop;
	plan skip_all => "the data directory's file system: $first";
}

# ---------------------------------------------------------------------------
# Limits

foreach my $mb (1, 8, 32)
{
	my ($cells, $rows, $bytes, $read);

	# The kernel may read ahead, and catalogs are read; where it is short of memory,
	# programs as well.
	ok( in_time(sub {
			my $before = disk_bytes();

			($cells, $rows, $bytes) = split /\|/, probe("'t', '${mb}MB', '20 s'");
			$read = disk_bytes() - $before;
			return $read <= ($mb << 20) + (2 << 20);
		}), "$mb MB: the kernel says that no more is read") or diag("$read bytes");
	cmp_ok($read, '>=', 0.9 * $bytes, "$mb MB: all came from a disk")
	  if $read > 0;

	my $counted = $s->query('SELECT reads * avg_read_bytes FROM streamstat.stream_stats()');

	cmp_ok($cells, '>', 0, "$mb MB: figures");
	cmp_ok($counted, '<=', $mb << 20, "$mb MB: our own count says so, too");
	cmp_ok($counted, '>=', $bytes, "$mb MB: what is timed is among it");
}

# What a limit has left out is told.
is(probe($_, 'count(reads), max(note)'), '0|a limit was reached', "$_: told") foreach "'t', '8kB', '20 s'", "'t', '1MB', '0'";
is(probe("'t', '1MB', '20 s'", 'max(note)'), 'a limit was reached before the figures were clear', '1 MB: told');

foreach my $time ('300 ms', '1500 ms')
{
	my ($wanted) = $time =~ /(\d+)/;
	my $took;

	ok( in_time(sub {
			my $begin = Time::HiRes::time();

			probe("'t', '100GB', '$time'");
			$took = Time::HiRes::time() - $begin;
			return $took < $wanted / 1000 + 0.5;
		}), "$time: ends in time") or diag("$took seconds");
}

# Each cell is at full speed, and all of them together keep the rate.
foreach my $setting (0, 1)
{
	$s->query("SET streamstat.max_rate = '4MB'") if $setting;
	my ($counted, $took);
	ok( in_time(sub {
			my $begin = Time::HiRes::time();

			probe("'t', '100GB', '2 s'" . ($setting ? '' : ", '4MB'"));
			$took = Time::HiRes::time() - $begin;
			$counted = $s->query('SELECT reads * avg_read_bytes FROM streamstat.stream_stats()');
			return $counted >= 1 << 20;
		}), "rate, setting $setting: something is read");
	$s->query('RESET streamstat.max_rate');
	cmp_ok($counted, '<=', (4 << 20) * ($took + 0.1), "rate, setting $setting: is kept");
}

# ---------------------------------------------------------------------------
# No cached figure is taken for a disk's.

$s->query("SELECT streamstat.pg_prewarm('t', 'read')");
{
	my $before = disk_bytes();
	my ($cells, $rows, $bytes) = split /\|/, probe("'t', '24MB', '20 s'");
	my $read = disk_bytes() - $before;

	cmp_ok($cells, '>', 3, 'cached: figures');
	cmp_ok($read, '>=', 0.9 * $bytes, 'cached: all came from a disk') if $read > 0;
}

# Reads through the page cache, as where there are no rings: what was not cached is not cached
# after that.  mincore(2) tells as well as cachestat(2) does.
my $cached = "SELECT page_cache_bytes FROM streamstat.cache_summary() WHERE relation_name = 't' AND fork = 'main'";
$s->query('SET streamstat.io_method = sync');
foreach my $mincore (0, 1)
{
	my $label = $mincore ? 'by mincore' : 'by advice';

	uncache($node, 't');
	$faults->set(no_cachestat => 1) if $mincore;
	my $before = disk_bytes();
	my ($cells, $bytes, $advice) =
	  split /\|/, probe("'t', '24MB', '20 s'", "count(reads), sum(bytes_read), count(*) FILTER (WHERE io_method = 'advice' AND NOT is_direct)");
	my $read = disk_bytes() - $before;
	$faults->clear if $mincore;

	cmp_ok($cells, '>', 3, "$label: figures");
	is($advice, $cells, "$label: through the page cache");
	cmp_ok($read, '>=', 0.9 * $bytes, "$label: all came from a disk") if $read > 0;
	cmp_ok($observer->query($cached), '<', 4 << 20, "$label: the page cache is left as it was");
}

# Of a table that is in the page cache, only blocks that are read, or read back, are dropped: the
# kernel is told to drop no others.  Whether it drops some by itself does not matter.
sub none_is_missing
{
	my ($label, $columns, $arguments, @fault) = @_;
	my ($rows, $missing, $read);

	ok( Session::poll("$label: blocks are dropped", sub {
			# Blocks that are read one by one, and not in their order, can be dropped one by one.
			open(my $fh, '<:raw', $path{t}) or die "could not open $path{t}: $!";
			for (my $block = (-s $path{t}) / BLCKSZ - 1; $block >= 0; $block--)
			{
				sysseek($fh, $block * BLCKSZ, 0);
				sysread($fh, my $data, BLCKSZ);
			}
			close $fh;
			$faults->set(file => $path{t}, from => 0, to => 1 << 40, @fault);
			$rows = probe($arguments, $columns);
			$missing = $faults->hits('nmissing');
			my $dropped = $faults->hits('ndropped');
			$faults->clear;
			return $dropped > 0;
		}),
		"$label: blocks are dropped");
	is($missing, 0, "$label: no other block than those read or read back");
	return $rows;
}

cmp_ok(none_is_missing('in the page cache', 'count(reads)', "'t', '24MB', '20 s'"), '>', 3, 'in the page cache: figures');

# What was dropped is read back if it is not read because of a limit, an error, or blocks that
# cannot be dropped.  It counts as read.
sub unread_comes_back
{
	my ($label, $mb, $time, @fault) = @_;

	ok( in_time(sub {
			my $read = disk_bytes();
			my $noted = none_is_missing($label, 'max(note) IS NOT NULL', "'t', '${mb}MB', '$time'", @fault);

			is($noted, 't', "$label: ended early");
			return disk_bytes() - $read <= 2 * ($mb << 20);
		}), "$label: no more is read back than may be read");
}

unread_comes_back('cached, time is over', 24, '300 ms', reads => 'slow', most => 20);
# What gives errors does not seem to be cached, and is chosen first; the rest of a cell is dropped.
unread_comes_back('cached, read error', 24, '20 s', reads => 'error', error => 5, from => 20 << 20, to => (20 << 20) + (512 << 10));

# mmap(2) keeps blocks in the page cache: here half of the table's.
SKIP:
{
	# mmap, munmap
	my %calls = (x86_64 => [ 9, 11 ], aarch64 => [ 222, 215 ]);
	my ($machine) = (POSIX::uname())[4];
	skip "mmap is not known on $machine", 3 if !$calls{$machine};
	my ($mmap, $munmap) = @{ $calls{$machine} };

	open(my $fh, '<:raw', $path{t}) or die "could not open $path{t}: $!";
	my $half = int((-s $path{t}) / 2 / BLCKSZ) * BLCKSZ;
	# PROT_READ, MAP_SHARED with MAP_POPULATE
	my $address = syscall($mmap, 0, $half, 1, 0x8001, fileno($fh), 0);
	skip 'nothing can be mapped', 3 if $address == -1;
	unread_comes_back('cached, blocks that stay', 4, '20 s');
	syscall($munmap, $address, $half);
	close $fh;
}

# A disk that answers one read at a time, each after 2 ms: depth makes no difference there, and that is said.
uncache($node, 't');
$faults->set(file => $path{t}, reads => 'slow', from => 0, to => 1 << 40, most => 2);
$s->query("CREATE TEMP TABLE one_at_a_time AS SELECT * FROM streamstat.io_probe('t', '200MB', '50 s')");
cmp_ok($faults->clear, '>', 100, 'one at a time: reads are slow');
my $not_clear = 'not clear within the limits of the probe; raise max_bytes or max_time';
like( $s->query("SELECT string_agg(DISTINCT reason, ', '), count(advised_value) FROM streamstat.io_advice() WHERE setting ~ 'concurrency'"),
	qr/^(no difference seen|$not_clear|no difference seen, $not_clear)\|0$/, 'one at a time: no difference seen')
  or diag($s->query('TABLE one_at_a_time; SELECT * FROM streamstat.io_advice()'));
is( $s->query("SELECT count(*) FROM one_at_a_time WHERE reads > 0 AND reads_per_second_low IS NULL"), 0, 'one at a time: figures have a spread');

# A disk of which a twentieth is slow: figures differ by chance, and mostly more than what counts.
my $unclear;
for (my $probes = 0; !$unclear && $probes < 20; $probes++)
{
	uncache($node, 't');
	$faults->set(file => $path{t}, reads => 'slow', from => 0, to => int((-s $path{t}) / 20), most => 20);
	my $note = probe("'t', '80MB', '50 s'", 'max(note)');
	$faults->clear;
	$unclear = $note eq 'a limit was reached before the figures were clear' &&
	  $s->query("SELECT count(*) FROM streamstat.io_advice() WHERE reason = '$not_clear' AND advised_value IS NULL");
}
ok($unclear, 'partly slow: more is asked for');
$s->query('RESET streamstat.io_method');
is($observer->query("SELECT count(*) FROM streamstat.stat_get_progress()"), 0, 'no progress is left');

# A disk that answers each read of a ring after 5 ms, however many there are: the deepest is best, and is advised
# where one at a time is what the server does now.
SKIP:
{
	skip 'no rings here', 4 if probe("'t', '8MB', '20 s'", "bool_or(is_direct)") ne 't';
	my $deepest = $most_in_flight < 64 ? $most_in_flight : 64;

	$s->query('ALTER TABLESPACE pg_default SET (effective_io_concurrency = 1)');
	$faults->set(file => $path{t}, reads => 'late', from => 0, to => 1 << 40, most => 5);
	$s->query("CREATE TEMP TABLE all_at_once AS SELECT * FROM streamstat.io_probe('t', '200MB', '50 s')");
	skip 'rings cannot be delayed here', 4 if $faults->clear < 100;
	is( $s->query("SELECT present_value, advised_value, loss_percent > 50, command FROM streamstat.io_advice() WHERE setting = 'effective_io_concurrency'"),
		"1|$deepest|t|ALTER TABLESPACE pg_default SET (effective_io_concurrency = $deepest)", 'all at once: the deepest is advised')
	  or diag($s->query('TABLE all_at_once; SELECT * FROM streamstat.io_advice()'));
	# A busy machine can make that unclear, never false.
	my $pays = $s->query("SELECT deeper_pays FROM all_at_once WHERE pattern = 'random' AND depth = 1");
	for (my $probes = 0; $pays eq '' && $probes < 20; $probes++)
	{
		$faults->set(file => $path{t}, reads => 'late', from => 0, to => 1 << 40, most => 5);
		$pays = $s->query("SELECT deeper_pays FROM streamstat.io_probe('t', '200MB', '50 s') WHERE pattern = 'random' AND depth = 1");
		$faults->clear;
	}
	is($pays, 't', 'all at once: deeper pays');
	$s->query("ALTER TABLESPACE pg_default SET (effective_io_concurrency = $deepest)");
	$faults->set(file => $path{t}, reads => 'late', from => 0, to => 1 << 40, most => 5);
	probe("'t', '200MB', '50 s'");
	$faults->clear;
	is($s->query("SELECT advised_value, command FROM streamstat.io_advice() WHERE setting = 'effective_io_concurrency'"), '|', 'all at once: not what is there');
	is($s->query("SELECT count(*) FROM streamstat.io_advice() WHERE setting ~ 'workers' AND advised_value::int > " . cpus()), 0, 'all at once: no more workers than CPUs');
	$s->query('ALTER TABLESPACE pg_default RESET (effective_io_concurrency)');
}

# Beside another session's query a call pauses, unless it has a rate.
{
	$observer->send_query('SELECT pg_sleep(600)');
	Session::poll('another session is active', sub {
		$s->query("SELECT count(*) FROM pg_stat_activity WHERE pid = $observer->{pid} AND wait_event = 'PgSleep'") > 0;
	});
	my $paused;
	my $free = probe("'t', '100MB', '2 s', '100GB'", 'coalesce(sum(elapsed_ms), 0)');
	ok( in_time(sub {
			$paused = probe("'t', '100MB', '2 s'", 'coalesce(sum(elapsed_ms), 0)');
			return $paused < 2000 * 0.1;
		}), 'beside others: it reads in little of its time') or diag("$paused ms");
	cmp_ok($free, '>', 0, 'beside others: not if it has a rate');
	$s->query("SELECT pg_cancel_backend($observer->{pid})");
	$observer->answer;
}

# ---------------------------------------------------------------------------
# Tablespaces

is(probe("NULL, '8MB', '20 s'", "string_agg(DISTINCT tablespace_name || ' ' || relation, ', ' ORDER BY tablespace_name || ' ' || relation)"),
	'an other u, pg_default t', 'the largest relation of each tablespace');
cmp_ok(probe("NULL, '8MB', '20 s'", "coalesce(sum(bytes_read) FILTER (WHERE relation = 't'::regclass), 0)"),
	'<=', 4 << 20, 'the first one leaves the other its bytes');
$observer->query('BEGIN; LOCK TABLE t');
is(probe("NULL, '8MB', '2 s'", "string_agg(DISTINCT relation::text, ', ' ORDER BY relation::text)"),
	'second, u', 'or one that nobody has locked');
$observer->query('ROLLBACK');

$s->query('ALTER TABLESPACE "an other" SET (effective_io_concurrency = 7)');
my $present = 7 < $most_in_flight ? 7 : $most_in_flight;
probe("'u', '32MB', '10 s'");
is($s->query("SELECT tablespace_name, present_value FROM streamstat.io_advice() WHERE setting = 'effective_io_concurrency'"),
	'an other|7', "advice: the tablespace's own value, and its name");
is( probe("'u', '32MB', '10 s'", "count(*) FILTER (WHERE depth = $present AND pattern = 'random') > 0"),
	't', 'advice: the present value is measured');
foreach my $command (split /\n/, $s->query("SELECT command FROM streamstat.io_advice() WHERE command ~ 'TABLESPACE'"))
{
	$s->query($command);
	is($s->{err}, '', $command);
}

$s->query('ALTER TABLESPACE "an other" RESET (effective_io_concurrency, maintenance_io_concurrency)');

SKIP:
{
	my $dir = eval { tempdir('streamstat-XXXXXX', DIR => '/dev/shm', CLEANUP => 1) };
	skip 'no /dev/shm', 2 if !$dir || `stat -f -c %T $dir` !~ /tmpfs/;

	$s->query("CREATE TABLESPACE shm LOCATION '$dir'");
	$s->query('CREATE TABLE m TABLESPACE shm AS TABLE u');
	$s->query('CHECKPOINT');
	like(probe("'m', '8MB', '5 s'", 'count(reads), max(note)'),
		qr/^0\|the files are in memory/, 'tmpfs: a note');
	is($s->query('SELECT count(*) FROM streamstat.io_advice()'), 0, 'tmpfs: no advice');
	$s->query('DROP TABLE m');
	$s->query('DROP TABLESPACE shm');
	is($s->{err}, '', 'tmpfs: nothing is left open');
}

# Blocks that were never written are on no disk.
$s->query("SELECT 1 FROM holes");
truncate($path{holes}, 2000 * BLCKSZ) or die "could not extend $path{holes}: $!";
$s->end;
$s = Session->new($node);
like(probe("'holes', '8MB', '5 s'", 'count(reads), max(note)'), qr/^0\|less than 8 MB of the file has been written/, 'holes: a note');

# ---------------------------------------------------------------------------
# Cancel, and other sessions

# Wait until it probes a relation, then so many milliseconds.
sub while_probing
{
	my ($what, $relation, $ms) = @_;

	Session::poll($what, sub {
		!$s->busy || $observer->query(
			"SELECT count(*) FROM streamstat.stat_progress WHERE pid = $s->{pid} AND function = 'io_probe' AND phase = 'probing' AND relid = '$relation'::regclass AND bytes_done > 0"
		) > 0;
	});
	Time::HiRes::usleep(1000 * $ms);
}

my $fds;
foreach my $ms (0, 20, 150, 400, 900, 1500)
{
	$fds //= scalar(my @fds = glob("/proc/$s->{pid}/fd/*"));
	ok( in_time(sub {
			$s->send_query("SELECT count(*) FROM streamstat.io_probe('t', '1TB', '5 min', '5MB')");
			while_probing("cancel after $ms ms", 't', $ms);
			my $begin = Time::HiRes::time();
			$observer->query("SELECT pg_cancel_backend($s->{pid})");
			$s->answer;
			return $s->{err} =~ /57014/ && Time::HiRes::time() - $begin < 60;
		}), "cancel after $ms ms: at once");
	like($s->{err}, qr/57014.*canceling statement due to user request/s, "cancel after $ms ms: canceled");
	is($s->rings, 0, "cancel after $ms ms: no ring is left");
	cmp_ok(scalar(my @left = glob("/proc/$s->{pid}/fd/*")), '<=', $fds + 15, "cancel after $ms ms: no file is left open");
	is($observer->query("SELECT count(*) FROM pg_locks WHERE pid = $s->{pid} AND relation >= 16384"),
		0, "cancel after $ms ms: no lock is left");
	is($observer->query('SELECT count(*) FROM streamstat.stat_get_progress()'), 0, "cancel after $ms ms: no progress is left");
}
cmp_ok($s->query('SELECT count(*) FROM streamstat.io_advice()'), '>', 0, 'what was canceled has left its figures');

foreach my $command ('DROP TABLE dropped', 'TRUNCATE second')
{
	my ($table) = $command =~ /(\w+)$/;

	$s->send_query("SELECT count(*) FROM streamstat.io_probe('$table', '1TB', '5 min', '5MB')");
	while_probing($command, $table, 100);
	$observer->query($command);
	is($observer->{err}, '', "$command: does not wait for long");
	$s->answer;
	like($s->{err}, qr/55P03: .*lock request on relation "$table"/, "$command: the probe ends");
	is($s->rings, 0, "$command: no ring is left");
}
like(probe("'second'", 'max(note)'), qr/smaller than 8 MB/, 'an empty table has a note');

# ---------------------------------------------------------------------------
# A bad disk

foreach my $case ([ 'error', qr/^could not read block.*Input\/output error$/ ],
	[ 'end', qr/^could not read block.*read only \d+ of/ ])
{
	my ($kind, $expected) = @$case;

	uncache($node, 't');
	$faults->set(file => $path{t}, reads => $kind, from => 0, to => 1 << 40, error => 5);
	like(probe("NULL, '32MB', '20 s'", "string_agg(note, ', ') FILTER (WHERE relation = 't'::regclass)"), $expected, "$kind: the server's error is a note");
	is($s->{err}, '', "$kind: ... and none of the call");
	is($s->query("SELECT count(*) FROM pg_locks WHERE pid = $s->{pid} AND relation >= 16384"), 0, "$kind: no lock is left");
	cmp_ok($faults->clear, '>', 0, "$kind: there were faults");
	is($s->rings, 0, "$kind: no ring is left");
	cmp_ok((split /\|/, probe("'t', '4MB', '5 s'"))[0], '>', 0, "$kind: the next probe");
}

# Nobody looks at the pages.
my $good = slurp_file($path{u});
my $bad = $good;
substr($bad, $_ * BLCKSZ + PD_UPPER, 2) = pack('S', 1) foreach 1 .. length($bad) / BLCKSZ - 1;
foreach my $content ($bad, $good)
{
	open(my $fh, '+<:raw', $path{u}) or die "could not open $path{u}: $!";
	print $fh $content;
	close $fh;
	uncache($node, 'u');
	is(probe("'u', '16MB', '20 s'", 'count(reads) > 3'), 't', 'corrupt pages: figures') if $content eq $bad;
}

# rings that cannot be made, that take nothing, and short reads
my $by_ring = "count(*) FILTER (WHERE io_method = 'io_uring') > 0, count(*) FILTER (WHERE io_method = 'advice') > 0";
uncache($node, 't');
SKIP:
{
	skip 'no rings here', 2 if probe("'t', '32MB', '20 s'", $by_ring) ne 't|f';
	$faults->set(setups => 12);
	is(probe("'t', '32MB', '20 s'", $by_ring), 'f|t', 'no memory for a ring: through the page cache');
	cmp_ok($faults->clear, '>', 0, 'no memory for a ring: it was so');
}
SKIP:
{
	skip 'the server takes such a read for the end', 2
	  if $node->safe_psql('postgres', 'SHOW server_version_num') >= 180000;
	$faults->set(file => $path{t}, reads => 'short', from => 0, to => 1 << 40, most => 4096);
	like(probe("'t', '4MB', '20 s'"), qr/^[1-9]/, 'short reads: figures');
	cmp_ok($faults->clear, '>', 0, 'short reads: there were some');
}

# ---------------------------------------------------------------------------
# Nothing grows.

$s->end;
$s = Session->new($node);
my ($memory, $descriptors);
foreach my $i (1 .. 12)
{
	probe("NULL, '2MB', '1 s'");
	$s->query('SELECT streamstat.io_advice()');
	next if $i < 4;
	my $now = $s->query("SELECT sum(total_bytes) FROM pg_backend_memory_contexts WHERE name IN ('TopMemoryContext', 'streamstat probe', 'CacheMemoryContext')");
	my $open = scalar(my @fds = glob("/proc/$s->{pid}/fd/*"));
	$memory //= $now;
	$descriptors //= $open;
	if ($i == 12)
	{
		cmp_ok($now, '<=', $memory + 100_000, 'memory: the session keeps one probe');
		cmp_ok($open, '<=', $descriptors + 2, 'descriptors: no more than before');
	}
}

$s->end;
$observer->end;
stop_clean($node);
done_testing();
