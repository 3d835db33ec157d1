
# Copyright (c) 2026, streamstat contributors

# The file stream reads pages that are in no buffer past the buffer manager.
# Whatever others do meanwhile: no wrong page, no error that is not real damage,
# and at quiet the results of the buffer stream.
#
# One cluster is without checksums and has a standby, the other is with them.

use strict;
use warnings;

use IPC::Run ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

use constant BLCKSZ => 8192;

# Of a page's header
use constant { PD_LSN => 0, PD_LINP => 24 };

# The load's time, in seconds, and what it did
my $seconds = 3;
my $nscans = 0;

# ---------------------------------------------------------------------------
# Clusters

$ENV{PGOPTIONS} = '-c client_min_messages=warning';

my ($help) = run_command([ 'initdb', '--help' ]);

sub start_cluster
{
	my ($name, $checksums) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	my $off = $help =~ /--no-data-checksums/ ? ['--no-data-checksums'] : [];

	$node->init(
		allows_streaming => 1,
		extra => $checksums ? ['--data-checksums'] : $off);

	# full_page_writes is off so that replay reads the pages that it changes
	$node->append_conf(
		'postgresql.conf', q(
autovacuum = off
fsync = off
synchronous_commit = off
full_page_writes = off
shared_buffers = 1MB
bgwriter_delay = 10ms
checkpoint_timeout = 1h
max_standby_streaming_delay = -1
max_standby_archive_delay = -1
hot_standby_feedback = off
allow_in_place_tablespaces = on
streamstat.io_path = file
));
	$node->start;
	return $node;
}

my ($plain, $standby, $summed);

