"""Mistakes in the rewriting, each as a slip in a strategy or in a run would make it."""

from __future__ import annotations

from dataclasses import replace

import sqlglot
from sqlglot import exp
from tests.verification.slips import (
    Change,
    forget,
    keep_later_starts,
    nothing_is_null,
    operators,
    plain_equality,
    skip_blocking,
)
from tests.verification.stream import Mutate, right

from tapestry.names import KEY, MATCHED_AT
from tapestry.sql import Rewriting, Scan, Window


def in_text(change: Change, everywhere: bool = True) -> Mutate:
    """The rendered SQL, changed in the first place that can be, or in every one."""

    def mutate(rewriting: Rewriting, window: Window, scans: dict[str, Scan]) -> str:
        done = False

        def once(node: exp.Expr) -> exp.Expr:
            nonlocal done
            new = None if done else change(node)
            done = new is not None and not everywhere
            return node if new is None else new

        text = right(rewriting, window, scans)
        return sqlglot.parse_one(text, dialect="duckdb").transform(once).sql("duckdb")

    return mutate


def around(template: str) -> Mutate:
    """A query over the right rows: ``{}`` in the template."""

    def mutate(rewriting: Rewriting, window: Window, scans: dict[str, Scan]) -> str:
        columns = ", ".join(f'"{column}"' for column in rewriting.columns)
        same = " AND ".join(
            f'p."{column}" IS NOT DISTINCT FROM n."{column}"' for column in rewriting.columns
        )
        rows = f"({right(rewriting, window, scans)})"
        published = "published" if window.tau is not None else f"(SELECT * FROM {rows} LIMIT 0)"
        return template.format(
            rows=rows, columns=columns, key=KEY, at=MATCHED_AT, same=same, published=published
        )

    return mutate


def given(**changes: object) -> Mutate:
    """The right text for changed scans."""

    def mutate(rewriting: Rewriting, window: Window, scans: dict[str, Scan]) -> str:
        changed = {name: replace(scan, **changes) for name, scan in scans.items()}  # type: ignore[arg-type]
        return right(rewriting, window, changed)

    return mutate


def reading(condition: str) -> Mutate:
    """The right text over a part of the rows."""

    def mutate(rewriting: Rewriting, window: Window, scans: dict[str, Scan]) -> str:
        changed = {
            name: replace(scan, relation=f"(SELECT * FROM {scan.relation} AS _x WHERE {condition})")
            for name, scan in scans.items()
        }
        return right(rewriting, window, changed)

    return mutate


def every_window_is_the_first(rewriting: Rewriting, window: Window, scans: dict[str, Scan]) -> str:
    """tau is forgotten."""
    return right(rewriting, replace(window, tau=None), scans)


def _drop_branch(node: exp.Expr) -> exp.Expr | None:
    if not isinstance(node, exp.Union) or node.args.get("distinct"):
        return None
    left = node.left.copy()
    if node.args.get("with_") is not None:
        left.set("with_", node.args["with_"].copy())
    return left


def _last_start(node: exp.Expr) -> exp.Expr | None:
    return exp.Max(this=node.this) if isinstance(node, exp.Min) else None


_MOVED = "SELECT * REPLACE ({at} + INTERVAL '{by}' AS {at}) FROM {rows} AS n"
MUTANTS: dict[str, Mutate] = {
    "a branch is dropped": in_text(_drop_branch, everywhere=False),
    "a branch is doubled": around("SELECT * FROM {rows} UNION ALL SELECT * FROM {rows}"),
    "every < is <=": in_text(operators(exp.LT, exp.LTE)),
    "every <= is <": in_text(operators(exp.LTE, exp.LT)),
    "every > is >=": in_text(operators(exp.GT, exp.GTE)),
    "the guards against NULL are lost": in_text(nothing_is_null),
    "keys compare with = (a lost NULL rule)": in_text(plain_equality),
    "late rows are never read": reading("_arr = ts"),
    "late rows are taken for punctual": given(late=False),
    "a re-opened answer is delivered again": in_text(forget("earlier")),
    "an old value is delivered again": in_text(forget("_old")),
    "blocking rows are ignored": in_text(skip_blocking),
    "every start of an answer is delivered": in_text(keep_later_starts),
    "the last start counts, not the first": in_text(_last_start),
    "_matched_at is 1 µs late": around(_MOVED.replace("{by}", "1 MICROSECOND")),
    "_matched_at is 1 µs early": around(_MOVED.replace("{by}", "-1 MICROSECOND")),
    "_matched_at is the run's own instant": around(
        "SELECT * REPLACE ((SELECT MAX({at}) FROM {rows}) AS {at}) FROM {rows} AS n"
    ),
    "the twin of an expired row is lost": around(
        "SELECT n.* FROM {rows} AS n WHERE NOT EXISTS (SELECT 1 FROM {published} AS p WHERE {same})"
    ),
    "of two equal rows one is lost": around(
        "SELECT * FROM {rows} AS n QUALIFY row_number()"
        " OVER (PARTITION BY {columns}, {at} ORDER BY {key}) = 1"
    ),
    "rows of a table are one row": given(row_id="1"),
    "every window is the first": every_window_is_the_first,
    "one row in twenty is lost": around(
        "SELECT * FROM {rows} AS n WHERE hash({key}, {columns}) % 20 <> 0"
    ),
}


def _wrong_value(rewriting: Rewriting, window: Window, scans: dict[str, Scan]) -> str:
    """Some rows have another value in the first column."""
    first = f'"{rewriting.columns[0]}"'
    rows = right(rewriting, window, scans)
    return (
        f"SELECT * REPLACE (CASE WHEN hash({KEY}) % 7 = 0 THEN {first} + 1 ELSE {first} END"
        f" AS {first}) FROM ({rows}) AS n"
    )


MUTANTS["a value is wrong"] = _wrong_value
