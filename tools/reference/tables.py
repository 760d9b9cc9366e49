"""docs/reference/tables.md: the columns of the tables that runs write, from what creates them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tapestry.names import (
    CHECKS_TABLE,
    COMMITS_TABLE,
    DELIVERIES_TABLE,
    MATCHED_AT,
    MEMORIES_TABLE,
    MEMORY_PREFIX,
    QUERIES_TABLE,
    REJECTED_SUFFIX,
    RUNS_TABLE,
    STATE_TABLE,
)
from tapestry.runs.checks.rejected import OURS
from tapestry.runs.kinds.action.rule_rows import COLUMNS as RULE_COLUMNS
from tapestry.runs.kinds.action.rule_rows import NAME as RULES
from tapestry.runs.kinds.maintained.reasons import Reason
from tapestry.runs.memories.log import MEMORIES
from tapestry.runs.protocol.log import CHECKS, RUNS
from tapestry.runs.tables.batches import COLUMNS as BATCH_COLUMNS
from tapestry.runs.tables.batches import NAME as BATCHES
from tapestry.runs.tables.firings import NAME as FIRINGS
from tapestry.runs.tables.queries import COLUMNS as QUERIES
from tapestry.runs.tables.spent import NAME as SPENT
from tapestry.runs.tables.writers import NAME as WRITERS

MEANINGS: Mapping[str, str] = {
    "invocation_id": "dbt's id of the invocation",
    "model": "the model's table, with its schema",
    "generation": "which creation or full refresh of the table",
    "n": "which run of that generation; 1 built the table",
    "run_id": "the run",
    "action": "`create`, `append`, `replace`, `overwrite` or `failed`",
    "tau": "where the window begins (not included); NULL: before everything",
    "t": "where the window ends (included)",
    "pins": "the version of each source that was read, as JSON",
    "strategy": "how the first instant is found: `bounds`, `least`, `anti_join`, `stages`,"
    " `gaps`, `candidates`, `instants`, `cumulative`",
    "new_rows": "rows that were published",
    "late_rows": "rows of the sources that came late",
    "null_rows": "new rows of the sources without an arrival time",
    "seconds": "how long it took",
    "ended_at": "when it ended, by the clock",
    "rejected_rows": "rows that an expectation dropped",
    "verification": "`passed`, `warned`, `failed` or `off`",
    "files_read": "files that its queries read; NULL where that is not told",
    "bytes_read": "their size",
    "files_written": "files of its commit",
    "bytes_written": "their size",
    "horizon": "up to which instant the models that it reads were complete; NULL: it reads none",
    "message": "why it failed",
    "sql": "what was executed",
    "pins_before": "the version of each source that the run before had read; NULL: it is the first",
    "refresh": "of a table whose rows go out, too: `incremental` or `full`",
    "reason_about": "what that reason is about: a source, a column, a piece of the query",
    "inserted_rows": "rows that came in; NULL where they were not counted",
    "updated_rows": "rows that took the place of others of their key",
    "deleted_rows": "rows that went out",
    "bytes_full": "size of the tables that the whole answer is computed from",
    "bytes_changed": "size of what told it which rows of the sources had changed",
    "plan_seconds": "how long it took to decide what is to be done; no part of `seconds`",
    "claim_seconds": "to claim the run's number, before its rows are computed; where that is done"
    " meanwhile it is 0",
    "rows_seconds": "to compute and check the rows",
    "commit_seconds": "to write them into the table",
    "confirm_seconds": "to note in the state that they are there",
    "kind": "`expectation`, `assume`, `enough`, `not_too_much`, or `drift` of a derived table",
    "name": "the expectation or assumption by its name",
    "on_violation": "what its author wants to happen: `warn`, `drop`, `fail`",
    "level": "of a verification: `sample` or `full`",
    "status": "`pass`, `warn`, `fail` or `error` (it could not be computed)",
    "checked_rows": "rows that were looked at",
    "violations": "rows that break it",
    "details": "instants, and some of these rows, as JSON",
    "attempt": "which execution of the run",
    "expectations": "all names that the row breaks",
    "id": "dbt's id of the model",
    "priority": "what the project says: the greater number goes first",
    "active": "false: the operator has switched the model off",
    "why": "the operator's reason",
    "since": "since when it is active, or not",
    "at": "when it was done, by the engine's clock",
    "signature": "the end of the memory's name",
    "source": "the table of which it holds rows",
    "conditions": "those for which all of these hold, as JSON",
    "models": "the models that asked for it in this invocation, as JSON",
    "deed": "`build`, `flush` (what came since was added), `drop`; `leave`: it would not pay",
    "reason": "of a run why it was `full`, by its name; of a memory why it was dropped, or left",
    "share": "of the source's new rows, those that it would hold",
    "saved_seconds": "about what a run is expected to take less with it",
    "identity": "of what was built: table id, generation, version of its commit; no other is read",
}
OF_BATCHES: Mapping[str, str] = {
    "action": "the action",
    "life": "which creation or full refresh of the action",
    "m": "which round; with `i` the name of the batch: `action/m/i`",
    "i": "its place in the round",
    "key": "the values of `unique_on`, as JSON; NULL: one firing; of `born` the columns",
    "cut": "of each rule: the generation, its run, and the commits after which and up to which",
    "firings": "how many commits have fired",
    "rows": "rows in all bound tables",
    "first_commit_time": "when the oldest of these commits was made",
    "release": "when it was due at the earliest",
    "deadline": "when it was to be executed at the latest; NULL: the action has no `deadline`",
    "depth": "how many actions lie before it in a chain",
    "wave": "batches of a round with the same number are executed by one statement; 0: alone",
    "event": "`born` (a life begins), `claimed`, `waits`, `done`, `failed`, `dead`, `replayed`,"
    " `dropped`, `absorbed`",
    "attempt": "which execution; the first is 1",
    "claim_id": "the run that has claimed it",
    "lease_until": "so long it is left to that run",
    "at": "when this happened, by the clock of who wrote it",
    "seconds": "how long it took",
    "error": "why it failed",
    "rule": "the rule",
    "position": "up to which version of its table the rule has looked; NULL: it has not run yet",
    "behind": "how many versions the table has had since",
    "pending_batches": "batches of the action with firings of this rule that no run has claimed",
    "pending_rows": "rows in them",
    "next_release": "when the first of them is released",
    "failed": "batches that have failed and are tried again",
    "dead": "batches that have failed for the last time",
    "looked_at": "the end of the run that has found this",
}
TEXT = f"""\
# Tables

