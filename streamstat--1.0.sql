/* streamstat--1.0.sql */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION streamstat" to load this file. \quit

-- Everybody may look; what a role may do is decided function by function.
GRANT USAGE ON SCHEMA @extschema@ TO PUBLIC;

--
-- Each of our own functions that returns rows has a row type, which is called
-- after it.  An update script can add a column by ALTER TYPE ... ADD ATTRIBUTE
-- while views depend on the function; OUT parameters could not be changed then.
-- Names, order and types of columns are those in sql/names.sql.  The comments on
-- columns become docs/reference.md (tools/reference).
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
COMMENT ON COLUMN btree_stats_row.allequalimage IS 'whether equal keys are always identical, so that deduplication is safe (from the metapage)';
COMMENT ON COLUMN btree_stats_row.bytes IS 'size of the main fork, in bytes';
COMMENT ON COLUMN btree_stats_row.pages IS 'pages of the main fork';
COMMENT ON COLUMN btree_stats_row.internal_pages IS 'internal pages';
COMMENT ON COLUMN btree_stats_row.leaf_pages IS 'leaf pages';
COMMENT ON COLUMN btree_stats_row.empty_pages IS 'half-dead pages';
COMMENT ON COLUMN btree_stats_row.deleted_pages IS 'deleted pages, which can be used again';
COMMENT ON COLUMN btree_stats_row.live_items IS 'index tuples in leaf pages that are not marked dead; a posting list tuple counts as one';
COMMENT ON COLUMN btree_stats_row.dead_items IS 'index tuples in leaf pages that are marked dead';
COMMENT ON COLUMN btree_stats_row.posting_percent IS 'posting list tuples in percent of all items; estimated from every 16th block where tuple lengths do not show it';
COMMENT ON COLUMN btree_stats_row.free_bytes IS 'free bytes in leaf pages';
COMMENT ON COLUMN btree_stats_row.avg_leaf_density IS 'percent of the space in leaf pages that is in use';
COMMENT ON COLUMN btree_stats_row.leaf_fragmentation IS 'percent of the leaf pages whose right sibling lies on an earlier block; it slows range scans of data that is not cached, not other queries';
COMMENT ON COLUMN btree_stats_row.new_pages IS 'new pages: all bytes are zero';
COMMENT ON COLUMN btree_stats_row.corrupt_pages IS 'corrupt pages: wrong checksum, header or contents';
COMMENT ON COLUMN btree_stats_row.first_new_block IS 'block number of the first new page; null if there is none';
COMMENT ON COLUMN btree_stats_row.first_corrupt_block IS 'block number of the first corrupt page; null if there is none';

CREATE FUNCTION btree_stats(
	relation regclass)
RETURNS @extschema@.btree_stats_row
AS 'MODULE_PATHNAME', 'sst_btree_stats'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100000;

COMMENT ON FUNCTION btree_stats(regclass) IS
'Returns page, item and space counts of a B-tree index. Takes an AccessShareLock on the index.';

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
COMMENT ON COLUMN hash_stats_row.free_bytes IS 'free bytes in bucket, overflow and unused pages';
COMMENT ON COLUMN hash_stats_row.free_percent IS 'free_bytes in percent of the space for tuples';
COMMENT ON COLUMN hash_stats_row.new_pages IS 'new pages: all bytes are zero, as bucket splits leave them';
COMMENT ON COLUMN hash_stats_row.corrupt_pages IS 'corrupt pages: wrong checksum, header or contents';
COMMENT ON COLUMN hash_stats_row.first_new_block IS 'block number of the first new page; null if there is none';
COMMENT ON COLUMN hash_stats_row.first_corrupt_block IS 'block number of the first corrupt page; null if there is none';

CREATE FUNCTION hash_stats(
	relation regclass)
RETURNS @extschema@.hash_stats_row
AS 'MODULE_PATHNAME', 'sst_hash_stats'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100000;

COMMENT ON FUNCTION hash_stats(regclass) IS
'Returns page, item and space counts of a hash index. Takes an AccessShareLock on the index.';

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
COMMENT ON COLUMN gin_stats_row.posting_items IS 'heap TIDs in posting trees, without those stored in the entry tree';
COMMENT ON COLUMN gin_stats_row.pending_items IS 'index tuples in the pending list, one for each key of a row';
COMMENT ON COLUMN gin_stats_row.pending_tuples IS 'heap tuples in the pending list, from the metapage';
COMMENT ON COLUMN gin_stats_row.free_bytes IS 'free bytes in leaf pages and pages of the pending list';
COMMENT ON COLUMN gin_stats_row.entry_free_bytes IS 'free bytes in leaf pages of the entry tree';
COMMENT ON COLUMN gin_stats_row.posting_free_bytes IS 'free bytes in leaf pages of posting trees';
COMMENT ON COLUMN gin_stats_row.pending_free_bytes IS 'free bytes in pages of the pending list';
COMMENT ON COLUMN gin_stats_row.entry_leaf_density IS 'percent of the space in leaf pages of the entry tree that is in use';
COMMENT ON COLUMN gin_stats_row.posting_leaf_density IS 'percent of the space in leaf pages of posting trees that is in use';
COMMENT ON COLUMN gin_stats_row.leaf_fragmentation IS 'percent of the leaf pages of all trees whose right sibling lies on an earlier block';
COMMENT ON COLUMN gin_stats_row.new_pages IS 'new pages: all bytes are zero';
COMMENT ON COLUMN gin_stats_row.corrupt_pages IS 'corrupt pages: wrong checksum, header or contents';
COMMENT ON COLUMN gin_stats_row.first_new_block IS 'block number of the first new page; null if there is none';
COMMENT ON COLUMN gin_stats_row.first_corrupt_block IS 'block number of the first corrupt page; null if there is none';

CREATE FUNCTION gin_stats(
	relation regclass)
RETURNS @extschema@.gin_stats_row
AS 'MODULE_PATHNAME', 'sst_gin_stats'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100000;

COMMENT ON FUNCTION gin_stats(regclass) IS
'Returns page, item and space counts of a GIN index. Takes an AccessShareLock on the index.';

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
COMMENT ON COLUMN brin_stats_row.ranges IS 'ranges that the table has, by its size';
COMMENT ON COLUMN brin_stats_row.summarized_ranges IS 'ranges with a summary; summaries of ranges beyond the table''s end are included';
COMMENT ON COLUMN brin_stats_row.unsummarized_ranges IS 'ranges without a summary';
COMMENT ON COLUMN brin_stats_row.live_items IS 'index tuples in regular pages, placeholders included';
COMMENT ON COLUMN brin_stats_row.placeholder_items IS 'placeholder tuples of summarizations that are running or were interrupted';
COMMENT ON COLUMN brin_stats_row.free_bytes IS 'free bytes in regular pages';
COMMENT ON COLUMN brin_stats_row.avg_density IS 'percent of the space in regular pages that is in use';
COMMENT ON COLUMN brin_stats_row.new_pages IS 'new pages: all bytes are zero';
COMMENT ON COLUMN brin_stats_row.corrupt_pages IS 'corrupt pages: wrong checksum, header or contents';
COMMENT ON COLUMN brin_stats_row.first_new_block IS 'block number of the first new page; null if there is none';
COMMENT ON COLUMN brin_stats_row.first_corrupt_block IS 'block number of the first corrupt page; null if there is none';

CREATE FUNCTION brin_stats(
	relation regclass)
RETURNS @extschema@.brin_stats_row
AS 'MODULE_PATHNAME', 'sst_brin_stats'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100000;

COMMENT ON FUNCTION brin_stats(regclass) IS
'Returns page, range and space counts of a BRIN index. Takes an AccessShareLock on the index and its table.';

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
COMMENT ON COLUMN gist_stats_row.new_pages IS 'new pages: all bytes are zero';
COMMENT ON COLUMN gist_stats_row.corrupt_pages IS 'corrupt pages: wrong checksum, header or contents';
COMMENT ON COLUMN gist_stats_row.first_new_block IS 'block number of the first new page; null if there is none';
COMMENT ON COLUMN gist_stats_row.first_corrupt_block IS 'block number of the first corrupt page; null if there is none';

CREATE FUNCTION gist_stats(
	relation regclass)
RETURNS @extschema@.gist_stats_row
AS 'MODULE_PATHNAME', 'sst_gist_stats'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100000;

COMMENT ON FUNCTION gist_stats(regclass) IS
'Returns page, item and space counts of a GiST index. Takes an AccessShareLock on the index.';

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
COMMENT ON COLUMN spgist_stats_row.dead_items IS 'dead tuples';
COMMENT ON COLUMN spgist_stats_row.redirect_items IS 'redirect tuples';
COMMENT ON COLUMN spgist_stats_row.placeholder_items IS 'placeholder tuples';
COMMENT ON COLUMN spgist_stats_row.free_bytes IS 'free bytes in leaf pages';
COMMENT ON COLUMN spgist_stats_row.inner_free_bytes IS 'free bytes in inner pages';
COMMENT ON COLUMN spgist_stats_row.avg_leaf_density IS 'percent of the space in leaf pages that is in use';
COMMENT ON COLUMN spgist_stats_row.avg_inner_density IS 'percent of the space in inner pages that is in use';
COMMENT ON COLUMN spgist_stats_row.new_pages IS 'new pages: all bytes are zero';
COMMENT ON COLUMN spgist_stats_row.corrupt_pages IS 'corrupt pages: wrong checksum, header or contents';
COMMENT ON COLUMN spgist_stats_row.first_new_block IS 'block number of the first new page; null if there is none';
COMMENT ON COLUMN spgist_stats_row.first_corrupt_block IS 'block number of the first corrupt page; null if there is none';

CREATE FUNCTION spgist_stats(
	relation regclass)
RETURNS @extschema@.spgist_stats_row
AS 'MODULE_PATHNAME', 'sst_spgist_stats'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100000;

COMMENT ON FUNCTION spgist_stats(regclass) IS
'Returns page, item and space counts of an SP-GiST index. Takes an AccessShareLock on the index.';

CREATE TYPE @extschema@.bloom_stats_row AS (
	signature_bits int,
	bytes bigint,
	pages bigint,
	leaf_pages bigint,
	deleted_pages bigint,
	nonfull_pages bigint,
	live_items bigint,
	free_bytes bigint,
	avg_leaf_density float8,
	new_pages bigint,
	corrupt_pages bigint,
	first_new_block bigint,
	first_corrupt_block bigint);

COMMENT ON TYPE bloom_stats_row IS 'row of bloom_stats';
COMMENT ON COLUMN bloom_stats_row.signature_bits IS 'length of a signature in bits, as the index was built; a rebuild uses the storage parameter length of that time';
COMMENT ON COLUMN bloom_stats_row.bytes IS 'size of the main fork, in bytes';
COMMENT ON COLUMN bloom_stats_row.pages IS 'pages of the main fork';
COMMENT ON COLUMN bloom_stats_row.leaf_pages IS 'pages with index tuples';
COMMENT ON COLUMN bloom_stats_row.deleted_pages IS 'deleted pages, which can be used again';
COMMENT ON COLUMN bloom_stats_row.nonfull_pages IS 'pages with free space that the metapage lists: inserts use these before others, and no other page that is not empty';
COMMENT ON COLUMN bloom_stats_row.live_items IS 'index tuples, one for each heap tuple';
COMMENT ON COLUMN bloom_stats_row.free_bytes IS 'free bytes in leaf pages';
COMMENT ON COLUMN bloom_stats_row.avg_leaf_density IS 'percent of the space in leaf pages that is in use';
COMMENT ON COLUMN bloom_stats_row.new_pages IS 'new pages: all bytes are zero';
COMMENT ON COLUMN bloom_stats_row.corrupt_pages IS 'corrupt pages: wrong checksum, header or contents';
COMMENT ON COLUMN bloom_stats_row.first_new_block IS 'block number of the first new page; null if there is none';
COMMENT ON COLUMN bloom_stats_row.first_corrupt_block IS 'block number of the first corrupt page; null if there is none';

CREATE FUNCTION bloom_stats(
	relation regclass)
RETURNS @extschema@.bloom_stats_row
AS 'MODULE_PATHNAME', 'sst_bloom_stats'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100000;

COMMENT ON FUNCTION bloom_stats(regclass) IS
'Returns page, item and space counts of a bloom index. Takes an AccessShareLock on the index.';

CREATE TYPE @extschema@.hnsw_stats_row AS (
	version int,
	dimensions int,
	m int,
	ef_construction int,
	entry_level int,
	bytes bigint,
	pages bigint,
	live_items bigint,
	dead_items bigint,
	neighbor_items bigint,
	heap_tids bigint,
	free_bytes bigint,
	free_percent float8,
	new_pages bigint,
	corrupt_pages bigint,
	first_new_block bigint,
	first_corrupt_block bigint);

COMMENT ON TYPE hnsw_stats_row IS 'row of hnsw_stats';
COMMENT ON COLUMN hnsw_stats_row.version IS 'version of the format, from the metapage';
COMMENT ON COLUMN hnsw_stats_row.dimensions IS 'dimensions of the vectors, from the metapage';
COMMENT ON COLUMN hnsw_stats_row.m IS 'storage parameter m as the index was built: neighbors of an element on each level but the lowest, which has twice as many';
COMMENT ON COLUMN hnsw_stats_row.ef_construction IS 'storage parameter ef_construction as the index was built';
COMMENT ON COLUMN hnsw_stats_row.entry_level IS 'highest level of the graph, on which searches begin; -1 without elements';
COMMENT ON COLUMN hnsw_stats_row.bytes IS 'size of the main fork, in bytes';
COMMENT ON COLUMN hnsw_stats_row.pages IS 'pages of the main fork';
COMMENT ON COLUMN hnsw_stats_row.live_items IS 'elements that point to heap tuples';
COMMENT ON COLUMN hnsw_stats_row.dead_items IS 'elements that VACUUM has deleted; an insert can use the space of one';
COMMENT ON COLUMN hnsw_stats_row.neighbor_items IS 'tuples with the neighbors of an element, one for each element, live or dead';
COMMENT ON COLUMN hnsw_stats_row.heap_tids IS 'heap tuples that elements point to; rows with the same vector share an element, up to ten';
COMMENT ON COLUMN hnsw_stats_row.free_bytes IS 'free bytes in pages, not counting those of dead elements';
COMMENT ON COLUMN hnsw_stats_row.free_percent IS 'free bytes in percent of the space for items';
COMMENT ON COLUMN hnsw_stats_row.new_pages IS 'new pages: all bytes are zero';
COMMENT ON COLUMN hnsw_stats_row.corrupt_pages IS 'corrupt pages: wrong checksum, header or contents';
COMMENT ON COLUMN hnsw_stats_row.first_new_block IS 'block number of the first new page; null if there is none';
COMMENT ON COLUMN hnsw_stats_row.first_corrupt_block IS 'block number of the first corrupt page; null if there is none';

CREATE FUNCTION hnsw_stats(
	relation regclass)
RETURNS @extschema@.hnsw_stats_row
AS 'MODULE_PATHNAME', 'sst_hnsw_stats'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100000;

COMMENT ON FUNCTION hnsw_stats(regclass) IS
'Returns page, item and space counts of an hnsw index. Takes an AccessShareLock on the index.';

CREATE TYPE @extschema@.ivfflat_stats_row AS (
	version int,
	dimensions int,
	lists int,
	bytes bigint,
	pages bigint,
	list_pages bigint,
	leaf_pages bigint,
	live_items bigint,
	free_bytes bigint,
	avg_leaf_density float8,
	new_pages bigint,
	corrupt_pages bigint,
	first_new_block bigint,
	first_corrupt_block bigint);

COMMENT ON TYPE ivfflat_stats_row IS 'row of ivfflat_stats';
COMMENT ON COLUMN ivfflat_stats_row.version IS 'version of the format, from the metapage';
COMMENT ON COLUMN ivfflat_stats_row.dimensions IS 'dimensions of the vectors, from the metapage';
COMMENT ON COLUMN ivfflat_stats_row.lists IS 'storage parameter lists as the index was built';
COMMENT ON COLUMN ivfflat_stats_row.bytes IS 'size of the main fork, in bytes';
COMMENT ON COLUMN ivfflat_stats_row.pages IS 'pages of the main fork';
COMMENT ON COLUMN ivfflat_stats_row.list_pages IS 'pages with lists and their centers';
COMMENT ON COLUMN ivfflat_stats_row.leaf_pages IS 'pages with index tuples; those of each list are in a chain, and stay in it when they are empty';
COMMENT ON COLUMN ivfflat_stats_row.live_items IS 'index tuples, one for each heap tuple with a vector; VACUUM removes those of dead ones';
COMMENT ON COLUMN ivfflat_stats_row.free_bytes IS 'free bytes in leaf pages';
COMMENT ON COLUMN ivfflat_stats_row.avg_leaf_density IS 'percent of the space in leaf pages that is in use';
COMMENT ON COLUMN ivfflat_stats_row.new_pages IS 'new pages: all bytes are zero';
COMMENT ON COLUMN ivfflat_stats_row.corrupt_pages IS 'corrupt pages: wrong checksum, header or contents';
COMMENT ON COLUMN ivfflat_stats_row.first_new_block IS 'block number of the first new page; null if there is none';
COMMENT ON COLUMN ivfflat_stats_row.first_corrupt_block IS 'block number of the first corrupt page; null if there is none';

CREATE FUNCTION ivfflat_stats(
	relation regclass)
RETURNS @extschema@.ivfflat_stats_row
AS 'MODULE_PATHNAME', 'sst_ivfflat_stats'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100000;

