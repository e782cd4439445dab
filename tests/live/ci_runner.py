"""Plays the runners of GitHub and GitLab: reads a recipe, and runs its steps as they would.

Only what the recipes use is played, and anything else is an error: a test must not pass because a
step was not understood.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

ROOT = Path(__file__).parents[2]
ACTION = ROOT / "share" / "ci" / "github" / "action.yml"
TEMPLATE = ROOT / "share" / "ci" / "gitlab" / "dbdyno.gitlab-ci.yml"
_EXPRESSION = re.compile(r"\$\{\{(.*?)\}\}")
_PINNED = re.compile(r"actions/(cache/restore|cache/save|upload-artifact)@[0-9a-f]{40}")


@dataclass
class GitHub:
    """One workflow run of a pull request. `temp`: where the runner keeps its own files and, from
    one run to the next, its cache and artifacts."""

    workspace: Path
    temp: Path
    environment: Mapping[str, str]
    inputs: Mapping[str, str]
    number: int = 1
    steps: dict[str, dict[str, str]] = field(default_factory=dict)
    log: str = ""

    def run(self) -> int:
        """All steps; the exit code of the one that failed, else 0. As in a job, later steps run
        after a failure only if they ask for it."""
        action = YAML(typ="safe").load(ACTION)
        defaults = {name: one.get("default", "") for name, one in action["inputs"].items()}
        assert set(self.inputs) <= set(defaults)
        self.inputs = {name: self._text(text) for name, text in {**defaults, **self.inputs}.items()}
        assert action["runs"]["using"] == "composite"
        code = 0
        for step in action["runs"]["steps"]:
            if code and "cancelled()" not in str(step.get("if", "")):
                continue
            if not self._holds(step.get("if", "true")):
                continue
            code = self._step(step) or code
        return code

    def _step(self, step: Mapping[str, Any]) -> int:
        assert set(step) <= {"id", "if", "shell", "env", "run", "uses", "with"}
        outputs = self.steps.setdefault(step.get("id", ""), {})
        if "uses" in step:
            assert _PINNED.fullmatch(step["uses"]), step["uses"]
            values = {name: self._text(text) for name, text in step["with"].items()}
            self._use(step["uses"].split("@")[0], values, outputs)
            return 0
        assert "${{" not in step["run"], "inputs reach scripts by the environment only"
        files = {name: self.temp / name for name in ("OUTPUT", "PATH", "STEP_SUMMARY")}
        files["OUTPUT"].write_text("")
        paths = files["PATH"].read_text().splitlines() if files["PATH"].exists() else []
        done = subprocess.run(
            [step["shell"], "-e", "-c", step["run"]],
            cwd=self.workspace,
            env={
                **self.environment,
                **{name: self._text(text) for name, text in step.get("env", {}).items()},
                **{f"GITHUB_{name}": str(file) for name, file in files.items()},
                "GITHUB_ACTION_PATH": str(ACTION.parent),
                "GITHUB_REPOSITORY": "o/r",
                "PATH": ":".join([*reversed(paths), self.environment["PATH"]]),
            },
            capture_output=True,
            text=True,
            timeout=480,
        )
        self.log += done.stdout + done.stderr
        for line in files["OUTPUT"].read_text().splitlines():
            name, equals, value = line.partition("=")
            assert equals, f"{line!r} is no output"
            outputs[name] = value
        return done.returncode

    def _use(self, action: str, values: Mapping[str, str], outputs: dict[str, str]) -> None:
        if action == "actions/upload-artifact":
            assert re.fullmatch(r'[^":<>|*?\r\n\\/]+', values["name"])  # GitHub refuses these
            for line in filter(None, values["path"].splitlines()):
                if (self.workspace / line).exists():
                    self._copy(self.workspace / line, self.temp / "artifacts" / line)
            return
        caches, place = self.temp / "cache", self.workspace / values["path"]
        assert re.fullmatch(r"[^,]{1,512}", values["key"])
        if action == "actions/cache/save":
            if place.exists() and not (caches / values["key"]).exists():
                self._copy(place, caches / values["key"])
            return
        caches.mkdir(exist_ok=True)
        there = sorted(caches.iterdir(), key=lambda one: one.stat().st_ctime_ns, reverse=True)
        prefixes = values.get("restore-keys", "").splitlines()
        exact = [one for one in there if one.name == values["key"]]
        alike = [one for prefix in prefixes for one in there if one.name.startswith(prefix)]
        for found in (exact + alike)[:1]:
            self._copy(found, place)
        outputs["cache-hit"] = "true" if exact else "false"

    @staticmethod
    def _copy(source: Path, to: Path) -> None:
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(source, to, dirs_exist_ok=True)

    def _holds(self, condition: str) -> bool:
        bare = condition.strip().removeprefix("${{").removesuffix("}}")
        return all(self._term(term.strip()) for term in bare.split("&&"))

    def _term(self, term: str) -> bool:
        if term in ("true", "!cancelled()"):
            return True
        left, sign, right = re.split(r"\s*(==|!=)\s*", term)
        return (self._value(left) == self._value(right)) == (sign == "==")

    def _text(self, text: Any) -> str:
        return _EXPRESSION.sub(lambda found: self._value(found[1].strip()), str(text))

    def _value(self, name: str) -> str:
        if name.startswith("'"):
            return name.strip("'")
        kind, _, rest = name.partition(".")
        if kind == "inputs":
            return self.inputs[rest]
        if kind == "steps":
            step, outputs, output = rest.split(".")
            assert outputs == "outputs"
            return self.steps.get(step, {}).get(output, "")
        return {
            "github.token": "s3cret",
            "github.event_name": "pull_request",
            "github.event.pull_request.number": "7",
            "github.run_id": str(self.number),
            "github.run_attempt": "1",
            "runner.temp": str(self.temp),
        }[name]


@dataclass
class GitLab:
    """One job of a merge request that extends the template."""

    workspace: Path
    environment: Mapping[str, str]
    variables: Mapping[str, str]
    log: str = ""

    def run(self) -> int:
        """The script in one shell, then after_script in another; the code of the first."""
        job = YAML(typ="safe").load(TEMPLATE)[".dbdyno"]
        known = {"image", "variables", "cache", "script", "after_script", "artifacts"}
        assert set(job) == known
        given = {"CI_JOB_NAME_SLUG": "gate", "CI_PROJECT_DIR": str(self.workspace)}
        given |= {"CI_API_V4_URL": "https://gitlab.example/api/v4", "CI_PROJECT_ID": "5"}
        values = {**given, **{name: str(text) for name, text in job["variables"].items()}}
        values |= self.variables
        expanded = {
            name: re.sub(r"\$(CI_\w+)", lambda found: values[found[1]], text)
            for name, text in values.items()
        }
        code = self._shell(job["script"], expanded)
        self._shell(job["after_script"], expanded)
        report = self.workspace / job["artifacts"]["reports"]["junit"]
        assert job["artifacts"]["when"] == "always" and report.suffix == ".xml"
        return code

    def _shell(self, lines: list[str], variables: Mapping[str, str]) -> int:
        done = subprocess.run(
            ["sh", "-e", "-c", "\n".join(lines)],
            cwd=self.workspace,
            env={**self.environment, **variables},
            capture_output=True,
            text=True,
            timeout=480,
        )
        self.log += done.stdout + done.stderr
        return done.returncode
