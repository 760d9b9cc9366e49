"""Judges whether everything is well: each model's standing, and troubles with cause and remedy.

A model is **not well** when its last run failed, when dbt's last invocation could not run it or a
test of it failed, when a batch of it is dead, or when rows that did not pass the verification stand
in its table (they stay there until it is built again, whatever later runs say). It **needs a look**
when an expectation of its last run was broken without stopping it, when a batch of it has failed,
when a sink does not take what is new, when dbt skipped the model, when the operator has switched it
off, or a dbt test warned. A project **needs a look** when its logs hold rows that no run has
written, or when nobody has run it for much longer than usual; it is not well when that is longer
than the caller allows (``stale_after``).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise
from typing import TypeVar

from tapestry.errors import parted
from tapestry.names import CHECKS_TABLE, DELIVERIES_TABLE, QUERIES_TABLE, RUNS_TABLE
from tapestry.report.artifacts import Artifacts, Node, NodeResult
from tapestry.report.judge_actions import with_batches
from tapestry.report.record import VERIFICATION_KINDS, Record, RecordedCheck, Run, Waiting
from tapestry.report.standing import ModelStanding, Trouble, Verdict
from tapestry.report.text import instant, length, natural
from tapestry.runs.tables.queries import QueryRow
from tapestry.words import counted

Item = TypeVar("Item", Run, RecordedCheck, Waiting)

USUAL_RUNS = 5
"""Gaps between invocations that it takes to speak of a rhythm."""
OVERDUE_FACTOR = 3
OVERDUE_AT_LEAST = timedelta(hours=1)
_LOG = "put that right or delete it: nothing but this page depends on it"
_READ_BY = {
    RUNS_TABLE: _LOG,
    CHECKS_TABLE: _LOG,
    DELIVERIES_TABLE: "tapestry deliver says which sink that concerns, and what to do",
    QUERIES_TABLE: "tapestry queries says what is wrong; --on or --off writes a model's row anew",
}
ON_ITS_WAY = timedelta(minutes=1)
"""A batch may be on its way to a sink so long: one invocation tries no longer, unless it is told
to (``patience``)."""


def judge(
    record: Record,
    artifacts: Artifacts,
    now: datetime,
    stale_after: timedelta | None = None,
) -> Verdict:
    """The verdict over all models, the worst first."""
    nodes = artifacts.by_relation()
    runs, checks = _by_model(record.runs), _by_model(record.checks)
    wanted = [name for name, node in nodes.items() if node.ours]
    waiting = _by_model(one for one in record.waiting if now - one.since > ON_ITS_WAY)
    standings = [
        _switched(
            _standing(name, nodes.get(name), runs[name], checks[name], waiting[name], artifacts),
            record.queries.get(name),
        )
        for name in dict.fromkeys([*wanted, *runs, *checks])
    ]
    acted = [with_batches(one, record.actions.get(one.name)) for one in standings]
    last = max(
        (moment for moment in (_last_end(record), artifacts.finished_at) if moment), default=None
    )
    return Verdict(
        models=tuple(sorted(acted, key=lambda one: (-one.rank, natural(one.name)))),
        troubles=(*_overdue(record, last, now, stale_after), *_unread(record)),
        made_at=now,
        last_run=last,
    )


def _by_model(items: Iterable[Item]) -> defaultdict[str, list[Item]]:
    found: defaultdict[str, list[Item]] = defaultdict(list)
    for item in items:
        found[item.model].append(item)
    return found


def _standing(
    name: str,
    node: Node | None,
    runs: Sequence[Run],
    checks: Sequence[RecordedCheck],
    waiting: Sequence[Waiting],
    artifacts: Artifacts,
) -> ModelStanding:
    gone = node is None and bool(artifacts.nodes)
    last = runs[-1] if runs else None
    result = _result(node, last, artifacts)
    found = (
        []
        if gone
        else [
            *_of_runs(name, runs, checks),
            *_of_dbt(name, node, last, artifacts, result),
            *_waiting_sinks(name, node, waiting),
        ]
    )
    quiet = None
    if result is not None and result.status == "success" and result.action == "nothing":
        quiet = _end(result, artifacts)
    return ModelStanding(
        name=name,
        node=node,
        runs=tuple(runs),
        checks=tuple(checks),
        troubles=tuple(found),
        gone=gone,
        quiet_at=quiet,
    )


def _switched(standing: ModelStanding, row: QueryRow | None) -> ModelStanding:
    """Return the standing with what the operator says of the model, if it is not gone."""
    if row is None or row.active or standing.gone:
        return standing
    name = standing.name
    told = Trouble(
        name,
        "it is switched off",
        serious=False,
        since=row.since,
        why=row.why,
        do=f"tapestry queries --on {_short(name)} switches it on; its next run covers the gap",
    )
    return replace(standing, off=row, troubles=(told, *standing.troubles))


def _of_runs(name: str, runs: Sequence[Run], checks: Sequence[RecordedCheck]) -> Iterable[Trouble]:
    """Yield the troubles that the log of runs shows."""
    last = runs[-1] if runs else None
    if last is not None and last.failed:
        yield _failed_run(name, runs, checks)
    else:
        yield from _wrong_rows(name, runs, checks)
        yield from _broken_expectations(name, last, checks)


def _of_dbt(
    name: str, node: Node | None, last: Run | None, artifacts: Artifacts, result: NodeResult | None
) -> Iterable[Trouble]:
    """Yield the troubles that dbt's own files show."""
    if result is not None:
        invocation = result.invocation_id or artifacts.invocation_id
        if last is None or not last.failed or last.invocation_id != invocation:
            yield from _dbt_result(name, result, _end(result, artifacts))
    if node is not None:
        yield from _dbt_tests(name, node, last, artifacts)


