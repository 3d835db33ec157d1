
# Copyright (c) 2026, streamstat contributors

# Reads that fail: a disk that answers with an error, files that are too short or
# cannot be opened, rings that cannot be had.  Each call either gives what it
# gives at other times, or one error that names file and block, and the session
# goes on.
#
# Most of it is done by a library between server and kernel (t/lib/Faults.pm);
# tools/faulty-disk does it with a disk.

use strict;
use warnings;

use FindBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use lib "$FindBin::RealBin/lib";
use Faults;
use Pages;
use Session;
use Torture;

use constant { EAGAIN => 11, ENOMEM => 12, EACCES => 13, ENFILE => 23, EMFILE => 24, EIO => 5, EINTR => 4 };

plan skip_all => 'this is not Linux' if $^O ne 'linux';

my $node = PostgreSQL::Test::Cluster->new('read_errors');
$node->init;
$node->append_conf(
	'postgresql.conf', q(
autovacuum = off
fsync = off
shared_buffers = 1MB
max_files_per_process = 80
max_worker_processes = 8
bgwriter_lru_maxpages = 0
jit = off
));

my $faults = Faults->new($node);
plan skip_all => 'no C compiler for test/faults' if !$faults;
$faults->start($node);

# ---------------------------------------------------------------------------
# Relations: of each kind a small one, and larger ones that workers read, too:
# most of these is pages of zeros, which are in no place of the disk.

$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION streamstat;
CREATE TABLE t AS SELECT i AS k, ARRAY[i, i % 7] AS a, point(i, i % 100) AS p, repeat('x', 100) AS filler
	FROM generate_series(1, 10000) i;
CREATE INDEX t_btree ON t (k);
CREATE INDEX t_hash ON t USING hash (k);
CREATE INDEX t_gin ON t USING gin (a);
CREATE INDEX t_gist ON t USING gist (p);
CREATE INDEX t_spgist ON t USING spgist (p);
CREATE INDEX t_brin ON t USING brin (k) WITH (pages_per_range = 1);
DELETE FROM t WHERE k % 5 = 0;
CREATE TABLE v AS TABLE t;
VACUUM v;
CREATE TABLE big AS SELECT i AS k FROM generate_series(1, 10000) i;
CREATE INDEX big_btree ON big (k);
CREATE INDEX big_hash ON big USING hash (k);
CREATE TABLE filler AS SELECT repeat('x', 1000) FROM generate_series(1, 4000) i;
CREATE TABLE cut AS SELECT i AS k FROM generate_series(1, 10000) i;
CREATE INDEX cut_btree ON cut (k);
CHECKPOINT;

-- the error of a query that is to fail n times in one transaction
CREATE FUNCTION caught(query text, n int) RETURNS text LANGUAGE plpgsql AS
$$
DECLARE
	r record;
	answer text;
BEGIN
	FOR i IN 1 .. n LOOP
		BEGIN
			EXECUTE query INTO r;
			RETURN 'no error';
		EXCEPTION WHEN OTHERS THEN
			answer := SQLSTATE || ': ' || SQLERRM;
		END;
	END LOOP;
	RETURN answer;
END
$$;
SQL

my %file = split /[|\n]/, $node->safe_psql('postgres', q(
SELECT relname, pg_relation_filepath(oid) FROM pg_class
WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'i')));
my %path = map { $_ => $node->data_dir . "/$file{$_}" } keys %file;

use constant BIG => 17000;

$node->stop;
foreach my $name (qw(big big_btree big_hash))
{
	truncate($path{$name}, BIG * BLCKSZ) or die "could not extend $path{$name}: $!";
}
$faults->start($node);

# ---------------------------------------------------------------------------
# The ways to the pages, and what is called.  Of a relation, the block in the
# middle is the bad one, or the map's first.

my $have_rings;
my %ways = (
	'buffers' => { io_path => 'buffer' },
	'files, cached' => { io_path => 'file', io_method => 'sync' },
	'files, sync' => { io_path => 'file', io_method => 'sync', uncached => 1 },
	'files, io_uring' => { io_path => 'file', io_method => 'io_uring', uncached => 1 });

