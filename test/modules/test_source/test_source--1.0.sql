/* test_source--1.0.sql */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION test_source" to load this file. \quit

CREATE FUNCTION chunks(
	first int8,
	past_last int8,
	participants int4,
	OUT n int4,
	OUT chunk_first int8,
	OUT chunk_end int8)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'chunks'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION chunks(int8, int8, int4) IS
'The chunks of the blocks from first to past_last - 1 for so many participants, in the order in which they are taken.';

CREATE FUNCTION walk(
	source text,
	nblocks int8,
	canceled boolean)
RETURNS int8
AS 'MODULE_PATHNAME', 'walk'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION walk(text, int8, boolean) IS
'The first block of a source (skip or sample) that leaves out a set: all of nblocks blocks but the last one. With canceled, a cancel arrives before.';