sub create_relations
{
	my ($node) = @_;

	$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION streamstat;
CREATE TABLE t (k int, v int) WITH (fillfactor = 80);
INSERT INTO t SELECT i, 0 FROM generate_series(1, 30000) i;
CREATE INDEX t_btree ON t (k);
CREATE INDEX t_hash ON t USING hash (k);
CREATE TABLE r AS SELECT i AS k FROM generate_series(1, 20000) i;
CREATE INDEX r_btree ON r (k);
CREATE UNLOGGED TABLE u AS SELECT i AS k FROM generate_series(1, 20000) i;
CREATE INDEX u_btree ON u (k);
CREATE INDEX u_hash ON u USING hash (k);
CREATE TABLE replayed AS SELECT i AS k FROM generate_series(1, 100) i;
CREATE TABLE filler AS SELECT i, repeat('x', 1000) FROM generate_series(1, 7000) i;

-- how a query fails, or what it returns
CREATE FUNCTION outcome(query text) RETURNS text LANGUAGE plpgsql AS
$$
DECLARE
	r record;
BEGIN
	EXECUTE query INTO r;
	RETURN r::text;
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE || ' ' || SQLERRM;
END
$$;

-- Scan for some time, each time in a transaction of its own.  Returns how
-- often, how, and what was wrong.
CREATE PROCEDURE scan(seconds float8, INOUT result text) LANGUAGE plpgsql AS
$$
DECLARE
	until timestamptz := clock_timestamp() + seconds * interval '1 s';
	block int := current_setting('block_size')::int;
	calls text[] := ARRAY['btree_stats(''t_btree'')', 'hash_stats(''t_hash'')',
		'pgstatindex(''t_btree'')', 'pgstathashindex(''t_hash'')',
		'sample_stats(''t_btree'', 40, ', 'sample_stats(''t_hash'', 40, ', 'sample_stats(''t'', 1000000)'];
	call text;
	bad boolean;
	r record;
	scans bigint := 0;
	wrong bigint := 0;
	not_ours bigint := 0;
	private bigint := 0;
	hits bigint := 0;
	read_ahead bigint := 0;
	changes bigint := 0;
	items_before bigint := 0;
BEGIN
	WHILE clock_timestamp() < until LOOP
		call := calls[scans % array_length(calls, 1) + 1];
		IF call LIKE '%, ' THEN
			call := call || scans || ')';
		END IF;
		-- A b-tree has one page above the leaves, a hash index one bitmap page.
		IF call LIKE 'btree_stats%' THEN
			SELECT * INTO r FROM streamstat.btree_stats('t_btree');
			bad := r.internal_pages + r.leaf_pages + r.empty_pages + r.deleted_pages +
				r.new_pages + r.corrupt_pages + 1 <> r.index_size / block
				OR r.corrupt_pages <> 0
				OR r.tree_level <> 1 OR r.internal_pages <> 1
				OR r.live_items NOT BETWEEN 15000 AND 120000
				OR r.free_bytes NOT BETWEEN 0 AND r.leaf_pages * block;
			changes := changes + (r.live_items <> items_before)::int;
			items_before := r.live_items;
		ELSIF call LIKE 'hash_stats%' THEN
			SELECT * INTO r FROM streamstat.hash_stats('t_hash');
			bad := r.bucket_pages + r.overflow_pages + r.bitmap_pages + r.unused_pages +
				r.corrupt_pages + 1 <> r.index_size / block
				OR r.corrupt_pages <> 0 OR r.bitmap_pages <> 1
				OR r.buckets > r.bucket_pages + r.unused_pages + r.overflow_pages
				OR r.live_items NOT BETWEEN 15000 AND 120000;
		ELSIF call LIKE 'pgstatindex%' THEN
			SELECT * INTO r FROM streamstat.pgstatindex('t_btree');
			bad := r.internal_pages + r.leaf_pages + r.empty_pages + r.deleted_pages + 1
				<> r.index_size / block OR r.internal_pages <> 1;
		ELSIF call LIKE 'pgstathashindex%' THEN
			SELECT * INTO r FROM streamstat.pgstathashindex('t_hash');
			bad := r.bitmap_pages <> 1 OR r.live_items NOT BETWEEN 15000 AND 120000;
		ELSE
			EXECUTE 'SELECT count(*) AS n,
				sum(estimate) FILTER (WHERE statistic = ''corrupt_pages'') AS corrupt,
				sum(estimate) FILTER (WHERE statistic = ''tuple_count'') AS tuples
				FROM streamstat.' || call INTO r;
			bad := r.n < 9 OR r.corrupt <> 0 OR r.tuples NOT BETWEEN 15000 AND 120000;
		END IF;
		IF bad THEN
			wrong := wrong + 1;
			RAISE WARNING '%: %', call, r;
		END IF;

		SELECT * INTO r FROM streamstat.stream_stats();
		not_ours := not_ours + (r.stream <> 'file stream')::int;
		private := private + (r.blocks_private > 0)::int;
		hits := hits + (r.blocks_hit > 0)::int;
		read_ahead := read_ahead + (r.io_method IS NOT NULL)::int;
		IF r.blocks_hit + r.blocks_read <> r.blocks_requested OR
			r.blocks_private > r.blocks_read THEN
			wrong := wrong + 1;
			RAISE WARNING '%: %', call, r;
		END IF;
		scans := scans + 1;
		COMMIT;
	END LOOP;
	result := format('scans %s, wrong %s, not_ours %s, private %s, hits %s, read_ahead %s, changes %s',
		scans, wrong, not_ours, private, hits, read_ahead, changes);
END
$$;
SQL
}

sub file_of
{
	my ($node, $relation) = @_;

	return $node->data_dir . '/'
	  . $node->safe_psql('postgres', "SELECT pg_relation_filepath('$relation')");
}

sub read_block
{
	my ($file, $blkno) = @_;

	open(my $fh, '<', $file) or die "could not open $file: $!";
	binmode $fh;
	sysseek($fh, $blkno * BLCKSZ, 0) or die "could not seek in $file: $!";
	sysread($fh, my $page, BLCKSZ) == BLCKSZ or die "could not read $file: $!";
	close($fh);
	return $page;
}

sub write_at
{
	my ($file, $offset, $data) = @_;

	open(my $fh, '+<', $file) or die "could not open $file: $!";
	binmode $fh;
	sysseek($fh, $offset, 0) or die "could not seek in $file: $!";
	syswrite($fh, $data) == length($data) or die "could not write $file: $!";
	close($fh);
}

sub write_block
{
	my ($file, $blkno, $page) = @_;

	write_at($file, $blkno * BLCKSZ, $page);
}

sub lsn
{
	my ($page) = @_;

	return join '/', unpack('L2', substr($page, PD_LSN, 8));
}

