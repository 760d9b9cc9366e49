"""The columns that a snapshot compares, and those that its table cannot keep as they are."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import ParseError, exp

from dbt.adapters.tapestry.column_names import named_column
from tapestry.errors import ConfigurationError, Refusal
from tapestry.quoting import authored, identifier, relation_name
from tapestry.runs.query.relations import plain
from tapestry.sql.catalog import Catalog
from tapestry.sql.passes.tree.refuse_nondeterministic import refuse_nondeterministic
from tapestry.sql.read.parse import parse
from tapestry.sql.timing import contains_now

Types = Mapping[str, str]
_OWN = re.compile(r"dbt_unique_key(_\d+)?|dbt_change_type|dbt_internal_\w+", re.IGNORECASE)
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_T = exp.DataType.Type
_WHOLE = {_T.TINYINT: 3, _T.SMALLINT: 5, _T.INT: 10, _T.BIGINT: 19}
"""Types of whole numbers, with the digits that they can have."""
_EXACT_IN = {_T.FLOAT: 5, _T.DOUBLE: 10}
"""Type -> a number of digits with which it represents every whole number exactly."""
_TIMES = frozenset({_T.DATE, _T.TIMESTAMP, _T.TIMESTAMPTZ, _T.TIMESTAMPLTZ, _T.TIMESTAMPNTZ})
_ONCE = "let the snapshot have it, once: "
_NESTED = frozenset({_T.STRUCT, _T.ARRAY, _T.MAP})


@dataclass(frozen=True)
class Snapshot:
    """The columns of a snapshot's query and, if it exists, of its table, with their types."""

    node: Mapping[str, Any]
    query: Mapping[str, str]
    table: Mapping[str, str] | None

    def refuse_names(self, added: Iterable[str]) -> None:
        """Raise ConfigurationError for names that the statements of a snapshot cannot hold.

        ``added``: the names of the columns that dbt adds, which dbt writes as they stand.
        """
        added = [str(name) for name in added]
        odd = [name for name in added if not _PLAIN.fullmatch(name)]
        if odd:
            raise self._error(
                f"snapshot_meta_column_names: {', '.join(odd)} is no plain name",
                "dbt writes it without quotes: take letters, digits and _",
            )
        lower = {name.lower() for name in added}
        own = [name for name in self.query if _OWN.fullmatch(name) or name.lower() in lower]
        if own:
            raise self._error(
                f"column {', '.join(own)} of the query has a name that a snapshot needs for itself",
                "give it another name in the query (… AS other_name)",
            )

    def casts(self) -> dict[str, str]:
        """Return the types of the table's columns that differ in the query, by lower name.

        Raises ConfigurationError where the column would keep less than the query gives: it would
        differ from the query, and change, on every run.
        """
        kept = {name.lower(): kind for name, kind in (self.table or {}).items()}
        found = {}
        for name, given in self.query.items():
            there = kept.get(name.lower())
            if there is None or there.lower() == given.lower():
                continue
            if not keeps(given, there):
                raise self._error(
                    f"column {name} is {given} in the query and {there} in the snapshot, which"
                    " cannot keep each of its values",
                    widened(str(self.node.get("relation_name") or ""), name, given, there)
                    or f"cast it in the query (cast(… as {there})) or give it another name there,"
                    " which makes it a new column",
                )
            found[name.lower()] = there
        return found

    def compared(self, check_cols: str | Sequence[str]) -> list[dict[str, str]]:
        """Return what the strategy ``check`` compares: columns (``name``), expressions (``sql``).

        ``type`` is the type to which the query's value is cast first; a column that the table lacks
        is ``added``. Raises ConfigurationError for a map, which Spark cannot compare.
        """
        casts = self.casts()
        there = {name.lower() for name in self.table or ()}
        texts = list(self.query) if check_cols == "all" else [str(text) for text in check_cols]
        found = []
        for text in texts:
            name = text if check_cols == "all" else named_column(text, list(self.query))
            if name is None:
                found.append({"name": "", "sql": authored(text), "type": "", "added": ""})
                continue
            self._refuse_map(name)
            added = "" if name.lower() in there else "yes"
            kind = casts.get(name.lower(), "")
            found.append({"name": identifier(name), "sql": "", "type": kind, "added": added})
        return found

    def refuse_open_end(self, text: str, ends: str, types_of: Callable[[str], Types]) -> None:
        """Raise ConfigurationError for a `dbt_valid_to_current` that is no constant, or no time.

        Present records are recognized by it on every later run. ``ends``: the column of the ends of
        records, whose type stays; ``types_of`` has Spark analyse a query.
        """
        kept = {name.lower(): type_.lower() for name, type_ in (self.table or {}).items()}
        wanted = kept.get(ends.lower(), "timestamp")
        why = not_constant(text)
        if why is None:
            (kind,) = types_of(f"SELECT {authored(text)} AS open_end").values()
            if kind not in ("void", "date", "timestamp", "timestamp_ntz", wanted):
                why = f"is {kind}, no {wanted}"
        if why is not None:
            raise self._error(
                f"dbt_valid_to_current: {text} {why}",
                "present records are told by it on every run: take one instant, such as"
                " timestamp'9999-12-31'",
            )

    def _refuse_map(self, name: str) -> None:
        kind = self.query[name]
        if not re.search(r"\bmap<", kind, re.IGNORECASE):
            return
        raise self._error(
            f"check_cols: column {name} is {kind}, and Spark compares no maps",
            f"name the columns to check, and of this one to_json({identifier(name)})",
        )

    def _error(self, reason: str, hint: str) -> ConfigurationError:
        return ConfigurationError(
            reason, where=str(self.node.get("relation_name") or ""), hint=hint
        )


