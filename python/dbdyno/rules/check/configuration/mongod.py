"""Options of mongod and mongos that mean something else than they seem to.

Sources: the MongoDB manual, "Configuration File Options", "Journaling", and that of 3.0 on
`storage.smallFiles`.
"""

from __future__ import annotations

from collections.abc import Iterator

from dbdyno.facts.fact import Fact, Facts, Missing, setting_name
from dbdyno.rules.check.rule import Found, Rule, setting

_MANUAL = "https://www.mongodb.com/docs/manual/reference/configuration-options/"
_NAMES = {
    "configdb": ("sharding.configDB", "configdb"),
    "bind": ("net.bindIp", "bind_ip"),
    "small": ("storage.smallFiles", "storage.mmapv1.smallFiles", "smallfiles"),
}


def _first(facts: Facts, which: str) -> Iterator[Fact]:
    """The setting, whichever of its names the file has."""
    for name in _NAMES[which]:
        if fact := facts.get(f"setting.{name}"):
            yield fact


def _config_list(facts: Facts) -> Iterator[Found]:
    for fact in _first(facts, "configdb"):
        if any(character.isspace() for character in fact.text.strip()):
            tight = "".join(fact.text.split())
            hosts = tight.count(",") + 1
            yield Found(
                what=f"the list of config servers has blanks: `{fact.text}`",
                evidence=(fact,),
                effect=f"mongos reads {hosts} names of hosts, {hosts - 1} of which begin with a"
                " blank and are not found, or refuses the line",
                fix=setting(setting_name(fact), tight),
                undo=setting(setting_name(fact), fact.text),
            )


def _bind_list(facts: Facts) -> Iterator[Found]:
    for fact in _first(facts, "bind"):
        if any(character.isspace() for character in fact.text.strip()):
            tight = "".join(fact.text.split())
            yield Found(
                what=f"the list of addresses has blanks: `{fact.text}`",
                evidence=(fact,),
                effect="versions that do not trim the names do not listen on any but the first of"
                f" {tight.count(',') + 1} addresses, or do not start",
                fix=setting(setting_name(fact), tight),
                undo=setting(setting_name(fact), fact.text),
            )


def _journal(facts: Facts) -> Iterator[Found]:
    on = facts.get("setting.storage.journal.enabled") or facts.get("setting.journal")
    off = facts.get("setting.nojournal")
    if (off is None or not off.on) and (on is None or on.on):
        return
    if facts.version >= (6, 1):
        return  # the option is refused: `mongodb-option-removed` says so
    fact = on if on is not None and not on.on else off
    assert fact is not None
    name = setting_name(fact)
    yield Found(
        what="the journal is off",
        evidence=(fact,),
        effect="after a crash, up to 60 s of acknowledged writes are lost (the interval between"
        " checkpoints), and with MMAPv1 the files must be repaired; 6.1 and newer do not start",
        fix=setting(name, None),
        undo=setting(name, fact.text),
    )


def _small_files(facts: Facts) -> Iterator[Found]:
    for fact in _first(facts, "small"):
        engine = facts.get("setting.storage.engine")
        if not fact.on or (engine is not None and engine.text.lower() == "mmapv1"):
            return
        if engine is None and facts.version and facts.version < (3, 2):
            return  # MMAPv1 was the default
        if engine is None and not facts.version:
            raise Missing("version", "smallfiles works with MMAPv1 alone: see --engine")
        name = setting_name(fact)
        yield Found(
            what="smallfiles is set, and the engine is WiredTiger",
            evidence=(fact,),
            effect="it has no effect: 0 bytes are saved. Only MMAPv1, removed in 4.2, took smaller"
            " files",
            fix=setting(name, None),
            undo=setting(name, fact.text),
        )


RULES = (
    Rule(
        id="mongodb-config-list-blanks",
        pack="configuration",
        title="Blanks in a list of config servers",
        about="A comma list with blanks in `sharding.configDB` or `configdb`: the blank becomes"
        " part of a host's name.",
        severity="high",
        applies=("mongodb",),
        sources=("file",),
        needs=("options",),
        judge=_config_list,
        source=_MANUAL + "#mongodb-setting-sharding.configDB",
    ),
    Rule(
        id="mongodb-bind-list-blanks",
        pack="configuration",
        title="Blanks in a list of addresses",
        about="A comma list with blanks in `net.bindIp` or `bind_ip`.",
        severity="medium",
        applies=("mongodb",),
        sources=("file",),
        needs=("options",),
        judge=_bind_list,
        source=_MANUAL + "#mongodb-setting-net.bindIp",
    ),
    Rule(
        id="mongodb-journal-off",
        pack="configuration",
        title="The journal is off",
        about="`nojournal`, often set to save the space of preallocated journals: it gives up"
        " durability, and 6.1 and newer refuse it.",
        severity="high",
        applies=("mongodb",),
        needs=("options",),
        judge=_journal,
        source="https://www.mongodb.com/docs/v5.0/core/journaling/",
    ),
    Rule(
        id="mongodb-smallfiles-ignored",
        pack="configuration",
        title="smallfiles without MMAPv1",
        about="`smallfiles` is set to save space, and WiredTiger ignores it.",
        severity="low",
        applies=("mongodb <4.2",),
        needs=("options",),
        judge=_small_files,
        source="https://www.mongodb.com/docs/v3.0/reference/configuration-options/",
    ),
)
