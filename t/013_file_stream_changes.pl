
# Copyright (c) 2026, streamstat contributors

# The file stream reads pages that are in no buffer past the buffer manager, while
# others change them: at the worst moment, under a load, and by replay.  No wrong page,
# and no error that is not real damage.
#
# One cluster is without checksums and has a standby, the other is with them.

use strict;
use warnings;

use FindBin;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

use lib "$FindBin::RealBin/lib";
use Container;
use FileStream;
use Node;
use PageCache;
use Pages;
use Tracer;

# The load's time, in seconds, and what it did
my $seconds = 3;
my $nscans = 0;

$ENV{PGOPTIONS} = '-c client_min_messages=warning';

my $settings = 'shared_buffers = 1MB';
my $plain = file_stream_node('plain', 0, $settings);
my $summed = file_stream_node('summed', 1, $settings);
my $standby = new_standby($plain);

create_relations($_) foreach ($plain, $summed);
$_->safe_psql('postgres', <<'SQL') foreach ($plain, $summed);
CREATE TABLE r AS SELECT i AS k FROM generate_series(1, 20000) i;
CREATE INDEX r_btree ON r (k);
CREATE TABLE replayed AS SELECT i AS k FROM generate_series(1, 100) i;
CREATE TABLE filler AS SELECT i, repeat('x', 1000) FROM generate_series(1, 7000) i;

-- Write until there is a row in "ended".
CREATE TABLE ended ();
CREATE PROCEDURE write() LANGUAGE plpgsql AS
$$
DECLARE
	one int;
	other int;
BEGIN
	WHILE NOT EXISTS (SELECT FROM ended) LOOP
		one := 1 + random() * 29999;
		other := 1 + random() * 29999;
		INSERT INTO t VALUES (other, 0), (one, 1);
		COMMIT;
		DELETE FROM t WHERE k = one;
		COMMIT;
		UPDATE t SET k = one, v = v + 1 WHERE k = other;
		COMMIT;
		PERFORM pg_sleep(0.001);
	END LOOP;
END
$$;

-- Scan for some time, each time in a transaction of its own, and until something has changed.
-- Returns how often, how, and what was wrong.
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
	WHILE clock_timestamp() < until OR scans < 50 OR changes < 2 LOOP
		call := calls[scans % array_length(calls, 1) + 1];
		IF call LIKE '%, ' THEN
			call := call || scans || ')';
		END IF;
		-- A b-tree has one page above the leaves, a hash index one bitmap page.
		IF call LIKE 'btree_stats%' THEN
			SELECT * INTO r FROM streamstat.btree_stats('t_btree');
			bad := r.internal_pages + r.leaf_pages + r.empty_pages + r.deleted_pages +
				r.new_pages + r.corrupt_pages + 1 <> r.bytes / block
				OR r.corrupt_pages <> 0
				OR r.tree_level <> 1 OR r.internal_pages <> 1
				OR r.live_items NOT BETWEEN 15000 AND 120000
				OR r.free_bytes NOT BETWEEN 0 AND r.leaf_pages * block;
			changes := changes + (r.live_items <> items_before)::int;
			items_before := r.live_items;
		ELSIF call LIKE 'hash_stats%' THEN
			SELECT * INTO r FROM streamstat.hash_stats('t_hash');
			bad := r.bucket_pages + r.overflow_pages + r.bitmap_pages + r.unused_pages +
				r.corrupt_pages + 1 <> r.bytes / block
				OR r.corrupt_pages <> 0 OR r.bitmap_pages <> 1
				-- which may have grown since its end was looked up
				OR (r.buckets > r.bucket_pages + r.unused_pages + r.overflow_pages
					AND r.bytes = pg_relation_size('t_hash'))
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
				sum(estimate) FILTER (WHERE statistic = ''live_tuples'') AS tuples
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
		IF r.blocks_hit + r.blocks_missed <> r.blocks_requested OR
			r.blocks_private > r.blocks_missed THEN
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
$plain->wait_for_catchup($standby, 'replay', $plain->lsn('insert'));

# ---------------------------------------------------------------------------
# Load

