
# Copyright (c) 2026, streamstat contributors

# Every function of the extension, over relations that are damaged at random
#
#   perl damage.pl BINDIR DATADIR LOG KEPT RELATIONS ROUND SEED
#
# tools/damage calls it, with a cluster that is not running.  In rounds of ROUND
# relations, some are made, damaged while the server is down, and looked at through SQL
# by each way to the pages, and under settings that are chosen at random; every
# fourth round has data checksums.  One relation of a round is made so long that
# workers help, who meet damage, too.  The damaged relations are touched by nothing else:
# what the server itself makes of them is not asked.
#
# What has to hold: the server does not crash, and nothing hangs; functions of
# our own have no error, but for an index without any block, and say the same by each way to the
# pages; the others have
# errors with an SQLSTATE for damage, if any; files stay as they are, also those of
# relations that are not damaged, and these keep their rows.
#
# A round depends on its seed only.  The files of a relation that fails are left in
# the directory KEPT.

use strict;
use warnings;

use Digest::MD5;
use File::Basename;
use File::Copy;
use File::Path qw(make_path);
use FindBin;
use IO::Select;
use Time::HiRes;

use lib $FindBin::RealBin, "$FindBin::RealBin/../../t/lib";
use Damage;
use Pages;
use Relations;

# How long a call may take, in seconds: that is far more than any of these needs, on a
# busy machine too; and blocks that are worth a worker (src/run/parallel.c).
use constant {
	CALL_TIMEOUT => 20,
	HANG_TIMEOUT => 45,
	BLOCKS_FOR_WORKER => 16400,
};

# What a call may say of damage when it is allowed an error: data_corrupted and
# index_corrupted.  Where a file is gone, all may say which it is: undefined_file.
my $damage_errors = qr/^XX00[12]$/;
my %gone;

$| = 1;
my ($bindir, $datadir, $log, $kept, $wanted, $round_size, $seed) = @ARGV;
my @psql = ("$bindir/psql", '-XAtq', '-v', 'VERBOSITY=verbose', '-d', 'postgres');
my ($nrelations, $ncalls, $ncompared, $nworkers, $slowest, $slowest_call) = (0, 0, 0, 0, 0, '');
my (%kinds, %done, %errors);
my $running = 0;

sub run
{
	system(@_) == 0 or die "$_[0] failed: $?";
}

# Turn data checksums on or off, while the server is down.
sub checksums
{
	my ($what) = @_;
	my $out = `'$bindir/pg_checksums' --$what --no-sync -D '$datadir' 2>&1`;

	die "pg_checksums --$what: $out" if $? != 0;
}

sub server
{
	my ($what) = @_;

	run("$bindir/pg_ctl", '-D', $datadir, '-l', $log, '-s', '-w', '-m', 'fast', $what);
	$running = $what eq 'start';
}

sub write_file
{
	my ($file, $contents) = @_;

	open(my $fh, '>:raw', $file) or die "could not open $file: $!";
	print $fh $contents;
	close($fh) or die "could not write $file: $!";
}

