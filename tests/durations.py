"""How long each test took: kept with each run, and what is too long for the gate is named.

Seconds on the clock, and of processors: of the process and of those that it started (Spark's),
which other work on the machine changes little. ``.pytest_cache/v/durations/`` keeps them for each
part; its next run begins with the files that took longest, so that no process ends alone.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

TOO_LONG = 15.0
"""Seconds of a test: above them it belongs outside the gate (mark ``more``)."""
SHOWN = 10
TICKS = os.sysconf("SC_CLK_TCK")


class Durations:
    """What the reports of a run tell of time, by test: seconds on the clock, and of processors."""

    def __init__(self, config: pytest.Config, part: str) -> None:
        """A run of some parts of the tests."""
        self.key = f"durations/{part}"
        self.config = config  # its cache comes later, or is switched off
        self.workers = hasattr(config, "workerinput")
        self.seconds: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
        self._spent = 0.0

    def pytest_runtest_logstart(self) -> None:
        """A test begins."""
        self._spent = processor_seconds()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Iterator[Any]:
        """A worker's reports carry what the processors did for each phase."""
        report = yield
        before, self._spent = self._spent, processor_seconds()
        report.processor_seconds = self._spent - before
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Set-up, test and tear-down count."""
        seconds = self.seconds[report.nodeid]
        seconds[0] += report.duration
        seconds[1] += getattr(report, "processor_seconds", 0.0)

    def longest_first(self, items: list[pytest.Item]) -> None:
        """Order by the files' times of the last run; inside a file the order stays."""
        cache = getattr(self.config, "cache", None)
        known = cache.get(self.key, {}) if cache else {}
        files: dict[str, float] = defaultdict(float)
        for name, (_, processors) in known.items():
            files[name.partition("::")[0]] += processors
        items.sort(key=lambda item: -files[item.nodeid.partition("::")[0]])

    def pytest_sessionfinish(self) -> None:
        """Keep the figures, rounded; what did not run now keeps those of before."""
        cache = getattr(self.config, "cache", None)
        if cache and not self.workers:
            kept = dict(cache.get(self.key, {}))
            kept |= {name: [round(one, 2) for one in both] for name, both in self.seconds.items()}
            cache.set(self.key, kept)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """The longest tests, and whether one is too long for the gate."""
        tell = terminalreporter.write_line
        spent = [sum(both[place] for both in self.seconds.values()) for place in (0, 1)]
        tell(f"{spent[0]:.0f} s in tests, {spent[1]:.0f} s of processors; the longest:")
        ordered = sorted(self.seconds.items(), key=lambda one: -one[1][1])
        for name, (clock, processors) in ordered[:SHOWN]:
            too_long = f"  over {TOO_LONG:.0f} s: outside the gate, please (mark `more`)"
            note = too_long if processors > TOO_LONG and not self.key.endswith("outside") else ""
            tell(f"{clock:7.1f} s {processors:7.1f} s  {name}{note}")


def processor_seconds() -> float:
    """Of this process, of its ended children and of those that live (where Linux tells them)."""
    own = os.times()
    spent = own.user + own.system + own.children_user + own.children_system
    return spent + sum(_seconds_of(child) for child in _children("self"))


def _children(process: str) -> Iterator[str]:
    try:
        threads = os.listdir(f"/proc/{process}/task")
    except OSError:  # the process has ended
        return
    for thread in threads:
        try:
            found = Path(f"/proc/{process}/task/{thread}/children").read_text().split()
        except OSError:  # the thread has ended
            continue
        for child in found:
            yield child
            yield from _children(child)


def _seconds_of(process: str) -> float:
    """User and system seconds, with those of its ended children; 0 for one that has ended."""
    try:
        after_name = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, after_name[11:15])) / TICKS
