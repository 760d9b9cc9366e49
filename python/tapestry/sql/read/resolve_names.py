"""Give every column its table, expand stars and USING, and type every expression (sqlglot)."""

from __future__ import annotations

import re
from contextlib import suppress
from difflib import get_close_matches
from itertools import accumulate
from typing import Any

from sqlglot import MappingSchema, exp
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.annotate_types import annotate_types
from sqlglot.optimizer.qualify import qualify

from tapestry.errors import Refusal
from tapestry.names import MATCHED_AT
from tapestry.sql.catalog import Catalog, Column, Source
from tapestry.sql.copies import copied
from tapestry.sql.read.balance_connectors import balance_connectors
from tapestry.sql.read.expand_stars import expand_stars, refuse_merged_stars
from tapestry.sql.read.generators import open_inline, to_laterals
from tapestry.sql.read.join_using import join_using
from tapestry.sql.read.natural_joins import natural_joins
from tapestry.sql.read.open_clauses import open_clauses
from tapestry.sql.read.open_qualify import open_qualify
from tapestry.sql.read.output_names import items_called
from tapestry.sql.read.parse import is_cte
from tapestry.sql.read.pivots import open_pivots
from tapestry.sql.read.refuse_equal_columns import refuse_equal_columns
from tapestry.sql.read.rename_parameters import rename_parameters
from tapestry.sql.read.spelling import (
    NO_PART,
    note_spelling,
    spell_field,
    spelling_in,
    spellings,
)
from tapestry.sql.read.spend_names import spend_names
from tapestry.sql.read.tell_apart import tell_apart
from tapestry.sql.write import build

TYPE_LEVELS = 100
"""Types of a column inside of each other."""
_NESTS = {"<": 1, ">": -1}
SHOWN = 12
"""So many columns are listed where none is like the one that is not there."""


def resolve_names(tree: exp.Query, catalog: Catalog) -> exp.Query:
    """The query with every column written ``alias.column`` and every expression typed.

    Raises Refusal for a column that cannot be told, and for ``select *`` over a continuous model,
    whose ``_matched_at`` would become a column of this one.
    """
    tree = rename_parameters(tree)
    tree = open_pivots(tree, lambda inner: resolve_names(inner, catalog))
    schema, depth = _schema_of(catalog)
    tree = to_laterals(natural_joins(tree, catalog), catalog)
    refuse_merged_stars(tree)
    spend_names(tree, catalog)
    tree = _with_clocks(tree, catalog)
    written = _for_sqlglot(tree, depth)
    qualified = copied(written)
    try:
        qualified = qualify(
            qualified, schema=schema, dialect="spark", quote_identifiers=False, identify=False
        )
        join_using(written, qualified)
        refuse_equal_columns(written, qualified, schema)
        qualified = expand_stars(qualified, schema, spelling_in(catalog))
        qualified = open_qualify(open_clauses(qualified))
        annotated = annotate_types(qualified, schema=schema, dialect="spark")
    except SqlglotError as error:
        with suppress(SqlglotError):  # a star over equal names is left, and hides those around it
            refuse_equal_columns(written, qualified, schema)
        raise Refusal(
            "a name in the SQL could not be resolved",
            str(error),
            f"check the columns' names: {_likely(str(error), catalog)}",
            code="unknown-column",
        ) from error
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        # How sqlglot's rules of types fail at a function that lacks an argument.
        raise Refusal(
            "the SQL could not be typed",
            tree.sql("spark"),
            "check that it runs as `dbt show --inline`: a function may lack an argument",
            code="untyped-query",
        ) from error
    _as_written(annotated)
    annotated = open_inline(annotated)
    _refuse_stars(annotated)
    _refuse_hidden_output(annotated)
    build.quote(annotated)  # for the canonical text is read again
    return annotated


def _schema_of(catalog: Catalog) -> tuple[MappingSchema, int]:
    """The sources as sqlglot knows them, and how many parts the longest of their names has."""
    schema = MappingSchema(dialect="spark")
    sources = [
        (_named(name), source.columns)
        for name, source in catalog.relations.items()
        if isinstance(source, Source)
    ]
    depth = max((len(table.parts) for table, _ in sources), default=1)
    for table, columns in sources:
        # Names as trees: sqlglot reads a text as SQL, in which `$a` and `a -- b` are no names.
        types: dict[Any, exp.DataType] = {
            exp.to_identifier(one.name, quoted=True): _type_of(table, one) for one in columns
        }
        schema.add_table(_deepened(table, depth), types, dialect="spark")
    return schema, depth


def _named(name: str) -> exp.Table:
    """Return the table of a normalized name, each part taken literally, quotes included."""
    parts = [exp.to_identifier(part) for part in name.split(".")]
    if len(parts) > 3:
        return exp.to_table(name, dialect="spark")
    return exp.Table(**dict(zip(("this", "db", "catalog"), reversed(parts), strict=False)))


