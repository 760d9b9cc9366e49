"""Reads the text of a query with sqlglot's Spark dialect; refuses what that cannot read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from sqlglot import Token, TokenType, exp
from sqlglot.errors import SqlglotError

from tapestry.errors import Refusal
from tapestry.sql.copies import forget_places
from tapestry.sql.read.balance_connectors import balance_connectors
from tapestry.sql.read.bind_operators import bind_operators
from tapestry.sql.read.bind_tokens import bind_tokens
from tapestry.sql.read.generators import calls_in_from
from tapestry.sql.read.inline_inner_ctes import cte_of, inline_inner_ctes
from tapestry.sql.read.join_using import semi_join_using
from tapestry.sql.read.keep_as_written import PERCENTILE, keep_as_written
from tapestry.sql.read.keep_formats import keep_formats, name_kept
from tapestry.sql.read.name_fields import NAMED_STRUCT, name_fields
from tapestry.sql.read.open_parentheses import open_parentheses
from tapestry.sql.read.read_tokens import SPARK, read_tokens
from tapestry.sql.read.refuse_read_otherwise import refuse_read_otherwise
from tapestry.sql.read.refuse_unread import (
    refuse_second_comparison,
    refuse_unread,
    refuse_unwritten,
)
from tapestry.sql.read.refuse_unsupported import (
    UPSTREAM,
    refuse_constructs,
    refuse_windows_of_time,
)
from tapestry.sql.read.spark_names import name_items
from tapestry.sql.timing import has_mark
from tapestry.sql.work import bounded_by_text, remembered, spend_tree

SESSION_CATALOG = "spark_catalog"
"""Spark's own name for the catalog of tables that are named by schema and table alone."""
_A = {"SEMI": "a semi", "ANTI": "an anti"}
_ELEMENT_OF = "_tap_of_"


@bounded_by_text
@remembered
def parse(sql: str) -> exp.Query:
    """One SELECT (or set operation) as a sqlglot tree; semi and anti joins become [NOT] EXISTS.

    Raises Refusal for text that is not one query, or that uses a construct outside the theory.

    >>> parse("select a from t left anti join u on t.k = u.k").sql("spark")
    'SELECT a FROM t WHERE NOT EXISTS(SELECT 1 FROM u WHERE t.k = u.k)'
    """
    tree = _read(sql)
    refuse_read_otherwise(tree, _read)
    return tree


def _read(sql: str) -> exp.Query:
    if has_mark(sql):
        raise Refusal(
            "the SQL holds U+FDD0 or U+FDD1, which Unicode keeps for a program's own use",
            sql,
            "take it out: it is seen nowhere, and this program uses it itself",
            code="odd-characters",
        )
    try:
        tokens = bind_tokens(keep_formats(_tokens(sql)), sql)
        refuse_second_comparison(tokens)
        parsed = SPARK.parser().parse(tokens, sql)
    except SqlglotError as error:
        refuse_windows_of_time(sql)  # the parser does not know them in GROUP BY
        raise _unread(_first_line(error)) from error
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        # How the parser's builders of functions fail where an argument is missing.
        raise _unread(sql) from error
    # A comment behind the last semicolon is read as a statement of its own.
    statements = [s for s in parsed if s is not None and not isinstance(s, exp.Semicolon)]
    if len(statements) != 1 or not isinstance(statements[0], exp.Query):
        hint = "put one SELECT into the model file"
        raise Refusal("the text of a model is one SELECT", sql, hint, code="not-a-select")
    bind_operators(statements[0])
    tree = balance_connectors(_without_parentheses(statements[0]))
    _keep_dollars(tree, tokens, sql)
    spend_tree(tree, "the query's text")
    _name_again(tree)
    _leave_out_hints(tree)
    _leave_out_order(tree)
    calls_in_from(tree)
    name_fields(tree)
    for around in tree.find_all(exp.Subquery):
        _refuse_limit_behind(around)  # sqlglot loses what stands behind two parentheses
    _refuse_unsupported(tree)
    name_kept(tree)
    keep_as_written(tree)
    refuse_unread(tree)
    refuse_unwritten(tree)
    tree = open_parentheses(tree)
    for select in list(tree.find_all(exp.Select)):
        _replace_semi_joins(select)
    _refuse_nested_semi_joins(tree)
    return forget_places(inline_inner_ctes(name_items(tree)))


def _keep_dollars(tree: exp.Expr, tokens: Sequence[Token], sql: str) -> None:
    r"""Keep variables out of ``'$\{env:HOME}'``, which the author wrote so that there is none.

    sqlglot would write the literal without the backslash, and Spark puts a variable's value where
    it finds ``${…}``. What the author wrote as ``${…}`` is Spark's to replace.
    """
    kept = {
        token.text
        for token in tokens
        if token.token_type == TokenType.STRING
        and "${" in token.text
        and "${" not in sql[token.start : token.end + 1]
    }
    for literal in list(tree.find_all(exp.Literal)) if kept else ():
        if literal.is_string and literal.this in kept:
            first, *rest = (
                exp.Literal.string(part) for part in re.split(r"(?<=\$)(?=\{)", literal.this)
            )
            joined: exp.Expr = first
            for part in rest:
                joined = exp.DPipe(this=joined, expression=part)
            literal.replace(exp.Paren(this=joined))


