"""Reads expectations from YAML: names, kinds and the rule for rows that break one.

An entry is a SQL condition, ``{name, expect, on_violation}``, or one of Great Expectations' by its
snake_case name, ``{expect_...: {argument: value}, name, on_violation}``.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from tapestry.errors import ConfigurationError
from tapestry.quoting import authored

RULES = ("warn", "drop", "fail")
"""The treatments of a row that breaks an expectation; the first is the default."""
KEYS = ("name", "expect", "on_violation")
LONGEST_NAME = 120


@dataclass(frozen=True)
class Expectation:
    """One expectation of a model.

    condition
        SQL over one row, as the author wrote it; empty for one of Great Expectations'.
    kind
        The snake_case name of one of Great Expectations'; empty for a condition.
    arguments
        Its arguments as JSON text with sorted keys, so that expectations can be compared.
    """

    name: str
    on_violation: str
    condition: str = ""
    kind: str = ""
    arguments: str = "{}"

    @property
    def keywords(self) -> dict[str, Any]:
        """The arguments as values."""
        return dict(json.loads(self.arguments))


def parse_expectations(entries: Any) -> tuple[Expectation, ...]:
    """Return the expectations of one model, in order.

    Raises ConfigurationError for an entry that is none, which says what was meant.

    >>> parse_expectations([{"name": "named", "expect": "author is not null"}])[0].on_violation
    'warn'
    """
    if not isinstance(entries, Sequence) or isinstance(entries, str):
        raise ConfigurationError(
            f"expectations: {short(entries)} is not a list",
            hint='write - {name: has_author, expect: "author is not null", on_violation: drop}',
        )
    found = tuple(_one(entry) for entry in entries)
    twice = [name for name, times in Counter(e.name.lower() for e in found).items() if times > 1]
    if twice:
        raise ConfigurationError(
            f"two expectations have the name {twice[0]}", hint="give each a name: of its own"
        )
    return found


def near(word: str, words: Sequence[str]) -> str:
    """Return ``did you mean …? `` or nothing.

    >>> near("wran", RULES)
    'did you mean warn? '
    """
    by_case = {w.lower(): w for w in words}
    found = get_close_matches(word.lower(), list(by_case), 1, cutoff=0.5)
    return f"did you mean {by_case[found[0]]}? " if found else ""


def _one(entry: Any) -> Expectation:
    if not isinstance(entry, Mapping):
        raise ConfigurationError(
            f"expectations: {short(entry)} is not an expectation",
            hint='write {name: ..., expect: "a condition"}, or {expect_column_...: {column: ...}}',
        )
    kinds = [key for key in entry if key not in KEYS and _is_kind(str(key))]
    for key in entry:
        if key not in KEYS and key not in kinds:
            raise ConfigurationError(
                f"expectations: {key} is not a key of an expectation",
                where=short(dict(entry)),
                hint=f"{near(str(key), KEYS)}Valid are: {', '.join(KEYS)}, or the snake_case name"
                " of one of Great Expectations'",
            )
    if len(kinds) + ("expect" in entry) != 1:
        raise ConfigurationError(
            "expectations: an entry is one expectation, a condition under expect: or one of Great"
            " Expectations'",
            where=short(dict(entry)),
            hint="make it one entry each",
        )
    rule = str(entry.get("on_violation", RULES[0]))
    if rule not in RULES:
        raise ConfigurationError(
            f"on_violation: {rule} is not a value of this key",
            where=short(dict(entry)),
            hint=f"{near(rule, RULES)}Valid are: {', '.join(RULES)}",
        )
    if kinds:
        return _of_great_expectations(entry, str(kinds[0]), rule)
    condition = entry["expect"]
    if not isinstance(condition, str) or not condition.strip():
        raise ConfigurationError(
            f"expect: {short(condition)} is not a condition",
            where=short(dict(entry)),
            hint='write it as text: "author is not null"',
        )
    condition = condition.strip().rstrip(";").rstrip()
    return Expectation(_name(entry, " ".join(condition.split())), rule, authored(condition))


def _of_great_expectations(entry: Mapping[str, Any], kind: str, rule: str) -> Expectation:
    arguments = entry[kind] if entry[kind] is not None else {}
    if not isinstance(arguments, Mapping):
        raise ConfigurationError(
            f"{kind}: {short(arguments)} are not arguments",
            where=short(dict(entry)),
            hint=f"write {{{kind}: {{column: subject, ...}}}}",
        )
    text = json.dumps(dict(arguments), sort_keys=True, default=str)
    column = arguments.get("column")
    shown = f"{kind}({column})" if isinstance(column, str) else f"{kind}({text[1:-1]})"
    return Expectation(_name(entry, shown), rule, kind=kind, arguments=text)


def _is_kind(key: str) -> bool:
    return key.startswith(("expect_", "unexpected_rows_")) or (
        key != "expect" and key.startswith("expect") and "_" in key
    )


def _name(entry: Mapping[str, Any], otherwise: str) -> str:
    name = str(entry.get("name") or otherwise)
    return name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1] + "…"


def short(value: Any) -> str:
    """Return a value as its author may recognize it, 120 characters at most."""
    text = "null" if value is None else repr(value)
    return text if len(text) <= 120 else text[:119] + "…"
