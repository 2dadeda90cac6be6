# Sourced by tools/inside for make coverage: the tests with flakeid compiled to
# count what is run. Shows the lines and the branches of src/ that were not, and
# fails if that is more than these percentages leave. docs/internals/coverage.md says why
# each of them is not.
lines=95
branches=85

# ereport() contains a branch for a message that is not wanted, which no error
# takes, and so do its relatives; CHECK_FOR_INTERRUPTS() one that takes luck. They
# are PostgreSQL's, so they are left out, and what it would be with them is told.
macros='.*\b(ereport|elog|ereturn|CHECK_FOR_INTERRUPTS)\(.*'

# show_missing REPORT
# What gcovr does not show: the code that was not run.
show_missing() {
    perl -MJSON::PP -e '
        local $/;
        my $report = decode_json(<STDIN>);
        foreach my $file (@{ $report->{files} })
        {
            open my $handle, "<", $file->{file} or die "$file->{file}: $!";
            my @source = split /\n/, <$handle>;
            foreach my $line (@{ $file->{lines} })
            {
                my @branches = grep { !$_->{"gcovr/excluded"} } @{ $line->{branches} };
                my $missing = grep { $_->{count} == 0 } @branches;
                next if $line->{"gcovr/noncode"} || $line->{"gcovr/excluded"};
                next if $line->{count} > 0 && $missing == 0;
                printf "%s:%d: %s: %s\n", $file->{file}, $line->{line_number},
                  $line->{count} == 0 ? "not run" : "$missing of " . @branches . " branches",
                  $source[ $line->{line_number} - 1 ] =~ s/^\s+//r;
            }
        }' <"$1"
}

# total REPORT
total() {
    gcovr --root . --add-tracefile "$TMPDIR/$1.json" --branches --txt |
        awk '/^TOTAL/ { print $3 " of " $2 " (" $4 ")" }'
}

COPT="-O0 --coverage ${COPT-}"
with_llvm=no
install_privately
run_tests

# A process that is killed leaves no counts, so these are rather too low.
gcovr --root . --filter src/ --json "$TMPDIR/all.json" .
gcovr --root . --filter src/ --exclude-branches-by-pattern "$macros" \
    --json "$TMPDIR/own.json" .

say "not reached:"
show_missing "$TMPDIR/own.json"
gcovr --root . --add-tracefile "$TMPDIR/own.json" --txt
say "branches: $(total own), and with those in PostgreSQL's macros $(total all)"

gcovr --root . --add-tracefile "$TMPDIR/own.json" --txt "$TMPDIR/own.txt" \
    --fail-under-line "$lines" --fail-under-branch "$branches" ||
    die "$lines % of the lines and $branches % of the branches must be covered"
say "At least $lines % of the lines and $branches % of the branches are covered"