COMMENT ON FUNCTION ivfflat_stats(regclass) IS
'Returns page, item and space counts of an ivfflat index. Takes an AccessShareLock on the index.';

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
COMMENT ON COLUMN index_stats_row.is_sum IS 'true in the row of index_stats_tree that is the sum of the others';
COMMENT ON COLUMN index_stats_row.access_method IS 'access method';
COMMENT ON COLUMN index_stats_row.bytes IS 'size of the main fork, in bytes';
COMMENT ON COLUMN index_stats_row.pages IS 'pages of the main fork';
COMMENT ON COLUMN index_stats_row.internal_pages IS 'internal pages (hash: bitmap pages; BRIN: pages of the range map)';
COMMENT ON COLUMN index_stats_row.leaf_pages IS 'leaf pages (hash: bucket and overflow pages; GIN: leaf pages of all trees and the pending list; BRIN: regular pages)';
COMMENT ON COLUMN index_stats_row.deleted_pages IS 'empty and deleted pages';
COMMENT ON COLUMN index_stats_row.free_bytes IS 'free bytes in leaf pages (hash: in unused pages as well)';
COMMENT ON COLUMN index_stats_row.avg_leaf_density IS 'percent of the space in leaf pages that is in use';
COMMENT ON COLUMN index_stats_row.leaf_fragmentation IS 'percent of the leaf pages whose right sibling lies on an earlier block; B-tree and GIN only';
COMMENT ON COLUMN index_stats_row.new_pages IS 'new pages: all bytes are zero';
COMMENT ON COLUMN index_stats_row.corrupt_pages IS 'corrupt pages: wrong checksum, header or contents';
COMMENT ON COLUMN index_stats_row.first_new_block IS 'block number of the first new page; null if there is none';
COMMENT ON COLUMN index_stats_row.first_corrupt_block IS 'block number of the first corrupt page; null if there is none';
COMMENT ON COLUMN index_stats_row.note IS 'why values are missing, or a remark; else null';

CREATE FUNCTION index_stats(
	relation regclass)
RETURNS @extschema@.index_stats_row
AS 'MODULE_PATHNAME', 'sst_index_stats'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100000;

COMMENT ON FUNCTION index_stats(regclass) IS
'Returns page and space counts of an index of any access method. Takes an AccessShareLock on the index.';

CREATE FUNCTION index_stats_tree(
	relation regclass)
RETURNS SETOF @extschema@.index_stats_row
AS 'MODULE_PATHNAME', 'sst_index_stats_tree'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000000 ROWS 100;

COMMENT ON FUNCTION index_stats_tree(regclass) IS
'Returns rows of index_stats for the indexes under a partitioned index, and their sum. Locks one partition at a time.';

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
COMMENT ON COLUMN table_stats_row.is_sum IS 'true in the row of table_stats_tree that is the sum of the others';
COMMENT ON COLUMN table_stats_row.bytes IS 'size of the main fork, in bytes';
COMMENT ON COLUMN table_stats_row.pages IS 'pages of the main fork';
COMMENT ON COLUMN table_stats_row.all_visible_pages IS 'pages that are all-visible by the visibility map';
COMMENT ON COLUMN table_stats_row.all_frozen_pages IS 'pages that are all-frozen by the visibility map';
COMMENT ON COLUMN table_stats_row.truncatable_pages IS 'trailing pages that VACUUM could truncate (it does so from 1000 pages or 1/16 of the table on)';
COMMENT ON COLUMN table_stats_row.fsm_nonfull_pages IS 'pages that have free space, by the free space map';
COMMENT ON COLUMN table_stats_row.live_tuples IS 'tuples that are live, or being inserted or deleted by another transaction';
COMMENT ON COLUMN table_stats_row.live_tuple_bytes IS 'bytes of live_tuples';
COMMENT ON COLUMN table_stats_row.live_tuple_percent IS 'live_tuple_bytes in percent of bytes';
COMMENT ON COLUMN table_stats_row.dead_tuples IS 'dead tuples, recently dead ones included';
COMMENT ON COLUMN table_stats_row.dead_tuple_bytes IS 'bytes of dead_tuples';
COMMENT ON COLUMN table_stats_row.dead_tuple_percent IS 'dead_tuple_bytes in percent of bytes';
COMMENT ON COLUMN table_stats_row.recently_dead_tuples IS 'dead tuples that VACUUM cannot remove yet, because a transaction may still see them';
COMMENT ON COLUMN table_stats_row.insert_in_progress_tuples IS 'tuples whose inserting transaction has not ended';
COMMENT ON COLUMN table_stats_row.delete_in_progress_tuples IS 'tuples whose deleting transaction has not ended';
COMMENT ON COLUMN table_stats_row.dead_line_pointers IS 'dead line pointers';
COMMENT ON COLUMN table_stats_row.redirect_line_pointers IS 'redirect line pointers';
COMMENT ON COLUMN table_stats_row.unused_line_pointers IS 'unused line pointers';
COMMENT ON COLUMN table_stats_row.free_bytes IS 'free bytes; new pages count as free, which they do not in pgstattuple';
COMMENT ON COLUMN table_stats_row.free_percent IS 'free_bytes in percent of bytes';
COMMENT ON COLUMN table_stats_row.largest_free_bytes IS 'free bytes in the page that has the most, of those that are not new';
COMMENT ON COLUMN table_stats_row.fsm_free_bytes IS 'free bytes by the free space map';
COMMENT ON COLUMN table_stats_row.fsm_largest_free_bytes IS 'free bytes in the page that has the most, by the free space map';
COMMENT ON COLUMN table_stats_row.new_pages IS 'new pages: all bytes are zero';
COMMENT ON COLUMN table_stats_row.corrupt_pages IS 'corrupt pages: wrong checksum, header or contents';
COMMENT ON COLUMN table_stats_row.first_new_block IS 'block number of the first new page; null if there is none';
COMMENT ON COLUMN table_stats_row.first_corrupt_block IS 'block number of the first corrupt page; null if there is none';
COMMENT ON COLUMN table_stats_row.note IS 'why values are missing; else null';

CREATE FUNCTION table_stats(
	relation regclass,
	with_toast text DEFAULT 'no')
RETURNS SETOF @extschema@.table_stats_row
AS 'MODULE_PATHNAME', 'sst_table_stats'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100000 ROWS 1;

COMMENT ON FUNCTION table_stats(regclass, text) IS
'Returns page, tuple and space counts of a table, and optionally of its TOAST table. Takes an AccessShareLock on the table.';

CREATE FUNCTION table_stats_tree(
	relation regclass,
	with_toast text DEFAULT 'no')
RETURNS SETOF @extschema@.table_stats_row
AS 'MODULE_PATHNAME', 'sst_table_stats_tree'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000000 ROWS 100;

COMMENT ON FUNCTION table_stats_tree(regclass, text) IS
'Returns rows of table_stats for a partition or inheritance tree, and their sum. Locks one table at a time.';

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
COMMENT ON COLUMN visibility_map_summary_row.largest_unfrozen_range_pages IS 'pages of the largest of these runs';
COMMENT ON COLUMN visibility_map_summary_row.unfrozen_ranges IS 'runs of adjacent pages that are not all-frozen; an aggressive VACUUM reads these pages';
COMMENT ON COLUMN visibility_map_summary_row.corrupt_map_pages IS 'corrupt pages of the map; their bits count as not set';

CREATE FUNCTION visibility_map_summary(
	relation regclass)
RETURNS @extschema@.visibility_map_summary_row
AS 'MODULE_PATHNAME', 'sst_visibility_map_summary'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 10000;

COMMENT ON FUNCTION visibility_map_summary(regclass) IS
'Summarizes the visibility map of a table. Takes an AccessShareLock on the table.';

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
'Returns the ranges of blocks that are not all-frozen. Takes an AccessShareLock on the table.';

CREATE TYPE @extschema@.free_space_map_summary_row AS (
	pages bigint,
	nonfull_pages bigint,
	free_bytes bigint,
	free_percent float8,
	largest_free_bytes bigint,
	corrupt_map_pages bigint);

COMMENT ON TYPE free_space_map_summary_row IS 'row of free_space_map_summary';
COMMENT ON COLUMN free_space_map_summary_row.pages IS 'pages of the relation';
COMMENT ON COLUMN free_space_map_summary_row.nonfull_pages IS 'pages with free space; the map of an index has empty pages only';
COMMENT ON COLUMN free_space_map_summary_row.free_bytes IS 'free bytes, by the map, which rounds each page down to a multiple of 32 bytes';
COMMENT ON COLUMN free_space_map_summary_row.free_percent IS 'free bytes in percent of bytes';
COMMENT ON COLUMN free_space_map_summary_row.largest_free_bytes IS 'free bytes in the page that has the most';
COMMENT ON COLUMN free_space_map_summary_row.corrupt_map_pages IS 'corrupt pages of the map; they count as having no free space';

CREATE FUNCTION free_space_map_summary(
	relation regclass)
RETURNS @extschema@.free_space_map_summary_row
AS 'MODULE_PATHNAME', 'sst_free_space_map_summary'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 10000;

COMMENT ON FUNCTION free_space_map_summary(regclass) IS
'Summarizes the free space map of a table or index. Takes an AccessShareLock on the relation.';

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
COMMENT ON COLUMN layout_map_row.free_percent IS 'percent of the bytes that are free; new, empty and deleted pages count as free';
COMMENT ON COLUMN layout_map_row.dead_percent IS 'percent of the bytes in dead tuples, or in index tuples marked dead';
COMMENT ON COLUMN layout_map_row.buffered_percent IS 'percent of the blocks in shared buffers when the call began; null unless the caller is a member of pg_monitor';
COMMENT ON COLUMN layout_map_row.page_cache_percent IS 'percent of the bytes in the page cache when the call began; null unless the caller is a member of pg_monitor, or if the kernel does not report it';
COMMENT ON COLUMN layout_map_row.bar IS 'bar of 40 characters: # in use, x dead, . free';

CREATE FUNCTION layout_map(
	relation regclass,
	buckets int DEFAULT 64,
	blocks int DEFAULT NULL)
RETURNS SETOF @extschema@.layout_map_row
AS 'MODULE_PATHNAME', 'sst_layout_map'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100000 ROWS 64;

COMMENT ON FUNCTION layout_map(regclass, int, int) IS
'Returns free, dead and cached space by position in the file. Takes an AccessShareLock on the relation.';

CREATE TYPE @extschema@.layout_maps_row AS (
	relation regclass,
	bucket int,
	first_block bigint,
	last_block bigint,
	free_percent float8,
	dead_percent float8,
	buffered_percent float8,
	page_cache_percent float8,
	note text);

COMMENT ON TYPE layout_maps_row IS 'row of layout_maps';
COMMENT ON COLUMN layout_maps_row.relation IS 'relation that the row describes';
COMMENT ON COLUMN layout_maps_row.bucket IS 'number of the bucket, from 1; null if the relation was not read';
COMMENT ON COLUMN layout_maps_row.first_block IS 'first block';
COMMENT ON COLUMN layout_maps_row.last_block IS 'last block';
COMMENT ON COLUMN layout_maps_row.free_percent IS 'percent of the bytes that are free; new, empty and deleted pages count as free';
COMMENT ON COLUMN layout_maps_row.dead_percent IS 'percent of the bytes in dead tuples, or in index tuples marked dead';
COMMENT ON COLUMN layout_maps_row.buffered_percent IS 'percent of the blocks in shared buffers when the call began; null unless the caller is a member of pg_monitor';
COMMENT ON COLUMN layout_maps_row.page_cache_percent IS 'percent of the bytes in the page cache when the call began; null unless the caller is a member of pg_monitor, or if the kernel does not report it';
COMMENT ON COLUMN layout_maps_row.note IS 'why the relation was not read, or a remark; else null';

CREATE FUNCTION layout_maps(
	relations regclass[],
	buckets int DEFAULT 64,
	blocks int DEFAULT NULL)
RETURNS SETOF @extschema@.layout_maps_row
AS 'MODULE_PATHNAME', 'sst_layout_maps'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000000 ROWS 640;

COMMENT ON FUNCTION layout_maps(regclass[], int, int) IS
'Returns the rows of layout_map for several relations, or a note. Locks one relation at a time and waits for no lock.';

CREATE TYPE @extschema@.layout_picture_row AS (
	first_block bigint,
	picture text);

COMMENT ON TYPE layout_picture_row IS 'row of layout_picture';
COMMENT ON COLUMN layout_picture_row.first_block IS 'first block of the line; null in lines about caches and in the legend';
COMMENT ON COLUMN layout_picture_row.picture IS 'one character for each bucket: the use of its pages, or the caches that hold it; or a line of the legend';

CREATE FUNCTION layout_picture(
	relation regclass,
	buckets int DEFAULT 1024,
	width int DEFAULT 64,
	blocks int DEFAULT NULL)
RETURNS SETOF @extschema@.layout_picture_row
AS 'MODULE_PATHNAME', 'sst_layout_picture'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100000 ROWS 40;

COMMENT ON FUNCTION layout_picture(regclass, int, int, int) IS
'Draws the result of layout_map, one character for each bucket. Takes an AccessShareLock on the relation.';

CREATE TYPE @extschema@.corrupt_blocks_row AS (
	block_no bigint,
	error text,
	detail text);

COMMENT ON TYPE corrupt_blocks_row IS 'row of corrupt_blocks';
COMMENT ON COLUMN corrupt_blocks_row.block_no IS 'block number; in a row with the error "not read", the first block that was not checked, or null if the relation cannot be read';
COMMENT ON COLUMN corrupt_blocks_row.error IS 'first check that failed: read error, checksum, header, special space, page type, line pointers, tuples or contents; "not read" in a last row if a limit ended the call, and in the only row of a relation that cannot be read';
COMMENT ON COLUMN corrupt_blocks_row.detail IS 'description of the error, or why nothing was read';

CREATE FUNCTION corrupt_blocks(
	relation regclass,
	first_block bigint DEFAULT 0,
	max_rows bigint DEFAULT NULL,
	max_time interval DEFAULT NULL)
RETURNS SETOF @extschema@.corrupt_blocks_row
AS 'MODULE_PATHNAME', 'sst_corrupt_blocks'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100000 ROWS 10;

COMMENT ON FUNCTION corrupt_blocks(regclass, bigint, bigint, interval) IS
'Returns the corrupt blocks of a table or index. Takes an AccessShareLock on the relation.';

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
COMMENT ON COLUMN sample_stats_row.statistic IS 'name of the statistic: that of the column with the same meaning in btree_stats, table_stats and so on';
COMMENT ON COLUMN sample_stats_row.estimate IS 'estimate for the whole relation; null for a percentage of an empty total';
COMMENT ON COLUMN sample_stats_row.low IS 'lower end of the 95 % confidence interval; null if the sample is too small';
COMMENT ON COLUMN sample_stats_row.high IS 'upper end of the 95 % confidence interval; null if the sample is too small';
COMMENT ON COLUMN sample_stats_row.blocks_read IS 'blocks in the sample';
COMMENT ON COLUMN sample_stats_row.blocks_total IS 'blocks of the relation';
COMMENT ON COLUMN sample_stats_row.measured IS 'exact (all blocks were read), sampled, or skipped (max_time ended the first sample, or the relation cannot be read)';
COMMENT ON COLUMN sample_stats_row.ended_by IS 'what ended the sample: margin, blocks, all (all blocks were read) or max_time';
COMMENT ON COLUMN sample_stats_row.note IS 'why values are missing, or a remark; else null';

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
'Estimates page statistics from a random sample of blocks, with 95 % confidence intervals. Takes an AccessShareLock on the relation.';

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
COMMENT ON COLUMN bloat_row.is_sum IS 'true in the row of bloat_tree that is the sum of the others';
COMMENT ON COLUMN bloat_row.bytes IS 'size of the main fork, in bytes';
COMMENT ON COLUMN bloat_row.predicted_bytes IS 'predicted size after a rebuild, in bytes; null if it cannot be predicted';
COMMENT ON COLUMN bloat_row.predicted_bytes_low IS 'lower end of the 95 % interval of predicted_bytes';
COMMENT ON COLUMN bloat_row.predicted_bytes_high IS 'upper end of the 95 % interval of predicted_bytes';
COMMENT ON COLUMN bloat_row.reclaimable_bytes IS 'bytes that a rebuild would free, at least 0; null if it cannot be predicted. If bytes lies within the interval of predicted_bytes, reclaimable_bytes_low is 0';
COMMENT ON COLUMN bloat_row.reclaimable_bytes_low IS 'lower end of the 95 % interval of reclaimable_bytes';
COMMENT ON COLUMN bloat_row.reclaimable_bytes_high IS 'upper end of the 95 % interval of reclaimable_bytes';
COMMENT ON COLUMN bloat_row.reclaimable_percent IS 'reclaimable_bytes in percent of bytes';
COMMENT ON COLUMN bloat_row.blocks_read IS 'blocks of the relation that were read';
COMMENT ON COLUMN bloat_row.blocks_total IS 'blocks of the relation';
COMMENT ON COLUMN bloat_row.measured IS 'exact (all blocks were read), sampled, or skipped (the relation cannot be read)';
COMMENT ON COLUMN bloat_row.note IS 'why nothing is predicted, or a remark; else null';

CREATE FUNCTION bloat(
	relation regclass,
	blocks int DEFAULT 10000,
	seed bigint DEFAULT NULL,
	with_toast text DEFAULT 'no')
RETURNS SETOF @extschema@.bloat_row
AS 'MODULE_PATHNAME', 'sst_bloat'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 10000 ROWS 1;

COMMENT ON FUNCTION bloat(regclass, int, bigint, text) IS
'Predicts the size after a rebuild from a random sample of blocks. Takes an AccessShareLock on the relation, and on the table of an index.';

CREATE FUNCTION bloat_tree(
	relation regclass,
	blocks int DEFAULT 10000,
	seed bigint DEFAULT NULL,
	with_toast text DEFAULT 'no')
RETURNS SETOF @extschema@.bloat_row
AS 'MODULE_PATHNAME', 'sst_bloat_tree'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000000 ROWS 100;

