"""The known gaps: tests that are expected to fail until somebody closes what they show."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path

from tools.reference.literals import Names, names_of, text_of

TEXT = """\
## Known gaps with a test

For each of these gaps there is a test that is expected to fail (a strict `xfail`). When the gap is
closed, the test reports it, and the line is removed.
"""


def section(root: Path) -> str:
    """The gaps as a list; a sentence where there is none."""
    found = sorted({(reason, str(path.relative_to(root))) for path, reason in _gaps(root)})
    lines = [f"- {reason} (`{path}`)" for reason, path in found]
    return "\n".join([TEXT, *(lines or ["There are none at the moment."]), ""])


def _gaps(root: Path) -> Iterator[tuple[Path, str]]:
    for path in sorted((root / "tests").rglob("test_*.py")):
        text = path.read_text("utf-8")
        if "xfail" not in text:
            continue
        tree = ast.parse(text)
        names = names_of(tree)
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "xfail":
                yield from ((path, reason) for reason in _reasons(node, names))
    for path in sorted((root / "tests/property/cases").glob("*.json")):
        if gap := json.loads(path.read_text("utf-8")).get("gap"):
            yield path, gap


def _reasons(call: ast.Call, names: Names) -> Iterator[str]:
    reason = next((word.value for word in call.keywords if word.arg == "reason"), None)
    if isinstance(reason, ast.Subscript) and isinstance(reason.value, ast.Name):
        table = names.get(reason.value.id)
        values = table.values if isinstance(table, ast.Dict) else []
        yield from (text for value in values if (text := text_of(value, names)))
    elif text := text_of(reason, names):
        yield text
