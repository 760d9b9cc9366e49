"""Checks the key that an author names for a query (`unique_key`), and says why if it cannot be.

A row of the answer has to be of one key whatever else changes, and what takes rows together has to
take those of one key alone. So a column of a key is one of a relation of FROM that no outer join
may fill with NULL, and each GROUP BY, PARTITION BY and DISTINCT of the block names it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import exp

from tapestry.errors import Refusal
from tapestry.sql.facts.grouping import GROUPINGS, is_limited
from tapestry.sql.facts.keys_that_commute import UNCUT
from tapestry.sql.operators.block import SelectBlock

CODE = "unique-key"


def wanted_key(query: exp.Query, places: Sequence[int]) -> list[exp.Expr]:
    """The columns at these places of the select list.

    Raises Refusal for one that a query cannot be kept by.

    >>> from sqlglot import parse_one
    >>> sql = "SELECT m.k, count(*) AS n FROM m GROUP BY m.k"
    >>> [one.sql() for one in wanted_key(parse_one(sql), [0])]
    ['m.k']
    """
    items = [item.unalias() for item in query.selects]
    for place in places:
        name, item = query.selects[place].alias_or_name, items[place]
        if why := _why_not(query, item):
            raise Refusal(
                f"unique_key: {name} {why}",
                query.sql("spark"),
                "name columns that tell rows apart before they are taken together, or leave"
                " unique_key out: the table is the same by any key",
                code="unique-key",
            )
    return [items[place] for place in places]


def _why_not(query: exp.Query, item: exp.Expr) -> str:
    """Return why a query cannot be maintained by an item of its select list; '' if it can."""
    if is_limited(query):
        return "does not tell which rows LIMIT takes: these depend on rows with other values of it"
    if not is_told_apart(item):
        return "has values that are not compared (MAP, VARIANT, INTERVAL)"
    if not isinstance(query, exp.Select):
        return ""
    block = SelectBlock(query)
    if not isinstance(item, exp.Column):
        return f"is {item.sql('spark')}, not a column of what stands in FROM"
    if item.table in block.supplied:
        return (
            f"is a column of {item.table}, which an outer join may fill with NULL: a row that"
            " finds its partner would go over to another key"
        )
    if any(item not in listed for listed in lists_of(block)):
        return (
            "is not among the columns of every GROUP BY, PARTITION BY and DISTINCT: rows with"
            " other values of it are taken together with its rows"
        )
    return ""


def lists_of(block: SelectBlock) -> Iterator[list[exp.Expr]]:
    """Yield, for each construct that takes rows together, the values that tell them apart."""
    node, group = block.node, block.node.args.get("group")
    if group is not None:
        yield list(_in_every_set(group))
    elif block.grouped:
        yield []
    for window in block.windows:
        yield [one.unnest() for one in window.args.get("partition_by") or []]
    if node.args.get("distinct"):
        yield [item.unalias() for item in node.selects]


def _in_every_set(group: exp.Expr) -> Iterator[exp.Expr]:
    yield from (one.unnest() for one in group.expressions if not isinstance(one, GROUPINGS))
    for item in group.expressions:
        if isinstance(item, exp.GroupingSets):
            sets = [
                [part.unnest() for part in one.expressions]
                if isinstance(one, exp.Tuple)
                else [one.unnest()]
                for one in item.expressions
            ]
            yield from (one for one in sets[0] if all(one in other for other in sets[1:]))


def is_told_apart(value: exp.Expr) -> bool:
    """Return whether a value has a type by which rows are told apart."""
    kind = value.type
    if kind is None:
        return True
    return not any(
        str(one.this.value).lower().startswith(UNCUT) for one in kind.find_all(exp.DataType)
    )
