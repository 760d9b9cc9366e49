"""Compares new rows with the definition: statements that list missing answers and surplus rows.

    enough          every (key, v) of Q(s), s checked in (tau, t], is among the new rows or was an
                    answer at some s' <= tau
    not too much    every checked new row is in Q(_matched_at), and in no Q(s) before it

Both are one comparison of the answers at some instants with the new rows, by key and values
(``pairs``).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from random import Random

from sqlglot import exp

from tapestry.instants import micros
from tapestry.names import KEY, MATCHED_AT
from tapestry.sql.facts import keys
from tapestry.verification import pairs
from tapestry.verification.chosen_rows import Chosen, RunRows
from tapestry.verification.definition import Definition
from tapestry.verification.from_clause import AT, INSTANTS, PROBES
from tapestry.verification.restriction import Range, Restriction

PAGE = 100
"""So many missing or surplus rows one statement lists at most."""
MICRO = "INTERVAL '1' MICROSECOND"
PRIME = 1_000_003


class Comparison:
    """Writes the statements about one arm of the outermost UNION ALL (from 1)."""

    def __init__(self, definition: Definition, rows: RunRows, arm: int) -> None:
        self.definition, self.rows, self.arm = definition, rows, arm
        self.driver = definition.driver(arm)
        self.by_value = definition.by_value[arm - 1]
        self.with_values = (definition.with_values or (False,) * arm)[arm - 1]
        self.names = [quoted(name, definition) for name in definition.columns]
        self.columns = ", ".join(self.names)

    # -- the statements -----------------------------------------------------------------------
    def found_instants(self, chosen: Chosen) -> str:
        """One row of instants in µs, or NULL; then what ``outside`` counts.

        First those of ``picks`` new rows in the ranges, then two for each new row elsewhere: what
        the arrival column of its driving row says, and its ``_matched_at``.

        A statement of its own: Spark evaluates a CTE wherever it is named, and instants are named
        for each table.
        """
        given = _Given()
        of_turn = self.in_turn("_t_stamp", chosen.ranges, given) or "TRUE"
        us = self.definition.micros(MATCHED_AT)
        items = _some([us], us, _factors(chosen.seed, chosen.picks, given), "_t_turn")
        if self.tells_turns and chosen.ranges:
            factors = _factors(f"{chosen.seed} elsewhere", chosen.elsewhere, given)
            items += _some(["_t_stamp", us], us, factors, "NOT _t_turn")
        items.append(_counts("_t_reason IS NOT NULL"))
        return f"SELECT {', '.join(items)} FROM ({self.formed(given, of_turn)}) AS f"

    def both(self, chosen: Chosen) -> str:
        """Return SQL for missing answers and surplus rows, from one evaluation of the answers.

        Rows of (reason, instant in µs, _matched_at in µs, id, key, values as text), or counts.
        """
        ctes = self.compared(self.fresh(chosen), chosen)
        return self.definition.statement(ctes, self.listed("judged", chosen))

    def enough_in_part(self, chosen: Chosen) -> str:
        """Return SQL for missing answers, of those that a part of the driving table gives.

        Whether a value was an answer at tau is asked of all of the table.
        """
        ctes = self.compared(self.fresh(Chosen(())), chosen)
        if self.rows.last is None:
            return self.definition.statement(ctes, self.listed("judged", chosen, missing=True))
        at = self.definition.instant(self.rows.last)
        values = ", ".join(f"{name} AS _v{n}" for n, name in enumerate(self.names, start=1))
        lost = "SELECT * FROM judged WHERE _t_reason = 'missing'"
        ctes += [
            (PROBES, f"SELECT DISTINCT {values}, {at} AS {AT} FROM ({lost}) AS lost"),
            ("before", self.definition.answers(Restriction(matching=True), self.arm)),
            (
                "left_over",
                f"SELECT j.* FROM judged AS j WHERE _t_reason = 'missing' AND NOT EXISTS"
                f" (SELECT 1 FROM before AS b WHERE {self.same('b', 'j')})",
            ),
        ]
        return self.definition.statement(ctes, self.listed("left_over", chosen, missing=True))

    def not_too_much_in_part(self, chosen: Chosen) -> str:
        """Return SQL for surplus rows among some new rows, each at its own instants."""
        values = ", ".join(f"f.{name} AS _v{n}" for n, name in enumerate(self.names, start=1))
        start = self.definition.instant(self.rows.start)
        probes = [
            f"SELECT {values}, f.{MATCHED_AT} AS {AT} FROM fresh AS f",
            f"SELECT {values}, f.{MATCHED_AT} - {MICRO} AS {AT} FROM fresh AS f"
            f" WHERE f.{MATCHED_AT} > {start}",
            f"SELECT {values}, g.{AT} FROM fresh AS f CROSS JOIN given AS g"
            f" WHERE g.{AT} < f.{MATCHED_AT}",
        ]
        given = [s for s in chosen.instants if s >= self.rows.start]
        ctes = [
            ("fresh", self.some(chosen)),
            self.given(given or [self.rows.start]),
            (PROBES, f"SELECT DISTINCT * FROM ({' UNION ALL '.join(probes)}) AS p"),
            (INSTANTS, f"SELECT DISTINCT {AT} FROM {PROBES}"),
            ("answers", self.definition.answers(Restriction(matching=True), self.arm)),
            *pairs.numbered(INSTANTS),
            *self.judged(2 * chosen.picks + len(chosen.instants) + 1, only_new=True),
        ]
        return self.definition.statement(ctes, self.listed("judged", chosen))

    def delivered_before(self, published: str, chosen: Chosen) -> str:
        """Return SQL for (id, _matched_at in µs, stamp) of new rows published before.

        The stamp is the new row's, NULL where its key tells none.
        """
        us, same = self.definition.micros(f"p.{MATCHED_AT}"), self.same_values("p", "n")
        listed = f"{self.id_of('n')}, {us}, {self.stamp('n')}"
        return (
            f"SELECT DISTINCT {listed} FROM ({self.some(chosen)}) AS n"
            f" JOIN {published} AS p ON {same} AND p.{MATCHED_AT} < n.{MATCHED_AT}"
        )

    def again(
        self, ids: Sequence[str], instants: Sequence[datetime], ranges: tuple[Range, ...]
    ) -> str:
        """Return SQL for surplus rows among new rows with these ids, at these instants.

        ``ranges`` hold the stamps of those to be asked about; () asks about all.
        """
        listed, few = self.definition.texts(ids), self.definition.dialect == "spark"
        restriction = Restriction(ranges=ranges, ids=tuple(ids), few=few)
        fresh = self.fresh(Chosen((), ranges=ranges))
        ctes = [
            ("fresh", f"{fresh} AND {self.id_of('n')} IN ({listed})"),
            *pairs.instants(self.definition, self.rows, instants),
            ("answers", self.definition.answers(restriction, self.arm)),
            *self.judged(len(instants), only_new=True),
        ]
        return self.definition.statement(ctes, self.listed("judged", Chosen(())))

    def outside(self, chosen: Chosen) -> str:
        """Return SQL for rows with ``_matched_at`` outside of the window, and repeated answers."""
        return f"WITH judged AS ({self.formed(_Given())})\n{self.listed('judged', chosen)}"

    def earlier(
        self,
        ids: Sequence[str],
        instants: Iterable[datetime],
        ranges: tuple[Range, ...] = (),
    ) -> str:
        """(id, key) of the answers with these ids, in the ranges, at any of these instants."""
        few = bool(ranges) and self.definition.dialect == "spark"
        restriction = Restriction(ranges=ranges, ids=tuple(ids), few=few)
        ctes = [
            self.definition.instants(instants),
            ("answers", self.definition.answers(restriction, self.arm)),
        ]
        query = f"SELECT DISTINCT {self.id_of('a')}, {KEY} FROM answers AS a"
        return self.definition.statement(ctes, query)

    def published_instants(self, published: str, ids: Sequence[str]) -> str:
        """The ``_matched_at`` of published rows with these values, in µs."""
        listed = self.definition.texts(ids)
        return (
            f"SELECT DISTINCT {self.definition.micros(MATCHED_AT)} FROM {published} AS p"
            f" WHERE {self.id_of('p')} IN ({listed})"
        )

    def matched_instants(self) -> str:
        """Every ``_matched_at`` of the new rows, in µs."""
        us = self.definition.micros(MATCHED_AT)
        return f"SELECT DISTINCT {us} FROM {self.rows.relation} WHERE {MATCHED_AT} IS NOT NULL"

    def own_instants(self, count: int, seed: str) -> str:
        """Return SQL for the ``_matched_at``, in µs, of ``count`` pseudo-random new rows."""
        us = self.definition.micros(MATCHED_AT)
        return f"SELECT DISTINCT {us} FROM ({self.some(Chosen((), count, seed=seed))}) AS some_rows"

    def turn_rows(self, ranges: Sequence[Range]) -> str:
        """A SELECT of the driving table's rows in the ranges; '' where it has to be read itself."""
        if self.driver is None or self.driver.depth or not self.tells_turns:
            return ""
        return self.definition.turn_rows(self.arm, ranges)

    # -- their parts --------------------------------------------------------------------------
    def mine(self, alias: str) -> str:
        """Return the condition that a new row belongs to this arm."""
        return f"({alias}.{KEY} = '{self.arm}' OR {alias}.{KEY} LIKE '{self.arm}{keys.PART}%')"

    def formed(self, given: _Given, of_turn: str = "TRUE") -> str:
        """One row for each new answer, with the reason why it cannot be right, or NULL.

        ``_t_turn`` says whether ``of_turn`` holds for it.
        """
        rows, at = self.rows, self.definition.instant
        low, high = given.name(at(rows.start)), given.name(at(rows.t))
        outside = f"_t_known < _t_copies OR {MATCHED_AT} < {low} OR _t_latest > {high}"
        if rows.tau is not None:
            outside += f" OR {MATCHED_AT} <= {given.name(at(rows.tau))}"
        values_count = self.by_value or self.with_values
        identity = f"{KEY}, {self.columns}" if values_count else KEY
        # Found once for each key, beneath the aggregation: above it each instant that is picked
        # would find it again, for each of the ranges.
        stamp = self.stamp("n")
        values = self.columns if values_count else _firsts(self.names)
        inner = (
            f"SELECT {KEY}, {values}, COUNT(*) AS _t_copies, COUNT({MATCHED_AT}) AS _t_known,"
            f" MIN({MATCHED_AT}) AS {MATCHED_AT}, MAX({MATCHED_AT}) AS _t_latest,"
            f" MIN({stamp}) AS _t_stamp"
            f" FROM {rows.relation} AS n WHERE {self.mine('n')} GROUP BY {identity}"
        )
        return (
            f"SELECT *, CASE WHEN {outside} THEN 'outside' WHEN _t_copies > 1 THEN 'twice' END"
            f" AS _t_reason, {MATCHED_AT} AS _t_at, {of_turn} AS _t_turn"
            f" FROM ({inner}) AS rows_of_the_run CROSS JOIN {given.relation}"
        )

    def fresh(self, chosen: Chosen) -> str:
        """The new rows of this arm; with ranges those whose driving row lies in them."""
        given = _Given()
        of_turn = self.in_turn(self.stamp("n"), chosen.ranges, given)
        return (
            f"SELECT {self.columns}, {MATCHED_AT}, {KEY} FROM {self.rows.relation} AS n"
            + (f" CROSS JOIN {given.relation}" if of_turn else "")
            + f" WHERE {self.mine('n')} AND {MATCHED_AT} IS NOT NULL"
            + (f" AND {of_turn}" if of_turn else "")
        )

    def some(self, chosen: Chosen) -> str:
        """Return SQL for ``picks`` of the new rows, pseudo-randomly chosen."""
        order = f"md5({KEY} || {text_of(MATCHED_AT)} || {self.definition.text(chosen.seed)})"
        return f"{self.fresh(Chosen(()))} ORDER BY {order}, {self.names[0]} LIMIT {chosen.picks}"

    @property
    def tells_turns(self) -> bool:
        """Whether the key of a new row has its driving row's arrival as a stamp."""
        return self.driver is not None and self.driver.first and not self.by_value

    def stamp(self, alias: str) -> str:
        """Return SQL for the stamp of a key, in µs; NULL if the key has none."""
        return keys.first_stamp(f"{alias}.{KEY}") if self.tells_turns else "CAST(NULL AS BIGINT)"

    def in_turn(self, stamp: str, ranges: Sequence[Range], given: _Given) -> str:
        """Return the condition that a driving row lies in the ranges; '' if keys do not tell."""
        if not ranges or not self.tells_turns:
            return ""
        bounds = ([given.name(str(micros(end))) for end in ends] for ends in ranges)
        return "(" + " OR ".join(f"{stamp} >= {a} AND {stamp} < {b}" for a, b in bounds) + ")"

    def given(self, instants: Iterable[datetime]) -> tuple[str, str]:
        """The CTE of the given instants."""
        return "given", self.definition.instants(instants)[1]

    def compared(self, fresh: str, chosen: Chosen) -> pairs.Ctes:
        """The CTEs from some new rows, and the answers in the ranges at the instants, to pairs.

        Tau is among the instants.
        """
        at_last = [self.rows.last] if self.rows.last is not None else []
        instants = {*chosen.instants, *at_last}
        few = self.definition.dialect == "spark"
        restriction = Restriction(ranges=chosen.ranges, few=few, turn_rows=chosen.turn_rows)
        return [
            ("fresh", fresh),
            *pairs.instants(self.definition, self.rows, instants),
            ("answers", self.definition.answers(restriction, self.arm)),
            *self.judged(len(instants)),
        ]

    def judged(self, most: int, only_new: bool = False) -> pairs.Ctes:
        """The CTEs from the answers, at so many instants at most, to pairs with what is wrong."""
        return pairs.judged(self.names, most, only_new)

    def listed(self, relation: str, chosen: Chosen, missing: bool = False) -> str:
        """The first page of what is wrong; or how many pairs there are, and how many are wrong.

        Nearly always nothing is wrong: then pairs need neither texts nor ids nor an order.
        """
        wrong = "= 'missing'" if missing else "IS NOT NULL"
        if chosen.counted:
            return f"SELECT {_counts(f'_t_reason {wrong}')} FROM {relation} AS j"
        us = self.definition.micros
        texts = ", ".join(f"{text_of(name)} AS c{n}" for n, name in enumerate(self.names))
        rows = (
            f"SELECT _t_reason AS reason, {us('_t_at')} AS us, {us(MATCHED_AT)} AS matched,"
            f" {self.id_of('j')} AS id, {KEY}, {texts}"
            f" FROM {relation} AS j WHERE _t_reason {wrong}"
        )
        after = ""
        if chosen.after:
            after = f" WHERE id || {KEY} > {self.definition.text(chosen.after)}"
        return f"SELECT * FROM ({rows}) AS rows_listed{after} ORDER BY id, {KEY} LIMIT {PAGE}"

    def id_of(self, alias: str) -> str:
        """The id of a row's values."""
        return id_of(alias, self.definition)

    def same(self, one: str, other: str) -> str:
        """Return the condition that two rows are the same answer with the same values."""
        return f"{one}.{KEY} = {other}.{KEY} AND {self.same_values(one, other)}"

    def same_values(self, one: str, other: str) -> str:
        """Return the condition that two rows have the same values."""
        return " AND ".join(
            f"{one}.{name} IS NOT DISTINCT FROM {other}.{name}" for name in self.names
        )


