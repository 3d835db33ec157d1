-- What tools/valgrind looks at besides the relations of test/fuzz/seeds.sql: other
-- kinds of them, and one that is large enough for parallel workers.

SET client_min_messages = error;
CREATE EXTENSION streamstat;

CREATE TABLE part (i int, v text) PARTITION BY RANGE (i);
CREATE INDEX part_i ON part (i);
CREATE TABLE part_1 PARTITION OF part FOR VALUES FROM (0) TO (1000);
CREATE TABLE part_2 PARTITION OF part FOR VALUES FROM (1000) TO (2000);
INSERT INTO part SELECT i, md5(i::text) FROM generate_series(0, 1999) i;
DELETE FROM part WHERE i % 3 = 0;

CREATE UNLOGGED TABLE unlogged AS SELECT i FROM generate_series(1, 2000) i;
CREATE INDEX unlogged_i ON unlogged (i);
CREATE MATERIALIZED VIEW matview AS SELECT i FROM generate_series(1, 2000) i;
CREATE VIEW view AS SELECT 1 AS i;

-- a row fills a page
BEGIN;
CREATE TABLE big (i int, s text);
ALTER TABLE big ALTER s SET STORAGE PLAIN;
INSERT INTO big SELECT i, lpad(i::text, 8000, 'x') FROM generate_series(1, 17000) i;
COMMIT;
VACUUM big;
CHECKPOINT;
