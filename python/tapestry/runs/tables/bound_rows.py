"""The rows that a rule has bound for its actions: in its own table and, beside that, in others.

Each row says which firing has bound it (``_firing``), of which commit (``_commit_version``,
``_commit_time``), and which place it has among those of that firing (``_row``). In the rule's own
table it also says which run of the rule has written it (``_n``); the tables beside it mark that as
any kept table does.

Firings of a rule have numbers that grow: a cut of the queue is those after one number up to
another. Where each commit is one transaction the number is its version.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from tapestry.quoting import Sql, identifier
from tapestry.runs.tables.kept import KeptTable

N: Final = "_n"
FIRING: Final = "_firing"
COMMIT_VERSION: Final = "_commit_version"
COMMIT_TIME: Final = "_commit_time"
ROW: Final = "_row"
BOUND, AFTER, TABLE, START = "bound", "after", "table", "start"
"""In what a rule keeps of its own: the names of its bound tables, its own first; how many
microseconds a firing waits; the table that it looks at, and the commit after which it began to."""
ADDED_BY_US: Final = (N, FIRING, COMMIT_VERSION, COMMIT_TIME, ROW)
"""Columns of a rule's own table behind those that are bound."""
SHOWN: Final = (COMMIT_TIME, COMMIT_VERSION, ROW)
"""Those that an action sees behind the bound columns."""


def bound_table(name: str, columns: Mapping[str, Sql]) -> KeptTable:
    """``<rule>__<name>``: the rows of another bound query of a rule."""
    own = {FIRING: "bigint", COMMIT_VERSION: "bigint", COMMIT_TIME: "timestamp", ROW: "bigint"}
    return KeptTable(name, f"tapestry: rows bound as {name}", {**columns, **own})


def key_text(kinds: Mapping[str, str], names: Sequence[str]) -> Sql:
    """SQL: the values of some columns that tell the batch of a row, as JSON text."""
    values = []
    for name in names:
        value = identifier(name)
        if kinds[name] in ("float", "double"):
            value = Sql(f"{value} + CAST(0 AS {kinds[name]})")  # -0.0 is equal to 0.0
        values.append(f"CAST({value} AS STRING)")
    return Sql(f"to_json(array({', '.join(values)}))")
