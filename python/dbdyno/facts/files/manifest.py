"""Kubernetes manifests: objects and every value in them, with its place."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dbdyno.experiment.file import document
from dbdyno.experiment.file.document import Node
from dbdyno.facts.fact import Facts
from dbdyno.facts.files import text
from dbdyno.facts.gathered import Gathered
from dbdyno.facts.secret import HIDDEN

_PRIVATE = re.compile(
    r"(^|\.)(env|args|command|data|stringData|binaryData|annotations)(\.|\[|$)", re.IGNORECASE
)
_SIGN = re.compile(r"^apiVersion\s*:", re.M)


def detect(path: Path, content: str) -> bool:
    """An object says which version of which API it is of."""
    return bool(_SIGN.search(content)) and "kind:" in content


def read(path: Path, found: Gathered) -> Facts:
    """Tables `objects` (object, kind, api, name, namespace, place) and `fields` (object, path,
    value, place). Of Secrets nothing is collected, and of other objects no variables, arguments or
    embedded files."""
    objects, fields = [], []
    for number, root in enumerate(document.parse_all(text.read(path), path)):
        top = root.mapping
        kind = _text(top.get("kind"))
        about = top["metadata"].mapping if "metadata" in top else {}
        objects.append(
            {
                "object": number,
                "kind": kind,
                "api": _text(top.get("apiVersion")),
                "name": _text(about.get("name")),
                "namespace": _text(about.get("namespace")),
                "place": str(root.where),
            }
        )
        if kind != "Secret":
            fields += [{"object": number, **field} for field in _fields(root, "")]
    found.table("objects", objects, str(path))
    found.table("fields", fields, str(path))
    return found.facts(str(path), "manifest", "kubernetes")


def _fields(node: Node, path: str) -> Iterator[dict[str, Any]]:
    """Everything below: empty mappings too, since `emptyDir: {}` says something."""
    for key, child in node.mapping.items():
        yield from _fields(child, f"{path}.{key}" if path else key)
    for index, child in enumerate(node.items):
        yield from _fields(child, f"{path}[{index}]")
    if not node.mapping and not node.items:
        value = node.text if node.is_scalar and node.value is not None else None
        if value and (_PRIVATE.search(path) or "\n" in value):
            value = HIDDEN  # variables, arguments and embedded files may hold passwords
        yield {"path": path, "name": path.rpartition(".")[2], "value": value,
               "place": str(node.place)}  # fmt: skip


def _text(node: Node | None) -> str:
    return node.text if node is not None else ""
