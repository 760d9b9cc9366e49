"""The network: its nodes and edges, the tree, the page."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from tests.report.made_up import HOSTILE, NAMES, NOW, fail, runs, write_target

from tapestry.errors import ConfigurationError
from tapestry.report.artifacts import Artifacts, Node
from tapestry.report.kept import MEMORY, SUMS, TableBetween
from tapestry.report.network import (
    MODEL,
    SOURCE,
    Network,
    described,
    find_model,
    make_network,
    sums_of,
)
from tapestry.report.network_page import network_page
from tapestry.report.network_text import says, table, tree
from tapestry.report.read import TableSize, table_size
from tapestry.report.record import Record
from tapestry.runs.tables.queries import QueryRow

SIZES = {
    "raw.messages": TableSize(12, 3_000_000, 40_000),
    "raw.people": TableSize(1, 900),
    "shop.totals__memory": TableSize(2, 2048, 7),
}
CONTINUOUS = "continuous"


def project() -> Artifacts:
    """Two sources, a view, three continuous models, a table that has nothing to do with them."""
    nodes = [
        Node("source.messages", "raw.messages", "source"),
        Node("source.people", "raw.people", "source"),
        Node("model.recent", "shop.recent", "model", "view", parents=("source.messages",)),
        Node(
            "model.urgent",
            "shop.urgent",
            "model",
            CONTINUOUS,
            parents=("model.recent", "source.people"),
            priority=9,
        ),
        Node("model.totals", "shop.totals", "model", CONTINUOUS, parents=("source.messages",)),
        Node("model.below", "shop.below", "model", CONTINUOUS, parents=("model.urgent",)),
        Node("model.alone", "shop.alone", "model", "table", parents=("source.people",)),
    ]
    return Artifacts("shop", {node.id: node for node in nodes if node.id != "model.alone"})


def record() -> Record:
    rows = runs("shop.urgent", 3, strategy="anti_join", new_rows=12, seconds=2.5)
    rows += fail(runs("shop.totals", 2, seconds=1.0), 1, "it broke")
    off = QueryRow("shop.totals", "model.totals", 0, NOW, False, "too dear")
    return replace(Record.from_rows(rows, now=NOW), queries={"shop.totals": off})


def network(kept: list[TableBetween] | None = None) -> Network:
    artifacts = project()
    kept = sums_of(artifacts, SIZES.get) if kept is None else kept
    return make_network(artifacts, record(), SIZES.get, kept)


def test_nodes_have_their_figures() -> None:
    nodes = network().nodes
    assert nodes["source.messages"].facts == {"rows": 40_000, "files": 12, "bytes": 3_000_000}
    urgent = nodes["model.urgent"].facts
    assert (urgent["priority"], urgent["active"], urgent["strategy"]) == (9, True, "anti_join")
    assert (urgent["answers"], urgent["seconds"], urgent["runs"]) == (12, 2.5, 3)
    assert urgent["all_seconds"] == 7.5
    totals = nodes["model.totals"].facts
    assert (totals["active"], totals["why"], totals["failed"]) == (False, "too dear", True)
    assert nodes["model.recent"].facts == {"materialized": "view"}
    assert nodes["model.below"].facts["last_run"] is None


def test_sums_stand_between_a_model_and_what_it_reads() -> None:
    edges = network().edges
    assert ("source.messages", "shop.totals__memory") in edges
    assert ("shop.totals__memory", "model.totals") in edges
    assert ("source.messages", "model.totals") not in edges
    assert ("source.messages", "model.recent") in edges


def test_memories_are_plugged_in() -> None:
    alpha = TableBetween(
        MEMORY,
        "shop.a",
        ("shop.urgent", "shop.totals"),
        ("raw.people", "raw.messages"),
        {"rows": 3},
    )
    gone = TableBetween(MEMORY, "shop.gone", ("shop.no_such_model",), ("raw.people",))
    sums = sums_of(project(), SIZES.get)
    found = network([*sums, alpha, gone])
    assert "shop.gone" not in found.nodes
    assert found.nodes["shop.a"].facts == {"rows": 3}
    assert set(found.edges) == {
        ("source.messages", "model.recent"),
        ("model.recent", "model.urgent"),
        ("source.messages", "shop.a"),
        ("source.people", "shop.a"),
        ("shop.a", "model.urgent"),
        ("shop.a", "shop.totals__memory"),
        ("shop.totals__memory", "model.totals"),
        ("model.urgent", "model.below"),
    }


def test_a_tree_in_words() -> None:
    assert tree(network()) == [
        "raw.messages  [source]  40,000 rows, 12 files, 2.9 MiB",
        "├─ shop.totals__memory  [sums]  7 rows, 2 files, 2.0 KiB",
        "│  └─ shop.totals  [continuous]  switched off, failed, "
        + _strategy()
        + "90,000 answers, 1.0 s",
        "└─ shop.recent  [view]",
        "   └─ shop.urgent  [continuous]  priority 9, anti_join, 12 answers, 2.5 s",
        "      └─ shop.below  [continuous]  never run",
        "raw.people  [source]  1 file, 900 B",
        "└─ shop.urgent  [continuous]  priority 9, anti_join, 12 answers, 2.5 s (see above)",
    ]
    assert says(network()) == (
        "2 sources, 3 continuous models (1 switched off), 1 table kept between them"
    )


def _strategy() -> str:
    return f"{network().nodes['model.totals'].facts['strategy']}, "


def test_what_is_around_a_model() -> None:
    found = network().around(find_model(project(), "urgent"))
    assert set(found.nodes) == {
        *("source.messages", "source.people", "model.recent", "model.urgent", "model.below"),
    }
    assert find_model(project(), "raw.messages") == "source.messages"
    with pytest.raises(ConfigurationError, match=r"did you mean urgent\?"):
        find_model(project(), "urgnt")


def test_plain_data() -> None:
    told = json.loads(json.dumps(described(network())))
    assert [node["kind"] for node in told["nodes"]] == [SOURCE, SOURCE, SUMS, *[MODEL] * 4]
    assert {"from": "model.urgent", "to": "model.below"} in told["edges"]


class Elements(HTMLParser):
    """The tags of a page, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """A tag begins."""
        self.tags.add(tag)

    def handle_data(self, data: str) -> None:
        """Text outside of tags."""
        self.text += data


