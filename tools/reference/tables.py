"""docs/reference/tables.md: the columns of the tables that runs write, from what creates them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tools.reference.literals import cell

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
    "generation": "the generation of the table: each creation or full refresh begins a new one",
    "n": "the number of the run in its generation; run 1 created the table",
    "run_id": "the id of the run",
    "action": "`create`, `append`, `replace`, `overwrite` or `failed`",
    "tau": "the beginning of the window (not included); NULL: before everything",
    "t": "the end of the window (included)",
    "pins": "the version at which each source was read, as JSON",
    "strategy": "the method by which the first instants are found: `bounds`, `least`, `anti_join`,"
    " `stages`, `gaps`, `candidates`, `instants`, `cumulative`",
    "new_rows": "rows that were published",
    "late_rows": "rows of the sources that arrived late",
    "null_rows": "new rows of the sources without an arrival time",
    "seconds": "the time that it took",
    "ended_at": "the time of its end, by the clock",
    "rejected_rows": "rows that an expectation dropped",
    "verification": "`passed`, `warned`, `failed` or `off`",
    "files_read": "files that its queries read; NULL if the engine does not report it",
    "bytes_read": "their size",
    "files_written": "files of its commit",
    "bytes_written": "their size",
    "horizon": "the instant up to which the models that it reads are complete; NULL: it reads none",
    "message": "the reason of its failure",
    "sql": "the SQL that was executed",
    "pins_before": "the version at which the previous run read each source; NULL: there is none",
    "refresh": "for a maintained table: `incremental` or `full`",
    "reason_about": "the object of that reason: a source, a column, a part of the query",
    "inserted_rows": "rows that were added; NULL if they were not counted",
    "updated_rows": "rows that replaced others with the same key",
    "deleted_rows": "rows that were removed",
    "bytes_full": "the size of the tables from which the whole answer is computed",
    "bytes_changed": "the size of the data from which the run learnt which rows of the sources had"
    " changed",
    "plan_seconds": "the time to plan the run; not included in `seconds`",
    "claim_seconds": "the time to claim the run's number before its rows are computed; 0 if this"
    " happens at the same time",
    "rows_seconds": "the time to compute and check the rows",
    "commit_seconds": "the time to write them into the table",
    "confirm_seconds": "the time to record the commit in the state",
    "kind": "`expectation`, `assume`, `enough`, `not_too_much`, or `drift` of a derived table",
    "name": "the name of the expectation or assumption",
    "on_violation": "the reaction that its author chose: `warn`, `drop`, `fail`",
    "level": "for a verification: `sample` or `full`",
    "status": "`pass`, `warn`, `fail` or `error` (it could not be computed)",
    "checked_rows": "rows that were checked",
    "violations": "rows that violate it",
    "details": "instants and some of these rows, as JSON",
    "attempt": "the number of this execution of the run",
    "expectations": "the names of all expectations that the row violates",
    "id": "dbt's id of the model",
    "priority": "the priority from the project: greater numbers go first",
    "active": "false: the operator has switched the model off",
    "why": "the operator's reason",
    "since": "the time since when it is active, or not",
    "at": "the time when it was done, by the engine's clock",
    "signature": "the end of the memory's name",
    "source": "the table whose rows it holds",
    "conditions": "it holds the rows that satisfy all these conditions, as JSON",
    "models": "the models that requested it in this invocation, as JSON",
    "deed": "`build`; `flush`: new rows were added; `drop`; `leave`: it was not built, because it"
    " would not pay",
    "reason": "`tapestry_runs`: why the run was `full`; `tapestry_memories`: why the memory was"
    " dropped or not built",
    "share": "the part of the source's new rows that it would hold",
    "saved_seconds": "the estimated time that it saves in a run",
    "identity": "identifies what was built: table id, generation, version of its commit; runs read"
    " no other table",
}
OF_BATCHES: Mapping[str, str] = {
    "action": "the action",
    "life": "the life of the action: each creation or full refresh begins a new one",
    "m": "the number of the round; `action/m/i` is the name of the batch",
    "i": "its place in the round",
    "key": "the values of `unique_on`, as JSON; NULL: the batch is one firing; for `born` the names"
    " of the columns",
    "cut": "for each rule: its generation and run, and the commits after which and up to which the"
    " batch has firings",
    "firings": "the number of firings",
    "rows": "rows in all bound tables",
    "first_commit_time": "the time of the oldest of their commits",
    "release": "the earliest time at which it was due",
    "deadline": "the time by which it should be executed; NULL: the action has no `deadline`",
    "depth": "the number of actions before it in a chain",
    "wave": "batches of a round with the same number are executed by one statement; 0: alone",
    "event": "`born` (a life begins), `claimed`, `waits`, `done`, `failed`, `dead`, `replayed`,"
    " `dropped`, `absorbed`",
    "attempt": "the number of the execution; the first is 1",
    "claim_id": "the run that claimed it",
    "lease_until": "the time until which no other run takes it",
    "at": "the time of the event, by the clock of the process that wrote it",
    "seconds": "the time that it took",
    "error": "the reason of its failure",
    "rule": "the rule",
    "position": "the version of its table up to which the rule has read; NULL: it has not run yet",
    "behind": "the number of newer versions of the table",
    "pending_batches": "batches of the action with firings of this rule that no run has claimed",
    "pending_rows": "rows in them",
    "next_release": "the release of the first of them",
    "failed": "batches that have failed and will be tried again",
    "dead": "batches whose last attempt has failed",
    "looked_at": "the end of the run that wrote this",
}
TEXT = f"""\
# Tables

