/* streamstat--1.0.sql */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION streamstat" to load this file. \quit

-- Everybody may look; what a role may do is decided function by function.
GRANT USAGE ON SCHEMA streamstat TO PUBLIC;

--
-- Statistics of our own
--

CREATE FUNCTION btree_stats(
	index regclass,
	OUT version int,
	OUT tree_level int,
	OUT index_size bigint,
	OUT root_block_no bigint,
	OUT internal_pages bigint,
	OUT leaf_pages bigint,
	OUT empty_pages bigint,
	OUT deleted_pages bigint,
	OUT avg_leaf_density float8,
	OUT leaf_fragmentation float8,
	OUT new_pages bigint,
	OUT corrupt_pages bigint,
	OUT first_new_block bigint,
	OUT first_corrupt_block bigint,
	OUT live_items bigint,
	OUT dead_items bigint,
	OUT free_bytes bigint,
	OUT allequalimage boolean,
	OUT posting_percent float8)
AS 'MODULE_PATHNAME', 'sst_btree_stats'
LANGUAGE C VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION btree_stats(regclass) IS
'Statistics of a b-tree index, from all its pages.
version, tree_level, root_block_no, allequalimage (equal keys are identical, so that deduplication is safe): from the metapage.
index_size: bytes. internal_pages, leaf_pages, empty_pages (half-dead), deleted_pages, new_pages (all zeros), corrupt_pages: pages, each counted once, the metapage not.
first_new_block, first_corrupt_block: the lowest such block, or null.
avg_leaf_density: percent of the space in leaf pages that is in use. leaf_fragmentation: percent of the leaf pages whose right sibling lies on an earlier block. NaN if there is no leaf page.
live_items, dead_items: index tuples in leaf pages not marked dead, and marked dead; a posting list tuple is one. free_bytes: free space in leaf pages, in bytes. posting_percent: percent of the items that are posting list tuples, or null if there are no items; where the length of a tuple does not tell (keys of variable length, several columns that can be null) and the index has more than 1024 blocks, from every 16th block.
Takes an AccessShareLock on the index. Needs EXECUTE, which pg_stat_scan_tables has.';

CREATE FUNCTION hash_stats(
	index regclass,
	OUT version int,
	OUT bucket_pages bigint,
	OUT overflow_pages bigint,
	OUT bitmap_pages bigint,
	OUT unused_pages bigint,
	OUT live_items bigint,
	OUT dead_items bigint,
	OUT free_percent float8,
	OUT index_size bigint,
	OUT buckets bigint,
	OUT new_pages bigint,
	OUT corrupt_pages bigint,
	OUT first_new_block bigint,
	OUT first_corrupt_block bigint,
	OUT free_bytes bigint)
AS 'MODULE_PATHNAME', 'sst_hash_stats'
LANGUAGE C VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION hash_stats(regclass) IS
'Statistics of a hash index, from all its pages.
version, buckets: from the metapage. index_size: bytes.
bucket_pages, overflow_pages, bitmap_pages, unused_pages (new ones included), new_pages (all zeros; a hash index has them from splits on), corrupt_pages: pages, the metapage not counted.
first_new_block, first_corrupt_block: the lowest such block, or null.
live_items, dead_items: index tuples not marked dead, and marked dead. free_percent: percent of the space for tuples that is free, unused pages included. free_bytes: that free space in bytes.
Takes an AccessShareLock on the index. Needs EXECUTE, which pg_stat_scan_tables has.';

CREATE FUNCTION sample(
	relation regclass,
	blocks int DEFAULT 10000,
	seed bigint DEFAULT NULL,
	OUT statistic text,
	OUT estimate float8,
	OUT low float8,
	OUT high float8,
	OUT blocks_sampled bigint,
	OUT blocks_total bigint,
	OUT exact boolean)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'sst_sample'