my @calls = map { [ @$_[ 0, 1 ], @$_ > 2 ? $_->[2] : '' ] } (
	(map { [ "${_}_stats('t_$_')", "t_$_" ] } qw(btree hash gin gist spgist brin)),
	(map { [ "index_stats('t_$_')", "t_$_" ] } qw(btree hash gin gist spgist brin)),
	[ "index_stats_tree('t_gin')", 't_gin' ],
	[ "table_stats('t')", 't' ],
	[ "table_stats('v')", 'v', '_vm' ],
	[ "table_stats('v')", 'v', '_fsm' ],
	[ "table_stats_tree('t')", 't' ],
	[ "visibility_map_summary('v')", 'v', '_vm' ],
	[ "unfrozen_ranges('v')", 'v', '_vm' ],
	[ "free_space_map_summary('v')", 'v', '_fsm' ],
	[ "layout_map('t')", 't' ],
	[ "layout_map('t_gist')", 't_gist' ],
	(map { [ "sample_stats('$_', 100000, seed => 1)", $_ ] } qw(t t_btree t_hash t_gin t_gist t_spgist t_brin)),
	[ "sample_stats('t_btree', 100000, margin => 0.001)", 't_btree' ],
	(map { [ "bloat('$_', 100000, 1, 'no')", $_ ] } qw(t t_btree t_hash t_gin)),
	(map { [ "pgstattuple('$_')", $_ ] } qw(t t_btree t_hash t_gist)),
	[ "pgstattuple_approx('t')", 't' ],
	[ "pgstattuple_approx('v')", 'v', '_vm' ],
	[ "pgstattuple_approx('v')", 'v', '_fsm' ],
	[ "pgstatindex('t_btree')", 't_btree' ],
	[ "pgstathashindex('t_hash')", 't_hash' ],
	[ "pgstatginindex('t_gin')", 't_gin', 'meta' ],
	(map { [ "pg_prewarm('t', '$_')", 't' ] } qw(buffer read)),
	[ "pg_prewarm('t_spgist')", 't_spgist' ],
	[ "pg_prewarm('v', 'read', 'fsm')", 'v', '_fsm' ]);

# those that have workers
my @parallel = (
	[ "btree_stats('big_btree')", 'big_btree' ],
	[ "table_stats('big')", 'big' ],
	[ "pgstattuple_approx('big')", 'big' ],
	[ "pgstatindex('big_btree')", 'big_btree' ],
	[ "pg_prewarm('big')", 'big' ],
	[ "pg_prewarm('big_hash', 'read')", 'big_hash' ]);

sub bad_block
{
	my ($relation, $fork) = @_;

	return $fork ne '' ? 0 : int((-s $path{$relation}) / BLCKSZ / 2);
}

my $session;

# A call's rows, without what was in buffers
sub rows
{
	my ($call) = @_;

	return $session->query(
		'SELECT '
		  . ( $call =~ /^layout_map/
			? 'bucket, first_block, last_block, free_percent, dead_percent, bar'
			: '*')
		  . " FROM streamstat.$call");
}

sub take_way
{
	my ($way, $workers) = @_;

	$session->query("SET streamstat.io_path = $way->{io_path}; SET streamstat.max_workers = $workers");
	$session->query("SET streamstat.io_method = $way->{io_method}") if $way->{io_method};
}

# Our relations are in no buffer then.
sub evict
{
	$faults->clear;
	$session->query("SELECT streamstat.pg_prewarm('filler')");
}

sub count_fds
{
	my ($s) = @_;

	return scalar(my @fds = glob("/proc/$s->{pid}/fd/*"));
}

# What is left in the session of calls that failed.
sub check_left
{
	my ($what, $fds) = @_;

	is( $session->query(
			'SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND relation >= 16384'),
		0,
		"$what: no lock is left");
	is($session->query('SELECT count(*) FROM streamstat.stat_get_progress()'),
		0, "$what: no progress is left");
	is($session->rings, 0, "$what: no ring is left");

	# the server's own files of our relations and catalogs
	cmp_ok(count_fds($session) - $fds, '<=', 15, "$what: no file is left open");
}

