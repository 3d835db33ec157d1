/* streamstat--1.0--1.1.sql, for the tests of upgrades only */

-- complain if script is sourced in psql, rather than via ALTER EXTENSION
\echo Use "ALTER EXTENSION streamstat UPDATE TO '1.1'" to load this file. \quit

CREATE FUNCTION library_version()
RETURNS text
AS 'MODULE_PATHNAME', 'sst_library_version'
LANGUAGE C STRICT STABLE PARALLEL SAFE;

ALTER TYPE unfrozen_ranges_row ADD ATTRIBUTE added bigint CASCADE;
ALTER TYPE database_report_row ADD ATTRIBUTE added text CASCADE;
