"""Splits a query into arms that are maintained by keys, and renders the SQL that does it.

    keys    the keys whose rows can differ between the two versions
    new     the rows of these keys in the new version, with their keys
    old     the same in the old one

Sound because each arm is evaluated as it stands, over fewer rows: only ``keys`` and the cut must be
right (maintained, section 2).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from tapestry.quoting import Sql
from tapestry.sql.facts.from_clause import opened
from tapestry.sql.facts.values import Names
from tapestry.sql.normalize.scope import Scope
from tapestry.sql.normalize.write_out import WriteOut
from tapestry.sql.operators.block import SelectBlock, is_bag_union
from tapestry.sql.operators.changed_rows import ChangedRows
from tapestry.sql.operators.choose_key import Key, choose_key, names_of
from tapestry.sql.operators.cut import cut, key_names
from tapestry.sql.operators.texts import Between, sources_of, text_of, two_versions
from tapestry.sql.operators.versions import Version, WrittenQuery
from tapestry.sql.read.read_query import ReadQuery
from tapestry.sql.read.total_orders import has_orders, total_orders
from tapestry.sql.write import build


@dataclass(frozen=True)
class KeptArm:
    """An arm of the outermost UNION ALL; ``key`` is None if it is replaced as a whole.

    shown
        The place in the select list at which each component of the key stands; None: at none.
    """

    query: exp.Query
    key: Key | None
    shown: tuple[int | None, ...] = ()


@dataclass(frozen=True)
class KeptQuery(WrittenQuery):
    """A query that is maintained by keys: its columns and its arms."""

    columns: tuple[str, ...]
    arms: tuple[KeptArm, ...]


def keep_by_keys(
    read: ReadQuery, wanted: Sequence[int] = (), weights: Mapping[str, int] | None = None
) -> KeptQuery:
    """Write a query out, and choose the key of each of its arms.

    ``wanted`` are the places in the select list of the author's `unique_key`. ``weights``: how
    large the sources are; without such a key an arm is kept by the rows of the largest one.
    Raises Refusal for what cannot be written out and for a key that a query cannot be kept by,
    NotComparedError for what is not compared.
    """
    tree, catalog = read.tree, read.catalog
    tree = total_orders(tree, catalog) if has_orders(tree) else tree
    writer = WriteOut(catalog, Names())
    written = _bare_exists(writer.query(tree, Scope({}, {}), {}))
    for select in written.find_all(exp.Select):
        _ = SelectBlock(select).relations  # raises of a FROM clause that is not compared
    arms = []
    for query in _arms(written):
        key = choose_key(query, writer.tables, wanted, weights)
        arms.append(KeptArm(query, key, _shown(query, key)))
    said = (written, writer.tables, catalog.time_zone, weights or {})
    return KeptQuery(*said, read.columns, tuple(arms))


@dataclass(frozen=True)
class Texts:
    """The SELECTs that maintain an arm; ``keys`` is "" if it has no key.

    among
        What the relation of its keys is called.
    """

    keys: str
    new: str
    old: str
    among: str = ""


def read_columns(kept: KeptQuery) -> dict[str, set[str]]:
    """Return, by source, the columns that some arm of a query reads, in lower case."""
    found: dict[str, set[str]] = {name: set() for name in kept.sources}
    for column in kept.query.find_all(exp.Column):
        if (table := kept.tables.get(column.table)) is not None:
            found[table.source].add(column.name.lower())
    return found


def compare(
    kept: KeptQuery,
    arm: KeptArm,
    between: Between,
    dialect: str = "spark",
    hold: Callable[[Sql], str] | None = None,
) -> Texts:
    """Return the SQL that maintains an arm between two versions.

    ``hold`` computes the keys at once, and those of derived tables; without it they are found once
    more in each text. Raises Refusal for a comparison with now() whose change cannot be
    foretold.
    """
    versions = two_versions(kept, between, hold)
    sources = sources_of(versions, between)
    if arm.key is None:
        both = (versions.query_at(arm.query, one) for one in (Version.NEW, Version.OLD))
        return Texts("", *(text_of(one, (), sources, dialect) for one in both))
    keys = ChangedRows(versions).keys(arm.query, arm.key)
    names = map(build.column, key_names(arm.key))
    listed = build.add_from(build.select(names), exp.to_table(keys))
    rows = [cut(arm.query, arm.key, keys, versions, one) for one in (Version.NEW, Version.OLD)]
    made = versions.ctes if hold is None else ()
    new, old = (text_of(one, made, sources, dialect) for one in rows)
    return Texts(text_of(listed, versions.ctes, sources, dialect), new, old, keys)


def _bare_exists(query: exp.Query) -> exp.Query:
    """Remove the select lists of EXISTS, which are ignored, from the query, in place."""
    for exists in query.find_all(exp.Exists):
        if not isinstance(exists.this, exp.Query):
            continue  # over the elements of an array
        inner = opened(exists.this)
        if isinstance(inner, exp.Select) and SelectBlock(inner).plain:
            inner.set("expressions", [exp.Literal.number(1)])
    return query


def _arms(query: exp.Expr) -> list[exp.Query]:
    node = opened(query)
    if is_bag_union(node):
        return [*_arms(node.this), *_arms(node.expression)]
    return [node]


def _shown(query: exp.Query, key: Key | None) -> tuple[int | None, ...]:
    if key is None:
        return ()
    if key.outputs:
        return tuple(names_of(query).index(part.name) for part in key.parts)
    items = [item.unalias() for item in query.selects]
    return tuple(items.index(part) if part in items else None for part in key.parts)
