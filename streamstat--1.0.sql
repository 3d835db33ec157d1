/* streamstat--1.0.sql */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION streamstat" to load this file. \quit

-- Everybody may look; what a role may do is decided function by function.
GRANT USAGE ON SCHEMA @extschema@ TO PUBLIC;

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

CREATE FUNCTION gin_stats(
	index regclass,
	OUT version int,
	OUT pending_pages int,
	OUT pending_tuples bigint,
	OUT index_size bigint,
	OUT entry_internal_pages bigint,
	OUT entry_leaf_pages bigint,
	OUT posting_internal_pages bigint,
	OUT posting_leaf_pages bigint,
	OUT pending_list_pages bigint,
	OUT deleted_pages bigint,
	OUT new_pages bigint,
	OUT corrupt_pages bigint,
	OUT first_new_block bigint,
	OUT first_corrupt_block bigint,
	OUT entries bigint,
	OUT posting_items bigint,
	OUT pending_items bigint,
	OUT entry_free_bytes bigint,
	OUT posting_free_bytes bigint,
	OUT pending_free_bytes bigint,
	OUT free_bytes bigint,
	OUT entry_leaf_density float8,
	OUT posting_leaf_density float8,
	OUT leaf_fragmentation float8)
AS 'MODULE_PATHNAME', 'sst_gin_stats'
LANGUAGE C VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION gin_stats(regclass) IS
'Statistics of a GIN index, from all its pages.
version, pending_pages, pending_tuples (heap tuples): from the metapage. index_size: bytes.
entry_internal_pages, entry_leaf_pages (of the tree of keys), posting_internal_pages, posting_leaf_pages (of the trees of heap TIDs that keys with many rows have), pending_list_pages, deleted_pages, new_pages (all zeros), corrupt_pages: pages, each counted once, the metapage not.
first_new_block, first_corrupt_block: the lowest such block, or null.
entries: index tuples in leaf pages of the entry tree. posting_items: heap TIDs in posting trees; those that an entry holds itself are not among them. pending_items: index tuples in the pending list, one for each key of a row.
entry_free_bytes, posting_free_bytes, pending_free_bytes, free_bytes (all three together): free space in leaf pages and pages of the pending list, in bytes.
entry_leaf_density, posting_leaf_density: percent of the space in leaf pages that is in use. leaf_fragmentation: percent of the leaf pages of both kinds of trees whose right sibling lies on an earlier block. Null if there is no such page.
Takes an AccessShareLock on the index. Needs EXECUTE, which pg_stat_scan_tables has.';

CREATE FUNCTION brin_stats(
	index regclass,
	OUT version int,
	OUT pages_per_range int,
	OUT index_size bigint,
	OUT revmap_pages bigint,
	OUT regular_pages bigint,
	OUT new_pages bigint,
	OUT corrupt_pages bigint,
	OUT first_new_block bigint,
	OUT first_corrupt_block bigint,
	OUT ranges bigint,
	OUT summarized_ranges bigint,
	OUT unsummarized_ranges bigint,
	OUT items bigint,
	OUT placeholders bigint,
	OUT free_bytes bigint,
	OUT avg_density float8)
AS 'MODULE_PATHNAME', 'sst_brin_stats'
LANGUAGE C VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION brin_stats(regclass) IS
'Statistics of a BRIN index, from all its pages.
version, pages_per_range (table blocks): from the metapage. index_size: bytes.
revmap_pages (of the range map), regular_pages (of summaries), new_pages (all zeros), corrupt_pages: pages, each counted once, the metapage not.
first_new_block, first_corrupt_block: the lowest such block, or null.
ranges: how many the table has by its size, null if the metapage is not to be read. summarized_ranges: those that the range map has a summary of; a table that was truncated leaves summaries behind, which are among them. unsummarized_ranges: ranges less summarized_ranges, and not less than 0.
items: index tuples in regular pages. placeholders: of these, how many stand for a summary that is being made, or was given up. free_bytes: free space in regular pages, in bytes. avg_density: percent of the space in regular pages that is in use, or null if there are none.
Takes an AccessShareLock on the index and its table. Needs EXECUTE, which pg_stat_scan_tables has.';

CREATE FUNCTION gist_stats(
	index regclass,
	OUT index_size bigint,
	OUT internal_pages bigint,
	OUT leaf_pages bigint,
	OUT deleted_pages bigint,
	OUT new_pages bigint,
	OUT corrupt_pages bigint,
	OUT first_new_block bigint,
	OUT first_corrupt_block bigint,
	OUT live_items bigint,
	OUT dead_items bigint,
	OUT free_bytes bigint,
	OUT avg_leaf_density float8)
AS 'MODULE_PATHNAME', 'sst_gist_stats'
LANGUAGE C VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION gist_stats(regclass) IS
'Statistics of a GiST index, from all its pages.
index_size: bytes. internal_pages, leaf_pages, deleted_pages, new_pages (all zeros), corrupt_pages: pages, each counted once; there is no metapage.
first_new_block, first_corrupt_block: the lowest such block, or null.
live_items, dead_items: index tuples in leaf pages not marked dead, and marked dead. free_bytes: free space in leaf pages, in bytes. avg_leaf_density: percent of the space in leaf pages that is in use, or null if there are none.
Takes an AccessShareLock on the index. Needs EXECUTE, which pg_stat_scan_tables has.';

