# try_package.sh - does what a package installed work?  tools/image, tools/pgxn and tools/rpm source it
#
# They put the files of a package into the private copy of a server (common.sh) or
# beside it.  No other streamstat is there, so that the server has no other file to find.

. "$(dirname "${BASH_SOURCE[0]}")/private_server.sh"

passed=0 failed=0

say()
{
	printf '%-12s %s\n' "$1" "$2"
}

expect()	# WHAT EXPECTED ACTUAL
{
	if [ "$2" = "$3" ]; then
		passed=$((passed + 1))
		say ok "$1"
	else
		failed=$((failed + 1))
		say 'NOT OK' "$1: expected \"$2\", not \"$3\""
	fi
}

answer()	# QUERY
{
	sql "$1"
	cat "$logs/sql"
}

# wait for a line of the server's log, at most 30 seconds -> 1 or 0
logged()	# PATTERN
{
	local tries=0

	until grep -q "$1" "$logs/server.log"; do
		[ $((tries += 1)) -le 300 ] || { echo 0; return; }
		sleep 0.1
	done
	echo 1
}

# The extension, a function of it, a worker that has to find the library by its name,
# and the cache worker, which the server starts.
try_extension()	# SERVER-OPTION...
{
	local version

	version=$(sed -n "s/^default_version = '\(.*\)'/\1/p" "$top/streamstat.control")
	make_cluster "$tmp/data" 32MB
	start_server -c shared_preload_libraries=streamstat -c max_worker_processes=8 \
		-c max_parallel_maintenance_workers=2 -c streamstat.cache_save_interval=0 "$@"
	expect 'CREATE EXTENSION' "$version" "$(answer 'CREATE EXTENSION streamstat;
		SELECT extversion FROM pg_extension WHERE extname = '\''streamstat'\')"
	# one row in each page, as a worker needs more than 128 MB to help
	sql 'CREATE UNLOGGED TABLE big (n int PRIMARY KEY, filler text);' \
		'ALTER TABLE big ALTER filler SET STORAGE plain;' \
		"INSERT INTO big SELECT n, repeat('x', 5000) FROM generate_series(1, 25000) n"
	expect 'btree_stats' 4 "$(answer "SELECT version FROM streamstat.btree_stats('big_pkey')")"
	expect 'prewarm' "$(answer "SELECT pg_relation_size('big_pkey') / current_setting('block_size')::int")" \
		"$(answer "SELECT streamstat.pg_prewarm('big_pkey')")"
	expect 'parallel workers' t "$(answer "SELECT count(*) FROM streamstat.table_stats('big')
		\g /dev/null
		SELECT workers > 0 FROM streamstat.stream_stats()")"
	stop_server
	expect 'cache worker: saves' 1 "$([ -s "$data/streamstat.cache" ] && echo 1)"
	start_server -c shared_preload_libraries=streamstat -c streamstat.cache_save_interval=0 "$@"
	expect 'cache worker: loads' 1 "$(logged 'streamstat loaded')"
	stop_server
}

finish()
{
	echo "streamstat: $passed passed, $failed failed"
	if [ $failed != 0 ]; then
		tail -n 30 "$logs/server.log" >&2 2>/dev/null || true
		exit 1
	fi
}
