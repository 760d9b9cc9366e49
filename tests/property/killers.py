"""Rewritings with one slip each, and the search for random queries that notice them.

    python -m tests.property.killers     search, where a slip is noticed by its queries no longer

Most change the rendered SQL, as a slip in a strategy would; some change what it is given.
``killers.json`` names for each of them the random queries that give other answers then: the gate
asks these alone. `make judge` searches.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import sqlglot
from sqlglot import exp

sys.path.insert(0, str(Path(__file__).parent))

from judge.case import random_case
from judge.oracle import connect
from judge.verdict import judge
from tests.verification.slips import (
    Change,
    forget,
    keep_later_starts,
    nothing_is_null,
    operators,
    plain_equality,
    skip_blocking,
)

from tapestry.sql import rewrite

FILE = Path(__file__).with_name("killers.json")
WITHIN = 400  # random queries
NAMED = 2  # for each slip
LONGEST = 12_000  # characters of rendered SQL: longer ones are not mutated


def _drop_branch(node: exp.Expr) -> exp.Expr | None:
    return node.left if isinstance(node, exp.Union) and not node.args.get("distinct") else None


TEXTS: dict[str, tuple[Change, bool]] = {  # the change, and whether it is made in every place
    "a branch of the split is dropped": (_drop_branch, False),
    "every < is <=": (operators(exp.LT, exp.LTE), True),
    "every <= is <": (operators(exp.LTE, exp.LT), True),
    "every > is >=": (operators(exp.GT, exp.GTE), True),
    "the guards against NULL are lost": (nothing_is_null, True),
    "keys compare with =": (plain_equality, True),
    "answers before the window are forgotten": (forget("earlier"), True),
    "blocking rows are ignored": (skip_blocking, True),
    "every start of an answer is delivered": (keep_later_starts, True),
}


class Mutant:
    """A rewriting with one slip."""

    def __init__(self, rewriting: Any, change: Change, everywhere: bool) -> None:
        self.rewriting, self.change, self.everywhere = rewriting, change, everywhere

    def __getattr__(self, name: str) -> Any:
        return getattr(self.rewriting, name)

    def reading(self, apart: Any, joined: Any) -> Mutant:
        """The same with the slip, some uses read by a scan of their own."""
        return Mutant(self.rewriting.reading(apart, joined), self.change, self.everywhere)

    def knowing(self, measured: Any) -> Mutant:
        """The same with the slip, where this was measured."""
        return Mutant(self.rewriting.knowing(measured), self.change, self.everywhere)

    def joining(self, names: Any) -> Mutant:
        """The same with the slip, its tables joined in another order."""
        return Mutant(self.rewriting.joining(names), self.change, self.everywhere)

    def incremental(self, window: Any, scans: Any, dialect: str, few: bool = False) -> str:
        """The rendered SQL, changed."""
        text: str = self.rewriting.incremental(window, scans, dialect=dialect, few=few)
        if len(text) > LONGEST:
            return text
        done = False

        def change(node: exp.Expr) -> exp.Expr:
            nonlocal done
            new = None if done else self.change(node)
            done = new is not None and not self.everywhere
            return node if new is None else new

        return sqlglot.parse_one(text, dialect="duckdb").transform(change).sql("duckdb")


class Given(Mutant):
    """A rewriting that is given something else."""

    def __init__(self, rewriting: Any, changed: Callable[[Any, Any], tuple[Any, Any]]) -> None:
        self.rewriting, self.changed = rewriting, changed

    def reading(self, apart: Any, joined: Any) -> Given:
        """The same, some uses read by a scan of their own."""
        return Given(self.rewriting.reading(apart, joined), self.changed)

    def knowing(self, measured: Any) -> Given:
        """The same, where this was measured."""
        return Given(self.rewriting.knowing(measured), self.changed)

    def joining(self, names: Any) -> Given:
        """The same, its tables joined in another order."""
        return Given(self.rewriting.joining(names), self.changed)

    def incremental(self, window: Any, scans: Any, dialect: str, few: bool = False) -> str:
        """The SQL for a changed window or changed scans."""
        changed = self.changed(window, scans)
        return str(self.rewriting.incremental(*changed, dialect=dialect, few=few))


def _scans(**changes: Any) -> Callable[[Any, Any], tuple[Any, Any]]:
    return lambda window, scans: (
        window,
        {name: replace(scan, **changes) for name, scan in scans.items()},
    )


GIVEN: dict[str, Callable[[Any, Any], tuple[Any, Any]]] = {
    "late rows are taken for punctual": _scans(late=False),
    "rows of a table are one row": _scans(row_id="1"),
    "every window is the first": lambda window, scans: (replace(window, tau=None), scans),
}


def _text(name: str, rewriting: Any) -> Mutant:
    return Mutant(rewriting, *TEXTS[name])


def _given(name: str, rewriting: Any) -> Given:
    return Given(rewriting, GIVEN[name])


def _forgets_begin(sql: str, catalog: Any, assume: Any, begin: Any) -> Any:
    return rewrite(sql, catalog, assume=assume)


def _slipping(make: Callable[[Any], Any]) -> Callable[..., Any]:
    return lambda *args, **more: make(rewrite(*args, **more))


SLIPS: dict[str, Callable[..., Any]] = {
    **{name: _slipping(partial(_text, name)) for name in TEXTS},
    **{name: _slipping(partial(_given, name)) for name in GIVEN},
    "begin is lost": _forgets_begin,
}
"""What stands for ``rewrite``, by the name of its slip."""


def notices(number: int, slip: str, connection: Any) -> bool:
    """The query of a number gives other answers with the slip."""
    case = random_case(number)
    if " IS " in case.sql:  # guards of its own, which `nothing_is_null` would take for others
        return False
    return judge(case, connection, SLIPS[slip]).kind == "different"


def named() -> dict[str, list[int]]:
    """The queries that ``killers.json`` names, by slip."""
    found: dict[str, list[int]] = json.loads(FILE.read_text("utf-8")) if FILE.exists() else {}
    return found


def search() -> dict[str, list[int]]:
    """For each slip the queries that are named, if one of them notices it, else the first that do.

    Raises LookupError where none of the first ``WITHIN`` does.
    """
    connection, known, found = connect(), named(), {}
    for slip in SLIPS:
        old = [number for number in known.get(slip, ()) if notices(number, slip, connection)]
        found[slip] = old or list(islice(_noticing(slip, connection), NAMED))
        print(f"{slip}: {found[slip]}", flush=True)
        if not found[slip]:
            raise LookupError(f"no query notices: {slip}")
    return found


def _noticing(slip: str, connection: Any) -> Iterator[int]:
    return (number for number in range(WITHIN) if notices(number, slip, connection))


if __name__ == "__main__":
    FILE.write_text(json.dumps(search(), indent=1) + "\n", "utf-8")
