
# Copyright (c) 2026, streamstat contributors

# Servers with the settings that tests want, and what their logs say in the end.

package Node;

use strict;
use warnings;

use Exporter 'import';
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More ();

use PageCache;

our @EXPORT = qw(new_node new_standby create_extension have_extension
  initdb_checksums file_of uncache create_outcome logs_are_clean stop_clean);

# What no log may have in it
my $crash = qr/TRAP:|PANIC:|terminated by signal/;
my $leak = qr/WARNING:.*(?:leak|not closed)|still referenced|WARNING:  you don't own/;

# The argument for initdb that has checksums, or has none: the default is not the
# same in all versions.
sub initdb_checksums
{
	my ($checksums) = @_;
	my ($help) = run_command([ 'initdb', '--help' ]);

	return '--data-checksums' if $checksums;
	return $help =~ /--no-data-checksums/ ? '--no-data-checksums' : ();
}

# A server with a name and settings.  Options: checksums (true or false; else as the
# version has it), streaming (for standbys), initdb (a list of arguments), before (code
# to be called before the server starts), start (code instead of that), extension
# (false to leave it out).
sub new_node
{
	my ($name, $settings, %options) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);

	$node->init(
		allows_streaming => $options{streaming} // 0,
		extra => [
			@{ $options{initdb} // [] },
			defined $options{checksums} ? initdb_checksums($options{checksums}) : () ]);
	# A standby may connect long after its backup.
	$node->append_conf('postgresql.conf',
		"autovacuum = off\n" . ($options{streaming} ? "wal_keep_size = 4GB\n" : '') . ($settings // ''));
	$options{before}->($node) if $options{before};
	$options{start} ? $options{start}->($node) : $node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION streamstat') if $options{extension} // 1;
	return $node;
}

# A standby of a server that was made with streaming => 1; before, code to be called
# before it starts
sub new_standby
{
	my ($primary, $settings, %options) = @_;
	my $standby = PostgreSQL::Test::Cluster->new('standby');

	$primary->backup('backup', backup_options => ['--no-sync']);
	$standby->init_from_backup($primary, 'backup', has_streaming => 1);
	$standby->append_conf('postgresql.conf', $settings) if $settings;
	$options{before}->($standby) if $options{before};
	$standby->start;
	return $standby;
}

sub have_extension
{
	my ($node, $name) = @_;

	return $node->safe_psql('postgres',
		"SELECT count(*) FROM pg_available_extensions WHERE name = '$name'") > 0;
}

# An extension of the server's, where it has it: then true
sub create_extension
{
	my ($node, $name) = @_;
	my $have = have_extension($node, $name);

	$node->safe_psql('postgres', "CREATE EXTENSION $name") if $have;
	return $have;
}

# SQL functions that say how a query goes: outcome(query) its rows as text,
# error_of(query), for any command, 'no error'; or "SQLSTATE message"
sub create_outcome
{
	my ($node) = @_;

	$node->safe_psql('postgres', <<'SQL');
CREATE FUNCTION outcome(query text) RETURNS text LANGUAGE plpgsql AS
$$
DECLARE
	r text;
BEGIN
	EXECUTE 'SELECT string_agg(q::text, '' '') FROM (' || query || ') q' INTO r;
	RETURN r;
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE || ' ' || SQLERRM;
END
$$;

CREATE FUNCTION error_of(query text) RETURNS text LANGUAGE plpgsql AS
$$
BEGIN
	EXECUTE query;
	RETURN 'no error';
EXCEPTION WHEN OTHERS OR query_canceled THEN
	RETURN SQLSTATE || ' ' || SQLERRM;
END
$$;
SQL
}

# The path of a relation's first file
sub file_of
{
	my ($node, $relation) = @_;

	return $node->data_dir . '/'
	  . $node->safe_psql('postgres', "SELECT pg_relation_filepath('$relation')");
}

# Drop relations of the database postgres from the page cache.
sub uncache
{
	my ($node, @relations) = @_;

	drop_files(map { file_of($node, $_) } @relations);
}

# Two tests of each log: there is no crash in it, and nothing that was forgotten.
sub logs_are_clean
{
	my (@nodes) = @_;

	foreach my $node (@nodes)
	{
		my @lines = split /\n/, slurp_file($node->logfile);
		my $name = @nodes > 1 ? $node->name . ': ' : '';

		Test::More::is(join("\n", grep { /$crash/ } @lines), '', "${name}no crash");
		Test::More::is(join("\n", grep { /$leak/ } @lines), '', "${name}no leak");
	}
}

# ... when all are down, in this order
sub stop_clean
{
	my (@nodes) = @_;

	$_->stop foreach grep { defined $_->{_pid} } @nodes;
	logs_are_clean(@nodes);
}

1;
