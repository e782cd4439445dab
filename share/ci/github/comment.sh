#!/bin/sh
# Posts $DBDYNO_OUTPUT/summary.md to the pull request $DBDYNO_PULL, or puts it into the comment that
# an earlier push has left there: one of $DBDYNO_AUTHOR that begins with the same line. The token is
# in the environment, where gh looks for it.
set -eu

case $DBDYNO_PULL in '' | *[!0-9]*) exit 2 ;; esac
case $DBDYNO_AUTHOR in *[!][A-Za-z0-9_-]*) exit 2 ;; esac
body=$DBDYNO_OUTPUT/summary.md
mark=$(head -n 1 "$body")
issues=repos/$GITHUB_REPOSITORY/issues
ours=".user.login == \"$DBDYNO_AUTHOR\" and (.body | startswith(\"$mark\"))"
ids=$(gh api --paginate "$issues/$DBDYNO_PULL/comments?per_page=100" --jq ".[] | select($ours) | .id")
id=$(printf '%s\n' "$ids" | head -n 1)
if [ -n "$id" ]; then
    gh api --silent --method PATCH "$issues/comments/$id" -F "body=@$body"
else
    gh api --silent --method POST "$issues/$DBDYNO_PULL/comments" -F "body=@$body"
fi
