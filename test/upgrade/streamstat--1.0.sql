/* streamstat--1.0.sql */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION streamstat" to load this file. \quit

-- Everybody may look; what a role may do is decided function by function.
GRANT USAGE ON SCHEMA @extschema@ TO PUBLIC;

--
-- Each of our own functions that returns rows has a row type, which is called
-- after it.  An update script can add a column by ALTER TYPE ... ADD ATTRIBUTE
-- while views depend on the function; OUT parameters could not be changed then.
-- Names, order and types of columns follow the glossary in src/README.md.
--

--
-- Indexes
--

CREATE TYPE @extschema@.btree_stats_row AS (
	version int,
	tree_level int,
	root_block_no bigint,
	allequalimage boolean,
	bytes bigint,
	pages bigint,
	internal_pages bigint,
	leaf_pages bigint,
	empty_pages bigint,
	deleted_pages bigint,
	live_items bigint,
	dead_items bigint,
	posting_percent float8,
	free_bytes bigint,
	avg_leaf_density float8,
	leaf_fragmentation float8,
	new_pages bigint,
	corrupt_pages bigint,
	first_new_block bigint,
	first_corrupt_block bigint);

COMMENT ON TYPE btree_stats_row IS 'row of btree_stats';
COMMENT ON COLUMN btree_stats_row.version IS 'version of the index format, from the metapage';
COMMENT ON COLUMN btree_stats_row.tree_level IS 'level of the root page, from the metapage';
COMMENT ON COLUMN btree_stats_row.root_block_no IS 'block number of the root page, from the metapage';
COMMENT ON COLUMN btree_stats_row.allequalimage IS 'equal keys are identical, so deduplication is safe (from the metapage)';
COMMENT ON COLUMN btree_stats_row.bytes IS 'size of the main fork, in bytes';
COMMENT ON COLUMN btree_stats_row.pages IS 'pages of the main fork';
COMMENT ON COLUMN btree_stats_row.internal_pages IS 'internal pages';
COMMENT ON COLUMN btree_stats_row.leaf_pages IS 'leaf pages';
COMMENT ON COLUMN btree_stats_row.empty_pages IS 'half-dead pages';
COMMENT ON COLUMN btree_stats_row.deleted_pages IS 'deleted pages, which can be used again';
COMMENT ON COLUMN btree_stats_row.live_items IS 'index tuples in leaf pages that are not marked dead; a posting list tuple is one';
COMMENT ON COLUMN btree_stats_row.dead_items IS 'index tuples in leaf pages that are marked dead';
COMMENT ON COLUMN btree_stats_row.posting_percent IS 'posting list tuples, in percent of the items; of a large index whose tuple lengths do not tell, from every 16th block';
COMMENT ON COLUMN btree_stats_row.free_bytes IS 'free bytes in leaf pages';
COMMENT ON COLUMN btree_stats_row.avg_leaf_density IS 'percent of the space in leaf pages that is in use';
COMMENT ON COLUMN btree_stats_row.leaf_fragmentation IS 'percent of the leaf pages whose right sibling lies on an earlier block';
COMMENT ON COLUMN btree_stats_row.new_pages IS 'pages of zeros';
COMMENT ON COLUMN btree_stats_row.corrupt_pages IS 'pages that make no sense: checksum, header or contents';
COMMENT ON COLUMN btree_stats_row.first_new_block IS 'lowest block that is a new page';
COMMENT ON COLUMN btree_stats_row.first_corrupt_block IS 'lowest block that is a corrupt page';

CREATE FUNCTION btree_stats(
	relation regclass)
RETURNS @extschema@.btree_stats_row
AS 'MODULE_PATHNAME', 'sst_btree_stats'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100000;

COMMENT ON FUNCTION btree_stats(regclass) IS
'Reads all pages of a B-tree index and returns page, item and space counts in one row; the columns of btree_stats_row have comments.
Takes an AccessShareLock on the index. Needs EXECUTE, granted to pg_stat_scan_tables.';

CREATE TYPE @extschema@.hash_stats_row AS (
	version int,
	buckets bigint,
	bytes bigint,
	pages bigint,
	bucket_pages bigint,
	overflow_pages bigint,
	bitmap_pages bigint,
	unused_pages bigint,
	live_items bigint,
	dead_items bigint,
	free_bytes bigint,
	free_percent float8,
	new_pages bigint,
	corrupt_pages bigint,
	first_new_block bigint,
	first_corrupt_block bigint);

COMMENT ON TYPE hash_stats_row IS 'row of hash_stats';
COMMENT ON COLUMN hash_stats_row.version IS 'version of the index format, from the metapage';
COMMENT ON COLUMN hash_stats_row.buckets IS 'number of buckets, from the metapage';
COMMENT ON COLUMN hash_stats_row.bytes IS 'size of the main fork, in bytes';
COMMENT ON COLUMN hash_stats_row.pages IS 'pages of the main fork';
COMMENT ON COLUMN hash_stats_row.bucket_pages IS 'primary bucket pages';
COMMENT ON COLUMN hash_stats_row.overflow_pages IS 'overflow pages';
COMMENT ON COLUMN hash_stats_row.bitmap_pages IS 'bitmap pages';
COMMENT ON COLUMN hash_stats_row.unused_pages IS 'unused pages, new pages included';
COMMENT ON COLUMN hash_stats_row.live_items IS 'index tuples that are not marked dead';
COMMENT ON COLUMN hash_stats_row.dead_items IS 'index tuples that are marked dead';
COMMENT ON COLUMN hash_stats_row.free_bytes IS 'free bytes in bucket and overflow pages, and those of unused pages';
COMMENT ON COLUMN hash_stats_row.free_percent IS 'free_bytes in percent of the space for tuples';
COMMENT ON COLUMN hash_stats_row.new_pages IS 'pages of zeros, which a split leaves behind';
COMMENT ON COLUMN hash_stats_row.corrupt_pages IS 'pages that make no sense: checksum, header or contents';
COMMENT ON COLUMN hash_stats_row.first_new_block IS 'lowest block that is a new page';
COMMENT ON COLUMN hash_stats_row.first_corrupt_block IS 'lowest block that is a corrupt page';

CREATE FUNCTION hash_stats(
	relation regclass)
RETURNS @extschema@.hash_stats_row
AS 'MODULE_PATHNAME', 'sst_hash_stats'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100000;

COMMENT ON FUNCTION hash_stats(regclass) IS
'Reads all pages of a hash index and returns page, item and space counts in one row; the columns of hash_stats_row have comments.
Takes an AccessShareLock on the index. Needs EXECUTE, granted to pg_stat_scan_tables.';

CREATE TYPE @extschema@.gin_stats_row AS (
	version int,
	bytes bigint,
	pages bigint,
	entry_internal_pages bigint,
	entry_leaf_pages bigint,
	posting_internal_pages bigint,
	posting_leaf_pages bigint,
	pending_list_pages bigint,
	pending_pages bigint,
	deleted_pages bigint,
	entry_items bigint,
	posting_items bigint,
	pending_items bigint,
	pending_tuples bigint,
	free_bytes bigint,
	entry_free_bytes bigint,
	posting_free_bytes bigint,
	pending_free_bytes bigint,
	entry_leaf_density float8,
	posting_leaf_density float8,
	leaf_fragmentation float8,
	new_pages bigint,
	corrupt_pages bigint,
	first_new_block bigint,
	first_corrupt_block bigint);

COMMENT ON TYPE gin_stats_row IS 'row of gin_stats';
COMMENT ON COLUMN gin_stats_row.version IS 'version of the index format, from the metapage';
COMMENT ON COLUMN gin_stats_row.bytes IS 'size of the main fork, in bytes';
COMMENT ON COLUMN gin_stats_row.pages IS 'pages of the main fork';
COMMENT ON COLUMN gin_stats_row.entry_internal_pages IS 'internal pages of the entry tree';
COMMENT ON COLUMN gin_stats_row.entry_leaf_pages IS 'leaf pages of the entry tree';
COMMENT ON COLUMN gin_stats_row.posting_internal_pages IS 'internal pages of posting trees';
COMMENT ON COLUMN gin_stats_row.posting_leaf_pages IS 'leaf pages of posting trees';
COMMENT ON COLUMN gin_stats_row.pending_list_pages IS 'pages of the pending list, counted';
COMMENT ON COLUMN gin_stats_row.pending_pages IS 'pages of the pending list, from the metapage';
COMMENT ON COLUMN gin_stats_row.deleted_pages IS 'deleted pages, which can be used again';
COMMENT ON COLUMN gin_stats_row.entry_items IS 'index tuples in leaf pages of the entry tree';
COMMENT ON COLUMN gin_stats_row.posting_items IS 'heap TIDs in posting trees; those that an entry holds itself are not counted';
COMMENT ON COLUMN gin_stats_row.pending_items IS 'index tuples in the pending list, one for each key of a row';
COMMENT ON COLUMN gin_stats_row.pending_tuples IS 'heap tuples in the pending list, from the metapage';
COMMENT ON COLUMN gin_stats_row.free_bytes IS 'free bytes in leaf pages and pages of the pending list';
COMMENT ON COLUMN gin_stats_row.entry_free_bytes IS 'free bytes in leaf pages of the entry tree';
COMMENT ON COLUMN gin_stats_row.posting_free_bytes IS 'free bytes in leaf pages of posting trees';
COMMENT ON COLUMN gin_stats_row.pending_free_bytes IS 'free bytes in pages of the pending list';
COMMENT ON COLUMN gin_stats_row.entry_leaf_density IS 'percent of the space in leaf pages of the entry tree that is in use';
COMMENT ON COLUMN gin_stats_row.posting_leaf_density IS 'percent of the space in leaf pages of posting trees that is in use';
COMMENT ON COLUMN gin_stats_row.leaf_fragmentation IS 'percent of the leaf pages of all trees whose right sibling lies on an earlier block';
COMMENT ON COLUMN gin_stats_row.new_pages IS 'pages of zeros';
COMMENT ON COLUMN gin_stats_row.corrupt_pages IS 'pages that make no sense: checksum, header or contents';
COMMENT ON COLUMN gin_stats_row.first_new_block IS 'lowest block that is a new page';
COMMENT ON COLUMN gin_stats_row.first_corrupt_block IS 'lowest block that is a corrupt page';

CREATE FUNCTION gin_stats(
	relation regclass)
RETURNS @extschema@.gin_stats_row
AS 'MODULE_PATHNAME', 'sst_gin_stats'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100000;

COMMENT ON FUNCTION gin_stats(regclass) IS
'Reads all pages of a GIN index and returns page, item and space counts in one row; the columns of gin_stats_row have comments.
Takes an AccessShareLock on the index. Needs EXECUTE, granted to pg_stat_scan_tables.';

CREATE TYPE @extschema@.brin_stats_row AS (
	version int,
	pages_per_range int,
	bytes bigint,
	pages bigint,
	revmap_pages bigint,
	regular_pages bigint,
	ranges bigint,
	summarized_ranges bigint,
	unsummarized_ranges bigint,
	live_items bigint,
	placeholder_items bigint,
	free_bytes bigint,
	avg_density float8,
	new_pages bigint,
	corrupt_pages bigint,
	first_new_block bigint,
	first_corrupt_block bigint);

COMMENT ON TYPE brin_stats_row IS 'row of brin_stats';
COMMENT ON COLUMN brin_stats_row.version IS 'version of the index format, from the metapage';
COMMENT ON COLUMN brin_stats_row.pages_per_range IS 'table blocks in each range, from the metapage';
COMMENT ON COLUMN brin_stats_row.bytes IS 'size of the main fork, in bytes';
COMMENT ON COLUMN brin_stats_row.pages IS 'pages of the main fork';
COMMENT ON COLUMN brin_stats_row.revmap_pages IS 'pages of the range map';
COMMENT ON COLUMN brin_stats_row.regular_pages IS 'pages of summaries';
COMMENT ON COLUMN brin_stats_row.ranges IS 'ranges that the table has by its size';
COMMENT ON COLUMN brin_stats_row.summarized_ranges IS 'ranges with a summary; summaries left from before a truncation count as well';
COMMENT ON COLUMN brin_stats_row.unsummarized_ranges IS 'ranges without a summary';
COMMENT ON COLUMN brin_stats_row.live_items IS 'index tuples in regular pages, placeholders included';
COMMENT ON COLUMN brin_stats_row.placeholder_items IS 'tuples that stand for a summary that is being made, or was given up';
COMMENT ON COLUMN brin_stats_row.free_bytes IS 'free bytes in regular pages';
COMMENT ON COLUMN brin_stats_row.avg_density IS 'percent of the space in regular pages that is in use';
COMMENT ON COLUMN brin_stats_row.new_pages IS 'pages of zeros';
COMMENT ON COLUMN brin_stats_row.corrupt_pages IS 'pages that make no sense: checksum, header or contents';
COMMENT ON COLUMN brin_stats_row.first_new_block IS 'lowest block that is a new page';
COMMENT ON COLUMN brin_stats_row.first_corrupt_block IS 'lowest block that is a corrupt page';

CREATE FUNCTION brin_stats(
	relation regclass)
RETURNS @extschema@.brin_stats_row
AS 'MODULE_PATHNAME', 'sst_brin_stats'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100000;

COMMENT ON FUNCTION brin_stats(regclass) IS
'Reads all pages of a BRIN index and returns page, item and space counts in one row; the columns of brin_stats_row have comments.
Takes an AccessShareLock on the index and its table. Needs EXECUTE, granted to pg_stat_scan_tables.';

CREATE TYPE @extschema@.gist_stats_row AS (
	bytes bigint,
	pages bigint,
	internal_pages bigint,
	leaf_pages bigint,
	deleted_pages bigint,
	live_items bigint,
	dead_items bigint,
	free_bytes bigint,
	avg_leaf_density float8,
	new_pages bigint,
	corrupt_pages bigint,
	first_new_block bigint,
	first_corrupt_block bigint);

COMMENT ON TYPE gist_stats_row IS 'row of gist_stats';
COMMENT ON COLUMN gist_stats_row.bytes IS 'size of the main fork, in bytes';
COMMENT ON COLUMN gist_stats_row.pages IS 'pages of the main fork';
COMMENT ON COLUMN gist_stats_row.internal_pages IS 'internal pages';
COMMENT ON COLUMN gist_stats_row.leaf_pages IS 'leaf pages';
COMMENT ON COLUMN gist_stats_row.deleted_pages IS 'deleted pages, which can be used again';
COMMENT ON COLUMN gist_stats_row.live_items IS 'index tuples in leaf pages that are not marked dead';
COMMENT ON COLUMN gist_stats_row.dead_items IS 'index tuples in leaf pages that are marked dead';
COMMENT ON COLUMN gist_stats_row.free_bytes IS 'free bytes in leaf pages';
COMMENT ON COLUMN gist_stats_row.avg_leaf_density IS 'percent of the space in leaf pages that is in use';
COMMENT ON COLUMN gist_stats_row.new_pages IS 'pages of zeros';
COMMENT ON COLUMN gist_stats_row.corrupt_pages IS 'pages that make no sense: checksum, header or contents';
COMMENT ON COLUMN gist_stats_row.first_new_block IS 'lowest block that is a new page';
COMMENT ON COLUMN gist_stats_row.first_corrupt_block IS 'lowest block that is a corrupt page';

CREATE FUNCTION gist_stats(
	relation regclass)
RETURNS @extschema@.gist_stats_row
AS 'MODULE_PATHNAME', 'sst_gist_stats'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100000;

COMMENT ON FUNCTION gist_stats(regclass) IS
'Reads all pages of a GiST index and returns page, item and space counts in one row; the columns of gist_stats_row have comments.
Takes an AccessShareLock on the index. Needs EXECUTE, granted to pg_stat_scan_tables.';

CREATE TYPE @extschema@.spgist_stats_row AS (
	bytes bigint,
	pages bigint,
	inner_pages bigint,
	leaf_pages bigint,
	nulls_pages bigint,
	deleted_pages bigint,
	live_items bigint,
	dead_items bigint,
	redirect_items bigint,
	placeholder_items bigint,
	free_bytes bigint,
	inner_free_bytes bigint,
	avg_leaf_density float8,
	avg_inner_density float8,
	new_pages bigint,
	corrupt_pages bigint,
	first_new_block bigint,
	first_corrupt_block bigint);

COMMENT ON TYPE spgist_stats_row IS 'row of spgist_stats';
COMMENT ON COLUMN spgist_stats_row.bytes IS 'size of the main fork, in bytes';
COMMENT ON COLUMN spgist_stats_row.pages IS 'pages of the main fork';
COMMENT ON COLUMN spgist_stats_row.inner_pages IS 'pages of inner tuples';
COMMENT ON COLUMN spgist_stats_row.leaf_pages IS 'leaf pages';
COMMENT ON COLUMN spgist_stats_row.nulls_pages IS 'inner and leaf pages of the tree of null values';
COMMENT ON COLUMN spgist_stats_row.deleted_pages IS 'empty pages, which can be used again';
COMMENT ON COLUMN spgist_stats_row.live_items IS 'leaf tuples, one for each heap tuple';
COMMENT ON COLUMN spgist_stats_row.dead_items IS 'dead tuples, which something still points to';
COMMENT ON COLUMN spgist_stats_row.redirect_items IS 'redirect tuples, which say where a tuple has gone';
COMMENT ON COLUMN spgist_stats_row.placeholder_items IS 'placeholder tuples, which keep the numbers of those behind them';
COMMENT ON COLUMN spgist_stats_row.free_bytes IS 'free bytes in leaf pages';
COMMENT ON COLUMN spgist_stats_row.inner_free_bytes IS 'free bytes in inner pages';
COMMENT ON COLUMN spgist_stats_row.avg_leaf_density IS 'percent of the space in leaf pages that is in use';
COMMENT ON COLUMN spgist_stats_row.avg_inner_density IS 'percent of the space in inner pages that is in use';
COMMENT ON COLUMN spgist_stats_row.new_pages IS 'pages of zeros';
COMMENT ON COLUMN spgist_stats_row.corrupt_pages IS 'pages that make no sense: checksum, header or contents';
COMMENT ON COLUMN spgist_stats_row.first_new_block IS 'lowest block that is a new page';
COMMENT ON COLUMN spgist_stats_row.first_corrupt_block IS 'lowest block that is a corrupt page';

