"""Checks a table after the fact: compares the rows that its runs published with the definition.

The rows of a table have no key, so both sides are compared as bags of values: an answer's
derivations may be told apart by nothing else.

    full     the answers with their first instants, over every event instant, are the table
    sample   at some instants s every value of Q(s) is there as often, published up to s; and some
             rows: as many derivations with these values begin at ``_matched_at`` as rows say so
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from random import Random
from typing import Any

from tapestry.instants import from_micros
from tapestry.names import KEY, MATCHED_AT
from tapestry.verification.check import (
    ENOUGH,
    NOT_TOO_MUCH,
    Finding,
    Result,
    Sample,
    between,
    note_instants,
)
from tapestry.verification.compare import MICRO, PAGE, id_of, quoted, text_of
from tapestry.verification.definition import Definition
from tapestry.verification.events import Ask, event_parts
from tapestry.verification.from_clause import AT, INSTANTS, PROBES
from tapestry.verification.restriction import Restriction


@dataclass(frozen=True)
class PublishedHistory:
    """The rows that a table's runs have published.

    relation
        What may stand behind FROM: the select list and ``_matched_at``.
    start, t
        The first and the last instant that count. ``open_start``: what was an answer at ``start``
        already is not the table's (its query was changed there).
    """

    relation: str
    start: datetime
    t: datetime
    open_start: bool = False


class Audit:
    """One table against one definition."""

    def __init__(self, definition: Definition, published: PublishedHistory, ask: Ask) -> None:
        self.definition, self.published, self.ask = definition, published, ask
        self.names = [quoted(name, definition) for name in definition.columns]
        self.columns = ", ".join(self.names)
        self.enough, self.not_too_much = Result(ENOUGH), Result(NOT_TOO_MUCH)

    def full(self) -> tuple[Result, Result]:
        """Compare every answer and its first instant with every row."""
        self.take(self.ask(self.full_sql()), both=True)
        ((instants,),) = self.ask(
            self.definition.statement([self.every_instant()], f"SELECT COUNT(*) FROM {INSTANTS}")
        )
        note_instants((self.enough, self.not_too_much), int(instants))
        return self.enough, self.not_too_much

    def sample(self, sample: Sample) -> tuple[Result, Result]:
        """Compare at some instants, over a range of the driving table, and some rows."""
        if self.published.start > self.published.t:  # time has not begun: there can be no row
            return self.full()
        random = Random(sample.seed)
        low, high = self.published.start, self.published.t
        instants = [high, *(between(random, low, high) for _ in range(sample.at_random))]
        for arm in range(1, len(self.definition.by_value) + 1):
            self.take(self.ask(self.enough_sql(arm, instants, sample)), both=False)
        self.take(self.ask(self.not_too_much_sql(sample)), both=True)
        note_instants((self.enough, self.not_too_much), len(instants))
        return self.enough, self.not_too_much

    def take(self, found: Sequence[tuple[Any, ...]], both: bool) -> None:
        """Count findings: rows of (reason, µs, _matched_at µs, id, copies, checked, …)."""
        checked = int(found[0][5]) if found else 0
        self.enough.checked_rows += checked
        if both:
            self.not_too_much.checked_rows += checked
        for reason, us, matched, id_, copies, _, *values in found:
            if reason is None:
                continue
            at = None if us is None else from_micros(us)
            matched_at = None if matched is None else from_micros(matched)
            result = self.enough if reason == "missing" else self.not_too_much
            found_one = Finding(reason, at, matched_at, "", tuple(values), id_)
            result.add([replace(found_one)] * int(copies))

    # -- the statements -----------------------------------------------------------------------
    def every_instant(self) -> tuple[str, str]:
        """Return the CTE of the instants at which answers can begin or end, with both limits."""
        low, high = (self.definition.instant(s) for s in (self.published.start, self.published.t))
        events = " UNION ALL ".join(
            event_parts(self.definition, self.published.start, self.published.t)
        )
        at = self.definition.at_micros("us")
        return (
            INSTANTS,
            f"SELECT DISTINCT {AT} FROM (SELECT {at} AS {AT} FROM ({events}) AS e"
            f" UNION ALL SELECT {low} UNION ALL SELECT {high}) AS every_one"
            f" WHERE {AT} >= {low} AND {AT} <= {high}",
        )

    def full_sql(self) -> str:
        """Return the difference, as bags, of the answers with their first instants and the rows."""
        low = self.definition.instant(self.published.start)
        after = f" WHERE _t_first > {low}" if self.published.open_start else ""
        rows = self.rows()
        return self.definition.statement(
            [
                self.every_instant(),
                ("answers", self.definition.answers()),
                (
                    "firsts",
                    f"SELECT {self.columns}, {KEY}, MIN({AT}) AS _t_first FROM answers"
                    f" GROUP BY {self.columns}, {KEY}",
                ),
                (
                    "compared",
                    f"SELECT {self.columns}, _t_when, SUM(_t_side) AS _t_copies FROM"
                    f" (SELECT {self.columns}, _t_first AS _t_when, 1 AS _t_side FROM firsts{after}"
                    f" UNION ALL SELECT {self.columns}, {MATCHED_AT}, -1 FROM {rows}) AS sides"
                    f" GROUP BY {self.columns}, _t_when",
                ),
                (
                    "judged",
                    "SELECT *, CASE WHEN _t_copies > 0 THEN 'missing' WHEN _t_copies < 0"
                    " THEN 'not an answer' END AS _t_reason, _t_when AS _t_at,"
                    f" CASE WHEN _t_copies < 0 THEN _t_when END AS {MATCHED_AT},"
                    " ABS(_t_copies) AS _t_times FROM compared",
                ),
            ],
            self.listed(),
        )

    def enough_sql(self, arm: int, instants: Sequence[datetime], sample: Sample) -> str:
        """Return SQL for values that an instant has more often than the rows published up to it."""
        ranges = sample.ranges if self.definition.driver(arm) is not None else ()
        restriction = Restriction(ranges=ranges, few=self.definition.dialect == "spark")
        low = self.definition.instant(self.published.start)
        opened = (
            f" AND NOT EXISTS (SELECT 1 FROM before AS b WHERE {self.same('b', 'a')})"
            if self.published.open_start
            else ""
        )
        values = ", ".join(f"{name} AS _v{n}" for n, name in enumerate(self.names, start=1))
        ctes = [
            self.definition.instants({*instants, self.published.start}),
            ("answers", self.definition.answers(restriction, arm)),
        ]
        if self.published.open_start:
            ctes += [
                (PROBES, f"SELECT DISTINCT {values}, {low} AS {AT} FROM answers"),
                ("before", self.definition.answers(Restriction(matching=True), arm)),
            ]
        ctes += [
            (
                "counted",
                f"SELECT {self.columns}, {AT}, COUNT(*) AS _t_wanted FROM answers AS a"
                f" WHERE TRUE{opened} GROUP BY {self.columns}, {AT}",
            ),
            (
                "compared",
                f"SELECT {self.of('c')}, c.{AT}, c._t_wanted, COUNT(p.{MATCHED_AT}) AS _t_there"
                f" FROM counted AS c LEFT JOIN {self.rows()} AS p"
                f" ON {self.same('p', 'c')} AND p.{MATCHED_AT} <= c.{AT}"
                f" GROUP BY {self.of('c')}, c.{AT}, c._t_wanted",
            ),
            (
                "judged",
                "SELECT *, CASE WHEN _t_wanted > _t_there THEN 'missing' END AS _t_reason,"
                f" {AT} AS _t_at, CAST(NULL AS TIMESTAMP) AS {MATCHED_AT},"
                " _t_wanted - _t_there AS _t_times FROM compared",
            ),
        ]
        return self.definition.statement(ctes, self.listed())

    def not_too_much_sql(self, sample: Sample) -> str:
        """Return SQL for rows whose ``_matched_at`` is the begin of too few derivations."""
        low = self.definition.instant(self.published.start)
        seed = self.definition.text(sample.seed)
        order = f"md5({text_of(MATCHED_AT)} || {seed} || {self.id_of('p')})"
        values = ", ".join(f"f.{name} AS _v{n}" for n, name in enumerate(self.names, start=1))
        probes = (
            f"SELECT {values}, f.{MATCHED_AT} AS {AT} FROM fresh AS f UNION ALL"
            f" SELECT {values}, f.{MATCHED_AT} - {MICRO} FROM fresh AS f"
            f" WHERE f.{MATCHED_AT} > {low}"
        )
        begins = (
            f"SELECT a.{KEY}, {self.of('a')}, f.{MATCHED_AT} FROM fresh AS f JOIN answers AS a"
            f" ON {self.same('a', 'f')} AND a.{AT} <= f.{MATCHED_AT}"
            f" AND a.{AT} >= f.{MATCHED_AT} - {MICRO}"
            f" GROUP BY a.{KEY}, {self.of('a')}, f.{MATCHED_AT} HAVING MIN(a.{AT}) = f.{MATCHED_AT}"
        )
        ctes = [
            (
                "fresh",
                f"SELECT {self.columns}, {MATCHED_AT}, COUNT(*) AS _t_said FROM {self.rows()} AS p"
                f" GROUP BY {self.columns}, {MATCHED_AT} ORDER BY {order} LIMIT {sample.rows}",
            ),
            (PROBES, f"SELECT DISTINCT * FROM ({probes}) AS p"),
            (INSTANTS, f"SELECT DISTINCT {AT} FROM {PROBES}"),
            ("answers", self.definition.answers(Restriction(matching=True))),
            ("begins", begins),
            (
                "compared",
                f"SELECT {self.of('f')}, f.{MATCHED_AT}, f._t_said, COUNT(b.{KEY}) AS _t_begun"
                f" FROM fresh AS f LEFT JOIN begins AS b ON {self.same('b', 'f')}"
                f" AND b.{MATCHED_AT} = f.{MATCHED_AT}"
                f" GROUP BY {self.of('f')}, f.{MATCHED_AT}, f._t_said",
            ),
            (
                "judged",
                "SELECT *, CASE WHEN _t_said > _t_begun THEN 'not an answer' END AS _t_reason,"
                f" {MATCHED_AT} AS _t_at, _t_said - _t_begun AS _t_times FROM compared",
            ),
        ]
        return self.definition.statement(ctes, self.listed())

    # -- their parts --------------------------------------------------------------------------
    def rows(self) -> str:
        """The published rows that this query is about."""
        low, high = (self.definition.instant(s) for s in (self.published.start, self.published.t))
        since = ">" if self.published.open_start else ">="
        inside = f"{MATCHED_AT} {since} {low} AND {MATCHED_AT} <= {high}"
        # What lies outside is no answer either; only rows of an older query may lie before.
        kept = inside if self.published.open_start else "TRUE"
        return f"(SELECT {self.columns}, {MATCHED_AT} FROM {self.published.relation} WHERE {kept})"

    def listed(self) -> str:
        """Return SQL for the first page of findings, and the number of values compared."""
        us, texts = self.definition.micros, ", ".join(self.texts())
        rows = (
            f"SELECT _t_reason AS reason, {us('_t_at')} AS us, {us(MATCHED_AT)} AS matched,"
            f" {self.id_of('j')} AS id, _t_times AS times, COUNT(*) OVER () AS checked, {texts}"
            " FROM judged AS j"
        )
        return (
            f"SELECT * FROM ({rows}) AS rows_listed"
            f" ORDER BY CASE WHEN reason IS NOT NULL THEN 0 ELSE 1 END, id LIMIT {PAGE}"
        )

    def texts(self) -> Iterator[str]:
        """The values as text."""
        for n, name in enumerate(self.names):
            yield f"{text_of(name)} AS c{n}"

    def of(self, alias: str) -> str:
        """The columns of one relation."""
        return ", ".join(f"{alias}.{name}" for name in self.names)

    def id_of(self, alias: str) -> str:
        """The id of a row's values."""
        return id_of(alias, self.definition)

    def same(self, one: str, other: str) -> str:
        """Return the condition that two rows have the same values."""
        return " AND ".join(
            f"{one}.{name} IS NOT DISTINCT FROM {other}.{name}" for name in self.names
        )
