"""The readers of the pages themselves: what they take and what they do not."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest
from tests.docs import commands, tables, test_tutorial
from tests.docs.commands import commands_of, trouble
from tests.docs.pages import Part, parts
from tests.docs.sql_blocks import World
from tools.reference import literals


@pytest.mark.parametrize("module", [commands, tables, literals, test_tutorial])
def test_the_examples_in_the_docstrings(module: object) -> None:
    failed, tried = doctest.testmod(module)  # type: ignore[arg-type]
    assert tried
    assert not failed


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("tapestry explain unanswered --jsn", "No such option"),
        ("tapestry explian unanswered", "no command"),
        ("tapestry completion powershell", "powershell"),
        ("tapestry load", "missing"),
        ("dbt run --full-refrehs", "No such option"),
        ("dbt --quiet runn", "no command"),
        ("make demmo", "no goal"),
        ("pip install '.[locl]'", "no extra"),
        ("python -m tapestry.demmo", "no module"),
        ("frobnicate", "unknown here"),
        ("X=1 flock -n .lock dbt rnu", "no command"),
    ],
)
def test_a_wrong_command_is_noticed(line: str, why: str) -> None:
    (words,) = commands_of(line)
    assert why in trouble(words)


PAGE = """\
<!-- rows: s.t -->

| a | ts | (readable at) |
|---|---|---|
| 1 | 2026-01-01 |  |
| 2 | 2026-01-02 | 2026-01-09 |

```sql
select a from {{ source('s', 't') }}
```

<!-- run at: 2026-01-05, 2026-01-10 -->

| a | _matched_at |
|---|---|
| 1 | 2026-01-01 |
| 2 | %s |
"""


def _take(tmp_path: Path, text: str) -> None:
    file = tmp_path / "page.md"
    file.write_text(text)
    page = parts(file)
    world = World.of(page)
    for part in page:
        world.take(part)


def test_a_late_row_arrives_after_the_run_that_missed_it(tmp_path: Path) -> None:
    _take(tmp_path, PAGE % "2026-01-05 00:00:00.000001")


@pytest.mark.parametrize("instant", ["2026-01-02", "2026-01-05", ""])
def test_a_wrong_table_is_noticed(tmp_path: Path, instant: str) -> None:
    with pytest.raises(AssertionError, match="the runs deliver"):
        _take(tmp_path, PAGE % instant)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("<!-- refused: months -->\n```sql\nselect a from s\n```\n", "not known"),
        ("```sql\nselect from s.t where\n```\n", "read"),
        ("<!-- spark -->\n```sql\nalter tabel x\n```\n", "Command"),
        ("<!-- query -->\n```sql\nselect nothing from demo.tapestry_runs\n```\n", "nothing"),
        ("<!-- conditions: a int -->\n\n| c | |\n|---|---|\n| `a > now()` | yes |\n", "a > now"),
    ],
)
def test_wrong_sql_is_noticed(tmp_path: Path, text: str, why: str) -> None:
    with pytest.raises(Exception, match=why):
        _take(tmp_path, text)


@pytest.mark.parametrize(
    "text",
    ["<!-- roows: s.t -->\n\n| a |\n|---|\n", "<!-- not run: later -->\n```sql\n```\n",
     "<!-- output -->\n\nText, no block.\n"],
)  # fmt: skip
def test_a_mark_that_is_none_is_noticed(tmp_path: Path, text: str) -> None:
    file = tmp_path / "page.md"
    file.write_text(text)
    with pytest.raises(ValueError, match=r"mark|why"):
        parts(file)


def test_code_inside_an_admonition_is_read(tmp_path: Path) -> None:
    file = tmp_path / "page.md"
    file.write_text('!!! note "x"\n\n    Text.\n\n    ```sh\n    dbt run\n    ```\n\nAfter.\n')
    assert parts(file) == [Part(file, 5, "sh", "dbt run\n")]