CREATE FUNCTION spgist_stats(
	relation regclass)
RETURNS @extschema@.spgist_stats_row
AS 'MODULE_PATHNAME', 'sst_spgist_stats'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100000;

COMMENT ON FUNCTION spgist_stats(regclass) IS
'Reads all pages of an SP-GiST index and returns page, item and space counts in one row; the columns of spgist_stats_row have comments.
Takes an AccessShareLock on the index. Needs EXECUTE, granted to pg_stat_scan_tables.';

CREATE TYPE @extschema@.index_stats_row AS (
	relation regclass,
	is_sum boolean,
	access_method text,
	bytes bigint,
	pages bigint,
	internal_pages bigint,
	leaf_pages bigint,
	deleted_pages bigint,
	free_bytes bigint,
	avg_leaf_density float8,
	leaf_fragmentation float8,
	new_pages bigint,
	corrupt_pages bigint,
	first_new_block bigint,
	first_corrupt_block bigint,
	note text);

COMMENT ON TYPE index_stats_row IS 'row of index_stats and index_stats_tree';
COMMENT ON COLUMN index_stats_row.relation IS 'relation that the row describes';
COMMENT ON COLUMN index_stats_row.is_sum IS 'true in the row of index_stats_tree that adds up the other rows';
COMMENT ON COLUMN index_stats_row.access_method IS 'access method';
COMMENT ON COLUMN index_stats_row.bytes IS 'size of the main fork, in bytes';
COMMENT ON COLUMN index_stats_row.pages IS 'pages of the main fork';
COMMENT ON COLUMN index_stats_row.internal_pages IS 'pages that lead to leaf pages (hash: bitmap pages; BRIN: range map)';
COMMENT ON COLUMN index_stats_row.leaf_pages IS 'pages of what the index is for (hash: bucket and overflow pages; GIN: leaf pages of all trees and pending list; BRIN: regular pages)';
COMMENT ON COLUMN index_stats_row.deleted_pages IS 'empty and deleted pages';
COMMENT ON COLUMN index_stats_row.free_bytes IS 'free bytes in leaf pages; of a hash index, those of unused pages as well, as in hash_stats';
COMMENT ON COLUMN index_stats_row.avg_leaf_density IS 'percent of the space in leaf pages that is in use';
COMMENT ON COLUMN index_stats_row.leaf_fragmentation IS 'percent of the leaf pages whose right sibling lies on an earlier block; B-tree and GIN only';
COMMENT ON COLUMN index_stats_row.new_pages IS 'pages of zeros';
COMMENT ON COLUMN index_stats_row.corrupt_pages IS 'pages that make no sense: checksum, header or contents';
COMMENT ON COLUMN index_stats_row.first_new_block IS 'lowest block that is a new page';
COMMENT ON COLUMN index_stats_row.first_corrupt_block IS 'lowest block that is a corrupt page';
COMMENT ON COLUMN index_stats_row.note IS 'why there are no numbers, or what else there is to know; else null';

CREATE FUNCTION index_stats(
	relation regclass)
RETURNS @extschema@.index_stats_row
AS 'MODULE_PATHNAME', 'sst_index_stats'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100000;

COMMENT ON FUNCTION index_stats(regclass) IS
'Reads all pages of an index of any access method and returns one row; a relation that cannot be read has nulls and a note.
Takes an AccessShareLock on the index. Needs EXECUTE, granted to pg_stat_scan_tables.';

CREATE FUNCTION index_stats_tree(
	relation regclass)
RETURNS SETOF @extschema@.index_stats_row
AS 'MODULE_PATHNAME', 'sst_index_stats_tree'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000000 ROWS 100;

COMMENT ON FUNCTION index_stats_tree(regclass) IS
'Returns a row of index_stats for each index under a partitioned index, and a row with their sum; of a plain index, its row only.
Takes an AccessShareLock on the partitioned index, on one partition at a time, and on their tables. Needs EXECUTE, granted to pg_stat_scan_tables.';

--
-- Tables
--

CREATE TYPE @extschema@.table_stats_row AS (
	relation regclass,
	is_sum boolean,
	bytes bigint,
	pages bigint,
	all_visible_pages bigint,
	all_frozen_pages bigint,
	truncatable_pages bigint,
	fsm_nonfull_pages bigint,
	live_tuples bigint,
	live_tuple_bytes bigint,
	live_tuple_percent float8,
	dead_tuples bigint,
	dead_tuple_bytes bigint,
	dead_tuple_percent float8,
	recently_dead_tuples bigint,
	insert_in_progress_tuples bigint,
	delete_in_progress_tuples bigint,
	dead_line_pointers bigint,
	redirect_line_pointers bigint,
	unused_line_pointers bigint,
	free_bytes bigint,
	free_percent float8,
	largest_free_bytes bigint,
	fsm_free_bytes bigint,
	fsm_largest_free_bytes bigint,
	new_pages bigint,
	corrupt_pages bigint,
	first_new_block bigint,
	first_corrupt_block bigint,
	note text);

COMMENT ON TYPE table_stats_row IS 'row of table_stats and table_stats_tree';
COMMENT ON COLUMN table_stats_row.relation IS 'relation that the row describes';
COMMENT ON COLUMN table_stats_row.is_sum IS 'true in the row of table_stats_tree that adds up the other rows';
COMMENT ON COLUMN table_stats_row.bytes IS 'size of the main fork, in bytes';
COMMENT ON COLUMN table_stats_row.pages IS 'pages of the main fork';
COMMENT ON COLUMN table_stats_row.all_visible_pages IS 'pages that are all-visible by the visibility map';
COMMENT ON COLUMN table_stats_row.all_frozen_pages IS 'pages that are all-frozen by the visibility map';
COMMENT ON COLUMN table_stats_row.truncatable_pages IS 'trailing pages that VACUUM could truncate (it does so from 1000 pages or 1/16 of the table on)';
COMMENT ON COLUMN table_stats_row.fsm_nonfull_pages IS 'pages that have free space, by the free space map';
COMMENT ON COLUMN table_stats_row.live_tuples IS 'tuples that are live, or being inserted or deleted by another transaction';
COMMENT ON COLUMN table_stats_row.live_tuple_bytes IS 'bytes of live_tuples';
COMMENT ON COLUMN table_stats_row.live_tuple_percent IS 'live_tuple_bytes in percent of bytes';
COMMENT ON COLUMN table_stats_row.dead_tuples IS 'all other tuples';
COMMENT ON COLUMN table_stats_row.dead_tuple_bytes IS 'bytes of dead_tuples';
COMMENT ON COLUMN table_stats_row.dead_tuple_percent IS 'dead_tuple_bytes in percent of bytes';
COMMENT ON COLUMN table_stats_row.recently_dead_tuples IS 'dead tuples that VACUUM must keep, because a transaction may still see them';
COMMENT ON COLUMN table_stats_row.insert_in_progress_tuples IS 'tuples whose inserting transaction has not ended';
COMMENT ON COLUMN table_stats_row.delete_in_progress_tuples IS 'tuples whose deleting transaction has not ended';
COMMENT ON COLUMN table_stats_row.dead_line_pointers IS 'dead line pointers';
COMMENT ON COLUMN table_stats_row.redirect_line_pointers IS 'redirect line pointers';
COMMENT ON COLUMN table_stats_row.unused_line_pointers IS 'unused line pointers';
COMMENT ON COLUMN table_stats_row.free_bytes IS 'free bytes';
COMMENT ON COLUMN table_stats_row.free_percent IS 'free bytes in percent of bytes';
COMMENT ON COLUMN table_stats_row.largest_free_bytes IS 'free bytes in the page that has the most';
COMMENT ON COLUMN table_stats_row.fsm_free_bytes IS 'free bytes by the free space map';
COMMENT ON COLUMN table_stats_row.fsm_largest_free_bytes IS 'free bytes in the page that has the most, by the free space map';
COMMENT ON COLUMN table_stats_row.new_pages IS 'pages of zeros';
COMMENT ON COLUMN table_stats_row.corrupt_pages IS 'pages that make no sense: checksum, header or contents';
COMMENT ON COLUMN table_stats_row.first_new_block IS 'lowest block that is a new page';
COMMENT ON COLUMN table_stats_row.first_corrupt_block IS 'lowest block that is a corrupt page';
COMMENT ON COLUMN table_stats_row.note IS 'why there are no numbers; else null';

CREATE FUNCTION table_stats(
	relation regclass,
	with_toast text DEFAULT 'no')
RETURNS SETOF @extschema@.table_stats_row
AS 'MODULE_PATHNAME', 'sst_table_stats'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100000 ROWS 1;

COMMENT ON FUNCTION table_stats(regclass, text) IS
'Reads all pages of a table, materialized view, TOAST table or sequence and of its maps, without setting hint bits; tuples are counted as by pgstattuple. A relation that cannot be read has nulls and a note.
with_toast: no (leave the TOAST table out), row (return a row for it) or sum (add it to the table''s row).
Takes an AccessShareLock on the table, and on its TOAST table. Needs EXECUTE, granted to pg_stat_scan_tables.';

CREATE FUNCTION table_stats_tree(
	relation regclass,
	with_toast text DEFAULT 'no')
RETURNS SETOF @extschema@.table_stats_row
AS 'MODULE_PATHNAME', 'sst_table_stats_tree'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000000 ROWS 100;

COMMENT ON FUNCTION table_stats_tree(regclass, text) IS
'Returns rows of table_stats for each table of a partition or inheritance tree, and a row with their sum; of a plain table, its rows only. A relation that cannot be read has a note.
with_toast: no (leave the TOAST table out), row (return a row for it) or sum (add it to the table''s row).
Takes an AccessShareLock on the root, and on one partition at a time. Needs EXECUTE, granted to pg_stat_scan_tables.';

CREATE TYPE @extschema@.visibility_map_summary_row AS (
	pages bigint,
	all_visible_pages bigint,
	all_frozen_pages bigint,
	largest_unfrozen_range_pages bigint,
	unfrozen_ranges bigint,
	corrupt_map_pages bigint);

COMMENT ON TYPE visibility_map_summary_row IS 'row of visibility_map_summary';
COMMENT ON COLUMN visibility_map_summary_row.pages IS 'pages of the table';
COMMENT ON COLUMN visibility_map_summary_row.all_visible_pages IS 'pages that are all-visible by the visibility map';
COMMENT ON COLUMN visibility_map_summary_row.all_frozen_pages IS 'pages that are all-frozen by the visibility map';
COMMENT ON COLUMN visibility_map_summary_row.largest_unfrozen_range_pages IS 'pages of the largest such run';
COMMENT ON COLUMN visibility_map_summary_row.unfrozen_ranges IS 'runs of adjacent pages that are not all-frozen, which an aggressive VACUUM has to read';
COMMENT ON COLUMN visibility_map_summary_row.corrupt_map_pages IS 'pages of the map that make no sense; their bits count as not set';

CREATE FUNCTION visibility_map_summary(
	relation regclass)
RETURNS @extschema@.visibility_map_summary_row
AS 'MODULE_PATHNAME', 'sst_visibility_map_summary'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 10000;

COMMENT ON FUNCTION visibility_map_summary(regclass) IS
'Summarizes the visibility map of a table, in pages; reads the map only.
Takes an AccessShareLock on the table. Needs EXECUTE, granted to pg_stat_scan_tables.';

CREATE TYPE @extschema@.unfrozen_ranges_row AS (
	first_block bigint,
	last_block bigint);

COMMENT ON TYPE unfrozen_ranges_row IS 'row of unfrozen_ranges';
COMMENT ON COLUMN unfrozen_ranges_row.first_block IS 'first block';
COMMENT ON COLUMN unfrozen_ranges_row.last_block IS 'last block';

CREATE FUNCTION unfrozen_ranges(
	relation regclass)
RETURNS SETOF @extschema@.unfrozen_ranges_row
AS 'MODULE_PATHNAME', 'sst_unfrozen_ranges'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 10000 ROWS 100;

COMMENT ON FUNCTION unfrozen_ranges(regclass) IS
'Returns the runs of adjacent pages that are not all-frozen, in ascending order; reads the visibility map only.
Takes an AccessShareLock on the table. Needs EXECUTE, granted to pg_stat_scan_tables.';

CREATE TYPE @extschema@.free_space_map_summary_row AS (
	pages bigint,
	nonfull_pages bigint,
	free_bytes bigint,
	free_percent float8,
	largest_free_bytes bigint,
	corrupt_map_pages bigint);

COMMENT ON TYPE free_space_map_summary_row IS 'row of free_space_map_summary';
COMMENT ON COLUMN free_space_map_summary_row.pages IS 'pages of the relation';
COMMENT ON COLUMN free_space_map_summary_row.nonfull_pages IS 'pages that have free space; an index has whole pages in its map';
COMMENT ON COLUMN free_space_map_summary_row.free_bytes IS 'free bytes, which the map knows in steps of 32';
COMMENT ON COLUMN free_space_map_summary_row.free_percent IS 'free bytes in percent of bytes';
COMMENT ON COLUMN free_space_map_summary_row.largest_free_bytes IS 'free bytes in the page that has the most';
COMMENT ON COLUMN free_space_map_summary_row.corrupt_map_pages IS 'pages of the map that make no sense; they count as without free space';

CREATE FUNCTION free_space_map_summary(
	relation regclass)
RETURNS @extschema@.free_space_map_summary_row
AS 'MODULE_PATHNAME', 'sst_free_space_map_summary'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 10000;

COMMENT ON FUNCTION free_space_map_summary(regclass) IS
'Summarizes the free space map of a table or index; reads the map only.
Takes an AccessShareLock on the relation. Needs EXECUTE, granted to pg_stat_scan_tables.';

CREATE TYPE @extschema@.layout_map_row AS (
	bucket int,
	first_block bigint,
	last_block bigint,
	free_percent float8,
	dead_percent float8,
	buffered_percent float8,
	page_cache_percent float8,
	bar text);

COMMENT ON TYPE layout_map_row IS 'row of layout_map';
COMMENT ON COLUMN layout_map_row.bucket IS 'number of the bucket, from 1';
COMMENT ON COLUMN layout_map_row.first_block IS 'first block';
COMMENT ON COLUMN layout_map_row.last_block IS 'last block';
COMMENT ON COLUMN layout_map_row.free_percent IS 'percent of the bytes that are free; new, empty and deleted pages are free as a whole';
COMMENT ON COLUMN layout_map_row.dead_percent IS 'percent of the bytes in dead tuples, or in index tuples marked dead';
COMMENT ON COLUMN layout_map_row.buffered_percent IS 'percent of the blocks that were in shared buffers; null unless you are a member of pg_monitor';
COMMENT ON COLUMN layout_map_row.page_cache_percent IS 'percent of the bytes that were in the page cache of the kernel; null unless you are a member of pg_monitor, or where the kernel does not tell';
COMMENT ON COLUMN layout_map_row.bar IS 'picture: # in use, x dead, . free';

CREATE FUNCTION layout_map(
	relation regclass,
	buckets int DEFAULT 64,
	blocks int DEFAULT NULL)
RETURNS SETOF @extschema@.layout_map_row
AS 'MODULE_PATHNAME', 'sst_layout_map'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100000 ROWS 64;

COMMENT ON FUNCTION layout_map(regclass, int, int) IS
'Shows where in the file of a table or index the space is: divides the blocks into buckets of about the same size and returns a row for each.
buckets: 10,000 at most. blocks: reads no more than so many, as many of each bucket, the same in each call; null: all.
Takes an AccessShareLock on the relation. Needs EXECUTE, granted to pg_stat_scan_tables.';

CREATE TYPE @extschema@.layout_picture_row AS (
	first_block bigint,
	picture text);

COMMENT ON TYPE layout_picture_row IS 'row of layout_picture';
COMMENT ON COLUMN layout_picture_row.first_block IS 'first block of the line; null in lines on caches and in the legend';
COMMENT ON COLUMN layout_picture_row.picture IS 'a character for each bucket: what its pages contain, or which caches have it; or a line of the legend';

CREATE FUNCTION layout_picture(
	relation regclass,
	buckets int DEFAULT 1024,
	width int DEFAULT 64,
	blocks int DEFAULT NULL)
RETURNS SETOF @extschema@.layout_picture_row
AS 'MODULE_PATHNAME', 'sst_layout_picture'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100000 ROWS 40;

COMMENT ON FUNCTION layout_picture(regclass, int, int, int) IS
'Draws what layout_map tells, a character for each bucket: a line on what the pages contain, under it one on shared buffers and page cache (for members of pg_monitor), and so on; a legend in the end.
buckets: 10,000 at most. width: characters in a line. blocks: reads no more than so many; null: all.
Takes an AccessShareLock on the relation. Needs EXECUTE, granted to pg_stat_scan_tables.';

CREATE TYPE @extschema@.corrupt_blocks_row AS (
	block_no bigint,
	error text,
	detail text);

COMMENT ON TYPE corrupt_blocks_row IS 'row of corrupt_blocks';
COMMENT ON COLUMN corrupt_blocks_row.block_no IS 'block number; in a row with the error "not read", the first block that was not looked at';
COMMENT ON COLUMN corrupt_blocks_row.error IS 'the first check that fails: read error, checksum, header, special space, page type, line pointers, tuples or contents; not read in a last row, if a limit ended the call';
COMMENT ON COLUMN corrupt_blocks_row.detail IS 'what is wrong, in words';

CREATE FUNCTION corrupt_blocks(
	relation regclass,
	first_block bigint DEFAULT 0,
	max_rows bigint DEFAULT NULL,
	max_time interval DEFAULT NULL)
RETURNS SETOF @extschema@.corrupt_blocks_row
AS 'MODULE_PATHNAME', 'sst_corrupt_blocks'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100000 ROWS 10;

COMMENT ON FUNCTION corrupt_blocks(regclass, bigint, bigint, interval) IS
'Reads a table or index and returns a row for each corrupt block, with what is wrong; a limit adds a row that says where to go on.
Takes an AccessShareLock on the relation. Needs EXECUTE, granted to pg_stat_scan_tables.';

