"""A corpus of hostile files: one costs its own row, or one note, and nothing else."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from tests.advise.made import PROJECT, made, of

from tapestry.advise.described import spark_type
from tapestry.advise.files import Unreadable
from tapestry.advise.plain import load
from tapestry.advise.records import CONTINUOUS
from tapestry.errors import ConfigurationError

LEVELS = 30


def bomb(key: str) -> str:
    """A value that stands for 9 ** LEVELS others, in a few hundred characters."""
    lines = ["x0: &x0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]"]
    for n in range(1, LEVELS):
        lines.append(f"x{n}: &x{n} [{', '.join([f'*x{n - 1}'] * 9)}]")
    return "\n".join([*lines, f"{key}: *x{LEVELS - 1}"])


def merged() -> str:
    """The same by merge keys."""
    lines = ["x0: &x0 {a: 1}"]
    for n in range(1, LEVELS):
        lines.append(f"x{n}: &x{n} {{<<: [{', '.join([f'*x{n - 1}'] * 9)}]}}")
    return "\n".join(lines)


DEEP = "array<" * 100_000 + "int" + ">" * 100_000
HOSTILE = {
    "aliases": bomb("models"),
    "aliases in a key": bomb("models: [{name: good, config: {unique_key: 1}}]\ny"),
    "merges": merged(),
    "a circle": "models: &a [{name: x, config: *a}]",
    "a circle of mappings": "a: &a {b: *a}",
    "levels": "models: " + "[" * 100_000 + "]" * 100_000,
    "levels of blocks": "\n".join(" " * n + "a:" for n in range(1_300)),
    "a long number": "a: " + "9" * 900_000,
    "a number of many bits": "a: 0x" + "f" * 900_000,
    "sixty": "a: " + "1" + ":59" * 100_000,
    "an object": "a: !!python/object/apply:os.system ['touch /tmp/owned']",
    "bytes": "models: [{name: !!binary gIGC, columns: !!set {a, b}}]",
    "no text": b"\xff\xfe\x00a",
    "a long file": b"a: " + b"x" * 2_000_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_yaml_is_bounded(tmp_path: Path, name: str) -> None:
    begun = time.monotonic()
    good = "{{ config(materialized='table') }} select id from s.t"
    described = "models: [{name: good, columns: [{name: id, data_type: bigint}]}]"
    files = {"models/bad.yml": HOSTILE[name], "models/good.sql": good, "models/z.yml": described}
    found = made(tmp_path, files)
    assert (of(found, "good").kind, len(found.models)) == (CONTINUOUS, 1)
    assert len([one for one in found.notes if one.startswith("models/bad.yml")]) <= 1
    assert time.monotonic() - begun < 45
    assert len(str(found.as_json())) < 10_000


@pytest.mark.parametrize("name", ["aliases", "a circle", "levels", "a long file"])
def test_what_stands_for_too_much_is_said(tmp_path: Path, name: str) -> None:
    found = made(tmp_path, {"models/bad.yml": HOSTILE[name], "models/m.sql": "select 1 as a"})
    (note,) = [one for one in found.notes if one.startswith("models/bad.yml could not be read")]
    assert len(note) < 400


@pytest.mark.parametrize("key", ["vars", "models", "model-paths", "name"])
def test_the_project_s_own_file_is_bounded(tmp_path: Path, key: str) -> None:
    good = "{{ config(materialized='table') }} select id from s.t"
    files = {"dbt_project.yml": f"name: shop\n{bomb(key)}\n", "models/good.sql": good}
    found = made(tmp_path, files)
    assert of(found, "good").kind == CONTINUOUS
    assert found.notes[0].startswith("dbt_project.yml could not be read")


def test_a_type_of_many_levels_is_no_type(tmp_path: Path) -> None:
    said = f"models: [{{name: m, columns: [{{name: id, data_type: '{DEEP}'}}]}}]"
    files = {
        "models/m.yml": said,
        "models/m.sql": "{{ config(materialized='table') }} select id from s.t",
        "models/n.sql": "{{ config(materialized='table') }} select id from {{ ref('m') }}",
    }
    found = made(tmp_path, files)
    assert {one.kind for one in found.models} == {CONTINUOUS}
    assert spark_type(DEEP, "spark") == ""
    assert spark_type("array<struct<a:int>>", "spark") == "array<struct<a: int>>"
    assert spark_type("VARIANT", "snowflake") == "variant"


@pytest.mark.parametrize(
    "text",
    [
        "{% macro a() %}{% if %}",
        "{% macro a() %}" + "{{ (" * 3_000 + "1" + ") }}" * 3_000 + "{% endmacro %}",
        "{% macro a() %}{{ " + "(" * 100_000 + "1" + ")" * 100_000 + " }}{% endmacro %}",
        "{% macro a() %}{{ " + "1+" * 200_000 + "1 }}{% endmacro %}",
        "{% macro a() %}" + "{% if 1 %}" * 5_000 + "{% endif %}" * 5_000 + "{% endmacro %}",
    ],
)
def test_macros_are_read_one_file_after_another(tmp_path: Path, text: str) -> None:
    files = {
        "macros/a_bad.sql": text,
        "macros/b_good.sql": "{% macro b() %}id{% endmacro %}",
        "models/good.sql": "{{ config(materialized='table') }} select {{ b() }} from s.t",
    }
    assert of(made(tmp_path, files), "good").kind == CONTINUOUS


@pytest.mark.parametrize(
    "config",
    [
        "unique_key=[['a'] * 9999999]",
        "unique_key='a' * 5000000",
        "materialized='table', unique_key={'a': 1}",
    ],
)
def test_what_a_template_says_of_itself_is_bounded(tmp_path: Path, config: str) -> None:
    found = made(tmp_path, {"models/m.sql": f"{{{{ config({config}) }}}} select id from s.t"})
    assert len(str(found.as_json())) < 10_000


def test_variables_that_are_jinja_cost_their_readers_only(tmp_path: Path) -> None:
    loop = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}{{ 1 }}"
    files = {
        "dbt_project.yml": PROJECT + f'vars: {{bad: "{loop}", good: id}}\n',
        "models/bad.sql": "{{ config(materialized='table') }} select {{ var('bad') }} from s.t",
        "models/good.sql": "{{ config(materialized='table') }} select {{ var('good') }} from s.t",
    }
    found = made(tmp_path, files)
    assert of(found, "good").kind == CONTINUOUS
    assert "too much" in of(found, "bad").reason


@pytest.mark.parametrize("text", [bomb("a"), "[1]", "a: [", "- x"])
def test_variables_of_the_command_line_are_bounded(tmp_path: Path, text: str) -> None:
    from tapestry.advise.survey import survey

    (tmp_path / "dbt_project.yml").write_text(PROJECT)
    with pytest.raises(ConfigurationError, match="--vars is no YAML mapping"):
        survey(tmp_path, variables=text)


def test_plain_values_stay() -> None:
    said = "a: [1, 2.5, true, null, x, 2026-01-02]\nb: &b {c: d}\ne: *b\n3: 4"
    assert load(said) == {
        "a": [1, 2.5, True, None, "x", "2026-01-02"],
        "b": {"c": "d"},
        "e": {"c": "d"},
        "3": 4,
    }
    with pytest.raises(Unreadable, match="more than is read"):
        load(bomb("a"))


@pytest.mark.parametrize("columns", ["*", "a.x, b.y"])
def test_a_chain_of_ctes_each_read_twice_is_read_once(tmp_path: Path, columns: str) -> None:
    """There are 2^200 ways to the first one."""
    chain = [f"c{i} as (select {columns} from c{i - 1} a, c{i - 1} b)" for i in range(1, 200)]
    first = "c0 as (select * from {{ source('raw', 't') }})"
    text = f"with {', '.join([first, *chain])} select x, y, z from c199 p, c0 q"
    began = time.process_time()
    found = made(tmp_path, {"models/m.sql": "{{ config(materialized='table') }} " + text})
    assert of(found, "m").code == "too-costly"
    assert time.process_time() - began < 10
