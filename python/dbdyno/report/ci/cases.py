"""What a run was asked, one case each, with its outcome and its line in the experiment's file.

A claim is a case, and so is each comparison of two versions (`dyno run --against`). An open
question is neither passed nor failed.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dbdyno.analysis.types import BETTER, REFUTED, SAME, SUPPORTED, WORSE
from dbdyno.errors import DynoError
from dbdyno.experiment.file import document
from dbdyno.report.sections.verdicts import claims, versions
from dbdyno.report.sections.verdicts.claims import ClaimView, PartView
from dbdyno.report.write import Report
from dbdyno.store.manifest import DIRECTORY, EXPERIMENT_FILE
from dbdyno.store.run import Run
from dbdyno.wording.verdicts import headline

CLAIM, COMPARISON = "claim", "comparison"  # kinds
PASSED, FAILED, OPEN = "passed", "failed", "open"  # outcomes
_OUTCOMES = {SUPPORTED: PASSED, BETTER: PASSED, SAME: PASSED, REFUTED: FAILED, WORSE: FAILED}


@dataclass(frozen=True)
class Case:
    """A question and its answer. `line` counts from 1."""

    kind: str
    name: str
    outcome: str
    verdict: str  # in the report's words
    why: str  # sentences
    line: int
    say: str = ""  # the author's words for a claim

    @property
    def title(self) -> str:
        """The question without its answer."""
        return headline.quoted(self.say, self.name)

    @property
    def headline(self) -> str:
        """The verdict, with the author's words if there are some."""
        return headline.headline(self.verdict, self.say) or self.verdict

    @property
    def told(self) -> str:
        """All of it in a line, in the author's words; empty without words."""
        return f"{self.headline} ({self.name}). {self.why}" if self.say else ""


@dataclass(frozen=True)
class Cases:
    """All cases of a run. `file`: the experiment's, relative to where `dyno` ran."""

    experiment: str
    file: str
    cases: tuple[Case, ...]

    def count(self, outcome: str) -> int:
        """How many have this outcome."""
        return sum(one.outcome == outcome for one in self.cases)


def cases(report: Report) -> Cases:
    """The cases of a run, the comparisons of versions first, as in the report."""
    head, lines = _lines(report.run.plan.spec_text)
    found = []
    compared: versions.View | None = report.views.get("versions")
    if compared is not None:
        found = [_compared(part, head) for part in compared.claim.parts]
    claimed: claims.View | None = report.views.get("claims")
    for i, claim in enumerate(claimed.claims if claimed is not None else ()):
        found.append(_claimed(claim, lines[i] if i < len(lines) else head))
    return Cases(report.run.plan.name, _file(report.run), tuple(found))


def _claimed(claim: ClaimView, line: int) -> Case:
    words = [claim.parts[0].words] if len(claim.parts) == 1 else []
    if len(claim.parts) > 1:
        words = [f"{part.at}: {part.verdict}, {part.brief}" for part in claim.parts]
    why = _sentences(*words, claim.why)
    outcome = _outcome(claim.verdict)
    return Case(CLAIM, claim.text, outcome, claim.verdict_text, why, line, claim.say)


def _compared(part: PartView, line: int) -> Case:
    name = f"{part.left} against {part.right}" + (f" at {part.at}" if part.at else "")
    why = _sentences(part.words, part.why)
    return Case(COMPARISON, name, _outcome(part.verdict), part.verdict, why, line)


def _outcome(verdict: str) -> str:
    return _OUTCOMES.get(verdict, OPEN)


def _sentences(*texts: str) -> str:
    return " ".join(f"{text[:1].upper()}{text[1:].rstrip('.')}." for text in texts if text)


def _lines(text: str) -> tuple[int, list[int]]:
    """Lines of the experiment's name and of its claims; 1 and none of a text that is no YAML."""
    try:
        root = document.parse(text, "experiment")
    except DynoError:  # a stranger's run may hold anything
        return 1, []
    name, claimed = root.mapping.get("experiment"), root.mapping.get("claims")
    return name.place.line if name else 1, [
        one.where.line for one in claimed.items
    ] if claimed else []


def _file(run: Run) -> str:
    """Where the experiment stood, below the directory that `dyno` ran in; its name, elsewhere."""
    recorded, began = (run.manifest.get(key) for key in (EXPERIMENT_FILE, DIRECTORY))
    if not isinstance(recorded, str):
        return f"{run.plan.name}.yaml"
    path = Path(recorded)
    if isinstance(began, str) and path.is_relative_to(began):
        return path.relative_to(began).as_posix()
    return path.name
