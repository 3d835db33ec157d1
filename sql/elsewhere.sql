--
-- Relations whose data is elsewhere: notes say where, and how to ask there
--

-- Citus has a catalog of the tables that it distributes, and is an extension.
CREATE SCHEMA "el Where";
CREATE TABLE "el Where"."sh'ell" (i int PRIMARY KEY, t text);
CREATE TABLE el_plain (i int PRIMARY KEY);
CREATE TABLE el_before AS SELECT generate_series(1, 1000) i;
VACUUM (FULL) el_before;
SELECT note IS NULL AS plain FROM streamstat.table_stats('"el Where"."sh''ell"');
BEGIN;
SET LOCAL allow_system_table_mods = on;
CREATE TABLE pg_catalog.pg_dist_partition (partmethod "char", logicalrelid regclass);
INSERT INTO pg_dist_partition VALUES ('h', '"el Where"."sh''ell"'), ('n', 'el_before');
-- another one's table of that name
SELECT note IS NULL AS plain FROM streamstat.table_stats('"el Where"."sh''ell"');
INSERT INTO pg_extension (oid, extname, extowner, extnamespace, extrelocatable, extversion)
	VALUES (987654, 'citus', 10, 11, false, '12.1');
SELECT note FROM streamstat.table_stats('"el Where"."sh''ell"');
SELECT note FROM streamstat.index_stats('"el Where"."sh''ell_pkey"');
SELECT note FROM streamstat.bloat('"el Where"."sh''ell"');
SELECT DISTINCT note FROM streamstat.sample_stats('el_before', 100);
SELECT relation_name, measured, note FROM streamstat.database_report()
	WHERE relation_name ~ '^(sh|el_)' ORDER BY relation_name COLLATE "C";
-- what is not distributed
SELECT count(note) AS notes FROM streamstat.table_stats('el_plain');
SELECT count(note) AS notes FROM streamstat.table_stats('pg_class');
SELECT count(note) AS notes FROM streamstat.index_stats('el_plain_pkey');
-- with Citus' index
CREATE UNIQUE INDEX pg_dist_partition_logical_relid_index ON pg_dist_partition (logicalrelid);
SELECT count(note) AS notes FROM streamstat.table_stats('el_before');
SELECT count(note) AS notes FROM streamstat.table_stats('el_plain');
-- with another layout
ALTER TABLE pg_dist_partition RENAME logicalrelid TO relid;
SELECT count(note) AS notes FROM streamstat.table_stats('el_before');
ROLLBACK;
SELECT note IS NULL AS plain FROM streamstat.table_stats('el_before');

-- Foreign tables
CREATE FOREIGN DATA WRAPPER el_wrapper;
CREATE SERVER "el server" FOREIGN DATA WRAPPER el_wrapper;
CREATE FOREIGN TABLE el_foreign (i int) SERVER "el server";
SELECT note FROM streamstat.table_stats('el_foreign');
SELECT note FROM streamstat.bloat('el_foreign');

-- Table access methods: what they write is theirs to say
CREATE ACCESS METHOD "el am" TYPE TABLE HANDLER heap_tableam_handler;
CREATE TABLE el_other (i int) USING "el am";
CREATE TABLE el_other_empty (i int) USING "el am";
INSERT INTO el_other SELECT generate_series(1, 1000);
SELECT note FROM streamstat.table_stats('el_other');
SELECT note FROM streamstat.bloat('el_other');
SELECT DISTINCT note FROM streamstat.sample_stats('el_other', 100);
SELECT measured, access_method, note FROM streamstat.database_report() WHERE relation_name ~ '^el_other';
SELECT * FROM streamstat.corrupt_blocks('el_other');
SELECT * FROM streamstat.corrupt_blocks('el_foreign');

\set VERBOSITY terse
DROP TABLE el_other, el_other_empty, el_plain, el_before;
DROP ACCESS METHOD "el am";
DROP FOREIGN DATA WRAPPER el_wrapper CASCADE;
DROP SCHEMA "el Where" CASCADE;
