
# Copyright (c) 2026, streamstat contributors

# Multixacts with updaters: found in memory and in files, by each way to the pages, by
# workers, and on a standby.  Then pages name multixacts that a crash or damage has left
# without members: such pages are corrupt, and no call fails or hangs.

use strict;
use warnings;

use FindBin;
use PostgreSQL::Test::Utils;
use Test::More;

use lib "$FindBin::RealBin/lib";
use Node;
use Pages;
use Session;

# A call that hangs with a page locked cannot be canceled.
$PostgreSQL::Test::Utils::timeout_default = 60;

# Multixacts to make at first: more pages of offsets and members than images are kept
my $n_many = 18_000;

# Offsets in a tuple's header, and bits of t_infomask
use constant {
	T_XMAX => 4,
	T_INFOMASK => 20,
	XMIN_COMMITTED => 0x0100,
	XMAX_IS_MULTI => 0x1000,
	VISIBILITY => 0xdfd0,
};

my $node = new_node('multixacts', q(
shared_buffers = 32MB
max_worker_processes = 16
max_parallel_workers = 16
max_parallel_maintenance_workers = 8
statement_timeout = '2min'
log_statement = none
), checksums => 0, streaming => 1);
create_outcome($node);
my $offset_size = $node->safe_psql('postgres',
	"SELECT CASE WHEN current_setting('server_version_num')::int >= 190000 THEN 8 ELSE 4 END");
my $offsets_per_page = BLCKSZ / $offset_size;
my $data = $node->data_dir;

# The next multixact by the last checkpoint, after one
sub next_multixact
{
	return $node->safe_psql('postgres',
		'CHECKPOINT; SELECT next_multixact_id FROM pg_control_checkpoint()');
}

# Where the entry for a multixact is: file and offset
sub offset_place
{
	my ($multi) = @_;
	my $pageno = int($multi / $offsets_per_page);

	return (
		sprintf("$data/pg_multixact/offsets/%04X", $pageno / 32),
		$pageno % 32 * BLCKSZ + $multi % $offsets_per_page * $offset_size);
}

# Where member number $offset is: file, offset of its group, number in the group
sub member_place
{
	my ($offset) = @_;
	my $pageno = int($offset / 1636);
	my ($file) = grep { -e $_ }
	  map { sprintf("$data/pg_multixact/members/$_", $pageno / 32) } ('%04X', '%015X');

	return ($file, $pageno % 32 * BLCKSZ + int($offset % 1636 / 4) * 20, $offset % 4);
}

sub read_at
{
	my ($file, $offset, $size) = @_;

	open(my $fh, '<:raw', $file) or die "could not open $file: $!";
	sysseek($fh, $offset, 0) or die "could not seek in $file: $!";
	sysread($fh, my $bytes, $size);
	return $bytes;
}

sub get_offset
{
	return unpack($offset_size == 8 ? 'Q' : 'L', read_at(offset_place($_[0]), $offset_size));
}

sub set_offset
{
	my ($multi, $offset) = @_;

	write_at(offset_place($multi), pack($offset_size == 8 ? 'Q' : 'L', $offset));
}

# ---------------------------------------------------------------------------
# Sound ones.  One session locks all rows, and another one updates each in a
# transaction of its own.

$node->safe_psql('postgres', <<"SQL");
CREATE TABLE many (k int PRIMARY KEY, n int);
INSERT INTO many SELECT i, 0 FROM generate_series(1, $n_many) i;
CREATE TABLE few (k int PRIMARY KEY, n int);
INSERT INTO few SELECT i, 0 FROM generate_series(1, 10) i;
CREATE PROCEDURE update_each(name text, last int) LANGUAGE plpgsql AS
\$\$
BEGIN
	FOR i IN 1 .. last LOOP
		EXECUTE format('UPDATE %I SET n = n + 1 WHERE k = \$1', name) USING i;
		COMMIT;
	END LOOP;
END
\$\$;
SQL

my $s = Session->new($node);
my $locker = Session->new($node);

