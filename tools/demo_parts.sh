# demo_parts.sh - the data of tools/demo, and the three parts of what it shows
#
# It sources this after private_server.sh, and has step, progress and disk.  What is
# printed has no more than 100 columns.

visits=2000000		# rows of a table with nothing to give back
sessions=400000		# rows with sparse indexes
orders=400000		# rows, of which two thirds are deleted
rounds=3
lookups=500

load_data()
{
	local begin=$SECONDS

	progress "loading"
	sql 'CREATE EXTENSION streamstat; CREATE EXTENSION pgstattuple; CREATE EXTENSION pg_prewarm;' \
		'CREATE TABLE tiny (id int PRIMARY KEY, at timestamptz, token uuid);' \
		"BEGIN; CREATE TABLE visits AS SELECT i AS id, now() + i * interval '1 s' AS at, md5(i::text)::uuid AS token
			FROM generate_series(1, $visits) i;" \
		'ALTER TABLE visits ADD PRIMARY KEY (id); CREATE INDEX visits_token ON visits (token); COMMIT;'
	progress "loading: rows in and out"
	sql "BEGIN; CREATE TABLE orders (id int PRIMARY KEY, customer int, note text); CREATE INDEX orders_customer ON orders (customer);
		INSERT INTO orders SELECT i, i::bigint * 7919 % 10007, repeat(md5(i::text), 4) FROM generate_series(1, $orders) i;
		DELETE FROM orders WHERE id % 3 > 0; COMMIT;" \
		"BEGIN; CREATE TABLE sessions (id int PRIMARY KEY, at timestamptz, token uuid);
		CREATE INDEX sessions_at ON sessions (at); CREATE INDEX sessions_token ON sessions (token);
		INSERT INTO sessions SELECT i, now() + i * interval '1 s', md5(i::text)::uuid FROM generate_series(1, $sessions) i;
		DELETE FROM sessions WHERE id % 5 > 0; COMMIT;" \
		'VACUUM sessions;' \
		"INSERT INTO sessions SELECT i, now() + i * interval '1 s', md5(i::text)::uuid
			FROM generate_series($sessions + 1, $sessions * 9 / 5) i;" \
		'VACUUM (ANALYZE); CHECKPOINT;' \
		"SELECT pg_size_pretty(pg_database_size(current_database()));"
	progress ''
	step loading "$(cat "$logs/sql") in $((SECONDS - begin)) s: the table visits is new; orders has lost two thirds of its rows;"
	step "" "sessions has lost 80 % of its rows, and got as many others"
}

# nothing of the data in shared buffers, nor in the page cache
cold_start()
{
	local f files

	stop_server
	files=$(find "$data/base" -type f -size +1024k)
	sync $files
	for f in $files; do
		dd if="$f" iflag=nocache count=0 status=none
	done
	start_server -c wal_level=replica # which REPACK (CONCURRENTLY) wants
}

# the values of the standard input's columns, separated by |, by printf
table()	# FORMAT
{
	awk -F '|' -v format="$1\n" 'NF > 1 { printf format, $1, $2, $3, $4, $5, $6, $7 }'
}

# ---------------------------------------------------------------------------
# part 1: what would come back, and what does

