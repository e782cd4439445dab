"""A Redis server of our own, reached through its socket only.

What it says of itself: https://redis.io/docs/latest/commands/info (persistence, cpu).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from dbdyno.systems.process.guarded import Guarded
from dbdyno.systems.process.scratch import Scratch

SERVER, CLIENT = "redis-server", "redis-cli"
READY_S = 120.0
# Nothing is written to disk but what is asked for.
PLAIN: Mapping[str, str] = {"save": "", "appendonly": "no", "appendfsync": "no"}


def missing() -> str:
    """What is not installed of what is needed; "" if all is there."""
    return ", ".join(name for name in (SERVER, CLIENT) if shutil.which(name) is None)


class Redis:
    """One server and its directory; a context manager that leaves nothing behind."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        """`settings` as in redis.conf."""
        self._settings = {**PLAIN, **settings}
        self._scratch = Scratch()
        self.data: Path = self._scratch.path / "redis"
        self.data.mkdir()
        self._process: Guarded | None = None

    def __enter__(self) -> Redis:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.stop(0.0)
        self._scratch.close()

    def start(self) -> None:
        """Starts it, and waits until it has loaded what there is. RuntimeError."""
        command = [shutil.which(SERVER) or SERVER, "--port", "0"]
        command += ["--unixsocket", str(self._socket), "--dir", str(self.data)]
        for name, value in self._settings.items():
            command += [f"--{name}", value]
        self._process = Guarded(
            command,
            directory=self.data,
            environment={"PATH": os.environ.get("PATH", os.defpath)},
            log=self.data / "out",
        )
        if not until(lambda: self._client("PING").stdout.strip() == "PONG", READY_S):
            said = (self.data / "out").read_text(errors="replace")[-2000:]
            raise RuntimeError(f"Redis did not answer in {READY_S:g} s:\n{said}")

    def restart(self) -> None:
        """Shuts it down, with a dump where it keeps one, and starts it again."""
        assert self._process is not None
        how = "NOSAVE" if self._settings["appendonly"] == "yes" else "SAVE"
        self._client("SHUTDOWN", how)
        if not self._process.wait(READY_S):
            raise RuntimeError("Redis did not shut down")
        self._process.stop(0.0)
        self.start()

    def ask(self, *words: str) -> str:
        """The answer to a command. RuntimeError for an error."""
        done = self._client(*words)
        if done.returncode or done.stdout.startswith("ERR"):
            raise RuntimeError(f"{' '.join(words)}: {done.stdout}{done.stderr}")
        return done.stdout.strip()

    def info(self, name: str) -> float:
        """A number of INFO."""
        for line in self.ask("INFO", "everything").splitlines():
            if line.startswith(f"{name}:"):
                return float(line.partition(":")[2])
        raise KeyError(name)

    def write(self, keys: range, value: int) -> int:
        """A SET of so many bytes for each key; the bytes of these commands."""
        written = 0

        def commands() -> Iterator[bytes]:
            nonlocal written
            for key in keys:
                one = command(b"SET", b"key:%09d" % key, b"%09d" % key + b"v" * (value - 9))
                written += len(one)
                yield one

        with subprocess.Popen(
            [CLIENT, "-s", str(self._socket), "--pipe"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        ) as client:
            assert client.stdin
            for one in commands():
                client.stdin.write(one)
            said, _ = client.communicate()
        if client.returncode:
            raise RuntimeError(f"{CLIENT} --pipe: {said.decode(errors='replace')}")
        return written

    @property
    def _socket(self) -> Path:
        return self.data / "sock"

    def _client(self, *words: str) -> subprocess.CompletedProcess[str]:
        command = [CLIENT, "-s", str(self._socket), *words]
        return subprocess.run(command, capture_output=True, text=True, timeout=READY_S)


def command(*words: bytes) -> bytes:
    """A command as it is sent, and as it is in the log."""
    parts = (b"$%d\r\n%s\r\n" % (len(word), word) for word in words)
    return b"*%d\r\n" % len(words) + b"".join(parts)


def until(condition: Callable[[], object], timeout_s: float) -> bool:
    """Whether it became true in time."""
    deadline = time.monotonic() + timeout_s
    while not (found := condition()) and time.monotonic() < deadline:
        time.sleep(0.02)
    return bool(found)
