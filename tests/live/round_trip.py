"""A log as a workload, run, and logged again: helpers to hold both logs against each other."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

from logged_shop import Shop
from running import Place, has, wait_for

ENOUGH = 1500  # transactions
SURE = 5  # draws differ by so many standard deviations once in a million times

_RATE = re.compile(r"^    rate:.*?^    arrivals: \w+\n", re.MULTILINE | re.DOTALL)

Classes = dict[str, dict[str, Any]]


def classes(here: Place, log: Path, *options: object) -> Classes:
    """Those of the application's statements on tables, by fingerprint."""
    done = here.dyno("digest", log, "--json", "--limit", "all", "--user", "app", *options)
    assert done.returncode == 0, done.stderr
    verbs = ("select", "insert", "update", "delete")
    return {
        one["fingerprint"]: one
        for one in json.loads(done.stdout)["classes"]
        if one["tables"]
        and one["fingerprint"].startswith(verbs)
        # dyno's own queries of the server, and of keys
        and not any("." in table for table in one["tables"])
        and " as v " not in one["fingerprint"]
    }


def assert_shares(before: Classes, after: Classes, repeats: int) -> None:
    """The same classes in the same proportions: draws of units that have a statement at most
    `repeats` times."""
    assert after.keys() == before.keys()
    all_before = sum(one["count"] for one in before.values())
    all_after = sum(one["count"] for one in after.values())
    assert all_after > 500
    for name, one in before.items():
        share = one["count"] / all_before
        spread = share * (1 - share) * repeats * (1 / all_before + 1 / all_after)
        again = after[name]["count"] / all_after
        assert abs(again - share) <= SURE * math.sqrt(spread), (name, share, again)


def assert_rows(before: Classes, after: Classes) -> None:
    """Each class sends and changes as many rows a call as it did."""
    for name, one in before.items():
        for measure in ("rows_sent", "rows_affected"):
            was, is_ = one["measures"].get(measure), after[name]["measures"].get(measure)
            assert (was is None) == (is_ is None), (name, measure)
            if was is None or is_ is None:
                continue
            deviation = max(was["stddev"] or 0.0, is_["stddev"] or 0.0)
            within = SURE * deviation * math.sqrt(1 / was["count"] + 1 / is_["count"])
            # Rows that other sessions have deleted and not yet inserted again.
            within += 0.01 * was["mean"]
            assert abs(is_["mean"] - was["mean"]) <= within, (name, measure, was, is_)


def new_log(server: Shop, name: str) -> Path:
    """Lets the server log into another file from now on."""
    server.wait_until_logged()
    server.own(f"SET GLOBAL slow_query_log_file = '{name}'")
    return server.directory / name if (server.directory / name).exists() else _found(server, name)


def _found(server: Shop, name: str) -> Path:
    assert wait_for(lambda: any(server.directory.rglob(name))), f"the server writes no {name}"
    return next(server.directory.rglob(name))


def run(
    here: Place,
    server: Shop,
    file: Path,
    *options: object,
    schema: str = "shop",
    enough: int = ENOUGH,
) -> dict[str, Any]:
    """Runs a workload, as fast as answers come, until so many transactions are committed, in which
    all of it comes up; its trial's record."""
    file.write_text(_RATE.sub("", file.read_text()))
    words = [f"db.url={server.url}", "db.password_env=APP_PASSWORD", "duration=2m", "warmup=0s"]
    chosen = [part for word in words for part in ("--set", word)]
    arguments = ("run", file, *chosen, *options, "--write-to", schema, "--dir", file.stem)
    done = here.dyno_until(has(enough), *arguments)
    assert done.returncode == 0, done.stderr
    server.wait_until_logged()
    [trial] = here.path.glob(f"{file.stem}/trials/*/trial.json")
    return dict(json.loads(trial.read_text()))
