"""Chains of rules and actions that come back to where they began.

    table → rule      a commit of the table triggers the rule
    rule → action     the firings of the rule go to the action
    action → table    the action writes the table

Such a circle ends only where a condition ends it; so it has to be allowed.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from tapestry.errors import ConfigurationError

_WRITES = re.compile(
    r"\b(?:merge\s+into|insert\s+(?:into|overwrite)(?:\s+table)?|delete\s+from|update)\s+"
    r"(\{\{.*?\}\}|[\w.`]+)",
    re.IGNORECASE | re.DOTALL,
)
_REMARKS = re.compile(r"\{#.*?#\}|--[^\n]*", re.DOTALL)


@dataclass(frozen=True)
class Triggered:
    """A rule or an action, by what a project says of it.

    above
        The tables that trigger a rule, the rules that trigger an action.
    writes
        The tables that an action writes.
    allowed
        Whether it may be part of a circle.
    """

    above: Collection[str]
    writes: Collection[str] = ()
    allowed: bool = False
    file: str = ""


def written_in(text: str) -> tuple[str, ...]:
    """Return the targets in an action's unrendered statements: names, or `{{ … }}`.

    >>> written_in("merge into {{ ref('a') }} as t using m on true; -- insert into b")
    ("{{ ref('a') }}",)
    """
    return tuple(dict.fromkeys(_WRITES.findall(_REMARKS.sub("", text))))


def refuse_cycle(name: str, nodes: Mapping[str, Triggered]) -> None:
    """Raise ConfigurationError where a rule or an action is in a circle that no action allows."""
    found = _back_to(name, [name], nodes)
    if found is None:
        return
    actions = [one for one in found if nodes[one].writes]
    raise ConfigurationError(
        f"{' triggers '.join([*found, name])}: each commit makes the next, without an end",
        where=nodes[name].file,
        hint=f"write another table; or, where a condition ends it, cycles: allow in {actions[0]}"
        " (max_depth bounds it)",
    )


def _back_to(name: str, path: Sequence[str], nodes: Mapping[str, Triggered]) -> list[str] | None:
    """Return a path of rules and actions from a path's last back to its first; None: none."""
    last = nodes[path[-1]]
    if last.allowed:
        return None
    reached = set(last.writes) or {path[-1]}
    for other, one in sorted(nodes.items()):
        if not reached & set(one.above):
            continue
        if other == name:
            return list(path)
        if other not in path and (found := _back_to(name, [*path, other], nodes)) is not None:
            return found
    return None
