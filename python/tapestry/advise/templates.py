"""The Jinja of a dbt project: its macros as objects that call each other, as in dbt.

The environment is Jinja's sandbox: no attribute that leads to Python's insides can be reached.
What a template may cost in time and memory is bounded by the process around it (``worker``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from jinja2 import Template, TemplateError, Undefined, nodes
from jinja2.ext import Extension
from jinja2.parser import Parser
from jinja2.sandbox import SandboxedEnvironment

NOT_KNOWN = "its Jinja calls or prints what is not known here"


class UnknownName(Exception):
    """A macro or a name that is not defined in the project; the message says which."""


class AsksWarehouse(Exception):
    """A text that depends on answers of a warehouse during rendering."""


class _Returned(Exception):
    """The exception by which dbt's ``return()`` ends a macro."""

    def __init__(self, value: Any) -> None:
        super().__init__("return() outside of a macro")
        self.value = value


class Unknown(Undefined):
    """A name without a value, which is not rendered as empty text but raises."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return Unknown(name=f"{self._undefined_name}.{name}")

    def _unknown(self, *args: Any, **kwargs: Any) -> Any:
        raise UnknownName(str(self._undefined_name)[:200])

    __call__ = __str__ = __iter__ = __len__ = __add__ = __radd__ = _unknown
    __getitem__ = _unknown


class Blocks(Extension):
    """Parses dbt's own blocks: tests, materializations and docs are no part of a model."""

    tags = {"test", "data_test", "materialization", "docs", "snapshot"}  # noqa: RUF012

    def parse(self, parser: Parser) -> list[nodes.Node]:
        """Return no nodes for a block; for a snapshot its body."""
        tag = next(parser.stream).value
        while parser.stream.current.type != "block_end":
            next(parser.stream)
        ends = ("name:endtest", "name:enddata_test") if "test" in tag else (f"name:end{tag}",)
        body = parser.parse_statements(ends, drop_needle=True)
        return body if tag == "snapshot" else []


class Macro:
    """A macro as dbt calls it: ``return(x)`` in it gives x, not text."""

    def __init__(self, macro: Any) -> None:
        self._macro = macro

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return self._macro(*args, **kwargs)
        except _Returned as returned:
            return returned.value


def give_back(value: Any = None) -> Any:
    """End a macro with a value, as dbt's ``return()`` does."""
    raise _Returned(value)


def new_environment() -> SandboxedEnvironment:
    """Jinja's sandbox with what dbt's templates need."""
    environment = SandboxedEnvironment(
        undefined=Unknown, extensions=["jinja2.ext.do", "jinja2.ext.loopcontrols", Blocks]
    )
    environment.filters["as_text"] = environment.filters["as_native"] = lambda value: value
    environment.filters["as_bool"] = environment.filters["as_number"] = lambda value: value
    return environment


def add_macros(
    environment: SandboxedEnvironment, text: str, known: dict[str, Any]
) -> Iterator[tuple[str, Macro]]:
    """Each macro of a file by its name.

    Each becomes a template of its own that looks names up in ``known`` when it is called: so a
    macro finds those of other files, and a call within the file goes through ``Macro``, too.
    Raises TemplateError for a file that is no Jinja.
    """
    for node in environment.parse(text).body:
        if isinstance(node, nodes.Macro):
            # A name that begins with _ would not be exported, and no macro calls itself unseen.
            name, node.name = node.name, "exported"
            code = environment.compile(nodes.Template([node], lineno=1))
            template = Template.from_code(environment, code, known)
            module = template.make_module(known, shared=True)
            yield name, Macro(module.exported)  # type: ignore[attr-defined]


def render(environment: SandboxedEnvironment, text: str, known: Mapping[str, Any]) -> str:
    """The text that a template stands for."""
    return environment.from_string(text).render(known)


def why_not(error: Exception) -> str:
    """Return why a template could not be rendered, in one sentence for its author."""
    if isinstance(error, UnknownName):
        return f"{NOT_KNOWN}: {error}"
    if isinstance(error, AsksWarehouse):
        return f"its text depends on what the warehouse answers while it is made: {error}"
    if isinstance(error, RecursionError):
        return "its Jinja calls itself without an end"
    if isinstance(error, TemplateError):
        return f"its Jinja fails: {str(error.message or error)[:300]}"
    return f"its Jinja fails: {type(error).__name__}: {str(error)[:300]}"
