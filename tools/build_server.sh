#!/usr/bin/env bash
#
# build_server.sh - build a server with assertions, from Debian's source package
#
#   tools/build_server.sh MAJOR PREFIX
#
# For tools/servers, which runs it inside a Debian root that has the source
# package in /usr/src.  Of what is built only the installed server is kept.  If
# second_smgr.c is there, the server gets it as a second storage manager.
# USE_VALGRIND tells valgrind of memory contexts and of buffers that are not
# pinned; without valgrind it costs little.

set -euo pipefail

major=$1 prefix=$2 options=()
[ "$major" -lt 18 ] || options+=(--with-liburing)

cd /usr/src
dpkg-source --no-check -x postgresql-"$major"_*.dsc source
cd source
smgr=src/backend/storage/smgr
if [ -f ../second_smgr.c ]; then
	mv ../second_smgr.c $smgr
	sed -i -e '/^static const f_smgr smgrsw/i #include "second_smgr.c"' \
		-e '/\.smgr_immedsync = mdimmedsync/{n;s/}/},\nSECOND_SMGR/}' \
		-e 's/smgr_which = 0;/smgr_which = choose_smgr(rnode);/' $smgr/smgr.c
	[ "$(grep -cE 'second_smgr\.c|^SECOND_SMGR|choose_smgr' $smgr/smgr.c)" = 3 ]
fi
./configure --prefix="$prefix" --enable-cassert --enable-debug --enable-tap-tests \
	--without-icu --without-readline --without-zlib "${options[@]}" \
	CFLAGS='-Og -fno-omit-frame-pointer' CPPFLAGS=-DUSE_VALGRIND
make -s -j "$(nproc 2>/dev/null || echo 2)" world-bin
make -s install-world-bin
# where PGXS has what else is of the source
install -D -m 644 -t "$prefix/lib/pgxs/src/tools" src/tools/valgrind.supp
cd /usr/src
rm -rf source postgresql-"$major"_*
id postgres >/dev/null 2>&1 || useradd --system --home-dir /tmp --no-create-home postgres