def id_of(alias: str, definition: Definition) -> str:
    """SQL: the id of a row's values (``keys.of_values``)."""
    values = [
        exp.column(exp.to_identifier(name, quoted=True), table=alias) for name in definition.columns
    ]
    return definition.sql(keys.of_values(values)).replace("\n", " ")


def quoted(name: str, definition: Definition) -> str:
    """A column's name in quotes."""
    return exp.to_identifier(name, quoted=True).sql(definition.dialect)


def text_of(column: str) -> str:
    """SQL: a value as text."""
    return f"CAST({column} AS STRING)"


def _factors(seed: str, count: int, given: _Given) -> list[str]:
    """Return names of ``count`` pseudo-random numbers."""
    numbers = (Random(f"{seed} {n}").randrange(1, PRIME) for n in range(count))
    return [given.name(str(number)) for number in numbers]


def _some(values: Sequence[str], us: str, factors: Sequence[str], condition: str) -> list[str]:
    """Return SQL for values of a row for each factor, pseudo-randomly chosen under a condition.

    An order by remainders of an instant is another one for each factor, and costs little.
    """
    return [
        f"MIN_BY({value}, CASE WHEN {condition} THEN {us} % {PRIME} * {factor} % {PRIME} END)"
        for factor in factors
        for value in values
    ]


def _counts(wrong: str) -> str:
    """Return SQL for the number of rows, and the number of wrong ones."""
    return f"COUNT(*) AS checked, COUNT(CASE WHEN {wrong} THEN 1 END) AS wrong"


def _firsts(names: Sequence[str]) -> str:
    return ", ".join(f"MIN({name}) AS {name}" for name in names)


class _Given:
    """The row under construction: ``name`` each value, then put ``relation`` into the FROM.

    >>> given = _Given()
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
