"""Keeps the case of names: Spark ignores it when it compares names, but keeps it in results.

sqlglot puts all names in lower case to resolve them.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp
from sqlglot.optimizer.scope import Scope

from tapestry.sql.catalog import Catalog, Source

_WRITTEN = "as written"
NO_PART = "_t_none"
"""Stands where a relation's name has no schema, or no catalog."""
Spell = Callable[[exp.Table, str], str]
"""A column of a table, by its name in lower case, as the table has it."""


def note_spelling(tree: exp.Expr) -> None:
    """Store how every name in the author's text is written."""
    for identifier in tree.find_all(exp.Identifier):
        identifier.meta[_WRITTEN] = identifier.name


def is_written(identifier: exp.Expr) -> bool:
    """Return whether a name stands in the author's text, not made by resolving names."""
    return identifier.meta_get(_WRITTEN) is not None


def spell_field(name: exp.Expr, written: str | None = None) -> None:
    """Write the name of a field as the author did, or as ``written`` says from now on."""
    if written is not None:
        name.meta[_WRITTEN] = written
    name.set("this", name.meta_get(_WRITTEN) or name.name)


class Spelling:
    """The spelling of the columns of one query, cached.

    A query with thousands of columns would else look through its select list for each of them.
    """

    def __init__(self, of_table: Spell) -> None:
        self._of_table = of_table
        self._items: dict[int, tuple[exp.Query, dict[str, exp.Expr]]] = {}

    def spelt(self, source: exp.Expr | Scope, name: str) -> str | None:
        """Return the spelling of a relation's column, there or at its origin; None: unknown."""
        if isinstance(source, exp.Table):
            return self._of_table(source, name)
        if not isinstance(source, Scope):
            return None
        while source.set_operation_scopes:
            source = source.set_operation_scopes[0]  # the first arm names the columns
        block = source.expression
        if not isinstance(block, exp.Query):
            return None
        item = self._items_of(block).get(name)
        return None if item is None else self._of_item(source, item, name)

    def _items_of(self, block: exp.Query) -> dict[str, exp.Expr]:
        """Return the items of a select list by name; keeps the block, so that its id stays
        unique.
        """
        _, items = self._items.get(id(block), (None, None))
        if items is None:
            items = {}
            for item in block.selects:
                items.setdefault(item.alias_or_name, item)
            self._items[id(block)] = (block, items)
        return items

    def _of_item(self, block: Scope, item: exp.Expr, name: str) -> str | None:
        """Return the spelling of an item of a select list: its alias, else its column."""
        value = item.unalias()
        while isinstance(value, exp.Cast | exp.Paren):
            value = value.this
        last = value.expression if isinstance(value, exp.Dot) else value.this
        for part in (item.args.get("alias"), last):
            if isinstance(part, exp.Identifier) and part.name.lower() == name:
                written = part.meta_get(_WRITTEN)
                if written is not None:
                    return str(written)
        if isinstance(value, exp.Column) and value.name == name and value.table in block.sources:
            return self.spelt(block.sources[value.table], name)
        return None


def spelling_in(catalog: Catalog) -> Spelling:
    """Return the spelling of the columns of a query over these relations."""
    columns = {
        name: {column.name.lower(): column.name for column in relation.columns}
        for name, relation in catalog.relations.items()
        if isinstance(relation, Source)
    }

    def of_table(table: exp.Table, name: str) -> str:
        written = ".".join(part.name for part in table.parts if part.name != NO_PART)
        return columns[written.lower()].get(name, name)

    return Spelling(of_table)


def spellings(catalog: Catalog) -> dict[str, str]:
    """Return the columns of the sources: the name in lower case, and the source's spelling."""
    return {
        column.name.lower(): column.name
        for relation in catalog.relations.values()
        if isinstance(relation, Source)
        for column in relation.columns
    }