def _type_of(table: exp.Table, column: Column) -> exp.DataType:
    """Return a column's type; raise Refusal if no query can use such a column."""
    where = f"{table.sql('spark')}: {column.name[:200]} {column.type[:200]}"
    if column.name == "*":
        raise Refusal(
            "a column is called *, which stands for all columns",
            where,
            "rename it in the table: a view over it reads it, too",
            code="odd-name",
        )
    depth = max(accumulate(_NESTS[sign] for sign in column.type if sign in _NESTS), default=0)
    if depth > TYPE_LEVELS:
        raise Refusal(
            f"a column's type has more than {TYPE_LEVELS} types inside of each other",
            where,
            "leave the column out of the table: a query has all columns of its tables to be read",
            code="odd-type",
        )
    try:
        return column.data_type
    except (SqlglotError, ValueError) as error:
        raise Refusal(
            "a column's type cannot be read: the name of a field in it needs quotes",
            where,
            "rename the field in the table: a view over it reads it, too",
            code="odd-type",
        ) from error


def _deepened(table: exp.Table, depth: int) -> exp.Table:
    """Return the table with its name padded to the parts of the longest: sqlglot wants one
    length.
    """
    for part in ("db", "catalog")[: depth - 1]:
        if not table.args.get(part):
            table.set(part, exp.to_identifier(NO_PART))
    return table


def _for_sqlglot(tree: exp.Query, depth: int) -> exp.Query:
    """The tree in a form whose names sqlglot resolves; ``_as_written`` undoes what shows.

    It puts all names in lower case, and finds the type of a field by that. How they are written
    shows in the fields that the query makes, so it is remembered.
    """
    written = balance_connectors(tell_apart(tree))
    note_spelling(written)
    for table in [one for one in written.find_all(exp.Table) if not is_cte(one)]:
        _deepened(table, depth)
    return written


def _without_parts(table: exp.Table) -> None:
    for part in ("db", "catalog"):
        if table.text(part) == NO_PART:
            table.set(part, None)


def _as_written(tree: exp.Query) -> None:
    """Remove the added parts of names, and spell the fields of structs as before, in place."""
    for table in tree.find_all(exp.Table):
        _without_parts(table)
    for node in tree.find_all(exp.PropertyEQ, exp.ColumnDef):
        spell_field(node.this)


def _likely(message: str, catalog: Catalog) -> str:
    """Return a suggestion which name the author meant, for sqlglot's message."""
    spelling = spellings(catalog)
    known = sorted(spelling.values())
    name, *table = re.findall(r"'(\w+)'", message) or re.findall(r"\w+", message)[-1:]
    if name.lower() in spelling:
        if table:
            # sql: only shown, to people
            return f"is a relation in FROM called {table[0]}, and does it have {name}?"
        # sql: only shown, to people
        return f"one relation in FROM must have {name}, or write alias.{name}"
    near = get_close_matches(name, known, 3)
    if near:
        return f"{' or '.join(near)}?"
    return f"there are {', '.join(known[:SHOWN])}{', …' * (len(known) > SHOWN)}"


def _with_clocks(tree: exp.Query, catalog: Catalog) -> exp.Query:
    """Return the query with ``localtimestamp`` as the clock, unless a column has that name.

    Where there is such a column, of a source or made by the query, the parser has lost which of the
    two ``current_date`` is: refused.
    """
    clocks: dict[str, type[exp.Expr]] = {
        "localtimestamp": exp.Localtimestamp,
        "current_timestamp": exp.CurrentTimestamp,
        "current_date": exp.CurrentDate,
    }
    aliases = {name for node in tree.find_all(exp.Alias) if (name := node.alias.lower())}
    listed = {one.name.lower() for node in tree.find_all(exp.TableAlias) for one in node.columns}
    known = set(spellings(catalog)) | aliases | listed
    for name in known & clocks.keys():
        if any(type(node) is clocks[name] for node in tree.walk()):
            raise Refusal(
                f"{name} is the clock and the name of a column here",
                name,
                f"write m.{name} for the column, and now() or date(now()) for the clock",
                code="clock-or-column",
            )

    def is_clock(node: exp.Expr) -> bool:
        bare = isinstance(node, exp.Column) and not node.table
        return bare and node.name.lower() in clocks.keys() - known

    def clock(node: exp.Expr) -> exp.Expr:
        return clocks[node.name.lower()]() if is_clock(node) else node

    if not any(map(is_clock, tree.find_all(exp.Column))):
        return tree
    read = tree.transform(clock)
    assert isinstance(read, exp.Query)
    return read


def _refuse_stars(tree: exp.Query) -> None:
    """Raise Refusal for a star over the fields of a struct; those over tables are resolved."""
    for select in tree.find_all(exp.Select):
        for item in select.selects:
            if isinstance(item.unalias(), exp.Dot) and item.find(exp.Star) is not None:
                raise Refusal(
                    "a star over a struct", item.sql("spark"), "list its fields", code="odd-star"
                )


def _refuse_hidden_output(tree: exp.Query) -> None:
    if any(name.lower() == MATCHED_AT for name in tree.named_selects):
        raise Refusal(
            f"the select list holds {MATCHED_AT}, which this model will have of its own",
            items_called(MATCHED_AT, tree),
            f"leave it out (select * except ({MATCHED_AT})) or rename it with AS",
            code="own-column",
        )