--
-- Samples
--

CREATE TYPE @extschema@.sample_stats_row AS (
	statistic text,
	estimate float8,
	low float8,
	high float8,
	blocks_read bigint,
	blocks_total bigint,
	measured text,
	ended_by text,
	note text);

COMMENT ON TYPE sample_stats_row IS 'row of sample_stats';
COMMENT ON COLUMN sample_stats_row.statistic IS 'name of the statistic, which is the name of the column of the same meaning';
COMMENT ON COLUMN sample_stats_row.estimate IS 'estimate for the whole relation; null for a percentage of nothing';
COMMENT ON COLUMN sample_stats_row.low IS 'lower end of the 95 % confidence interval; null if the sample is too small';
COMMENT ON COLUMN sample_stats_row.high IS 'upper end of the 95 % confidence interval; null if the sample is too small';
COMMENT ON COLUMN sample_stats_row.blocks_read IS 'blocks in the sample';
COMMENT ON COLUMN sample_stats_row.blocks_total IS 'blocks of the relation';
COMMENT ON COLUMN sample_stats_row.measured IS 'exact (all blocks were read), sampled, or skipped (max_time came before the first sample was complete, or the relation cannot be read)';
COMMENT ON COLUMN sample_stats_row.ended_by IS 'margin, blocks, all (there are no more blocks) or max_time';
COMMENT ON COLUMN sample_stats_row.note IS 'why there are no numbers, or what else there is to know; else null';

CREATE FUNCTION sample_stats(
	relation regclass,
	blocks int DEFAULT 10000,
	margin float8 DEFAULT NULL,
	max_time interval DEFAULT NULL,
	seed bigint DEFAULT NULL)
RETURNS SETOF @extschema@.sample_stats_row
AS 'MODULE_PATHNAME', 'sst_sample_stats'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 10000 ROWS 15;

COMMENT ON FUNCTION sample_stats(regclass, int, float8, interval, bigint) IS
'Estimates page statistics of a table or of an index of any access method from a stratified random sample of its blocks; a row for each statistic, or one with a note if the relation cannot be read.
blocks: most blocks to read. margin: the sample grows until the interval of the main statistic (avg_leaf_density, avg_density or free_percent) extends at most this many percentage points to each side; null: the sample has as many blocks as it may. max_time: no block is requested after that; null: no limit. seed: the same seed draws the same sample.
Takes an AccessShareLock on the relation. Needs EXECUTE, granted to pg_stat_scan_tables.';

CREATE TYPE @extschema@.bloat_row AS (
	relation regclass,
	is_sum boolean,
	bytes bigint,
	predicted_bytes bigint,
	predicted_bytes_low bigint,
	predicted_bytes_high bigint,
	reclaimable_bytes bigint,
	reclaimable_bytes_low bigint,
	reclaimable_bytes_high bigint,
	reclaimable_percent float8,
	blocks_read bigint,
	blocks_total bigint,
	measured text,
	note text);

COMMENT ON TYPE bloat_row IS 'row of bloat and bloat_tree';
COMMENT ON COLUMN bloat_row.relation IS 'relation that the row describes';
COMMENT ON COLUMN bloat_row.is_sum IS 'true in the row of bloat_tree that adds up the other rows';
COMMENT ON COLUMN bloat_row.bytes IS 'size of the main fork, in bytes';
COMMENT ON COLUMN bloat_row.predicted_bytes IS 'predicted size after a rebuild, in bytes; null if it cannot be predicted';
COMMENT ON COLUMN bloat_row.predicted_bytes_low IS 'lower end of the 95 % interval of predicted_bytes';
COMMENT ON COLUMN bloat_row.predicted_bytes_high IS 'upper end of the 95 % interval of predicted_bytes';
COMMENT ON COLUMN bloat_row.reclaimable_bytes IS 'bytes that a rebuild gives back; 0 if bytes lies within the interval of predicted_bytes';
COMMENT ON COLUMN bloat_row.reclaimable_bytes_low IS 'lower end of the 95 % interval of reclaimable_bytes';
COMMENT ON COLUMN bloat_row.reclaimable_bytes_high IS 'upper end of the 95 % interval of reclaimable_bytes';
COMMENT ON COLUMN bloat_row.reclaimable_percent IS 'reclaimable_bytes in percent of bytes';
COMMENT ON COLUMN bloat_row.blocks_read IS 'blocks of the relation that were read';
COMMENT ON COLUMN bloat_row.blocks_total IS 'blocks of the relation';
COMMENT ON COLUMN bloat_row.measured IS 'exact (all blocks were read), sampled, or skipped (the relation cannot be read)';
COMMENT ON COLUMN bloat_row.note IS 'why nothing is predicted, or what else there is to know; else null';

CREATE FUNCTION bloat(
	relation regclass,
	blocks int DEFAULT 10000,
	seed bigint DEFAULT NULL,
	with_toast text DEFAULT 'no')
RETURNS SETOF @extschema@.bloat_row
AS 'MODULE_PATHNAME', 'sst_bloat'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 10000 ROWS 1;

COMMENT ON FUNCTION bloat(regclass, int, bigint, text) IS
'Estimates from a random sample what a rebuild would give back: REINDEX of an index, VACUUM FULL of a table. A relation that cannot be read has nulls and a note.
blocks: most blocks to read; of the table of an index, as many again. seed: the same seed draws the same sample. with_toast: no (leave the TOAST table out), row (return a row for it) or sum (add it to the table''s row).
Takes an AccessShareLock on the relation, and on the table if it is an index. Needs EXECUTE, granted to pg_stat_scan_tables.';

CREATE FUNCTION bloat_tree(
	relation regclass,
	blocks int DEFAULT 10000,
	seed bigint DEFAULT NULL,
	with_toast text DEFAULT 'no')
RETURNS SETOF @extschema@.bloat_row
AS 'MODULE_PATHNAME', 'sst_bloat_tree'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000000 ROWS 100;

COMMENT ON FUNCTION bloat_tree(regclass, int, bigint, text) IS
'Returns rows of bloat for each table of a partition or inheritance tree, or for each index under a partitioned index, and a row with their sum; of a plain relation, its rows only.
blocks: most blocks to read of each. seed, with_toast: as of bloat.
Takes an AccessShareLock on the root, on one partition at a time, and on the tables of indexes. Needs EXECUTE, granted to pg_stat_scan_tables.';

--
-- All relations of the database
--

CREATE TYPE @extschema@.database_report_row AS (
	relid oid,
	schema_name text,
	relation_name text,
	parent_name text,
	kind text,
	access_method text,
	last_vacuum timestamptz,
	bytes bigint,
	free_percent float8,
	free_percent_low float8,
	free_percent_high float8,
	dead_percent float8,
	dead_percent_low float8,
	dead_percent_high float8,
	predicted_bytes bigint,
	reclaimable_bytes bigint,
	reclaimable_bytes_low bigint,
	reclaimable_bytes_high bigint,
	corrupt_pages bigint,
	is_valid boolean,
	bytes_read bigint,
	measured text,
	note text,
	command text,
	rebuilt_by text,
	reason text);

COMMENT ON TYPE database_report_row IS 'row of database_report and last_database_report';
COMMENT ON COLUMN database_report_row.relid IS 'OID of the relation';
COMMENT ON COLUMN database_report_row.schema_name IS 'schema of the relation';
COMMENT ON COLUMN database_report_row.relation_name IS 'name of the relation';
COMMENT ON COLUMN database_report_row.parent_name IS 'table of an index or of a TOAST table, or partitioned table of a partition: its name, qualified and quoted as needed';
COMMENT ON COLUMN database_report_row.kind IS 'table, partition, materialized view, toast table or index';
COMMENT ON COLUMN database_report_row.access_method IS 'access method';
COMMENT ON COLUMN database_report_row.last_vacuum IS 'last VACUUM or autovacuum of the table, by the cumulative statistics';
COMMENT ON COLUMN database_report_row.bytes IS 'size of the main fork, in bytes';
COMMENT ON COLUMN database_report_row.free_percent IS 'free bytes in percent of bytes';
COMMENT ON COLUMN database_report_row.free_percent_low IS 'lower end of the 95 % interval of free_percent';
COMMENT ON COLUMN database_report_row.free_percent_high IS 'upper end of the 95 % interval of free_percent';
COMMENT ON COLUMN database_report_row.dead_percent IS 'bytes of dead tuples in percent of bytes';
COMMENT ON COLUMN database_report_row.dead_percent_low IS 'lower end of the 95 % interval of dead_percent';
COMMENT ON COLUMN database_report_row.dead_percent_high IS 'upper end of the 95 % interval of dead_percent';
COMMENT ON COLUMN database_report_row.predicted_bytes IS 'predicted size after a rebuild, in bytes';
COMMENT ON COLUMN database_report_row.reclaimable_bytes IS 'bytes that a rebuild gives back';
COMMENT ON COLUMN database_report_row.reclaimable_bytes_low IS 'lower end of the 95 % interval of reclaimable_bytes';
COMMENT ON COLUMN database_report_row.reclaimable_bytes_high IS 'upper end of the 95 % interval of reclaimable_bytes';
COMMENT ON COLUMN database_report_row.corrupt_pages IS 'corrupt pages among those that were read; null if none was read';
COMMENT ON COLUMN database_report_row.is_valid IS 'whether queries may use the index; null if the relation is no index';
COMMENT ON COLUMN database_report_row.bytes_read IS 'bytes of the relation that were read';
COMMENT ON COLUMN database_report_row.measured IS 'exact (all pages were read), sampled or skipped';
COMMENT ON COLUMN database_report_row.note IS 'why it was skipped, or what cannot be told or is wrong; else null';
COMMENT ON COLUMN database_report_row.command IS 'command that gives the bytes back, or mends the relation; null if none is worth it, or if another relation''s does it';
COMMENT ON COLUMN database_report_row.rebuilt_by IS 'table whose command rebuilds this relation as well: its name, qualified and quoted as needed';
COMMENT ON COLUMN database_report_row.reason IS 'why the command is advised, or withheld';

CREATE FUNCTION database_report(
	margin float8 DEFAULT NULL,
	budget text DEFAULT '1GB',
	max_time interval DEFAULT NULL,
	max_rate text DEFAULT NULL,
	seed bigint DEFAULT NULL)
RETURNS SETOF @extschema@.database_report_row
AS 'MODULE_PATHNAME', 'sst_database_report'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000000 ROWS 2000;

COMMENT ON FUNCTION database_report(float8, text, interval, text, bigint) IS
'Estimates reclaimable space for every table, materialized view, TOAST table and index of the database, with confidence intervals and the command to run; the most reclaimable first. database_plan has a row for each command.
margin: how many percentage points free_percent and dead_percent may be off, if the limits allow; null: 2. budget: bytes that may be looked at in all, as pg_size_bytes takes them. max_time: null is 60 seconds. max_rate: bytes per second; null: no limit. seed: the same seed draws the same samples.
Takes an AccessShareLock on one relation at a time, and on the table of an index; waits for no lock. Holds its query''s snapshot to the end; run_database_report does not. Needs EXECUTE, granted to pg_stat_scan_tables.';

CREATE PROCEDURE run_database_report(
	margin float8 DEFAULT NULL,
	budget text DEFAULT '1GB',
	max_time interval DEFAULT NULL,
	max_rate text DEFAULT NULL,
	seed bigint DEFAULT NULL)
AS 'MODULE_PATHNAME', 'sst_run_database_report'
LANGUAGE C;

COMMENT ON PROCEDURE run_database_report(float8, text, interval, text, bigint) IS
'Makes a report with the limits of database_report, for last_database_report, last_database_plan and database_report_summary. Commits after each relation, except in a transaction block.
Takes an AccessShareLock on one relation at a time, and on the table of an index; waits for no lock. Needs EXECUTE, granted to pg_stat_scan_tables.';

CREATE FUNCTION last_database_report()
RETURNS SETOF @extschema@.database_report_row
AS 'MODULE_PATHNAME', 'sst_last_database_report'
LANGUAGE C VOLATILE PARALLEL RESTRICTED ROWS 2000;

COMMENT ON FUNCTION last_database_report() IS
'Returns the rows of the last report of this session, as far as it came; none before the first report.
Reads catalogs and statistics; no other relation is locked or read. Needs EXECUTE, granted to pg_stat_scan_tables.';

CREATE TYPE @extschema@.database_plan_row AS (
	rank bigint,
	relid oid,
	schema_name text,
	relation_name text,
	kind text,
	bytes bigint,
	relations bigint,
	reclaimable_bytes bigint,
	reclaimable_bytes_low bigint,
	reclaimable_bytes_high bigint,
	reclaimable_percent float8,
	scratch_bytes bigint,
	bytes_to_read bigint,
	bytes_to_write bigint,
	command text,
	lock_mode text,
	blocks_reads boolean,
	blocks_writes boolean,
	reason text);

COMMENT ON TYPE database_plan_row IS 'row of database_plan and last_database_plan';
COMMENT ON COLUMN database_plan_row.rank IS 'place in the order, from 1: corrupt relations, indexes that are not valid, then by reclaimable_bytes';
COMMENT ON COLUMN database_plan_row.relid IS 'OID of the relation';
COMMENT ON COLUMN database_plan_row.schema_name IS 'schema of the relation';
COMMENT ON COLUMN database_plan_row.relation_name IS 'name of the relation';
COMMENT ON COLUMN database_plan_row.kind IS 'table, partition, materialized view, toast table or index';
COMMENT ON COLUMN database_plan_row.bytes IS 'size of the main forks of all relations that the command rebuilds or changes, in bytes';
COMMENT ON COLUMN database_plan_row.relations IS 'relations that the command rebuilds or changes';
COMMENT ON COLUMN database_plan_row.reclaimable_bytes IS 'bytes that the command gives back, of all these relations';
COMMENT ON COLUMN database_plan_row.reclaimable_bytes_low IS 'sum of the lower ends, which are less likely all at once';
COMMENT ON COLUMN database_plan_row.reclaimable_bytes_high IS 'sum of the upper ends, which are less likely all at once';
COMMENT ON COLUMN database_plan_row.reclaimable_percent IS 'reclaimable_bytes in percent of bytes';
COMMENT ON COLUMN database_plan_row.scratch_bytes IS 'disk space that new files and sorting take until the command ends';
COMMENT ON COLUMN database_plan_row.bytes_to_read IS 'bytes that the command reads; null if not known';
COMMENT ON COLUMN database_plan_row.bytes_to_write IS 'bytes of files that the command writes; WAL of about this size comes on top unless wal_level is minimal; null if not known';
COMMENT ON COLUMN database_plan_row.command IS 'command: SQL, or pg_repack for a shell; null if none helps before what the reason says';
COMMENT ON COLUMN database_plan_row.lock_mode IS 'strongest lock that the command holds while it works, on the table or the index';
COMMENT ON COLUMN database_plan_row.blocks_reads IS 'queries on the table wait until the command ends';
COMMENT ON COLUMN database_plan_row.blocks_writes IS 'changes of the table wait until the command ends';
COMMENT ON COLUMN database_plan_row.reason IS 'why the command is advised, or what is to be done instead';

CREATE FUNCTION database_plan(
	margin float8 DEFAULT NULL,
	budget text DEFAULT '1GB',
	max_time interval DEFAULT NULL,
	max_rate text DEFAULT NULL,
	seed bigint DEFAULT NULL)
RETURNS SETOF @extschema@.database_plan_row
AS 'MODULE_PATHNAME', 'sst_database_plan'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000000 ROWS 100;

COMMENT ON FUNCTION database_plan(float8, text, interval, text, bigint) IS
'Makes a report as database_report does, and returns the commands that it advises, a row for each: what it gives back, takes and locks.
Arguments and locks are those of database_report. Needs EXECUTE, granted to pg_stat_scan_tables.';

CREATE FUNCTION last_database_plan()
RETURNS SETOF @extschema@.database_plan_row
AS 'MODULE_PATHNAME', 'sst_last_database_plan'
LANGUAGE C VOLATILE PARALLEL RESTRICTED ROWS 100;

COMMENT ON FUNCTION last_database_plan() IS
'Returns the commands that the last report of this session advises, as far as it came; none before the first report.
Reads catalogs and statistics; no other relation is locked or read. Needs EXECUTE, granted to pg_stat_scan_tables.';

CREATE TYPE @extschema@.database_report_summary_row AS (
	started timestamptz,
	relations bigint,
	exact_relations bigint,
	sampled_relations bigint,
	skipped_relations bigint,
	commands bigint,
	reclaimable_bytes bigint,
	reclaimable_bytes_low bigint,
	reclaimable_bytes_high bigint,
	planned_bytes bigint,
	planned_bytes_low bigint,
	planned_bytes_high bigint,
	bytes_total bigint,
	bytes_read bigint,
	bytes_skipped bigint,
	bytes_left bigint,
	elapsed_ms float8,
	ended_by text);

COMMENT ON TYPE database_report_summary_row IS 'row of database_report_summary';
COMMENT ON COLUMN database_report_summary_row.started IS 'when the report began';
COMMENT ON COLUMN database_report_summary_row.relations IS 'relations in the report';
COMMENT ON COLUMN database_report_summary_row.exact_relations IS 'relations of which all pages were read';
COMMENT ON COLUMN database_report_summary_row.sampled_relations IS 'relations of which a sample was read';
COMMENT ON COLUMN database_report_summary_row.skipped_relations IS 'relations that were not read';
COMMENT ON COLUMN database_report_summary_row.commands IS 'commands of last_database_plan';
COMMENT ON COLUMN database_report_summary_row.reclaimable_bytes IS 'bytes that rebuilds of all relations would give back, be they worth it or not';
COMMENT ON COLUMN database_report_summary_row.reclaimable_bytes_low IS 'sum of the lower ends, which are less likely all at once';
COMMENT ON COLUMN database_report_summary_row.reclaimable_bytes_high IS 'sum of the upper ends, which are less likely all at once';
COMMENT ON COLUMN database_report_summary_row.planned_bytes IS 'bytes that the commands of last_database_plan give back';
COMMENT ON COLUMN database_report_summary_row.planned_bytes_low IS 'sum of the lower ends, which are less likely all at once';
COMMENT ON COLUMN database_report_summary_row.planned_bytes_high IS 'sum of the upper ends, which are less likely all at once';
COMMENT ON COLUMN database_report_summary_row.bytes_total IS 'bytes of all relations';
COMMENT ON COLUMN database_report_summary_row.bytes_read IS 'bytes that were looked at';
COMMENT ON COLUMN database_report_summary_row.bytes_skipped IS 'bytes of the relations that were not read';
COMMENT ON COLUMN database_report_summary_row.bytes_left IS 'bytes that no sample covers';
COMMENT ON COLUMN database_report_summary_row.elapsed_ms IS 'milliseconds that the report took; null if it was canceled';
COMMENT ON COLUMN database_report_summary_row.ended_by IS 'complete (there was nothing more to read), budget, max_time or canceled';

