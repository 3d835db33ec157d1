
# Copyright (c) 2026, streamstat contributors

# What containers take away: io_uring and cachestat by a seccomp filter, memory that may
# be locked, a root that can be written to, /proc.  Everything works, with the same
# results, and stream_stats says how blocks were read.
#
# t/014_io_uring.pl has other ways in which rings are refused, and cancels without them;
# t/024_open_errors.pl errors that come and go.

use strict;
use warnings;

use Errno qw(EPERM ENOSYS);
use FindBin;
use PostgreSQL::Test::Utils;
use Test::More;

use lib "$FindBin::RealBin/lib";
use Container;
use Extra 'containers';
use Node;
use Pages;
use Session;

plan skip_all => 'this is not Linux' if $^O ne 'linux';
plan skip_all => 'the system calls of this machine are not known' if !known_machine();

my $node = new_node('container', q(
shared_buffers = 8MB
maintenance_work_mem = 64MB
max_worker_processes = 8
jit = off
));
my $built_in = slurp_file($node->config_data('--pkglibdir') . '/streamstat.so') =~ /io_uring_queue_init/;

# Low fillfactors make many pages of little data.  The table is large enough for
# workers.
$node->safe_psql('postgres', <<'SQL');
SET max_parallel_maintenance_workers = 0;
BEGIN;
CREATE TABLE t (k int, s text) WITH (fillfactor = 10);
ALTER TABLE t ALTER s SET STORAGE PLAIN;
INSERT INTO t SELECT i, lpad(i::text, 360, 'x') FROM generate_series(1, 52000) i;
CREATE INDEX b ON t (k) WITH (fillfactor = 10);
CREATE INDEX h ON t USING hash (k) WITH (fillfactor = 10);
COMMIT;
DELETE FROM t WHERE k % 5 = 0;
VACUUM (FREEZE) t;
CHECKPOINT;
SQL

# Calls that read blocks, and whether by workers, too
my %calls = (
	"table_stats('t')" => 1,
	"btree_stats('b')" => 0,
	"pgstathashindex('h')" => 0,
	"sample_stats('t', 2000, seed => 3)" => 0,
	"bloat('b', 1000, seed => 3)" => 0);
my @calls = sort keys %calls;

# of everything else that looks at files or at the machine
my @others = (
	"SELECT fork, bytes, page_cache_bytes <= bytes FROM streamstat.cache_summary() WHERE relation_name = 't' ORDER BY fork",
	"SELECT streamstat.pg_prewarm('b', 'read'), streamstat.pg_prewarm('b', 'buffer')",
	"SELECT count(*) FROM streamstat.corrupt_blocks('t')",
	"SELECT kind, bytes FROM streamstat.database_report(budget => '10MB', seed => 1) WHERE relation_name = 't'"
);
my %expected;

# Note what all calls return when blocks are read through buffers.
sub expect
{
	my $s = Session->new($node);

	$s->query('SET streamstat.io_path = buffer');
	$expected{$_} = $s->query("SELECT * FROM streamstat.$_") foreach @calls;
	like($expected{$_}, qr/\d\|/, "$_: through buffers") foreach @calls;
	$s->query('RESET streamstat.io_path');
	foreach (@others)
	{
		$expected{$_} = $s->query($_);
		is($s->{err}, '', "$_: works");
	}
	$s->end;
}

# The rows of a call on relations that are not in the page cache, errors and warnings, and
# how blocks were read.  The kernel may keep some pages; then it is asked again.
sub cold_call
{
	my ($s, $call) = @_;
	my ($rows, $error, $used);

	foreach (1 .. 10)
	{
		uncache($node, 't', 'b', 'h');
		$rows = $s->query("SELECT * FROM streamstat.$call");
		$error = $s->{err};
		$used = $s->query('SELECT io_method FROM streamstat.stream_stats()');
		last if $used ne '';
	}
	return ($rows, $error, $used);
}

