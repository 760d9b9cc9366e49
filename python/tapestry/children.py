"""Starts child processes with a given module path, environment and folder.

`python -m` and `python -c` look for modules in the current folder first, and that may be anybody's:
a project that was fetched to be looked at, a folder of mail. What lies there (`json.py`,
`tapestry/`, `sitecustomize.py`) would be run as a part of this program. So a child of ours

- runs with ``-I``: neither the current folder nor a variable of Python's says where modules are
  (``-P`` does less, and 3.10 has none);
- is told the module path of this process, without the current folder and what is relative to it,
  so that it has the same modules wherever they are installed;
- has the variables that its starter names;
- begins in the root folder, where only root can put something, unless its starter says otherwise.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen, TimeoutExpired, run
from typing import Any

from tapestry.module_path import absolute_python_path, module_path

__all__ = ["DEVNULL", "OF_A_PROJECT", "OF_A_READER", "PIPE", "Popen", "TimeoutExpired"]
__all__ += ["start_program", "start_python", "start_tracker"]

OF_A_READER = (
    *("LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR"),
    *("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "DYLD_FALLBACK_LIBRARY_PATH"),  # Python's own library
)
"""Variables for a process that reads what strangers wrote: no secret is among them."""
OF_A_PROJECT = None
"""For a process that runs the owner's project: all of the owner's variables but Python's. Names
cannot be listed: dbt's `env_var()`, Spark's `${env:…}`, providers of credentials and Java read any.
"""

_BEGIN = """\
import sys
count, module, *rest = sys.argv[1:]
sys.path[:], sys.argv[1:] = rest[: int(count)], rest[int(count) :]
from importlib import import_module
import_module(module).main()
"""


def start_python(
    module: str,
    arguments: Sequence[str] = (),
    *,
    environment: Iterable[str] | None,
    folder: Path | str = os.sep,
    **pipes: Any,
) -> Popen[Any]:
    """Start ``module.main()`` in a process of its own.

    ``environment`` names the variables that it has, where they are set here (`OF_A_READER`), or is
    `OF_A_PROJECT`. ``pipes`` is what `Popen` takes besides.
    """
    paths = module_path()
    flags = ["-I", *(["-X", "utf8"] if sys.flags.utf8_mode else [])]
    command = [sys.executable, *flags, "-c", _BEGIN, str(len(paths)), module, *paths, *arguments]
    return Popen(command, env=_variables(environment), cwd=folder, **pipes)


def start_program(path: str, *arguments: str, timeout: float) -> str:
    """Return the output of a program, both streams; ``path`` is its file, made absolute.

    Raises OSError where it does not start, TimeoutExpired where it takes too long (seconds).
    """
    done = run(
        [os.path.abspath(path), *arguments],
        capture_output=True,
        text=True,
        timeout=timeout,
        env=_variables(OF_A_READER),
        cwd=os.sep,
    )
    return done.stderr + done.stdout


def start_tracker() -> None:
    """Start Python's tracker of semaphores, which dbt's locks bring along, where it is safe.

    multiprocessing starts it with ``-c``, once a process, and nothing but its current folder keeps
    Python 3.10 from importing what lies there; since 3.11 PYTHONSAFEPATH does.
    """
    from multiprocessing.resource_tracker import ensure_running

    with contextlib.suppress(OSError):
        before = os.open(os.curdir, os.O_RDONLY)
        try:
            os.chdir(os.sep)
            ensure_running()
        finally:
            os.fchdir(before)
            os.close(before)


def _variables(names: Iterable[str] | None) -> dict[str, str]:
    if names is not None:
        return {name: os.environ[name] for name in names if name in os.environ}
    found = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    # Those whom it starts, as Spark starts its workers, are no children of this module.
    return {**found, **absolute_python_path(), "PYTHONSAFEPATH": "1"}
