"""What the plots say: sums over stretches of time that lose nothing, and drawings that are safe."""

from __future__ import annotations

import re
import sys
from datetime import timedelta
from xml.etree import ElementTree

import pytest
from tests.report.conftest import report_of
from tests.report.made_up import HOSTILE, NOW, company, fail, kept, runs, well
from tests.report.test_network_memories import Log

from tapestry.errors import ConfigurationError
from tapestry.report.buckets import MOST, make_axis
from tapestry.report.drawing import join_pieces
from tapestry.report.figures import label_format, model_figure, project_figures
from tapestry.report.graph import graph
from tapestry.report.judge import judge
from tapestry.report.kept import MEMORY, SUMS, TableBetween
from tapestry.report.make import kept_tables
from tapestry.report.plots import bars, render
from tapestry.report.read import TableSize
from tapestry.report.record import Record
from tapestry.report.strips import strips


@pytest.mark.parametrize("every", [timedelta(seconds=7), timedelta(hours=1), timedelta(days=400)])
@pytest.mark.parametrize("count", [1, 2, 500])
def test_an_axis_has_few_buckets_and_holds_every_run(every: timedelta, count: int) -> None:
    if every * count > timedelta(days=365 * 1000):
        every = timedelta(days=300)
    record = Record.from_rows(runs("s.m", count, every=every))
    axis = make_axis(record.runs)
    assert axis is not None
    assert axis.count <= MOST
    for run in record.runs:
        moment, bucket = axis.when(run), axis.bucket(run)
        assert moment is not None
        assert bucket is not None
        assert axis.begin(bucket) <= moment < axis.begin(bucket + 1)


@pytest.mark.parametrize("top", [1, 2, 3, 7])
def test_what_is_counted_has_no_halves(top: int) -> None:
    bar = {"at": "2024-01-01", "until": "2024-01-02", "series": "a", "y0": 0, "y1": top, "tip": ""}
    spec = bars([bar], series=["a"], colors=["bad"], step={"format": "day"}, unit="rows")
    labels = re.findall(r">([0-9.]+)<", render(spec, "rows", "rows"))
    assert "0" in labels
    assert all(label.isdecimal() for label in labels), labels


def test_replayed_runs_stand_at_their_windows() -> None:
    rows = runs("s.m", 5, every=timedelta(minutes=1))
    for number, row in enumerate(rows):
        row["t"] = NOW - timedelta(days=9000 - 30 * number)
    axis = make_axis(Record.from_rows(rows).runs)
    assert axis is not None
    assert axis.replayed
    assert axis.width == timedelta(days=30)


@pytest.mark.parametrize(
    ("between", "shown"),
    [(timedelta(seconds=2), "%H:%M:%S"), (timedelta(hours=1), "%H:%M"), (timedelta(9), "%-d %b")],
)
def test_the_labels_of_times_tell_them_apart(between: timedelta, shown: str) -> None:
    axis = make_axis(Record.from_rows(runs("s.m", 9, every=between)).runs)
    assert axis is not None
    assert label_format(axis)["format"] == shown


def _numbers(text: str) -> int:
    return int(text.replace(",", ""))


def test_the_sums_are_the_rows_sums() -> None:
    made, checked = company()
    verdict = judge(Record.from_rows(made, checked), report_artifacts(), NOW)
    plots = {plot.id: plot for plot in project_figures(verdict)}
    for name, column in (("late", "late_rows"), ("rejected", "rejected_rows")):
        shown = sum(_numbers(row[1]) for row in plots[name].table)
        assert shown == sum(row[column] for row in made)
    appended = sum(row["new_rows"] or 0 for row in made if row["action"] != "create")
    shown = sum(_numbers(cell) for row in plots["new"].table for cell in row[1:])
    assert shown == appended
    verification = [check for check in checked if check["kind"] in ("enough", "not_too_much")]
    shown = sum(_numbers(cell) for row in plots["verification"].table for cell in row[1:])
    assert shown == len(verification)


def report_artifacts():
    from tapestry.report.artifacts import Artifacts

    return Artifacts()


def test_a_column_that_nobody_filled_has_no_plot() -> None:
    rows = runs("s.m", 5, rejected_rows=None, bytes_read=None, bytes_written=None, late_rows=0)
    verdict = judge(Record.from_rows(rows), report_artifacts(), NOW)
    assert [plot.id for plot in project_figures(verdict)] == ["new", "cost"]


def test_rows_that_go_out_are_told_apart_from_those_that_come_in() -> None:
    made = kept("s.m", 9)
    verdict = judge(Record.from_rows(made), report_artifacts(), NOW)
    plot = model_figure(1, "s.m", verdict.models[0].runs)
    assert plot is not None
    assert plot.header[1:] == ("inserted", "updated", "deleted")
    sums = [
        sum(_numbers(cell) for cell in column) for column in list(zip(*plot.table, strict=True))[1:]
    ]
    assert sums == [36, 72, 8]
    assert plot.says.startswith("36 inserted, 72 updated, 8 deleted in 9 runs")
    new = {plot.id: plot for plot in project_figures(verdict)}["new"]
    assert sum(_numbers(row[1]) for row in new.table) == 36


def test_strips_tell_failures() -> None:
    rows = fail(runs("s.m", 30), 2, "broke")
    plot = strips(judge(Record.from_rows(rows), report_artifacts(), NOW))
    assert plot is not None
    assert plot.table[0][0] == "s.m"
    assert int(plot.table[0][3]) >= 1
    assert "failed, 2 runs" in plot.svg


