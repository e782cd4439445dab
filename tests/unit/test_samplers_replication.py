"""Lag of replicas: sampled by node, reduced to mean and maximum; a replica that hangs is a gap."""

from __future__ import annotations

from dbdyno.errors import DynoError
from dbdyno.samplers import runner
from dbdyno.samplers.server import replication
from dbdyno.store.metrics.sampled import sampled_metrics
from dbdyno.systems.null import NullServer


class Replica:
    def __init__(self, *lags: float | None) -> None:
        self.lags = iter(lags)

    def lag_s(self) -> float:
        lag = next(self.lags)
        if lag is None:
            raise DynoError("replication does not run")
        return lag


def lines(source: str, node: str, *lags: float) -> list[dict]:
    return [
        {"t_s": t, "length_s": 1.0, "source": source, "values": {node: lag}}
        for t, lag in enumerate(lags, 1)
    ]


def test_a_sample_names_the_node() -> None:
    sampler = replication.Replication(Replica(1.5), "read2", "db")
    sampler.open()
    assert (sampler.source, sampler.sample(1.0)) == ("db.replica_lag_s", {"read2": 1.5})


def test_each_replica_is_sampled_by_a_thread_of_its_own(tmp_path) -> None:  # type: ignore[no-untyped-def]
    servers = {"db": NullServer(tmp_path, "null")}
    _, sets = runner.samplers_of(servers, {"db": {"read1": Replica(0), "read2": Replica(0)}})
    found = [one for samplers in sets for one in samplers if one.source == replication.SOURCE]
    assert len(found) == 2 and len(sets) == 3


def test_mean_and_maximum_are_metrics() -> None:
    for prefix in ("", "db."):
        samples = lines(f"{prefix}replica_lag_s", "read1", 0, 1, 5)
        samples += lines(f"{prefix}replica_lag_s", "read2", 2, 2, 2)
        found = sampled_metrics(samples, 3.0).metrics
        assert found == {
            f"{prefix}replica_lag_s.read1": 2.0,
            f"{prefix}replica_lag_s.read1_max": 5,
            f"{prefix}replica_lag_s.read2": 2.0,
            f"{prefix}replica_lag_s.read2_max": 2,
        }
