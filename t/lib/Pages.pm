
# Copyright (c) 2026, streamstat contributors

# Pages of relation files, to look at and to damage: strings of BLCKSZ bytes.

package Pages;

use strict;
use warnings;

use Exporter 'import';

# Offsets in a page header
use constant {
	BLCKSZ => 8192,
	PD_LSN => 0,
	PD_FLAGS => 10,
	PD_LOWER => 12,
	PD_UPPER => 14,
	PD_SPECIAL => 16,
	PD_PAGESIZE => 18,
	PD_LINP => 24,
};

our @EXPORT = qw(BLCKSZ PD_FLAGS PD_LOWER PD_UPPER PD_SPECIAL PD_PAGESIZE
  PD_LINP PD_LSN next_random random_page get16 with16 with32 with_item item
  set16 set32 set_item items crc32c read_blocks read_block
  write_block write_at fuzz_file);

# a fixed seed, and a generator that is the same in every perl
my $random = 20260101;

sub next_random
{
	my ($below) = @_;

	$random = ($random * 1103515245 + 12345) % 2147483648;
	return int($random / 2147483648 * $below);
}

sub random_page
{
	return pack('C*', map { next_random(256) } 1 .. BLCKSZ);
}

sub get16
{
	my ($page, $offset) = @_;

	return unpack('S', substr($page, $offset, 2));
}

sub with16
{
	my ($page, $offset, $value) = @_;

	substr($page, $offset, 2) = pack('S', $value);
	return $page;
}

sub with32
{
	my ($page, $offset, $value) = @_;

	substr($page, $offset, 4) = pack('L', $value);
	return $page;
}

# Line pointer number $n made to point to $length bytes at $offset, with the
# flags of an item in use unless others are given
sub with_item
{
	my ($page, $n, $offset, $length, $flags) = @_;

	$flags //= 1;
	return with32(
		$page,
		PD_LINP + 4 * ($n - 1),
		unpack('L', pack('L', 1)) == unpack('V', pack('L', 1))
		? $offset | $flags << 15 | $length << 17
		: $offset << 17 | $flags << 15 | $length);
}

# Line pointer number $n: offset, flags and length
sub item
{
	my ($page, $n) = @_;
	my $word = unpack('L', substr($page, PD_LINP + 4 * ($n - 1), 4));

	return unpack('L', pack('L', 1)) == unpack('V', pack('L', 1))
	  ? ($word & 0x7fff, $word >> 15 & 3, $word >> 17)
	  : ($word >> 17, $word >> 15 & 3, $word & 0x7fff);
}

# Functions that change a page so
sub set16
{
	my ($offset, $value) = @_;

	return sub { with16($_[0], $offset, $value) };
}

sub set32
{
	my ($offset, $value) = @_;

	return sub { with32($_[0], $offset, $value) };
}

sub set_item
{
	my @item = @_;

	return sub { with_item($_[0], 2, @item) };
}

# How many line pointers a page has
sub items
{
	my ($page) = @_;

	return (get16($page, PD_LOWER) - PD_LINP) / 4;
}

my @crc_table;

# The CRC-32C of bytes, as a number
sub crc32c
{
	my ($bytes) = @_;
	my $crc = 0xffffffff;

	if (!@crc_table)
	{
		foreach my $i (0 .. 255)
		{
			my $c = $i;
			$c = ($c >> 1) ^ ($c & 1 ? 0x82f63b78 : 0) foreach 1 .. 8;
			push @crc_table, $c;
		}
	}
	$crc = ($crc >> 8) ^ $crc_table[ ($crc ^ $_) & 255 ] foreach unpack('C*', $bytes);
	return $crc ^ 0xffffffff;
}

# The pages of a file
sub read_blocks
{
	my ($file) = @_;

	open(my $fh, '<:raw', $file) or die "could not open $file: $!";
	local $/;
	return unpack('(a' . BLCKSZ . ')*', <$fh>);
}

sub read_block
{
	my ($file, $blkno) = @_;

	open(my $fh, '<:raw', $file) or die "could not open $file: $!";
	sysseek($fh, $blkno * BLCKSZ, 0) or die "could not seek in $file: $!";
	sysread($fh, my $page, BLCKSZ) == BLCKSZ or die "could not read $file: $!";
	close($fh);
	return $page;
}

sub write_at
{
	my ($file, $offset, $bytes) = @_;

	open(my $fh, '+<:raw', $file) or die "could not open $file: $!";
	sysseek($fh, $offset, 0) or die "could not seek in $file: $!";
	syswrite($fh, $bytes) == length($bytes) or die "could not write $file: $!";
	close($fh);
}

sub write_block
{
	my ($file, $blkno, $page) = @_;

	write_at($file, $blkno * BLCKSZ, $page);
}

# Some random bytes in each page of a file; every other time they are in its ends,
# where the header and the flags are.  Returns how many pages there are.
sub fuzz_file
{
	my ($file) = @_;
	my @blocks = read_blocks($file);

	for my $blkno (0 .. $#blocks)
	{
		foreach (0 .. next_random(8))
		{
			my $where = next_random(2) ? next_random(BLCKSZ)
			  : (next_random(48) - 8) % BLCKSZ;
			substr($blocks[$blkno], $where, 1) = chr(next_random(256));
		}
		write_block($file, $blkno, $blocks[$blkno]);
	}
	return scalar @blocks;
}

1;
