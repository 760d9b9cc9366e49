"""SQL of the pages: rewritten or refused as the page says, and run over the page's own tables."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import duckdb
import jinja2
import sqlglot
from sqlglot import exp
from tests.docs.maintained_blocks import KeptTable
from tests.docs.pages import Part
from tests.docs.tables import TICK, Data, Run, instant, show, value
from tests.docs.unit_test_blocks import check_unit_tests

from tapestry.demo.shop.changes import KEYS, SHOP_TYPES
from tapestry.errors import Refusal
from tapestry.mail.append import TYPES
from tapestry.names import MATCHED_AT
from tapestry.runs.engine.instants import parse_length
from tapestry.runs.kinds.action.statement import batch_mark, statements_in
from tapestry.runs.kinds.registry import kind_called, parse_config
from tapestry.runs.kinds.rule.events import read_events
from tapestry.runs.model.model import Model
from tapestry.runs.model.triggers import mark, triggers_of
from tapestry.runs.protocol.log import CHECKS, RUNS
from tapestry.sql import Catalog, Column, Scan, Source, Window, rewrite, static_answer
from tapestry.sql.commits.lift_commits import lift_over_commits
from tapestry.sql.commits.rule_queries import rule_queries
from tapestry.sql.commits.transitions import transition_sources
from tapestry.sql.read.read_query import read
from tapestry.sql.scan import KnownAnswers

MESSAGES = tuple(Column(name, kind.lower()) for name, kind in TYPES.items())
KNOWN = {
    "bboard.messages": Source("bboard.messages", MESSAGES, "ts"),
    "messages": Source("messages", MESSAGES, "ts"),
    **{
        f"shop.{name}": Source(
            f"shop.{name}",
            tuple(Column(column, kind.lower()) for column, kind in types.items()),
            None if name in KEYS else list(types)[-1],
        )
        for name, types in SHOP_TYPES.items()
    },
    **{
        f"market.{name}": Source(f"market.{name}", (Column(key, "string"), *columns), None)
        for name, key, columns in (
            ("stocks", "symbol", (Column("price", "decimal(10,3)"),)),
            ("comps_list", "comp", (Column("symbol", "string"), Column("weight", "decimal(5,2)"))),
        )
    },
}
"""What a page may read without showing rows: messages, the shop and the market of the examples."""
LOGS: Mapping[str, Mapping[str, str]] = {"tapestry_runs": RUNS, "tapestry_checks": CHECKS}


@dataclass
class World:
    """What one page has shown so far."""

    data: dict[str, Data] = field(default_factory=dict)
    query: str = ""
    """The last query that can be kept."""
    assume: tuple[str, ...] = ()
    config: dict[str, Any] = field(default_factory=dict)
    kept: KeptTable | None = None
    """The table of the last maintained query."""

    @property
    def catalog(self) -> Catalog:
        own = {name: data.source for name, data in self.data.items()}
        return Catalog({**KNOWN, **own})

    @classmethod
    def of(cls, page: list[Part]) -> World:
        """A page's world before its first line: rows may stand below the query that reads them."""
        shown = [part for part in reversed(page) if part.mark == "rows"]
        return cls(
            {part.said.partition(" ")[0]: Data.read(part.said, part.cells) for part in shown}
        )

    def take(self, part: Part) -> None:
        """One part after the other; AssertionError where the page says what is not so."""
        if part.mark == "rows":
            self.data[part.said.partition(" ")[0]] = Data.read(part.said, part.cells)
        elif part.mark == "run at":
            check_runs(self, part)
        elif part.mark == "answer at":
            assert self.kept is not None, "no maintained query stands before it"
            self.kept.check(self.data, part)
        elif part.mark == "conditions":
            check_conditions(part)
        elif part.language == "sql" and part.mark != "not run":
            self._sql(part)
        elif part.mark == "not run":
            return
        elif part.language == "yaml" and "unit_tests:" in part.text:
            check_unit_tests(part.text, self.query, self.catalog.relations)

    def _sql(self, part: Part) -> None:
        if part.mark == "spark":
            statements = sqlglot.parse(render(part.text)[0], read="spark")
            unread = [s for s in statements if isinstance(s, exp.Command)]
            assert statements, "no statement"
            assert not unread, f"not understood: {unread}"
            return
        text, config = render(part.text)
        if part.mark == "query":
            check_query(self, text)
            return
        if part.mark == "refused":
            assert part.said, "say why it is refused"
            says = refusal_of(text, self.catalog)
            assert part.said in says, says or "it is not refused"
            return
        if config.get("materialized") in ("rule", "action", "derived"):
            check_on_commits(text, config, self.catalog)
            return
        if config.get("materialized") == "maintained":
            self.kept = KeptTable.of(text, self.catalog, config.get("refresh", "auto"))
            return
        assert config.get("materialized", "continuous") == "continuous", "mark it as spark or query"
        assume = tuple(config.get("assume", ()))
        rewrite(text, self.catalog, assume=assume)
        self.query, self.assume, self.config = text, assume, config


def render(text: str) -> tuple[str, dict[str, Any]]:
    """The query of a model, and its configuration; a name that dbt would not know is an error."""
    config: dict[str, Any] = {}

    def configure(**given: Any) -> str:
        config.update(given)
        return ""

    environment = jinja2.Environment(undefined=jinja2.StrictUndefined)
    query = environment.from_string(text).render(
        config=configure,
        source=lambda schema, name: f"{schema}.{name}",
        ref=lambda name: name,
        target={"schema": "demo"},
        is_incremental=lambda: True,
        this="this_table",
        var=lambda name, default="x": default,
        triggered_by=lambda *relations: mark(relations),
        batch=batch_mark,
    )
    return query, config


