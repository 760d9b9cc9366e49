"""docs/reference/config.md: every configuration key of each kind of model, from its class."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

from dbt.adapters.tapestry.config_keys import INCREMENTAL, KINDS, OTHERS, OURS, WORKS
from tapestry.runs.kinds.registry import kind_called
from tapestry.runs.model.declare import KEYS as ENTRY_KEYS
from tapestry.runs.model.declare import RULES
from tapestry.runs.model.keys import ARRIVAL, ConfigKey

TEXT = """\
# Configuration

<!-- written by tools/reference from the code: `make reference` -->

## The first three keys

| key | where | meaning |
|---|---|---|
| `materialized: continuous` | on the model | each run appends the rows that became an answer |
| `loaded_at_field: ts` | on the source, or on one of its tables | the column with the time at \
which a row arrived |
| `verify: sample` | on the model | how much of its result each run checks before it publishes: \
`sample` (the default), `full` or `off` |

The first two are necessary. Choose `verify` before you put a model on a schedule: the check stops
a run with a wrong answer, and it is a large part of the cost of a small run ([what a run
costs](../explanation/costs.md)). Here is a complete query with its configuration:

```sql title="models/unanswered.sql"
select m.author, m.subject, m.ts
from {{ source('bboard', 'messages') }} m
where m.inreplyto is null
  and now() >= m.ts + interval 28 days
  and not exists (
    select 1 from {{ source('bboard', 'messages') }} r where r.inreplyto = m.msgid
  )
```

```yaml title="models/models.yml"
sources:
  - name: bboard
    tables:
      - name: messages
        config: {loaded_at_field: ts}
models:
  - name: unanswered
    config:
      materialized: continuous
      verify: sample
```

Other keys that are often needed:

