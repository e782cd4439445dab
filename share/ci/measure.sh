#!/bin/sh
# Runs the experiment and draws its verdicts into $DBDYNO_OUTPUT: junit.xml, dbdyno.sarif,
# annotations.txt, comment.md, summary.md, log.txt, and `outputs` with the exit code of `dyno run`.
# Ends with 0 whatever that is.
set -eu
set -f # words of DBDYNO_ARGUMENTS are no patterns

mkdir -p "$DBDYNO_OUTPUT"
here=$(cd "$(dirname "$0")" && pwd)
log=$DBDYNO_OUTPUT/log.txt
now=$(date -u +%Y%m%dT%H%M%SZ)


measure() { # $1: the run directory to be; leaves the exit code in `code`
    run=$1
    # shellcheck disable=SC2086
    set -- --dir "$run" $DBDYNO_ARGUMENTS
    [ -z "$DBDYNO_AGAINST" ] || set -- "$@" --against "$DBDYNO_AGAINST"
    [ -z "$DBDYNO_HISTORY" ] || set -- "$@" --history "$DBDYNO_HISTORY"
    [ "$DBDYNO_FAIL_ON_REFUTED" != true ] || set -- "$@" --strict
    [ "$DBDYNO_FAIL_ON_UNDECIDED" != true ] || set -- "$@" --fail-on-undecided
    if [ -n "$DBDYNO_AGAINST$DBDYNO_HISTORY" ]; then
        case $DBDYNO_FAIL_ON_REGRESSION in
        never) ;;
        matters) set -- "$@" --fail-on-regression ;;
        *) set -- "$@" "--fail-on-regression=$DBDYNO_FAIL_ON_REGRESSION" ;;
        esac
    fi
    {
        code=0
        dyno run "$@" -- "$DBDYNO_EXPERIMENT" 2>&1 || code=$?
        echo "$code" >"$DBDYNO_OUTPUT/code"
    } | tee "$log"
    code=$(cat "$DBDYNO_OUTPUT/code")
}

for name in junit.xml dbdyno.sarif annotations.txt comment.md report.html report.md result.json; do
    rm -f "$DBDYNO_OUTPUT/$name" # of a run before this one
done
measure "${DBDYNO_HISTORY:-$DBDYNO_OUTPUT}/ci-$now"
if [ "$code" = 4 ]; then # one run alone is worse: a second one decides
    measure "$DBDYNO_HISTORY/ci-$now-again"
fi
if [ -f "$run/manifest.json" ]; then
    dyno report --junit "$DBDYNO_OUTPUT/junit.xml" --sarif "$DBDYNO_OUTPUT/dbdyno.sarif" \
        --annotations "$DBDYNO_OUTPUT/annotations.txt" --comment "$DBDYNO_OUTPUT/comment.md" \
        -- "$run" >/dev/null || true # its code is that of the run, which `code` has
    cp "$run/report.html" "$run/report.md" "$run/result.json" "$DBDYNO_OUTPUT"
fi
if [ -n "$DBDYNO_HISTORY" ]; then
    # shellcheck disable=SC2012
    ls "$DBDYNO_HISTORY" | grep '^ci-' | sort -r | tail -n "+$((DBDYNO_HISTORY_KEEP + 1))" |
        while IFS= read -r old; do rm -rf "${DBDYNO_HISTORY:?}/$old"; done
fi
sh "$here/summary.sh" "$code" >"$DBDYNO_OUTPUT/summary.md"
printf 'exit-code=%s\nrun=%s\n' "$code" "$run" >"$DBDYNO_OUTPUT/outputs"
