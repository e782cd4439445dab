"""An external target: what may be written for one, and what may not.

dbdyno does not start such a server, so words that shape a managed server (`memory`, `durability`,
`basedir`...) are refused: it is measured unchanged, except for `config:` where `may.set_global`
allows that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dbdyno import kinds
from dbdyno.errors import DynoError, Where
from dbdyno.experiment.file.document import Node
from dbdyno.experiment.file.names import listed
from dbdyno.experiment.model import TargetModel
from dbdyno.experiment.targets import server_url
from dbdyno.experiment.targets.permissions import MayModel
from dbdyno.experiment.targets.read_only import session
from dbdyno.experiment.targets.server_url import ServerUrl
from dbdyno.experiment.types import Credentials, May

PASSWORD_KEYS = ("password_env", "password_file", "password_command", "defaults_group")
LOGIN_KEYS = ("cleartext_password", "server_public_key")
KEYS = ("url", "nodes", *PASSWORD_KEYS, *LOGIN_KEYS, "may", "data", "host")
OURS_ONLY = {
    "basedir": "it names programs to start",
    "version": "it is of the version that it is",
    "memory": "it would have to be restarted with it",
    "durability": "it keeps its own",
    "transport": "its URL says how it is reached",
    "instances": "each external server has its own URL",
    "topology": "its servers are wired as they are",
    "limits": "dbdyno limits only what it starts",
    "volume": "its data directory stays where it is",
}
HAS_URL = tuple(name for name, kind in kinds.KINDS.items() if kind.schemes)


def kind_of(model: TargetModel, node: Node) -> str | None:
    """The kind as written, else as the URL's scheme says."""
    if model.kind is not None or (model.url is None and model.nodes is None):
        return model.kind
    return _urls(model, node)[0].kinds[0]


def fields(name: str, model: TargetModel, node: Node, kind: str) -> dict[str, Any]:
    """The fields of a `Target` that only an external server has, and its `tls`. DynoError, with
    its place, for what cannot be meant."""
    if model.url is None and model.nodes is None:
        _refuse_without_url(name, node)
        return {"tls": model.tls or "prefer"}
    urls = _urls(model, node)
    _check_kind(name, kind, urls, node)
    _refuse_ours(name, node)
    _refuse_files(name, kind, node)
    _check_session(name, kind, node)
    may = model.may or MayModel.model_validate({})
    if model.config and not may.set_global:
        raise DynoError(
            f"target `{name}` is an external server: its settings are not dbdyno's to change",
            where=node.mapping["config"].place,
            cause="`may.set_global` is not given",
            fix="remove `config:`, or allow it: `may: {set_global: yes}`; the run restores the old "
            "values at its end",
        )
    written = model.nodes.write if model.nodes else model.url
    return {
        "url": written,
        "read_urls": tuple(model.nodes.read) if model.nodes else (),
        "credentials": _credentials(name, model, node, kind),
        "may": May(**may.model_dump()),
        "existing": _existing(name, model, urls[0], kind, node),
        "tls": _tls(name, model, urls, node),
        "host": model.host,
    }


def _tls(name: str, model: TargetModel, urls: Sequence[ServerUrl], node: Node) -> str:
    is_near = all(url.on_this_machine for url in urls)
    by_scheme = urls[0].tls
    if by_scheme is None:
        return model.tls or server_url.usual_tls(urls[0], is_near)
    if any(url.tls != by_scheme for url in urls):
        raise DynoError(
            f"target `{name}`: some of its nodes speak TLS by their URLs, and some do not",
            where=node.mapping["nodes"].place,
            fix="begin all of them alike",
        )
    if model.tls == "prefer" or (model.tls is not None and (model.tls == "off") == by_scheme):
        raise DynoError(
            f"`tls: {model.tls}` of target `{name}` is not what its URL says",
            where=node.mapping["tls"].where,
            cause="a port of such a server speaks TLS from the start, or not at all",
            fix=f"remove `tls`, or begin the URL with {' or '.join(_both_ways(urls[0]))}",
        )
    return "off" if not by_scheme else model.tls or server_url.usual_tls(urls[0], is_near)


def _both_ways(url: ServerUrl) -> list[str]:
    return [f"{scheme}://" for scheme in kinds.of(url.kinds[0]).schemes]


def _urls(model: TargetModel, node: Node) -> list[ServerUrl]:
    """The one written to first."""
    if model.url is not None and model.nodes is not None:
        raise DynoError(
            "both `url` and `nodes` are given",
            where=node.mapping["nodes"].place,
            cause="`url` is short for a single node",
            fix="move the URL to `nodes.write`",
        )
    if model.url is not None:
        return [_parsed(model.url, node.mapping["url"])]
    assert model.nodes is not None
    nodes = node.mapping["nodes"]
    read = nodes.mapping["read"].items if "read" in nodes.mapping else ()
    return [
        _parsed(model.nodes.write, nodes.mapping["write"]),
        *(_parsed(text, each) for text, each in zip(model.nodes.read, read, strict=True)),
    ]


def _parsed(text: str, node: Node) -> ServerUrl:
    try:
        return server_url.parse(text)
    except ValueError as error:
        raise DynoError(
            f"the URL {error}", where=node.where, fix=f"write {server_url.FORM}"
        ) from None


