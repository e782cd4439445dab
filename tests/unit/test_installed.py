"""The cure for a missing engine follows from how the Python half was installed."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from dbdyno import __version__, installed
from dbdyno.errors import DynoError

CHECKOUT = json.dumps({"url": "file:///x", "dir_info": {"editable": True}})
A_WHEEL = json.dumps({"url": "file:///x.whl", "archive_info": {}})


@pytest.mark.parametrize(
    ("origin", "receipt", "cure"),
    [
        (CHECKOUT, "", "`make setup` in the checkout"),
        (None, "pipx_metadata.json", f"`pipx inject dbdyno dbdyno-engine=={__version__}`"),
        (None, "uv-receipt.toml", "`uv tool install 'dbdyno[engine]'`"),
        (None, "", f"`{sys.executable} -m pip install dbdyno-engine=={__version__}`"),
        (A_WHEEL, "", f"`{sys.executable} -m pip install dbdyno-engine=={__version__}`"),
    ],
)
def test_the_cure_is_the_command_of_the_installer(
    origin: str | None, receipt: str, cure: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Distribution:
        def read_text(self, name: str) -> str | None:
            return origin if name == "direct_url.json" else None

    monkeypatch.setattr(installed.metadata, "distribution", lambda _: Distribution())
    monkeypatch.setattr(installed.sys, "prefix", str(tmp_path))
    monkeypatch.setattr(installed.sysconfig, "get_path", lambda _: str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("DYNO_ENGINE", raising=False)
    if receipt:
        (tmp_path / receipt).touch()
    with pytest.raises(DynoError) as missing:
        installed.find()
    assert missing.value.fix == f"run {cure}, or set DYNO_ENGINE to the binary"