def _failed_run(name: str, runs: Sequence[Run], checks: Sequence[RecordedCheck]) -> Trouble:
    """Return the trouble of a failed newest run, since the first of the failures in a row."""
    streak = 1
    while streak < len(runs) and runs[-streak - 1].failed:
        streak += 1
    last = runs[-1]
    broken = [c for c in checks if c.invocation_id == last.invocation_id and c.broken]
    why = last.message or "\n".join(f"{_called(c)}: {c.message()}" for c in broken)
    title = f"its last {counted(streak, 'run')} failed" if streak > 1 else "its last run failed"
    if broken:
        title += f": {', '.join(dict.fromkeys(_called(check) for check in broken))} did not hold"
    return Trouble(
        name,
        title,
        serious=True,
        since=runs[-streak].ended_at,
        why=why or "the log holds no message",
        do=parted(why)[1]
        or f"correct the cause, then: dbt run --select {_short(name)}"
        " (it goes on from where it was; nothing was published)",
    )


def _wrong_rows(
    name: str, runs: Sequence[Run], checks: Sequence[RecordedCheck]
) -> Iterable[Trouble]:
    """Yield the trouble of rows published though unverified, which stay until a new build."""
    generation = runs[-1].generation if runs else None
    published = {run.run_id: run for run in runs if run.generation == generation and not run.failed}
    wrong = [
        check
        for check in checks
        if check.kind in VERIFICATION_KINDS
        and (check.broken or check.status == "warn")
        and check.run_id in published
    ]
    known = {check.run_id for check in wrong}
    told = [
        run
        for run in published.values()
        if run.verification in ("warned", "failed") and run.run_id not in known
    ]
    if not wrong and not told:
        return
    halves = dict.fromkeys(_called(check) for check in wrong)
    ends = [*(check.ended_at for check in wrong), *(run.ended_at for run in told)]
    since = min((end for end in ends if end), default=None)
    rows = sum(check.violations or 0 for check in wrong)
    yield Trouble(
        name,
        f"rows are published that did not pass the verification"
        f" ({', '.join(halves) or 'no details'})",
        serious=True,
        since=since,
        why="\n".join(
            [f"{counted(rows, 'row')} in {counted(len(known) + len(told), 'run')}"]
            + [check.message() for check in wrong[-1:] if check.details]
        ),
        do=f"tapestry verify {_short(name)} shows which;"
        f" dbt run --full-refresh --select {_short(name)} builds the table again",
    )


def _broken_expectations(
    name: str, last: Run | None, checks: Sequence[RecordedCheck]
) -> Iterable[Trouble]:
    """Yield expectations that were broken in the last run without stopping it.

    Tables and views that dbt builds whole have checks, and no run over a window.
    """
    newest = last or max(checks, key=lambda check: check.when, default=None)
    by_check: defaultdict[tuple[str, str], list[RecordedCheck]] = defaultdict(list)
    for check in checks:
        if check.kind not in VERIFICATION_KINDS:
            by_check[check.kind, check.name].append(check)
    for history in by_check.values():
        check = history[-1]
        if newest is None or check.invocation_id != newest.invocation_id:
            continue
        if check.status in ("pass", ""):
            continue
        first = len(history) - 1
        while first and history[first - 1].status != "pass":
            first -= 1
        yield Trouble(
            name,
            f"{_called(check)} {_outcome(check)}",
            serious=check.broken and check.on_violation != "warn",
            since=history[first].ended_at,
            why=check.message() or f"of {counted(check.checked_rows or 0, 'row')} checked",
            do=_where(name, check),
        )


def _where(name: str, check: RecordedCheck) -> str:
    """Return where the rows are that break an expectation, and what to do about them."""
    dropping = check.on_violation == "drop"
    if check.on_violation == "fail" or (dropping and check.status == "error"):
        return (
            "nothing was published: correct the data, the query or the expectation, and run again"
            f" (rows for a table are kept in {name}__staged)"
        )
    if dropping:
        return f"look at the rows in {name}__rejected: they were kept out of the table"
    return f"look at the rows in {name}: they were published all the same"


