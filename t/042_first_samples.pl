
# Copyright (c) 2026, streamstat contributors

# Proof that a report reads ahead of its first samples, over many relations, and no
# further than its limits go.
#
# strace sees which files are opened, advised and read.  Most tables and indexes here
# are so small that a first sample has all of their blocks.

use strict;
use warnings;

use FindBin;
use List::Util qw(max sum0);
use PostgreSQL::Test::Utils;
use Test::More;

use lib "$FindBin::RealBin/lib";
use Node;
use Pages;
use Session;
use Tracer;

# Few descriptors, so that opening many relations would be seen
my $settings = q(
shared_buffers = 128MB
max_files_per_process = 64
);
my $node = new_node('first_samples', $settings);


# 100 tables of 3 to 12 blocks, and one of 300, with an index each; and one that has a
# visibility map.  (19 may write a part of that while it reads a table, so that "large"
# is not read before.)
$node->safe_psql('postgres', <<'SQL');
SELECT format('CREATE TABLE t%1$s AS SELECT g AS id, md5(g::text)::uuid AS u FROM generate_series(1, %2$s) g', n, (2 + n % 10) * 136 + 100),
	format('CREATE INDEX i%1$s ON t%1$s (u)', n) FROM generate_series(1, 100) n \gexec
CREATE TABLE large (id int, u uuid);
CREATE INDEX large_u ON large (u);
INSERT INTO large SELECT g, md5(g::text)::uuid FROM generate_series(1, 40800) g;
CREATE TABLE mapped AS SELECT g AS id, md5(g::text)::uuid AS u FROM generate_series(1, 40800) g;
VACUUM mapped;
CHECKPOINT;
SQL

my (%name, %blocks);
foreach (split /\n/, $node->safe_psql('postgres',
		"SELECT relname, pg_relation_filepath(oid), pg_relation_size(oid) / current_setting('block_size')::int FROM pg_class WHERE relname ~ '^([ti][0-9]+|large.*)\$' AND relkind IN ('r', 'i')"))
{
	my ($name, $path, $blocks) = split /\|/;

	$name{$path} = $name;
	$blocks{$name} = $blocks;
}
my ($attribute, $mapped) = map
{
	$node->safe_psql('postgres', "SELECT pg_relation_filepath('$_')")
} qw(pg_attribute mapped);

# ---------------------------------------------------------------------------
# What a report does with files

my ($session, $tracer, $reason);

# Trace a new session, of a server that has nothing in its buffers.
sub begin
{
	my ($before, @traced) = @_;

	@traced = ('trace=openat,close,fadvise64,pread64,preadv2,preadv') if !@traced;

	$node->restart;
	$session = Session->new($node);
	$session->query("LOAD 'streamstat'");
	$session->query($before) if $before;
	($tracer, $reason) = Tracer->attach($session->{pid}, '-y', map { ('-e', $_) } @traced);
	plan skip_all => $reason if !$tracer;
}

