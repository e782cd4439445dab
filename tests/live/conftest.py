"""What most tests of real runs begin with."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from private_servers import own_temp
from running import Place, place


@pytest.fixture
def there() -> Iterator[Place]:
    """An empty place for an experiment and its run."""
    with place() as made:
        yield made


@pytest.fixture
def temp(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Sockets of this test's private servers, and no other's."""
    tmp_path_factory.getbasetemp()  # pytest's own is made before the place is another
    with own_temp() as path:
        yield path
