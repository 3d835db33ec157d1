# runs.sh - what tools/test-all and tools/torture share; they source it in the top directory
#
# A copy of the tree under /tmp, as $stage/tree, where all servers can run it;
# runs on the servers side by side, each of which leaves its output and its time
# in files; and the sum of what they found.

if [ "$(id -u)" != 0 ]; then
	echo "${0##*/}: root is needed to make the servers; tools/test tests one server without it" >&2
	exit 1
fi

jobs=${STREAMSTAT_JOBS:-2}
stage=$(mktemp -d /tmp/sst.XXXXXX)
chmod 755 "$stage"

clean_up()
{
	trap - EXIT
	trap '' INT TERM HUP
	local p

	for p in $(jobs -p); do
		kill -TERM "$p" 2>/dev/null || true
	done
	wait
	rm -rf "$stage"
}
trap clean_up EXIT
trap 'exit 130' INT TERM HUP

mkdir "$stage/tree"
tar -cf - --exclude=./.git . | tar -xf - -C "$stage/tree" --no-same-owner
chmod -R a+rX "$stage/tree"
cd "$stage"

timed()	# RUN COMMAND...
{
	local run=$1 pid= start=$SECONDS rc=0
	shift

	trap '[ -z "$pid" ] || kill -TERM "$pid"; wait; exit 143' TERM
	"$@" >"$stage/$run.log" 2>&1 &
	pid=$!
	wait "$pid" || rc=$?
	echo "$rc $((SECONDS - start))" >"$stage/$run.end"
}

one()	# RUN [TOOL...]: a server's version, then arguments for make
{
	local run=$1 version=${1%% *}
	shift
	[ $# -gt 0 ] || set -- test

	STREAMSTAT_MAKE=${run#"$version"} timed "$run" tree/tools/servers run "$version" "tree/tools/$@"
}

# until there is room for one more
wait_for_turn()	# [PID]: of what does not count
{
	while [ "$(jobs -rp | grep -cvx -e "${1:-}")" -ge "$jobs" ]; do
		wait -n || true
	done
}

passed=0 failed=0 skipped=0

# A tool that counts ends with "streamstat: ...".  Of another, the status counts; 77 says that
# what it needs cannot be had.
report()	# RUN
{
	local log="$stage/$1.log" rc seconds result p=0 f=0 s=0

	read -r rc seconds <"$stage/$1.end"
	result=$(tail -n 1 "$log" | grep -E '^streamstat: [0-9]+ passed, [0-9]+ failed') || result=
	if [ -n "$result" ]; then
		IFS=, read -r p f s < <(echo "$result" | tr -dc '0-9,\n')
	elif [ "$rc" = 77 ]; then
		s=1 result="skipped: $(tail -n 1 "$log")"
	elif [ "$rc" = 0 ]; then
		p=1 result="passed"
	else
		f=1 result="status $rc: $(tail -n 1 "$log")"
	fi
	printf '%-32s %s (%s s)\n' "$1" "${result#streamstat: }" "$seconds"
	[ "$f" = 0 ] || sed 's/^/    /' "$log"
	passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + ${s:-0}))
}

finish()
{
	echo "streamstat: $passed passed, $failed failed$([ $skipped = 0 ] || echo ", $skipped skipped")"
	[ $failed = 0 ] && [ $passed -gt 0 ]
}
