"""The text of an action in Python: a dbt Python model as dbt compiles it.

After the author's text dbt puts functions that read the relations named in `dbt.ref` and
`dbt.source`: each has a dictionary from the name to the relation.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from tapestry.errors import ConfigurationError
from tapestry.runs.model.model import Model
from tapestry.runs.query.relations import plain

_NAMED = re.compile(r"^    (?:refs|sources) = (\{.*\})$", re.MULTILINE)
_DEFINED = "\ndef ref(*args, **kwargs):\n"
"""dbt's part begins with it."""


def is_python(model: Model) -> bool:
    """Return whether an action is a function in Python, by the file's name, as dbt does."""
    return model.file.lower().endswith(".py")


def named_relations(text: str) -> dict[str, str]:
    """Return the relations named in a compiled text's `dbt.ref` and `dbt.source`, by name."""
    found: dict[str, str] = {}
    ours = text[text.rfind(_DEFINED) :] if _DEFINED in text else ""
    for one in _NAMED.finditer(ours):
        found |= {str(name): str(relation) for name, relation in json.loads(one[1]).items()}
    return found


def returned_to(model: Model, writes: Sequence[str]) -> tuple[str, ...]:
    """Return the relations that `writes` names, each a name that the model gives to `dbt.ref`.

    Raises ConfigurationError for one that it does not.
    """
    named = {name.lower(): relation for name, relation in named_relations(model.sql).items()}
    for name in writes:
        if name.lower() not in named:
            raise ConfigurationError(
                f"writes: {model.name} does not name {name}",
                where=model.file,
                hint=f"write dbt.ref('{name}') or dbt.source(…) in the function: then it is built"
                " the table first; writes takes the same name (source.table for a source)",
            )
    return tuple(plain(named[name.lower()]) for name in writes)