part_rebuild()
{
	local rank command commands mb="/ 1024.0 ^ 2)::numeric(9, 1)"

	progress "making a report"
	cold_start
	sql '
CREATE FUNCTION bytes_with_indexes(relation oid) RETURNS bigint LANGUAGE sql AS $$
	SELECT sum(pg_relation_size(r))::bigint
	FROM (SELECT coalesce((SELECT indrelid FROM pg_index WHERE indexrelid = relation), relation) AS t) x,
		LATERAL (SELECT t UNION ALL SELECT indexrelid FROM pg_index WHERE indrelid = t
			UNION ALL SELECT reltoastrelid FROM pg_class WHERE oid = t AND reltoastrelid > 0) y (r) $$;' \
		"CALL streamstat.run_database_report(budget => '100MB', seed => 1);" \
		'CREATE TABLE plan AS SELECT *, bytes_with_indexes(relid) AS before, 0::bigint AS after,
			(SELECT indrelid FROM pg_index WHERE indexrelid = p.relid) AS of_table FROM streamstat.last_database_plan() p;' \
		'CREATE TABLE before AS SELECT * FROM streamstat.last_database_report();' \
		"SELECT (elapsed_ms / 1000)::numeric(9, 1), (bytes_read $mb, (bytes_total $mb, relations FROM streamstat.database_report_summary();"
	cat <<END1

1. WHAT WOULD REBUILDS GIVE BACK, AND WHAT DO THEY?

   CALL streamstat.run_database_report(budget => '100MB', seed => 1);
$(table '   -- took %s s with nothing cached: samples of %s of %s MB, of %s tables and indexes' <"$logs/sql")
   SELECT command, reclaimable_bytes, reclaimable_bytes_low, reclaimable_bytes_high
     FROM streamstat.last_database_plan();

END1
	sql 'SELECT rank FROM plan WHERE command IS NOT NULL ORDER BY rank;'
	for rank in $(cat "$logs/sql"); do
		sql "UPDATE plan SET before = bytes_with_indexes(coalesce(of_table, relid)) WHERE rank = $rank RETURNING command;"
		command=$(cat "$logs/sql")
		progress "$command"
		run "$logs/command.log" "$bindir/psql" -XAtq -v ON_ERROR_STOP=1 -c "$command" ||
			die "$command: $(tail -n 3 "$logs/command.log")"
		sql "UPDATE plan SET after = bytes_with_indexes(coalesce(of_table, relid)) WHERE rank = $rank;"
	done
	progress ''
	sql "SELECT command, (reclaimable_bytes $mb, (reclaimable_bytes_low $mb, (reclaimable_bytes_high $mb, ((before - after) $mb
			FROM plan WHERE command IS NOT NULL ORDER BY rank;" \
		"SELECT 'all of them', (sum(reclaimable_bytes) $mb, '', '', (sum(before - after) $mb FROM plan;"
	awk -F '|' 'BEGIN {
			printf "   %-50s %9s  %-15s %15s\n", "", "predicted", "", "really freed by"
			printf "   %-50s %9s  %-15s %15s\n", "command", "gain, MB", "95 % interval", "running it, MB"
		}
		{ printf "   %-50s %9s  %-15s %15s\n", $1, $2, $3 == "" ? "" : $3 " - " $4, $5 }' "$logs/sql"
	sql "SELECT (sum(reclaimable_bytes) $mb, (sum(bytes) / 1024 ^ 2)::int FROM before WHERE relation_name ~ '^visits';"
	echo
	table '   Nothing is advised for visits and its indexes: %s of %s MB would come back.' <"$logs/sql"
}

# ---------------------------------------------------------------------------
# part 2: times

# a session's first call also loads the library and fills caches
on_tiny()	# CALL
{
	local call=${1//visits_token/tiny_pkey}
	echo "${call//visits/tiny}"
}

part_speed()
{
	local i c index table calls=(
		"streamstat.btree_stats('visits_token')"
		"pgstatindex('visits_token')"
		"streamstat.table_stats('visits')"
		"pgstattuple('visits')"
		"streamstat.pgstatindex('visits_token')"
		"streamstat.pg_prewarm('visits')"
		"pg_prewarm('visits')")

	for ((i = 1; i <= rounds; i++)); do
		for c in 0 1 2 3 5 6; do
			progress "timing, run $i of $rounds: ${calls[c]}"
			cold_start
			time_sql "SELECT * FROM $(on_tiny "${calls[c]}");" "SELECT * FROM ${calls[c]};" ''
			cat "$logs/ms" >>"$logs/cold-$c"
		done
	done
	# all in shared buffers, one session, in turns
	progress "timing in shared buffers"
	time_sql "SELECT * FROM streamstat.prewarm('visits');$(printf 'SELECT * FROM %s;' "${calls[@]:0:5}")" \
		"$(for ((i = 0; i < rounds; i++)); do printf 'SELECT * FROM %s;\n' "${calls[@]:0:5}"; done)" ''
	awk -v dir="$logs" '{ print >(dir "/hot-" (NR - 1) % 5) }' "$logs/ms"
	progress ''

	sql "SELECT (pg_relation_size('visits_token') / 1024.0 ^ 2)::int, (pg_relation_size('visits') / 1024.0 ^ 2)::int;"
	IFS='|' read -r index table <"$logs/sql"
	cat <<END2

2. HOW LONG DOES IT TAKE? (medians of $rounds runs in turn)

$(printf '   %-53s %12s %12s %14s' 'streamstat / contrib' streamstat contrib 'times as fast')
   nothing cached, on $disk:
$(row "  btree_stats / pgstatindex, index of $index MB" cold-0 cold-1)
$(row "  table_stats / pgstattuple, table of $table MB" cold-2 cold-3)
$(row "  pg_prewarm / pg_prewarm, the same table" cold-5 cold-6)
   all in shared buffers:
$(row "  pgstatindex / pgstatindex, the same index" hot-4 hot-1)
$(row "  btree_stats / pgstatindex (*)" hot-0 hot-1)
$(row "  table_stats / pgstattuple, the same table" hot-2 hot-3)
   (*) btree_stats also counts items and dead items, which no pgstatindex does

   Nothing cached, time in percent of contrib's:
$(bar btree_stats cold-0 cold-1)
$(bar table_stats cold-2 cold-3)
$(bar pg_prewarm cold-5 cold-6)
END2
}

bar()	# WHAT FILE FILE: our time as a part of contrib's, which is the whole bar
{
	awk -v what="$1" -v a="$(median <"$logs/$2")" -v b="$(median <"$logs/$3")" 'BEGIN {
		for (i = 1; i <= 50; i++)
			bar = bar (i <= 50 * a / b + 0.5 ? "#" : ".")
		printf "   %-12s %s %3.0f %%\n", what, bar, 100 * a / b }'
}

row()	# WHAT FILE FILE: our time, contrib's, and how they compare
{
	awk -v what="$1" -v a="$(median <"$logs/$2")" -v b="$(median <"$logs/$3")" 'BEGIN {
		printf "   %-53s %9.1f ms %9.1f ms %14.1f\n", what, a, b, b / a }'
}