def _check_kind(name: str, kind: str, urls: Sequence[ServerUrl], node: Node) -> None:
    where = node.mapping["kind"].where if "kind" in node.mapping else node.place
    if kind not in HAS_URL:
        raise DynoError(
            f"target `{name}`: `{kind}` is not reached by a URL",
            where=where,
            fix=f"use one of {listed(HAS_URL)}, or leave the URL out",
        )
    for url in urls:
        if kind not in url.kinds:
            raise DynoError(
                f"target `{name}` is `{kind}`, and its URL is one of {listed(url.kinds)}",
                where=where,
                fix=f"write `kind: {url.kinds[0]}`, or correct the beginning of the URL",
            )


def _refuse_ours(name: str, node: Node) -> None:
    for key, why in OURS_ONLY.items():
        if key in node.mapping:
            raise DynoError(
                f"`{key}` cannot be set for target `{name}`: it is an external server",
                where=node.mapping[key].place,
                cause=why,
                fix=f"remove `{key}`, or remove the URL for a managed server",
            )


def _refuse_files(name: str, kind: str, node: Node) -> None:
    """A data directory cannot be put under a server that runs; a file of SQL may name foreign
    tables, where dbdyno's schema is one of several in a database."""
    setup = node.mapping["setup"].mapping if "setup" in node.mapping else {}
    files = ("dump", "sql") if kinds.of(kind).language == kinds.POSTGRES else ()
    for key in ("template", *files):
        if key in setup and setup[key].value is not None:
            raise DynoError(
                f"`setup.{key}` cannot be used for target `{name}`: it is an external server",
                where=setup[key].place,
                cause="a data directory is read at a server's start"
                if key == "template"
                else "its statements may name other schemas of the database (those of pg_dump do)",
                fix="declare `tables:`, or load the data yourself and use `data: {existing: ...}`",
            )


def _check_session(name: str, kind: str, node: Node) -> None:
    statements = node.mapping["session"].items if "session" in node.mapping else ()
    for each in statements:
        why = session.refusal(each.text, kind)
        if why:
            raise DynoError(
                f"`session` of target `{name}`: an external server is not sent `{each.text[:80]}`",
                where=each.where,
                cause=why,
                fix="remove it; settings of the whole server belong under `config:` or in `hooks:`",
            )


def _refuse_without_url(name: str, node: Node) -> None:
    for key in KEYS:
        if key in node.mapping and node.mapping[key].value is not None:
            raise DynoError(
                f"`{key}` means nothing for target `{name}`: it has no URL, so it is started here",
                where=node.mapping[key].place,
                fix=f"add `url: {server_url.FORM.split()[-1]}`, or leave `{key}` out",
            )


def _credentials(name: str, model: TargetModel, node: Node, kind: str) -> Credentials:
    given = [key for key in PASSWORD_KEYS if getattr(model, key) is not None]
    if len(given) > 1:
        raise DynoError(
            f"target `{name}` names two sources of its password: {listed(given)}",
            where=node.mapping[given[1]].place,
            fix="keep one of them",
        )
    is_mysql, title = kinds.of(kind).language == kinds.MYSQL, kinds.of(kind).title
    is_postgres = kinds.of(kind).language == kinds.POSTGRES
    if model.defaults_group is not None and not is_mysql:
        raise DynoError(
            f"`defaults_group` is a group of ~/.my.cnf, which {title} does not have",
            where=node.mapping["defaults_group"].place,
            fix=f"{'write the password into ~/.pgpass, or ' * is_postgres}use `password_env:`",
        )
    if model.server_public_key is not None and not is_mysql:
        raise DynoError(
            f"`server_public_key` is of MySQL's logins, which {title} does not have",
            where=node.mapping["server_public_key"].place,
            fix=f"remove it{'; SCRAM needs no key' * is_postgres}",
        )
    return Credentials(
        env=model.password_env,
        file=model.password_file,
        command=model.password_command,
        defaults_group=model.defaults_group,
        cleartext=model.cleartext_password,
        server_public_key=model.server_public_key,
    )


def _existing(name: str, model: TargetModel, url: ServerUrl, kind: str, node: Node) -> str | None:
    if kinds.of(kind).language == kinds.POSTGRES and url.schema is None:
        raise DynoError(
            f"target `{name}`: its URL names no database",
            where=_place(node, "url", "nodes"),
            cause="a connection to PostgreSQL is one to a database",
            fix="end the URL in the database's name: postgres://app@host/shop",
        )
    if model.data is None:
        return None
    existing = model.data.existing
    if not kinds.of(kind).speaks_sql:
        raise DynoError(
            f"target `{name}`: {kinds.of(kind).title} has no schemas that exist already",
            where=node.mapping["data"].place,
            cause="its sessions cannot be kept from writing, as those of SQL systems are",
            fix="remove `data`: the workload loads records under a prefix of dbdyno's own",
        )
    if kinds.of(kind).language != kinds.POSTGRES and url.schema not in (None, existing):
        raise DynoError(
            f"`data.existing` is `{existing}`, and the URL of target `{name}` ends in another",
            where=node.mapping["data"].place,
            fix="end the URL after the port, or write the same name twice",
        )
    if "setup" in node.mapping and node.mapping["setup"].value is not None:
        raise DynoError(
            f"target `{name}` has both `data.existing` and `setup`",
            where=node.mapping["setup"].place,
            cause="dbdyno loads data into a schema of its own",
            fix="remove one of them",
        )
    return existing


def _place(node: Node, *keys: str) -> Where:
    entries: Mapping[str, Node] = node.mapping
    return next((entries[key].place for key in keys if key in entries), node.place)
