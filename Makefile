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

MODULE_big = streamstat
PGFILEDESC = "streamstat - relation statistics through a look-ahead block stream"

OBJS = \
	$(WIN32RES) \
	src/api/arguments.o \
	src/api/bloat.o \
	src/api/brin.o \
	src/api/btree.o \
	src/api/cache.o \
	src/api/collect.o \
	src/api/corrupt_blocks.o \
	src/api/database_report.o \
	src/api/relation_columns.o \
	src/api/gin.o \
	src/api/gist.o \
	src/api/hash.o \
	src/api/index_stats.o \
	src/api/io_probe.o \
	src/api/layout_map.o \
	src/api/layout_picture.o \
	src/api/map_summary.o \
	src/api/one_relation.o \
	src/api/pg_prewarm.o \
	src/api/pgstattuple.o \
	src/api/prewarm.o \
	src/api/progress.o \
	src/api/relpages.o \
	src/api/report_html.o \
	src/api/report_rows.o \
	src/api/result.o \
	src/api/row.o \
	src/api/sample_stats.o \
	src/api/saved_cache.o \
	src/api/spgist.o \
	src/api/stored_report.o \
	src/api/stream_stats.o \
	src/api/table_stats.o \
	src/api/tree.o \
	src/api/warm_rows.o \
	src/compat/catalog.o \
	src/compat/compat.o \
	src/compat/multixact_pages.o \
	src/compat/server_io.o \
	src/compat/shared_blocks.o \
	src/html/escape.o \
	src/html/page.o \
	src/html/page_data.o \
	src/html/parts.o \
	src/html/section_caches.o \
	src/html/section_map.o \
	src/html/section_plan.o \
	src/html/section_strips.o \
	src/html/section_table.o \
	src/html/section_top.o \
	src/html/style.o \
	src/html/tree.o \
	src/html/treemap.o \
	src/probe/advise.o \
	src/probe/cell.o \
	src/probe/curve.o \
	src/probe/latency.o \
	src/probe/places.o \
	src/probe/probe.o \
	src/probe/read_buffers.o \
	src/probe/read_files.o \
	src/probe/run.o \
	src/probe/schedule.o \
	src/probe/settings.o \
	src/probe/storage.o \
	src/probe/targets.o \
	src/rebuild/box_split.o \
	src/rebuild/brin.o \
	src/rebuild/brin_ranges.o \
	src/rebuild/btree.o \
	src/rebuild/btree_blocks.o \
	src/rebuild/btree_fill.o \
	src/rebuild/btree_order.o \
	src/rebuild/btree_pivot.o \
	src/rebuild/btree_runs.o \
	src/rebuild/compression.o \
	src/rebuild/gin.o \
	src/rebuild/gin_build.o \
	src/rebuild/gin_entry_tree.o \
	src/rebuild/gin_keys.o \
	src/rebuild/gin_pending.o \
	src/rebuild/gin_posting.o \
	src/rebuild/gin_size.o \
	src/rebuild/gist.o \
	src/rebuild/gist_build.o \
	src/rebuild/dead_tids.o \
	src/rebuild/entries.o \
	src/rebuild/entry_sample.o \
	src/rebuild/hash.o \
	src/rebuild/heap.o \
	src/rebuild/point_shape.o \
	src/rebuild/points.o \
	src/rebuild/quadtree_build.o \
	src/rebuild/quadtree_pages.o \
	src/rebuild/quadtree_split.o \
	src/rebuild/heap_tuple.o \
	src/rebuild/rebuild.o \
	src/rebuild/spgist.o \
	src/rebuild/toaster.o \
	src/relation/chosen_relations.o \
	src/relation/present_files.o \
	src/relation/refuse.o \
	src/relation/relations.o \
	src/relation/shards.o \
	src/relation/row_key.o \
	src/relation/target.o \
	src/relation/toast_owner.o \
	src/report/bloat.o \
	src/report/bloat_estimate.o \
	src/report/command.o \
	src/report/command_plan.o \
	src/report/dead_entries.o \
	src/report/dead_rows.o \
	src/report/holder.o \
	src/report/plan_costs.o \
	src/report/plan_reasons.o \
	src/report/plan_table.o \
	src/report/plan_vacuum.o \
	src/report/planner.o \
	src/report/kept_entries.o \
	src/report/read_ahead.o \
	src/report/reader.o \
	src/report/reading_order.o \
	src/report/report.o \
	src/report/schedule.o \
	src/report/toast_estimate.o \
	src/report/table_rows.o \
	src/report/try_estimate.o \
	src/report/turnover.o \
	src/run/blocking.o \
	src/run/call.o \
	src/run/find_corrupt.o \
	src/run/layout.o \
	src/run/limits.o \
	src/run/maps.o \
	src/run/parallel.o \
	src/run/plan.o \
	src/run/prewarm.o \
	src/run/progress.o \
	src/run/refused_pages.o \
	src/run/sampling.o \
	src/run/scan.o \
	src/run/scan_loop.o \
	src/run/subtransaction.o \
	src/source/chunks.o \
	src/source/source_range.o \
	src/source/source_sample.o \
	src/source/source_skip.o \
	src/source/source_slice.o \
	src/stats/bucket_sums.o \
	src/stats/counters.o \
	src/stats/differences.o \
	src/stats/estimate.o \
	src/stats/interval.o \
	src/stats/linear_form.o \
	src/stats/page_sample.o \
	src/stats/sample_statistics.o \
	src/stats/sizing.o \
	src/stats/variance.o \
	src/stream/advised_runs.o \
	src/stream/buffer_pool.o \
	src/stream/buffered.o \
	src/stream/buffered_buckets.o \
	src/stream/mapped_file.o \
	src/stream/mapped_run.o \
	src/stream/looked_up.o \
	src/stream/page_cache.o \
	src/stream/io_stats.o \
	src/stream/read_watch.o \
	src/stream/advice.o \
	src/stream/bundled_read_stream.o \
	src/stream/checksum.o \
	src/stream/direct_page_check.o \
	src/stream/free_buffers.o \
	src/stream/file_sync.o \
	src/stream/file_uring.o \
	src/stream/read_block_noerror.o \
	src/stream/run_queue.o \
	src/stream/segment_file.o \
	src/stream/segment_set.o \
	src/stream/stream.o \
	src/stream/stream_buffer.o \
	src/stream/stream_file.o \
	src/stream/wal_position.o \
	src/streamstat.o \
	src/visit/any.o \
	src/visit/brin.o \
	src/visit/btree.o \
	src/visit/diagnose.o \
	src/visit/gin.o \
	src/visit/gist.o \
	src/visit/hash.o \
	src/visit/heap.o \
	src/visit/hot_chains.o \
	src/visit/line_pointers.o \
	src/visit/map.o \
	src/visit/multixacts.o \
	src/visit/pgstattuple.o \
	src/visit/spgist.o \
	src/visit/xacts.o \
	src/warm/cache_file.o \
	src/warm/cache_loader.o \
	src/warm/cache_register.o \
	src/warm/cache_start.o \
	src/warm/cache_wait.o \
	src/warm/cache_worker.o \
	src/warm/cursor.o \
	src/warm/family.o \
	src/warm/large_range.o \
	src/warm/locked_relations.o \
	src/warm/queue.o \
	src/warm/resume.o \
	src/warm/rights.o \
	src/warm/run_reader.o \
	src/warm/saved_cache_checksum.o \
	src/warm/saved_cache_names.o \
	src/warm/saved_cache_parse.o \
	src/warm/saved_cache_set.o \
	src/warm/saved_cache_text.o \
	src/warm/saved_cache_write.o \
	src/warm/set.o \
	src/warm/units.o \
	src/warm/upper_pages.o

