"""Faults drawn at random on servers alone and together: what is left, lost, and found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from tools.proof.lab import trials
from tools.proof.lab.leftovers import Watch
from tools.proof.lab.setups import GALERA, GROUP, PAIRS, SETUPS, Load, Setup, missing
from tools.proof.lab.trials import Ran
from tools.proof.row import Effort, Outcome, Row, Table

FAULTS = 200
KINDS = ("kill", "pause", "stop", "restart")
STRIKES_S, TAIL_S = 20.0, 4.0  # how long faults begin and end, and the load after them
CLUSTER_STRIKES_S = 60.0  # of nodes that take their time to leave others and to join them again
QUICK_STRIKES_S, QUICK_TAIL_S = 4.0, 1.0
RUNS_MAX = 80  # whatever befalls them


@dataclass
class Tally:
    """What was seen of one set-up."""

    faults: Counter[str] = field(default_factory=Counter)
    seeds: list[int] = field(default_factory=list)
    complete: int = 0
    recounted: int = 0
    acknowledged: int = 0
    found: list[str] = field(default_factory=list)  # by audits
    void: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)  # left behind, lost, or counted differently


def measure(effort: Effort) -> Outcome:
    """Runs until enough faults have struck, the set-ups in turn."""
    setups = [setup for setup in SETUPS if not missing(setup)]
    wanted, most = (1, 1) if effort.quick else (FAULTS, RUNS_MAX)
    setups = [PAIRS[0]] if effort.quick else setups
    tallies = {setup.name: Tally() for setup in setups}
    with Watch(effort.scratch) as watch:
        for number in range(most):
            setup = setups[number % len(setups)]
            _one(effort, setup, tallies[setup.name], number + 1, watch)
            if sum(tally.faults.total() for tally in tallies.values()) >= wanted:
                break
    notes = [why for setup in SETUPS if (why := missing(setup))]
    return _outcome(effort, tallies, notes)


def load(setup: Setup, seed: int, quick: bool) -> Load:
    """A trial of that seed: faults that last a second, about a second after the one before."""
    strikes_s = CLUSTER_STRIKES_S if setup in (GALERA, GROUP) else STRIKES_S
    strikes_s, tail_s = (QUICK_STRIKES_S, QUICK_TAIL_S) if quick else (strikes_s, TAIL_S)
    every = "300ms" if quick else "1s"
    nemesis = {
        "at": "500ms",
        "do": "nemesis",
        "for": f"{strikes_s:g}s",
        "every": every,
        "hold": "1s",
        "of": list(KINDS),
    }
    return Load(seed, 0.5 + strikes_s + tail_s, faults=[nemesis])


def _one(effort: Effort, setup: Setup, tally: Tally, seed: int, watch: Watch) -> None:
    name = f"{setup.short}-{seed}"
    effort.say(f"    {setup.name}, seed {seed}")
    tally.seeds.append(seed)
    try:
        ran = trials.run(effort, setup, load(setup, seed, effort.quick), name)
    except RuntimeError as error:
        tally.wrong.append(f"seed {seed}: {error}")
        ran = None
    if ran is not None:
        _count(tally, ran, seed)
    tally.wrong += [f"seed {seed}: left behind: {one}" for one in watch.left()]


def _count(tally: Tally, ran: Ran, seed: int) -> None:
    for trial in ran.attempts:
        tally.faults.update(str(fault["do"]) for fault in trial.faults)
    for trial in ran.void:
        tally.void.append(f"seed {seed}: {trial.record['void_reason']}")
    for trial in ran.complete:
        tally.complete += 1
        tally.recounted += trial.expected is not None
        tally.acknowledged += int(trial.audit.get("acknowledged", 0))
        tally.found += [f"seed {seed}: {one}" for one in trial.alarms]
        tally.wrong += [f"seed {seed}: audit says {one}" for one in trial.disagreements]
    tally.wrong += [f"seed {seed}: {name} has no record" for name in ran.unrecorded]


def _outcome(effort: Effort, tallies: dict[str, Tally], notes: Sequence[str]) -> Outcome:
    every = tallies.values()
    faults = sum(tally.faults.total() for tally in every)
    wrong = [one for tally in every for one in tally.wrong]
    complete, recounted = (sum(getattr(t, n) for t in every) for n in ("complete", "recounted"))
    void = [one for tally in every for one in tally.void]
    rows = tuple(
        (
            *(name, str(tally.faults.total())),
            *(str(tally.faults[kind]) for kind in KINDS),
            *(f"{tally.acknowledged:,}", str(tally.complete), str(len(tally.void))),
            *(str(tally.recounted), "; ".join(tally.found) or "nothing"),
            " ".join(map(str, tally.seeds)),
        )
        for name, tally in tallies.items()
    )
    enough = faults >= FAULTS and len(tallies) == len(SETUPS) and recounted == complete
    head = (
        *("servers", "faults", *KINDS, "acknowledged commits", "trials", "void attempts"),
        *("recounted", "audits found", "seeds"),
    )
    return Outcome(
        measured=(
            f"{faults} faults in {complete} trials ({len(void)} void attempts): {len(wrong)} things"
            f" left, lost or counted differently; {recounted} audits recounted"
        ),
        met=None if effort.quick else not wrong and enough,
        tables=(Table("Faults by `do: nemesis`, and what the audits said", head, rows),),
        notes=(
            "Looked for after each run: processes, files, sockets, shared memory, mounts, loop"
            " devices, namespaces, control groups, rules of nftables.",
            *(f"Wrong: {one}." for one in wrong),
            *(f"Void: {one}." for one in void),
            *(f"Not tested here: {one}." for one in notes),
        ),
    )


ROW = Row(
    name="random_faults",
    claim="Random faults leave nothing behind, lose no trial, and are audited truly",
    how=(
        "Trials with `do: nemesis` on MariaDB, MySQL and PostgreSQL alone, on each with a replica,"
        " on a Galera cluster and on a group of MySQL: SIGKILL, SIGSTOP, a stop, a restart. After"
        " each run the machine is searched. After each trial a script that shares no code with"
        " dbdyno reads all nodes and the log of acknowledgements, and counts again."
    ),
    bar=(
        f"{FAULTS} faults: nothing left behind, a record of each trial, and each audit equal to"
        " its recount"
    ),
    measure=measure,
    timed=True,
)
