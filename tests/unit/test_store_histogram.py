"""Histograms against the HdrHistogram package (a second implementation) and against numpy."""

import base64
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from hdrh.histogram import HdrHistogram
from hypothesis import given, settings
from hypothesis import strategies as st

from dbdyno.errors import DynoError
from dbdyno.store.metrics import histogram
from dbdyno.store.metrics.histogram import (
    DIGITS,
    HIGHEST_NS,
    LOWEST_NS,
    Histogram,
    by_tag,
    merge,
    read_log,
)

VALUES = st.lists(
    st.one_of(
        st.integers(0, 2000),
        st.integers(0, 10**9),
        st.integers(0, HIGHEST_NS),
    ),
    max_size=60,
)


def reference(values: list[int]) -> HdrHistogram:
    other = HdrHistogram(LOWEST_NS, HIGHEST_NS, DIGITS)
    for value in values:
        assert other.record_value(value)
    return other


@given(VALUES)
@settings(deadline=None)
def test_decodes_what_the_reference_encodes(values: list[int]) -> None:
    decoded = histogram.decode(reference(values).encode().decode())
    assert decoded.count == len(values)
    np.testing.assert_array_equal(decoded.counts, Histogram.of(values).counts)


@given(VALUES.filter(len), st.sampled_from([0.0, 0.25, 0.5, 0.9, 0.95, 0.99, 1.0]))
@settings(deadline=None)
def test_quantiles_are_the_references(values: list[int], q: float) -> None:
    ours = Histogram.of(values).quantile_ns(q)
    rank = max(1, int(np.ceil(q * len(values) - 1e-9)))
    exact = sorted(values)[rank - 1]
    assert ours is not None
    assert exact <= ours <= exact + exact // 128 + 1
    # The reference rounds q n to the nearest rank, so it is asked at the rank itself.
    assert ours == reference(values).get_value_at_percentile(100 * rank / len(values))


def test_buckets_touch_and_are_narrow() -> None:
    low, high = histogram.bounds()
    assert low[0] == 0
    assert high[-1] >= HIGHEST_NS
    np.testing.assert_array_equal(low[1:], high[:-1] + 1)
    wide = high > low
    assert np.all((high - low)[wide] / low[wide] < 1 / 128)
    assert len(low) * 8 < 40_000


@given(st.lists(VALUES, max_size=5))
@settings(deadline=None)
def test_a_merge_counts_what_its_parts_count(parts: list[list[int]]) -> None:
    merged = merge(Histogram.of(part) for part in parts)
    assert merged.count == sum(map(len, parts))
    everything = Histogram.of([value for part in parts for value in part])
    np.testing.assert_array_equal(merged.counts, everything.counts)


@given(VALUES, st.integers(4, 300))
@settings(deadline=None)
def test_ecdf_ascends_to_one(values: list[int], points: int) -> None:
    x, share = Histogram.of(values).ecdf(points)
    assert len(x) == len(share) <= points
    if values:
        assert share[-1] == 1.0
        assert np.all(np.diff(x) > 0)
        assert np.all(np.diff(share) > 0)
        for value, fraction in zip(x, share, strict=True):
            assert fraction == pytest.approx(np.mean(np.asarray(values) <= value))


def test_an_empty_histogram_has_no_quantile() -> None:
    assert Histogram.empty().quantile_ns(0.5) is None
    assert Histogram.empty().mean_ns() is None
    assert len(Histogram.empty().ecdf()[0]) == 0


def write_log(path: Path, lines: list[str], end: str = "\n") -> Path:
    head = "#[Histogram log format version 1.3]\n#[StartTime: 1.0 (seconds since epoch)]\n"
    columns = '"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"\n'
    path.write_text(head + columns + "\n".join(lines) + end)
    return path


def entry(tag: str, start: float, values: list[int]) -> str:
    encoded = reference(values).encode().decode()
    prefix = f"Tag={tag}," if tag else ""
    return f"{prefix}{start:.3f},1.000,0.000,{encoded}"


def test_reads_tags_and_merges_intervals(tmp_path: Path) -> None:
    log = write_log(
        tmp_path / "latency.hlog",
        [
            entry("workload", 0, [1000, 2000]),
            entry("workload", 1, [3000]),
            entry("workload/select", 0, [10]),
            entry("!lag", 0, []),
            entry("", 0, [7]),
        ],
    )
    tagged = read_log(log)
    assert [line.tag for line in tagged] == ["workload", "workload", "workload/select", "!lag", ""]
    assert (tagged[1].start_s, tagged[1].length_s) == (1.0, 1.0)
    merged = by_tag(tagged)
    assert {tag: found.count for tag, found in merged.items()} == {
        "workload": 3,
        "workload/select": 1,
        "!lag": 0,
        "": 1,
    }


def test_a_cut_off_last_line_is_dropped_and_other_damage_is_said(tmp_path: Path) -> None:
    whole = entry("g", 0, [1000, 2000])
    cut = write_log(tmp_path / "cut.hlog", [whole, whole[:-9]], end="")
    assert len(read_log(cut)) == 1
    damaged = write_log(tmp_path / "bad.hlog", [whole[:-9], whole])
    with pytest.raises(DynoError, match=r"bad\.hlog:4: not a histogram"):
        read_log(damaged)


@pytest.mark.parametrize("digits", [1, 3])
def test_another_configuration_is_refused(digits: int) -> None:
    other = HdrHistogram(LOWEST_NS, HIGHEST_NS, digits)
    other.record_value(5)
    with pytest.raises(ValueError, match="digits"):
        histogram.decode(other.encode().decode())


def packed(payload: bytes) -> str:
    head = struct.pack(">iiiiqqd", 0x1C849313, len(payload), 0, DIGITS, LOWEST_NS, HIGHEST_NS, 1.0)
    body = zlib.compress(head + payload)
    return base64.b64encode(struct.pack(">ii", 0x1C849314, len(body)) + body).decode()


def test_a_hand_made_encoding() -> None:
    # zig-zag: 2 is the count 1; 5 is a run of 3 zeros; 0x80 0x02 is the count 128.
    counts = histogram.decode(packed(bytes([2, 5, 0x80, 0x02]))).counts
    assert list(counts[:6]) == [1, 0, 0, 0, 128, 0]
    assert counts.sum() == 129


def test_runs_beyond_the_last_bucket_and_bombs_are_refused() -> None:
    with pytest.raises(ValueError, match="more counts"):
        histogram.decode(packed(bytes([0xFF, 0xFF, 0xFF, 0x7F, 2])))
    with pytest.raises(ValueError, match="too large"):
        histogram.decode(packed(bytes(5 << 20)))


@given(st.binary(max_size=200))
def test_rubbish_never_escapes_as_another_error(raw: bytes) -> None:
    for text in (base64.b64encode(raw).decode(), packed(raw)):
        try:
            histogram.decode(text)
        except (ValueError, struct.error, zlib.error):
            continue
