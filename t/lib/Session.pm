
# Copyright (c) 2026, streamstat contributors

# A session of psql that stays, for tests in which several work at a time; and
# what the operating system tells of its backend.

package Session;

use strict;
use warnings;

use IPC::Run ();
use PostgreSQL::Test::Utils;
use Time::HiRes ();

my $marks = 0;

# Session->new($node, psql option...)
sub new
{
	my ($class, $node, @options) = @_;
	my $self = bless { in => '', out => '', err => '' }, $class;

	$self->{timer} =
	  IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default);
	$self->{run} = IPC::Run::start(
		[
			'psql', '-XAtq', '-v', 'VERBOSITY=verbose', '-d',
			$node->connstr('postgres'), @options, '-f', '-'
		],
		'<',
		\$self->{in},
		'>',
		\$self->{out},
		'2>',
		\$self->{err},
		$self->{timer});
	$self->{pid} = $self->query('SELECT pg_backend_pid()');
	return $self;
}

# Begin a query, and do not wait for it.
sub send_query
{
	my ($self, $query) = @_;

	$self->{mark} = 'mark ' . ++$marks;
	$self->{out} = $self->{err} = '';
	$self->{in} .= "$query;\n\\echo $self->{mark}\n\\warn $self->{mark}\n";
	$self->{timer}->start($PostgreSQL::Test::Utils::timeout_default);
	$self->{run}->pump_nb;
}

# Is the query that was sent still running?
sub busy
{
	my ($self) = @_;

	return 0 if !$self->{run}->pumpable;
	$self->{run}->pump_nb;
	return $self->{out} !~ /^$self->{mark}\n/m
	  || $self->{err} !~ /^$self->{mark}\n/m;
}

# What the query that was sent has printed.  Its errors and warnings are in
# {err} then.
sub answer
{
	my ($self) = @_;

	while ($self->busy)
	{
		last if !$self->{run}->pumpable;
		$self->{run}->pump;
	}
	$self->{err} =~ s/^$self->{mark}\n//m;
	return $self->{out} =~ s/\n?^$self->{mark}\n//mr;
}

sub query
{
	my ($self, $query) = @_;

	$self->send_query($query);
	return $self->answer;
}

sub end
{
	my ($self) = @_;

	$self->{in} .= "\\q\n";
	eval { $self->{run}->finish; };
}

# The descriptors of io_uring that the backend has open; none where that is not
# to be known.
sub rings
{
	my ($self) = @_;

	return
	  scalar grep { (readlink($_) // '') =~ /^anon_inode:.*io_uring/ }
	  glob("/proc/$self->{pid}/fd/*");
}

# A line of the backend's memory statistics, in kB, or undef
sub memory
{
	my ($self, $name) = @_;

	open(my $fh, '<', "/proc/$self->{pid}/status") or return;
	my ($kb) = join('', <$fh>) =~ /^$name:\s+(\d+) kB$/m;
	return $kb;
}

# Wait until the code returns something true, and return that.
sub poll
{
	my ($what, $code) = @_;
	my $until = time() + $PostgreSQL::Test::Utils::timeout_default;

	while (time() < $until)
	{
		my $result = $code->();

		return $result if $result;
		Time::HiRes::usleep(5_000);
	}
	Test::More::fail("$what: timed out");
	return;
}

1;