COMMENT ON FUNCTION bloat_tree(regclass, int, bigint, text) IS
'Returns rows of bloat for a partition or inheritance tree, and their sum. Locks one partition at a time.';

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
COMMENT ON COLUMN database_report_row.parent_name IS 'qualified name of the table of an index or TOAST table, or of the partitioned table of a partition; else null';
COMMENT ON COLUMN database_report_row.kind IS 'table, partition, materialized view, toast table or index';
COMMENT ON COLUMN database_report_row.access_method IS 'access method';
COMMENT ON COLUMN database_report_row.last_vacuum IS 'last VACUUM or autovacuum of the table, from the cumulative statistics; null if unknown';
COMMENT ON COLUMN database_report_row.bytes IS 'size of the main fork, in bytes';
COMMENT ON COLUMN database_report_row.free_percent IS 'free bytes in percent of bytes; new, empty and deleted pages count as free';
COMMENT ON COLUMN database_report_row.free_percent_low IS 'lower end of the 95 % interval of free_percent';
COMMENT ON COLUMN database_report_row.free_percent_high IS 'upper end of the 95 % interval of free_percent';
COMMENT ON COLUMN database_report_row.dead_percent IS 'bytes of dead tuples in percent of bytes';
COMMENT ON COLUMN database_report_row.dead_percent_low IS 'lower end of the 95 % interval of dead_percent';
COMMENT ON COLUMN database_report_row.dead_percent_high IS 'upper end of the 95 % interval of dead_percent';
COMMENT ON COLUMN database_report_row.predicted_bytes IS 'predicted size after a rebuild, in bytes; null if it cannot be predicted';
COMMENT ON COLUMN database_report_row.reclaimable_bytes IS 'bytes that a rebuild would free; null if it cannot be predicted';
COMMENT ON COLUMN database_report_row.reclaimable_bytes_low IS 'lower end of the 95 % interval of reclaimable_bytes';
COMMENT ON COLUMN database_report_row.reclaimable_bytes_high IS 'upper end of the 95 % interval of reclaimable_bytes';
COMMENT ON COLUMN database_report_row.corrupt_pages IS 'corrupt pages among those that were read; null if none was read';
COMMENT ON COLUMN database_report_row.is_valid IS 'whether queries may use the index; null if the relation is not an index';
COMMENT ON COLUMN database_report_row.bytes_read IS 'bytes read for the relation; what is read again counts again';
COMMENT ON COLUMN database_report_row.measured IS 'exact (all pages were read), sampled or skipped';
COMMENT ON COLUMN database_report_row.note IS 'why the relation was skipped, what is unknown, or what is wrong; else null';
COMMENT ON COLUMN database_report_row.command IS 'command that frees the bytes or repairs the relation; null if none is advised, or if the command of another relation does it';
COMMENT ON COLUMN database_report_row.rebuilt_by IS 'qualified name of the table whose command rebuilds this relation as well; else null';
COMMENT ON COLUMN database_report_row.reason IS 'why the command is advised or not; null if there is nothing to say';

CREATE FUNCTION database_report(
	margin float8 DEFAULT NULL,
	budget text DEFAULT '1GB',
	max_time interval DEFAULT NULL,
	max_rate text DEFAULT NULL,
	seed bigint DEFAULT NULL,
	tables regclass[] DEFAULT NULL,
	schemas regnamespace[] DEFAULT NULL,
	min_table_size text DEFAULT NULL)
RETURNS SETOF @extschema@.database_report_row
AS 'MODULE_PATHNAME', 'sst_database_report'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000000 ROWS 2000;

COMMENT ON FUNCTION database_report(float8, text, interval, text, bigint, regclass[], regnamespace[], text) IS
'Estimates reclaimable space for every table and index of the database. Locks one relation at a time and waits for no lock.';

CREATE PROCEDURE run_database_report(
	margin float8 DEFAULT NULL,
	budget text DEFAULT '1GB',
	max_time interval DEFAULT NULL,
	max_rate text DEFAULT NULL,
	seed bigint DEFAULT NULL,
	tables regclass[] DEFAULT NULL,
	schemas regnamespace[] DEFAULT NULL,
	min_table_size text DEFAULT NULL)
AS 'MODULE_PATHNAME', 'sst_run_database_report'
LANGUAGE C;

COMMENT ON PROCEDURE run_database_report(float8, text, interval, text, bigint, regclass[], regnamespace[], text) IS
'Makes a report for last_database_report and commits after each relation. Locks one relation at a time and waits for no lock.';

CREATE FUNCTION last_database_report()
RETURNS SETOF @extschema@.database_report_row
AS 'MODULE_PATHNAME', 'sst_last_database_report'
LANGUAGE C VOLATILE PARALLEL RESTRICTED ROWS 2000;

COMMENT ON FUNCTION last_database_report() IS
'Returns the rows of the last report of this session, else of the last stored one. Locks no relation of the report.';

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
	duration interval,
	duration_low interval,
	duration_high interval,
	command text,
	lock_mode text,
	blocks_reads boolean,
	blocks_writes boolean,
	is_online boolean,
	waits_for text,
	reason text);

COMMENT ON TYPE database_plan_row IS 'row of database_plan and last_database_plan';
COMMENT ON COLUMN database_plan_row.rank IS 'rank, from 1: what waits for others and then what is not online come last; in each part, corrupt relations, invalid indexes, then by reclaimable_bytes';
COMMENT ON COLUMN database_plan_row.relid IS 'OID of the relation';
COMMENT ON COLUMN database_plan_row.schema_name IS 'schema of the relation';
COMMENT ON COLUMN database_plan_row.relation_name IS 'name of the relation';
COMMENT ON COLUMN database_plan_row.kind IS 'table, partition, materialized view, toast table or index';
COMMENT ON COLUMN database_plan_row.bytes IS 'size of the main forks of all relations that the command rebuilds or changes, in bytes';
COMMENT ON COLUMN database_plan_row.relations IS 'relations that the command rebuilds or changes';
COMMENT ON COLUMN database_plan_row.reclaimable_bytes IS 'bytes that the command would free, over all these relations, besides what commands before it free of them';
COMMENT ON COLUMN database_plan_row.reclaimable_bytes_low IS 'sum of the lower ends of the 95 % intervals, where an index that may become larger counts as less than 0; 0 if the sum is less';
COMMENT ON COLUMN database_plan_row.reclaimable_bytes_high IS 'sum of the upper ends of the 95 % intervals';
COMMENT ON COLUMN database_plan_row.reclaimable_percent IS 'reclaimable_bytes in percent of bytes';
COMMENT ON COLUMN database_plan_row.scratch_bytes IS 'disk space that the command needs while it runs, for new files and sorting, in bytes';
COMMENT ON COLUMN database_plan_row.bytes_to_read IS 'bytes that the command reads; null if unknown';
COMMENT ON COLUMN database_plan_row.bytes_to_write IS 'bytes that the command writes to files, without WAL (about as much, unless wal_level is minimal); null if unknown';
COMMENT ON COLUMN database_plan_row.duration IS 'how long the command takes, by the rows and bytes that were found and the waits of the reads of the report; null if unknown';
COMMENT ON COLUMN database_plan_row.duration_low IS 'how long it takes at least: half of that, if what it reads is cached';
COMMENT ON COLUMN database_plan_row.duration_high IS 'how long it takes at most: twice as long, on slow storage, but without waits for others';
COMMENT ON COLUMN database_plan_row.command IS 'SQL command, or a pg_repack command for the shell; null if what reason says has to be done first';
COMMENT ON COLUMN database_plan_row.lock_mode IS 'strongest lock that the command holds on the table or index while it works';
COMMENT ON COLUMN database_plan_row.blocks_reads IS 'whether queries on the table wait until the command ends';
COMMENT ON COLUMN database_plan_row.blocks_writes IS 'whether changes of the table wait until the command ends';
COMMENT ON COLUMN database_plan_row.is_online IS 'whether queries and changes of the table go on meanwhile, but for a moment; null if there is no command';
COMMENT ON COLUMN database_plan_row.waits_for IS 'transactions that now keep the command from beginning or ending: those that are idle, prepared, or older than 60 seconds; null if there are none';
COMMENT ON COLUMN database_plan_row.reason IS 'why the command is advised, or what to do instead';

CREATE FUNCTION database_plan(
	margin float8 DEFAULT NULL,
	budget text DEFAULT '1GB',
	max_time interval DEFAULT NULL,
	max_rate text DEFAULT NULL,
	seed bigint DEFAULT NULL,
	tables regclass[] DEFAULT NULL,
	schemas regnamespace[] DEFAULT NULL,
	min_table_size text DEFAULT NULL,
	online boolean DEFAULT true,
	max_duration interval DEFAULT NULL)
RETURNS SETOF @extschema@.database_plan_row
AS 'MODULE_PATHNAME', 'sst_database_plan'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000000 ROWS 100;

COMMENT ON FUNCTION database_plan(float8, text, interval, text, bigint, regclass[], regnamespace[], text, boolean, interval) IS
'Makes a report and returns the commands that it advises. Locks one relation at a time and waits for no lock.';

CREATE FUNCTION last_database_plan(
	online boolean DEFAULT true,
	max_duration interval DEFAULT NULL)
RETURNS SETOF @extschema@.database_plan_row
AS 'MODULE_PATHNAME', 'sst_last_database_plan'
LANGUAGE C VOLATILE PARALLEL RESTRICTED COST 10000 ROWS 100;

COMMENT ON FUNCTION last_database_plan(boolean, interval) IS
'Returns the commands that the last report of this session advises, else those of the last stored one. Locks no relation of the report.';

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
COMMENT ON COLUMN database_report_summary_row.exact_relations IS 'relations that were read completely';
COMMENT ON COLUMN database_report_summary_row.sampled_relations IS 'relations that were sampled';
COMMENT ON COLUMN database_report_summary_row.skipped_relations IS 'relations that were not read';
COMMENT ON COLUMN database_report_summary_row.commands IS 'commands of last_database_plan';
COMMENT ON COLUMN database_report_summary_row.reclaimable_bytes IS 'bytes that rebuilding the relations that were read would free, whether advised or not';
COMMENT ON COLUMN database_report_summary_row.reclaimable_bytes_low IS 'sum of the lower ends of the 95 % intervals';
COMMENT ON COLUMN database_report_summary_row.reclaimable_bytes_high IS 'sum of the upper ends of the 95 % intervals';
COMMENT ON COLUMN database_report_summary_row.planned_bytes IS 'bytes that the commands of last_database_plan would free';
COMMENT ON COLUMN database_report_summary_row.planned_bytes_low IS 'sum of the lower ends of the 95 % intervals';
COMMENT ON COLUMN database_report_summary_row.planned_bytes_high IS 'sum of the upper ends of the 95 % intervals';
COMMENT ON COLUMN database_report_summary_row.bytes_total IS 'bytes of all relations';
COMMENT ON COLUMN database_report_summary_row.bytes_read IS 'bytes that were read';
COMMENT ON COLUMN database_report_summary_row.bytes_skipped IS 'bytes of the skipped relations';
COMMENT ON COLUMN database_report_summary_row.bytes_left IS 'bytes that were not read: those of skipped relations, and those for which a sample stands';
COMMENT ON COLUMN database_report_summary_row.elapsed_ms IS 'duration of the report in milliseconds; null if it was canceled';
COMMENT ON COLUMN database_report_summary_row.ended_by IS 'what ended the report: complete (no limit did), budget, max_time or canceled';

CREATE FUNCTION database_report_summary()
RETURNS @extschema@.database_report_summary_row
AS 'MODULE_PATHNAME', 'sst_database_report_summary'
LANGUAGE C VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION database_report_summary() IS
'Returns one row about the last report of this session, else about the last stored one. Locks no relation of the report.';

--
-- Stored reports: written by collect() alone, for a dump like a user's data.  Each
-- table has a primary key: a publication of all tables needs one to delete rows.
-- Names have the collation that those of the catalogs have, which does not change with
-- a library of the operating system.
--

CREATE SEQUENCE @extschema@.report_runs_run_seq;

COMMENT ON SEQUENCE @extschema@.report_runs_run_seq IS 'source of run numbers';

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
	is_partial boolean NOT NULL DEFAULT false,
	note pg_catalog.text);

COMMENT ON TABLE @extschema@.report_runs IS
'Stored reports, one row for each, written by collect. Deleting a row deletes the rows of the run in the other tables.';
COMMENT ON COLUMN @extschema@.report_runs.run IS 'number of the run; later runs have larger numbers';
COMMENT ON COLUMN @extschema@.report_runs.datname IS 'name of the database';
COMMENT ON COLUMN @extschema@.report_runs.started IS 'when the report began';
COMMENT ON COLUMN @extschema@.report_runs.relations IS 'relations in the report';
COMMENT ON COLUMN @extschema@.report_runs.exact_relations IS 'relations that were read completely';
COMMENT ON COLUMN @extschema@.report_runs.sampled_relations IS 'relations that were sampled';
COMMENT ON COLUMN @extschema@.report_runs.skipped_relations IS 'relations that were not read';
COMMENT ON COLUMN @extschema@.report_runs.commands IS 'commands of the plan';
COMMENT ON COLUMN @extschema@.report_runs.reclaimable_bytes IS 'bytes that rebuilding the relations that were read would free, whether advised or not';
COMMENT ON COLUMN @extschema@.report_runs.reclaimable_bytes_low IS 'sum of the lower ends of the 95 % intervals';
COMMENT ON COLUMN @extschema@.report_runs.reclaimable_bytes_high IS 'sum of the upper ends of the 95 % intervals';
COMMENT ON COLUMN @extschema@.report_runs.planned_bytes IS 'bytes that the commands of the plan would free';
COMMENT ON COLUMN @extschema@.report_runs.planned_bytes_low IS 'sum of the lower ends of the 95 % intervals';
COMMENT ON COLUMN @extschema@.report_runs.planned_bytes_high IS 'sum of the upper ends of the 95 % intervals';
COMMENT ON COLUMN @extschema@.report_runs.bytes_total IS 'bytes of all relations';
COMMENT ON COLUMN @extschema@.report_runs.bytes_read IS 'bytes that were read';
COMMENT ON COLUMN @extschema@.report_runs.bytes_skipped IS 'bytes of the skipped relations';
COMMENT ON COLUMN @extschema@.report_runs.bytes_left IS 'bytes that were not read: those of skipped relations, and those for which a sample stands';
COMMENT ON COLUMN @extschema@.report_runs.elapsed_ms IS 'duration of the report in milliseconds; null if it was canceled';
COMMENT ON COLUMN @extschema@.report_runs.ended_by IS 'what ended the report: complete (no limit did), budget, max_time or canceled';
COMMENT ON COLUMN @extschema@.report_runs.top_relations IS 'argument top_relations of collect: how many relations the metrics show, by bytes and by reclaimable_bytes';
COMMENT ON COLUMN @extschema@.report_runs.min_bytes IS 'argument min_bytes of collect: smallest relation that is stored for its size and that the metrics show, in bytes';
COMMENT ON COLUMN @extschema@.report_runs.server_version IS 'version of the server';
COMMENT ON COLUMN @extschema@.report_runs.is_partial IS 'made of a part of the database; metrics are those of a whole run if there is one';
COMMENT ON COLUMN @extschema@.report_runs.note IS 'remark on the run; else null';

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
'The largest relations of the stored reports, and those that have a command or are damaged, written by collect: rows of database_report, keyed by names.';
COMMENT ON COLUMN @extschema@.report_run_relations.run IS 'number of the run; later runs have larger numbers';
COMMENT ON COLUMN @extschema@.report_run_relations.schema_name IS 'schema of the relation';
COMMENT ON COLUMN @extschema@.report_run_relations.relation_name IS 'name of the relation';
COMMENT ON COLUMN @extschema@.report_run_relations.parent_name IS 'qualified name of the table of an index or TOAST table, or of the partitioned table of a partition; else null';
COMMENT ON COLUMN @extschema@.report_run_relations.kind IS 'table, partition, materialized view, toast table or index';
COMMENT ON COLUMN @extschema@.report_run_relations.access_method IS 'access method';
COMMENT ON COLUMN @extschema@.report_run_relations.last_vacuum IS 'last VACUUM or autovacuum of the table, from the cumulative statistics; null if unknown';
COMMENT ON COLUMN @extschema@.report_run_relations.bytes IS 'size of the main fork, in bytes';
COMMENT ON COLUMN @extschema@.report_run_relations.free_percent IS 'free bytes in percent of bytes; new, empty and deleted pages count as free';
COMMENT ON COLUMN @extschema@.report_run_relations.free_percent_low IS 'lower end of the 95 % interval of free_percent';
COMMENT ON COLUMN @extschema@.report_run_relations.free_percent_high IS 'upper end of the 95 % interval of free_percent';
COMMENT ON COLUMN @extschema@.report_run_relations.dead_percent IS 'bytes of dead tuples in percent of bytes';
COMMENT ON COLUMN @extschema@.report_run_relations.dead_percent_low IS 'lower end of the 95 % interval of dead_percent';
COMMENT ON COLUMN @extschema@.report_run_relations.dead_percent_high IS 'upper end of the 95 % interval of dead_percent';
COMMENT ON COLUMN @extschema@.report_run_relations.predicted_bytes IS 'predicted size after a rebuild, in bytes; null if it cannot be predicted';
COMMENT ON COLUMN @extschema@.report_run_relations.reclaimable_bytes IS 'bytes that a rebuild would free; null if it cannot be predicted';
COMMENT ON COLUMN @extschema@.report_run_relations.reclaimable_bytes_low IS 'lower end of the 95 % interval of reclaimable_bytes';
COMMENT ON COLUMN @extschema@.report_run_relations.reclaimable_bytes_high IS 'upper end of the 95 % interval of reclaimable_bytes';
COMMENT ON COLUMN @extschema@.report_run_relations.corrupt_pages IS 'corrupt pages among those that were read; null if none was read';
COMMENT ON COLUMN @extschema@.report_run_relations.is_valid IS 'whether queries may use the index; null if the relation is not an index';
COMMENT ON COLUMN @extschema@.report_run_relations.bytes_read IS 'bytes read for the relation; what is read again counts again';
COMMENT ON COLUMN @extschema@.report_run_relations.measured IS 'exact (all pages were read), sampled or skipped';
COMMENT ON COLUMN @extschema@.report_run_relations.note IS 'why the relation was skipped, what is unknown, or what is wrong; else null';
COMMENT ON COLUMN @extschema@.report_run_relations.command IS 'command that frees the bytes or repairs the relation; null if none is advised, or if the command of another relation does it';
COMMENT ON COLUMN @extschema@.report_run_relations.rebuilt_by IS 'qualified name of the table whose command rebuilds this relation as well; else null';
COMMENT ON COLUMN @extschema@.report_run_relations.reason IS 'why the command is advised or not; null if there is nothing to say';
COMMENT ON COLUMN @extschema@.report_run_relations.bytes_rank IS 'rank by bytes, from 1';
COMMENT ON COLUMN @extschema@.report_run_relations.reclaimable_rank IS 'rank by reclaimable_bytes, from 1';
COMMENT ON COLUMN @extschema@.report_run_relations.is_shown IS 'whether the relation has a row of its own in report_relation_metrics';

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
'Sums over the relations that the metrics of a stored report do not show, one row for each kind, written by collect.';
COMMENT ON COLUMN @extschema@.report_run_others.run IS 'number of the run; later runs have larger numbers';
COMMENT ON COLUMN @extschema@.report_run_others.kind IS 'table, partition, materialized view, toast table or index';
COMMENT ON COLUMN @extschema@.report_run_others.last_vacuum IS 'earliest last_vacuum of these relations';
COMMENT ON COLUMN @extschema@.report_run_others.bytes IS 'size of the main forks, in bytes';
COMMENT ON COLUMN @extschema@.report_run_others.relations IS 'relations in the sum';
COMMENT ON COLUMN @extschema@.report_run_others.free_percent IS 'free bytes in percent of bytes; new, empty and deleted pages count as free';
COMMENT ON COLUMN @extschema@.report_run_others.free_percent_low IS 'mean of the lower ends of the 95 % intervals, weighted by bytes';
COMMENT ON COLUMN @extschema@.report_run_others.free_percent_high IS 'mean of the upper ends of the 95 % intervals, weighted by bytes';
COMMENT ON COLUMN @extschema@.report_run_others.dead_percent IS 'bytes of dead tuples in percent of bytes';
COMMENT ON COLUMN @extschema@.report_run_others.dead_percent_low IS 'mean of the lower ends of the 95 % intervals, weighted by bytes';
COMMENT ON COLUMN @extschema@.report_run_others.dead_percent_high IS 'mean of the upper ends of the 95 % intervals, weighted by bytes';
COMMENT ON COLUMN @extschema@.report_run_others.predicted_bytes IS 'predicted size after rebuilds, in bytes';
COMMENT ON COLUMN @extschema@.report_run_others.reclaimable_bytes IS 'bytes that rebuilds would free';
COMMENT ON COLUMN @extschema@.report_run_others.reclaimable_bytes_low IS 'sum of the lower ends of the 95 % intervals';
COMMENT ON COLUMN @extschema@.report_run_others.reclaimable_bytes_high IS 'sum of the upper ends of the 95 % intervals';
COMMENT ON COLUMN @extschema@.report_run_others.measured IS 'exact (all relations were read completely), skipped (some were not read) or sampled';

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
	duration interval,
	duration_low interval,
	duration_high interval,
	command pg_catalog.text,
	lock_mode pg_catalog.text,
	blocks_reads boolean,
	blocks_writes boolean,
	is_online boolean,
	waits_for pg_catalog.text,
	reason pg_catalog.text,
	PRIMARY KEY (run, rank));

