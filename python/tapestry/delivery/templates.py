"""Renders texts of mails: Jinja in square brackets, because dbt itself fills in the curly ones.

``[[ count ]]`` is a value, ``[% for row in rows %] … [% endfor %]`` a block. A template sees
``model``, ``sink``, ``count``, ``rows`` (dictionaries, times as text), ``row`` (the first one) and
``until``. It runs in Jinja's sandbox; a name that is not there is an error, never an empty text.
A value is filled in as text: what it holds is no template, and control characters are made visible.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from jinja2 import StrictUndefined, TemplateError, TemplateSyntaxError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from tapestry.errors import ConfigurationError

SUBJECT = "[[ model ]]: [[ count ]] new [[ 'row' if count == 1 else 'rows' ]]"
SHOWN = 200
"""A digest shows so many rows; the rest is counted."""
# The lines of a value but the first are indented: none looks like another column's.
BODY = f"""\
[% for row in rows[:{SHOWN}] -%]
[% for column, value in row.items() %][[ column|string|indent ]]: [[ value|string|indent ]]
[% endfor %]
[% endfor -%]
[% if count > {SHOWN} %]… and [[ count - {SHOWN} ]] more
[% endif %]"""


def _environment(shown: Callable[[str], str]) -> ImmutableSandboxedEnvironment:
    """Return the Jinja environment; ``shown`` is applied to each text that is filled in."""
    return ImmutableSandboxedEnvironment(
        variable_start_string="[[",
        variable_end_string="]]",
        block_start_string="[%",
        block_end_string="%]",
        comment_start_string="[#",
        comment_end_string="#]",
        undefined=StrictUndefined,
        keep_trailing_newline=True,
        finalize=lambda value: shown(value) if isinstance(value, str) else value,
    )


def check_template(text: str) -> None:
    """Raise ConfigurationError for a text that Jinja cannot read."""
    try:
        _environment(str).from_string(text)
    except TemplateSyntaxError as error:
        raise ConfigurationError(
            f"deliver: a template cannot be read: {error.message}",
            hint="values stand in [[ … ]], blocks in [% … %]",
        ) from error


def render(text: str, values: Mapping[str, Any], shown: Callable[[str], str] = str) -> str:
    """The text filled in; ``shown`` makes a value's text fit the place that it goes to.

    Raises ConfigurationError for a name that is not there, and for what the sandbox forbids.

    >>> render("[[ count ]] for [[ model ]]", {"count": 2, "model": "unanswered"})
    '2 for unanswered'
    """
    try:
        return _environment(shown).from_string(text).render(**values)
    except (TemplateError, TypeError, ArithmeticError, LookupError) as error:
        raise ConfigurationError(
            f"deliver: a template cannot be filled in: {error}",
            hint=f"it sees {', '.join(values)}",
        ) from error
