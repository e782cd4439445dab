"""Steps of a schedule: what the log's time line says of its rate."""

from __future__ import annotations

from dbdyno.digest.document import Timeline
from dbdyno.digest.workload.pace import _steps


def test_steps_of_one_rate_are_one() -> None:
    counts = (0, 4, 0, 0, 0, 8, 8)
    line = Timeline(begin_unix_s=0.0, bucket_s=2.0, count=counts, time_s=(1.0,) * 7)
    assert _steps(line, 20) == [(2.0, 2.0), (6.0, 0.0), (4.0, 4.0)]
