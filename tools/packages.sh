# packages.sh - what a bare Debian lacks, by apt-get; common.sh sources it
#
# Who installs something calls let_dpkg_finish, or clean_up, when it is told to end.

no_cluster=/etc/postgresql-common/createcluster.d/streamstat.conf
no_cluster_made=				# by this process, which removes it
installing=

# dpkg is not to be stopped half-way
let_dpkg_finish()
{
	if [ -n "$installing" ]; then
		trap '' INT TERM HUP
		echo "${0##*/}: letting dpkg finish" >&2
		wait "$installing" || true
		installing=
		job=
	fi
	if [ -n "$no_cluster_made" ]; then
		no_cluster_made=
		rm -f "$no_cluster"
		rmdir -p "$(dirname "$no_cluster")" 2>/dev/null || true
	fi
}

# as root, also where run has another user by now
apt()	# LOG ARGUMENT...
{
	local log=$1 as=()
	shift

	DEBIAN_FRONTEND=noninteractive run "$log" apt-get -q -y --no-install-recommends "$@"
}

# those of the packages that are missing, without a new cluster
install_packages()	# PACKAGE...
{
	local p log missing=()

	for p; do
		dpkg-query -W -f '${Status}' "$p" 2>/dev/null | grep -q ' installed$' || missing+=("$p")
	done
	[ ${#missing[@]} -gt 0 ] || return 0

	printf '%-10s %s\n' getting "${missing[*]}" "" "(by apt-get: what build, tests or demo need here)"
	log=$(mktemp /var/tmp/sst.XXXXXX)
	if ! apt "$log" install --download-only "${missing[@]}"; then
		apt "$log" update && apt "$log" install --download-only "${missing[@]}" || {
			echo "${0##*/}: apt-get cannot get ${missing[*]}: $(grep '^E: ' "$log" | head -n 1)" >&2
			rm -f "$log"
			return 1
		}
	fi
	# Debian would otherwise make a cluster and start it.
	no_cluster_made=1
	mkdir -p "$(dirname "$no_cluster")"
	echo 'create_main_cluster = false' >"$no_cluster"
	DEBIAN_FRONTEND=noninteractive setsid apt-get -q -y --no-install-recommends \
		install "${missing[@]}" >"$log" 2>&1 </dev/null &
	installing=$!
	if ! wait "$installing"; then
		installing=
		echo "${0##*/}: apt-get could not install ${missing[*]}: $(grep -E '^(E|dpkg): ' "$log" | head -n 1)" >&2
		rm -f "$log"
		return 1
	fi
	installing=
	rm -f "$log"
	let_dpkg_finish
}

# ... and a compiler, what the build looks for, and Debian's newest server with its
# headers; with a server that is there, it is tried without what cannot be had
get_server()	# PACKAGE...
{
	local v wanted=(make gcc libc6-dev pkg-config liburing-dev "$@")

	if [ -z "$(find_pg_config)" ]; then
		apt-cache show postgresql >/dev/null 2>&1 || apt /dev/null update || true
		v=$(ls -d /usr/lib/postgresql/*/bin/postgres 2>/dev/null | sort -V | tail -n 1) || true
		if [ -n "$v" ]; then
			v=$(basename "${v%/bin/postgres}")
		else
			v=$(apt-cache depends postgresql 2>/dev/null |
				sed -n 's/.*Depends: postgresql-\([0-9]*\)$/\1/p') || v=
		fi
		[ -n "$v" ] || die "apt-get finds no package postgresql: is its archive within reach?"
		wanted=("postgresql-$v" "postgresql-server-dev-$v" "${wanted[@]}")
	fi
	install_packages "${wanted[@]}" || [ -n "$(find_pg_config)" ] || exit 1
}

# What a tool needs, where root can have it by apt-get: the packages, and a server unless
# PG_CONFIG is not empty.  The tool looks itself for what could not be had.
get_needed()	# PG_CONFIG PACKAGE...
{
	local given=$1
	shift

	[ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || return 0
	trap let_dpkg_finish EXIT
	trap 'exit 130' INT TERM HUP
	if [ -n "$given" ]; then
		install_packages "$@" || true
	else
		get_server "$@"
	fi
	trap - EXIT INT TERM HUP
}
