"""The macro `recompute`: the rows of a derived table for the keys of a batch, by its own query.

    MERGE INTO t USING (changed rows) s ON s._op <> 'i' AND t.key <=> s.key
    WHEN MATCHED AND s._op = 'u' THEN UPDATE …      one row in the table, one in the answer
    WHEN MATCHED THEN DELETE                        all rows of a key that has more, or less
    WHEN NOT MATCHED AND s._op <> 'd' THEN INSERT   its rows in the answer

Keys are those of the bound rows of the batch; only keys whose rows differ are written. The query is
evaluated over the versions up to which the rules had looked when the batch was claimed: whatever
was lost or came twice, the rows are afterwards those of the query there, and so they are if the
batch is executed again. A source that no rule looks at is read as it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tapestry.errors import ActionFailed, ConfigurationError
from tapestry.quoting import Sql, identifier, relation_name
from tapestry.runs.context.invocation import Invocation
from tapestry.runs.engine.column_types import columns_of_table, sql_type
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.action.rules_read import RuleRead
from tapestry.runs.model.model import Model
from tapestry.runs.protocol.standing_rules import standing_rule
from tapestry.runs.query.relations import ALL_STATIC, read_relations
from tapestry.runs.sources.contents import keys, named_keys
from tapestry.runs.sources.earlier_pins import AsRead
from tapestry.runs.sources.pins import Pin
from tapestry.runs.tables.action_batch import ActionBatch
from tapestry.runs.tables.state_row import StateRow
from tapestry.runs.tables.target import generation_of
from tapestry.runs.tables.writers import writers_of
from tapestry.sql import relation_names, static_answer
from tapestry.sql.catalog import Column

_MARK = re.compile(r"'\{tapestry\.recompute:([0-9a-f]*)\}'")


def recompute_mark(relation: str, key: Sequence[str]) -> Sql:
    """Render the macro: a MERGE that does nothing, in the place of the one for a batch."""
    said = json.dumps({"relation": relation, "key": list(key)}).encode().hex()
    return Sql(
        f"merge into {relation_name(relation)} as t"
        f" using (select '{{tapestry.recompute:{said}}}' as said) as s on false"
        " when matched then delete"
    )


@dataclass(frozen=True)
class Recompute:
    """A derived table whose rows an action computes again."""

    relation: str
    key: tuple[str, ...]

    @staticmethod
    def read_mark(text: str) -> Recompute | None:
        """Return the macro's call that a statement stands for; None for any other statement."""
        found = _MARK.search(text)
        if found is None:
            return None
        said = json.loads(bytes.fromhex(found[1]))
        return Recompute(str(said["relation"]), tuple(map(str, said["key"])))


@dataclass(frozen=True)
class RecomputeBatch:
    """One batch, and the derived table whose rows it computes again."""

    session: Session
    model: Model
    invocation: Invocation
    rules: Sequence[RuleRead]
    batch: ActionBatch

    def merging(self, of: Recompute, rows: Mapping[str, Sql]) -> Sql:
        """Return the MERGE; ``rows`` are SELECTs of the bound rows of the batch."""
        built = built_row(self.session, self.invocation, self.model, of)
        columns = [Column(*one) for one in columns_of_table(self.session, of.relation)]
        named = {column.name.lower(): column for column in columns}
        keyed: list[Column] = [named[one.lower()] for one in of.key if one.lower() in named]
        if not keyed or len(keyed) < len(of.key):
            raise ConfigurationError(
                f"recompute: the rows of {of.relation} are not identified by {list(of.key)}",
                where=self.model.file,
                hint="let the derived model have key=[…], columns of its query; or name them here:"
                " recompute(ref('…'), key=[…])",
            )
        affected = self.keys(of, keyed, rows)
        answer = self.answer(of, built)
        table = f"SELECT * FROM {relation_name(of.relation)}"
        return _merge(of, columns, keyed, (affected, answer, table))

    def keys(self, of: Recompute, keyed: Sequence[Column], rows: Mapping[str, Sql]) -> str:
        """Return a SELECT of the keys of the batch, as ``_k0, _k1, …``."""
        parts = []
        for name, select in rows.items():
            tables = [rule.bound[name] for rule in self.rules if name in rule.bound]
            there = tables[0].has(of.key) if tables else []
            if len(there) == len(keyed):
                listed = ", ".join(f"{identifier(one)} AS _k{i}" for i, one in enumerate(there))
                parts.append(f"SELECT {listed} FROM ({select})")
        if not parts:
            raise ConfigurationError(
                f"recompute: no bound table has {', '.join(of.key)}, by which the rows of"
                f" {of.relation} are told",
                where=self.model.file,
                hint="select them in the rule's query, under the same names",
            )
        return " UNION ".join(parts)

    def answer(self, of: Recompute, built: StateRow) -> str:
        """Return a SELECT of the answer of the table's query, at the versions of its rules."""
        pins = AsRead(self.invocation.pins, self.pins(of, built))
        derived = Model(of.relation, of.relation, built.sql)
        zone, t = self.invocation.time_zone, self.invocation.clock.instant
        relations = read_relations(self.session, built.sql, derived, pins, zone, ALL_STATIC)
        return static_answer(built.sql, relations.catalog, t, relations.scans())

    def pins(self, of: Recompute, built: StateRow) -> dict[str, Pin]:
        """Return the versions of the tables of those rules whose actions write the table.

        None of them is one before the table was built.
        """
        state, found = self.invocation.state_table, dict[str, Pin]()
        relations = {rule.relation: None for rule in self.rules}
        for writer in writers_of(self.session, state, of.relation.replace("`", "").lower()):
            relations |= dict.fromkeys(writer.rules)
        own = dict[str, Pin]()
        for relation in relations:
            rule = standing_rule(self.session, state, relation)
            if rule is None:
                continue
            cut = self.batch.cut.get(relation)
            pin = rule.position if cut is None else rule.positions.get(cut.n, rule.position)
            kept = own if cut is not None else found
            if rule.table not in kept or pin.version < kept[rule.table].version:
                kept[rule.table] = pin
        found |= own
        for name, pin in built.after.pins.items():
            if name in found and found[name].version < pin.version:
                found[name] = pin
        return found


