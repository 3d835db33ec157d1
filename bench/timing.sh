# timing.sh - how bench/measure times a call, or a raw read, in a state
#
# It sources this after private_server.sh, and sets: major, data, slow and host
# (directories), pairs and hot_pairs, contrib (empty where there is none), ours
# (names of our settings), checksums and huge_pages (on or off), methods (the server's io_methods,
# its default first) and method; and of what is measured disk, index, order and rows.
# $tmp/raw_read is the program of bench/raw_read.c.

# ---------------------------------------------------------------------------
# the server, in the state that is asked for

buffers=512MB
restart()	# cold|warm|written|hot
{
	[ -z "$server" ] || stop_server
	if [ "$1" = cold ] || [ "$1" = warm ]; then
		drop_caches
	fi
	if [ $method = - ]; then
		start_server -c shared_buffers=$buffers -c huge_pages=$huge_pages
	else
		start_server -c shared_buffers=$buffers -c huge_pages=$huge_pages -c io_method=$method
	fi
	if [ "$1" = warm ] || [ "$1" = written ]; then
		cat "${files[@]}" >/dev/null
	fi
}

drop_caches()
{
	sync -f "$data"
	sync -f "$slow"
	echo 3 >/proc/sys/vm/drop_caches
}

# sets blocks, and files: a relation has one for each GB
relation()	# NAME
{
	local file i

	sql "SELECT pg_relation_filepath('$1'), pg_relation_size('$1') / 8192;"
	IFS='|' read -r file blocks <"$logs/sql"
	files=("$data/$file")
	for ((i = 1; ; i++)); do
		[ -f "$data/$file.$i" ] || break
		files+=("$data/$file.$i")
	done
}

# ---------------------------------------------------------------------------
# one call, or one raw read

call()	# CASE WHO RELATION
{
	case $1,$2 in
		btree,contrib|small,contrib) echo "pgstatindex('$3')" ;;
		btree,drop-in|small,drop-in) echo "streamstat.pgstatindex('$3')" ;;
		btree,*|small,*) echo "streamstat.btree_stats('$3')" ;;
		hash,contrib) echo "pgstathashindex('$3')" ;;
		hash,*) echo "streamstat.hash_stats('$3')" ;;
		heap,contrib) echo "pgstattuple('$3')" ;;
		heap,drop-in) echo "streamstat.pgstattuple('$3')" ;;
		heap,*) echo "streamstat.table_stats('$3')" ;;
		prewarm,contrib) echo "pg_prewarm('$3')" ;;
		prewarm,*) echo "streamstat.pg_prewarm('$3')" ;;
		sample-*) echo "streamstat.sample_stats('$3', ${1#sample-}, seed => 1)" ;;
	esac
}

# SET for those of our settings that this build has
settings()	# WHO
{
	local s wanted=()

	case $1 in
		workers=*) wanted=(streamstat.max_workers=${1#*=}) ;;
		one-by-one)
			wanted=(streamstat.max_workers=0 streamstat.io_path=buffer streamstat.io_combine_limit=1)
			echo 'SET maintenance_io_concurrency = 0; SET effective_io_concurrency = 0;'
			;;
		*) return ;;
	esac
	echo "LOAD 'streamstat';"
	for s in "${wanted[@]}"; do
		[[ $ours != *" ${s%=*} "* ]] || echo "SET ${s%=*} = '${s#*=}';"
	done
}

# Two answers of a session, in kB: what it has of private memory, and the most
# that it had; PostgreSQL's own pages are in VmHWM, too.
status="FROM regexp_matches(pg_read_file('/proc/self/status'), '(VmHWM|RssAnon|RssFile|RssShmem):\s+(\d+)', 'g') AS x(l)"
memory_now="SELECT 'kB', sum(l[2]::int) FILTER (WHERE l[1] = 'RssAnon') $status;"
memory_most="SELECT 'kB', sum(CASE l[1] WHEN 'VmHWM' THEN 1 WHEN 'RssAnon' THEN 0 ELSE -1 END * l[2]::int) $status;"

timed()	# STATE CASE WHO RELATION: sets ms and kb
{
	local tiny=tiny

	restart "$1"
	case $4 in
		*hash) tiny=tiny_hash ;;
		*_*) tiny=tiny_btree ;;
	esac
	time_sql "$(settings "$3")
		SELECT * FROM $(call "$2" "$3" $tiny);
		\\o
		$memory_now
		\\o /dev/null" \
		"SELECT * FROM $(call "$2" "$3" "$4");" "$memory_most"
	ms=$(cat "$logs/ms")
	kb=$(awk -F'|' '$1 == "kB" { kb = $2 - before; before = $2 } END { print kb < 0 ? 0 : kb }' "$logs/sql")
}

