
# Copyright (c) 2026, streamstat contributors

# damage.pl ROUND FILES - damage the relation files that the file FILES names, for
# tools/valgrind.  A tenth of a file's pages, the first one only in every other round.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../../t/lib";
use Pages;

my ($round, $files) = @ARGV;
my $damaged = 0;

my @ways = (
	sub { return "\0" x BLCKSZ },
	sub { return random_page() },
	# all but the header is random: the buffer manager takes that
	sub { return substr($_[0], 0, PD_LINP) . substr(random_page(), PD_LINP) },
	sub { return with16($_[0], PD_LOWER, 8 * next_random(1024)) },
	sub { return with16($_[0], PD_SPECIAL, 8 * next_random(1025)) },
	# one line pointer, anything behind them, the special space
	sub
	{
		my $n = items($_[0]);
		return with32($_[0],
			PD_LINP + 4 * next_random($n > 1 && $n < 2000 ? $n : 1),
			next_random(2**31));
	},
	sub
	{
		my $from = get16($_[0], PD_UPPER) % (BLCKSZ - 8);
		return with32($_[0], $from + next_random(BLCKSZ - 4 - $from),
			next_random(2**31));
	},
	sub { return with32($_[0], BLCKSZ - 4 * (1 + next_random(6)), next_random(2**31)) });

next_random(2) for 1 .. $round;
open(my $list, '<', $files) or die "could not open $files: $!";
while (my $file = <$list>)
{
	chomp $file;
	next if !-s $file;
	my @pages = read_blocks($file);
	my $first = $round % 2 && @pages > 1;
	my $wanted = 1 + int(@pages / 10);

	$wanted = 60 if $wanted > 60;
	foreach (1 .. $wanted)
	{
		my $blkno = $first + next_random(@pages - $first);
		my $way = $ways[ next_random(scalar @ways) ];

		$pages[$blkno] = $way->($pages[$blkno]);
		write_block($file, $blkno, $pages[$blkno]);
		$damaged++;
	}
}
die "nothing is damaged\n" if $damaged < 100;
print "$damaged\n";
