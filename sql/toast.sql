--
-- TOAST tables: what bloat and database_report say of them, against VACUUM FULL
--
SET client_min_messages = warning;

-- A value of so many bytes that cannot be compressed
CREATE FUNCTION noise(length int, seed int) RETURNS bytea IMMUTABLE
LANGUAGE sql RETURN substr((SELECT string_agg(sha256((seed || '/' || k)::bytea), '') FROM generate_series(0, length / 32) k), 1, length);

CREATE TABLE toast_said (name text, of_toast boolean, alone boolean, value int8, low int8, high int8);

-- What is predicted of a table and its TOAST table, by all blocks: in rows, and of
-- the TOAST table alone
CREATE PROCEDURE predict(relation regclass)
LANGUAGE sql BEGIN ATOMIC
	INSERT INTO toast_said
		SELECT predict.relation::text, b.relation <> predict.relation, false, predicted_bytes, predicted_bytes_low, predicted_bytes_high
			FROM streamstat.bloat(predict.relation, 1000000, with_toast => 'row') b
		UNION ALL
		SELECT predict.relation::text, true, true, predicted_bytes, predicted_bytes_low, predicted_bytes_high
			FROM pg_class c, streamstat.bloat(reltoastrelid, 1000000) b
			WHERE c.oid = predict.relation;
END;

-- How far that is off, in percent, if not within a block; and whether it is sure
CREATE FUNCTION compare(OUT name text, OUT of_toast boolean, OUT alone boolean, OUT prediction text, OUT between_ends boolean, OUT sure boolean)
RETURNS SETOF record
LANGUAGE sql BEGIN ATOMIC
	SELECT s.name, of_toast, alone,
			CASE WHEN abs(value - real) <= 8192 THEN 'right' ELSE round(100.0 * (value - real) / nullif(real, 0), 1)::text END,
			real BETWEEN low AND high, high - low <= greatest(0.02 * real, 16384)
		FROM toast_said s JOIN pg_class c ON c.oid = to_regclass(s.name),
			LATERAL (SELECT CASE WHEN NOT of_toast THEN pg_relation_size(c.oid)
				WHEN reltoastrelid = 0 THEN 0 ELSE pg_relation_size(reltoastrelid) END AS real) l
		ORDER BY s.name, of_toast, alone;
END;

