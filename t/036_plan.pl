
# Copyright (c) 2026, streamstat contributors

# The plan names what keeps dead rows from VACUUM, of all kinds, and only what does.
# specs/plan_holder.spec has that of a session.

use strict;
use warnings;

use FindBin;
use PostgreSQL::Test::Utils;
use Test::More;

use lib "$FindBin::RealBin/lib";
use Node;
use Session;

my $node = new_node('plan', q(
wal_level = logical
max_prepared_transactions = 2
), streaming => 1);

sub sql
{
	my ($query) = @_;

	return $node->safe_psql('postgres', $query);
}

# What the plan says of a table whose rows have all just been updated
sub plan_after_update
{
	my ($table) = @_;

	sql("UPDATE $table SET t = t || 'y'");
	return sql("SELECT coalesce(command, regexp_replace(reason, '^.* because of (.*?)(, started .*|, \\d+ transactions? old)', '\\1'))
		FROM streamstat.database_plan(margin => 0) WHERE relation_name = '$table'");
}

# A rebuild of the table gives nothing back.
sql(q(
CREATE TABLE held (k int, t text) WITH (autovacuum_enabled = off, fillfactor = 40);
INSERT INTO held SELECT g, repeat('x', 100) FROM generate_series(1, 3000) g;
CREATE TABLE other (k int);
CREATE TABLE vacuumed WITH (autovacuum_enabled = off) AS SELECT held.* FROM held, generate_series(1, 20);
VACUUM held;
CREATE DATABASE elsewhere));

is(plan_after_update('held'), 'VACUUM public.held', 'nothing keeps the rows');
sql('VACUUM held');

# A VACUUM that runs keeps nothing, although its snapshot is older.
my $vacuum = Session->new($node);
$vacuum->query('SET vacuum_cost_delay = 100; SET vacuum_cost_limit = 1');
$vacuum->send_query('VACUUM vacuumed');
Session::poll('VACUUM', sub { sql('SELECT count(*) FROM pg_stat_progress_vacuum JOIN pg_stat_activity USING (pid) WHERE backend_xmin IS NOT NULL') });
sql('SELECT pg_current_xact_id()');

sql(q(BEGIN; INSERT INTO other VALUES (1); PREPARE TRANSACTION 'it''s "prepared"'));
is(plan_after_update('held'), q(prepared transaction "it's "prepared""), 'a prepared transaction');
ok($vacuum->busy, '... beside a VACUUM');
sql("SELECT pg_cancel_backend($vacuum->{pid})");
$vacuum->answer;
$vacuum->end;
sql('VACUUM held');
is(sql("SELECT count(*) FROM streamstat.database_plan(margin => 0) WHERE relation_name = 'held' AND command IS NOT NULL"),
	'0', 'VACUUM would do nothing, and has done nothing');
sql(q(COMMIT PREPARED 'it''s "prepared"'; VACUUM held));

# That of another database keeps nothing here, and a logical slot only what is in catalogs.
$node->safe_psql('elsewhere', q(CREATE TABLE other (k int); BEGIN; INSERT INTO other VALUES (1); PREPARE TRANSACTION 'elsewhere'));
is(plan_after_update('held'), 'VACUUM public.held', 'a transaction of another database');
$node->safe_psql('elsewhere', q(ROLLBACK PREPARED 'elsewhere'));
sql('VACUUM held');

# The view of indexes to drop reads catalogs only, whatever locks a table.
sql('CREATE INDEX ON other ((k + 1)); CREATE INDEX ON other ((k  +  1)); CREATE INDEX ON other (k) WHERE k > 1');
my $locker = Session->new($node);
$locker->query('BEGIN; LOCK TABLE other');
is(sql(q(SET lock_timeout = '1s'; SELECT count(*), count(*) FILTER (WHERE reason ~ '^the same as')
	FROM streamstat.report_drop_candidates WHERE parent_name = 'public.other')), '3|1', 'a table is locked, with indexes on expressions');
$locker->query('COMMIT');
$locker->end;

# Where there is a standby with feedback, its slot keeps rows.
my $standby = new_standby($node);
$node->safe_psql('postgres', "SELECT pg_create_physical_replication_slot('feedback')");
$standby->append_conf('postgresql.conf', q(
primary_slot_name = 'feedback'
hot_standby_feedback = on
wal_receiver_status_interval = 1
));
$standby->restart;
$node->wait_for_catchup($standby);
$standby->psql('postgres', 'SELECT 1');
$node->poll_query_until('postgres', "SELECT xmin IS NOT NULL FROM pg_replication_slots WHERE slot_name = 'feedback'")
  or die 'no feedback';
$standby->stop('immediate');
like(plan_after_update('held'), qr/^(inactive replication slot "feedback"|replication slot "feedback" of process \d+)$/, 'the slot of a standby');
sql("SELECT pg_drop_replication_slot('feedback')") if $node->poll_query_until('postgres', 'SELECT NOT active FROM pg_replication_slots');
is(sql("SELECT command FROM streamstat.database_plan(margin => 0) WHERE relation_name = 'held'"), 'VACUUM public.held', 'the slot was dropped');

$node->stop;
done_testing();
