
# Copyright (c) 2026, streamstat contributors

# The page of a report: right in every encoding, past locks and damage, harmless in a
# browser whatever the names, within its place at any width, and small for many relations.

use strict;
use warnings;
no warnings 'nonchar';

use FindBin;
use File::Temp;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

use lib "$FindBin::RealBin/lib";
use Extra 'slow';
use Node;
use Pages;
use Session;

# The database with 10,000 relations, and how large its page may be
use constant { MANY => 10000, MAX_BYTES => 1024 * 1024 };

my $node = new_node('html', "max_locks_per_transaction = 2000\nshared_buffers = 64MB\nmax_wal_size = 2GB", checksums => 1);
my ($browser) = grep { -x } map { ("$_/chromium", "$_/chromium-browser", "$_/google-chrome") } split /:/, $ENV{PATH};

# A session's report as a page
sub page
{
	my ($database, $before) = @_;

	return $node->safe_psql($database, ($before // '') . "CALL streamstat.run_database_report(margin => 0, budget => '1GB'); SELECT streamstat.report_html()");
}

# Names that a browser must not take for markup.  In a page that forbids no script, each
# would call what counts.
my @names = (
	q(<script>ran()</script>), q("><script>ran()</script>), q(<img src=x onerror=ran()>), q(" onmouseover="ran()), q(' onmouseover='ran()),
	q(]]><script>ran()</script>), q(--><svg onload=ran()>), q(</style><script>ran()</script>), q(</title><script>ran()</script>),
	q(&lt;script&gt; &#60;b&#62;), "line\nbreak\ttab\rreturn", "\x{1F600}" x 15, "\x{202E}left \x{FFFF}\x{85}", q(\\" {} ; @import 'x'));

sub quoted
{
	my ($name) = @_;
	$name =~ s/"/""/g;
	utf8::encode($name);
	return qq("$name");
}

$node->safe_psql('postgres', join '', map
	{
		my $name = quoted($names[$_]);
		qq(CREATE SCHEMA $name; CREATE TABLE $name.$name (i int, t text);
			INSERT INTO $name.$name SELECT g, repeat('x', 100) FROM generate_series(1, 30000) g;
			DELETE FROM $name.$name WHERE i % (2 + $_) > 0;
			CREATE INDEX ON $name.$name (i);)
	} 0 .. $#names);
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE parts (i int, t text) PARTITION BY RANGE (i);
CREATE TABLE part_1 PARTITION OF parts FOR VALUES FROM (0) TO (10000);
CREATE TABLE part_2 PARTITION OF parts FOR VALUES FROM (10000) TO (90000);
INSERT INTO parts SELECT g, repeat('x', 100) FROM generate_series(0, 80000) g;
CREATE TABLE damaged AS SELECT g AS i, repeat('x', 100) AS t FROM generate_series(1, 60000) g;
SQL
$node->psql('postgres', 'CREATE TABLE twice AS SELECT 1 AS i FROM generate_series(1, 10)');
$node->psql('postgres', 'CREATE UNIQUE INDEX CONCURRENTLY twice_i ON twice (i)');

# ---------------------------------------------------------------------------
# encodings

foreach my $case (
	[ 'UTF8', "gr\xC3\xBCn \xE2\x82\xAC", 'gr&#xFC;n &#x20AC;' ],
	[ 'LATIN1', "gr\xFCn", 'gr&#xFC;n' ],
	[ 'LATIN9', "\xA4uro", '&#x20AC;uro' ],
	[ 'EUC_JP', "\xC6\xFC\xCB\xDC", '&#x65E5;&#x672C;' ],
	[ 'WIN1251', "\xC4\xE0", '&#x414;&#x430;' ],
	# bytes that are no UTF-8 are replaced, those that are one are kept
	[ 'SQL_ASCII', "gr\xC3\xBCn \xFC\xE2\x82 end", 'gr&#xFC;n &#xFFFD;&#xFFFD;&#xFFFD; end' ])
{
	my ($encoding, $name, $expected) = @$case;
	my $database = 'in_' . lc $encoding;

	$node->safe_psql('postgres', "CREATE DATABASE $database ENCODING '$encoding' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0");
	local $ENV{PGCLIENTENCODING} = $encoding;
	$node->safe_psql($database, qq(CREATE EXTENSION streamstat; CREATE TABLE "$name" (i int); INSERT INTO "$name" SELECT generate_series(1, 90000)));
	my $page = page($database);
	ok(index($page, "$expected ") >= 0 || index($page, "$expected<") >= 0, "$encoding: the name as it is");
	unlike($page, qr/[^ -~\n]/, "$encoding: a page in ASCII");
	is($node->safe_psql($database, "SELECT count(*) FROM streamstat.layout_picture('\"$name\"'::regclass, 100) WHERE picture ~ '[^ -~]'"),
		'0', "$encoding: a picture in ASCII");
}

# ---------------------------------------------------------------------------
# locks and damage

my $bad = file_of($node, 'damaged');
$node->stop;
write_block($bad, 7, substr(read_block($bad, 7), 0, 100) . 'bad' . substr(read_block($bad, 7), 103));
$node->start;

my $page = page('postgres');
like($page, qr/<h2>1 relation is corrupt, 1 index is not valid<\/h2>/, 'corrupt and invalid relations');
ok(index($page, '1 relation is corrupt') < index($page, 'Where the bytes are'), '... before all else');
like($node->safe_psql('postgres', "SELECT picture FROM streamstat.layout_picture('damaged', 64, 64) WHERE first_block IS NOT NULL"),
	qr/^!#+/, 'a corrupt page in the picture');

my $other = Session->new($node);
my $session = Session->new($node);
$session->query("CALL streamstat.run_database_report(margin => 0, budget => '1GB')");
$other->query('BEGIN; LOCK TABLE damaged');
# The lock is held until the page is there.
like($session->query('SELECT streamstat.report_html()'), qr/damaged.*?No picture: locked by another session/s, 'a table that is locked has no picture');
$other->query('COMMIT; DROP TABLE twice; ALTER TABLE damaged RENAME TO renamed; DROP TABLE parts');
like($session->query('SELECT streamstat.report_html()'), qr/No picture: no longer exists/, 'nor has one that is gone');
is($session->query("BEGIN; SELECT length(streamstat.report_html()) > 0; SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'relation' AND relation > 16384; COMMIT"),
	"t\n0", 'no lock is left');
$other->end;
$session->end;

# ---------------------------------------------------------------------------
# many relations

$node->safe_psql('postgres', 'CREATE DATABASE many');
$node->safe_psql('many', 'CREATE EXTENSION streamstat');
$node->safe_psql('many', <<'SQL' =~ s/MANY/MANY/er);
DO $$
DECLARE
	name text;
BEGIN
	FOR i IN 1 .. 20 LOOP
		EXECUTE format('CREATE SCHEMA %I', repeat('"', 61) || lpad(i::text, 2, '0'));
	END LOOP;
	FOR i IN 1 .. MANY / 2 LOOP
		name := format('%I.%I', repeat('"', 61) || lpad((1 + i % 20)::text, 2, '0'), repeat('"', 58) || lpad(i::text, 5, '0'));
		EXECUTE format('CREATE TABLE %s (i int)', name);
		EXECUTE format('INSERT INTO %s SELECT generate_series(1, %s)', name, 1 + i % 700);
		EXECUTE format('CREATE INDEX ON %s (i)', name);
		IF i % 5 = 0 THEN
			EXECUTE format('DELETE FROM %s WHERE i %% 3 > 0', name);
		END IF;
		IF i % 500 = 0 THEN
			COMMIT;
		END IF;
	END LOOP;
END
$$
SQL
$session = Session->new($node, '-d', $node->connstr('many'));
$session->query("CALL streamstat.run_database_report(margin => 0, budget => '1GB', max_time => '5 min')");
cmp_ok($session->query('SELECT relations FROM streamstat.database_report_summary()'), '>', MANY, 'many relations');
my $begin = time;
my $large = $session->query('SELECT streamstat.report_html()');
note(sprintf('the page of %d relations has %d kB and took %.1f s', MANY, length($large) / 1024, time - $begin));
cmp_ok(length($large), '<', MAX_BYTES, '... have a page of less than 1 MB');
my $total = $session->query('SELECT bytes_total FROM streamstat.database_report_summary()');
my $sum = 0;
$sum += $1 while $large =~ /class="leaf[^>]* data-bytes="(\d+)"/g;
is($sum, $total, '... with all of their bytes');
$session->end;

# ---------------------------------------------------------------------------
# in a browser

# What a test copy of the page says of itself: scripts may run in it.
my $measure = <<'JS';
<script>
addEventListener('load', function () {
	var wide = document.documentElement.clientWidth;
	var map = document.querySelector('.map').getBoundingClientRect();
	var beyond = 0, area = 0, bytes = 0, off = 0, texts = 0, leaves = document.querySelectorAll('.leaf');
	document.querySelectorAll('body *').forEach(function (e) {
		var r = e.getBoundingClientRect();
		if (r.width > 0 && (r.right > wide + 1 || r.left < -1) && !e.closest('.map')) beyond++;
	});
	leaves.forEach(function (e) { bytes += +e.dataset.bytes; });
	leaves.forEach(function (e) {
		var r = e.getBoundingClientRect();
		var a = r.width * r.height / (map.width - 2) / (map.height - 2);
		area += a;
		// by more than two pixels on each side
		if (Math.abs(a - e.dataset.bytes / bytes) * map.width * map.height > 4 * (r.width + r.height) + 16) off++;
		if (r.left < map.left - 1 || r.right > map.right + 1 || r.top < map.top - 1 || r.bottom > map.bottom + 1) beyond++;
	});
	parent.document.title = ['MEASURED', window.count, document.scripts.length, wide, document.documentElement.scrollWidth, beyond,
		Math.round(area * 1000) / 1000, bytes, off, leaves.length].join(' ');
});
</script>
JS

# That copy in a frame of so many pixels, which can be narrower than a window
sub framed
{
	my ($html, $width) = @_;

	$html =~ s/<\/body>/$measure<\/body>/;
	$html =~ s/&/&amp;/g;
	$html =~ s/"/&quot;/g;
	return qq(<!DOCTYPE html><html><head><title>no measure</title></head><body><iframe width="$width" height="900" srcdoc="$html"></iframe></body></html>);
}

# Numbers that it measures; an empty list if it says nothing
sub measured
{
	my ($html, $width) = @_;
	my $dom = browse(framed($html, $width), '--dump-dom', '--window-size=1700,1000');

	return $dom =~ /<title>MEASURED ([^<]*)/ ? split(/ /, $1) : ();
}

sub browse
{
	my ($html, @options) = @_;
	my $dir = File::Temp->newdir('sst_html_XXXXXX', TMPDIR => 1);
	my ($out, $err) = ('', '');

	open my $fh, '>', "$dir/page.html" or die $!;
	print $fh $html;
	close $fh or die $!;
	local $ENV{HOME} = "$dir";
	IPC::Run::run([ 'timeout', 180, $browser, '--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--disable-extensions',
			'--hide-scrollbars', "--user-data-dir=$dir/data", '--virtual-time-budget=3000', @options, "file://$dir/page.html" ],
		'<', \undef, '>', \$out, '2>', \$err);
	return $out;
}

SKIP:
{
	skip '"browser" is not in PG_TEST_EXTRA', 30 if !Extra::has('browser');
	skip 'chromium is not installed', 30 if !defined $browser;

	my $bytes = 0;
	$bytes += $1 while $page =~ /data-bytes="(\d+)"/g;
	my $elements = () = $page =~ /<(?!\/|!)/g;

	# As it is, with the policy that forbids scripts: as many elements as were written
	my $dom = browse($page, '--dump-dom', '--window-size=1200,1000');
	is(scalar(() = $dom =~ /<(?!\/|!)/g), $elements, 'the browser sees the elements that were written, and no others');
	unlike($dom, qr/<(script|img|iframe)/, '... none that would run or load');

	# A copy without the policy, in which scripts run
	my $free = $page =~ s/<meta http-equiv="Content-Security-Policy"[^>]*>/<script>window.count = 0; function ran() { window.count++; }<\/script>/r;
	my $checked = $free =~ s/<\/body>/<script>ran()<\/script><\/body>/r;
	foreach my $width (400, 700, 1100, 1600)
	{
		my ($ran, $scripts, $wide, $scroll, $beyond, $area, $sum, $off) = measured($free, $width);

		is($ran, 0, "$width pixels: no script ran");
		cmp_ok(abs($wide - $width), '<', 30, "$width pixels: that is the page's width");
		is($scroll, $wide, "$width pixels: nothing is wider than the page");
		is($beyond, 0, "$width pixels: nothing stands out");
		cmp_ok(abs(($area // 0) - 1), '<', 0.01, "$width pixels: the boxes fill the map");
		is("$sum $off", "$bytes 0", "$width pixels: each box has its share of the bytes");
	}
	is((measured($checked, 400))[0], 1, 'a script that runs is seen');
	my $wide = $free =~ s/<main>/<main><div style="width:900px">wide<\/div>/r;
	isnt((measured($wide, 400))[4], 0, 'what stands out is seen');
	my (undef, undef, $clear, $scroll, $beyond, $area, $sum, undef, $leaves) =
	  measured($large =~ s/<meta http-equiv="Content-Security-Policy"[^>]*>//r, 400);
	is("$scroll $beyond $sum", "$clear 0 $total", 'the page of many relations fits into 400 pixels');
	cmp_ok($leaves, '<', 700, '... and has no more boxes than that');
}

stop_clean($node);
done_testing();