-- Values of many lengths, some of them null, and rows that were updated
CREATE TABLE toast_long (i int, a bytea, b text) WITH (autovacuum_enabled = off);
INSERT INTO toast_long SELECT g, CASE WHEN g % 7 <> 0 THEN noise(1500 + g * 37 % 4000, g) END, repeat(noise(8, g)::text, g % 900) FROM generate_series(1, 1500) g;
UPDATE toast_long SET a = noise(1900 + i * 13 % 300, i) WHERE i % 3 = 0;
CALL wait_for_horizon();
VACUUM toast_long;
-- rows that were deleted, but not vacuumed
CREATE TABLE toast_deleted (i int, a bytea) WITH (autovacuum_enabled = off);
INSERT INTO toast_deleted SELECT g, noise(3000, g) FROM generate_series(1, 1000) g;
DELETE FROM toast_deleted WHERE i % 4 <> 0;
-- a column that was dropped, the only one or one of two
CREATE TABLE toast_dropped (i int, a bytea) WITH (autovacuum_enabled = off);
INSERT INTO toast_dropped SELECT g, noise(3000, g) FROM generate_series(1, 1000) g;
ALTER TABLE toast_dropped DROP a;
CREATE TABLE toast_dropped_one (i int, a bytea, b bytea) WITH (autovacuum_enabled = off);
INSERT INTO toast_dropped_one SELECT g, noise(3000, g), noise(2100 + g, -g) FROM generate_series(1, 1000) g;
ALTER TABLE toast_dropped_one DROP a;
INSERT INTO toast_dropped_one SELECT g, noise(2100 + g, -g) FROM generate_series(1, 500) g;
-- values that move between the two: by storage, and by the target
CREATE TABLE toast_plain (i int, a bytea, b text) WITH (autovacuum_enabled = off);
INSERT INTO toast_plain SELECT g, noise(1500 + g, g), repeat(noise(100, g)::text, 2 + g % 15) FROM generate_series(1, 1000) g;
ALTER TABLE toast_plain ALTER a SET STORAGE plain, ALTER b SET STORAGE plain;
CREATE TABLE toast_main (i int, a text) WITH (autovacuum_enabled = off);
INSERT INTO toast_main SELECT g, repeat(noise(200 + g, g)::text, 7) FROM generate_series(1, 1500) g;
ALTER TABLE toast_main ALTER a SET STORAGE main;
CREATE TABLE toast_external (i int, s text, a bytea) WITH (autovacuum_enabled = off);
ALTER TABLE toast_external ALTER a SET STORAGE plain, ALTER s SET STORAGE plain;
INSERT INTO toast_external SELECT g, repeat('x', g % 90), noise(1000 + g * 3, g) FROM generate_series(1, 1000) g;
ALTER TABLE toast_external ALTER a SET STORAGE external, ALTER s SET STORAGE external;
CREATE TABLE toast_target (i int, a bytea, b bytea) WITH (autovacuum_enabled = off);
INSERT INTO toast_target SELECT g, noise(2 * g, g), noise(g * 7 % 1900, -g) FROM generate_series(1, 1000) g;
CREATE TABLE toast_target_low (LIKE toast_target) WITH (autovacuum_enabled = off);
INSERT INTO toast_target_low TABLE toast_target;
ALTER TABLE toast_target SET (toast_tuple_target = 8160);
ALTER TABLE toast_target_low SET (toast_tuple_target = 128);
-- rows from before a column was added
CREATE TABLE toast_added (i int, a bytea) WITH (autovacuum_enabled = off);
INSERT INTO toast_added SELECT g, noise(1500 + g, g) FROM generate_series(1, 1000) g;
ALTER TABLE toast_added ADD b bytea;
INSERT INTO toast_added SELECT g, noise(g, g), noise(3000 - g, -g) FROM generate_series(1, 1000) g;
-- values that have not been tried to compress: nobody knows what that gives
CREATE TABLE toast_unsure (i int, a text) WITH (autovacuum_enabled = off);
ALTER TABLE toast_unsure ALTER a SET STORAGE external;
INSERT INTO toast_unsure SELECT g, repeat(noise(50, g)::text, 20 + g % 50) FROM generate_series(1, 500) g;
ALTER TABLE toast_unsure ALTER a SET STORAGE extended;
-- nor those that were short enough when another one had been moved out, which a rewrite
-- begins with
CREATE TABLE toast_unsure_short (i int, a text, b text) WITH (autovacuum_enabled = off);
INSERT INTO toast_unsure_short SELECT g, repeat('x', 1500), (SELECT string_agg(md5((g * 100 + k)::text), repeat('y', 32)) FROM generate_series(1, 100) k) FROM generate_series(1, 1000) g;
-- nor those of rows that have become longer, by a column that catalogs do not show to be a later one
BEGIN;
CREATE TABLE toast_unsure_grown (i int, a text) WITH (autovacuum_enabled = off);
INSERT INTO toast_unsure_grown SELECT g, repeat('x', 1500) FROM generate_series(1, 1000) g;
DO $$ BEGIN EXECUTE format('ALTER TABLE toast_unsure_grown ADD b text DEFAULT %L', (SELECT string_agg(md5(g::text), '') FROM generate_series(1, 32) g)); END $$;
COMMIT;
-- Short values that were PLAIN get a shorter header, also where a page begins with nulls;
-- on 19 only in rows with a value that was dropped.
CREATE TABLE toast_was_plain (i int, dropped int) WITH (autovacuum_enabled = off);
DO $$ BEGIN FOR k IN 1 .. 10 LOOP EXECUTE format('ALTER TABLE toast_was_plain ADD c%s text, ALTER c%s SET STORAGE plain', k, k); END LOOP; END $$;
-- only a trigger's row is formed by the table's storage
CREATE FUNCTION toast_set_plain() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
	NEW.dropped := CASE WHEN NEW.i % 3 = 0 THEN 1 END;
	IF NEW.i % 2 = 0 THEN
		NEW.c1 := 'abc'; NEW.c2 := 'abc'; NEW.c3 := 'abc'; NEW.c4 := 'abc'; NEW.c5 := 'abc';
		NEW.c6 := 'abc'; NEW.c7 := 'abc'; NEW.c8 := 'abc'; NEW.c9 := 'abc'; NEW.c10 := 'abc';
	END IF;
	RETURN NEW;
