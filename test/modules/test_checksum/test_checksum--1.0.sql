/* test_checksum--1.0.sql */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION test_checksum" to load this file. \quit

CREATE FUNCTION compare_checksums(rounds int4, seed int4)
RETURNS int8
AS 'MODULE_PATHNAME', 'compare_checksums'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION compare_checksums(int4, int4) IS
'Compares the checksums of random pages with the server''s, by each variant that this CPU has. Returns the number of pages by one variant.';

CREATE FUNCTION checksum_variants()
RETURNS text[]
AS 'MODULE_PATHNAME', 'checksum_variants'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION checksum_variants() IS
'The variants that this CPU has; the last one is the one that is chosen.';
