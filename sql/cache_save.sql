--
-- cache_save and cache_load: what is cached, as a text, and back
--
SET client_min_messages = warning;

CREATE SCHEMA cs;
CREATE TABLE cs.t (i int, t text) WITH (autovacuum_enabled = off);
ALTER TABLE cs.t ALTER t SET STORAGE EXTERNAL;
INSERT INTO cs.t SELECT i, repeat('x', 5000) FROM generate_series(1, 300) i;
CREATE INDEX t_i ON cs.t (i);
CREATE MATERIALIZED VIEW cs.m WITH (autovacuum_enabled = off) AS SELECT i FROM cs.t;
CREATE UNLOGGED TABLE cs.u WITH (autovacuum_enabled = off) AS SELECT i FROM cs.t;
CREATE TEMP TABLE cs_temporary AS SELECT i FROM cs.t;
-- names that are not easy to write down
CREATE SCHEMA "cs.2 ""x""";
CREATE TABLE "cs.2 ""x"""."a""b\c d.
e 	" WITH (autovacuum_enabled = off) AS SELECT i FROM cs.t;
CREATE TABLE "cs.2 ""x"""."select" WITH (autovacuum_enabled = off) AS SELECT i FROM cs.t;
CREATE TABLE "cs.2 ""x"""."usage 5" WITH (autovacuum_enabled = off) AS SELECT i FROM cs.t;
CREATE TABLE "cs.2 ""x"""."\x0a " WITH (autovacuum_enabled = off) AS SELECT i FROM cs.t;
VACUUM cs.t;
SELECT count(t) FROM cs.t;

--
-- The text
--
CREATE TABLE cs_saved AS SELECT streamstat.cache_save() AS saved;
CREATE VIEW cs_line AS SELECT line, n FROM cs_saved, regexp_split_to_table(saved, '\n') WITH ORDINALITY l (line, n);
SELECT regexp_replace(regexp_replace(line, '\d+', 'N', 'g'), 'database .*', 'database ...') AS line FROM cs_line WHERE n <= 5 ORDER BY n;
SELECT saved ~ 'crc [0-9a-f]{8}$' AS checksum FROM cs_saved;
SELECT regexp_replace(line, '\d+', 'N') AS line FROM cs_line WHERE line ~ '\mcs\M' ORDER BY regexp_replace(line, '\d+', 'N') COLLATE "C";
SELECT count(*) AS temporary FROM cs_line WHERE line ~ 'cs_temporary';
-- lines of at most 120 bytes, but for names
SELECT max(length(line)) <= 120 AS short FROM cs_line WHERE line ~ '^\d+ (main|fsm|vm) ';
-- no usage count before a higher one
SELECT count(*) AS wrong FROM
	(SELECT line, lag(line) OVER (ORDER BY n) AS previous FROM cs_line WHERE line ~ '^usage \d') l
	WHERE split_part(line, ' ', 2)::int >= split_part(previous, ' ', 2)::int;
-- what the head says
SELECT (SELECT split_part(line, ' ', 2)::bigint FROM cs_line WHERE line ~ '^blocks ') =
	(SELECT sum(coalesce(nullif(split_part(range, '+', 2), ''), '1')::bigint)
		FROM cs_line, regexp_split_to_table(regexp_replace(line, '^\d+ (main|fsm|vm) ', ''), ' ') range WHERE line ~ '^\d+ (main|fsm|vm) ') AS blocks;

--
-- What cache_map has of relations that do not change, block by block
--
CREATE FUNCTION cs_blocks(saved text) RETURNS TABLE (kind text, name text, fork text, block bigint, usage int)
LANGUAGE plpgsql AS $$
DECLARE
	line text;
	range text;
	names text[];
	kinds text[];
	position bigint;
	part text[];
