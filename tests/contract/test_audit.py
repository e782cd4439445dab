"""`make audit`: which licences pass, and what of crates and distributions is reported."""

from __future__ import annotations

from email.message import Message
from types import SimpleNamespace

import pytest
from tools import audit


@pytest.mark.parametrize(
    ("expression", "passes"),
    [
        ("MIT", True),
        ("MIT/Apache-2.0", True),
        ("GPL-3.0 OR MIT", True),
        ("Apache-2.0 WITH LLVM-exception", True),
        ("(MIT OR GPL-2.0) AND Unicode-3.0", True),
        ("MIT AND GPL-3.0-only", False),
        ("GPL-3.0", False),
        ("AGPL-3.0 WITH x", False),
        ("MIT OR (GPL-2.0", True),
        ("", False),
        ("MIT MIT", False),
    ],
)
def test_expressions(expression: str, passes: bool) -> None:
    assert audit.allows(expression) is passes


def crate(name: str, version: str, licence: str | None) -> dict[str, object]:
    return {"name": name, "version": version, "license": licence}


def test_crates() -> None:
    found = [crate("a", "1", "MIT"), crate("a", "2", "MIT"), crate("b", "1", None)]
    said = list(audit.of_crates(found, frozenset({"c"})))
    assert [sentence.split()[1] for sentence in said] == ["b", "a", "c"]
    assert list(audit.of_crates(found[:2], frozenset({"a"}))) == []


@pytest.mark.parametrize(
    ("fields", "licence"),
    [
        ([("License-Expression", "MIT AND PSF-2.0")], "MIT AND PSF-2.0"),
        ([("Classifier", "License :: OSI Approved :: BSD License")], "BSD-3-Clause"),
        ([("License", "Apache 2.0")], "Apache-2.0"),
        ([("License", "GPLv3")], "unknown"),
        ([], "unknown"),
        (
            [
                ("Classifier", "License :: DFSG approved"),
                ("Classifier", "License :: OSI Approved :: MIT License"),
            ],
            "MIT",
        ),
    ],
)
def test_distributions(fields: list[tuple[str, str]], licence: str) -> None:
    metadata = Message()
    metadata["Name"] = "x"
    for name, value in fields:
        metadata[name] = value
    assert audit.licence_of(metadata) == licence
    one = SimpleNamespace(metadata=metadata, version="1")
    assert bool(list(audit.of_distributions([one]))) == (licence == "unknown")


def test_what_is_here_passes() -> None:
    assert list(audit.of_crates(audit.crates())) == []
