"""What `tapestry explain` proposes."""

from __future__ import annotations

from datetime import timedelta
from types import SimpleNamespace
from typing import Any

from tests.sql.test_pairs import CATALOG, START

from tapestry.cli.advice import Table, give_advice
from tapestry.runs.kinds.continuous.after.cost import Cost
from tapestry.runs.kinds.continuous.after.plain_statement import plain_statement
from tapestry.runs.kinds.continuous.after.preview import Preview
from tapestry.sql import Rewriting, Scan, Window, rewrite
from tapestry.sql.look.source_reads import readings

SCANS = {"messages": Scan("db.messages", "ts", "id")}

WINDOW = Window(START, START + timedelta(days=1))

JOIN = "select m.id from messages m join messages r on r.parent = m.id"


def advice(query: str, narrow: int, files: int = 100, clustered: tuple[str, ...] = ()) -> list[str]:
    """The advice where every narrowed reading reads so many bytes of 1000."""

    def rewrite_with(assume: tuple[str, ...]) -> Rewriting:
        return rewrite(query, CATALOG, assume=assume)

    rewriting = rewrite_with(())
    found = readings(plain_statement(rewriting, WINDOW, SCANS), SCANS)
    looked_at: Any = Preview(SimpleNamespace(rewriting=rewriting), WINDOW, False, SCANS, found)  # type: ignore[arg-type]
    costs = {(r.source, r.predicate): Cost(narrow if r.narrowed else 1000, 1) for r in found}
    costs["messages", ""] = Cost(1000, files)
    tables = {"messages": Table("ts", clustered, (), files)}
    return give_advice(looked_at, costs, tables, rewrite_with, ())


def test_an_order_that_removes_branches_is_proposed() -> None:
    found = advice(JOIN, narrow=10)
    assert any('assume: ["r.ts >= m.ts"] removes 1 of 2 branches' in line for line in found)
    one = advice("select id from messages", narrow=10)
    assert not any("assume" in line for line in one)


def test_clustering_is_proposed_where_a_narrow_range_reads_much() -> None:
    proposal = "alter table messages cluster by (ts)"
    query = "select id from messages"
    assert any(proposal in line for line in advice(query, narrow=900))
    assert advice(query, narrow=10) == []
    assert advice(query, narrow=900, clustered=("ts",)) == []
    assert advice(query, narrow=900, files=3) == [], "few files are read at once anyway"
