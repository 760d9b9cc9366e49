"""No module imports, by whatever way, one that imports it: an import inside a function counts."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

PYTHON = Path(__file__).parents[1] / "python"


def _modules() -> dict[str, ast.Module]:
    """Every module of the package and of the adapter, by name."""
    found = {}
    for folder in ("tapestry", "dbt/adapters/tapestry"):
        for path in sorted((PYTHON / folder).rglob("*.py")):
            parts = path.relative_to(PYTHON).with_suffix("").parts
            found[".".join(parts).removesuffix(".__init__")] = ast.parse(path.read_text("utf-8"))
    return found


def _imported(tree: ast.Module, names: Mapping[str, object]) -> Iterator[str]:
    """The modules among ``names`` that a module imports anywhere, for type checkers too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0
            for alias in node.names:
                of_package = f"{node.module}.{alias.name}"
                if of_package in names:
                    yield of_package
                elif node.module in names:
                    yield node.module


def _circles(imports: Mapping[str, set[str]]) -> list[list[str]]:
    """The groups of modules that all reach each other, each sorted."""
    reached: dict[str, set[str]] = {}
    for name in imports:
        seen: set[str] = set()
        left = list(imports[name])
        while left:
            other = left.pop()
            if other not in seen:
                seen.add(other)
                left += imports[other]
        reached[name] = seen
    groups = {
        tuple(sorted(other for other in reached[name] if name in reached[other]))
        for name in imports
        if name in reached[name]
    }
    return sorted(map(list, groups))


def test_circles_are_found() -> None:
    imports = {"a": {"b"}, "b": {"c"}, "c": {"b", "d"}, "d": set(), "e": {"f"}, "f": {"e"}}
    assert _circles(imports) == [["b", "c"], ["e", "f"]]


def test_no_modules_import_each_other() -> None:
    """A package's ``__init__`` is a module, too."""
    modules = _modules()
    assert len(modules) > 300
    imports = {name: {*_imported(tree, modules)} - {name} for name, tree in modules.items()}
    assert sum(map(len, imports.values())) > 1000
    assert _circles(imports) == []
