--
-- report_html: a page that is well formed, complete and harmless
--
SET client_min_messages = warning;

SELECT error_of('SELECT streamstat.report_html()');

-- As a parser of XML sees it; true for all where the server has none
CREATE FUNCTION is_well_formed(page text) RETURNS boolean LANGUAGE plpgsql AS
$$
BEGIN
	PERFORM xmlparse(document page);
	RETURN true;
EXCEPTION WHEN invalid_xml_document THEN
	RETURN false;
WHEN feature_not_supported THEN
	RETURN true;
END
$$;

-- The boxes of the treemap's first level: their share of its area, and of its bytes
CREATE FUNCTION boxes(page text) RETURNS TABLE (area float8, bytes numeric) LANGUAGE plpgsql AS
$$
BEGIN
	RETURN QUERY SELECT
		(regexp_match(d::text, 'width:([0-9.]+)%'))[1]::float8 * (regexp_match(d::text, 'height:([0-9.]+)%'))[1]::float8 / 10000,
		(SELECT sum(b::text::numeric) FROM unnest(xpath('//@data-bytes', d)) b)
		FROM unnest(xpath('//div[@class="map"]/div', xmlparse(document page))) d;
EXCEPTION WHEN feature_not_supported THEN
	RETURN;
END
$$;

CREATE SCHEMA "a & <b>";
CREATE TABLE html_t (i int PRIMARY KEY, t text) WITH (autovacuum_enabled = off);
INSERT INTO html_t SELECT g, repeat('x', 100) FROM generate_series(1, 20000) g;
DELETE FROM html_t WHERE i % 4 > 0;
CREATE TABLE "a & <b>"."<script>alert('1')</script>" (i int, t text);
INSERT INTO "a & <b>"."<script>alert('1')</script>" SELECT g, repeat('x', 100) FROM generate_series(1, 20000) g;
DELETE FROM "a & <b>"."<script>alert('1')</script>" WHERE i % 4 > 0;
CREATE TABLE "quotes "" ' and ]]> & &amp; -- <!--" AS SELECT g AS i, repeat('x', 100) AS t FROM generate_series(1, 5000) g;
CREATE TABLE "line
break	tab" AS SELECT g AS i, repeat('x', 100) AS t FROM generate_series(1, 5000) g;
CREATE INDEX html_invalid ON html_t (t);
UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'html_invalid'::regclass;
CREATE TABLE html_parts (i int) PARTITION BY RANGE (i);
CREATE TABLE html_part_1 PARTITION OF html_parts FOR VALUES FROM (0) TO (10000);
CREATE TABLE html_part_2 PARTITION OF html_parts FOR VALUES FROM (10000) TO (20000);
INSERT INTO html_parts SELECT generate_series(0, 19999);

CALL wait_for_horizon();
CALL streamstat.run_database_report(margin => 0);
CREATE TEMP TABLE page AS SELECT streamstat.report_html() AS html;

SELECT is_well_formed(html) AS well_formed, html ~ '^<!DOCTYPE html>\n<html lang="en">' AS html, html !~ '[^ -~\n]' AS ascii FROM page;
SELECT is_well_formed(replace(html, '&lt;script', '<script')) = is_well_formed('<') AS checked FROM page;

-- Nothing is loaded or run.
SELECT html ~* '<script|<img|<link|<iframe|<object|javascript:|\son[a-z]+=|\ssrc=|\shref=|@import|url\(' AS loads,
		html ~ 'default-src ''none''' AS policy FROM page;

-- Names are as they are, escaped.
SELECT html ~ 'a &amp; &lt;b&gt;' AS schema, html ~ '&lt;script&gt;alert\(&#39;1&#39;\)&lt;/script&gt;' AS script,
		html ~ 'quotes &quot; &#39; and \]\]&gt; &amp; &amp;amp; -- &lt;!--' AS quotes, html ~ 'line&#10;break&#9;tab' AS line_break FROM page;

-- The boxes are the database's bytes.
SELECT (SELECT sum(m[1]::numeric) FROM regexp_matches(html, 'class="leaf[^>]* data-bytes="(\d+)"', 'g') m) = s.bytes_total AS bytes
	FROM page, streamstat.database_report_summary() s;
SELECT coalesce(abs(sum(area) - 1) < 0.001, true) AS whole,
		coalesce(max(abs(area - bytes / s.bytes_total)) < 0.0001, true) AS in_proportion
	FROM page, boxes(html), streamstat.database_report_summary() s;
SELECT html ~ 'title="public\.html_part_1&#10;partition of public\.html_parts' AS partition,
		html ~ 'title="public\.html_t_pkey&#10;index, btree of public\.html_t' AS index FROM page;

