/* test_buffered--1.0.sql */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION test_buffered" to load this file. \quit

CREATE FUNCTION buffered_begin(nblocks int8)
RETURNS void
AS 'MODULE_PATHNAME', 'buffered_begin'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION buffered_begin(int8) IS
'Prepare to look up so many blocks. What there was is forgotten.';

CREATE FUNCTION buffered_find(
	relation regclass,
	first int8,
	blocks int8,
	again boolean DEFAULT false)
RETURNS int8
AS 'MODULE_PATHNAME', 'buffered_find'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION buffered_find(regclass, int8, int8, boolean) IS
'Which blocks are in buffers: bit i is block first + i. With again, as of now.';

CREATE FUNCTION buffered_one_by_one(
	relation regclass,
	first int8,
	blocks int8)
RETURNS int8
AS 'MODULE_PATHNAME', 'buffered_one_by_one'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION buffered_one_by_one(regclass, int8, int8) IS
'The same by a look-up of each block.';

CREATE FUNCTION buffered_markings()
RETURNS int8
AS 'MODULE_PATHNAME', 'buffered_markings'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION buffered_markings() IS
'How many scans of all buffers there were.';

CREATE FUNCTION advance_wal()
RETURNS void
AS 'MODULE_PATHNAME', 'advance_wal'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION advance_wal() IS
'Let the look-ups see another WAL position from now on.';

CREATE FUNCTION cancel_in_find()
RETURNS void
AS 'MODULE_PATHNAME', 'cancel_in_find'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION cancel_in_find() IS
'Let a cancel arrive when the next buffered_find() begins.';
