-- Relations of all kinds, and pages of them in all states that are easy to
-- have; tools/fuzz begins with these pages.  The last query says where they are.

SET client_min_messages = error;

-- a table: updated, deleted, locked, aborted, in progress, frozen, toasted
CREATE TABLE t (i int, k int, a int[], p point, v text) WITH (fillfactor = 80);
INSERT INTO t SELECT i, i % 50, ARRAY[i % 7, i % 3], point(i % 100, i / 100), repeat('x', i % 60)
	FROM generate_series(1, 6000) i;
CREATE INDEX t_int ON t (i) WITH (fillfactor = 50);
CREATE INDEX t_dup ON t (k);
CREATE INDEX t_text ON t (left(v, 200), i);
CREATE INDEX t_hash ON t USING hash (i);
CREATE INDEX t_hash_dup ON t USING hash (k);
CREATE INDEX t_gin ON t USING gin (a);
CREATE INDEX t_gist ON t USING gist (p);
CREATE INDEX t_spgist ON t USING spgist (p);
CREATE INDEX t_spgist_text ON t USING spgist (left(v, 200));
CREATE INDEX t_brin ON t USING brin (i) WITH (pages_per_range = 1);
SELECT 'CREATE EXTENSION bloom' FROM pg_available_extensions WHERE name = 'bloom' \gexec
SELECT 'CREATE INDEX t_bloom ON t USING bloom (i, v)' FROM pg_am WHERE amname = 'bloom' \gexec
SELECT 'CREATE EXTENSION vector' FROM pg_available_extensions WHERE name = 'vector' \gexec
SELECT format('CREATE INDEX t_%s ON t USING %1$s ((ARRAY[i, i %% 7, 1]::vector(3)) vector_l2_ops)', amname)
	FROM pg_am WHERE amname IN ('hnsw', 'ivfflat') \gexec
VACUUM (FREEZE) t;
DELETE FROM t WHERE i BETWEEN 1000 AND 3000;
VACUUM t;
UPDATE t SET v = v || 'y' WHERE i % 5 = 0;
DELETE FROM t WHERE i % 11 = 0;
INSERT INTO t SELECT i, NULL, ARRAY[i], NULL, NULL FROM generate_series(6001, 6500) i;
INSERT INTO t SELECT i, i, NULL, NULL, string_agg(md5(i::text || k::text), '')
	FROM generate_series(1, 20) i, generate_series(1, 200) k GROUP BY i;
BEGIN;
INSERT INTO t SELECT i, i, NULL, NULL, 'aborted' FROM generate_series(1, 100) i;
DELETE FROM t WHERE i % 13 = 0;
ROLLBACK;
SET enable_seqscan = off;
SELECT FROM t WHERE i < 3500 \g /dev/null
SELECT FROM t WHERE k = 3 \g /dev/null
BEGIN;
SELECT FROM t WHERE i BETWEEN 4000 AND 4100 FOR KEY SHARE \g /dev/null
PREPARE TRANSACTION 'locks';
BEGIN;
UPDATE t SET v = 'z' WHERE i BETWEEN 4000 AND 4100;
INSERT INTO t SELECT i, i, ARRAY[i], point(i, i), 'open' FROM generate_series(1, 300) i;
DELETE FROM t WHERE i BETWEEN 4200 AND 4300;
PREPARE TRANSACTION 'writes';

-- empty ones, pages without tuples, and large posting trees
CREATE TABLE e (i int PRIMARY KEY, a int[]);
CREATE INDEX e_hash ON e USING hash (i);
CREATE INDEX e_gin ON e USING gin (a);
CREATE INDEX e_brin ON e USING brin (i);
CREATE TABLE l AS SELECT i, ARRAY[1, i % 2 + 2] a FROM generate_series(1, 40000) i;
CREATE INDEX l_gin ON l USING gin (a);
CREATE INDEX l_dup ON l ((1));
DELETE FROM l WHERE i % 1000 > 500;
VACUUM l;
CREATE INDEX l_int ON l (i);
DELETE FROM l WHERE i > 20000;
VACUUM (TRUNCATE off) l;
CREATE SEQUENCE s;
SELECT nextval('s') \g /dev/null

CHECKPOINT;

SELECT CASE relkind WHEN 'S' THEN 'sequence' ELSE amname END,
	current_setting('data_directory') || '/' || pg_relation_filepath(c.oid)
FROM pg_class c LEFT JOIN pg_am a ON a.oid = relam
WHERE relkind IN ('i', 'r', 't', 'S') AND c.oid >= 16384
	-- of a damaged one, the server's own nextval() can fail an assertion
	AND NOT (relkind = 'S' AND relnamespace::regnamespace::text = 'streamstat')
UNION ALL
SELECT fork, current_setting('data_directory') || '/' || pg_relation_filepath(c.oid) || '_' || fork
FROM pg_class c, (VALUES ('vm'), ('fsm')) AS f (fork)
WHERE relkind = 'r' AND c.oid >= 16384
ORDER BY 1, 2;
