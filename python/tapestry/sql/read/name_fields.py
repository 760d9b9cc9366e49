"""Name the fields of structs that a query makes as Spark names them: ``to_json`` writes the names.

sqlglot gives a field of ``struct`` that has no alias its number where it is no bare column, and
takes the name of one of ``named_struct`` from whatever stands there.
"""

from __future__ import annotations

from sqlglot import exp

from tapestry.errors import Refusal

NAMED_STRUCT = "_tap_named_struct"
"""The name given to ``named_struct`` where the parser must not read it by itself."""


def name_fields(tree: exp.Query) -> None:
    """Give ``struct((id), st['f'], list[0].g)`` the names that Spark takes from there.

    Raises Refusal for a name in ``named_struct`` that is no string.

    >>> from sqlglot import parse_one
    >>> query = parse_one("select struct((a), s['F'], l[0].g, l[0], (a) as col5)", dialect="spark")
    >>> name_fields(query)
    >>> query.sql("spark")
    "SELECT STRUCT((a) AS a, s['F'] AS F, l[0].g AS g, l[0] AS col4, (a) AS col5)"
    """
    for struct in tree.find_all(exp.Struct):
        for field in struct.expressions:
            # A name that the author wrote knows its place in the text.
            unnamed = isinstance(field, exp.PropertyEQ) and not field.this.meta
            if unnamed and (name := _own_name(field.expression.unnest())):
                field.set("this", exp.to_identifier(name))
    for call in list(tree.find_all(exp.Anonymous)):
        if call.name == NAMED_STRUCT:
            call.replace(_struct(call.expressions))


def _own_name(value: exp.Expr) -> str:
    if isinstance(value, exp.Column | exp.Dot):
        return value.name
    if isinstance(value, exp.Bracket):
        key = value.expressions[0]
        return key.name if isinstance(key, exp.Literal) and key.is_string else ""
    return ""


def _struct(arguments: list[exp.Expr]) -> exp.Struct:
    names, values = arguments[::2], arguments[1::2]
    for name in names:
        if not (isinstance(name, exp.Literal) and name.is_string):
            raise Refusal(
                "a name in named_struct() is computed",
                name.sql("spark"),
                "write it as a string",
                code="odd-struct",
            )
    if len(names) != len(values):
        raise Refusal(
            "a name in named_struct() has no value",
            names[-1].sql("spark"),
            "write names and values in turn",
            code="odd-struct",
        )
    fields = [
        exp.PropertyEQ(this=exp.to_identifier(name.name), expression=value)
        for name, value in zip(names, values, strict=True)
    ]
    return exp.Struct(expressions=fields)
