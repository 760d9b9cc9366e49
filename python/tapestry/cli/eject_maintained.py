"""Maintained models as plain dbt incremental models: the classes in which that is exact.

Plain dbt has no versions of a source: which rows were updated or deleted it cannot tell. So every
source says that it is only added to, and when its rows arrive; rows come in time. Then two classes
of queries remain:

    no answer ever ends             what a continuous model appends is all that there is
    GROUP BY k over one source      a group depends on its own rows alone, and differs only where a
                                    row of it came after tau: it is computed again and takes the
                                    place of the row with its k, which is one row, and not NULL

Everything else is refused, for a reason in words: a ``table`` has the same rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlglot import exp

from tapestry.errors import ConfigurationError, Refusal
from tapestry.names import MATCHED_AT
from tapestry.runs.kinds.maintained.how_kept import refuse
from tapestry.runs.model.model import Model
from tapestry.runs.query.relations import Relations
from tapestry.sql import Rewriting, Source, rewrite, timing
from tapestry.sql.facts.grouping import is_grouped, is_limited
from tapestry.sql.operators.compare_versions import keep_by_keys
from tapestry.sql.operators.steady import unsteady_places
from tapestry.sql.read.read_query import ReadQuery

APPEND_ONLY = "delta.appendOnly"
KEYS = frozenset(
    (
        *("tinyint", "smallint", "int", "bigint", "decimal", "boolean", "date", "timestamp"),
        *("string", "text", "varchar", "char"),
    )
)
"""Types of which two values are one key exactly where = says so."""


@dataclass(frozen=True)
class MergedGroups:
    """A query that groups the rows of one source.

    text
        The query with the newest arrival of each group beside it, as ``MATCHED_AT``.
    keys
        The columns of the answer that it groups by.
    carried
        The columns of the source that these are; none where one is computed.
    compared
        Columns of the answer that are the same each time they are computed.
    """

    source: str
    text: str
    compared: tuple[str, ...]
    keys: tuple[str, ...]
    carried: tuple[str, ...]


def exact_way(model: Model, relations: Relations) -> Rewriting | MergedGroups:
    """Return how plain dbt keeps a maintained model: by appending the rewriting's answers, or
    groups.

    Raises ConfigurationError with the reason where neither is exact.
    """
    try:
        query = refuse(model.sql, relations.catalog)
    except Refusal as refusal:
        raise _no(model, refusal.reason) from refusal
    _refuse_sources(model, relations)
    if query.audit:
        raise _no(model, f"{query.columns[query.audit[0]]} shows the clock")
    if unsteady_places(query.tree, query.catalog) is None:
        raise _no(model, "a sum of DOUBLEs, or what depends on the order of rows, decides")
    appended = _appended(model, relations)
    return appended if appended is not None else _Grouped(model, query).groups()


def _no(model: Model, why: str) -> ConfigurationError:
    return ConfigurationError(
        f"{model.name} is a maintained model that plain dbt cannot keep exactly: {why}",
        model.file,
        "give it materialized='table' there: the same query, the same rows, computed whole by each"
        " run",
    )


def _refuse_sources(model: Model, relations: Relations) -> None:
    for name, pinned in relations.tables.items():
        arrival, table = relations.arrival(name), pinned.table
        if arrival is None:
            raise _no(model, f"{name} does not say when its rows arrive")
        if table.commits is not None:
            raise _no(model, f"rows of {name} arrive with their commits, which Delta alone knows")
        added = table.properties.get(APPEND_ONLY, "").lower() == "true"
        if arrival != MATCHED_AT and not added:  # a continuous model is only added to
            why = f"rows of {name} may be updated or deleted, which it would not notice"
            raise _no(model, f"{why} (of a table with '{APPEND_ONLY}' = 'true' none are)")


def _appended(model: Model, relations: Relations) -> Rewriting | None:
    """The rewriting of a query of which no answer ends, each being one row; None for another."""
    try:
        found = rewrite(model.sql, relations.catalog)
    except Refusal:
        return None
    values = any(arm.by_value for arm in found.arms)
    if found.endings or found.running_columns or (values and not _is_set(model, relations)):
        return None
    return found


def _is_set(model: Model, relations: Relations) -> bool:
    """Return whether the query itself gives each value once."""
    tree = refuse(model.sql, relations.catalog).tree
    return bool(tree.args.get("distinct"))


@dataclass(frozen=True)
class _Grouped:
    """A query that may group the rows of one source; each step raises what is in the way."""

    model: Model
    query: ReadQuery

    def groups(self) -> MergedGroups:
        """The query as groups."""
        blocks = self._blocks()
        (source,) = set(self.query.named)
        known = self.query.catalog.relations[source]
        assert isinstance(known, Source)
        arrival = known.arrival or ""
        items = zip(blocks[0].selects, self.query.columns, strict=True)
        shown = {item.unalias(): name for item, name in items}
        keys = blocks[0].args["group"].expressions
        for key in keys:
            self._refuse_key(key, blocks, key in shown)
        newest = _shown(blocks, arrival.lower())
        kinds = {column.name: column.type for column in known.columns}
        if kinds.get(arrival) != "timestamp":
            raise self._no(f"{arrival}, when rows arrive, is no TIMESTAMP")
        if not newest:
            raise self._no(f"{arrival}, when rows arrive, is not in reach of its GROUP BY")
        bases = [_base(blocks, key.name.lower()) for key in keys]
        text = self._with_newest(exp.column(newest, table=blocks[0].args["from_"].alias_or_name))
        carried = tuple(bases) if all(bases) else ()
        unsteady = unsteady_places(self.query.tree, self.query.catalog) or ()
        steady = [n for place, n in enumerate(self.query.columns) if place not in unsteady]
        return MergedGroups(source, text, tuple(steady), tuple(shown[key] for key in keys), carried)

    def _no(self, why: str) -> ConfigurationError:
        return _no(self.model, why)

    def _blocks(self) -> list[exp.Select]:
        """The query as one block over one use of a source, derived tables within it plain."""
        kept = keep_by_keys(self.query)
        tree = kept.arms[0].query
        if len(kept.arms) > 1 or not isinstance(tree, exp.Select):
            raise self._no("answers of it end, and it is no single GROUP BY")
        if len(kept.tables) > 1:
            raise self._no("answers of it end, and it reads more than one table, or one twice")
        if tree.args.get("group") is None:
            raise self._no("answers of it end, and it has no GROUP BY of columns")
        if tree.args.get("having") or tree.args.get("distinct"):
            raise self._no("HAVING and DISTINCT take groups out, which it could not tell")
        if timing.contains_now(tree):
            raise self._no("it reads the clock: groups change though no row comes")
        blocks = list(_chain(tree))
        if len(blocks) < sum(1 for _ in tree.find_all(exp.Query)) - (len(blocks) - 1):
            raise self._no("there is a set operation, or a subquery in an expression")
        for block in blocks:
            if is_limited(block) or block.args.get("joins") or block.args.get("laterals"):
                raise self._no("there is a LIMIT, a join or a LATERAL VIEW under its GROUP BY")
        if tree.find(exp.Window, exp.Qualify) is not None or any(map(is_grouped, blocks[1:])):
            raise self._no("it groups what is grouped, or a window function looks at other rows")
        if any(one.args.get("group") or one.args.get("distinct") for one in blocks[1:]):
            raise self._no("it groups what is grouped")
        return blocks

    def _refuse_key(self, key: exp.Expr, blocks: Sequence[exp.Select], shown: bool) -> None:
        if not isinstance(key, exp.Column):
            raise self._no(f"{key.sql('spark')}, which it groups by, is no column")
        if not shown:
            raise self._no(f"it groups by {key.name} and does not show it")
        kind = key.type.sql("spark").lower() if key.type is not None else ""
        if kind.partition("(")[0] not in KEYS:
            raise self._no(f"= does not tell the values of {key.name} ({kind}) apart")
        if not _not_null(blocks, key.name.lower()):
            raise self._no(
                f"{key.name} may be NULL, and merge finds no row by NULL: let its condition leave"
                " NULLs out if that is meant"
            )

    def _with_newest(self, newest: exp.Column) -> str:
        """The text with the newest arrival of each group as its last column."""
        tree = self.query.tree.copy()
        assert isinstance(tree, exp.Select)
        tree.append("expressions", exp.alias_(exp.Max(this=newest.copy()), MATCHED_AT))
        return str(tree.sql("spark"))


def _chain(select: exp.Select) -> Iterator[exp.Select]:
    """A block, and the derived tables inside each other that it reads."""
    yield select
    relation = select.args["from_"].this
    inner = relation.this if isinstance(relation, exp.Subquery) else None
    if isinstance(inner, exp.Select):
        yield from _chain(inner)


def _step(blocks: Sequence[exp.Select], name: str) -> str:
    """The column of what the second block reads that it shows under a name; '' if computed."""
    for item in blocks[1].selects:
        if item.alias_or_name.lower() == name:
            value = item.unalias()
            return value.name.lower() if isinstance(value, exp.Column) else ""
    return ""


def _base(blocks: Sequence[exp.Select], name: str) -> str:
    """The column of the source that a column is which the first block reads; '' if computed."""
    while name and len(blocks) > 1:
        name, blocks = _step(blocks, name), blocks[1:]
    return name


def _shown(blocks: Sequence[exp.Select], name: str) -> str:
    """The name under which the first block reads a column of the source; '': it does not."""
    if len(blocks) == 1:
        return name
    inner = _shown(blocks[1:], name)
    return next(
        (
            item.alias_or_name
            for item in blocks[1].selects
            if inner and isinstance(item.unalias(), exp.Column)
            and item.unalias().name.lower() == inner.lower()
        ),
        "",
    )  # fmt: skip


def _not_null(blocks: Sequence[exp.Select], name: str) -> bool:
    """Return whether a conjunct of WHERE says that a column of the first block is not NULL."""
    where = blocks[0].args.get("where")
    parts = [] if where is None else list(_conjuncts(where.this))
    if any(_says_not_null(part, name) for part in parts):
        return True
    inner = _step(blocks, name) if len(blocks) > 1 else ""
    return bool(inner) and _not_null(blocks[1:], inner)


def _conjuncts(condition: exp.Expr) -> Iterator[exp.Expr]:
    condition = condition.unnest()
    if isinstance(condition, exp.And):
        for part in (condition.this, condition.expression):
            yield from _conjuncts(part)
    else:
        yield condition


def _says_not_null(part: exp.Expr, name: str) -> bool:
    said = part.this.unnest() if isinstance(part, exp.Not) else None
    if not isinstance(said, exp.Is) or not isinstance(said.expression, exp.Null):
        return False
    return isinstance(said.this, exp.Column) and said.this.name.lower() == name
