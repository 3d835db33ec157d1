--
-- report_json and report_html: a document that is complete, and a page that is harmless
--
SET client_min_messages = warning;

SELECT error_of('SELECT streamstat.report_html()');
SELECT streamstat.report_json(-1) IS NULL AS no_run;

CREATE SCHEMA "a & <b>";
CREATE TABLE html_t (i int PRIMARY KEY, t text) WITH (autovacuum_enabled = off);
INSERT INTO html_t SELECT g, repeat('x', 900) FROM generate_series(1, 20000) g;
DELETE FROM html_t WHERE i % 4 > 0;
CREATE TABLE "a & <b>"."</script><script>alert('1')</script>" (i int, t text);
INSERT INTO "a & <b>"."</script><script>alert('1')</script>" SELECT g, repeat('x', 100) FROM generate_series(1, 20000) g;
DELETE FROM "a & <b>"."</script><script>alert('1')</script>" WHERE i % 4 > 0;
CREATE TABLE "quotes "" ' and ]]> & &amp; -- <!-- \" AS SELECT g AS i, repeat('x', 100) AS t FROM generate_series(1, 5000) g;
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
-- In one statement, as autovacuum changes what plans and candidates depend on
CREATE TEMP TABLE page AS
	SELECT json, plan, candidates, html, (regexp_match(html, '<script type="application/json" id="report">(.*?)</script>'))[1]::jsonb AS document,
		(regexp_match(html, '<script>(.*?)</script>'))[1] AS script, (regexp_match(html, '<style>(.*?)</style>'))[1] AS style
	FROM (SELECT streamstat.report_html() AS html, streamstat.report_json()::jsonb AS json,
			(SELECT jsonb_agg(jsonb_strip_nulls(to_jsonb(p)) ORDER BY rank) FROM streamstat.last_database_plan() p) AS plan,
			(SELECT jsonb_agg(jsonb_strip_nulls(to_jsonb(d)) ORDER BY bytes DESC, parent_name, relation_name) FROM streamstat.report_drop_candidates d) AS candidates) h;

--
-- The page
--

-- It is the document in the template.
SELECT html ~ '^<!DOCTYPE html>\n' AS html, html !~ '[^ -~\n\t]' AS ascii, html ~ '@[A-Z]+@|<!-- sample|src=' AS left_over FROM page;
SELECT document - '{made,layouts,caches}'::text[] = json - '{made,layouts,caches}'::text[] AS same,
		document - '{made,layouts,caches}'::text[] <> document AS has_more FROM page;

-- Its policy allows its script and its style, and no name adds another one.
SELECT html ~ $$content="default-src 'none'; base-uri 'none'; form-action 'none'; script-src '[^']*'; style-src '[^']*'"$$ AS policy,
		strpos(html, format('script-src ''sha256-%s''', encode(sha256(convert_to(script, 'UTF8')), 'base64'))) > 0 AS script,
		strpos(html, format('style-src ''sha256-%s''', encode(sha256(convert_to(style, 'UTF8')), 'base64'))) > 0 AS style,
		(SELECT count(*) FROM regexp_matches(html, '<script', 'gi')) AS scripts,
		html ~* '<img|<link|<iframe|<object|javascript:|\son[a-z]+=|\s(src|href|style)=|@import|url\(|innerHTML *[+=]' AS loads
	FROM page;

--
-- The document
--

SELECT document @@ '$.format == "streamstat report" && $.version == 1' AS format, (document ->> 'made')::timestamptz <= now() AS made,
		document -> 'streamstat' = to_jsonb((SELECT extversion FROM pg_extension WHERE extname = 'streamstat')) AS extension FROM page;
SELECT document -> 'run' @> jsonb_strip_nulls(to_jsonb(s)) AS summary, document @@ '$.run.datname == "contrib_regression"' AS datname,
		document -> 'run' ? 'server_version' AS server
	FROM page, streamstat.database_report_summary() s;

