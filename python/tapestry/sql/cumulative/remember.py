"""The memory of a model with running states: what is kept of its groups between runs.

ARGUS's incremental aggregation: statistics that suffice to go on, here as differences. Each run
adds what its window changes of each group; added up they are the states at its end. A group's row:

    part 'p1'       arm 1: p1_k1 … (the key), p1_s1 … (the states)
    part 'p1_d2'    of DISTINCT over a row's column 2: p1_k1 …, p1_a1 (the value), p1_n (how often)

Of an arm of first rows it is these rows: p1_k1 … (the key), p1_a1 … (what orders them).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from sqlglot import exp

from tapestry.sql.arms import FirstRows, KeptGroups, RunningGroups
from tapestry.sql.branches.place import RenderPlace
from tapestry.sql.cumulative.firsts import Places
from tapestry.sql.cumulative.groups import PART, Groups
from tapestry.sql.cumulative.rows import ends
from tapestry.sql.cumulative.running import COUNTED, Running
from tapestry.sql.lifted.events import Ctes
from tapestry.sql.write import build

Row = dict[str, exp.Expr]
"""The columns that a row of the memory has; the others are NULL."""


def groups_of(arm: KeptGroups, place: RenderPlace) -> Groups:
    """Return the groups of an arm at a place, by the kind of what is kept of them."""
    if isinstance(arm, RunningGroups):
        return Running(arm, place)
    assert isinstance(arm, FirstRows)
    return Places(arm, place)


def remember(arms: Sequence[Groups], whole: bool) -> tuple[exp.Query, Ctes]:
    """Return a query for the changes of all arms' groups in the window, and its CTEs.

    ``whole``: all that is to be kept from then on, which is what was kept and those changes.
    """
    selects = [one for arm in arms for one in _selects(arm, whole)]
    names = _names(row for row, _ in selects)
    for row, select in selects:
        listed = [exp.alias_(row.get(name, exp.null()), name) for name in names]
        select.set("expressions", listed)
    ctes = [cte for arm in arms if arm.place.frame.tau is not None for cte in arm.ctes()]
    return build.union_all([select for _, select in selects]), ctes


def names_kept(arms: Sequence[Groups]) -> list[str]:
    """The columns of the memory, in their order."""
    return _names(row for arm in arms for row, _ in _selects(arm, False))


def _names(rows: Iterable[Row]) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in row))


def _selects(groups: Groups, whole: bool) -> Iterator[tuple[Row, exp.Select]]:
    """The columns of the rows of each part, and a SELECT of them, which lists none yet."""
    if isinstance(groups, Places):
        yield groups.remembered(whole)
    if isinstance(groups, Running):
        yield from _states(groups, whole)


def _states(running: Running, whole: bool) -> Iterator[tuple[Row, exp.Select]]:
    prefix, numbers = running.place.prefix, running.numbers()
    first = running.place.frame.tau is None
    states = [
        running.of_rows(state, "_r") if first else running.together(n, "_r")
        for n, state in zip(numbers, running.arm.states, strict=True)
    ]
    numbered = {f"{prefix}_s{n}": state for n, state in zip(numbers, states, strict=True)}
    select = _from(running, whole, "", "parts", [f"s{n}" for n in numbers])
    yield _row(running, select, "", {}, numbered)
    for value in running.distinct:
        argument, part = running.argument(value, "_r"), f"_d{value}"
        counted: exp.Expr = exp.Sum(this=exp.column(COUNTED, table="_r"))
        if first:
            counted = exp.Count(this=exp.Star(), big_int=True)
        changes = f"d{value}_n" if ends(running.arm.blocks) else f"d{value}"
        select = _from(running, whole, part, changes, [argument.name[1:], COUNTED[1:]])
        if first:
            build.add_where(select, [build.not_null(argument)])
        key = {f"{prefix}_{argument.name[1:]}": argument}
        yield _row(running, select, part, key, {f"{prefix}_n": counted})


def _row(
    running: Running, select: exp.Select, part: str, more: Row, values: Row
) -> tuple[Row, exp.Select]:
    """The columns of a part, grouped by its key and ``more``."""
    prefix = running.place.prefix
    keys = {f"{prefix}_{one.name[1:]}": one for one in running.key("_r")} | more
    if keys:
        select.set("group", exp.Group(expressions=[one.copy() for one in keys.values()]))
    return {PART: exp.Literal.string(prefix + part), **keys, **values}, select


def _from(
    running: Running, whole: bool, part: str, changes: str, names: Sequence[str]
) -> exp.Select:
    """Return a SELECT without a list from the rows that hold, or from changes and kept states."""
    frame, select = running.place.frame, exp.Select()
    if frame.tau is None:
        return build.add_from(select, build.subquery(running.holding(frame.t), "_r"))
    if not whole:
        return build.add_from(select, build.table(running.cte(changes), "_r"))
    keys = [one.name for one in running.key("_c")]
    listed = [exp.column(name, table="_c") for name in [*keys, *(f"_{name}" for name in names)]]
    changed = build.add_from(build.select(listed), build.table(running.cte(changes), "_c"))
    both = build.union_all([running.kept(part, list(names)), changed])
    return build.add_from(select, build.subquery(both, "_r"))
