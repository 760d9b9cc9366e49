"""A model of one of our kinds: its relation, its query, and its configuration."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import timedelta, timezone, tzinfo
from typing import Any

from tapestry.runs.model.declare import Expectation
from tapestry.runs.model.keys import KindKeys, keyed, rows_of
from tapestry.runs.model.values import (
    aliases,
    choice,
    entries,
    expectations,
    interval,
    portion,
    texts,
    whole_number,
)


@dataclass(frozen=True)
class ModelConfig:
    """The author's configuration of a model beside the query (interface, "A model"); all optional.

    These are the keys that code for any kind reads; a kind that has one may have other values for
    it (``Kind.keys``). ``own`` holds those that the kind alone reads, in a dataclass of its own.
    """

    verify: str = keyed(
        choice("sample", "full", "off"),
        """How much of a run is checked against the query before it is published. `sample`: a part
        of the history, another part each time. `full`: every instant and every row. `off`:
        nothing.""",
        word=True,
    )
    verify_share: float = keyed(
        portion(1 / 200),
        """The part of the history that a `sample` checks. With 0.005 the whole history is checked
        once in 200 runs.""",
    )
    on_verify_failure: str = keyed(
        choice("fail", "warn"),
        """The reaction if a check fails. `fail`: nothing is published. `warn`: the rows are
        published, with a warning.""",
    )
    on_target_change: str = keyed(
        choice("fail", "accept"),
        """The reaction if another program has written to the table. `fail`: the run stops.
        `accept`: it goes on, for example after answers were deleted on request.""",
    )
    expectations: tuple[Expectation, ...] = keyed(
        expectations(),
        """Conditions that new rows should meet, each with the reaction to rows that violate it.""",
    )
    deterministic_functions: tuple[str, ...] = keyed(
        texts("functions", "[slug, shop.slug]"),
        """User-defined functions that the query may call, like `slug` or `shop.slug`, and that
        return equal values for equal arguments. A name without a schema stands for the function in
        any schema. A run does not notice if a function is redefined.""",
    )
    memories: str | tuple[str | tuple[str, str], ...] = keyed(
        aliases("auto", "on", "off"),
        """Whether rows are kept between runs, so that later runs read less. `auto`: if it pays.
        `off`: never. A list of aliases, like `[r1, r2]`: for each of them, the rows of its source
        that the query can need are kept in a table that all models of the schema share, even if it
        does not pay. A pair in the list, like `[[r1, r2]]`: the joined rows of the two are kept as
        well, in a table of their own (a stored join). For a query with groups, the state of each
        group is kept in `<model>__memory`: with `auto` if a source is larger than 32 MiB, with `on`
        always.""",
    )
    deliver: tuple[Any, ...] = keyed(
        entries(),
        """The destinations of new answers besides the table: files, mail, webhooks, other
        tables.""",
    )
    every: timedelta | None = keyed(
        interval(),
        """How often `tapestry watch` runs the model. Default: its option `--every`.""",
        word=True,
    )
    priority: int = keyed(
        whole_number(
            0,
            "write one like 10; the greater number goes first, 0 is the default",
        ),
        """The order of models that are due: `tapestry watch` runs the model with the greatest
        number first, with the models that it reads. `tapestry run` and `tapestry replay` use the
        same order.""",
    )
    own: Any = None

    @classmethod
    def parse(
        cls,
        config: Mapping[str, Any],
        keys: KindKeys,
        known: Collection[str] = (),
        zone: tzinfo = timezone.utc,
    ) -> ModelConfig:
        """Read a dbt model's configuration, ``meta`` included, by the keys of the model's kind.

        Raises ConfigurationError as ``KindKeys.read`` does.
        """
        values = keys.read(config, known, zone)
        own = None
        if keys.own is not None:
            rows = rows_of(keys.own)
            own = keys.own(**{field: values[row.name] for field, row in rows.items()})
        return cls(**{row.name: values[row.name] for row in keys.common}, own=own)


COMMON = rows_of(ModelConfig)
SCHEDULE = KindKeys((COMMON["every"], COMMON["priority"]))
"""The interval and the priority of a model in `tapestry watch`; any materialization has them."""
EXPECTATIONS = KindKeys((COMMON["expectations"],))
"""The keys that a model of dbt's own materializations has in addition."""


@dataclass(frozen=True)
class Model:
    """One model of ours as a run sees it.

    relation
        The target's name, dots between the parts.
    arrivals
        The arrivals of the relations that the query may read: normalized name -> arrival column or
        ``static``; several where the project has several entries for one.
    feeds
        Other models read its table.
    fed
        Derived tables that the models which it triggers refer to.
    """

    name: str
    relation: str
    sql: str
    config: ModelConfig = field(default_factory=ModelConfig)
    arrivals: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    file: str = ""
    materialized: str = "continuous"
    """The kind of the model (``runs/kinds/registry.py``)."""
    unique_id: str = ""
    """The id that dbt gives it: the same in every schema."""
    options: str = ""
    """The clauses between the table's properties and AS in CREATE TABLE: partitions, location."""
    properties: Mapping[str, str] = field(default_factory=dict)
    feeds: bool = False
    fed: tuple[str, ...] = ()


def parse_only(keys: KindKeys, config: Mapping[str, Any]) -> ModelConfig:
    """Read only these keys of a configuration, ``meta`` included; others are ignored.

    Raises ConfigurationError for invalid values.
    """

    def ours(place: Mapping[str, Any]) -> dict[str, Any]:
        return {row.name: place[row.name] for row in keys.common if row.name in place}

    return ModelConfig.parse({**ours(config), "meta": ours(config.get("meta") or {})}, keys)


def schedule_of(config: Mapping[str, Any]) -> ModelConfig:
    """Read `every` and `priority` alone of a configuration (``parse_only``)."""
    return parse_only(SCHEDULE, config)
