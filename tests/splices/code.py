"""A program's code as a whole: its names, classes and calls, resolved by name, without types.

Of several methods of one name that a call may mean, all are taken.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache

SINKS = frozenset({"rows", "run", "execute", "executemany", "add_query", "sql", "input_files"})
SESSIONS = re.compile(r"session|spark|database|duckdb|cursor|connections|tables", re.I)
Function = ast.FunctionDef | ast.AsyncFunctionDef
Comprehension = ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp


@dataclass
class Module:
    """One file: its tree, where its imported names come from, what stands in it at the top."""

    name: str
    path: str
    tree: ast.Module
    lines: list[str]
    imports: dict[str, tuple[str, str]] = field(default_factory=dict)


class Code:
    """All modules, and what their names mean."""

    def __init__(self, sources: Mapping[str, tuple[str, str]]) -> None:
        """``sources``: a module's name -> its path as it is shown, and its text."""
        self.modules = {
            name: Module(name, path, ast.parse(text), text.splitlines())
            for name, (path, text) in sources.items()
        }
        self.parents: dict[ast.AST, ast.AST] = {}
        self.home: dict[ast.AST, Module] = {}
        self.functions: dict[str, list[Function]] = {}
        self.calls: dict[str, list[ast.Call]] = {}
        self.classes: dict[tuple[str, str], ast.ClassDef] = {}
        self.kinds: dict[ast.expr, ast.ClassDef | None] = {}
        for module in self.modules.values():
            self._index(module)

    def _index(self, module: Module) -> None:
        for node in ast.walk(module.tree):
            self.home[node] = module
            for child in ast.iter_child_nodes(node):
                self.parents[child] = node
            if isinstance(node, ast.ImportFrom) and node.module:
                for alias in node.names:
                    module.imports[alias.asname or alias.name] = (node.module, alias.name)
            elif isinstance(node, Function):
                self.functions.setdefault(node.name, []).append(node)
            elif isinstance(node, ast.Call):
                self.calls.setdefault(last_name(node.func), []).append(node)
            elif isinstance(node, ast.ClassDef):
                self.classes[(module.name, node.name)] = node

    def _place(self, node: ast.AST) -> str:
        return f"{self.home[node].path}:{getattr(node, 'lineno', 0)}"

    def _class_of(self, node: ast.expr) -> ast.ClassDef | None:
        """The class of a value, where annotations say it."""
        if node not in self.kinds:
            self.kinds[node] = None  # what is made of itself (``row = row.next``): not known
            self.kinds[node] = self._found_class(node)
        return self.kinds[node]

    def _found_class(self, node: ast.expr) -> ast.ClassDef | None:
        if isinstance(node, ast.Name):
            return self._class_of_name(node)
        if isinstance(node, ast.Subscript | ast.Starred | ast.Await | ast.NamedExpr):
            return self._class_of(node.value)
        if isinstance(node, ast.IfExp):
            return self._class_of(node.body) or self._class_of(node.orelse)
        if isinstance(node, ast.BoolOp):
            return self._class_of(node.values[0])
        if isinstance(node, ast.List | ast.Tuple) and node.elts:
            return self._class_of(node.elts[0])
        if isinstance(node, ast.ListComp | ast.GeneratorExp | ast.SetComp):
            return self._class_of(node.elt)
        if isinstance(node, ast.Call):
            return self._class_of_call(node)
        if isinstance(node, ast.Attribute):
            for owner in self._with_bases(self._class_of(node.value)):
                for line in owner.body:
                    if isinstance(line, ast.AnnAssign) and is_(line.target, node.attr):
                        return self._class_in(line.annotation)
                    if isinstance(line, Function) and line.name == node.attr:
                        return self._class_in(line.returns)
                for value in self._assigned(owner, node.attr):
                    return self._class_of(value)
        return None

    def _class_of_name(self, node: ast.Name) -> ast.ClassDef | None:
        for around in ancestors(node, self.parents):
            if isinstance(around, ast.ClassDef) and node.id in ("self", "cls"):
                return around
            if isinstance(around, Comprehension):
                for generator in around.generators:
                    if node.id in names(generator.target):
                        return self._class_of(
                            self._taken(generator.target, generator.iter, node.id)
                        )
            if isinstance(around, Function) and node.id not in ("self", "cls"):
                for one in (*around.args.posonlyargs, *around.args.args, *around.args.kwonlyargs):
                    if one.arg == node.id:
                        return self._class_in(one.annotation)
                for inner in own_nodes(around):
                    if isinstance(inner, ast.AnnAssign) and is_(inner.target, node.id):
                        return self._class_in(inner.annotation)
                    for target, value in bindings(inner):
                        if node.id in names(target):
                            return self._class_of(self._taken(target, value, node.id))
        for line in self.home[node].tree.body if node in self.home else ():
            for target, value in bindings(line):
                if is_(target, node.id):
                    return self._class_of(value)
        return None

    def _class_of_call(self, node: ast.Call) -> ast.ClassDef | None:
        name = last_name(node.func)
        made = self._class_named(self.home[node], name)
        if made is not None:
            return made
        if name in ("replace", "next", "sorted", "list", "tuple", "reversed", "enumerate", "iter"):
            return self._class_of(node.args[0]) if node.args else None
        if isinstance(node.func, ast.Attribute) and name in (
            "items",
            "values",
            "get",
            "pop",
            "copy",
        ):
            return self._class_of(node.func.value)
        found = {
            self._class_in(one.returns)
            for one in self.functions.get(name, [])
            if self._means(node, one)
        }
        return found.pop() if len(found) == 1 else None

    def _class_named(self, module: Module, name: str) -> ast.ClassDef | None:
        """A class of ours by the name that a module calls it."""
        if (module.name, name) in self.classes:
            return self.classes[(module.name, name)]
        origin, original = module.imports.get(name, ("", ""))
        for candidate in (origin, f"{origin}.__init__"):
            if candidate in self.modules:
                return self._class_named(self.modules[candidate], original)
        return None

    def _class_in(self, annotation: ast.expr | None) -> ast.ClassDef | None:
        """The one class of ours that an annotation names: ``Row | None``, ``Sequence[Row]``."""
        if annotation is None:
            return None
        names = [n.id for n in ast.walk(annotation) if isinstance(n, ast.Name)]
        found = {self._class_named(self.home[annotation], name) for name in names} - {None}
        return found.pop() if len(found) == 1 else None

    def _with_bases(self, owner: ast.ClassDef | None) -> Iterator[ast.ClassDef]:
        if owner is not None:
            yield owner
            for base in owner.bases:
                yield from self._with_bases(self._class_named(self.home[owner], last_name(base)))

    def _assigned(self, owner: ast.ClassDef, name: str) -> Iterator[ast.expr]:
        """What a class's own methods assign to an attribute."""
        for node in ast.walk(owner):
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Attribute):
                if node.target.attr == name and node.value is not None:
                    yield node.value
            elif isinstance(node, ast.Assign):
                for target in node.targets:
                    parts = target.elts if isinstance(target, ast.Tuple) else [target]
                    for place, part in enumerate(parts):
                        if isinstance(part, ast.Attribute) and part.attr == name:
                            yield self._part_of(node.value, place) if len(parts) > 1 else node.value

    def _means(self, call: ast.Call, function: Function) -> bool:
        """May a call be one of this function?"""
        module, at = self.home[function], self.home[call]
        if isinstance(call.func, ast.Attribute):
            owner, of = self._class_of(call.func.value), self.parents.get(function)
            if isinstance(of, ast.ClassDef) and is_classmethod(function):
                return last_name(call.func.value) in (of.name, "cls", "self")
            if owner is not None and isinstance(of, ast.ClassDef):
                return owner is of or bool(owner.bases) or is_protocol(owner)
            if not isinstance(of, ast.ClassDef):
                origin = self.home[call].imports.get(last_name(call.func.value), ("", ""))
                return ".".join(origin) == module.name
            receiver = ast.unparse(call.func.value)
            return function.name not in SINKS or bool(SESSIONS.search(receiver))
        if isinstance(self.parents.get(function), ast.ClassDef):
            return False
        return self._from(at, function.name) == (module.name, function.name)

    def _from(self, module: Module, name: str) -> tuple[str, str]:
        """Where a name of a module is defined."""
        origin, original = module.imports.get(name, (module.name, name))
        for candidate in (origin, f"{origin}.__init__"):
            if candidate in self.modules and self.modules[candidate] is not module:
                return self._from(self.modules[candidate], original)
        return origin, original

    def _is_of_sqlglot(self, node: ast.expr) -> bool:
        return self.home[node].imports.get(root(node), ("", ""))[0].startswith("sqlglot")

    def _taken(self, target: ast.expr, value: ast.expr, name: str) -> ast.expr:
        """What a name gets of a value that a target takes apart."""
        if isinstance(target, ast.Tuple | ast.List):
            for place, part in enumerate(target.elts):
                if name in names(part):
                    return self._taken(part, self._part_of(value, place), name)
        return value

    def _part_of(self, value: ast.expr, place: int) -> ast.expr:
        """The part of a value that one target of several takes, where the code says which."""
        value = self._written(value)
        if isinstance(value, ast.Tuple | ast.List):
            rows = [e.elts for e in value.elts if isinstance(e, ast.Tuple) and place < len(e.elts)]
            if rows and len(rows) == len(value.elts):
                return ast.Tuple([row[place] for row in rows])
            return value.elts[place] if place < len(value.elts) else value
        if isinstance(value, ast.ListComp | ast.GeneratorExp) and isinstance(value.elt, ast.Tuple):
            return value.elt.elts[place] if place < len(value.elt.elts) else value
        if not isinstance(value, ast.Call):
            return value
        called = last_name(value.func)
        if called == "zip" and place < len(value.args):
            return value.args[place]
        if called == "enumerate":
            return value.args[0] if place else ast.Constant(0)
        functions = [one for one in self.functions.get(called, []) if self._means(value, one)]
        returned = [node.value for one in functions for node in returns(one)]
        parts = [self._part_of(one, place) for one in returned if isinstance(one, ast.Tuple)]
        return ast.Tuple(parts) if parts and len(parts) == len(returned) else value

    def _written(self, value: ast.expr) -> ast.expr:
        """What a name was given, where that is one thing; a list of something is that."""
        if isinstance(value, ast.Call) and last_name(value.func) in ("list", "sorted", "tuple"):
            return self._written(value.args[0]) if value.args else value
        if isinstance(value, ast.Name):
            function = next(
                (a for a in ancestors(value, self.parents) if isinstance(a, Function)), None
            )
            bound = (
                []
                if function is None
                else [
                    given
                    for node in own_nodes(function)
                    for target, given in bindings(node)
                    if value.id in names(target)
                ]
            )
            if len(bound) == 1 and not isinstance(bound[0], ast.Name):
                return self._written(bound[0])
        return value

    def _is_given(self, node: ast.Call, name: str) -> bool:
        """Is what is called a parameter or a local name of the function around it?"""
        for around in ancestors(node, self.parents):
            if isinstance(around, Function):
                arguments = around.args
                if name in {one.arg for one in (*arguments.args, *arguments.kwonlyargs)}:
                    return True
                bound = (target for inner in own_nodes(around) for target, _ in bindings(inner))
                if any(name in names(target) for target in bound):
                    return True
        return False