-- All relations, the most reclaimable bytes first, and nothing that is not known
SELECT jsonb_array_length(document -> 'relations') = count(*) AS number,
		bool_and(document -> 'relations' -> (r.ordinality - 1)::int = jsonb_strip_nulls(to_jsonb(r)) -
			'{relid,free_percent_low,free_percent_high,dead_percent_low,dead_percent_high,bytes_read,ordinality}'::text[]) AS rows
	FROM page, streamstat.last_database_report() WITH ORDINALITY r GROUP BY document;
SELECT document @? '$.relations[*] ? (@.* == null)' AS nulls, document ? 'others' AS others,
		(SELECT sum(b::numeric) FROM jsonb_path_query(document, '$.relations[*].bytes') b) = s.bytes_total AS bytes
	FROM page, streamstat.database_report_summary() s;
SELECT document @? $$$.relations[*] ? (@.schema_name == "a & <b>" && @.relation_name == "</script><script>alert('1')</script>")$$ AS script,
		document @? $$$.relations[*] ? (@.relation_name == "quotes \" ' and ]]> & &amp; -- <!-- \\")$$ AS quotes,
		document @? $$$.relations[*] ? (@.relation_name == "line\nbreak\ttab")$$ AS line_break,
		document @? '$.relations[*] ? (@.relation_name == "html_part_1" && @.kind == "partition" && @.parent_name == "public.html_parts")' AS partition,
		document @? '$.relations[*] ? (@.relation_name == "html_t_pkey" && @.kind == "index" && @.access_method == "btree" && @.parent_name == "public.html_t")' AS index,
		document @? '$.relations[*] ? (@.relation_name == "html_invalid" && @.is_valid == false)' AS invalid
	FROM page;

-- The plan, in its order
SELECT document -> 'plan' = plan AS plan, jsonb_array_length(plan) > 1 AS some FROM page;

-- The server, and what may be dropped; an invalid index is a candidate, too.
SELECT document -> 'server' ->> 'host' = streamstat.host_name() AS host, document -> 'server' ->> 'cluster_name' IS NOT DISTINCT FROM nullif(current_setting('cluster_name'), '') AS cluster_name,
		document -> 'server' ->> 'time_zone' = current_setting('TimeZone') AS time_zone, document ? 'history' AS history
	FROM page;
SELECT document -> 'drop_candidates' = candidates AS drop_candidates, candidates @? '$[*] ? (@.relation_name == "html_invalid")' AS invalid FROM page;

-- Insides of the largest files
SELECT document @@ '$.layouts.size() == 10' AS layouts, document @? '$.layouts[*] ? (@.relation_name == "html_t")' AS some,
		document @? '$.layouts[*] ? (@.used.size() == 0 || @.used.size() > 200 || @.used.size() <> @.dead.size())' AS sizes,
		document @? '$.layouts[*] ? (@.used.size() <> @.buffered.size())' AS buffered_sizes,
		document @? '$.layouts[*].keyvalue() ? (@.key like_regex "^(used|dead|buffered|page_cached)$").value[*] ? (@ < 0 || @ > 100)' AS beyond,
		document @? '$.layouts[*] ? (@.relation_name == "html_t" && @.dead_percent > 50)' AS dead
	FROM page;

-- What is cached
SELECT document @@ '$.caches.tables.size() == 12 && $.caches.bytes > $.caches.buffered_bytes' AS caches,
		document -> 'caches' -> 'shared_buffers' = to_jsonb(pg_size_bytes(current_setting('shared_buffers'))) AS size,
		document @? '$.caches.tables[*] ? (@.name == "public.html_t")' AS tables
	FROM page;
-- The index of a TOAST table belongs to its table.
CREATE TABLE html_toasted (t text);
ALTER TABLE html_toasted ALTER t SET STORAGE EXTERNAL;
INSERT INTO html_toasted SELECT repeat('x', 2100) FROM generate_series(1, 15000);
SELECT t ->> 'name' AS name, (t ->> 'bytes')::bigint = pg_total_relation_size('html_toasted') AS same_bytes
	FROM json_array_elements(streamstat.report_caches() -> 'tables') AS t WHERE t ->> 'name' ~ '^(pg_toast|public.html_toasted)';
