"""No value gets into SQL text past ``tapestry.quoting``, and who looks for that finds it."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest
from tests.splices.follow import Program, Splice, read_program
from tests.splices.words import WHY

ROOT = Path(__file__).parents[1]
MOST_REASONS = 49


@cache
def _program() -> tuple[Program, list[Splice]]:
    program = read_program(ROOT / "python")
    return program, program.splices()


def test_every_value_is_quoted() -> None:
    """The way out: a function of ``tapestry.quoting``, or `# sql: why` where it is SQL already."""
    _, found = _program()
    assert not [str(one) for one in found]


def test_the_reasons_given_are_few_and_needed() -> None:
    program, _ = _program()
    given = {
        f"{module.path}:{number}"
        for module in program.modules.values()
        for number, line in enumerate(module.lines, 1)
        if WHY.search(line)
    }
    assert len(given) < MOST_REASONS
    assert not given - program.reasons


def test_nobody_else_doubles_quotes() -> None:
    """Home-made quoting knows neither backslashes nor ``${…}``."""
    homemade = []
    for path in sorted((ROOT / "python").rglob("*.py")):
        if path.name == "quoting.py":
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "replace":
                texts = [a.value for a in node.args if isinstance(a, ast.Constant)]
                if texts[:1] in (["'"], ["`"]) and texts[1:2] in (["''"], ["``"]):
                    homemade.append(f"{path}:{node.lineno}")
    assert not homemade


def test_no_macro_puts_a_value_between_quotes() -> None:
    """Jinja knows nothing of SQL: the adapter's `literal`, `text` and `quote` do."""
    quotes = re.compile(r"""['"`]\s*~?\s*\{\{|\{\{[^}]*\}\}['`]|~\s*["']'["']|["']'["']\s*~""")
    found = [
        f"{path.name}: {line.strip()}"
        for path in sorted((ROOT / "macros").rglob("*.sql"))
        for line in path.read_text("utf-8").splitlines()
        if quotes.search(line) and "exceptions." not in line
    ]
    assert not found


HEAD = """
from dataclasses import dataclass
from tapestry.quoting import identifier, string, Sql
from elsewhere import quote_it
"""
PLANTED = {
    "a parameter": 'def f(session, n: str):\n    session.run(f"DROP TABLE {n}")\nf(s, input())',
    "percent": 'def f(session, name: str):\n    session.run("DROP TABLE %s" % name)\nf(s, input())',
    "format": 'def f(session):\n    session.run("DROP TABLE {}".format(input()))',
    "plus": 'def f(session):\n    session.run("SELECT 1 FROM " + input())',
    "a list": "def f(n: list[str]) -> str:\n    return f\"SELECT {','.join(n)}\"\nf(input())",
    "text that nobody runs": 'def f(n: str) -> str:\n    return f"SELECT {n}"\nf(input())',
    "a field": (
        "@dataclass\nclass Named:\n    name: str\n"
        'def f(one: Named) -> str:\n    return f"SELECT {one.name}"\nNamed(input())'
    ),
    "what a function returns": (
        "def g() -> str:\n    return input()\n"
        'def f() -> str:\n    text = g()\n    return f"SELECT {text}"'
    ),
    "a row": (
        'def f(session):\n    ((name,),) = session.rows("SELECT 1")\n'
        '    session.run(f"DROP TABLE {name}")'
    ),
    "quotes of one's own": "def f(v: str) -> str:\n    return f\"SELECT '{v}'\"\nf(input())",
    "escaping of one's own": (
        'def f(v: str) -> str:\n    e = v.replace("\'", "\'\'")\n'
        "    return f\"SELECT '{e}'\"\nf(input())"
    ),
    "quoting of somebody else's": 'def f() -> str:\n    return f"SELECT {quote_it(input())}"',
    "an f-string in between": (
        'def f(a: str) -> str:\n    part = f"{a} = 1"\n    return f"SELECT {part}"\nf(input())'
    ),
    "a part called Sql": 'def f() -> str:\n    return f"SELECT {Sql(input())}"',
    "one of two branches": (
        'def f(a: bool) -> str:\n    return f"SELECT {identifier(input()) if a else input()}"'
    ),
    "a path": 'def f(path: Path) -> str:\n    return f"SELECT * FROM text.`{path}`"\nf(input())',
    "repr": 'def f() -> str:\n    return f"SELECT {input()!r}"',
    "a closure": (
        "def f(name: str):\n    def g(session):\n"
        '        session.run(f"DROP TABLE {name}")\n    return g\nf(input())'
    ),
}
SOUND = {
    "quoted": 'def f() -> str:\n    return f"SELECT {identifier(input())}, {string(input())}"',
    "numbers": 'def f(n: int) -> str:\n    return f"SELECT {n}, {len(input())}"\nf(input())',
    "a constant": 'NAME = "a"\ndef f() -> str:\n    return f"SELECT {NAME}"',
    "constants of all callers": 'def f(n: str) -> str:\n    return f"SELECT {n}"\nf("a")\nf("b")',
    "a list of quoted names": (
        "def f(names: list[str]) -> str:\n"
        '    listed = ", ".join(identifier(name) for name in names)\n'
        '    return f"SELECT {listed}"\nf(input())'
    ),
    "marked": 'def f(part: Sql) -> str:\n    return f"SELECT {part}"\nf(string(input()))',
    "a message": 'def f(name: str):\n    raise Refusal(f"DROP TABLE {name}")\nf(input())',
    "a pair": (
        "def f(names: list[str]) -> str:\n    pairs = [(n, identifier(n)) for n in names]\n"
        '    return f"SELECT {[q for n, q in pairs]}"\nf(input())'
    ),
}


def _found_in(code: str) -> list[Splice]:
    return Program({"tapestry.planted": ("planted.py", HEAD + code)}).splices()


@pytest.mark.parametrize("code", PLANTED.values(), ids=PLANTED)
def test_a_planted_splice_is_found(code: str) -> None:
    assert _found_in(code)


@pytest.mark.parametrize("code", SOUND.values(), ids=SOUND)
def test_what_is_quoted_is_not_found(code: str) -> None:
    assert not _found_in(code)


@pytest.mark.more
def test_a_splice_that_is_put_into_the_package_is_found() -> None:
    """In the code as it is: the name of a target, and the columns of a row."""
    program, found = _program()
    sources = {m.name: (m.path, "\n".join(m.lines)) for m in program.modules.values()}
    planted = (
        (
            "tapestry.runs.protocol.writing",
            "{relation_name(model.relation)} USING",
            "{model.relation} USING",
        ),
        ("tapestry.runs.checks.checks", "identifier(column) for column", "column for column"),
    )
    known = {(one.value, one.into) for one in found}
    for name, old, new in planted:
        path, text = sources[name]
        assert old in text
        changed = Program({**sources, name: (path, text.replace(old, new))}).splices()
        assert [one for one in changed if (one.value, one.into) not in known]
