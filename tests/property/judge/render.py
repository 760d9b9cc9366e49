"""A random query as text: for Spark as a user writes it, for DuckDB as the definition reads it.

The DuckDB text is *threaded*: every relation is there once for each instant `s` (views
`all_<table>`), every join and every subquery is equal on `s`, and so one query gives Q(s) at all
instants, each row with the columns that identify it (`i1`, `i2`, …). With an instant given instead
it is *plain*: Q(s) over the rows visible at that instant.
"""

from __future__ import annotations

from judge.tree import Cond, Exists, Form, Query, Relation, Select, SetOp, Text, With

# --- Spark ---


def spark_text(query: Query) -> str:
    """The query as a user writes it."""
    if isinstance(query, With):
        ctes = ", ".join(f"{name} AS ({spark_text(body)})" for name, body in query.ctes)
        return f"WITH {ctes} {spark_text(query.body)}"
    if isinstance(query, SetOp):
        left = (
            spark_text(query.left)
            if isinstance(query.left, Select)
            else f"({spark_text(query.left)})"
        )
        right = (
            spark_text(query.right)
            if isinstance(query.right, Select)
            else f"({spark_text(query.right)})"
        )
        return f"{left} {query.op} {right}"
    items = query.star or ", ".join(
        f"{item.text.spark} AS {item.name}" if item.aliased else item.text.spark
        for item in query.items
    )
    text = f"SELECT {'DISTINCT ' if query.distinct else ''}{items} FROM {_spark_from(query)}"
    if query.where is not None:
        text += f" WHERE {spark_condition(query.where)}"
    if query.grouped:
        text += " GROUP BY " + ", ".join(item.text.spark for item in query.items)
    return text


def _spark_from(query: Select) -> str:
    text = _spark_relation(query.joins[0].relation)
    for join in query.joins[1:]:
        if join.kind == ",":
            text += f", {_spark_relation(join.relation)}"
            continue
        text += f" {join.kind} {_spark_relation(join.relation)}"
        if join.using:
            text += f" USING ({', '.join(join.using)})"
        elif join.on is not None:
            text += f" ON {spark_condition(join.on)}"
    return text


def _spark_relation(relation: Relation) -> str:
    if relation.query is not None:
        return f"({spark_text(relation.query)}) AS {relation.alias}"
    name = relation.table or relation.cte
    return name if name == relation.alias else f"{name} AS {relation.alias}"


def spark_condition(cond: Cond) -> str:
    """A condition as a user writes it."""
    if isinstance(cond, Text):
        return cond.spark
    if isinstance(cond, Form):
        return _form(cond.name, cond.template, [spark_condition(arg) for arg in cond.args])
    word = "NOT " if cond.negated else ""
    if isinstance(cond, Exists):
        return f"{word}EXISTS ({spark_text(cond.query)})"
    return f"{cond.value.spark} {word}IN ({spark_text(cond.query)})"


def _form(name: str, template: str, args: list[str]) -> str:
    if name in ("AND", "OR"):
        return "(" + f" {name} ".join(args) + ")"
    return template.format(*args)


# --- DuckDB ---


