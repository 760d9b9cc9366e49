"""The settings of a session that change what a query answers, as part of the query.

Semantics, section 3: a query is compared with the settings that it depends on. They stand in its
canonical text as comments: the time zone, and one line with those that are not standard.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tapestry.errors import QueryChanged
from tapestry.runs.engine.instants import UTC_NAMES
from tapestry.runs.model.model import Model

_SETTINGS = "-- settings: "
_ZONE = "-- session time zone "
USUAL = "as usual"
_OTHER = re.compile(r"[^\w.= -]", re.ASCII)
"""A character that is neither in a setting's name nor in the value of one of these."""


def settings_line(settings: Sequence[str]) -> str:
    """Return the canonical text's line for non-standard settings, ``key = value`` each.

    >>> settings_line([]), settings_line(["spark.sql.ansi.enabled = true"])
    ('-- settings: as usual', '-- settings: spark.sql.ansi.enabled = true')
    """
    said = ", ".join(_OTHER.sub("?", " ".join(one.split())) for one in settings) or USUAL
    # sql: a comment on one line, of words, dots and = alone
    return _SETTINGS + said


def same_query(old: str, new: str) -> bool:
    """Return whether two canonical texts are one query.

    A text of an earlier version has no line of settings; then settings are not compared. UTC has
    several names.
    """
    return _lines(old, _said(new)) == _lines(new, _said(old))


def without_unsaid(canonical: str, other: str) -> str:
    """Return the text without its line of settings where the other text has none."""
    return "\n".join(_lines(canonical, _said(other)))


def refuse_grown_otherwise(model: Model, canonical: str, settings: Sequence[str]) -> None:
    """Raise QueryChanged where a table was grown under other settings than those of the session."""
    if not grown_otherwise(canonical, settings):
        return
    raise QueryChanged(
        f"{model.name} was grown with {_said(canonical)}; this session has"
        f" {settings_line(settings).removeprefix(_SETTINGS)}",
        where=model.file,
        hint="set under server_side_parameters in the profile what its runs had, or run it first:"
        " on_query_change decides how it goes on",
    )


def grown_otherwise(canonical: str, settings: Sequence[str]) -> bool:
    """Return whether a canonical text has other settings than these."""
    said = _said(canonical)
    return said is not None and _SETTINGS + said != settings_line(settings)


def _said(canonical: str) -> str | None:
    """Return the settings in a canonical text; None: it has no such line."""
    for line in reversed(canonical.splitlines()):
        if line.startswith(_SETTINGS):
            return line.removeprefix(_SETTINGS)
    return None


def _lines(canonical: str, other: str | None) -> list[str]:
    """Return the lines of a text to compare with a text that has these settings."""
    found = []
    for line in canonical.splitlines():
        if line.startswith(_SETTINGS) and other is None:
            continue
        if line.startswith(_ZONE) and line.removeprefix(_ZONE).lower() in UTC_NAMES:
            line = f"{_ZONE}UTC"
        found.append(line)
    return found
