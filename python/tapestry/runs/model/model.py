"""A continuous model: its relation, its query, and what its author configured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime, timedelta, timezone, tzinfo
from difflib import get_close_matches
from typing import Any

from tapestry.errors import ConfigurationError
from tapestry.runs.engine.instants import parse_every, parse_instant, parse_length
from tapestry.runs.model.declare import Expectation, parse_expectations

CHOICES: Mapping[str, tuple[str, ...]] = {
    "late_rows": ("deliver", "warn", "fail"),
    "on_source_rewrite": ("fail", "deletes_ok", "refresh"),
    "on_query_change": ("fail", "continue", "refresh"),
    "on_target_change": ("fail", "accept"),
    "on_schema_change": ("fail", "ignore", "append_new_columns"),
    "verify": ("sample", "full", "off"),
    "on_verify_failure": ("fail", "warn"),
    "running_values": ("warn", "wanted"),
    "infer": ("on", "off"),
}
"""The values that a key takes; the first is the default."""

REFUSED: Mapping[tuple[str, str], str] = {
    ("on_schema_change", "sync_all_columns"): (
        "it would take columns away, and nothing is ever taken back: append_new_columns keeps a"
        " column that the query no longer has, and --full-refresh builds the table anew"
    ),
}
"""Values that dbt users know and that a continuous model cannot have: why, and what there is."""

SCHEDULE = ("every", "priority")
"""How often `tapestry watch` runs a model, and which goes first; any materialization has them."""
OTHERS = (
    "late_after",
    "begin",
    "lag",
    "instants_limit",
    "assume",
    "deterministic_functions",
    "arrival",
    "expectations",
    "verify_share",
    "deliver",
    "memories",
    "join_order",
)
MEMORIES = ("auto", "on", "off")
KEYS = (*CHOICES, *OTHERS, *SCHEDULE)
_LISTS = {
    "assume": ("conditions", '["r.ts >= m.ts"]'),
    "deterministic_functions": ("functions", "[slug, shop.slug]"),
    "join_order": ("aliases", "[r3, r2, r1]"),
}
NOT_KEYS = {"lag", "begin", "assume", "verify", "arrival", "every", "infer"}
"""Short or common words: one that is two letters away is more likely another package's key, and
so is any that is near to `lag`."""


@dataclass(frozen=True)
class ModelConfig:
    """What the author of a model says beside the query (interface, "A model"); all optional."""

    late_rows: str = "deliver"
    """What to do with rows that come `late_after` or more after their time. `deliver`: they count
    as arrived now. `warn`: the same, with a warning. `fail`: the run stops."""
    late_after: timedelta = timedelta(hours=1)
    """How late a row may be before `late_rows: warn` or `fail` minds. With `deliver` it has no
    effect."""
    on_source_rewrite: str = "fail"
    """What to do when rows of a source were changed or deleted since the last run. `fail`: stop.
    `deletes_ok`: deleted rows are gone from now on, their answers stay; a query that asks what was
    there before (subqueries, outer joins, DISTINCT and the like) keeps them, with their end, in
    `<model>__late_…`. `refresh`: build the table again."""
    on_query_change: str = "fail"
    """What to do when the query is not the one of the last run, in more than the columns of its
    select list. `fail`: stop. `continue`: the
    table stays, the new query counts from the end of the last run on, or from a later `begin`.
    `refresh`: build the table
    again."""
    on_target_change: str = "fail"
    """What to do when somebody else wrote to the table. `fail`: stop. `accept`: go on, for example
    after answers were deleted on request."""
    on_schema_change: str = "fail"
    """dbt's own key, for a query with other columns than its table has; one whose new type the
    table's column does not hold stops the run in any case. Where nothing else changed (a source
    under `*` has a new column) this key alone is asked, `on_query_change` is not. `fail`: stop.
    `ignore`: new columns are left out. `append_new_columns`: they are added, NULL in the rows that
    are there."""
    verify: str = "sample"
    """How much of a run is checked against the query before it is published. `sample`: a part of
    the history, another part each time. `full`: every instant and every row. `off`: nothing."""
    on_verify_failure: str = "fail"
    """What to do when that check fails. `fail`: publish nothing. `warn`: publish and warn."""
    running_values: str = "warn"
    """What to say where the select list shows a count or another value that changes as rows come:
    every value that it ever had is an answer. `warn`: a run says so. `wanted`: it is meant."""
    memories: str | tuple[str | tuple[str, str], ...] = "auto"
    """What is kept between runs so that they read less. `auto`: where it pays. `off`: nothing. A
    list of aliases, like `[r1, r2]`: of each, those rows of its source that the query can need, in
    a table that all models of the schema share, whether that pays or not. A pair in it, like
    `[[r1, r2]]`: also those rows of the two that the query joins, beside each other, in a table of
    their own (a stored join). Of a query with groups, what is known of each group is kept in
    `<model>__memory`: with `auto` where a source is larger than 32 MiB, with `on` always."""
    infer: str = "on"
    """Whether a run also reads its tables by what the conditions of the query imply of each of
    them, of `r1.amount > 100 and r2.amount = r1.amount` that `r2.amount > 100`, and by the least
    and greatest values of its new rows, where the tables are large. Answers are the same either
    way; `tapestry explain` shows what is implied, and by what. `off`: only by what is written."""
    join_order: tuple[str, ...] = ()
    """In which order a run joins its tables, by their aliases in FROM, like `[r3, r2, r1]`. Answers
    are the same in any order. Without it: first the table in which a run looks for what is new, or
    due, then each time, of those that an equality joins to these, the one of which the least is
    read; `tapestry explain` shows the order. What the list leaves out follows by that rule, except
    that the table with the new rows stays in front unless it is in the list. LEFT JOINs to static
    tables come last in any case."""
    verify_share: float = 1 / 200
    """The part of the history that a `sample` looks at. With 0.005 all of it is seen once in 200
    runs."""
    begin: datetime | None = None
    """The first instant of interest: what was an answer only before it is left out, and what was
    one already begins there. Without it: all of history."""
    lag: timedelta = timedelta(0)
    """The run goes up to now minus this. It gives slow loaders time, at the price of later
    answers."""
    instants_limit: int = 1_000_000_000
    """A query with aggregates, window functions or LIMIT is evaluated at each instant at which its
    answer may change. So many pairs of an instant and a row may a run look at; with more it stops
    before it computes them."""
    assume: tuple[str, ...] = ()
    """Orders of two arrival columns that always hold, like `r.ts >= m.ts`. They make runs cheaper.
    Of a view or CTE that is used twice an order speaks of each use for itself. Each run checks them
    on its new rows and those of the week before, and stops where one does not hold."""
    deterministic_functions: tuple[str, ...] = ()
    """User-defined functions that the query may call, like `slug` or `shop.slug`: equal arguments
    always give equal values. Without a schema the name stands for the function in any schema.
    Nothing notices a function that is defined anew."""
    expectations: tuple[Expectation, ...] = ()
    """What new rows have to look like, and what to do with one that does not."""
    deliver: tuple[Any, ...] = ()
    """Where new answers go besides the table: files, mail, webhooks, other tables."""
    every: timedelta | None = None
    """How often `tapestry watch` runs the model. Without it: as often as its option `--every`
    says."""
    priority: int = 0
    """Of two models that are due, `tapestry watch` runs the one with the greater number first, with
    what it reads; `tapestry run` and `tapestry replay` run the greatest numbers first."""

    @classmethod
    def parse(
        cls,
        config: Mapping[str, Any],
        known: frozenset[str] = frozenset(),
        zone: tzinfo = timezone.utc,
    ) -> ModelConfig:
        """Read a dbt model's configuration, ``meta`` included; the model's own keys come first.

        ``known`` are the keys of dbt and of the adapter; any other key that is one of ours but for
        its spelling is an error.  Raises ConfigurationError, which lists the valid ones.
        """
        meta = config.get("meta") or {}
        for place in (config, meta):
            check_spelling(place, known)
        given: dict[str, Any] = {}
        for key in KEYS:
            values = [place[key] for place in (config, meta) if place.get(key) is not None]
            if len(values) == 2 and values[0] != values[1]:
                raise ConfigurationError(
                    f"{key} is {values[0]!r} in the configuration and {values[1]!r} under meta",
                    hint="keep one of them",
                )
            if values:
                given[key] = values[0]
        given.pop("arrival", None)  # about the model's readers, not about its runs
        return cls(**{key: _value(key, value, zone) for key, value in given.items()})


@dataclass(frozen=True)
class Model:
    """One continuous model as a run sees it.

    relation
        The target's name, dots between the parts.
    arrivals
        What is known of the relations that the query may read: normalized name -> arrival column or
        ``static``; several where the project says several things of one.
    feeds
        Other models read its table.
    """

    name: str
    relation: str
    sql: str
    config: ModelConfig = field(default_factory=ModelConfig)
    arrivals: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    file: str = ""
    materialized: str = "continuous"
    """Which kind of model it is (``runs/kinds/registry.py``)."""
    unique_id: str = ""
    """What dbt calls it: the same in every schema."""
    options: str = ""
    """What stands between the table's properties and AS in CREATE TABLE: partitions, location."""
    properties: Mapping[str, str] = field(default_factory=dict)
    feeds: bool = False


