"""One version everywhere, and what a package must carry."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import dbdyno
from dbdyno.execute.engine import job

ROOT = Path(__file__).parents[2]


def toml(path: str) -> dict:
    return tomllib.loads((ROOT / path).read_text())


def test_one_version_everywhere() -> None:
    version = dbdyno.__version__
    assert toml("pyproject.toml")["project"]["version"] == version
    assert toml("engine/cli/pyproject.toml")["project"]["version"] == version
    assert toml("Cargo.toml")["workspace"]["package"]["version"] == version
    assert toml("pyproject.toml")["project"]["optional-dependencies"]["engine"] == [
        f"dbdyno-engine=={version}"
    ]
    said = subprocess.run([job.find(), "--version"], capture_output=True, text=True, check=True)
    assert said.stdout.split() == ["dyno-engine", version]
    for manifest in (ROOT / "engine").glob("*/Cargo.toml"):
        package = tomllib.loads(manifest.read_text())["package"]
        assert package["version"] == {"workspace": True}, manifest


def test_the_changelog_speaks_of_this_version() -> None:
    assert f"\n## {dbdyno.__version__} " in (ROOT / "CHANGELOG.md").read_text()


def test_every_changelog_fragment_is_joined_at_a_release() -> None:
    fragments = [path for path in (ROOT / "changelog").iterdir() if path.name != ".gitignore"]
    build = [sys.executable, "-m", "towncrier", "build", "--draft", "--version", "next"]
    joined = subprocess.run(build, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for fragment in fragments:
        assert re.fullmatch(r"\+[a-z0-9-]+\.(added|changed|fixed|removed)\.md", fragment.name)
        assert " ".join(fragment.read_text().split()) in " ".join(joined.split()), fragment


def test_the_package_carries_what_it_reads() -> None:
    carried = toml("pyproject.toml")["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert carried["force-include"] == {
        "studies": "dbdyno/_studies",
        "schemas": "dbdyno/_schemas",
        "docs/glossary.md": "dbdyno/_docs/glossary.md",
        "share/ci": "dbdyno/_ci",
    }


def test_every_direct_dependency_is_locked() -> None:
    locked = {
        re.split(r"==", line)[0].lower().replace("_", "-")
        for line in (ROOT / "constraints.txt").read_text().splitlines()
        if "==" in line
    }
    project = toml("pyproject.toml")["project"]
    asked = [*project["dependencies"], *project["optional-dependencies"]["dev"]]
    names = {re.split(r"[\[>=<~! ]", line)[0].lower().replace("_", "-") for line in asked}
    assert names <= locked


def test_what_we_carry_of_others_has_its_licence() -> None:
    vendor = ROOT / "python/dbdyno/report/vendor"
    for folder in vendor.iterdir():
        assert "Copyright" in (folder / "LICENSE").read_text()
        version = (folder / "VERSION.md").read_text()
        assert re.search(r"\d+\.\d+\.\d+", version)
    assert "Apache License" in (ROOT / "LICENSE").read_text()


def test_the_readme_shows_a_study_as_it_is() -> None:
    blocks = re.findall(r"```yaml\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert blocks == [(ROOT / "studies" / "quickstart.yaml").read_text()]