COMMENT ON TABLE @extschema@.report_run_commands IS
'Commands that the stored reports advise, written by collect: rows of database_plan.';
COMMENT ON COLUMN @extschema@.report_run_commands.run IS 'number of the run; later runs have larger numbers';
COMMENT ON COLUMN @extschema@.report_run_commands.rank IS 'rank, from 1: what waits for others and then what is not online come last; in each part, corrupt relations, invalid indexes, then by reclaimable_bytes';
COMMENT ON COLUMN @extschema@.report_run_commands.schema_name IS 'schema of the relation';
COMMENT ON COLUMN @extschema@.report_run_commands.relation_name IS 'name of the relation';
COMMENT ON COLUMN @extschema@.report_run_commands.kind IS 'table, partition, materialized view, toast table or index';
COMMENT ON COLUMN @extschema@.report_run_commands.bytes IS 'size of the main forks of all relations that the command rebuilds or changes, in bytes';
COMMENT ON COLUMN @extschema@.report_run_commands.relations IS 'relations that the command rebuilds or changes';
COMMENT ON COLUMN @extschema@.report_run_commands.reclaimable_bytes IS 'bytes that the command would free, over all these relations, besides what commands before it free of them';
COMMENT ON COLUMN @extschema@.report_run_commands.reclaimable_bytes_low IS 'sum of the lower ends of the 95 % intervals, where an index that may become larger counts as less than 0; 0 if the sum is less';
COMMENT ON COLUMN @extschema@.report_run_commands.reclaimable_bytes_high IS 'sum of the upper ends of the 95 % intervals';
COMMENT ON COLUMN @extschema@.report_run_commands.reclaimable_percent IS 'reclaimable_bytes in percent of bytes';
COMMENT ON COLUMN @extschema@.report_run_commands.scratch_bytes IS 'disk space that the command needs while it runs, for new files and sorting, in bytes';
COMMENT ON COLUMN @extschema@.report_run_commands.bytes_to_read IS 'bytes that the command reads; null if unknown';
COMMENT ON COLUMN @extschema@.report_run_commands.bytes_to_write IS 'bytes that the command writes to files, without WAL (about as much, unless wal_level is minimal); null if unknown';
COMMENT ON COLUMN @extschema@.report_run_commands.duration IS 'how long the command takes, by the rows and bytes that were found and the waits of the reads of the report; null if unknown';
COMMENT ON COLUMN @extschema@.report_run_commands.duration_low IS 'how long it takes at least: half of that, if what it reads is cached';
COMMENT ON COLUMN @extschema@.report_run_commands.duration_high IS 'how long it takes at most: twice as long, on slow storage, but without waits for others';
COMMENT ON COLUMN @extschema@.report_run_commands.command IS 'SQL command, or a pg_repack command for the shell; null if what reason says has to be done first';
COMMENT ON COLUMN @extschema@.report_run_commands.lock_mode IS 'strongest lock that the command holds on the table or index while it works';
COMMENT ON COLUMN @extschema@.report_run_commands.blocks_reads IS 'whether queries on the table wait until the command ends';
COMMENT ON COLUMN @extschema@.report_run_commands.blocks_writes IS 'whether changes of the table wait until the command ends';
COMMENT ON COLUMN @extschema@.report_run_commands.is_online IS 'whether queries and changes of the table go on meanwhile, but for a moment; null if there is no command';
COMMENT ON COLUMN @extschema@.report_run_commands.waits_for IS 'transactions that now keep the command from beginning or ending: those that are idle, prepared, or older than 60 seconds; null if there are none';
COMMENT ON COLUMN @extschema@.report_run_commands.reason IS 'why the command is advised, or what to do instead';

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
	tables regclass[] DEFAULT NULL,
	schemas regnamespace[] DEFAULT NULL,
	min_table_size text DEFAULT NULL,
	retention interval DEFAULT '90 days',
	top_relations int DEFAULT 100,
	min_bytes text DEFAULT '1MB')
AS 'MODULE_PATHNAME', 'sst_collect'
LANGUAGE C;

COMMENT ON PROCEDURE collect(float8, text, interval, text, bigint, regclass[], regnamespace[], text, interval, int, text) IS
'Makes a report, stores it and deletes old ones. Locks one relation at a time and waits for no lock.';

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
	WHERE r.is_shown AND u.run OPERATOR(pg_catalog.=) (SELECT l.run FROM @extschema@.report_runs AS l ORDER BY l.is_partial, l.run DESC LIMIT 1)
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
	WHERE u.run OPERATOR(pg_catalog.=) (SELECT l.run FROM @extschema@.report_runs AS l ORDER BY l.is_partial, l.run DESC LIMIT 1);

COMMENT ON VIEW @extschema@.report_relation_metrics IS
'Metrics of the last stored report: one row for each relation shown, and one row (others) for the rest of each kind.';
COMMENT ON COLUMN @extschema@.report_relation_metrics.datname IS 'name of the database';
COMMENT ON COLUMN @extschema@.report_relation_metrics.schema_name IS 'schema of the relation; empty in rows of (others)';
COMMENT ON COLUMN @extschema@.report_relation_metrics.relation_name IS 'name of the relation, or (others)';
COMMENT ON COLUMN @extschema@.report_relation_metrics.parent_name IS 'qualified name of the table of an index or TOAST table, or of the partitioned table of a partition; else empty';
COMMENT ON COLUMN @extschema@.report_relation_metrics.kind IS 'table, partition, materialized view, toast table or index';
COMMENT ON COLUMN @extschema@.report_relation_metrics.access_method IS 'access method; empty in rows of (others)';
COMMENT ON COLUMN @extschema@.report_relation_metrics.bytes IS 'size of the main fork, in bytes';
COMMENT ON COLUMN @extschema@.report_relation_metrics.relations IS 'number of relations in the row: 1, or those in (others)';
COMMENT ON COLUMN @extschema@.report_relation_metrics.predicted_bytes IS 'predicted size after a rebuild, in bytes; null if it cannot be predicted';
COMMENT ON COLUMN @extschema@.report_relation_metrics.reclaimable_bytes IS 'bytes that a rebuild would free; null if it cannot be predicted';
COMMENT ON COLUMN @extschema@.report_relation_metrics.reclaimable_bytes_low IS 'lower end of the 95 % interval of reclaimable_bytes';
COMMENT ON COLUMN @extschema@.report_relation_metrics.reclaimable_bytes_high IS 'upper end of the 95 % interval of reclaimable_bytes';
COMMENT ON COLUMN @extschema@.report_relation_metrics.free_ratio IS 'free bytes, as a fraction of bytes';
COMMENT ON COLUMN @extschema@.report_relation_metrics.free_ratio_low IS 'lower end of the 95 % interval of free_ratio';
COMMENT ON COLUMN @extschema@.report_relation_metrics.free_ratio_high IS 'upper end of the 95 % interval of free_ratio';
COMMENT ON COLUMN @extschema@.report_relation_metrics.dead_ratio IS 'bytes of dead tuples, as a fraction of bytes';
COMMENT ON COLUMN @extschema@.report_relation_metrics.dead_ratio_low IS 'lower end of the 95 % interval of dead_ratio';
COMMENT ON COLUMN @extschema@.report_relation_metrics.dead_ratio_high IS 'upper end of the 95 % interval of dead_ratio';
COMMENT ON COLUMN @extschema@.report_relation_metrics.corrupt_pages IS 'corrupt pages among those that were read; null if none was read';
COMMENT ON COLUMN @extschema@.report_relation_metrics.is_invalid IS '1 if the relation is an invalid index, else 0';
COMMENT ON COLUMN @extschema@.report_relation_metrics.is_measured IS '1 if the relation was read or sampled, 0 if it was skipped';
COMMENT ON COLUMN @extschema@.report_relation_metrics.is_exact IS '1 if all pages were read, else 0';
COMMENT ON COLUMN @extschema@.report_relation_metrics.last_vacuum_timestamp_seconds IS 'last VACUUM or autovacuum of the table, in seconds since 1970; null if unknown';

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
	WHERE u.run OPERATOR(pg_catalog.=) (SELECT l.run FROM @extschema@.report_runs AS l ORDER BY l.is_partial, l.run DESC LIMIT 1);

COMMENT ON VIEW @extschema@.report_run_metrics IS
'Metrics of the last stored report as a whole, in one row.';
COMMENT ON COLUMN @extschema@.report_run_metrics.datname IS 'name of the database';
COMMENT ON COLUMN @extschema@.report_run_metrics.bytes IS 'bytes of all relations';
COMMENT ON COLUMN @extschema@.report_run_metrics.relations IS 'relations in the report';
COMMENT ON COLUMN @extschema@.report_run_metrics.exact_relations IS 'relations that were read completely';
COMMENT ON COLUMN @extschema@.report_run_metrics.sampled_relations IS 'relations that were sampled';
COMMENT ON COLUMN @extschema@.report_run_metrics.skipped_relations IS 'relations that were not read';
COMMENT ON COLUMN @extschema@.report_run_metrics.commands IS 'commands of the plan';
COMMENT ON COLUMN @extschema@.report_run_metrics.reclaimable_bytes IS 'bytes that rebuilding the relations that were read would free, whether advised or not';
COMMENT ON COLUMN @extschema@.report_run_metrics.reclaimable_bytes_low IS 'sum of the lower ends of the 95 % intervals';
COMMENT ON COLUMN @extschema@.report_run_metrics.reclaimable_bytes_high IS 'sum of the upper ends of the 95 % intervals';
COMMENT ON COLUMN @extschema@.report_run_metrics.planned_bytes IS 'bytes that the commands of the plan would free';
COMMENT ON COLUMN @extschema@.report_run_metrics.corrupt_relations IS 'relations with corrupt pages among the pages that were read';
COMMENT ON COLUMN @extschema@.report_run_metrics.corrupt_pages IS 'corrupt pages among those that were read';
COMMENT ON COLUMN @extschema@.report_run_metrics.invalid_indexes IS 'invalid indexes';
COMMENT ON COLUMN @extschema@.report_run_metrics.bytes_read IS 'bytes that were read';
COMMENT ON COLUMN @extschema@.report_run_metrics.bytes_skipped IS 'bytes of the skipped relations';
COMMENT ON COLUMN @extschema@.report_run_metrics.bytes_left IS 'bytes that were not read: those of skipped relations, and those for which a sample stands';
COMMENT ON COLUMN @extschema@.report_run_metrics.started_timestamp_seconds IS 'when the report began, in seconds since 1970';
COMMENT ON COLUMN @extschema@.report_run_metrics.age_seconds IS 'seconds since the report began';
COMMENT ON COLUMN @extschema@.report_run_metrics.elapsed_seconds IS 'duration of the report in seconds; null if it was canceled';
COMMENT ON COLUMN @extschema@.report_run_metrics.is_complete IS '1 if no limit ended the report, else 0';

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
'The rows of report_relation_metrics with one row for each metric.';
COMMENT ON COLUMN @extschema@.report_metrics.schema_name IS 'schema of the relation; empty in rows of (others)';
COMMENT ON COLUMN @extschema@.report_metrics.relation_name IS 'name of the relation, or (others)';
COMMENT ON COLUMN @extschema@.report_metrics.parent_name IS 'qualified name of the table of an index or TOAST table, or of the partitioned table of a partition; else empty';
COMMENT ON COLUMN @extschema@.report_metrics.kind IS 'table, partition, materialized view, toast table or index';
COMMENT ON COLUMN @extschema@.report_metrics.access_method IS 'access method; empty in rows of (others)';
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
COMMENT ON COLUMN report_history_row.run IS 'number of the run; later runs have larger numbers';
COMMENT ON COLUMN report_history_row.started IS 'when the report began';
COMMENT ON COLUMN report_history_row.bytes IS 'size of the main fork, in bytes';
COMMENT ON COLUMN report_history_row.predicted_bytes IS 'predicted size after a rebuild, in bytes; null if it cannot be predicted';
COMMENT ON COLUMN report_history_row.reclaimable_bytes IS 'bytes that a rebuild would free; null if it cannot be predicted';
COMMENT ON COLUMN report_history_row.reclaimable_bytes_low IS 'lower end of the 95 % interval of reclaimable_bytes';
COMMENT ON COLUMN report_history_row.reclaimable_bytes_high IS 'upper end of the 95 % interval of reclaimable_bytes';
COMMENT ON COLUMN report_history_row.free_percent IS 'free bytes in percent of bytes; new, empty and deleted pages count as free';
COMMENT ON COLUMN report_history_row.dead_percent IS 'bytes of dead tuples in percent of bytes';
COMMENT ON COLUMN report_history_row.measured IS 'exact (all pages were read), sampled or skipped';
COMMENT ON COLUMN report_history_row.bytes_per_day IS 'growth since the previous run, in bytes per day; null for the first run';

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
'Returns one row for each stored report that has a row for the relation. Partitioned tables and indexes have none, but each of their partitions. Does not lock the relation.';

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
COMMENT ON COLUMN report_growth_row.parent_name IS 'qualified name of the table of an index or TOAST table, or of the partitioned table of a partition; else null';
COMMENT ON COLUMN report_growth_row.kind IS 'table, partition, materialized view, toast table or index';
COMMENT ON COLUMN report_growth_row.since IS 'start of the report that the last one is compared with';
COMMENT ON COLUMN report_growth_row.bytes IS 'size of the main fork, in bytes';
COMMENT ON COLUMN report_growth_row.grown_bytes IS 'growth since then, in bytes, negative if the relation has shrunk; of a relation that the earlier report did not store, its bytes beyond that report''s min_bytes';
COMMENT ON COLUMN report_growth_row.bytes_per_day IS 'growth per day, in bytes; null if the reports span less than half of the period';

-- An SQL function has no RAISE: the input of a type tells what is wrong.
CREATE FUNCTION report_growth(period interval DEFAULT '7 days')
RETURNS SETOF @extschema@.report_growth_row
LANGUAGE sql STABLE PARALLEL UNSAFE COST 1000000 ROWS 2000
SET search_path = pg_catalog, pg_temp
AS $$
	WITH last AS (
		SELECT u.run, u.started, u.datname, u.is_partial FROM @extschema@.report_runs AS u ORDER BY u.is_partial, u.run DESC LIMIT 1),
	base AS (
		SELECT u.run, u.started, u.min_bytes,
			nullif(extract(epoch FROM l.started OPERATOR(pg_catalog.-) u.started)::double precision, 0::double precision) AS seconds
		FROM @extschema@.report_runs AS u, last AS l
		WHERE u.run OPERATOR(pg_catalog.<>) l.run AND u.started OPERATOR(pg_catalog.<=) l.started
			AND u.is_partial OPERATOR(pg_catalog.=) l.is_partial AND u.datname OPERATOR(pg_catalog.=) l.datname
		ORDER BY pg_catalog.abs(extract(epoch FROM l.started OPERATOR(pg_catalog.-) CASE
			WHEN period OPERATOR(pg_catalog.<) '0'::interval THEN pg_catalog.concat('period must not be negative: ', period)::interval
			ELSE period END OPERATOR(pg_catalog.-) u.started)::double precision), u.run DESC LIMIT 1)
	SELECT r.schema_name, r.relation_name, r.parent_name, r.kind, b.started, r.bytes, g.grown_bytes,
		CASE WHEN b.seconds OPERATOR(pg_catalog.*) 2::double precision OPERATOR(pg_catalog.>=) extract(epoch FROM period)::double precision
			THEN g.grown_bytes::double precision OPERATOR(pg_catalog.*) 86400::double precision OPERATOR(pg_catalog./) b.seconds END
	FROM base AS b, last AS l
		JOIN @extschema@.report_run_relations AS r ON r.run OPERATOR(pg_catalog.=) l.run
		LEFT JOIN (SELECT o.run, o.schema_name, o.bytes, CASE WHEN o.kind OPERATOR(pg_catalog.=) 'toast table'::pg_catalog.text THEN o.parent_name ELSE o.relation_name END AS name
				FROM @extschema@.report_run_relations AS o
				WHERE o.run OPERATOR(pg_catalog.=) (SELECT base.run FROM base)) AS o
			ON o.schema_name OPERATOR(pg_catalog.=) r.schema_name
				AND o.name OPERATOR(pg_catalog.=) CASE WHEN r.kind OPERATOR(pg_catalog.=) 'toast table'::pg_catalog.text THEN r.parent_name ELSE r.relation_name END,
		LATERAL (SELECT r.bytes OPERATOR(pg_catalog.-) CASE WHEN o.run IS NULL THEN least(r.bytes, b.min_bytes) ELSE o.bytes END AS grown_bytes) AS g
	ORDER BY g.grown_bytes DESC NULLS LAST, r.schema_name, r.relation_name;
