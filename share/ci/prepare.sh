#!/bin/sh
# Prints name=value lines: a name that is safe in keys and comments, the output directory, and the
# key of a cached installation, which changes with whatever the installation is made of.
set -eu

digest() {
    cksum | tr ' ' '-'
}

name=$(printf %s "$DBDYNO_NAME" | tr -c 'A-Za-z0-9._-' '-')
python=$("$DBDYNO_PYTHON" -c 'import sys; print("%d.%d.%d" % sys.version_info[:3])')
if [ "$DBDYNO_INSTALL" = none ]; then
    of=none
elif [ -f "$DBDYNO_INSTALL/pyproject.toml" ]; then
    of=checkout-$(git -C "$DBDYNO_INSTALL" rev-parse HEAD)
elif [ -d "$DBDYNO_INSTALL" ]; then
    of=wheels-$(cd "$DBDYNO_INSTALL" && cksum -- *.whl | digest)
else
    case $DBDYNO_INSTALL in
    *==*) since= ;;
    *) since=$(date -u +%G-W%V) ;; # a requirement without a version is installed anew each week
    esac
    of=requirement-$(printf %s "$DBDYNO_INSTALL" | digest)$since
fi
printf 'name=%s\n' "${name:-dbdyno}"
printf 'output=%s\n' "$(printf %s "$DBDYNO_OUTPUT" | tr -d '\n')"
printf 'key=dbdyno-install-%s-%s-py%s-%s\n' "$(uname -s)" "$(uname -m)" "$python" "$of"