# What table_stats says, by one way to the pages
sub stats
{
	my ($name, $path) = @_;

	return $s->query("SET streamstat.io_path = $path;
SELECT corrupt_pages, live_tuples, dead_tuples FROM streamstat.table_stats('$name')") . $s->{err};
}

my $first = next_multixact();
$locker->query('BEGIN; SELECT FROM many FOR KEY SHARE');
$s->query("SET statement_timeout = 0; CALL update_each('many', $n_many)");
my $next = next_multixact();
cmp_ok($next - $first, '>=', $n_many, 'each update has made a multixact');
is(stats('many', $_), "0|$n_many|$n_many", "$_: many multixacts") foreach ('file', 'buffer');

# Some that are in memory only
$locker->query('COMMIT; BEGIN; SELECT FROM few FOR KEY SHARE');
$s->query("CALL update_each('few', 5)");
is(get_offset($next + $_) // 0, 0, "not in the file: $_") foreach (1 .. 4);
is(stats('few', $_), '0|10|5', "$_: multixacts in memory") foreach ('file', 'buffer');
$locker->query('COMMIT');
my $newest = next_multixact() - 1;
is($newest, $next + 4, 'the newest multixact');

# ---------------------------------------------------------------------------
# Damage.  The 3rd tuple of every 4th page of a table names a multixact.

my $d = $first + 5000;
my @cases = (
	[ hole => 'corrupt', $d + 10 ],
	[ before_hole => 'corrupt', $d + 9 ],
	[ backwards => 'corrupt', $d + 20 ],
	[ too_many => 'corrupt', $d + 29 ],
	[ no_file => 'corrupt', $d + 30 ],
	[ around => 'corrupt', $d + 31 ],
	[ no_member => 'corrupt', $d + 40 ],
	[ no_status => 'corrupt', $d + 42 ],
	[ two_updaters => 'corrupt', $d + 44 ],
	[ updater => 'dead', $d + 50 ],
	[ newest => 'dead', $newest ]);

$node->safe_psql('postgres',
	"CREATE TABLE $_->[0] (k int, t text); INSERT INTO $_->[0] SELECT i, repeat('x', 200) FROM generate_series(1, 1000) i"
) foreach (@cases);
# as if these tables were older than the multixacts
$node->safe_psql('postgres', "UPDATE pg_class SET relfrozenxid = '3', relminmxid = '1' WHERE relname IN ("
	  . join(', ', map { "'$_->[0]'" } @cases) . ')');

# Enough for a worker
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE large (k int, t text) WITH (fillfactor = 10);
ALTER TABLE large ALTER t SET STORAGE PLAIN;
INSERT INTO large SELECT i, repeat('x', 360) FROM generate_series(1, 35000) i;
SQL
my @large = ([ large => 'corrupt', $d + 9 ]);
my %path = map { $_->[0] => file_of($node, $_->[0]) } (@cases, @large);

# Where the page's tuples are: by their line pointers, all in use here
sub tuples
{
	my ($page) = @_;
	my $little = unpack('L', pack('L', 1)) == unpack('V', pack('L', 1));

	return map { $little ? $_ & 0x7fff : $_ >> 17 }
	  unpack('L*', substr($page, PD_LINP, 4 * items($page)));
}

# Damage a table: every $step'th page from block 1 on, its $n'th tuple.  Returns what
# table_stats is to say, and the blocks.
sub damage
{
	my ($name, $how, $multi, $step, $n) = @_;
	my @pages = read_blocks($path{$name});
	my %sum = (corrupt => 0, live => 0, dead => 0);
	my @damaged;

	foreach my $blkno (0 .. $#pages)
	{
		my @tuples = tuples($pages[$blkno]);

		if ($blkno % $step != 1)
		{
			$sum{live} += @tuples;
			next;
		}
		my $infomask = $tuples[ $n - 1 ] + T_INFOMASK;
		my $page = with32($pages[$blkno], $tuples[ $n - 1 ] + T_XMAX, $multi);

		write_block($path{$name}, $blkno,
			with16($page, $infomask,
				get16($page, $infomask) & ~VISIBILITY | XMIN_COMMITTED | XMAX_IS_MULTI));
		push @damaged, $blkno;
		$sum{$how}++;
		$sum{live} += @tuples - 1 if $how eq 'dead';
	}
	return ("$sum{corrupt}|$sum{live}|$sum{dead}", @damaged);
}

$s->end;
$locker->end;
$node->stop;

my (%expected, %damaged);
($expected{ $_->[0] }, @{ $damaged{ $_->[0] } }) = damage(@$_, 4, 3) foreach (@cases);
($expected{large}, @{ $damaged{large} }) = damage(@{ $large[0] }, 500, 1);

sub set_member
{
	my ($multi, $n, $xid, $status) = @_;
	my ($file, $group, $in_group) = member_place(get_offset($multi) + $n);
	my ($statuses, @xids) = unpack('L5', read_at($file, $group, 20));

	$xids[$in_group] = $xid if defined $xid;
	$statuses = $statuses & ~(0xff << 8 * $in_group) | $status << 8 * $in_group
	  if defined $status;
	write_at($file, $group, pack('L5', $statuses, @xids));
}

is(get_offset($d + 51) - get_offset($d + 50), 2, 'multixacts have two members');
set_member($d + 40, 1, 0, undef);
set_member($d + 42, 1, undef, 77);
set_member($d + 44, $_, undef, 5) foreach (0, 1);
set_offset($d + 10, 0);
set_offset($d + 20, get_offset($d + 21) + 5);
set_offset($d + 30, 3_000_000_000);
set_offset($d + 31, 3_000_000_002);

$node->start;
$s = Session->new($node);

# ---------------------------------------------------------------------------
# None of it may hang or fail.

sub outcome
{
	my ($query, $path) = @_;

	return $s->query("SET streamstat.io_path = $path; SELECT outcome(\$\$ $query \$\$)");
}

# By files first: nothing is in buffers yet.
foreach my $path ('file', 'buffer')
{
	foreach my $case (@cases)
	{
		my ($name, $how) = @$case;
		my $label = "$path: $name";
		my @blocks = @{ $damaged{$name} };

		is(stats($name, $path), $expected{$name}, "$label: table_stats");

		my $list = outcome("SELECT string_agg(block_no || ' ' || error, ',') FROM streamstat.corrupt_blocks('$name')", $path);
		is($list, $how eq 'corrupt' ? '("' . join(',', map { "$_ tuples" } @blocks) . '")' : '()',
			"$label: corrupt_blocks");
		foreach my $function ('pgstattuple', 'pgstattuple_approx')
		{
			my $outcome = outcome("SELECT * FROM streamstat.$function('$name')", $path);

			$how eq 'corrupt'
			  ? is($outcome, "XX001 table \"$name\" contains corrupted page at block 1", "$label: $function")
			  : unlike($outcome, qr/^[0-9A-Z]{5} /, "$label: $function");
		}
		is( outcome("SELECT estimate FROM streamstat.sample_stats('$name', 1000000) WHERE statistic = 'corrupt_pages'", $path),
			'(' . ($how eq 'corrupt' ? scalar @blocks : 0) . ')',
			"$label: sample_stats");
		foreach my $call ("layout_map('$name')", "bloat('$name')", "sample_stats('$name', 10, seed => 1)")
		{
			unlike(outcome("SELECT * FROM streamstat.$call", $path), qr/^$|^[0-9A-Z]{5} /, "$label: $call");
		}
	}

	# The table whose multixacts are those
	my ($corrupt) = split /\|/, stats('many', $path);
	cmp_ok($corrupt, '>', 0, "$path: many: corrupt pages");
	cmp_ok($corrupt, '<', 10, "$path: many: not too many");
	is(stats('few', $path), '0|10|5', "$path: few");

	is( outcome("SELECT string_agg(relation_name, ',' ORDER BY relation_name) FROM streamstat.database_report(margin => 0) WHERE note ~ 'corrupt page' AND relation_name != 'many'", $path),
		'("' . join(',', sort map { $_->[0] } grep { $_->[1] eq 'corrupt' } @cases, @large) . '")',
		"$path: database_report");

	# With a worker, too, where no subtransaction can begin
	foreach my $workers (0, 1)
	{
		my $label = "$path, $workers workers: large";

		$s->query("SET streamstat.max_workers = $workers");
		is(stats('large', $path), $expected{large}, "$label: table_stats");
		is($s->query('SELECT workers FROM streamstat.stream_stats()'), $workers, "$label: workers");
		like(outcome("SELECT * FROM streamstat.pgstattuple('large')", $path),
			qr/^XX001 table "large" contains corrupted page at block \d+$/, "$label: pgstattuple");
	}
}
$s->end;

my $standby = new_standby($node);
$s = Session->new($standby);
foreach my $path ('file', 'buffer')
{
	is(stats($_, $path), $expected{$_}, "standby, $path: $_") foreach (sort keys %expected);
	is($s->query('SELECT workers FROM streamstat.stream_stats()'), 0, 'without a worker');
	$s->query('SET streamstat.max_workers = 1');
	is(stats('large', $path), $expected{large}, "standby, $path: large");
	is($s->query('SELECT workers FROM streamstat.stream_stats()'), 1, 'with a worker');
	$s->query('SET streamstat.max_workers = 0');
}
$s->end;

stop_clean($standby);

# ---------------------------------------------------------------------------
# The members of the newest multixact are the last ones before offsets begin again.

if ($offset_size == 4)
{
	my $multi = next_multixact();
	my $offset = 2**32 - 2;

	$node->stop;
	command_ok([ 'pg_resetwal', '-m', "$multi,$multi", '-O', $offset, $data ], 'the last offsets');
	append_to_file(sprintf("$data/pg_multixact/members/%04X", $offset / 1636 / 32), "\0" x (32 * BLCKSZ));
	$node->start;
	($s, $locker) = map { Session->new($node) } 1, 2;
	$s->query('CREATE TABLE around_the_end AS SELECT 1 AS k');
	$locker->query('BEGIN; SELECT FROM around_the_end FOR KEY SHARE');
	$s->query('UPDATE around_the_end SET k = k + 1');
	is(next_multixact(), $multi + 1, 'a multixact');
	is($s->query('SELECT next_multi_offset FROM pg_control_checkpoint()'), 0, '... after which offsets begin again');
	is(stats('around_the_end', $_), '0|1|1', "$_: ... is sound") foreach ('file', 'buffer');
	$_->end foreach $s, $locker;
}

stop_clean($node);
done_testing();
