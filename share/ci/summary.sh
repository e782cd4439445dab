#!/bin/sh
# Prints the comment on a pull request: a first line to find it again, the exit code ($1) in words,
# what the gate said, and the head of the report.
set -eu

case $1 in
0) words='passed' ;;
1) words='failed: worse, or a claim is refuted' ;;
2) words='no verdict' ;;
3) words='interrupted' ;;
4) words='regression suspected: measure once more' ;;
*) words="ended with $1" ;;
esac
if [ -f "$DBDYNO_OUTPUT/comment.md" ]; then
    said=$(grep -E '^(regression|no regression|--fail-on-|dyno: )' "$DBDYNO_OUTPUT/log.txt" || true)
else # nothing was measured: the log has the reason
    said=$(cat "$DBDYNO_OUTPUT/log.txt")
fi
said=$(printf %s "$said" | tail -n 20 | LC_ALL=C tr -d '`\000-\010\013-\037\177-\377' | cut -c 1-500)
name=$(printf %s "$DBDYNO_NAME" | tr -c 'A-Za-z0-9._-' '-')
printf '<!-- dbdyno:%s -->\n**dbdyno %s: %s**\n' "$name" "$name" "$words"
if [ -n "$said" ]; then
    # A fence holds whatever has no backticks: no mention, link or command in it.
    printf '\n```text\n%s\n```\n' "$said"
fi
if [ -f "$DBDYNO_OUTPUT/comment.md" ]; then
    printf '\n'
    cat "$DBDYNO_OUTPUT/comment.md"
fi
