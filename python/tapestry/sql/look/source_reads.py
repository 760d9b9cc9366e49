"""The reads of a rendered statement: for each source the range, the rows and the branch.

Told from the statement itself, so that it holds for what runs: every SELECT over a scan's CTE, with
the conditions in its WHERE that speak of that one table alone. Those reach the scan, where file
statistics decide what is read at all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone

from sqlglot import exp, parse_one

from tapestry.names import ARRIVAL
from tapestry.sql.facts.blocks import conjuncts
from tapestry.sql.facts.from_clause import leaf_selects
from tapestry.sql.scan import Scan, Window
from tapestry.sql.timing import text_of

KEYS = "keys for the rows looked up"
SCANS = "read_"
"""The prefix of the names of the CTEs that apply the scans."""


@dataclass(frozen=True)
class Reading:
    """One use of a source in a statement.

    place
        Where: "branch 2 of 3", a CTE's name, "not exists".
    conditions
        The conditions on this table alone, as they stand in the statement.
    window
        Those of them that bound it by an instant: the range that the run narrows it to.
    keys
        Its columns that are compared for equality with another table's.
    predicate
        The conditions as SQL over the source's scan; '' where it is read whole.
    """

    place: str
    alias: str
    source: str
    conditions: tuple[str, ...]
    window: tuple[str, ...]
    keys: tuple[str, ...]
    predicate: str

    @property
    def narrowed(self) -> bool:
        """Whether the range is bounded from below, so that old rows are not read."""
        return any(" > CAST(" in text or " >= CAST(" in text for text in self.window)


def readings(statement: str, scans: Mapping[str, Scan]) -> tuple[Reading, ...]:
    """Every reading of a statement that was rendered over scans which name their sources alone.

    ``scans`` are the real ones: the predicates are written over them.
    """
    tree = parse_one(statement, dialect="spark")
    assert isinstance(tree, exp.Query)
    sources: dict[str, str] = {}
    found: list[Reading] = []
    for cte in tree.ctes:
        origin = _source_of(cte, scans)
        if origin is not None:
            sources[cte.alias] = origin
    for name, query in steps_in(tree):
        for place, arm in arms_in(query, name):
            found += _of_select(arm, place, sources, scans)
    return tuple(found)


def steps_in(tree: exp.Query) -> Iterator[tuple[str, exp.Query]]:
    """Yield the CTEs that apply no scan, by name, and last the query behind them, named ''."""
    for cte in tree.ctes:
        if not cte.alias.startswith(SCANS):
            yield cte.alias, cte.this
    bare = tree.copy()
    bare.set("with_", None)
    yield "", bare


def arms_in(query: exp.Expr, name: str) -> Iterator[tuple[str, exp.Select]]:
    """Yield the arms of a query, each SELECT with its name (``Reading.place``)."""
    arms = list(leaf_selects(query))
    for number, arm in enumerate(arms, start=1):
        branch = f"branch {number} of {len(arms)}" if len(arms) > 1 else ""
        yield ", ".join(part for part in (name, branch) if part) or "the only branch", arm


def branches(statement: str) -> int:
    """Return the number of SELECTs in the arms of the statement and of its CTEs."""
    tree = parse_one(statement, dialect="spark")
    assert isinstance(tree, exp.Query)
    return sum(len(list(leaf_selects(query))) for _, query in steps_in(tree))


def _source_of(cte: exp.CTE, scans: Mapping[str, Scan]) -> str | None:
    from_ = cte.this.args.get("from_")
    table = from_.this if from_ is not None else None
    if not isinstance(table, exp.Table) or not cte.alias.startswith(SCANS):
        return None
    name = ".".join(part.name for part in table.parts).lower()
    return name if name in scans else None


def _of_select(
    select: exp.Select, place: str, sources: Mapping[str, str], scans: Mapping[str, Scan]
) -> Iterator[Reading]:
    """Yield the readings of the FROM clause first, then those of the subqueries."""
    from_ = select.args.get("from_")
    relations = [] if from_ is None else [from_.this]
    relations += [join.this for join in select.args.get("joins") or []]
    where = select.args.get("where")
    parts = [] if where is None else list(conjuncts(where.this))
    for relation in relations:
        if isinstance(relation, exp.Subquery):
            yield from _inner(relation.this, f"{place}, inside {relation.alias}", sources, scans)
        elif isinstance(relation, exp.Table) and relation.name in sources:
            source = sources[relation.name]
            yield _reading(place, relation.alias_or_name, source, parts, scans[source])
    for part in parts:
        for query, how in _subqueries(part):
            yield from _inner(query, f"{place}, {how}", sources, scans)


def _inner(
    query: exp.Expr, place: str, sources: Mapping[str, str], scans: Mapping[str, Scan]
) -> Iterator[Reading]:
    for arm in leaf_selects(query):
        yield from _of_select(arm, place, sources, scans)


def _reading(place: str, alias: str, source: str, parts: list[exp.Expr], scan: Scan) -> Reading:
    own = [part for part in parts if _speaks_of(part, alias)]
    keys = dict.fromkeys(key for part in parts for key in _keys(part, alias))
    return Reading(
        place=place,
        alias=alias,
        source=source,
        conditions=tuple(part.sql("spark") for part in own),
        window=tuple(part.sql("spark") for part in own if _bounds_time(part)),
        keys=tuple(keys),
        predicate=" AND ".join(f"({_over(part, scan)})" for part in own),
    )


def _subqueries(part: exp.Expr) -> Iterator[tuple[exp.Expr, str]]:
    """Yield the outermost subqueries of a condition, each with the operator above it."""
    if isinstance(part, exp.Exists):
        negated = isinstance(part.find_ancestor(exp.Not, exp.Select), exp.Not)
        yield part.this, "not exists" if negated else "exists"
    elif isinstance(part, exp.Query):
        yield part, KEYS
    else:
        for child in part.iter_expressions():
            yield from _subqueries(child)


def _speaks_of(part: exp.Expr, alias: str) -> bool:
    columns = list(part.find_all(exp.Column))
    return (
        bool(columns)
        and part.find(exp.Query) is None
        and all(column.table == alias and not column.db for column in columns)
    )


def _bounds_time(part: exp.Expr) -> bool:
    """Return whether a condition is a comparison with an instant."""
    compared = isinstance(part, exp.GT | exp.GTE | exp.LT | exp.LTE | exp.EQ)
    return compared and any(
        cast.is_type("timestamp", "timestamptz") and isinstance(cast.this, exp.Literal)
        for cast in part.find_all(exp.Cast)
    )


def _keys(part: exp.Expr, alias: str) -> Iterator[str]:
    if isinstance(part, exp.In) and isinstance(part.args.get("query"), exp.Subquery):
        if isinstance(part.this, exp.Column) and part.this.table == alias:
            yield part.this.name
        return
    if not isinstance(part, exp.EQ | exp.NullSafeEQ):
        return
    for side, other in ((part.this, part.expression), (part.expression, part.this)):
        if isinstance(side, exp.Column) and side.table == alias and isinstance(other, exp.Column):
            yield side.name


def _over(part: exp.Expr, scan: Scan) -> str:
    """Return the condition over the scan's relation: no alias, the arrival as the scan gives it."""

    def replace(node: exp.Expr) -> exp.Expr:
        if not isinstance(node, exp.Column):
            return node
        if node.name == ARRIVAL and scan.arrival is not None:
            return exp.Paren(this=parse_one(scan.arrival, dialect="spark"))
        return exp.column(node.this.copy())

    return part.copy().transform(replace).sql("spark")


