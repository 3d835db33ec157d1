
# Copyright (c) 2026, streamstat contributors

# Servers that may do less than others, as in containers: system calls that fail,
# limits, mounts.  All of it by an ordinary user, where the kernel permits that.

package Container;

use strict;
use warnings;

use Exporter 'import';
use POSIX ();

our @EXPORT = qw(known_machine system_call forbid limit_locked_memory have_io_uring read_only_root
  hide_proc start_inside);

# System calls, by machine
my %syscalls = (
	x86_64 => {
		io_uring_setup => 425,
		io_uring_enter => 426,
		io_uring_register => 427,
		cachestat => 451,
		prctl => 157,
		pread64 => 17,
		preadv => 295,
		preadv2 => 327,
		rt_sigaction => 13,
		prlimit64 => 302,
		unshare => 272,
		mount => 165
	},
	aarch64 => {
		io_uring_setup => 425,
		io_uring_enter => 426,
		io_uring_register => 427,
		cachestat => 451,
		prctl => 167,
		pread64 => 67,
		preadv => 69,
		preadv2 => 286,
		rt_sigaction => 134,
		prlimit64 => 261,
		unshare => 97,
		mount => 40
	});
my $syscall = $syscalls{ (POSIX::uname())[4] };

# Are the system calls of this machine known?  Without that nothing below works.
sub known_machine
{
	return defined $syscall;
}

# The number of a system call
sub system_call
{
	my ($name) = @_;

	return $syscall->{$name} // die "the number of $name is not known";
}

# Let system calls fail from here on, in this process and its children, by a seccomp
# filter; without an errno they end the process.  False if that is not permitted.
sub forbid
{
	my ($errno, @names) = @_;
	my $left = @names;
	my @filter = (0x20, 0, 0, 0);    # load the number of the call

	# is it one of these?  Then to the end.
	push @filter, 0x15, $left--, 0, $syscall->{$_} foreach @names;
	push @filter, 0x06, 0, 0, 0x7fff0000;    # none: it goes on
	push @filter, 0x06, 0, 0, defined $errno ? 0x50000 | $errno : 0x80000000;    # one: it fails

	my $instructions = pack('SCCL' x (@filter / 4), @filter);
	my $program = pack('S x6 P', @filter / 4, $instructions);

	return syscall($syscall->{prctl}, 38, 1, 0, 0, 0) == 0
	  && syscall($syscall->{prctl}, 22, 2, $program) == 0;
}

# Bytes of memory that this process and its children may lock, each
sub limit_locked_memory
{
	my ($bytes) = @_;
	my $limit = pack('QQ', $bytes, $bytes);

	return syscall($syscall->{prlimit64}, 0, 8, $limit, 0) == 0;
}

# Does the kernel let this process have a ring that reads?  Kernels whose rings do not
# read do not say what their rings do, either.
sub have_io_uring
{
	my $params = "\0" x 120;
	my $fd = syscall($syscall->{io_uring_setup}, 4, $params);
	my $operations = "\0" x (16 + 8 * 64);

	return 0 if $fd < 0;
	my $says = syscall($syscall->{io_uring_register}, $fd, 8, $operations, 64) >= 0;
	POSIX::close($fd);
	return $says;
}

sub mounts
{
	my ($source, $target, $type, $flags) = @_;

	return syscall($syscall->{mount}, $source, $target, $type, $flags, 0) == 0;
}

# Mounts of our own, in a user namespace in which we have the rights to make them
# until the next exec
sub own_mounts
{
	my ($uid, $gid) = ($<, $( + 0);

	return 0 if syscall($syscall->{unshare}, 0x10000000 | 0x00020000) != 0;
	foreach (
		[ 'setgroups', 'deny' ],
		[ 'uid_map', "$uid $uid 1" ],
		[ 'gid_map', "$gid $gid 1" ])
	{
		open(my $fh, '>', "/proc/self/$_->[0]") or return 0;
		syswrite($fh, $_->[1]) or return 0;
		close $fh;
	}

	# MS_REC | MS_SLAVE
	return mounts('none', '/', 0, 0x4000 | 0x80000);
}

# From here on the root is read-only for this process, but for some directories.
sub read_only_root
{
	my @writable = @_;

	return 0 if !own_mounts();
	foreach (@writable)
	{
		return 0 if !mounts("$_", "$_", 0, 0x1000);    # MS_BIND
	}

	# MS_BIND | MS_REMOUNT | MS_RDONLY
	return mounts('none', '/', 0, 0x1000 | 0x20 | 0x1);
}

# From here on /proc is empty for this process.
sub hide_proc
{
	return own_mounts() && mounts('tmpfs', '/proc', 'tmpfs', 0x1);
}

# The exit code of a process in which $code->() has been true before it goes on with
# $then->(); 99 if it was false.
sub try_inside
{
	my ($code, $then) = @_;
	my $pid = fork // die "could not fork: $!";

	if ($pid == 0)
	{
		POSIX::_exit(99) if !$code->();
		POSIX::_exit($then->());
	}
	waitpid($pid, 0);
	return $? >> 8;
}

# Start a server from a process in which $code->() has been true.  Dies if it does not
# start; false if the code was.
sub start_inside
{
	my ($node, $code) = @_;
	my $outcome = try_inside(
		$code,
		sub {
			open(STDIN, '<', '/dev/null');
			open(STDOUT, '>>', $node->logfile);
			open(STDERR, '>&', \*STDOUT);
			exec('pg_ctl', '-w', '-D', $node->data_dir, '-l', $node->logfile, 'start')
			  or return 98;
		});

	return 0 if $outcome == 99;
	die 'the server did not start, see ' . $node->logfile . "\n" if $outcome != 0;
	$node->_update_pid(1);
	return 1;
}

1;
