"""`--metrics-listen`: the run as it goes, for Prometheus to scrape.

`Live` hears the run's news on its main thread and keeps the last interval's values, one dictionary
entry a series, so memory is bounded by the plan's groups. `Endpoint` serves them from threads of
its own: at most `SCRAPES_MAX` at once, each with a deadline, so that a scraper that reads slowly or
not at all delays no other. The load is driven by another process and knows nothing of this one.
"""

from __future__ import annotations

import contextlib
import re
import socket
import threading
import time
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, HTTPServer
from socketserver import ThreadingMixIn
from typing import Any

from dbdyno import __version__
from dbdyno.errors import DynoError
from dbdyno.plan.types import Cell, Plan, TrialPlan
from dbdyno.share import exposition, families
from dbdyno.share.exposition import Family, Sample
from dbdyno.store.record import TrialRecord

LOOPBACK = "127.0.0.1"
SCRAPES_MAX = 8  # at once; more are refused with 503
TIMEOUT_S = 5.0  # for a whole scrape

_ADDRESS = re.compile(r"(?:(?P<host>\[[0-9A-Fa-f:.]+\]|[^:\[\]\s]+):)?(?P<port>\d{1,5})")


def address(text: str) -> tuple[str, int]:
    """Host and port of `[HOST:]PORT`; the host is loopback unless one is named. Port 0: any free
    one. ValueError if it is neither."""
    found = _ADDRESS.fullmatch(text.strip())
    if not found or int(found["port"]) > 65535:
        raise ValueError(f"`{text}` is not [HOST:]PORT, such as 9187 or 127.0.0.1:9187")
    return (found["host"] or LOOPBACK).strip("[]"), int(found["port"])


class Live:
    """The run's current state as metrics. Written by the run's main thread, read by scrapes."""

    def __init__(self, plan: Plan, run: str, done: int) -> None:
        """`run`: the run directory's name; `done`: trials that were over before."""
        self._plan = plan
        self._lock = threading.Lock()
        self._base: dict[str, str] = {"experiment": plan.name}
        self._sessions: dict[str, int] = {}
        self._counts = families.Counts()
        self._of_trial: dict[Family, dict[tuple[tuple[str, str], ...], float]] = {}
        experiment = tuple(self._base.items())
        info = (*experiment, ("run", run), ("version", __version__))
        self._of_run: dict[Family, dict[tuple[tuple[str, str], ...], float]] = {
            families.RUN: {info: 1.0},
            families.PLANNED: {experiment: float(len(plan.trials))},
            families.DONE: {experiment: float(done)},
            families.VOID: {experiment: 0.0},
            families.STARTED: {experiment: time.time()},
        }

    # ---- Listener

    def on_trial(self, trial: TrialPlan, cell: Cell, attempt: int) -> None:
        """A trial begins: what is shown of the last one goes."""
        base = {
            "experiment": self._plan.name,
            "trial": trial.id,
            **exposition.level_labels(cell.levels),
        }
        key = tuple(base.items())
        with self._lock:
            self._base = base
            self._sessions = {group.name: group.sessions for group in cell.groups}
            self._counts = families.Counts()
            self._of_trial = {
                families.POSITION: {key: float(trial.position)},
                families.BLOCK: {key: float(trial.block)},
            }

    def on_event(self, event: Mapping[str, Any]) -> None:
        """An interval replaces the one before, whose phase may have been another."""
        if event.get("event") != "interval":
            return
        shown: dict[Family, dict[tuple[tuple[str, str], ...], float]] = {}
        with self._lock:
            for family, labels, value in self._counts.points(event, self._sessions):
                shown.setdefault(family, {})[(*self._base.items(), *labels.items())] = value
            self._of_trial = {
                **{f: self._of_trial[f] for f in families.OF_RUN if f in self._of_trial},
                **shown,
            }

    def on_record(self, record: TrialRecord, *, over: bool) -> None:
        """An attempt is on disk."""
        key = (("experiment", self._plan.name),)
        with self._lock:
            self._of_run[families.DONE][key] += over
            self._of_run[families.VOID][key] += record.status != "complete"

    def say(self, message: str) -> None:
        """Sentences are not metrics."""

    def on_failure(self, what: str) -> None:
        """Nor are errors."""

    # ---- reading

    def text(self, *, open_metrics: bool) -> str:
        """The exposition as of now."""
        with self._lock:
            values = {**self._of_run, **self._of_trial}
            copied = {family: dict(series) for family, series in values.items()}
        return exposition.text(
            (
                (family, [Sample(dict(labels), value) for labels, value in series.items()])
                for family in families.LIVE
                if (series := copied.get(family))
            ),
            open_metrics=open_metrics,
        )