CREATE FUNCTION spgist_stats(
	index regclass,
	OUT index_size bigint,
	OUT inner_pages bigint,
	OUT leaf_pages bigint,
	OUT nulls_pages bigint,
	OUT deleted_pages bigint,
	OUT new_pages bigint,
	OUT corrupt_pages bigint,
	OUT first_new_block bigint,
	OUT first_corrupt_block bigint,
	OUT live_items bigint,
	OUT dead_items bigint,
	OUT redirect_items bigint,
	OUT placeholder_items bigint,
	OUT free_bytes bigint,
	OUT inner_free_bytes bigint,
	OUT avg_leaf_density float8,
	OUT avg_inner_density float8)
AS 'MODULE_PATHNAME', 'sst_spgist_stats'
LANGUAGE C VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION spgist_stats(regclass) IS
'Statistics of an SP-GiST index, from all its pages.
index_size: bytes. inner_pages, leaf_pages, deleted_pages (without a tuple, to be used again), new_pages (all zeros), corrupt_pages: pages, each counted once, the metapage not. nulls_pages: the inner and leaf pages that are of the tree of nulls.
first_new_block, first_corrupt_block: the lowest such block, or null.
live_items: leaf tuples, one for each heap tuple. redirect_items, placeholder_items, dead_items: tuples of inner and leaf pages that others have left behind: that say where it went, that only keep the numbers of those behind them, that cannot be removed because something points to them.
free_bytes, inner_free_bytes: free space in leaf pages, and in inner pages, in bytes. avg_leaf_density, avg_inner_density: percent of the space in these pages that is in use, or null if there are none.
Takes an AccessShareLock on the index. Needs EXECUTE, which pg_stat_scan_tables has.';

CREATE FUNCTION index_stats(
	index regclass,
	OUT relation regclass,
	OUT method text,
	OUT index_size bigint,
	OUT pages bigint,
	OUT leaf_pages bigint,
	OUT internal_pages bigint,
	OUT deleted_pages bigint,
	OUT new_pages bigint,
	OUT corrupt_pages bigint,
	OUT first_new_block bigint,
	OUT first_corrupt_block bigint,
	OUT free_bytes bigint,
	OUT avg_leaf_density float8,
	OUT leaf_fragmentation float8,
	OUT note text)
AS 'MODULE_PATHNAME', 'sst_index_stats'
LANGUAGE C VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION index_stats(regclass) IS
'Statistics of an index of any access method, from all its pages.
relation: whose row it is. method: access method. index_size: bytes, in pages pages. leaf_pages: pages that hold what the index is for (hash: bucket and overflow pages; GIN: leaf pages of all its trees, and pending list; BRIN: regular pages). internal_pages: pages that lead there (hash: bitmap pages; BRIN: revmap). deleted_pages: pages empty or set free. new_pages (all zeros), corrupt_pages: pages. The metapage is none of these. first_new_block, first_corrupt_block: the lowest, or null.
free_bytes: free bytes in leaf pages. avg_leaf_density: percent of the space in leaf pages that is in use. leaf_fragmentation: b-tree and GIN, percent of leaf pages whose right sibling lies on an earlier block.
note: what keeps the index from being read (a temporary index of another session, an unlogged one during recovery, one that is being built or was not completed, one with partitions, one that is gone), or that it is not valid, or that its access method is not one of the server''s own: then pages are told apart by their headers only. Else null.
Takes an AccessShareLock on the index. Needs EXECUTE, which pg_stat_scan_tables has.';

