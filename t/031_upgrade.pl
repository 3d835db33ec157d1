
# Copyright (c) 2026, streamstat contributors

# Library and SQL script of different versions, ALTER EXTENSION UPDATE, dump and
# restore, and the extension dropped and created again.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib", "$FindBin::RealBin/../test/upgrade";

use File::Copy qw(copy);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use Session;
use Upgrade;

my $dir = PostgreSQL::Test::Utils::tempdir();
my $inst = new_installation("$dir/inst");
my @old = map { "$dir/$_" } qw(streamstat.so streamstat.control);
copy("$inst->{libdir}/streamstat.so", $dir) or die;
copy("$inst->{scripts}/streamstat.control", $dir) or die;
my @new = map { "$dir/next/$_" } qw(streamstat.so streamstat.control);
build_next("$dir/next");

my $node = PostgreSQL::Test::Cluster->new('upgrade', install_path => $inst->{install_path});
$node->init;
$node->append_conf('postgresql.conf', 'autovacuum = off');
$node->start;

sub sql
{
	my ($query, $db) = @_;

	return $node->safe_psql($db // 'postgres', $query);
}

sub version
{
	return sql("SELECT extversion FROM pg_extension WHERE extname = 'streamstat'", @_);
}

# ---------------------------------------------------------------------------
# The first version

sql('CREATE EXTENSION streamstat');
is(version(), '1.0', 'the first version is installed');
make_dependents($node, 'postgres');

my $before = answers($node, 'postgres');
my $dependents_before = answers($node, 'postgres', 1);
my $stored = stored($node, 'postgres');
is(join("\n", grep { /ERROR/ } %$before, %$dependents_before), '', 'everything answers');

# What does not change from one call to the next: neither a random sample nor about the
# catalogs or the page cache
my %exact = map { $_ => 1 }
  grep { !/report|_plan|layout_picture/ && $before->{$_} !~ /"sampled"|page_cache|blocks_cached/ } keys %$before;
{
	my $again = answers($node, 'postgres');
	my $dependents_again = answers($node, 'postgres', 1);

	delete @exact{
		grep { $before->{$_} ne $again->{$_} || $dependents_before->{$_} ne $dependents_again->{$_} }
		  keys %exact };
}
cmp_ok(scalar(keys %exact), '>=', 25, 'most answers are the same each time');

sub same_answers
{
	my ($what) = @_;

	is(differences(answers($node, 'postgres'), $before, \%exact), '', "$what: functions and views");
	is( sql("CALL streamstat.run_database_report(); SELECT count(*) > 0 FROM streamstat.last_database_report()") =~
		  s/.*\n//r,
		't', "$what: procedure");
	same_dependents($what);
}

sub same_dependents
{
	my ($what) = @_;

	is(differences(answers($node, 'postgres', 1), $dependents_before, \%exact),
		'', "$what: dependent views");
	is(stored($node, 'postgres'), $stored, "$what: stored results");
}

# dumps of the database, by the version of the extension
my %dump = ('1.0' => "$dir/1.0.dump", '1.1' => "$dir/1.1.dump");

sub dump_as
{
	my ($version) = @_;

	ok( run_log(
			[
				$node->installed_command('pg_dump'), '-Fc', '-f', $dump{$version},
				$node->connstr('postgres') ]),
		"$version: pg_dump");
}
dump_as('1.0');

# A session that keeps the library that it has loaded
my $session = Session->new($node);
$session->query("SELECT * FROM streamstat.btree_stats('t_btree')");

# ---------------------------------------------------------------------------
# A newer library

install($inst, @new);
is( sql(q(CREATE FUNCTION pg_temp.version() RETURNS text AS '$libdir/streamstat', 'sst_library_version' LANGUAGE C;
SELECT pg_temp.version())),
	'1.1', 'the next library is installed');
same_answers('first script, newer library');
is(version(), '1.0', 'nothing has updated the extension');

# ---------------------------------------------------------------------------
# ALTER EXTENSION UPDATE

sql('ALTER EXTENSION streamstat UPDATE');
is(version(), '1.1', 'ALTER EXTENSION UPDATE');
is(sql('SELECT streamstat.library_version()'), '1.1', 'it adds a function');
is( sql("SELECT count(*) > 0, bool_and(added = last_block - first_block + 1) FROM streamstat.unfrozen_ranges('t')"),
	't|t', 'it adds a column');
is( sql("SELECT count(*) > 0, bool_and(added = 'new') FROM streamstat.database_report();
SELECT count(*) > 0, bool_and(added = 'new') FROM streamstat.last_database_report()"),
	"t|t\nt|t", 'it adds a column to two functions');
same_dependents('updated');
is(sql('REFRESH MATERIALIZED VIEW stored_view; SELECT count(*) > 0 FROM stored_view'),
	't', 'updated: a materialized view is refreshed');

dump_as('1.1');

# ---------------------------------------------------------------------------
# An older library: of a session that began before the update, and of a server
# that has got the package of before again

my $unknown = qr/^ERROR: .*"added".* HINT: The library is older than .* reconnect\.$/;
my $query = "SELECT * FROM streamstat.unfrozen_ranges('t')";

like($session->query("SELECT answer(\$\$$query\$\$)"),
	$unknown, 'a session with the older library is told what to do');
install($inst, @old);
{
	my $answers = answers($node, 'postgres');
	my @unknown = grep { /\.(unfrozen_ranges\(|database_report\(|last_database_report\(|report_(?:html|json)\()/ } keys %$answers;

	cmp_ok(scalar(@unknown), '>=', 3, 'newer script, older library: functions with a new column');
	is(join("\n", grep { $_ !~ $unknown } @$answers{@unknown}), '', '... say what to do');
	delete @$answers{@unknown};
	is(differences($answers, $before, \%exact), '', '... and all else is as before');
}
install($inst, @new);

# ---------------------------------------------------------------------------
# pg_restore

foreach my $version (sort keys %dump)
{
	my $db = "from $version";

	$node->safe_psql('postgres', qq(CREATE DATABASE "$db"));
	my ($stdout, $stderr) = run_command(
		[
			$node->installed_command('pg_restore'), '-d', $node->connstr($db),
			'--exit-on-error', $dump{$version} ]);
	is($stderr, '', "$version: pg_restore");
	is(version($db), '1.1', "$version: the extension is the newer one");
	is(stored($node, $db), $stored, "$version: stored results are restored");

	# What was rewritten has other numbers, and a visibility map only after VACUUM.
	$node->safe_psql($db, 'VACUUM');
	is(join("\n", grep { /ERROR/ } %{ answers($node, $db, 1) }), '', "$version: dependent views answer");
	is($node->safe_psql($db, 'SELECT count(*) > 0 FROM stored_view'), 't', "$version: a materialized view is restored");
}

# ---------------------------------------------------------------------------
# Other ways to a version

$node->safe_psql('postgres', 'CREATE DATABASE other');
is( sql(q(
CREATE EXTENSION streamstat VERSION '1.0';
SELECT count(*) > 0 FROM streamstat.unfrozen_ranges('pg_class');
ALTER EXTENSION streamstat UPDATE TO '1.1';
SELECT count(added) > 0 FROM streamstat.unfrozen_ranges('pg_class');
DROP EXTENSION streamstat;
CREATE EXTENSION streamstat;
SELECT count(added) > 0 FROM streamstat.unfrozen_ranges('pg_class');
DROP EXTENSION streamstat;
CREATE EXTENSION streamstat VERSION '1.0';
SELECT count(*) > 0 FROM streamstat.unfrozen_ranges('pg_class');
SELECT extversion FROM pg_extension WHERE extname = 'streamstat';
DROP EXTENSION streamstat;
SELECT count(*) FROM pg_depend WHERE refobjid = 'streamstat'::regnamespace;
), 'other'),
	join("\n", 't', 't', 't', 't', '1.0', 0), 'created, updated, dropped and created again in one session');
is($node->psql('postgres', 'DROP EXTENSION streamstat'), 3, 'what depends on the extension keeps it');
is( sql(q(
SELECT count(*) FROM streamstat.btree_stats('t_btree');
DROP EXTENSION streamstat CASCADE;
CREATE EXTENSION streamstat;
SELECT count(*) FROM streamstat.btree_stats('t_btree');
)),
	"1\n1", 'dropped with what depends on it, and created again in one session');

# ---------------------------------------------------------------------------
# Workers have the library that is installed when they start.

sql(q(CREATE TABLE large (filler text);
ALTER TABLE large ALTER filler SET STORAGE PLAIN;
INSERT INTO large SELECT repeat('x', 7000) FROM generate_series(1, 16500)));
install($inst, @old);
# what is in shared buffers has no workers
$node->restart;
my $large = "SELECT live_tuples FROM streamstat.table_stats('large'); SELECT workers FROM streamstat.stream_stats()";
my $settings = 'SET streamstat.map_files = off; SET streamstat.max_workers = 1';
$session = Session->new($node);
$session->query($settings);
is($session->query($large), "16500\n1", 'a worker helps to read');
install($inst, @new);
is($session->query($large), "16500\n0", 'a worker of the newer library takes no part for a session with the older one');
is(sql("$settings; $large"), "16500\n1", '... but for a session with the newer one');

$node->stop;
done_testing();