BEGIN
	FOREACH line IN ARRAY regexp_split_to_array(saved, '\n') LOOP
		IF line ~ '^\d+ [rmitx] ' THEN
			part := regexp_match(line, '^(\d+) (.) (.*)$');
			kinds[part[1]::int] := part[2];
			names[part[1]::int] := part[3];
		ELSIF line ~ '^usage ' THEN
			usage := split_part(line, ' ', 2);
		ELSIF line ~ '^\d+ (main|fsm|vm) ' THEN
			part := regexp_match(line, '^(\d+) (\w+) (.*)$');
			kind := kinds[part[1]::int];
			name := names[part[1]::int];
			fork := part[2];
			position := 0;
			FOREACH range IN ARRAY string_to_array(part[3], ' ') LOOP
				position := position + split_part(range, '+', 1)::bigint;
				FOR i IN 1 .. coalesce(nullif(split_part(range, '+', 2), ''), '1')::int LOOP
					block := position;
					RETURN NEXT;
					position := position + 1;
				END LOOP;
			END LOOP;
		END IF;
	END LOOP;
END
$$;
-- At most a few have moved meanwhile.
WITH map AS MATERIALIZED (SELECT relation_name AS name, fork, block FROM streamstat.cache_map(), generate_series(first_block, last_block) block
		WHERE schema_name = 'cs'),
	saved AS MATERIALIZED (SELECT split_part(name, '.', 2) AS name, fork, block FROM cs_blocks(streamstat.cache_save())
		WHERE name ~ '^cs\.' AND kind IN ('r', 'm', 'i'))
	SELECT count(*) FILTER (WHERE m.block IS NULL OR s.block IS NULL) <= 5 AS same
	FROM map m FULL JOIN saved s ON m.name = s.name AND m.fork = s.fork AND m.block = s.block;
SELECT count(*) AS twice FROM (SELECT FROM cs_blocks(streamstat.cache_save()) b GROUP BY kind, name, fork, block HAVING count(*) > 1) b;

--
-- Limits: the hottest remain
--
SELECT count(*) AS blocks FROM cs_blocks(streamstat.cache_save('80kB'));
SELECT count(*) AS blocks FROM cs_blocks(streamstat.cache_save('8191 bytes'));
SELECT min(usage) >= 3 AS hot FROM cs_blocks(streamstat.cache_save('80kB'));
SELECT streamstat.cache_save('0');
SELECT streamstat.cache_save('much');
SELECT ended_by, blocks_requested FROM streamstat.cache_load(streamstat.cache_save('8191 bytes'));

--
-- Loading
--
CREATE FUNCTION cs_load(saved text, mode text DEFAULT 'buffer') RETURNS SETOF streamstat.prewarm_row
	LANGUAGE sql AS $$ SELECT * FROM streamstat.cache_load(saved, mode, stop_when_full => false, details => true) $$;
-- Names survive, and what was saved is found again.
SELECT schema_name, relation_name, coalesce(parent_name, '-') AS parent_name, kind, fork, note
	FROM cs_saved, cs_load(saved) WHERE schema_name ~ '^cs' AND fork = 'main' ORDER BY schema_name COLLATE "C", relation_name COLLATE "C";
SELECT kind, fork, note FROM cs_saved, cs_load(saved) WHERE parent_name = 'cs.t' AND kind = 'toast table' ORDER BY fork COLLATE "C";
SELECT ended_by, blocks_requested = blocks_cached + blocks_read AS counted, note, resume_from FROM cs_saved, cs_load(saved) WHERE is_sum;
SELECT count(*) AS sums FROM cs_saved, cs_load(saved) WHERE is_sum;
SELECT count(*) AS rows, bool_and(is_sum) AS is_sum FROM cs_saved, streamstat.cache_load(saved);
SELECT bool_and(blocks_requested = blocks_read OR blocks_cached > 0) AS read FROM cs_saved, cs_load(saved, 'read');
SELECT bool_and(blocks_requested = blocks_read OR blocks_cached > 0) AS advised FROM cs_saved, cs_load(saved, 'prefetch') WHERE NOT is_sum;
-- White space is not looked at.
SELECT count(*) > 10 AS loaded FROM cs_saved, cs_load(replace(saved, E'\n', E'\r\n') || E'\r\n');
SELECT count(*) > 10 AS loaded FROM cs_saved, cs_load(E'\n ' || replace(saved, E'\n', E'  \n\n\t') || E'\n\n  \n');
-- Only the hottest
SELECT count(*) AS rows FROM cs_saved, streamstat.cache_load(saved, min_usage_count => 5);
SELECT ended_by FROM cs_saved, streamstat.cache_load(saved, 'read', max_time => '0') WHERE is_sum;

