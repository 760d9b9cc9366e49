"""The rules of the house, as checks that fail: sizes, docstrings, nothing of one machine."""

from __future__ import annotations

import ast
import doctest
import importlib
import re
import subprocess
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from tapestry import errors

ROOT = Path(__file__).parents[1]
FILE_LINES, FUNCTION_LINES = 400, 50
PARAMETERS = 6
# Of the theory, where both are in use within one folder each; they are to get names of their own.
CLASSES_OF_ONE_NAME: set[str] = set()

# Written in pieces, so that this file does not find itself.
MACHINE_PATHS = [r"(?<![\w.])/" + name + "/" for name in ("work", "root", "farm")]
REGISTRIES = [
    name.replace("@", r"\.")
    for name in (
        "pypi@org",
        "pythonhosted@org",
        "maven@apache@org",
        "maven@org",
        "crates@io",
        "npmjs@org",
        "debian@org",
    )
]


def _tracked(*patterns: str) -> list[Path]:
    """The files of the tree: tracked, or new and not ignored."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *patterns],
        cwd=ROOT,
        capture_output=True,
        check=True,
        text=True,
    ).stdout
    paths = (ROOT / name for name in listed.split("\0") if name)
    return sorted(path for path in paths if path.is_file() and not path.is_symlink())


def _functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def _named(path: Path, line: int | None = None) -> str:
    name = str(path.relative_to(ROOT))
    return name if line is None else f"{name}:{line}"


def test_files_are_small() -> None:
    """A file over the limit wants another room."""
    sizes = {
        _named(path): path.read_text("utf-8").count("\n")
        for path in _tracked("*.py", "*.sql", "*.sh")
    }
    assert not {name: lines for name, lines in sizes.items() if lines > FILE_LINES}


def test_no_two_files_of_tests_have_one_name() -> None:
    """A name finds one file; pytest imports both under one name otherwise."""
    places: dict[str, list[str]] = {}
    for path in _tracked("tests/*.py"):
        if path.name.startswith("test_"):
            places.setdefault(path.name, []).append(_named(path))
    assert not {name: files for name, files in places.items() if len(files) > 1}


def test_functions_are_short() -> None:
    """A function over the limit does more than one thing."""
    sizes = {
        _named(path, node.lineno): (node.end_lineno or node.lineno) - node.lineno + 1
        for path in _tracked("*.py")
        for node in _functions(path)
    }
    assert not {name: lines for name, lines in sizes.items() if lines > FUNCTION_LINES}


def test_functions_have_few_parameters() -> None:
    """Values that go together are one object; a command has as many options as it needs."""
    found = {}
    for path in _tracked("python/*.py"):
        for node in _functions(path):
            listed = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            given = [one for one in listed if one.arg not in ("self", "cls")]
            command = any(".command(" in f"{ast.unparse(one)}(" for one in node.decorator_list)
            if len(given) > PARAMETERS and not command:
                found[_named(path, node.lineno)] = len(given)
    assert not found


FIELDS, IMPORTS = 12, 20
"""So many fields has a dataclass of runs at most, so many modules of ours a module imports."""
MANY = {"cli/watch.py", "tapestry/impl.py"}
"""Modules that still import more."""


def test_modules_import_few() -> None:
    """A module that knows everybody is nobody's."""
    found = set()
    for path in _tracked("python/*.py"):
        ours = {
            node.module
            for node in ast.walk(ast.parse(path.read_text("utf-8")))
            if isinstance(node, ast.ImportFrom)
            and (node.module or "").startswith(("tapestry.", "dbt.adapters.tapestry"))
        }
        if len(ours) > IMPORTS:
            found.add("/".join(path.parts[-2:]))
    assert found <= MANY


def test_dataclasses_of_runs_are_small() -> None:
    """An object that carries every feature is nobody's."""
    found = {}
    for path in _tracked("python/tapestry/runs/*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef) and any(
                "dataclass" in ast.unparse(one) for one in node.decorator_list
            ):
                fields = [
                    one
                    for one in node.body
                    if isinstance(one, ast.AnnAssign) and "ClassVar" not in ast.unparse(one)
                ]
                if len(fields) > FIELDS:
                    found[node.name] = len(fields)
    assert not found