CREATE FUNCTION database_report_summary()
RETURNS @extschema@.database_report_summary_row
AS 'MODULE_PATHNAME', 'sst_database_report_summary'
LANGUAGE C VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION database_report_summary() IS
'Returns the last report of this session in one row; nulls before the first report.
Reads catalogs and statistics; no other relation is locked or read. Needs EXECUTE, granted to pg_stat_scan_tables.';

CREATE FUNCTION report_html(
	run bigint DEFAULT NULL)
RETURNS text
AS 'MODULE_PATHNAME', 'sst_report_html'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100000;

COMMENT ON FUNCTION report_html(bigint) IS
'Returns a report as one page of HTML in ASCII, which needs no other file and no script: treemap, plan, layout of the largest files, caches, relations.
run: a run of report_runs; null: the last report of this session.
Reads up to 2,000 blocks of each of the 10 largest relations, with an AccessShareLock on one at a time; waits for no lock. Needs EXECUTE, granted to pg_stat_scan_tables.';

--
-- Stored reports: written by collect() alone, for a dump like a user's data.  Each
-- table has a primary key: a publication of all tables needs one to delete rows.
-- Names have the collation that those of the catalogs have, which does not change with
-- a library of the operating system.
--

CREATE SEQUENCE @extschema@.report_runs_run_seq;

COMMENT ON SEQUENCE @extschema@.report_runs_run_seq IS 'numbers of runs';

CREATE TABLE @extschema@.report_runs (
	run bigint PRIMARY KEY,
	datname pg_catalog.name,
	started timestamp with time zone,
	relations bigint,
	exact_relations bigint,
	sampled_relations bigint,
	skipped_relations bigint,
	commands bigint,
	reclaimable_bytes bigint,
	reclaimable_bytes_low bigint,
	reclaimable_bytes_high bigint,
	planned_bytes bigint,
	planned_bytes_low bigint,
	planned_bytes_high bigint,
	bytes_total bigint,
	bytes_read bigint,
	bytes_skipped bigint,
	bytes_left bigint,
	elapsed_ms double precision,
	ended_by pg_catalog.text,
	top_relations int,
	min_bytes bigint,
	server_version pg_catalog.text,
	note pg_catalog.text);

COMMENT ON TABLE @extschema@.report_runs IS
'Stored reports, a row for each: the summary, and what its metrics show. A row that is deleted takes those of the other tables with it.
collect() writes it. Needs SELECT, granted to pg_stat_scan_tables.';
COMMENT ON COLUMN @extschema@.report_runs.run IS 'number of the run: later ones have larger numbers';
COMMENT ON COLUMN @extschema@.report_runs.datname IS 'name of the database';
COMMENT ON COLUMN @extschema@.report_runs.started IS 'when the report began';
COMMENT ON COLUMN @extschema@.report_runs.relations IS 'relations in the report';
COMMENT ON COLUMN @extschema@.report_runs.exact_relations IS 'relations of which all pages were read';
COMMENT ON COLUMN @extschema@.report_runs.sampled_relations IS 'relations of which a sample was read';
COMMENT ON COLUMN @extschema@.report_runs.skipped_relations IS 'relations that were not read';
COMMENT ON COLUMN @extschema@.report_runs.commands IS 'commands of the plan';
COMMENT ON COLUMN @extschema@.report_runs.reclaimable_bytes IS 'bytes that rebuilds of all relations would give back, be they worth it or not';
COMMENT ON COLUMN @extschema@.report_runs.reclaimable_bytes_low IS 'sum of the lower ends, which are less likely all at once';
COMMENT ON COLUMN @extschema@.report_runs.reclaimable_bytes_high IS 'sum of the upper ends, which are less likely all at once';
COMMENT ON COLUMN @extschema@.report_runs.planned_bytes IS 'bytes that the commands of the plan give back';
COMMENT ON COLUMN @extschema@.report_runs.planned_bytes_low IS 'sum of the lower ends, which are less likely all at once';
COMMENT ON COLUMN @extschema@.report_runs.planned_bytes_high IS 'sum of the upper ends, which are less likely all at once';
COMMENT ON COLUMN @extschema@.report_runs.bytes_total IS 'bytes of all relations';
COMMENT ON COLUMN @extschema@.report_runs.bytes_read IS 'bytes that were looked at';
COMMENT ON COLUMN @extschema@.report_runs.bytes_skipped IS 'bytes of the relations that were not read';
COMMENT ON COLUMN @extschema@.report_runs.bytes_left IS 'bytes that no sample covers';
COMMENT ON COLUMN @extschema@.report_runs.elapsed_ms IS 'milliseconds that the report took; null if it was canceled';
COMMENT ON COLUMN @extschema@.report_runs.ended_by IS 'complete (there was nothing more to read), budget, max_time or canceled';
COMMENT ON COLUMN @extschema@.report_runs.top_relations IS 'relations that the metrics show, by bytes and by reclaimable_bytes';
COMMENT ON COLUMN @extschema@.report_runs.min_bytes IS '... if they have so many bytes';
COMMENT ON COLUMN @extschema@.report_runs.server_version IS 'version of the server';
COMMENT ON COLUMN @extschema@.report_runs.note IS 'what else there is to know of the run; else null';

CREATE TABLE @extschema@.report_run_relations (
	run bigint NOT NULL REFERENCES @extschema@.report_runs ON DELETE CASCADE,
	schema_name pg_catalog.text COLLATE pg_catalog."C",
	relation_name pg_catalog.text COLLATE pg_catalog."C",
	parent_name pg_catalog.text COLLATE pg_catalog."C",
	kind pg_catalog.text COLLATE pg_catalog."C",
	access_method pg_catalog.text,
	last_vacuum timestamp with time zone,
	bytes bigint,
	free_percent double precision,
	free_percent_low double precision,
	free_percent_high double precision,
	dead_percent double precision,
	dead_percent_low double precision,
	dead_percent_high double precision,
	predicted_bytes bigint,
	reclaimable_bytes bigint,
	reclaimable_bytes_low bigint,
	reclaimable_bytes_high bigint,
	corrupt_pages bigint,
	is_valid boolean,
	bytes_read bigint,
	measured pg_catalog.text,
	note pg_catalog.text,
	command pg_catalog.text,
	rebuilt_by pg_catalog.text,
	reason pg_catalog.text,
	bytes_rank int,
	reclaimable_rank int,
	is_shown boolean,
	PRIMARY KEY (run, bytes_rank));

COMMENT ON TABLE @extschema@.report_run_relations IS
'Relations of the stored reports: rows of database_report by names, as OIDs do not outlive a dump. The name of a TOAST table has an OID in it: parent_name identifies that.
collect() writes it. Needs SELECT, granted to pg_stat_scan_tables.';
COMMENT ON COLUMN @extschema@.report_run_relations.run IS 'number of the run: later ones have larger numbers';
COMMENT ON COLUMN @extschema@.report_run_relations.schema_name IS 'schema of the relation';
COMMENT ON COLUMN @extschema@.report_run_relations.relation_name IS 'name of the relation';
COMMENT ON COLUMN @extschema@.report_run_relations.parent_name IS 'table of an index or of a TOAST table, or partitioned table of a partition: its name, qualified and quoted as needed';
COMMENT ON COLUMN @extschema@.report_run_relations.kind IS 'table, partition, materialized view, toast table or index';
COMMENT ON COLUMN @extschema@.report_run_relations.access_method IS 'access method';
COMMENT ON COLUMN @extschema@.report_run_relations.last_vacuum IS 'last VACUUM or autovacuum of the table, by the cumulative statistics';
COMMENT ON COLUMN @extschema@.report_run_relations.bytes IS 'size of the main fork, in bytes';
COMMENT ON COLUMN @extschema@.report_run_relations.free_percent IS 'free bytes in percent of bytes';
COMMENT ON COLUMN @extschema@.report_run_relations.free_percent_low IS 'lower end of the 95 % interval of free_percent';
COMMENT ON COLUMN @extschema@.report_run_relations.free_percent_high IS 'upper end of the 95 % interval of free_percent';
COMMENT ON COLUMN @extschema@.report_run_relations.dead_percent IS 'bytes of dead tuples in percent of bytes';
COMMENT ON COLUMN @extschema@.report_run_relations.dead_percent_low IS 'lower end of the 95 % interval of dead_percent';
COMMENT ON COLUMN @extschema@.report_run_relations.dead_percent_high IS 'upper end of the 95 % interval of dead_percent';
COMMENT ON COLUMN @extschema@.report_run_relations.predicted_bytes IS 'predicted size after a rebuild, in bytes';
COMMENT ON COLUMN @extschema@.report_run_relations.reclaimable_bytes IS 'bytes that a rebuild gives back';
COMMENT ON COLUMN @extschema@.report_run_relations.reclaimable_bytes_low IS 'lower end of the 95 % interval of reclaimable_bytes';
COMMENT ON COLUMN @extschema@.report_run_relations.reclaimable_bytes_high IS 'upper end of the 95 % interval of reclaimable_bytes';
COMMENT ON COLUMN @extschema@.report_run_relations.corrupt_pages IS 'corrupt pages among those that were read; null if none was read';
COMMENT ON COLUMN @extschema@.report_run_relations.is_valid IS 'whether queries may use the index; null if the relation is no index';
COMMENT ON COLUMN @extschema@.report_run_relations.bytes_read IS 'bytes of the relation that were read';
COMMENT ON COLUMN @extschema@.report_run_relations.measured IS 'exact (all pages were read), sampled or skipped';
COMMENT ON COLUMN @extschema@.report_run_relations.note IS 'why it was skipped, or what cannot be told or is wrong; else null';
COMMENT ON COLUMN @extschema@.report_run_relations.command IS 'command that gives the bytes back, or mends the relation; null if none is worth it, or if another relation''s does it';
COMMENT ON COLUMN @extschema@.report_run_relations.rebuilt_by IS 'table whose command rebuilds this relation as well: its name, qualified and quoted as needed';
COMMENT ON COLUMN @extschema@.report_run_relations.reason IS 'why the command is advised, or withheld';
COMMENT ON COLUMN @extschema@.report_run_relations.bytes_rank IS 'place in the order of bytes, from 1';
COMMENT ON COLUMN @extschema@.report_run_relations.reclaimable_rank IS 'place in the order of reclaimable_bytes, from 1';
COMMENT ON COLUMN @extschema@.report_run_relations.is_shown IS 'has a row of its own in report_relation_metrics';

-- A relation by name in many runs, a TOAST table by its table's name, and
-- the metrics of a run
CREATE INDEX ON @extschema@.report_run_relations (run, relation_name, schema_name);
CREATE INDEX ON @extschema@.report_run_relations (run, parent_name) WHERE kind OPERATOR(pg_catalog.=) 'toast table'::pg_catalog.text;
CREATE INDEX ON @extschema@.report_run_relations (run) WHERE is_shown;

CREATE TABLE @extschema@.report_run_others (
	run bigint NOT NULL REFERENCES @extschema@.report_runs ON DELETE CASCADE,
	kind pg_catalog.text COLLATE pg_catalog."C",
	last_vacuum timestamp with time zone,
	bytes bigint,
	relations bigint,
	free_percent double precision,
	free_percent_low double precision,
	free_percent_high double precision,
	dead_percent double precision,
	dead_percent_low double precision,
	dead_percent_high double precision,
	predicted_bytes bigint,
	reclaimable_bytes bigint,
	reclaimable_bytes_low bigint,
	reclaimable_bytes_high bigint,
	measured pg_catalog.text,
	PRIMARY KEY (run, kind));

COMMENT ON TABLE @extschema@.report_run_others IS
'Sums of the relations of a stored report that its metrics do not show one by one, a row for each kind; of numbers, over the relations of which they are known.
collect() writes it. Needs SELECT, granted to pg_stat_scan_tables.';
COMMENT ON COLUMN @extschema@.report_run_others.run IS 'number of the run: later ones have larger numbers';
COMMENT ON COLUMN @extschema@.report_run_others.kind IS 'table, partition, materialized view, toast table or index';
COMMENT ON COLUMN @extschema@.report_run_others.last_vacuum IS 'the earliest last_vacuum';
COMMENT ON COLUMN @extschema@.report_run_others.bytes IS 'size of the main forks, in bytes';
COMMENT ON COLUMN @extschema@.report_run_others.relations IS 'relations that are summed up';
COMMENT ON COLUMN @extschema@.report_run_others.free_percent IS 'free bytes in percent of bytes';
COMMENT ON COLUMN @extschema@.report_run_others.free_percent_low IS 'mean of the lower ends, which are less likely all at once';
COMMENT ON COLUMN @extschema@.report_run_others.free_percent_high IS 'mean of the upper ends, which are less likely all at once';
COMMENT ON COLUMN @extschema@.report_run_others.dead_percent IS 'bytes of dead tuples in percent of bytes';
COMMENT ON COLUMN @extschema@.report_run_others.dead_percent_low IS 'mean of the lower ends, which are less likely all at once';
COMMENT ON COLUMN @extschema@.report_run_others.dead_percent_high IS 'mean of the upper ends, which are less likely all at once';
COMMENT ON COLUMN @extschema@.report_run_others.predicted_bytes IS 'predicted size after rebuilds, in bytes';
COMMENT ON COLUMN @extschema@.report_run_others.reclaimable_bytes IS 'bytes that rebuilds give back';
COMMENT ON COLUMN @extschema@.report_run_others.reclaimable_bytes_low IS 'sum of the lower ends, which are less likely all at once';
COMMENT ON COLUMN @extschema@.report_run_others.reclaimable_bytes_high IS 'sum of the upper ends, which are less likely all at once';
COMMENT ON COLUMN @extschema@.report_run_others.measured IS 'exact (of all relations), skipped (not all were read) or sampled';

CREATE TABLE @extschema@.report_run_commands (
	run bigint NOT NULL REFERENCES @extschema@.report_runs ON DELETE CASCADE,
	rank bigint,
	schema_name pg_catalog.text,
	relation_name pg_catalog.text,
	kind pg_catalog.text,
	bytes bigint,
	relations bigint,
	reclaimable_bytes bigint,
	reclaimable_bytes_low bigint,
	reclaimable_bytes_high bigint,
	reclaimable_percent double precision,
	scratch_bytes bigint,
	bytes_to_read bigint,
	bytes_to_write bigint,
	command pg_catalog.text,
	lock_mode pg_catalog.text,
	blocks_reads boolean,
	blocks_writes boolean,
	reason pg_catalog.text,
	PRIMARY KEY (run, rank));

COMMENT ON TABLE @extschema@.report_run_commands IS
'Commands that the stored reports advise: rows of database_plan.
collect() writes it. Needs SELECT, granted to pg_stat_scan_tables.';
COMMENT ON COLUMN @extschema@.report_run_commands.run IS 'number of the run: later ones have larger numbers';
COMMENT ON COLUMN @extschema@.report_run_commands.rank IS 'place in the order, from 1: corrupt relations, indexes that are not valid, then by reclaimable_bytes';
COMMENT ON COLUMN @extschema@.report_run_commands.schema_name IS 'schema of the relation';
COMMENT ON COLUMN @extschema@.report_run_commands.relation_name IS 'name of the relation';
COMMENT ON COLUMN @extschema@.report_run_commands.kind IS 'table, partition, materialized view, toast table or index';
COMMENT ON COLUMN @extschema@.report_run_commands.bytes IS 'size of the main forks of all relations that the command rebuilds or changes, in bytes';
COMMENT ON COLUMN @extschema@.report_run_commands.relations IS 'relations that the command rebuilds or changes';
COMMENT ON COLUMN @extschema@.report_run_commands.reclaimable_bytes IS 'bytes that the command gives back, of all these relations';
COMMENT ON COLUMN @extschema@.report_run_commands.reclaimable_bytes_low IS 'sum of the lower ends, which are less likely all at once';
COMMENT ON COLUMN @extschema@.report_run_commands.reclaimable_bytes_high IS 'sum of the upper ends, which are less likely all at once';
COMMENT ON COLUMN @extschema@.report_run_commands.reclaimable_percent IS 'reclaimable_bytes in percent of bytes';
COMMENT ON COLUMN @extschema@.report_run_commands.scratch_bytes IS 'disk space that new files and sorting take until the command ends';
COMMENT ON COLUMN @extschema@.report_run_commands.bytes_to_read IS 'bytes that the command reads; null if not known';
COMMENT ON COLUMN @extschema@.report_run_commands.bytes_to_write IS 'bytes of files that the command writes; WAL of about this size comes on top unless wal_level is minimal; null if not known';
COMMENT ON COLUMN @extschema@.report_run_commands.command IS 'command: SQL, or pg_repack for a shell; null if none helps before what the reason says';
COMMENT ON COLUMN @extschema@.report_run_commands.lock_mode IS 'strongest lock that the command holds while it works, on the table or the index';
COMMENT ON COLUMN @extschema@.report_run_commands.blocks_reads IS 'queries on the table wait until the command ends';
COMMENT ON COLUMN @extschema@.report_run_commands.blocks_writes IS 'changes of the table wait until the command ends';
COMMENT ON COLUMN @extschema@.report_run_commands.reason IS 'why the command is advised, or what is to be done instead';

