"""Changes of a commit as the versions around it tell them: rows as bags, paired by key."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tests.rules.definitions import Change, Row


def by_bags(changes: Sequence[Change], key: int | None = 0) -> tuple[Change, ...]:
    """The same difference of two versions; ``key`` is the place of the key; None: there is none.

    Equal rows cancel. A key on both sides is an updated row; without a key one row that goes and
    one that comes are.
    """
    old = Counter(one.old for one in changes if one.old is not None)
    new = Counter(one.new for one in changes if one.new is not None)
    gone, come = list((old - new).elements()), list((new - old).elements())
    if key is None:
        if len(gone) == len(come) == 1:
            return (Change(gone[0], come[0]),)
        return tuple([Change(row, None) for row in gone] + [Change(None, row) for row in come])
    found: list[Change] = []
    by_key: dict[object, Row] = {row[key]: row for row in gone}
    assert len(by_key) == len(gone), "the key does not tell rows apart"
    for row in come:
        found.append(Change(by_key.pop(row[key], None), row))
    return (*found, *(Change(row, None) for row in by_key.values()))
