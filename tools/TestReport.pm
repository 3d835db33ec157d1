
# Copyright (c) 2026, streamstat contributors

# What tools/test shows of the files that prove runs: a line for each file as it ends,
# and of one that fails the tests that failed, where its log is, and how to run it alone.
#
# prove --merge --formatter TestReport.  TESTLOGDIR has the logs, STREAMSTAT_LOGS is where
# they will be kept, and STREAMSTAT_AGAIN the command to which the name of a file is appended.

package TestReport;

use strict;
use warnings;

use parent 'TAP::Formatter::File';

sub prepare
{
	my ($self, @tests) = @_;

	$self->{files_left} = @tests;
	$self->SUPER::prepare(@tests);
}

sub open_test
{
	my ($self, $test, $parser) = @_;

	return TestReport::Session->new(
		{ name => $test, formatter => $self, parser => $parser });
}

# The summary of prove, and a last line for programs that read it
sub summary
{
	my ($self, $aggregate, $interrupted) = @_;
	my $died = 0;

	foreach my $parser ($aggregate->parsers($aggregate->descriptions))
	{
		$died++ if $parser->has_problems && !$parser->failed;
	}
	$died ||= 1 if $interrupted;
	$self->SUPER::summary($aggregate, $interrupted);
	foreach my $reason (sort keys %{ $self->{not_run} // {} })
	{
		my $n = $self->{not_run}{$reason};

		$self->_output("not run: $n file" . ($n > 1 ? 's' : '') . ", $reason\n");
	}
	$self->_output(
		sprintf("streamstat: %d passed, %d failed%s\n",
			$aggregate->passed - $aggregate->skipped,
			$aggregate->failed + $died,
			$aggregate->skipped ? ', ' . $aggregate->skipped . ' skipped' : ''));
}

package TestReport::Session;

use parent 'TAP::Formatter::File::Session';

# How many lines before the end of a file that died, and of each failed test, are shown
use constant LINES => 40;

# Comments belong to the test before them (the reason why it failed) or after
# them.  So those on both sides of a failed test are kept.
sub result
{
	my ($self, $result) = @_;
	my $recent = $self->{recent} //= [];

	$self->SUPER::result($result);
	if ($result->is_test && !$result->is_ok)
	{
		push @{ $self->{deciding} }, @$recent, $result->as_string;
		$self->{room} = LINES;
		@$recent = ();
	}
	elsif ($result->is_test)
	{
		$self->{room} = 0;
		@$recent = ();
	}
	elsif (!$result->is_plan && $result->as_string =~ /\S/)
	{
		if (($self->{room} // 0) > 0)
		{
			push @{ $self->{deciding} }, $result->as_string;
			$self->{room}--;
		}
		else
		{
			push @$recent, $result->as_string;
			shift @$recent if @$recent > LINES;
		}
	}
}

sub close_test
{
	my ($self) = @_;
	my $parser = $self->parser;
	my $formatter = $self->formatter;
	my $left = --$formatter->{files_left};
	my $skip = $parser->skip_all;

	$self->parser(undef);
	# what has not been asked for is counted only
	if ($skip && $skip =~ /PG_TEST_EXTRA/)
	{
		$formatter->{not_run}{$skip}++;
		return;
	}
	$formatter->_output(
		sprintf("%s%-8s %6.1f s, %d left\n",
			$formatter->_format_name($self->name),
			$skip ? 'skipped' : $parser->has_problems ? 'FAILED' : 'ok',
			($parser->end_time // time()) - $parser->start_time, $left));
	if ($parser->has_problems)
	{
		$self->show_failure($parser);
	}
	elsif ($skip)
	{
		$formatter->_output("    $skip\n");
	}
	$formatter->_output($self->{results}) if $self->{results};
}

# The lines that decide, and how to go on.  Of a file that died, these are the last
# ones of its log.
sub show_failure
{
	my ($self, $parser) = @_;
	my $name = $self->name;
	my ($log) = $name =~ m{([^/]+?)(?:\.pl)?$};
	my @lines = @{ $self->{deciding} // [] };

	$log = "regress_log_$log" if $name =~ /\.pl$/;
	if (!$parser->failed)
	{
		push @lines, @{ $self->{recent} // [] }, last_lines("$ENV{TESTLOGDIR}/$log"), $parser->parse_errors;
		push @lines, 'ended with status ' . ($parser->exit || $parser->wait) if $parser->wait;
	}
	push @lines, "log:   $ENV{STREAMSTAT_LOGS}/$log", "again: $ENV{STREAMSTAT_AGAIN}$name";
	$self->formatter->_output(join '', map { "    $_\n" } @lines);
}

# ... without what PostgreSQL::Test says of the servers that it stops
sub last_lines
{
	my ($file) = @_;

	open(my $fh, '<', $file) or return;
	chomp(my @lines = grep { !/^(?:#+ |waiting for server|server stopped)/ } <$fh>);
	splice(@lines, 0, -15) if @lines > 15;
	return @lines;
}

1;