END
$$;
CREATE TRIGGER toast_set_plain BEFORE INSERT ON toast_was_plain FOR EACH ROW EXECUTE FUNCTION toast_set_plain();
INSERT INTO toast_was_plain SELECT g FROM generate_series(1, 5000) g;
DO $$ BEGIN FOR k IN 1 .. 10 LOOP EXECUTE format('ALTER TABLE toast_was_plain ALTER c%s SET STORAGE extended', k); END LOOP; END $$;
ALTER TABLE toast_was_plain DROP dropped;

CREATE VIEW toast_tables AS SELECT oid::regclass AS relation FROM pg_class WHERE relname ~ '^toast_' AND relkind = 'r' AND relname <> 'toast_said';
CALL wait_for_horizon();
DO $$ DECLARE relation regclass; BEGIN FOR relation IN TABLE toast_tables LOOP CALL predict(relation); END LOOP; END $$;

-- The report has one estimate with bloat(), and reads the table before its TOAST
-- table.
SELECT r.kind, count(*), bool_and(r.predicted_bytes = b.predicted_bytes AND r.reclaimable_bytes_low = b.reclaimable_bytes_low AND
		r.reclaimable_bytes_high = b.reclaimable_bytes_high AND r.note IS NOT DISTINCT FROM b.note) AS as_bloat
	FROM streamstat.database_report(0, '1GB', '10 min') r JOIN pg_class c ON r.relid IN (c.oid, c.reltoastrelid)
		JOIN toast_tables t ON t.relation = c.oid, streamstat.bloat(r.relid, 1000000, with_toast => 'row') b
	WHERE b.relation = r.relid
	GROUP BY 1 ORDER BY 1;
-- A sample
SELECT count(*), bool_and(predicted_bytes BETWEEN predicted_bytes_low AND predicted_bytes_high) AS ends,
		bool_and(predicted_bytes_low < predicted_bytes_high) AS width
	FROM toast_tables t, streamstat.bloat(t.relation, 30, 1, 'row') WHERE measured = 'sampled';

VACUUM FULL toast_long;
VACUUM FULL toast_deleted;
VACUUM FULL toast_dropped;
VACUUM FULL toast_dropped_one;
VACUUM FULL toast_plain;
VACUUM FULL toast_main;
VACUUM FULL toast_external;
VACUUM FULL toast_target;
VACUUM FULL toast_target_low;
VACUUM FULL toast_added;
VACUUM FULL toast_unsure;
VACUUM FULL toast_unsure_short;
VACUUM FULL toast_unsure_grown;
VACUUM FULL toast_was_plain;
SELECT * FROM compare() WHERE name !~ 'unsure';
SELECT of_toast, alone, between_ends, sure FROM compare() WHERE name = 'toast_unsure';
SELECT name, of_toast, between_ends, prediction FROM compare() WHERE name ~ 'unsure_' AND NOT alone;

-- Versions of a row that have a value in common need it once.
TRUNCATE toast_said;
BEGIN;
UPDATE toast_deleted SET i = i + 1;
CALL predict('toast_deleted');
COMMIT;
CALL wait_for_horizon();
SELECT of_toast, alone, abs(value - pg_relation_size(reltoastrelid)) <= 8192 AS once FROM toast_said s JOIN pg_class c ON c.oid = to_regclass(s.name)
	WHERE of_toast ORDER BY alone;

-- A TOAST table that was renamed, whose table is found all the same
SET allow_system_table_mods = on;
DO $$ BEGIN EXECUTE format('ALTER TABLE %s RENAME TO toast_renamed', (SELECT reltoastrelid::regclass FROM pg_class WHERE relname = 'toast_long')); END $$;
RESET allow_system_table_mods;
SELECT a.predicted_bytes = b.predicted_bytes AS same, a.note
	FROM streamstat.bloat('pg_toast.toast_renamed', 1000000) a,
		streamstat.bloat('toast_long', 1000000, with_toast => 'row') b WHERE b.relation = a.relation;

