"""Values of the example queries' variables that have something to find in any messages file."""

from __future__ import annotations

from pathlib import Path

import duckdb

from tapestry.demo.columns import JONES
from tapestry.quoting import standard_string


def choose_variables(path: Path) -> dict[str, str]:
    """The busiest list, its family, busy authors, a common word, a much answered message."""
    database = duckdb.connect()
    database.execute(f"create view messages as from read_parquet({standard_string(str(path))})")

    def top(expression: str, place: int = 0) -> str:
        found = database.execute(
            f"select x from (select {expression} as x from messages) where x is not null "
            "group by x order by count(*) desc, x"
        ).fetchmany(place + 1)
        return str(found[place][0]) if len(found) > place else ""

    one_list = top("newsgroup")
    return {
        "one_list": one_list,
        "list_pattern": family(one_list),
        "somebody": top("author"),
        "jones": top("author", 1),
        "voter": JONES,
        "keyword": top(r"regexp_extract(subject, '([a-z]{6,})$', 1)", 1),
        "one_message": top("inreplyto"),
    }


def family(one_list: str) -> str:
    """A LIKE pattern for the lists that begin alike.

    >>> family("comp.sys.mac"), family("linux-block"), family("selinux")
    ('comp.sys.%', 'linux-%', 'selinux%')
    """
    for mark in (".", "-"):
        start, found, _ = one_list.rpartition(mark)
        if found:
            return f"{start}{mark}%"
    return f"{one_list}%"
