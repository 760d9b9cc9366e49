"""One reading of a text: everybody has the same one, and nobody changes it."""

from __future__ import annotations

import pytest
from sqlglot import exp
from tests.sql.test_pairs import END, SCANS, START
from tests.sql.test_passes import CATALOG, PAIRS

from tapestry.errors import Refusal
from tapestry.sql import Catalog, Column, Source, Window, rewrite, static_answer
from tapestry.sql.read.read_query import ReadQuery, read
from tapestry.sql.scan import KnownAnswers
from tapestry.sql.work import bounded, spent
from tapestry.verification.definition import Definition

TEXT = "select id, now() as seen from answered where author < 'b' order by id limit 3"
PARTS = ("written", "opened", "tree", "columns", "audit", "named", "canonical")
TEXTS = sorted({query for *_, query, _ in PAIRS})


def test_a_text_over_a_catalog_is_read_once() -> None:
    columns = (Column("id", "int"), Column("ts", "timestamp"))
    catalogs = [Catalog({"m": Source("m", columns, "ts"), "n": Source("n", columns, arrival)})
                for arrival in ("ts", "ts", None)]  # fmt: skip
    catalogs.append(Catalog(dict(reversed(catalogs[0].relations.items()))))
    first, again, other, turned = (read("select id from m", one) for one in catalogs)
    assert first is again is turned
    assert first is not other
    assert first is not read("select ts from m", catalogs[0])
    for part in PARTS:
        assert getattr(first, part) is getattr(again, part)


def test_each_text_in_work_pays_for_what_it_uses_of_a_reading_once() -> None:
    """So that a text is accepted whether it was read before or not."""

    def cost(query: ReadQuery, *parts: str) -> int:
        with bounded(TEXT):
            for part in parts:
                getattr(query, part)
            return spent()

    fresh = {part: cost(ReadQuery(TEXT, CATALOG), part) for part in PARTS}
    assert 0 < fresh["written"] < fresh["opened"] < fresh["tree"] < fresh["audit"]
    query = ReadQuery(TEXT, CATALOG)
    for _ in range(2):
        assert cost(query, *PARTS) == cost(query, *PARTS, *PARTS) == fresh["audit"]
        assert {part: cost(query, part) for part in PARTS} == fresh


def test_a_refusal_is_raised_again() -> None:
    query = ReadQuery("select nothing from messages", CATALOG)
    for _ in range(2):
        with pytest.raises(Refusal, match="could not be resolved"):
            _ = query.columns
    assert query.opened.sql() == "SELECT nothing FROM messages"


def nodes(tree: exp.Expr) -> list[tuple[object, ...]]:
    """Each node of a tree, what stands above it, and all that is known of it."""
    return [
        (
            *(id(node), id(node.parent), node.arg_key, node.index, repr(node.type)),
            *(dict(node._meta or {}), list(node.comments or [])),
            {name: id(part) for name, part in node.args.items() if not isinstance(part, list)},
            {name: [*map(id, part)] for name, part in node.args.items() if isinstance(part, list)},
        )
        for node in tree.walk()
    ]


@pytest.mark.parametrize("sql", TEXTS)
def test_nobody_changes_what_all_have(sql: str) -> None:
    query = read(sql, CATALOG)
    try:
        trees = [query.written, query.opened, query.tree]
    except Refusal:
        return
    before = [nodes(tree) for tree in trees]
    texts = [tree.sql("spark") for tree in trees]
    for dialect in ("spark", "duckdb", "postgres"):
        static_answer(sql, CATALOG, END, SCANS, dialect)
    try:
        for dialect in ("spark", "duckdb"):
            definition = Definition.read(sql, CATALOG, SCANS, dialect)
            assert definition.answers()
        rewriting = rewrite(sql, CATALOG)
        for tau in (None, START):
            known = KnownAnswers("known")
            assert rewriting.incremental(Window(tau, END), SCANS, keyed=True, known=known)
        assert rewriting.trace[0].sql
        assert query.canonical == rewriting.canonical
    except Refusal:
        pass
    assert [query.written, query.opened, query.tree] == trees
    assert [nodes(tree) for tree in trees] == before
    assert [tree.sql("spark") for tree in trees] == texts
