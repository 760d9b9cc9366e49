"""How names are written: Spark tells upper from lower case in no name, but keeps it in results.

sqlglot puts all names in lower case to resolve them.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp
from sqlglot.optimizer.scope import Scope

_WRITTEN = "as written"
Spell = Callable[[exp.Table, str], str]
"""A column of a table, by its name in lower case, as the table has it."""


def note_spelling(tree: exp.Expr) -> None:
    """Remember how every name in the author's text is written."""
    for identifier in tree.find_all(exp.Identifier):
        identifier.meta[_WRITTEN] = identifier.name


def spell_field(name: exp.Expr, written: str | None = None) -> None:
    """Write the name of a field as the author did, or as ``written`` says from now on."""
    if written is not None:
        name.meta[_WRITTEN] = written
    name.set("this", name.meta_get(_WRITTEN) or name.name)


def spelt(source: exp.Expr | Scope, name: str, spell: Spell) -> str | None:
    """A column of a relation as it is written there, or where it comes from; None: not known."""
    if isinstance(source, exp.Table):
        return spell(source, name)
    if not isinstance(source, Scope):
        return None
    while source.set_operation_scopes:
        source = source.set_operation_scopes[0]  # the first arm names the columns
    block = source.expression
    for item in block.selects if isinstance(block, exp.Query) else ():
        if item.alias_or_name == name:
            return _of_item(source, item, name, spell)
    return None


def _of_item(block: Scope, item: exp.Expr, name: str, spell: Spell) -> str | None:
    """An item of a select list: as its alias says, else what it takes."""
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
        return spelt(block.sources[value.table], name, spell)
    return None