def test_tests_import_public_names_only() -> None:
    """What a test asks for is the face of a module: it stays when its inside changes."""
    found = {
        _named(path, node.lineno)
        for path in _tracked("tests/*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.ImportFrom)
        for one in node.names
        if one.name.startswith("_") and not one.name.startswith("__")
    }
    assert not found


PATCHES = 224
"""So often tests replace something of the package. Lower it when it falls; it never rises."""


def test_tests_replace_little_of_the_package() -> None:
    """What a test replaces stays as it is written: it is asked through its face instead."""
    found = [
        _named(path, node.lineno)
        for path in _tracked("tests/*.py")
        for tree in [ast.parse(path.read_text("utf-8"))]
        for others in [_imported_from_others(tree)]
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "setattr"
        and re.match(r"f?'?([\w ]+)", ast.unparse(node.args[0]))[1] not in others  # type: ignore[index]
    ]
    assert len(found) <= PATCHES, found


def _imported_from_others(tree: ast.Module) -> set[str]:
    """The names in a test that stand for modules and objects of other packages."""
    names = {"pyspark"}  # named by a text
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            for one in node.names:
                whole = f"{node.module}." if isinstance(node, ast.ImportFrom) else one.name
                if not whole.startswith(("tapestry.", "dbt.adapters.tapestry.")):
                    names.add((one.asname or one.name).split(".")[0])
    return names


QUESTIONS = ("What", "Which", "Whose", "Where", "Of", "Nothing", "How")


def _docstrings(tree: ast.Module) -> Iterator[str]:
    """Yield what modules, classes, functions, constants and fields say of themselves."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module):
            yield ast.get_docstring(node) or ""
        body = getattr(node, "body", None)
        for one, said in pairwise(body) if isinstance(body, list) else ():
            if isinstance(one, ast.Assign | ast.AnnAssign) and isinstance(said, ast.Expr):
                yield str(getattr(said.value, "value", ""))


def test_docstrings_say_who_does_what() -> None:
    """Subject, verb, object: a docstring is no answer to a question that nobody asked."""
    begun = [
        f"{path}: {text[:60]}"
        for path in _tracked("python/*.py")
        for text in _docstrings(ast.parse(path.read_text("utf-8")))
        if text.split()[:1] and text.split()[0] in QUESTIONS
    ]
    assert not begun, "say what it gives, or does"


def test_only_the_kind_continuous_names_what_it_alone_knows() -> None:
    """`_matched_at` and the windows of a run: two kinds know neither. What is left only falls."""
    named = {
        "/".join(path.parts[-2:])
        for path in _tracked("python/tapestry/runs/*.py")
        if "/kinds/" not in path.as_posix() and "MATCHED_AT" in path.read_text("utf-8")
    }
    assert named == {"query/relations.py"}


@pytest.mark.parametrize(
    "name",
    [
        ".".join(path.relative_to(ROOT / "python").with_suffix("").parts)
        for path in _tracked("python/tapestry/*.py")
        if ">>> " in path.read_text("utf-8")
    ],
)
def test_the_examples_in_docstrings_hold(name: str) -> None:
    """Each does what it says, as written."""
    failed, tried = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert tried
    assert not failed


@pytest.mark.parametrize(
    "name",
    [
        ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for path in _tracked("benchmarks/*.py", "tools/*.py")
        if path.name != "__main__.py"
    ],
)
def test_programs_beside_the_package_can_be_imported(name: str) -> None:
    """Nothing else of the gate runs them: what they use of the package may be gone."""
    importlib.import_module(name)


def test_every_error_says_what_to_do() -> None:
    """Reason, place, way out: an error of ours without the last leaves its reader alone."""
    ours = {name for name, kind in vars(errors).items() if _is_error(kind)}
    calls = [
        (_named(path, node.lineno), node)
        for path in _tracked("python/*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ours
    ]
    assert len(calls) > 100
    for place, call in calls:
        assert len(call.args) > 2 or "hint" in {word.arg for word in call.keywords}, place


def _is_error(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, errors.TapestryError)


@pytest.mark.parametrize("pattern", MACHINE_PATHS + REGISTRIES)
def test_nothing_of_one_machine(pattern: str) -> None:
    """No path of a machine and no host of a package registry stands in the tree."""
    expression = re.compile(pattern)
    found = [
        _named(path, number)
        for path in _tracked()
        for number, line in enumerate(path.read_text("utf-8", errors="replace").splitlines(), 1)
        if expression.search(line)
    ]
    assert not found


def test_public_functions_of_the_library_have_docstrings() -> None:
    """Layers 0 to 2: modules, and public classes and functions, say what they are for."""
    missing = []
    for path in _tracked("python/tapestry/sql", "python/tapestry/runs", "python/tapestry/*.py"):
        if path.suffix != ".py":
            continue
        tree = ast.parse(path.read_text("utf-8"))
        if tree.body and ast.get_docstring(tree) is None:
            missing.append(_named(path))
        missing.extend(
            _named(path, node.lineno)
            for node in _public(tree.body)
            if ast.get_docstring(node) is None
        )
    assert not missing


def _public(body: list[ast.stmt]) -> Iterator[ast.FunctionDef | ast.ClassDef]:
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            if [ast.unparse(line) for line in node.body] != [
                "..."
            ]:  # a protocol's method: its name says it
                yield node
            if isinstance(node, ast.ClassDef):
                yield from _public(node.body)


def test_the_adapter_imports_only_the_layers_below() -> None:
    """Layer 3 knows layers 0 to 2 (import-linter cannot look into dbt's own package)."""
    below = (
        "tapestry.children",
        "tapestry.errors",
        "tapestry.folders",
        "tapestry.instants",
        "tapestry.names",
        "tapestry.quoting",
        "tapestry.words",
    )
    below += ("tapestry.sql", "tapestry.runs", "tapestry.delivery")
    wrong = []
    for path in _tracked("python/dbt/adapters/tapestry/*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names = [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            wrong += [
                f"{_named(path, node.lineno)} {name}"
                for name in names
                if name.split(".")[0] == "tapestry" and not name.startswith(below)
            ]
    assert not wrong


def test_each_class_has_a_name_of_its_own() -> None:
    """A name is read without its module: two classes of one name are taken for one another."""
    places: dict[str, list[str]] = {}
    for path in _tracked("python/*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places.setdefault(node.name, []).append(_named(path, node.lineno))
    twice = {name: found for name, found in places.items() if len(found) > 1}
    assert set(twice) == CLASSES_OF_ONE_NAME, twice


def test_what_a_session_can_do_is_asked_of_its_capabilities() -> None:
    """`Session.can` is typed and documents each of them; a name in quotes is neither."""
    asked = [
        _named(path, node.lineno)
        for path in _tracked("python/tapestry/*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call)
        and ast.unparse(node.func) in ("getattr", "hasattr")
        and "session" in ast.unparse(node.args[0]).lower()
    ]
    assert not asked


def test_the_macros_are_one_copy() -> None:
    """The wheel takes the top-level macros through a link; a second copy would drift."""
    link = ROOT / "python/dbt/include/tapestry/macros"
    assert link.is_symlink()
    assert not link.readlink().is_absolute()
    assert link.resolve() == ROOT / "macros"


FUNCTIONS_OF_ONE_NAME = 0
"""So many names of public functions occur twice in one folder; the number only falls."""


def test_each_public_function_of_a_folder_has_a_name_of_its_own() -> None:
    """A function is known by its name in its folder; names of commands are those of users."""
    places: dict[tuple[str, str], list[str]] = {}
    for path in _tracked("python/*.py"):
        for node in ast.parse(path.read_text("utf-8")).body:
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            command = any(".command(" in f"{ast.unparse(one)}(" for one in node.decorator_list)
            if not node.name.startswith("_") and not command:
                folder = _named(path.parent)
                places.setdefault((folder, node.name), []).append(path.name)
    twice = {name: files for name, files in places.items() if len(files) > 1}
    assert len(twice) <= FUNCTIONS_OF_ONE_NAME, twice
