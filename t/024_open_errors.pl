
# Copyright (c) 2026, streamstat contributors

# What a session needs to read, and cannot have: rings, files that cannot be
# opened, descriptors.  Each call either gives what it gives at other times, or
# one error that says so, and the session goes on.

use strict;
use warnings;

use FindBin;
use PostgreSQL::Test::Utils;
use Test::More;

use lib "$FindBin::RealBin/lib";
use Node;
use Pages;
use ReadErrors;

my $node = faulty_node();
my $have_rings = say_what_they_say();

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
		new_session();
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
	is( $session->query("SELECT bytes / 8192, leaf_pages + internal_pages + 1, corrupt_pages FROM streamstat.btree_stats('cut_btree');
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
		new_session();
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
	cmp_ok($count{refused} // 0, '>', 0, 'no descriptor: there was none');
	cmp_ok($count{right} // 0, '>', $count{refused} / 2, 'no descriptor: and many calls work');
	note 'no descriptor: ' . join(', ', map { "$count{$_} $_" } sort keys %count);
}

no_pins();
stop_clean($node);
done_testing();
