"""Texts and names as SQL: read back by parsers of three dialects they are what they were."""

from __future__ import annotations

import duckdb
import jinja2
import pytest
import sqlglot
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot import TokenType, exp
from tests.odd_texts import TEXTS

from dbt.adapters.tapestry.guarded_model import fill
from dbt.adapters.tapestry.naming import TapestryColumn, TapestryRelation
from tapestry import quoting
from tapestry.errors import Refusal
from tapestry.runs.engine.column_types import sql_type
from tapestry.sql import Catalog, Column, Source, rewrite

ANY = st.text(alphabet=st.one_of(st.characters(codec="utf-8"), st.sampled_from("'\\`${}:\x00;-")))
VARIABLE = quoting._REFERENCE


def _value(sql: str) -> str:
    """What an expression of literals, ``||`` and bytes gives; it has nothing else."""
    value = ""
    for token in sqlglot.tokenize(sql, read="spark"):
        if token.token_type == TokenType.STRING:
            value += token.text
        elif token.token_type == TokenType.HEX_STRING:
            value += bytes.fromhex(token.text).decode()
        else:
            assert token.text in ("(", ")", "||", "CAST", "AS", "STRING")
    return value


def _check_string(text: str) -> None:
    sql = quoting.string(text)
    assert "\\" not in sql  # means something in some sessions only
    assert "${" not in sql  # Spark would look for a variable
    assert _value(sql) == text.encode("utf-8", "replace").decode()


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_a_text_is_that_text_in_every_session(text: str) -> None:
    _check_string(text)


@settings(max_examples=200, deadline=None)
@given(ANY)
def test_any_text_is(text: str) -> None:
    _check_string(text)


def test_half_a_character_is_a_question_mark() -> None:
    assert quoting.string("a\ud800") == "'a?'"
    assert quoting.token("a\ud800") == "'a?'"


def test_a_long_text_is_one_token() -> None:
    """Spark's parser recurs into each ``||``."""
    assert quoting.string("'a" * 100).count("||") == 0
    assert quoting.string("'a" * 8).count("||") == 15


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_a_comment_is_one_literal(text: str) -> None:
    sql = quoting.token(text)
    assert not VARIABLE.search(sql)
    (token,) = sqlglot.tokenize(sql, read="spark")
    assert token.text == text
    assert quoting.inside(text) == sql[1:-1]


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_a_name_is_one_name(text: str) -> None:
    if VARIABLE.search(text):
        with pytest.raises(Refusal, match="Spark puts the value of a variable"):
            quoting.identifier(text)
        return
    read = exp.to_identifier(text, quoted=True)
    assert quoting.identifier(text) == read.sql("spark")
    if text:
        column = sqlglot.parse_one(f"SELECT {quoting.identifier(text)}", dialect="spark").selects[0]
        assert column.name == text
    assert quoting.standard_identifier(text) == read.sql("duckdb") == read.sql("postgres")


@pytest.mark.parametrize("dialect", ["spark", "duckdb", "postgres"])
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_what_sqlglot_writes_is_read_back(dialect: str, text: str) -> None:
    """Rewritten and ejected queries are written by it."""
    tree = exp.select(exp.Literal.string(text).as_("a", quoted=True))
    again = sqlglot.parse_one(tree.sql(dialect), dialect=dialect)
    assert again.selects[0].this.this == text
    if text:
        named = exp.select(exp.column(exp.to_identifier(text, quoted=True)))
        assert sqlglot.parse_one(named.sql(dialect), dialect=dialect).selects[0].name == text


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_duckdb_reads_the_same(text: str) -> None:
    if "\x00" in text:
        text = text.replace("\x00", "\ufffd")
    sql = quoting.string(text, "duckdb")
    name = quoting.standard_identifier(text or "x")
    found = duckdb.sql(f"SELECT {sql} AS {name}")
    assert found.columns == [text or "x"]
    assert found.fetchall() == [(text,)]


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_an_ejected_text_goes_through_jinja(text: str) -> None:
    sql = exp.Literal.string(text).sql("spark").replace("\r\n", "\n")
    assert jinja2.Template(fill(sql, {}, {}), keep_trailing_newline=True).render() == sql