def bindings(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """What a statement binds to what."""
    if isinstance(node, ast.Assign):
        for target in node.targets:
            yield target, node.value
    elif isinstance(node, ast.AnnAssign | ast.AugAssign | ast.NamedExpr) and node.value is not None:
        yield node.target, node.value
    elif isinstance(node, ast.For | ast.AsyncFor):
        yield node.target, node.iter
    elif isinstance(node, ast.withitem) and node.optional_vars is not None:
        yield node.optional_vars, node.context_expr


def names(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def last_name(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def is_(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def root(node: ast.expr) -> str:
    """The first name of ``exp.DType.X``."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def ancestors(node: ast.AST, parents: Mapping[ast.AST, ast.AST]) -> Iterator[ast.AST]:
    while node in parents:
        node = parents[node]
        yield node


@cache
def own_nodes(function: Function) -> tuple[ast.AST, ...]:
    """The nodes of a function without those of the functions in it."""
    waiting: list[ast.AST] = list(function.body)
    found = []
    while waiting:
        node = waiting.pop()
        found.append(node)
        if not isinstance(node, Function | ast.Lambda | ast.ClassDef):
            waiting.extend(ast.iter_child_nodes(node))
    return tuple(found)


def returns(function: Function) -> Iterator[ast.Return]:
    return (n for n in own_nodes(function) if isinstance(n, ast.Return) and n.value is not None)


def is_classmethod(function: Function) -> bool:
    names = {last_name(one) for one in function.decorator_list}
    return bool(names & {"classmethod", "staticmethod"})


def is_protocol(owner: ast.ClassDef) -> bool:
    return any(last_name(base) == "Protocol" for base in owner.bases)


def argument(call: ast.Call, name: str, place: int | None) -> ast.expr | None:
    for word in call.keywords:
        if word.arg == name:
            return word.value
    if name and any(word.arg is None for word in call.keywords):
        return next(word.value for word in call.keywords if word.arg is None)
    if place is not None and any(isinstance(a, ast.Starred) for a in call.args[: place + 1]):
        return next(a for a in call.args if isinstance(a, ast.Starred))
    return call.args[place] if place is not None and 0 <= place < len(call.args) else None
