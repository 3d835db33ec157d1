
# Copyright (c) 2026, streamstat contributors

# Reading relation files that are not in the page cache: by io_uring where there
# is one, else by plain reads; and that nothing of it stays behind.
#
# The kernel's permissions are taken away by seccomp filters, which this process
# puts on itself and the servers that it starts later inherit.

use strict;
use warnings;

use FindBin;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes ();

use lib "$FindBin::RealBin/lib";
use Container;
use Node;
use PageCache;
use Pages;
use Session;

my $n_cancels = 12;

plan skip_all => 'this is not Linux' if $^O ne 'linux';

plan skip_all => 'the system calls of this machine are not known'
  if !known_machine();

my $node = new_node('io_uring', q(
shared_buffers = 8MB
maintenance_work_mem = 256MB
max_wal_size = 4GB
max_worker_processes = 8
log_statement = none
));

# Fat rows and low fillfactors make many pages of little data.  The hash index
# gets its size from what it is told of the table's.
$node->safe_psql('postgres', <<'SQL');
SET max_parallel_maintenance_workers = 0;
BEGIN;
CREATE TABLE big (k int, s text COLLATE "C") WITH (fillfactor = 10);
ALTER TABLE big ALTER s SET STORAGE PLAIN;
INSERT INTO big SELECT i, lpad(i::text, 360, 'x') FROM generate_series(1, 84000) i;
CREATE INDEX big_btree ON big (s) WITH (fillfactor = 10);
CREATE TABLE small (k int, s text COLLATE "C") WITH (fillfactor = 10);
ALTER TABLE small ALTER s SET STORAGE PLAIN;
INSERT INTO small SELECT i, lpad(i::text, 360, 'x') FROM generate_series(1, 6000) i;
COMMIT;
UPDATE pg_class SET reltuples = 400000, relpages = pg_relation_size('small') / current_setting('block_size')::int
	WHERE relname = 'small';
CREATE INDEX small_hash ON small USING hash (k) WITH (fillfactor = 10);
CHECKPOINT;

CREATE FUNCTION open_files() RETURNS bigint LANGUAGE sql AS
$$
SELECT count(*) FROM pg_ls_dir('/proc/' || pg_backend_pid() || '/fd')
$$;

-- Scan until a number of cancels was caught, and note how many files are open
-- after that, at most.
CREATE SEQUENCE caught MINVALUE 0 START 0;
CREATE SEQUENCE most_files MINVALUE 0 START 0;
CREATE FUNCTION catch(wanted int) RETURNS void LANGUAGE plpgsql AS
$$
DECLARE
	r record;
	until timestamptz := clock_timestamp() + interval '20 s';
BEGIN
	WHILE (SELECT last_value FROM caught) < wanted AND clock_timestamp() < until LOOP
		BEGIN
			LOOP
				PERFORM streamstat.sample_stats('big', 1000000);
				r := streamstat.btree_stats('big_btree');
				PERFORM streamstat.pgstatindex('big_btree');
			END LOOP;
		EXCEPTION WHEN query_canceled THEN
			PERFORM nextval('caught');
			PERFORM setval('most_files', greatest(open_files(), last_value)) FROM most_files;
		END;
	END LOOP;
END
$$;
SQL

my %file = split /[|\n]/, $node->safe_psql('postgres',
	"SELECT relname, pg_relation_filepath(oid) FROM pg_class WHERE relname IN ('big', 'big_btree', 'small', 'small_hash')"
);
my %blocks = map { $_ => (-s $node->data_dir . "/$file{$_}") / BLCKSZ } keys %file;

my @files = map { $node->data_dir . "/$file{$_}" } sort keys %file;

# ---------------------------------------------------------------------------
# What there is to be had

# Is there io_uring in the library?
my $library = $node->config_data('--pkglibdir') . '/streamstat.so';
my $built_in = slurp_file($library) =~ /io_uring_queue_init/;

# Can data be read from the page cache without waiting for what is not there?
sub have_nowait
{
	my $page = "\0" x BLCKSZ;
	my $iov = pack('PQ', $page, BLCKSZ);

	open(my $fh, '<', $files[0]) or die;
	sysread($fh, my $first, BLCKSZ);
	return syscall(system_call('preadv2'), fileno($fh), $iov, 1, 0, 0, 8) == BLCKSZ;
}

# ---------------------------------------------------------------------------
# Each way to the pages gives what the buffer manager gives.

my @calls = (
	[ "btree_stats('big_btree')", $blocks{big_btree} ],
	[ "sample_stats('big', 3000, seed => 5)", 3000 ],
	[ "hash_stats('small_hash')", $blocks{small_hash} ]);
my %expected;

my $s = Session->new($node);
my $cold = drop_files(@files);
$s->query(
	"SET streamstat.io_method = sync; SELECT * FROM streamstat.btree_stats('big_btree')"
);
if (!$cold
	|| $s->query('SELECT io_method FROM streamstat.stream_stats()') ne 'sync')
{
	$node->stop;
	plan skip_all => 'the page cache cannot be emptied here';
}

