# streamstat/Makefile
#
# Plain PGXS: make && make install && make installcheck, with PG_CONFIG=...
#
#   BUNDLED_READ_STREAM=1   use the bundled read stream where the server has one
#   LIBURING=no             build without io_uring even if liburing is there
#   PORTABLE=1              build without what POSIX does not have, io_uring included
#
# make compilers builds with other compilers and options, and tests that (tools/compilers).
# make docs makes the site of README.md and docs/ in the folder site; see tools/docs.
#
# make installcheck runs the regression and isolation tests on a running server, make
# prove_installcheck the TAP tests on servers that it starts from the installation.
#
# make demo, make test, make check-world, make test-all, make fuzz, make torture and make
# bench need neither an installed server nor a running one; see docs/testing.md.  make deb
# builds and tries Debian packages (docs/install.md).  make test takes PROVE_TESTS= for
# the files to run and PG_TEST_EXTRA= for what it leaves out; check-world runs everything.
# make fuzz takes SECONDS= for each visitor, make torture MINUTES= and SERVERS=; make bench takes
#
#   QUICK=1    the matrix of ten minutes
#   XLARGE=1   indexes of 50 million rows, too
#   SERVERS=   versions, by default all that tools/servers has made
#
# make dist writes streamstat-VERSION.tar.gz and .zip, the source of the last commit.

# The tree also holds the sources in a VPATH build.
STREAMSTAT_DIR := $(or $(srcdir),$(patsubst %/,%,$(dir $(firstword $(MAKEFILE_LIST)))))