def schedule_of(config: Mapping[str, Any]) -> ModelConfig:
    """Of a configuration, ``meta`` included, `every` and `priority` alone.

    Raises ConfigurationError for values that are none.
    """

    def ours(place: Mapping[str, Any]) -> dict[str, Any]:
        return {key: place[key] for key in SCHEDULE if place.get(key) is not None}

    return ModelConfig.parse({**ours(config), "meta": ours(config.get("meta") or {})})


def check_spelling(config: Mapping[str, Any], known: frozenset[str] = frozenset()) -> None:
    """A key that is one of ours but for its spelling is an error (dbt keeps any key silently).

    A key counts as misspelt when it is neither dbt's (``known``) nor ours, and either equals one
    of ours but for case, hyphens and underscores, or is very near to one of the long ones.

    >>> check_spelling({"on_query_chnage": "refresh"})
    Traceback (most recent call last):
    tapestry.errors.ConfigurationError: on_query_chnage is not a configuration key
      do: did you mean on_query_change? ...
    """
    for key in config:
        if key in known or key in KEYS:
            continue
        if (meant := meant_key(str(key))) is not None:
            raise ConfigurationError(
                f"{key} is not a configuration key",
                hint=f"did you mean {meant}? Valid are: {', '.join(KEYS)}",
            )