SELECT pg_catalog.pg_extension_config_dump('@extschema@.report_runs_run_seq', '');
SELECT pg_catalog.pg_extension_config_dump('@extschema@.report_runs', '');
SELECT pg_catalog.pg_extension_config_dump('@extschema@.report_run_relations', '');
SELECT pg_catalog.pg_extension_config_dump('@extschema@.report_run_others', '');
SELECT pg_catalog.pg_extension_config_dump('@extschema@.report_run_commands', '');

CREATE PROCEDURE collect(
	margin float8 DEFAULT NULL,
	budget text DEFAULT '1GB',
	max_time interval DEFAULT NULL,
	max_rate text DEFAULT NULL,
	seed bigint DEFAULT NULL,
	retention interval DEFAULT '90 days',
	top_relations int DEFAULT 100,
	min_bytes text DEFAULT '1MB')
AS 'MODULE_PATHNAME', 'sst_collect'
LANGUAGE C;

COMMENT ON PROCEDURE collect(float8, text, interval, text, bigint, interval, int, text) IS
'Makes a report as run_database_report does, stores it in the tables report_runs, report_run_relations, report_run_others and report_run_commands with the rights of their owner, and deletes older runs.
retention: runs that began so long ago are deleted; null: none. top_relations: how many relations the metrics show, by bytes and by reclaimable_bytes; min_bytes: only those of so many bytes. The rest is summed up.
Locks are those of run_database_report; then a RowExclusiveLock on these tables. Fails on a standby. Needs EXECUTE, granted to pg_stat_scan_tables.';

-- Every name, operator and argument in a view is spelled out: what others may have
-- put into the schema before us fits none of them better.
CREATE VIEW @extschema@.report_relation_metrics AS
	SELECT u.datname, coalesce(r.schema_name, '') AS schema_name, coalesce(r.relation_name, '') AS relation_name,
		coalesce(r.parent_name, '') AS parent_name, coalesce(r.kind, '') AS kind, coalesce(r.access_method, '') AS access_method,
		r.bytes, 1::bigint AS relations, r.predicted_bytes, r.reclaimable_bytes, r.reclaimable_bytes_low, r.reclaimable_bytes_high,
		r.free_percent OPERATOR(pg_catalog./) 100::double precision AS free_ratio,
		r.free_percent_low OPERATOR(pg_catalog./) 100::double precision AS free_ratio_low,
		r.free_percent_high OPERATOR(pg_catalog./) 100::double precision AS free_ratio_high,
		r.dead_percent OPERATOR(pg_catalog./) 100::double precision AS dead_ratio,
		r.dead_percent_low OPERATOR(pg_catalog./) 100::double precision AS dead_ratio_low,
		r.dead_percent_high OPERATOR(pg_catalog./) 100::double precision AS dead_ratio_high,
		r.corrupt_pages AS corrupt_pages, (r.is_valid IS FALSE)::int::bigint AS is_invalid,
		(r.measured OPERATOR(pg_catalog.<>) 'skipped'::pg_catalog.text)::int::bigint AS is_measured,
		(r.measured OPERATOR(pg_catalog.=) 'exact'::pg_catalog.text)::int::bigint AS is_exact,
		extract(epoch FROM r.last_vacuum)::double precision AS last_vacuum_timestamp_seconds
	FROM @extschema@.report_runs AS u JOIN @extschema@.report_run_relations AS r ON r.run OPERATOR(pg_catalog.=) u.run
	WHERE r.is_shown AND u.run OPERATOR(pg_catalog.=) (SELECT pg_catalog.max(l.run) FROM @extschema@.report_runs AS l)
	UNION ALL
	SELECT u.datname, '', '(others)', '', o.kind, '', o.bytes, o.relations, o.predicted_bytes, o.reclaimable_bytes, o.reclaimable_bytes_low, o.reclaimable_bytes_high,
		o.free_percent OPERATOR(pg_catalog./) 100::double precision AS free_ratio,
		o.free_percent_low OPERATOR(pg_catalog./) 100::double precision AS free_ratio_low,
		o.free_percent_high OPERATOR(pg_catalog./) 100::double precision AS free_ratio_high,
		o.dead_percent OPERATOR(pg_catalog./) 100::double precision AS dead_ratio,
		o.dead_percent_low OPERATOR(pg_catalog./) 100::double precision AS dead_ratio_low,
		o.dead_percent_high OPERATOR(pg_catalog./) 100::double precision AS dead_ratio_high,
		0::bigint AS corrupt_pages, 0::bigint AS is_invalid,
		(o.measured OPERATOR(pg_catalog.<>) 'skipped'::pg_catalog.text)::int::bigint AS is_measured,
		(o.measured OPERATOR(pg_catalog.=) 'exact'::pg_catalog.text)::int::bigint AS is_exact,
		extract(epoch FROM o.last_vacuum)::double precision AS last_vacuum_timestamp_seconds
	FROM @extschema@.report_runs AS u JOIN @extschema@.report_run_others AS o ON o.run OPERATOR(pg_catalog.=) u.run
	WHERE u.run OPERATOR(pg_catalog.=) (SELECT pg_catalog.max(l.run) FROM @extschema@.report_runs AS l);

COMMENT ON VIEW @extschema@.report_relation_metrics IS
'Metrics of the last stored report, a row for a relation and a column for a metric: relations that are large, or would give much back, corrupt ones and indexes that are not valid. The rest has a row for each kind, (others). Labels are never null.
Reads stored rows only, in milliseconds. Needs SELECT, granted to pg_stat_scan_tables.';
COMMENT ON COLUMN @extschema@.report_relation_metrics.datname IS 'name of the database';
COMMENT ON COLUMN @extschema@.report_relation_metrics.schema_name IS 'schema of the relation; empty in a row of the rest';
COMMENT ON COLUMN @extschema@.report_relation_metrics.relation_name IS 'name of the relation, or (others)';
COMMENT ON COLUMN @extschema@.report_relation_metrics.parent_name IS 'table of an index or of a TOAST table, or partitioned table of a partition: its name, qualified and quoted as needed; else empty';
COMMENT ON COLUMN @extschema@.report_relation_metrics.kind IS 'table, partition, materialized view, toast table or index';
COMMENT ON COLUMN @extschema@.report_relation_metrics.access_method IS 'access method; empty in a row of the rest';
COMMENT ON COLUMN @extschema@.report_relation_metrics.bytes IS 'size of the main fork, in bytes';
COMMENT ON COLUMN @extschema@.report_relation_metrics.relations IS 'relations in the row: 1, or those of the rest';
COMMENT ON COLUMN @extschema@.report_relation_metrics.predicted_bytes IS 'predicted size after a rebuild, in bytes';
COMMENT ON COLUMN @extschema@.report_relation_metrics.reclaimable_bytes IS 'bytes that a rebuild gives back';
COMMENT ON COLUMN @extschema@.report_relation_metrics.reclaimable_bytes_low IS 'lower end of the 95 % interval of reclaimable_bytes';
COMMENT ON COLUMN @extschema@.report_relation_metrics.reclaimable_bytes_high IS 'upper end of the 95 % interval of reclaimable_bytes';
COMMENT ON COLUMN @extschema@.report_relation_metrics.free_ratio IS 'free bytes, as a fraction of bytes';
COMMENT ON COLUMN @extschema@.report_relation_metrics.free_ratio_low IS 'lower end of the 95 % interval of free_ratio';
COMMENT ON COLUMN @extschema@.report_relation_metrics.free_ratio_high IS 'upper end of the 95 % interval of free_ratio';
COMMENT ON COLUMN @extschema@.report_relation_metrics.dead_ratio IS 'bytes of dead tuples, as a fraction of bytes';
COMMENT ON COLUMN @extschema@.report_relation_metrics.dead_ratio_low IS 'lower end of the 95 % interval of dead_ratio';
COMMENT ON COLUMN @extschema@.report_relation_metrics.dead_ratio_high IS 'upper end of the 95 % interval of dead_ratio';
COMMENT ON COLUMN @extschema@.report_relation_metrics.corrupt_pages IS 'corrupt pages among those that were read; null if none was read';
COMMENT ON COLUMN @extschema@.report_relation_metrics.is_invalid IS '1: an index that is not valid';
COMMENT ON COLUMN @extschema@.report_relation_metrics.is_measured IS '1: all of it, or a sample, was read';
COMMENT ON COLUMN @extschema@.report_relation_metrics.is_exact IS '1: all pages were read';
COMMENT ON COLUMN @extschema@.report_relation_metrics.last_vacuum_timestamp_seconds IS 'last VACUUM or autovacuum of the table, in seconds since 1970';

CREATE VIEW @extschema@.report_run_metrics AS
	SELECT u.datname, u.bytes_total AS bytes, u.relations, u.exact_relations, u.sampled_relations, u.skipped_relations, u.commands,
		u.reclaimable_bytes, u.reclaimable_bytes_low, u.reclaimable_bytes_high, u.planned_bytes,
		c.corrupt_relations, c.corrupt_pages, c.invalid_indexes, u.bytes_read, u.bytes_skipped, u.bytes_left,
		extract(epoch FROM u.started)::double precision AS started_timestamp_seconds,
		extract(epoch FROM pg_catalog.now() OPERATOR(pg_catalog.-) u.started)::double precision AS age_seconds,
		u.elapsed_ms OPERATOR(pg_catalog./) 1000::double precision AS elapsed_seconds,
		(u.ended_by OPERATOR(pg_catalog.=) 'complete'::pg_catalog.text)::int::bigint AS is_complete
	FROM @extschema@.report_runs AS u,
		LATERAL (SELECT pg_catalog.count(*) FILTER (WHERE r.corrupt_pages OPERATOR(pg_catalog.>) 0::bigint) AS corrupt_relations,
			coalesce(pg_catalog.sum(r.corrupt_pages), 0::numeric)::bigint AS corrupt_pages,
			pg_catalog.count(*) FILTER (WHERE r.is_valid IS FALSE) AS invalid_indexes
			FROM @extschema@.report_run_relations AS r
			WHERE r.run OPERATOR(pg_catalog.=) u.run AND r.is_shown) AS c
	WHERE u.run OPERATOR(pg_catalog.=) (SELECT pg_catalog.max(l.run) FROM @extschema@.report_runs AS l);

COMMENT ON VIEW @extschema@.report_run_metrics IS
'Metrics of the last stored report as a whole, in one row: sums, damage, age and cost; no row before the first.
Reads stored rows only, in milliseconds. Needs SELECT, granted to pg_stat_scan_tables.';
COMMENT ON COLUMN @extschema@.report_run_metrics.datname IS 'name of the database';
COMMENT ON COLUMN @extschema@.report_run_metrics.bytes IS 'bytes of all relations';
COMMENT ON COLUMN @extschema@.report_run_metrics.relations IS 'relations in the report';
COMMENT ON COLUMN @extschema@.report_run_metrics.exact_relations IS 'relations of which all pages were read';
COMMENT ON COLUMN @extschema@.report_run_metrics.sampled_relations IS 'relations of which a sample was read';
COMMENT ON COLUMN @extschema@.report_run_metrics.skipped_relations IS 'relations that were not read';
COMMENT ON COLUMN @extschema@.report_run_metrics.commands IS 'commands of the plan';
COMMENT ON COLUMN @extschema@.report_run_metrics.reclaimable_bytes IS 'bytes that rebuilds of all relations would give back, be they worth it or not';
COMMENT ON COLUMN @extschema@.report_run_metrics.reclaimable_bytes_low IS 'sum of the lower ends, which are less likely all at once';
COMMENT ON COLUMN @extschema@.report_run_metrics.reclaimable_bytes_high IS 'sum of the upper ends, which are less likely all at once';
COMMENT ON COLUMN @extschema@.report_run_metrics.planned_bytes IS 'bytes that the commands of the plan give back';
COMMENT ON COLUMN @extschema@.report_run_metrics.corrupt_relations IS 'relations that have corrupt pages among those that were read';
COMMENT ON COLUMN @extschema@.report_run_metrics.corrupt_pages IS 'corrupt pages among those that were read';
COMMENT ON COLUMN @extschema@.report_run_metrics.invalid_indexes IS 'indexes that are not valid';
COMMENT ON COLUMN @extschema@.report_run_metrics.bytes_read IS 'bytes that were looked at';
COMMENT ON COLUMN @extschema@.report_run_metrics.bytes_skipped IS 'bytes of the relations that were not read';
COMMENT ON COLUMN @extschema@.report_run_metrics.bytes_left IS 'bytes that no sample covers';
COMMENT ON COLUMN @extschema@.report_run_metrics.started_timestamp_seconds IS 'when the report began, in seconds since 1970';
COMMENT ON COLUMN @extschema@.report_run_metrics.age_seconds IS 'seconds since the report began';
COMMENT ON COLUMN @extschema@.report_run_metrics.elapsed_seconds IS 'seconds that the report took';
COMMENT ON COLUMN @extschema@.report_run_metrics.is_complete IS '1: there was nothing more to read; 0: a limit ended it';

CREATE VIEW @extschema@.report_metrics AS
	SELECT r.schema_name, r.relation_name, r.parent_name, r.kind, r.access_method, m.metric, m.value
	FROM @extschema@.report_relation_metrics AS r, LATERAL (VALUES
		('streamstat_relation_bytes', r.bytes::double precision),
		('streamstat_relation_relations', r.relations::double precision),
		('streamstat_relation_predicted_bytes', r.predicted_bytes::double precision),
		('streamstat_relation_reclaimable_bytes', r.reclaimable_bytes::double precision),
		('streamstat_relation_reclaimable_bytes_low', r.reclaimable_bytes_low::double precision),
		('streamstat_relation_reclaimable_bytes_high', r.reclaimable_bytes_high::double precision),
		('streamstat_relation_free_ratio', r.free_ratio),
		('streamstat_relation_free_ratio_low', r.free_ratio_low),
		('streamstat_relation_free_ratio_high', r.free_ratio_high),
		('streamstat_relation_dead_ratio', r.dead_ratio),
		('streamstat_relation_dead_ratio_low', r.dead_ratio_low),
		('streamstat_relation_dead_ratio_high', r.dead_ratio_high),
		('streamstat_relation_corrupt_pages', r.corrupt_pages::double precision),
		('streamstat_relation_is_invalid', r.is_invalid::double precision),
		('streamstat_relation_is_measured', r.is_measured::double precision),
		('streamstat_relation_is_exact', r.is_exact::double precision),
		('streamstat_relation_last_vacuum_timestamp_seconds', r.last_vacuum_timestamp_seconds)
	) AS m (metric, value)
	WHERE m.value IS NOT NULL;

COMMENT ON VIEW @extschema@.report_metrics IS
'The rows of report_relation_metrics, a row for each metric that is known: bytes, ratios from 0 to 1, seconds since 1970, counts, or 1 and 0 for yes and no.
Reads stored rows only, in milliseconds. Needs SELECT, granted to pg_stat_scan_tables.';
COMMENT ON COLUMN @extschema@.report_metrics.schema_name IS 'schema of the relation; empty in a row of the rest';
COMMENT ON COLUMN @extschema@.report_metrics.relation_name IS 'name of the relation, or (others)';
COMMENT ON COLUMN @extschema@.report_metrics.parent_name IS 'table of an index or of a TOAST table, or partitioned table of a partition: its name, qualified and quoted as needed; else empty';
COMMENT ON COLUMN @extschema@.report_metrics.kind IS 'table, partition, materialized view, toast table or index';
COMMENT ON COLUMN @extschema@.report_metrics.access_method IS 'access method; empty in a row of the rest';
COMMENT ON COLUMN @extschema@.report_metrics.metric IS 'name of the metric';
COMMENT ON COLUMN @extschema@.report_metrics.value IS 'value: bytes, a ratio from 0 to 1, seconds since 1970, a count, or 1 and 0 for yes and no';

CREATE TYPE @extschema@.report_history_row AS (
	run bigint,
	started timestamptz,
	bytes bigint,
	predicted_bytes bigint,
	reclaimable_bytes bigint,
	reclaimable_bytes_low bigint,
	reclaimable_bytes_high bigint,
	free_percent float8,
	dead_percent float8,
	measured text,
	bytes_per_day float8);

COMMENT ON TYPE report_history_row IS 'row of report_history';
COMMENT ON COLUMN report_history_row.run IS 'number of the run: later ones have larger numbers';
COMMENT ON COLUMN report_history_row.started IS 'when the report began';
COMMENT ON COLUMN report_history_row.bytes IS 'size of the main fork, in bytes';
COMMENT ON COLUMN report_history_row.predicted_bytes IS 'predicted size after a rebuild, in bytes';
COMMENT ON COLUMN report_history_row.reclaimable_bytes IS 'bytes that a rebuild gives back';
COMMENT ON COLUMN report_history_row.reclaimable_bytes_low IS 'lower end of the 95 % interval of reclaimable_bytes';
COMMENT ON COLUMN report_history_row.reclaimable_bytes_high IS 'upper end of the 95 % interval of reclaimable_bytes';
COMMENT ON COLUMN report_history_row.free_percent IS 'free bytes in percent of bytes';
COMMENT ON COLUMN report_history_row.dead_percent IS 'bytes of dead tuples in percent of bytes';
COMMENT ON COLUMN report_history_row.measured IS 'exact (all pages were read), sampled or skipped';
COMMENT ON COLUMN report_history_row.bytes_per_day IS 'growth since the run before, in bytes per day; null for the first';