-- What has to be done at once comes first; the plan has all commands.
SELECT strpos(html, 'index is not valid') BETWEEN 1 AND strpos(html, 'Where the bytes are') AS first FROM page;
SELECT bool_and(strpos(html, '<pre>' || replace(replace(replace(replace(replace(replace(replace(command, '&', '&amp;'), '<', '&lt;'), '>', '&gt;'), '"', '&quot;'), '''', '&#39;'), E'\n', '&#10;'), E'\t', '&#9;') || '</pre>') > 0) AS commands,
		count(*) > 1 AS some
	FROM page, streamstat.last_database_plan();
SELECT (SELECT count(*) FROM regexp_matches(html, '<svg[^>]*height="46"', 'g')) AS strips,
		html ~ 'In shared buffers' AS caches, html ~ '<b style="left:' AS intervals FROM page;

-- A stored run has the same page, but for what is cached.
SELECT error_of('SELECT streamstat.report_html(-1)');
CALL streamstat.collect(margin => 0);
SELECT is_well_formed(html) AS well_formed, html ~ 'stored run \d' AS run, html ~ 'Stored reports do not include' AS caches,
		html ~ 'title="public\.html_t_pkey&#10;index, btree of public\.html_t' AS index,
		strpos(html, 'index is not valid') BETWEEN 1 AND strpos(html, 'Where the bytes are') AS first,
		(SELECT sum(m[1]::numeric) FROM regexp_matches(html, 'class="leaf[^>]* data-bytes="(\d+)"', 'g') m) = bytes_total AS bytes,
		(SELECT count(*) FROM regexp_matches(html, '<svg[^>]*height="46"', 'g')) BETWEEN 6 AND 10 AS strips,
		html ~ '<pre>[A-Z (,)]+ public\.html_t</pre>' AS command
	FROM (SELECT r.*, streamstat.report_html(run) AS html FROM streamstat.report_runs r ORDER BY run DESC LIMIT 1) p;

-- Indexes and partitions are found by the stored names of their parents, whatever the setting.
CREATE FUNCTION families() RETURNS bigint LANGUAGE sql AS
$$ SELECT count(*) FROM streamstat.report_runs, regexp_matches(streamstat.report_html(run), 'class="fam"', 'g') $$;
SELECT families() > 10 AS some;
CREATE TEMP TABLE families AS SELECT families() AS n;
SET quote_all_identifiers = on;
SELECT n = families() AS same, current_setting('quote_all_identifiers') AS setting FROM families;
RESET quote_all_identifiers;
DROP TABLE families;
DROP FUNCTION families;

-- The extension is dropped by the query that calls it.
CREATE FUNCTION html_drop() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN DROP EXTENSION streamstat CASCADE; RETURN true; END $$;
SELECT regexp_replace(error_of('SELECT html_drop(), streamstat.report_html()'), '\d+$', 'N');
DROP FUNCTION html_drop;

-- Who may not see what is cached sees the rest.
CREATE ROLE regress_html IN ROLE pg_stat_scan_tables;
SET ROLE regress_html;
SELECT html ~ 'Only members of pg_monitor' AS told, html ~ 'shared buffers' AS shown, is_well_formed(html) AS well_formed
	FROM (SELECT streamstat.report_html() AS html) p;
RESET ROLE;
REVOKE EXECUTE ON FUNCTION streamstat.layout_map(regclass, int, int) FROM pg_stat_scan_tables;
SET ROLE regress_html;
SELECT html ~ 'Requires permission to call layout_map' AS told, html ~ '<svg' AS shown FROM (SELECT streamstat.report_html() AS html) p;
RESET ROLE;
GRANT EXECUTE ON FUNCTION streamstat.layout_map(regclass, int, int) TO pg_stat_scan_tables;
DROP ROLE regress_html;

-- What stands in front in the search path is not called.
CREATE SCHEMA html_hostile;
CREATE FUNCTION html_hostile.to_char(timestamptz, text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE 'called'; END $$;
CREATE FUNCTION html_hostile.equals(text, text) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE 'called'; END $$;
CREATE OPERATOR html_hostile.= (LEFTARG = text, RIGHTARG = text, FUNCTION = html_hostile.equals);
CREATE FUNCTION html_hostile.sum_of(numeric, bigint) RETURNS numeric LANGUAGE plpgsql AS $$ BEGIN RAISE 'called'; END $$;
CREATE AGGREGATE html_hostile.sum(bigint) (SFUNC = html_hostile.sum_of, STYPE = numeric, INITCOND = '0');
SET search_path = html_hostile, pg_catalog;
SELECT length(streamstat.report_html()) > 10000 AS made;
SHOW search_path;
RESET search_path;

DROP SCHEMA html_hostile CASCADE;
DROP SCHEMA "a & <b>" CASCADE;
DROP TABLE html_t, html_parts, "quotes "" ' and ]]> & &amp; -- <!--", "line
break	tab", page;
DROP FUNCTION is_well_formed, boxes;