$$;

COMMENT ON FUNCTION report_growth(interval) IS
'Compares the last stored report with an earlier one. Locks no relation of the reports.';

CREATE VIEW @extschema@.report_advice AS
	SELECT p.rank, p.schema_name, p.relation_name, p.kind, p.bytes, p.relations,
		pg_catalog.pg_size_pretty(p.bytes) AS size,
		pg_catalog.pg_size_pretty(p.reclaimable_bytes) AS reclaimable_size,
		p.reclaimable_bytes, p.reclaimable_bytes_low, p.reclaimable_bytes_high, p.reclaimable_percent,
		p.scratch_bytes, pg_catalog.pg_size_pretty(p.scratch_bytes) AS scratch_size, p.bytes_to_read, p.bytes_to_write,
		p.duration, p.duration_low, p.duration_high, p.command, p.lock_mode, p.blocks_reads, p.blocks_writes, p.is_online, p.waits_for, p.reason
	FROM @extschema@.database_plan(2::double precision, '1GB'::pg_catalog.text,
			'60s'::pg_catalog.interval, NULL::pg_catalog.text, NULL::bigint,
			NULL::pg_catalog.regclass[], NULL::pg_catalog.regnamespace[], NULL::pg_catalog.text, true, NULL::pg_catalog.interval) p;

COMMENT ON VIEW @extschema@.report_advice IS
'The rows of database_plan, with formatted sizes. Each query makes a report of at most 1 GB and 60 seconds.';

-- Catalogs do not have when an index was made.
CREATE FUNCTION file_created(relation regclass)
RETURNS timestamp with time zone
AS 'MODULE_PATHNAME', 'sst_file_created'
LANGUAGE C STABLE STRICT PARALLEL SAFE COST 100;

COMMENT ON FUNCTION file_created(regclass) IS
'Returns when the file of a relation was created, at the latest when it was last rebuilt or restored; null if it has no file or the file system does not know. Does not lock the relation.';

-- Indexes are compared by their columns, operator classes, collations and
-- orders, which are numbered from 0; expressions and predicates by their trees, without
-- places in the command's text.  pg_get_expr() and pg_relation_size() would wait for locks.
-- Those of partitions belong to that of the topmost partitioned table, their root.
CREATE VIEW @extschema@.report_drop_candidates AS
	WITH tables AS MATERIALIZED (
		SELECT t.oid, n.nspname::pg_catalog.text, pg_catalog.format('%I.%I', n.nspname, t.relname) AS name
		FROM pg_catalog.pg_class AS t JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) t.relnamespace
		WHERE t.relkind OPERATOR(pg_catalog.<>) 't'::pg_catalog."char"
			AND t.relpersistence OPERATOR(pg_catalog.<>) 't'::pg_catalog."char"
			-- those of an extension are its own matter
			AND NOT t.oid OPERATOR(pg_catalog.=) ANY (SELECT e.objid FROM pg_catalog.pg_depend AS e
				WHERE e.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_class'::pg_catalog.regclass
					AND e.objsubid OPERATOR(pg_catalog.=) 0
					AND e.deptype OPERATOR(pg_catalog.=) 'e'::pg_catalog."char")),
	indexes AS MATERIALIZED (
		SELECT c.oid, t.nspname, c.relname::pg_catalog.text, c.relam, t.name AS parent, i.indrelid, i.indisvalid, i.indislive, i.indnkeyatts,
			-- without scans: 1 to keep keys unique, which another unique index can do as well
			CASE WHEN i.indisprimary OR i.indisexclusion OR i.indisreplident OR i.indisclustered
					OR c.oid OPERATOR(pg_catalog.=) ANY (SELECT k.conindid FROM pg_catalog.pg_constraint AS k) THEN 2
				WHEN i.indisunique THEN 1 ELSE 0 END AS need,
			c.relkind, c.relispartition AS attached,
			CASE WHEN c.relispartition THEN pg_catalog.pg_partition_root(c.oid)::pg_catalog.oid ELSE c.oid END AS root,
			c.relpages::bigint OPERATOR(pg_catalog.*) pg_catalog.current_setting('block_size')::bigint AS bytes,
			pg_catalog.pg_stat_get_numscans(c.oid) AS scans, c.reloptions,
			-- does another one of the table begin with the same column?
			ROW(i.indrelid, i.indkey[0]) OPERATOR(pg_catalog.=) ANY (SELECT o.indrelid, o.indkey[0] FROM pg_catalog.pg_index AS o
				GROUP BY o.indrelid, o.indkey[0] HAVING pg_catalog.count(*) OPERATOR(pg_catalog.>) 1) AS alike
		FROM pg_catalog.pg_index AS i
			JOIN pg_catalog.pg_class AS c ON c.oid OPERATOR(pg_catalog.=) i.indexrelid
			JOIN tables AS t ON t.oid OPERATOR(pg_catalog.=) i.indrelid
		WHERE c.oid OPERATOR(pg_catalog.>=) 16384::pg_catalog.oid),
	compared AS MATERIALIZED (
		SELECT x.oid, pg_catalog.format('%I.%I', x.nspname, x.relname) AS name, x.relam, x.indrelid, x.indnkeyatts, x.need, x.attached,
			i.indisunique AND i.indimmediate AS is_unique, i.indnullsnotdistinct,
			i.indkey[0] AS first_key, i.indkey::pg_catalog.int2[] AS keys, i.indclass::pg_catalog.oid[] AS classes,
			i.indcollation::pg_catalog.oid[] AS collations, i.indoption::pg_catalog.int2[] AS options,
			-- an index is another one with other parameters, but for those of how it is built and filled
			pg_catalog.concat_ws(E'\n',
				pg_catalog.regexp_replace(i.indexprs::pg_catalog.text, ':location -?[0-9]+', '', 'g'), '',
				pg_catalog.regexp_replace(i.indpred::pg_catalog.text, ':location -?[0-9]+', '', 'g'), '',
				CASE WHEN x.reloptions IS NOT NULL THEN (SELECT pg_catalog.array_agg(p.parameter ORDER BY p.parameter)::pg_catalog.text
					FROM pg_catalog.unnest(x.reloptions) AS p (parameter)
					WHERE p.parameter OPERATOR(pg_catalog.!~) '^(fillfactor|deduplicate_items|buffering|fastupdate|gin_pending_list_limit|autosummarize)=') END) AS definition
		FROM indexes AS x JOIN pg_catalog.pg_index AS i ON i.indexrelid OPERATOR(pg_catalog.=) x.oid
		WHERE x.alike AND x.indisvalid),
	redundant AS (
		SELECT DISTINCT ON (s.oid) s.oid, o.name AS by_index,
			o.indnkeyatts OPERATOR(pg_catalog.=) s.indnkeyatts AND s.keys OPERATOR(pg_catalog.@>) o.keys AS is_equal
		FROM compared AS s JOIN compared AS o ON o.indrelid OPERATOR(pg_catalog.=) s.indrelid
			AND o.first_key OPERATOR(pg_catalog.=) s.first_key AND o.relam OPERATOR(pg_catalog.=) s.relam
			AND o.definition OPERATOR(pg_catalog.=) s.definition
			AND o.oid OPERATOR(pg_catalog.<>) s.oid
			AND NOT s.attached
			AND (s.need OPERATOR(pg_catalog.=) 0
				OR (s.need OPERATOR(pg_catalog.=) 1 AND o.is_unique AND o.indnkeyatts OPERATOR(pg_catalog.=) s.indnkeyatts
					AND o.indnullsnotdistinct OPERATOR(pg_catalog.=) s.indnullsnotdistinct))
			AND (o.indnkeyatts OPERATOR(pg_catalog.=) s.indnkeyatts
				OR (o.indnkeyatts OPERATOR(pg_catalog.>) s.indnkeyatts
					AND s.relam OPERATOR(pg_catalog.=) (SELECT a.oid FROM pg_catalog.pg_am AS a WHERE a.amname OPERATOR(pg_catalog.=) 'btree')))
			AND o.keys[0:s.indnkeyatts OPERATOR(pg_catalog.-) 1] OPERATOR(pg_catalog.=) s.keys[0:s.indnkeyatts OPERATOR(pg_catalog.-) 1]
			AND o.classes[0:s.indnkeyatts OPERATOR(pg_catalog.-) 1] OPERATOR(pg_catalog.=) s.classes[0:s.indnkeyatts OPERATOR(pg_catalog.-) 1]
			AND o.collations[0:s.indnkeyatts OPERATOR(pg_catalog.-) 1] OPERATOR(pg_catalog.=) s.collations[0:s.indnkeyatts OPERATOR(pg_catalog.-) 1]
			AND o.options[0:s.indnkeyatts OPERATOR(pg_catalog.-) 1] OPERATOR(pg_catalog.=) s.options[0:s.indnkeyatts OPERATOR(pg_catalog.-) 1]
			AND NOT EXISTS (SELECT FROM pg_catalog.pg_attribute AS k JOIN pg_catalog.pg_attribute AS l USING (attnum)
				WHERE k.attrelid OPERATOR(pg_catalog.=) s.oid AND l.attrelid OPERATOR(pg_catalog.=) o.oid
					AND k.attnum OPERATOR(pg_catalog.<=) s.indnkeyatts
					AND coalesce(k.attoptions, '{}') OPERATOR(pg_catalog.<>) coalesce(l.attoptions, '{}'))
			AND o.keys OPERATOR(pg_catalog.@>) s.keys
			-- of two that are equal, that whose name comes later, as REINDEX CONCURRENTLY changes OIDs
			AND (o.need OPERATOR(pg_catalog.>) s.need OR o.attached OR o.indnkeyatts OPERATOR(pg_catalog.>) s.indnkeyatts
				OR pg_catalog.cardinality(o.keys) OPERATOR(pg_catalog.>) pg_catalog.cardinality(s.keys)
				OR (o.name COLLATE pg_catalog."C") OPERATOR(pg_catalog.<) s.name)
		ORDER BY s.oid, o.need DESC, is_equal DESC, o.name),
	sums AS (
		SELECT m.root, pg_catalog.count(*) AS relations, pg_catalog.sum(m.bytes)::bigint AS bytes, pg_catalog.sum(m.scans)::bigint AS scans,
			pg_catalog.min(@extschema@.file_created(m.oid::pg_catalog.regclass)) AS created, pg_catalog.array_agg(m.oid) AS oids
		FROM indexes AS m WHERE m.attached AND m.relkind OPERATOR(pg_catalog.=) 'i'::pg_catalog."char"
		GROUP BY m.root),
	-- for which a row of another table that is deleted or has a new key is looked up
	referencing AS (
		SELECT s.indexrelid AS oid, pg_catalog.min(k.conname)::pg_catalog.text AS foreign_key
		FROM pg_catalog.pg_index AS s JOIN pg_catalog.pg_constraint AS k ON k.conrelid OPERATOR(pg_catalog.=) s.indrelid
			AND k.contype OPERATOR(pg_catalog.=) 'f'::pg_catalog."char"
			AND (s.indkey::pg_catalog.int2[])[0:least(s.indnkeyatts::int, pg_catalog.cardinality(k.conkey)) OPERATOR(pg_catalog.-) 1] OPERATOR(pg_catalog.<@) k.conkey
		GROUP BY s.indexrelid),
	-- A crash of the server discards the statistics: those of the database are then as if
	-- never reset, but those of the server have the time.
	counting AS (
		SELECT coalesce(pg_catalog.pg_stat_get_db_stat_reset_time(d.oid),
			least(pg_catalog.pg_stat_get_bgwriter_stat_reset_time(), a.stats_reset, w.stats_reset)) AS since
		FROM pg_catalog.pg_database AS d, pg_catalog.pg_stat_archiver AS a, pg_catalog.pg_stat_wal AS w
		WHERE d.datname OPERATOR(pg_catalog.=) pg_catalog.current_database()),
	candidates AS (
		SELECT i.oid, i.indrelid, i.nspname, i.relname, a.amname::pg_catalog.text, i.parent, i.indisvalid, i.indislive, i.relkind, r.by_index, r.is_equal, s.oids,
			CASE WHEN i.relkind OPERATOR(pg_catalog.=) 'i'::pg_catalog."char" THEN 1::bigint ELSE coalesce(s.relations, 0::bigint) END AS relations,
			coalesce(s.bytes, i.bytes) AS bytes, coalesce(s.scans, i.scans) AS scans,
			greatest(c.since, s.created, @extschema@.file_created(i.oid::pg_catalog.regclass)) AS counted_since
		FROM indexes AS i CROSS JOIN counting AS c
			JOIN pg_catalog.pg_am AS a ON a.oid OPERATOR(pg_catalog.=) i.relam
			LEFT JOIN sums AS s ON s.root OPERATOR(pg_catalog.=) i.oid
			LEFT JOIN redundant AS r ON r.oid OPERATOR(pg_catalog.=) i.oid
		WHERE NOT i.attached AND CASE
			-- those who build an index, and VACUUM, have such a lock
			WHEN NOT i.indisvalid THEN NOT i.indrelid OPERATOR(pg_catalog.=) ANY (SELECT l.relation FROM pg_catalog.pg_locks AS l
				WHERE l.locktype OPERATOR(pg_catalog.=) 'relation' AND l.granted AND l.pid OPERATOR(pg_catalog.<>) pg_catalog.pg_backend_pid()
					AND l.mode OPERATOR(pg_catalog.=) ANY ('{ShareUpdateExclusiveLock,ShareLock,ShareRowExclusiveLock,ExclusiveLock,AccessExclusiveLock}'))
			WHEN r.by_index IS NOT NULL THEN true
			ELSE i.need OPERATOR(pg_catalog.=) 0 AND coalesce(s.scans, i.scans) OPERATOR(pg_catalog.=) 0::bigint
				AND c.since OPERATOR(pg_catalog.<) (pg_catalog.now() OPERATOR(pg_catalog.-) '7 days'::pg_catalog.interval) END
		-- what is sorted has not all columns yet
		ORDER BY coalesce(s.bytes, i.bytes) DESC OFFSET 0)
	SELECT i.nspname AS schema_name, i.relname AS relation_name, i.parent AS parent_name, i.amname AS access_method, i.counted_since,
		-- as a document, because older servers have no such column
		CASE WHEN i.scans OPERATOR(pg_catalog.>) 0::bigint THEN (
			SELECT pg_catalog.max((pg_catalog.to_jsonb(u) OPERATOR(pg_catalog.->>) 'last_idx_scan')::timestamp with time zone)
			FROM pg_catalog.pg_stat_all_indexes AS u
			WHERE u.indexrelid OPERATOR(pg_catalog.=) ANY (coalesce(i.oids, ARRAY[i.oid]))) END AS last_idx_scan,
		i.bytes, i.relations, i.scans AS index_scans, pg_catalog.pg_size_pretty(i.bytes) AS size,
		CASE WHEN i.indisvalid AND i.by_index IS NULL THEN f.foreign_key END AS foreign_key,
		CASE WHEN NOT i.indisvalid THEN NULL
			WHEN f.foreign_key IS NOT NULL AND i.by_index IS NULL
				THEN 'without it, deleting referenced rows of the foreign key scans the whole table; scans on standbys are not counted'
			ELSE 'scans on standbys are not counted' END AS note,
		CASE WHEN NOT i.indisvalid AND i.relname OPERATOR(pg_catalog.~) '_cc(new|old)[0-9]*$' THEN 'left behind by a REINDEX CONCURRENTLY that did not complete'
			WHEN NOT i.indisvalid AND i.relkind OPERATOR(pg_catalog.=) 'I'::pg_catalog."char" THEN 'the index of a partition is missing or not valid'
			WHEN NOT i.indislive THEN 'left behind by a DROP INDEX CONCURRENTLY that did not complete'
			WHEN NOT i.indisvalid THEN 'its build did not complete: queries do not use it'
			WHEN i.is_equal THEN pg_catalog.concat('the same as ', i.by_index)
			WHEN i.by_index IS NOT NULL THEN pg_catalog.concat('its columns are the first ones of ', i.by_index)
			ELSE pg_catalog.concat('never scanned since ', pg_catalog.to_char(i.counted_since, 'YYYY-MM-DD')) END AS reason
	FROM candidates AS i LEFT JOIN referencing AS f ON f.oid OPERATOR(pg_catalog.=) i.oid
	WHERE NOT i.indisvalid OR i.by_index IS NOT NULL
		OR i.counted_since OPERATOR(pg_catalog.<) (pg_catalog.now() OPERATOR(pg_catalog.-) '7 days'::pg_catalog.interval);

COMMENT ON VIEW @extschema@.report_drop_candidates IS
'Indexes that may be worth dropping: not scanned for a week or longer, redundant or invalid. Those of constraints, replica identities and tables of extensions and those used by CLUSTER are left out, unless they are invalid, and unique ones, unless they are invalid or another unique index equals them.';