LANGUAGE C VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION sample(regclass, int, bigint) IS
'Page statistics of a b-tree index, a hash index or a heap table, from a random sample of its blocks.
One row for each statistic. statistic: its name; ..._pages count pages, ..._items and tuples (visible or not) count items of all the relation, ..._bytes are bytes, the others percent. estimate: what the relation has, as far as the sample tells; null for a percentage of nothing. low, high: the ends of the 95 % confidence interval; null if the sample is too small to show one. blocks_sampled, blocks_total: blocks read, and blocks of the relation. exact: all blocks were read, so that the estimate is the true value.
The same seed gives the same rows, as long as the relation does not change.
Takes an AccessShareLock on the relation. Needs EXECUTE, which pg_stat_scan_tables has.';

CREATE FUNCTION stream_stats(
	OUT function text,
	OUT relation regclass,
	OUT stream text,
	OUT io_method text,
	OUT workers int,
	OUT blocks_requested bigint,
	OUT blocks_hit bigint,
	OUT blocks_read bigint,
	OUT blocks_private bigint,
	OUT reads bigint,
	OUT avg_read_bytes float8,
	OUT advice_calls bigint,
	OUT avg_advice_bytes float8,
	OUT look_ahead_max bigint,
	OUT elapsed_ms float8,
	OUT bytes_per_second float8)
AS 'MODULE_PATHNAME', 'sst_stream_stats'
LANGUAGE C VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION stream_stats() IS
'What the last completed call of this session did; nulls before the first one.
function, relation: what was called. stream: what read the blocks. io_method: how the file stream read what was not in the page cache; null if there was nothing. workers: parallel workers that helped; the numbers are of all processes together.
blocks_requested, blocks_hit, blocks_read: blocks asked for, found in buffers, and read. blocks_private: of those read, blocks that came from the files and went into no buffer. reads, avg_read_bytes: read operations and their average size; null where the server does not tell. advice_calls, avg_advice_bytes: times that the bundled read stream told the kernel of blocks to come, and how much by one call; null on another stream. look_ahead_max: blocks asked for and not yet returned, at most. elapsed_ms: milliseconds. bytes_per_second: of the blocks asked for.
Takes no lock. Everybody may call it.';

--
-- Functions with the names, arguments, columns and results of contrib's
--

CREATE FUNCTION pgstatindex(
	relname text,
	OUT version int,
	OUT tree_level int,
	OUT index_size bigint,
	OUT root_block_no bigint,
	OUT internal_pages bigint,
	OUT leaf_pages bigint,
	OUT empty_pages bigint,
	OUT deleted_pages bigint,
	OUT avg_leaf_density float8,
	OUT leaf_fragmentation float8)
AS 'MODULE_PATHNAME', 'sst_pgstatindex'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION pgstatindex(text) IS
'Statistics of a b-tree index, by its name, as pgstattuple''s function of this name gives them.
index_size: bytes. internal_pages, leaf_pages, empty_pages, deleted_pages: pages. avg_leaf_density, leaf_fragmentation: percent.
Takes an AccessShareLock on the index. Needs EXECUTE, which pg_stat_scan_tables has.';

CREATE FUNCTION pgstatindex(
	relname regclass,
	OUT version int,
	OUT tree_level int,
	OUT index_size bigint,
	OUT root_block_no bigint,
	OUT internal_pages bigint,
	OUT leaf_pages bigint,
	OUT empty_pages bigint,
	OUT deleted_pages bigint,
	OUT avg_leaf_density float8,
	OUT leaf_fragmentation float8)
AS 'MODULE_PATHNAME', 'sst_pgstatindexbyid'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION pgstatindex(regclass) IS
'Statistics of a b-tree index, as pgstattuple''s function of this name gives them.
index_size: bytes. internal_pages, leaf_pages, empty_pages, deleted_pages: pages. avg_leaf_density, leaf_fragmentation: percent.
Takes an AccessShareLock on the index. Needs EXECUTE, which pg_stat_scan_tables has.';

CREATE FUNCTION pgstathashindex(
	relname regclass,
	OUT version int,
	OUT bucket_pages bigint,
	OUT overflow_pages bigint,
	OUT bitmap_pages bigint,
	OUT unused_pages bigint,
	OUT live_items bigint,
	OUT dead_items bigint,
	OUT free_percent float8)