class Endpoint:
    """An HTTP server for `/metrics`, from entering the block to leaving it.

    DynoError when it is made, if the address cannot be listened on: nothing has begun by then.
    """

    def __init__(self, host: str, port: int) -> None:
        self._server = _listening(host, port)
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.2}, daemon=True
        )

    @property
    def url(self) -> str:
        """Where it answers."""
        host, port = self._server.server_address[:2]
        shown = f"[{host!s}]" if ":" in str(host) else str(host)
        return f"http://{shown}:{port}/metrics"

    def serve(self, text: Callable[[bool], str]) -> None:
        """Begins to answer. `text` gives the exposition, in OpenMetrics if asked for it."""
        self._server.text = text
        self._thread.start()

    def __enter__(self) -> Endpoint:
        return self

    def __exit__(self, *_: object) -> None:
        if self._thread.is_alive():
            self._server.shutdown()
            self._thread.join(TIMEOUT_S)
        self._server.server_close()


class _Server(ThreadingMixIn, HTTPServer):
    daemon_threads = True
    block_on_close = False  # a scraper that does not read must not hold up the end of the run
    request_queue_size = SCRAPES_MAX
    text: Callable[[bool], str]

    def __init__(self, address: tuple[str, int], family: socket.AddressFamily) -> None:
        self.address_family = family
        self._slots = threading.BoundedSemaphore(SCRAPES_MAX)
        super().__init__(address, _Handler)

    def server_bind(self) -> None:
        # HTTPServer's own asks the resolver for our name, which can take its time.
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = map(str, self.server_address[:2])  # type: ignore[assignment]

    def process_request(self, request: Any, client_address: Any) -> None:
        """A thread a connection, as long as there are slots."""
        if not self._slots.acquire(blocking=False):
            with contextlib.suppress(OSError):
                request.settimeout(0)
                request.send(b"HTTP/1.0 503 Service Unavailable\r\nRetry-After: 1\r\n\r\n")
            self.shutdown_request(request)
            return
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        # Whatever a slow client does, its time is over then: a shut socket fails all reads.
        deadline = threading.Timer(TIMEOUT_S, _shut, (request,))
        deadline.daemon = True
        deadline.start()
        try:
            super().process_request_thread(request, client_address)
        finally:
            deadline.cancel()
            self._slots.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A scraper that went away is no news."""


def _shut(request: socket.socket) -> None:
    with contextlib.suppress(OSError):
        request.shutdown(socket.SHUT_RDWR)


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = TIMEOUT_S
    protocol_version = "HTTP/1.0"  # a connection a scrape: nothing idles in a slot
    server_version = f"dbdyno/{__version__}"
    sys_version = ""

    def do_GET(self) -> None:
        """`/metrics`, in the format that is asked for."""
        if self.path.partition("?")[0] != "/metrics":
            self._answer(404, "text/plain; charset=utf-8", "metrics are at /metrics\n")
            return
        wanted = "application/openmetrics-text" in self.headers.get("Accept", "")
        kind = exposition.OPENMETRICS if wanted else exposition.PROMETHEUS
        self._answer(200, kind, self.server.text(wanted))

    do_HEAD = do_GET

    def _answer(self, status: int, kind: str, text: str) -> None:
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """The terminal belongs to the run."""


def _listening(host: str, port: int) -> _Server:
    where = f"{host}:{port}"
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return _Server(found[4][:2], found[0])  # type: ignore[arg-type]
    except OSError as error:
        raise DynoError(
            f"cannot serve metrics on {where}: {error.strerror or error}",
            cause="another process listens there, the port needs rights, or the host is not ours",
            fix="name another one with --metrics-listen [HOST:]PORT; port 0 takes any free one",
        ) from None
