/* test_read_stream--1.0.sql */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION test_read_stream" to load this file. \quit

CREATE FUNCTION read_stream_for_blocks(
	rel regclass,
	blocks int4[],
	flags int4 DEFAULT 0,
	reset_after int4 DEFAULT 0,
	end_after int4 DEFAULT 0,
	combine_limit int4 DEFAULT 16,
	fork text DEFAULT 'main',
	OUT pos int4,
	OUT block int8)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'read_stream_for_blocks'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION read_stream_for_blocks(regclass, int4[], int4, int4, int4, int4, text) IS
'Reads the blocks through a read stream and returns what it delivers, in that order.
An element -1 ends the stream for the moment: it is reset and goes on behind the element. At an element -2 the callback is canceled. pos: 1 for the first block delivered; null for an end. flags: those of the stream. reset_after: reset the stream each time after so many blocks. end_after: end it after so many. combine_limit: for the bundled read stream.';

CREATE FUNCTION last_read_stream(
	OUT bundled boolean,
	OUT blocks_named int8,
	OUT calls_after_end int8,
	OUT buffers_after_end int8,
	OUT look_ahead_max int8,
	OUT advice_calls int8,
	OUT advice_blocks int8)
AS 'MODULE_PATHNAME', 'last_read_stream'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION last_read_stream() IS
'What the last call of read_stream_for_blocks saw. calls_after_end: calls of the callback after it had said that there are no more blocks, and before a reset. advice_calls, advice_blocks: null on the server''s stream.';
