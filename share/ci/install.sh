#!/bin/sh
# Installs dbdyno into the virtual environment $DBDYNO_VENV, unless a cache has put it there.
set -eu

if "$DBDYNO_VENV/bin/dyno" --version 2>/dev/null; then
    exit 0
fi
"$DBDYNO_PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
    echo "dbdyno needs Python 3.11 or newer: name one with the input \`python\`" >&2
    exit 2
}
"$DBDYNO_PYTHON" -m venv --clear "$DBDYNO_VENV"
install() {
    "$DBDYNO_VENV/bin/python" -m pip --disable-pip-version-check install --quiet "$@"
}
if [ -f "$DBDYNO_INSTALL/pyproject.toml" ]; then
    install "$DBDYNO_INSTALL" "$DBDYNO_INSTALL/engine/cli"
elif [ -d "$DBDYNO_INSTALL" ]; then
    # Both halves from here and nowhere else; then what they depend on.
    install --no-index --no-deps --find-links "$DBDYNO_INSTALL" dbdyno dbdyno-engine
    install --find-links "$DBDYNO_INSTALL" 'dbdyno[engine]'
else
    install "$DBDYNO_INSTALL"
fi
"$DBDYNO_VENV/bin/dyno" --version