<!-- written by tools/reference from the code: `make reference` -->

What runs write into the target schema besides your models.

| table | what it is | delete it? |
|---|---|---|
| a continuous model | the select list and `{MATCHED_AT}`, since when it is an answer | |
| a maintained model | the select list | |
| `{STATE_TABLE}` | where each model of these kinds stands | no: runs stop without it |
| `{RUNS_TABLE}` | a log: one row for each run that found something, or failed | yes |
| `{CHECKS_TABLE}` | a log: one row for each check of such a run | yes |
| `{QUERIES_TABLE}` | these models, one row each: priority, and whether it is \
switched off | every model is active again |
| `{DELIVERIES_TABLE}` | how far each sink of `deliver:` got | all sinks begin anew |
| `{COMMITS_TABLE}` | when commits of sources were made (`arrival: commit`) | \
no: runs stop without it once the sources' logs are cleaned up |
| `<model>{REJECTED_SUFFIX}` | rows that an expectation dropped | they are gone then |
| `<model>__memory` | what is known of the groups of a query | \
yes: the next run works it out from history |
| `{MEMORY_PREFIX}…` | rows of a source that several runs need, copied | \
yes: the next run reads the source |
| `{MEMORIES_TABLE}` | a log: what was done to those | yes |
| a rule | the rows that its commits have bound; `<rule>__<name>` those of its other queries | |
| an action | a view of its batches | |
| `{FIRINGS}` | the commits that fired each rule | no: what waits is gone then |
| `{BATCHES}` | what has become of the batches of every action | \
no: each batch would be executed again |
| `{SPENT}` | how far each action is done with the rows of each rule (`keep`) | \
yes: rows stay longer then |
| `{RULES}` | a view: what waits between each rule and its actions | yes |
| `<model>__staged` | rows of a run that failed its checks, until the next run | yes |
| `<model>__late_…` | late rows of a source, with their arrival | no: runs stop without it |
| `<model>__known` | hashes of answers that were deleted from the table \
(`on_target_change: accept`) | no: runs stop without it |
| `{WRITERS}` | which tables each action writes, by which derived ones are compared | \
yes: each action says it again when it runs |

The logs are there to be queried:

<!-- query -->
```sql
select model, t, action, new_rows, late_rows, rejected_rows, seconds
from demo.{RUNS_TABLE}
where action = 'failed' or seconds > 60
order by t desc
```

