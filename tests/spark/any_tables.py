"""Maintained models over any tables: each is run, and its table compared with the query."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tests.spark.run_world import literal
from tests.spark.test_maintained import Shop

from tapestry.runs.kinds.maintained.reasons import NotIncremental
from tapestry.runs.model.model import Model


class AnyTables(Shop):
    """A schema of tables that a test makes."""

    def do(self, *statements: str) -> None:
        """Execute statements in which ``{s}`` is the schema."""
        for one in statements:
            self.session.run(one.replace("{s}", self.schema))

    def kept(self, *texts: str, **config: Any) -> list[Model]:
        """A model of each query."""
        return [
            replace(
                self.maintained("", f"kept_{number}", **config),
                sql=text.replace("{s}", self.schema),
            )
            for number, text in enumerate(texts)
        ]

    def agree(self, models: Sequence[Model], seconds: float) -> list[str]:
        """Run the models; each table is the answer. How each run was done.

        One that cannot be kept by what changed is computed whole.
        """
        told = []
        for model in models:
            try:
                told.append(str(self.run(model, seconds)))
            except NotIncremental:
                config = replace(model.config, own=replace(model.config.own, refresh="auto"))
                told.append(str(self.run(replace(model, config=config), seconds)))
            shown = self.bag(f"select * from {self.schema}.{model.name}")
            wanted = self.bag(model.sql.replace("now()", literal(seconds)))
            assert shown == wanted, (
                f"{model.sql}\nlacks {list(wanted - shown)[:5]}\n"
                f"has {list(shown - wanted)[:5]}\n{told[-1]}"
            )
        return told

    def bag(self, sql: str) -> Counter[str]:
        """Rows as texts, so that lists and structs can be counted; -0.0 is 0.0 (limitations)."""
        return Counter(
            repr(tuple(0.0 if one == 0.0 and isinstance(one, float) else one for one in row))
            for row in self.session.rows(sql)
        )