DROP TABLE html_toasted;

-- A stored run has the same document, but for what is cached.
SELECT error_of('SELECT streamstat.report_html(-1)');
CALL streamstat.collect(margin => 0, min_bytes => '0');
SELECT document -> 'run' = jsonb_strip_nulls(to_jsonb(r) - 'document') AS run, document ? 'caches' AS caches,
		document -> 'relations' = streamstat.report_json()::jsonb -> 'relations' AS relations,
		jsonb_array_length(document -> 'plan') = r.commands AS plan, document @@ '$.layouts.size() == 10' AS layouts,
		document @? '$.layouts[*] ? (!(exists (@.used)))' AS missing,
		document @@ '$.history.size() == 1 && $.history[0].bytes_total == $.run.bytes_total' AS history,
		strpos(streamstat.report_html(r.run), format('"run":%s,', r.run)) > 0 AS page
	FROM (SELECT r.*, streamstat.report_json(run)::jsonb AS document FROM streamstat.report_runs r ORDER BY run DESC LIMIT 1) r;

-- ... and sums of what is not stored.
CALL streamstat.collect(margin => 0, top_relations => 5, min_bytes => '100kB');
SELECT jsonb_array_length(document -> 'relations') < r.relations AS fewer, document @? '$.others[*] ? (@.relations <= 0)' AS empty,
		(SELECT (sum(coalesce((o ->> 'relations')::numeric, 1)), sum((o ->> 'bytes')::numeric), sum((o ->> 'reclaimable_bytes')::numeric))
			FROM jsonb_path_query(document, '$.*[*] ? (exists (@.measured) || exists (@.known_bytes))') o) = (r.relations::numeric, r.bytes_total::numeric, r.reclaimable_bytes::numeric) AS sums
	FROM (SELECT r.*, streamstat.report_json(run)::jsonb AS document FROM streamstat.report_runs r ORDER BY run DESC LIMIT 1) r;

-- It is the last report for a session that has made none.  Layouts show what is buffered,
-- and the first of two reads pages.
\c -
SET client_min_messages = warning;
SELECT last - '{caches,layouts}'::text[] = stored - 'layouts' AS same, last ? 'caches' AS caches, stored ? 'others' AS others
	FROM (SELECT streamstat.report_json()::jsonb - 'made' AS last, streamstat.report_json(max(run))::jsonb - 'made' AS stored FROM streamstat.report_runs) d;

-- Of many relations, those are listed that are among the first by bytes or by what is
-- reclaimable, or damaged; of the others there are sums.
INSERT INTO streamstat.report_runs (run, datname, started, relations) VALUES (-7, 'many', now(), 30000);
INSERT INTO streamstat.report_run_relations (run, schema_name, relation_name, kind, bytes, reclaimable_bytes, corrupt_pages, measured, bytes_rank, reclaimable_rank)
	SELECT -7, 's' || g % 2, 't' || g, 'table', 100000 - g, CASE WHEN g % 3 > 0 THEN g END, (g = 15000)::int, 'exact', g, 30001 - g FROM generate_series(1, 30000) g;
SELECT document @@ '$.relations.size() == 20001' AS listed, document @? '$.relations[*] ? (@.relation_name == "t15000")' AS damaged,
		document @? '$.relations[*] ? (@.relation_name == "t10001" || @.relation_name == "t20000")' AS others,
		(SELECT (sum((o ->> 'relations')::numeric), sum((o ->> 'bytes')::numeric), sum((o ->> 'known_bytes')::numeric), sum((o ->> 'reclaimable_bytes')::numeric))
			FROM jsonb_array_elements(document -> 'others') o) =
		(SELECT (count(*)::numeric, sum(bytes), sum(bytes) FILTER (WHERE reclaimable_bytes > 0), sum(reclaimable_bytes))
			FROM streamstat.report_run_relations WHERE run = -7 AND bytes_rank BETWEEN 10001 AND 20000 AND bytes_rank <> 15000) AS sums,
		document @@ '$.others.size() == 2' AS kinds, document @? '$.layouts[*] ? (@.note == "relation does not exist")' AS gone
	FROM (SELECT streamstat.report_json(-7)::jsonb AS document) d;