COMMENT ON COLUMN @extschema@.report_advice.rank IS 'rank, from 1: what waits for others and then what is not online come last; in each part, corrupt relations, invalid indexes, then by reclaimable_bytes';
COMMENT ON COLUMN @extschema@.report_advice.schema_name IS 'schema of the relation';
COMMENT ON COLUMN @extschema@.report_advice.relation_name IS 'name of the relation';
COMMENT ON COLUMN @extschema@.report_advice.kind IS 'table, partition, materialized view, toast table or index';
COMMENT ON COLUMN @extschema@.report_advice.bytes IS 'size of the main forks of all relations that the command rebuilds or changes, in bytes';
COMMENT ON COLUMN @extschema@.report_advice.relations IS 'relations that the command rebuilds or changes';
COMMENT ON COLUMN @extschema@.report_advice.size IS 'bytes, formatted by pg_size_pretty';
COMMENT ON COLUMN @extschema@.report_advice.reclaimable_size IS 'reclaimable_bytes, formatted by pg_size_pretty';
COMMENT ON COLUMN @extschema@.report_advice.reclaimable_bytes IS 'bytes that the command would free, over all these relations, besides what commands before it free of them';
COMMENT ON COLUMN @extschema@.report_advice.reclaimable_bytes_low IS 'sum of the lower ends of the 95 % intervals, where an index that may become larger counts as less than 0; 0 if the sum is less';
COMMENT ON COLUMN @extschema@.report_advice.reclaimable_bytes_high IS 'sum of the upper ends of the 95 % intervals';
COMMENT ON COLUMN @extschema@.report_advice.reclaimable_percent IS 'reclaimable_bytes in percent of bytes';
COMMENT ON COLUMN @extschema@.report_advice.scratch_bytes IS 'disk space that the command needs while it runs, for new files and sorting, in bytes';
COMMENT ON COLUMN @extschema@.report_advice.scratch_size IS 'scratch_bytes, formatted by pg_size_pretty';
COMMENT ON COLUMN @extschema@.report_advice.bytes_to_read IS 'bytes that the command reads; null if unknown';
COMMENT ON COLUMN @extschema@.report_advice.bytes_to_write IS 'bytes that the command writes to files, without WAL (about as much, unless wal_level is minimal); null if unknown';
COMMENT ON COLUMN @extschema@.report_advice.duration IS 'how long the command takes, by the rows and bytes that were found and the waits of the reads of the report; null if unknown';
COMMENT ON COLUMN @extschema@.report_advice.duration_low IS 'how long it takes at least: half of that, if what it reads is cached';
COMMENT ON COLUMN @extschema@.report_advice.duration_high IS 'how long it takes at most: twice as long, on slow storage, but without waits for others';
COMMENT ON COLUMN @extschema@.report_advice.command IS 'SQL command, or a pg_repack command for the shell; null if what reason says has to be done first';
COMMENT ON COLUMN @extschema@.report_advice.lock_mode IS 'strongest lock that the command holds on the table or index while it works';
COMMENT ON COLUMN @extschema@.report_advice.blocks_reads IS 'whether queries on the table wait until the command ends';
COMMENT ON COLUMN @extschema@.report_advice.blocks_writes IS 'whether changes of the table wait until the command ends';
COMMENT ON COLUMN @extschema@.report_advice.is_online IS 'whether queries and changes of the table go on meanwhile, but for a moment; null if there is no command';
COMMENT ON COLUMN @extschema@.report_advice.waits_for IS 'transactions that now keep the command from beginning or ending: those that are idle, prepared, or older than 60 seconds; null if there are none';
COMMENT ON COLUMN @extschema@.report_advice.reason IS 'why the command is advised, or what to do instead';

COMMENT ON COLUMN @extschema@.report_drop_candidates.schema_name IS 'schema of the index';
COMMENT ON COLUMN @extschema@.report_drop_candidates.relation_name IS 'name of the index, or of the index of a partitioned table, which stands for those of its partitions';
COMMENT ON COLUMN @extschema@.report_drop_candidates.parent_name IS 'qualified name of the table of the index';
COMMENT ON COLUMN @extschema@.report_drop_candidates.access_method IS 'access method';
COMMENT ON COLUMN @extschema@.report_drop_candidates.counted_since IS 'since when scans of the index are counted: since the statistics began, or its file was made, whichever is later';
COMMENT ON COLUMN @extschema@.report_drop_candidates.last_idx_scan IS 'last scan of the index; null if there was none, and before version 16';
COMMENT ON COLUMN @extschema@.report_drop_candidates.bytes IS 'size of the main fork at its last VACUUM, ANALYZE or build, in bytes; of a partitioned table, the sum';
COMMENT ON COLUMN @extschema@.report_drop_candidates.relations IS 'indexes in the row: 1, or those of partitions';
COMMENT ON COLUMN @extschema@.report_drop_candidates.index_scans IS 'scans of the index, from the cumulative statistics';
COMMENT ON COLUMN @extschema@.report_drop_candidates.size IS 'bytes, formatted by pg_size_pretty';
COMMENT ON COLUMN @extschema@.report_drop_candidates.foreign_key IS 'name of a foreign key of the table that the index serves; null if there is none, or if another index serves it as well';
COMMENT ON COLUMN @extschema@.report_drop_candidates.note IS 'what to consider before dropping the index';
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
	reads_per_second_low float8,
	reads_per_second_high float8,
	bytes_per_second float8,
	latency_ms float8,
	latency_ms_p99 float8,
	deeper_pays boolean,
	note text);

COMMENT ON TYPE io_probe_row IS 'row of io_probe';
COMMENT ON COLUMN io_probe_row.tablespace_name IS 'tablespace whose storage was read';
COMMENT ON COLUMN io_probe_row.relation IS 'relation whose blocks were read; null if there was none';
COMMENT ON COLUMN io_probe_row.pattern IS 'random or sequential';
COMMENT ON COLUMN io_probe_row.io_method IS 'how the blocks were read: io_uring, or advice (posix_fadvise ahead of each read)';
COMMENT ON COLUMN io_probe_row.depth IS 'reads in flight at a time';
COMMENT ON COLUMN io_probe_row.request_bytes IS 'size of each read, in bytes';
COMMENT ON COLUMN io_probe_row.is_direct IS 'whether reads bypassed the page cache (O_DIRECT); if false, only blocks that were not cached were read';
COMMENT ON COLUMN io_probe_row.reads IS 'reads that were timed, in all rounds';
COMMENT ON COLUMN io_probe_row.bytes_read IS 'bytes read by them';
COMMENT ON COLUMN io_probe_row.elapsed_ms IS 'elapsed time of these reads, in milliseconds';
COMMENT ON COLUMN io_probe_row.reads_per_second IS 'reads per second: median over the rounds';
COMMENT ON COLUMN io_probe_row.reads_per_second_low IS 'lower end of its 95 % confidence interval; null with fewer than 6 figures';
COMMENT ON COLUMN io_probe_row.reads_per_second_high IS 'upper end of its 95 % confidence interval; null with fewer than 6 figures';
COMMENT ON COLUMN io_probe_row.bytes_per_second IS 'bytes per second at that rate';
COMMENT ON COLUMN io_probe_row.latency_ms IS 'median latency of a read, in milliseconds';
COMMENT ON COLUMN io_probe_row.latency_ms_p99 IS '99th percentile of the latency, in milliseconds';
COMMENT ON COLUMN io_probe_row.deeper_pays IS 'whether the next greater depth reads at least 10 percent more; null if that is within the spread, or not tried';
COMMENT ON COLUMN io_probe_row.note IS 'why values are missing; else null';

CREATE FUNCTION io_probe(
	relation regclass DEFAULT NULL,
	max_bytes text DEFAULT NULL,
	max_time interval DEFAULT NULL,
	max_rate text DEFAULT NULL)
RETURNS SETOF @extschema@.io_probe_row
AS 'MODULE_PATHNAME', 'sst_io_probe'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000000 ROWS 10;

COMMENT ON FUNCTION io_probe(regclass, text, interval, text) IS
'Measures how fast storage answers random and sequential reads, by depth. Takes an AccessShareLock on the relation being read.';

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
COMMENT ON COLUMN io_advice_row.pattern IS 'access pattern that the advice is for: random or sequential';
COMMENT ON COLUMN io_advice_row.setting IS 'name of the setting';
COMMENT ON COLUMN io_advice_row.present_value IS 'value in the tablespace or session when it was probed';
COMMENT ON COLUMN io_advice_row.advised_value IS 'smallest value that is proven to be within 10 percent of the best one; null if the present value is not proven to be worse, or it is not clear which value that is';
COMMENT ON COLUMN io_advice_row.loss_percent IS 'measured loss of the present value, in percent of the best rate; null if none is proven';
COMMENT ON COLUMN io_advice_row.takes_effect IS 'when a change takes effect: at once, after a reload, or after a restart';
COMMENT ON COLUMN io_advice_row.command IS 'command that changes the setting; null if there is no advised value';
COMMENT ON COLUMN io_advice_row.reason IS 'what the setting affects, or why nothing is advised';

CREATE FUNCTION io_advice()
RETURNS SETOF @extschema@.io_advice_row
AS 'MODULE_PATHNAME', 'sst_io_advice'
LANGUAGE C VOLATILE PARALLEL RESTRICTED ROWS 3;

COMMENT ON FUNCTION io_advice() IS
'Returns the I/O settings that the last io_probe of this session advises. Takes no lock.';

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
COMMENT ON COLUMN stream_stats_row.relation IS 'relation that was read; null if there were several';
COMMENT ON COLUMN stream_stats_row.stream IS 'name of the stream that read the blocks';
COMMENT ON COLUMN stream_stats_row.io_method IS 'how the file stream read blocks that were not in the page cache; null if there were none';
COMMENT ON COLUMN stream_stats_row.workers IS 'parallel workers used; the other columns include their work';
COMMENT ON COLUMN stream_stats_row.blocks_requested IS 'requested blocks';
COMMENT ON COLUMN stream_stats_row.blocks_hit IS 'requested blocks found in shared buffers';
COMMENT ON COLUMN stream_stats_row.blocks_missed IS 'requested blocks not found in shared buffers';
COMMENT ON COLUMN stream_stats_row.blocks_private IS 'missed blocks that were read from files into private memory';
COMMENT ON COLUMN stream_stats_row.blocks_mapped IS 'blocks_private that were copied in part from a mapping of the page cache';
COMMENT ON COLUMN stream_stats_row.reads IS 'read operations; null if unknown';
COMMENT ON COLUMN stream_stats_row.avg_read_bytes IS 'average size of a read operation, in bytes';
COMMENT ON COLUMN stream_stats_row.advice_calls IS 'calls of posix_fadvise; null if unknown';
COMMENT ON COLUMN stream_stats_row.avg_advice_bytes IS 'average size of an advised range, in bytes';
COMMENT ON COLUMN stream_stats_row.look_ahead_max IS 'largest number of blocks requested ahead';
COMMENT ON COLUMN stream_stats_row.elapsed_ms IS 'duration of the call in milliseconds';
COMMENT ON COLUMN stream_stats_row.bytes_per_second IS 'bytes of the requested blocks per second';
COMMENT ON COLUMN stream_stats_row.blocks_page_cache IS 'missed blocks that were in the page cache; null if unknown';
COMMENT ON COLUMN stream_stats_row.blocks_disk IS 'missed blocks that were not in the page cache; null if unknown';
COMMENT ON COLUMN stream_stats_row.read_waits IS 'reads that were not complete when their data was needed; null if unknown';
COMMENT ON COLUMN stream_stats_row.read_wait_ms IS 'time that processes waited for reads, in milliseconds; null if unknown';
COMMENT ON COLUMN stream_stats_row.reads_in_flight_avg IS 'average number of reads in flight when a read starts; null if unknown';
COMMENT ON COLUMN stream_stats_row.reads_in_flight_max IS 'largest number of reads in flight; null if unknown';
COMMENT ON COLUMN stream_stats_row.look_ahead_avg IS 'average number of blocks requested ahead when a block is returned; null if unknown';
COMMENT ON COLUMN stream_stats_row.reads_by_size IS 'reads of 1 block, 2 to 3, 4 to 7, and so on up to 128 or more (8 elements); null if unknown';
COMMENT ON COLUMN stream_stats_row.blocks_by_size IS 'blocks read by the reads of each size (8 elements); null if unknown';

CREATE FUNCTION stream_stats()
RETURNS @extschema@.stream_stats_row
AS 'MODULE_PATHNAME', 'sst_stream_stats'
LANGUAGE C VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION stream_stats() IS
'Returns I/O counters of the last completed call of this session. Takes no lock.';

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
COMMENT ON COLUMN stream_stats_workers_row.blocks_requested IS 'requested blocks';
COMMENT ON COLUMN stream_stats_workers_row.blocks_hit IS 'requested blocks found in shared buffers';
COMMENT ON COLUMN stream_stats_workers_row.blocks_missed IS 'requested blocks not found in shared buffers';
COMMENT ON COLUMN stream_stats_workers_row.blocks_private IS 'missed blocks that were read from files into private memory';
COMMENT ON COLUMN stream_stats_workers_row.blocks_mapped IS 'blocks_private that were copied in part from a mapping of the page cache';
COMMENT ON COLUMN stream_stats_workers_row.reads IS 'read operations; null if unknown';
COMMENT ON COLUMN stream_stats_workers_row.avg_read_bytes IS 'average size of a read operation, in bytes';
COMMENT ON COLUMN stream_stats_workers_row.advice_calls IS 'calls of posix_fadvise; null if unknown';
COMMENT ON COLUMN stream_stats_workers_row.avg_advice_bytes IS 'average size of an advised range, in bytes';
COMMENT ON COLUMN stream_stats_workers_row.look_ahead_max IS 'largest number of blocks requested ahead';
COMMENT ON COLUMN stream_stats_workers_row.blocks_page_cache IS 'missed blocks that were in the page cache; null if unknown';
COMMENT ON COLUMN stream_stats_workers_row.blocks_disk IS 'missed blocks that were not in the page cache; null if unknown';
COMMENT ON COLUMN stream_stats_workers_row.read_waits IS 'reads that were not complete when their data was needed; null if unknown';
COMMENT ON COLUMN stream_stats_workers_row.read_wait_ms IS 'time that processes waited for reads, in milliseconds; null if unknown';
COMMENT ON COLUMN stream_stats_workers_row.reads_in_flight_avg IS 'average number of reads in flight when a read starts; null if unknown';
COMMENT ON COLUMN stream_stats_workers_row.reads_in_flight_max IS 'largest number of reads in flight; null if unknown';
COMMENT ON COLUMN stream_stats_workers_row.look_ahead_avg IS 'average number of blocks requested ahead when a block is returned; null if unknown';
COMMENT ON COLUMN stream_stats_workers_row.reads_by_size IS 'reads of 1 block, 2 to 3, 4 to 7, and so on up to 128 or more (8 elements); null if unknown';
COMMENT ON COLUMN stream_stats_workers_row.blocks_by_size IS 'blocks read by the reads of each size (8 elements); null if unknown';

CREATE FUNCTION stream_stats_workers()
RETURNS SETOF @extschema@.stream_stats_workers_row
AS 'MODULE_PATHNAME', 'sst_stream_stats_workers'
LANGUAGE C VOLATILE PARALLEL RESTRICTED ROWS 3;

COMMENT ON FUNCTION stream_stats_workers() IS
'Returns I/O counters of each process of the last completed call of this session. Takes no lock.';

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
COMMENT ON COLUMN stat_get_progress_row.relid IS 'OID of the relation being scanned, in the session''s database; null before the first scan';
COMMENT ON COLUMN stat_get_progress_row.function IS 'function that was called';
COMMENT ON COLUMN stat_get_progress_row.phase IS 'scanning; in a database report: catalog, first samples, measuring or finishing';
COMMENT ON COLUMN stat_get_progress_row.started IS 'when the call began';
COMMENT ON COLUMN stat_get_progress_row.blocks_done IS 'blocks of the current scan that were read, by all processes';
COMMENT ON COLUMN stat_get_progress_row.blocks_total IS 'blocks of the current scan';
COMMENT ON COLUMN stat_get_progress_row.relations_done IS 'relations that are finished';
COMMENT ON COLUMN stat_get_progress_row.relations_total IS 'relations of the call; null if unknown';
COMMENT ON COLUMN stat_get_progress_row.bytes_done IS 'bytes that the call has read, over all relations and forks';
COMMENT ON COLUMN stat_get_progress_row.bytes_total IS 'bytes that the call will read; null if unknown';
COMMENT ON COLUMN stat_get_progress_row.bytes_per_second IS 'bytes_done per second since the call began';
COMMENT ON COLUMN stat_get_progress_row.expected_end IS 'expected end of the call at this rate, if no limit ends it; null if unknown';

CREATE FUNCTION stat_get_progress()
RETURNS SETOF @extschema@.stat_get_progress_row
AS 'MODULE_PATHNAME', 'sst_stat_get_progress'
LANGUAGE C VOLATILE PARALLEL RESTRICTED ROWS 100;

COMMENT ON FUNCTION stat_get_progress() IS
'Returns one row for each session that runs a streamstat function. Takes no lock.';

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
'One row for each session, of any database, that runs a streamstat function.';
COMMENT ON COLUMN @extschema@.stat_progress.pid IS 'process ID of the session';
COMMENT ON COLUMN @extschema@.stat_progress.datid IS 'OID of the database';
COMMENT ON COLUMN @extschema@.stat_progress.datname IS 'name of the database';
COMMENT ON COLUMN @extschema@.stat_progress.relid IS 'OID of the relation being scanned, in the session''s database; null before the first scan';
COMMENT ON COLUMN @extschema@.stat_progress.function IS 'function that was called';
COMMENT ON COLUMN @extschema@.stat_progress.phase IS 'scanning; in a database report: catalog, first samples, measuring or finishing';
COMMENT ON COLUMN @extschema@.stat_progress.started IS 'when the call began';
COMMENT ON COLUMN @extschema@.stat_progress.done_percent IS 'bytes_done in percent of bytes_total; null if bytes_total is unknown';
COMMENT ON COLUMN @extschema@.stat_progress.blocks_done IS 'blocks of the current scan that were read, by all processes';
COMMENT ON COLUMN @extschema@.stat_progress.blocks_total IS 'blocks of the current scan';
COMMENT ON COLUMN @extschema@.stat_progress.relations_done IS 'relations that are finished';
COMMENT ON COLUMN @extschema@.stat_progress.relations_total IS 'relations of the call; null if unknown';
COMMENT ON COLUMN @extschema@.stat_progress.bytes_done IS 'bytes that the call has read, over all relations and forks';
COMMENT ON COLUMN @extschema@.stat_progress.bytes_total IS 'bytes that the call will read; null if unknown';
COMMENT ON COLUMN @extschema@.stat_progress.bytes_per_second IS 'bytes_done per second since the call began';
COMMENT ON COLUMN @extschema@.stat_progress.expected_end IS 'expected end of the call at this rate, if no limit ends it; null if unknown';