# -- sources of which only new rows are read ------------------------------------------------------
TAU = datetime(2001, 2, 3, 4, 5, 6, 7, timezone.utc)
"""An instant that nobody's query names."""
WINDOW = Window(TAU, datetime(2001, 2, 3, 4, 5, 6, 8, timezone.utc))
ID = "_tap_row_id"
KINDS = ((False, False), (False, True), (True, False))
"""Little sources, few rows: by these a statement takes other forms."""


def narrowed_sources(
    sources: Iterable[str], statement: Callable[[Mapping[str, Scan], bool], str]
) -> frozenset[str]:
    """Return the sources of which a run reads only rows that arrived in its window.

    ``statement`` renders Q^I, and tells: every place that reads such a source says that its arrival
    lies after τ. Whoever reads the rows after τ instead of the source, or those after an earlier
    instant, finds the same answers. Nor does it ask for the ids of their rows, which tell one from
    all others.
    """
    found = frozenset(sources)
    for little, few in KINDS:
        # sql: rendered to be read again, never run
        scans = {name: Scan(name, "arrival", ID, little=little) for name in sources}
        text = statement(scans, few)
        found = frozenset[str]() if ID in text else found & _narrowed(text, scans)
    return found


def _narrowed(text: str, scans: Mapping[str, Scan]) -> frozenset[str]:
    asked, bounded, places = Counter[str](), Counter[str](), Counter[str]()
    for one in readings(text, scans):
        asked[one.source] += 1
        # sql: compared with conditions, never run
        after = f"{one.alias}.{ARRIVAL} > CAST('{text_of(TAU)}' AS TIMESTAMP)"
        bounded[one.source] += after in one.conditions
    tree = parse_one(text, dialect="spark")
    tables = Counter(table.name for table in tree.find_all(exp.Table))
    for step in tree.find_all(exp.CTE):
        from_ = step.this.args.get("from_")
        if step.alias.startswith(SCANS) and isinstance(from_, exp.From):
            name = ".".join(part.name for part in from_.this.parts).lower()
            places[name] += tables[step.alias]
    return frozenset(name for name in asked if asked[name] == bounded[name] == places[name])


