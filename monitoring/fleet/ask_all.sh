#!/bin/sh
#
# ask_all.sh - ask many servers at the same time, and keep what they answer
#
#   ask_all.sh ask.sql CENTRAL SERVICE...
#
# CENTRAL and the others are services of pg_service.conf, with the user that may ask, and
# passwords in .pgpass.  A server that does not answer has an error in fleet.runs.
set -eu
# the encoding of all answers, whatever those of the databases are
export PGCLIENTENCODING=UTF8
question=$1 central=$2
shift 2
answers=$(mktemp -d)
trap 'rm -rf "$answers"' EXIT

for service; do
	(
		PGCONNECT_TIMEOUT=${PGCONNECT_TIMEOUT:-10} psql -XqAt -v ON_ERROR_STOP=1 -v node="$service" \
			-f "$question" "service=$service" >"$answers/$service" && [ -s "$answers/$service" ] ||
			echo "$service,$(date -u +%FT%TZ),\"{\"\"error\"\": \"\"no answer\"\"}\"" >"$answers/$service"
	) &
done
wait
cat "$answers"/* | psql -Xq -v ON_ERROR_STOP=1 -1 -c 'TRUNCATE fleet.answers' \
	-c '\copy fleet.answers FROM pstdin (FORMAT csv)' "service=$central"
