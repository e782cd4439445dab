"""The guide works: its files are valid, and its commands run in the order of reading.

A block ```yaml that begins with `# NAME.yaml` is a file; one without a name is added to the claims
guide's experiment and checked. Lines of ```sh blocks are run, `dyno run` as short as can be. `make`
is not: its targets only have to be there.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from private_servers import binaries
from running import Place

pytestmark = pytest.mark.live

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "guide"
PAGES = sorted(GUIDE.glob("*.md"))
BLOCK = re.compile(r"^```(sh|yaml)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NAME = re.compile(r"# (\w[\w-]*\.yaml)\n")
BRIEF = " --set warmup=100ms --set duration=300ms --set interval=100ms"
FEW_ROWS = " --set workload.rows=1000"  # if there is one workload with rows of its own
# Moments and lengths of trials with faults, sooner and shorter: by file, what is written there, and
# what is tried.
SOONER = {
    "crash.yaml": {
        "at: 4s": "at: 500ms",
        "warmup: 2s": "warmup: 300ms",
        "duration: 10s": "duration: 4s",
    },
    "cut.yaml": {
        "at: 4s": "at: 500ms",
        "for: 10s": "for: 7s",  # until the others expel it, and longer
        "warmup: 1s": "warmup: 300ms",
        "duration: 24s": "duration: 11s",
    },
    "hang.yaml": {
        "at: 2s": "at: 300ms",
        "for: 2s": "for: 1s",
        "at: 6s": "at: 2s",
        "warmup: 1s": "warmup: 300ms",
        "duration: 10s": "duration: 3s",
    },
    "takeover.yaml": {"at: 3s": "at: 500ms", "duration: 10s": "duration: 5s"},
}
# What a page's reader has already: by page, then by name there, its place among the fixtures.
ALREADY = {"imported-results": {"old": "imported/sysbench-1.0"}}
FOR_A_SHELL = frozenset("|&;<>$*?`~()")
SHORT = ("--check", "--dry-run", "--resume", "--list", "--help")


def blocks(page: Path) -> list[tuple[str, str]]:
    """(language, text) of the fenced blocks of a page, in order."""
    return BLOCK.findall(page.read_text())


def files(page: Path) -> dict[str, str]:
    """Experiments that a page has its reader save."""
    return {
        found[1]: text
        for language, text in blocks(page)
        if language == "yaml" and (found := NAME.match(text))
    }


def sooner(name: str, text: str) -> str:
    """A file of a page as it is tried."""
    for written, tried in SOONER.get(name, {}).items():
        assert text.count(written) == 1, (name, written)
        text = text.replace(written, tried)
    return text


def run(line: str, there: Place) -> None:
    """Runs one line of a guide as its reader would, but quickly."""
    if line.startswith("make "):
        target = line.split()[1]
        assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE), line
        return
    if line.startswith("export "):
        return
    if line.startswith("dyno run") and not any(option in line for option in SHORT):
        experiment = there.path / line.split()[2]
        text = experiment.read_text() if experiment.exists() else "workload:"
        if "--quick" not in line:
            line += BRIEF + " --set blocks=1"
            line += FEW_ROWS if re.search(r"^workload:(?! {kind: io)", text, re.M) else ""
        # The outcome of a quick run shows, and a fault has a moment.
        elif "until:" not in text and "faults:" not in text:
            line += BRIEF
    if line.startswith("dyno try") and "--dry-run" not in line:
        line += " --time 5s --blocks 1"
    if line.startswith("dyno prove") and "--dry-run" not in line:
        line += " --time 5s --blocks 1"
    if line.startswith("dyno plan") and "--from" not in line:
        line += f"{BRIEF}{FEW_ROWS} --pilot-blocks 3 --pilot-duration 300ms"
    program, *arguments = shlex.split(line, comments=True)
    if program == "dyno" and not FOR_A_SHELL.intersection(line):
        done = there.dyno(*arguments, timeout=600)
    else:
        done = in_a_shell(line, there)
    # 1: noise hides the difference; a single block shows nothing
    answers = (0, 1) if line.startswith(("dyno plan", "dyno prove")) else (0,)
    assert done.returncode in answers, f"{line}\n{done.stdout}\n{done.stderr}"
    assert not re.search(r"ignored errors: +[1-9]", done.stdout), f"{line}\n{done.stdout}"


def in_a_shell(line: str, there: Place) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", "-c", line],
        cwd=there.path,
        env={
            **there.environment,
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        },
        capture_output=True,
        text=True,
        timeout=600,
    )


@pytest.mark.timeout(1800)  # many servers are started, one after the other
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_command_of_the_guide_works(page: Path, there: Place) -> None:
    lines = [
        line for language, text in blocks(page) if language == "sh" for line in text.splitlines()
    ]
    for name, text in files(page).items():
        there.experiment(sooner(name, text), name)
        for kind in re.findall(r"kind: (mariadb|postgres|mysql)\b", text):
            binaries(kind)
    for name, fixture in ALREADY.get(page.stem, {}).items():
        shutil.copytree(ROOT / "tests" / "fixtures" / fixture, there.path / name)
    for line in lines:
        run(line, there)
    (there.path / "scratch").exists() and (there.path / "scratch").rmdir()  # empty again
    assert there.until_clean() == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_snippet_of_the_guide_is_valid(page: Path, there: Place) -> None:
    whole = files(GUIDE / "claims.md")["claims.yaml"]
    for language, text in blocks(page):
        if language == "yaml" and not NAME.match(text):
            there.experiment(whole + text)
            done = there.dyno("run", "experiment.yaml", "--check")
            assert done.returncode == 0, f"{text}\n{done.stderr}"
