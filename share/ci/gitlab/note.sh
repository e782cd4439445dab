#!/bin/sh
# Posts $DBDYNO_OUTPUT/summary.md as a note on the merge request, or puts it into the note that an
# earlier push has left there: one of the token's owner that begins with the same line. The token
# goes by a file that only this user can read, never as an argument.
set -eu

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
(umask 077 && printf 'PRIVATE-TOKEN: %s\n' "$DBDYNO_TOKEN" >"$work/header")
body=$DBDYNO_OUTPUT/summary.md
notes=$CI_API_V4_URL/projects/$CI_PROJECT_ID/merge_requests/$CI_MERGE_REQUEST_IID/notes

call() {
    curl --silent --show-error --fail --header "@$work/header" "$@"
}

owner=$(call "$CI_API_V4_URL/user" | python3 -c 'import json, sys; print(json.load(sys.stdin)["id"])')
id=
page=1
while [ "$page" -le 20 ]; do # of a hundred notes
    call "$notes?per_page=100&page=$page" >"$work/page"
    id=$(python3 - "$owner" "$body" "$work/page" <<'EOF'
import json, pathlib, sys

owner, body, page = sys.argv[1:]
mark = pathlib.Path(body).read_text().splitlines()[0]
notes = json.loads(pathlib.Path(page).read_text())
ours = [n["id"] for n in notes if n["author"]["id"] == int(owner) and n["body"].startswith(mark)]
print(ours[0] if ours else "" if notes else "none")
EOF
    )
    [ -z "$id" ] || break
    page=$((page + 1))
done
case $id in
'' | none) call --output /dev/null --request POST --data-urlencode "body@$body" "$notes" ;;
*) call --output /dev/null --request PUT --data-urlencode "body@$body" "$notes/$id" ;;
esac