$s->query('SET streamstat.io_path = buffer');
foreach my $case (@calls)
{
	my ($call) = @$case;

	$expected{$call} = $s->query("SELECT * FROM streamstat.$call");
	like($expected{$call}, qr/\d\|/, "$call: through buffers");
}
$s->end;

sub check_reads
{
	my ($machine) = @_;
	my $uring = $built_in && have_io_uring();
	my $nowait = have_nowait();

	note "$machine: io_uring: "
	  . ($uring ? 'yes' : 'no')
	  . ", reads without waiting: "
	  . ($nowait ? 'yes' : 'no');

	$s = Session->new($node);
	foreach my $method ('auto', 'io_uring', 'sync')
	{
		my $used = $uring && $method ne 'sync' ? 'io_uring' : 'sync';
		my $nused = 0;

		$s->query("SET streamstat.io_method = $method");
		foreach my $case (@calls)
		{
			my ($call, $blocks) = @$case;
			my $label = "$machine, $method, $call";

			foreach my $n ($method eq 'auto' ? (0, 2) : 0)
			{
				$s->query("SET streamstat.max_workers = $n");
				drop_files(@files);
				is( $s->query("SELECT * FROM streamstat.$call"),
					$expected{$call}, "$label, $n workers: rows");
				is($s->{err}, '', "$label, $n workers: no warning");
				my ($reader, $stats) = split /\|/, $s->query(
					'SELECT io_method, blocks_requested, blocks_hit + blocks_private = blocks_requested, workers FROM streamstat.stream_stats()'
				), 2;
				is($stats, "$blocks|t|" . ($blocks > 24576 ? $n : 0),
					"$label, $n workers: stream_stats");
				like($reader, qr/^($used)?$/, "$label, $n workers: io_method");
				$nused++ if $reader eq $used;
				is($s->rings, 0, "$label, $n workers: no ring is left");
			}
		}

		# While we wait for the CPU, the kernel may read all of a file ahead, but not of a sample.
		cmp_ok($nused, '>', 0, "$machine, $method: reads were waited for");

		# again, from the page cache; what is mapped is not read
		$s->query('SET streamstat.map_files = off') if !$nowait;
		my $wanted = "$expected{\"hash_stats('small_hash')\"}\n" . ($nowait ? 'none' : $used);
		my $answer = cached($s, "$machine, $method", sub {
			return $s->query(
				"SELECT * FROM streamstat.hash_stats('small_hash'); SELECT coalesce(io_method, 'none') FROM streamstat.stream_stats()"
			);
		});
		is($answer, $wanted, "$machine, $method: cached");
		$s->query('RESET streamstat.map_files');
	}
}

check_reads('as it is');

# ---------------------------------------------------------------------------
# Memory stays within bounds, whatever the size.

$s->end;
foreach my $method ('io_uring', 'sync')
{
	$s = Session->new($node);
	$s->query(
		"SET streamstat.io_method = $method; SET streamstat.max_workers = 0; SET streamstat.io_concurrency = 1000"
	);
	drop_files(@files);
	$s->query("SELECT * FROM streamstat.sample_stats('small', 1000000)");
	my $small = $s->memory('RssAnon');

	# from here on, the most that is in use
	open(my $fh, '>', "/proc/$s->{pid}/clear_refs") or die;
	print $fh "5\n";
	close $fh;
	my $before = $s->memory('VmHWM');

	drop_files(@files);
	$s->query("SELECT * FROM streamstat.sample_stats('big', 1000000)");
	is($s->{err}, '', "$method: no error");
	cmp_ok($s->memory('RssAnon') - $small,
		'<', 4096, "$method: memory of the big one is given back");

	# 16 MB for all reads, and shared buffers that were not touched before
	cmp_ok($s->memory('VmHWM') - $before,
		'<', 30 * 1024, "$method: memory of the big one is bounded");
	$s->end;
}

# ---------------------------------------------------------------------------
# Cancels, at random moments of cold scans

$s = Session->new($node);
my $files = $s->query(
	"SET streamstat.max_workers = 0; SELECT count(*) < 0 FROM streamstat.hash_stats('small_hash'); SELECT open_files()"
) =~ s/^f\n//r;
my ($canceled, $left) = (0, 0);
foreach my $i (1 .. $n_cancels)
{
	my $call = $i % 2 ? 'btree_stats' : 'pgstatindex';

	$s->query('SET streamstat.max_workers = ' . ($i % 3 == 0 ? 1 : 0));
	drop_files(@files);
	$s->query('SET statement_timeout = '
		  . int(1 + rand(60))
		  . "; SELECT * FROM streamstat.$call('big_btree')");
	$canceled++ if $s->{err} =~ /ERROR:  57014: /;
	$left++ if $s->rings > 0;

	# That may be timed out as well.
	do
	{
		$s->query('RESET statement_timeout');
	} while ($s->{err} =~ /57014/);
}
cmp_ok($canceled, '>=', $n_cancels / 2, 'statement_timeout: most were canceled');
is($left, 0, 'statement_timeout: no ring is left');
cmp_ok($s->query('SELECT open_files()'),
	'<=', $files + 5, 'statement_timeout: no file is left open');

