"""Checks of rows whose columns' values are known: what holds for all of them, and what may not."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

import pytest

from dbdyno import kinds
from dbdyno.sql.checks.domain import Domain, of_values
from dbdyno.sql.checks.holds import holds, listed

MYSQL, POSTGRES = kinds.MYSQL, kinds.POSTGRES
DOMAINS = {
    "amount": Domain(low=Decimal(1), high=Decimal(99), has_null=False),
    "price": Domain(low=Decimal("100.5"), high=Decimal(900), has_null=True),
    "day": Domain(low=datetime(2010, 1, 1), high=datetime(2020, 12, 31), has_null=False),
    "state": of_values(["new", "paid"]),
    "size": of_values([Decimal(1), Decimal(2), Decimal(4)]),
    "code": Domain(lengths=(4, 8), has_null=False),
}


@pytest.mark.parametrize(
    "check",
    [
        "(amount > 0)",
        "amount between 1 and 99",
        "amount < price",
        "amount + 1 <= 100 and -amount < 0",
        "amount * 2 <= 198",
        "price is null or price > 100",
        "not (amount > 100)",
        "amount <> 100",
        "state in ('new', 'paid', 'sent')",
        "state <> 'gone'",
        "size in (1, 2, 4, 8)",
        "length(code) >= 4",
        "unknown > 1 or amount > 0",
    ],
)
def test_a_check_that_all_rows_meet_holds(check: str) -> None:
    assert holds(check, MYSQL, DOMAINS)
    assert holds(check, POSTGRES, DOMAINS)


@pytest.mark.parametrize(
    "check",
    [
        "amount > 1",
        "amount between 1 and 98",
        "price is not null",
        "state in ('new', 'sent')",
        "state <> 'NEW'",  # a collation may hold them to be equal
        "state < 'z'",
        "size in (1, 2)",
        "size = 3",
        "length(code) > 4",
        "code like 'a%'",
        "unknown > 1",
        "day > '2010-01-01'",
        "mod(amount, 2) = 0",
        "amount > (select 1)",
        "not sql at all (",
    ],
)
def test_a_check_that_rows_may_break_or_that_is_not_understood_does_not_hold(check: str) -> None:
    assert not holds(check, MYSQL, DOMAINS)
    assert not holds(check, POSTGRES, DOMAINS)


@pytest.mark.parametrize(
    ("check", "dialect"),
    [
        ("(`amount` > 0)", MYSQL),
        ("`state` in (_utf8mb4'new',_utf8mb4'paid')", MYSQL),
        ("`day` >= DATE'2010-01-01'", MYSQL),
        ("`day` >= '2010-01-01'", MYSQL),
        ("((state)::text = ANY ((ARRAY['new'::character varying, 'paid'::character varying])"
         "::text[]))", POSTGRES),
        ("(state = ANY (ARRAY['new'::text, 'paid'::text]))", POSTGRES),
        ("((day >= '2010-01-01'::date) AND (day < '2021-01-01'::date))", POSTGRES),
        ("((amount)::numeric > 0.5)", POSTGRES),
        ("(price >= (0)::numeric)", POSTGRES),
        ("(char_length((code)::text) <= 8)", POSTGRES),
    ],
)  # fmt: skip
def test_checks_are_read_as_servers_write_them(check: str, dialect: str) -> None:
    assert holds(check, dialect, DOMAINS)


def test_a_list_of_texts_is_found_wherever_it_must_hold() -> None:
    assert listed("`state` in (_utf8mb4'a',_utf8mb4'b')", MYSQL) == {"state": ("a", "b")}
    check = "(((state)::text = ANY ((ARRAY['a'::character varying])::text[])) AND (n > 0))"
    assert listed(check, POSTGRES) == {"state": ("a",)}
    assert listed("state in ('a', 'b') or n > 0", POSTGRES) == {}
    assert listed("n in (1, 2)", MYSQL) == {}
