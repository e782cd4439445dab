"""Servers that ask for passwords in every way, or let anybody in and answer with anything."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tools.attack.commands import NAMES, Case, attack
from tools.attack.row import Effort, Row, Tally
from tools.attack.servers import mysql, mysql_answers, postgres, postgres_answers
from tools.attack.servers.listening import PASSWORD, USER, Hostile, Peer, hostile

SECRET_VARIABLE = "HOSTILE_PASSWORD"
FILE = "hostile.yaml"
_PLACE = "SERVER"  # in commands: host and port of the case's server
_LOGIN = ("--password-env", SECRET_VARIABLE)
_EXPERIMENT = """
experiment: hostile
question: Does a server that lies do any harm?
targets: {db: {url: "URL", tls: prefer, password_env: HOSTILE_PASSWORD}}
workload: {kind: oltp, preset: read_write, tables: 1, rows: 100, sessions: 2}
blocks: 2
warmup: 100ms
duration: 400ms
interval: 100ms
"""


@dataclass(frozen=True)
class Protocol:
    """How commands reach a server, and what it may do to them."""

    name: str
    modes: dict[str, Callable[[Peer], None]]
    commands: tuple[tuple[str, ...], ...]


def _modes(
    logins: dict[str, Callable[[Peer], None]],
    answers: dict[str, Callable[[bool, Peer], None]],
) -> dict[str, Callable[[Peer], None]]:
    """Ways to log in, and answers to the first statement or to all but that."""
    found = {f"login: {name}": talk for name, talk in logins.items()}
    for name, talk in answers.items():
        found[f"first answer: {name}"] = partial(talk, True)
        found[f"later answers: {name}"] = partial(talk, False)
    return found


def _mysql_answer(answer: mysql_answers.Answer, first: bool, peer: Peer) -> None:
    mysql_answers.talk(answer, mysql.Line(peer), first=first)


def _postgres_answer(answer: postgres_answers.Answer, first: bool, peer: Peer) -> None:
    postgres_answers.talk(answer, postgres.Line(peer), first=first)


def _sysbench(driver: str) -> tuple[str, ...]:
    return (
        "sysbench", "oltp_read_write", f"--db-driver={driver}", f"--{driver}-host=127.0.0.1",
        f"--{driver}-port=PORT", f"--{driver}-user={USER}", f"--{driver}-password={PASSWORD}",
        f"--{driver}-db=shop", "--time=1", "--threads=2",
    )  # fmt: skip


_BOTH = (
    ("run", FILE, "--dir", "run"),
    ("run", FILE, "--dry-run"),
    ("plan", FILE, "--detect", "5%"),
)
PROTOCOLS = (
    Protocol(
        "mysql",
        _modes(
            {
                **{name: partial(mysql.talk, mode) for name, mode in mysql.DEMANDS.items()},
                **{mode.__name__: partial(mysql.talk, mode) for mode in mysql.TRICKS},
            },
            {
                answer.__name__: partial(_mysql_answer, answer)
                for answer in (*mysql_answers.ANSWERS, *mysql_answers.SLOW)
            },
        ),
        (
            *_BOTH,
            ("digest", f"mysql://{USER}@{_PLACE}/shop", "--for", "1s", "--every", "500ms", *_LOGIN),
            ("model", "innodb-growth", "--from", f"mysql://{USER}@{_PLACE}/shop", *_LOGIN),
            (*_sysbench("mysql"), "run"),
            (*_sysbench("mysql"), "prepare"),
        ),
    ),
    Protocol(
        "postgres",
        _modes(
            {
                **{name: partial(postgres.talk, mode) for name, mode in postgres.DEMANDS.items()},
                **{mode.__name__: partial(postgres.talk, mode) for mode in postgres.TRICKS},
            },
            {
                answer.__name__: partial(_postgres_answer, answer)
                for answer in (*postgres_answers.ANSWERS, *postgres_answers.SLOW)
            },
        ),
        (
            *_BOTH,
            ("digest", f"postgres://{USER}@{_PLACE}/shop", "--for", "1s", "--every", "500ms",
             *_LOGIN),
            (*_sysbench("pgsql"), "run"),
            (*_sysbench("pgsql"), "prepare"),
        ),
    ),
)  # fmt: skip


def cases() -> Iterator[Case]:
    """Every server against every command that connects."""
    for protocol in PROTOCOLS:
        for name, talk in protocol.modes.items():
            for command in protocol.commands:
                if command[-1] == "prepare" and name.endswith("answer: silence"):
                    continue  # a server that builds an index is silent for hours, by right
                words = " ".join(command[:2])
                put = partial(_listening, protocol.name, talk)
                yield Case(f"{protocol.name}, {name}, {words}", put, (command,))


@contextmanager
def _listening(
    protocol: str, talk: Callable[[Peer], None], place: Path
) -> Iterator[Callable[[], list[str]]]:
    with hostile(talk, "plain") as server:
        url = f"{protocol}://{USER}@{server.place}/shop"
        (place / FILE).write_text(_EXPERIMENT.replace("URL", url))
        (place / NAMES).write_text(json.dumps({_PLACE: server.place, "PORT": str(server.port)}))
        yield partial(_learned, server)


def _learned(server: Hostile) -> list[str]:
    """What it must not know now."""
    found = []
    if server.learned.password:
        found.append("the server has the password")
    if b"root:" in server.learned.heard:
        found.append("the server has a file of ours")
    return found


def _run(effort: Effort) -> Tally:
    os.environ[SECRET_VARIABLE] = PASSWORD
    return attack(cases(), effort)


ROW = Row(
    name="hostile_servers",
    attack="servers that ask for passwords in every way, or let anybody in and answer anything",
    survived="every command that connects ends by itself, within a minute and 1 GiB, names the"
    " server, and neither password nor local file is revealed, nor a terminal's escape printed"
    " (not tried: `prepare` on a silent server, which may be building an index)",
    run=_run,
)