def not_constant(text: str) -> str | None:
    """Return why an expression is not the same value on every run, or None.

    >>> not_constant("to_date('9999-12-31')"), not_constant("now() + interval 1 day")
    (None, 'reads the clock')
    """
    try:
        tree = parse(f"SELECT {authored(text)} AS open_end")
        refuse_nondeterministic(tree, Catalog({}))
    except Refusal as refusal:
        return f"is not the same value on every run: {refusal.reason}"
    if contains_now(tree):
        return "reads the clock"
    named = next(tree.find_all(exp.Column), None)
    return None if named is None else f"names a column, {named.sql('spark')}"


def widened(table: str, name: str, given: str, kept: str) -> str | None:
    """Return the statements that let a snapshot's column keep the query's values; None: none do.

    >>> widened("`s`.`t`", "c", "struct<a:int,b:array<struct<x:int,y:date>>>",
    ...         "struct<a:int,b:array<struct<x:int>>>")
    'let the snapshot have it, once: ALTER TABLE `s`.`t` ADD COLUMNS (`c`.`b`.element.`y` DATE)'
    """
    try:
        types = [exp.DataType.build(text, dialect="spark") for text in (given, kept)]
    except (ParseError, ValueError):
        return None
    place = identifier(name)
    alter = f"ALTER TABLE {relation_name(plain(table))}"
    if all(kind.this == _T.DECIMAL for kind in types):
        whole, digits = (f(types[0]) - f(types[1]) for f in (_before_point, _scale))
        if min(whole, digits) < 0:
            return None
        allow = f"{alter} SET TBLPROPERTIES ('delta.enableTypeWidening' = 'true')"
        widen = f"{alter} ALTER COLUMN {place} TYPE {types[0].sql('spark')}"
        return f"{_ONCE}{allow}; {widen}"
    added = _added(place, types[0], types[1])
    if not added:
        return None
    add = f"{alter} ADD COLUMNS ({', '.join(added)})"
    return f"{_ONCE}{add}"


def _added(place: str, given: exp.DataType, kept: exp.DataType) -> list[str] | None:
    """Return the fields that one type has more than the other, for Delta; None: others differ."""
    if given.this != kept.this or given.this not in _NESTED:
        return [] if given == kept else None
    if given.this != _T.STRUCT:
        steps = ("element",) if given.this == _T.ARRAY else ("key", "value")
        parts = zip(steps, given.expressions, kept.expressions, strict=True)
        found = [_added(f"{place}.{step}", _kind(one), _kind(other)) for step, one, other in parts]
        return None if None in found else [text for texts in found for text in texts or ()]
    left, added, before = list(kept.expressions), [], ""
    for part in given.expressions:
        name = identifier(part.name)
        if left and _field(part) == _field(left[0]):
            inside = _added(f"{place}.{name}", _kind(part), _kind(left.pop(0)))
            if inside is None:
                return None
            added += inside
        else:
            where = f" AFTER {before}" if before else " FIRST"
            added.append(f"{place}.{name} {_kind(part).sql('spark')}{where if left else ''}")
        before = name
    return None if left else added


def keeps(given: str, kept: str) -> bool:
    """Return whether a column of the second type keeps values of the first, or raises an error.

    A number that is too large is an error when it is written; digits, times of day and fields that
    a type has no room for would be dropped silently.

    >>> keeps("decimal(5,2)", "decimal(10,2)"), keeps("decimal(10,4)", "decimal(10,2)")
    (True, False)
    """
    if given.lower() == "void":
        return True
    try:
        types = [exp.DataType.build(text, dialect="spark") for text in (given, kept)]
    except (ParseError, ValueError):
        return given.lower() == kept.lower()
    return _keeps(types[0], types[1])


def _keeps(given: exp.DataType, kept: exp.DataType) -> bool:
    one, other = given.this, kept.this
    if one in _NESTED or other in _NESTED:
        return one == other and _parts_fit(given, kept)
    if other in exp.DataType.TEXT_TYPES and one != _T.BINARY:
        return True
    if one == other == _T.DECIMAL:
        return _scale(kept) >= _scale(given)
    if one in _WHOLE:
        return other in _WHOLE or other == _T.DECIMAL or _EXACT_IN.get(other, 0) >= _WHOLE[one]
    if one == _T.DECIMAL and other in _WHOLE:
        return _scale(given) == 0
    if one in _TIMES and other in _TIMES:
        return bool(one == _T.DATE or other != _T.DATE)
    return one == other or (one, other) == (_T.FLOAT, _T.DOUBLE)


def _parts_fit(given: exp.DataType, kept: exp.DataType) -> bool:
    if [_field(part) for part in given.expressions] != [_field(part) for part in kept.expressions]:
        return False
    pairs = zip(given.expressions, kept.expressions, strict=True)
    return all(_keeps(_kind(one), _kind(other)) for one, other in pairs)


def _field(part: exp.Expression) -> str:
    return part.name.lower() if isinstance(part, exp.ColumnDef) else ""


def _kind(part: exp.Expression) -> exp.DataType:
    kind = part.args["kind"] if isinstance(part, exp.ColumnDef) else part
    assert isinstance(kind, exp.DataType)
    return kind


def _before_point(kind: exp.DataType) -> int:
    return int(kind.expressions[0].name) - _scale(kind) if kind.expressions else 0


def _scale(kind: exp.DataType) -> int:
    digits = [int(part.name) for part in kind.expressions]
    return digits[1] if len(digits) > 1 else 0
