
# Copyright (c) 2026, streamstat contributors

# Tests that have a long form.  They do the same things at random for as long as
# they are given: some seconds in the suite, minutes by tools/torture, which sets
# STREAMSTAT_TORTURE_SECONDS.  The seed of each run is printed;
# STREAMSTAT_TORTURE_SEED makes the same choices again.

package Torture;

use strict;
use warnings;

use Exporter 'import';
use Test::More ();
use Time::HiRes ();

our @EXPORT = qw(torture_seconds torture_seed time_left);

my $until;

# How long this file has; from here on time_left() counts.
sub torture_seconds
{
	my ($short) = @_;
	my $seconds = $ENV{STREAMSTAT_TORTURE_SECONDS} // $short;

	$until = Time::HiRes::time() + $seconds;
	return $seconds;
}

# Seconds that are left of that, or none
sub time_left
{
	my $left = $until - Time::HiRes::time();

	return $left > 0 ? $left : 0;
}

# What srand() was called with: in the suite always the same
sub torture_seed
{
	my $seed = $ENV{STREAMSTAT_TORTURE_SEED}
	  // ($ENV{STREAMSTAT_TORTURE_SECONDS} ? time() ^ $$ : 20260101);

	Test::More::note("seed $seed");
	srand($seed);
	return $seed;
}

1;