def _unread(where: str) -> Refusal:
    hint = "check that it runs as `dbt show --inline`; rewrite the piece shown in simpler SQL"
    return Refusal("the SQL could not be read", where, hint, code="unreadable")


def _without_parentheses(tree: exp.Query) -> exp.Query:
    """Return ``(SELECT …) LIMIT 3`` as ``SELECT … LIMIT 3``, clauses moved into the query."""
    while isinstance(tree, exp.Subquery):
        inner = tree.this
        for clause, value in tree.args.items():
            if clause == "this" or not value:
                continue
            if clause not in ("with_", "order", "limit", "offset") or inner.args.get(clause):
                raise Refusal(
                    "a clause stands outside of the parentheses around the query",
                    tree.sql("spark"),
                    "leave the parentheses out, or write SELECT * FROM (…) AS q and the clause",
                    code="ambiguous",
                )
            inner.set(clause, value)
        tree = inner
    return tree


def _leave_out_hints(tree: exp.Query) -> None:
    """Remove hints, which say how Spark may compute a query and never change its result.

    Its names are those of relations, but nothing is read by them.
    """
    for select in tree.find_all(exp.Select):
        select.set("hint", None)


def _refuse_limit_behind(node: exp.Subquery) -> None:
    if node.args.get("limit") is not None or node.args.get("offset") is not None:
        raise Refusal(
            "LIMIT stands behind the parentheses around a query",
            node.sql("spark"),
            "write it inside of them, or SELECT * FROM (…) AS q LIMIT 3",
            code="ambiguous",
        )


def _leave_out_order(tree: exp.Query) -> None:
    """Remove SORT BY, CLUSTER BY and DISTRIBUTE BY; with LIMIT they decide which rows there are."""
    for select in tree.find_all(exp.Select):
        for clause in ("sort", "cluster", "distribute"):
            if select.args.get(clause) and select.args.get("limit") is not None:
                raise Refusal(
                    f"{clause.upper()} BY under LIMIT",
                    select.sql("spark"),
                    "write ORDER BY",
                    code="unsupported-clause",
                )
            select.set(clause, None)


def _refuse_unsupported(tree: exp.Query) -> None:
    for with_ in tree.find_all(exp.With):
        if with_.recursive:
            raise Refusal(
                "a recursive CTE",
                with_.sql("spark"),
                "write a UNION ALL of joins, one for each number of steps",
                code="recursive-cte",
            )
        names = [cte.alias.lower() for cte in with_.expressions]
        if len(names) > len(set(names)):
            raise Refusal(
                "two CTEs have one name",
                with_.sql("spark"),
                "rename one of them",
                code="doubled-cte",
            )
    refuse_constructs(tree)
    for quantified in tree.find_all(exp.Any, exp.All):
        if quantified.find(exp.Query) is not None:  # else LIKE ANY ('a%', 'b%')
            raise Refusal(
                f"{quantified.key.upper()} over a subquery is not supported",
                quantified.sql("spark"),
                "write it as [NOT] EXISTS",
                code="quantified-subquery",
            )
    for node in tree.find_all(exp.In):
        query = node.args.get("query")
        if query is not None and isinstance(query.this, exp.Subquery):
            raise Refusal(
                "a query in two parentheses behind IN is one value to Spark",
                node.sql("spark"),
                "write one pair of parentheses",
                code="ambiguous",
            )
    _refuse_relations(tree)


def _refuse_relations(tree: exp.Query) -> None:
    for table in tree.find_all(exp.Table):
        if table.catalog and table.catalog.lower() != SESSION_CATALOG:
            raise Refusal(
                f"{table.catalog} is another catalog, or a name of too many parts",
                table.sql("spark"),
                "name schema.table; copy a table of another catalog into a schema of"
                f" {SESSION_CATALOG}",
                code="other-catalog",
            )
        if not isinstance(table.this, exp.Identifier):
            raise Refusal(
                "a function stands in FROM",
                table.sql("spark"),
                UPSTREAM + ", or static: meta: {arrival: static}",
                code="function-in-from",
            )
    for named in tree.find_all(exp.DataType):
        if named.is_type(exp.DType.TIME):
            raise Refusal(
                "the type TIME is not supported", "TIME", "use TIMESTAMP, or text", code="time-type"
            )


@lru_cache(maxsize=1_000)  # asked of the same text on every run of a warm process
def relation_names(sql: str) -> tuple[str, ...]:
    """Normalized names of all relations that a text reads, its own CTEs left out.

    >>> relation_names("with c as (select 1 from Db.A) select * from c join `db`.`b` using (k)")
    ('db.b', 'db.a')
    """
    tables = parse(sql).find_all(exp.Table)
    return tuple(dict.fromkeys(table_name(table) for table in tables if not is_cte(table)))