def _outcome(check: RecordedCheck) -> str:
    if check.status == "error":
        return "could not be computed"
    broken = check.violations or 0
    return f"is broken by {counted(broken, 'row')}" if broken else "does not hold"


def _result(node: Node | None, last: Run | None, artifacts: Artifacts) -> NodeResult | None:
    """Return dbt's last result of a model, unless a newer run is recorded."""
    found = (one for one in artifacts.results if node is not None and one.node == node.id)
    return next((one for one in found if _newer(one, artifacts, last)), None)


def _end(result: NodeResult, artifacts: Artifacts) -> datetime | None:
    """Return the end of the invocation of a result."""
    return result.at or artifacts.finished_at


def _newer(result: NodeResult, artifacts: Artifacts, last: Run | None) -> bool:
    end = _end(result, artifacts)
    return end is not None and (last is None or last.when <= end)


def _dbt_result(name: str, result: NodeResult, at: datetime | None) -> Iterable[Trouble]:
    if result.not_well:
        yield Trouble(
            name,
            "dbt could not run it",
            serious=True,
            since=at,
            why=result.message or f"dbt says: {result.status}",
            do=parted(result.message)[1]
            or f"correct the cause, then: dbt run --select {_short(name)}",
        )
    elif result.status == "skipped":
        yield Trouble(
            name,
            "dbt skipped it",
            serious=False,
            since=at,
            why=result.message or "something that it reads failed",
            do="correct that one, then: dbt retry",
        )


def _dbt_tests(name: str, node: Node, last: Run | None, artifacts: Artifacts) -> Iterable[Trouble]:
    for result in artifacts.results:
        of_node = result.tests == node.id and _newer(result, artifacts, last)
        if of_node and (result.not_well or result.status == "warn"):
            short = result.node.split(".")[2] if result.node.count(".") >= 2 else result.node
            yield Trouble(
                name,
                f"dbt test {short}: {result.status}",
                serious=result.not_well,
                since=_end(result, artifacts),
                why=result.message or f"dbt says: {result.status}",
                do=f"dbt test --select {_short(name)}",
            )


def _waiting_sinks(name: str, node: Node | None, waiting: Sequence[Waiting]) -> Iterable[Trouble]:
    """Yield sinks that lack batches; one taken out of the configuration waits for nothing."""
    for one in waiting:
        if node is None or one.sink in node.sinks:
            yield Trouble(
                name,
                f"the sink {one.sink} has not taken what is new",
                serious=False,
                since=one.since,
                why="what it lacks is kept, and sent again after each run",
                do=f"tapestry deliver {_short(name)} --sink {one.sink} says why",
            )


def _overdue(
    record: Record, last: datetime | None, now: datetime, stale_after: timedelta | None
) -> Iterable[Trouble]:
    """Yield a trouble if the project has not run for long, compared with its usual rhythm."""
    if last is None:
        return
    since = now - last
    ends: dict[str, datetime] = {}
    for run in record.runs:
        if run.ended_at is not None:
            ends[run.invocation_id] = run.ended_at
    gaps = sorted(b - a for a, b in pairwise(sorted(ends.values())[-200:]))
    usual = gaps[int(len(gaps) * 0.9)] if len(gaps) >= USUAL_RUNS else None
    allowed = stale_after
    if allowed is None and usual is not None:
        allowed = max(usual * OVERDUE_FACTOR, OVERDUE_AT_LEAST)
    if allowed is None or since <= allowed:
        return
    yield Trouble(
        "",
        f"no run for {length(since)}",
        serious=stale_after is not None,
        since=last,
        why=f"the last one ended at {instant(last)} UTC"
        + (f"; runs used to come every {length(usual)} or faster" if usual else ""),
        do="look at what starts the runs (cron, a workflow, tapestry watch)",
    )


def _unread(record: Record) -> Iterable[Trouble]:
    """Yield troubles about rows in the tables that no run has written, and that are not shown."""
    for one in record.unread:
        what = one.table if one.rows is None else f"{counted(one.rows, 'row')} of {one.table}"
        yield Trouble(
            "",
            f"{what} cannot be read",
            serious=False,
            since=None,
            why=one.why if one.rows is None else f"the first: {one.why}",
            do=_READ_BY.get(one.table, "put that right"),
        )


def _last_end(record: Record) -> datetime | None:
    return max((run.ended_at for run in record.runs if run.ended_at), default=None)


def _called(check: RecordedCheck) -> str:
    names = {"enough": "enough", "not_too_much": "not too much"}
    return names.get(check.kind) or check.name or check.kind


def _short(name: str) -> str:
    return name.rpartition(".")[2]
