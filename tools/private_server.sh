# private_server.sh - a private throw-away server, for tools/demo and the scripts in bench
#
# They source it after common.sh.  The extension is built for the private copy
# of the server; data is in $data, a socket in $tmp/s, and $server is the
# process that we started.

mk()	# LOG DIR ARGUMENT...: make for that server
{
	local log=$1 dir=$2
	shift 2

	run "$log" "${MAKE:-make}" -s --no-print-directory -C "$dir" \
		-j "$(nproc 2>/dev/null || echo 2)" PG_CONFIG="$pg_config" with_llvm=no "$@"
}

# the extension, built from a copy of the tree and installed in the copy
build_extension()	# MAKE-ARGUMENT...
{
	copy_tree "$tmp/tree"
	[ ${#as[@]} -eq 0 ] || chown -R --reference="$tmp" "$tmp/tree"
	if ! mk "$logs/build.log" "$tmp/tree" all "$@" || ! mk "$logs/build.log" "$tmp/tree" install "$@"; then
		grep -m 20 -iE 'error|cannot' "$logs/build.log" >&2 || tail -n 20 "$logs/build.log" >&2
		die "streamstat does not build for $version"
	fi
}

make_cluster()	# DIR SHARED_BUFFERS INITDB-OPTION...
{
	local buffers=$2

	data=$1
	shift 2
	run "$logs/initdb.log" "$bindir/initdb" -D "$data" -A trust -U postgres -E UTF8 \
		--locale=C --no-sync "$@" || {
		tail -n 5 "$logs/initdb.log" >&2
		die "initdb failed"
	}
	mkdir "$tmp/s"
	[ ${#as[@]} -eq 0 ] || chown --reference="$tmp" "$tmp/s"
	cat >>"$data/postgresql.conf" <<-END
		listen_addresses = ''
		unix_socket_directories = '$tmp/s'
		port = 5432
		shared_buffers = $buffers
		maintenance_work_mem = 256MB
		wal_level = minimal
		max_wal_senders = 0
		max_wal_size = 8GB
		checkpoint_timeout = 1h
		fsync = off
		autovacuum = off
		jit = off
		client_min_messages = error
	END
	export PGHOST=$tmp/s PGPORT=5432 PGUSER=postgres PGDATABASE=postgres
}

# With $under, the server is run by that command.
server=
start_server()	# OPTION...
{
	local tries=0

	set -m
	${as[@]+"${as[@]}"} ${under[@]+"${under[@]}"} "$bindir/postgres" -D "$data" "$@" >>"$logs/server.log" 2>&1 </dev/null &
	server=$!
	set +m
	until run /dev/null "$bindir/psql" -XAtqc 'SELECT 1'; do
		if ! kill -0 "$server" 2>/dev/null || [ $((tries += 1)) -ge 1200 ]; then
			tail -n 5 "$logs/server.log" >&2
			die "the private server does not start"
		fi
		sleep 0.05
	done
}

stop_server()
{
	kill -INT "$server"
	wait "$server" || true
	server=
}

# psql's answers are left in $logs/sql, one line each, columns parted by |
sql()	# LINE...
{
	printf '%s\n' "$@" >"$logs/script"
	run "$logs/sql" "$bindir/psql" -XAtq -v ON_ERROR_STOP=1 -f "$logs/script" || {
		tail -n 5 "$logs/sql" >&2
		die "the private server refused a command"
	}
}

# the milliseconds of each statement in MIDDLE are left in $logs/ms
time_sql()	# BEFORE MIDDLE AFTER
{
	sql '\o /dev/null' "$1" '\timing on' "$2" '\timing off' '\o' "$3"
	awk '/^Time: / { print $2 }' "$logs/sql" >"$logs/ms"
}

# the values of the standard input -> the middle one
median()
{
	sort -n | awk '{ v[NR] = $1 }
		END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'
}
