"""Actions in Python over tables of a test: their text as dbt compiles it."""

from __future__ import annotations

import json
from dataclasses import replace
from textwrap import dedent
from typing import Any

from tests.spark.rule_world import Rules

from tapestry.runs.kinds.registry import parse_config
from tapestry.runs.model.model import Model

COMPILED = """
# This part is user provided model code

def ref(*args, **kwargs):
    refs = {refs}
    key = '.'.join(args)
    return kwargs["dbt_load_df_function"](refs[key])


def source(*args, dbt_load_df_function):
    sources = {{}}
    key = '.'.join(args)
    return dbt_load_df_function(sources[key])


class config:
    def __init__(self, *args, **kwargs):
        pass


class dbtObj:
    def __init__(self, load_df_function) -> None:
        self.source = lambda *args: source(*args, dbt_load_df_function=load_df_function)
        self.ref = lambda *args, **kwargs: ref(
            *args, **kwargs, dbt_load_df_function=load_df_function
        )
        self.config = config
"""
"""What dbt writes behind an author's text, as far as a call needs it."""


class PythonActions(Rules):
    """A schema with tables, rules over them, and actions in Python."""

    def function(self, name: str, body: str, *names: str, **config: Any) -> Model:
        """An action whose function has this body; ``names`` are what it gives to `dbt.ref`.

        Those that are written with a star are rules: ``"*r"``.
        """
        plain = [one.removeprefix("*") for one in names]
        refs = {one: f"`{self.schema}`.`{one}`" for one in plain}
        lines = dedent(body).strip().splitlines()
        text = "def model(dbt, session):\n" + "".join(f"    {line}\n" for line in lines)
        rules = [f"{self.schema}.{one[1:]}" for one in names if one.startswith("*")]
        mark = f"# /* triggered_by {json.dumps(rules)} */\n" if rules else ""
        made = replace(
            self.model("select 1", name),
            sql=text.replace("{s}", self.schema) + COMPILED.format(refs=json.dumps(refs)) + mark,
            materialized="action",
            file=f"models/{name}.py",
            arrivals={},
        )
        return replace(made, config=parse_config("action", config))