GRANT SELECT ON @extschema@.stat_progress TO PUBLIC;

--
-- Functions with the names, arguments, columns and results of contrib's
--

CREATE FUNCTION pgstattuple(
	relname text,
	OUT table_len bigint,	-- size of the main fork
	OUT tuple_count bigint,	-- live tuples
	OUT tuple_len bigint,	-- bytes of live tuples
	OUT tuple_percent float8,	-- tuple_len in percent of table_len
	OUT dead_tuple_count bigint,	-- dead tuples
	OUT dead_tuple_len bigint,	-- bytes of dead tuples
	OUT dead_tuple_percent float8,	-- dead_tuple_len in percent of table_len
	OUT free_space bigint,	-- free bytes
	OUT free_percent float8)	-- free_space in percent of table_len
AS 'MODULE_PATHNAME', 'sst_pgstattuple'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION pgstattuple(text) IS
'Same as pgstattuple(text) of contrib, without setting hint bits. Takes an AccessShareLock on the relation.';

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
AS 'MODULE_PATHNAME', 'sst_pgstattuple'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION pgstattuple(regclass) IS
'Same as pgstattuple(regclass) of contrib, without setting hint bits. Takes an AccessShareLock on the relation.';

CREATE FUNCTION pgstattuple_approx(
	reloid regclass,
	OUT table_len bigint,	-- size of the main fork
	OUT scanned_percent float8,	-- percent of the pages that were read
	OUT approx_tuple_count bigint,	-- live tuples, estimated
	OUT approx_tuple_len bigint,	-- bytes of live tuples, estimated
	OUT approx_tuple_percent float8,	-- approx_tuple_len in percent of table_len
	OUT dead_tuple_count bigint,	-- dead tuples
	OUT dead_tuple_len bigint,	-- bytes of dead tuples
	OUT dead_tuple_percent float8,	-- dead_tuple_len in percent of table_len
	OUT approx_free_space bigint,	-- free bytes, estimated
	OUT approx_free_percent float8)	-- approx_free_space in percent of table_len
AS 'MODULE_PATHNAME', 'sst_pgstattuple_approx'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION pgstattuple_approx(regclass) IS
'Same as pgstattuple_approx(regclass) of contrib, without setting hint bits. Takes an AccessShareLock on the table.';

CREATE FUNCTION pgstatindex(
	relname text,
	OUT version int,	-- version of the index format
	OUT tree_level int,	-- level of the root page
	OUT index_size bigint,	-- size of the main fork
	OUT root_block_no bigint,	-- block number of the root page
	OUT internal_pages bigint,	-- internal pages
	OUT leaf_pages bigint,	-- leaf pages
	OUT empty_pages bigint,	-- half-dead pages
	OUT deleted_pages bigint,	-- deleted pages
	OUT avg_leaf_density float8,	-- percent of the space in leaf pages that is in use
	OUT leaf_fragmentation float8)	-- percent of the leaf pages whose right sibling lies on an earlier block
AS 'MODULE_PATHNAME', 'sst_pgstatindex'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION pgstatindex(text) IS
'Same as pgstatindex(text) of contrib. Takes an AccessShareLock on the index.';

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
AS 'MODULE_PATHNAME', 'sst_pgstatindex'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION pgstatindex(regclass) IS
'Same as pgstatindex(regclass) of contrib. Takes an AccessShareLock on the index.';

CREATE FUNCTION pgstathashindex(
	relname regclass,
	OUT version int,	-- version of the index format
	OUT bucket_pages bigint,	-- primary bucket pages
	OUT overflow_pages bigint,	-- overflow pages
	OUT bitmap_pages bigint,	-- bitmap pages
	OUT unused_pages bigint,	-- unused pages
	OUT live_items bigint,	-- index tuples that are not marked dead
	OUT dead_items bigint,	-- index tuples that are marked dead
	OUT free_percent float8)	-- free bytes in percent of the space for tuples
AS 'MODULE_PATHNAME', 'sst_pgstathashindex'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION pgstathashindex(regclass) IS
'Same as pgstathashindex(regclass) of contrib. Takes an AccessShareLock on the index.';

CREATE FUNCTION pgstatginindex(
	relname regclass,
	OUT version int,	-- version of the index format
	OUT pending_pages int,	-- pages of the pending list
	OUT pending_tuples bigint)	-- heap tuples in the pending list
AS 'MODULE_PATHNAME', 'sst_pgstatginindex'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION pgstatginindex(regclass) IS
'Same as pgstatginindex(regclass) of contrib. Takes an AccessShareLock on the index.';

CREATE FUNCTION pg_relpages(relname text)
RETURNS bigint
AS 'MODULE_PATHNAME', 'sst_pg_relpages'
LANGUAGE C STRICT VOLATILE PARALLEL SAFE;

COMMENT ON FUNCTION pg_relpages(text) IS
'Returns the number of pages of a relation. Takes an AccessShareLock on the relation.';

CREATE FUNCTION pg_relpages(relname regclass)
RETURNS bigint
AS 'MODULE_PATHNAME', 'sst_pg_relpages'
LANGUAGE C STRICT VOLATILE PARALLEL SAFE;

COMMENT ON FUNCTION pg_relpages(regclass) IS
'Returns the number of pages of a relation. Takes an AccessShareLock on the relation.';

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
COMMENT ON COLUMN cache_summary_row.parent_name IS 'qualified name of the table of an index or TOAST table, or of the partitioned table of a partition; else null';
COMMENT ON COLUMN cache_summary_row.kind IS 'table, partition, materialized view, toast table or index';
COMMENT ON COLUMN cache_summary_row.fork IS 'main, fsm (free space map), vm (visibility map) or init';
COMMENT ON COLUMN cache_summary_row.bytes IS 'size of the fork, in bytes';
COMMENT ON COLUMN cache_summary_row.buffered_bytes IS 'bytes in shared buffers; null for temporary relations';
COMMENT ON COLUMN cache_summary_row.dirty_bytes IS 'buffered_bytes that are dirty; null for temporary relations';
COMMENT ON COLUMN cache_summary_row.pinned_bytes IS 'buffered_bytes that are pinned; null for temporary relations';
COMMENT ON COLUMN cache_summary_row.page_cache_bytes IS 'bytes in the page cache; null if the kernel does not report it';
COMMENT ON COLUMN cache_summary_row.buffered_percent IS 'buffered_bytes in percent of bytes';
COMMENT ON COLUMN cache_summary_row.page_cache_percent IS 'page_cache_bytes in percent of bytes';
COMMENT ON COLUMN cache_summary_row.usage_count IS 'mean usage count of the buffers, 0 to 5; null if there are none';

CREATE FUNCTION cache_summary()
RETURNS SETOF @extschema@.cache_summary_row
AS 'MODULE_PATHNAME', 'sst_cache_summary'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000000 ROWS 500;

COMMENT ON FUNCTION cache_summary() IS
'Returns how much of each relation is in shared buffers and in the page cache. Takes no lock on a relation.';

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
COMMENT ON COLUMN cache_map_row.parent_name IS 'qualified name of the table of an index or TOAST table, or of the partitioned table of a partition; else null';
COMMENT ON COLUMN cache_map_row.kind IS 'table, partition, materialized view, toast table or index';
COMMENT ON COLUMN cache_map_row.fork IS 'main, fsm (free space map), vm (visibility map) or init';
COMMENT ON COLUMN cache_map_row.first_block IS 'first block of the range';
COMMENT ON COLUMN cache_map_row.last_block IS 'last block of the range';
COMMENT ON COLUMN cache_map_row.usage_count IS 'usage count of the buffers of the range, 0 to 5';

CREATE FUNCTION cache_map()
RETURNS SETOF @extschema@.cache_map_row
AS 'MODULE_PATHNAME', 'sst_cache_map'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000000 ROWS 10000;

COMMENT ON FUNCTION cache_map() IS
'Returns the ranges of blocks that are in shared buffers. Takes no lock on a relation.';

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
COMMENT ON COLUMN prewarm_row.is_sum IS 'true in the first row, which is the sum of the others';
COMMENT ON COLUMN prewarm_row.relid IS 'OID of the relation';
COMMENT ON COLUMN prewarm_row.schema_name IS 'schema of the relation';
COMMENT ON COLUMN prewarm_row.relation_name IS 'name of the relation';
COMMENT ON COLUMN prewarm_row.parent_name IS 'qualified name of the table of an index or TOAST table, or of the partitioned table of a partition; else null';
COMMENT ON COLUMN prewarm_row.kind IS 'table, partition, materialized view, toast table, index, sequence or, for a relation without storage, its kind';
COMMENT ON COLUMN prewarm_row.fork IS 'main, fsm (free space map), vm (visibility map) or init; null if no fork was read';
COMMENT ON COLUMN prewarm_row.blocks_total IS 'blocks of the fork; null if unknown';
COMMENT ON COLUMN prewarm_row.blocks_requested IS 'blocks that were processed';
COMMENT ON COLUMN prewarm_row.blocks_cached IS 'processed blocks that were cached before';
COMMENT ON COLUMN prewarm_row.blocks_read IS 'processed blocks that were read, or that the kernel was asked to read';
COMMENT ON COLUMN prewarm_row.elapsed_ms IS 'elapsed time in milliseconds';
COMMENT ON COLUMN prewarm_row.ended_by IS 'in the sum row, what ended the call: complete, max_bytes, max_time, full (no free buffers are left) or blocking (another session waits for the transaction)';
COMMENT ON COLUMN prewarm_row.resume_from IS 'in the sum row, where the next call with the same arguments continues; null if nothing is left';
COMMENT ON COLUMN prewarm_row.note IS 'why the fork was not read, or not all of it; in the sum row of cache_load, how many forks have such a note; else null';

CREATE FUNCTION cache_save(max_bytes text DEFAULT NULL)
RETURNS text
AS 'MODULE_PATHNAME', 'sst_cache_save'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000000;

COMMENT ON FUNCTION cache_save(text) IS
'Returns the list of blocks in shared buffers as text, for cache_load. Takes no lock on a relation.';

CREATE FUNCTION cache_load(
	saved text,
	mode text DEFAULT 'buffer',
	min_usage_count int DEFAULT 0,
	max_bytes text DEFAULT NULL,
	max_time interval DEFAULT NULL,
	max_rate text DEFAULT NULL,
	stop_when_full boolean DEFAULT NULL,
	details boolean DEFAULT false)
RETURNS SETOF @extschema@.prewarm_row
AS 'MODULE_PATHNAME', 'sst_cache_load'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000000 ROWS 1;

COMMENT ON FUNCTION cache_load(text, text, int, text, interval, text, boolean, boolean) IS
'Loads the blocks listed by cache_save into memory. Waits for no lock.';

CREATE FUNCTION prewarm(
	relation regclass,
	mode text DEFAULT 'buffer',
	max_bytes text DEFAULT NULL,
	max_time interval DEFAULT NULL,
	max_rate text DEFAULT NULL,
	stop_when_full boolean DEFAULT NULL,
	include_indexes boolean DEFAULT true,
	include_toast boolean DEFAULT true,
	include_maps boolean DEFAULT true,
	only_maps boolean DEFAULT false,
	resume_from text DEFAULT NULL)
RETURNS SETOF @extschema@.prewarm_row
AS 'MODULE_PATHNAME', 'sst_prewarm_relation'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000000 ROWS 20;

COMMENT ON FUNCTION prewarm(regclass, text, text, interval, text, boolean, boolean, boolean, boolean, boolean, text) IS
'Loads a relation with its maps, indexes and TOAST table into memory. Waits for no lock.';

CREATE FUNCTION prewarm_relations(
	relations regclass[],
	mode text DEFAULT 'buffer',
	max_bytes text DEFAULT NULL,
	max_time interval DEFAULT NULL,
	max_rate text DEFAULT NULL,
	stop_when_full boolean DEFAULT NULL,
	include_indexes boolean DEFAULT true,
	include_toast boolean DEFAULT true,
	include_maps boolean DEFAULT true,
	only_maps boolean DEFAULT false,
	resume_from text DEFAULT NULL)
RETURNS SETOF @extschema@.prewarm_row
AS 'MODULE_PATHNAME', 'sst_prewarm_relations'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000000 ROWS 100;

COMMENT ON FUNCTION prewarm_relations(regclass[], text, text, interval, text, boolean, boolean, boolean, boolean, boolean, text) IS
'Loads several relations into memory, in the given order, as prewarm does. Waits for no lock.';

CREATE FUNCTION prewarm_schema(
	schema regnamespace,
	mode text DEFAULT 'buffer',
	max_bytes text DEFAULT NULL,
	max_time interval DEFAULT NULL,
	max_rate text DEFAULT NULL,
	stop_when_full boolean DEFAULT NULL,
	include_indexes boolean DEFAULT true,
	include_toast boolean DEFAULT true,
	include_maps boolean DEFAULT true,
	only_maps boolean DEFAULT false,
	resume_from text DEFAULT NULL)
RETURNS SETOF @extschema@.prewarm_row
AS 'MODULE_PATHNAME', 'sst_prewarm_schema'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000000 ROWS 500;

COMMENT ON FUNCTION prewarm_schema(regnamespace, text, text, interval, text, boolean, boolean, boolean, boolean, boolean, text) IS
'Loads the tables of a schema into memory, as prewarm does. Waits for no lock.';

CREATE FUNCTION prewarm_database(
	mode text DEFAULT 'buffer',
	max_bytes text DEFAULT NULL,
	max_time interval DEFAULT NULL,
	max_rate text DEFAULT NULL,
	stop_when_full boolean DEFAULT NULL,
	include_indexes boolean DEFAULT true,
	include_toast boolean DEFAULT true,
	include_maps boolean DEFAULT true,
	only_maps boolean DEFAULT false,
	resume_from text DEFAULT NULL)
RETURNS SETOF @extschema@.prewarm_row
AS 'MODULE_PATHNAME', 'sst_prewarm_database'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000000 ROWS 2000;

COMMENT ON FUNCTION prewarm_database(text, text, interval, text, boolean, boolean, boolean, boolean, boolean, text) IS
'Loads the tables of the database into memory, as prewarm does. Waits for no lock.';

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
'Same as pg_prewarm of contrib: loads blocks of a relation into memory. Takes an AccessShareLock on the relation.';

--
-- A report as one document, and as a page
--

CREATE FUNCTION host_name()
RETURNS text
AS 'MODULE_PATHNAME', 'sst_host_name'
LANGUAGE C STABLE PARALLEL SAFE;

COMMENT ON FUNCTION host_name() IS
'Returns the name of the machine that the server runs on. Takes no lock.';

-- Names in the bodies are bound now: in the catalog alone, whatever others may have put
-- into the schema before us.
SET LOCAL search_path = pg_catalog, pg_temp;

-- collect() calls this as its owner.  Values have the order of the tables' columns.
CREATE FUNCTION @extschema@.store_report(
	keep_since timestamptz DEFAULT NULL,
	top_relations int DEFAULT 100,
	min_bytes text DEFAULT '1MB',
	is_partial boolean DEFAULT false,
	note text DEFAULT NULL)