DELETE FROM streamstat.report_runs WHERE run = -7;

--
-- layout_maps
--

SELECT bool_and((m.bucket, m.first_block, m.last_block, m.free_percent, m.dead_percent) = (l.bucket, l.first_block, l.last_block, l.free_percent, l.dead_percent)) AS same,
		count(*) = 14 AS buckets
	FROM streamstat.layout_maps('{html_t,html_t_pkey}', 7) m, streamstat.layout_map(m.relation, 7) l WHERE l.bucket = m.bucket;
SELECT relation = '4294967295' AS gone, relation = 'html_parts'::regclass AS partitioned, relation = 'html_invalid'::regclass AS invalid, bucket, last_block > 0 AS read, note
	FROM streamstat.layout_maps(ARRAY['4294967295', 'html_parts', 'html_invalid', 'pg_stats']::regclass[], 1, 10) WITH ORDINALITY AS m ORDER BY m.ordinality;
SELECT count(*) AS none FROM streamstat.layout_maps('{}');
SELECT error_of('SELECT streamstat.layout_maps(NULL)'), error_of('SELECT streamstat.layout_maps(''{0,NULL}'')'), error_of('SELECT streamstat.layout_maps(''{}'', 0)');

--
-- Rights
--

-- The extension is dropped by the query that calls it.
CREATE FUNCTION html_drop() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN DROP EXTENSION streamstat CASCADE; RETURN true; END $$;
SELECT regexp_replace(error_of('SELECT html_drop(), streamstat.report_html()'), '\d+$', 'N');
DROP FUNCTION html_drop;

-- Who may not see what is cached sees the rest.
CREATE ROLE regress_html IN ROLE pg_stat_scan_tables;
SET ROLE regress_html;
SELECT document ? 'caches' AS caches, document @? '$.layouts[*].used' AS layouts, document @? '$.layouts[*].buffered' AS buffered,
		document ? 'relations' AS relations, length(streamstat.report_html()) > 10000 AS page
	FROM (SELECT streamstat.report_json()::jsonb AS document) d;
SELECT error_of('SELECT streamstat.report_caches()');
RESET ROLE;
REVOKE EXECUTE ON FUNCTION streamstat.layout_map(regclass, int, int) FROM pg_stat_scan_tables;
SET ROLE regress_html;
SELECT document ? 'layouts' AS layouts, document ? 'relations' AS relations FROM (SELECT streamstat.report_json()::jsonb AS document) d;
RESET ROLE;
GRANT EXECUTE ON FUNCTION streamstat.layout_map(regclass, int, int) TO pg_stat_scan_tables;
DROP ROLE regress_html;

-- What stands in front in the search path is not called.
CREATE SCHEMA html_hostile;
CREATE FUNCTION html_hostile.row_to_json(record) RETURNS json LANGUAGE plpgsql AS $$ BEGIN RAISE 'called'; END $$;
CREATE FUNCTION html_hostile.equals(text, text) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE 'called'; END $$;
CREATE OPERATOR html_hostile.= (LEFTARG = text, RIGHTARG = text, FUNCTION = html_hostile.equals);
CREATE OPERATOR html_hostile.<> (LEFTARG = text, RIGHTARG = text, FUNCTION = html_hostile.equals);
CREATE FUNCTION html_hostile.sum_of(numeric, bigint) RETURNS numeric LANGUAGE plpgsql AS $$ BEGIN RAISE 'called'; END $$;
CREATE AGGREGATE html_hostile.sum(bigint) (SFUNC = html_hostile.sum_of, STYPE = numeric, INITCOND = '0');
SET search_path = html_hostile, pg_catalog;
SELECT length(streamstat.report_html()) > 10000 AS made;
SHOW search_path;
RESET search_path;

DROP SCHEMA html_hostile CASCADE;
DROP SCHEMA "a & <b>" CASCADE;
DROP TABLE html_t, html_parts, "quotes "" ' and ]]> & &amp; -- <!-- \", "line
break	tab";
