"""The groups of an arm at a place, by what is kept of them."""

from __future__ import annotations

from tapestry.sql.arms import FirstRows, KeptGroups, RunningGroups
from tapestry.sql.cumulative.firsts import Places
from tapestry.sql.cumulative.groups import Groups
from tapestry.sql.cumulative.running import Running
from tapestry.sql.strategies.place import RenderPlace


def groups_of(arm: KeptGroups, place: RenderPlace) -> Groups:
    """The groups of an arm."""
    if isinstance(arm, RunningGroups):
        return Running(arm, place)
    assert isinstance(arm, FirstRows)
    return Places(arm, place)