# The head of one page, and the rest of another
sub torn
{
	my ($head, $rest) = @_;

	return substr($head, 0, BLCKSZ / 2) . substr($rest, BLCKSZ / 2);
}

# Have files leave the page cache.
my $can_drop =
  `stat -f -c %T '$PostgreSQL::Test::Utils::tmp_check' 2>&1` !~ /tmpfs/
  && `dd --version 2>&1` =~ /coreutils/;

sub drop_from_cache
{
	return if !$can_drop;
	foreach my $file (@_)
	{
		system("dd of='$file' oflag=nocache conv=notrunc,fdatasync count=0 status=none"
		) == 0
		  or die "dd failed: $?";
	}
}

# ---------------------------------------------------------------------------
# Sessions that stay

my @sessions;

sub new_session
{
	my ($node, @settings) = @_;
	my $session = { in => '', out => '', err => '', node => $node };

	$session->{run} = IPC::Run::start(
		[ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-f', '-' ],
		'<', \$session->{in}, '>', \$session->{out}, '2>', \$session->{err},
		IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
	$session->{pid} = query($session, 'SELECT pg_backend_pid()');
	query($session, "SET $_") foreach (@settings);
	push @sessions, $session;
	return $session;
}

sub send_query
{
	my ($session, $query) = @_;

	$session->{out} = $session->{err} = '';
	$session->{in} .= "$query;\n\\echo done\n";
	$session->{run}->pump_nb;
}

# Answer of what was sent; errors are for the caller, in $session->{err}.
sub answer
{
	my ($session) = @_;

	$session->{run}->pump
	  until $session->{out} =~ /^done\n/m || !$session->{run}->pumpable;
	$session->{run}->pump_nb;
	my $out = $session->{out} =~ s/^done\n//mr;
	chomp $out;
	return $out;
}

sub query
{
	my ($session, $query) = @_;

	send_query($session, $query);
	my $answer = answer($session);
	die "query failed: $query\n$session->{err}"
	  if $session->{err} =~ /ERROR|FATAL|PANIC/;
	return $answer;
}

sub end_session
{
	my ($session) = @_;

	$session->{in} .= "\\q\n";
	$session->{run}->finish;
	@sessions = grep { $_ != $session } @sessions;
}

# What stream_stats() says of the last call
sub stream_stats
{
	my ($session) = @_;
	my @names = qw(stream io_method workers blocks_requested blocks_hit
	  blocks_read blocks_private reads);
	my %stats;

	@stats{@names} = split /\|/,
	  query($session,
		'SELECT ' . join(', ', @names) . ' FROM streamstat.stream_stats()'),
	  -1;
	return \%stats;
}

# ---------------------------------------------------------------------------
# The same results by both ways

sub calls_on
{
	my %relations = @_;
	my %functions = (
		btree => [qw(btree_stats pgstatindex)],
		hash => [qw(hash_stats pgstathashindex)],
		heap => []);
	my @calls;

	foreach my $relation (sort keys %relations)
	{
		push @calls, map { "$_('$relation')" } @{ $functions{ $relations{$relation} } };
		push @calls, "sample_stats('$relation', 10000000)", "sample_stats('$relation', 40, seed => 7)";
	}
	return @calls;
}

# First from the files, which leaves the buffers alone, then through buffers.
# Returns the results, and what the file stream did, by call.
sub check_same
{
	my ($session, $what, @calls) = @_;
	my (%by_file, %by_buffer, %stats);

	foreach my $call (@calls)
	{
		$by_file{$call} = query($session, "SELECT * FROM streamstat.$call");
		$stats{$call} = stream_stats($session);
	}
	query($session, 'SET streamstat.io_path = buffer');
	$by_buffer{$_} = query($session, "SELECT * FROM streamstat.$_")
	  foreach (@calls);
	query($session, 'SET streamstat.io_path = file');

	is_deeply(\%by_file, \%by_buffer, "$what: the same by both ways");
	is(join(' ', grep { $stats{$_}{stream} ne 'file stream' } @calls),
		'', "$what: the file stream read");
	is( join(
			' ',
			grep {
				my $s = $stats{$_};
				$s->{blocks_hit} + $s->{blocks_read} != $s->{blocks_requested}
			} @calls),
		'',
		"$what: each page once");
	return (\%by_file, \%stats);
}

# ---------------------------------------------------------------------------
# Load

sub load
{
	my ($what, $node, $standby) = @_;
	my $script = PostgreSQL::Test::Utils::tempdir() . '/write.sql';
	my @scanners;
	my ($out, $err) = ('', '');

	open(my $fh, '>', $script) or die "could not open $script: $!";
	print $fh <<'SQL';
\set k random(1, 30000)
\set n random(1, 30000)
INSERT INTO t VALUES (:n, 0), (:k, 1);
DELETE FROM t WHERE k = :k;
UPDATE t SET k = :k, v = v + 1 WHERE k = :n;
SQL
	close($fh);

	my $writers = IPC::Run::start(
		[
			'pgbench', '-n', '-c', '3', '-M', 'prepared', '-T', $seconds + 1,
			'-f', $script, $node->connstr('postgres')
		],
		'<', \undef, '>', \$out, '2>', \$err,
		IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
	foreach my $n ($node, $standby // ())
	{
		push @scanners, new_session($n, 'streamstat.io_method = sync');
		push @scanners,
		  new_session(
			$n,
			'streamstat.io_method = auto',
			'streamstat.io_combine_limit = 2',
			'streamstat.io_concurrency = 8');
	}
	send_query($_, "CALL scan($seconds, '')") foreach (@scanners);

	my $maintenance = new_session($node);
	my @files = map { file_of($_, 't_btree'), file_of($_, 't_hash') }
	  $node, $standby // ();
	my $end = time() + $seconds;
	while (time() < $end)
	{
		query($maintenance, 'VACUUM (INDEX_CLEANUP ON) t');
		query($maintenance, 'CHECKPOINT');
		drop_from_cache(@files);
		usleep(20_000);
	}
	end_session($maintenance);

	foreach my $scanner (@scanners)
	{
		my $name = $scanner->{node}->name;
		my $answer = answer($scanner);
		my %result = $answer =~ /(\w+) (\d+)/g;
		my $where = "$what, on $name";

		note("$where: $answer");
		$nscans += $result{scans};
		is($scanner->{err}, '', "$where: no error and no warning");
		is($result{wrong}, 0, "$where: the numbers are plausible");
		cmp_ok($result{scans}, '>=', 200, "$where: scans were made");
		is($result{not_ours}, 0, "$where: by the file stream");
		cmp_ok($result{private}, '>', $result{scans} * 0.9,
			"$where: with pages from the files");
		cmp_ok($result{hits}, '>', $result{scans} / 10,
			"$where: and pages from buffers");
		cmp_ok($result{read_ahead}, '>', 0, "$where: and read ahead")
		  if $can_drop;
		cmp_ok($result{changes}, '>', 5, "$where: of an index that changed");
		check_descriptors($scanner, $where);
		end_session($scanner);
	}
	$writers->finish;
	is($writers->result(0), 0, "$what: the writers ended well") or diag($err);
}

# After scans in a transaction, the session has no ring open, and no file twice.
sub check_descriptors
{
	my ($session, $what) = @_;

  SKIP:
	{
		my $dir = "/proc/$session->{pid}/fd";
		my (%open, @rings);

		skip 'no /proc', 2 if !-r $dir;
		query($session, 'BEGIN');
		query($session, "SELECT count(*) FROM streamstat.sample_stats('t', 1000000)")
		  foreach (1 .. 3);
		$open{ readlink($_) // '' }++ foreach (glob("$dir/*"));
		# from 18 on, the server may have rings of its own
		@rings = grep { /io_uring/ } keys %open
		  if query($session,
			"SELECT current_setting('io_method', true) = 'io_uring'") ne 't';
		query($session, 'COMMIT');
		is("@rings", '', "$what: no ring is left");
		is(join(' ', grep { m{/(base|pg_tblspc)/} && $open{$_} > 2 } keys %open),
			'', "$what: no file is left open");
	}
}

# ---------------------------------------------------------------------------

# Others at the worst moment.  strace holds a process before and after a system
# call, so that the others can do their worst between a look-up, the read, and
# the next look-up.  "Tears" are written by us.

# Should a pause turn out to be too short, the case is tried again with a longer.
my @pauses = (0.4, 2, 8);
my $pause;

sub attach_strace
{
	my ($pid, @options) = @_;
	my $file = PostgreSQL::Test::Utils::tempdir_short() . '/trace';
	my $err = '';

	return (undef, 'strace is missing')
	  if !grep { -x "$_/strace" } split /:/, $ENV{PATH};
	return (undef, 'no /proc') if !-r "/proc/$pid/status";
	my $tracer = IPC::Run::start([ 'strace', '-p', $pid, '-o', $file, @options ],
		'<', \undef, '>', \my $out, '2>', \$err);
	foreach (1 .. 500)
	{
		return $tracer
		  if slurp_file("/proc/$pid/status") =~ /^TracerPid:\s+[1-9]/m;
		last if !$tracer->pumpable;
		$tracer->pump_nb;
		usleep(10_000);
	}
	$tracer->kill_kill;
	return (undef, 'strace could not attach: ' . (split /\n/, $err)[0]);
}

sub detach
{
	my ($tracer) = @_;

	$tracer->signal('INT');
	eval { $tracer->finish; };
}

sub is_held
{
	my ($pid) = @_;

	return slurp_file("/proc/$pid/stat") =~ /\) t /;
}

# Wait until strace holds the process: for longer than at every system call.
sub wait_until_held
{
	my ($pid) = @_;
	my $times = 0;

	foreach (1 .. 1000)
	{
		$times = is_held($pid) ? $times + 1 : 0;
		return 1 if $times == 8;
		usleep(5_000);
	}
	return 0;
}

# Send a query and do something before and after its first read of the file, or
# with "single" before that and after the first read of a single block.  Returns
# the answer, or nothing if there was not the time for it.
sub answer_while
{
	my ($session, $query, $file, $before, $after, $single) = @_;
	my $exit = $single ? 'pread64,preadv' : 'preadv2';
	my ($tracer, $reason) = attach_strace(
		$session->{pid},
		'-P' => $file,
		'-e' => "trace=preadv2,$exit",
		'-e' => 'inject=preadv2:when=1:delay_enter='
		  . int($pause * 1e6)
		  . ($single ? '' : ':delay_exit=' . int($pause * 1e6)),
		$single
		? ('-e' => "inject=$exit:when=1:delay_exit=" . int($pause * 1e6))
		: ());

	skip $reason, 1 if !defined $tracer;

	send_query($session, $query);
	wait_until_held($session->{pid}) or die 'the session reads no file';
	my $start = time();
	$before->();
	my $in_time = time() < $start + $pause - 0.1;
	usleep(10_000) while (time() < $start + $pause + 0.1);
	$after->();
	$in_time &&= time() < $start + 2 * $pause - 0.1;
	my $answer = answer($session);
	detach($tracer);
	return $in_time ? $answer : undef;
}

# Try with longer and longer pauses.
sub in_time
{
	my ($sub) = @_;

	foreach (@pauses)
	{
		$pause = $_;
		my $answer = $sub->();
		return $answer if defined $answer;
	}
	skip 'this machine is too slow', 1;
}

# Have all buffers taken by something else.
sub evict
{
	my ($session) = @_;

	return query($session, "SELECT streamstat.pg_prewarm('filler')");
}

# The last state of a leaf that the first read covers, and of the root
sub evict_and_read
{
	my ($session, $file) = @_;

	query($session, 'CHECKPOINT');
	evict($session);
	return (read_block($file, 1), read_block($file, 3));
}

sub check_races
{
	my ($node, $what, $relation, $table, @cases) = @_;
	my $scanner = new_session($node);
	my $other = new_session($node);
	my $file = file_of($node, $relation);
	my $query = "SELECT * FROM streamstat.btree_stats('$relation')";
	my $change = sub { query($other, "INSERT INTO $table VALUES (7)"); };
	my ($leaf, $root, $after);

	# A leaf that the first read covers, in the middle of a write: if this page
	# is believed, there are two roots.
	my $tear = sub { write_block($file, 1, torn($leaf, $root)); };
	my %cases = (
		'came' => [ sub { $change->(); $tear->(); }, sub { } ],
		'came, was written, and went' => [
			sub {
				$change->();
				($after) = evict_and_read($other, $file);
				$tear->();
			},
			sub { write_block($file, 1, $after); } ],
		# With checksums, that is seen.
		'was caught in a write' =>
		  [ $tear, sub { write_block($file, 1, $leaf); } ],
		'was twice caught in a write' =>
		  [ $tear, sub { write_block($file, 1, $leaf); }, 'single' ]);

	foreach my $case (@cases)
	{
	  SKIP:
		{
			my $answer = in_time(
				sub {
					($leaf, $root) = evict_and_read($other, $file);
					return answer_while($scanner, $query, $file, @{ $cases{$case} });
				});

			is( $answer,
				query($other, "SET streamstat.io_path = buffer; $query"),
				"$what: a page that $case while it was read");
			query($other, 'RESET streamstat.io_path');

			next if $case ne 'came, was written, and went';
			isnt($after, $leaf, "$what: the page was written");

			# What is ignored is damage, and no failure of our own.
			query($scanner, 'SET ignore_checksum_failure = on');
		}
	}
	end_session($scanner);
	end_session($other);
}

# On a standby: replay is at a record already, but has not read the page.  The
# record is a deletion from an all-visible page, which needs a page of the
# visibility map first.
sub check_replay_race
{
	my $scanner = new_session($standby);
	my $other = new_session($standby);
	my $writer = new_session($plain);
	my $pid = query($other,
		"SELECT pid FROM pg_stat_activity WHERE backend_type = 'startup'");
	my $file = file_of($standby, 'replayed');
	my $query = "SELECT * FROM streamstat.sample_stats('replayed', 1000000)";
	my ($k, $before, $after, $expected) = (100);

	my $try = sub {
		query($writer, 'VACUUM replayed');
		query($writer, 'CHECKPOINT');
		$plain->wait_for_catchup($standby, 'replay', $plain->lsn('insert'));
		query($other, 'CHECKPOINT');
		evict($other);
		$before = read_block($file, 0);

		# dead line pointers, if one could believe it
		my $forged = $before;
		substr($forged, PD_LINP, 8) = pack('L2', (3 << 15) x 2);

		my ($tracer, $reason) = attach_strace(
			$pid,
			'-P' => "${file}_vm",
			'-e' => 'trace=pread64,preadv',
			'-e' => 'inject=pread64,preadv:when=1:delay_enter='
			  . int(($pause + 0.5) * 1e6));
		skip $reason, 1 if !defined $tracer;

		# No record may follow, so have the WAL flushed by the eviction.
		query($writer, 'BEGIN');
		query($writer, "DELETE FROM replayed WHERE k = " . $k--);
		evict($writer);
		wait_until_held($pid) or die 'replay reads no file';

		$pause *= 2;
		my $held;
		my $answer = answer_while(
			$scanner, $query, $file,
			sub {
				$held = is_held($pid);
				detach($tracer);
				foreach (1 .. 1000)
				{
					evict($other);
					$after = read_block($file, 0);
					last if lsn($after) ne lsn($before);
				}
				write_block($file, 0, $forged);
			},
			sub { write_block($file, 0, $after); });

		# Before the deletion ends, which would make the tuple a dead one
		$expected = query($other, "SET streamstat.io_path = buffer; $query");
		query($other, 'RESET streamstat.io_path');
		query($writer, 'COMMIT');
		return $held ? $answer : undef;
	};

  SKIP:
	{
		my $answer = in_time($try);
		isnt(lsn($after), lsn($before), 'standby: the page was written');
		is($answer, $expected,
			'standby: a page that came, and went while it was read');
	}
	end_session($_) foreach ($scanner, $other, $writer);
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
	end_session($session);

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
	is(join(' ', grep { $stats->{$_}{blocks_read} != 0 } @calls),
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
	send_query($session, $query);
	answer($session);
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

$plain = start_cluster('plain', 0);
$summed = start_cluster('summed', 1);

$plain->backup('backup');
$standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($plain, 'backup', has_streaming => 1);
$standby->start;

create_relations($_) foreach ($plain, $summed);
$plain->wait_for_catchup($standby, 'replay', $plain->lsn('insert'));

is($plain->safe_psql('postgres', 'SHOW data_checksums'), 'off', 'no checksums');
is($summed->safe_psql('postgres', 'SHOW data_checksums'), 'on', 'checksums');

check_races($plain, 'without checksums', 'r_btree', 'r',
	'came', 'came, was written, and went');
check_races($summed, 'with checksums', 'r_btree', 'r',
	'was twice caught in a write',
	'came, was written, and went',
	'was caught in a write');
check_races($summed, 'unlogged', 'u_btree', 'u', 'came, was written, and went');
check_replay_race();

load('without checksums', $plain, $standby);
load('with checksums', $summed);
cmp_ok($nscans, '>=', 2000, 'thousands of scans');
$plain->wait_for_catchup($standby, 'replay', $plain->lsn('insert'));


# A larger pool, whose buffers stay as they are, and what is to be damaged
foreach my $node ($plain, $summed, $standby)
{
	$node->append_conf(
		'postgresql.conf', q(
shared_buffers = 32MB
bgwriter_lru_maxpages = 0
));
	$node->restart;
}
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
end_session($_) foreach (@sessions);
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
is($stats->{blocks_private}, 0, 'many LSNs of the future: all from buffers');

# ---------------------------------------------------------------------------
# Without WAL and checksums there is no telling.

query($session, "SELECT * FROM streamstat.btree_stats('u_btree')");
isnt(stream_stats($session)->{stream}, 'file stream',
	'unlogged, without checksums: through buffers');

# ---------------------------------------------------------------------------
# Several segments, and workers

my %large;
foreach my $workers (0, 2)
{
	query($session, "SET streamstat.max_workers = $workers");
	my ($results, $stats) = check_same($session, "$workers workers",
		"sample_stats('sparse', 10000000)", "sample_stats('sparse', 30000, seed => 3)",
		"btree_stats('large_btree')", "pgstatindex('large_btree')",
		"sample_stats('large_btree', 10000000)", "sample_stats('large_btree', 17000, seed => 1)");
	$large{$workers} = $results;
	# samples are read by one process, unless they are everything
	is(join(' ', grep { ($stats->{$_}{workers} > 0) != ($workers > 0 && !/, [0-9]{5}, [0-9]\)/) } sort keys %$stats),
		'', "$workers workers: so many helped");
	is( join(' ', grep { $stats->{$_}{blocks_private} < 10000 } sort keys %$stats),
		'',
		"$workers workers: pages from the files");
}
is_deeply($large{0}, $large{2}, 'workers: the same without them');
my %sparse = map { (split /\|/)[ 0, 1 ] } split /\n/,
  $large{0}{"sample_stats('sparse', 10000000)"};
is($sparse{new_pages}, $segment + 3 - 6, 'two segments: new pages');
is($sparse{tuple_count}, 1226, 'two segments: a page in the second one');

# ---------------------------------------------------------------------------
# Ways to read

SKIP:
{
	skip 'files stay in the page cache', 3 if !$can_drop;

	my $file = file_of($plain, 't_hash');
	foreach my $method (qw(sync auto io_uring))
	{
		my $used = '';

		query($session, "SET streamstat.io_method = $method");
		foreach (1 .. 10)
		{
			drop_from_cache($file);
			query($session, "SELECT * FROM streamstat.hash_stats('t_hash')");
			$used = stream_stats($session)->{io_method};
			last if $used ne '';
		}
		like($used, $method eq 'sync' ? qr/^sync$/ : qr/^(sync|io_uring)$/,
			"io_method $method");
	}
}
check_descriptors($session, 'in the end');
end_session($session);

$session = new_session($summed);
check_garbage($session, 'with checksums');
check_checksum_failures($session);
check_descriptors($session, 'after errors');
end_session($session);

# ---------------------------------------------------------------------------

foreach my $node ($plain, $summed, $standby)
{
	$node->stop if defined $node->{_pid};
	my $log = slurp_file($node->logfile);
	my $name = $node->name;
	unlike($log, qr/PANIC|TRAP|terminated by signal/, "$name: no crash");
	unlike($log, qr/leak|not closed|still referenced/i, "$name: no leak");
}

done_testing();
