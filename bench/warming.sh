# warming.sh - what bench/warm measures: a table and what belongs to it, a saved cache, hit rates
#
# It sources this, and has what is used here: the server's functions, tmp, data and logs, mb,
# pairs and major; restart_cold, run_fio, fio_log, took, table and check.

# ---------------------------------------------------------------------------
# (a) what belongs to a table

make_table()
{
	local rows=$((mb * 2340))

	PGDATABASE=one sql "SET work_mem = '64MB';" \
		'BEGIN; CREATE TABLE t (id bigint, at timestamp, token uuid, customer int, filler char(100), doc text);' \
		'ALTER TABLE t ALTER doc SET STORAGE external;' \
		"INSERT INTO t SELECT i, timestamp '2026-01-01' + i * interval '1 second', md5(i::text)::uuid, i % 1000, i::text,
			CASE WHEN i % 64 = 0 THEN repeat(md5(i::text), 249) END FROM generate_series(1, $rows) i;" \
		'ALTER TABLE t ADD PRIMARY KEY (id); CREATE INDEX t_at ON t (at); CREATE INDEX t_token ON t (token);' \
		'CREATE INDEX t_customer ON t (customer, at, token); COMMIT;' \
		'VACUUM (FREEZE, ANALYZE) t;'
	# the forks that there are, for contrib, and their files
	PGDATABASE=one sql "CREATE TABLE forks AS
		SELECT r.oid::regclass AS relation, fork, pg_relation_size(r.oid, fork) AS bytes,
			pg_relation_filepath(r.oid) || CASE fork WHEN 'main' THEN '' ELSE '_' || fork END AS file
		FROM (SELECT 't'::regclass::oid AS oid UNION ALL SELECT indexrelid FROM pg_index WHERE indrelid = 't'::regclass
			UNION ALL SELECT reltoastrelid FROM pg_class WHERE oid = 't'::regclass
			UNION ALL SELECT indexrelid FROM pg_index JOIN pg_class c ON indrelid = reltoastrelid WHERE c.oid = 't'::regclass) r,
			unnest('{main,fsm,vm}'::text[]) fork
		WHERE pg_relation_size(r.oid, fork) > 0;" \
		'SELECT relation::regclass, fork, bytes, file FROM forks;' 'CHECKPOINT;'
	cp "$logs/sql" "$tmp/forks"
	table_bytes=$(awk -F '|' '{ s += $3 } END { print s }' "$tmp/forks")
	# each fork is below 1 GB, so has one file
	whole_files $(awk -F '|' -v data="$data" '{ print data "/" $4 }' "$tmp/forks") | fio_log table
	told "(a) a table of $((table_bytes / 1000000)) MB in $(wc -l <"$tmp/forks") forks"
}

# how much of it is cached must be all of it
check_table()	# WHO
{
	PGDATABASE=one sql "SELECT count(*) FROM pg_buffercache b JOIN pg_class c ON pg_relation_filenode(c.oid) = b.relfilenode
		WHERE reldatabase = (SELECT oid FROM pg_database WHERE datname = 'one') AND c.oid IN (SELECT relation FROM forks);"
	check "$(cat "$logs/sql")" '>=' "$((table_bytes / 8192 * 99 / 100))" "(a) $1, blocks in buffers"
}

prewarm()	# WHO
{
	local calls

	restart_cold
	case $1 in
		contrib)
			calls=$(awk -F '|' '{ printf "%spg_prewarm($$%s$$, $$buffer$$, $$%s$$)", (NR > 1 ? ", " : ""), $1, $2 }' "$tmp/forks")
			PGDATABASE=one time_sql "SELECT pg_prewarm('tiny');" "SELECT $calls;" ''
			;;
		streamstat)
			PGDATABASE=one time_sql "SELECT * FROM streamstat.prewarm('tiny');" "SELECT * FROM streamstat.prewarm('t');" ''
			;;
	esac
	took a $1 "$(cat "$logs/ms")"
	check_table $1
}

part_a()
{
	local i

	for ((i = 0; i < pairs; i++)); do
		prewarm contrib
		prewarm streamstat
		run_fio table
		took a fio "$ms"
	done
	echo
	echo "(a) a table, 4 indexes, TOAST and maps: $((table_bytes / 1000000)) MB in $(wc -l <"$tmp/forks") forks"
	table a contrib "pg_prewarm() of each fork" "streamstat.prewarm()" "fio, 256 kB, 32 reads" "$table_bytes"
	check_ratio "$ratio" '>=' "$([ $major -ge 18 ] && echo 1.7 || echo 2.5)" '(a) ratio to contrib'
}

