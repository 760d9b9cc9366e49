"""Makes a failing case small: drops parts of it as long as it still fails the same way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any

from judge.case import Case
from judge.data import Data
from judge.schema import ARRIVAL
from judge.tree import Exists, Form, In, Join, Relation, Select, SetOp, Text, With, tables_of, walk


def shrink(case: Case, fails: Callable[[Case], bool], budget: int = 1500) -> Case:
    """A smaller case that still fails; at most `budget` tries."""
    progress = True
    while progress and budget > 0:
        progress = False
        for smaller in _smaller(case):
            budget -= 1
            if budget <= 0:
                break
            if _sound(smaller) and fails(smaller):
                case, progress = smaller, True
                break
    return case


def _smaller(case: Case) -> Iterator[Case]:
    if case.begin is not None:
        yield replace(case, begin=None)
    if case.pinned:
        yield replace(case, pinned=False)
    for position in range(len(case.ends)):
        if len(case.ends) > 1:
            yield replace(case, ends=case.ends[:position] + case.ends[position + 1 :])
    used = tables_of(case.query)
    for table, rows in case.data.rows.items():
        if rows:
            yield replace(case, data=replace(case.data, rows={**case.data.rows, table: ()}))
        if table in used:
            for index in range(len(rows)):
                yield replace(case, data=case.data.without(table, index))
    for key in case.data.ended:
        kept = {one: end for one, end in case.data.ended.items() if one != key}
        yield replace(case, data=replace(case.data, ended=kept))
    if case.data.late:
        yield replace(case, data=_punctual(case.data))
    for query in variants(case.query):
        yield replace(case, query=query)


def _punctual(data: Data) -> Data:
    from judge.schema import TABLES

    rows = {}
    for table, found in data.rows.items():
        column = ARRIVAL[table]
        place = None if column is None else list(TABLES[table]).index(column)
        rows[table] = tuple(
            (*row[:-2], None if place is None else row[place], row[-1]) for row in found
        )
    return replace(data, rows=rows, late=False)


def variants(node: Any) -> Iterator[Any]:
    """The same node with one thing less, the largest first."""
    if isinstance(node, Text) or not is_dataclass(node):
        return
    yield from _own(node)
    for field in fields(node):
        value = getattr(node, field.name)
        if isinstance(value, tuple):
            for index, item in enumerate(value):
                for smaller in variants(item) if is_dataclass(item) else _pair(item):
                    yield replace(
                        node, **{field.name: (*value[:index], smaller, *value[index + 1 :])}
                    )
        elif is_dataclass(value):
            for smaller in variants(value):
                yield replace(node, **{field.name: smaller})


def _pair(item: Any) -> Iterator[Any]:
    if isinstance(item, tuple) and len(item) == 2:
        for smaller in variants(item[1]):
            yield (item[0], smaller)


def _own(node: Any) -> Iterator[Any]:
    if isinstance(node, SetOp):
        yield from (node.left, node.right)
    elif isinstance(node, With):
        yield node.body
        for index in range(len(node.ctes)):
            yield replace(node, ctes=node.ctes[:index] + node.ctes[index + 1 :])
    elif isinstance(node, Form):
        yield from node.args
        if node.name in ("AND", "OR") and len(node.args) > 2:
            for index in range(len(node.args)):
                yield replace(node, args=node.args[:index] + node.args[index + 1 :])
    elif isinstance(node, (Exists, In)):
        if node.negated:
            yield replace(node, negated=False)
    elif isinstance(node, Join):
        if node.kind not in ("", ",", "JOIN", "CROSS JOIN"):
            yield replace(node, kind="JOIN")
    elif isinstance(node, Select):
        yield from _select(node)


def _select(node: Select) -> Iterator[Select]:
    if node.where is not None:
        yield replace(node, where=None)
    if node.distinct or node.grouped:
        yield replace(node, distinct=False, grouped=False)
    for index in range(len(node.joins)):
        if len(node.joins) > 1:
            rest = node.joins[:index] + node.joins[index + 1 :]
            if index == 0:
                rest = (Join("", rest[0].relation), *rest[1:])
            yield replace(node, joins=rest)
    if not node.star and len(node.items) > 1:
        for index in range(len(node.items)):
            yield replace(node, items=node.items[:index] + node.items[index + 1 :])


def _sound(case: Case) -> bool:
    """Does every reference still find its relation? Are set operations still of equal width?"""
    nodes = list(walk(case.query))
    if not any(ARRIVAL[table] for table in tables_of(case.query)):
        return False
    ctes = {name for node in nodes if isinstance(node, With) for name, _ in node.ctes}
    if any(isinstance(node, Relation) and node.cte and node.cte not in ctes for node in nodes):
        return False
    if any(
        isinstance(node, SetOp) and len(node.left.names) != len(node.right.names) for node in nodes
    ):
        return False
    keys = {node.key for node in nodes if isinstance(node, Relation)}
    return all(node.keys <= keys for node in nodes if isinstance(node, Text))