--
-- What is not there any more
--
DROP TABLE "cs.2 ""x"""."a""b\c d.
e 	";
DROP INDEX cs.t_i;
DROP MATERIALIZED VIEW cs.m;
-- the name is another one's
CREATE TABLE cs.t_i (i int);
CREATE TABLE cs.m (i int);
SELECT schema_name, relation_name, kind, blocks_total, blocks_requested, note FROM cs_saved, cs_load(saved)
	WHERE schema_name ~ '^cs' AND fork = 'main' AND relation_name ~ '^(a|t_i|m)' ORDER BY schema_name COLLATE "C", relation_name COLLATE "C";
TRUNCATE cs.t;
SELECT fork, blocks_total, blocks_requested, regexp_replace(note, '\d+', 'N') AS note FROM cs_saved, cs_load(saved)
	WHERE schema_name = 'cs' AND relation_name = 't' AND fork = 'main';
DROP TABLE cs.t;
SELECT relid, schema_name, relation_name, parent_name, kind, blocks_total, note FROM cs_saved, cs_load(saved)
	WHERE parent_name = 'cs.t' AND fork = 'main' ORDER BY kind COLLATE "C", relation_name COLLATE "C";

--
-- What is no saved cache
--
SELECT * FROM streamstat.cache_load(NULL);
SELECT * FROM streamstat.cache_load('');
SELECT * FROM streamstat.cache_load(E' \n ');
SELECT * FROM streamstat.cache_load('Dear server');
SELECT * FROM streamstat.cache_load('streamstat cache 1');
SELECT * FROM streamstat.cache_load(E'streamstat cache 1\ncrc 00000000');
SELECT * FROM cs_saved, streamstat.cache_load(replace(saved, 'public', 'Public'));
SELECT * FROM cs_saved, streamstat.cache_load(saved, 'gently');
SELECT * FROM cs_saved, streamstat.cache_load(saved, min_usage_count => 6);
SELECT * FROM cs_saved, streamstat.cache_load(saved, min_usage_count => -1);
SELECT * FROM cs_saved, streamstat.cache_load(saved, max_bytes => '0');
SELECT * FROM cs_saved, streamstat.cache_load(saved, max_rate => '0');
-- with the right checksum
CREATE FUNCTION cs_crc(lines text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	crc bigint := x'ffffffff'::bigint;
	bytes bytea := convert_to(lines, 'UTF8');
BEGIN
	FOR i IN 0 .. length(bytes) - 1 LOOP
		crc := crc # get_byte(bytes, i);
		FOR k IN 1 .. 8 LOOP
			crc := CASE WHEN crc & 1 = 1 THEN (crc >> 1) # x'82f63b78'::bigint ELSE crc >> 1 END;
		END LOOP;
	END LOOP;
	RETURN lines || 'crc ' || lpad(to_hex(crc # x'ffffffff'::bigint), 8, '0');
END
$$;
CREATE FUNCTION cs_error(lines text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	detail text;
BEGIN
	PERFORM streamstat.cache_load(cs_crc(lines), 'read');
	RETURN 'no error';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
	RETURN SQLSTATE || ' ' || SQLERRM || ': ' || detail;
END
$$;
-- Lines of a text that is sound, and what is put in the place of one; '' for nothing
CREATE TABLE cs_wrong (n serial, line int, text text);
INSERT INTO cs_wrong (line, text) VALUES
	(1, 'streamstat cache 2'), (1, 'streamstat cache 0'), (1, 'streamstat cache 1.1'), (1, 'streamstat cache x'),
	(1, 'streamstat cache 99999999999999999999'), (1, 'streamstat cache -1'),
	(2, ''), (2, 'databases x'), (3, ''), (3, 'saved'), (4, ''), (4, 'block_size 4096'), (4, 'block_size'), (4, 'block_size 8192 8192'),
	(5, ''), (5, 'blocks 5'), (5, 'blocks 7'), (5, 'blocks -6'), (5, 'blocks 999999999999999999999999'),
	(6, ''), (6, '2 r public.cs_saved'), (6, '0 r public.cs_saved'), (6, '-1 r public.cs_saved'), (6, '1 s public.cs_saved'),
	(6, '1 r'), (6, '1 r public'), (6, '1 r public.'), (6, '1 r .cs_saved'), (6, '1 r public.cs_saved.x'), (6, '1 r "".""'),
	(6, '1 r public."cs_saved'), (6, '1 r public.cs_saved"'), (6, '1 r public."a\b"'), (6, '1 r public."a\x00"'), (6, '1 r public."a\x41"'),
	(6, '1 r public."a\x0"'), (6, '1 r public."a\xFF"'), (6, '1 r public."a\"'), (6, '1 r Public.cs_saved'), (6, '4294967297 r public.cs_saved'),
	(7, '1 i public.cs_none'), (7, '3 i public.cs_none'),
	(8, ''), (8, 'usage 256'), (8, 'usage -1'), (8, 'usage'), (8, 'usage 5 5'),
	(9, ''), (9, '3 main 0+4 2'), (9, '0 main 0+4 2'), (9, '-1 main 0+4 2'), (9, '1 init 0+4 2'), (9, '1 main'), (9, '1 main  0+4 2'), (9, '1 main 0+4  2'),
	(9, '1 main 0+0 2'), (9, '1 main 0+4+4 2'), (9, '1 main 0-4 2'), (9, '1 main +4 2'), (9, '1 main 0+ 2'), (9, '1 main 4294967290+4 2'), (9, '1 main 4294967291+4 1'),
	(9, '1 main 4294967296'), (9, '1 main 9223372036854775807+1 2'), (9, '1 main 0+4294967295 1'), (9, '1 main 0+4 2 x'),
	(10, 'usage 5'), (10, 'usage 6'), (11, '1 r public.cs_saved'), (11, 'crc 00000000');
CREATE TABLE cs_sound AS SELECT ARRAY['streamstat cache 1', 'database x', 'saved at noon', 'block_size 8192', 'blocks 6',
	'1 r public.cs_saved', '2 i public.cs_none', 'usage 5', '1 main 0+4 2', 'usage 1', '2 main 4294967294'] AS lines;
SELECT cs_error(array_to_string(lines, E'\n') || E'\n') FROM cs_sound;
SELECT line, text, cs_error(string_agg(CASE WHEN i = line THEN nullif(text, '') ELSE lines[i] END || E'\n', '' ORDER BY i)) AS error
	FROM cs_wrong, cs_sound, generate_series(0, 11) i WHERE i = line OR i > 0 GROUP BY n, line, text ORDER BY n;
-- Anything else in the place of a character is found.
CREATE FUNCTION cs_outcome(saved text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM streamstat.cache_load(saved, 'read');
	RETURN 'no error';
EXCEPTION WHEN invalid_text_representation THEN
	RETURN SQLERRM;
END
$$;
SELECT count(*) AS undetected FROM generate_series(1, (SELECT length(cs_crc(array_to_string(lines, E'\n') || E'\n')) FROM cs_sound)) i,
	LATERAL (SELECT cs_crc(array_to_string(lines, E'\n') || E'\n') AS saved FROM cs_sound) s,
	LATERAL (SELECT overlay(saved PLACING chr((ascii(substr(saved, i, 1)) # 1)) FROM i FOR 1) AS flipped) f,
	LATERAL (SELECT outcome FROM cs_outcome(flipped) outcome) o WHERE outcome = 'no error';

DROP TABLE cs_saved, cs_wrong, cs_sound CASCADE;
DROP SCHEMA cs, "cs.2 ""x""" CASCADE;
DROP FUNCTION cs_blocks, cs_load, cs_crc, cs_error, cs_outcome;