# The same on the server as it is now: blocks that are nowhere in memory are read by
# a method that matches.
sub check_calls
{
	my ($where, $method) = @_;
	my $s = Session->new($node);

	foreach my $call (@calls)
	{
		foreach my $workers ($calls{$call} ? (0, 2) : 0)
		{
			my $label = "$where, $call, $workers workers";

			$s->query("SET streamstat.max_workers = $workers");
			my ($rows, $error, $used) = cold_call($s, $call);
			is($rows, $expected{$call}, "$label: rows");
			is($error, '', "$label: no error, no warning");
			like($used, qr/^(?:$method)$/, "$label: stream_stats says $method");
		}
		is($s->query("SELECT * FROM streamstat.$call"), $expected{$call}, "$where, $call: cached");
	}
	is($s->rings, 0, "$where: no ring is left");

	foreach (@others)
	{
		is($s->query($_), $expected{$_}, "$where: $_");
		is($s->{err}, '', "$where: no error, no warning");
	}

	# io_probe has no figures of rings that it could not have
	$s->query("CREATE TEMP TABLE p AS SELECT * FROM streamstat.io_probe('t', max_bytes => '32MB', max_time => '2 s')");
	is($s->{err}, '', "$where: io_probe works");
	is($s->query("SELECT count(*) FROM p WHERE io_method = 'io_uring' AND reads > 0"), 0, "$where: io_probe says so, too")
	  if $method eq 'sync';
	$s->end;
}

# Start the server inside, look at it, and stop it.
sub check_inside
{
	my ($where, $method, $enter, $look) = @_;

  SKIP:
	{
		skip "$where: this machine does not permit it", 1 if !start_inside($node, $enter);
		$look->() if $look;
		check_calls($where, $method);
		$node->stop;
	}
}

expect();
$node->stop;

my $usual = $built_in && have_io_uring() ? 'io_uring' : 'sync';

{
	# Can the page cache be emptied here?  Else all would be found there.
	$node->start;
	my $s = Session->new($node);
	my $method = (cold_call($s, "btree_stats('b')"))[2];
	$s->end;
	$node->stop;
	plan skip_all => 'the page cache cannot be emptied here' if $method eq '';
	is($method, $usual, 'as it is');
}

# ---------------------------------------------------------------------------
# seccomp: Docker's and containerd's profiles answer EPERM, others ENOSYS

my @forbidden = qw(io_uring_setup io_uring_enter io_uring_register cachestat);

foreach ([ EPERM, 'EPERM' ], [ ENOSYS, 'ENOSYS' ])
{
	my ($errno, $name) = @$_;

	check_inside("seccomp, $name", 'sync', sub { forbid($errno, @forbidden) });
}

# Without an errno, systemd's SystemCallFilter ends the process.  Settings turn off all calls
# of these.
$node->append_conf('postgresql.conf', "streamstat.io_method = sync\nstreamstat.map_files = off\n");
check_inside('seccomp that kills', 'sync', sub { forbid(undef, @forbidden) });
$node->append_conf('postgresql.conf', "streamstat.io_method = auto\nstreamstat.map_files = on\n");

# ---------------------------------------------------------------------------
# Little memory may be locked.  Kernels before 5.12 count all of a ring as locked, some
# newer ones (6.18) a part of it.  What other processes of the user have locked counts, too, so
# that a ring can be had at one moment and not at the next one.

foreach my $bytes (0, 65536)
{
	check_inside("RLIMIT_MEMLOCK = $bytes", $built_in ? 'io_uring|sync' : 'sync', sub { limit_locked_memory($bytes) },
		sub {
			like(slurp_file('/proc/' . $node->{_pid} . '/limits'),
				qr/^Max locked memory\s+$bytes\s+$bytes\s/m, "RLIMIT_MEMLOCK = $bytes: is the server's limit");
		});
}

# ---------------------------------------------------------------------------
# Mounts

my $forbidden_file = "$FindBin::RealBin/written";
check_inside(
	'read-only root', $usual,
	sub { read_only_root($PostgreSQL::Test::Utils::tmp_check, $node->host) },
	sub {
		my ($rc, $out, $err) = $node->psql('postgres', "COPY (SELECT 1) TO '$forbidden_file'");

		like($err, qr/Read-only file system/, 'read-only root: nothing can be written there');
	});
unlink $forbidden_file;

check_inside(
	'no /proc', $usual,
	sub { hide_proc() },
	sub {
		is($node->safe_psql('postgres', "SELECT count(*) FROM pg_ls_dir('/proc')"), 0, 'no /proc: it is empty');
	});

logs_are_clean($node);
done_testing();
