"""Orders models by priority, each with the models it reads.

A model that an urgent one reads is as urgent: it has to be done before. So its priority is the
greatest among its own and those of the models that read it, near or far (of those that are run).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping


def lifted(priorities: Mapping[str, int], parents: Mapping[str, Iterable[str]]) -> dict[str, int]:
    """Return the effective priority of each model; ``parents`` may name further models.

    >>> lifted({"a": 0, "b": 5, "c": 1}, {"b": ["view"], "view": ["a"], "c": ["b"]})
    {'a': 5, 'b': 5, 'c': 1}
    """
    found = dict(priorities)
    seen: dict[str, int] = {}
    for name, priority in sorted(priorities.items(), key=lambda item: (-item[1], item[0])):
        open_names = [name]
        while open_names:
            one = open_names.pop()
            if one in seen:
                continue  # by a model of at least this priority, with all that it reads
            seen[one] = priority
            open_names += parents.get(one, ())
            if one in found:
                found[one] = priority
    return found


def levels(
    priorities: Mapping[str, int], parents: Mapping[str, Iterable[str]]
) -> list[tuple[int, list[str]]]:
    """Return the models that run together, by priority, the greatest first; each model once.

    >>> levels({"a": 0, "b": 5, "c": 1}, {"b": ["view"], "view": ["a"], "c": ["b"]})
    [(5, ['a', 'b']), (1, ['c'])]
    """
    found: dict[int, list[str]] = {}
    for name, priority in lifted(priorities, parents).items():
        found.setdefault(priority, []).append(name)
    return sorted(found.items(), reverse=True)


def below(names: Iterable[str], parents: Mapping[str, Iterable[str]]) -> dict[str, str]:
    """Return the models that read one of these, directly or not, with the nearest model they read.

    >>> below(["a"], {"b": ["view"], "view": ["a"], "c": ["d"]})
    {'view': 'a', 'b': 'view'}
    """
    children: dict[str, list[str]] = {}
    for name, above in parents.items():
        for one in above:
            children.setdefault(one, []).append(name)
    found: dict[str, str] = {}
    open_names = list(names)
    while open_names:
        one = open_names.pop()
        for child in children.get(one, ()):
            if child not in found:
                found[child] = one
                open_names.append(child)
    return found
