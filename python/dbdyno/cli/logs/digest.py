"""`dyno digest`: what servers spent their time on, from their logs or their own statistics."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dbdyno.cli.logs.reading import (
    EVERY_S,
    STDIN,
    Options,
    Progress,
    all_classes,
    read_log,
    seconds,
)
from dbdyno.cli.runs.stored import stored
from dbdyno.cli.terminal import login, output
from dbdyno.errors import DynoError

if TYPE_CHECKING:
    from dbdyno.digest.document import Document
    from dbdyno.digest.parallelism import Parallelism

FORMATS = ("text", "pt", "json", "markdown", "html")
FOR_S = "1m"


@click.command()
@click.argument("sources", nargs=-1, metavar="LOG...|URL")
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    default="text",
    show_default=True,
    help="Format of the digest; `pt` is the layout of pt-query-digest.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="File to write instead of standard output.",
)
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
@click.option("--brief", is_flag=True, help="Only the profile, without details of each class.")
@click.option(
    "--compare",
    "compared",
    is_flag=True,
    help="Compare two digests, A and B: classes that are slower, faster or new.",
)
@click.option(
    "--parallelism",
    is_flag=True,
    help="What parallel replication could bring instead: by schema, and of binary logs simulated.",
)
@click.option(
    "--workload",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="OUT.yaml",
    help="Write a load like the logs' instead: an experiment that `dyno run` takes.",
)
@click.option(
    "--trace",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write what sessions sent instead, with all literals, for `kind: replay`.",
)
@click.option(
    "--accept-censored",
    "accepts_censored",
    is_flag=True,
    help="Accept logs whose settings omitted statements.",
)
@click.option(
    "--accept-partial",
    "accepts_partial",
    is_flag=True,
    help="With --workload: take a log of which less than 80 % can be carried over all the same.",
)
@click.option(
    "--schema-of",
    metavar="URL",
    help="With --workload: a server whose schema says which values columns take, which keys are"
    " there, and which keys the server makes. It is only read.",
)
@click.option(
    "--keep-paths",
    "keeps_paths",
    is_flag=True,
    help="With --workload: take JSON paths, formats and the like from the log, where all calls of a"
    " statement had the same; without it such statements are omitted.",
)
@click.option(
    "--by-user",
    is_flag=True,
    help="With --workload: a group for each user of the log, of the 16 with the most calls.",
)
@click.option("--log-format", metavar="NAME", help="Format of the logs [default: detected].")
@click.option(
    "--since",
    metavar="T",
    help="Only statements that ended from then on: RFC 3339, Unix time, or -2h for two hours ago.",
)
@click.option("--until", metavar="T", help="Only statements that ended before this time.")
@click.option("--db", metavar="NAME", help="Only this default database.")
@click.option("--user", metavar="NAME", help="Only this user.")
@click.option("--host", metavar="NAME", help="Only this client host.")
@click.option("--where", metavar="EXPR", help="Only events for which this expression is true.")
@click.option(
    "--group-by",
    metavar="WHAT",
    help="Key of a class: fingerprint, table (all tables of a statement together), db, user,"
    " host, distill [default: fingerprint].",
)
@click.option(
    "--merge-names",
    is_flag=True,
    help="Read numbers and hashes in names as `?`: wp_17_posts and wp_18_posts are one class.",
)
@click.option(
    "--order-by",
    metavar="WHAT",
    help="query_time, count, max, statement_bytes or the sum of a measure [default: query_time].",
)
@click.option(
    "--limit",
    metavar="N|P%:N|all",
    help="Number of classes listed; P%: as many as make up P % of the total of --order-by"
    " [default: 95%:20].",
)
@click.option(
    "--samples",
    type=click.Choice(["none", "raw"]),
    help="`raw` shows the slowest statement of each class with its literals [default: none].",
)
@click.option(
    "--line-prefix",
    metavar="TEXT",
    help="PostgreSQL's log_line_prefix; the log is then its log of lines.",
)
@click.option("--utc-offset", metavar="OFFSET", help="Offset of the server's clock from UTC.")
@click.option("--port", "ports", multiple=True, type=int, help="Port of the server in a capture.")
@click.option("--threads", type=int, metavar="N", help="Reader threads [default: all CPUs].")
@click.option("--strict", is_flag=True, help="Exit with 1 if any input was not parsed.")
@click.option("--follow", is_flag=True, help="Continue reading as the log grows, until Ctrl-C.")
@click.option("--for", "for_", metavar="TIME", help=f"Of a URL: duration [default: {FOR_S}].")
@click.option(
    "--every", metavar="TIME", help=f"Of a URL or with --follow: interval [default: {EVERY_S}]."
)
@login.options
def digest(sources: tuple[str, ...], form: str, out: Path | None, **typed: Any) -> int:
    """Report the statements on which a server spent its time.

    LOG is a log of MySQL, MariaDB, Percona Server, PostgreSQL or others in a format that is found
    out (`-`: standard input; gzip and zstd are unpacked), or a document saved with --json. Of a URL
    (mysql://, mariadb://, postgres://) the server's statement counters are sampled, without
    changing anything. Statements are shown without their literals.
    """
    from dbdyno.digest import reading
    from dbdyno.experiment.targets import server_url

    if not sources:
        raise click.UsageError("name a log, `-` for standard input, or a server's URL")
    for source in sources:
        server_url.refuse_unknown(source)
    form = output.form(form, typed.pop("as_json"))
    side_by_side = typed.pop("compared")
    parallel = typed.pop("parallelism")
    accepts_censored = typed.pop("accepts_censored")
    accepts_partial = typed.pop("accepts_partial")
    experiment = typed.pop("workload")
    replay_file = typed.pop("trace")
    schema_of = typed.pop("schema_of")
    keeps_paths = typed.pop("keeps_paths")
    by_user = typed.pop("by_user")
    options = _options(form, out, typed)
    if accepts_censored and not parallel and experiment is None and replay_file is None:
        raise click.UsageError("--accept-censored is for --parallelism, --workload and --trace")
    if options.brief and (
        side_by_side or parallel or experiment is not None or replay_file is not None
    ):
        raise click.UsageError("--brief is for profiles")
    if options.brief and form in ("json", "html"):
        raise click.UsageError(f"--brief is for text, pt and markdown, not for {form}")
    if accepts_partial and experiment is None:
        raise click.UsageError("--accept-partial is for --workload")
    if schema_of is not None and experiment is None:
        raise click.UsageError("--schema-of is for --workload")
    if keeps_paths and experiment is None:
        raise click.UsageError("--keep-paths is for --workload")
    if by_user and (experiment is None or typed["user"]):
        raise click.UsageError("--by-user is for --workload, without --user")
    if side_by_side + parallel + (experiment is not None) + (replay_file is not None) > 1:
        raise click.UsageError("one of --parallelism, --workload, --trace, --compare at a time")
    if experiment is not None:
        from dbdyno.cli.logs import workload

        asked = workload.Asked(
            *(experiment, accepts_censored, accepts_partial, schema_of, keeps_paths, by_user)
        )
        return workload.write(sources, options, asked)
    if replay_file is not None:
        return _trace(sources, options, replay_file, accepts_censored)
    if side_by_side or parallel:
        with stored(*sources):
            if side_by_side:
                return _compare(sources, options)
            return _parallelism(sources, options, accepts_censored)
    if any(map(server_url.is_url, sources)):
        if len(sources) > 1:
            raise click.UsageError("one URL at a time, and not together with logs")
        raw, code = _sampled(sources[0], options)
        _write(raw, options)
        return code
    saved = _saved(sources, options)
    if saved is not None:
        with stored(*sources):
            _write(saved, options)
        return 0
    raw, code = read_log(sources, options, on_document=lambda each: _write(each, options))
    _write(raw, options)
    ended = bool(options.typed("--follow")) and code == reading.INTERRUPTED  # as it is meant to be
    return 0 if ended else code


def _options(form: str, out: Path | None, typed: dict[str, Any]) -> Options:
    """Sorts options into those of logs and those of servers."""
    from dbdyno.digest import ago

    brief, now_s = typed.pop("brief"), time.time()
    for name in ("since", "until"):
        typed[name] = ago.resolved(f"--{name}", typed[name], now_s)
    url = {name: typed.pop(name) for name in ("for_", "every", *login.NAMES)}
    engine: list[tuple[str, str | bool]] = []
    for port in typed.pop("ports"):
        engine.append(("--port", str(port)))
    for name, value in typed.items():
        option = "--" + name.replace("_", "-")
        if value is True:
            engine.append((option, True))
        elif value not in (None, False):
            engine.append((option, str(value)))
    return Options(form, out, tuple(engine), url, brief)


def _compare(sources: Sequence[str], options: Options) -> int:
    from dbdyno.digest import compare as comparing
    from dbdyno.digest import document
    from dbdyno.experiment.targets import server_url
    from dbdyno.report.digest import beside

    if len(sources) != 2:
        raise click.UsageError("--compare takes two: A B")
    if options.format == "pt":
        raise click.UsageError("--compare has no `pt` layout: text, json, markdown or html")
    if any(map(server_url.is_url, sources)):
        raise click.UsageError("--compare takes logs and saved digests: save one with --json first")
    if sources[0] == sources[1] == STDIN:
        raise click.UsageError("only one of the two can come from standard input")
    if options.typed("--follow"):
        raise click.UsageError("--follow has no end to compare at")
    read, code = [], 0
    for source in sources:
        raw = _saved([source], options)
        if raw is None:
            raw, one_code = read_log([source], all_classes(options))
            code = max(code, one_code)
        read.append(document.parse(raw, source))
    compared = comparing.compare(*read)
    if options.format == "json":
        made = json.dumps(comparing.to_json(compared), indent=1, allow_nan=False) + "\n"
    elif options.format == "html":
        made = beside.page(compared)
    elif options.format == "markdown":
        made = beside.markdown(compared)
    else:
        made = beside.text(compared, output.width(options.out))
    output.put(made, options.out, "digest")
    return code


def _parallelism(sources: Sequence[str], options: Options, accepts_censored: bool) -> int:
    from dbdyno.digest import censoring, parallelism
    from dbdyno.experiment.targets import server_url

    if any(map(server_url.is_url, sources)):
        raise click.UsageError("--parallelism is made from logs, not from a server's URL")
    if options.format == "pt":
        raise click.UsageError("--parallelism has no `pt` layout: text, json, markdown or html")
    senseless = ("--follow", "--group-by", "--merge-names", "--order-by", "--limit", "--samples")
    if typed := options.typed(*senseless):
        raise click.UsageError(f"--parallelism does not go with {', '.join(typed)}")
    raw, code = _saved(sources, options), 0
    if raw is None:
        with_option = (*options.engine, ("--parallelism", True))
        asked = Options(options.format, options.out, with_option, options.url)
        raw, code = read_log(sources, asked, made="parallelism")
    found = parallelism.parse(raw)
    if not accepts_censored:
        censoring.refuse_censored(found, "--parallelism")
    _write(raw, options)
    return code


def _trace(sources: Sequence[str], options: Options, out: Path, accepts_censored: bool) -> int:
    from dbdyno.digest import censoring, document, replay_file
    from dbdyno.experiment.targets import server_url

    if any(map(server_url.is_url, sources)):
        raise click.UsageError("--trace needs logs: statement counters have no order")
    if options.format != "text" or options.out is not None:
        raise click.UsageError("--trace writes its own file: no --format, --out")
    senseless = ("--follow", "--group-by", "--merge-names", "--order-by", "--limit", "--samples")
    if typed := options.typed(*senseless):
        raise click.UsageError(f"--trace does not go with {', '.join(typed)}")
    for source in sources:
        if Path(source).is_file() and document.saved(Path(source)) is not None:
            raise click.UsageError(f"--trace takes logs, and {source} is a saved digest")
    with_option = (*options.engine, ("--trace", str(out)))
    asked = Options(options.format, options.out, with_option, options.url)
    raw, code = read_log(sources, asked, made="trace")
    found = replay_file.parse(raw)
    if not accepts_censored:
        try:
            censoring.refuse_censored(found, "--trace")
        except DynoError:
            out.unlink(missing_ok=True)
            raise
    for line in replay_file.lines(found):
        click.echo(line)
    click.echo(f"{out} contains the literals of the log; only you can read it", err=True)
    return code


def _saved(sources: Sequence[str], options: Options) -> Any | None:
    """The saved document that is named, if it is one."""
    from dbdyno.digest import document

    found = []
    for source in sources:
        path = Path(source)
        if source == STDIN or (path.exists() and not path.is_file()):
            continue  # pipes are read once, by the engine
        found.append(document.saved(path))
    if not any(one is not None for one in found):
        return None
    if len(sources) > 1:
        raise click.UsageError("a saved digest is drawn alone; --compare takes two")
    if options.engine:
        names = ", ".join(name for name, _ in options.engine)
        raise click.UsageError(f"a saved digest is as it is: {names} is for logs")
    return found[0]


def _sampled(url: str, options: Options) -> tuple[Any, int]:
    from dbdyno.digest import reading
    from dbdyno.digest.servers import chosen, watch
    from dbdyno.digest.servers import sources as servers
    from dbdyno.systems.server_errors import understanding

    known = ("--db", "--user", "--group-by", "--order-by", "--limit")
    other = [name for name, _ in options.engine if name not in known]
    if other:
        raise click.UsageError(f"{', '.join(other)} is for logs, not for a server's URL")
    given = {name.removeprefix("--").replace("-", "_"): value for name, value in options.engine}
    choice = chosen.make(**{key: given.get(key) for key in  # type: ignore[arg-type]
                            ("group_by", "order_by", "limit", "db", "user")})  # fmt: skip
    typed = options.url
    credentials = login.credentials(options.url)
    for_s = seconds("--for", typed["for_"] or FOR_S)
    every_s = seconds("--every", typed["every"] or EVERY_S)
    source = servers.open_source(url, credentials, typed["tls"])
    progress = Progress()
    interrupts: list[int] = []
    try:
        with understanding(source.place, "its statements"):
            raw = watch.watch(
                source,
                for_s,
                every_s,
                choice,
                on_step=lambda done: progress.seconds(done, for_s),
                on_interrupt=lambda: interrupts.append(reading.INTERRUPTED),
            )
    finally:
        progress.end()
        source.close()
    return raw, max(interrupts, default=0)


def _write(raw: Any, options: Options) -> None:
    """Draws a document where it was asked for."""
    from dbdyno.digest import document, parallelism

    if parallelism.is_one(raw):
        found = parallelism.parse(raw)
        made = _json(raw) if options.format == "json" else _parallel_drawn(found, options)
    else:
        typed = document.parse(raw)
        made = _json(raw) if options.format == "json" else _digest_drawn(typed, options)
    output.put(made, options.out, "digest")


def _json(raw: Any) -> str:
    return json.dumps(raw, indent=1, allow_nan=False) + "\n"


def _digest_drawn(typed: Document, options: Options) -> str:
    from dbdyno.report.digest import markdown, page, pt, text

    if options.format == "html":
        return page.page(typed)
    if options.format == "markdown":
        return markdown.markdown(typed, brief=options.brief)
    if options.format == "pt":
        name = socket.gethostname()
        return pt.pt(typed, now_unix_s=time.time(), hostname=name, brief=options.brief)
    return text.text(typed, output.width(options.out), brief=options.brief)


def _parallel_drawn(found: Parallelism, options: Options) -> str:
    from dbdyno.report.digest import parallel, parallel_page

    if options.brief:
        raise click.UsageError("--brief is for profiles")
    if options.format == "html":
        return parallel_page.page(found)
    if options.format == "markdown":
        return parallel.markdown(found)
    if options.format == "pt":
        raise click.UsageError("what parallel replication could bring has no `pt` layout")
    return parallel.text(found, output.width(options.out))