# Is this the one error that there has to be?
sub is_read_error
{
	my ($answer, $relation, $fork, $block, $kind) = @_;
	my $file = $file{$relation} . ($fork =~ /^_/ ? $fork : '');
	my ($code, $first, $last, $named, $why) =
	  $answer =~ /\A(?:psql:[^\n]*?ERROR:  )?(\w{5}): could not read blocks? (\d+)(?:\.\.(\d+))? (?:in|of) (?:file|relation) "?([^":]+)"?: (.*)/;

	return 0 if !defined $why || $answer =~ /ERROR:.*ERROR:/s;
	$last //= $first;
	# each participant has an end of its own to find
	return $named eq $file
	  && ($first <= $block || $kind eq 'end')
	  && $last >= $block
	  && ( $kind eq 'end'
		? $code eq 'XX001' && $why =~ /^read only/
		: $code eq '58030' && $why =~ /^Input\/output error/);
}

# ---------------------------------------------------------------------------
# What the calls say when nothing is wrong, by each way

$session = Session->new($node);
my %expected;
take_way($ways{buffers}, 0);
$expected{ $_->[0] } = rows($_->[0])
  foreach (@calls, @parallel);
is(join(' ', grep { $expected{$_} eq '' } sort keys %expected), '', 'all calls work');

foreach my $name (sort keys %ways)
{
	my $way = $ways{$name};
	my @differ;

	take_way($way, 0);
	foreach my $case (@calls)
	{
		evict();
		$faults->set(file => $path{ $case->[1] }, uncached => $way->{uncached});
		my $answer = rows($case->[0]);
		push @differ, "$case->[0]: $answer $session->{err}"
		  if $answer ne $expected{ $case->[0] };
		$have_rings = 1
		  if $name =~ /io_uring/
		  && $session->query('SELECT io_method FROM streamstat.stream_stats()') eq 'io_uring';
	}
	is(join("\n", @differ), '', "$name: the same");
}
delete $ways{'files, io_uring'} if !$have_rings;
note 'rings: ' . ($have_rings ? 'yes' : 'no');

# ---------------------------------------------------------------------------
# A bad block, and a file that has become shorter, by each way

my $nerrors = 0;