DROP VIEW toast_tables;
DROP FUNCTION compare, noise;
DROP PROCEDURE predict;
DROP TABLE toast_said, toast_long, toast_deleted, toast_dropped, toast_dropped_one, toast_plain, toast_main, toast_external, toast_target,
	toast_target_low, toast_added, toast_unsure, toast_unsure_short, toast_unsure_grown, toast_was_plain;
DROP FUNCTION toast_set_plain;

-- A default that is longer than a page is compressed, or moved out, when the table is rewritten.
CREATE TABLE long_default (i int, t text) WITH (autovacuum_enabled = off);
INSERT INTO long_default SELECT g, repeat('x', 100) FROM generate_series(1, 10000) g;
ALTER TABLE long_default ADD d text DEFAULT repeat(md5('z'), 300);
-- Beside an altered column, short values in tuples compress worse than long ones in the TOAST table.
CREATE TABLE beside_main (i bigint, m text, a int[], t text) WITH (autovacuum_enabled = off);
ALTER TABLE beside_main ALTER t SET STORAGE external, ALTER m SET STORAGE main;
INSERT INTO beside_main SELECT g, 'm' || g, ARRAY[514, 583, 487, 264, 50, 99, 58, 140, g % 1000], substr(repeat(md5(g::text), 70), 1, 1850 + (g * 37) % 200) FROM generate_series(1, 4000) g;
CREATE TEMP TABLE rewritten AS
	SELECT relation, predicted_bytes AS bytes, predicted_bytes_low AS low, predicted_bytes_high AS high
	FROM unnest('{long_default, beside_main}'::regclass[]) r, streamstat.bloat(r, 1000000, with_toast => 'row');
VACUUM FULL long_default;
VACUUM FULL beside_main;
SELECT count(*), bool_and(pg_relation_size(relation) BETWEEN low AND high) AS inside, max(abs(pg_relation_size(relation) - bytes)) <= 16384 AS close FROM rewritten;
DROP TABLE long_default, beside_main, rewritten;

-- Few rows have a value in the TOAST table, so that a sample of them fills a page of it or two.
CREATE TABLE seldom (i int, a text, b text) WITH (autovacuum_enabled = off);
ALTER TABLE seldom ALTER a SET STORAGE external, ALTER b SET STORAGE plain;
INSERT INTO seldom SELECT g, CASE WHEN g % 80 = 0 THEN repeat('a', 1408 + g / 80 % 20) END, repeat('b', 960) FROM generate_series(1, 40000) g;
VACUUM FULL seldom;
SELECT reltoastrelid AS toast FROM pg_class WHERE oid = 'seldom'::regclass \gset
SELECT count(*) FILTER (WHERE bytes BETWEEN predicted_bytes_low AND predicted_bytes_high) >= 37 AS inside, max(reclaimable_bytes_low) <= 8192 AS nothing
	FROM generate_series(1, 40) seed, LATERAL streamstat.bloat(:toast, blocks => 30, seed => seed);
DROP TABLE seldom;

-- A rewrite compresses small values that an insert left alone, of one column well and of another not at all.
CREATE TABLE beside_each_other (i int, note text, hash text, doc text) WITH (autovacuum_enabled = off);
INSERT INTO beside_each_other SELECT g, repeat('call back ', 20), left(md5(g::text) || md5((-g)::text), g * 7 % 64), (SELECT string_agg(left(md5((g * 1000 + k)::text), 8) || ' order ', '') FROM generate_series(1, 60 + g % 3 * 200) k) FROM generate_series(1, 1500) g;
CREATE TEMP TABLE rewritten AS
	SELECT predicted_bytes AS bytes, predicted_bytes_low AS low, predicted_bytes_high AS high FROM streamstat.bloat('beside_each_other', 1000000);
VACUUM FULL beside_each_other;
SELECT pg_relation_size('beside_each_other') BETWEEN low AND high AS inside, abs(pg_relation_size('beside_each_other') - bytes) <= 8192 AS close FROM rewritten;
DROP TABLE beside_each_other, rewritten;
