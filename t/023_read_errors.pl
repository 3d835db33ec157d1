
# Copyright (c) 2026, streamstat contributors

# Reads that fail: a disk that answers with an error, files that are too short, reads
# that come back short.  Each call either gives what it gives at other times, or
# one error that names file and block, and the session goes on.
#
# It is done by a library between server and kernel (t/lib/Faults.pm);
# tools/faulty-disk does it with a disk.

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
say_what_they_say();

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
		Session::poll("$call: by a worker", sub {
			evict($call =~ /prewarm/ ? $relation : ());
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
			return $hits > 0;
		});
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
# A report of all relations goes on, and says of which it knows nothing.

foreach my $name (sort keys %ways)
{
	take_way($ways{$name}, 0);
	evict();
	$faults->set(file => $path{t_btree}, reads => 'error', to => 1e9, error => EIO,
		uncached => $ways{$name}{uncached});
	my $query = "SELECT relation_name, reclaimable_bytes IS NULL, note FROM streamstat.database_report(budget => '1GB')
		WHERE relation_name IN ('t', 't_btree', 't_hash') OR note LIKE '%Input/output%' ORDER BY relation_name COLLATE \"C\"";
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
no_pins();
stop_clean($node);
done_testing();
