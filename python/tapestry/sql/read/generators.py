"""Generators (explode and its like) in one form: LATERAL VIEW behind the FROM clause of a SELECT.

    SELECT explode(m.tags) AS tag FROM m            SELECT _l1.tag FROM m
                                                      LATERAL VIEW explode(m.tags) _l1 AS tag
    FROM m JOIN LATERAL explode(m.tags) AS t(tag)   FROM m LATERAL VIEW explode(m.tags) t AS tag
    FROM m LEFT JOIN LATERAL … ON true              LATERAL VIEW OUTER …
    stack(2, a, b, c, d)                            inline(array(struct(a, b), struct(c, d)))
    VALUES (1, 'a'), (2, 'b')                       the same, in a derived table

Sound because Spark defines them so: a generator in the select list makes rows of those that FROM
and WHERE leave, and a row of FROM and its place among what is generated say which row of the result
it is. What is said of one of them holds for all: ``explode`` and ``posexplode`` are left.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from tapestry.errors import Refusal
from tapestry.sql.catalog import Catalog, Source
from tapestry.sql.read.open_parentheses import list_relations
from tapestry.sql.read.rows_of_columns import (
    FreeAliases,
    derived,
    lateral_view,
    stacked,
    values,
)

KINDS = ("explode", "posexplode", "inline", "stack")
ELEMENT = "_element"
"""The one column of a generator whose columns are the fields of an element."""


def to_laterals(tree: exp.Query, catalog: Catalog) -> exp.Query:
    """The query with every generator as a LATERAL VIEW of its SELECT, its columns named."""
    if not any(_is_odd(node) for node in tree.walk()):
        return tree
    tree, names = tree.copy(), FreeAliases(tree)
    for table in list(tree.find_all(exp.Values)):
        values(table, names)
    for select in list(tree.find_all(exp.Select)):
        _from_function(select, names)
        _joined(select)
        _listed(select, names, catalog)
        for lateral in select.args.get("laterals") or []:
            _named(lateral, names, catalog)
    return tree


def _is_odd(node: exp.Expr) -> bool:
    return isinstance(node, exp.Lateral | exp.Values) or bool(kind_of(node))


def kind_of(node: exp.Expr) -> str:
    """Return the generator of a call: one of KINDS, perhaps with ``_outer`` appended; '' for none.

    >>> from sqlglot import parse_one
    >>> calls = ("explode_outer(a)", "posexplode(a)", "inline_outer(a)", "stack(1, a)", "size(a)")
    >>> [kind_of(parse_one(call, dialect="spark")) for call in calls]
    ['explode_outer', 'posexplode', 'inline_outer', 'stack', '']
    """
    if isinstance(node, exp.Anonymous):
        name = node.name.lower()
        return name if name.removesuffix("_outer") in KINDS else ""
    outer = "_outer" if isinstance(node, exp.ExplodeOuter | exp.PosexplodeOuter) else ""
    kinds = ((exp.Posexplode, "posexplode"), (exp.Explode, "explode"), (exp.Inline, "inline"))
    return next(
        (name + outer for kind, name in (*kinds, (exp.Stack, "stack")) if isinstance(node, kind)),
        "",
    )


def calls_in_from(tree: exp.Query) -> None:
    """Tell a generator in FROM from the name of a table, in place."""
    for table in list(tree.find_all(exp.Table)):
        if kind_of(table.this):
            lateral = exp.Lateral(this=table.this, view=False, alias=table.args.get("alias"))
            joins, around = table.args.get("joins") or [], table.parent
            if joins and isinstance(around, exp.From):
                assert around.parent is not None
                around.parent.set("joins", [*joins, *(around.parent.args.get("joins") or [])])
            table.replace(lateral)


# -- where they stand -----------------------------------------------------------------------------
def _from_function(select: exp.Select, names: FreeAliases) -> None:
    """Replace a generator that is the relation in FROM by a derived table."""
    from_ = select.args.get("from_")
    relation = None if from_ is None else from_.this
    if isinstance(relation, exp.Lateral):
        call, alias = relation.this, relation.args.get("alias")
        name = alias.name if alias is not None and alias.name else names.new()
        columns = [column.name for column in alias.columns] if alias is not None else []
        columns = columns or _default_columns(call, None)
        relation.replace(derived(call, name, columns, names))


def _joined(select: exp.Select) -> None:
    """Move joins with LATERAL, or with a call, behind all joins, and their conditions to WHERE."""
    joins = select.args.get("joins") or []
    first = next((n for n, join in enumerate(joins) if _joins_call(join)), None)
    if first is None:
        return
    if any(item.is_star and not isinstance(item, exp.Column) for item in select.expressions):
        _spell_stars(select)
    kept, laterals = joins[:first], list(select.args.get("laterals") or [])
    for join in joins[first:]:
        on = join.args.get("on")
        always = on is None or on == exp.true()
        if (
            join.args.get("using")
            or join.method
            or (join.side and not (_joins_call(join) and join.side == "LEFT" and always))
        ):
            raise Refusal(
                "an outer join, or USING, behind a generator in FROM",
                join.sql("spark").strip(),
                "put what stands before it into a derived table:"
                " (SELECT m.*, t.x FROM m LATERAL VIEW explode(m.list) t AS x) AS q",
                code="generator",
            )
        if _joins_call(join):
            relation = join.this
            lateral = lateral_view(relation.this, "", [], bool(join.side))
            lateral.set("alias", relation.args.get("alias") or exp.TableAlias())
            laterals.append(lateral)
        else:
            kept.append(join)
            join.set("on", None)
            join.set("kind", "CROSS")
        if not always and on is not None:
            select.where(on, copy=False)
    select.set("joins", kept)
    select.set("laterals", laterals)


def _joins_call(join: exp.Join) -> bool:
    return isinstance(join.this, exp.Lateral) and bool(kind_of(join.this.this))


def _spell_stars(select: exp.Select) -> None:
    """Replace ``*`` by ``m.*, t.*, r.*`` in the order of FROM."""
    relations = [select.args["from_"].this, *(join.this for join in select.args["joins"])]
    list_relations(select, relations, _nameless)


def _nameless(relation: exp.Expr) -> Refusal:
    return Refusal(
        "a star over a generator without a name",
        relation.sql("spark"),
        "give it a name with AS, or list the columns",
        code="generator",
    )


def _listed(select: exp.Select, names: FreeAliases, catalog: Catalog) -> None:
    """Replace a generator in the select list by its columns."""
    items: list[exp.Expr] = []
    laterals = []
    for item in select.expressions:
        call = item.this if isinstance(item, exp.Alias | exp.Aliases) else item
        if not kind_of(call):
            items.append(item)
            continue
        given = [one.name for one in item.expressions] if isinstance(item, exp.Aliases) else []
        given = [item.alias] if isinstance(item, exp.Alias) else given
        called = given or _default_columns(call, catalog)
        alias = names.new()
        own = [f"{alias}_{n}" for n, _ in enumerate(called, start=1)]
        laterals.append(lateral_view(call, alias, own))
        for column, name in zip(own, called, strict=True):
            value = exp.column(exp.to_identifier(column, quoted=True), table=alias)
            items.append(exp.alias_(value, name, quoted=True))
    if len(laterals) > 1:
        raise Refusal(
            "two generators in one select list",
            select.sql("spark"),
            "write them as LATERAL VIEW, one behind the other",
            code="generator",
        )
    if laterals:
        select.set("expressions", items)
        select.set("laterals", [*(select.args.get("laterals") or []), *laterals])


# -- what they are --------------------------------------------------------------------------------
def _named(lateral: exp.Lateral, names: FreeAliases, catalog: Catalog) -> None:
    """Make the call one of explode, posexplode and inline, with OUTER, an alias and columns."""
    call = lateral.this
    kind = kind_of(call)
    if not kind:
        return  # refused where it is read
    alias = lateral.args.get("alias") or exp.TableAlias()
    columns = [column.name for column in alias.columns]
    columns = columns or _default_columns(call, catalog)
    if kind.endswith("_outer"):
        lateral.set("outer", True)
    bare, argument = kind.removesuffix("_outer"), _argument(call)
    node: exp.Expr
    if bare == "stack":
        node = exp.Inline(this=stacked(call, columns))
    else:
        made = {"explode": exp.Explode, "posexplode": exp.Posexplode, "inline": exp.Inline}
        node = made[bare](this=argument)
    lateral.set("this", node)
    name = alias.this or exp.to_identifier(names.new())
    listed = [exp.to_identifier(column, quoted=True) for column in columns]
    lateral.set("alias", exp.TableAlias(this=name, columns=listed))


def _argument(call: exp.Expr) -> exp.Expr:
    arguments = call.expressions if isinstance(call, exp.Anonymous) else [call.this]
    return arguments[0].copy() if arguments else exp.null()


def _default_columns(call: exp.Expr, catalog: Catalog | None) -> list[str]:
    """Return Spark's names for the columns of a call that has no list of names."""
    kind = kind_of(call).removesuffix("_outer")
    if kind == "stack":
        rows, values = int(call.this.name), len(call.expressions)
        return [f"col{n}" for n in range(-(-values // max(1, rows)))]
    kept = _argument(call)
    if kind == "inline":
        first = next(_structs_of(kept), None)
        if first is not None:
            return [field.this.name for field in first.expressions]
    kinds = {
        column.type
        for source in (catalog.relations.values() if catalog is not None else ())
        if isinstance(source, Source) and isinstance(kept, exp.Column)
        for column in source.columns
        if column.name.lower() == kept.name.lower()
    }
    is_map = isinstance(kept, exp.Map | exp.VarMap) or any(k.startswith("map") for k in kinds)
    unclear = catalog is None and not isinstance(kept, exp.Array | exp.Map | exp.GenerateSeries)
    if kind == "inline" or unclear or (is_map and len({k[:3] for k in kinds}) > 1):
        raise Refusal(
            "the columns of a generator have no names",
            call.sql("spark"),
            "name them: LATERAL VIEW posexplode(m.list) t AS place, x",
            code="generator",
        )
    position = ["pos"] if kind == "posexplode" else []
    return position + (["key", "value"] if is_map else ["col"])


def _structs_of(argument: exp.Expr) -> Iterator[exp.Struct]:
    if isinstance(argument, exp.Array):
        for element in argument.expressions:
            if isinstance(element, exp.Struct):
                yield element


def kinds_made(call: exp.Expr) -> list[exp.DataType]:
    """Return the types of the columns of ``explode`` or ``posexplode``, UNKNOWN if not certain."""
    kind = call.this.type
    known = isinstance(kind, exp.DataType) and kind.is_type("array", "map")
    made = [one.copy() for one in kind.expressions] if known else []
    place = [exp.DataType.build("int")] if isinstance(call, exp.Posexplode) else []
    return [*place, *(made or [exp.DataType.build("unknown")] * 2)]


# -- once their arguments have types --------------------------------------------------------------
def open_inline(tree: exp.Query) -> exp.Query:
    """Return the resolved query with ``inline`` replaced by ``explode`` and fields of its
    element.
    """
    for select in list(tree.find_all(exp.Select)):
        for lateral in select.args.get("laterals") or []:
            if isinstance(lateral.this, exp.Inline):
                _open(select, lateral)
    return tree


def _open(select: exp.Select, lateral: exp.Lateral) -> None:
    argument, alias = lateral.this.this, lateral.args["alias"]
    fields = [field.this.name for struct in _structs_of(argument) for field in struct.expressions]
    kind = argument.type
    if not fields and kind is not None and kind.is_type("array") and kind.expressions:
        fields = [field.name for field in kind.expressions[0].expressions]
    columns = [column.name for column in alias.columns]
    if len(fields[: len(columns)]) < len(columns):
        raise Refusal(
            "inline() of what is not known to be a list of structs of so many fields",
            lateral.this.sql("spark"),
            "cast it: inline(CAST(… AS ARRAY<STRUCT<a: INT, b: STRING>>))",
            code="generator",
        )
    places = {name.lower(): field for name, field in zip(columns, fields, strict=False)}
    name = alias.name
    for column in list(select.find_all(exp.Column)):
        if column.table == name and column.name.lower() in places:
            element = exp.column(ELEMENT, table=exp.to_identifier(name, quoted=True))
            field = exp.to_identifier(places[column.name.lower()], quoted=True)
            value = exp.Dot(this=element, expression=field)
            value.type = column.type
            in_list = isinstance(column.parent, exp.Select)
            column.replace(exp.alias_(value, column.name, quoted=True) if in_list else value)
    lateral.set("this", exp.Explode(this=argument))
    listed = [exp.to_identifier(ELEMENT)]
    lateral.set("alias", exp.TableAlias(this=alias.this, columns=listed))