MODULE_big = streamstat
PGFILEDESC = "streamstat - relation statistics through a look-ahead block stream"
SOURCES := $(sort $(foreach depth,* */* */*/*,$(wildcard $(addprefix $(STREAMSTAT_DIR)/src/$(depth),.c .h))))
OBJS = $(WIN32RES) $(patsubst $(STREAMSTAT_DIR)/%.c,%.o,$(filter %.c,$(SOURCES)))

EXTENSION = streamstat
DATA = streamstat--1.0.sql
SCRIPTS = bin/streamstat-rebuild

REGRESS = setup names rows collect recorded btree hash gin brin gist spgist bloom index_stats layout layout_picture relpages prewarm prewarm_set cache_save errors every_relation elsewhere sample_stats tables pgstattuple bloat bloat_btree bloat_hash bloat_more dead_rows gin_rebuild toast bloat_trees report report_html plan io_probe callable stats readonly
ISOLATION = others dead_rows_snapshot plan_holder scan_ddl scan_reindex_concurrently scan_vacuum
ISOLATION_OPTS = --load-extension=streamstat

STREAMSTAT_VERSION := $(shell sed -n "s/^default_version = '\(.*\)'/\1/p" $(STREAMSTAT_DIR)/streamstat.control)

PG_CPPFLAGS = -I$(STREAMSTAT_DIR)/src -DSTREAMSTAT_VERSION='"$(STREAMSTAT_VERSION)"'
ifdef BUNDLED_READ_STREAM
PG_CPPFLAGS += -DSST_BUNDLED_READ_STREAM
endif

# io_uring is an extra: without liburing, relation files are read by pread.
PKG_CONFIG ?= pkg-config
ifdef PORTABLE
PG_CPPFLAGS += -DSST_PORTABLE
LIBURING := no
endif
ifneq ($(LIBURING),no)
ifeq ($(shell $(PKG_CONFIG) --exists liburing 2>/dev/null && echo yes),yes)
PG_CPPFLAGS += -DSST_USE_LIBURING $(shell $(PKG_CONFIG) --cflags liburing)
SHLIB_LINK += $(shell $(PKG_CONFIG) --libs liburing)
endif
endif

# Calls between our own files go through no symbol that the loader has to look up.  (From 16 on,
# PGXS hides them.)
ifeq ($(shell uname -s),Linux)
SHLIB_LINK += -Wl,-Bsymbolic
endif

# The page of report_html, as bytes of a string
PAGE = src/api/report_page.inc
EXTRA_CLEAN = $(PAGE)

PG_CONFIG ?= pg_config
PGXS := $(wildcard $(shell $(PG_CONFIG) --pgxs 2>/dev/null))
ifneq ($(PGXS),)
include $(PGXS)
else ifeq ($(filter deb demo test check-world test-all fuzz torture bench check-layers indent dist compilers,$(MAKECMDGOALS)),)
$(error $(PG_CONFIG) names no PostgreSQL server with development files: install postgresql-server-dev-NN, or set PG_CONFIG)
endif

$(OBJS): $(filter %.h,$(SOURCES))
src/stream/checksum.o src/am/gin/gin.o src/am/line_pointers.o: CFLAGS += $(CFLAGS_VECTORIZE)

# Its sample is for those who open the file itself.
$(PAGE): $(STREAMSTAT_DIR)/src/html/report.html | objdirs
	sed '/<!-- sample -->/d' $< | od -A n -t x1 -v | sed 's/ *\([0-9a-f][0-9a-f]\)/0x\1,/g' >$@.tmp && mv $@.tmp $@
src/api/report_html.o src/api/report_html.bc: $(PAGE)
src/api/report_html.o src/api/report_html.bc: CPPFLAGS += -I$(CURDIR)/src/api

# A name for what is built, by which processes tell libraries apart; src/run/parallel.c
STREAMSTAT_BUILD := $(shell (echo $(BUNDLED_READ_STREAM) $(SHLIB_LINK); cat $(SOURCES)) | cksum | tr ' ' -)
src/run/parallel.o src/run/parallel.bc: CPPFLAGS += -DSTREAMSTAT_BUILD='"$(STREAMSTAT_VERSION)-$(STREAMSTAT_BUILD)"'
src/run/parallel.o: $(SOURCES)

# A VPATH build has no directories for the objects yet.
$(OBJS): | objdirs
.PHONY: objdirs
objdirs:
	@mkdir -p $(sort $(dir $(OBJS)))

# The TAP tests, with the extension that is installed
.PHONY: prove_installcheck
prove_installcheck:
	$(prove_installcheck)

# These work on a private copy of a server; see tools/.
.PHONY: demo test check-world test-all fuzz torture bench indent check-layers
demo:
	@$(STREAMSTAT_DIR)/tools/demo
test:
	@$(STREAMSTAT_DIR)/tools/test $(if $(filter command line environment,$(origin PG_CONFIG)),$(PG_CONFIG))
check-world:
	@$(STREAMSTAT_DIR)/tools/test -a $(if $(filter command line environment,$(origin PG_CONFIG)),$(PG_CONFIG))
test-all:
	@$(STREAMSTAT_DIR)/tools/test-all
fuzz:
	@$(STREAMSTAT_DIR)/tools/fuzz $(if $(SECONDS),-t $(SECONDS))
torture:
	@$(STREAMSTAT_DIR)/tools/torture $(if $(MINUTES),-t $(MINUTES)) $(SERVERS)
bench:
	@$(STREAMSTAT_DIR)/bench/run $(if $(XLARGE),-x) $(if $(QUICK),-q) $(SERVERS)
check-layers:
	@$(STREAMSTAT_DIR)/tools/check-layers
indent:
	@$(STREAMSTAT_DIR)/tools/indent

# Debian packages for the release that the machine runs, or for SUITE=
.PHONY: deb
deb:
	@$(STREAMSTAT_DIR)/tools/deb $(SUITE)

# The source as a tarball and as a zip file for PGXN
.PHONY: dist
dist:
	@$(STREAMSTAT_DIR)/tools/dist

.PHONY: docs
docs:
	@$(STREAMSTAT_DIR)/tools/docs $(if $(LOOK),--look)

# Other compilers, options and systems; see tools/compilers.
.PHONY: compilers
compilers:
	@$(STREAMSTAT_DIR)/tools/compilers