CREATE FUNCTION index_stats_tree(
	index regclass,
	OUT relation regclass,
	OUT method text,
	OUT index_size bigint,
	OUT pages bigint,
	OUT leaf_pages bigint,
	OUT internal_pages bigint,
	OUT deleted_pages bigint,
	OUT new_pages bigint,
	OUT corrupt_pages bigint,
	OUT first_new_block bigint,
	OUT first_corrupt_block bigint,
	OUT free_bytes bigint,
	OUT avg_leaf_density float8,
	OUT leaf_fragmentation float8,
	OUT note text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'sst_index_stats_tree'
LANGUAGE C VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION index_stats_tree(regclass) IS
'Statistics of all indexes under a partitioned index: a row for each, as index_stats has it, and behind them the sum, under the name of the partitioned index.
Takes an AccessShareLock on the partitioned index, and on one partition at a time. Needs EXECUTE, which pg_stat_scan_tables has.';

CREATE FUNCTION table_stats(
	"table" regclass,
	with_toast text DEFAULT 'no',
	OUT relation regclass,
	OUT table_len bigint,
	OUT tuple_count bigint,
	OUT tuple_len bigint,
	OUT tuple_percent float8,
	OUT dead_tuple_count bigint,
	OUT dead_tuple_len bigint,
	OUT dead_tuple_percent float8,
	OUT free_space bigint,
	OUT free_percent float8,
	OUT recently_dead_tuples bigint,
	OUT insert_in_progress_tuples bigint,
	OUT delete_in_progress_tuples bigint,
	OUT dead_line_pointers bigint,
	OUT redirect_line_pointers bigint,
	OUT unused_line_pointers bigint,
	OUT pages bigint,
	OUT all_visible_pages bigint,
	OUT all_frozen_pages bigint,
	OUT truncatable_pages bigint,
	OUT new_pages bigint,
	OUT corrupt_pages bigint,
	OUT first_new_block bigint,
	OUT first_corrupt_block bigint,
	OUT largest_free_space int,
	OUT fsm_free_space bigint,
	OUT fsm_pages_with_free_space bigint,
	OUT fsm_largest_free_space int,
	OUT note text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'sst_table_stats'
LANGUAGE C VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION table_stats(regclass, text) IS
'Statistics of a table, materialized view, TOAST table or sequence, from one pass over its pages and those of its maps.
relation: whose row it is. table_len: bytes, in pages pages. tuple_count, dead_tuple_count: tuples that are live, or being inserted or deleted by another transaction; and all others. tuple_len, dead_tuple_len: their bytes. free_space: free bytes in the pages. tuple_percent, dead_tuple_percent, free_percent: of table_len. All these as pgstattuple has them.
recently_dead_tuples: dead tuples that VACUUM must keep, because a transaction may still see them. insert_in_progress_tuples, delete_in_progress_tuples: tuples whose inserter or deleter has not ended. dead_line_pointers, redirect_line_pointers, unused_line_pointers: line pointers left by pruning.
all_visible_pages, all_frozen_pages: pages, by the visibility map. truncatable_pages: pages at the end of which VACUUM needs none (it truncates when they are 1000, or a 16th of the table). new_pages (all zeros), corrupt_pages: pages; first_new_block, first_corrupt_block: the lowest, or null. largest_free_space: free bytes in the page that has most. fsm_free_space, fsm_pages_with_free_space, fsm_largest_free_space: what the free space map says of that, in bytes, pages, and bytes. note: why there are no numbers, or null.
with_toast: no (leave the TOAST table out), row (a row of its own) or sum (added to the table''s row).
Nothing is written: no hint bit, no WAL. Takes an AccessShareLock on the table, and its TOAST table. Needs EXECUTE, which pg_stat_scan_tables has.';

CREATE FUNCTION table_stats_tree(
	"table" regclass,
	with_toast text DEFAULT 'no',
	OUT relation regclass,
	OUT table_len bigint,
	OUT tuple_count bigint,
	OUT tuple_len bigint,
	OUT tuple_percent float8,
	OUT dead_tuple_count bigint,
	OUT dead_tuple_len bigint,
	OUT dead_tuple_percent float8,
	OUT free_space bigint,
	OUT free_percent float8,
	OUT recently_dead_tuples bigint,
	OUT insert_in_progress_tuples bigint,
	OUT delete_in_progress_tuples bigint,
	OUT dead_line_pointers bigint,
	OUT redirect_line_pointers bigint,
	OUT unused_line_pointers bigint,
	OUT pages bigint,
	OUT all_visible_pages bigint,
	OUT all_frozen_pages bigint,
	OUT truncatable_pages bigint,
	OUT new_pages bigint,
	OUT corrupt_pages bigint,
	OUT first_new_block bigint,
	OUT first_corrupt_block bigint,
	OUT largest_free_space int,
	OUT fsm_free_space bigint,
	OUT fsm_pages_with_free_space bigint,
	OUT fsm_largest_free_space int,
	OUT note text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'sst_table_stats_tree'
LANGUAGE C VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION table_stats_tree(regclass, text) IS
'Statistics of all tables of a partition or inheritance tree: rows for each, as table_stats has them, and behind them the sum, TOAST tables included as asked, under the name of the tree''s root. A partition that cannot be read (a foreign table, for instance) has a row with a note.
Takes an AccessShareLock on the root, and on one partition at a time. Needs EXECUTE, which pg_stat_scan_tables has.';

CREATE FUNCTION visibility_summary(
	"table" regclass,
	OUT pages bigint,
	OUT all_visible bigint,
	OUT all_frozen bigint,
	OUT unfrozen_ranges bigint,
	OUT largest_unfrozen_range bigint,
	OUT corrupt_map_pages bigint)
AS 'MODULE_PATHNAME', 'sst_visibility_summary'
LANGUAGE C VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION visibility_summary(regclass) IS
'What the visibility map of a table says, in pages.
pages: of the table. all_visible, all_frozen: as pg_visibility_map_summary has them. unfrozen_ranges: runs of neighbouring pages that are not all-frozen, which an aggressive VACUUM has to read. largest_unfrozen_range: pages of the largest one. corrupt_map_pages: pages of the map that make no sense; their bits count as not set.
Reads the map only. Takes an AccessShareLock on the table. Needs EXECUTE, which pg_stat_scan_tables has.';

CREATE FUNCTION unfrozen_ranges(
	"table" regclass,
	OUT first_block bigint,
	OUT last_block bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'sst_unfrozen_ranges'
LANGUAGE C VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION unfrozen_ranges(regclass) IS
'Runs of neighbouring pages that the visibility map has not as all-frozen: first_block, last_block, in ascending order.
Reads the map only. Takes an AccessShareLock on the table. Needs EXECUTE, which pg_stat_scan_tables has.';

CREATE FUNCTION free_space_summary(
	relation regclass,
	OUT pages bigint,
	OUT pages_with_free_space bigint,
	OUT free_space bigint,
	OUT free_percent float8,
	OUT largest_free_space int,
	OUT corrupt_map_pages bigint)
AS 'MODULE_PATHNAME', 'sst_free_space_summary'
LANGUAGE C VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION free_space_summary(regclass) IS
'What the free space map of a table or index says.
pages: of the relation. pages_with_free_space: pages that have some. free_space: bytes in all, which the map has in steps of 32. free_percent: of the relation''s bytes, or null if it has none. largest_free_space: bytes in the page that has most. corrupt_map_pages: pages of the map that make no sense; they count as no free space. An index has whole pages in its map, those that can be used again.
Reads the map only. Takes an AccessShareLock on the relation. Needs EXECUTE, which pg_stat_scan_tables has.';

CREATE FUNCTION layout_map(
	relation regclass,
	buckets int DEFAULT 64,
	OUT bucket int,
	OUT first_block bigint,
	OUT last_block bigint,
	OUT free_percent float8,
	OUT dead_percent float8,
	OUT buffered_percent float8,
	OUT bar text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'sst_layout_map'
LANGUAGE C VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION layout_map(regclass, int) IS
'Where in a table''s or index''s file the space is: a row for each of so many buckets of neighbouring blocks, all of about the same size.
bucket: its number, from 1. first_block, last_block: its blocks. free_percent: percent of its bytes that are free (new, empty and deleted pages altogether). dead_percent: percent of its bytes in dead tuples; of an index, in tuples marked dead. buffered_percent: percent of its blocks that were in shared buffers; null unless one is a member of pg_monitor, who may use pg_buffercache. bar: a picture: # in use, x dead, . free.
Takes an AccessShareLock on the relation. Needs EXECUTE, which pg_stat_scan_tables has.';

CREATE FUNCTION sample(
	relation regclass,
	blocks int DEFAULT 10000,
	seed bigint DEFAULT NULL,
	margin float8 DEFAULT NULL,
	max_time interval DEFAULT NULL,
	OUT statistic text,
	OUT estimate float8,
	OUT low float8,
	OUT high float8,
	OUT blocks_sampled bigint,
	OUT blocks_total bigint,
	OUT exact boolean,
	OUT ended_by text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'sst_sample'
LANGUAGE C VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION sample(regclass, int, bigint, float8, interval) IS
'Page statistics of a table or of an index of any access method, from a random sample of its blocks.
The relation is cut into as many equal ranges as blocks are to be read, and one block of each is drawn. With a margin, samples grow until the interval of the main statistic (avg_leaf_density, avg_density or free_percent; of GIN the density of what has more bytes) is at most so many percentage points wide to each side; blocks is the most to be read in all then. max_time: no block is asked for after that.
One row for each statistic. statistic: its name; ..._pages count pages; ..._items, items, entries, placeholders, ..._ranges and ..._count count items of all the relation; ..._bytes, ..._len and free_space are bytes; the others are percent. Of a table, those that table_stats has as well mean the same, all_visible_... what the pages themselves say. estimate: what the relation has, as far as the sample tells; null for a percentage of nothing. low, high: the ends of the 95 % confidence interval; null if the sample is too small to show one. blocks_sampled, blocks_total: blocks read, and blocks of the relation. exact: all blocks were read, so that the estimate is the true value. ended_by: margin, blocks, all (there are no more blocks), or max_time (the rows are those of the last sample that was read to its end, or null).
Of a table, blocks that the visibility map vouches for are sampled apart: what is dead is looked for among the others.
The same seed gives the same rows, as long as the relation does not change.
Takes an AccessShareLock on the relation. Needs EXECUTE, which pg_stat_scan_tables has.';

CREATE FUNCTION reclaim(
	relation regclass,
	blocks int DEFAULT 10000,
	with_toast text DEFAULT 'row',
	seed bigint DEFAULT NULL)
RETURNS TABLE (
	relation regclass,
	bytes bigint,
	predicted_bytes bigint,
	predicted_low bigint,
	predicted_high bigint,
	reclaimable_bytes bigint,
	reclaimable_low bigint,
	reclaimable_high bigint,
	reclaimable_percent float8,
	blocks_read bigint,
	blocks_total bigint,
	exact boolean,
	reason text)
AS 'MODULE_PATHNAME', 'sst_reclaim'
LANGUAGE C VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION reclaim(regclass, int, text, bigint) IS
'How large a relation would be if it were built anew, by REINDEX of an index or VACUUM FULL of a table, and what that gives back. From a random sample of its blocks, or from all if it has no more.
blocks: how many to read at most; of an index''s table, as many again, to see which of its rows are dead. with_toast: a table''s TOAST table has a row of its own (row), is added to the table''s row (sum), or is left out (no).
One row for the relation. bytes: of the main fork. predicted_bytes: of the new one; null where this is not known. reclaimable_bytes, reclaimable_percent: the difference, in percent of bytes; 0 where bytes is within what the prediction leaves open. ..._low, ..._high: between these, the value is likely to be. blocks_read, blocks_total: blocks of the relation. exact: all of them were read. reason: why nothing is predicted, or what else is to be known; else null.
Takes an AccessShareLock on the relation, and on the table if it is an index. Needs EXECUTE, which pg_stat_scan_tables has.';

CREATE FUNCTION database_report(
	budget text DEFAULT '1GB',
	max_time interval DEFAULT '60s',
	max_rate text DEFAULT NULL,
	margin float8 DEFAULT 2,
	seed bigint DEFAULT NULL,
	OUT relation regclass,
	OUT schema_name text,
	OUT name text,
	OUT parent regclass,
	OUT parent_name text,
	OUT kind text,
	OUT access_method text,
	OUT method text,
	OUT bytes bigint,
	OUT bytes_read bigint,
	OUT free_percent float8,
	OUT free_percent_low float8,
	OUT free_percent_high float8,
	OUT dead_percent float8,
	OUT dead_percent_low float8,
	OUT dead_percent_high float8,
	OUT rebuilt_bytes bigint,
	OUT bytes_back bigint,
	OUT bytes_back_low bigint,
	OUT bytes_back_high bigint,
	OUT last_vacuum timestamptz,
	OUT reason text,
	OUT command text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'sst_database_report'
LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 1000;

COMMENT ON FUNCTION database_report(text, interval, text, float8, bigint) IS
'What every table, partition, materialized view, TOAST table and index of the database would give back, found out within limits; what gives back most comes first.
budget: bytes that may be read in all, as pg_size_bytes takes them; every page that is looked at counts, from wherever it comes. max_time: how long it may take. max_rate: bytes per second, or null. margin: up to how many points free_percent and dead_percent may be off, if the limits allow. seed: the same one draws the same samples.
relation, schema_name, name: the relation. parent, parent_name: the table of an index or of a TOAST table, the partitioned table of a partition. kind: table, partition, materialized view, toast table or index. access_method: of the relation. method: exact (all pages were read), sampled or skipped. bytes, bytes_read: bytes of the relation''s main fork, and bytes read of it. free_percent, dead_percent: free space and dead tuples in percent of bytes. rebuilt_bytes: bytes after a rebuild. bytes_back: bytes that it gives back. ..._low, ..._high: the ends of the 95 % confidence interval. last_vacuum: of the table, by hand or by autovacuum, as the server''s statistics have it. reason: why it was skipped, or what cannot be told or is wrong. command: what mends it, if that is at least 64 kB, and 10 MB or 10 % of the relation, and certainly more than nothing; null otherwise.
A small sample of every relation comes first, then larger ones of those that are not known to the margin, then of those where bytes_back is known least. A relation that cannot be read, or that another session has locked, is skipped, with the reason. No lock is waited for.
Takes an AccessShareLock on one relation at a time, and on the table of an index, and releases it after that relation. Holds the snapshot of the query to the end, which keeps VACUUM from removing rows meanwhile; run_database_report does not. Needs EXECUTE, which pg_stat_scan_tables has.';

CREATE PROCEDURE run_database_report(
	budget text DEFAULT '1GB',
	max_time interval DEFAULT '60s',
	max_rate text DEFAULT NULL,
	margin float8 DEFAULT 2,
	seed bigint DEFAULT NULL,
	INOUT started timestamptz DEFAULT NULL,
	INOUT elapsed_ms float8 DEFAULT NULL,
	INOUT ended_by text DEFAULT NULL,
	INOUT relations bigint DEFAULT NULL,
	INOUT exact bigint DEFAULT NULL,
	INOUT sampled bigint DEFAULT NULL,
	INOUT skipped bigint DEFAULT NULL,
	INOUT bytes_total bigint DEFAULT NULL,
	INOUT bytes_read bigint DEFAULT NULL,
	INOUT bytes_skipped bigint DEFAULT NULL,
	INOUT bytes_left bigint DEFAULT NULL,
	INOUT bytes_back bigint DEFAULT NULL,
	INOUT bytes_back_low bigint DEFAULT NULL,
	INOUT bytes_back_high bigint DEFAULT NULL)
AS 'MODULE_PATHNAME', 'sst_run_database_report'
LANGUAGE C;

COMMENT ON PROCEDURE run_database_report(text, interval, text, float8, bigint, timestamptz, float8, text, bigint, bigint, bigint, bigint, bigint, bigint, bigint, bigint, bigint, bigint, bigint) IS
'Makes a report as database_report does, with the same limits, and keeps the rows for last_database_report.
The other arguments are for the result, which has the columns of database_report_summary; leave them out.
Commits after each relation, so that no snapshot is held for longer than that; in a transaction block it does not commit, and holds the snapshot to the end.
Takes an AccessShareLock on one relation at a time, and on the table of an index. Needs EXECUTE, which pg_stat_scan_tables has.';

CREATE FUNCTION last_database_report(
	OUT relation regclass,
	OUT schema_name text,
	OUT name text,
	OUT parent regclass,
	OUT parent_name text,
	OUT kind text,
	OUT access_method text,
	OUT method text,
	OUT bytes bigint,
	OUT bytes_read bigint,
	OUT free_percent float8,
	OUT free_percent_low float8,
	OUT free_percent_high float8,
	OUT dead_percent float8,
	OUT dead_percent_low float8,
	OUT dead_percent_high float8,
	OUT rebuilt_bytes bigint,
	OUT bytes_back bigint,
	OUT bytes_back_low bigint,
	OUT bytes_back_high bigint,
	OUT last_vacuum timestamptz,
	OUT reason text,
	OUT command text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'sst_last_database_report'
LANGUAGE C VOLATILE PARALLEL RESTRICTED ROWS 1000;

COMMENT ON FUNCTION last_database_report() IS
'The rows of the last report of this session, by database_report or run_database_report; as far as it came if it was canceled; no rows before the first one.
The columns and units are those of database_report.
Reads nothing and takes no lock. Needs EXECUTE, which pg_stat_scan_tables has.';

CREATE FUNCTION database_report_summary(
	OUT started timestamptz,
	OUT elapsed_ms float8,
	OUT ended_by text,
	OUT relations bigint,
	OUT exact bigint,
	OUT sampled bigint,
	OUT skipped bigint,
	OUT bytes_total bigint,
	OUT bytes_read bigint,
	OUT bytes_skipped bigint,
	OUT bytes_left bigint,
	OUT bytes_back bigint,
	OUT bytes_back_low bigint,
	OUT bytes_back_high bigint)
AS 'MODULE_PATHNAME', 'sst_database_report_summary'
LANGUAGE C VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION database_report_summary() IS
'The last report of this session in one row; nulls before the first one.
started: when it began. elapsed_ms: milliseconds; null if it was canceled. ended_by: complete (nothing more was to be read), budget or max_time (the limit that was met first), or canceled. relations: how many; exact, sampled, skipped: how many of them were read in full, in part, and not at all. bytes_total: bytes of all relations. bytes_read: bytes read. bytes_skipped: bytes of the relations that were skipped. bytes_left: bytes that no sample has looked at. bytes_back: sum of the bytes that rebuilds are expected to give back; bytes_back_low, bytes_back_high: sums of the ends of the intervals, which all at once are less likely than each.
Takes no lock. Needs EXECUTE, which pg_stat_scan_tables has.';

-- Every name, operator and argument in a view is spelled out: what others may have
-- put into the schema before us fits none of them better.
CREATE VIEW @extschema@.metrics AS
	SELECT r.schema_name, r.name AS relation, r.kind, m.metric, m.value
	FROM @extschema@.database_report('1GB'::pg_catalog.text, '60s'::pg_catalog.interval,
			NULL::pg_catalog.text, 2::double precision, NULL::bigint) r, LATERAL (VALUES
		('streamstat_relation_bytes', r.bytes::double precision),
		('streamstat_read_bytes', r.bytes_read::double precision),
		('streamstat_measured', (r.method OPERATOR(pg_catalog.<>) 'skipped')::int::double precision),
		('streamstat_measured_exact', (r.method OPERATOR(pg_catalog.=) 'exact')::int::double precision),
		('streamstat_free_ratio', r.free_percent OPERATOR(pg_catalog./) 100),
		('streamstat_free_ratio_low', r.free_percent_low OPERATOR(pg_catalog./) 100),
		('streamstat_free_ratio_high', r.free_percent_high OPERATOR(pg_catalog./) 100),
		('streamstat_dead_ratio', r.dead_percent OPERATOR(pg_catalog./) 100),
		('streamstat_dead_ratio_low', r.dead_percent_low OPERATOR(pg_catalog./) 100),
		('streamstat_dead_ratio_high', r.dead_percent_high OPERATOR(pg_catalog./) 100),
		('streamstat_rebuilt_bytes', r.rebuilt_bytes::double precision),
		('streamstat_reclaimable_bytes', r.bytes_back::double precision),
		('streamstat_reclaimable_bytes_low', r.bytes_back_low::double precision),
		('streamstat_reclaimable_bytes_high', r.bytes_back_high::double precision),
		('streamstat_last_vacuum_timestamp_seconds', extract(epoch FROM r.last_vacuum)::double precision)
	) AS m (metric, value)
	WHERE m.value IS NOT NULL;

COMMENT ON VIEW @extschema@.metrics IS
'database_report with its default limits (1 GB read, 60 seconds), in the shape that exporters want: one row for each relation and metric that is known.
schema_name, relation, kind: as there. metric: its name, which stays. value: bytes, ratios from 0 to 1, seconds since 1970, or 1 and 0 for yes and no.
Each query makes a report. Locks and permission are those of database_report, and SELECT, which pg_stat_scan_tables has.';

CREATE VIEW @extschema@.advice AS
	SELECT pg_catalog.row_number() OVER () AS rank, r.*
	FROM (SELECT relation, command, bytes_back, bytes_back_low, bytes_back_high,
			CASE WHEN bytes OPERATOR(pg_catalog.>) 0
				THEN 100.0::double precision OPERATOR(pg_catalog.*) bytes_back OPERATOR(pg_catalog./) bytes
			END AS percent
		FROM @extschema@.database_report('1GB'::pg_catalog.text, '60s'::pg_catalog.interval,
			NULL::pg_catalog.text, 2::double precision, NULL::bigint)
		WHERE command IS NOT NULL
		ORDER BY bytes_back DESC NULLS LAST, bytes DESC
		LIMIT 20) r;

COMMENT ON VIEW @extschema@.advice IS
'The 20 commands that give back most, by database_report with its default limits (1 GB read, 60 seconds).
rank: 1 for the most. relation: what is to be mended. command: what mends it. bytes_back, bytes_back_low, bytes_back_high: bytes expected to be given back, and the ends of the 95 % confidence interval. percent: bytes_back in percent of the relation.
Each query makes a report. Locks and permission are those of database_report, and SELECT, which pg_stat_scan_tables has.';

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

CREATE FUNCTION stat_progress(
	OUT pid int,
	OUT datid oid,
	OUT function text,
	OUT phase text,
	OUT relation oid,
	OUT blocks_done bigint,
	OUT blocks_total bigint,
	OUT relations_done bigint,
	OUT relations_total bigint,
	OUT bytes_done bigint,
	OUT bytes_total bigint,
	OUT bytes_per_second float8,
	OUT started timestamptz,
	OUT expected_end timestamptz)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'sst_stat_progress'
LANGUAGE C VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION stat_progress() IS
'What calls of these functions are under way, in all sessions: see the view progress.
Takes no lock. Everybody may call it; of sessions of other roles it shows more than pid and datid to members of pg_read_all_stats only.';

CREATE VIEW @extschema@.progress AS
	SELECT p.pid, p.datid, d.datname, p.function, p.phase, p.relation,
		p.blocks_done, p.blocks_total, p.relations_done, p.relations_total,
		p.bytes_done, p.bytes_total, p.bytes_per_second, p.started,
		p.expected_end
	FROM @extschema@.stat_progress() p
		LEFT JOIN pg_catalog.pg_database d ON d.oid OPERATOR(pg_catalog.=) p.datid;

COMMENT ON VIEW @extschema@.progress IS
'A row for each session, of any database, that is in a call of a function that reads a relation''s pages. Of sessions of other roles, all but pid, datid and datname is null, unless one is a member of pg_read_all_stats.';
COMMENT ON COLUMN @extschema@.progress.pid IS 'process of the session';
COMMENT ON COLUMN @extschema@.progress.datid IS 'OID of its database';
COMMENT ON COLUMN @extschema@.progress.datname IS 'name of its database';
COMMENT ON COLUMN @extschema@.progress.function IS 'function that was called';
COMMENT ON COLUMN @extschema@.progress.phase IS 'scanning; or in a report on many relations: catalog, first samples, measuring, finishing';
COMMENT ON COLUMN @extschema@.progress.relation IS 'OID, in the session''s database, of the relation that is being scanned; null before the first';
COMMENT ON COLUMN @extschema@.progress.blocks_done IS 'blocks of the present scan that were looked at, by all processes';
COMMENT ON COLUMN @extschema@.progress.blocks_total IS 'blocks of the present scan';
COMMENT ON COLUMN @extschema@.progress.relations_done IS 'relations that the call is done with';
COMMENT ON COLUMN @extschema@.progress.relations_total IS 'relations that the call is about; null if not known';
COMMENT ON COLUMN @extschema@.progress.bytes_done IS 'bytes that the call has looked at, of all relations and forks';
COMMENT ON COLUMN @extschema@.progress.bytes_total IS 'bytes that the call will have looked at; null if not known (yet)';
COMMENT ON COLUMN @extschema@.progress.bytes_per_second IS 'bytes_done per second since the call began';
COMMENT ON COLUMN @extschema@.progress.started IS 'when the call began';
COMMENT ON COLUMN @extschema@.progress.expected_end IS 'when the call will end if it goes on like this; null if not known';

GRANT SELECT ON @extschema@.progress TO PUBLIC;

--
-- Functions with the names, arguments, columns and results of contrib's
--

CREATE FUNCTION pgstattuple(
	relname text,
	OUT table_len bigint,
	OUT tuple_count bigint,
	OUT tuple_len bigint,
	OUT tuple_percent float8,
	OUT dead_tuple_count bigint,
	OUT dead_tuple_len bigint,
	OUT dead_tuple_percent float8,
	OUT free_space bigint,
	OUT free_percent float8)
AS 'MODULE_PATHNAME', 'sst_pgstattuple'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION pgstattuple(text) IS
'Tuples of a table, or of a b-tree, hash or GiST index, by its name, as pgstattuple''s function of this name counts them, but without writing hint bits.
table_len: bytes. tuple_count, dead_tuple_count: tuples, live and dead; tuple_len, dead_tuple_len: their bytes. free_space: bytes. The percentages are of table_len.
Takes an AccessShareLock on the relation. Needs EXECUTE, which pg_stat_scan_tables has.';

CREATE FUNCTION pgstattuple(
	reloid regclass,
	OUT table_len bigint,
	OUT tuple_count bigint,
	OUT tuple_len bigint,
	OUT tuple_percent float8,
	OUT dead_tuple_count bigint,
	OUT dead_tuple_len bigint,
	OUT dead_tuple_percent float8,
	OUT free_space bigint,
	OUT free_percent float8)
AS 'MODULE_PATHNAME', 'sst_pgstattuplebyid'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION pgstattuple(regclass) IS
'Tuples of a table, or of a b-tree, hash or GiST index, as pgstattuple''s function of this name counts them, but without writing hint bits.
table_len: bytes. tuple_count, dead_tuple_count: tuples, live and dead; tuple_len, dead_tuple_len: their bytes. free_space: bytes. The percentages are of table_len.
Takes an AccessShareLock on the relation. Needs EXECUTE, which pg_stat_scan_tables has.';

CREATE FUNCTION pgstattuple_approx(
	reloid regclass,
	OUT table_len bigint,
	OUT scanned_percent float8,
	OUT approx_tuple_count bigint,
	OUT approx_tuple_len bigint,
	OUT approx_tuple_percent float8,
	OUT dead_tuple_count bigint,
	OUT dead_tuple_len bigint,
	OUT dead_tuple_percent float8,
	OUT approx_free_space bigint,
	OUT approx_free_percent float8)
AS 'MODULE_PATHNAME', 'sst_pgstattuple_approx'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION pgstattuple_approx(regclass) IS
'Tuples of a table, without the pages that are all-visible by its visibility map, as pgstattuple''s function of this name counts them, but without writing hint bits.
scanned_percent: percent of the pages that were read. table_len, approx_tuple_len, dead_tuple_len, approx_free_space: bytes; approx_tuple_count, dead_tuple_count: tuples. The other percentages are of table_len.
Takes an AccessShareLock on the table. Needs EXECUTE, which pg_stat_scan_tables has.';

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
Takes an AccessShareLock on the relation, and on the table if it is an index, which must not be one that is being built. Needs SELECT on the table.';

--
-- Whoever may run pgstattuple''s functions may run these.
--

REVOKE EXECUTE ON FUNCTION btree_stats(regclass) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION hash_stats(regclass) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION gin_stats(regclass) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION brin_stats(regclass) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION gist_stats(regclass) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION spgist_stats(regclass) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION index_stats(regclass) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION index_stats_tree(regclass) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION table_stats(regclass, text) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION table_stats_tree(regclass, text) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION visibility_summary(regclass) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION unfrozen_ranges(regclass) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION free_space_summary(regclass) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION layout_map(regclass, int) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION sample(regclass, int, bigint, float8, interval) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION reclaim(regclass, int, text, bigint) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION database_report(text, interval, text, float8, bigint) FROM PUBLIC;
REVOKE EXECUTE ON PROCEDURE run_database_report(text, interval, text, float8, bigint, timestamptz, float8, text, bigint, bigint, bigint, bigint, bigint, bigint, bigint, bigint, bigint, bigint, bigint) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION last_database_report() FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION database_report_summary() FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION pgstattuple(text) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION pgstattuple(regclass) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION pgstattuple_approx(regclass) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION pgstatindex(text) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION pgstatindex(regclass) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION pgstathashindex(regclass) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION pgstatginindex(regclass) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION pg_relpages(text) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION pg_relpages(regclass) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION btree_stats(regclass) TO pg_stat_scan_tables;
GRANT EXECUTE ON FUNCTION hash_stats(regclass) TO pg_stat_scan_tables;
GRANT EXECUTE ON FUNCTION gin_stats(regclass) TO pg_stat_scan_tables;
GRANT EXECUTE ON FUNCTION brin_stats(regclass) TO pg_stat_scan_tables;
GRANT EXECUTE ON FUNCTION gist_stats(regclass) TO pg_stat_scan_tables;
GRANT EXECUTE ON FUNCTION spgist_stats(regclass) TO pg_stat_scan_tables;
GRANT EXECUTE ON FUNCTION index_stats(regclass) TO pg_stat_scan_tables;
GRANT EXECUTE ON FUNCTION index_stats_tree(regclass) TO pg_stat_scan_tables;
GRANT EXECUTE ON FUNCTION table_stats(regclass, text) TO pg_stat_scan_tables;
GRANT EXECUTE ON FUNCTION table_stats_tree(regclass, text) TO pg_stat_scan_tables;
GRANT EXECUTE ON FUNCTION visibility_summary(regclass) TO pg_stat_scan_tables;
GRANT EXECUTE ON FUNCTION unfrozen_ranges(regclass) TO pg_stat_scan_tables;
GRANT EXECUTE ON FUNCTION free_space_summary(regclass) TO pg_stat_scan_tables;
GRANT EXECUTE ON FUNCTION layout_map(regclass, int) TO pg_stat_scan_tables;
GRANT EXECUTE ON FUNCTION sample(regclass, int, bigint, float8, interval) TO pg_stat_scan_tables;
GRANT EXECUTE ON FUNCTION reclaim(regclass, int, text, bigint) TO pg_stat_scan_tables;
GRANT EXECUTE ON FUNCTION database_report(text, interval, text, float8, bigint) TO pg_stat_scan_tables;
GRANT EXECUTE ON PROCEDURE run_database_report(text, interval, text, float8, bigint, timestamptz, float8, text, bigint, bigint, bigint, bigint, bigint, bigint, bigint, bigint, bigint, bigint, bigint) TO pg_stat_scan_tables;
GRANT EXECUTE ON FUNCTION last_database_report() TO pg_stat_scan_tables;
GRANT EXECUTE ON FUNCTION database_report_summary() TO pg_stat_scan_tables;
GRANT SELECT ON @extschema@.metrics, @extschema@.advice TO pg_stat_scan_tables;
GRANT EXECUTE ON FUNCTION pgstattuple(text) TO pg_stat_scan_tables;
GRANT EXECUTE ON FUNCTION pgstattuple(regclass) TO pg_stat_scan_tables;
GRANT EXECUTE ON FUNCTION pgstattuple_approx(regclass) TO pg_stat_scan_tables;
GRANT EXECUTE ON FUNCTION pgstatindex(text) TO pg_stat_scan_tables;
GRANT EXECUTE ON FUNCTION pgstatindex(regclass) TO pg_stat_scan_tables;
GRANT EXECUTE ON FUNCTION pgstathashindex(regclass) TO pg_stat_scan_tables;
GRANT EXECUTE ON FUNCTION pgstatginindex(regclass) TO pg_stat_scan_tables;
GRANT EXECUTE ON FUNCTION pg_relpages(text) TO pg_stat_scan_tables;
GRANT EXECUTE ON FUNCTION pg_relpages(regclass) TO pg_stat_scan_tables;
