"""Finds the keys of a derived table whose rows no version of its sources tells.

Compared with its query as of a version v, the row of a key has to hold each firing of the key up to
v, and none above. So these are left out: keys with a firing up to v that no batch has taken, with
one above v that a batch has done, and with one in a batch that is under way or has failed, for it
may have written or not. A key whose waiting firings are all above v is compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from tapestry.quoting import Sql, identifier, string, timestamp
from tapestry.runs.engine.session import Session
from tapestry.runs.protocol.standing_rules import BoundTable, RulePositions
from tapestry.runs.tables.action_batch import (
    ABSORBED,
    BORN,
    DONE,
    DROPPED,
    REPLAYED,
    ActionLife,
)
from tapestry.runs.tables.bound_rows import COMMIT_VERSION, FIRING, key_text
from tapestry.runs.tables.writers import BY_COLUMNS, BY_FIRING, ONE_KEY, Writer

OVER = (DONE, DROPPED, ABSORBED)
"""Events after which a batch is never executed again."""


@dataclass(frozen=True)
class ActionRead:
    """An action that writes the table, with its rules and batches at one moment.

    batches, firings
        Relations to stand behind FROM.
    """

    writer: Writer
    life: ActionLife
    rules: tuple[RulePositions, ...]
    batches: str
    firings: str

    @property
    def cuts(self) -> str:
        """Return a SELECT of the cuts of all batches, each with the last event of the batch."""
        newest = "row_number() OVER (PARTITION BY m, i ORDER BY at DESC, attempt DESC) AS _newest"
        return (
            "SELECT key, event, at, rule, element_at(cut, 1) AS generation,"
            " CAST(element_at(cut, 2) AS BIGINT) AS n, CAST(element_at(cut, 3) AS BIGINT) AS after,"
            " CAST(element_at(cut, 4) AS BIGINT) AS until FROM (SELECT key, event, at,"
            " explode(from_json(cut, 'map<string,array<string>>')) AS (rule, cut)"
            f" FROM (SELECT *, {newest} FROM {self.batches} WHERE action ="
            f" {string(self.writer.action)} AND life = {string(self.life.id)}"
            f" AND event <> {string(BORN)}) WHERE _newest = 1)"
        )

    def done_runs(self, session: Session) -> dict[str, int]:
        """Return, by rule, its newest run of which a batch is done."""
        over = ", ".join(string(one) for one in OVER)
        mine = " OR ".join(
            f"(rule = {string(r.relation)} AND generation = {string(r.generation)})"
            for r in self.rules
        )
        rows = session.rows(
            f"SELECT rule, max(n) FROM ({self.cuts}) WHERE event IN ({over}) AND ({mine})"
            " GROUP BY rule"
        )
        return {str(rule): int(n) for rule, n in rows}

    def newest_runs(self, session: Session, held: dict[str, int]) -> dict[str, tuple[int, int]]:
        """Return, by rule, its newest run with a firing for this action, and the first such commit.

        ``held``: by rule, the version of its table up to which the derived table was built.
        """
        parts = " UNION ALL ".join(
            f"SELECT {string(r.relation)}, max(n), min(commit_version) FROM {self.firings}"
            f" WHERE {r.firings}"
            f" AND firing > {r.begin_in(self.life):d} AND commit_version > {held[r.relation]:d}"
            for r in self.rules
        )
        found = session.rows(parts)
        return {str(rule): (int(n), int(first)) for rule, n, first in found if n is not None}


@dataclass(frozen=True)
class RowsWaiting:
    """The bound rows of one action that stand for keys which are left out.

    key
        The columns of the key of the derived table.
    held
        By rule: the version of its table up to which the derived table was built.
    versions
        By rule: the version of its table that the comparison is about.
    later
        From when on a batch may have read newer versions; None: none has.
    """

    action: ActionRead
    key: Sequence[str]
    held: dict[str, int]
    versions: dict[str, int]
    later: datetime | None = None

    @property
    def single(self) -> bool:
        """Whether each firing is a batch of its own."""
        return self.action.writer.batches == BY_FIRING

    @property
    def ctes(self) -> str:
        """The CTEs of firings that batches have taken, and of those with unknown outcome."""
        over = ", ".join(string(one) for one in (*OVER, REPLAYED))
        unknown = f"event NOT IN ({over})"
        if self.later is not None:
            unknown += f" OR (event = {string(DONE)} AND at >= {timestamp(self.later)})"
        last = "SELECT key, rule, generation, max(until) AS until FROM _cuts GROUP BY ALL"
        if self.single:
            last = "SELECT DISTINCT key, rule, generation, until FROM _cuts"
        return (
            f"_cuts AS ({self.action.cuts}),\n_last AS ({last}),\n"
            f"_unknown AS (SELECT * FROM _cuts WHERE {unknown})"
        )

    def select(self) -> str:
        """Return a SELECT of the keys, as ``_k0, _k1, …``, and whether there is one (``_is``)."""
        every = " UNION ALL ".join(self.of_rule(rule) for rule in self.action.rules)
        listed = ", ".join(["_is", *self.places()])
        return f"WITH {self.ctes}\nSELECT DISTINCT {listed} FROM ({every})"

    def keys(self) -> str:
        """Return a SELECT of the keys of the rows that have one."""
        return f"SELECT {', '.join(self.places())} FROM ({self.select()}) WHERE _is"

    def of_rule(self, rule: RulePositions) -> str:
        """Return a SELECT of the keys of the rows of one rule."""
        columns = self.action.writer.unique_on
        by_columns = self.action.writer.batches == BY_COLUMNS
        split = [one for one in rule.bound.values() if not by_columns or one.named(columns)]
        whole = [one for one in rule.bound.values() if one not in split]
        parts = [self.judged(rule, one) for one in split]
        if whole:
            firings = " UNION ".join(f"SELECT {FIRING} FROM ({part})" for part in parts)
            parts += [
                f"SELECT {self.listed(one)} FROM {rule.rows_of(one)}"
                f" WHERE {self.of_life(rule)} AND {FIRING} IN ({firings})"
                for one in whole
            ]
        return " UNION ALL ".join(parts)

    def judged(self, rule: RulePositions, table: BoundTable) -> str:
        """Return the rows of one bound table whose batch is told by their own columns."""
        writer, version = self.action.writer, self.versions[rule.relation]
        key: Sql | str = "CAST(NULL AS STRING)"
        if writer.batches == BY_COLUMNS:
            key = key_text(dict(table.columns), table.named(writer.unique_on))
        elif not self.single:
            key = string(ONE_KEY)
        name, generation = string(rule.relation), string(rule.generation)
        taken, waits = "d.key <=> r._b", f"r.{FIRING} > coalesce(d.until, -1L)"
        if self.single:
            taken, waits = f"d.until = r.{FIRING}", "d.until IS NULL"
        return (
            f"SELECT r._is, {', '.join([f'r.{FIRING}', *self.places('r.')])} FROM"
            f" (SELECT {self.listed(table)}, {COMMIT_VERSION}, {key} AS _b"
            f" FROM {rule.rows_of(table)} WHERE {self.of_life(rule)}) AS r"
            f" LEFT JOIN _last AS d ON d.rule = {name} AND d.generation = {generation} AND {taken}"
            f" LEFT JOIN _unknown AS o ON o.rule = {name} AND o.generation = {generation}"
            f" AND o.key <=> r._b AND o.after < r.{FIRING} AND r.{FIRING} <= o.until"
            f" WHERE o.rule IS NOT NULL"
            f" OR (({waits}) = (r.{COMMIT_VERSION} <= {version:d}))"
        )

    def places(self, prefix: str = "") -> list[str]:
        """Return the names of the columns of the key, in order."""
        return [f"{prefix}_k{i}" for i in range(len(self.key))]

    def listed(self, table: BoundTable) -> str:
        """Return a select list: whether a row has a key, its firing, and the key."""
        named = table.named(self.key)
        is_ = "true" if named else "false"
        values = [identifier(name) for name in named] or [Sql("NULL") for _ in self.key]
        pairs = zip(values, self.places(), strict=True)
        return ", ".join([f"{is_} AS _is", FIRING, *(f"{v} AS {name}" for v, name in pairs)])

    def of_life(self, rule: RulePositions) -> str:
        """Return the condition that a row is of this life and was not in the table initially."""
        begin = rule.begin_in(self.action.life)
        return f"{FIRING} > {begin:d} AND {COMMIT_VERSION} > {self.held[rule.relation]:d}"
