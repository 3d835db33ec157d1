
# Copyright (c) 2026, streamstat contributors

# strace, attached to a process: what the process asks of the kernel, and with what delay.

package Tracer;

use strict;
use warnings;

use IPC::Run ();
use PostgreSQL::Test::Utils;

use Session;

# Tracer->attach($pid, option of strace...): the tracer; or nothing and the reason why
# that cannot be
sub attach
{
	my ($class, $pid, @options) = @_;
	my $self = bless {
		pid => $pid,
		file => PostgreSQL::Test::Utils::tempdir_short() . '/trace',
		seen => 0,
		err => '' }, $class;

	return (undef, 'strace is missing') if !grep { -x "$_/strace" } split /:/, $ENV{PATH};
	return (undef, 'no /proc') if !-r "/proc/$pid/status";
	$self->{run} = IPC::Run::start(
		[ 'strace', '-p', $pid, '-o', $self->{file}, @options ],
		'<', \undef, '>', \my $out, '2>', \$self->{err});
	Session::poll(
		'strace attaches',
		sub {
			$self->{run}->pump_nb if $self->{run}->pumpable;
			return $self->is_attached || !$self->{run}->pumpable;
		});
	return $self if $self->is_attached;
	$self->{run}->kill_kill;
	return (undef, 'strace could not attach: ' . ((split /\n/, $self->{err})[0] // ''));
}

sub is_attached
{
	my ($self) = @_;

	return slurp_file("/proc/$self->{pid}/status") =~ /^TracerPid:\s+[1-9]/m;
}

# What has been traced since the last look
sub trace
{
	my ($self) = @_;
	my $new = substr(slurp_file($self->{file}), $self->{seen});

	$self->{seen} += length($new);
	return $new;
}

# Let go of the process, if it still runs.
sub detach
{
	my ($self) = @_;

	eval { $self->{run}->signal('INT'); };
	eval { $self->{run}->finish; };
}

1;
