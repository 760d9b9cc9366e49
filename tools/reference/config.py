"""docs/reference/config.md: every configuration key of a continuous model, from its class."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import fields
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

from dbt.adapters.tapestry.config_keys import KINDS, OTHERS, WORKS
from tapestry.runs.model.declare import KEYS as ENTRY_KEYS
from tapestry.runs.model.declare import RULES
from tapestry.runs.model.model import CHOICES, KEYS, ModelConfig

SOURCE = "python/tapestry/runs/model/model.py"
VALUES = {
    "timedelta": "a length of time, like `1 hour` or `1 day 12 hours`",
    "datetime | None": "an instant, like `2026-03-01` or `2026-03-01 12:00:00+01:00`",
    "timedelta | None": "a length of time, like `30 seconds` or `1 hour`",
    "float": "a number above 0, up to 1",
    "int": "a whole number",
    "str | tuple[str | tuple[str, str], ...]": "`auto`, `on`, `off`, or a list of aliases",
    "tuple[Any, ...]": "a list",
    "tuple[str, ...]": "a list of texts",
    "tuple[Expectation, ...]": "a list ([expectations](../expectations.md))",
}
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
([what a run costs](../costs.md)). A complete example, a query and its configuration:

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

## On a model

All of these are optional.
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


def page(root: Path) -> str:
    """The page as Markdown.

    Raises LookupError for a key that nobody has described.
    """
    told = meanings((root / SOURCE).read_text("utf-8"))
    own = {f.name: f for f in fields(ModelConfig)}
    parts = [TEXT]
    for key in (key for key in KEYS if key in own):
        if not told.get(key):
            raise LookupError(f"{SOURCE}: ModelConfig.{key} has no text below it: what does it do?")
        values = _values(key, str(own[key].type), own[key].default)
        parts.append(f"### {key}\n\n{values}\n\n{_spread(key, told[key])}\n")
        if key == "expectations":
            parts.append(_entry())
    tables = SOURCES.replace("KEYS", _kinds()).replace("OTHERS", _others())
    return "\n".join([*parts, tables])


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


def _spread(key: str, told: str) -> str:
    """The meaning, with a line for each value that it explains."""
    for value in CHOICES.get(key, ()):
        told = told.replace(f" `{value}`:", f"\n- `{value}`:", 1)
    head, found, rest = told.partition("\n")
    return head + "\n" * bool(found) + found + rest


def meanings(code: str) -> Mapping[str, str]:
    """The text below each field of ModelConfig."""
    tree = ast.parse(code)
    body = next(n.body for n in tree.body if getattr(n, "name", "") == "ModelConfig")
    found: dict[str, str] = {}
    for field, below in pairwise(body):
        told = below.value if isinstance(below, ast.Expr) else None
        named = isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
        if named and isinstance(told, ast.Constant):
            found[field.target.id] = " ".join(str(told.value).split())
    return found


def _values(key: str, kind: str, default: Any) -> str:
    if key in CHOICES:
        first, *others = CHOICES[key]
        return " · ".join([f"**`{first}`** (default)", *(f"`{value}`" for value in others)])
    told = VALUES[kind][0].upper() + VALUES[kind][1:]
    return told + (f" · default **`{_shown(default)}`**" if default not in (None, ()) else "")


def _shown(value: Any) -> str:
    if isinstance(value, timedelta):
        return f"{value.total_seconds() / 3600:g} hour" if value else "0 seconds"
    return str(value)


def _codes(words: tuple[str, ...]) -> str:
    return ", ".join(f"`{word}`" for word in words)