class Oracle:
    """Renders threaded text, or with `instant` the plain text at that instant."""

    def __init__(self, instant: str | None = None) -> None:
        self.instant = instant
        self.widths: dict[
            str, int
        ] = {}  # of the common table expressions: how many identity columns

    def text(self, query: Query) -> tuple[str, int]:
        """A SELECT of `s`, the output columns the identity columns `i1…`; and their number."""
        if isinstance(query, With):
            ctes = []
            for name, body in query.ctes:
                sql, self.widths[name] = self.text(body)
                ctes.append(f"with_{name} AS ({sql})")
            sql, count = self.text(query.body)
            return f"WITH {', '.join(ctes)} {sql}", count
        if isinstance(query, SetOp) and query.op == "UNION ALL":
            return self._union_all(query)
        if query.by_value:
            names = tuple(name for name in query.names if name not in query.audits)
            ids = "".join(f", {name} AS i{n}" for n, name in enumerate(names, 2))
            return f"SELECT *, 1 AS i1{ids} FROM ({self.bare(query)})", len(names) + 1
        return self._select(query, None, self._identity(query))

    def _union_all(self, query: SetOp) -> tuple[str, int]:
        arms = [self.text(query.left), self.text(query.right)]
        count = 1 + arms[0][1] + arms[1][1]
        texts, offset = [], 2
        for number, (arm, (sql, width)) in enumerate(
            zip((query.left, query.right), arms, strict=True), 1
        ):
            own = {offset + n: f"i{n + 1}" for n in range(width)}
            ids = ", ".join(f"{own.get(n, 'NULL')} AS i{n}" for n in range(2, count + 1))
            names = ", ".join(
                f"{mine} AS {name}" for mine, name in zip(arm.names, query.names, strict=True)
            )
            texts.append(f"SELECT s, {names}, {number} AS i1, {ids} FROM ({sql})")
            offset += width
        return " UNION ALL ".join(texts), count

    def bare(self, query: Query, outer: str | None = None) -> str:
        """A SELECT of `s` and the output columns, correlated to the instant `outer`."""
        if isinstance(query, SetOp):
            return f"({self.bare(query.left, outer)}) {query.op} ({self.bare(query.right, outer)})"
        if isinstance(query, With):
            raise TypeError("WITH inside a query is not generated")
        return self._select(query, outer, [])[0]

    def _identity(self, query: Select) -> list[str]:
        columns = []
        for join in query.joins:
            key, relation = join.relation.key, join.relation
            if relation.table:
                columns.append(f"{key}._rid")
            else:
                columns += [f"{key}.i{n}" for n in range(1, self._width(relation) + 1)]
        return columns

    def _width(self, relation: Relation) -> int:
        return (
            self.text(relation.query)[1]
            if relation.query is not None
            else self.widths[relation.cte]
        )

    def _select(self, query: Select, outer: str | None, identity: list[str]) -> tuple[str, int]:
        source, instant, extra = self._from(query)
        if outer is not None and self.instant is None:
            extra.append(f"{instant} = {outer}")
        columns = [
            f"{instant} AS s",
            *(f"{self._now(item.text, instant)} AS {item.name}" for item in query.items),
        ]
        columns += [f"{column} AS i{n}" for n, column in enumerate(identity, 1)]
        if query.where is not None:
            extra.append(self.condition(query.where, instant))
        where = f" WHERE {' AND '.join(extra)}" if extra else ""
        distinct = "DISTINCT " if query.by_value else ""
        return (
            f"SELECT {distinct}{', '.join(columns)} FROM {source}{where}",
            len(identity),
        )

    def _from(self, query: Select) -> tuple[str, str, list[str]]:
        """The FROM text, the expression for its instant, and what a comma leaves to WHERE."""
        first = query.joins[0].relation
        text, instant, extra = self._relation(first), self.instant or f"{first.key}.s", []
        head = instant
        for join in query.joins[1:]:
            key, relation = join.relation.key, self._relation(join.relation)
            mine = self.instant or f"{key}.s"
            same = [] if self.instant else [f"{mine} = {instant}"]
            if join.kind == ",":
                text, instant = f"{text}, {relation}", mine
                extra += [] if self.instant else [f"{mine} = {head}"]
                continue
            if join.using:
                same.append(join.using_duck)
            elif join.on is not None:
                same.append(
                    self.condition(join.on, mine if join.kind.startswith("RIGHT") else instant)
                )
            kind = "JOIN" if join.kind == "CROSS JOIN" else join.kind
            text = f"{text} {kind} {relation} ON {' AND '.join(same) or 'TRUE'}"
            if join.kind.startswith("RIGHT"):
                instant = mine
            elif join.kind.startswith("FULL") and self.instant is None:
                instant = f"coalesce({instant}, {mine})"
            if not extra:
                head = instant
        return text, instant if not extra else head, extra

    def _relation(self, relation: Relation) -> str:
        if relation.table and self.instant:
            return f"(SELECT * FROM seen_{relation.table}({self.instant})) AS {relation.key}"
        if relation.table:
            return f"all_{relation.table} AS {relation.key}"
        if relation.cte:
            return f"with_{relation.cte} AS {relation.key}"
        assert relation.query is not None
        return f"({self.text(relation.query)[0]}) AS {relation.key}"

    def condition(self, cond: Cond, instant: str) -> str:
        """A condition at an instant."""
        if isinstance(cond, Text):
            return f"({self._now(cond, instant)})"
        if isinstance(cond, Form):
            return _form(
                cond.name,
                cond.duck or cond.template,
                [self.condition(arg, instant) for arg in cond.args],
            )
        word = "NOT " if cond.negated else ""
        if isinstance(cond, Exists):
            return f"({word}EXISTS ({self.bare(cond.query, instant)}))"
        values = f"SELECT {cond.query.names[0]} FROM ({self.bare(cond.query, instant)})"
        return f"({cond.value.duck} {word}IN ({values}))"

    def _now(self, text: Text, instant: str) -> str:
        return text.duck.replace("$now", instant)