def test_the_page_holds_names_that_nobody_expects(tmp_path: Path) -> None:
    from tapestry.report.artifacts import read_artifacts

    models = [f"shop.{name}" for name in NAMES]
    artifacts = read_artifacts(write_target(tmp_path, models))
    rows = [row for model in models for row in runs(model, 2)]
    off = {models[2]: QueryRow(models[2], "", 0, NOW, False, HOSTILE)}
    made = replace(Record.from_rows(rows, now=NOW + timedelta(days=1)), queries=off)
    found = make_network(artifacts, made, SIZES.get)
    page = network_page(found, "shop", "shop", NOW)
    read = Elements(page)
    assert not read.tags & {"script", "img", "iframe"}
    for name in models:
        assert name in read.text
    assert HOSTILE in read.text
    assert len(table(found)) == len(models) + 1
    assert "<svg" in page


def test_an_empty_network() -> None:
    empty = make_network(Artifacts(), Record(), SIZES.get)
    assert tree(empty) == []
    assert "0 sources, 0 models of ours" in network_page(empty, "p", "s", NOW)


def _tables(folder: Path) -> Iterator[Any]:
    yield pytest.importorskip("deltalake")
    yield pytest.importorskip("pyarrow")


def test_sizes_come_from_the_log(tmp_path: Path) -> None:
    from tapestry.report.read import DeltaFolder

    deltalake, pa = _tables(tmp_path)
    for numbers in ([1, 2], [3]):
        deltalake.write_deltalake(str(tmp_path / "t"), pa.table({"a": numbers}), mode="append")
    found = table_size(DeltaFolder(tmp_path), "t")
    assert found is not None
    assert (found.files, found.rows) == (2, 3)
    assert found.bytes == sum(p.stat().st_size for p in (tmp_path / "t").glob("*.parquet"))
    assert table_size(DeltaFolder(tmp_path), "none") is None
    for log in (tmp_path / "t/_delta_log").glob("*.json"):
        log.write_text("no json")
    assert table_size(DeltaFolder(tmp_path), "t") is None
