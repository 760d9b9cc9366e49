"""What gets into SQL text past ``tapestry.quoting``, found by reading the package's own code.

Every text that looks like SQL, and every text given to a session, is followed back to what it is
made of: through local names, parameters (to all callers), functions (to what they return) and
module constants. It may be made of constants, numbers, what the functions of ``tapestry.quoting``
return, what sqlglot writes of a tree, and fields whose annotation says ``Sql`` (mypy checks what is
put into these). Whatever else is found is a splice: a value that nobody has quoted.

Names are resolved by name, without types: of several methods of one name all are followed.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.splices.code import (
    SESSIONS,
    SINKS,
    Code,
    Comprehension,
    Function,
    Module,
    ancestors,
    argument,
    bindings,
    is_,
    last_name,
    names,
    own_nodes,
)
from tests.splices.roots import parts_of_sql
from tests.splices.words import (
    HARMLESS_ATTRIBUTES,
    HARMLESS_CALLS,
    HARMLESS_METHODS,
    MESSAGES,
    PASSING_CALLS,
    PASSING_METHODS,
    QUOTING,
    TEXTS,
    WHY,
)


@dataclass(frozen=True)
class Splice:
    """A value that stands in SQL text unquoted: where it comes from, and the text it reached."""

    place: str
    value: str
    why: str
    into: str

    def __str__(self) -> str:
        return f"{self.place}: {self.value} ({self.why}), in the SQL at {self.into}"


class Program(Code):
    """All modules, and what is followed through them."""

    def __init__(self, sources: Mapping[str, tuple[str, str]]) -> None:
        super().__init__(sources)
        self.followed_fields: set[ast.AST] = set()
        self.seen: set[ast.AST] = set()
        self.reasons: set[str] = set()
        self.found: dict[tuple[str, str], Splice] = {}
        self.via: Any = None

    def splices(self) -> list[Splice]:
        """Everything that is not known to be SQL, and reaches it."""
        for module in self.modules.values():
            if module.name == QUOTING:
                continue
            for node in ast.walk(module.tree):
                for part in parts_of_sql(node):
                    if self._for_people(part):
                        continue
                    self.into = self._place(node)
                    self.follow(part)
        return sorted(self.found.values(), key=str)

    def _for_people(self, node: ast.AST) -> bool:
        """Does a text stand in a message, or is it only read by sqlglot?"""
        return any(
            isinstance(around, ast.Call) and MESSAGES.search(last_name(around.func))
            for around in ancestors(node, self.parents)
        )

    def _splice(self, node: ast.expr, why: str) -> None:
        place, value = self._place(node), ast.unparse(node)
        self.found.setdefault((place, value), Splice(place, value, why, self._way()))

    def _is_explained(self, node: ast.expr) -> bool:
        """Does the line, or the one above it, say in a comment why its text is SQL?"""
        if node not in self.home:
            return False
        lines, at = self.home[node].lines, getattr(node, "lineno", 1) - 1
        for number in range(max(0, at - 1), at + 1):
            if WHY.search(lines[number]):
                self.reasons.add(f"{self.home[node].path}:{number + 1}")
                return True
        return False

    def _way(self) -> str:
        """Where the value goes, from itself to the text of SQL, one place a line of the code."""
        places, via = [], self.via
        while via is not None:
            via, node = via
            place = self._place(node) if node in self.home else ""
            if place not in places[-1:]:
                places.append(place)
        return " < ".join(places)

    def follow(self, node: ast.expr | None) -> None:
        """Record what a value is made of that is not SQL yet."""
        if node is None or node in self.seen or self._is_explained(node):
            return
        self.seen.add(node)
        before, self.via = self.via, (self.via, node)
        self._follow(node)
        self.via = before

    def _follow(self, node: ast.expr) -> None:
        handler = getattr(self, f"_of_{type(node).__name__}", None)
        if handler is None:
            self._splice(node, "not followed")
        else:
            handler(node)

    def _of_Constant(self, node: ast.Constant) -> None:
        pass

    _of_Compare = _of_UnaryOp = _of_Constant

    def _of_JoinedStr(self, node: ast.JoinedStr) -> None:
        for part in node.values:
            self.follow(part)

    def _of_FormattedValue(self, node: ast.FormattedValue) -> None:
        spec = ast.unparse(node.format_spec) if node.format_spec else ""
        if re.search(r"[dfx,]'$", spec):
            return  # only a number can be written so
        if node.conversion != -1:
            self._splice(node.value, "repr() quotes for Python")
        self.follow(node.value)

    def _of_BinOp(self, node: ast.BinOp) -> None:
        if isinstance(node.op, ast.Add | ast.Mod | ast.Mult | ast.BitOr):
            self.follow(node.left)
            self.follow(node.right)

    def _of_BoolOp(self, node: ast.BoolOp) -> None:
        for value in node.values:
            self.follow(value)

    def _of_IfExp(self, node: ast.IfExp) -> None:
        self.follow(node.body)
        self.follow(node.orelse)

    def _of_Tuple(self, node: ast.Tuple | ast.List | ast.Set) -> None:
        for value in node.elts:
            self.follow(value)

    _of_List = _of_Set = _of_Tuple

    def _of_Dict(self, node: ast.Dict) -> None:
        for value in (*node.keys, *node.values):
            self.follow(value)

    def _of_Starred(
        self, node: ast.Starred | ast.NamedExpr | ast.Subscript | ast.YieldFrom
    ) -> None:
        self.follow(node.value)

    _of_NamedExpr = _of_YieldFrom = _of_Starred

    def _of_Subscript(self, node: ast.Subscript) -> None:
        found = self._written(node.value)
        if isinstance(found, ast.DictComp):
            self.follow(found.value)
        else:
            self.follow(node.value)

    def _of_Lambda(self, node: ast.Lambda) -> None:
        self.follow(node.body)

    def _of_GeneratorExp(self, node: ast.GeneratorExp | ast.ListComp | ast.SetComp) -> None:
        self.follow(node.elt)

    _of_ListComp = _of_SetComp = _of_GeneratorExp

    def _of_DictComp(self, node: ast.DictComp) -> None:
        self.follow(node.key)
        self.follow(node.value)

    def _of_Name(self, node: ast.Name) -> None:
        for around in ancestors(node, self.parents):
            if isinstance(around, Comprehension):
                for generator in around.generators:
                    if node.id in names(generator.target):
                        self.follow(self._taken(generator.target, generator.iter, node.id))
                        return
            elif isinstance(around, Function | ast.Lambda) and self._in_function(around, node.id):
                return
        self._at_top(self.home[node], node)

    def _in_function(self, function: Function | ast.Lambda, name: str) -> bool:
        """Follow all that a name is bound to in a function; False: it is not bound there."""
        known = False
        if isinstance(function, Function):
            for inner in own_nodes(function):
                for target, value in bindings(inner):
                    if name in names(target) and not isinstance(target, ast.Attribute):
                        self.follow(self._taken(target, value, name))
                        known = True
                if isinstance(inner, ast.ExceptHandler) and inner.name == name:
                    return False  # nothing else has an error's name
                if isinstance(inner, ast.Call) and last_name(inner.func) in ("append", "extend"):
                    if isinstance(inner.func, ast.Attribute) and is_(inner.func.value, name):
                        for argument in inner.args:
                            self.follow(argument)
                elif isinstance(inner, Function) and inner.name == name:
                    known = True
        return self._parameter(function, name) or known

    def _parameter(self, function: Function | ast.Lambda, name: str) -> bool:
        arguments = function.args
        positional = [*arguments.posonlyargs, *arguments.args]
        every = [*positional, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
        if name not in {one.arg for one in every if one is not None}:
            return False
        if isinstance(function, ast.Lambda):
            return True
        annotation = next(one.annotation for one in every if one is not None and one.arg == name)
        if _harmless(annotation):
            return True
        place = next((n for n, one in enumerate(positional) if one.arg == name), None)
        defaults = dict(
            zip(
                [one.arg for one in reversed(positional)],
                reversed(arguments.defaults),
                strict=False,
            )
        )
        for one, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
            defaults[one.arg] = default
        self.follow(defaults.get(name))
        if place is not None and positional[0].arg in ("self", "cls"):
            place -= 1
        called = [call for call in self.calls.get(function.name, []) if self._means(call, function)]
        for call in called:
            self.follow(argument(call, name, place))
        if not called:
            node = ast.copy_location(ast.Name(name), function)
            self.home[node] = self.home[function]
            self._splice(node, f"a parameter of {function.name}, which nobody calls by name")
        return True

    def _at_top(self, module: Module, node: ast.Name, name: str = "") -> None:
        """Follow a name of a module: what is assigned there, or where it is imported from."""
        name = name or node.id
        if name in module.imports:
            origin, original = module.imports[name]
            if self._from(module, name)[0] == QUOTING:
                return
            if origin in self.modules:
                self._at_top(self.modules[origin], node, original)
                return
        bound = False
        for line in module.tree.body:
            for target, value in bindings(line):
                if name in names(target):
                    self.follow(self._taken(target, value, name))
                    bound = True
            if isinstance(line, Function) and line.name == name:
                self._returned(line)
                bound = True
        if not bound and not hasattr(builtins, name):
            self._splice(node, "bound nowhere")

    def _of_Attribute(self, node: ast.Attribute) -> None:
        if node.attr in HARMLESS_ATTRIBUTES or self._is_of_sqlglot(node):
            return
        origin = ".".join(self.home[node].imports.get(last_name(node.value), ("", "")))
        if isinstance(node.value, ast.Name) and origin in self.modules:
            name = ast.copy_location(ast.Name(node.attr), node)
            self.home[name] = self.modules[origin]
            self._at_top(self.modules[origin], name)
            return
        owner = self._class_of(node.value)
        for one in self._with_bases(owner):
            for line in one.body:
                if isinstance(line, Function) and line.name == node.attr:
                    self._returned(line)
                    return
                if isinstance(line, ast.AnnAssign) and is_(line.target, node.attr):
                    self._field(one, line)
                    return
            assigned = list(self._assigned(one, node.attr))
            for value in assigned:
                self.follow(value)
            if assigned:
                return
        what = (
            "an object whose class is not told" if owner is None else f"{owner.name}, not its own"
        )
        self._splice(node, f"an attribute of {what}")

    def _field(self, owner: ast.ClassDef, line: ast.AnnAssign) -> None:
        """Follow what the objects of a class are made with."""
        if _harmless(line.annotation) or line in self.followed_fields:
            return
        self.followed_fields.add(line)
        self.follow(line.value)
        fields = [one for one in owner.body if isinstance(one, ast.AnnAssign)]
        name, place = ast.unparse(line.target), fields.index(line)
        for call in self.calls.get(owner.name, []):
            if self._class_named(self.home[call], owner.name) is owner:
                self.follow(argument(call, name, place))
        for call in self.calls.get("replace", []):
            if call.args and self._class_of(call.args[0]) in (owner, None):
                self.follow(argument(call, name, None))

    def _is_quoting(self, function: ast.expr) -> bool:
        return self._from(self.home[function], last_name(function))[0] == QUOTING

    def _returned(self, function: Function) -> None:
        """Follow what a function returns or yields."""
        annotation = function.returns
        if _harmless(annotation) and "Sql" not in ast.unparse(annotation or ast.Constant("")):
            return
        for inner in own_nodes(function):
            if isinstance(inner, ast.Return | ast.Yield | ast.YieldFrom):
                self.follow(inner.value)

    def _of_Call(self, node: ast.Call) -> None:
        name, method = last_name(node.func), isinstance(node.func, ast.Attribute)
        origin = self._from(self.home[node], name)[0]
        if method and name in SINKS - {"sql"} and SESSIONS.search(ast.unparse(node.func)):
            self._splice(node, "what a query returned")
            return
        if self._is_of_sqlglot(node.func):
            return  # a tree
        if (origin == QUOTING and name != "Sql") or name in (
            HARMLESS_METHODS if method else HARMLESS_CALLS
        ):
            return
        if (name == "replace" and not method) or self._class_named(self.home[node], name):
            return  # an object: its fields are followed where they are used
        functions = [one for one in self.functions.get(name, []) if self.home[one].name != QUOTING]
        if name in (PASSING_METHODS if method else PASSING_CALLS) and not (
            functions and not method
        ):
            if isinstance(node.func, ast.Attribute) and not is_(node.func.value, "dict"):
                self.follow(node.func.value)
            given = node.args[1:] if name in ("get", "map") else node.args
            if name == "map" and self._is_quoting(node.args[0]):
                return
            for argument in (*given, *(word.value for word in node.keywords)):
                self.follow(argument)
            return
        ours = [one for one in functions if self._means(node, one)]
        if not ours and not method and self._is_given(node, name):
            for argument in node.args:  # of a function that was given, only what it gets is known
                self.follow(argument)
            return
        if not ours:
            self._splice(node, "a call of something else")
        for one in ours:
            self._returned(one)


def _harmless(annotation: ast.expr | None) -> bool:
    """Does an annotation say number or SQL, or what is no text?"""
    if annotation is None:
        return False
    names = {n.id for n in ast.walk(annotation) if isinstance(n, ast.Name)}
    return "Sql" in names or not names & TEXTS


def read_program(root: Path) -> Program:
    """The modules below a folder that holds packages."""
    sources = {
        ".".join(path.relative_to(root).with_suffix("").parts): (
            str(path.relative_to(root)),
            path.read_text("utf-8"),
        )
        for path in sorted(root.rglob("*.py"))
    }
    return Program(sources)