# ---------------------------------------------------------------------------
# (b) a saved cache of many relations

# Tables of 128 blocks, without TOAST
make_relations()
{
	relations=$((mb * 2000 / 1024))
	restart_cold
	PGDATABASE=many sql 'SET wal_skip_threshold = 0;' \
		"SELECT format('CREATE TABLE r%s AS SELECT i AS id, i::text::char(450) AS filler FROM generate_series(1, 2048) i', n)
			FROM generate_series(1, $relations) n \\gexec" \
		"SELECT count(DISTINCT pg_relation_size(oid)), min(pg_relation_size(oid)) / 8192 FROM pg_class WHERE relname ~ '^r[0-9]+\$';" \
		'CHECKPOINT;'
	[ "$(cat "$logs/sql")" = '1|128' ] || die "the relations are not as they should be: $(cat "$logs/sql")"
	told "(b) $relations relations"
}

autoprewarm=(-c shared_preload_libraries=pg_prewarm -c pg_prewarm.autoprewarm_interval=0)

# Ten ranges of each, six or seven blocks, at least one block apart; what the cache has then,
# saved by both
save_cache()
{
	restart_cold "${autoprewarm[@]}" -c pg_prewarm.autoprewarm=on
	PGDATABASE=many sql "SELECT sum(pg_prewarm(('r' || n)::regclass, 'buffer', 'main', first, first + 5 + (n + i) % 2))
		FROM generate_series(1, $relations) n, generate_series(0, 9) i, LATERAL (SELECT 12 * i + abs(hashint4(n * 10 + i)) % 5 AS first) f;"
	told "(b) $(cat "$logs/sql") blocks cached"
	PGDATABASE=many sql 'SELECT streamstat.cache_save();'
	cp "$logs/sql" "$tmp/saved"
	PGDATABASE=many sql 'SELECT autoprewarm_dump_now();'
	stop_server
	cp "$data/autoprewarm.blocks" "$tmp/autoprewarm.blocks"
	cached_in_file
}

# sets cached, blocks of the database in autoprewarm's file, and ranges; these go to fio
cached_in_file()
{
	local oid

	start_server
	PGDATABASE=many sql 'SELECT oid FROM pg_database WHERE datname = current_database();'
	oid=$(cat "$logs/sql")
	awk -F , -v db="$oid" -v data="$data" '
		function out() { if (n) print path, first * 8192, n * 8192 }
		NF == 5 && $1 == db && $2 == 1663 {
			f = data "/base/" db "/" $3 ($4 == 1 ? "_fsm" : $4 == 2 ? "_vm" : "")
			if (f != path || $5 != first + n || n == 32) {
				out()
				path = f; first = $5; n = 0
			}
			n++
		}
		END { out() }' "$tmp/autoprewarm.blocks" >"$tmp/ranges"
	cached=$(awk '{ n += $3 } END { print n / 8192 }' "$tmp/ranges")
	ranges=$(wc -l <"$tmp/ranges")
	fio_log ranges <"$tmp/ranges"
	told "(b) $cached blocks in $ranges ranges are saved"
}

seconds_of()	# LINE: of its timestamp
{
	date -d "$(echo "$1" | cut -d ' ' -f 1-3)" +%s.%3N
}

# From the server's readiness, when its worker starts, to its last message
load_autoprewarm()
{
	local ready= done= i

	cp "$tmp/autoprewarm.blocks" "$data/autoprewarm.blocks"
	chown --reference="$data" "$data/autoprewarm.blocks"
	: >"$logs/server.log"
	restart_cold "${autoprewarm[@]}" -c pg_prewarm.autoprewarm=on
	for ((i = 0; i < 6000; i++)); do
		done=$(grep 'autoprewarm successfully prewarmed' "$logs/server.log") && break
		kill -0 "$server" || die "the server ended"
		sleep 0.1
	done
	[ -n "$done" ] || die "autoprewarm did not end"
	ready=$(grep 'ready to accept connections' "$logs/server.log" | tail -n 1)
	took b autoprewarm "$(calculate %.0f "($(seconds_of "$done") - $(seconds_of "$ready")) * 1000")"
	check_cached autoprewarm
}

