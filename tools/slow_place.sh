# slow_place.sh - a disk that answers each read after 1 ms where one can be had; tools/demo sources it
#
# bench/slow-disk makes it, which takes root, FUSE and loop devices.  Who sources
# this, after common.sh and packages.sh, ends its servers and calls leave_slow_place
# before clean_up, with signals ignored.

slow=		# where it is mounted
why_not=	# ... or why there is none
making_disk=

# sets slow to DIR, or why_not
get_slow_place()	# DIR SIZE
{
	local packages=(nbdkit libnbd-bin fuse3 e2fsprogs util-linux)

	if [ "$(id -u)" != 0 ]; then
		why_not="it needs root"
	elif [ ! -c /dev/fuse ] || [ ! -c /dev/loop-control ]; then
		why_not="it needs /dev/fuse and loop devices"
	elif ! command -v apt-get >/dev/null; then
		why_not="it needs packages of Debian"
	elif ! install_packages "${packages[@]}" 2>/dev/null; then
		why_not="apt-get cannot get ${packages[*]:0:3}"
	else
		mkdir "$1"
		slow=$1
		# in a process group of its own: an interrupt is not to leave half a disk
		set -m
		"$top/bench/slow-disk" make "$1" "$2" >"$logs/disk.log" 2>&1 </dev/null &
		making_disk=$!
		set +m
		if wait "$making_disk"; then
			making_disk=
			return
		fi
		making_disk= slow=
		why_not=$(tail -n 1 "$logs/disk.log")
	fi
}

leave_slow_place()
{
	local i

	[ -n "$slow" ] || return 0
	[ -z "$making_disk" ] || wait "$making_disk" || true
	making_disk=
	# what the server's processes have open there is closed a moment after its end
	for i in {1..50}; do
		mountpoint -q "$slow" || break
		! "$top/bench/slow-disk" remove "$slow" 2>/dev/null || break
		sleep 0.1
	done
	! mountpoint -q "$slow" || echo "${0##*/}: $slow is still mounted, as something uses it" >&2
	slow=
}
