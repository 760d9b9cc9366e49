"""The reference interpreter of rules: a history is read step by step, each commit by itself.

It is written from the definitions (rules, section 2) and shares nothing with the product. Actions
are there from the beginning: when the life of one begins is not interpreted.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from tests.rules.bags import by_bags
from tests.rules.definitions import ActionRun, Commit, LogOf, Program, Rule, RuleRun, Step
from tests.rules.firing import Evaluator, Firing
from tests.rules.logs import LogReader
from tests.rules.queues import Batch, Queue


class Interpreter:
    """Where a history has come to.

    positions
        By rule: the version up to which it has looked at its table.
    firings
        All so far.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.evaluator = Evaluator(program)
        self.queues = {one.name: Queue(one) for one in program.actions}
        self.positions: dict[str, int] = {}
        self.logs: dict[str, LogReader] = {}
        self.firings: list[Firing] = []

    def read(self, history: Iterable[Step]) -> list[list[Batch]]:
        """Go through a history: of each run of an action its batches."""
        found = []
        for step in history:
            if isinstance(step, Commit):
                self.evaluator.seen[step.table].append(step)
            elif isinstance(step, RuleRun):
                self.look(self.program.rule(step.rule), step.t)
            else:
                found.append(self.act(step))
        return found

    def look(self, rule: Rule, t: datetime) -> None:
        """A run of a rule: each new commit that was made by t, one after the other."""
        commits = self.evaluator.seen[rule.on]
        if rule.log is not None:
            log = self.logs.setdefault(rule.name, self.log_of(rule, rule.log, commits))
            for transaction in log.transactions(commits, t):
                self.fire(rule, transaction)
            return
        position = self.positions.setdefault(rule.name, _begin(rule, commits))
        for commit in commits:
            if commit.version <= position:
                continue
            if commit.time > t:
                break
            self.positions[rule.name] = commit.version
            self.fire(rule, seen_by(rule, commit))

    def fire(self, rule: Rule, commit: Commit) -> None:
        """Show a commit to a rule; what fires waits for its actions."""
        firing = self.evaluator.fire(rule, commit)
        if firing is not None:
            self.firings.append(firing)
            for queue in self.queues.values():
                if rule.name in queue.action.rules:
                    queue.append(firing)

    def log_of(self, rule: Rule, log: LogOf, commits: list[Commit]) -> LogReader:
        """A log of changes, from which nothing was read yet."""
        columns = list(self.program.tables[rule.on].columns)
        return LogReader(rule.on, log, columns, _begin(rule, commits))

    def act(self, run: ActionRun) -> list[Batch]:
        """A run of an action."""
        queue = self.queues[run.action]
        times = [
            commit.time
            for rule in map(self.program.rule, queue.action.rules)
            for commit in self.evaluator.seen[rule.on]
            if commit.version > self.positions.get(rule.name, -1)
        ]
        return queue.run(run, min(times, default=None))


def seen_by(rule: Rule, commit: Commit) -> Commit:
    """A commit as a rule sees it: by its changed rows, or by the versions before and after it."""
    compared = commit.overwrites and rule.on_overwrite == "diff"
    if rule.changes == "diff" or compared:
        return replace(commit, changes=by_bags(commit.changes))
    return commit


def _begin(rule: Rule, commits: list[Commit]) -> int:
    """The version after which the first run of a rule begins to look."""
    if rule.begin == "earliest":
        return -1
    if rule.begin == "now":
        return max((one.version for one in commits), default=-1)
    return int(rule.begin) - 1