<!-- written by tools/reference from the code: `make reference` -->

Runs write these tables and views into the target schema.

| table | content | may you delete it? |
|---|---|---|
| a continuous model | the select list, and `{MATCHED_AT}`: since when the row is an answer | |
| a maintained model | the select list | |
| a rule | the rows that its commits have bound; `<rule>__<name>`: those of its other queries | |
| an action | a view of its batches | |
| `{STATE_TABLE}` | the state of each model of these kinds | no: runs stop without it |
| `{RUNS_TABLE}` | a log: one row for each run that found something, or failed | yes |
| `{CHECKS_TABLE}` | a log: one row for each check of such a run | yes |
| `{QUERIES_TABLE}` | one row for each of these models: its priority, and whether it is \
switched off | yes, but every model is active again |
| `{DELIVERIES_TABLE}` | how far each sink of `deliver:` has got | \
no: all sinks begin again |
| `{COMMITS_TABLE}` | the times of commits of sources (`arrival: commit`) | \
no: runs stop without it after the logs of the sources are cleaned up |
| `<model>{REJECTED_SUFFIX}` | rows that an expectation dropped | yes, if you no longer need them |
| `<model>__memory` | the states of the groups of a query | \
yes: the next run computes them from history |
| `{MEMORY_PREFIX}…` | copies of rows of a source that several runs need | \
yes: the next run reads the source |
| `{MEMORIES_TABLE}` | a log of what was done to these copies | yes |
| `{FIRINGS}` | the commits that fired each rule | no: waiting firings are lost |
| `{BATCHES}` | the events of the batches of all actions | \
no: each batch would be executed again |
| `{SPENT}` | for each action and rule: which rows the action has finished (`keep`) | \
yes: rows are kept longer |
| `{RULES}` | a view: what waits between each rule and its actions | yes |
| `{WRITERS}` | the tables that each action writes, for the comparison of derived models | \
yes: each action records it again in its next run |
| `<model>__staged` | rows of a run that failed its checks, until the next run | yes |
| `<model>__late_…` | late rows of a source, with their arrival | no: runs stop without it |
| `<model>__known` | hashes of answers that were deleted from the table \
(`on_target_change: accept`) | no: runs stop without it |

You can query the logs:

<!-- query -->
```sql
select model, t, action, new_rows, late_rows, rejected_rows, seconds
from demo.{RUNS_TABLE}
where action = 'failed' or seconds > 60
order by t desc
```

**Rows that no run has written.** Everyone with write access to the schema can write to these
tables, also by mistake. So each row is checked when it is read: types and ranges, JSON, and that
each window begins where the one before ends. Rows of `{STATE_TABLE}` and `{DELIVERIES_TABLE}` also
have a seal, a hash of their values. The seal detects accidents; it does not protect against
forgery.

| an invalid row in | stops | what to do |
|---|---|---|
| `{STATE_TABLE}` | its model ([StateUnreadable](errors.md#stateunreadable)) | correct it |
| `<model>__late_…` | the model | correct it |
| `{COMMITS_TABLE}` | models over that source | correct it, or delete it |
| `{QUERIES_TABLE}` | its model | `tapestry queries --on …` or `--off …` writes it again |
| `{DELIVERIES_TABLE}` | its sink; the model and the other sinks go on | correct it |
| `{RUNS_TABLE}`, `{CHECKS_TABLE}` | nothing: the report leaves it out | delete it |
| `{MEMORIES_TABLE}` | nothing: the network leaves it out | delete it |

An earlier version of the table (`VERSION AS OF`) has the row in its former state. A row too many
can be deleted. Otherwise use `tapestry adopt` for the model, or `--full-refresh`; a sink without
rows begins again. A model whose row cannot be read is never treated as one that has not run yet.
The [report](../how-to/report.md) gives the number of rows that it left out, and the reason for the
first of them; `tapestry doctor` finds those of the state.

**Formats.** Each row of `{STATE_TABLE}` names the format that its run wrote: the format of the row
and of the kept tables of the model (`__late_…`, `__known`, `__memory`, `__rejected`). A version of
the package reads every format up to its own, and from its next run writes its own. A later format
is refused with [StateUnreadable](errors.md#stateunreadable) before anything is read or written.
Then install the version that wrote it, or use `--full-refresh` for the model. A memory in another
format is another table. Columns are only added to the logs, and a version ignores columns that it
does not know.

A row also names the kind of its model (its materialization), and has a JSON object with the data of
this kind (`own`; `last_own`: before the run). If the materialization of a model has changed, a run
is refused with [QueryChanged](errors.md#querychanged). Then use `--full-refresh`, or restore the
materialization.

Rows of other generations, and of models that do not exist, are ignored. If a column of a table is
missing, or has another type or format, the message names the whole table. In the case of
`{QUERIES_TABLE}`, runs warn and treat every model as active.
"""

REASONS = """\
These are the reasons why a run of a [maintained model](limitations/maintained.md) computed the
whole answer. dbt's log line, `run_results.json` and the report use the same names. If a reason
applies to every run of a model, `tapestry explain` shows it.
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
        f"The table has the model's columns and `{MATCHED_AT}`, and these columns"
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
    rows = [f"| `{name}` | {cell(kind)} | {said[name]} |" for name, kind in columns.items()]
    return ["| column | type | |\n|---|---|---|", *rows, ""]
