
# Copyright (c) 2026, streamstat contributors

# The page of a report: right in every encoding, past locks and damage; in a browser the
# same from the template and from the library, harmless whatever the names, within its
# place at any width, sorted and filtered, and soon there for many relations.

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

# The database with so many relations, and how long a browser may take to show its page
use constant { MANY => 10000, MAX_SECONDS => 120 };

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
	q(]]><script>ran()</script>), q(--><svg onload=ran()>), q(</script><script>ran()</script>), q(<!--<script>), q(@DATA@ @POLICY@), q(</title><script>ran()</script>),
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
	[ 'UTF8', "gr\xC3\xBCn \xE2\x82\xAC \xF0\x9F\x98\x80", 'gr\u00fcn \u20ac \ud83d\ude00' ],
	[ 'LATIN1', "gr\xFCn", 'gr\u00fcn' ],
	[ 'LATIN9', "\xA4uro", '\u20acuro' ],
	[ 'EUC_JP', "\xC6\xFC\xCB\xDC", '\u65e5\u672c' ],
	[ 'WIN1251', "\xC4\xE0", '\u0414\u0430' ],
	# bytes that are no UTF-8 are replaced, those that are one are kept
	[ 'SQL_ASCII', "gr\xC3\xBCn \xFC\xE2\x82 end", 'gr\u00fcn \ufffd\ufffd\ufffd end' ])
{
	my ($encoding, $name, $expected) = @$case;
	my $database = 'in_' . lc $encoding;

	$node->safe_psql('postgres', "CREATE DATABASE $database ENCODING '$encoding' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0");
	local $ENV{PGCLIENTENCODING} = $encoding;
	$node->safe_psql($database, qq(CREATE EXTENSION streamstat; CREATE TABLE "$name" (i int); INSERT INTO "$name" SELECT generate_series(1, 90000)));
	my $page = page($database);
	ok(index($page, qq("relation_name":"$expected")) >= 0, "$encoding: the name as it is");
	unlike($page, qr/[^ -~\n\t]/, "$encoding: a page in ASCII");
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
is( $node->safe_psql('postgres', "CALL streamstat.run_database_report(margin => 0); SELECT string_agg(r ->> 'relation_name', ' ') FROM json_array_elements(streamstat.report_json() -> 'relations') r WHERE (r ->> 'corrupt_pages')::int > 0 OR NOT (r ->> 'is_valid')::boolean"),
	'damaged twice_i', 'corrupt and invalid relations');
like($node->safe_psql('postgres', "SELECT picture FROM streamstat.layout_picture('damaged', 64, 64) WHERE first_block IS NOT NULL"),
	qr/^!#+/, 'a corrupt page in the picture');

# Of those that have no layout: the names and why
my $missing = "SELECT string_agg(concat_ws(': ', l ->> 'relation_name', l ->> 'note'), ', ') FROM json_array_elements(streamstat.report_json() -> 'layouts') l WHERE l -> 'used' IS NULL";
my $other = Session->new($node);
my $session = Session->new($node);
$session->query("CALL streamstat.run_database_report(margin => 0, budget => '1GB')");
is($session->query($missing), '', 'each of the largest files has a layout');
$other->query('BEGIN; LOCK TABLE damaged');
# The lock is held until the document is there.
is($session->query($missing), 'damaged: locked by another session', '... but for a table that is locked');
is($session->query("SELECT string_agg(note, ', ') FROM streamstat.layout_maps('{damaged,pg_class}', 2)"), 'locked by another session', 'layout_maps says so');
$other->query('COMMIT; DROP TABLE twice; ALTER TABLE damaged RENAME TO renamed; DROP TABLE parts');
is($session->query($missing), 'part_2: relation does not exist', '... and one that is gone');
is($session->query("BEGIN; SELECT length(streamstat.report_html()) > 0; SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'relation' AND relation NOT IN (SELECT oid FROM pg_class WHERE oid < 16384 OR relnamespace IN ('streamstat'::regnamespace, 'pg_toast'::regnamespace)); COMMIT"),
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
my $total = $session->query('SELECT bytes_total FROM streamstat.database_report_summary()');
$session->end;

# ---------------------------------------------------------------------------
# in a browser

# Browse a page in a new profile, which resolves no name; returns what the browser prints
sub browse
{
	my ($html, @options) = @_;
	my $dir = File::Temp->newdir('sst_html_XXXXXX', TMPDIR => 1);

	append_to_file("$dir/page.html", $html);
	return browse_file($dir, "$dir/page.html", @options);
}

sub browse_file
{
	my ($dir, $file, @options) = @_;
	my ($out, $err) = ('', '');

	local $ENV{HOME} = "$dir";
	IPC::Run::run([ 'timeout', 180, $browser, '--headless=new', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
			'--disable-background-networking', '--disable-component-update', '--disable-sync', '--disable-dev-shm-usage', '--disable-extensions',
			'--hide-scrollbars', '--host-resolver-rules=MAP * ~NOTFOUND', "--user-data-dir=$dir/data", '--virtual-time-budget=3000', @options, "file://$file" ],
		'<', \undef, '>', \$out, '2>', \$err);
	return $out;
}

# The DOM of a page; true of it where the script has drawn all, and has met no error
sub dom
{
	return browse($_[0], '--dump-dom', '--window-size=1200,1000');
}

sub is_drawn
{
	return $_[0] =~ /<html lang="en" data-done="yes">/;
}

# What the page's reader sees of it, without the document and its script
sub main_of
{
	return $_[0] =~ /<main>(.*)<\/main>/s ? $1 : 'none';
}

# A page without its policy, with more in it: other scripts may run.
sub free
{
	my ($html, $more) = @_;

	$html =~ s/<meta http-equiv="Content-Security-Policy"[^>]*>/<script>window.count = 0; function ran() { window.count++; }<\/script>/;
	$html =~ s/<\/body>/$more<\/body>/;
	return $html;
}

# Numbers that a script makes of a page in a frame of so many pixels, which can be
# narrower than a window; an empty list if it says nothing
sub measured
{
	my ($html, $width, $script) = @_;

	$html = free($html, "<script>addEventListener('load', function () { parent.document.title = 'MEASURED ' + ($script)().join(' '); });</script>");
	$html =~ s/&/&amp;/g;
	$html =~ s/"/&quot;/g;
	my $dom = browse(qq(<!DOCTYPE html><html><head><title>no measure</title></head><body><iframe width="$width" height="900" srcdoc="$html"></iframe></body></html>),
		'--dump-dom', '--window-size=1700,1000');

	return $dom =~ /<title>MEASURED ([^<]*)/ ? split(/ /, $1) : ();
}

# Scripts that ran, widths of page and content, what stands out, and of the treemap: its
# share that has boxes, their bytes, boxes of another share than theirs, boxes, families
my $places = <<'JS';
function () {
	var wide = document.documentElement.clientWidth;
	var map = document.querySelector('.map').getBoundingClientRect();
	var beyond = 0, area = 0, bytes = 0, off = 0, leaves = document.querySelectorAll('.leaf');
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
	return [window.count, wide, document.documentElement.scrollWidth, beyond,
		Math.round(area * 1000) / 1000, bytes, off, leaves.length, document.querySelectorAll('.family').length];
}
JS

# The table: rows and the kinds of them at first; after a filter, a choice of kind, and
# sorting by name and back
my $sorting = <<'JS';
function () {
	var body = document.querySelector('#relations tbody');
	var names = function () { return Array.from(body.rows).map(function (r) { return r.cells[0].querySelector('.name'); }).filter(Boolean).map(function (n) { return n.textContent; }); };
	var heading = function (i) { document.querySelectorAll('#relations th button')[i].click(); return names(); };
	var set = function (id, event, value) { var e = document.getElementById(id); e.value = value; e.dispatchEvent(new Event(event)); return names(); };
	var sorted = function (list) { return JSON.stringify(list) === JSON.stringify(list.slice().sort()); };
	var first = names(), found = set('filter', 'input', 'PART_'), indexes = set('kind', 'change', 'index');
	set('filter', 'input', '');
	indexes = set('kind', 'change', 'index');
	set('kind', 'change', '');
	var ascending = heading(0).map(function (n) { return n.replace(/ [a-z ]+$/, ''); });
	var descending = heading(0), back = heading(2), shown = back.length;
	document.getElementById('more').click();
	return [first.length > 19, found.length > 1 && found.length < 9 && found.every(function (n) { return n.indexOf('part_') > 0; }),
		indexes.length > 9 && indexes.every(function (n) { return n.endsWith(' index'); }), sorted(ascending), descending[0] > descending[5],
		JSON.stringify(first) === JSON.stringify(back.slice(0, first.length)), names().length > shown, document.querySelectorAll('th[aria-sort="descending"]').length];
}
JS

SKIP:
{
	skip '"browser" is not in PG_TEST_EXTRA', 40 if !Extra::has('browser');
	skip 'chromium is not installed', 40 if !defined $browser;

	# As it is, with its policy: all is drawn, and a script that was added does not run.
	my $drawn = dom($page);
	ok(is_drawn($drawn), 'the page is drawn');
	unlike(main_of($drawn), qr/<(script|img|iframe)/, '... with no element that would run or load');
	like(main_of($drawn), qr/<h2>1 relation is corrupt, 1 index is not valid<\/h2>.*Where the bytes are/s, '... corrupt and invalid relations first');
	is(scalar(() = main_of($drawn) =~ /<pre>DROP INDEX CONCURRENTLY public\.twice_i</g), 1, '... the command for an invalid one stands there once');
	like(main_of($drawn), qr/Online: queries and changes go on.*With downtime: queries or changes wait.*<h2>Indexes to drop<\/h2>/s,
		'... then what is online, what needs downtime, and what to drop');
	like(main_of($drawn), qr/id="database">Database postgres [^<]*cluster html /, '... and which server that is');
	is(scalar(() = $drawn =~ /<script/g), 2, '... and no name makes a script');
	unlike(dom($page =~ s/<\/body>/<script>document.title = 'added'<\/script><\/body>/r), qr/<title>added/, 'a script that was added does not run');
	unlike(dom($page =~ s/<\/style>/ body { color: red } <\/style>/r =~ s/<\/body>/<script>document.title = 'added'<\/script><\/body>/r), qr/<title>added/, '... nor with another style');
	like(dom(free($page, "<script>document.title = 'added'</script>")), qr/<title>added/, '... but for the policy');
	unlike(dom($page =~ s/"run":\{/"ran":{/r), qr/data-done/, 'a document that is no report is not drawn');

	# The template in the tree with the same document in place of its sample
	my $tree = File::Temp->newdir('sst_html_XXXXXX', TMPDIR => 1);
	my $template = "$FindBin::RealBin/../src/html";
	my ($document) = $page =~ /<script type="application\/json" id="report">(.*?)<\/script>/s;
	append_to_file("$tree/report.html", slurp_file("$template/report.html"));
	append_to_file("$tree/sample.js", "window.sample = $document;");
	is(main_of(browse_file($tree, "$tree/report.html", '--dump-dom', '--window-size=1200,1000')), main_of($drawn), 'the template shows the same');
	ok(is_drawn(browse_file($tree, "$template/report.html", '--dump-dom')), 'the template shows its sample');

	my $bytes = 0;
	$bytes += $1 while $document =~ /"kind":"[a-z ]+",(?:"access_method":"\w+",)?(?:"last_vacuum":"[^"]*",)?"bytes":(\d+),"(?!relations)/g;
	foreach my $width (400, 700, 1100, 1600)
	{
		my ($ran, $wide, $scroll, $beyond, $area, $sum, $off, undef, $families) = measured($page, $width, $places);

		is($ran, 0, "$width pixels: no script of a name ran");
		cmp_ok(abs(($wide // 0) - $width), '<', 30, "$width pixels: that is the page's width");
		is($scroll, $wide, "$width pixels: nothing is wider than the page");
		is($beyond, 0, "$width pixels: nothing stands out");
		cmp_ok(abs(($area // 0) - 1), '<', 0.01, "$width pixels: the boxes fill the map");
		is($off, 0, "$width pixels: each box has its share of the bytes");
		cmp_ok($families, '>', scalar(@names), "$width pixels: tables stand with their indexes, whatever their names") if $width == 400;
	}
	is((measured($page =~ s/<\/main>/<\/main><script>ran()<\/script>/r, 400, $places))[0], 1, 'a script that runs is seen');
	isnt((measured($page =~ s/<main>/<main><div style="width:900px">wide<\/div>/r, 400, $places))[3], 0, 'what stands out is seen');
	is(join(' ', measured($page, 1100, $sorting)), 'true true true true true true true 1', 'the table is filtered and sorted');

	my (undef, $clear, $scroll, $beyond, $area, $sum, undef, $leaves) = measured($large, 400, $places);
	is("$scroll $beyond $sum", "$clear 0 $total", 'the page of many relations fits into 400 pixels, with all of their bytes');
	cmp_ok($leaves, '<', 700, '... and has no more boxes than that');
	$begin = time;
	ok(is_drawn(browse($large, '--dump-dom')), '... is drawn');
	note(sprintf('in %.1f s, of which the browser takes %.1f s', time - $begin, do { my $empty = time; browse('<p>', '--dump-dom'); time - $empty }));
	cmp_ok(time - $begin, '<', MAX_SECONDS, '... before one loses patience');
}

SKIP:
{
	my ($out, $err) = ('', '');

	skip '"browser" is not in PG_TEST_EXTRA', 1 if !Extra::has('browser');
	skip 'tidy is not installed', 1 if !grep { -x "$_/tidy" } split /:/, $ENV{PATH};
	IPC::Run::run([ 'tidy', '-q', '-e', '--show-warnings', 'no' ], '<', \$page, '>', \$out, '2>', \$err);
	is($err, '', 'tidy finds no error');
}

stop_clean($node);
done_testing();