-- The tables have names that are quoted as needed, whatever the caller's setting.
CREATE FUNCTION report_history(relation regclass)
RETURNS SETOF @extschema@.report_history_row
LANGUAGE sql STABLE PARALLEL UNSAFE COST 10000 ROWS 100
SET search_path = pg_catalog, pg_temp
SET quote_all_identifiers = off
AS $$
	SELECT h.run, h.started, h.bytes, h.predicted_bytes, h.reclaimable_bytes, h.reclaimable_bytes_low, h.reclaimable_bytes_high,
		h.free_percent, h.dead_percent, h.measured,
		(h.bytes OPERATOR(pg_catalog.-) pg_catalog.lag(h.bytes) OVER w)::double precision OPERATOR(pg_catalog.*) 86400::double precision
			OPERATOR(pg_catalog./) nullif(extract(epoch FROM h.started OPERATOR(pg_catalog.-) pg_catalog.lag(h.started) OVER w)::double precision, 0::double precision)
	FROM (
		SELECT u.run, u.started, r.bytes, r.predicted_bytes, r.reclaimable_bytes, r.reclaimable_bytes_low, r.reclaimable_bytes_high,
			r.free_percent, r.dead_percent, r.measured
		FROM (
			-- of a TOAST table, its table
			SELECT n.nspname::pg_catalog.text AS schema_name, c.relname::pg_catalog.text AS relation_name,
				pg_catalog.format('%I.%I', n.nspname, c.relname) AS name, c.oid OPERATOR(pg_catalog.<>) relation::pg_catalog.oid AS is_toast
			FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
			WHERE c.oid OPERATOR(pg_catalog.=) coalesce((
				SELECT d.refobjid FROM pg_catalog.pg_class AS t
					JOIN pg_catalog.pg_depend AS d ON d.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_class'::pg_catalog.regclass::pg_catalog.oid
						AND d.objid OPERATOR(pg_catalog.=) t.oid
						AND d.refclassid OPERATOR(pg_catalog.=) 'pg_catalog.pg_class'::pg_catalog.regclass::pg_catalog.oid
						AND d.deptype OPERATOR(pg_catalog.=) 'i'::pg_catalog."char"
				WHERE t.oid OPERATOR(pg_catalog.=) relation::pg_catalog.oid AND t.relkind OPERATOR(pg_catalog.=) 't'::pg_catalog."char"),
				relation::pg_catalog.oid)) AS k,
			@extschema@.report_runs AS u,
			-- by an index in each run, whatever the planner knows of the tables
			LATERAL (
				SELECT r.bytes, r.predicted_bytes, r.reclaimable_bytes, r.reclaimable_bytes_low, r.reclaimable_bytes_high,
				r.free_percent, r.dead_percent, r.measured
				FROM @extschema@.report_run_relations AS r
				WHERE r.run OPERATOR(pg_catalog.=) u.run AND r.relation_name OPERATOR(pg_catalog.=) k.relation_name
					AND r.schema_name OPERATOR(pg_catalog.=) k.schema_name AND NOT k.is_toast
				UNION ALL
				SELECT r.bytes, r.predicted_bytes, r.reclaimable_bytes, r.reclaimable_bytes_low, r.reclaimable_bytes_high,
				r.free_percent, r.dead_percent, r.measured
				FROM @extschema@.report_run_relations AS r
				WHERE r.run OPERATOR(pg_catalog.=) u.run AND r.parent_name OPERATOR(pg_catalog.=) k.name
					AND r.kind OPERATOR(pg_catalog.=) 'toast table'::pg_catalog.text AND k.is_toast) AS r
		) AS h
	WINDOW w AS (ORDER BY h.started, h.run)
	ORDER BY h.started, h.run;
$$;

COMMENT ON FUNCTION report_history(regclass) IS
'Returns a row for each stored report that has the relation, the oldest first. It is found by its present name, a TOAST table by that of its table.
Reads stored rows; no other relation is locked or read. Needs EXECUTE, granted to pg_stat_scan_tables.';

CREATE TYPE @extschema@.report_growth_row AS (
	schema_name text,
	relation_name text,
	parent_name text,
	kind text,
	since timestamptz,
	bytes bigint,
	grown_bytes bigint,
	bytes_per_day float8);

COMMENT ON TYPE report_growth_row IS 'row of report_growth';
COMMENT ON COLUMN report_growth_row.schema_name IS 'schema of the relation';
COMMENT ON COLUMN report_growth_row.relation_name IS 'name of the relation';
COMMENT ON COLUMN report_growth_row.parent_name IS 'table of an index or of a TOAST table, or partitioned table of a partition: its name, qualified and quoted as needed';
COMMENT ON COLUMN report_growth_row.kind IS 'table, partition, materialized view, toast table or index';
COMMENT ON COLUMN report_growth_row.since IS 'when the report began that the last one is compared with';
COMMENT ON COLUMN report_growth_row.bytes IS 'size of the main fork, in bytes';
COMMENT ON COLUMN report_growth_row.grown_bytes IS 'bytes that have been added since, negative if there are fewer; all of a relation that was not there';
COMMENT ON COLUMN report_growth_row.bytes_per_day IS 'grown_bytes per day';

CREATE FUNCTION report_growth(period interval DEFAULT '7 days')
RETURNS SETOF @extschema@.report_growth_row
LANGUAGE sql STABLE PARALLEL UNSAFE COST 1000000 ROWS 2000
SET search_path = pg_catalog, pg_temp
AS $$
	WITH last AS (
		SELECT u.run, u.started FROM @extschema@.report_runs AS u ORDER BY u.run DESC LIMIT 1),
	base AS (
		SELECT u.run, u.started,
			nullif(extract(epoch FROM l.started OPERATOR(pg_catalog.-) u.started)::double precision, 0::double precision) AS seconds
		FROM @extschema@.report_runs AS u, last AS l
		WHERE u.run OPERATOR(pg_catalog.<>) l.run AND u.started OPERATOR(pg_catalog.<=) l.started
		ORDER BY pg_catalog.abs(extract(epoch FROM l.started OPERATOR(pg_catalog.-) period OPERATOR(pg_catalog.-) u.started)::double precision), u.run DESC LIMIT 1)
	SELECT r.schema_name, r.relation_name, r.parent_name, r.kind, b.started, r.bytes, g.grown_bytes,
		g.grown_bytes::double precision OPERATOR(pg_catalog.*) 86400::double precision OPERATOR(pg_catalog./) b.seconds
	FROM base AS b, last AS l
		JOIN @extschema@.report_run_relations AS r ON r.run OPERATOR(pg_catalog.=) l.run
		LEFT JOIN (SELECT o.run, o.schema_name, o.bytes, CASE WHEN o.kind OPERATOR(pg_catalog.=) 'toast table'::pg_catalog.text THEN o.parent_name ELSE o.relation_name END AS name
				FROM @extschema@.report_run_relations AS o
				WHERE o.run OPERATOR(pg_catalog.=) (SELECT base.run FROM base)) AS o
			ON o.schema_name OPERATOR(pg_catalog.=) r.schema_name
				AND o.name OPERATOR(pg_catalog.=) CASE WHEN r.kind OPERATOR(pg_catalog.=) 'toast table'::pg_catalog.text THEN r.parent_name ELSE r.relation_name END,
		LATERAL (SELECT r.bytes OPERATOR(pg_catalog.-) CASE WHEN o.run IS NULL THEN 0::bigint ELSE o.bytes END AS grown_bytes) AS g
	ORDER BY g.grown_bytes DESC NULLS LAST, r.schema_name, r.relation_name;
$$;

COMMENT ON FUNCTION report_growth(interval) IS
'Compares the relations of the last stored report with those of the one that began closest to so long before it, by names; those that have grown most come first. No rows if there is only one report.
period: how long before. Reads stored rows; no other relation is locked or read. Needs EXECUTE, granted to pg_stat_scan_tables.';

CREATE VIEW @extschema@.report_advice AS
	SELECT p.rank, p.schema_name, p.relation_name, p.kind, p.bytes, p.relations,
		pg_catalog.pg_size_pretty(p.bytes) AS size,
		pg_catalog.pg_size_pretty(p.reclaimable_bytes) AS reclaimable_size,
		p.reclaimable_bytes, p.reclaimable_bytes_low, p.reclaimable_bytes_high, p.reclaimable_percent,
		p.scratch_bytes, pg_catalog.pg_size_pretty(p.scratch_bytes) AS scratch_size, p.bytes_to_read, p.bytes_to_write,
		p.command, p.lock_mode, p.blocks_reads, p.blocks_writes, p.reason
	FROM @extschema@.database_plan(2::double precision, '1GB'::pg_catalog.text,
			'60s'::pg_catalog.interval, NULL::pg_catalog.text, NULL::bigint) p;

COMMENT ON VIEW @extschema@.report_advice IS
'The commands of database_plan, the most urgent first, with sizes for people beside the bytes.
Each query makes a report, of at most 1 GB and 60 seconds. Locks are those of database_report. Needs SELECT, granted to pg_stat_scan_tables.';

-- Indexes are compared by their columns, operator classes, collations and
-- orders, which are numbered from 0; expressions and predicates by their trees, without
-- places in the command's text: pg_get_expr() would wait for the table's lock.
CREATE VIEW @extschema@.report_drop_candidates AS
	WITH indexes AS MATERIALIZED (
		SELECT c.oid, i.indrelid, n.nspname, c.relname, a.amname,
			pg_catalog.format('%I.%I', n.nspname, c.relname) AS name, pg_catalog.format('%I.%I', n.nspname, t.relname) AS parent,
			i.indisvalid, i.indisunique, i.indnkeyatts,
			i.indisunique OR i.indisprimary OR i.indisexclusion OR i.indisreplident OR i.indisclustered
				OR EXISTS (SELECT FROM pg_catalog.pg_constraint AS k WHERE k.conindid OPERATOR(pg_catalog.=) c.oid) AS needed,
			i.indkey::pg_catalog.int2[] AS keys, i.indclass::pg_catalog.oid[] AS classes,
			i.indcollation::pg_catalog.oid[] AS collations, i.indoption::pg_catalog.int2[] AS options,
			coalesce(pg_catalog.regexp_replace(i.indexprs::pg_catalog.text, ':location -?[0-9]+', '', 'g'), '') AS expressions,
			coalesce(pg_catalog.regexp_replace(i.indpred::pg_catalog.text, ':location -?[0-9]+', '', 'g'), '') AS predicate,
			EXISTS (SELECT FROM pg_catalog.pg_inherits AS h WHERE h.inhrelid OPERATOR(pg_catalog.=) c.oid) AS attached,
			EXISTS (SELECT FROM pg_catalog.pg_locks AS l WHERE l.locktype OPERATOR(pg_catalog.=) 'relation'
				AND l.relation OPERATOR(pg_catalog.=) c.oid AND l.mode OPERATOR(pg_catalog.=) 'AccessExclusiveLock') AS locked,
			c.relpages
		FROM pg_catalog.pg_index AS i
			JOIN pg_catalog.pg_class AS c ON c.oid OPERATOR(pg_catalog.=) i.indexrelid
			JOIN pg_catalog.pg_class AS t ON t.oid OPERATOR(pg_catalog.=) i.indrelid
			JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
			JOIN pg_catalog.pg_am AS a ON a.oid OPERATOR(pg_catalog.=) c.relam
		WHERE c.relkind OPERATOR(pg_catalog.=) 'i'::pg_catalog."char"
			AND c.oid OPERATOR(pg_catalog.>=) 16384::pg_catalog.oid
			AND t.relkind OPERATOR(pg_catalog.<>) 't'::pg_catalog."char"
			AND c.relpersistence OPERATOR(pg_catalog.<>) 't'::pg_catalog."char"
			-- those of an extension's tables are its own matter
			AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend AS e
				WHERE e.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_class'::pg_catalog.regclass
					AND e.objid OPERATOR(pg_catalog.=) t.oid AND e.objsubid OPERATOR(pg_catalog.=) 0
					AND e.deptype OPERATOR(pg_catalog.=) 'e'::pg_catalog."char")),
	compared AS (
		SELECT s.oid, s.nspname, s.relname, s.parent, s.amname, s.indisvalid, s.needed, s.attached, s.locked, s.relpages,
			(pg_catalog.array_agg(o.name ORDER BY o.needed DESC, o.name))[1] AS by_index,
			pg_catalog.bool_or(o.indnkeyatts OPERATOR(pg_catalog.=) s.indnkeyatts) AS is_equal
		FROM indexes AS s LEFT JOIN indexes AS o ON o.indrelid OPERATOR(pg_catalog.=) s.indrelid
			AND o.oid OPERATOR(pg_catalog.<>) s.oid AND o.amname OPERATOR(pg_catalog.=) s.amname
			AND o.predicate OPERATOR(pg_catalog.=) s.predicate AND o.expressions OPERATOR(pg_catalog.=) s.expressions
			AND s.indisvalid AND o.indisvalid AND NOT s.needed
			AND (o.indnkeyatts OPERATOR(pg_catalog.=) s.indnkeyatts
				OR (o.indnkeyatts OPERATOR(pg_catalog.>) s.indnkeyatts AND s.amname OPERATOR(pg_catalog.=) 'btree'))
			AND o.keys[0:s.indnkeyatts OPERATOR(pg_catalog.-) 1] OPERATOR(pg_catalog.=) s.keys[0:s.indnkeyatts OPERATOR(pg_catalog.-) 1]
			AND o.classes[0:s.indnkeyatts OPERATOR(pg_catalog.-) 1] OPERATOR(pg_catalog.=) s.classes[0:s.indnkeyatts OPERATOR(pg_catalog.-) 1]
			AND o.collations[0:s.indnkeyatts OPERATOR(pg_catalog.-) 1] OPERATOR(pg_catalog.=) s.collations[0:s.indnkeyatts OPERATOR(pg_catalog.-) 1]
			AND o.options[0:s.indnkeyatts OPERATOR(pg_catalog.-) 1] OPERATOR(pg_catalog.=) s.options[0:s.indnkeyatts OPERATOR(pg_catalog.-) 1]
			AND o.keys OPERATOR(pg_catalog.@>) s.keys
			-- of two that are equal, the newer one
			AND (o.needed OR o.indnkeyatts OPERATOR(pg_catalog.>) s.indnkeyatts
				OR pg_catalog.cardinality(o.keys) OPERATOR(pg_catalog.>) pg_catalog.cardinality(s.keys)
				OR o.oid OPERATOR(pg_catalog.<) s.oid)
		GROUP BY s.oid, s.nspname, s.relname, s.parent, s.amname, s.indisvalid, s.needed, s.attached, s.locked, s.relpages)
	SELECT i.nspname::pg_catalog.text AS schema_name, i.relname::pg_catalog.text AS relation_name, i.parent AS parent_name,
		i.amname::pg_catalog.text AS access_method,
		pg_catalog.pg_stat_get_db_stat_reset_time(d.oid) AS stats_reset, b.bytes,
		pg_catalog.pg_stat_get_numscans(i.oid) AS index_scans, pg_catalog.pg_size_pretty(b.bytes) AS size,
		CASE WHEN i.attached
			THEN 'it belongs to an index of the partitioned table, and can only be dropped with that'
			WHEN NOT i.indisvalid THEN 'another session may be building it'
			ELSE 'scans on standbys and those before stats_reset are not counted' END AS note,
		CASE WHEN NOT i.indisvalid THEN 'not valid: queries do not use it'
			WHEN i.is_equal THEN pg_catalog.concat('the same as ', i.by_index)
			WHEN i.by_index IS NOT NULL THEN pg_catalog.concat('its columns are the first ones of ', i.by_index)
			ELSE 'never scanned since statistics were reset' END AS reason
	FROM compared AS i
		JOIN pg_catalog.pg_database AS d ON d.datname OPERATOR(pg_catalog.=) pg_catalog.current_database(),
		-- what is locked against everybody is not waited for
		LATERAL (SELECT CASE WHEN i.locked
			THEN i.relpages::bigint OPERATOR(pg_catalog.*) pg_catalog.current_setting('block_size')::bigint
			ELSE pg_catalog.pg_relation_size(i.oid::pg_catalog.regclass, 'main') END AS bytes) AS b
	WHERE NOT i.indisvalid OR i.by_index IS NOT NULL
		OR (NOT i.needed AND pg_catalog.pg_stat_get_numscans(i.oid) OPERATOR(pg_catalog.=) 0)
	ORDER BY b.bytes DESC NULLS LAST;

COMMENT ON VIEW @extschema@.report_drop_candidates IS
'Indexes that may be worth dropping: never scanned, equal to another one, with the first columns of another one, or not valid; the largest first. Indexes of constraints, unique ones, replica identities and those that CLUSTER uses are left out, unless they are not valid; so are all of extensions' tables.
Takes an AccessShareLock on the indexes, one at a time; does not wait for one that is locked when it begins. Needs SELECT, granted to pg_stat_scan_tables.';

COMMENT ON COLUMN @extschema@.report_advice.rank IS 'place in the order, from 1: corrupt relations, indexes that are not valid, then by reclaimable_bytes';
COMMENT ON COLUMN @extschema@.report_advice.schema_name IS 'schema of the relation';
COMMENT ON COLUMN @extschema@.report_advice.relation_name IS 'name of the relation';
COMMENT ON COLUMN @extschema@.report_advice.kind IS 'table, partition, materialized view, toast table or index';
COMMENT ON COLUMN @extschema@.report_advice.bytes IS 'size of the main forks of all relations that the command rebuilds or changes, in bytes';
COMMENT ON COLUMN @extschema@.report_advice.relations IS 'relations that the command rebuilds or changes';
COMMENT ON COLUMN @extschema@.report_advice.size IS 'bytes, as pg_size_pretty shows them';
COMMENT ON COLUMN @extschema@.report_advice.reclaimable_size IS 'reclaimable_bytes, as pg_size_pretty shows them';
COMMENT ON COLUMN @extschema@.report_advice.reclaimable_bytes IS 'bytes that the command gives back, of all these relations';
COMMENT ON COLUMN @extschema@.report_advice.reclaimable_bytes_low IS 'sum of the lower ends, which are less likely all at once';
COMMENT ON COLUMN @extschema@.report_advice.reclaimable_bytes_high IS 'sum of the upper ends, which are less likely all at once';
COMMENT ON COLUMN @extschema@.report_advice.reclaimable_percent IS 'reclaimable_bytes in percent of bytes';
COMMENT ON COLUMN @extschema@.report_advice.scratch_bytes IS 'disk space that new files and sorting take until the command ends';
COMMENT ON COLUMN @extschema@.report_advice.scratch_size IS 'scratch_bytes, as pg_size_pretty shows them';
COMMENT ON COLUMN @extschema@.report_advice.bytes_to_read IS 'bytes that the command reads; null if not known';
COMMENT ON COLUMN @extschema@.report_advice.bytes_to_write IS 'bytes of files that the command writes; WAL of about this size comes on top unless wal_level is minimal; null if not known';
COMMENT ON COLUMN @extschema@.report_advice.command IS 'command: SQL, or pg_repack for a shell; null if none helps before what the reason says';
COMMENT ON COLUMN @extschema@.report_advice.lock_mode IS 'strongest lock that the command holds while it works, on the table or the index';
COMMENT ON COLUMN @extschema@.report_advice.blocks_reads IS 'queries on the table wait until the command ends';
COMMENT ON COLUMN @extschema@.report_advice.blocks_writes IS 'changes of the table wait until the command ends';
COMMENT ON COLUMN @extschema@.report_advice.reason IS 'why the command is advised, or what is to be done instead';

