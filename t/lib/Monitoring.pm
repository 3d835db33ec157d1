
# Copyright (c) 2026, streamstat contributors

# Exporters and Prometheus: programs that run beside a test on ports of their own, what
# they say over HTTP, and the numbers of the views that they should say.

package Monitoring;

use strict;
use warnings;

use Exporter 'import';
use HTTP::Tiny;
use IPC::Run ();
use JSON::PP ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Time::HiRes qw(sleep time);

our @EXPORT = qw(find_program start_program stop_program fetch get_json wait_for metrics_of series_of_answer
  series_of_views differences file_with);

my %running;

# The path of the first of some programs that is installed, or none
sub find_program
{
	my @names = @_;

	foreach my $name (@names)
	{
		my ($dir) = grep { -x "$_/$name" } split /:/, $ENV{PATH};
		return "$dir/$name" if $dir;
	}
	return undef;
}

# Start a program with an environment; its output goes to a log of that name.
sub start_program
{
	my ($name, $command, %environment) = @_;
	my $log = "$PostgreSQL::Test::Utils::log_path/$name.log";

	local @ENV{ keys %environment } = values %environment;
	$running{$name} = IPC::Run::start($command, '<', \undef, '>', $log, '2>&1');
	return $log;
}

sub stop_program
{
	my ($name) = @_;
	my $run = delete $running{$name} or return;

	$run->signal('TERM') if $run->pumpable;
	$run->kill_kill(grace => 10);
}

END
{
	my $status = $?;

	stop_program($_) foreach keys %running;
	$? = $status;
}

# What a program answers, in bytes, and after how many seconds; dies if it does not
sub fetch
{
	my ($url, %options) = @_;
	my $started = time;
	my $answer = HTTP::Tiny->new(timeout => 20, %options)->get($url);
	my $seconds = time - $started;

	die "$url: $answer->{status} $answer->{content}\n" if !$answer->{success};
	return ($answer->{content}, $seconds);
}

sub get_json
{
	my ($content) = fetch(@_);

	return JSON::PP->new->utf8->decode($content);
}

# Call code until it is true, for 60 or so many seconds at most; what it returned
sub wait_for
{
	my ($what, $seconds) = @_;
	my $result;

	foreach (1 .. 5 * ($seconds // 60))
	{
		$result = eval { $what->() };
		return $result if $result;
		sleep 0.2;
	}
	return $result;
}

# A series as a text that is the same for the same series.  Labels that say where the
# exporter found it are left out, and empty ones, which Prometheus does not keep.
sub key_of
{
	my ($labels) = @_;
	my %kept = map { $_ => $labels->{$_} }
	  grep { $labels->{$_} ne '' && !/^(?:server|instance|job|sql_job|driver|host|database|user)$/ } keys %$labels;

	return JSON::PP->new->canonical->encode(\%kept);
}

# The series of Prometheus's text format, with our names, as key => value; whatever is
# no line of that format dies.
sub metrics_of
{
	my ($text) = @_;
	my %series;

	utf8::decode($text) or die "not UTF-8\n";
	foreach my $line (split /\n/, $text)
	{
		next if $line =~ /^#/ || $line !~ /^(?:sql_)?streamstat_/;
		my ($name, $rest) = $line =~ /\A([a-zA-Z0-9_]+)(.*)\z/;
		my %labels = (__name__ => $name);
		if ($rest =~ s/\A\{//)
		{
			while ($rest =~ s/\A([a-zA-Z0-9_]+)="((?:[^"\\]|\\[\\"n])*)",?//)
			{
				my ($label, $value) = ($1, $2);
				$value =~ s/\\(.)/$1 eq 'n' ? "\n" : $1/ge;
				$labels{$label} = $value;
			}
			$rest =~ s/\A\}// or die "no labels: $line\n";
		}
		my ($value) = $rest =~ /\A ([-+.0-9e]+|NaN|[-+]Inf)\z/i or die "no value: $line\n";
		# the one exporter with one name for all values
		if ($labels{__name__} =~ s/^sql_// && defined $labels{metric})
		{
			$labels{__name__} .= '_' . delete $labels{metric};
			delete $labels{col};
		}
		my $key = key_of(\%labels);
		die "twice: $key\n" if exists $series{$key};
		$series{$key} = $value;
	}
	return \%series;
}

# The same of Prometheus's answer to a query
sub series_of_answer
{
	my ($answer) = @_;

	return { map { key_of($_->{metric}) => $_->{value}[1] } @{ $answer->{data}{result} } };
}

# What the views hold, as series
sub series_of_views
{
	my ($node, $role) = @_;
	my %is_label = map { $_ => 1 } qw(datname schema_name relation_name parent_name kind access_method);
	my %series;

	foreach my $what (qw(relation run))
	{
		my $rows = JSON::PP->new->decode(decoded($node->safe_psql('postgres',
			"SELECT coalesce(json_agg(v), '[]') FROM streamstat.report_${what}_metrics v",
			extra_params => [ '-U', $role ])));
		foreach my $row (@$rows)
		{
			my %labels = map { $_ => $row->{$_} } grep { $is_label{$_} } keys %$row;
			foreach my $column (grep { !$is_label{$_} && defined $row->{$_} } keys %$row)
			{
				$series{ key_of({ %labels, __name__ => "streamstat_${what}_$column" }) } = $row->{$column};
			}
		}
	}
	return \%series;
}

sub decoded
{
	my ($text) = @_;

	utf8::decode($text);
	return $text;
}

# How series differ from those that are expected, in a few lines: none, if they are the
# same.  The age grows meanwhile.
sub differences
{
	my ($expected, $found) = @_;
	my @all;

	foreach my $key (sort keys %$expected)
	{
		my ($want, $have) = ($expected->{$key}, $found->{$key});
		if (!defined $have)
		{
			push @all, "missing: $key";
			next;
		}
		my $most = $key =~ /_age_seconds"/ ? 120 : 1e-12 * abs($want);
		push @all, "$key: $have, not $want" if $have =~ /NaN|Inf/i || abs($have - $want) > $most;
	}
	push @all, map { "not expected: $_" } grep { !exists $expected->{$_} } sort keys %$found;
	my $more = @all > 5 ? sprintf("\n... and %d more", @all - 5) : '';
	return join("\n", splice(@all, 0, 5)) . $more;
}

# A copy of a file with changes made by code, in a folder
sub file_with
{
	my ($file, $folder, $change) = @_;
	my $text = slurp_file($file);
	my ($name) = $file =~ m{([^/]+)\z};

	local $_ = $text;
	$change->() if $change;
	open(my $fh, '>', "$folder/$name") or die "could not write $folder/$name: $!\n";
	print $fh $_;
	close $fh;
	return "$folder/$name";
}

1;