sub read_file
{
	my ($file, $from) = @_;

	open(my $fh, '<:raw', $file) or die "could not open $file: $!";
	seek($fh, $from // 0, 0);
	local $/;
	return <$fh> // '';
}

my $script = "$datadir/damage.sql";

# Commands that have to work; $force lets single ones fail
sub commands
{
	my ($commands, $force) = @_;

	write_file($script, $commands);
	my $out = `'$bindir/psql' -XAtq -d postgres @{[$force ? "2>/dev/null" : "-v ON_ERROR_STOP=1"]} -f '$script'`;
	die "commands failed" if $? != 0;
	return $out;
}

# ---------------------------------------------------------------------------
# what fails, as comments before the results

my %failed;
my ($ntests, $nbad) = (0, 0);
my ($round_seed, $checksums, @healthy);

sub result
{
	my ($name, $what) = @_;

	printf "%s %d - seed %d: %s\n", $failed{$name} ? 'not ok' : 'ok', ++$ntests, $round_seed, $what;
	$nbad++ if $failed{$name};
}

sub failed
{
	my ($relation, $why) = @_;
	my $name = $relation ? $relation->{name} : 'round';

	print "# $name: $why\n";
	return if $failed{$name}++ || !$relation;
	make_path("$kept/$round_seed-$name");
	copy($_, "$kept/$round_seed-$name") foreach map { glob "$_ $_.?* ${_}_*" } $relation->{file};
}

# ---------------------------------------------------------------------------
# relations

# Those of the rounds: the extension's tables, which are older, stay.
my $candidates = <<'SQL';
SELECT c.oid, CASE relkind WHEN 'i' THEN amname WHEN 'S' THEN 'sequence' ELSE 'table' END,
	c.oid::regclass, pg_relation_filepath(c.oid),
	coalesce((SELECT inhparent FROM pg_inherits WHERE inhrelid = c.oid), 0)
FROM pg_class c LEFT JOIN pg_am a ON a.oid = relam
WHERE c.oid > 'healthy'::regclass AND relkind IN ('r', 'm', 'S', 'i', 't')
	AND relnamespace::regnamespace::text IN ('public', 'pg_toast')
	AND pg_relation_size(c.oid) > 0 AND NOT EXISTS (
		SELECT FROM pg_class h LEFT JOIN pg_index i ON indrelid IN (h.oid, h.reltoastrelid)
		WHERE h.relname = 'healthy' AND c.oid IN (h.oid, h.reltoastrelid, indexrelid))
ORDER BY 1
SQL

sub make_relations
{
	my ($n) = @_;
	my ($tables, $nfound) = (0, 0);

	while ($nfound < $n)
	{
		my $sql = join('', map { table_commands(++$tables) } 1 .. ($n - $nfound) / 6 + 1);

		commands("SET client_min_messages = fatal; CREATE EXTENSION IF NOT EXISTS bloom; CREATE EXTENSION IF NOT EXISTS vector;\n" . $sql, 1);
		$nfound = commands("SELECT count(*) FROM ($candidates) c");
	}

	my @found = map { [ split /\|/ ] } split /\n/, commands("CHECKPOINT; $candidates");
	my @relations = map {
		my ($oid, $type, $name, $path, $tree) = @$_;

		+{ oid => $oid, type => $type, name => $name, path => $path, file => "$datadir/$path", tree => $tree };
	} @found;

	# any of them, for there may be some more
	while (@relations > $n)
	{
		splice(@relations, int rand @relations, 1);
	}
	return @relations;
}

sub damage
{
	my ($relation) = @_;
	my $file = $relation->{file};
	my @forks = grep { -s "${file}_$_" } qw(fsm vm);
	my @did;

	my $before = digest($relation);
	do
	{
		# sometimes the maps only
		push @did, damage_file($file) if !@forks || !one_in(6);
		foreach my $fork (@forks)
		{
			push @did, "$fork: " . damage_file("${file}_$fork") if !@did || one_in(2);
		}
	} while (digest($relation) eq $before);

	# Without a file, there is nothing that a function could say.
	if (one_in(60))
	{
		unlink($file) or die "could not remove $file: $!";
		push @did, 'gone';
		$gone{ $relation->{path} } = 1;
	}
	elsif (@forks && one_in(10))
	{
		unlink("${file}_$forks[0]") or die "could not remove ${file}_$forks[0]: $!";
		push @did, "$forks[0]: gone";
	}
	$relation->{forks} = [ -e $file ? 'main' : (), grep { -e "${file}_$_" } qw(fsm vm) ];
	$relation->{damage} = join('; ', grep { length } @did);
	$kinds{ $relation->{type} }++;
	$done{$_}++ foreach map { s/^\w+: //r } map { split /[,;] / } $relation->{damage};
}

# Make a relation so long that workers help: with holes, and its pages here and there.
sub lengthen
{
	my ($relation) = @_;
	my @pages = read_blocks($relation->{file});
	my $nblocks = BLOCKS_FOR_WORKER + int rand 500;

	open(my $fh, '+<:raw', $relation->{file}) or die "could not open $relation->{file}: $!";
	if (@pages)
	{
		foreach (1 .. 300)
		{
			seek($fh, BLCKSZ * (@pages + int rand($nblocks - @pages)), 0);
			print $fh pick(@pages);
		}
	}
	truncate($fh, BLCKSZ * $nblocks) && close($fh) or die "could not write $relation->{file}: $!";
	$relation->{damage} .= '; lengthened';
	$done{lengthened}++;
}

# What all files of relations hold
sub digest
{
	my ($relation) = @_;
	my $file = $relation->{file};

	return join(' ', map {
		open(my $fh, '<:raw', $_) or die "could not open $_: $!";
		Digest::MD5->new->addfile($fh)->hexdigest;
	} grep { -e } $file, map { "${file}_$_" } qw(fsm vm init));
}

# ---------------------------------------------------------------------------
# calls

# Settings that answers do not depend on
sub settings
{
	return join('', map { "SET $_;\n" }
		'streamstat.io_method = ' . pick(qw(auto io_uring sync)),
		'streamstat.io_concurrency = ' . pick(0, 1, 2, 7, 200),
		'streamstat.io_combine_limit = ' . pick(0, 1, 3, 16, 32),
		'streamstat.map_files = ' . pick('on', 'off'),
		'streamstat.max_workers = ' . pick(0, 2),
		'streamstat.max_rate = ' . pick(0, 0, 0, "'500MB'"),
		'effective_io_concurrency = ' . pick(0, 1, 16),
		'maintenance_io_concurrency = ' . pick(0, 1, 10));
}

# The script of all calls over some relations: each under a label of its own.
# Labels are numbers; what they stand for is in @calls.
my @calls;

sub call
{
	my ($relation, $pass, $name, $sql, $may_fail) = @_;

	push @calls, { relation => $relation, pass => $pass, name => $name, sql => $sql, may_fail => $may_fail };
	return "\\echo call $#calls\n\\warn call $#calls\n$sql;\n";
}

sub our_pass
{
	my ($relation, $pass) = @_;

	return settings() . join('', map {
		my ($name, $columns, $call) = @$_;

		call($relation, $pass, $name, "SELECT $columns FROM streamstat.$call x", 0);
	} our_calls($relation));
}

# The calls over a relation, as pairs of a turn and commands.  A page that a buffer has got
# although its checksum is wrong is a good one to all that follow, also if they came by the
# table to its TOAST table: who lets such pages in has a later turn than who does not.
sub relation_scripts
{
	my ($relation) = @_;
	my $script = '';
	my $ignore = $checksums && one_in(2);
	my @scripts;

	$relation->{ignores_checksums} = $ignore;
	$script .= "SET ignore_checksum_failure = on;\n" if $ignore;
	foreach my $path (one_in(2) ? qw(file buffer) : qw(buffer file))
	{
		$script .= "SET streamstat.io_path = $path;\n" . our_pass($relation, $path);
	}
	# what contrib has as well; pages come into buffers by this
	$script .= settings() . 'SET streamstat.io_path = ' . pick(qw(auto file buffer)) . ";\n"
	  . join('', map {
		my ($name, $columns, $call) = @$_;

		call($relation, 'other', $name, "SELECT $columns FROM streamstat.$call x", 1);
	  } other_calls($relation));
	$script .= 'SET streamstat.io_path = ' . pick(qw(auto file buffer)) . ";\n" . our_pass($relation, 'cached');
	push @scripts, [ $ignore ? 1 : 0, $script . "RESET ignore_checksum_failure;\n" ];

	# the server's own ways to look at damaged pages, which change what is found
	if (one_in(4))
	{
		my $setting = pick('zero_damaged_pages', $ignore ? () : 'ignore_checksum_failure');

		$script = settings() . ($ignore ? "SET ignore_checksum_failure = on;\n" : '') . "SET $setting = on;\n" . our_pass($relation, $setting)
		  . join('', map {
			call($relation, $setting, $_->[0], "SELECT $_->[1] FROM streamstat.$_->[2] x", 1);
		  } other_calls($relation)) . "RESET $setting; RESET ignore_checksum_failure;\n";
		push @scripts, [ 2, $script ];
	}
	return @scripts;
}

# Some calls that read all of a long relation: with workers they say what they say
# without them
sub worker_script
{
	my ($relation) = @_;
	my @ours = grep { "@$_" !~ /max_time|_summary|unfrozen|_tree|, [79], / } our_calls($relation);
	my @others = grep { $_->[0] !~ /relpages|approx/ && "@$_" !~ /prefetch|'(?:fsm|vm)'/ } other_calls($relation);
	my ($script, @all) = ('', grep { $_->[0] =~ /_stats$/ } @ours);

	# of which not all have workers
	splice(@ours, int rand @ours, 1) while @ours > 3;
	splice(@others, int rand @others, 1) while @others > 2;
	push @ours, @all;
	foreach my $way ('file', 'file, workers', 'buffer, workers')
	{
		$script .= settings() . 'SET streamstat.io_path = ' . $way =~ s/,.*//r . ";\n"
		  . 'SET streamstat.max_workers = ' . ($way =~ /workers/ ? 2 : 0) . ";\n"
		  # what is mapped is read without workers
		  . ($way =~ /workers/ ? "SET streamstat.map_files = off;\n" : '')
		  . "SET streamstat.max_rate = 0;\n";
		$script .= call($relation, $way, $_->[0], "SELECT $_->[1] FROM streamstat.$_->[2] x", 0)
		  . "SELECT 'workers', workers FROM streamstat.stream_stats();\n"
		  foreach @ours;
		next if $way !~ /workers/;
		$script .= call($relation, 'other, workers', $_->[0], "SELECT $_->[1] FROM streamstat.$_->[2] x", 1)
		  foreach @others;
	}
	return $script;
}

sub report_script
{
	return join('', map {
		my ($pass, $call) = @$_;

		"SET streamstat.io_path = $pass;\n"
		  . call(undef, $pass, 'database_report',
			"SELECT count(*) > 20, bool_and(bytes >= 0), bool_and(coalesce(predicted_bytes, 0) >= 0) FROM streamstat.database_report(budget => '500MB', max_time => '20s', margin => 0, seed => 1)")
		  . call(undef, $pass, 'last_database_report', 'SELECT count(*) > 20 FROM streamstat.last_database_report()')
		  . call(undef, $pass, 'run_database_report', "CALL streamstat.run_database_report(budget => '2MB', max_time => '5s')")
		  . call(undef, $pass, 'database_report_summary', 'SELECT relations > 20 FROM streamstat.database_report_summary()');
	} [ 'file' ], [ 'buffer' ]);
}

my $healthy_rows = <<'SQL';
SELECT to_json(x) FROM streamstat.table_stats('healthy', 'row') x
UNION ALL SELECT to_json(x) FROM streamstat.btree_stats('healthy_btree') x
UNION ALL SELECT to_json(x) FROM streamstat.gin_stats('healthy_gin') x
UNION ALL SELECT to_json(x) FROM streamstat.bloat('healthy_btree') x
SQL

# Run a script of calls, and notice what its errors are.  False if the server has
# crashed, or if a call did not come to an end.
sub look
{
	my ($commands) = @_;
	my ($present, $since) = (undef, Time::HiRes::time());
	my $ended = 0;

	write_file($script, "SET statement_timeout = '@{[CALL_TIMEOUT]}s';\nSET client_min_messages = warning;\n"
		  . "SELECT pg_backend_pid() AS pid \\gset\n\\warn backend :pid\n$commands\\warn ended\n");
	my $pid = open(my $err, '-|') // die "could not fork: $!";
	if ($pid == 0)
	{
		open(STDERR, '>&', \*STDOUT);
		open(STDOUT, '>', "$datadir/damage.out");
		exec(@psql, '-f', $script) or die "could not run psql: $!";
	}

	my ($select, $rest, $backend) = (IO::Select->new($err), '', 0);
	while (1)
	{
		if (!$select->can_read(HANG_TIMEOUT))
		{
			failed($present->{relation}, "$present->{pass}: does not come to an end: $present->{sql}");
			kill 'KILL', $backend, $pid;
			last;
		}
		sysread($err, $rest, 65536, length $rest) or last;
		while ($rest =~ s/^(.*)\n//)
		{
			my $line = $1;

			if ($line =~ /^(?:call (\d+)|ended)$/)
			{
				my $now = Time::HiRes::time();

				($slowest, $slowest_call) = ($now - $since, "$present->{sql} ($present->{pass})")
				  if $present && $now - $since > $slowest;
				$since = $now;
				$present = defined $1 ? $calls[$1] : undef;
				$ended = !defined $1;
				$ncalls++ if $present;
			}
			elsif ($line =~ /^backend (\d+)$/)
			{
				$backend = $1;
			}
			elsif ($line =~ /(ERROR|WARNING|FATAL|PANIC):  (\w{5}): (.*)/)
			{
				my ($level, $state, $message) = ($1, $2, $3);
				my $allowed = $level eq 'WARNING'
				  || $level eq 'ERROR' && $present->{may_fail} && $state =~ $damage_errors
				  || $level eq 'ERROR' && $state eq '0A000' && $message =~ /^cannot read index /
				  || $level eq 'ERROR' && $state eq 'XX001' && $message =~ /^could not read blocks? 0(?:\.\.0)? in file "(.*?)"/ && ((-s "$datadir/$1") || 0) < BLCKSZ
				  || $level eq 'ERROR' && $state eq '58P01' && $message =~ /^could not open file "(.*?)"/ && $gone{$1};
				my $kind = $message =~ s/"[^"]*"/"..."/gr =~ s/\d+/N/gr;

				$errors{"$present->{name}: $level $state: $kind"}++;
				failed($present->{relation}, "$present->{pass}: $line: $present->{sql}") if !$allowed;
			}
			elsif ($line !~ /^(?:LOCATION|DETAIL|HINT|CONTEXT|STATEMENT|LINE \d+): | +\^$/)
			{
				failed($present->{relation}, "$present->{pass}: $line: $present->{sql}");
			}
		}
	}
	close($err);
	failed($present ? $present->{relation} : undef, 'the session ended early') if !$ended;
	return $ended;
}

# Our own functions have to say the same by each way to the pages.
sub compare_answers
{
	my ($n) = @_;
	my ($compared, $nhelped, %answer) = (0, 0);

	foreach my $part (split /^call /m, read_file("$datadir/damage.out"))
	{
		my ($call_number, $text) = $part =~ /^(\d+)\n(.*)\z/s or next;
		my $call = $calls[$call_number];

		$nhelped++ if $text =~ s/^workers\|(\d*)\n//m && $1;
		next if !$call->{relation} || $call->{pass} !~ /^(?:file|buffer|cached)(?:, workers)?$/;
		my $before = $answer{ $call->{relation}{name} }{ $call->{sql} } //= [ $call->{pass}, $text ];

		$compared++ if $call->{pass} ne $before->[0];
		# One depends on time.  Another does not heed ignore_checksum_failure, but what a page
		# that was read with it says then depends on whether it is in a buffer still.
		next if $call->{sql} =~ /max_time/ || $before->[1] eq $text
		  || $call->{relation}{ignores_checksums} && $call->{sql} =~ /streamstat\.corrupt_blocks/;

		my ($one, $two) = ([ split /\n/, $before->[1] ], [ split /\n/, $text ]);
		my $line = 0;

		$line++ while ($one->[$line] // '') eq ($two->[$line] // '');
		failed($call->{relation}, join("\n  ", $call->{sql},
				map { "$_->[0]: " . ($_->[1][$line] // 'no more rows') } [ $before->[0], $one ], [ $call->{pass}, $two ]));
	}
	$ncompared += $compared;
	failed(undef, "only $compared answers could be compared") if $compared < 10 * $n;
	failed(undef, 'no call had workers') if $nhelped < 2;
	$nworkers += $nhelped;
}

# ---------------------------------------------------------------------------
# a round

sub round
{
	my ($n) = @_;
	my $from = -e $log ? -s $log : 0;

	srand($round_seed);
	$checksums = $round_seed % 4 == 3;
	%failed = ();
	%gone = ();
	@calls = ();
	my @relations = make_relations($n);
	my $healthy = commands($healthy_rows);

	server('stop');
	checksums('enable') if $checksums;
	damage($_) foreach @relations;
	# over an index whose metapage is damaged, calls may have no workers; over a table they do
	my @files = grep { grep { $_ eq 'main' } @{ $_->{forks} } } @relations;
	my %long = map { $_->{name} => 1 } grep { defined }
	  pick(grep { $_->{type} eq 'table' } @files), pick(grep { $_->{type} !~ /^(?:table|hash)$/ } @files);
	lengthen($_) foreach grep { $long{ $_->{name} } } @relations;
	my %before = map { $_->{name} => digest($_) } @relations, @healthy;

	server('start');
	my @scripts = map { $long{ $_->{name} } ? [ 0, worker_script($_) ] : relation_scripts($_) } @relations;
	my $commands = join('', map { $_->[1] } sort { $a->[0] <=> $b->[0] } @scripts) . report_script();
	my $survived = look($commands);

	if ($survived)
	{
		compare_answers(scalar @relations);
		failed(undef, 'healthy relations have other rows') if commands($healthy_rows) ne $healthy;
		server('stop');
		foreach my $relation (@relations, @healthy)
		{
			failed($relation, 'a file has changed') if digest($relation) ne $before{ $relation->{name} };
		}
		checksums('disable') if $checksums;
		server('start');
		commands(<<'SQL');
SET client_min_messages = error;
SELECT format('DROP %s %I;', CASE relkind WHEN 'm' THEN 'MATERIALIZED VIEW' WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END, relname)
FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p', 'm', 'S') AND NOT relispartition AND relname !~ '^healthy' \gexec
CHECKPOINT;
SQL
	}

	my @bad = grep { /TRAP:|PANIC:|was terminated by signal|WARNING:.*(?:leak|not closed|still referenced)|you don't own/ }
	  split /\n/, read_file($log, $from);
	failed(undef, "the server log: $_") foreach @bad;
	result($_->{name}, "$_->{name} ($_->{type}; $_->{damage})") foreach @relations;
	$failed{round}++ if grep { $failed{ $_->{name} } } @healthy;
	result('round', 'the server and its healthy relations');
	$nrelations += @relations;
	return $survived;
}

server('start');
commands(<<'SQL');
CREATE EXTENSION streamstat;
CREATE TABLE healthy (i int, a int[], t text);
INSERT INTO healthy SELECT g, ARRAY[g % 7, 1], (SELECT string_agg(md5((g + h)::text), '') FROM generate_series(1, g % 100) h) FROM generate_series(1, 500) g;
CREATE INDEX healthy_btree ON healthy (i);
CREATE INDEX healthy_gin ON healthy USING gin (a);
DELETE FROM healthy WHERE i % 3 = 0;
VACUUM (ANALYZE, FREEZE) healthy;
SQL
@healthy = map {
	my ($name, $path) = split /\|/;

	+{ name => $name, type => 'healthy', damage => 'none', file => "$datadir/$path" };
} split /\n/, commands(<<'SQL');
SELECT DISTINCT c.oid::regclass, pg_relation_filepath(c.oid)
FROM pg_class h LEFT JOIN pg_index i ON indrelid IN (h.oid, h.reltoastrelid), pg_class c
WHERE h.relname = 'healthy' AND c.oid IN (h.oid, h.reltoastrelid, indexrelid)
SQL
die 'not all healthy relations are there' if @healthy != 5;

my $rounds = int(($wanted + $round_size - 1) / $round_size);
for my $round (0 .. $rounds - 1)
{
	my $left = $wanted - $nrelations;

	$round_seed = $seed + $round;
	last if !round($left < $round_size ? $left : $round_size);
}
server('stop') if $running;

my $list = sub { join(', ', map { "$_[0]{$_} $_" } sort keys %{ $_[0] }) };
print "# $nrelations relations: ", $list->(\%kinds), "\n";
print "# damage: ", $list->(\%done), "\n";
printf "# %d calls, %d answers compared, %d calls with workers; the longest call, %.1f s: %s\n", $ncalls, $ncompared, $nworkers, $slowest, $slowest_call;
print "# errors and warnings of contrib's functions, and warnings of ours:\n" if %errors;
print "#   $errors{$_} $_\n" foreach sort keys %errors;
# fewer tests than this if the server did not survive
printf "1..%d\n", $wanted + $rounds;
exit($nbad || $nrelations < $wanted ? 1 : 0);
