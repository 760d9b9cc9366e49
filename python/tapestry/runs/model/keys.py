"""The table of configuration keys: one row a key, and which rows a kind of model has.

A row is a field of a dataclass of configuration, written with ``keyed``: its name, its type, the
values that it takes with their default, and its text. Parsing, errors and ``docs/reference`` are
derived from it. ``ModelConfig`` has the rows that code for any kind reads; each kind has a
dataclass of those that it alone reads, and lists the common ones that it has (``KindKeys``).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import tzinfo
from difflib import get_close_matches
from typing import Any

from tapestry.errors import ConfigurationError
from tapestry.runs.model.values import Values, entries

_ROW = "key"


@dataclass(frozen=True)
class ConfigKey:
    """A row of the table.

    word
        A short or common word: a key two letters away from it is more likely another package's.
    """

    name: str
    values: Values
    text: str
    word: bool = False


def keyed(values: Values, text: str, word: bool = False, name: str = "") -> Any:
    """Return a field of a dataclass of configuration, with its row of the table.

    ``name``: the name of its key, where that cannot be the name of a field.
    """
    row = ConfigKey(name, values, " ".join(text.split()), word)
    return field(default=values.default, metadata={_ROW: row})


def rows_of(config: type[Any]) -> dict[str, ConfigKey]:
    """Return the rows of a dataclass of configuration by its fields, in order."""
    found = {one.name: one.metadata[_ROW] for one in fields(config) if _ROW in one.metadata}
    return {name: replace(row, name=row.name or name) for name, row in found.items()}


ARRIVAL = ConfigKey("arrival", entries(), "", word=True)
"""Any model, seed or source that is read has it: it is about its readers, not about its runs."""


@dataclass(frozen=True)
class KindKeys:
    """The keys of ours that a kind of model has.

    common
        Those of ``ModelConfig``; a row stands for itself where the kind has other values for it.
    own
        The dataclass of those that the kind alone reads.
    """

    common: tuple[ConfigKey, ...]
    own: type[Any] | None = None

    @property
    def rows(self) -> dict[str, ConfigKey]:
        """All rows, in the order of the reference."""
        own = () if self.own is None else rows_of(self.own).values()
        return {
            **{row.name: row for row in own},
            **{row.name: row for row in self.common},
            ARRIVAL.name: ARRIVAL,
        }

    def read(
        self, config: Mapping[str, Any], known: Collection[str], zone: tzinfo
    ) -> dict[str, Any]:
        """Return the value of each key, written or by default, from a dbt model's configuration.

        ``known`` are the keys of dbt and of the adapter; any other that misspells one of these is
        an error. Raises ConfigurationError, which lists the valid ones.
        """
        meta, rows = config.get("meta") or {}, self.rows
        for place in (config, meta):
            check_spelling(place, rows, known)
        return {
            name: row.values.default
            if (value := _written(name, config, meta)) is None
            else row.values.read(name, value, zone)
            for name, row in rows.items()
        }


def _written(key: str, *places: Mapping[str, Any]) -> Any:
    values = [place[key] for place in places if place.get(key) is not None]
    if len(values) == len(places) and any(value != values[0] for value in values):
        raise ConfigurationError(
            f"{key} is {values[0]!r} in the configuration and {values[1]!r} under meta",
            hint="keep one of them",
        )
    return values[0] if values else None


def check_spelling(
    config: Mapping[str, Any], rows: Mapping[str, ConfigKey], known: Collection[str] = ()
) -> None:
    """Raise ConfigurationError for a key that misspells one of ours.

    dbt keeps any key silently. A key counts as misspelt when it is neither dbt's (``known``) nor
    ours, and either equals one of ours but for case, hyphens and underscores, or is very near to
    one of the long ones.
    """
    for key in config:
        if key in known or key in rows:
            continue
        if (meant := meant_key(str(key), rows)) is not None:
            raise misspelt(str(key), meant, rows)


def misspelt(key: str, meant: str, valid: Collection[str]) -> ConfigurationError:
    """Return the error for a misspelt key."""
    return ConfigurationError(
        f"{key} is not a configuration key",
        hint=f"did you mean {meant}? Valid are: {', '.join(valid)}",
    )


def meant_key(key: str, rows: Mapping[str, ConfigKey]) -> str | None:
    """Return the one of these keys that a word misspells; None: it misspells none.

    >>> rows = {"arrival": ARRIVAL, "memories": ConfigKey("memories", entries(), "")}
    >>> meant_key("arival", rows), meant_key("memory", rows), meant_key("rival", rows)
    ('arrival', 'memories', None)
    """

    def plain(text: str) -> str:
        return text.lower().replace("_", "").replace("-", "").replace(" ", "")

    for ours in rows:
        if plain(key) == plain(ours):
            return ours
    if key.lower() in ("memory", "memorys") and "memories" in rows:
        return "memories"
    long = [name for name, row in rows.items() if not row.word]
    near = get_close_matches(key.lower(), long, 1, cutoff=0.85)
    words = [name for name, row in rows.items() if row.word and len(name) > len("lag")]
    short = [name for name in words if _one_letter_apart(plain(key), plain(name))]
    return next(iter([*near, *short]), None)


def _one_letter_apart(one: str, other: str) -> bool:
    """Return whether words differ by one letter (more, less, another) or a swap of two."""
    short, long = sorted((one, other), key=len)
    if len(long) == len(short) + 1:
        return any(long[:i] + long[i + 1 :] == short for i in range(len(long)))
    if len(long) != len(short):
        return False
    other_at = [i for i in range(len(long)) if long[i] != short[i]]
    swapped = [short[i] for i in reversed(other_at)] == [long[i] for i in other_at]
    return len(other_at) == 1 or (swapped and len(other_at) == 2 == other_at[-1] - other_at[0] + 1)