CATALOG = Catalog(
    {
        "db.m": Source(
            "db.m",
            (Column("ts", "timestamp"), Column("k", "int"), Column("a b", "string")),
            "ts",
        )
    }
)


def test_a_variable_that_the_author_kept_out_stays_out() -> None:
    query = r"select k, '$\{env:HOME}' as a, '${env:USER}' as b from db.m where k <> '$\{x}'"
    written = rewrite(query, CATALOG).canonical
    assert "${env:HOME}" not in written
    assert "'$' || '{env:HOME}'" in written
    assert "'$' || '{x}'" in written
    assert "'${env:USER}'" in written  # Spark's own, as everywhere


def test_a_name_in_a_comment_does_not_end_it() -> None:
    assert quoting.remark("a\nb\rc\u2028d ${env:HOME}") == "a b c d $ {env:HOME}"


@pytest.mark.parametrize(
    ("part", "rendered"),
    [
        ("plain", "plain"),
        ("lake.raw", "lake.raw"),
        ("`a.b`", "`a.b`"),
        ("my-table", "`my-table`"),
        ("a; drop", "`a; drop`"),
        ("a`b", "`a``b`"),
        ("`a`; drop table `b`", "```a``; drop table ``b```"),
        ("größe", "`größe`"),
    ],
)
def test_schemas_and_aliases_of_any_shape(part: str, rendered: str) -> None:
    relation = TapestryRelation.create(schema=part, identifier=part)
    assert relation.render() == f"{rendered}.{rendered}"
    assert relation.without_identifier().render() == rendered
    quoted = relation.quote(schema=True, identifier=True)
    assert quoted.render().count("``") <= relation.render().count("``") + 8


def test_a_name_with_a_variable_is_no_relation() -> None:
    with pytest.raises(Refusal):
        TapestryRelation.create(schema="s", identifier="${env:HOME}").render()
    assert quoting.relation_name("db.`a.b`.`c``d`") == "`db`.`a.b`.`c``d`"
    assert quoting.relation_name("db.a`; drop") == "`db`.`a; drop`"


def test_types() -> None:
    told = "struct<user-id:decimal(10,2),ts:array<map<string,timestamp_ntz>>>"
    assert sql_type(told) == told.replace("user-id", "`user-id`")
    assert TapestryColumn("c`d", told).data_type == sql_type(told)
    assert TapestryColumn("c`d", told).quoted == "`c``d`"
    for kind in ("interval day to second", "string collate UTF8_LCASE", "geography(any)", "void"):
        assert sql_type(kind) == kind


@pytest.mark.parametrize(
    "name", ["a`b", "a'b", "x) from t; --", "a>b", "a:b", "a,b", "${env:HOME}"]
)
def test_a_field_is_no_way_into_a_type(name: str) -> None:
    """Spark tells nested types without quotes; what cannot be told apart is refused."""
    try:
        written = sql_type(f"struct<{name}:int,ok:string>")
    except Refusal:
        return
    assert sqlglot.parse_one(f"CAST(x AS {written})", dialect="spark").find(exp.DataType)
    assert not VARIABLE.search(written)


def test_a_file_in_from() -> None:
    assert quoting.path("/data/it`s", "parquet") == "parquet.`/data/it``s`"
    with pytest.raises(ValueError, match="no format"):
        quoting.path("/data", "jdbc")
    with pytest.raises(Refusal):
        quoting.path("/data/${env:HOME}", "parquet")


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_what_is_escaped_is_read_back(text: str) -> None:
    assert quoting.unescaped(quoting.escaped(text)) == text
    if "'" not in text:
        assert quoting.unescaped(text) == text


@given(ANY)
def test_any_text_is_escaped_and_read_back(text: str) -> None:
    assert quoting.unescaped(quoting.escaped(text)) == text
    assert not VARIABLE.search(quoting.escaped(text))