def built_row(session: Session, invocation: Invocation, model: Model, of: Recompute) -> StateRow:
    """Return the run that built the table; raise ActionFailed for a table that is not derived."""
    generation = generation_of(session, of.relation, "derived")
    row = None if generation is None else invocation.states.of(session, generation)
    if row is None:
        raise ActionFailed(
            f"recompute: {of.relation} is no derived table",
            where=model.file,
            hint="name a model with materialized='derived', and run that before",
        )
    return row


def recompute_reads(
    session: Session, invocation: Invocation, model: Model, text: str, rules: Sequence[RuleRead]
) -> set[str]:
    """Return the relations that a `recompute` statement reads as they are at that moment."""
    of = Recompute.read_mark(text)
    if of is None:
        return set()
    names = relation_names(built_row(session, invocation, model, of).sql)
    return set(names) - {rule.table for rule in rules}


def _merge(
    of: Recompute, columns: Sequence[Column], keyed: Sequence[Column], parts: tuple[str, str, str]
) -> Sql:
    """Return the MERGE of differing rows; ``parts``: SELECTs of keys, answer and table."""
    affected, answer, table = parts
    places, names = [f"_k{i}" for i in range(len(keyed))], [identifier(c.name) for c in columns]
    among = " AND ".join(f"{one} <=> k._k{i}" for i, one in enumerate(keys(keyed, "r")))
    on = " AND ".join(f"{one} <=> s._k{i}" for i, one in enumerate(keys(keyed, "t")))
    by_key, same = f"PARTITION BY {', '.join(places)}", ", ".join([*places, *keys(columns)])
    taken = ", ".join([*(f"r.{name}" for name in names), named_keys(keyed, "r")])
    sides = " UNION ALL ".join(
        f"SELECT {taken}, {sign} AS _tap_s FROM ({side}\n) AS r"
        f" LEFT SEMI JOIN _tap_keys AS k ON {among}"
        for side, sign in ((answer, 1), (table, -1))
    )
    nulls = (f"CAST(NULL AS {sql_type(c.type)}) AS {identifier(c.name)}" for c in columns)
    one_row = "_tap_new = 1 AND _tap_old = 1"
    return Sql(
        f"WITH _tap_keys AS ({affected}),\n_tap_sides AS ({sides}),\n"
        f"_tap_signed AS (SELECT *, sum(_tap_s) OVER (PARTITION BY {same}) AS _tap_more"
        " FROM _tap_sides),\n"
        f"_tap_rows AS (SELECT *, count_if(_tap_more <> 0) OVER ({by_key}) AS _tap_odd,"
        f" count_if(_tap_s = 1) OVER ({by_key}) AS _tap_new,"
        f" count_if(_tap_s = -1) OVER ({by_key}) AS _tap_old FROM _tap_signed)\n"
        f"MERGE INTO {relation_name(of.relation)} AS t USING ("
        f"SELECT IF({one_row}, 'u', 'i') AS _op, {', '.join([*places, *names])}"
        " FROM _tap_rows WHERE _tap_odd > 0 AND _tap_s = 1 UNION ALL"
        f" SELECT DISTINCT 'd' AS _op, {', '.join([*places, *nulls])}"
        f" FROM _tap_rows WHERE _tap_odd > 0 AND _tap_old > 0 AND NOT ({one_row})"
        f") AS s ON s._op <> 'i' AND {on} WHEN MATCHED AND s._op = 'u' THEN UPDATE SET"
        f" {', '.join(f't.{name} = s.{name}' for name in names)}"
        " WHEN MATCHED THEN DELETE"
        f" WHEN NOT MATCHED AND s._op <> 'd' THEN INSERT ({', '.join(names)})"
        f" VALUES ({', '.join(f's.{name}' for name in names)})"
    )
