"""What docs/how-to says of maintained tables, by dbt on Spark: the models and statements there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import yaml
from dbt.tests.util import run_dbt, write_file
from tests.docs.pages import ROOT, Part, parts

pytestmark = pytest.mark.more

SOURCES = """
sources:
  - name: shop
    schema: "{{ target.schema }}"
    tables:
      - {name: customers}
      - {name: orders}
      - {name: customer_orders}
      - {name: dated, config: {loaded_at_field: ts}}
"""
EVENTS = """
{{ config(materialized='continuous') }}
select id, customer from {{ source('shop', 'dated') }}
"""


def blocks(page: str) -> list[Part]:
    return parts(ROOT / f"docs/how-to/{page}.md")


def titled(page: str, title: str) -> str:
    (found,) = (part.text for part in blocks(page) if part.title == title)
    return found


def statements(page: str) -> list[str]:
    """The statements of a page that no model is, in order."""
    return [part.text for part in blocks(page) if part.language == "sql" and part.mark == "not run"]


def fill(project: Any, page: str, name: str, number: int) -> None:
    """A table with the rows that a page shows of it, the first time or a later one."""
    shown = [p for p in blocks(page) if p.mark == "rows" and p.said.split()[0] == f"shop.{name}"]
    head, *body = shown[number].cells
    ids = ("id", "customer") if name == "customer_orders" else ("id", "amount")
    shape = ", ".join(f"{one} {'int' if one in ids else 'string'}" for one in head)
    project.run_sql(f"create or replace table {{schema}}.{name} ({shape}) using delta")
    rows = ", ".join("(" + ", ".join(f"'{cell}'" for cell in row) + ")" for row in body)
    project.run_sql(f"insert into {{schema}}.{name} values {rows}")


def rows(project: Any, query: str) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in project.run_sql(query, fetch="all")), key=str)


class TestVersionsByASnapshot:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        text = titled("slowly-changing", "models/customers_now.sql")
        return {"customers_now.sql": text, "sources.yml": SOURCES}

    @pytest.fixture(scope="class")
    def snapshots(self) -> dict[str, str]:
        text = titled("slowly-changing", "snapshots/customer_versions.yml")
        return {"customer_versions.yml": text}

    def test_each_version_has_its_time(self, project: Any) -> None:
        fill(project, "slowly-changing", "customers", 0)
        fill(project, "slowly-changing", "customer_orders", 0)
        build = ["build", "--select", "customers_now", "customer_versions"]
        run_dbt(build)
        shown = "select name, region, dbt_valid_to is null from {schema}.customer_versions"
        assert rows(project, shown) == [("ann", "north", True), ("bob", "south", True)]
        project.run_sql("update {schema}.customers set region = 'west' where name = 'bob'")
        project.run_sql("insert into {schema}.customer_orders values (11, 1)")
        run_dbt(build)
        assert rows(project, shown) == [
            *(("ann", "north", True), ("bob", "south", False), ("bob", "west", True))
        ]
        project.run_sql("delete from {schema}.customers where name = 'ann'")
        run_dbt(build)
        assert rows(project, shown)[0] == ("ann", "north", False)


class TestErasure:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        maintained = titled("erasure", "models/sold.sql")
        (said,) = (p.text for p in blocks("erasure") if p.language == "yaml")
        told = yaml.safe_load(said)["models"][0]
        told["name"] = "events"
        schema = yaml.safe_load(SOURCES) | {"models": [told]}
        return {"sold.sql": maintained, "events.sql": EVENTS, "schema.yml": yaml.safe_dump(schema)}

    def test_what_was_deleted_is_gone(self, project: Any, as_of: Callable[[str], None]) -> None:
        delete, vacuum = (
            text.replace("shop.", f"{project.test_schema}.") for text in statements("erasure")
        )
        fill(project, "erasure", "orders", 0)
        shape = "id int, customer string, ts timestamp"
        tracked = "tblproperties ('delta.enableRowTracking' = 'true')"
        project.run_sql(f"create table {{schema}}.dated ({shape}) using delta {tracked}")
        for person in ("ann", "bob"):
            project.run_sql(
                f"insert into {{schema}}.dated values (1, '{person}', timestamp'2026-03-01')"
            )
        as_of("2026-03-02")
        run_dbt(["run"])
        assert rows(project, "select * from {schema}.sold") == [("milk", 1, 2), ("tea", 2, 8)]
        project.run_sql(delete)
        project.run_sql("delete from {schema}.dated where customer = 'ann'")
        as_of("2026-03-03")
        run_dbt(["run"])
        assert rows(project, "select * from {schema}.sold") == [("tea", 1, 3)]
        people = "select customer from {schema}.events"
        assert rows(project, people) == [("ann",), ("bob",)], "an answer stays"
        project.run_sql("delete from {schema}.events where customer = 'ann'")
        as_of("2026-03-04")
        run_dbt(["run"])
        assert rows(project, people) == [("bob",)], "and does not come again"
        project.run_sql(vacuum)
        run_dbt(["run"])
        run_dbt(["run", "--full-refresh"])
        assert rows(project, people) == [("bob",)]
        assert rows(project, "select * from {schema}.sold") == [("tea", 1, 3)]


class TestViewsThatStayCurrent:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        (above,) = (part.text for part in blocks("current-views") if part.mark == "spark")
        return {
            "spent.sql": titled("current-views", "models/spent.sql"),
            "by_region.sql": above,
            "sources.yml": SOURCES,
        }

    def test_the_tables_and_the_line(self, project: Any, as_of: Callable[[str], None]) -> None:
        def fill_both(number: int) -> None:
            for name in ("customers", "orders"):
                fill(project, "current-views", name, number)

        fill_both(0)
        as_of("2026-03-02")
        run_dbt(["run"])
        assert rows(project, "select * from {schema}.spent") == [
            *(("ann", "north", 2, 42), ("bob", "south", 1, 8))
        ]
        fill_both(1)
        as_of("2026-03-03")
        told = {one.node.name: one.message for one in run_dbt(["run"])}
        assert told["spent"] in next(
            part.text for part in blocks("current-views") if part.language == "text"
        )
        assert rows(project, "select * from {schema}.by_region") == [("north", 30), ("west", 12)]

    def test_from_a_table(self, project: Any) -> None:
        """The page says: once with --full-refresh."""
        table = titled("current-views", "models/spent.sql").replace("maintained", "table")
        write_file(table, project.project_root, "models", "changing.sql")
        fill(project, "current-views", "customers", 0)
        fill(project, "current-views", "orders", 0)
        run_dbt(["run", "--select", "changing"])
        write_file(
            table.replace("table", "maintained"), project.project_root, "models", "changing.sql"
        )
        run_dbt(["run", "--select", "changing"], expect_pass=False)
        run_dbt(["run", "--select", "changing", "--full-refresh"])
        run_dbt(["run", "--select", "changing"])
        assert len(rows(project, "select * from {schema}.changing")) == 2
