
# Copyright (c) 2026, streamstat contributors

# The cache worker: what shared buffers hold is saved and loaded again after a restart, a
# crash and a promotion; a file that is of no use, a full disk, and what was dropped or
# changed since then do no harm; and nobody has to wait for it.

use strict;
use warnings;

use Digest::MD5 qw(md5_hex);
use FindBin;
use POSIX qw(mkfifo);
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes ();

use lib "$FindBin::RealBin/lib";
use Extra 'slow';
use Node;
use Pages qw(next_random crc32c);
use Session;

# That can hardly take longer, in seconds.
use constant SHORT => 120;

my $preload = "shared_preload_libraries = 'streamstat'\nfsync = off\nlog_min_messages = log\n";
# the same prefix on all servers; that of 19's tests has the kind of the process
my $node = new_node('worker', "${preload}shared_buffers = 64MB\nrestart_after_crash = on\nlog_line_prefix = '%m [%p] '\n", streaming => 1);
my $file = $node->data_dir . '/streamstat.cache';

sub sql
{
	my ($query, $database) = @_;

	return $node->safe_psql($database // 'postgres', $query);
}

sub content
{
	my ($path) = @_;

	return -e $path ? slurp_file($path) : undef;
}

sub write_content
{
	my ($path, $content) = @_;

	open(my $fh, '>:raw', $path) or die "could not write $path: $!";
	print $fh $content;
	close $fh;
}

# What the log says since the last start or mark, about the worker and its loaders
my %mark;

sub mark
{
	my ($server) = @_;

	$mark{ $server->name } = -s $server->logfile;
}

sub log_lines
{
	my ($server) = @_;

	return grep { /streamstat|saved cache/ && !/STATEMENT|parameter "streamstat|received|loader|DETAIL:/ }
	  split /\n/, substr(slurp_file($server->logfile), $mark{ $server->name } // 0);
}

sub start
{
	my ($server) = @_;

	mark($server);
	$server->start;
}

# The line on the load, when that has ended
sub loaded
{
	my ($server) = @_;

	return Session::poll('the load', sub { (grep { /streamstat loaded/ } log_lines($server))[0] });
}

sub ended_by
{
	my ($server) = @_;

	return loaded($server) =~ /ended by: (.*)$/ ? $1 : 'not known';
}

# What that line says if one database is missing
sub all_but_one
{
	my ($n) = loaded($node) =~ / of \d+ of (\d+) databases/ or return qr/databases/;
	my $other = $n - 1;

	return qr/ of $other of $n databases .* complete$/;
}

sub restart
{
	my ($server, $mode) = @_;

	$server->stop($mode // 'fast');
	start($server);
}

# Settings from here on
sub set
{
	my ($server, %settings) = @_;

	$server->append_conf('postgresql.conf', join('', map { "$_ = $settings{$_}\n" } sort keys %settings));
	$server->reload if defined $server->{_pid};
}

# The processes of that title
sub processes
{
	my ($title, $server) = @_;
	my @pids;

	$server //= $node;
	foreach my $path (glob('/proc/[0-9]*/stat'))
	{
		open(my $fh, '<', $path) or next;
		my $line = <$fh> // next;
		my ($pid, $parent) = $line =~ /^(\d+) \(.*\) \S (\d+)/ or next;
		next if $parent != $server->{_pid};
		open(my $cmd, '<', "/proc/$pid/cmdline") or next;
		push @pids, $pid if (<$cmd> // '') =~ /\Q$title\E/;
	}
	return @pids;
}

sub loader
{
	my ($server) = @_;

	return Session::poll('a loader', sub { (processes('streamstat cache loader', $server))[0] });
}

# The blocks in shared buffers, of all databases
my $cached = q(SELECT concat_ws(' ', reldatabase, reltablespace, relfilenode, relforknumber, relblocknumber)
	FROM pg_buffercache WHERE relfilenode IS NOT NULL);

sub cached
{
	my ($server) = @_;

	return { map { $_ => 1 } split /\n/, $server->safe_psql('postgres', $cached) };
}

# How many percent of the blocks are there?
sub share_of
{
	my ($before, $now) = @_;

	return 100 * (grep { $now->{$_} } keys %$before) / scalar keys %$before;
}

sub of_database
{
	my ($blocks, $oid) = @_;

	return { map { $_ => 1 } grep { /^$oid / } keys %$blocks };
}

sub warm_up
{
	sql('SELECT count(w) FROM large; SELECT count(*) FROM hot; SELECT count(*) FROM hot; SELECT count(*) FROM hot; SELECT count(*) FROM hot; SELECT count(*) FROM hot');
	sql('SET enable_seqscan = off; SELECT count(*) FROM large WHERE id > 0');
	sql('SELECT count(*) FROM other', $_) foreach qw(one two);
}

# ---------------------------------------------------------------------------
# Off: the worker sleeps, and nothing is written.

my ($worker) = processes('streamstat cache worker');

sub switches
{
	open(my $fh, '<', "/proc/$worker/status") or return 'none';
	return join(' ', join('', <$fh>) =~ /ctxt_switches:\s+(\d+)/g);
}

ok($worker, 'there is a worker');
is(sql('SHOW streamstat.cache_save_interval'), '-1', 'off by default');
my ($before, $now);
foreach (1 .. 10)
{
	# it may only just have started
	$before = switches();
	Time::HiRes::sleep(1);
	$now = switches();
	last if $now eq $before;
}
is($now, $before, '... it sleeps');
restart($node);
is(content($file), undef, '... and writes no file');
is(join("\n", log_lines($node)), '', '... and nothing to the log');

my $buffercache = create_extension($node, 'pg_buffercache');

sql(<<'SQL');
CREATE TABLE large AS SELECT g AS id, repeat('x', 100) AS w FROM generate_series(1, 100000) g;
CREATE INDEX large_id ON large (id);
CREATE TABLE hot AS SELECT g AS id, repeat('x', 100) AS w FROM generate_series(1, 3000) g;
CREATE TABLE gone AS SELECT g AS id, repeat('x', 100) AS w FROM generate_series(1, 3000) g;
CREATE TABLE cut AS SELECT g AS id, repeat('x', 100) AS w FROM generate_series(1, 3000) g;
CREATE TABLE rewritten AS SELECT g AS id, repeat('x', 100) AS w FROM generate_series(1, 3000) g;
VACUUM;
SQL
foreach my $database (qw(one two))
{
	sql("CREATE DATABASE $database");
	sql("CREATE TABLE other AS SELECT g AS id, repeat('x', 100) AS w FROM generate_series(1, 10000) g; VACUUM", $database);
}

# ---------------------------------------------------------------------------
# A reload is followed.

($worker) = processes('streamstat cache worker');
set($node, 'streamstat.cache_save_interval' => '1s');
Session::poll('the first file', sub { -e $file });
my $inode = (stat($file))[1];
Session::poll('the next one', sub { (stat($file))[1] != $inode });
pass('saved every second');
is((stat($file))[2] & 0777, 0600, '... for the server only');
set($node, 'streamstat.cache_save_interval' => '-1');
foreach (1 .. 10)
{
	# it may not have got the signal yet
	$inode = (stat($file))[1];
	Time::HiRes::sleep(1.5);
	last if (stat($file))[1] == $inode;
}
is((stat($file))[1], $inode, 'off again');
set($node, 'streamstat.cache_save_interval' => '0');
Time::HiRes::sleep(1.2);
is((stat($file))[1], $inode, 'at shutdown only');
is(join(' ', processes('streamstat cache worker')), $worker, 'it has been the same worker');

# ---------------------------------------------------------------------------
# After a restart, all is there: of all databases, and of shared catalogs.

SKIP:
{
	skip 'no pg_buffercache', 10 if !$buffercache;

	my %oid = map { $_ => sql("SELECT oid FROM pg_database WHERE datname = '$_'") } qw(postgres one two);

	foreach my $mode ('fast', 'smart')
	{
		warm_up();
		$before = cached($node);
		restart($node, $mode);
		is(ended_by($node), 'complete', "$mode stop: all is loaded");
		my $now = cached($node);
		foreach my $name (sort keys %oid)
		{
			my $part = of_database($before, $oid{$name});
			cmp_ok(scalar keys %$part, '>=', 100, "... there was something in $name");
			cmp_ok(share_of($part, $now), '>=', 99, '... which is there again');
		}
		cmp_ok(share_of(of_database($before, 0), $now), '>=', 99, '... and shared catalogs');
	}
	set($node, 'streamstat.cache_save_interval' => '-1');
	restart($node);
	cmp_ok(share_of($before, cached($node)), '<', 40, 'without the load, it is not');
	set($node, 'streamstat.cache_save_interval' => '0');
}
is(scalar(log_lines($node)), 0, 'with -1, a load is not in the log');
sql('DROP EXTENSION streamstat');
warm_up();
restart($node);
like(loaded($node), qr/ of (\d+) of \1 databases in \d+ ms; .* complete$/, 'without the extension');
is(scalar(log_lines($node)), 1, '... with one line in the log');
sql('CREATE EXTENSION streamstat');

# ---------------------------------------------------------------------------
# What was dropped, cut or rewritten since the save

sql('SELECT count(*) FROM gone; SELECT count(*) FROM cut; SELECT count(*) FROM rewritten');
sql("CREATE DATABASE dropped");
sql('CREATE TABLE other AS SELECT g AS id FROM generate_series(1, 10000) g', 'dropped');
warm_up();
$node->stop;
my $saved = content($file);
start($node);
is(ended_by($node), 'complete', 'a load');
sql('DROP DATABASE dropped');
sql('DROP TABLE gone; DELETE FROM cut WHERE id > 100');
sql($_) foreach 'VACUUM cut', 'VACUUM FULL rewritten';
$node->stop;
write_content($file, $saved);
start($node);
is(ended_by($node), 'complete', 'a load after changes');
like(loaded($node), all_but_one(), '... of the other databases');
is(scalar(grep { /saved cache of database \d+ is not loaded: the database was dropped/ } log_lines($node)), 1, '... the dropped one is in the log');
is(scalar(log_lines($node)), 2, '... and no more');
is(sql('SELECT count(*) FROM cut'), 100, 'what was cut');
is(sql('SELECT count(*) FROM rewritten'), 3000, '... and rewritten is as it was');

# ---------------------------------------------------------------------------
# A stop without a save: the file of the last interval

set($node, 'streamstat.cache_save_interval' => '1s');
warm_up();
$inode = (stat($file))[1];
Session::poll('the save', sub { (stat($file))[1] != $inode });
$saved = content($file);
restart($node, 'immediate');
is(ended_by($node), 'complete', 'after an immediate stop');
set($node, 'streamstat.cache_save_interval' => '0');

# ---------------------------------------------------------------------------
# No process can be had: tried for half a minute, looked at below.

$node->stop;
$node->backup_fs_cold('cold');
my $few = PostgreSQL::Test::Cluster->new('few');
$few->init_from_backup($node, 'cold');
set($few, max_worker_processes => 2);
start($few);
start($node);
is(ended_by($node), 'complete', 'a load before');

# ---------------------------------------------------------------------------
# Files that are of no use

# The text of another file, at which the log has a line with that detail
sub refused
{
	my ($what, $content, $detail, $part) = @_;

	$part //= '';
	$node->stop;
	write_content($file, $content);
	start($node);
	Session::poll($what, sub { grep { /streamstat\.cache/ } log_lines($node) });
	my ($line) = grep { /streamstat\.cache/ } log_lines($node);
	like($line, qr/LOG:  ignoring ${part}file "streamstat\.cache"$/, "$what: refused");
	ok(Session::poll('the detail', sub { slurp_file($node->logfile, $mark{ $node->name }) =~ /DETAIL:  $detail$/m }), '... with the reason');
	return;
}

# What else the file has is loaded all the same.
sub refused_in_part
{
	my ($what, $content, $detail) = @_;

	refused($what, $content, $detail, 'a part of ');
	like(loaded($node), qr/ended by: (?:errors|complete)$/, '... and the rest is loaded');
	return;
}

# The texts, as they are in the file
sub parts_of
{
	my ($content) = @_;

	return split /(?<=\n)(?=streamstat cache \d)/, $content;
}

sub with_checksum
{
	my ($text) = @_;

	$text =~ s/^crc .*\n\z//m;
	return $text . sprintf("crc %08x\n", crc32c($text));
}

# The file of the texts with a change in each
sub changed
{
	my ($from, $to) = @_;

	return join('', map { with_checksum(s/$from/$to/r) } parts_of($saved));
}

warm_up();
$node->stop;
$saved = content($file);
start($node);
is(ended_by($node), 'complete', 'a load before');
my $size = length $saved;
my @parts = parts_of($saved);
my $first = length $parts[0];
cmp_ok($size, '>', 500, 'a file');
cmp_ok(scalar @parts, '>=', 5, '... with texts of all databases and of shared relations');
is(join('', map { with_checksum($_) } @parts), $saved, '... each with its checksum');
like($_, qr/^streamstat cache 1\ndatabase \d+\nsystem \d+\nsaved .*\nblock_size 8192\nblocks \d+\n1 f \d+\/\d+\n/, '... of file numbers')
  foreach @parts;

my $cut = '(?:The text is empty|The last line is not a checksum|The checksum is wrong|The first line is not).*';
my @cases = (
	[ 'nothing', '', 'The text is empty\.' ],
	[ 'the file of another program', "SSTWARM\n" x 100, 'The first line is not that of a saved cache\.' ],
	[ 'zeros', "\0" x $size, 'The text is empty\.' ],
	[ 'a long line', 'x' x 1_000_000, 'The first line is not that of a saved cache\.' ],
	[ 'a newer version', changed('cache 1', 'cache 2'), 'The text was saved by a newer version of streamstat\.' ],
	[ 'another block size', changed('8192', '16384'), 'The server has another block size\.' ],
	[ 'another system', changed('system \d+', 'system 1'), 'The file belongs to another database system\.' ]);
push @cases, [ "cut after $_ bytes", substr($saved, 0, $_), $cut ] foreach 7, 40, $first - 2, 1 + next_random($first - 10);
foreach my $case (@cases)
{
	refused(@$case);
	Time::HiRes::sleep(0.05);
	is(scalar(log_lines($node)), 1, '... in one line of the log');
}
refused_in_part('too long', $saved . "\0", 'The text is empty\.');
refused_in_part("cut after $_ bytes", substr($saved, 0, $_), $cut) foreach $size - 2, map { $first + 1 + next_random(length($parts[1]) - 10) } 1 .. 3;
foreach my $at (24 + next_random(20), map { 24 + next_random($size - 34) } 1 .. 8)
{
	my $content = $saved;

	substr($content, $at, 1) ^= chr(1 << next_random(3));
	refused_in_part("a bit of byte $at", $content, $cut);
}

# Numbers with a good checksum that make no sense
sub with_last_range
{
	my ($first, $nblocks) = @_;
	my @changed = @parts;

	$changed[-1] =~ s/^blocks (\d+)$/'blocks ' . ($1 + $nblocks)/me;
	$changed[-1] =~ s/^crc .*\n\z//m;
	$changed[-1] .= "1 main $first+$nblocks\n";
	$changed[-1] = with_checksum($changed[-1]);
	return join('', @changed);
}
refused_in_part('a block beyond the last one', with_last_range(4294967294, 2), 'A range ends after the last possible block\.');

# the last block that a relation can have, of 32 TB
$node->stop;
write_content($file, with_last_range(4294967294, 1));
start($node);
is(ended_by($node), 'complete', 'the last possible block is not refused');
is(scalar(log_lines($node)), 1, '... with one line in the log');

$node->stop;
unlike(content($file), qr/4294967294/, 'the next save replaces such a file');
write_content($file, $saved);
start($node);
is(ended_by($node), 'complete', 'the good file is loaded');

# no rights, or no file at all
SKIP:
{
	skip 'root may read all', 2 if $> == 0;
	$node->stop;
	chmod 0, $file;
	start($node);
	like( Session::poll('a line', sub { (log_lines($node))[0] }), qr/LOG:  could not open file "streamstat\.cache": Permission denied/, 'no rights');
	is(scalar(log_lines($node)), 1, '... with one line in the log');
}
$node->stop;
unlink $file;
start($node);
Time::HiRes::sleep(0.3);
is(scalar(log_lines($node)), 0, 'no file is no trouble');

# ---------------------------------------------------------------------------
# A save that fails: the old file stays, the temporary one goes, the next one works.

my $temporary = "$file.tmp";

sub fails
{
	my ($what, $break, $words, $mend) = @_;

	set($node, 'streamstat.cache_save_interval' => '0');
	$node->stop;
	write_content($file, $saved);
	start($node);
	is(ended_by($node), 'complete', "$what: a good file");
	mark($node);
	$break->();
	set($node, 'streamstat.cache_save_interval' => '1s');
	my $line = Session::poll($what, sub { (grep { !/parameter/ } log_lines($node))[0] }) // '';
	like($line, qr/LOG:  $words/, '... a line in the log');
	if ($mend)
	{
		Session::poll('the next line', sub { log_lines($node) >= 2 });
		$mend->();
	}
	else
	{
		# or the next save's, a second later
		my $found = content($file);

		ok( $found eq $saved || $found eq join('', map { with_checksum($_) } parts_of($found)), '... the old file is there')
		  if -f $file;

		# it goes after that line
		ok(Session::poll('no temporary file', sub { !-l $temporary && !-e $temporary }), '... the temporary one is not');
	}
	mark($node);
	Session::poll('a save', sub { -f $file && content($file) ne $saved });
	pass('... the next save works');
	is(-e $temporary ? 1 : 0, 0, '... and leaves no temporary file');
	is(scalar(log_lines($node)), 0, '... and no line');
	return;
}

SKIP:
{
	skip 'no /dev/full', 7 if !-e '/dev/full';
	fails('a full disk', sub { symlink '/dev/full', $temporary or die }, 'could not write file "streamstat\.cache\.tmp": No space left on device');
}
set($node, fsync => 'on');
fails('fsync', sub { symlink '/dev/null', $temporary or die }, 'could not write file "streamstat\.cache\.tmp": ');
set($node, fsync => 'off');
fails('no file can be made', sub { mkdir $temporary or die }, 'could not write file "streamstat\.cache\.tmp": Is a directory', sub { rmdir $temporary or die });
fails('no file can be renamed', sub { unlink $file; mkdir $file or die }, 'could not .* "streamstat\.cache": Is a directory',
	sub { is(-e $temporary ? 1 : 0, 0, '... the temporary file is not there'); rmdir $file or die });
set($node, 'streamstat.cache_save_interval' => '0');

# ---------------------------------------------------------------------------
# A stop of the server ends the save that is under way, and makes the last one; that ends when
# it takes too long.  A save stands still while its file is a pipe that nobody reads.

sub stop_in_save
{
	my ($what, $interval) = @_;
	my $stands = sub {
		return Session::poll("$what: it stands still", sub { slurp_file("/proc/$worker/wchan") =~ /partner|fifo/ });
	};

	$node->stop;
	write_content($file, $saved);
	start($node);
	is(ended_by($node), 'complete', "$what: a good file");
	($worker) = processes('streamstat cache worker');
	mkfifo($temporary, 0600) or die "could not make $temporary: $!";
	set($node, 'streamstat.cache_save_interval' => $interval);
	$stands->() if $interval ne '0';

	# A signal wakes it up for a moment: that of the stop; or that of the clock, 10 s later, before
	# which there can be others.
	my $switches = switches();
	my $clock = $interval eq '0' ? time + 10 : 0;
	kill 'INT', $node->{_pid};
	$stands->() if $clock;
	Session::poll("$what: a signal", sub {
			my $last = $switches;
			$switches = switches();
			return $switches ne $last && time >= $clock;
	});
	open(my $pipe, '<', $temporary) or die "could not open $temporary: $!";
	1 while <$pipe>;
	$node->stop('fast', fail_ok => 1);
	is(-e $temporary ? 1 : 0, 0, '... it leaves no temporary file');
	return;
}

SKIP:
{
	($worker) = processes('streamstat cache worker');
	skip 'where a process waits is not known', 1 if slurp_file("/proc/$worker/wchan") =~ /^0?$/;

	stop_in_save('a save at a stop', '1s');
	ok(-f $file && content($file) ne $saved, '... the last one comes after it');
	unlike(slurp_file($node->logfile, $mark{ $node->name }), qr/not saved|canceling|could not write/, '... and nothing is in the log');
	set($node, 'streamstat.cache_save_interval' => '0');
	start($node);
	stop_in_save('the last save', '0');
	is(md5_hex(content($file)), md5_hex($saved), '... the file is as it was');
	like((grep { /not saved/ } log_lines($node))[0], qr/LOG:  streamstat has not saved the cache: a stop of the server waits no longer than 10 s/, '... and the log has a line');
	start($node);
}

# ---------------------------------------------------------------------------
# While a load is under way, slowly

warm_up();
$node->stop;
$saved = content($file);

sub start_slowly
{
	my ($rate) = @_;

	$node->stop if defined $node->{_pid};
	write_content($file, $saved);
	set($node, 'streamstat.max_rate' => $rate // '50kB');
	start($node);
	loader($node);
	return Session::poll('a connection', sub { sql(q(SELECT datname FROM pg_stat_activity WHERE backend_type = 'streamstat cache loader')) });
}

sub seconds_of
{
	my ($query, $database) = @_;
	my $start = Time::HiRes::time();

	sql($query, $database);
	return Time::HiRes::time() - $start;
}

is(start_slowly(), 'postgres', 'the load begins with the database that has most blocks');
ok( Session::poll('pg_stat_activity', sub {
		sql(q(SELECT application_name, state, query FROM pg_stat_activity WHERE backend_type = 'streamstat cache loader')) eq
		  'streamstat|active|loading the saved cache' }),
	'pg_stat_activity shows it');
cmp_ok(seconds_of('BEGIN; LOCK TABLE large, hot; COMMIT; TRUNCATE cut; CREATE INDEX CONCURRENTLY hot_id ON hot (id); VACUUM FULL hot; SELECT count(*) FROM large'),
	'<', SHORT, 'DDL does not wait for it');
my $loader = loader($node);
cmp_ok(seconds_of('CREATE DATABASE copy TEMPLATE postgres', 'template1'), '<', SHORT, 'the database can be copied');
isnt(loader($node), $loader, '... by another loader, it goes on');
$before = content($file);
my $started = Time::HiRes::time();
$node->stop;
cmp_ok(Time::HiRes::time() - $started, '<', SHORT, 'a stop does not wait for it');
is(md5_hex(content($file)), md5_hex($saved), '... and does not replace the file by a save of less');

start_slowly();
cmp_ok(seconds_of('ALTER DATABASE postgres RENAME TO renamed', 'template1'), '<', SHORT, 'the database can be renamed');
cmp_ok(seconds_of('DROP DATABASE renamed', 'template1'), '<', SHORT, '... and dropped');
Session::poll('the line', sub { grep { /the database was dropped/ } log_lines($node) });
pass('... which is in the log');
$node->safe_psql('template1', 'ALTER DATABASE copy RENAME TO postgres');
set($node, 'streamstat.max_rate' => '0');
like(loaded($node), all_but_one(), '... and the load goes on');
sql('CREATE EXTENSION IF NOT EXISTS pg_buffercache') if $buffercache;

warm_up();
$node->stop;
$saved = content($file);
start_slowly();
set($node, 'streamstat.cache_save_interval' => '-1');
is(ended_by($node), 'cache_save_interval', 'switched off during the load');
is(scalar(processes('streamstat cache loader')), 0, '... it has ended');
set($node, 'streamstat.cache_save_interval' => '0', 'streamstat.max_rate' => '0');

# Others wait for the end of the loader's transaction.  The rest of its part is for the
# next one, and each block counts once.
restart($node);
loaded($node);
sql("CREATE INDEX none_$_ ON large (id) WHERE false") foreach 1 .. 3;
warm_up();
my $buffers = q(SELECT count(*) FROM pg_buffercache WHERE relfilenode = pg_relation_filenode('large') AND relforknumber = 0
	AND reldatabase = (SELECT oid FROM pg_database WHERE datname = current_database()));
my $locked = q(SELECT count(*) FROM pg_locks l JOIN pg_stat_activity a USING (pid)
	WHERE backend_type = 'streamstat cache loader' AND relation = 'large'::regclass);
$before = sql($buffers) if $buffercache;
$node->stop;
$saved = content($file);
set($node, 'streamstat.max_blocking_time' => '0');
start_slowly('1MB');
foreach my $i (1 .. 3)
{
	Session::poll('the table', sub { sql($locked) });
	sql("DROP INDEX CONCURRENTLY none_$i");
}
set($node, 'streamstat.max_rate' => '0', 'streamstat.max_blocking_time' => '1s');
is(ended_by($node), 'complete', 'others waited for it');
SKIP:
{
	skip 'no pg_buffercache', 1 if !$buffercache;
	is(sql($buffers), $before, '... and all of the table is loaded');
}
my ($nloaded, $nsaved) = loaded($node) =~ /loaded (\d+) of (\d+) saved blocks/;
cmp_ok($nloaded, '<=', $nsaved, '... and each block counts once');
cmp_ok($nloaded, '>=', 0.99 * $nsaved, '... of all') or diag(loaded($node));

# All of it fails: with a rate set, a cancel always finds the loader in a part.
start_slowly();
Session::poll('a part', sub { sql(q(SELECT wait_event_type FROM pg_stat_activity WHERE backend_type = 'streamstat cache loader')) eq 'Extension' });
Session::poll('the end', sub { kill 'INT', processes('streamstat cache loader'); grep { /streamstat loaded/ } log_lines($node) });
is(ended_by($node), 'errors', 'errors: the load gives up, and says so');
my ($largest) = sql(q(SELECT oid FROM pg_database WHERE datname = 'postgres'));
like(slurp_file($node->logfile, $mark{ $node->name }), qr/saved cache of database $largest is not loaded completely: too many errors/, '... also of the database');
set($node, 'streamstat.max_rate' => '0');
restart($node);
is(ended_by($node), 'complete', '... and the next load is complete');

# a process dies, and with it all
foreach my $title ('streamstat cache loader', 'streamstat cache worker')
{
	start_slowly();
	mark($node);
	kill 'KILL', processes($title);
	Session::poll('the crash', sub { slurp_file($node->logfile, $mark{ $node->name }) =~ /all server processes terminated/ });
	set($node, 'streamstat.max_rate' => '0');
	is(ended_by($node), 'complete', "$title killed: it loads again");
}

# beside others who use the same blocks
start_slowly();
my @sessions = map { Session->new($node) } 0 .. 1;
foreach my $i (0 .. 1)
{
	$sessions[$i]->send_query("DO \$\$ BEGIN FOR i IN 1 .. 20 LOOP PERFORM count(w) FROM large; UPDATE hot SET w = w || 'y' WHERE id % 20 = 2 * (i % 10) + $i; END LOOP; END \$\$");
}
set($node, 'streamstat.max_rate' => '0');
is(ended_by($node), 'complete', 'beside others');
$_->answer foreach @sessions;
is($_->{err}, '', '... who notice nothing') foreach @sessions;
$_->end foreach @sessions;

# ---------------------------------------------------------------------------
# A smaller pool: what was used most, and no more than fits

SKIP:
{
	skip 'no pg_buffercache', 4 if !$buffercache;

	# A block that was loaded has been used once.
	restart($node);
	loaded($node);
	warm_up();
	my $hot = sql("SELECT pg_relation_size('hot') / 8192");
	$node->stop;
	set($node, shared_buffers => '4MB');
	start($node);
	is(ended_by($node), 'full', 'a smaller pool: full');
	my ($blocks) = loaded($node) =~ /loaded (\d+) of/;
	cmp_ok($blocks, '>', 100, '... of what fits');
	cmp_ok($blocks, '<', 512, '... and no more');
	cmp_ok(sql("SELECT count(*) FROM pg_buffercache WHERE relfilenode = pg_relation_filenode('hot') AND reldatabase = (SELECT oid FROM pg_database WHERE datname = 'postgres')"),
		'>=', 0.9 * $hot, '... and the most used first');
	$node->stop;
	set($node, shared_buffers => '64MB');
	start($node);
	is(ended_by($node), 'complete', '... and larger again');
}

# ---------------------------------------------------------------------------
# A standby, from a backup with the file, and its promotion

my $standby = new_standby($node, '', before => sub { mark($_[0]) });
is(ended_by($standby), 'complete', "a new standby loads the primary's cache");
$node->wait_for_catchup($standby);
$standby->safe_psql('postgres', 'SELECT count(w) FROM large; SELECT count(*) FROM hot');
SKIP:
{
	skip 'no pg_buffercache', 1 if !$buffercache;

	$before = cached($standby);
	restart($standby);
	is(ended_by($standby), 'complete', 'and its own after a restart');
	cmp_ok(share_of($before, cached($standby)), '>=', 99, '... which is all');
}
set($standby, 'streamstat.max_rate' => '200kB');
restart($standby);
$loader = loader($standby);
sql('CREATE DATABASE later');
$node->wait_for_catchup($standby);
$standby->promote;
is($standby->safe_psql('postgres', 'CREATE TABLE new AS SELECT 1 AS one; SELECT one FROM new'), 1, 'promoted while it loads');
is(loader($standby), $loader, '... by the same process');
set($standby, 'streamstat.max_rate' => '0');
is(ended_by($standby), 'complete', '... to the end');
SKIP:
{
	skip 'no pg_buffercache', 1 if !$buffercache;

	$before = cached($standby);
	restart($standby);
	is(ended_by($standby), 'complete', 'after the promotion');
	cmp_ok(share_of($before, cached($standby)), '>=', 99, '... it saves and loads as before');
}

is(ended_by($few), 'no background worker', 'without a process, it gives up');
is(scalar(grep { /could not start a background worker to load the saved cache/ } log_lines($few)), 1, '... with one line on that');

stop_clean($standby);
stop_clean($few);
$node->stop;
my @lines = split /\n/, slurp_file($node->logfile);
is(scalar(grep { /PANIC|TRAP/ } @lines), 0, 'no crash but those wanted');
done_testing();