def test_no_count_is_nothing_without_a_thousand() -> None:
    many = {"at": "2026-01-01T00:00:00Z", "until": "2026-01-02T00:00:00Z", "y0": 0, "y1": 3000,
            "series": "rows", "tip": "3000 rows"}  # fmt: skip
    drawn = render(bars([many], series=["rows"], colors=["s1"], step={}, unit="rows"), "a", "b")
    texts = {e.text for e in ElementTree.fromstring(drawn).iter() if e.tag.endswith("}text")}
    assert {"0", "1k", "3k"} <= texts


def test_drawings_hold_no_script_link_or_foreign_address(tmp_path) -> None:
    values = [
        {"at": "2026-01-01T00:00:00Z", "until": "2026-01-02T00:00:00Z", "y0": 0, "y1": 3,
         "series": HOSTILE, "tip": f'"><img src=x onerror=alert(1)>{HOSTILE}'}
    ]  # fmt: skip
    spec = bars(values, series=[HOSTILE], colors=["s1"], step={}, unit=HOSTILE)
    drawn = [render(spec, HOSTILE, HOSTILE)]
    report = report_of(tmp_path, *company())
    drawn += [plot.svg for plot in project_figures(report.verdict)]
    for svg in drawn:
        root = ElementTree.fromstring(svg)
        names = {element.tag.rpartition("}")[2] for element in root.iter()}
        assert names <= {"svg", "g", "path", "text", "line", "title", "rect"}
        for element in root.iter():
            assert not [name for name in element.attrib if name.startswith("on")]
    assert HOSTILE in "".join(ElementTree.fromstring(drawn[0]).itertext())


def test_the_graph_of_two_hundred_models(tmp_path) -> None:
    pytest.importorskip("fast_sugiyama", reason="the graph needs Python 3.11")
    report = report_of(tmp_path, *well(200, 2))
    anchors = {model.name: "m1" for model in report.verdict.models}
    plot = graph(report.verdict, report.artifacts, anchors)
    assert plot is not None
    assert len(plot.table) == 201
    root = ElementTree.fromstring(plot.svg)
    links = [e for e in root.iter() if e.tag.endswith("}a")]
    assert {link.attrib["href"] for link in links} == {"#m1"}
    texts = {e.text for e in root.iter() if e.tag.endswith("}text")}
    assert {"raw.messages", "✓ model_0", "✓ model_199"} <= texts


def test_memories_stand_between_a_source_and_the_models_that_read_them(tmp_path) -> None:
    pytest.importorskip("fast_sugiyama", reason="the graph needs Python 3.11")
    report = report_of(tmp_path, *well(3, 2))
    users = tuple(model.name for model in report.verdict.models[:2])
    facts = {"bytes": 2**20, "conditions": [HOSTILE]}
    memory = TableBetween(MEMORY, "shop.tapestry_memory__ab", users, ("raw.messages",), facts)
    plot = graph(report.verdict, report.artifacts, {}, [memory])
    assert plot is not None
    root = ElementTree.fromstring(plot.svg)
    texts = {e.text for e in root.iter() if e.tag.endswith("}text")}
    assert "memory, 1.0 MiB" in texts
    titles = "".join(e.text or "" for e in root.iter() if e.tag.endswith("}title"))
    assert HOSTILE in titles


def test_sums_stand_between_a_model_and_what_it_reads(
    tmp_path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("fast_sugiyama", reason="the graph needs Python 3.11")
    asked = []

    def size(tables: object, table: str) -> TableSize:
        asked.append(table)
        return TableSize(2, 3 * 2**20)

    monkeypatch.setattr("tapestry.report.make.table_size", size)
    grouped = runs("shop.totals", 2, strategy="cumulative") + runs("other.sums", 1)
    report = report_of(tmp_path, runs("shop.plain", 2) + grouped, [])
    kept = kept_tables(Log(), "shop", report.record, report.artifacts)
    assert [(one.kind, one.name, one.users) for one in kept] == [
        (SUMS, "shop.totals__memory", ("shop.totals",))
    ]
    assert asked == ["totals__memory"], "of no other model"
    plot = graph(report.verdict, report.artifacts, {}, kept)
    assert plot is not None
    root = ElementTree.fromstring(plot.svg)
    assert "sums, 3.0 MiB" in {e.text for e in root.iter() if e.tag.endswith("}text")}
    assert "totals__memory" in {e.text for e in root.iter() if e.tag.endswith("}title")}


def test_long_edges_are_put_together() -> None:
    placed = {"a": (0, 0.0), 7: (1, 2.0), 8: (2, 2.0), "b": (3, 1.0), "c": (1, 0.0)}
    found = join_pieces([("a", 7), (7, 8), (8, "b"), ("a", "c")], placed)
    assert found == {
        ("a", "b"): [(0, 0.0), (1, 2.0), (2, 2.0), (3, 1.0)],
        ("a", "c"): [(0, 0.0), (1, 0.0)],
    }


def test_what_is_missing_is_said(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    report = report_of(tmp_path, *well(2, 3))
    monkeypatch.setitem(sys.modules, "fast_sugiyama", None)
    assert graph(report.verdict, report.artifacts, {}) is None
    assert "What reads what" not in report.html()
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(ConfigurationError, match="vl-convert-python"):
        report.html()