# the limit: what a scan reads of the files, with nothing else done
raw()	# WHO: sets ms
{
	local f names= direct=1 what=parts processes=1

	case $1 in
		raw-mapped* | raw-copied*)
			[ $index != table ] || what=whole
			[ "$checksums" = off ] || what=checksums
			[[ $1 != *-2 ]] || processes=2
			f=${1#raw-}
			cat "${files[@]}" >/dev/null
			ms=$("$tmp/raw_read" ${f%-2} $what $processes "${files[@]}")
			;;
		raw-*)
			[ $1 = raw-direct ] || direct=0
			for f in "${files[@]}"; do
				names+=${names:+:}$(readlink -f "$f")
			done
			drop_caches
			ms=$(env -u LD_LIBRARY_PATH chroot "$host" fio --name=raw --filename="$names" \
				--file_service_type=sequential --readonly --rw=read --bs=512k --direct=$direct \
				--ioengine=io_uring --iodepth=64 --output-format=terse | cut -d ';' -f 9)
			;;
	esac
	kb=-
}

# ---------------------------------------------------------------------------
# cases; rows, order, disk and index say what is measured

record()	# CASE STATE RUN WHO
{
	printf '%s\t' $major $method "$1" "$2" "$disk" "$index" "$order" "$rows" "$blocks" "$3" "$4" "$ms"
	printf '%s\n' "$kb"
	echo "$ms" >>"$logs/ms-$4"
}

told()	# CASE STATE WHO...: the medians, for who looks on
{
	local w line
	printf -v line '%(%H:%M:%S)T  %s %-8s %-12s %-4s %-5s %-9s %-7s %7d blocks:' -1 $major $method "$1" "$2" \
		"$disk" "$index" "$order" "$blocks"
	for w in "${@:3}"; do
		line+=" $w $(median <"$logs/ms-$w"),"
		rm "$logs/ms-$w"
	done
	echo "${line%,} ms" >&2
}

# sets who: those of the arguments that can be had here
possible()	# WHO...
{
	local w

	who=()
	for w; do
		case $w in
			contrib) [ -n "$contrib" ] || continue ;;
			workers=0) ;;
			workers=*) [[ $ours = *" streamstat.max_workers "* ]] || continue ;;
			raw-*) [ $method = "${methods[0]}" ] && [ $blocks -ge 32 ] || continue ;;
		esac
		who+=($w)
	done
}

# alternating runs: first of everybody, second of everybody, ...
rounds()	# CASE cold|warm|written RELATION WHO...
{
	local case=$1 state=$2 i w

	relation "$3"
	possible "${@:4}"
	for ((i = 1; i <= pairs; i++)); do
		for w in "${who[@]}"; do
			case $w in
				raw-*) raw $w ;;
				*) timed $state "$case" $w "$3" ;;
			esac
			record "$case" $state $i $w
		done
	done
	told "$case" $state "${who[@]}"
}

# the same in one session, with shared buffers for all of the relation
hot()	# CASE RELATION WHO...
{
	local case=$1 w i turn= turns=

	relation "$2"
	possible "${@:3}"
	buffers=$((512 + blocks / 100))MB
	restart hot
	buffers=512MB
	for w in "${who[@]}"; do
		turn+="SELECT * FROM $(call "$case" $w "$2");"$'\n'
	done
	for ((i = 0; i < hot_pairs; i++)); do
		turns+=$turn
	done
	time_sql "SELECT streamstat.pg_prewarm('$2'); $turn $turn $turn" "$turns" ''
	i=0 kb=-
	while read -r ms; do
		record "$case" hot $((i / ${#who[@]} + 1)) "${who[i % ${#who[@]}]}"
		i=$((i + 1))
	done <"$logs/ms"
	told "$case" hot "${who[@]}"
}

# small indexes: many calls in a loop, and the time of one
small()
{
	local pages calls w i turn turns

	disk=local index=pkey order=ordered
	restart hot
	for pages in 1 10 100; do
		rows=$((366 * pages)) calls=$((20000 / (pages + 10))) turn= turns=
		sql "CREATE TABLE small AS SELECT i FROM generate_series(1, $rows) i;" \
			'CREATE INDEX small_pkey ON small (i);'
		relation small_pkey
		possible contrib streamstat drop-in
		for w in "${who[@]}"; do
			turn+="DO 'BEGIN FOR i IN 1..$calls LOOP PERFORM * FROM $(call small $w small_pkey | sed "s/'/''/g"); END LOOP; END';"$'\n'
		done
		for ((i = 0; i < 2 * pairs + 1; i++)); do
			turns+=$turn
		done
		time_sql "$turn" "$turns" ''
		i=0 kb=-
		for ms in $(awk -v n=$calls '{ printf "%.6f\n", $1 / n }' "$logs/ms"); do
			record small hot $((i / ${#who[@]} + 1)) "${who[i % ${#who[@]}]}"
			i=$((i + 1))
		done
		told small hot "${who[@]}"
		sql 'DROP TABLE small;'
	done
}
