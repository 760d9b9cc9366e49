"""dbt clone drops a table only once a clone has shown that another can be made of its source."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jinja2
import pytest

from dbt.adapters.tapestry.naming import TapestryRelation

MACRO = Path(__file__).parents[2] / "macros" / "tapestry__create_or_replace_clone.sql"


def relation(schema: str, name: str) -> Any:
    return TapestryRelation.create(schema=schema, identifier=name, type="table")


def cloned(source: Any, there: bool, refused: str = "never") -> list[str]:
    """The statements in order; one that holds ``refused`` fails."""
    sent: list[str] = []

    def send(text: str) -> None:
        if refused in text:
            raise ValueError(text)
        sent.append(text)

    def fail(text: str) -> None:
        raise LookupError(text)

    given = {
        "load_cached_relation": lambda one: one if there else None,
        "run_query": send,
        "adapter": SimpleNamespace(drop_relation=lambda one: sent.append(f"gone: {one}")),
        "exceptions": SimpleNamespace(raise_compiler_error=fail),
    }
    environment = jinja2.Environment(extensions=["jinja2.ext.do"])
    module = environment.from_string(MACRO.read_text("utf-8")).make_module(given)
    made = module.tapestry__create_or_replace_clone(relation("dev", "t"), source)
    return [*sent, made.strip()]


def test_what_is_there_goes_after_a_trial() -> None:
    source = relation("prod", "t")
    last = "create table dev.t shallow clone prod.t"
    assert cloned(source, there=False) == [last]
    trial = "create table dev.t__dbt_tmp shallow clone prod.t"
    first = "drop table if exists dev.t__dbt_tmp"
    dropped = "drop table dev.t__dbt_tmp"
    assert cloned(source, there=True) == [first, trial, dropped, "gone: dev.t", last]
    with pytest.raises(ValueError, match="shallow clone"):
        cloned(source, there=True, refused="shallow clone")


@pytest.mark.parametrize("source", [relation("DEV", "t"), relation("dev", "T")])
@pytest.mark.parametrize("there", [True, False])
def test_a_table_is_no_clone_of_itself_in_other_letters(source: Any, there: bool) -> None:
    with pytest.raises(LookupError, match="nothing was written"):
        cloned(source, there=there)
