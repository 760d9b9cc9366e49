"""Passes values that differ from run to run to a statement as a row of data.

Spark makes code of a statement, with the numbers that stand in it, and compiles what it has not
compiled before; new code is slow until Java has compiled it too.  Where instants and ranges are
columns of a relation of one row the code is that of the run before.  What leaves out files has to
stand in the text.
"""

from __future__ import annotations


class Given:
    """The row under construction: ``name`` each value, then put ``relation`` into the FROM.

    >>> given = Given()
    >>> f"SELECT x > {given.name('7')} FROM t CROSS JOIN {given.relation}"
    'SELECT x > _t_g1 FROM t CROSS JOIN (VALUES (7)) AS given(_t_g1)'
    """

    def __init__(self) -> None:
        self._values: dict[str, str] = {}

    def name(self, value: str) -> str:
        """The column of a value, which is a piece of SQL without columns."""
        return self._values.setdefault(value, f"_t_g{len(self._values) + 1}")

    @property
    def relation(self) -> str:
        """The relation; not without a value."""
        return f"(VALUES ({', '.join(self._values)})) AS given({', '.join(self._values.values())})"
