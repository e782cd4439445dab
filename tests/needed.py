"""What a test cannot do without: skipped where it is missing, but a failure under CI=true."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest


def missing(why: str) -> NoReturn:
    """Ends a test that needs something missing which `make servers` installs, or root."""
    if os.environ.get("CI") == "true":
        pytest.fail(f"{why} (CI=true: it must be there)")
    pytest.skip(why)
