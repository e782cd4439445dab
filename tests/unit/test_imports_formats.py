"""Files of other tools, read. What a file says is in `tests/fixtures/imported/README.md`."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dbdyno.errors import DynoError
from dbdyno.imports import Found, Part, collect, formats
from dbdyno.imports.formats import pgbench_log
from dbdyno.imports.text import LINE_CHARS_MAX, Text
from dbdyno.store.metrics import histogram
from dbdyno.store.metrics.histogram import Histogram, Tagged, read_log
from effort import examples

HERE = Path(__file__).parents[1] / "fixtures" / "imported"


def read(path: Path, columns: dict[str, str] | None = None) -> list[Found]:
    return formats.read(Text(path), columns or {})


def one(name: str) -> tuple[Found, Part]:
    (found,) = read(HERE / name)
    (part,) = found.parts.values()
    return found, part


# -- sysbench ------------------------------------------------------------------------------------


def test_sysbench_1_0() -> None:
    found, part = one("sysbench-1.0/ro-4-1.txt")
    assert (found.tool, found.version, found.sessions) == ("sysbench", "1.0.20", 4)
    assert found.said == {"threads": "4"}
    assert found.duration_s == 3.0059
    assert part.metrics["transactions_per_s"] == 6700.74
    assert part.metrics["operations_per_s"] == 107211.86  # queries are not transactions
    assert part.metrics["service_ms_p95"] == 1.14
    assert part.metrics["service_ms_mean"] == 0.59
    assert part.metrics["tool.latency_ms_max"] == 7.65
    assert part.metrics["errors_per_s"] == 0
    assert [round(one.transactions_per_s) for one in part.intervals] == [5710, 7283, 7144]
    assert part.intervals[1].latency_ns == {"p95": pytest.approx(1.03e6)}


def test_the_record_of_dyno_sysbench() -> None:
    found, part = one("sysbench-record.ndjson")
    assert (found.tool, found.sessions, found.warnings) == ("dyno-sysbench", 2, ())
    assert found.said == {"test": "oltp_read_only", "threads": "2"}
    assert found.settings["rate"] == "100"
    assert part.histogram is not None
    assert part.histogram.count == 305
    seconds = found.duration_s
    assert part.metrics["transactions_per_s"] == pytest.approx(305 / seconds)
    assert part.metrics["operations_per_s"] == pytest.approx(4880 / seconds)
    assert part.metrics["service_ms_p95"] < part.metrics["response_ms_p95"]
    assert "service_ms_p99" not in part.metrics, "305 values do not tell it"
    events = sum(one.transactions_per_s * one.length_s for one in part.intervals)
    assert events == pytest.approx(305)
    assert {"p50", "p95", "mean", "max"} <= part.intervals[0].latency_ns.keys()


def test_a_record_that_was_cut_off_keeps_its_seconds(tmp_path: Path) -> None:
    lines = (HERE / "sysbench-record.ndjson").read_text().splitlines(keepends=True)
    path = tmp_path / "cut.ndjson"
    path.write_text("".join(lines[:3]) + lines[3][:100])
    (found,) = read(path)
    (part,) = found.parts.values()
    assert "cut off" in found.warnings[0]
    assert 1.5 < found.duration_s < 2.5
    assert part.histogram is not None
    counted = part.metrics["transactions_per_s"] * found.duration_s
    assert counted == pytest.approx(part.histogram.count)
    path.write_text(lines[0])
    with pytest.raises(DynoError, match="nothing was measured"):
        read(path)


def test_the_json_of_dyno_sysbench() -> None:
    found, part = one("sysbench-result.json")
    record, whole = one("sysbench-record.ndjson")
    assert found.duration_s == record.duration_s
    for name in ("transactions_per_s", "operations_per_s", "service_ms_mean"):
        assert part.metrics[name] == pytest.approx(whole.metrics[name])
    assert part.metrics["response_ms_p95"] == pytest.approx(
        whole.metrics["response_ms_p95"], rel=0.01
    )


def test_sysbench_0_5() -> None:
    found, part = one("by-hand/sysbench-0.5.txt")
    assert (found.version, found.sessions, found.duration_s) == ("0.5", 16, 30.0025)
    assert part.metrics["transactions_per_s"] == 400.0
    assert part.metrics["operations_per_s"] == pytest.approx(240020 / 30.0025)  # with BEGIN, COMMIT
    assert part.metrics["service_ms_p95"] == 61.75
    assert part.metrics["errors_per_s"] == 0.03
    assert [one.length_s for one in part.intervals] == [10, 10, 10]
    assert part.intervals[0].latency_ns == {"p95": pytest.approx(61.2e6)}
    assert part.intervals[0].errors_per_s == 0.1


def test_sysbench_1_1() -> None:
    found, part = one("by-hand/sysbench-1.1.txt")
    assert (found.version, found.sessions, found.duration_s) == ("1.1.0", 8, 10.0017)
    assert part.metrics["transactions_per_s"] == 589.9
    assert part.metrics["operations_per_s"] == 11798
    assert part.metrics["service_ms_p95"] == 21.89
    assert [one.operations_per_s for one in part.intervals] == [12000, 11600]


def test_sysbench_histogram_and_other_percentile() -> None:
    _, part = one("sysbench-histogram.txt")
    assert part.histogram is not None
    assert part.histogram.count > 10_000
    assert part.metrics["service_ms_p99"] == 0.15  # the tool's own
    assert 0 < part.metrics["service_ms_p50"] < part.metrics["service_ms_p99"]
    assert "p99" in part.intervals[0].latency_ns


def test_a_bucket_of_400_digits_is_refused_in_its_place(tmp_path: Path) -> None:
    sample = (HERE / "sysbench-histogram.txt").read_text().splitlines()
    at = next(i for i, line in enumerate(sample) if re.fullmatch(r" +\d+\.\d+ \|\**\s+\d+", line))
    sample[at] = sample[at].replace(".", "9" * 400 + ".", 1)
    path = tmp_path / "out.txt"
    path.write_text("\n".join(sample))
    with pytest.raises(DynoError, match=f"out.txt:{at + 1}:1: a bucket of a histogram"):
        read(path)


def test_sysbench_with_a_rate_has_response_times() -> None:
    _, part = one("sysbench-rate.txt")
    assert "response_ms_p95" in part.metrics
    assert not any(name.startswith("service_") for name in part.metrics)


def test_sysbench_files_and_cpu() -> None:
    _, files = one("sysbench-fileio.txt")
    assert files.metrics["tool.read_bytes_per_s"] == 988.04 * 2**20
    assert files.metrics["tool.reads_per_s"] == 63234.30
    _, cpu = one("sysbench-cpu.txt")
    assert cpu.metrics["transactions_per_s"] == pytest.approx(3170 / 1.0002)


def test_sysbench_several_results_in_one_file(tmp_path: Path) -> None:
    names = ("sysbench-1.0/ro-1-1.txt", "by-hand/sysbench-0.5.txt", "by-hand/sysbench-1.1.txt")
    whole = tmp_path / "all.txt"
    whole.write_text("".join((HERE / name).read_text() for name in names))
    found = read(whole)
    assert [one.said["threads"] for one in found] == ["1", "16", "8"]
    assert [one.version for one in found] == ["1.0.20", "0.5", "1.1.0"]
    assert whole.read_text().splitlines()[found[1].line - 1].startswith("sysbench 0.5")


@pytest.mark.parametrize("name", ["by-hand/sysbench-0.5.txt", "by-hand/sysbench-1.1.txt"])
def test_sysbench_cut_off_uses_its_interval_lines(name: str, tmp_path: Path) -> None:
    text = (HERE / name).read_text()
    cut = tmp_path / "cut.txt"
    cut.write_text(text[: text.index(" statistics:")])
    (found,) = read(cut)
    part = found.parts[""]
    assert "cut off" in found.warnings[0]
    mean = sum(one.transactions_per_s for one in part.intervals) / len(part.intervals)
    assert part.metrics["transactions_per_s"] == pytest.approx(mean)
    assert not any("_p95" in name for name in part.metrics)


def test_sysbench_checkpoints_are_not_the_end(tmp_path: Path) -> None:
    text = (HERE / "by-hand/sysbench-1.1.txt").read_text()
    block = text[text.index("SQL statistics:") : text.index("Threads fairness")]
    checkpoint = "[ 5s ] Checkpoint report:\n" + block.replace("589.90 per", "1.00 per")
    twice = tmp_path / "twice.txt"
    twice.write_text(text.replace("[ 10s ]", checkpoint + "[ 10s ]"))
    (found,) = read(twice)
    assert found.parts[""].metrics["transactions_per_s"] == 589.9


# -- pgbench -------------------------------------------------------------------------------------


def test_pgbench_output() -> None:
    found, part = one("pgbench/pg-4.txt")
    assert (found.tool, found.version, found.said) == ("pgbench", "15.18", {"clients": "4"})
    assert part.metrics["transactions_per_s"] == 88576.964349
    assert part.metrics["service_ms_mean"] == 0.044
    assert "operations_per_s" not in part.metrics  # pgbench counts no statements
    assert [one.t_s for one in part.intervals] == [1, 2, 3]
    assert found.duration_s == 3


def test_pgbench_with_a_rate_has_response_times() -> None:
    _, part = one("pgbench/pg-rate.txt")
    assert part.metrics["response_ms_mean"] == 1.079
    assert "service_ms_mean" not in part.metrics
    assert part.metrics["tool.skipped_per_s"] == 0


def test_pgbench_cut_off(tmp_path: Path) -> None:
    text = (HERE / "pgbench/pg-4.txt").read_text()
    cut = tmp_path / "cut.txt"
    cut.write_text(text[: text.index("transaction type")])
    (found,) = read(cut)
    assert found.parts[""].metrics["transactions_per_s"] == pytest.approx(
        (89091.1 + 89145.0 + 87145.0) / 3
    )
    assert "cut off" in found.warnings[0]


def test_logs_of_pgbench_threads_are_one_result() -> None:
    collected = collect(
        [HERE / "pgbench/pgbench_log.14201", HERE / "pgbench/pgbench_log.14201.1"], {}
    )
    (found,) = collected.results
    part = found.parts[""]
    assert len(collected.sources) == 2
    assert found.sessions == 2
    assert part.histogram is not None
    assert part.histogram.count == 40
    rows = [line.split() for path in (s.path for s in collected.sources) for line in path.open()]
    took_us = np.array([int(row[2]) for row in rows])
    assert part.metrics["service_ms_mean"] == pytest.approx(took_us.mean() / 1e3, rel=0.01)
    assert part.metrics["service_ms_p50"] == pytest.approx(np.median(took_us) / 1e3, rel=0.05)
    assert "service_ms_p95" not in part.metrics  # 40 transactions are too few
    assert sum(one.transactions_per_s for one in part.intervals) == 40


def test_a_log_with_lag_has_both_times() -> None:
    _, part = one("pgbench/rated.log")
    assert part.metrics["response_ms_mean"] > part.metrics["service_ms_mean"]


def test_retries_are_not_taken_for_lag(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("".join(f"0 {i} 1500 0 1700000000 {i * 1500} 2\n" for i in range(1, 60)))
    (found,) = read(log)
    assert found.parts[""].metrics["service_ms_mean"] == pytest.approx(1.5, rel=0.01)
    assert "response_ms_mean" not in found.parts[""].metrics


def test_an_aggregated_log_has_means() -> None:
    _, part = one("pgbench/aggregated.log")
    # Of three intervals only the middle one is whole.
    assert part.metrics["transactions_per_s"] == 33709
    assert part.metrics["service_ms_mean"] == pytest.approx(1946410 / 33709 / 1e3)
    assert len(part.intervals) == 3
    assert not any("_p" in name for name in part.metrics if name.startswith("service"))


def test_memory_stays_flat_over_many_latencies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pgbench_log, "CHUNK", 4)
    _, part = one("pgbench/pgbench_log.14201")
    assert part.histogram is not None
    assert part.histogram.count == 20


# -- fio, HammerDB -------------------------------------------------------------------------------


def test_fio() -> None:
    found, part = one("fio/fio-randread.json")
    assert (found.tool, found.version, found.sessions) == ("fio", "3.33", 4)
    assert list(found.parts) == ["read"]
    assert part.metrics["operations_per_s"] == pytest.approx(9827.172827)
    assert part.metrics["tool.bytes_per_s"] == 161008399  # bytes, neither MB nor MiB
    assert part.metrics["service_ms_p99"] == 0.815104
    assert part.metrics["tool.latency_ms_p99_95"] == 6.258688
    assert found.said["bs"] == "16k"


def test_fio_jobs_of_one_name_add_up_and_json_plus_gives_histograms() -> None:
    (found,) = read(HERE / "fio/fio-mix.json")
    assert list(found.parts) == ["read", "write"]
    for part in found.parts.values():
        assert part.histogram is not None
        assert part.metrics["service_ms_p50"] <= part.metrics["service_ms_p99"]


def test_old_fio_gives_kibibytes_and_microseconds(tmp_path: Path) -> None:
    (tmp_path / "old.json").write_text(
        '{"fio version": "fio-2.2", "jobs": [{"jobname": "a", "read": {"total_ios": 10, "iops": 5,'
        ' "bw": 80, "clat": {"mean": 1500, "percentile": {"95.000000": 2000}}}}]}'
    )
    (found,) = read(tmp_path / "old.json")
    assert found.parts["read"].metrics == {
        "transactions_per_s": 5,
        "operations_per_s": 5,
        "tool.bytes_per_s": 81920,
        "service_ms_mean": 1.5,
        "service_ms_p95": 2.0,
    }


def test_hammerdb() -> None:
    found, part = one("by-hand/hammerdb-4.txt")
    assert (found.version, found.said, found.duration_s) == ("4.9", {"users": "2"}, 300)
    assert part.metrics == {
        "transactions_per_s": 72780 / 60,
        "tool.new_orders_per_min": 31380,
    }
    older = read(HERE / "by-hand/hammerdb-3.txt")
    assert [one.said["users"] for one in older] == ["4", "8"]
    assert [one.parts[""].metrics["tool.new_orders_per_min"] for one in older] == [20000, 30000]


# -- tables --------------------------------------------------------------------------------------


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_a_table(separator: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    rows = ["machine,threads,tps,p95 ms,rate,note,rep", "a,1,10.5,3,7,x,1", "a,1,11,,8,y,2"]
    path.write_text("\r\n".join(rows).replace(",", separator))
    first, second = read(path, {"rate": "qps", "note": "-"})
    assert first.said == {"machine": "a", "threads": "1"}
    assert first.parts[""].metrics == {
        "transactions_per_s": 10.5,
        "service_ms_p95": 3,
        "operations_per_s": 7,
    }
    assert "service_ms_p95" not in second.parts[""].metrics  # an empty cell is no number
    assert (first.repetition, second.repetition, second.sessions, second.line) == ("1", "2", 1, 3)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("threads,tps\n1,2\n1\n", "t.csv:3:1: 1 fields in this row, 2 in the header"),
        ("threads,tps\n1,fast\n", "t.csv:2:1: `fast` is not a number"),
        ("threads,tps\n1,-2\n", "t.csv:2:1: transactions_per_s cannot be negative"),
        ("threads,tps\n1,nan\n", "t.csv:2:1: `nan` is not a number"),
        ("threads,note\n1,x\n", "t.csv:1:1: no column of the table is a metric"),
        ("tps,tps\n1,2\n", "t.csv:1:1: a column of the table has no name, or two"),
        ("tps,transactions_per_s\n1,2\n", "t.csv:1:1: two columns of the table are the same"),
        ("threads,tps\n,2\n", "t.csv:2:1: column `threads` is empty"),
        ('threads,tps\n1,"2\n', "t.csv:2:1: this is not CSV"),
    ],
)
def test_tables_that_are_wrong(text: str, says: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text)
    with pytest.raises(DynoError) as error:
        read(path)
    assert says in str(error.value)
    assert "next step" in str(error.value)


# -- what is no result ---------------------------------------------------------------------------

FIO = (
    b'{"fio version": "fio-3.33", "jobs": [{"jobname": "j", "read":'
    b' {"total_ios": 9, "iops": %s, "bw": 1, "runtime": 1000}}]}'
)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "x:1:1: the file is empty"),
        (b"\n\n", "x:1:1: the file is empty"),
        (b"hello\nworld\n", "x:1:1: this is not the result of a"),
        (bytes(range(256)) * 4, "binary"),
        (b"x" * (LINE_CHARS_MAX + 2), "x:1:1: this is not the result of a"),
        (b"sysbench 1.0.20 (using)\n" + b"y" * (LINE_CHARS_MAX + 2), "x:2:1: a line of more than"),
        (b"sysbench 1.0.20 (using)\nFATAL: cannot connect\n", "x:1:1: sysbench printed no result"),
        (b"\xff\xfe\x00", "UTF-16"),
        (b'{"fio version": "fio-3.33", "jobs": [', "this is not JSON"),
        (b'{"fio version": "fio-3.33"}', "no list of `jobs`"),
        (b'{"fio version": "fio-3.33", "jobs": [7]}', "not as fio writes it"),
        (b'{"fio version": 1, "a": ' + b"[" * 100_000, "this is not JSON"),
        (FIO % b"1e999", "transactions_per_s is inf"),
        (FIO % b"NaN", "transactions_per_s is nan"),
        (FIO % b"inf", "this is not JSON"),
        (b"pgbench (15.18)\nscaling factor: 1\n", "pgbench printed no result"),
        (b"progress: 2.0 s, 1 tps, lat 1 ms stddev 1\n" * 2, "x:2:1: time runs backwards"),
        (b"transaction type: x\ntps = fast\n", "x:2:1: expected `tps = RATE"),
        (b"0 1 20 0 1700000000 5\nrubbish\n0 2 20 0 1700000000 9\n", "x:2:1: not a line of"),
        (b"Vuser 1:RUNNING\n", "HammerDB printed no TEST RESULT"),
        (b"Vuser 1:TEST RESULT : System achieved many NOPM\n", "not as HammerDB writes it"),
    ],
)
def test_bad_files_say_where_why_and_what_next(content: bytes, says: str, tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(content)
    with pytest.raises(DynoError) as error:
        read(path)
    assert says in str(error.value)
    assert "next step" in str(error.value)


def test_final_blocks_with_rubbish_point_at_the_line(tmp_path: Path) -> None:
    text = (HERE / "by-hand/sysbench-1.1.txt").read_text()
    path = tmp_path / "x"
    path.write_text(text.replace("(589.90 per sec.)", "(fast)"))
    line = text.splitlines().index(next(x for x in text.splitlines() if "589.90 per" in x)) + 1
    with pytest.raises(DynoError, match=f"x:{line}:1: expected `COUNT"):
        read(path)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "latin-1"])
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_encodings_and_line_ends(encoding: str, ends: str, tmp_path: Path) -> None:
    text = (HERE / "by-hand/sysbench-0.5.txt").read_text().replace("\n", ends)
    path = tmp_path / "x"
    path.write_bytes(f"Grüße{ends}{text}".encode(encoding))
    (found,) = read(path)
    assert found.parts[""].metrics["transactions_per_s"] == 400.0


SAMPLES = sorted(path for path in HERE.rglob("*") if path.is_file() and path.name != "README.md")
PIECES = [
    b"\0",
    b"\xff",
    b"\n",
    b"9" * 400,
    b"-1",
    b"nan",
    b": ",
    b"{",
    b"}",
    b'"',
    b",",
    b"[ 1s ]",
]


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name)
@settings(max_examples=examples(40), deadline=None)
@given(data=st.data())
def test_mutated_samples_are_read_or_refused(
    sample: Path, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    raw = bytearray(sample.read_bytes())
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(raw)))
        length = data.draw(st.integers(0, 40))
        raw[at : at + length] = data.draw(st.sampled_from(PIECES) | st.binary(max_size=8))
    path = tmp_path_factory.getbasetemp() / "mutated"
    path.write_bytes(
        bytes(raw[: data.draw(st.integers(0, len(raw)))] if data.draw(st.booleans()) else raw)
    )
    found = []
    with contextlib.suppress(DynoError):
        found = read(path)
    for one in found:
        for part in one.parts.values():
            values = [*part.metrics.values(), *(i.transactions_per_s for i in part.intervals)]
            assert all(np.isfinite(values))


# -- histograms ----------------------------------------------------------------------------------


@given(st.dictionaries(st.integers(0, 4 * 10**12), st.integers(1, 10**12), max_size=40))
@settings(deadline=None)
def test_histograms_are_written_as_they_are_read(counts: dict[int, int]) -> None:
    whole = Histogram.weighted(counts)
    assert whole.count == sum(counts.values())
    np.testing.assert_array_equal(histogram.decode(histogram.encode(whole)).counts, whole.counts)


def test_a_log_of_ours_is_read_back(tmp_path: Path) -> None:
    line = Tagged("workload", 0.0, 2.5, Histogram.of([1, 10, 10, 10**9]))
    (tmp_path / "log").write_text(histogram.log_line(line))
    (back,) = read_log(tmp_path / "log")
    assert (back.tag, back.start_s, back.length_s) == ("workload", 0.0, 2.5)
    np.testing.assert_array_equal(back.histogram.counts, line.histogram.counts)