| you want to | key |
|---|---|
| read a look-up table, whose present rows count at every instant | \
[`arrival: static`](#on-a-source-seed-or-model-that-is-read) |
| read a table without a column that says when a row was loaded | \
[`arrival: commit`](#on-a-source-seed-or-model-that-is-read) |
| wait for slow loaders | [`lag`](#lag) |
| get a warning about late rows | [`late_rows`](#late_rows), [`late_after`](#late_after) |
| go on after rows of a source were changed, or after you edited the query | \
[`on_source_rewrite`](#on_source_rewrite), [`on_query_change`](#on_query_change) |
| leave out the distant past | [`begin`](#begin) |

## Where to write it

Write configuration where you write that of dbt: in `config()` of the model, under `config:` in
YAML, or as `+key:` in `dbt_project.yml`. You can also write these keys under `meta:`.

A misspelt key is an error that names the right key, and so is a value that a key does not accept.
On other kinds of models a misspelt key is an error if the right key would have an effect there, and
a warning otherwise. dbt's own keys (`tags`, `grants`, `contract`, hooks, `partition_by` and so on)
work as in dbt-spark ([which key works where](#which-key-works-where)). A contract does not list
`_matched_at`.

Spark has no transactions over several statements. So each hook runs once, at its place in the list,
on every kind of node, and its options for transactions (`transaction: false`, `before_begin()`,
`after_commit()`) have no effect.
"""
SOURCES = """\
## On a source, seed or model that is read

A continuous model needs the arrival of each row that it reads.

| you write | meaning |
|---|---|
| `config: {loaded_at_field: ts}` on a source or its table | rows arrive at `ts` (dbt's own key) |
| `config: {meta: {arrival: ts}}` on a source, seed or model | the same |
| `config: {meta: {arrival: commit}}` | rows arrive with the Delta commit that added them |
| `config: {meta: {arrival: static}}` | a look-up table: its present rows count at every instant |
| nothing, on a continuous model | its rows arrive at `_matched_at` |

The column is a TIMESTAMP; a TIMESTAMP_NTZ or a DATE is read in the session's time zone.
`arrival: commit` needs two properties of the table ([a table without a
time](../how-to/slow-sources.md#a-table-without-a-time)).

```yaml
sources:
  - name: shop
    tables:
      - name: orders
        config: {loaded_at_field: created_at}
      - name: clicks
        config: {meta: {arrival: commit}}
      - name: countries
        config: {meta: {arrival: static}}
```

## Which key works where

The sections above describe the keys of this adapter, and dbt's documentation its own. If a key has
no effect on a kind of model, dbt warns once in each invocation; the same holds for a key that
resembles one of dbt's (`uniqe_key`, `incremental_stratgy`). The keys for the layout of a table
(`file_format` to `tblproperties`) are used when a table is created, also for a Python model.

KEYS

These keys of other adapters have no effect:

OTHERS

## For one invocation

| variable | meaning |
|---|---|
| `tapestry_as_of` in `--vars`, or `TAPESTRY_AS_OF` | the instant at which the run ends |
| `TAPESTRY_DATA_DOCS` in the environment | `always` or `never`: whether runs render Data Docs |

`tapestry_as_of` replaces the clock, and `lag` is not subtracted from it. If you set it as an
environment variable, dbt need not parse the project again.
"""


HEADS = {"rule": "On a rule", "action": "On an action"}
OPTIONAL = "All keys are optional."
NEEDED = {"rule": "Only `when` is required."}
OTHER_KINDS = """\
A key of another kind is an error in the model's own `config()` or YAML. If it is set for a folder
(`+key:` in `dbt_project.yml`), it is ignored.
"""


def page(root: Path) -> str:
    """The page as Markdown.

    Raises LookupError for a key that nobody has described.
    """
    parts, before = [TEXT], dict[str, tuple[str, ConfigKey]]()
    for kind in OURS:
        parts += of_kind(kind, before)
        rows = kind_called(kind).keys.rows
        before = {**{name: (kind, row) for name, row in rows.items()}, **before}
    tables = SOURCES.replace("KEYS", _kinds()).replace("OTHERS", _others())
    return "\n".join([*parts, tables])


def of_kind(kind: str, before: Mapping[str, tuple[str, ConfigKey]]) -> Iterator[str]:
    """The keys of a kind; those that are as on a kind ``before`` are only named."""
    rows = {name: row for name, row in kind_called(kind).keys.rows.items() if row != ARRIVAL}
    same = [name for name, row in rows.items() if before.get(name, ("", None))[1] == row]
    yield f"## {HEADS.get(kind, f'On a {kind} model')}\n\n{NEEDED.get(kind, OPTIONAL)}\n"
    if before:
        yield OTHER_KINDS
    for name in same:
        yield f"- [`{name}`](#{name}): as on a {before[name][0]} model"
    yield from [""] * bool(same)
    for row in (row for name, row in rows.items() if name not in same):
        yield f"### {row.name}\n\n{_values(row)}\n\n{spread(row)}\n"
        if row.name == "expectations":
            yield _entry()


def _kinds() -> str:
    """Key -> the kinds on which it has an effect; strategies of incremental models in brackets."""
    rows = [f"| `{key}` | {_named(works) or 'none'} |" for key, works in WORKS.items()]
    return "\n".join(["| key | has an effect on |", "|---|---|", *rows])


def _named(works: Collection[str]) -> str:
    """Kinds in the order of ``KINDS``.

    >>> _named(("incremental, merge", "snapshot", "table"))
    'table, incremental (merge), snapshot'
    """
    strategies = [kind.partition(", ")[2] for kind in INCREMENTAL if kind in works]
    brackets = "" if len(strategies) == len(INCREMENTAL) else f" ({', '.join(strategies)})"
    listed = [f"incremental{brackets}" if k in INCREMENTAL else k for k in KINDS if k in works]
    return ", ".join(dict.fromkeys(listed))


def _others() -> str:
    rows = [f"| `{key}` | {of} | {instead} |" for key, (of, instead) in OTHERS.items()]
    return "\n".join(["| key | of | what there is instead |", "|---|---|---|", *rows])


def _entry() -> str:
    return (
        f"An entry has the keys {_codes(ENTRY_KEYS)}, or the snake_case name of an expectation of"
        f" Great Expectations; `on_violation` is {_codes(RULES)}.\n"
    )


def spread(row: ConfigKey) -> str:
    """The meaning, with a line for each value that it explains."""
    if not row.text:
        raise LookupError(f"{row.name} has no text: what does it do?")
    told = row.text
    for value in row.values.choices:
        told = told.replace(f" `{value}`:", f"\n- `{value}`:", 1)
    head, found, rest = told.partition("\n")
    return head + "\n" * bool(found) + found + rest


def _values(row: ConfigKey) -> str:
    values = row.values
    if values.choices:
        first, *others = values.choices
        return " · ".join([f"**`{first}`** (default)", *(f"`{value}`" for value in others)])
    told, default = values.told[0].upper() + values.told[1:], values.default
    return told + (f" · default **`{_shown(default)}`**" if default not in (None, (), "") else "")


LENGTHS = {
    "day": timedelta(days=1),
    "hour": timedelta(hours=1),
    "minute": timedelta(minutes=1),
    "second": timedelta(seconds=1),
}


def _shown(value: Any) -> str:
    """A default as an author writes it: a length of time in its largest whole unit.

    >>> _shown(timedelta(days=7)), _shown(timedelta(seconds=90)), _shown(False)
    ('7 days', '90 seconds', 'false')
    """
    if isinstance(value, timedelta):
        for unit, length in LENGTHS.items():
            count, rest = divmod(value, length)
            if count and not rest:
                return f"{count} {unit}{'s' if count > 1 else ''}"
        return "0 seconds"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _codes(words: tuple[str, ...]) -> str:
    return ", ".join(f"`{word}`" for word in words)
