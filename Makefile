# Build and install:  make && make install
# for another server:  make PG_CONFIG=/path/to/pg_config && make install PG_CONFIG=...
# Without installing:  make test, make demo, make demo-cluster, make demo-tail, make bench
#                      (see tools/run)
#                      make psql  (on a private server with flakeid, which is gone after it)
#                      make upgrade OLD=/path/to/old/pg_config
#                      make release-check BASE=v1.0.0 (it can be left out)
#                      make torture SECONDS=1800 SEED=7 (either can be left out; for each of two tests)
#                      make schemas SEED=7 COUNT=2000 (either can be left out)
#                      make ha FAULTS=60 SECONDS=900 SEED=7 (all can be left out)
#                      make citus SOURCE=/path/to/citus, make timescaledb SOURCE=/path/to/timescaledb
#                      (see tools/engine)
#                      make bench-growth CURVES=rows ROWS=10^8 ROUNDS=1 SOURCE=/path/to/snowflake
#                      (all can be left out; see bench/growth/run)
# What is installed:   make test-installed
# To give away:        make deb, make rpm, make dist
#                      (Debian packages; RPM packages; the archive for PGXN)
# For developers:      make lint, make format, make format-check, make fuzz,
#                      make model, make litmus, make sqlsmith, make valgrind,
#                      make sanitize, make coverage, make matrix VERSIONS=17
#                      or ARCH=s390x (both can be left out)
#                      make asserts SOURCE=/path/to/postgresql (it can be left out; see tools/asserts)
#                      make mutate MUTANTS=300 SEED=1 (either can be left out; see tools/mutate/run)
# Client libraries:    make clients  (into dist/clients; see clients/README.md),
#                      make vectors  (what their tests compare with, after a change that is meant),
#                      make bench-clients ROUNDS=5 (it can be left out)
# Documentation:       make site SITE=/where/to (it can be left out; see tools/site/run)
#                      make pictures

