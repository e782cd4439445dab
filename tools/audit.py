"""Licences and duplicates of all that dbdyno is built of: `make audit`, a part of `make lint`.

What is read is on the machine already (`cargo metadata`, installed distributions), so that it works
without a network. Known vulnerabilities are in databases of others: where `cargo-audit` and
`pip-audit` are installed they are asked too. Why so: docs/decisions/audits.md.
"""

from __future__ import annotations

import importlib.metadata
import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
ALLOWED = frozenset(
    """0BSD Apache-2.0 BSD-2-Clause BSD-3-Clause BSL-1.0 CC0-1.0 ISC MIT MIT-0 PSF-2.0 Unicode-3.0
    Unlicense Zlib""".split()  # noqa: SIM905
)
# Tools for tests: files under the MPL that are used as they are, and go into no package.
TOOLS = {"certifi": "MPL-2.0", "hypothesis": "MPL-2.0", "pathspec": "MPL-2.0"}
# Crates in two versions, since crates in between ask for both.
TWICE = frozenset(
    """base64 bit-vec block-buffer const-oid cpufeatures crypto-common digest fallible-iterator
    getrandom nom rand rand_core sha2 syn""".split()  # noqa: SIM905
)
# Python's older words for licences -> SPDX.
WORDS = {
    "apache": "Apache-2.0",
    "bsd": "BSD-3-Clause",
    "mit": "MIT",
    "mozilla": "MPL-2.0",
    "mpl": "MPL-2.0",
}


def allows(expression: str, allowed: frozenset[str] = ALLOWED) -> bool:
    """Whether an SPDX expression (AND, OR, WITH, parentheses; `/` as crates once wrote OR) can be
    met by allowed licences. An exception only adds to what its licence permits."""
    tokens = re.findall(r"[()]|[\w.+-]+", expression.replace("/", " OR "))

    def one() -> bool:
        token = tokens.pop(0) if tokens else ""
        if token == "(":
            found = either()
            if tokens[:1] == [")"]:
                tokens.pop(0)
            return found
        if tokens[:1] == ["WITH"]:
            del tokens[:2]
        return token in allowed

    def both() -> bool:
        found = one()
        while tokens[:1] == ["AND"]:
            tokens.pop(0)
            found = one() and found
        return found

    def either() -> bool:
        found = both()
        while tokens[:1] == ["OR"]:
            tokens.pop(0)
            found = both() or found
        return found

    return either() and not tokens


def crates() -> list[Mapping[str, Any]]:
    """All crates of the engine on this platform."""
    host = subprocess.run(["rustc", "-vV"], capture_output=True, text=True, check=True).stdout
    platform = next(line[6:] for line in host.splitlines() if line.startswith("host: "))
    command = ["cargo", "metadata", "--format-version=1", "--locked"]
    done = subprocess.run(
        [*command, f"--filter-platform={platform}"],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    found: list[Mapping[str, Any]] = json.loads(done.stdout)["packages"]
    return [crate for crate in found if crate["source"]]


def of_crates(found: list[Mapping[str, Any]], twice: frozenset[str] = TWICE) -> Iterator[str]:
    """What is wrong with them, in sentences."""
    for crate in found:
        if not allows(crate["license"] or ""):
            yield f"crate {crate['name']} {crate['version']}: licence {crate['license']}"
    counts = Counter(crate["name"] for crate in found)
    for name in sorted(name for name, count in counts.items() if count > 1 and name not in twice):
        yield f"crate {name} is there in {counts[name]} versions: agree on one, or list it in TWICE"
    for name in sorted(twice - {name for name, count in counts.items() if count > 1}):
        yield f"crate {name} is there once: take it out of TWICE"


def of_distributions(
    found: Iterator[importlib.metadata.Distribution] | list[Any],
) -> Iterator[str]:
    """The same of installed Python distributions."""
    for each in found:
        name, licence = each.metadata["Name"], licence_of(each.metadata)
        if not allows(licence) and TOOLS.get(name) != licence:
            yield f"distribution {name} {each.version}: licence {licence or 'unknown'}"


def licence_of(metadata: Any) -> str:
    """In SPDX: the expression, else what words and classifiers come to; `unknown` if nothing."""
    if metadata.get("License-Expression"):
        return str(metadata["License-Expression"])
    classifiers = [text for text in metadata.get_all("Classifier") or [] if "License ::" in text]
    said = [text.split("::")[-1].strip() for text in classifiers]
    said = [text for text in said if text != "DFSG approved"] or [metadata.get("License") or ""]
    found = (next((w for w in re.findall("[a-z]+", one.lower()) if w in WORDS), "") for one in said)
    return " AND ".join(WORDS.get(word, "unknown") for word in found)


def advisories() -> Iterator[str]:
    """What databases of known vulnerabilities say, if there are programs that ask them."""
    for command in (["cargo-audit", "audit"], ["pip-audit", "--requirement", "constraints.txt"]):
        if shutil.which(command[0]) is None:
            print(f"{command[0]} is not installed: known vulnerabilities are not looked up")
        elif subprocess.run(command, cwd=ROOT, check=False).returncode != 0:
            yield f"{command[0]} found something, or could not ask: see above"


def main() -> int:
    """All of it; 1 if something is wrong."""
    wrong = [
        *of_crates(crates()),
        *of_distributions(list(importlib.metadata.distributions())),
        *advisories(),
    ]
    for sentence in wrong:
        print(sentence, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
