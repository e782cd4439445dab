"""The file of a server's keys: which it is, and whether it is on the device of its data."""

from __future__ import annotations

import os

from dbdyno.facts.fact import Fact, Facts, Missing
from dbdyno.facts.gathered import Gathered

DEVICE = "host.keys_on_data_device"
_SETTINGS = ("file_key_management_filename", "keyring_file_data")


def file(facts: Facts) -> Fact:
    """Of MariaDB's plugin, of MySQL's plugin of old, or of its component. Missing: keys are in no
    file that the server names."""
    for name in _SETTINGS:
        fact = facts.get(f"setting.{name}")
        if fact is not None and fact.text:
            return fact
    if facts.engine == "mysql":
        table = facts.table("keyring")
        for row in table.rows:
            if row["status_key"] == "Data_file" and str(row["status_value"]).startswith("/"):
                return Fact("Data_file", row["status_value"], table.place)
    raise Missing("keys", "they are in no file that the server names")


def place(facts: Facts, found: Gathered) -> None:
    """Whether they share a device, of a server on this machine. No byte of either is read."""
    try:
        key, datadir = file(facts).text, facts.setting("datadir").text
        same = os.stat(key).st_dev == os.stat(datadir).st_dev
    except Missing:
        return
    except OSError as error:
        found.lacks(DEVICE, str(error.strerror))
        return
    found.add(DEVICE, same, f"stat of {key} and {datadir}")
