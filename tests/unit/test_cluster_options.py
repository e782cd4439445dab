"""Provider options as servers print them."""

from __future__ import annotations

import pytest

from dbdyno.models.cluster.files import options
from dbdyno.models.cluster.files.options import Options

PRINTED = (
    "base_dir = /var/lib/mysql/; evs.keepalive_period = PT1S; evs.suspect_timeout = PT2.5S; "
    "evs.inactive_timeout = PT15S; evs.view_forget_timeout = P1D; gcs.fc_limit = 16; "
    "gmcast.listen_addr = tcp://127.0.0.1:4567; pc.ignore_sb = false; pc.recovery = true; "
)


def test_what_a_server_prints_is_read() -> None:
    pairs = dict(one.split(" = ") for one in PRINTED.split("; ") if one)
    found = options.from_provider(pairs)
    assert found == Options(suspect_s=2.5)


@pytest.mark.parametrize(
    ("text", "length"),
    [("PT5S", 5.0), ("PT0.5S", 0.5), ("PT7.5S", 7.5), ("P1D", 86400.0), ("PT1M30S", 90.0),
     ("P1DT2H", 93600.0), ("500ms", 0.5), ("2s", 2.0)],
)  # fmt: skip
def test_periods_are_read(text: str, length: float) -> None:
    assert options.length_s(text) == length


@pytest.mark.parametrize("text", ["", "P", "PT", "5", "five", "PT5X", "-PT5S"])
def test_what_is_no_period_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="PT5S"):
        options.length_s(text)


@pytest.mark.parametrize(
    ("name", "text"),
    [("pc.ignore_sb", "maybe"), ("gcs.fc_limit", "many"), ("evs.suspect_timeout", "5"),
     ("evs.inactive_timeout", "PT1S"), ("gcs.fc_limit", "-1")],
)  # fmt: skip
def test_a_wrong_option_is_named(name: str, text: str) -> None:
    with pytest.raises(ValueError, match=r"evs\.|gcs\.|pc\."):
        options.from_provider({name: text})


def test_defaults_are_those_of_galera() -> None:
    """As documented, and as a server of 26.4 prints them."""
    named = {
        name: getattr(Options(), field)
        for field, name in options.NAMES.items()
        if name.startswith("evs.")
    }
    assert named == {
        "evs.keepalive_period": 1.0,
        "evs.inactive_check_period": 0.5,
        "evs.suspect_timeout": 5.0,
        "evs.inactive_timeout": 15.0,
        "evs.install_timeout": 7.5,
        "evs.max_install_timeouts": 3,
        "evs.join_retrans_period": 1.0,
    }
    assert (Options().fc_limit, Options().recovery) == (16, True)
    assert not Options().ignore_sb and not Options().ignore_quorum