def meant_key(key: str, keys: tuple[str, ...] = KEYS) -> str | None:
    """Of our keys the one that a word is, but for its spelling.

    >>> meant_key("verfy"), meant_key("memory"), meant_key("flag")
    ('verify', 'memories', None)
    """

    def plain(text: str) -> str:
        return text.lower().replace("_", "").replace("-", "").replace(" ", "")

    for ours in keys:
        if plain(key) == plain(ours):
            return ours
    if key.lower() in ("memory", "memorys") and "memories" in keys:
        return "memories"
    near = get_close_matches(key.lower(), [k for k in keys if k not in NOT_KEYS], 1, cutoff=0.85)
    short = [k for k in keys if k in NOT_KEYS - {"lag"} and _one_letter_apart(plain(key), k)]
    return next(iter([*near, *short]), None)


def _one_letter_apart(one: str, other: str) -> bool:
    """Is one word the other with a letter more, or less, or another, or two that changed places?"""
    short, long = sorted((one, other), key=len)
    if len(long) == len(short) + 1:
        return any(long[:i] + long[i + 1 :] == short for i in range(len(long)))
    if len(long) != len(short):
        return False
    other_at = [i for i in range(len(long)) if long[i] != short[i]]
    swapped = [short[i] for i in reversed(other_at)] == [long[i] for i in other_at]
    return len(other_at) == 1 or (swapped and len(other_at) == 2 == other_at[-1] - other_at[0] + 1)


