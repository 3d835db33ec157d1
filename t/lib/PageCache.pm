
# Copyright (c) 2026, streamstat contributors

# The kernel's page cache: files that shall not be in it.

package PageCache;

use strict;
use warnings;

use Exporter 'import';
use PostgreSQL::Test::Utils;
use Time::HiRes ();

use Session;

our @EXPORT = qw(can_drop try_to_drop_files drop_files cached);

# Can files leave the page cache where the servers' data is?
my $can_drop;

sub can_drop
{
	return $can_drop //=
	  `stat -f -c %T '$PostgreSQL::Test::Utils::tmp_check' 2>&1` !~ /tmpfs/
	  && `dd --version 2>&1` =~ /coreutils/;
}

# Bytes of files in the page cache, 0 if nothing tells
sub cached_bytes
{
	my $bytes = 0;

	$bytes += $_ foreach split /\n/, `fincore --bytes --noheadings --output RES @_ 2>/dev/null`;
	return $bytes;
}

# Have the kernel drop files from the page cache; false if that is not possible.  It leaves
# pages that somebody uses at that moment.
sub try_to_drop_files
{
	my @files = @_;

	return 0 if !can_drop() || system('sync', '--data', @files) != 0;
	foreach my $file (@files)
	{
		return 0
		  if system('dd', "if=$file", 'iflag=nocache', 'count=0', 'status=none') != 0;
	}
	return 1;
}

# The same until they are gone; false if some are still there after many attempts
sub drop_files
{
	my @files = @_;

	foreach (1 .. 20)
	{
		return 0 if !try_to_drop_files(@files);
		return 1 if cached_bytes(@files) == 0;
		Time::HiRes::usleep(10_000);
	}
	return 0;
}

# Bytes that the kernel has read from disks for a process
sub read_bytes
{
	my ($pid) = @_;

	open(my $file, '<', "/proc/$pid/io") or return 0;
	my ($line) = grep(/^read_bytes/, <$file>);
	return $line =~ s/\D//gr;
}

# What the code returns if all that a session reads is in the page cache.  A kernel that is
# short of memory drops pages at any time, so the code runs until there was nothing to read.
sub cached
{
	my ($session, $what, $code) = @_;
	my $result;

	Session::poll("$what: data stays in the page cache", sub {
		my $before = read_bytes($session->{pid});

		$result = $code->();
		return read_bytes($session->{pid}) == $before;
	});
	return $result;
}

1;