COMMENT ON COLUMN @extschema@.report_drop_candidates.schema_name IS 'schema of the index';
COMMENT ON COLUMN @extschema@.report_drop_candidates.relation_name IS 'name of the index';
COMMENT ON COLUMN @extschema@.report_drop_candidates.parent_name IS 'table of the index: its name, qualified and quoted as needed';
COMMENT ON COLUMN @extschema@.report_drop_candidates.access_method IS 'access method';
COMMENT ON COLUMN @extschema@.report_drop_candidates.stats_reset IS 'since when scans are counted; null: since the database was made';
COMMENT ON COLUMN @extschema@.report_drop_candidates.bytes IS 'size of the main fork, in bytes';
COMMENT ON COLUMN @extschema@.report_drop_candidates.index_scans IS 'scans of the index, by the cumulative statistics';
COMMENT ON COLUMN @extschema@.report_drop_candidates.size IS 'bytes, as pg_size_pretty shows them';
COMMENT ON COLUMN @extschema@.report_drop_candidates.note IS 'what is to be considered before the index is dropped';
COMMENT ON COLUMN @extschema@.report_drop_candidates.reason IS 'why the index may be worth dropping';

--
-- What calls do, and did
--

CREATE TYPE @extschema@.io_probe_row AS (
	tablespace_name text,
	relation regclass,
	pattern text,
	io_method text,
	depth bigint,
	request_bytes bigint,
	is_direct boolean,
	reads bigint,
	bytes_read bigint,
	elapsed_ms float8,
	reads_per_second float8,
	bytes_per_second float8,
	latency_ms float8,
	latency_ms_p99 float8,
	deeper_pays boolean,
	note text);

COMMENT ON TYPE io_probe_row IS 'row of io_probe';
COMMENT ON COLUMN io_probe_row.tablespace_name IS 'tablespace whose storage was read';
COMMENT ON COLUMN io_probe_row.relation IS 'relation whose blocks were read; null if there was none to read';
COMMENT ON COLUMN io_probe_row.pattern IS 'random or sequential';
COMMENT ON COLUMN io_probe_row.io_method IS 'how the blocks were read: sync (one read after the other), advice (the kernel is asked ahead of each read), io_uring, or the server''s read stream under its io_method';
COMMENT ON COLUMN io_probe_row.depth IS 'reads in flight at a time';
COMMENT ON COLUMN io_probe_row.request_bytes IS 'size of each read, in bytes';
COMMENT ON COLUMN io_probe_row.is_direct IS 'reads passed the page cache (O_DIRECT); if false, only blocks that the kernel said were not cached were read';
COMMENT ON COLUMN io_probe_row.reads IS 'reads that were timed';
COMMENT ON COLUMN io_probe_row.bytes_read IS 'bytes of these reads';
COMMENT ON COLUMN io_probe_row.elapsed_ms IS 'milliseconds that they took together';
COMMENT ON COLUMN io_probe_row.reads_per_second IS 'reads per second';
COMMENT ON COLUMN io_probe_row.bytes_per_second IS 'bytes per second';
COMMENT ON COLUMN io_probe_row.latency_ms IS 'median time of a read from its start to its arrival, in milliseconds; null for the server''s read stream';
COMMENT ON COLUMN io_probe_row.latency_ms_p99 IS 'time that 99 percent of the reads do not exceed, in milliseconds; null for the server''s read stream';
COMMENT ON COLUMN io_probe_row.deeper_pays IS 'the next greater depth reads at least 5 percent more; null if none was tried';
COMMENT ON COLUMN io_probe_row.note IS 'why there are no figures, or not all; else null';

CREATE FUNCTION io_probe(
	relation regclass DEFAULT NULL,
	max_bytes text DEFAULT NULL,
	max_time interval DEFAULT NULL,
	max_rate text DEFAULT NULL)
RETURNS SETOF @extschema@.io_probe_row
AS 'MODULE_PATHNAME', 'sst_io_probe'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000000 ROWS 60;

COMMENT ON FUNCTION io_probe(regclass, text, interval, text) IS
'Measures how quickly the storage of a tablespace answers reads: random and sequential, by several methods, depths and sizes. Reads blocks of the relation, or of the largest one on each tablespace, past the caches; changes nothing.
max_bytes: most bytes to read (null: 512MB). max_time: most time to take (null: 10 seconds). max_rate: bytes per second, on average; each measurement is as fast as it can. Both limits are for the whole call.
Takes an AccessShareLock on each relation while it is read, and without a relation waits for no lock. Needs EXECUTE, granted to pg_stat_scan_tables.';

CREATE TYPE @extschema@.io_advice_row AS (
	tablespace_name text,
	pattern text,
	setting text,
	present_value text,
	advised_value text,
	loss_percent float8,
	takes_effect text,
	command text,
	reason text);

COMMENT ON TYPE io_advice_row IS 'row of io_advice';
COMMENT ON COLUMN io_advice_row.tablespace_name IS 'tablespace that was probed';
COMMENT ON COLUMN io_advice_row.pattern IS 'reads that the advice follows from: random or sequential';
COMMENT ON COLUMN io_advice_row.setting IS 'name of the setting';
COMMENT ON COLUMN io_advice_row.present_value IS 'value that the tablespace or the session had when it was probed';
COMMENT ON COLUMN io_advice_row.advised_value IS 'smallest value that was within 5 percent of the best one';
COMMENT ON COLUMN io_advice_row.loss_percent IS 'percent of the best rate that reads by the present value did not reach, as measured; null if that was not measured';
COMMENT ON COLUMN io_advice_row.takes_effect IS 'when a change takes effect: at once, after a reload, or after a restart';
COMMENT ON COLUMN io_advice_row.command IS 'command that sets it; null if the present value is good enough';
COMMENT ON COLUMN io_advice_row.reason IS 'what the setting is for, and how it was measured';

CREATE FUNCTION io_advice()
RETURNS SETOF @extschema@.io_advice_row
AS 'MODULE_PATHNAME', 'sst_io_advice'
LANGUAGE C VOLATILE PARALLEL RESTRICTED ROWS 10;

COMMENT ON FUNCTION io_advice() IS
'Returns the settings of I/O that the session''s last io_probe speaks for, each with the command that sets it and what the present value loses. No rows before the first io_probe. Reads nothing. Needs EXECUTE, granted to pg_stat_scan_tables.';

CREATE TYPE @extschema@.stream_stats_row AS (
	function text,
	relation regclass,
	stream text,
	io_method text,
	workers int,
	blocks_requested bigint,
	blocks_hit bigint,
	blocks_missed bigint,
	blocks_private bigint,
	blocks_mapped bigint,
	reads bigint,
	avg_read_bytes float8,
	advice_calls bigint,
	avg_advice_bytes float8,
	look_ahead_max bigint,
	elapsed_ms float8,
	bytes_per_second float8,
	blocks_page_cache bigint,
	blocks_disk bigint,
	read_waits bigint,
	read_wait_ms float8,
	reads_in_flight_avg float8,
	reads_in_flight_max bigint,
	look_ahead_avg float8,
	reads_by_size bigint[],
	blocks_by_size bigint[]);

COMMENT ON TYPE stream_stats_row IS 'row of stream_stats';
COMMENT ON COLUMN stream_stats_row.function IS 'function that was called';
COMMENT ON COLUMN stream_stats_row.relation IS 'relation that the call was about';
COMMENT ON COLUMN stream_stats_row.stream IS 'stream that read the blocks';
COMMENT ON COLUMN stream_stats_row.io_method IS 'how the file stream read what was not in the page cache; null if there was nothing';
COMMENT ON COLUMN stream_stats_row.workers IS 'parallel workers that helped; the other columns include their work';
COMMENT ON COLUMN stream_stats_row.blocks_requested IS 'blocks that were requested';
COMMENT ON COLUMN stream_stats_row.blocks_hit IS 'requested blocks that were found in shared buffers';
COMMENT ON COLUMN stream_stats_row.blocks_missed IS 'requested blocks that were not in shared buffers';
COMMENT ON COLUMN stream_stats_row.blocks_private IS 'missed blocks that were read from files into private memory, not into shared buffers';
COMMENT ON COLUMN stream_stats_row.blocks_mapped IS 'of these, blocks that were in the page cache, mapped and copied in part';
COMMENT ON COLUMN stream_stats_row.reads IS 'read operations; null where the server does not tell';
COMMENT ON COLUMN stream_stats_row.avg_read_bytes IS 'average size of a read operation, in bytes';
COMMENT ON COLUMN stream_stats_row.advice_calls IS 'advice to the kernel by the bundled read stream; null for other streams';
COMMENT ON COLUMN stream_stats_row.avg_advice_bytes IS 'average size of an advised run, in bytes';
COMMENT ON COLUMN stream_stats_row.look_ahead_max IS 'largest number of blocks requested ahead';
COMMENT ON COLUMN stream_stats_row.elapsed_ms IS 'milliseconds that the call took';
COMMENT ON COLUMN stream_stats_row.bytes_per_second IS 'bytes of the requested blocks per second';
COMMENT ON COLUMN stream_stats_row.blocks_page_cache IS 'missed blocks that were in the page cache of the kernel before; null if not known';
COMMENT ON COLUMN stream_stats_row.blocks_disk IS 'missed blocks that were not; null if not known';
COMMENT ON COLUMN stream_stats_row.read_waits IS 'reads that had not arrived when they were needed; null if not known';
COMMENT ON COLUMN stream_stats_row.read_wait_ms IS 'milliseconds that processes waited for reads; null if not known';
COMMENT ON COLUMN stream_stats_row.reads_in_flight_avg IS 'average number of reads in flight when one starts; null if not known';
COMMENT ON COLUMN stream_stats_row.reads_in_flight_max IS 'most reads in flight; null if not known';
COMMENT ON COLUMN stream_stats_row.look_ahead_avg IS 'average number of blocks requested ahead when one is returned; null if not known';
COMMENT ON COLUMN stream_stats_row.reads_by_size IS 'reads of 1 block, 2 to 3, 4 to 7, 8 to 15, and so on to 128 or more; null if not known';
COMMENT ON COLUMN stream_stats_row.blocks_by_size IS 'blocks that these reads have read; null if not known';

CREATE FUNCTION stream_stats()
RETURNS @extschema@.stream_stats_row
AS 'MODULE_PATHNAME', 'sst_stream_stats'
LANGUAGE C VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION stream_stats() IS
'Returns what the last completed call of this session read, and how; nulls before the first call. The work of parallel workers is included.
Takes no lock. Everybody may call it.';

CREATE TYPE @extschema@.stream_stats_workers_row AS (
	worker int,
	blocks_requested bigint,
	blocks_hit bigint,
	blocks_missed bigint,
	blocks_private bigint,
	blocks_mapped bigint,
	reads bigint,
	avg_read_bytes float8,
	advice_calls bigint,
	avg_advice_bytes float8,
	look_ahead_max bigint,
	blocks_page_cache bigint,
	blocks_disk bigint,
	read_waits bigint,
	read_wait_ms float8,
	reads_in_flight_avg float8,
	reads_in_flight_max bigint,
	look_ahead_avg float8,
	reads_by_size bigint[],
	blocks_by_size bigint[]);

COMMENT ON TYPE stream_stats_workers_row IS 'row of stream_stats_workers';
COMMENT ON COLUMN stream_stats_workers_row.worker IS '0 for the session itself, else the number of a parallel worker';
COMMENT ON COLUMN stream_stats_workers_row.blocks_requested IS 'blocks that were requested';
COMMENT ON COLUMN stream_stats_workers_row.blocks_hit IS 'requested blocks that were found in shared buffers';
COMMENT ON COLUMN stream_stats_workers_row.blocks_missed IS 'requested blocks that were not in shared buffers';
COMMENT ON COLUMN stream_stats_workers_row.blocks_private IS 'missed blocks that were read from files into private memory, not into shared buffers';
COMMENT ON COLUMN stream_stats_workers_row.blocks_mapped IS 'of these, blocks that were in the page cache, mapped and copied in part';
COMMENT ON COLUMN stream_stats_workers_row.reads IS 'read operations; null where the server does not tell';
COMMENT ON COLUMN stream_stats_workers_row.avg_read_bytes IS 'average size of a read operation, in bytes';
COMMENT ON COLUMN stream_stats_workers_row.advice_calls IS 'advice to the kernel by the bundled read stream; null for other streams';
COMMENT ON COLUMN stream_stats_workers_row.avg_advice_bytes IS 'average size of an advised run, in bytes';
COMMENT ON COLUMN stream_stats_workers_row.look_ahead_max IS 'largest number of blocks requested ahead';
COMMENT ON COLUMN stream_stats_workers_row.blocks_page_cache IS 'missed blocks that were in the page cache of the kernel before; null if not known';
COMMENT ON COLUMN stream_stats_workers_row.blocks_disk IS 'missed blocks that were not; null if not known';
COMMENT ON COLUMN stream_stats_workers_row.read_waits IS 'reads that had not arrived when they were needed; null if not known';
COMMENT ON COLUMN stream_stats_workers_row.read_wait_ms IS 'milliseconds that processes waited for reads; null if not known';
COMMENT ON COLUMN stream_stats_workers_row.reads_in_flight_avg IS 'average number of reads in flight when one starts; null if not known';
COMMENT ON COLUMN stream_stats_workers_row.reads_in_flight_max IS 'most reads in flight; null if not known';
COMMENT ON COLUMN stream_stats_workers_row.look_ahead_avg IS 'average number of blocks requested ahead when one is returned; null if not known';
COMMENT ON COLUMN stream_stats_workers_row.reads_by_size IS 'reads of 1 block, 2 to 3, 4 to 7, 8 to 15, and so on to 128 or more; null if not known';
COMMENT ON COLUMN stream_stats_workers_row.blocks_by_size IS 'blocks that these reads have read; null if not known';

CREATE FUNCTION stream_stats_workers()
RETURNS SETOF @extschema@.stream_stats_workers_row
AS 'MODULE_PATHNAME', 'sst_stream_stats_workers'
LANGUAGE C VOLATILE PARALLEL RESTRICTED ROWS 3;

COMMENT ON FUNCTION stream_stats_workers() IS
'Returns a row for each process of the last completed call of this session, the session itself first; none before the first call. Their sums are those of stream_stats().
Takes no lock. Everybody may call it.';

CREATE TYPE @extschema@.stat_get_progress_row AS (
	pid int,
	datid oid,
	relid oid,
	function text,
	phase text,
	started timestamptz,
	blocks_done bigint,
	blocks_total bigint,
	relations_done bigint,
	relations_total bigint,
	bytes_done bigint,
	bytes_total bigint,
	bytes_per_second float8,
	expected_end timestamptz);

COMMENT ON TYPE stat_get_progress_row IS 'row of stat_get_progress';
COMMENT ON COLUMN stat_get_progress_row.pid IS 'process ID of the session';
COMMENT ON COLUMN stat_get_progress_row.datid IS 'OID of the database';
COMMENT ON COLUMN stat_get_progress_row.relid IS 'OID of the relation that is being scanned, in the session''s database; null before the first scan';
COMMENT ON COLUMN stat_get_progress_row.function IS 'function that was called';
COMMENT ON COLUMN stat_get_progress_row.phase IS 'scanning; or in a report on many relations: catalog, first samples, measuring, finishing';
COMMENT ON COLUMN stat_get_progress_row.started IS 'when the call began';
COMMENT ON COLUMN stat_get_progress_row.blocks_done IS 'blocks of the current scan that were looked at, by all processes';
COMMENT ON COLUMN stat_get_progress_row.blocks_total IS 'blocks of the current scan';
COMMENT ON COLUMN stat_get_progress_row.relations_done IS 'relations that the call is done with';
COMMENT ON COLUMN stat_get_progress_row.relations_total IS 'relations that the call is about; null if not known';
COMMENT ON COLUMN stat_get_progress_row.bytes_done IS 'bytes that the call has looked at, of all relations and forks';
COMMENT ON COLUMN stat_get_progress_row.bytes_total IS 'bytes that the call will have looked at; null if not known';
COMMENT ON COLUMN stat_get_progress_row.bytes_per_second IS 'bytes_done per second since the call began';
COMMENT ON COLUMN stat_get_progress_row.expected_end IS 'when the call will end at this rate; null if not known';

CREATE FUNCTION stat_get_progress()
RETURNS SETOF @extschema@.stat_get_progress_row
AS 'MODULE_PATHNAME', 'sst_stat_get_progress'
LANGUAGE C VOLATILE PARALLEL RESTRICTED ROWS 100;

COMMENT ON FUNCTION stat_get_progress() IS
'Returns a row for each session that is in a call of a streamstat function; use the view stat_progress.
Takes no lock. Everybody may call it. Of other roles'' sessions, only members of pg_read_all_stats see more than pid and datid.';

CREATE VIEW @extschema@.stat_progress AS
	SELECT p.pid, p.datid, d.datname, p.relid, p.function, p.phase, p.started,
		CASE WHEN p.bytes_total OPERATOR(pg_catalog.>) 0
			THEN LEAST(100.0::double precision OPERATOR(pg_catalog.*) p.bytes_done OPERATOR(pg_catalog./) p.bytes_total,
				100.0::double precision)
		END AS done_percent,
		p.blocks_done, p.blocks_total, p.relations_done, p.relations_total,
		p.bytes_done, p.bytes_total, p.bytes_per_second, p.expected_end
	FROM @extschema@.stat_get_progress() p
		LEFT JOIN pg_catalog.pg_database d ON d.oid OPERATOR(pg_catalog.=) p.datid;