RETURNS timestamp with time zone
LANGUAGE sql VOLATILE PARALLEL UNSAFE COST 1000000
SET search_path = pg_catalog, pg_temp
SET quote_all_identifiers = off
SET jit = off
BEGIN ATOMIC
	INSERT INTO @extschema@.report_runs
	SELECT nextval('@extschema@.report_runs_run_seq'), current_database(), s.*, store_report.top_relations,
		pg_size_bytes(store_report.min_bytes), current_setting('server_version'), store_report.is_partial, store_report.note
	FROM @extschema@.database_report_summary() AS s;

	-- A relation is stored for its size, for what it would give back, or because it is damaged
	-- or has a command.  Metrics show it if it is damaged, or large enough and among the first.
	-- Of those that they do not show there are sums, where an end that is not known is taken to
	-- be the farthest.
	WITH report AS (
		SELECT r.*, row_number() OVER (ORDER BY r.bytes DESC NULLS LAST, r.schema_name COLLATE "C", r.relation_name COLLATE "C") AS bytes_rank
		FROM @extschema@.last_database_report() WITH ORDINALITY AS r),
	ranked AS MATERIALIZED (
		SELECT r.*, q.is_large AND q.is_first OR q.is_damaged AS is_shown,
			q.is_large OR q.is_first OR q.is_damaged OR r.command IS NOT NULL AS is_stored
		FROM report AS r, LATERAL (SELECT
			coalesce(r.bytes >= pg_size_bytes(store_report.min_bytes), false) AS is_large,
			least(r.bytes_rank, r.ordinality) <= store_report.top_relations AS is_first,
			coalesce(r.corrupt_pages > 0, false) OR r.is_valid IS FALSE AS is_damaged) AS q),
	stored AS (
		INSERT INTO @extschema@.report_run_relations
		SELECT currval('@extschema@.report_runs_run_seq'), r.schema_name, r.relation_name, r.parent_name, r.kind, r.access_method, r.last_vacuum, r.bytes,
			r.free_percent, r.free_percent_low, r.free_percent_high, r.dead_percent, r.dead_percent_low, r.dead_percent_high,
			r.predicted_bytes, r.reclaimable_bytes, r.reclaimable_bytes_low, r.reclaimable_bytes_high, r.corrupt_pages, r.is_valid,
			r.bytes_read, r.measured, r.note, r.command, r.rebuilt_by, r.reason, r.bytes_rank, r.ordinality, r.is_shown
		FROM ranked AS r WHERE r.is_stored)
	INSERT INTO @extschema@.report_run_others
	SELECT currval('@extschema@.report_runs_run_seq'), o.kind, min(o.last_vacuum), coalesce(sum(o.bytes), 0), count(*),
		sum(coalesce(o.free_percent, 0) * o.bytes) FILTER (WHERE o.free_percent IS NOT NULL) / nullif(sum(o.bytes) FILTER (WHERE o.free_percent IS NOT NULL), 0),
		sum(coalesce(o.free_percent_low, 0) * o.bytes) FILTER (WHERE o.free_percent IS NOT NULL) / nullif(sum(o.bytes) FILTER (WHERE o.free_percent IS NOT NULL), 0),
		sum(coalesce(o.free_percent_high, 100) * o.bytes) FILTER (WHERE o.free_percent IS NOT NULL) / nullif(sum(o.bytes) FILTER (WHERE o.free_percent IS NOT NULL), 0),
		sum(coalesce(o.dead_percent, 0) * o.bytes) FILTER (WHERE o.dead_percent IS NOT NULL) / nullif(sum(o.bytes) FILTER (WHERE o.dead_percent IS NOT NULL), 0),
		sum(coalesce(o.dead_percent_low, 0) * o.bytes) FILTER (WHERE o.dead_percent IS NOT NULL) / nullif(sum(o.bytes) FILTER (WHERE o.dead_percent IS NOT NULL), 0),
		sum(coalesce(o.dead_percent_high, 100) * o.bytes) FILTER (WHERE o.dead_percent IS NOT NULL) / nullif(sum(o.bytes) FILTER (WHERE o.dead_percent IS NOT NULL), 0),
		sum(o.predicted_bytes), sum(o.reclaimable_bytes),
		sum(coalesce(o.reclaimable_bytes_low, 0)) FILTER (WHERE o.reclaimable_bytes IS NOT NULL),
		sum(coalesce(o.reclaimable_bytes_high, o.bytes)) FILTER (WHERE o.reclaimable_bytes IS NOT NULL),
		CASE WHEN bool_and(o.measured = 'exact') THEN 'exact' WHEN bool_or(o.measured = 'skipped') THEN 'skipped' ELSE 'sampled' END
	FROM ranked AS o WHERE NOT o.is_shown GROUP BY o.kind;

	INSERT INTO @extschema@.report_run_commands
	SELECT currval('@extschema@.report_runs_run_seq'), p.rank, p.schema_name, p.relation_name, p.kind, p.bytes, p.relations,
		p.reclaimable_bytes, p.reclaimable_bytes_low, p.reclaimable_bytes_high, p.reclaimable_percent, p.scratch_bytes,
		p.bytes_to_read, p.bytes_to_write, p.duration, p.duration_low, p.duration_high, p.command, p.lock_mode,
		p.blocks_reads, p.blocks_writes, p.is_online, p.waits_for, p.reason
	FROM @extschema@.last_database_plan(true, NULL::interval) AS p;

	-- What another session is deleting is left to it.
	DELETE FROM @extschema@.report_runs AS u WHERE u.run IN (SELECT o.run FROM @extschema@.report_runs AS o
		WHERE o.started < store_report.keep_since AND o.run <> currval('@extschema@.report_runs_run_seq') FOR UPDATE SKIP LOCKED);

	SELECT min(u.started) FROM @extschema@.report_runs AS u WHERE u.run <> currval('@extschema@.report_runs_run_seq');
END;

COMMENT ON FUNCTION @extschema@.store_report(timestamptz, int, text, boolean, text) IS
'Stores the last report of this session for collect, and deletes what began before keep_since. Locks no relation of the report.';

CREATE FUNCTION @extschema@.report_caches()
RETURNS json
LANGUAGE sql VOLATILE PARALLEL UNSAFE COST 1000000
SET jit = off
BEGIN ATOMIC
	WITH cached AS MATERIALIZED (
		SELECT c.*, format('%I.%I', c.schema_name, c.relation_name) AS name FROM @extschema@.cache_summary() AS c),
	tables AS (
		-- the parent of a TOAST table's index is that, and that of the TOAST table is its table
		SELECT coalesce(t.parent_name, CASE WHEN c.kind IN ('index', 'toast table') THEN c.parent_name END, c.name) AS name,
			sum(c.bytes) AS bytes, coalesce(sum(c.buffered_bytes), 0) AS buffered_bytes, sum(c.page_cache_bytes) AS page_cache_bytes
		FROM cached AS c LEFT JOIN cached AS t ON c.kind = 'index' AND t.kind = 'toast table' AND t.fork = 'main' AND t.name = c.parent_name
		GROUP BY 1)
	SELECT json_strip_nulls(json_build_object(
		'shared_buffers', pg_size_bytes(current_setting('shared_buffers')),
		'bytes', sum(t.bytes), 'buffered_bytes', sum(t.buffered_bytes), 'page_cache_bytes', sum(t.page_cache_bytes),
		'tables', (SELECT json_agg(m)
			FROM (SELECT m.name, m.bytes, m.buffered_bytes, m.page_cache_bytes FROM tables AS m ORDER BY m.buffered_bytes DESC, m.name LIMIT 12) AS m)))
	FROM tables AS t;
END;

COMMENT ON FUNCTION @extschema@.report_caches() IS
'Returns what is cached of the database and of the twelve tables with most buffers, as part of report_json. Takes no lock on a relation.';

CREATE FUNCTION @extschema@.report_json(
	run bigint DEFAULT NULL)
RETURNS json
LANGUAGE sql VOLATILE PARALLEL UNSAFE COST 1000000
SET jit = off
BEGIN ATOMIC
	-- The last report may be a stored one that has sums of the smaller relations.
	WITH chosen AS MATERIALIZED (
		SELECT coalesce(report_json.run, (SELECT u.run
			FROM @extschema@.database_report_summary() AS d JOIN @extschema@.report_runs AS u ON u.started = d.started
			WHERE u.datname = current_database() AND d.relations > (SELECT count(*) FROM @extschema@.last_database_report()))) AS run),
	summary AS (
		SELECT row_to_json(s) AS run
		FROM (SELECT current_database() AS datname, d.*, current_setting('server_version') AS server_version
			FROM @extschema@.database_report_summary() AS d) AS s
		WHERE (SELECT chosen.run FROM chosen) IS NULL AND s.started IS NOT NULL
		UNION ALL
		SELECT row_to_json(u) FROM @extschema@.report_runs AS u JOIN chosen USING (run)),
	commands AS (
		SELECT p.rank, row_to_json(p) AS command FROM @extschema@.last_database_plan(true, NULL::interval) AS p WHERE (SELECT chosen.run FROM chosen) IS NULL
		UNION ALL
		SELECT c.rank, row_to_json(c) FROM @extschema@.report_run_commands AS c WHERE c.run = (SELECT chosen.run FROM chosen)),
	-- Of relations that are not listed, the document has sums.
	relations AS MATERIALIZED (
		SELECT r.*, least(r.bytes_rank, r.reclaimable_rank) <= 10000
			OR coalesce(r.corrupt_pages > 0, false) OR r.is_valid IS FALSE AS is_listed
		FROM (
			SELECT r.relid, r.schema_name COLLATE "C" AS schema_name, r.relation_name COLLATE "C" AS relation_name,
				r.parent_name COLLATE "C" AS parent_name, r.kind COLLATE "C" AS kind, r.access_method, r.last_vacuum, r.bytes,
				r.free_percent, r.dead_percent, r.predicted_bytes, r.reclaimable_bytes, r.reclaimable_bytes_low, r.reclaimable_bytes_high,
				r.corrupt_pages, r.is_valid, r.measured, r.note, r.command, r.rebuilt_by, r.reason,
				row_number() OVER (ORDER BY r.bytes DESC NULLS LAST) AS bytes_rank, r.ordinality AS reclaimable_rank, true AS is_shown
			FROM @extschema@.last_database_report() WITH ORDINALITY AS r
			WHERE (SELECT chosen.run FROM chosen) IS NULL
			UNION ALL
			SELECT NULL, r.schema_name, r.relation_name, r.parent_name, r.kind, r.access_method, r.last_vacuum, r.bytes,
				r.free_percent, r.dead_percent, r.predicted_bytes, r.reclaimable_bytes, r.reclaimable_bytes_low, r.reclaimable_bytes_high,
				r.corrupt_pages, r.is_valid, r.measured, r.note, r.command, r.rebuilt_by, r.reason,
				r.bytes_rank, r.reclaimable_rank, r.is_shown
			FROM @extschema@.report_run_relations AS r
			WHERE r.run = (SELECT chosen.run FROM chosen)) AS r),
	largest AS MATERIALIZED (
		SELECT row_number() OVER (ORDER BY r.bytes DESC, r.reclaimable_rank) AS place, r.schema_name, r.relation_name, r.parent_name, r.kind,
			-- a stored run has only names
			coalesce(r.relid, (SELECT c.oid FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
				WHERE n.nspname = r.schema_name::name AND c.relname = r.relation_name::name)) AS relid
		FROM relations AS r
		WHERE r.measured <> 'skipped' AND r.bytes > 0
		ORDER BY 1 LIMIT 10),
	layouts AS (
		SELECT r.place, r.schema_name, r.relation_name, r.parent_name, r.kind,
			(max(l.last_block) + 1) * current_setting('block_size')::bigint AS bytes, coalesce(max(l.note), CASE WHEN r.relid IS NULL THEN 'relation does not exist' END) AS note,
			avg(l.free_percent) AS free_percent, avg(l.dead_percent) AS dead_percent,
			json_agg(round(100 - l.free_percent - l.dead_percent) ORDER BY l.bucket) FILTER (WHERE l.bucket > 0) AS used,
			json_agg(round(l.dead_percent) ORDER BY l.bucket) FILTER (WHERE l.bucket > 0) AS dead,
			CASE WHEN count(l.buffered_percent) > 0 THEN json_agg(round(l.buffered_percent) ORDER BY l.bucket) END AS buffered,
			CASE WHEN count(l.page_cache_percent) > 0 THEN json_agg(round(l.page_cache_percent) ORDER BY l.bucket) END AS page_cached
		FROM largest AS r LEFT JOIN @extschema@.layout_maps(ARRAY(SELECT g.relid::regclass FROM largest AS g WHERE g.relid IS NOT NULL), 200, 2000) AS l
			ON l.relation::oid = r.relid
		GROUP BY r.place, r.schema_name, r.relation_name, r.parent_name, r.kind, r.relid)
	-- Whoever may not call the function of a part gets the document without that part.
	SELECT json_strip_nulls(json_build_object(
		'format', 'streamstat report', 'version', 1,
		'streamstat', (SELECT e.extversion FROM pg_extension AS e WHERE e.extname = 'streamstat'),
		'made', now(),
		'server', json_build_object('host', @extschema@.host_name(), 'cluster_name', nullif(current_setting('cluster_name'), ''), 'time_zone', current_setting('TimeZone')),
		'run', s.run,
		'history', (SELECT json_agg(h ORDER BY h.run) FROM (
			SELECT u.run, u.started, u.bytes_total, u.reclaimable_bytes
			FROM @extschema@.report_runs AS u
			WHERE u.datname = current_database() AND ((SELECT chosen.run FROM chosen) IS NULL OR u.run <= (SELECT chosen.run FROM chosen))
				-- a stored run is compared with its like, else whole ones if there are any
				AND u.is_partial = coalesce((SELECT p.is_partial FROM @extschema@.report_runs AS p WHERE p.run = (SELECT chosen.run FROM chosen)),
					(SELECT bool_and(p.is_partial) FROM @extschema@.report_runs AS p WHERE p.datname = current_database()))
			ORDER BY u.run DESC LIMIT 400) AS h),
		'plan', (SELECT json_agg(c.command ORDER BY c.rank) FROM commands AS c WHERE c.rank <= 10000),
		'relations', (SELECT json_agg(r) FROM (
			SELECT r.schema_name, r.relation_name, r.parent_name, r.kind, r.access_method, r.last_vacuum, r.bytes,
				r.free_percent, r.dead_percent, r.predicted_bytes, r.reclaimable_bytes, r.reclaimable_bytes_low, r.reclaimable_bytes_high,
				r.corrupt_pages, r.is_valid, r.measured, r.note, r.command, r.rebuilt_by, r.reason
			FROM relations AS r WHERE r.is_listed ORDER BY r.reclaimable_rank) AS r),
		'others', (SELECT json_agg(o) FROM (
			SELECT r.schema_name, r.kind, count(*) AS relations, sum(r.bytes) AS bytes,
				sum(r.bytes) FILTER (WHERE r.reclaimable_bytes IS NOT NULL) AS known_bytes, sum(r.reclaimable_bytes) AS reclaimable_bytes
			FROM relations AS r WHERE NOT r.is_listed GROUP BY r.schema_name, r.kind
			UNION ALL
			-- what was not stored: the sums have that and what is stored and not shown
			SELECT NULL, o.kind, o.relations - coalesce(r.relations, 0), o.bytes - coalesce(r.bytes, 0),
				CASE WHEN o.reclaimable_bytes IS NOT NULL THEN o.bytes - coalesce(r.bytes, 0) END, o.reclaimable_bytes - coalesce(r.reclaimable_bytes, 0)
			FROM @extschema@.report_run_others AS o LEFT JOIN (
				SELECT r.kind, count(*) AS relations, sum(r.bytes) AS bytes, sum(r.reclaimable_bytes) AS reclaimable_bytes
				FROM relations AS r WHERE NOT r.is_shown GROUP BY r.kind) AS r ON r.kind = o.kind
			WHERE o.run = (SELECT chosen.run FROM chosen) AND o.relations > coalesce(r.relations, 0)) AS o),
		'drop_candidates', (SELECT json_agg(d) FROM (SELECT d.* FROM @extschema@.report_drop_candidates AS d ORDER BY d.bytes DESC, d.parent_name, d.relation_name LIMIT 1000) AS d),
		'layouts', CASE WHEN has_function_privilege('@extschema@.layout_map(regclass, int, int)'::regprocedure::oid, 'EXECUTE')
			THEN (SELECT json_agg(l ORDER BY l.place) FROM layouts AS l) END,
		'caches', CASE WHEN report_json.run IS NULL AND has_function_privilege('@extschema@.cache_summary()'::regprocedure::oid, 'EXECUTE')
			THEN @extschema@.report_caches() END))
	FROM summary AS s;
END;

COMMENT ON FUNCTION @extschema@.report_json(bigint) IS
'Returns a report as one JSON document; null for a run that does not exist. Locks one of the ten largest relations at a time and waits for no lock.';

CREATE FUNCTION @extschema@.report_html(
	run bigint DEFAULT NULL)
RETURNS text
AS 'MODULE_PATHNAME', 'sst_report_html'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000000;

COMMENT ON FUNCTION @extschema@.report_html(bigint) IS
'Returns the document of report_json in a page that shows it. Locks one of the ten largest relations at a time and waits for no lock.';

SET LOCAL search_path = @extschema@, pg_temp;

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
	bloom_stats(regclass),
	hnsw_stats(regclass),
	ivfflat_stats(regclass),
	index_stats(regclass),
	index_stats_tree(regclass),
	table_stats(regclass, text),
	table_stats_tree(regclass, text),
	visibility_map_summary(regclass),
	unfrozen_ranges(regclass),
	free_space_map_summary(regclass),
	layout_map(regclass, int, int),
	layout_maps(regclass[], int, int),
	layout_picture(regclass, int, int, int),
	corrupt_blocks(regclass, bigint, bigint, interval),
	sample_stats(regclass, int, float8, interval, bigint),
	bloat(regclass, int, bigint, text),
	bloat_tree(regclass, int, bigint, text),
	database_report(float8, text, interval, text, bigint, regclass[], regnamespace[], text),
	last_database_report(),
	database_plan(float8, text, interval, text, bigint, regclass[], regnamespace[], text, boolean, interval),
	last_database_plan(boolean, interval),
	database_report_summary(),
	store_report(timestamptz, int, text, boolean, text),
	report_caches(),
	report_json(bigint),
	report_html(bigint),
	report_history(regclass),
	report_growth(interval),
	file_created(regclass),
	host_name(),
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
	run_database_report(float8, text, interval, text, bigint, regclass[], regnamespace[], text),
	collect(float8, text, interval, text, bigint, regclass[], regnamespace[], text, interval, int, text)
	FROM PUBLIC;

GRANT EXECUTE ON FUNCTION
	btree_stats(regclass),
	hash_stats(regclass),
	gin_stats(regclass),
	brin_stats(regclass),
	gist_stats(regclass),
	spgist_stats(regclass),
	bloom_stats(regclass),
	hnsw_stats(regclass),
	ivfflat_stats(regclass),
	index_stats(regclass),
	index_stats_tree(regclass),
	table_stats(regclass, text),
	table_stats_tree(regclass, text),
	visibility_map_summary(regclass),
	unfrozen_ranges(regclass),
	free_space_map_summary(regclass),
	layout_map(regclass, int, int),
	layout_maps(regclass[], int, int),
	layout_picture(regclass, int, int, int),
	corrupt_blocks(regclass, bigint, bigint, interval),
	sample_stats(regclass, int, float8, interval, bigint),
	bloat(regclass, int, bigint, text),
	bloat_tree(regclass, int, bigint, text),
	database_report(float8, text, interval, text, bigint, regclass[], regnamespace[], text),
	last_database_report(),
	database_plan(float8, text, interval, text, bigint, regclass[], regnamespace[], text, boolean, interval),
	last_database_plan(boolean, interval),
	database_report_summary(),
	report_caches(),
	report_json(bigint),
	report_html(bigint),
	report_history(regclass),
	report_growth(interval),
	file_created(regclass),
	host_name(),
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
	run_database_report(float8, text, interval, text, bigint, regclass[], regnamespace[], text),
	collect(float8, text, interval, text, bigint, regclass[], regnamespace[], text, interval, int, text)
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
