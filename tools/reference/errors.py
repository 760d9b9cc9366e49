"""docs/reference/errors.md: each kind of error, its exit code, and every message of it.

A message is what stands in the source where the error is made: its reason and its hint, with `…`
for what is filled in. A reason or hint that is put together elsewhere is left to the other column.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tools.reference.literals import Names, cell, imported_names, names_of, text_of

from tapestry import errors
from tapestry.cli.end_command import BUSY, FAILED, USAGE, code_of
from tapestry.errors import Refusal, TapestryError

PACKAGES = ("python/tapestry", "python/dbt/adapters/tapestry")
EXIT = {FAILED: "failed", USAGE: "wrong usage or settings", BUSY: "try again"}
TEXT = """\
# Errors

<!-- written by tools/reference from the code: `make reference` -->

Every error of the adapter is one message of at most five lines: what is wrong, where (`in:`), and
what to do (`do:`). Python tracebacks and Java stack traces are in `logs/dbt.log` and
`logs/spark.log`. dbt shows the message under its model. With `tapestry … --json` an error is also
JSON: `kind` is one of the headings below, and `code` is the code of a refusal. The code stays the
same if the wording changes, so programs should use only the code.

In the messages `…` stands for names and values.
"""

MAKERS = {"refuse": ("clock-condition", 0, 1), "_refuse_correlated": ("correlated", 1, 2)}
"""Functions that make a refusal: its code, and which of their arguments are reason and hint."""


@dataclass(frozen=True)
class Message:
    """One place in the code that makes an error of ``kind``."""

    kind: str
    reason: str
    hint: str
    code: str = ""


def kinds() -> list[type[TapestryError]]:
    """The kinds of errors in the order of the source."""
    found = [
        c for c in vars(errors).values() if inspect.isclass(c) and issubclass(c, TapestryError)
    ]
    return [kind for kind in found if kind is not TapestryError]


def page(root: Path) -> str:
    """The page as Markdown."""
    found = messages(root)
    parts = [TEXT]
    for kind in kinds():
        code = code_of(Refusal("x", code="x") if kind is Refusal else kind("x"))
        parts.append(f"## {kind.__name__}\n\n{inspect.getdoc(kind)}\n")
        parts.append(f"Exit code of `tapestry`: {code} ({EXIT[code]}).\n")
        parts += _table([m for m in found if m.kind == kind.__name__ and m.reason])
    return "\n".join(parts)


def _table(messages: list[Message]) -> list[str]:
    """The messages in order, with a column for the codes where they have some."""
    coded = any(message.code for message in messages)
    rows = sorted({(*([m.code] * coded), m.reason, m.hint) for m in messages})
    if not rows:
        return []
    head = ["code"] * coded + ["message", "what to do"]
    lines = [head, ["---"] * len(head), *([cell(text) for text in row] for row in rows)]
    return [*(f"| {' | '.join(line)} |" for line in lines), ""]


@cache
def messages(root: Path) -> tuple[Message, ...]:
    """Every call of a kind of error that the code contains."""
    return tuple(_messages(root))


def _messages(root: Path) -> Iterator[Message]:
    kinds_by_name = {kind.__name__ for kind in kinds()}
    makers = (*kinds_by_name, *MAKERS)
    for package in PACKAGES:
        for path in sorted((root / package).rglob("*.py")):
            text = path.read_text("utf-8")
            if not any(f"{name}(" in text for name in makers):
                continue
            tree = ast.parse(text)
            names = {**imported_names(tree, root / "python"), **names_of(tree)}
            for node in ast.walk(tree):
                if not isinstance(node, ast.Call):
                    continue
                called = getattr(node.func, "attr", None) or getattr(node.func, "id", "")
                if called in kinds_by_name:
                    yield _message(called, node, names)
                elif called in MAKERS:
                    code, reason, hint = MAKERS[called]
                    texts = [text_of(_at(node, place), names) for place in (reason, hint)]
                    yield Message("Refusal", texts[0], texts[1], code)


def _at(call: ast.Call, place: int) -> ast.expr | None:
    return call.args[place] if len(call.args) > place else None


def _message(kind: str, call: ast.Call, names: Names) -> Message:
    named = {word.arg: word.value for word in call.keywords}
    reason = call.args[0] if call.args else named.get("reason")
    hint = call.args[2] if len(call.args) > 2 else named.get("hint")
    code = named.get("code")
    found = str(code.value) if isinstance(code, ast.Constant) else ""
    return Message(kind, text_of(reason, names), text_of(hint, names), found)
