# Sourced by tools/inside for make sanitize: the tests with flakeid compiled with
# gcc's AddressSanitizer and UndefinedBehaviorSanitizer. Any report counts.
#
# PostgreSQL itself is not compiled so. What flakeid gets from palloc() is memory
# like any other to the sanitizers, only what lies outside of the blocks that
# memory contexts get from malloc() is not. They see flakeid's variables on the
# stack and its static ones, and what it calculates: signed overflow, which
# PostgreSQL's -fwrapv would allow, shifts, casts, alignment.

reports=$TMPDIR/reports
mkdir "$reports"

# The library must be the first in the server, because it replaces malloc(). Only
# servers get it.
compiler=$("$bindir/pg_config" --cc)
library=$($compiler -print-file-name=libasan.so)
[ -f "$library" ] ||
    die "$compiler has no libasan.so: gcc with its sanitizers is needed"

# A report ends the process like a crash. Memory that is not freed at the end of a
# process is no leak. PostgreSQL measures the depth of its stack, so variables
# must stay on that.
asan_options=log_path=$reports/report:abort_on_error=1:detect_leaks=0
asan_options+=:detect_stack_use_after_return=0
ubsan_options=abort_on_error=1:print_stacktrace=1

# What goes into servers besides:
#
# - UndefinedBehaviorSanitizer's options, because a server has written the title
#   of its process over the environment before they are looked for.
# - On Debian 12 a server with libasan stands still when it asks for its messages
#   in another language: the lock for that is upset already. So it does not ask,
#   and the tests are in English anyway.
$compiler -shared -fPIC -o "$TMPDIR/extra.so" -x c - <<C
const char *__ubsan_default_options(void) { return "$ubsan_options"; }
char *bindtextdomain(const char *domain, const char *dir) { return (char *) dir; }
C

cat tools/fault.c >>src/flakeid.c
COPT="-g -O1 -fno-omit-frame-pointer -fno-wrapv \
-fsanitize=address,undefined,float-cast-overflow,bounds-strict \
-fno-sanitize-recover=all ${COPT-}"
with_llvm=no
install_privately

wrap_server "
export LD_PRELOAD=$library:$TMPDIR/extra.so
export ASAN_OPTIONS=$asan_options
exec -a \"\$0\" \"\$server\" \"\$@\""

# libfaketime and libasan do not start together.
: "${PROVE_TESTS=$(grep -LE 'new_clock|TortureRun' t/*.pl | tr '\n' ' ')}"
say "tests in t/, without those that set clocks: $PROVE_TESTS"

make_faults heap freed stack static bounds overflow shift cast
status=0
(run_tests) || status=$?

# UndefinedBehaviorSanitizer writes to the servers' logs only.
cp /dev/null "$reports/found"
grep -rhs -A 20 'runtime error: ' log tmp_check/log >>"$reports/found" || true
if [ -n "$(cat "$reports"/*)" ]; then
    cat "$reports"/*
    die "the sanitizers have found something: see above"
fi
[ "$status" -eq 0 ] || exit "$status"
say "The sanitizers have found nothing"
