"""Names and values of every shape, through every kind of model and every command, on Spark."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from dbt.tests.util import run_dbt
from tests.command import tapestry_on
from tests.odd_texts import TEXTS

# A CSV file has no NUL, and dbt's reader takes an empty cell for NULL and \r\n for \n.
VALUES = dict(
    enumerate((t.replace("\r\n", "\n") for t in TEXTS.values() if t.strip() and "\x00" not in t), 1)
)
ODD = 'o\'dd \\ -- "x"; /* é😀 {a} select'
PLAIN_ODD = f"`{ODD}`"
MAPPED = "tblproperties={'delta.columnMapping.mode': 'name'}"
DESCRIPTION = (
    'it\'s (\\d+) C:\\new ${env:HOME} \\ {% raw %}{{ a }}{% endraw %} -- "b" 😀\n |-- a: int'
    " (nullable = true)\nType: VIEW\n" + "x\\'" * 1500
)
PATTERN = "(\\d+) ${env:HOME} 'a' 😀"
SAID = DESCRIPTION.replace("{% raw %}", "").replace("{% endraw %}", "")
LISTED = [text for text in VALUES.values() if "{{" not in text]

ACCEPTED_VALUES = {number: text for number, text in VALUES.items() if text in LISTED[1:]}
RENDERED = [number for number, text in VALUES.items() if text not in LISTED]
ACCEPTED = {
    "accepted_values": {
        "arguments": {"values": LISTED},
        # dbt renders the values, Jinja's braces in them too.
        "config": {"where": f"id not in ({', '.join(map(str, RENDERED))})"},
    }
}

MODELS = {
    "as_table.sql": (
        f"{{{{ config(materialized='table', {MAPPED}) }}}} select * from {{{{ ref('odd') }}}}"
    ),
    "as_csv.sql": (
        "{{ config(materialized='table', file_format='csv') }} select 1 as id, 'it''s' as said"
    ),
    "as_view.sql": "select * from {{ ref('odd') }}",
    "growing.sql": (
        f"{{{{ config(materialized='incremental', unique_key='id', {MAPPED}) }}}}"
        " select * from {{ ref('odd') }}"
    ),
    "answers.sql": (
        f"{{{{ config(materialized='continuous', {MAPPED}) }}}}\n"
        f"select m.id, m.{PLAIN_ODD}, '$\\{{env:HOME}}' as kept, 'it''s' as s\n"
        "from {{ ref('odd') }} m where now() >= m.ts + interval 1 day"
    ),
    "by_hand.sql": (
        f"{{{{ config(materialized='incremental', {MAPPED}) }}}} "
        f"select id, {PLAIN_ODD}, timestamp'2026-01-02' as loaded_at from {{{{ ref('odd') }}}}"
    ),
}
SCHEMA = {
    "version": 2,
    "seeds": [
        {
            "name": "odd",
            "config": {"meta": {"arrival": "ts"}, "column_types": {ODD: "string"}},
            "columns": [{"name": ODD, "quote": True}],
        }
    ],
    "models": [
        {
            "name": "answers",
            "description": DESCRIPTION,
            "config": {
                "persist_docs": {"relation": True, "columns": True},
                "deliver": [
                    {"name": "copy", "to": "table", "table": "odd_copy"},
                    {"name": "file", "to": "file", "path": "out"},
                ],
                "expectations": [
                    {
                        "expect_column_values_to_be_in_set": {
                            "column": ODD,
                            "value_set": LISTED[1:],
                        },
                        "on_violation": "drop",
                    },
                ],
            },
            "columns": [{"name": ODD, "quote": True, "description": DESCRIPTION}],
        },
        {
            "name": "as_csv",
            "description": DESCRIPTION,
            "config": {
                "persist_docs": {"relation": True, "columns": True},
                "options": {"sep": "|", "quote": "'", "header": True, "nullValue": "\\N"},
                "tblproperties": {"my.pattern": PATTERN, "my.truth": True},
            },
            "columns": [
                {
                    "name": "SAID",
                    "description": DESCRIPTION,
                    "data_tests": [{"matches": {"arguments": {"pattern": "^\\w+'s$"}}}],
                }
            ],
        },
        {
            "name": "as_view",
            "description": DESCRIPTION,
            "config": {"persist_docs": {"relation": True, "columns": True}},
            "columns": [
                {
                    "name": ODD,
                    "quote": True,
                    "description": DESCRIPTION,
                    "data_tests": [ACCEPTED],
                }
            ],
        },
    ],
    "unit_tests": [
        {
            "name": "any_value",
            "model": "by_hand",
            "overrides": {"macros": {"is_incremental": False}},
            "given": [
                {
                    "input": "ref('odd')",
                    "rows": [
                        {"id": number, ODD.lower(): text}
                        for number, text in VALUES.items()
                        if "{{" not in text
                    ],
                }
            ],
            "expect": {
                "rows": [
                    {"id": number, ODD.lower(): text}
                    for number, text in VALUES.items()
                    if "{{" not in text
                ]
            },
        }
    ],
}
MACROS = """
{% test matches(model, column_name, pattern) %}
  select * from {{ model }} where not {{ column_name }} rlike {{ dbt.string_literal(pattern) }}
{% endtest %}
{% macro compare(escaped, plain) %}
  {% for text in escaped %}
    {% set inside = dbt.escape_single_quotes(text) %}
    {% set row = run_query('select ' ~ dbt.string_literal(inside) ~ " as a, '" ~ inside ~ "' as b").rows[0] %}
    {% if row[0] != text or row[1] != text %}{% do exceptions.raise_compiler_error(tojson([text, row[0], row[1]])) %}{% endif %}
  {% endfor %}
  {% for text in plain %}
    {% set row = run_query('select ' ~ dbt.string_literal(text) ~ ' as a').rows[0] %}
    {% if row[0] != text %}{% do exceptions.raise_compiler_error(tojson([text, row[0]])) %}{% endif %}
  {% endfor %}
{% endmacro %}
"""  # noqa: E501
SNAPSHOTS = (
    "{% snapshot kept %}{{ config(unique_key='id', strategy='check', check_cols=['ts'],"
    f" {MAPPED}, target_schema=target.schema) }}}} select * from {{{{ ref('odd') }}}}"
    "{% endsnapshot %}"
)


def _csv() -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["id", "ts", ODD])
    writer.writerows([number, "2026-01-01 00:00:00", value] for number, value in VALUES.items())
    return text.getvalue()


class TestOddTexts:
    """One project, built once, then each command."""

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {**MODELS, "schema.yml": yaml.safe_dump(SCHEMA, allow_unicode=True)}

    @pytest.fixture(scope="class")
    def seeds(self) -> dict[str, str]:
        return {"odd.csv": _csv()}

    @pytest.fixture(scope="class")
    def macros(self) -> dict[str, str]:
        return {"texts.sql": MACROS}

    @pytest.fixture(scope="class")
    def snapshots(self) -> dict[str, str]:
        return {"kept.sql": SNAPSHOTS}

    @pytest.fixture(scope="class")
    def project_config_update(self) -> dict[str, Any]:
        return {"seeds": {"+tblproperties": {"delta.columnMapping.mode": "name"}}}

    def rows(self, project: Any, table: str, column: str = PLAIN_ODD) -> dict[int, str]:
        named = column.replace("{", "{{").replace("}", "}}")  # dbt formats the text
        found = project.run_sql(f"select id, {named} from {{schema}}.{table}", fetch="all")
        assert len(found) == len(dict(found))
        return dict(found)

    def test_every_kind_of_model(self, project: Any, as_of: Callable[[str], None]) -> None:
        as_of("2026-01-01 12:00:00")
        run_dbt(["seed"])
        assert self.rows(project, "odd") == VALUES
        run_dbt(["run", "--select", "answers"])  # no answer yet: the deliveries begin
        as_of("2026-01-05")
        results = run_dbt(["build", "--exclude", "resource_type:seed"])
        assert {str(r.status) for r in results} <= {"success", "pass"}
        for table in ("as_table", "as_view", "growing", "kept", "by_hand"):
            assert self.rows(project, table) == VALUES
        assert self.rows(project, "answers") == ACCEPTED_VALUES
        assert set(self.rows(project, "answers", "kept").values()) == {"${env:HOME}"}
        rejected = self.rows(project, "answers__rejected")
        assert rejected == {n: t for n, t in VALUES.items() if n not in ACCEPTED_VALUES}

    def test_deliveries(self, project: Any) -> None:
        assert self.rows(project, "odd_copy") == ACCEPTED_VALUES
        files = list((Path(project.project_root) / "out").iterdir())
        rows = [
            json.loads(line)
            for file in files
            for line in file.read_text("utf-8").split("\n")
            if line
        ]
        assert {row["id"]: row[ODD] for row in rows} == ACCEPTED_VALUES

    def test_descriptions(self, project: Any) -> None:
        columns = {"answers": ODD, "as_view": ODD, "as_csv": "said"}
        for table, column in columns.items():
            told = project.run_sql(f"describe table extended {{schema}}.{table}", fetch="all")
            assert [row[2] for row in told if row[0] == column] == [SAID]
            assert [row[1] for row in told if row[0] == "Comment"] == [SAID]
        found = dict(project.run_sql("show tblproperties {schema}.as_csv", fetch="all"))
        assert (found["my.pattern"], found["my.truth"]) == (PATTERN, "true")
        assert project.run_sql("select * from {schema}.as_csv", fetch="all") == [(1, "it's")]
        nodes = run_dbt(["docs", "generate"]).to_dict()["nodes"]
        for table, column in columns.items():
            node = nodes[f"model.test.{table}"]
            assert node["metadata"]["comment"] == SAID
            assert node["columns"][column]["comment"] == SAID
            assert node["metadata"]["type"] == ("view" if table == "as_view" else "table")

    def test_string_literals(self, project: Any) -> None:
        texts = [text for text in TEXTS.values() if text]  # dbt's reader takes '' for NULL
        plain = [text for text in texts if "'" not in text]
        given = yaml.safe_dump({"escaped": texts, "plain": plain})
        run_dbt(["run-operation", "compare", "--args", given])

    @pytest.mark.parametrize(
        ("command", "says"),
        [
            (["explain", "answers"], "answers"),
            (["verify", "answers", "--full"], "answers"),
            (["report"], "tapestry_report.html"),
            (["eject", "--dialect", "spark", "--into", "ejected"], "answers"),
            (["doctor"], "odd"),
            (["deliver", "answers"], "answers to copy: nothing new"),
        ],
        ids=lambda value: value[0] if isinstance(value, list) else "",
    )
    def test_commands(self, project: Any, command: list[str], says: str) -> None:
        done = tapestry_on(project, *command)
        assert done.exit_code == 0, done.output
        assert says in done.output
        assert "Traceback" not in done.output
        assert os.environ["HOME"] not in done.output.replace(str(project.project_root), "")

    def test_what_is_no_table_by_hand_is_not_adopted(self, project: Any) -> None:
        done = tapestry_on(project, "adopt", "answers", "--arrived", "_matched_at", "--dry-run")
        assert done.exit_code == 1
        assert "is the table of this continuous model already" in str(done.exception)

    def test_what_was_ejected_holds_the_name(self, project: Any) -> None:
        texts = [f.read_text("utf-8") for f in Path(project.project_root).rglob("ejected/**/*.sql")]
        (model,) = [text for text in texts if "it's" in text or "it''s" in text]
        assert ODD.lower() in model.lower()
        assert os.environ["HOME"] not in model

    def test_verdicts_in_json(self, project: Any) -> None:
        done = tapestry_on(project, "verify", "answers", "--json")
        assert done.exit_code == 0, done.output
        assert [one["status"] for one in json.loads(done.stdout)] == [
            "pass",
            "pass",
        ]  # enough, and not too much

    def test_rewound_and_replayed_it_is_the_same(self, project: Any) -> None:
        back = tapestry_on(project, "rewind", "answers", "--to", "2026-01-01 12:00:00", "--yes")
        assert back.exit_code == 0, back.output
        run_dbt(["ls"])  # a command leaves no adapter behind, which `project` asks for
        assert self.rows(project, "answers") == {}
        period = ["--from", "2026-01-05", "--to", "2026-01-06"]
        again = tapestry_on(project, "replay", *period, "--select", "answers")
        assert again.exit_code == 0, again.output
        run_dbt(["ls"])
        assert self.rows(project, "answers") == ACCEPTED_VALUES

    def test_show(self, project: Any) -> None:
        results = run_dbt(["show", "--select", "answers", "--limit", "100"])
        shown = results[0].agate_table
        assert {
            row["id"]: row[ODD.lower() if ODD not in shown.column_names else ODD]
            for row in shown.rows
        } == VALUES
