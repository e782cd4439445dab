"""What the workloads have in common whose histories are checked: `register`, `append`, `bank`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from dbdyno.experiment.workloads.base import Check, Contradiction, NoFiles, Options


class Recorded(NoFiles):
    """A workload whose history can be recorded."""

    presets: Mapping[str, Mapping[str, Any]] = MappingProxyType({})

    def meaning(self, options: Options) -> dict[str, Any]:
        return self.effective(options)

    def contradictions(self, options: Options) -> Iterator[Contradiction]:
        return iter(())

    def sent(self, options: Options) -> dict[str, Any]:
        return dict(options)

    def checks(self, options: Options) -> tuple[Check, ...]:
        return ()

    def remarks(self, options: Options) -> tuple[str, ...]:
        return ()
