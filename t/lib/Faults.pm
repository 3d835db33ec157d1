
# Copyright (c) 2026, streamstat contributors

# A server whose system calls fail as the test wants: faults.c, preloaded.

package Faults;

use strict;
use warnings;

use File::Basename qw(dirname);
use PostgreSQL::Test::Utils;

# As in faults.c
my @fields = qw(ino from to reads error most uncached opens setups submits
  nsubmits waits nwaits hits spared no_cachestat maps only timed longest
  ndropped nmissing);
my $format = 'Q3 L19 x4';

use constant MAP_SIZE => 4096;
my %kinds = (error => 1, end => 2, short => 3, interrupted => 4, held => 5, late => 6, slow => 7,
	copied_late => 8);
my %map_kinds = (refused => 1, unseen => 2, dropped => 3, cut => 4, late => 5);

# Build the library for the machine, with the compiler that the server was built
# with.  Undef if that cannot be.
sub new
{
	my ($class, $node) = @_;
	my $dir = PostgreSQL::Test::Utils::tempdir();
	my $self = bless { library => "$dir/faults.so", path => "$dir/faults" }, $class;
	my ($cc) = split / /, $node->config_data('--cc');
	my $source = dirname(__FILE__) . '/../../test/faults/faults.c';
	my $built = 0;

	foreach my $liburing (1, 0)
	{
		my @options = $liburing ? ('-DHAVE_LIBURING') : ();

		$built = system(
			"$cc -shared -fPIC -O1 -Wall @options -o '$self->{library}' '$source' -ldl 2>'$dir/cc.log'"
		) == 0;
		$self->{liburing} = $liburing;
		last if $built;
	}
	return if !$built;

	open(my $fh, '>', $self->{path}) or die "could not open $self->{path}: $!";
	print $fh "\0" x MAP_SIZE;
	close $fh;
	return $self;
}

sub start
{
	my ($self, $node) = @_;

	local $ENV{LD_PRELOAD} = $self->{library};
	local $ENV{STREAMSTAT_FAULTS} = $self->{path};
	$node->start;
}

sub write_faults
{
	my ($self, %faults) = @_;

	open(my $fh, '+<:raw', $self->{path}) or die "could not open $self->{path}: $!";
	my $content = pack($format, map { $faults{$_} // 0 } @fields);
	syswrite($fh, $content . "\0" x (MAP_SIZE - length $content)) or die;
	close $fh;
}

# From here on this goes wrong: file => path, from, to (bytes), reads => error,
# end, short, interrupted, held, late, slow or copied_late, maps => refused, unseen, dropped,
# cut or late, and the other fields of faults.c
sub set
{
	my ($self, %faults) = @_;

	$faults{ino} = (stat($faults{file}))[1] if defined $faults{file};
	$faults{reads} = $kinds{ $faults{reads} } if defined $faults{reads};
	$faults{maps} = $map_kinds{ $faults{maps} } if defined $faults{maps};
	$self->write_faults(%faults);
}

# How many calls went wrong since then, or another field
sub hits
{
	my ($self, $field) = @_;
	my %is;

	open(my $fh, '<:raw', $self->{path}) or die "could not open $self->{path}: $!";
	sysread($fh, my $content, MAP_SIZE) or die;
	close $fh;
	@is{@fields} = unpack($format, $content);
	return $is{ $field // 'hits' };
}

# ... and from here on nothing does.
sub clear
{
	my ($self) = @_;
	my $hits = $self->hits;

	$self->write_faults();
	return $hits;
}

1;