sub load
{
	my ($what, $node, $standby) = @_;
	my @writers = map { new_session($node) } 1 .. 3;
	my @scanners;

	$_->send_query('CALL write()') foreach (@writers);
	foreach my $n ($node, $standby // ())
	{
		push @scanners, new_session($n, 'streamstat.io_method = sync');
		push @scanners, new_session($n, 'streamstat.map_files = off');
		push @scanners,
		  new_session(
			$n,
			'streamstat.io_method = auto',
			'streamstat.io_combine_limit = 2',
			'streamstat.io_concurrency = 8');
	}
	$_->send_query("CALL scan($seconds, '')") foreach (@scanners);

	my $maintenance = new_session($node);
	my @files = map { file_of($_, 't_btree'), file_of($_, 't_hash') }
	  $node, $standby // ();
	while (grep { $_->busy } @scanners)
	{
		query($maintenance, 'VACUUM (INDEX_CLEANUP ON) t');
		query($maintenance, 'CHECKPOINT');
		try_to_drop_files(@files);
		usleep(20_000);
	}
	query($maintenance, 'INSERT INTO ended DEFAULT VALUES');
	$maintenance->end;
	foreach my $writer (@writers)
	{
		$writer->answer;
		is($writer->{err}, '', "$what: a writer ended well");
		$writer->end;
	}

	my $read_ahead = 0;
	foreach my $scanner (@scanners)
	{
		my $name = $scanner->{node}->name;
		my $answer = $scanner->answer;
		my %result = $answer =~ /(\w+) (\d+)/g;
		my $where = "$what, on $name";

		note("$where: $answer");
		$nscans += $result{scans};
		is($scanner->{err}, '', "$where: no error and no warning");
		is($result{wrong}, 0, "$where: the numbers are plausible");
		cmp_ok($result{scans}, '>=', 50, "$where: scans were made");
		is($result{not_ours}, 0, "$where: by the file stream");
		cmp_ok($result{private}, '>', $result{scans} * 0.9,
			"$where: with pages from the files");
		cmp_ok($result{hits}, '>', $result{scans} / 10,
			"$where: and pages from buffers");
		$read_ahead += $result{read_ahead};
		cmp_ok($result{changes}, '>', 1, "$where: of an index that changed");
		check_descriptors($scanner, $where);
		$scanner->end;
	}
	# Pages that are not yet written stay in the cache, on a busy machine all of them.
	note("$what: $read_ahead scans read ahead");
}

# ---------------------------------------------------------------------------
# Others at the worst moment.  strace holds a process before and after a system
# call, so that the others can do their worst between a look-up, the read, and
# the next look-up.  "Tears" are written by us.

# Should a pause turn out to be too short, the case is tried again with a longer.
my @pauses = (0.4, 2, 8);
my ($pause, $was_held);

# Does strace hold the process in one of these system calls, about the file if one is
# given?  A busy machine makes it hold the process for long in any other.
sub is_held
{
	my ($pid, $file, @calls) = @_;

	return 0 if slurp_file("/proc/$pid/stat") !~ /\) t /;
	return 1 if !known_machine() || !open(my $fh, '<', "/proc/$pid/syscall");
	my ($number, $fd) = (<$fh> // '') =~ /^(\d+) 0x([0-9a-f]+)/;
	return defined $number
	  && (!defined $file || (readlink("/proc/$pid/fd/" . hex($fd)) // '') eq $file)
	  && grep { $_ == $number } map { system_call($_) } @calls;
}

# Wait until strace holds the process there: for longer than in each system call.  A
# session may have ended its query without.
sub wait_until_held
{
	my ($session, $pid, @where) = @_;
	my $times = 0;

	foreach (1 .. 1000)
	{
		$times = is_held($pid, @where) ? $times + 1 : 0;
		return $was_held = 1 if $times == 8;
		last if $session && !$session->busy;
		usleep(5_000);
	}
	return 0;
}

# Send a query and do something before and after its first read of the file, or
# with "single" before that and after the first read of a single block; or else, with
# "mapped", before and after it first copies from mapped memory, which is between
# setting a handler for SIGBUS and the old one.  Returns the answer, or nothing if
# there was not the time for it.
sub answer_while
{
	my ($session, $query, $file, $before, $after, $how) = @_;
	my $single = ($how // '') eq 'single';
	my $exit = $single ? 'pread64,preadv' : 'preadv2';
	my ($tracer, $reason) = Tracer->attach(
		$session->{pid},
		'-ttt',
		($how // '') eq 'mapped'
		? ('-e' => 'trace=rt_sigaction',
			'-e' => 'inject=rt_sigaction:when=1..2:delay_exit=' . int($pause * 1e6))
		: (
		'-P' => $file,
		'-e' => "trace=preadv2,$exit",
		'-e' => 'inject=preadv2:when=1:delay_enter='
		  . int($pause * 1e6)
		  . ($single ? '' : ':delay_exit=' . int($pause * 1e6)),
		$single
		? ('-e' => "inject=$exit:when=1:delay_exit=" . int($pause * 1e6))
		: ()));

	skip $reason, 1 if !defined $tracer;

	$session->send_query($query);
	my @where = ($how // '') eq 'mapped' ? (undef, 'rt_sigaction') : ($file, 'preadv2');
	if (!wait_until_held($session, $session->{pid}, @where))
	{
		$session->answer;
		$tracer->detach;
		return;
	}
	my $seen = time();
	$before->();
	my $before_ended = time();
	usleep(10_000) while (time() < $seen + $pause + 0.1);
	$after->();
	my $after_ended = time();
	my $answer = $session->answer;
	$tracer->detach;

	# It may have been held for long before that was seen, or for a second time.
	my ($held) = $tracer->trace =~ /^(\d+\.\d+) /m or die 'no time in the trace';
	return if $before_ended > $held + $pause - 0.1 || $after_ended > $held + 2 * $pause - 0.1;
	return $answer;
}

# Try with longer and longer pauses, and again where nothing was held: only what is in the
# page cache is mapped.
sub in_time
{
	my ($sub) = @_;

	foreach my $wanted (@pauses)
	{
		foreach (1 .. 10)
		{
			($pause, $was_held) = ($wanted, 0);
			my $answer = $sub->();
			return $answer if defined $answer;
			last if $was_held;
		}
		die 'the file is not read' if !$was_held;
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
	my ($node, $what, $way, $relation, $table, @cases) = @_;
	my $scanner = new_session($node,
		'streamstat.map_files = ' . ($way eq 'mapped' ? 'on' : 'off'));
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
		  [ $tear, sub { write_block($file, 1, $leaf); }, 'single' ],
		# A copy that makes no sense is not believed either.
		'made no sense' => [
			sub {
				my $page = $leaf;

				substr($page, PD_LINP, 4) = pack('L', 0xffffffff);
				write_block($file, 1, $page);
			},
			sub { write_block($file, 1, $leaf); } ]);

	foreach my $case (@cases)
	{
	  SKIP:
		{
			my $answer = in_time(
				sub {
					($leaf, $root) = evict_and_read($other, $file);
					slurp_file($file);
					return answer_while($scanner, $query, $file,
						$way eq 'mapped' ? (@{ $cases{$case} }[ 0, 1 ], $way) :
						  @{ $cases{$case} });
				});

			is( $answer,
				query($other, "SET streamstat.io_path = buffer; $query"),
				"$what, $way: a page that $case while it was read");
			query($other, 'RESET streamstat.io_path');
			is( query($scanner, 'SELECT blocks_mapped > 0 FROM streamstat.stream_stats()'),
				$way eq 'mapped' ? 't' : 'f', "$what, $way: so it was");

			next if $case ne 'came, was written, and went';
			isnt($after, $leaf, "$what, $way: the page was written");

			# What is ignored is damage, and no failure of our own.
			query($scanner, 'SET ignore_checksum_failure = on');
		}
	}
	$scanner->end;
	$other->end;
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

		my ($tracer, $reason) = Tracer->attach(
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
		if (!wait_until_held(undef, $pid, "${file}_vm", 'pread64', 'preadv'))
		{
			$tracer->detach;
			query($writer, 'COMMIT');
			return;
		}

		$pause *= 2;
		my $held;
		my $answer = answer_while(
			$scanner, $query, $file,
			sub {
				$held = is_held($pid, "${file}_vm", 'pread64', 'preadv');
				$tracer->detach;
				foreach (1 .. 1000)
				{
					evict($other);
					$after = read_block($file, 0);
					last if lsn($after) ne lsn($before);
				}
				write_block($file, 0, $forged);
			},
			sub { write_block($file, 0, $after); });
		$tracer->detach if !defined $held;

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
	$_->end foreach ($scanner, $other, $writer);
}

# ---------------------------------------------------------------------------

foreach my $way ('read', 'mapped')
{
	check_races($plain, 'without checksums', $way, 'r_btree', 'r',
		'came', 'came, was written, and went', 'made no sense');
	check_races($summed, 'with checksums', $way, 'r_btree', 'r',
		'came, was written, and went',
		'was caught in a write');
}
check_races($summed, 'with checksums', 'read', 'r_btree', 'r',
	'was twice caught in a write');
check_races($summed, 'unlogged', 'read', 'u_btree', 'u', 'came, was written, and went');
check_replay_race();

load('without checksums', $plain, $standby);
load('with checksums', $summed);
cmp_ok($nscans, '>=', 450, 'hundreds of scans');
$plain->wait_for_catchup($standby, 'replay', $plain->lsn('insert'));

stop_clean($standby, $plain, $summed);
done_testing();