COMMENT ON VIEW @extschema@.stat_progress IS
'A row for each session, of any database, that is in a call of a streamstat function.
Takes no lock. Everybody may read it. Of other roles'' sessions, only members of pg_read_all_stats see more than pid, datid and datname.';
COMMENT ON COLUMN @extschema@.stat_progress.pid IS 'process ID of the session';
COMMENT ON COLUMN @extschema@.stat_progress.datid IS 'OID of the database';
COMMENT ON COLUMN @extschema@.stat_progress.datname IS 'name of the database';
COMMENT ON COLUMN @extschema@.stat_progress.relid IS 'OID of the relation that is being scanned, in the session''s database; null before the first scan';
COMMENT ON COLUMN @extschema@.stat_progress.function IS 'function that was called';
COMMENT ON COLUMN @extschema@.stat_progress.phase IS 'scanning; or in a report on many relations: catalog, first samples, measuring, finishing';
COMMENT ON COLUMN @extschema@.stat_progress.started IS 'when the call began';
COMMENT ON COLUMN @extschema@.stat_progress.done_percent IS 'bytes_done in percent of bytes_total';
COMMENT ON COLUMN @extschema@.stat_progress.blocks_done IS 'blocks of the current scan that were looked at, by all processes';
COMMENT ON COLUMN @extschema@.stat_progress.blocks_total IS 'blocks of the current scan';
COMMENT ON COLUMN @extschema@.stat_progress.relations_done IS 'relations that the call is done with';
COMMENT ON COLUMN @extschema@.stat_progress.relations_total IS 'relations that the call is about; null if not known';
COMMENT ON COLUMN @extschema@.stat_progress.bytes_done IS 'bytes that the call has looked at, of all relations and forks';
COMMENT ON COLUMN @extschema@.stat_progress.bytes_total IS 'bytes that the call will have looked at; null if not known';
COMMENT ON COLUMN @extschema@.stat_progress.bytes_per_second IS 'bytes_done per second since the call began';
COMMENT ON COLUMN @extschema@.stat_progress.expected_end IS 'when the call will end at this rate; null if not known';

GRANT SELECT ON @extschema@.stat_progress TO PUBLIC;

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

--
-- What is cached
--

CREATE TYPE @extschema@.cache_summary_row AS (
	relid oid,
	schema_name text,
	relation_name text,
	parent_name text,
	kind text,
	fork text,
	bytes bigint,
	buffered_bytes bigint,
	dirty_bytes bigint,
	pinned_bytes bigint,
	page_cache_bytes bigint,
	buffered_percent float8,
	page_cache_percent float8,
	usage_count float8);
COMMENT ON TYPE cache_summary_row IS 'row of cache_summary';
COMMENT ON COLUMN cache_summary_row.relid IS 'OID of the relation';
COMMENT ON COLUMN cache_summary_row.schema_name IS 'schema of the relation';
COMMENT ON COLUMN cache_summary_row.relation_name IS 'name of the relation';
COMMENT ON COLUMN cache_summary_row.parent_name IS 'table of an index or of a TOAST table, or partitioned table of a partition: its name, qualified and quoted as needed';
COMMENT ON COLUMN cache_summary_row.kind IS 'table, partition, materialized view, toast table or index';
COMMENT ON COLUMN cache_summary_row.fork IS 'main, fsm (free space map), vm (visibility map) or init';
COMMENT ON COLUMN cache_summary_row.bytes IS 'size of the fork, in bytes';
COMMENT ON COLUMN cache_summary_row.buffered_bytes IS 'bytes in shared buffers; null for temporary relations';
COMMENT ON COLUMN cache_summary_row.dirty_bytes IS 'of these, bytes that are not yet written; null for temporary relations';
COMMENT ON COLUMN cache_summary_row.pinned_bytes IS 'of these, bytes in buffers that are pinned; null for temporary relations';
COMMENT ON COLUMN cache_summary_row.page_cache_bytes IS 'bytes of the files in the page cache of the kernel; null where it does not tell';
COMMENT ON COLUMN cache_summary_row.buffered_percent IS 'buffered_bytes in percent of bytes';
COMMENT ON COLUMN cache_summary_row.page_cache_percent IS 'page_cache_bytes in percent of bytes';
COMMENT ON COLUMN cache_summary_row.usage_count IS 'mean usage count of the buffers, 0 to 5; null if there are none';

CREATE FUNCTION cache_summary()
RETURNS SETOF @extschema@.cache_summary_row
AS 'MODULE_PATHNAME', 'sst_cache_summary'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000000 ROWS 500;

COMMENT ON FUNCTION cache_summary() IS
'what shared buffers and the page cache have of each relation and fork of the database, in bytes. Takes no lock on a relation. For members of pg_monitor.';

CREATE TYPE @extschema@.cache_map_row AS (
	relid oid,
	schema_name text,
	relation_name text,
	parent_name text,
	kind text,
	fork text,
	first_block bigint,
	last_block bigint,
	usage_count float8);
COMMENT ON TYPE cache_map_row IS 'row of cache_map';
COMMENT ON COLUMN cache_map_row.relid IS 'OID of the relation';
COMMENT ON COLUMN cache_map_row.schema_name IS 'schema of the relation';
COMMENT ON COLUMN cache_map_row.relation_name IS 'name of the relation';
COMMENT ON COLUMN cache_map_row.parent_name IS 'table of an index or of a TOAST table, or partitioned table of a partition: its name, qualified and quoted as needed';
COMMENT ON COLUMN cache_map_row.kind IS 'table, partition, materialized view, toast table or index';
COMMENT ON COLUMN cache_map_row.fork IS 'main, fsm (free space map), vm (visibility map) or init';
COMMENT ON COLUMN cache_map_row.first_block IS 'first block of the range';
COMMENT ON COLUMN cache_map_row.last_block IS 'last block of the range';
COMMENT ON COLUMN cache_map_row.usage_count IS 'usage count of the buffers, 0 to 5, the same in all of the range';

CREATE FUNCTION cache_map()
RETURNS SETOF @extschema@.cache_map_row
AS 'MODULE_PATHNAME', 'sst_cache_map'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000000 ROWS 10000;

COMMENT ON FUNCTION cache_map() IS
'ranges of adjacent blocks of the database''s relations that are in shared buffers with the same usage count. Takes no lock on a relation. For members of pg_monitor.';

CREATE TYPE @extschema@.prewarm_row AS (
	is_sum boolean,
	relid oid,
	schema_name text,
	relation_name text,
	parent_name text,
	kind text,
	fork text,
	blocks_total bigint,
	blocks_requested bigint,
	blocks_cached bigint,
	blocks_read bigint,
	elapsed_ms float8,
	ended_by text,
	resume_from text,
	note text);
COMMENT ON TYPE prewarm_row IS 'row of prewarm and of the functions that warm several relations';
COMMENT ON COLUMN prewarm_row.is_sum IS 'true in the last row, which adds up the other rows';
COMMENT ON COLUMN prewarm_row.relid IS 'OID of the relation';
COMMENT ON COLUMN prewarm_row.schema_name IS 'schema of the relation';
COMMENT ON COLUMN prewarm_row.relation_name IS 'name of the relation';
COMMENT ON COLUMN prewarm_row.parent_name IS 'table of an index or of a TOAST table, or partitioned table of a partition: its name, qualified and quoted as needed';
COMMENT ON COLUMN prewarm_row.kind IS 'table, partition, materialized view, toast table, index or sequence; of a relation that has no pages, what else it is';
COMMENT ON COLUMN prewarm_row.fork IS 'main, fsm (free space map), vm (visibility map) or init; null if none of the relation was warmed';
COMMENT ON COLUMN prewarm_row.blocks_total IS 'blocks that the fork has; null if not known';
COMMENT ON COLUMN prewarm_row.blocks_requested IS 'of these, blocks that were looked at in order to warm them';
COMMENT ON COLUMN prewarm_row.blocks_cached IS 'of these, blocks that were cached before';
COMMENT ON COLUMN prewarm_row.blocks_read IS 'of these, blocks that were read, or that the kernel was asked to read';
COMMENT ON COLUMN prewarm_row.elapsed_ms IS 'milliseconds that it took';
COMMENT ON COLUMN prewarm_row.ended_by IS 'in the sum, what ended the call: complete, max_bytes, max_time, full (no free buffers are left) or blocking (another session waits for the end of the transaction)';
COMMENT ON COLUMN prewarm_row.resume_from IS 'in the sum, where a second call with the same arguments goes on; null if there is nothing left to do';
COMMENT ON COLUMN prewarm_row.note IS 'why the relation or fork was not warmed, or not all of it; else null';

CREATE FUNCTION cache_save(max_bytes text DEFAULT NULL)
RETURNS text
AS 'MODULE_PATHNAME', 'sst_cache_save'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000000;

COMMENT ON FUNCTION cache_save(text) IS
'which blocks of the database''s relations are in shared buffers, as a text for cache_load. The most frequently used come first; max_bytes cuts off the others. Takes no lock on a relation. For members of pg_monitor.';

CREATE FUNCTION cache_load(
	saved text,
	mode text DEFAULT 'buffer',
	min_usage_count int DEFAULT 0,
	max_bytes text DEFAULT NULL,
	max_time interval DEFAULT NULL,
	max_rate text DEFAULT NULL,
	stop_when_full boolean DEFAULT true)
RETURNS SETOF @extschema@.prewarm_row
AS 'MODULE_PATHNAME', 'sst_cache_load'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000000 ROWS 500;

COMMENT ON FUNCTION cache_load(text, text, int, text, interval, text, boolean) IS
'brings blocks into memory that cache_save has saved, here or on another server: the most frequently used first. Returns a row for each relation and fork, and their sum. Needs SELECT on the tables, or membership in pg_stat_scan_tables.';

CREATE FUNCTION prewarm(
	relation regclass,
	mode text DEFAULT 'buffer',
	max_bytes text DEFAULT NULL,
	max_time interval DEFAULT NULL,
	max_rate text DEFAULT NULL,
	stop_when_full boolean DEFAULT true,
	include_indexes boolean DEFAULT true,
	include_toast boolean DEFAULT true,
	include_maps boolean DEFAULT true,
	only_maps boolean DEFAULT false,
	only_upper boolean DEFAULT false,
	resume_from text DEFAULT NULL)
RETURNS SETOF @extschema@.prewarm_row
AS 'MODULE_PATHNAME', 'sst_prewarm_relation'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000000 ROWS 20;

COMMENT ON FUNCTION prewarm(regclass, text, text, interval, text, boolean, boolean, boolean, boolean, boolean, boolean, text) IS
'Brings a relation into memory with all that belongs to it; returns a row for each fork, and a sum.
A table comes with its maps, its indexes and its TOAST table; a partitioned table with its partitions, newest first; an index alone. mode: buffer (shared buffers), read (page cache) or prefetch (asks the kernel, and waits for nothing). What is cached is not read again.
max_bytes, max_time, max_rate: limits on what is read. stop_when_full: ends when no free buffers are left. resume_from: goes on where an earlier call ended.
Takes an AccessShareLock on what it reads, while it reads it, and waits for no lock. Needs SELECT on the table, or membership in pg_stat_scan_tables.';

CREATE FUNCTION prewarm_relations(
	relations regclass[],
	mode text DEFAULT 'buffer',
	max_bytes text DEFAULT NULL,
	max_time interval DEFAULT NULL,
	max_rate text DEFAULT NULL,
	stop_when_full boolean DEFAULT true,
	include_indexes boolean DEFAULT true,
	include_toast boolean DEFAULT true,
	include_maps boolean DEFAULT true,
	only_maps boolean DEFAULT false,
	only_upper boolean DEFAULT false,
	resume_from text DEFAULT NULL)
RETURNS SETOF @extschema@.prewarm_row
AS 'MODULE_PATHNAME', 'sst_prewarm_relations'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000000 ROWS 100;

COMMENT ON FUNCTION prewarm_relations(regclass[], text, text, interval, text, boolean, boolean, boolean, boolean, boolean, boolean, text) IS
'Brings relations into memory as prewarm does, in the order given. What is locked, gone, without pages or not permitted is a row with a note.';

CREATE FUNCTION prewarm_schema(
	schema regnamespace,
	mode text DEFAULT 'buffer',
	max_bytes text DEFAULT NULL,
	max_time interval DEFAULT NULL,
	max_rate text DEFAULT NULL,
	stop_when_full boolean DEFAULT true,
	include_indexes boolean DEFAULT true,
	include_toast boolean DEFAULT true,
	include_maps boolean DEFAULT true,
	only_maps boolean DEFAULT false,
	only_upper boolean DEFAULT false,
	resume_from text DEFAULT NULL)
RETURNS SETOF @extschema@.prewarm_row
AS 'MODULE_PATHNAME', 'sst_prewarm_schema'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000000 ROWS 500;

COMMENT ON FUNCTION prewarm_schema(regnamespace, text, text, interval, text, boolean, boolean, boolean, boolean, boolean, boolean, text) IS
'Brings the tables and materialized views of a schema into memory as prewarm does: in mode buffer those first whose blocks are used most, by the cumulative statistics; else by OID. What is locked, gone or not permitted is a row with a note.';

CREATE FUNCTION prewarm_database(
	mode text DEFAULT 'buffer',
	max_bytes text DEFAULT NULL,
	max_time interval DEFAULT NULL,
	max_rate text DEFAULT NULL,
	stop_when_full boolean DEFAULT true,
	include_indexes boolean DEFAULT true,
	include_toast boolean DEFAULT true,
	include_maps boolean DEFAULT true,
	only_maps boolean DEFAULT false,
	only_upper boolean DEFAULT false,
	resume_from text DEFAULT NULL)
RETURNS SETOF @extschema@.prewarm_row
AS 'MODULE_PATHNAME', 'sst_prewarm_database'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000000 ROWS 2000;

COMMENT ON FUNCTION prewarm_database(text, text, interval, text, boolean, boolean, boolean, boolean, boolean, boolean, text) IS
'Brings the tables and materialized views of the database, system catalogs included, into memory as prewarm does: in mode buffer those first whose blocks are used most, by the cumulative statistics; else by OID. What is locked, gone or not permitted is a row with a note.';

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
-- Whoever may run pgstattuple's functions may run these.
--

REVOKE EXECUTE ON FUNCTION
	btree_stats(regclass),
	hash_stats(regclass),
	gin_stats(regclass),
	brin_stats(regclass),
	gist_stats(regclass),
	spgist_stats(regclass),
	index_stats(regclass),
	index_stats_tree(regclass),
	table_stats(regclass, text),
	table_stats_tree(regclass, text),
	visibility_map_summary(regclass),
	unfrozen_ranges(regclass),
	free_space_map_summary(regclass),
	layout_map(regclass, int, int),
	layout_picture(regclass, int, int, int),
	corrupt_blocks(regclass, bigint, bigint, interval),
	sample_stats(regclass, int, float8, interval, bigint),
	bloat(regclass, int, bigint, text),
	bloat_tree(regclass, int, bigint, text),
	database_report(float8, text, interval, text, bigint),
	last_database_report(),
	database_plan(float8, text, interval, text, bigint),
	last_database_plan(),
	database_report_summary(),
	report_html(bigint),
	report_history(regclass),
	report_growth(interval),
	io_probe(regclass, text, interval, text),
	io_advice(),
	pgstattuple(text),
	pgstattuple(regclass),
	pgstattuple_approx(regclass),
	pgstatindex(text),
	pgstatindex(regclass),
	pgstathashindex(regclass),
	pgstatginindex(regclass),
	pg_relpages(text),
	pg_relpages(regclass),
	cache_summary(),
	cache_map(),
	cache_save(text)
	FROM PUBLIC;
REVOKE EXECUTE ON PROCEDURE
	run_database_report(float8, text, interval, text, bigint),
	collect(float8, text, interval, text, bigint, interval, int, text)
	FROM PUBLIC;

GRANT EXECUTE ON FUNCTION
	btree_stats(regclass),
	hash_stats(regclass),
	gin_stats(regclass),
	brin_stats(regclass),
	gist_stats(regclass),
	spgist_stats(regclass),
	index_stats(regclass),
	index_stats_tree(regclass),
	table_stats(regclass, text),
	table_stats_tree(regclass, text),
	visibility_map_summary(regclass),
	unfrozen_ranges(regclass),
	free_space_map_summary(regclass),
	layout_map(regclass, int, int),
	layout_picture(regclass, int, int, int),
	corrupt_blocks(regclass, bigint, bigint, interval),
	sample_stats(regclass, int, float8, interval, bigint),
	bloat(regclass, int, bigint, text),
	bloat_tree(regclass, int, bigint, text),
	database_report(float8, text, interval, text, bigint),
	last_database_report(),
	database_plan(float8, text, interval, text, bigint),
	last_database_plan(),
	database_report_summary(),
	report_html(bigint),
	report_history(regclass),
	report_growth(interval),
	io_probe(regclass, text, interval, text),
	io_advice(),
	pgstattuple(text),
	pgstattuple(regclass),
	pgstattuple_approx(regclass),
	pgstatindex(text),
	pgstatindex(regclass),
	pgstathashindex(regclass),
	pgstatginindex(regclass),
	pg_relpages(text),
	pg_relpages(regclass)
	TO pg_stat_scan_tables;
GRANT EXECUTE ON PROCEDURE
	run_database_report(float8, text, interval, text, bigint),
	collect(float8, text, interval, text, bigint, interval, int, text)
	TO pg_stat_scan_tables;

-- Whoever may use pg_buffercache may see what is cached.
GRANT EXECUTE ON FUNCTION cache_summary(), cache_map(), cache_save(text) TO pg_monitor;

GRANT SELECT ON
	@extschema@.report_runs_run_seq,
	@extschema@.report_runs,
	@extschema@.report_run_relations,
	@extschema@.report_run_others,
	@extschema@.report_run_commands,
	@extschema@.report_metrics,
	@extschema@.report_relation_metrics,
	@extschema@.report_run_metrics,
	@extschema@.report_advice,
	@extschema@.report_drop_candidates
	TO pg_stat_scan_tables;
