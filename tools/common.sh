# common.sh - what tools/test, tools/demo and the scripts in bench share; they source it
#
# A private copy of a server to build against, commands that an interrupt ends
# at once, and servers of our own that go away with the temporary folder $tmp.
# Nothing is installed and no running server is touched.

export LC_ALL=C

die()
{
	echo "${0##*/}: $*" >&2
	exit 1
}

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
. "$top/tools/packages.sh"

# a copy of the tree, without what a build or a test run left in it
copy_tree()	# DIR
{
	mkdir -p "$1"
	(cd "$top" && tar -cf - --exclude=./.git --exclude='*.o' --exclude='*.so' \
		--exclude='*.bc' --exclude='*.a' --exclude=results --exclude=output_iso \
		--exclude=tmp_check --exclude='regression.*' --exclude=./build \
		--exclude=test_estimate .) |
		tar -xf - -C "$1" --no-same-owner
}

# ---------------------------------------------------------------------------
# finding a server

# the newest of Debian's servers with headers, else the pg_config in PATH
find_pg_config()
{
	local c

	for c in $(ls -d /usr/lib/postgresql/*/bin/pg_config 2>/dev/null | sort -rV); do
		if [ -x "${c%pg_config}postgres" ] && [ -f "$("$c" --pgxs)" ] &&
			[ -f "$("$c" --includedir-server)/postgres.h" ]; then
			echo "$c"
			return
		fi
	done
	command -v pg_config || true
}

ask()
{
	"$pg_config" "--$1"
}

# sets pg_config, version, major, bindir, pgxs and cc; ends without a server
# that the extension can be built for
choose_server()	# [PG_CONFIG]
{
	local program given=${1:-${PG_CONFIG:-}}

	pg_config=${given:-$(find_pg_config)}
	[ -n "$pg_config" ] ||
		die "no pg_config is here: install a PostgreSQL server with its development files"
	pg_config=$(command -v "$pg_config") || die "there is no pg_config at $given"
	case $pg_config in /*) ;; *) pg_config=$PWD/$pg_config ;; esac

	version=$(ask version 2>/dev/null) || version=
	[[ $version = "PostgreSQL "[0-9]* ]] || die "$pg_config is no pg_config that runs here"
	major=${version#PostgreSQL }
	major=${major%%[!0-9]*}
	bindir=$(ask bindir)
	pgxs=$(ask pgxs)
	cc=$(ask cc)
	[ "$major" -ge 15 ] || die "$version is too old: PostgreSQL 15 or newer is needed"
	for program in postgres initdb pg_ctl psql pg_config; do
		[ -x "$bindir/$program" ] || die "$version has no program $bindir/$program: install its server"
	done
	[ -f "$(ask includedir-server)/postgres.h" ] ||
		die "$version has no header files: install its server development package"
	[ -f "$pgxs" ] || die "$version has no PGXS makefiles: install its server development package"
	command -v "${MAKE:-make}" >/dev/null || die "make is missing"
	command -v ${cc%% *} >/dev/null || die "the compiler ${cc%% *} is missing"
}

# what the server has of contrib: module names
has_contrib()
{
	local m

	for m; do
		[ -f "$(ask sharedir)/extension/$m.control" ] || return 1
	done
}

# ---------------------------------------------------------------------------
# a temporary folder, an ordinary user, and how both are left

as=()

# Servers do not run as root: root's commands then run as postgres, or nobody, who can
# work in the folder, but not in each directory of root's.
make_folder()	# PARENT, an absolute path
{
	local user=postgres

	tmp=$(mktemp -d "$1/sst.XXXXXX") || die "no folder can be made in $1"
	logs=$tmp/log
	mkdir "$logs"
	if [ "$(id -u)" = 0 ]; then
		id $user >/dev/null 2>&1 || user=nobody
		command -v setpriv >/dev/null || die "the program setpriv is missing"
		chown $user: "$tmp"
		as=(setpriv --reuid=$user --regid="$(id -g $user)" --init-groups env "HOME=$tmp")
	fi
	cd "$tmp"
}

# Commands run in a process group of their own, so that an interrupt is heard
# at once and ends all of them.
job=
run()	# LOG COMMAND...
{
	local log=$1 rc=0
	shift

	set -m
	${as[@]+"${as[@]}"} "$@" >"$log" 2>&1 </dev/null &
	job=$!
	set +m
	wait "$job" || rc=$?
	job=
	return $rc
}

# Every server whose data directory is in our folders is ours.
stop_servers()
{
	local f pid tries=0

	for f in $(find "$tmp" ${data:+"$data"} -name postmaster.pid 2>/dev/null); do
		pid=$(head -n 1 "$f") || continue
		kill -QUIT "$pid" || continue
		while kill -0 "$pid" && [ $((tries += 1)) -lt 50 ]; do
			sleep 0.1
		done
	done
}

end_job()	# the command of run, if there is one
{
	[ -n "$job" ] || return 0
	kill -TERM -- "-$job" || true
	sleep 1
	kill -KILL -- "-$job" || true
	job=
}

clean_up()
{
	trap - EXIT
	trap '' INT TERM HUP
	let_dpkg_finish
	exec 2>/dev/null
	end_job
	[ -n "${tmp:-}" ] || return 0
	[ -z "${server:-}" ] || kill -QUIT "$server" || true
	stop_servers
	rm -rf "$tmp" ${data:+"$data"} || { sleep 1; rm -rf "$tmp" ${data:+"$data"}; }
}

# ---------------------------------------------------------------------------
# the private copy of the server: PostgreSQL finds its directories relative to
# its programs, so these are copied, and the rest are links to the originals

mirror()	# DIR: a directory of our own with links to what DIR holds
{
	mkdir -p "$tmp/pg$1"
	find "$1" -mindepth 1 -maxdepth 1 ! -name 'streamstat*' ! -name 'test_read_stream*' \
		! -name 'test_source*' ! -name 'test_buffered*' ! -name 'test_checksum*' \
		-exec ln -s -t "$tmp/pg$1" {} + 2>/dev/null || true
}

# From here on pg_config, bindir and pgxs are those of the copy.
copy_server()
{
	local d lib

	# libraries that programs look for at a path relative to their own
	lib=$(ldd "$bindir/psql" 2>/dev/null | awk '$1 ~ /^libpq/ && $3 ~ /^\// && !n++ { print $3 }')
	[ -z "$lib" ] ||
		export LD_LIBRARY_PATH=$(dirname "$lib")${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}

	mkdir -p "$tmp/pg$bindir"
	for d in "$bindir"/{postgres,initdb,psql,createdb,dropdb,createuser,dropuser,vacuumdb,reindexdb,clusterdb,pgbench,pg_*}; do
		[ ! -f "$d" ] || cp -L "$d" "$tmp/pg$bindir"
	done
	# inner directories first: a link then does not take their place
	for d in "$(ask pkglibdir)/bitcode" "$(ask sharedir)/extension"; do
		[ ! -d "$d" ] || mirror "$d"
	done
	for d in $(ask pkglibdir) $(ask sharedir) $(ask includedir-server) \
		$(ask pkgincludedir) $(ask libdir) $(ask includedir); do
		[ ! -d "$d" ] || mirror "$d"
	done
	[ ${#as[@]} -eq 0 ] || chown -R --reference="$tmp" "$tmp/pg"

	pg_config=$tmp/pg$bindir/pg_config
	for d in bindir pkglibdir sharedir pgxs includedir-server docdir; do
		case $(ask $d) in
			"$tmp"/*) ;;
			*) die "$version keeps its $d at a fixed place and cannot be copied" ;;
		esac
	done
	bindir=$(ask bindir)
	pgxs=$(ask pgxs)
}
