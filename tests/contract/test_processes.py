"""One place where processes start: `dbdyno.hosts`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TypeGuard

PACKAGE = Path(__file__).parents[2] / "python" / "dbdyno"

MODULES = {"subprocess", "multiprocessing", "pty"}
CALLS = ("exec", "fork", "popen", "posix_spawn", "spawn", "system")  # how names in `os` begin
NAMED = re.compile(rf"\b({'|'.join(MODULES)}|os)\b")  # what most files do not name

EXCEPTIONS = {
    "cli/labs/shell.py": "becomes the system's own client: execve",
    "cli/sysbench.py": "becomes the engine: execv",
    "cli/unprivileged/child.py": "reads files of others in a child that has given root up: fork",
    "systems/process/guardian.py": "is a program of its own, which imports nothing of dbdyno",
}

# A default of a parameter is not counted: execution hands on its own host.
OF_THIS_MACHINE = {
    "systems/external/credentials.py": "the user's command for a password may ask in the terminal",
}


def is_of(name: str, node: ast.AST) -> TypeGuard[ast.Attribute]:
    """Whether it is an attribute of that name."""
    if not isinstance(node, ast.Attribute):
        return False
    return isinstance(node.value, ast.Name) and node.value.id == name


def starts(path: Path) -> Iterator[str]:
    """What of a file starts processes, or could."""
    text = path.read_text()
    if not NAMED.search(text):
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in MODULES)
        elif isinstance(node, ast.ImportFrom):
            if node.module in MODULES:
                yield node.module
            elif node.module == "os":
                yield from (alias.name for alias in node.names if alias.name.startswith(CALLS))
        elif is_of("os", node):
            yield from (f"os.{name}" for name in [node.attr] if name.startswith(CALLS))


def test_processes_start_in_one_package() -> None:
    found = {}
    for path in PACKAGE.rglob("*.py"):
        name = path.relative_to(PACKAGE)
        if name.parts[0] != "hosts" and (what := set(starts(path))):
            found[str(name)] = what
    assert found.keys() == EXCEPTIONS.keys(), found


def test_servers_and_executions_start_nothing_past_their_host() -> None:
    found = set()
    for package in ("systems", "execute"):
        for path in (PACKAGE / package).rglob("*.py"):
            text = path.read_text()
            nodes = ast.walk(ast.parse(text)) if "LOCAL" in text else ()
            if any(is_of("LOCAL", node) for node in nodes):
                found.add(str(path.relative_to(PACKAGE)))
    assert found == OF_THIS_MACHINE.keys()