EXTENSION = flakeid
MODULE_big = flakeid
DATA_built = $(patsubst %.in,%,$(wildcard extension/*.sql.in))
SCRIPTS = scripts/flakeid-move-shard
OBJS = \
	src/flakeid.o \
	src/sql/mint.o \
	src/sql/inspect.o \
	src/sql/layouts.o \
	src/sql/text.o \
	src/sql/seal.o \
	src/sql/seal_key.o \
	src/sql/add_key.o \
	src/sql/ff1.o \
	src/sql/wide.o \
	src/sql/uuidv7.o \
	src/sql/stat.o \
	src/sql/stored_call.o \
	src/sql/health.o \
	src/sql/health_partitions.o \
	src/sql/clock.o \
	src/sql/create.o \
	src/sql/show.o \
	src/sql/shards.o \
	src/sql/restored.o \
	src/sql/health_elsewhere.o \
	src/sql/advance.o \
	src/sql/backfill.o \
	src/sql/rewind.o \
	src/sql/settled.o \
	src/sql/columns.o \
	src/sql/live_ids.o \
	src/sql/migrate_all.o \
	src/sql/sequence_state.o \
	src/sql/partition.o \
	src/shard/lease.o \
	src/shard/lease_search.o \
	src/shard/keep.o \
	src/shard/detach_all.o \
	src/shard/attach.o \
	src/shard/fence.o \
	src/shard/backfill.o \
	src/shard/citus.o \
	src/shard/lease_row.o \
	src/shard/state.o \
	src/shard/route.o \
	src/mint/exceed.o \
	src/mint/settled.o \
	src/mint/settled_snapshot.o \
	src/mint/generator.o \
	src/mint/unlock.o \
	src/mint/version.o \
	src/mint/holders.o \
	src/mint/definition.o \
	src/mint/claim.o \
	src/mint/restore.o \
	src/mint/horizon.o \
	src/mint/horizon_database.o \
	src/mint/locks.o \
	src/mint/clock_guard.o \
	src/mint/horizon_page.o \
	src/mint/horizon_reach.o \
	src/mint/slot.o \
	src/mint/shmem.o \
	src/mint/shmem_free.o \
	src/mint/relation_change.o \
	src/mint/shmem_area.o \
	src/trust/execute_steps.o \
	src/trust/other_end.o \
	src/trust/step.o \
	src/trust/execute.o \
	src/trust/known.o \
	src/trust/rebind.o \
	src/trust/named.o \
	src/trust/slow.o \
	src/trust/copy_index.o \
	src/trust/definition_size.o \
	src/trust/hypertable.o \
	src/trust/distributed.o \
	src/trust/guard.o \
	src/trust/lock_all.o \
	src/trust/oid_set.o \
	src/trust/lock_trees.o \
	src/trust/search.o \
	src/trust/search_newest.o \
	src/trust/plain_ids.o \
	src/trust/own_table_rows.o \
	src/trust/index_end.o \
	src/trust/pages.o \
	src/trust/own_table.o \
	src/trust/role.o \
	src/trust/relation.o \
	src/layout/layout_type.o \
	src/layout/preset.o \
	src/layout/message.o \
	src/layout/layout_text.o \
	src/layout/instant.o \
	src/layout/layout.o \
	src/settings.o

# unused-parameter: PostgreSQL's headers have such, and so has every function
# that takes PG_FUNCTION_ARGS but no argument.
PG_CFLAGS = \
	-Wall \
	-Wextra \
	-Wno-unused-parameter

# Includes are written from src/ on.
PG_CPPFLAGS = -I$(srcdir)/src

# AES, for flake_seal(): the library that the server itself is linked with. The rest is
# for sessions that load flakeid for their first id (docs/operations.md):
#   noseparate-code  code and constants in one piece of memory, not in three: 0.15 ms less
#   nostartfiles     without gcc's start files, which are for C++. No library has some of
#                    what they name, so all of the server's would be searched
comma = ,
SHLIB_LINK = \
	$(if $(filter openssl,$(with_ssl)),-lcrypto) \
	$(if $(filter linux,$(PORTNAME)),-nostartfiles -Wl$(comma)-z$(comma)noseparate-code)

REGRESS = \
	install \
	surface \
	decode \
	mint \
	between \
	errors \
	stat \
	health \
	layout \
	preset \
	published \
	generator \
	start \
	wide \
	uuidv7 \
	shard \
	backfill \
	settled \
	rewind \
	copies \
	route \
	migrate \
	migrate_kept \
	replace_ids \
	partition \
	planner \
	zones \
	text \
	seal \
	lease \
	own_table \
	create_shard \
	sibling \
	privileges \
	lifetime \
	horizon
TAP_TESTS = 1

# These run on a machine that may have no PostgreSQL yet: the scripts find it or
# install it, so pg_config must not be needed to read this Makefile for them.
SCRIPT_GOALS = \
	test \
	test-installed \
	demo \
	demo-cluster \
	demo-tail \
	psql \
	bench \
	bench-clients \
	bench-growth \
	vectors \
	sqlsmith \
	upgrade \
	release-check \
	torture \
	schemas \
	ha \
	citus \
	timescaledb \
	fuzz \
	model \
	litmus \
	valgrind \
	sanitize \
	coverage \
	mutate \
	matrix \
	asserts \
	deb \
	rpm \
	dist \
	clients \
	site \
	pictures \
	lint \
	format \
	format-check

.PHONY: $(SCRIPT_GOALS)

ifneq (,$(filter-out $(SCRIPT_GOALS),$(or $(MAKECMDGOALS),all)))
PG_CONFIG ?= pg_config
PGXS := $(shell $(PG_CONFIG) --pgxs)
ifeq (,$(wildcard $(PGXS)))
$(error PostgreSQL's development files are needed: install them, or say where \
they are with PG_CONFIG=/path/to/pg_config)
endif
include $(PGXS)

# PGXS installs scripts into bin, and looks for them in bin/scripts.
uninstall: uninstall-scripts
.PHONY: uninstall-scripts
uninstall-scripts:
	rm -f $(addprefix '$(DESTDIR)$(bindir)'/, $(notdir $(SCRIPTS)))

# PGXS does not track headers.
$(OBJS) $(OBJS:.o=.bc): $(wildcard $(srcdir)/src/*.h $(srcdir)/src/*/*.h)

extension/%.sql: extension/%.sql.in tools/install-script $(wildcard extension/*/* extension/*/*/*)
	sh tools/install-script $< >$@.tmp && mv $@.tmp $@
endif

test test-installed demo demo-cluster demo-tail psql bench bench-clients bench-growth vectors sqlsmith upgrade valgrind sanitize coverage mutate:
	@bash tools/run $@

release-check:
	@BASE=$(BASE) bash tools/run $@

# Not as SECONDS, which in bash is a stop-watch.
torture:
	@TORTURE_SECONDS=$(SECONDS) TORTURE_SEED=$(SEED) bash tools/run $@

schemas:
	@SCHEMAS_SEED=$(SEED) SCHEMAS_COUNT=$(or $(COUNT),2000) bash tools/run $@

ha:
	@HA_FAULTS=$(or $(FAULTS),$(if $(SECONDS),,20)) HA_SECONDS=$(SECONDS) HA_SEED=$(SEED) bash tools/run $@

citus timescaledb:
	@bash tools/engine $@ "$(SOURCE)"

fuzz:
	@bash tools/fuzz $(SECONDS)

model:
	@bash model/run $(VARIANT)

litmus:
	@bash model/litmus/run $(TEST)

matrix:
	@bash tools/matrix $(VERSIONS)

asserts:
	@bash tools/asserts "$(SOURCE)"

deb:
	@bash tools/deb

rpm:
	@bash tools/rpm

dist:
	@bash tools/dist

clients:
	@bash tools/clients

site:
	@bash tools/site/run

pictures:
	@bash tools/pictures

lint:
	@bash tools/lint

format:
	@bash tools/format

format-check:
	@bash tools/format --check
