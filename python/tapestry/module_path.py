"""Computes where modules are found, without the user's current folder.

It imports nothing but what Python itself has imported before: it comes first.
"""

from __future__ import annotations

import os
import sys

_OWN = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))


def module_path() -> list[str]:
    """`sys.path` without the current folder and without what is relative to it.

    ``python -m`` and an empty part of ``PYTHONPATH`` put the current folder there. The folder in
    which this package lies stays, where that is the current one.
    """
    parts = [_here(), *(part for part in python_path() if not os.path.isabs(part))]
    relative = {os.path.realpath(part) for part in parts} - {_OWN}
    return [p for p in sys.path if os.path.isabs(p) and os.path.realpath(p) not in relative]


def _here() -> str:
    try:
        return os.getcwd()
    except OSError:  # it is gone, and holds no module
        return _OWN


def python_path() -> list[str]:
    """The parts of ``PYTHONPATH``."""
    given = os.environ.get("PYTHONPATH")
    return given.split(os.pathsep) if given else []


def absolute_python_path() -> dict[str, str]:
    """``PYTHONPATH`` without what is relative to the current folder; empty where none is left."""
    parts = [part for part in python_path() if os.path.isabs(part)]
    return {"PYTHONPATH": os.pathsep.join(parts)} if parts else {}
