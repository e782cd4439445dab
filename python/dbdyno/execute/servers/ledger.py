"""What a run has changed on external servers, written down before it is changed.

`left-on-servers.json` in the run directory holds, by URL, settings with their old values and
dbdyno's schemas. It is on disk (fsync) before a server is touched and goes when all is undone:
after `kill -9` it is how `--resume`, or the next run in that place, knows what to restore.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dbdyno import diskfiles
from dbdyno.errors import DynoError
from dbdyno.store.text import files
from dbdyno.store.text import json as jsontext

FILE = "left-on-servers.json"


class Ledger:
    """The file of one run. Values of settings are JSON, as the server's own class gives them."""

    def __init__(self, directory: Path, run: str) -> None:
        self._directory = directory
        self._path = directory / FILE
        self.run = run
        self._servers: dict[str, dict[str, Any]] = {}
        if self._path.exists():
            self._read()

    def _read(self) -> None:
        try:
            found = jsontext.loads(diskfiles.read(self._path, files.JSON_BYTES_MAX))
            self.run, self._servers = str(found["run"]), dict(found["servers"])
            for entry in self._servers.values():
                entry["settings"].items()
                list(entry["schemas"])
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            raise DynoError(
                f"{self._path} cannot be read",
                cause="it was changed by hand, or is from another version of dbdyno",
                fix="look in it for settings to restore by hand, then remove it",
            ) from None

    def urls(self) -> list[str]:
        """Servers that something is still to be undone on."""
        return list(self._servers)

    def settings(self, url: str) -> dict[str, dict[str, Any]]:
        """Name -> {"old": value before, "new": value after, absent until it is known}."""
        return dict(self._servers.get(url, {}).get("settings", {}))

    def schemas(self, url: str) -> list[str]:
        """dbdyno's schemas."""
        return list(self._servers.get(url, {}).get("schemas", []))

    def will_set(self, url: str, name: str, old: Any) -> None:
        """Before a setting is changed. An earlier change makes dbdyno's value indistinguishable
        from somebody else's; the first old value stays."""
        self._entry(url)["settings"].setdefault(name, {"old": old}).pop("new", None)
        self._write()

    def has_set(self, url: str, name: str, new: Any) -> None:
        """What the server made of it."""
        self._entry(url)["settings"][name]["new"] = new
        self._write()

    def is_restored(self, url: str, name: str) -> None:
        """The old value is back."""
        self._entry(url)["settings"].pop(name, None)
        self._write()

    def will_create(self, url: str, schema: str) -> None:
        """Before a schema is made."""
        schemas = self._entry(url)["schemas"]
        if schema not in schemas:
            schemas.append(schema)
        self._write()

    def is_dropped(self, url: str, schema: str) -> None:
        """It is gone."""
        schemas = self._entry(url)["schemas"]
        if schema in schemas:
            schemas.remove(schema)
        self._write()

    def _entry(self, url: str) -> dict[str, Any]:
        return self._servers.setdefault(url, {"settings": {}, "schemas": []})

    def _write(self) -> None:
        self._servers = {
            url: entry
            for url, entry in self._servers.items()
            if entry["settings"] or entry["schemas"]
        }
        with files.explained(self._path, self._directory):
            if self._servers:
                content = {"run": self.run, "servers": self._servers}
                files.write_atomically(self._path, files.dumps(content))
            else:
                self._path.unlink(missing_ok=True)
