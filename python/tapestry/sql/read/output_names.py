"""The names of the columns of a query's answers."""

from __future__ import annotations

from collections import Counter

from sqlglot import exp
from sqlglot.optimizer.scope import build_scope

from tapestry.errors import Refusal
from tapestry.sql.catalog import Catalog
from tapestry.sql.read.spelling import spelling_in


def output_names(resolved: exp.Query, catalog: Catalog) -> tuple[str, ...]:
    """Return the names of the select list, in the author's (else the source's) upper and lower
    case.
    """
    root, spelling = build_scope(resolved), spelling_in(catalog)
    assert root is not None
    names = tuple(spelling.spelt(root, name) or name for name in resolved.named_selects)
    times = Counter(name.lower() for name in names)
    doubled = {name for name in names if times[name.lower()] > 1}
    if doubled:
        raise Refusal(
            f"two columns of the select list are called {sorted(doubled)[0]}",
            items_called(sorted(doubled)[0], resolved),
            "give one of them another name with AS",
            code="doubled-column",
        )
    return names


def items_called(name: str, tree: exp.Query) -> str:
    """Return the items of the select list that have a name, as text."""
    items = [item for item in tree.selects if item.alias_or_name.lower() == name.lower()]
    return ", ".join(item.sql("spark") for item in items)