load_streamstat()
{
	restart_cold
	PGDATABASE=many time_sql "SELECT count(*) FROM streamstat.cache_load(streamstat.cache_save(max_bytes => '8kB'));
		\\set saved \`cat $tmp/saved\`" \
		"SELECT * FROM streamstat.cache_load(:'saved');" ''
	took b streamstat "$(cat "$logs/ms")"
	check_cached streamstat
}

check_cached()	# WHO
{
	PGDATABASE=many sql "SELECT count(*) FROM pg_buffercache WHERE reldatabase = (SELECT oid FROM pg_database WHERE datname = 'many');"
	check "$(cat "$logs/sql")" '>=' "$((cached * 99 / 100))" "(b) $1, blocks in buffers"
}

part_b()
{
	local i bytes

	save_cache
	for ((i = 0; i < pairs; i++)); do
		load_autoprewarm
		load_streamstat
		run_fio ranges
		took b fio "$ms"
	done
	bytes=$((cached * 8192))
	echo
	echo "(b) a saved cache: $((bytes / 1000000)) MB in $relations relations, $ranges ranges; $(stat -c %s "$tmp/saved") bytes of text"
	table b autoprewarm "autoprewarm's load" "streamstat.cache_load()" "fio, the same ranges, 32 reads" $bytes
	check_ratio "$ratio" '>=' 2.5 '(b) ratio to autoprewarm'
	check_ratio "$of_fio" '>=' 0.75 "(b) part of fio's rate"
}

# ---------------------------------------------------------------------------
# (d) the hit rate of pgbench -S

# A session's counts are there when it is gone.
counts()	# -> hits and reads of the database
{
	local tries=0

	while
		PGDATABASE=postgres sql "SELECT numbackends, blks_hit, blks_read FROM pg_stat_database WHERE datname = 'pgbench';"
		IFS='|' read -r backends hit read <"$logs/sql"
		[ "$backends" != 0 ]
	do
		[ $((tries += 1)) -lt 100 ] || die "a session of pgbench does not end"
		sleep 0.1
	done
	sleep 0.2
	PGDATABASE=postgres sql "SELECT numbackends, blks_hit, blks_read FROM pg_stat_database WHERE datname = 'pgbench';"
	IFS='|' read -r backends hit read <"$logs/sql"
}

select_only()	# TEXT: sets percent
{
	local hit0 read0 tps

	counts
	hit0=$hit read0=$read
	run "$logs/pgbench" "$bindir/pgbench" -n -S -c 2 -j 2 -t $((transactions / 2)) -M prepared --random-seed=1 pgbench ||
		die "pgbench: $(tail -n 3 "$logs/pgbench")"
	tps=$(sed -n 's/^tps = \([0-9]*\).*without.*/\1/p' "$logs/pgbench")
	counts
	percent=$(calculate %.2f "100 * ($hit - $hit0) / ($hit - $hit0 + $read - $read0)")
	told "(d) $1: $percent %"
	printf '  %-34s %9.2f %9d %9d %8d\n' "$1" "$percent" $((hit - hit0)) $((read - read0)) "$tps"
}

part_d()
{
	local before after without scale=$((mb / 25 + 1)) transactions=2000

	restart_cold
	run "$logs/pgbench" "$bindir/pgbench" -i -q -s $scale pgbench || die "pgbench: $(tail -n 3 "$logs/pgbench")"
	PGDATABASE=pgbench sql 'CHECKPOINT;'
	restart_cold
	PGDATABASE=pgbench sql "SELECT sum(pg_prewarm(oid)), round(sum(pg_relation_size(oid)) / 1000000) FROM pg_class WHERE relname ~ '^pgbench_accounts';"
	echo
	echo "(d) pgbench -S, $transactions transactions; accounts and their key: $(cut -d '|' -f 2 "$logs/sql") MB"
	printf '  %-34s %9s %9s %9s %8s\n' '' 'hits, %' hits reads tps
	run "$logs/pgbench" "$bindir/pgbench" -n -S -c 2 -j 2 -t $((5 * transactions)) -M prepared pgbench
	select_only 'before the restart'
	before=$percent
	PGDATABASE=pgbench sql 'SELECT streamstat.cache_save();'
	cp "$logs/sql" "$tmp/saved-pgbench"
	restart_cold
	PGDATABASE=pgbench sql "\\set saved \`cat $tmp/saved-pgbench\`" "SELECT * FROM streamstat.cache_load(:'saved');"
	select_only 'after restart and cache_load()'
	after=$percent
	restart_cold
	select_only 'after a restart alone'
	without=$percent
	check "$after" '>=' "0.95 * $before" '(d) hit rate after the load'
	check "$without" '<' "0.95 * $before" '(d) hit rate without the load'
}