sub check_bad_block
{
	my ($name, $way, $workers, $kind, @cases) = @_;
	my (@wrong, @no_fault, @differ);
	my $fds = count_fds($session);

	take_way($way, $workers);
	foreach my $case (@cases)
	{
		my ($call, $relation, $fork) = @$case;
		my $block = bad_block($relation, $fork // '');

		evict();
		$faults->set(
			file => $path{$relation} . ($fork && $fork =~ /^_/ ? $fork : ''),
			reads => $kind,
			from => $block * BLCKSZ,
			to => ($block + 1) * BLCKSZ,
			error => EIO,
			uncached => $way->{uncached});
		my $answer = rows($call);
		push @wrong, "$call: $answer $session->{err}"
		  if $answer ne '' || !is_read_error($session->{err}, $relation, $fork // '', $block, $kind);

		# caught, and twice so in one transaction
		my $n = $workers > 0 ? 1 : 2;
		my $again = $session->query("SELECT caught('SELECT * FROM streamstat.' || \$\$$call\$\$, $n)");
		push @wrong, "$call, caught: $again $session->{err}"
		  if !is_read_error($again, $relation, $fork // '', $block, $kind);
		$nerrors += 1 + $n;

		push @no_fault, $call if !$faults->clear;
		my $good = rows($call);
		push @differ, "$call: $good $session->{err}" if $good ne $expected{$call};
	}
	is(join("\n", @wrong), '', "$name, $kind: errors that name file and block");
	is(join("\n", @no_fault), '', "$name, $kind: there were faults");
	is(join("\n", @differ), '', "$name, $kind: the next call");
	check_left("$name, $kind", $fds);
}

foreach my $name (sort keys %ways)
{
	foreach my $kind ('error', 'end')
	{
		next if $kind eq 'end' && $name =~ /cached|io_uring/;
		check_bad_block($name, $ways{$name}, 0, $kind, @calls);
		check_bad_block("$name, workers", $ways{$name}, 2, $kind, @parallel)
		  if $name =~ ($kind eq 'end' ? qr/sync/ : qr/buffers|io_uring/);
	}
}
cmp_ok($nerrors, '>=', 500, 'hundreds of errors');
note "$nerrors errors";

# In a worker only
foreach my $name (grep { /files/ && !/cached/ } sort keys %ways)
{
	my $way = $ways{$name};
	my @wrong;

	take_way($way, 2);
	foreach my $case (@parallel)
	{
		my ($call, $relation) = @$case;
		my ($hits, $answer) = 0;

		next if $call !~ /^(btree_stats|pgstattuple_approx|pg_prewarm\('big_hash)/;
		# the worker can come too late
		foreach (1 .. 20)
		{
			evict();
			$faults->set(
				file => $path{$relation},
				reads => 'error',
				from => 1000 * BLCKSZ,
				to => BIG * BLCKSZ,
				error => EIO,
				uncached => $way->{uncached},
				spared => $session->{pid});
			$answer = rows($call);
			$hits = $faults->clear;
			last if $hits > 0;
		}
		push @wrong, "$call: $hits faults, $answer $session->{err}"
		  if $hits == 0
		  || $answer ne ''
		  || $session->{err} !~ /58030: could not read block.*"\Q$file{$relation}\E"/
		  || $session->{err} !~ /parallel worker/;
	}
	is(join("\n", @wrong), '', "$name: an error of a worker");
}

# Of prefetch there is nothing to read.
take_way($ways{buffers}, 0);
$faults->set(file => $path{t}, reads => 'error', to => 1e9, error => EIO);
is($session->query("SELECT streamstat.pg_prewarm('t', 'prefetch') = streamstat.pg_relpages('t')"),
	't', 'prefetch, and the number of pages, take no note of it');
$faults->clear;

# ---------------------------------------------------------------------------
# Reads that come back short or are interrupted give what is there.

foreach my $name (sort keys %ways)
{
	my $way = $ways{$name};

	foreach my $kind ('short', 'interrupted')
	{
		my @differ;
		my $hits = 0;

		# The asynchronous reads of 18 and later take EINTR for an error:
		# pg_prewarm and the metapage of pgstathashindex go through buffers.
		next if $kind eq 'interrupted' && $name eq 'buffers';
		take_way($way, 0);
		foreach my $case (@calls)
		{
			my ($call, $relation, $fork) = @$case;

			next if $fork ne '' || ($kind eq 'interrupted' && $call =~ /prewarm|pgstathashindex/);
			evict();
			$faults->set(file => $path{$relation}, reads => $kind,
				most => BLCKSZ * 3 / 2, uncached => $way->{uncached});
			my $answer = rows($call);
			$hits += $faults->clear;
			push @differ, "$call: $answer $session->{err}" if $answer ne $expected{$call};
		}
		is(join("\n", @differ), '', "$name, $kind reads: the same");
		cmp_ok($hits, '>', 20, "$name, $kind reads: there were some") if $name =~ /files/;
	}
}

# ---------------------------------------------------------------------------
# Rings that cannot be had, or used

SKIP:
{
	skip 'no io_uring', 1 if !$have_rings;
	my $fds = count_fds($session);

	take_way($ways{'files, io_uring'}, 0);
	foreach my $case (
		[ 'no memory for a ring', setups => ENOMEM ],
		[ 'no descriptor for a ring', setups => EMFILE ],
		[ 'a ring that takes nothing at first', submits => EAGAIN, nsubmits => 1 ],
		[ 'a ring that takes nothing', submits => ENOMEM, nsubmits => 100000 ],
		[ 'a ring that often takes nothing', submits => EAGAIN, nsubmits => 7 ],
		[ 'a ring that takes nothing for long', submits => EAGAIN, nsubmits => 80 ],
		[ 'interrupted waiting', waits => EINTR, nwaits => 3 ],
		[ 'no memory for waiting', waits => EAGAIN, nwaits => 3 ])
	{
		my ($name, %how) = @$case;
		my (@differ, @no_error);
		my $hits = 0;

		foreach my $call (grep { $_->[0] =~ /^(btree_stats|gin_stats|gist_stats|table_stats|sample\('t|pgstatt?(index|tuple)\(|layout_map)/ } @calls)
		{
			next if $call->[2] ne '' || $call->[0] =~ /brin/;
			evict();
			$faults->set(file => $path{ $call->[1] }, uncached => 1, %how);
			my $answer = rows($call->[0]);
			$hits += $faults->clear;
			push @differ, "$call->[0]: $answer $session->{err}"
			  if $answer ne $expected{ $call->[0] };

			# and with a bad block, which leaves reads in flight
			my $block = bad_block(@$call[ 1, 2 ]);
			$faults->set(file => $path{ $call->[1] }, uncached => 1, %how, reads => 'error',
				from => $block * BLCKSZ, to => ($block + 1) * BLCKSZ, error => EIO);
			$session->query('SET streamstat.io_combine_limit = 1');
			$answer = rows($call->[0]);
			push @no_error, "$call->[0]: $answer $session->{err}"
			  if !is_read_error($session->{err}, @$call[ 1, 2 ], $block, 'error');
			$session->query('RESET streamstat.io_combine_limit');
		}
		is(join("\n", @differ), '', "$name: the same");
		is(join("\n", @no_error), '', "$name, and a bad block: its error");
		cmp_ok($hits, '>', 10, "$name: so it was");
		check_left($name, $fds);
	}
}

# ---------------------------------------------------------------------------
# Files that cannot be opened: in a new session, which has none of them open

sub check_opening
{
	my ($what, $name, $error, $begin, $end) = @_;
	my @wrong;
	my @some = grep {
		$_->[0] =~ /^(table_stats\('t'|btree|sample\('t_gin|pgstattuple\('t_gist|pg_prewarm\('t_hash', 'read|pg_prewarm\('t_sp)/
	} @calls;

	foreach my $case (@some)
	{
		my ($call, $relation) = @$case;

		evict();
		$session->end;
		$session = Session->new($node);
		take_way($ways{$name}, 0);
		$begin->($relation);
		my $answer = rows($call);
		push @wrong, "$call: $answer $session->{err}"
		  if $answer ne ''
		  || $session->{err} !~ $error
		  || ($session->{err} !~ /"\Q$file{$relation}\E"/ && $call !~ /prewarm/);
		$end->($relation);
		$answer = rows($call);
		push @wrong, "$call, afterwards: $answer $session->{err}" if $answer ne $expected{$call};
	}
	is(join("\n", @wrong), '', "$name, $what");
}

foreach my $name ('buffers', 'files, sync')
{
	foreach my $error ($name eq 'buffers' ? EMFILE : ENFILE)
	{
		check_opening(
			"error $error at the opening of a file",
			$name,
			qr/ERROR:  53000: could not open file /,
			sub { $faults->set(file => $path{ $_[0] }, opens => $error); },
			sub { $faults->clear; });
	}
	check_opening('no permission', $name, qr/ERROR:  42501: could not open file .*Permission denied/,
		sub { chmod 0, $path{ $_[0] }; },
		sub { chmod 0600, $path{ $_[0] }; });
	# contrib's words for a fork that is not there
	check_opening('no file', $name, qr/ERROR:  58P01: could not open file .*No such file|ERROR:  22023: fork "main" does not exist/,
		sub { rename $path{ $_[0] }, "$path{$_[0]}.away" or die; },
		sub { rename "$path{$_[0]}.away", $path{ $_[0] } or die; });
	check_opening('a directory in the place', $name, qr/ERROR:  42809: could not open file .*Is a directory/,
		sub { rename $path{ $_[0] }, "$path{$_[0]}.away"; mkdir $path{ $_[0] } or die; },
		sub { rmdir $path{ $_[0] }; rename "$path{$_[0]}.away", $path{ $_[0] } or die; });
}

# What is not a whole block is none, and what is cut off nobody can know of.
my $half = int((-s $path{cut_btree}) / BLCKSZ / 2);
evict();
truncate($path{cut_btree}, $half * BLCKSZ + 1000) or die;
truncate($path{cut}, 5 * BLCKSZ - 1) or die;
foreach my $name (sort keys %ways)
{
	$faults->set(file => $path{cut_btree}, uncached => $ways{$name}{uncached});
	take_way($ways{$name}, 0);
	is( $session->query("SELECT index_size / 8192, leaf_pages + internal_pages + 1, corrupt_pages FROM streamstat.btree_stats('cut_btree');
			SELECT index_size / 8192 FROM streamstat.pgstatindex('cut_btree');
			SELECT pages, corrupt_pages FROM streamstat.table_stats('cut');
			SELECT streamstat.pg_prewarm('cut'), streamstat.pg_prewarm('cut_btree', 'read')"
		),
		"$half|$half|0\n$half\n4|0\n4|$half",
		"$name: a file that ends within a block");
	$faults->clear;
}

# ---------------------------------------------------------------------------
# No descriptor is left: what works gives the right answer.

SKIP:
{
	skip 'no prlimit', 1 if !grep { -x "$_/prlimit" } split /:/, $ENV{PATH};
	my (@wrong, %count);

	foreach my $name (grep { !/cached/ } sort keys %ways)
	{
		$session->end;
		$session = Session->new($node);
		take_way($ways{$name}, 0);
		foreach my $more (0, 2)
		{
			my $fds = count_fds($session) + $more;
			system("prlimit --pid $session->{pid} --nofile=$fds:") == 0 or die;
			foreach my $case (@calls)
			{
				my $call = $case->[0];

				$faults->set(file => $path{ $case->[1] }, uncached => $ways{$name}{uncached});
				my $answer = rows($call);
				my $right = $session->{err} !~ /ERROR/ && $answer eq $expected{$call};
				my $refused = $session->{err} =~ /\A[^\n]*ERROR:  53000: [^\n]*(?:Too many open files|out of file descriptors)/;

				$count{ $right ? 'right' : 'refused' }++;
				push @wrong, "$name, $call: $answer $session->{err}" if !$right && !$refused;
			}
			system("prlimit --pid $session->{pid} --nofile=1024:") == 0 or die;
		}
		is($session->rings, 0, "$name, no descriptor: no ring is left");
		my @differ = grep { rows($_->[0]) ne $expected{ $_->[0] } } @calls;
		is(join(' ', map { $_->[0] } @differ), '', "$name, no descriptor: later");
	}
	$faults->clear;
	is(join("\n", @wrong), '', 'no descriptor: the right answer, or that it is so');
	cmp_ok($count{right} // 0, '>', 100, 'no descriptor: many calls work');
	cmp_ok($count{refused} // 0, '>', 0, 'no descriptor: and there was none');
	note 'no descriptor: ' . join(', ', map { "$count{$_} $_" } sort keys %count);
}

# ---------------------------------------------------------------------------
# A report of all relations goes on, and says of which it knows nothing.

foreach my $name (sort keys %ways)
{
	take_way($ways{$name}, 0);
	evict();
	$faults->set(file => $path{t_btree}, reads => 'error', to => 1e9, error => EIO,
		uncached => $ways{$name}{uncached});
	my $query = "SELECT relation, reclaimable_bytes IS NULL, reason FROM streamstat.database_report(budget => '1GB')
		WHERE relation IN ('t', 't_btree', 't_hash') OR reason LIKE '%Input/output%' ORDER BY relation::text";
	like(
		$session->query($query),
		qr/\At\|f\|[^\n]*\nt_btree\|t\|[^\n]*could not read blocks? [^\n]*\Q$file{t_btree}\E[^\n]*Input.output error\nt_hash\|f\|[^\n]*\z/,
		"$name: a report of all relations");
	is($session->{err}, '', "$name: a report of all relations, without an error");
	$faults->clear;
	like($session->query($query), qr/^t_btree\|f\|/m, "$name: the next report");
}

# ---------------------------------------------------------------------------
# Errors leave no memory behind.

foreach my $name (sort keys %ways)
{
	my $memory;

	take_way($ways{$name}, 0);
	foreach my $round (0 .. 10)
	{
		evict();
		$faults->set(file => $path{t_btree}, reads => 'error', error => EIO,
			from => 15 * BLCKSZ, to => 16 * BLCKSZ, uncached => $ways{$name}{uncached});
		$session->query("SELECT caught('SELECT streamstat.btree_stats(\$\$t_btree\$\$)', 20);
			SELECT caught('SELECT streamstat.sample_stats(\$\$t_btree\$\$)', 5)");
		$memory //= $session->memory('RssAnon') if $round == 1;
	}
	cmp_ok($session->memory('RssAnon') - $memory, '<', 512,
		"$name: 225 errors leave nothing in memory");
}
$session->end;

# ---------------------------------------------------------------------------

$faults->clear;
SKIP:
{
	skip 'no pg_buffercache', 1
	  if $node->safe_psql('postgres', "SELECT count(*) FROM pg_available_extensions WHERE name = 'pg_buffercache'") eq '0';
	$node->safe_psql('postgres', 'CREATE EXTENSION pg_buffercache');
	ok( $node->poll_query_until(
			'postgres',
			"SELECT count(*) = 0 FROM pg_buffercache WHERE pinning_backends > 0 AND relfilenode IN (SELECT pg_relation_filenode(oid) FROM pg_class WHERE relnamespace = 'public'::regnamespace)"
		),
		'no pin is left');
}
$node->stop;
server_log_is_clean($node);

done_testing();