def check_on_commits(text: str, config: dict[str, Any], catalog: Catalog) -> None:
    """A rule's queries are lifted over a table of the page; an action has statements; the query of
    a derived table can be kept."""
    parsed = parse_config(config["materialized"], config)
    model = Model("page", "page", text, parsed)
    if config["materialized"] == "derived":
        kind_called("derived").refuse(model, catalog)
        return
    (name, *others) = triggers_of(model)
    if config["materialized"] == "action":
        assert statements_in(text)
        return
    assert not others
    table = catalog.relations[name]
    assert isinstance(table, Source)
    read_events(parsed.own.when, table.columns)
    given = transition_sources(name, table.columns)
    whole = Catalog({**catalog.relations, **given})
    for query in rule_queries(text, parsed.own.asked).texts.values():
        lift_over_commits(read(query, whole))


def check_runs(world: World, part: Part) -> None:
    """The table is what runs at these instants deliver, in whatever order, and the definition."""
    lag = parse_length(world.config.get("lag", "0 seconds"), "lag")
    clocks = [instant(text) for text in part.said.split(",")]
    runs = [Run(clock, clock - lag) for clock in clocks]
    head, *body = part.cells
    columns, answers = run(world, runs)
    assert list(head) == [*columns, MATCHED_AT], f"columns are {[*columns, MATCHED_AT]}"
    wanted = Counter(tuple(show(value(cell)) for cell in row) for row in body)
    found = Counter(tuple(show(v) for v in row) for row in answers)
    lines = "\n".join("| " + " | ".join(row) + " |" for row in sorted(found.elements()))
    assert found == wanted, f"the runs deliver\n{lines}"


def run(world: World, runs: Sequence[Run]) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
    """Columns and rows that these runs deliver, each run checked against the definition."""
    catalog = world.catalog
    begin = world.config.get("begin")
    rewriting = rewrite(
        world.query,
        catalog,
        assume=world.assume,
        begin=None if begin is None else instant(str(begin)),
    )
    missing = [name for name in rewriting.sources if name not in world.data]
    assert not missing, f"the page shows no rows of {missing}"
    database = duckdb.connect()
    database.execute("SET TimeZone = 'UTC'")
    scans = {name: world.data[name].fill(database, runs) for name in rewriting.sources}
    answers: list[tuple[Any, ...]] = []
    tau = None
    for one in runs:
        seen = {name: world.data[name].as_of(scan, one) for name, scan in scans.items()}
        known = None if tau is None else KnownAnswers("answers_so_far")
        text = rewriting.incremental(Window(tau, one.t), seen, dialect="duckdb", known=known)
        rows = database.execute(text).fetchall()
        if tau is None:
            database.execute(f"CREATE TABLE answers_so_far AS {text}")
        else:
            database.execute(f"INSERT INTO answers_so_far {text}")
        answers += rows
        tau = one.t
    if begin is None:
        _check_definition(world, catalog, database, scans, runs[-1].t, answers)
    return rewriting.columns, answers


def _check_definition(
    world: World,
    catalog: Catalog,
    database: duckdb.DuckDBPyConnection,
    scans: Mapping[str, Scan],
    last: datetime,
    answers: Sequence[tuple[Any, ...]],
) -> None:
    """Every row is an answer at its instant and not just before it, and none is missing."""

    def asked(s: datetime) -> set[tuple[Any, ...]]:
        text = static_answer(world.query, catalog, s, scans, dialect="duckdb")
        return set(database.execute(text).fetchall())

    for row in answers:
        assert row[:-1] in asked(row[-1]), f"{row} is no answer then"
    told = {row[:-1] for row in answers}
    instants = {row[-1] for row in answers} | {last}
    for data in world.data.values():
        for cells in data.rows:
            instants |= {cell for cell in cells if isinstance(cell, datetime)}
    for s in sorted(i for i in instants if i <= last):
        for s_or_before in (s - TICK, s):
            missed = asked(s_or_before) - told
            assert not missed, f"at {show(s_or_before)} {missed} were answers"


def check_conditions(part: Part) -> None:
    """Each condition in the first column is taken or refused, as the second one says."""
    columns = tuple(Column(*column.split()) for column in part.said.split(","))
    catalog = Catalog({"t": Source("t", (*columns, Column("_ts", "timestamp")), "_ts")})
    for left, right in part.cells[1:]:
        assert right.split()[0].rstrip(":") in ("yes", "no"), right
        for condition in re.findall(r"`([^`]*)`", left):
            says = refusal_of(f"select ts from t where {condition}", catalog)
            assert bool(says) == right.startswith("no"), f"{condition}: {says or 'is not refused'}"


def refusal_of(query: str, catalog: Catalog) -> str:
    """Why the query is refused; empty where it is not."""
    try:
        rewrite(query, catalog)
    except Refusal as refusal:
        return str(refusal)
    return ""


def check_query(world: World, text: str) -> None:
    """Executed over the page's tables and empty logs of the true columns."""
    database = duckdb.connect()
    database.execute("SET TimeZone = 'UTC'")
    for name, data in world.data.items():
        schema = name.rpartition(".")[0]
        if schema:
            database.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}")
        scan = data.fill(database, [])
        database.execute(f"CREATE VIEW {name} AS SELECT * FROM {scan.relation}")
    for name, columns in LOGS.items():
        listed = ", ".join(f"{c} {'VARCHAR' if k == 'string' else k}" for c, k in columns.items())
        for schema in ("demo", "main"):
            database.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}")
            database.execute(f"CREATE TABLE {schema}.{name} ({listed})")
    for statement in sqlglot.transpile(text, read="spark", write="duckdb"):
        database.execute(re.sub(r";\s*$", "", statement))