**Rows that no run has written.** Whoever may write to the schema may write to these tables, by
mistake too. Each row is checked when it is read: types and ranges, JSON, windows that follow one
another, and a seal (a hash of the values) that rows of `{STATE_TABLE}` and `{DELIVERIES_TABLE}`
bear. The seal tells accidents, not forgers.

| an odd row in | stops | the way out |
|---|---|---|
| `{STATE_TABLE}` | its model ([StateUnreadable](errors.md#stateunreadable)) | put it right |
| `<model>__late_…` | the model | put it right |
| `{COMMITS_TABLE}` | models over that source | put it right, or delete it |
| `{QUERIES_TABLE}` | its model | `tapestry queries --on …` or `--off …` writes it anew |
| `{DELIVERIES_TABLE}` | its sink: the model and the other sinks go on | put it right |
| `{RUNS_TABLE}`, `{CHECKS_TABLE}` | nothing: the report leaves it out | delete it |
| `{MEMORIES_TABLE}` | nothing: the network leaves it out | delete it |

An earlier version of the table (`VERSION AS OF`) has a row as it was; a row too many can be
deleted. Else `tapestry adopt` the model, or `--full-refresh` it; a sink without any line begins
anew. A model whose row cannot be read is never taken for one that has not run yet. The
[report](../how-to/report.md) says how many rows it left out, and why the first of them is odd;
`tapestry doctor` finds those of the state.

**Formats.** Each row of `tapestry_state` says the format that its run wrote: of the row, and of
what stands beside the model's table (`__late_…`, `__known`, `__memory`, `__rejected`). A version of
the package reads every format up to its own, and writes its own from the next run on. A later
format is refused with [StateUnreadable](errors.md#stateunreadable) before anything is read or
written: install the version that wrote it, or `--full-refresh` the model. A memory of another form
is another table. The logs are only added to; a column that a version does not know is left alone.

A row says the kind of its model, too, by the materialization, and has one JSON object of what that
kind alone keeps (`own`; `last_own` before the run). A model that has another materialization now
is refused with [QueryChanged](errors.md#querychanged): `--full-refresh` it, or give it back the one
that it had.

Rows of other generations and of models that nobody has do not matter. A table with a missing
column, another type or another format is named as a whole. Where that is `{QUERIES_TABLE}`, runs
warn and take every model for active.
"""

REASONS = """\
Why a run of a [maintained model](limitations/maintained.md) computed the whole answer. The same
names stand in dbt's line, in `run_results.json` and in the report; `tapestry explain` says the one
that holds for every run of a model.
"""


def page(root: Path) -> str:
    """The page as Markdown.

    Raises LookupError for a column that nobody has described.
    """
    parts = [TEXT]
    for name, columns in (
        (RUNS_TABLE, RUNS),
        (CHECKS_TABLE, CHECKS),
        (QUERIES_TABLE, QUERIES),
        (MEMORIES_TABLE, MEMORIES),
        (BATCHES, BATCH_COLUMNS),
        (RULES, RULE_COLUMNS),
    ):
        of_batches = name in (BATCHES, RULES)
        parts += [f"## {name}\n", *_rows(columns, OF_BATCHES if of_batches else MEANINGS)]
        if "refresh" in columns:
            parts += ["### Reasons\n", REASONS, *_reasons()]
    ours = {name: "bigint" if name == "n" else "string" for name in OURS}
    parts += [
        f"## <model>{REJECTED_SUFFIX}\n".replace("<", "&lt;"),
        f"The model's columns and `{MATCHED_AT}`, and"
        " ([expectations](../how-to/expectations.md)):\n",
        *_rows({**ours, "expectations": "array<string>"}),
    ]
    return "\n".join(parts)


def _reasons() -> list[str]:
    rows = [f"| `{reason.name}` | {reason.value} |" for reason in Reason]
    return ["| reason | |\n|---|---|", *rows, ""]


def _rows(columns: Mapping[str, str], said: Mapping[str, str] = MEANINGS) -> list[str]:
    undescribed = set(columns) - set(said)
    if undescribed:
        raise LookupError(f"tools/reference/tables.py says nothing of {sorted(undescribed)}")
    rows = [f"| `{name}` | {kind} | {said[name]} |" for name, kind in columns.items()]
    return ["| column | type | |\n|---|---|---|", *rows, ""]