# -- the order in which tables are joined ---------------------------------------------------------
NAMED, SIZES, WRITTEN = "join_order", "statistics", "as written"


@dataclass(frozen=True)
class Joined:
    """The tables that one SELECT joins, by their aliases.

    place
        As in ``Reading``.
    why
        ``join_order``, ``statistics``, or ``as written``: the table in which the branch looks for
        what is new, then what an equality joins, as FROM has it.
    """

    place: str
    tables: tuple[str, ...]
    why: str


def join_orders(statement: str, undecided: str, named: Collection[str]) -> tuple[Joined, ...]:
    """Return the tables of each SELECT that joins several, with the reason for their order.

    It is found by comparing the statement with one rendered without sizes and the author's wishes.

    ``undecided`` is the statement without wishes and sizes, ``named`` are the aliases that the
    author gave an order.
    """
    before = dict(_orders(undecided))
    found = []
    for place, tables in _orders(statement):
        why = WRITTEN if before.get(place) == tables else SIZES
        found.append(Joined(place, tables, NAMED if set(named) & set(tables) else why))
    return tuple(found)


def _orders(statement: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the place and the aliases of each SELECT over several tables."""
    tree = parse_one(statement, dialect="spark")
    assert isinstance(tree, exp.Query)
    for name, query in steps_in(tree):
        for place, arm in arms_in(query, name):
            yield from _orders_of(place, arm)


def _orders_of(place: str, select: exp.Select) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the place and the aliases of one SELECT; look into a derived table alone in FROM."""
    from_, joins = select.args.get("from_"), select.args.get("joins") or []
    if from_ is not None and joins:
        yield place, tuple(one.this.alias_or_name for one in (from_, *joins))
    elif from_ is not None and isinstance(from_.this, exp.Subquery):
        for _, inner in arms_in(from_.this.this, ""):
            yield from _orders_of(f"{place}, inside {from_.this.alias}", inner)
