"""docs/reference/config.md: every configuration key of a continuous model, from its class."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

from dbt.adapters.tapestry.config_keys import KINDS, OTHERS, OURS, WORKS
from tapestry.runs.kinds.registry import kind_called
from tapestry.runs.model.declare import KEYS as ENTRY_KEYS
from tapestry.runs.model.declare import RULES
from tapestry.runs.model.keys import ARRIVAL, ConfigKey

TEXT = """\
# Configuration

<!-- written by tools/reference from the code: `make reference` -->

## The three keys to begin with

| key | where | what it says |
|---|---|---|
| `materialized: continuous` | on the model | each run appends what newly became an answer |
| `loaded_at_field: ts` | on the source, or on one of its tables | which column says when a row \
arrived |
| `verify: sample` | on the model | how much each run checks itself before it publishes: `sample` \
(the default), `full` or `off` |

The first two are necessary. `verify` is the one to know before a model goes on a schedule: the
check is what makes a wrong answer stop the run, and it is a large part of what a small run costs
([what a run costs](../explanation/costs.md)). A complete example, a query and its configuration:

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

The next keys that people look for:

| you want to | key |
|---|---|
| let a look-up table be the same at every instant | \
[`arrival: static`](#on-a-source-seed-or-model-that-is-read) |
| read a table that has no column with the time of loading | \
[`arrival: commit`](#on-a-source-seed-or-model-that-is-read) |
| wait for slow loaders | [`lag`](#lag) |
| be told of late rows | [`late_rows`](#late_rows), [`late_after`](#late_after) |
| go on after a source was changed, or after you edited the query | \
[`on_source_rewrite`](#on_source_rewrite), [`on_query_change`](#on_query_change) |
| leave out old history | [`begin`](#begin) |

## Where it stands

Configuration stands where dbt's own does: in `config()` of the model, under `config:` in YAML, or
as `+key:` in `dbt_project.yml`. The same keys are taken under `meta:`.

A key that is one of these but for its spelling is an error that names the right one, and so is a
value that a key does not take. On other kinds of models it is an error where the right key would do
something, and a warning elsewhere. dbt's own keys (`tags`, `grants`, `contract`, hooks,
`partition_by` and so on) work as in dbt-spark ([which key works where](#which-key-works-where)); a
contract leaves `_matched_at` out.

There are no transactions: each hook runs once, in its place in the list, on every kind of node,
whatever it says of a transaction (`transaction: false`, `before_begin()`, `after_commit()`).
"""
SOURCES = """\
## On a source, seed or model that is read

A continuous model has to know when the rows of what it reads arrive.

| where | it says |
|---|---|
| `config: {loaded_at_field: ts}` on a source or its table | rows arrive at `ts`; dbt's own key |
| `config: {meta: {arrival: ts}}` on a source, seed or model | the same, on anything |
| `config: {meta: {arrival: commit}}` | rows arrive with the Delta commit that added them |
| `config: {meta: {arrival: static}}` | a look-up table: the same at every instant |
| nothing, on a continuous model | its rows arrive at `_matched_at` |

The column is a TIMESTAMP; a TIMESTAMP_NTZ or a DATE counts in the session's time zone.
`arrival: commit` asks for two properties of the table
([a table without a time](../how-to/slow-sources.md#a-table-without-a-time)).

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

What a key does on a continuous model stands above; on other models dbt's documentation says it. A
key that does nothing where it stands is told once an invocation, and is no error; so is a key that
is nearly one of dbt's (`uniqe_key`, `incremental_stratgy`). The keys that say how a table is laid
out (`file_format` to `tblproperties`) count when a table is made, also that of a Python model.

KEYS

These keys of other adapters do nothing:

OTHERS

## For one invocation

| variable | meaning |
|---|---|
| `tapestry_as_of` in `--vars`, or `TAPESTRY_AS_OF` | the instant that the run goes to |
| `TAPESTRY_DATA_DOCS` in the environment | `always` or `never`: render Data Docs or not |

`tapestry_as_of` replaces the clock; `lag` is not taken off. As an environment variable it costs no
new parsing of the project.
"""


OTHER_KINDS = """\
A key that only other kinds have is an error in the model's own `config()` or YAML; where a folder
says it (`+key:` in `dbt_project.yml`) it is left out.
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
    yield f"## On a {kind} model\n\nAll of these are optional.\n"
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
    """Keys x kinds; strategies of incremental models are columns of their own."""
    heads = [kind.replace("incremental, ", "incremental: ") for kind in KINDS]
    rows = [f"| key | {' | '.join(heads)} |", "|---" * (len(KINDS) + 1) + "|"]
    for key, works in WORKS.items():
        rows.append(f"| `{key}` | {' | '.join('yes' if k in works else '' for k in KINDS)} |")
    return "\n".join(rows)


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
    return told + (f" · default **`{_shown(default)}`**" if default not in (None, ()) else "")


def _shown(value: Any) -> str:
    if isinstance(value, timedelta):
        return f"{value.total_seconds() / 3600:g} hour" if value else "0 seconds"
    return str(value)


def _codes(words: tuple[str, ...]) -> str:
    return ", ".join(f"`{word}`" for word in words)
