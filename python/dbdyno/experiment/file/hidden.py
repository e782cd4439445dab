"""Commands that print passwords, out of what is kept: their text may hold the password itself.

A run directory is mailed and published. A run that goes on reads them again from the experiment.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
from ruamel.yaml.nodes import MappingNode, ScalarNode, SequenceNode

HIDDEN = "***"
KEY = "password_command"


def without_commands(text: str) -> str:
    """An experiment's text with `***` in place of each command that prints a password. What is no
    YAML comes back as it is: nothing is read out of it either."""
    if KEY not in text:
        return text
    try:
        root = YAML(typ="rt", pure=True).compose(text)
    except (YAMLError, RecursionError):
        return text
    for begin, end in sorted(set(_commands(root, set())), reverse=True):
        anchor = re.match(r"&\S+\s+", text[begin:end])
        kept = anchor[0] if anchor else ""
        left = re.search(r"\s*\Z", text[begin:end])  # a block ends behind its last line
        ends = end - len(left[0]) if left else end
        text = f'{text[:begin]}{kept}"{HIDDEN}"{text[ends:]}'
    return text


def _commands(node: Any, seen: set[int]) -> Iterator[tuple[int, int]]:
    """Where values under the key, or under a path that ends in it, begin and end."""
    if id(node) in seen:
        return
    seen.add(id(node))
    if isinstance(node, SequenceNode):
        for child in node.value:
            yield from _commands(child, seen)
    elif isinstance(node, MappingNode):
        for key, value in node.value:
            if str(key.value).rpartition(".")[2] == KEY:
                yield from _scalars(value)
            yield from _commands(value, seen)


def _scalars(node: Any) -> Iterator[tuple[int, int]]:
    if isinstance(node, SequenceNode):
        for child in node.value:
            yield from _scalars(child)
    elif isinstance(node, ScalarNode) and node.value:
        yield node.start_mark.index, node.end_mark.index
