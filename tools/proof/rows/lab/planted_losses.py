"""Losses planted into trials, which audits must find, and trials without any, in which they must
find nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tools.proof.lab import shim, trials
from tools.proof.lab.plants import EVERY, Plant, plants
from tools.proof.lab.setups import SETUPS, Load, Setup, missing
from tools.proof.lab.trials import COUNTED, Trial
from tools.proof.row import Effort, Outcome, Row, Table

CLEAN = 50  # trials, dealt over the set-ups
CLEAN_S = 4.0
QUICK_PLANTS, QUICK_CLEAN_S = ("swallowed commits",), 1.0


@dataclass(frozen=True)
class Found:
    """A plant and what its audit said."""

    plant: Plant
    planted: Mapping[str, int]
    trial: Trial

    @property
    def name(self) -> str:
        """In notes."""
        return f"{self.plant.setup.name}, {self.plant.what}"

    @property
    def wrong(self) -> Sequence[str]:
        """What is not as planted; empty if all is."""
        said = [] if any(self.planted.values()) else ["nothing was planted"]
        for name in COUNTED:
            found, wanted = self.trial.audit.get(name), self.planted.get(name, 0)
            if found != wanted:
                said.append(f"{found} {name} for {wanted}")
        return [*said, *(f"audit says {one}" for one in self.trial.disagreements)]


def measure(effort: Effort) -> Outcome:
    """All plants, then the clean trials."""
    found, wrong = [], []
    for number, plant in enumerate(_chosen(effort), 1):
        effort.say(f"    {plant.setup.name}: {plant.what}")
        try:
            found.append(_planted(effort, plant, number))
        except RuntimeError as error:
            wrong.append(f"{plant.setup.name}, {plant.what}: {error}")
    setups = [setup for setup in SETUPS if not missing(setup)]
    setups = setups[:1] if effort.quick else setups
    total = 1 if effort.quick else CLEAN
    clean = {}
    for number, setup in enumerate(setups):
        blocks = total // len(setups) + (number < total % len(setups))
        effort.say(f"    {setup.name}: {blocks} clean trials")
        clean[setup.name] = _clean(effort, setup, blocks, number + 1)
    return _outcome(effort, found, clean, wrong)


def _chosen(effort: Effort) -> Iterator[Plant]:
    for plant in plants():
        if plant.missing:
            continue
        if not effort.quick or (plant.what in QUICK_PLANTS and plant.setup == SETUPS[0]):
            yield plant


def _planted(effort: Effort, plant: Plant, seed: int) -> Found:
    """RuntimeError if its trial does not count."""
    swallow = None
    if plant.swallows:
        protocol = "postgres" if plant.setup.kind == "postgres" else "mysql"
        swallow = {"protocol": protocol, "every": EVERY[effort.quick], "seed": seed}
    load = plant.load(seed, effort.quick)
    ran = trials.run(effort, plant.setup, load, plant.name, swallow)
    if len(ran.attempts) != 1 or not ran.complete:
        reasons = "; ".join(str(trial.record["void_reason"]) for trial in ran.void)
        raise RuntimeError(f"{len(ran.void)} void attempts: {reasons}")
    [trial] = ran.complete
    if trial.expected is None:
        raise RuntimeError(f"its nodes could not be read: {trial.nodes}")
    if plant.swallows:
        lost = shim.swallowed(trials.swallowed_log(effort, plant.name))
        return Found(plant, {"lost": lost}, trial)
    return Found(plant, plant.planted(trial), trial)


def _clean(effort: Effort, setup: Setup, blocks: int, seed: int) -> list[Trial]:
    length_s = QUICK_CLEAN_S if effort.quick else CLEAN_S
    load = Load(seed, length_s, blocks=blocks)
    ran = trials.run(effort, setup, load, f"clean-{setup.short}")
    return list(ran.attempts)


def _outcome(
    effort: Effort,
    found: Sequence[Found],
    clean: dict[str, list[Trial]],
    wrong: Sequence[str],
) -> Outcome:
    every = [trial for attempts in clean.values() for trial in attempts]
    counted = [trial for trial in every if trial.is_complete]
    alarms = [f"{name}: {one}" for name, of in clean.items() for t in of for one in t.alarms]
    differ = [f"{name}: {one}" for name, of in clean.items() for t in of for one in t.disagreements]
    exact = sum(not one.wrong for one in found)
    planted = sum(max(one.planted.values()) for one in found)
    problems = [*wrong, *differ]
    problems += [
        f"{one.plant.setup.name}, {one.plant.what}: {w}" for one in found for w in one.wrong
    ]
    wanted = [plant for plant in plants() if not effort.quick]
    recounted = all(trial.expected is not None for trial in counted)
    complete = len(found) == len(wanted) and len(counted) >= CLEAN and recounted
    return Outcome(
        measured=(
            f"{exact} of {len(found) + len(wrong)} plants found with their exact number"
            f" ({planted:,} transactions); {len(alarms)} alarms in {len(counted)} clean trials"
        ),
        met=None if effort.quick else complete and not problems and not alarms,
        tables=(
            Table(
                "Planted",
                ("servers", "plant", "acknowledged", "planted", "known from", *COUNTED),
                tuple(map(_plant_row, found)),
            ),
            Table(
                "Clean trials",
                ("servers", "trials", "void attempts", "acknowledged", "recounted", "alarms"),
                tuple(_clean_row(name, of) for name, of in clean.items()),
            ),
        ),
        notes=(
            f"Swallowed commits: a relay answers one in {EVERY[effort.quick]:,} COMMITs itself and"
            " has the server roll back. Skipped events: a replica is told that it has 50"
            " transactions that it has not. Early promotion: a replica leaves its primary and takes"
            " writes while the load goes on at the primary. Unlogged delete: 20 rows go from one"
            " node and stay at the others. Crash without durability: SIGKILL under `durability:"
            " none`. Power cut without flushes: server and disk end under `durability:"
            " os_crash_unsafe` (MariaDB and MySQL: `innodb_flush_log_at_trx_commit = 2` and"
            " `sync_binlog = 0`), and the disk forgets what was not flushed.",
            "A standby of PostgreSQL follows its primary's blocks, and cannot skip a transaction.",
            *(f"Wrong: {one}." for one in problems),
            *(f"Alarm: {one}." for one in alarms),
            *(f"Not tested here: {why}." for why in _untested()),
        ),
    )


def _untested() -> list[str]:
    """What cannot be had here, each once."""
    every = [*map(missing, SETUPS), *(plant.missing for plant in plants())]
    return list(dict.fromkeys(filter(None, every)))


def _plant_row(one: Found) -> tuple[str, ...]:
    audit = one.trial.audit
    planted = ", ".join(f"{count} {name}" for name, count in one.planted.items())
    return (
        *(one.plant.setup.name, one.plant.what, f"{audit.get('acknowledged', 0):,}"),
        *(planted, one.plant.by),
        *(str(audit.get(name)) for name in COUNTED),
    )


def _clean_row(name: str, attempts: Sequence[Trial]) -> tuple[str, ...]:
    counted = [trial for trial in attempts if trial.is_complete]
    acknowledged = sum(int(trial.audit.get("acknowledged", 0)) for trial in counted)
    alarms = [one for trial in counted for one in trial.alarms]
    return (
        *(name, str(len(counted)), str(len(attempts) - len(counted)), f"{acknowledged:,}"),
        *(str(sum(t.expected is not None for t in counted)), "; ".join(alarms) or "none"),
    )


ROW = Row(
    name="planted_losses",
    claim="The audit finds planted losses, each one, and invents none",
    how=(
        "Losses are planted into trials under load: a relay that acknowledges and drops commits,"
        " replicas that skip events or are promoted early, rows deleted from one node, a crash"
        " without durability, a power cut without flushes. Their number is known without the"
        " audit, and a script that shares no code with dbdyno reads all nodes and the log of"
        " acknowledgements, and counts again."
        f" {CLEAN} trials have nothing planted."
    ),
    bar="each plant found with its exact number, and nothing else; nothing in clean trials",
    measure=measure,
    timed=True,
)
