-- Where the answers of many servers are kept, and what is in them: once, in the
-- database that has the overview.  It needs streamstat and CREATE on the database.
CREATE SCHEMA fleet;
CREATE TABLE fleet.answers (
	node text PRIMARY KEY,
	asked timestamptz NOT NULL,
	answer json NOT NULL);

CREATE VIEW fleet.runs AS
	SELECT a.node, a.asked, a.answer ->> 'datname' AS datname, a.answer ->> 'error' AS error, r.*
	  FROM fleet.answers a,
	       json_populate_record(NULL::streamstat.database_report_summary_row, a.answer -> 'run') r;

CREATE VIEW fleet.relations AS
	SELECT a.node, r.*
	  FROM fleet.answers a,
	       json_populate_recordset(NULL::streamstat.database_report_row, a.answer -> 'relations') r;

CREATE VIEW fleet.commands AS
	SELECT a.node, r.*
	  FROM fleet.answers a,
	       json_populate_recordset(NULL::streamstat.database_plan_row, a.answer -> 'commands') r;