AS 'MODULE_PATHNAME', 'sst_pgstathashindex'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION pgstathashindex(regclass) IS
'Statistics of a hash index, as pgstattuple''s function of this name gives them.
bucket_pages, overflow_pages, bitmap_pages, unused_pages: pages. live_items, dead_items: index tuples. free_percent: percent.
Takes an AccessShareLock on the index. Needs EXECUTE, which pg_stat_scan_tables has.';

CREATE FUNCTION pgstatginindex(
	relname regclass,
	OUT version int,
	OUT pending_pages int,
	OUT pending_tuples bigint)
AS 'MODULE_PATHNAME', 'sst_pgstatginindex'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION pgstatginindex(regclass) IS
'Version and pending list of a GIN index, as pgstattuple''s function of this name gives them.
pending_pages: pages. pending_tuples: heap tuples.
Reads the metapage only. Takes an AccessShareLock on the index. Needs EXECUTE, which pg_stat_scan_tables has.';

CREATE FUNCTION pg_relpages(relname text)
RETURNS bigint
AS 'MODULE_PATHNAME', 'sst_pg_relpages'
LANGUAGE C STRICT VOLATILE PARALLEL SAFE;

COMMENT ON FUNCTION pg_relpages(text) IS
'Number of pages of a relation''s main fork, by its name.
Takes an AccessShareLock on the relation. Needs EXECUTE, which pg_stat_scan_tables has.';

CREATE FUNCTION pg_relpages(relname regclass)
RETURNS bigint
AS 'MODULE_PATHNAME', 'sst_pg_relpagesbyid'
LANGUAGE C STRICT VOLATILE PARALLEL SAFE;

COMMENT ON FUNCTION pg_relpages(regclass) IS
'Number of pages of a relation''s main fork.
Takes an AccessShareLock on the relation. Needs EXECUTE, which pg_stat_scan_tables has.';

CREATE FUNCTION pg_prewarm(
	regclass,
	mode text DEFAULT 'buffer',
	fork text DEFAULT 'main',
	first_block int8 DEFAULT NULL,
	last_block int8 DEFAULT NULL)
RETURNS int8
AS 'MODULE_PATHNAME', 'sst_pg_prewarm'
LANGUAGE C VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION pg_prewarm(regclass, text, text, int8, int8) IS
'Brings blocks of a relation into memory, as contrib''s function of this name does; returns how many blocks.
mode: buffer (into shared buffers), read (reads and keeps nothing) or prefetch (asks the kernel to read, and waits for nothing). fork: main, fsm, vm or init. first_block, last_block: the range, null for the fork''s first and last.
Takes an AccessShareLock on the relation, and on the table if it is an index. Needs SELECT on the table.';

--
-- Whoever may run pgstattuple''s functions may run these.
--

REVOKE EXECUTE ON FUNCTION btree_stats(regclass) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION hash_stats(regclass) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION sample(regclass, int, bigint) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION pgstatindex(text) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION pgstatindex(regclass) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION pgstathashindex(regclass) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION pgstatginindex(regclass) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION pg_relpages(text) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION pg_relpages(regclass) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION btree_stats(regclass) TO pg_stat_scan_tables;
GRANT EXECUTE ON FUNCTION hash_stats(regclass) TO pg_stat_scan_tables;
GRANT EXECUTE ON FUNCTION sample(regclass, int, bigint) TO pg_stat_scan_tables;
GRANT EXECUTE ON FUNCTION pgstatindex(text) TO pg_stat_scan_tables;
GRANT EXECUTE ON FUNCTION pgstatindex(regclass) TO pg_stat_scan_tables;
GRANT EXECUTE ON FUNCTION pgstathashindex(regclass) TO pg_stat_scan_tables;
GRANT EXECUTE ON FUNCTION pgstatginindex(regclass) TO pg_stat_scan_tables;
GRANT EXECUTE ON FUNCTION pg_relpages(text) TO pg_stat_scan_tables;
GRANT EXECUTE ON FUNCTION pg_relpages(regclass) TO pg_stat_scan_tables;
