"""Everything that can go wrong, one class a kind; a message says what, where, why, what to do.

A message has at most five lines: the reason, ``where`` (file and piece of SQL), and a hint.
"""

from __future__ import annotations

import re
from functools import partial
from typing import Any, Final

HINT: Final = "do: "
"""The prefix of the line with the hint, by which it is found in a wrapped message, too."""


class TapestryError(Exception):
    """Base of all errors of this package: ``reason``, and where known ``where`` and ``hint``."""

    def __init__(self, reason: str, where: str = "", hint: str = "") -> None:
        super().__init__(reason, where, hint)
        self.reason = reason
        self.where = where
        self.hint = hint

    @property
    def headline(self) -> str:
        """The first line of the message."""
        return self.reason

    def __str__(self) -> str:
        lines = [self.headline]
        if self.where:
            lines.append(f"  in: {_shorten(self.where)}")
        if self.hint:
            lines.append(f"  {HINT}{self.hint}")
        return "\n".join("\n".join(lines).splitlines()[:5])


class Refusal(TapestryError):
    """A query whose exact answers a run cannot compute, with the reason, the place and a way out.

    ``code`` names the kind of refusal: it stays the same when the wording changes.
    """

    def __init__(self, reason: str, where: str = "", hint: str = "", *, code: str) -> None:
        super().__init__(reason, where, hint)
        self.code = code

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(Refusal, code=self.code), self.args

    @property
    def headline(self) -> str:
        """The reason, with the code behind it."""
        return f"{self.reason} [{self.code}]"


class ConfigurationError(TapestryError):
    """A configuration key or value of ours is unknown or does not fit."""


class SourceRewritten(TapestryError):
    """A source lost or changed rows since the last run."""


class SourceHistoryGone(TapestryError):
    """The changes of a source since the last run can no longer be read."""


class LateRowsFound(TapestryError):
    """Rows came later than ``late_after`` and the model is configured to fail on that."""


class QueryChanged(TapestryError):
    """The query or the kind of a model differs from that of the last run of its table."""


class TargetChanged(TapestryError):
    """Another program has written to the table of a model."""


class StateMissing(TapestryError):
    """A model's table exists without the state that belongs to it."""


class StateUnreadable(StateMissing):
    """A table of the adapter has a row about a model that no run can have written."""


class NotRunYet(StateMissing):
    """A model that has no table yet."""


class ConcurrentRun(TapestryError):
    """Another run of the same model committed first."""


class ExpectationFailed(TapestryError):
    """New rows violate an expectation, or an expectation could not be computed."""


class VerificationFailed(TapestryError):
    """The rows that a run publishes, or published, differ from its query's definition."""


class MailboxUnreadable(TapestryError):
    """A mailbox cannot be read completely, or exceeds a limit: nothing of it is loaded."""


class AssumptionWrong(ConfigurationError):
    """Rows of a source violate an assumption of the model's author (``assume``)."""


class TooManyInstants(ConfigurationError):
    """A run would evaluate more pairs of a row and an instant than ``instants_limit``."""


class WindowError(TapestryError):
    """The requested window ends before the window of the last run."""


class ReservedName(ConfigurationError):
    """A relation, a query or a column has a name that a rule uses for something else."""


class CannotPair(TapestryError):
    """The old and the new values of an updated row cannot be matched."""


class BoundTablesDiffer(ConfigurationError):
    """The rules of an action bind tables with different names, columns or types."""


class UniqueColumnMissing(ConfigurationError):
    """A bound table lacks some of the columns by which the batches of an action are formed."""


class ChangesGone(TapestryError):
    """The changes of a table since the last run of a rule can no longer be read."""


class StateGone(TapestryError):
    """The state of another table at a commit can no longer be read."""


class BaselineGap(TapestryError):
    """A rule begins after the version from which a derived table of its actions was built."""


class DerivedDrift(TapestryError):
    """A derived table differs from its query over the rows that its actions have handled."""


class ActionFailed(TapestryError):
    """A batch of an action has failed for the last time: no run tries it again."""


class ActionTimedOut(ActionFailed):
    """A batch of an action was not done within its ``timeout``."""


class RuleLoop(TapestryError):
    """A chain of rules and actions is longer than ``max_depth``."""


_COMMENT = re.compile(
    r"""(?P<kept>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`[^`]*`)|/\*(?=\s).*?\*/|(?:^|(?<=\s))--\s[^\n]*\n""",
    re.DOTALL,
)
"""A comment of SQL; what is quoted has none."""


def _shorten(text: str, width: int = 200) -> str:
    """A place in one line, without the comments in it: they may be longer than the SQL."""
    text = _COMMENT.sub(lambda found: found["kept"] or " ", text)
    flat = " ".join(text.split())
    return flat if len(flat) <= width else flat[: width - 1] + "…"


def parted(message: str) -> tuple[str, str]:
    """A message without the line of its hint, and the hint ("" without one).

    >>> parted("it failed\\n  in: a.sql\\n  do: correct it")
    ('it failed\\n  in: a.sql', 'correct it')
    """
    lines = message.splitlines()
    hints = [line.strip() for line in lines if line.strip().startswith(HINT)]
    kept = "\n".join(line for line in lines if not line.strip().startswith(HINT))
    return kept, hints[0].removeprefix(HINT) if hints else ""