def is_cte(table: exp.Table) -> bool:
    """Return whether the name is that of a CTE, visible to those after it and to its query.

    >>> tree = parse("with c as (select 1 from c) select * from c")
    >>> [is_cte(table) for table in tree.find_all(exp.Table)]
    [True, False]
    """
    return cte_of(table) is not None


def table_name(table: exp.Table) -> str:
    """The normalized name of a table as it stands in the SQL: the key of ``Catalog.relations``."""
    return ".".join(part.name for part in table.parts).lower()


def _replace_semi_joins(select: exp.Select) -> None:
    """Replace ``a LEFT SEMI JOIN b ON c`` by WHERE EXISTS (b WHERE c) over the rows of a.

    WHERE is applied when everything is joined: that is the same, unless a join after it keeps the
    rows of its right side that have no match in the left.
    """
    kept: list[exp.Join] = []
    joins = select.args.get("joins") or []
    for number, join in enumerate(joins):
        if join.kind not in _A:
            kept.append(join)
            continue
        for after in joins[number + 1 :]:
            if after.side in ("RIGHT", "FULL"):
                raise Refusal(
                    f"a {after.side} JOIN after {_A[join.kind]} join",
                    f"{join.sql('spark')} {after.sql('spark')}",
                    f"put what stands before the {after.side} JOIN into a CTE",
                    code="ambiguous-join",
                )
        inner = exp.select("1").from_(join.this.copy())
        if join.args.get("using") or join.method:
            inner = inner.where(*semi_join_using(select, join, kept))
        if join.args.get("on") is not None:
            inner = inner.where(join.args["on"].copy())
        condition: exp.Expr = exp.Exists(this=inner)
        if join.kind == "ANTI":
            condition = exp.Not(this=condition)
        select.where(condition, copy=False)
    if select.args.get("joins"):
        select.set("joins", kept)


def _refuse_nested_semi_joins(tree: exp.Query) -> None:
    """Raise Refusal for semi joins on the right of another join, where there is no WHERE."""
    for join in tree.find_all(exp.Join):
        if join.kind in _A:
            raise Refusal(
                f"{join.kind} JOIN on the right side of another join",
                join.sql("spark").strip(),
                "write it as [NOT] EXISTS in WHERE, or in a subquery: (SELECT ... WHERE ...) AS q",
                code="ambiguous-join",
            )


def _tokens(sql: str) -> list[Token]:
    """The text's tokens; a quote that is doubled inside a string is one quote, as Spark has it.

    ``named_struct`` has another name in them: ``name_fields`` reads it. So has a column in
    ``list[0]``, which the parser would take for a list of one.

    >>> [token.text for token in _tokens("'it''s' 'me'")]
    ["it's", 'me']
    """
    tokens: list[Token] = []
    for token in read_tokens(sql):
        last = tokens[-1] if tokens else None
        both = last is not None and last.token_type == token.token_type == TokenType.STRING
        if last is not None and both and token.start == last.end + 1:
            quote = sql[token.start]
            if quote == sql[last.end]:
                text = f"{last.text}{quote}{token.text}"
                whole = Token(TokenType.STRING, text, last.line, last.col, last.start, token.end)
                tokens[-1] = whole
                continue
        if any(comment.endswith("\\") for comment in token.comments):
            raise Refusal(
                "a comment ends with a backslash: to Spark the next line is a part of it",
                token.comments[-1].strip(),
                "write something behind the backslash",
                code="ambiguous",
            )
        if token.token_type == TokenType.PIPE_GT:
            raise Refusal(
                "the pipe syntax is not supported: its steps would be read in another order",
                f"{token.text} …",
                "write each step as a CTE, or as one SELECT",
                code="pipe-syntax",
            )
        if token.text.lower() == "named_struct" and token.token_type == TokenType.VAR:
            token = _renamed(token, TokenType.VAR, NAMED_STRUCT)
        if last is not None and token.token_type == TokenType.L_PAREN:
            plain = len(tokens) < 2 or tokens[-2].token_type != TokenType.DOT
            if plain and last.text.lower() == "percentile" and last.token_type == TokenType.VAR:
                tokens[-1] = _renamed(last, TokenType.VAR, PERCENTILE)
        if last is not None and token.token_type == TokenType.L_BRACKET and _makes_array(last):
            tokens[-1] = _renamed(last, TokenType.IDENTIFIER, f"{_ELEMENT_OF}{last.text}")
        tokens.append(token)
    return tokens


def _makes_array(token: Token) -> bool:
    return token.token_type != TokenType.STRING and token.text.lower() in ("array", "list")


def _renamed(token: Token, kind: TokenType, text: str) -> Token:
    return Token(kind, text, token.line, token.col, token.start, token.end)


def _name_again(tree: exp.Query) -> None:
    for identifier in tree.find_all(exp.Identifier):
        if identifier.name.startswith(_ELEMENT_OF):
            identifier.set("this", identifier.name.removeprefix(_ELEMENT_OF))


def _first_line(error: BaseException) -> str:
    return str(error).replace("\x1b[4m", "").replace("\x1b[0m", "").strip()
