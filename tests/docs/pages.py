"""The pages of the documentation as blocks of code, tables and marks, in reading order.

A mark is an HTML comment that stands before a block or a table and says how it is tested:

    <!-- rows: orders -->           the table is data of a source; `rows: lists static`
    <!-- run at: 2026-03-02, … -->  the table is what the runs of the last query deliver
    <!-- answer at: 2026-03-02 -->  the table is what the last maintained query answers over the
                                    rows so far; what changed since the last one leads to it
    <!-- refused: no point -->      the query is refused, with this in the message
    <!-- conditions: ts timestamp --> a table: `condition` | yes or no; over these columns
    <!-- spark -->                  SQL that is no model: read by the parser
    <!-- query -->                  SQL that is no model: executed over what the page holds
    <!-- parsed -->                 YAML of another program: it is YAML
    <!-- output -->                 what a command prints; a test elsewhere compares it
    <!-- not run: because … -->     nothing is tested, for this reason
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).parents[2]
MARKS = (
    *("rows", "run at", "answer at", "conditions", "refused", "spark", "query", "parsed"),
    *("output", "not run"),
)
NOT_OURS = {"docs/reference/benchmarks.md", "docs/reference/trading.md"}
"""Written by other programs, which have tests of their own."""


@dataclass(frozen=True)
class Part:
    """A block of code, or a table (``language == "table"``) with its rows of cells."""

    path: Path
    line: int
    language: str
    text: str
    title: str = ""
    mark: str = ""
    said: str = ""
    """What stands behind the mark's colon."""
    cells: tuple[tuple[str, ...], ...] = field(default=())

    @property
    def name(self) -> str:
        """``docs/page.md:12``"""
        return f"{self.path.relative_to(ROOT)}:{self.line}"


def pages() -> list[Path]:
    """Every page that people read, generated ones included."""
    found = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [path for path in found if str(path.relative_to(ROOT)) not in NOT_OURS]


def parts(path: Path) -> list[Part]:
    """Blocks and marked tables of one page.

    Raises ValueError for a mark that is none, or that stands before nothing.
    """
    tokens = MarkdownIt("commonmark").enable("table").parse(_body(path.read_text("utf-8")))
    return list(_parts(path, tokens))


def blocks(*languages: str) -> list[Part]:
    """All blocks of these languages on all pages."""
    return [part for path in pages() for part in parts(path) if part.language in languages]


def _body(text: str) -> str:
    """The page without front matter, and without what admonitions indent; lines stay in place."""
    if text.startswith("---\n"):
        head, _, rest = text[4:].partition("\n---\n")
        text = "\n" * (head.count("\n") + 3) + rest
    lines, inside = [], False
    for line in text.split("\n"):
        opens = line.startswith(("!!! ", "??? ", "=== "))
        inside = opens or (inside and (not line or line.startswith("    ")))
        lines.append(line[4:] if inside and not opens else line)
    return "\n".join(lines)


def _parts(path: Path, tokens: list[Token]) -> Iterator[Part]:
    mark = said = ""
    for place, token in enumerate(tokens):
        line = (token.map or [0])[0] + 1
        if token.type == "html_block" and token.content.startswith("<!--"):
            mark, said = _mark(path, line, token.content)
            continue
        if token.type in ("fence", "code_block"):
            language, _, rest = token.info.strip().partition(" ")
            title = rest.partition('title="')[2].partition('"')[0]
            yield Part(path, line, language, token.content, title, mark, said)
        elif token.type == "table_open" and mark:
            yield Part(path, line, "table", "", "", mark, said, _cells(tokens[place:], mark))
        elif mark:
            raise ValueError(f"{path.name}:{line}: a mark ({mark}) before neither code nor table")
        mark = said = ""


def _mark(path: Path, line: int, comment: str) -> tuple[str, str]:
    inside = comment.strip().removeprefix("<!--").removesuffix("-->").strip()
    word, _, said = inside.partition(":")
    if word not in MARKS:
        if path.parent.name == "reference" and inside.startswith("written by"):
            return "", ""
        raise ValueError(f"{path.name}:{line}: {word!r} is no mark; there are {', '.join(MARKS)}")
    if word == "not run" and len(said.split()) < 3:
        raise ValueError(f"{path.name}:{line}: not run, but why?")
    return word, said.strip()


def _cells(tokens: list[Token], mark: str) -> tuple[tuple[str, ...], ...]:
    rows: list[list[str]] = []
    for token in tokens:
        if token.type == "table_close":
            break
        if token.type == "tr_open":
            rows.append([])
        if token.type == "inline" and rows:
            text = token.content if mark == "conditions" else token.content.replace("`", "")
            rows[-1].append(text.strip())
    return tuple(tuple(row) for row in rows)
