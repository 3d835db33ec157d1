
# Copyright (c) 2026, streamstat contributors

# What Linux tells of processes.

package Processes;

use strict;
use warnings;

use Exporter 'import';

our @EXPORT = qw(children children_by_parent memory_of);

# The children of a process.  Not every kernel keeps a list of them.
sub children
{
	my ($pid) = @_;

	open(my $fh, '<', "/proc/$pid/task/$pid/children")
	  or return children_by_parent($pid);
	return split / /, join('', <$fh>);
}

# ... as all processes name their parents.  The name before that may hold anything.
sub children_by_parent
{
	my ($parent) = @_;
	my @found;

	foreach my $file (glob('/proc/[0-9]*/stat'))
	{
		open(my $fh, '<', $file) or next;
		push @found, $1
		  if (<$fh> // '') =~ /\A(\d+) \(.*\) \S (\d+) /s && $2 == $parent;
	}
	return @found;
}

# The memory that is a process's own, in kB, or none if it is no more
sub memory_of
{
	my ($pid) = @_;

	open(my $fh, '<', "/proc/$pid/status") or return 0;
	return join('', <$fh>) =~ /^RssAnon:\s+(\d+) kB$/m ? $1 : 0;
}

1;
