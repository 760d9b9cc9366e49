"""Lists and maps in a statement's result: as such, or as the text that a Thrift server sends.

The text looks like JSON, but quotes in it are not escaped: a string ends where a quote is followed
by what can follow a string.
"""

from __future__ import annotations

import json
import re
from typing import Any

_NEXT_KEY = re.compile(r',"[^"]*":|\}$')
_NEXT_ITEM = re.compile(r',(?="|null(?:,|\]$))|\]$')
_KEY = re.compile(r'"([^"]*)":')
_NESTED = json.JSONDecoder()


def as_list(value: Any) -> list[Any]:
    """Return an array, as such or as text; [] for anything else.

    The items of a text are texts (or None) where they are so written; numbers and nested ones come
    as JSON has them.

    >>> as_list('["id","a,b","c"d",null]'), as_list("[]"), as_list("[1,2]"), as_list(None)
    (['id', 'a,b', 'c"d', None], [], [1, 2], [])
    """
    if isinstance(value, list | tuple):
        return list(value)
    if not isinstance(value, str) or not (value.startswith("[") and value.endswith("]")):
        return []
    try:
        return list(json.loads(value))
    except ValueError:
        pass
    items: list[Any] = []
    at = 1
    while at < len(value) - 1:
        if value[at] == '"':
            text, at = _text(value, at + 1, _NEXT_ITEM)
        else:
            end = value.find(",", at)
            end = len(value) - 1 if end < 0 else end
            text, at = _bare(value[at:end]), end
        items.append(text)
        at += 1  # the comma
    return items


def as_map(value: Any) -> dict[str, Any]:
    """Return a map, as such or as text; {} for anything else.

    A value that is JSON itself, as Delta's history holds some, comes as its text.

    >>> as_map('{"k":"a"b,c:d","n":null,"j":"{"x":"1","y":"2"}"}')
    {'k': 'a"b,c:d', 'n': None, 'j': '{"x":"1","y":"2"}'}
    """
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return _pairs(value) if value.startswith("{") and value.endswith("}") else {}
    return dict(value) if isinstance(value, dict | list) and value else {}


def _pairs(value: str) -> dict[str, Any]:
    pairs: dict[str, Any] = {}
    at = 1
    while found := _KEY.match(value, at):
        at = found.end()
        if value[at : at + 1] == '"':
            pairs[found.group(1)], at = _text(value, at + 1, _NEXT_KEY)
        else:
            end = re.compile(r",(?=\")|\}$").search(value, at)
            stop = len(value) if end is None else end.start()
            pairs[found.group(1)], at = _bare(value[at:stop]), stop
        at += 1  # the comma
    return pairs


def note_of_ours(note: Any) -> dict[str, Any]:
    """Return our note in a commit's user metadata; {} for another's commit.

    >>> note_of_ours('{"tapestry": {"n": 2}}'), note_of_ours("by hand"), note_of_ours(None)
    ({'n': 2}, {}, {})
    >>> note_of_ours('{"tapestry": "by hand"}')
    {}
    """
    if not note or '"tapestry"' not in str(note):
        return {}
    found = as_map(note).get("tapestry")
    return found if isinstance(found, dict) else {}


def _text(value: str, start: int, follows: re.Pattern[str]) -> tuple[str, int]:
    """Return the text that begins at ``start``, and the place behind its closing quote."""
    if value[start : start + 1] in ("{", "["):
        try:
            _, end = _NESTED.raw_decode(value, start)
        except ValueError:
            end = -1
        if end >= 0 and value[end : end + 1] == '"' and follows.match(value, end + 1):
            return value[start:end], end + 1
    end = start
    while (end := value.find('"', end)) >= 0:
        if follows.match(value, end + 1):
            return value[start:end], end + 1
        end += 1
    return value[start:-1], len(value)


def _bare(text: str) -> Any:
    """Return an unquoted value: null, a number, true; else its text."""
    try:
        return json.loads(text)
    except ValueError:
        return text
