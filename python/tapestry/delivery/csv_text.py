"""Writes CSV whose cells a spreadsheet does not evaluate, unless a program is to read it.

A cell that begins with ``=``, ``+``, ``-`` or ``@`` is a formula to a spreadsheet, also one that
calls a program or sends other cells away. So an apostrophe is put before such a text, as OWASP's
page on CSV injection advises: also where spaces or control characters come first, and inside of a
text wherever a program that takes another character for the separator, or reads quotes in its own
way, would see a cell begin. A number stays a number.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Sequence
from typing import Any

# The full-width forms are formulas, too, where a spreadsheet is used with East Asian text.
_SIGN = "[=+\\-@＝＋－＠﹣﹢﹦﹫]"
_NUMBER = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+|Infinity)(?:[eE][+-]?[0-9]+)?"
_BETWEEN = r',;|\t\r\n\v\f"\x85\u2028\u2029'
# A bar behind a number is no end of it: with one, a spreadsheet calls another program.
_NO_NUMBER = rf"(?!{_NUMBER}(?:\Z|[{_BETWEEN.replace('|', '')}]))"
# Some programs drop what cannot be seen from the beginning of a cell.
_UNSEEN = r"\s\x00-\x1f\x7f-\x9f\xad\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff"
_BEGINS = re.compile(rf"[\t\r\n]|[{_UNSEEN}]*(?={_SIGN}){_NO_NUMBER}")
_LATER = re.compile(rf"(?<=[{_BETWEEN}])(?={_SIGN}){_NO_NUMBER}")


def as_csv(rows: Sequence[str], columns: Sequence[str], *, spreadsheet_safe: bool = True) -> str:
    """CSV with a header; NULL is empty, a nested value is JSON.

    >>> as_csv(['{"a": 1, "b": null}', '{"a": -2, "b": {"c": "x"}}'], ["a", "b"])
    'a,b\\r\\n1,\\r\\n-2,"{""c"": ""x""}"\\r\\n'
    """
    text = io.StringIO(newline="")
    writer = csv.writer(text)

    def cell(value: Any) -> str:
        written = _cell(value)
        return safe(written) if spreadsheet_safe and not isinstance(value, _Number) else written

    writer.writerow([cell(column) for column in columns])
    for row in rows:
        # Numbers stay as the engine wrote them: a decimal must not become a float.
        values = json.loads(row, parse_float=_Number, parse_int=_Number)
        writer.writerow([cell(values.get(column)) for column in columns])
    return text.getvalue()


class _Number(str):
    """A number as the engine wrote it."""


def safe(text: str) -> str:
    """The text with an apostrophe wherever a spreadsheet would see a formula begin.

    >>> safe("=1+1"), safe("-5"), safe("a;=1+1"), safe("so - so")
    ("'=1+1", '-5', "a;'=1+1", 'so - so')
    """
    kept = _LATER.sub("'", text)
    return f"'{kept}" if _BEGINS.match(text) else kept


def _cell(value: Any) -> str:
    if isinstance(value, (dict, list)):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)