# Make a report with these arguments, and end the session.  Returns the rows of our
# relations, by name, and the events: [what, name, offset, length].
sub report
{
	my ($arguments) = @_;
	my (%rows, @events);

	foreach (split /\n/, $session->query(
			"SELECT relation_name, measured, r FROM streamstat.database_report($arguments, seed => 1, max_time => '1 hour') r ORDER BY relid"))
	{
		my ($name, $measured, $row) = split /\|/;

		$rows{$name} = [ $measured, $row ] if exists $blocks{$name};
	}
	is($session->{err}, '', "$arguments: no error");
	$session->end;
	eval { $tracer->{run}->finish; };

	foreach (split /\n/, $tracer->trace)
	{
		my ($path) = m{<[^<>]*/(base/[^<>]+)>} or next;
		my $name = $name{$path} // $path;

		push @events, [ 'advise', $name, $1, $2 ]
		  if /^fadvise64\(\d+<[^>]+>, (\d+), (\d+), POSIX_FADV_WILLNEED\)/;
		push @events, [ 'read', $name ] if /^preadv?2?(?:64)?\(/;
		push @events, [ 'open', $name ] if /^openat\(.*O_RDONLY.*\) = \d/;
		push @events, [ 'close', $name ] if /^close\(/;
	}
	return (\%rows, @events);
}

sub of_kind
{
	my ($kind, @events) = @_;
	return grep { $_->[0] eq $kind } @events;
}

# Most relations that are advised and not read, at a time, and their blocks, of ours
sub most_ahead
{
	my ($most, $most_blocks, %ahead) = (0, 0);

	foreach (grep { exists $blocks{ $_->[1] } } @_)
	{
		my ($what, $name, undef, $length) = @$_;

		$ahead{$name} += $length / BLCKSZ if $what eq 'advise';
		delete $ahead{$name} if $what eq 'read';
		$most = max($most, scalar keys %ahead);
		$most_blocks = max($most_blocks, sum0(values %ahead));
	}
	return ($most, $most_blocks);
}

# ---------------------------------------------------------------------------
# All that there is

begin();
my ($expected, @events) = report("budget => '1GB'");
my %advised;

is(scalar keys %name, 202, 'relations');

is(scalar(grep { $_->[0] ne 'skipped' } values %$expected), 202,
	'all are read, with few descriptors');
$advised{ $_->[1] } += $_->[3] / BLCKSZ foreach of_kind('advise', @events);
is(scalar(grep { !$advised{$_} } keys %blocks), 0, 'all are advised');
is( scalar(grep { $_ =~ /^[ti]\d/ && $advised{$_} != $blocks{$_} } keys %blocks),
	0, 'each block once');

my ($most, $most_blocks) = most_ahead(@events);
cmp_ok($most, '>=', 16, 'many relations are advised before the first of them is read');
cmp_ok($most, '<=', 33, 'but not more than one large relation would have reads under way');
cmp_ok($most_blocks, '<=', 2 * 8 * 1024 * 1024 / BLCKSZ, 'nor more bytes');

is_deeply(
	[ map { $_->[1] } grep { $_->[1] =~ /^$mapped/ } of_kind('advise', @events) ],
	["${mapped}_vm"],
	'a sample that depends on the visibility map: the map is advised');

# Each relation's columns are looked up in pg_attribute, in no order that is known.
is((of_kind('advise', @events))[0]->[1],
	$attribute, 'a small catalog is advised before all else');

# Each is advised before it is read.
my (%seen, @late);
foreach (@events)
{
	push @late, $_->[1]
	  if $_->[0] eq 'read' && exists $blocks{ $_->[1] } && !$seen{ $_->[1] };
	$seen{ $_->[1] } = 1 if $_->[0] eq 'advise';
}
is("@late", '', 'no relation is read before it is advised');

# Files that were opened only for reading are ours.
my ($open, $most_open) = (0, 0);
foreach (@events)
{
	$open++ if $_->[0] eq 'open';
	$open-- if $_->[0] eq 'close' && $open > 0;
	$most_open = max($most_open, $open);
}
cmp_ok($most_open, '<=', 2, 'at most two files are open at a time');

# ---------------------------------------------------------------------------
# Without look-ahead: the same rows

begin('SET streamstat.io_concurrency = 1');
(my $rows, @events) = report("budget => '1GB'");
is_deeply([ of_kind('advise', @events) ], [], 'no look-ahead: no advice');
is_deeply($rows, $expected, 'no look-ahead: the same rows');

begin('SET streamstat.io_path = buffer');
($rows, @events) = report("budget => '1GB'");
cmp_ok((most_ahead(@events))[0], '>=', 16, 'through buffers: advice as well');
is_deeply($rows, $expected, 'through buffers: the same rows');

# ---------------------------------------------------------------------------
# What is not needed

begin("SELECT streamstat.pg_prewarm(oid) FROM pg_class WHERE relname ~ '^[ti][0-9]+\$' AND relkind IN ('r', 'i');\n"
	. 'CREATE TEMP TABLE temporary AS SELECT * FROM t1');
($rows, @events) = report("budget => '1GB'");
is_deeply([ grep { $_->[1] =~ /^[ti]\d/ } of_kind('advise', @events) ], [],
	'in shared buffers: no advice');
is_deeply([ grep { $_->[1] =~ m{/t\d+_} } of_kind('advise', @events) ], [],
	'temporary: no advice');
is_deeply($rows, $expected, 'in shared buffers: the same rows');

# ---------------------------------------------------------------------------
# Limits

begin();
($rows, @events) = report("budget => '4MB'");
my @skipped = grep { $rows->{$_}->[0] eq 'skipped' } keys %$rows;
%advised = map { $_->[1] => 1 } of_kind('advise', @events);
cmp_ok(scalar @skipped, '>', 50, 'small budget: many are not read');
cmp_ok(scalar @skipped, '<', 200, 'small budget: others are');

# What lies between relations, and is not advised, can take the blocks of the last one.
cmp_ok(scalar(grep { $advised{$_} } @skipped), '<=', 1,
	'small budget: what is not read is not advised, but for one relation');
cmp_ok(scalar(grep { $advised{$_} } keys %$rows), '>=', 1,
	'small budget: what is read is advised');

begin();
($rows, @events) = report("budget => '3MB', max_rate => '3MB'");
# of those that are read as a whole, without gaps
($most, $most_blocks) = most_ahead(grep { $_->[1] =~ /^[ti]\d/ } @events);
cmp_ok($most_blocks, '<=', 128 * 1024 / BLCKSZ,
	'limited rate: advice is not further ahead than one slice');
cmp_ok($most_blocks, '>', 0, 'limited rate: there is advice');
isnt((of_kind('advise', @events))[0]->[1],
	$attribute, 'limited rate: no catalog is advised as a whole');

begin();
($rows, @events) = report("budget => '0'");
is_deeply([ of_kind('advise', @events) ], [], 'no budget: no advice');

# ---------------------------------------------------------------------------
# A file that is gone is no error, and neither is one that is locked by others.

begin();
my $other = Session->new($node);
$other->query('BEGIN; LOCK t7; LOCK t8');
($rows, @events) = report("budget => '1GB'");
is_deeply([ sort grep { $rows->{$_}->[0] eq 'skipped' } keys %$rows ],
	[qw(i7 i8 t7 t8)], 'locked by others: these are skipped');
$other->end;

# ---------------------------------------------------------------------------
# A cancel between the rows of a report does not wait for the last one.  It comes when the
# first of them go to a temporary file, whose size is logged.

my $rows_of_last = 'SELECT count(*) FROM streamstat.last_database_report()';
my $logged = -s $node->logfile;
begin("SET work_mem = '64kB'; SET log_temp_files = 0; CALL streamstat.run_database_report(budget => '8MB'); $rows_of_last",
	'trace=pwrite64,pwritev', 'inject=pwrite64,pwritev:signal=INT:when=1');
$session->query($rows_of_last);
like($session->{err}, qr/57014: canceling statement due to user request/, 'the rows of a report are canceled');
$session->end;
eval { $tracer->{run}->finish; };
my ($whole, $begun) = slurp_file($node->logfile, $logged) =~ /temporary file: path "[^"]*", size (\d+)/g;
cmp_ok($begun, '<', 0.7 * $whole, '... after the first ones');

# ---------------------------------------------------------------------------
# Direct I/O, where there is something like that

SKIP:
{
	my $supported = $node->safe_psql('postgres',
		"SELECT count(*) FROM pg_settings WHERE name = 'debug_io_direct'");

	skip 'no debug_io_direct', 2 if !$supported;
	$node->append_conf('postgresql.conf', 'debug_io_direct = data');
	skip 'no direct I/O here', 2 if !eval { begin(); 1 };
	($rows, @events) = report("budget => '1GB'");
	is_deeply([ of_kind('advise', @events) ], [], 'direct I/O: no advice');
	is_deeply($rows, $expected, 'direct I/O: the same rows');
}

stop_clean($node);
done_testing();
