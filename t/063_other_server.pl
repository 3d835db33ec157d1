
# Copyright (c) 2026, streamstat contributors

# A library that was built with header files of another server: with other sizes of
# blocks and segments, it is not loaded; where other internals are elsewhere, what
# relies on them is not used, and the log says so.

use strict;
use warnings;

use FindBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use lib "$FindBin::RealBin/lib", "$FindBin::RealBin/../test/upgrade";
use Node;
use Upgrade;

my $tree = "$FindBin::RealBin/..";
my $dir = PostgreSQL::Test::Utils::tempdir();
my $inst = new_installation("$dir/inst");
my $headers = Upgrade::config('includedir-server');

# Build the library with a header file in which a place is replaced, compiling some of its
# files again, and install it.
sub install_built_with
{
	my ($header, $place, $new, @files) = @_;
	my $text = slurp_file("$headers/$header");

	$text =~ s/$place/$new/m or die "no $place in $header";
	system(
		"rm -rf '$dir/tree' '$dir/headers' && mkdir '$dir/tree' && cp -rL '$headers' '$dir/headers' && rm '$dir/headers/$header' && "
		  . "cd '$tree' && tar -cf - --exclude=./.git --exclude=./tmp_check --exclude='*.so' . | tar -xf - -C '$dir/tree'")
	  == 0 or die "could not copy the tree";
	append_to_file("$dir/headers/$header", $text);
	unlink map { "$dir/tree/src/$_.o" } 'compat/server_check', @files;

	local %ENV = %ENV;
	delete @ENV{qw(MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES)};
	system( "make -s -C '$dir/tree' PG_CONFIG='" . Upgrade::config('bindir') . "/pg_config' with_llvm=no"
		  . " COPT='-I$dir/headers' streamstat.so >'$dir/make.log' 2>&1") == 0
	  or die "could not build:\n" . slurp_file("$dir/make.log");
	install($inst, "$dir/tree/streamstat.so");
}

my $node = PostgreSQL::Test::Cluster->new('other', install_path => $inst->{install_path});
$node->init;
$node->append_conf('postgresql.conf', 'autovacuum = off');
$node->start;
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION streamstat;
CREATE TABLE t AS SELECT g AS k FROM generate_series(1, 100000) g;
CREATE INDEX b ON t (k);
VACUUM t;
SQL
my $row = $node->safe_psql('postgres', "SELECT * FROM streamstat.btree_stats('b')");
my $path = "SELECT FROM streamstat.btree_stats('b'); SELECT DISTINCT stream FROM streamstat.stream_stats()";
my $files = $node->safe_psql('postgres', $path);
like($files, qr/file/, 'files are read where everything is as built');
is($node->safe_psql('postgres', "SELECT count(*) > 0 FROM streamstat.cache_summary()"),
	't', '... and headers of buffers');
unlike(slurp_file($node->logfile), qr/another server/, '... and the log says nothing');

# What a query ends with, and what it has written to the log
sub result
{
	my ($query) = @_;
	my $before = -s $node->logfile;
	my (undef, $stdout, $stderr) = $node->psql('postgres', $query);

	return ($stderr ne '' ? $stderr : $stdout, slurp_file($node->logfile, $before));
}

foreach my $size ([ 'BLCKSZ', 'block_size' ], [ 'RELSEG_SIZE', 'segment_size' ])
{
	my ($macro, $setting) = @$size;

	install_built_with('pg_config.h', qr/^#define $macro .*/m, "#define $macro 16384", 'streamstat');
	my ($said) = result("SELECT * FROM streamstat.btree_stats('b')");
	like($said, qr/ERROR:  incompatible library "streamstat": $setting mismatch\nDETAIL:  Server has $setting \d+, library has 16384/,
		"other $setting: the library is not loaded");
}

install_built_with(
	'storage/buf_internals.h', qr/typedef struct BufferDesc\s*\{/,
	'typedef struct BufferDesc { uint64 shifted;',
	qw(stream/buffered stream/buffer_pool compat/compat));
my ($said, $log) = result($path);
like($said, qr/read stream/, 'headers of buffers: pages come through buffers');
unlike($said, qr/file/, '... and none from files');
is(scalar(() = $log =~ /another server: the headers of shared buffers/g), 1, '... and the log has one line on it');
($said, $log) = result("SELECT * FROM streamstat.btree_stats('b')");
is($said, $row, '... with the same result');
($said, $log) = result('SELECT * FROM streamstat.cache_summary()');
like($said, qr/ERROR:  streamstat was built for another server: the headers of shared buffers/, '... but no look at them');

install_built_with(
	'storage/proc.h', qr/struct PGPROC\s*\{/, 'struct PGPROC { uint64 shifted;', 'run/blocking');
($said, $log) = result("SELECT * FROM streamstat.btree_stats('b')");
is($said, $row, 'processes: the same result');
is(scalar(() = $log =~ /another server: the processes/g), 1, '... and one line in the log');

my $varsup = qr/typedef struct (?:VariableCacheData|TransamVariablesData)\s*\{/;
install_built_with('access/transam.h', $varsup, 'typedef struct ' . ($node->pg_version >= 17 ? 'TransamVariablesData' : 'VariableCacheData') . ' { uint64 shifted[5];',
	qw(compat/compat));
($said, $log) = result("SELECT * FROM streamstat.btree_stats('b')");
is($said, $row, 'transactions: indexes give the same result');
($said, $log) = result("SELECT * FROM streamstat.table_stats('t')");
like($said, qr/ERROR:  streamstat was built for another server: the transactions/, '... and tables an error');

$node->stop;
done_testing();