EXTENSION = streamstat
DATA = streamstat--1.0.sql

REGRESS = setup names rows collect recorded btree hash gin brin gist spgist index_stats layout layout_picture relpages prewarm prewarm_set cache_save errors every_relation elsewhere sample_stats tables pgstattuple bloat bloat_btree bloat_hash bloat_brin bloat_more dead_rows gin_rebuild toast bloat_points report report_html plan io_probe callable stats readonly
ISOLATION = dead_rows_snapshot plan_holder scan_ddl scan_reindex_concurrently scan_vacuum
ISOLATION_OPTS = --load-extension=streamstat

# The tree also holds the sources in a VPATH build.
STREAMSTAT_DIR := $(or $(srcdir),$(patsubst %/,%,$(dir $(firstword $(MAKEFILE_LIST)))))
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

PG_CONFIG ?= pg_config
PGXS := $(wildcard $(shell $(PG_CONFIG) --pgxs 2>/dev/null))
ifneq ($(PGXS),)
include $(PGXS)
else ifeq ($(filter deb demo test check-world test-all fuzz torture bench check-layers indent dist compilers,$(MAKECMDGOALS)),)
$(error $(PG_CONFIG) names no PostgreSQL server with development files: install postgresql-server-dev-NN, or set PG_CONFIG)
endif

$(OBJS): $(wildcard $(STREAMSTAT_DIR)/src/*.h $(STREAMSTAT_DIR)/src/*/*.h)
src/stream/checksum.o src/visit/gin.o src/visit/line_pointers.o: CFLAGS += $(CFLAGS_VECTORIZE)

# A name for what is built, by which processes tell libraries apart; src/run/parallel.c
SOURCES := $(sort $(wildcard $(STREAMSTAT_DIR)/src/*.[ch] $(STREAMSTAT_DIR)/src/*/*.[ch]))
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
