"""What parallel replication could bring, drawn: against golden files, and by the numbers of the
published example."""

from __future__ import annotations

import pytest
from syrupy.assertion import SnapshotAssertion
from test_digest_golden import CONTROL
from test_report_golden import Plain

from dbdyno.digest.parallelism import parse
from dbdyno.report.digest import parallel, parallel_page
from dbdyno.wording.digest import replication
from fixtures import digests, parallelism


@pytest.fixture
def golden(snapshot: SnapshotAssertion) -> SnapshotAssertion:
    return snapshot.use_extension(Plain)


@pytest.mark.parametrize("name", ["published", "binary_log"])
@pytest.mark.parametrize("form", ["text", "markdown"])
def test_parallelism(golden: SnapshotAssertion, name: str, form: str) -> None:
    found = parse(getattr(parallelism, name)())
    made = parallel.text(found, 110) if form == "text" else parallel.markdown(found)
    assert made == golden


def test_the_published_example() -> None:
    """Its conclusion, "hardly 50 %", forgot the time in which two schemas are busy."""
    said = parallel.text(parse(parallelism.published()))
    assert said.startswith("With 4 workers by schema at most 1.92x")
    lines = {line.split()[1]: line for line in said.splitlines() if "exactly" in line}
    assert "33.7 %" in lines["1"] and "40.6 %" in lines["2"] and "25.7 %" in lines["3"]
    found = parse(parallelism.published())
    assert found.schemas and [round(found.schemas.at_most(n), 2) for n in (1, 2, 3)] == [
        *(1.0, 1.92, 1.92)
    ]


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (parallelism.document(), "No log tells of writes and what they cost."),
        (parallelism.document(transactions=3), "No log tells which of its transactions"),
        (parallelism.one_schema(), "By schema nothing can be gained: shop has 100 %"),
    ],
)
def test_what_cannot_be_told_is_said(raw: dict[str, object], said: str) -> None:
    found = parse(raw)
    assert replication.answer(found).startswith(said)
    assert said in parallel.markdown(found) and said in parallel_page.page(found)


def test_the_page_shows_both_curves_and_every_number() -> None:
    page = parallel_page.page(parse(parallelism.binary_log()))
    assert page.count("<figure") == 2 and "commit order kept" in page
    assert "1.25x" in page and "6.00x" in page and "5.70x" in page
    assert "<script" not in page and "src=" not in page and "url(" not in page


def test_nothing_of_strangers_steers_a_terminal_or_a_page() -> None:
    found = parse(parallelism.hostile(digests.HOSTILE))
    for made in (parallel.text(found), parallel.markdown(found), parallel_page.page(found)):
        assert not CONTROL.search(made)
    assert "<script>alert" not in parallel_page.page(found)


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_the_curves_fit_the_terminal(width: int) -> None:
    lines = parallel.text(parse(parallelism.binary_log()), width).splitlines()
    drawn = [line for line in lines if "│" in line or line.endswith("workers")]
    assert drawn and all(len(line) <= max(width, 46) for line in drawn), "\n".join(lines)
