
# Copyright (c) 2026, streamstat contributors

# prewarm and the functions that warm several relations: who may, what is in the way of
# a relation is its own note, buffers are filled and nothing is pushed out, a call can be
# ended and gone on with, and a standby does the same.

use strict;
use warnings;

use Errno qw(EIO);
use FindBin;
use PostgreSQL::Test::Utils;
use Test::More;

use lib "$FindBin::RealBin/lib";
use Faults;
use Node;
use Pages;
use Session;

use constant BUFFERS => 2048;

my $node = new_node('prewarm', "shared_buffers = " . BUFFERS . "\nmax_wal_size = 1GB", streaming => 1);
my $have_buffercache = create_extension($node, 'pg_buffercache');
create_outcome($node);

sub sql
{
	my ($query) = @_;

	return $node->safe_psql('postgres', $query);
}

# The forks of a call, with their notes; without TOAST tables
sub forks
{
	my ($call, $who) = @_;
	my $query = "SELECT string_agg(concat_ws(' ', relation_name, fork, note), ', ' ORDER BY n) FROM ROWS FROM (streamstat.$call) WITH ORDINALITY AS r (is_sum, relid, schema_name, relation_name, parent_name, kind, fork, blocks_total, blocks_requested, blocks_cached, blocks_read, elapsed_ms, ended_by, resume_from, note, n) WHERE NOT is_sum AND relation_name !~ '^pg_toast_'";

	return ($who // sub { sql($_[0]) })->($query);
}

sql(<<'SQL');
CREATE ROLE owner;
CREATE ROLE reader;
CREATE ROLE scanner IN ROLE pg_stat_scan_tables;
CREATE ROLE nobody;
CREATE SCHEMA s;
GRANT USAGE, CREATE ON SCHEMA s TO owner;
SET ROLE owner;
CREATE TABLE s.a (i int PRIMARY KEY, long text);
INSERT INTO s.a SELECT g, 'x' FROM generate_series(1, 1000) g;
CREATE TABLE s.b (i int);
INSERT INTO s.b SELECT generate_series(1, 1000);
CREATE INDEX b_i ON s.b (i);
CREATE TABLE s.p (i int) PARTITION BY RANGE (i);
CREATE TABLE s.p1 PARTITION OF s.p FOR VALUES FROM (1) TO (10);
CREATE TABLE s.p2 PARTITION OF s.p FOR VALUES FROM (10) TO (20);
CREATE INDEX p_i ON s.p (i);
GRANT SELECT ON s.a, s.p TO reader;
SQL

# ---------------------------------------------------------------------------
# Rights: of a relation named, an error; of others, a note

my $maps = "include_maps => false";

sub as
{
	my ($role, $query) = @_;

	return sql("SET ROLE $role; $query");
}

foreach my $case (
	[ 'reader', 's.a', 'a_pkey main, a main' ],
	[ 'reader', 's.a_pkey', 'a_pkey main' ],
	[ 'reader', 's.p', 'p2_i_idx main, p2 main, p1_i_idx main, p1 main' ],
	[ 'reader', 's.p_i', 'p2_i_idx main, p1_i_idx main' ],
	[ 'scanner', 's.b', 'b_i main, b main' ],
	[ 'scanner', 'pg_authid', 'pg_authid_rolname_index main, pg_authid_oid_index main, pg_authid main' ],
	[ 'owner', 's.b', 'b_i main, b main' ],
	[ 'owner', 's.b_i', 'b_i main' ])
{
	my ($role, $relation, $expected) = @$case;
	my $oid = sql("SELECT '$relation'::regclass::oid");

	is(forks("prewarm($oid\::regclass, $maps)", sub { as($role, @_) }), $expected, "$relation: allowed to $role");
}
foreach my $case (
	[ 'reader', 's.b', '42501 permission denied for table b' ],
	[ 'reader', 's.b_i', '42501 permission denied for index b_i' ],
	[ 'reader', 's.p1', '42501 permission denied for table p1' ],
	[ 'nobody', 's.p', '42501 permission denied for table p' ],
	[ 'nobody', 's.p_i', '42501 permission denied for index p_i' ],
	[ 'owner', 'pg_authid', '42501 permission denied for table pg_authid' ])
{
	my ($role, $relation, $expected) = @$case;
	my $oid = sql("SELECT '$relation'::regclass::oid");

	is(as($role, "SELECT error_of('SELECT * FROM streamstat.prewarm($oid\::regclass)')"), $expected, "$relation: refused to $role");
}
foreach my $role ('reader', 'owner')
{
	my $toast = sql("SELECT reltoastrelid::oid FROM pg_class WHERE oid = 's.a'::regclass");

	is(as($role, "SELECT count(*) FROM streamstat.prewarm($toast\::regclass, $maps) WHERE note IS NULL"),
		3, "the TOAST table of a table: allowed to $role");
}
is(forks("prewarm_relations('{s.b, s.a, s.b_i, pg_class}', $maps)", sub { as('reader', 'RESET ROLE; GRANT USAGE ON SCHEMA s TO reader; SET ROLE reader; ' . $_[0]) }) =~ s/, pg_class_.*//r,
	'b permission denied, a_pkey main, a main, b_i permission denied', 'several: a note');
is( forks("prewarm_schema('s', 'read', $maps)", sub { as('reader', @_) }),
	'a_pkey main, a main, b permission denied, p1 permission denied, p2 permission denied', 'a schema');
is(as('nobody', "SELECT string_agg(relation_name, ' ' ORDER BY relation_name) FROM streamstat.prewarm_database('read') WHERE note = 'permission denied' AND relation_name ~ '^(a|b|p1|pg_authid|pg_class|pg_statistic)\$'"),
	'a b p1 pg_authid pg_statistic', 'the database');
is(as('scanner', "SELECT count(*) FROM streamstat.prewarm_database('read') WHERE note IS NOT NULL"), 0, '... all of it by pg_stat_scan_tables');

# ---------------------------------------------------------------------------
# What is in the way

my $session = Session->new($node);
my $other = Session->new($node);
my $toast = "include_toast => false";

$session->query("SET statement_timeout = '2min'");
$other->query('BEGIN; LOCK TABLE s.a IN ACCESS EXCLUSIVE MODE');
is(forks("prewarm_relations('{s.b, s.a, s.p1}', $maps, $toast)", sub { $session->query(@_) }),
	'b_i main, b main, a_pkey main, a main locked by another session, p1_i_idx main, p1 main', 'a locked relation has a note');
is(forks("prewarm('s.a', $maps, $toast)", sub { $session->query(@_) }), 'a_pkey main, a main locked by another session', '... alone as well');
$other->query('LOCK TABLE s.p IN ACCESS EXCLUSIVE MODE');
is( forks("prewarm_relations('{s.p, s.b}', $maps)", sub { $session->query(@_) }),
	'p2_i_idx main locked by another session, p2 main locked by another session, p1_i_idx main locked by another session, p1 main locked by another session, b_i main, b main' =~ s/_idx main locked by another session/_idx main/gr,
	'a locked partition tree');
is($session->query("SELECT ended_by, resume_from IS NULL, blocks_requested > 0 FROM streamstat.prewarm_database() WHERE is_sum"),
	'complete|t|t', 'a database with locked relations');
$other->query('ROLLBACK');
is($session->query("SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND relation >= 16384"), 0, 'no lock is left');

# Dropped, or its file changed, while the one before it is read
sql(q(
CREATE TABLE slow (i int, s text) WITH (autovacuum_enabled = off);
INSERT INTO slow SELECT g, repeat('x', 900) FROM generate_series(1, 6000) g;
CREATE TABLE dropped AS SELECT generate_series(1, 1000) AS i;
CREATE TABLE rewritten AS SELECT generate_series(1, 1000) AS i;
CREATE TABLE truncated AS SELECT generate_series(1, 1000) AS i;
CREATE TABLE last AS SELECT generate_series(1, 1000) AS i));
$node->restart;
$_->end foreach $session, $other;
$session = Session->new($node);
$other = Session->new($node);
$session->send_query(
	"SELECT string_agg(concat_ws(' ', relation_name, blocks_requested * 8192 = pg_relation_size(relid), note), ', ') FROM streamstat.prewarm_relations('{slow, dropped, rewritten, truncated, last}', max_rate => '512kB', $maps, $toast) WHERE NOT is_sum AND relation_name <> 'slow'");
Session::poll('the first one', sub { sql("SELECT bytes_done > 0 FROM streamstat.stat_progress WHERE relid = 'slow'::regclass") eq 't' });
is(sql(q(SELECT function, phase, relations_total, bytes_total = (SELECT sum(pg_relation_size(oid)) FROM pg_class WHERE relname IN ('slow', 'dropped', 'rewritten', 'truncated', 'last')),
		done_percent BETWEEN 0 AND 100, expected_end > now() FROM streamstat.stat_progress)),
	'prewarm_relations|scanning|5|t|t|t', 'progress');
sql('DROP TABLE dropped; VACUUM FULL rewritten; TRUNCATE truncated');
is($session->answer, 'dropped dropped meanwhile, rewritten t, truncated t, last t', 'what was dropped, rewritten or truncated meanwhile');

# Temporary tables
$other->query('CREATE TEMP TABLE theirs (i int)');
$session->query('CREATE TEMP TABLE mine (i int); INSERT INTO mine VALUES (1)');
is($session->query("SELECT string_agg(concat_ws(' ', relation_name, fork, note), ', ' ORDER BY relation_name) FROM streamstat.prewarm_database() WHERE relation_name IN ('mine', 'theirs')"),
	"mine temporary relation: its pages are in the session's local buffers, theirs temporary relation of another session", 'temporary tables');
my $theirs = $other->query("SELECT 'theirs'::regclass::oid");
is($session->query("SELECT note FROM streamstat.prewarm($theirs\::regclass) WHERE NOT is_sum"), 'temporary relation of another session', '... alone');

# An index that is being built
$other->query('BEGIN; DELETE FROM last WHERE i = 1');
my $builder = Session->new($node);
$builder->send_query('CREATE INDEX CONCURRENTLY last_i ON last (i)');
Session::poll('an index that is not ready', sub { sql("SELECT count(*) FROM pg_index WHERE indexrelid = to_regclass('last_i') AND NOT indisready") });
is(forks("prewarm('last', $maps)"), 'last_i index is not valid: it is being built, or its build failed, last main', 'an index that is being built');
$other->query('ROLLBACK');
$builder->answer;
is(forks("prewarm('last', $maps)"), 'last_i main, last main', '... and was built');
$_->end foreach $builder;

# Odd names
my @odd = ('a "quoted" name', "it's", 'ünïcödé ☃ 雪', 'x' x 63, 'with.dot', "new\nline", 'SELECT', ' ');
foreach my $n (1 .. @odd)
{
	my $name = $odd[ $n - 1 ];
	my $quoted = '"' . $name =~ s/"/""/gr . '"';
	my $literal = "'" . $name =~ s/'/''/gr . "'";

	$session->query("CREATE SCHEMA $quoted; CREATE TABLE $quoted.$quoted (i int); CREATE INDEX i ON $quoted.$quoted (i); INSERT INTO $quoted.$quoted VALUES (1)");
	my $relation = "format('%I.%I', $literal, $literal)";
	is($session->query("SELECT string_agg(concat_ws('|', relation_name = $literal, schema_name = $literal, parent_name::regclass = $relation\::regclass, blocks_requested), ', ') FROM streamstat.prewarm($relation\::regclass, stop_when_full => false) WHERE NOT is_sum"),
		'f|t|t|2, t|t|1', "odd name $n");
	is($session->query("SELECT count(*) FROM streamstat.prewarm_schema($literal\::text::regnamespace)"), 3, "... in a schema")
	  if $name !~ /[^a-z]/;
	my $place = $session->query("SELECT resume_from FROM streamstat.prewarm($relation\::regclass, max_time => '0') WHERE is_sum");
	is($session->query("SELECT blocks_requested FROM streamstat.prewarm($relation\::regclass, resume_from => '$place') WHERE is_sum"), 3, '... gone on with');
}

# ---------------------------------------------------------------------------
# Full buffers

sql(q(
CREATE TABLE large (i int, s text) WITH (autovacuum_enabled = off);
INSERT INTO large SELECT g, repeat('x', 900) FROM generate_series(1, 24000) g;
CREATE INDEX large_i ON large (i);
VACUUM large;
CHECKPOINT));
cmp_ok(sql("SELECT pg_relation_size('large')"), '>', 1.4 * BUFFERS * BLCKSZ, 'larger than shared buffers');

sub restart
{
	$_->end foreach $session, $other;
	$node->restart;
	$session = Session->new($node);
	$other = Session->new($node);
}

# How many of the blocks that a call has looked at are not in buffers?
my $buffered = $have_buffercache
  ? 'SELECT c.oid, relforknumber, relblocknumber FROM pg_buffercache b JOIN pg_class c ON b.relfilenode = c.relfilenode AND b.reldatabase = (SELECT oid FROM pg_database WHERE datname = current_database())'
  : "SELECT relid, array_position('{main,fsm,vm}'::text[], fork) - 1, block FROM streamstat.cache_map(), generate_series(first_block, last_block) block";
my $lost = "SELECT count(*) FROM (SELECT relid, array_position('{main,fsm,vm}'::text[], fork) - 1, block FROM kept, generate_series(0, blocks_requested - 1) block WHERE NOT is_sum EXCEPT $buffered) x";

# What the questions below need of catalogs is in buffers before.
restart();
$session->query("CREATE TEMP TABLE kept AS SELECT * FROM streamstat.prewarm('s.a', stop_when_full => true); $lost; DROP TABLE kept");
$session->query("CREATE TEMP TABLE kept AS SELECT * FROM streamstat.prewarm('large', $toast, stop_when_full => true)");

# Buffers that nothing is in
sub check_free
{
	my ($what) = @_;

  SKIP:
	{
		skip 'no pg_buffercache', 2 if !$have_buffercache;
		my $free = $session->query('SELECT count(*) FROM pg_buffercache WHERE relfilenode IS NULL');

		note "$what: $free buffers are free";
		cmp_ok($free, '>', 8, "$what: some buffers are left to others");
		cmp_ok($free, '<', BUFFERS / 8, "$what: and not many");
	}
}
check_free('large reads');
is($session->query('SELECT ended_by FROM kept WHERE is_sum'), 'full', 'stop_when_full: it is');
my $first = $session->query('SELECT blocks_requested FROM kept WHERE is_sum');
cmp_ok($first, '>', BUFFERS / 2, '... with most of the buffers');
is($session->query("SELECT count(*) > 0 FROM kept WHERE note IS NOT NULL"), 'f', '... and no note');
is($session->query($lost), 0, '... and every block is still there');
is($session->query(q(SELECT resume_from ~ format('^%s/main/\d+$', 'large'::regclass::oid) FROM kept WHERE is_sum)), 't', '... and a place to go on');
my $place = $session->query('SELECT resume_from FROM kept WHERE is_sum');
$session->query("SET streamstat.io_combine_limit = '8kB'; CREATE TEMP TABLE again AS SELECT * FROM streamstat.prewarm('large', $toast, stop_when_full => true, resume_from => '$place')");
check_free('small reads');
is($session->query("SELECT ended_by, blocks_read < 400 FROM again WHERE is_sum; RESET streamstat.io_combine_limit"), 'full|t', 'full again');
$session->query("INSERT INTO again SELECT * FROM streamstat.prewarm('large', $toast, resume_from => (SELECT resume_from FROM again WHERE is_sum))");
is($session->query("SELECT sum(blocks_requested) + $first = (pg_relation_size('large') + pg_relation_size('large', 'vm') + pg_relation_size('large', 'fsm') + pg_relation_size('large_i')) / 8192 FROM again WHERE is_sum"),
	't', 'gone on to the end: each block once');
is($session->query("SELECT ended_by FROM again WHERE is_sum ORDER BY ctid DESC LIMIT 1"), 'complete', '... which is the end');

# Buffers are full now.  A relation that is named is warmed whole all the same; of a set the
# sum tells how much there is.
is($session->query("SELECT string_agg(concat_ws('|', ended_by, blocks_total = blocks_requested), ', ') FROM streamstat.prewarm('large', $toast) WHERE is_sum"),
	'complete|t', 'with full buffers, a relation that is named is warmed whole');
is($session->query("SELECT ended_by, blocks_requested < blocks_total, blocks_total = (pg_relation_size('large') + pg_relation_size('large', 'vm') + pg_relation_size('large', 'fsm') + pg_relation_size('large_i')) / 8192 FROM streamstat.prewarm_relations('{large}', $toast) WHERE is_sum"),
	'full|t|t', '... a list is not, and says how much there is');
is($session->query("SELECT string_agg(is_sum::text, ' ' ORDER BY n) ~ '^true( false)+\$' FROM ROWS FROM (streamstat.prewarm('large', $toast)) WITH ORDINALITY AS r (is_sum, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13, c14, c15, n)"),
	't', '... and the sum is the first row');

# What the call evicts are pages of others, however often those were used, and not its own.
sql("CREATE TABLE smaller WITH (autovacuum_enabled = off) AS SELECT g AS i, repeat('x', 900) AS s FROM generate_series(1, 8000) g; VACUUM smaller; CHECKPOINT");
my $smaller = "SELECT count(*) FROM streamstat.cache_map(), generate_series(first_block, last_block) WHERE relation_name = 'smaller' AND fork = 'main'";
my $last = sql("SELECT pg_relation_size('large') / 8192 - 1");

sub fill_buffers
{
	sql("SELECT streamstat.pg_prewarm('large')");
	sql("SELECT streamstat.pg_prewarm('large', 'buffer', 'main', $last - 1499, $last)") foreach 1 .. 5;
}

my $most = 0.95 * sql("SELECT pg_relation_size('smaller') / 8192");
restart();
$session->query("SELECT streamstat.pg_prewarm('smaller')");
my $saved = sql('SELECT streamstat.cache_save()');
foreach my $call ("prewarm('smaller')", "cache_load('$saved', stop_when_full => false)")
{
	my $name = $call =~ s/'streamstat.*?',/saved,/sr;

	fill_buffers();
	cmp_ok(sql($smaller), '<', $most / 2, "$name: buffers are full of others");
	is($session->query("SELECT ended_by FROM streamstat.$call WHERE is_sum"), 'complete', '... all is read');
	cmp_ok(sql($smaller), '>', $most, '... and stays');
}

# into the page cache, nothing can be full
restart();
foreach my $mode ('read', 'prefetch')
{
	uncache($node, 'large');
	is($session->query("SELECT ended_by, blocks_requested = blocks_total FROM streamstat.prewarm('large', '$mode', $toast) WHERE is_sum"),
		'complete|t', "$mode: a table larger than shared buffers");
}
is($session->query("SELECT coalesce(sum(last_block - first_block + 1), 0) FROM streamstat.cache_map() WHERE relation_name = 'large' AND fork = 'main'"), 0, '... and nothing is in buffers');

# Little of a lot
is($session->query("SELECT ended_by, bool_or(fork = 'vm') OVER () IS NULL FROM streamstat.prewarm_database(only_maps => true) WHERE is_sum"),
	'complete|t', 'maps of a database');

# ---------------------------------------------------------------------------
# Cancel

$session->query("SET streamstat.max_rate = '64kB'");
foreach my $call ("prewarm('large')", "prewarm_schema('public', 'read')", 'prewarm_database()')
{
	$session->send_query("SELECT count(*) FROM streamstat.$call");
	Session::poll($call, sub { sql("SELECT count(*) FROM streamstat.stat_progress WHERE phase = 'scanning' AND bytes_total > 0") });
	sql("SELECT pg_cancel_backend($session->{pid})");
	$session->answer;
	like($session->{err}, qr/57014: canceling statement due to user request/, "$call: canceled");
	is(sql("SELECT count(*) FROM pg_locks WHERE pid = $session->{pid} AND relation >= 16384"), 0, '... without a lock left');
	is(sql('SELECT count(*) FROM streamstat.stat_progress'), 0, '... or progress');
}
$session->query('RESET streamstat.max_rate');

# ---------------------------------------------------------------------------
# A block that cannot be read

my $faults = Faults->new($node);
my $file = file_of($node, 'slow');
$_->end foreach $session, $other;
$node->stop;
$faults->start($node);
$session = Session->new($node);
$faults->set(file => $file, reads => 'error', from => 100 * BLCKSZ, to => 101 * BLCKSZ, error => EIO);
like( forks("prewarm_relations('{last, slow, rewritten}', $maps, $toast)", sub { $session->query(@_) }),
	qr/^last_i main, last main, slow main [^,]*could not read block[^,]*Input\/output error[^,]*, rewritten main$/, 'a bad block costs a note');
like( forks("prewarm_relations('{last, slow, rewritten}', $maps, $toast)", sub { $session->query(@_) }),
	qr/could not read block/, '... in the next call as well, for which a buffer is left that has not been read');
cmp_ok($faults->clear, '>', 0, '... and there was one');
is(forks("prewarm_relations('{last, slow}', $maps, $toast)", sub { $session->query(@_) }), 'last_i main, last main, slow main', '... that is gone');
$session->end;

# ---------------------------------------------------------------------------
# A standby

sql('CREATE UNLOGGED TABLE unlogged AS SELECT 1 AS i; CREATE TABLE t (i int PRIMARY KEY, s text); INSERT INTO t SELECT g, g::text FROM generate_series(1, 20000) g; VACUUM t');
my $standby = new_standby($node);
$node->wait_for_catchup($standby);
my $there = sub { $standby->safe_psql('postgres', $_[0]) };
is(forks("prewarm_relations('{t, s.p, unlogged}', $toast)", $there),
	't vm, t fsm, t_pkey main, t main, p2_i_idx main, p2 main, p1_i_idx main, p1 main, unlogged no data during recovery', 'a standby');
is($there->("SELECT blocks_read, ended_by FROM streamstat.prewarm('t', $toast) WHERE is_sum"), '0|complete', '... has it in buffers');
is( $there->("SELECT min(ended_by), string_agg(note, ', ') FROM streamstat.prewarm_database('read', max_bytes => '100MB')"),
	'complete|rows with a note: 1, no data during recovery', '... and its database');

stop_clean($standby);
stop_clean($node);
done_testing();
