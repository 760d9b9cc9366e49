"""The entry point of `tapestry`, before it imports modules that a stranger's folder could have.

The folder in which it runs may be anybody's; `tapestry advise` is there for such folders.
"""

import os
import sys

from tapestry.module_path import absolute_python_path, module_path


def main() -> None:
    """Run the command; neither it nor what libraries start imports from the current folder."""
    sys.path[:], paths = module_path(), absolute_python_path()
    os.environ.pop("PYTHONPATH", None)
    os.environ.update({**paths, "PYTHONSAFEPATH": "1"})  # which Python reads since 3.11
    from tapestry.cli import main as command

    command()
