"""Marks in a model's text the relations that trigger it (macro `triggered_by`)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from tapestry.errors import ConfigurationError
from tapestry.runs.model.model import Model

_MARK = re.compile(r"/\* triggered_by (\[.*?\]) \*/")


def mark(relations: Iterable[str]) -> str:
    """Render the macro `triggered_by`: a comment with a JSON list of relations.

    >>> mark(["`db`.`odd */ name`"])
    '/* triggered_by ["`db`.`odd *\\\\/ name`"] */'
    """
    listed = json.dumps(list(relations)).replace("*/", "*\\/")
    return f"/* triggered_by {listed} */"


def marks_in(sql: str) -> str:
    """Return the comments of a text that say what triggers its model.

    >>> marks_in("with a as (select 1) /* triggered_by [] */ select 2")
    '/* triggered_by [] */'
    """
    return "\n".join(found[0] for found in _MARK.finditer(sql))


def triggers_of(model: Model) -> tuple[str, ...]:
    """Return the relations that a model names in `triggered_by`, in order.

    Raises ConfigurationError for a model that names none.
    """
    named = [str(one) for found in _MARK.findall(model.sql) for one in json.loads(found)]
    if not named:
        raise ConfigurationError(
            f"{model.name} does not say what triggers it",
            where=model.file,
            hint="write {{ triggered_by(ref('…')) }} into it, with the model that it waits for; a"
            " function in Python names its rule in dbt.ref('…')",
        )
    return tuple(dict.fromkeys(one.replace("`", "").lower() for one in named))