# caught, in one transaction, one after the other
my $canceler = Session->new($node);
my $memory = $s->memory('RssAnon');
my ($most_rings, $most_memory) = (0, 0);
my $errors = '';
my $caught = 0;
$s->query('SET streamstat.max_workers = 0');
while ($caught < $n_cancels && $errors !~ /ERROR:  (?!57014)/)
{
	$s->send_query("SELECT catch($n_cancels)");
	while ($s->busy)
	{
		drop_files(@files);
		Time::HiRes::usleep(rand(60_000));
		my $rings = $s->rings;

		$canceler->query("SELECT pg_cancel_backend($s->{pid})");
		$most_rings = $rings if $rings > $most_rings;
		$most_memory = $s->memory('RssAnon')
		  if $s->memory('RssAnon') > $most_memory;
	}
	$s->answer;
	$errors .= $s->{err};
	$caught = $canceler->query('SELECT last_value FROM caught');
}
cmp_ok($caught, '>=', $n_cancels, 'pg_cancel_backend: were caught');
unlike($errors, qr/ERROR:  (?!57014)/, 'pg_cancel_backend: no other error');

# files of relations and catalogs that the server keeps open are few
cmp_ok($canceler->query('SELECT last_value FROM most_files'),
	'<=', $files + 15, 'pg_cancel_backend: no file is left open');
is( $most_rings,
	$built_in && have_io_uring() ? 1 : 0,
	'pg_cancel_backend: never more than one ring');
cmp_ok($most_memory - $memory,
	'<', 10 * 1024, 'pg_cancel_backend: memory does not pile up');
$canceler->end;
$s->query('SELECT pg_sleep(0.1)');
is($s->rings, 0, 'pg_cancel_backend: no ring is left');
drop_files(@files);
is( $s->query("SELECT * FROM streamstat.btree_stats('big_btree')"),
	$expected{"btree_stats('big_btree')"},
	'pg_cancel_backend: the next call');
$s->end;

# ---------------------------------------------------------------------------
# Errors, with reads in flight: of the buffer manager, and of the drop-in

my @damage = (
	[ 'big_btree', 20000 * BLCKSZ + 12, "\xff\xff\xff\xff" ],
	[ 'small_hash', 3001 * BLCKSZ - 4, pack('S', 3) ]);

# Put the bytes of @damage into the files, and what is there now into @damage.
sub swap_damage
{
	$node->stop;
	foreach my $damage (@damage)
	{
		my ($relation, $offset, $bytes) = @$damage;

		open(my $fh, '+<', $node->data_dir . "/$file{$relation}") or die;
		binmode $fh;
		sysseek($fh, $offset, 0) or die;
		sysread($fh, $damage->[2], length($bytes)) or die;
		sysseek($fh, $offset, 0) or die;
		syswrite($fh, $bytes) or die;
		close $fh;
	}
	system_or_bail('sync', @files);
	$node->start;
}

swap_damage();
$s = Session->new($node);
foreach my $case (
	[ "pgstatindex('big_btree')", qr/XX001: invalid page in block 20000 of/ ],
	[
		"pgstathashindex('small_hash')",
		qr/XX00[12]: .*block 3000\b/
	])
{
	my ($call, $error) = @$case;

	foreach my $n (0, 1)
	{
		$s->query("SET streamstat.max_workers = $n");
		drop_files(@files);
		$s->query("SELECT * FROM streamstat.$call");
		like($s->{err}, $error, "$call, $n workers: error");
		is($s->rings, 0, "$call, $n workers: no ring is left");
	}
}

# our own function goes on; the kernel may read the file ahead while we wait for the CPU
my ($first_corrupt, $reader) = ('', '');
foreach (1 .. 10)
{
	drop_files(@files);
	$first_corrupt = $s->query("SELECT first_corrupt_block FROM streamstat.btree_stats('big_btree')");
	$reader = $s->query('SELECT io_method FROM streamstat.stream_stats()');
	last if $first_corrupt ne '20000' || $reader ne '';
}
is($first_corrupt, 20000, 'damaged page: is counted');
like($reader, qr/^(io_uring|sync)$/, 'damaged page: in a cold file');
is($s->rings, 0, 'damaged page: no ring is left');
$s->end;
swap_damage();

# ---------------------------------------------------------------------------
# Without the kernel's permission

foreach my $case (
	[ 'io_uring_setup', 1, 'without io_uring' ],
	[ 'preadv2', 38, 'without reads that do not wait' ])
{
	my ($name, $errno, $machine) = @$case;

  SKIP:
	{
		skip "seccomp filters cannot be set here", 1 if !forbid($errno, $name);

		$node->restart;
		ok( $name eq 'preadv2' ? !have_nowait() : !have_io_uring(),
			"$machine: the kernel refuses");
		check_reads($machine);
		$s->end;
	}
}

stop_clean($node);
done_testing();
