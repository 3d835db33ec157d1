
# Copyright (c) 2026, streamstat contributors

# pg_upgrade of a cluster whose databases have the extension, views that depend on
# it, and stored results.
#
# STREAMSTAT_OLD_SERVER is the installation of an older server, with the
# extension; the newer one is in PATH.  tools/upgrade runs this.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use Upgrade;

my $old_path = $ENV{STREAMSTAT_OLD_SERVER}
  or plan skip_all => 'STREAMSTAT_OLD_SERVER names no older server';
my $inst = new_installation(PostgreSQL::Test::Utils::tempdir());

# 18 has checksums by default, older servers have not.
my @initdb = (extra => ['--data-checksums']);
my $old = PostgreSQL::Test::Cluster->new('old', install_path => $old_path);
my $new = PostgreSQL::Test::Cluster->new('new', install_path => $inst->{install_path});
$old->init(@initdb);
$new->init(@initdb);
$_->append_conf('postgresql.conf', 'autovacuum = off') foreach $old, $new;

$old->start;
my $from = $old->safe_psql('postgres', 'SHOW server_version_num');
$old->safe_psql('postgres', 'CREATE EXTENSION streamstat');
make_dependents($old, 'postgres');
my $old_answers = answers($old, 'postgres');
my $old_dependents = answers($old, 'postgres', 1);
my $old_stored = stored($old, 'postgres');
my $old_view = $old->safe_psql('postgres', 'TABLE stored_view');

# An option that minor versions of November 2026 give to every column, and that
# pg_dump of earlier ones writes out: without it, either can be upgraded to.
$old->safe_psql('postgres', q(
UPDATE pg_attribute
SET attoptions = (SELECT array_agg(o) FROM unnest(attoptions) o WHERE o NOT LIKE 'pg\_attver=%')
WHERE attoptions::text LIKE '%pg\_attver=%'));
$old->stop;

chdir $new->basedir or die;
my $upgraded = run_log(
	[
		$new->installed_command('pg_upgrade'), '--no-sync',
		'--old-datadir', $old->data_dir, '--new-datadir', $new->data_dir,
		'--old-bindir', "$old_path/bin",
		'--new-bindir', $new->config_data('--bindir'),
		'--socketdir', $new->host,
		'--old-port', $old->port, '--new-port', $new->port ]);
ok($upgraded, 'pg_upgrade');
if (!$upgraded)
{
	system("cat @{[$new->data_dir]}/pg_upgrade_output.d/*/*.txt @{[$new->data_dir]}/pg_upgrade_output.d/*/log/*");
	done_testing();
	exit;
}

$new->start;
cmp_ok($new->safe_psql('postgres', 'SHOW server_version_num'), '>', $from, 'the server is newer');
is( $new->safe_psql('postgres', "SELECT extversion FROM pg_extension WHERE extname = 'streamstat'"),
	'1.0', 'the extension has the version that it had');
is(stored($new, 'postgres'), $old_stored, 'stored results are what they were');
is($new->safe_psql('postgres', 'TABLE stored_view'), $old_view, 'so is a materialized view');

# What may be otherwise on another server, or on another day, are values.
is(differences(answers($new, 'postgres'), $old_answers), '', 'functions and views answer');
is(differences(answers($new, 'postgres', 1), $old_dependents), '', 'dependent views answer');
is( $new->safe_psql('postgres', 'REFRESH MATERIALIZED VIEW stored_view; SELECT count(*) > 0 FROM stored_view'),
	't', 'a dependent materialized view is refreshed');

# The next version, on the new server
my $next = PostgreSQL::Test::Utils::tempdir() . '/next';
build_next($next);
install($inst, "$next/streamstat.so", "$next/streamstat.control");
$new->safe_psql('postgres', 'ALTER EXTENSION streamstat UPDATE');
is( $new->safe_psql('postgres',
		"SELECT extversion, streamstat.library_version() FROM pg_extension WHERE extname = 'streamstat'"),
	'1.1|1.1', 'ALTER EXTENSION UPDATE');
is(differences(answers($new, 'postgres', 1), $old_dependents), '', 'dependent views answer after it');
$new->stop;

done_testing();
