
# Copyright (c) 2026, streamstat contributors

# io_probe keeps its limits, reads disks and not caches, and leaves nothing behind,
# whatever ends it: a cancel, other sessions, a bad disk.  faults.c makes the disk bad.

use strict;
use warnings;

use File::Temp qw(tempdir);
use FindBin;
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

# What the process has had read from disks; 0 where the kernel does not count that, or
# where processes of the server read for it
my $has_workers = $node->safe_psql('postgres',
	"SELECT current_setting('io_method', true) IS NOT DISTINCT FROM 'worker'") eq 't';

sub disk_bytes
{
	return 0 if $has_workers;
	return slurp_file("/proc/$s->{pid}/io") =~ /^read_bytes: (\d+)/m ? $1 : 0;
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
is(probe("'t', '1MB', '20 s'", 'max(note)'), 'a limit was reached before all measurements were made', '1 MB: told');

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

# What was not cached is not cached after that: no more than the last reads of a curve.
# The reads of a stream of the server are by the kernel's own read-ahead, which can be large.
SKIP:
{
	skip 'the server has a stream', 1 if $node->safe_psql('postgres', 'SHOW server_version_num') >= 170000;
	uncache($node, 't');
	probe("'t', '24MB', '20 s'");
	cmp_ok($observer->query("SELECT page_cache_bytes FROM streamstat.cache_summary() WHERE relation_name = 't' AND fork = 'main'"),
		'<', 4 << 20, 'the page cache is left as it was');
}
is($observer->query("SELECT count(*) FROM streamstat.stat_get_progress()"), 0, 'no progress is left');

# Without cachestat(2), mincore(2) tells.
$faults->set(no_cachestat => 1);
$s->query("SELECT streamstat.pg_prewarm('t', 'read')");
{
	my $before = disk_bytes();
	my ($cells, $rows, $bytes, $advice) =
	  split /\|/, probe("'t', '16MB', '20 s'", "count(reads), count(*), sum(bytes_read), count(*) FILTER (WHERE io_method = 'advice')");
	my $read = disk_bytes() - $before;

	cmp_ok($advice, '>', 0, 'mincore: figures by the page cache');
	cmp_ok($read, '>=', 0.9 * $bytes, 'mincore: all came from a disk') if $read > 0;
}
$faults->clear;

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
my $advice = "SELECT tablespace_name, present_value, command ~ '^ALTER TABLESPACE \"an other\" SET \\(effective_io_concurrency = \\d+\\)\$' FROM streamstat.io_advice() WHERE setting = 'effective_io_concurrency'";
probe("'u', '8MB', '10 s'");
like($s->query($advice), qr/^an other\|7\|t?$/, "advice: the tablespace's own value, and its name");
is( probe("'u', '8MB', '10 s'", "count(*) FILTER (WHERE depth = 7 AND pattern = 'random') > 0"),
	't', 'advice: the present value is measured');
foreach my $command (split /\n/, $s->query("SELECT command FROM streamstat.io_advice() WHERE command ~ 'TABLESPACE'"))
{
	$s->query($command);
	is($s->{err}, '', $command);
}

# Where the tablespace sets a depth, the server's stream can be tried with that one only.
# The loss is that by advice, of which there are several depths.
$s->query('ALTER TABLESPACE "an other" SET (effective_io_concurrency = 1, maintenance_io_concurrency = 1)');
$s->query("CREATE TEMP TABLE cells AS SELECT * FROM streamstat.io_probe('u', '64MB', '20 s')");
is( $s->query(q(
SELECT bool_or(setting = 'effective_io_concurrency'), bool_and(abs(loss_percent - greatest(100 - 100 * here / best, 0)) < 1e-6)
	FROM streamstat.io_advice() JOIN (SELECT pattern, max(bytes_per_second) AS best, max(bytes_per_second) FILTER (WHERE depth = 1) AS here
		FROM cells WHERE io_method = 'advice' AND request_bytes = CASE pattern WHEN 'random' THEN 8192 ELSE 131072 END
		GROUP BY pattern HAVING count(DISTINCT depth) > 1) c USING (pattern) WHERE setting ~ 'io_concurrency')),
	't|t', 'advice: what a depth of 1 that the tablespace sets costs')
  or diag($s->query('TABLE cells; SELECT * FROM streamstat.io_advice()'));
is($s->query("SELECT count(*) FROM streamstat.io_advice() a, streamstat.io_advice() b WHERE a.setting = 'io_min_workers' AND b.setting = 'io_max_workers' AND a.advised_value::int > b.advised_value::int"),
	0, 'no more workers are kept than there can be');
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
			$s->send_query("SELECT count(*) FROM streamstat.io_probe('t', '1TB', '5 min')");
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

	$s->send_query("SELECT count(*) FROM streamstat.io_probe('$table', '1TB', '5 min')");
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

# Corrupt pages, which only the server's stream notices
my $good = slurp_file($path{u});
my $bad = $good;
substr($bad, $_ * BLCKSZ + PD_UPPER, 2) = pack('S', 1) foreach 1 .. length($bad) / BLCKSZ - 1;
foreach my $content ($bad, $good)
{
	open(my $fh, '+<:raw', $path{u}) or die "could not open $path{u}: $!";
	print $fh $content;
	close $fh;
	uncache($node, 'u');
	my ($u, $t, $note) = split /\|/, probe("NULL, '16MB', '20 s'",
		"count(reads) FILTER (WHERE relation = 'u'::regclass) > 0, count(reads) FILTER (WHERE relation = 't'::regclass) > 0, max(note) FILTER (WHERE relation = 'u'::regclass AND note ~ 'page')");
	is($s->{err}, '', 'corrupt pages: no error of the call');
	is($t, 't', 'corrupt pages: figures of another relation');
	if ($content eq $bad && $node->safe_psql('postgres', 'SHOW server_version_num') >= 170000)
	{
		like($note, qr/^(?:invalid page in block \d+|\d+ invalid pages among blocks \d+\.\.\d+) of relation/, 'corrupt pages: a note');
	}
	else
	{
		is($u, 't', 'no corrupt pages, or no stream: figures');
	}
}

# rings that cannot be made, that take nothing, and short reads
my $by_ring = "count(*) FILTER (WHERE io_method = 'io_uring') > 0, count(*) FILTER (WHERE io_method = 'sync') > 0";
my $have_rings = probe("'t', '32MB', '20 s'", $by_ring);
SKIP:
{
	skip 'no rings here', 4 if $have_rings ne 't|t';
	my ($figures, $refused);

	# On a busy machine a probe may not come to the rings.
	foreach (1 .. 5)
	{
		$faults->set(setups => 12);
		$figures = probe("'t', '32MB', '20 s'", $by_ring);
		$refused = $faults->clear;
		last if $refused && $figures eq 'f|t';
	}
	is($figures, 'f|t', 'no memory for a ring: the other methods');
	cmp_ok($refused, '>', 0, 'no memory for a ring: it was so');
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