def _value(key: str, value: Any, zone: tzinfo) -> Any:
    if key in CHOICES:
        return _choice(key, value)
    if key in ("lag", "late_after"):
        return parse_length(value, key)
    if key == "every":
        return parse_every(value, key)
    if key == "priority":
        return _priority(value)
    if key == "memories":
        return _memories(value)
    if key == "instants_limit":
        return _limit(value)
    if key == "begin":
        return parse_instant(value, key, zone)
    if key == "expectations":
        return parse_expectations(value)
    if key == "verify_share":
        return _share(value)
    if key == "deliver":
        return tuple(value) if isinstance(value, (list, tuple)) else (value,)
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, (list, tuple)) or not all(isinstance(text, str) for text in texts):
        raise ConfigurationError(
            f"{key}: {value!r} is not a list of {_LISTS[key][0]}",
            hint=f"write it like {_LISTS[key][1]}",
        )
    return tuple(texts)


def _share(value: Any) -> float:
    try:
        share = float(value)
    except (TypeError, ValueError):
        share = 0.0
    if not 0 < share <= 1:
        raise ConfigurationError(
            f"verify_share: {value!r} is not a share",
            hint="write a number up to 1, like 0.01: each run then looks at one part in a hundred",
        )
    return share


def _priority(value: Any) -> int:
    try:
        if isinstance(value, bool) or int(value) != float(value):
            raise ValueError
        return int(value)
    except (TypeError, ValueError, OverflowError):
        raise ConfigurationError(
            f"priority: {value!r} is not a whole number",
            hint="write one like 10; the greater number goes first, 0 is the default",
        ) from None


def _limit(value: Any) -> int:
    try:
        if isinstance(value, bool) or int(value) != float(value) or int(value) < 1:
            raise ValueError
        return int(value)
    except (TypeError, ValueError, OverflowError):
        raise ConfigurationError(
            f"instants_limit: {value!r} is not a number of pairs of an instant and a row",
            hint="write a whole number like 1000000000, the default",
        ) from None


def _memories(value: Any) -> str | tuple[str | tuple[str, str], ...]:
    if not isinstance(value, (list, tuple)):
        return _choice("memories", value, MEMORIES)
    found = [one if isinstance(one, str) else _pair(one) for one in value]
    if not found or not all(one and (not isinstance(one, str) or one.strip()) for one in found):
        raise ConfigurationError(
            f"memories: {value!r} is not a list of aliases, and of pairs of them",
            hint="write it like [r1, [r1, r2]]: a table of the query, by its alias in FROM, and two"
            " that it joins",
        )
    return tuple(one for one in found if one is not None)


def _pair(value: Any) -> tuple[str, str] | None:
    """Two aliases that are not one; None of anything else."""
    if not isinstance(value, (list, tuple)) or len(value) != len(("left", "right")):
        return None
    left, right = value
    if not (isinstance(left, str) and isinstance(right, str) and left.strip() and right.strip()):
        return None
    return None if left.lower() == right.lower() else (left, right)


def _choice(key: str, value: Any, choices: tuple[str, ...] = ()) -> str:
    # YAML reads a bare `off` as false, `on` as true.
    choices = choices or CHOICES[key]
    bare = ("on" if value else "off") if isinstance(value, bool) else ""
    text = bare if bare in choices else str(value)
    if text in choices:
        return text
    near = get_close_matches(text, choices, 1)
    if (key, text) in REFUSED:
        raise ConfigurationError(
            f"{key}: {text} is not for continuous models", hint=REFUSED[key, text]
        )
    raise ConfigurationError(
        f"{key}: {text} is not a value of this key",
        hint=(f"did you mean {near[0]}? " if near else "") + f"Valid are: {', '.join(choices)}",
    )


assert {f.name for f in fields(ModelConfig)} == set(KEYS) - {"arrival"}
