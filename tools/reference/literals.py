"""Texts as they stand in the source, with `…` for what a run fills in."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Mapping
from functools import cache
from pathlib import Path

Names = Mapping[str, ast.expr]


def names_of(tree: ast.Module) -> Names:
    """The names of a file that are given a value once: a text under a name is its text."""
    given = [
        (node.targets[0].id, node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    ]
    once = {name for name, times in Counter(name for name, _ in given).items() if times == 1}
    return {name: value for name, value in given if name in once}


@cache
def names_in(path: Path) -> Names:
    """The names of the file at a path."""
    return names_of(ast.parse(path.read_text("utf-8")))


def imported_names(tree: ast.Module, folder: Path) -> Names:
    """Constants that a file takes from others of the package, by the names it knows them by."""
    found: dict[str, ast.expr] = {}
    for node in ast.walk(tree):
        if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith("tapestry."):
            continue
        path = folder.joinpath(*(node.module or "").split(".")).with_suffix(".py")
        wanted = [one.name for one in node.names if one.name.isupper() and not one.asname]
        if wanted and path.is_file():
            there = names_in(path)
            found |= {name: there[name] for name in wanted if name in there}
    return found


def text_of(node: ast.expr | None, names: Names) -> str:
    """A text, or nothing where no word of it is known.

    >>> text_of(ast.parse("f'{x} is not a {kind} of y'", mode="eval").body, {})
    '… is not a … of y'
    >>> text_of(ast.parse("text", mode="eval").body, {"text": ast.Constant("a text")})
    'a text'
    >>> text_of(ast.parse("f'do this{\\"\\" if x else \\" or that\\"}'", mode="eval").body, {})
    'do this or that'
    """
    text = " ".join(_text(node, names).split())
    while "……" in text:
        text = text.replace("……", "…")
    return text if any(letter.isalpha() for letter in text) else ""


def _text(node: ast.expr | None, names: Names) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.FormattedValue):
        return _text(node.value, names) or "…"
    if isinstance(node, ast.IfExp):
        return _either(node.body, node.orelse, names)
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(piece, names) for piece in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return (_text(node.left, names) or "…") + (_text(node.right, names) or "…")
    if isinstance(node, ast.Name) and node.id in names:
        rest = {name: value for name, value in names.items() if name != node.id}
        return _text(names[node.id], rest)
    return ""


def _either(one: ast.expr, other: ast.expr, names: Names) -> str:
    """Of two texts the one that says more; nothing where one is not known."""
    texts = [_text(node, names) for node in (one, other)]
    unknown = [
        not text and not isinstance(node, ast.Constant)
        for node, text in zip((one, other), texts, strict=True)
    ]
    return "" if any(unknown) else max(texts, key=lambda text: ("…" in text, len(text)))


CODE = re.compile(r"`([^`|\\]+)`")


def cell(text: str) -> str:
    r"""Text inside a table: its code as code, the rest with no Markdown and no HTML of its own.

    >>> cell("write `a_b` for a_b")
    'write `a_b` for a\\_b'
    """
    kept = CODE.split(text)
    return "".join(f"`{one}`" if i % 2 else _escaped(one) for i, one in enumerate(kept))


def _escaped(text: str) -> str:
    for old, new in (("\\", "\\\\"), ("|", "\\|"), ("<", "&lt;"), ("*", "\\*"), ("_", "\\_"),
                     ("[", "\\["), ("{", "&#123;"), ("`", "\\`")):  # fmt: skip
        text = text.replace(old, new)
    return text
