"""A check of statements that read change feeds."""

from __future__ import annotations

import re


def mixed_up(sql: str) -> list[str]:
    """The tables of which a statement reads two feeds, or a feed and the table without a version.

    Spark 4.1 takes such relations for one, and gives the rows of the first for both.
    """
    feeds = re.findall(r"table_changes\('([^']*)', (\d+), (\d+)\)", sql)
    names = dict.fromkeys(name for name, *_ in feeds)
    found = []
    for name in names:
        ranges = {tuple(range_) for other, *range_ in feeds if other == name}
        plain = re.search(rf"(?<!['`.]){re.escape(name)}(?!['`.]|\s+VERSION AS OF)", sql)
        if len(ranges) > 1 or plain is not None:
            found.append(name)
    return found
