"""What most tests of real runs begin with."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from running import Place, place


@pytest.fixture
def there() -> Iterator[Place]:
    """An empty place for an experiment and its run."""
    with place() as made:
        yield made