# ---------------------------------------------------------------------------
# part 3: a cache that survives a restart

part_cache()
{
	local query saved=$tmp/saved
	query="SELECT count(visits.at) FROM (SELECT md5((i * 3967)::text)::uuid AS t FROM generate_series(1, $lookups) i) x
		LEFT JOIN visits ON visits.token = x.t;"
	local settings="SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_bitmapscan = off; ${query//visits/tiny}"

	progress "warming"
	cold_start
	time_sql "SELECT FROM streamstat.prewarm('tiny'); $settings" "SELECT * FROM streamstat.prewarm('visits');
		$query" \
		"SELECT (sum(bytes) / 1024.0 ^ 2)::int FROM streamstat.cache_summary() WHERE coalesce(parent_name, relation_name) ~ 'visits';"
	IFS=$'\n' read -r -d '' warm_ms before_ms <"$logs/ms" || true
	mb=$(tail -n 1 "$logs/sql")
	sql 'SELECT streamstat.cache_save();'
	cp "$logs/sql" "$saved"
	cold_start
	time_sql "$settings" "$query" ''
	cold_ms=$(cat "$logs/ms")
	time_sql "SELECT count(*) FROM streamstat.cache_load(streamstat.cache_save(max_bytes => '8kB')); \\set saved \`cat $saved\`
		$settings" "SELECT * FROM streamstat.cache_load(:'saved');
		$query" ''
	IFS=$'\n' read -r -d '' load_ms after_ms <"$logs/ms" || true
	progress ''
	cat <<END3

3. HOW DOES A CACHE SURVIVE A RESTART?

$(timing "SELECT * FROM streamstat.prewarm('visits');" "$warm_ms" "table, maps and indexes: $mb MB")
$(timing "$lookups rows by random keys, all cached" "$before_ms")
$(timing "SELECT streamstat.cache_save();" "" "$(wc -c <"$saved") bytes, kept in a file")
   -- the server is restarted; nothing is cached
$(timing "$lookups rows by random keys" "$cold_ms")
$(timing "SELECT * FROM streamstat.cache_load('...');" "$load_ms" "the text of that file")
$(timing "the same $lookups rows again" "$after_ms" "$(awk -v a="$cold_ms" -v b="$after_ms" 'BEGIN { printf "%.0f", a / b }') times as fast as without")
END3
}

timing()	# WHAT MS REMARK
{
	printf '   %-46s %11s%s' "$1" "${2:+$(printf %.1f "$2") ms}" "${3:+  -- $3}"
}
