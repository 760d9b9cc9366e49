"""All benchmarks one after the other, then the page: ``python -m benchmarks [--rows N] [names]``.

Names choose some: fig5 fig6 fig7 fig8 fig9 argus4 argus5 argus6 rebuild
lookback; ``page`` alone only writes the page.
"""

from __future__ import annotations

import importlib

from benchmarks import page
from benchmarks.common import real_messages, start_spark
from benchmarks.options import options_of, parser

MODULES = {
    "fig5": "benchmarks.figures.tapestry_fig5",
    "fig6": "benchmarks.figures.tapestry_fig6",
    "fig7": "benchmarks.figures.tapestry_fig7",
    "fig8": "benchmarks.figures.tapestry_fig8",
    "fig9": "benchmarks.figures.tapestry_fig9",
    "argus4": "benchmarks.figures.argus_fig4",
    "argus5": "benchmarks.figures.argus_fig5",
    "argus6": "benchmarks.figures.argus_fig6",
    "rebuild": "benchmarks.rebuild",
}


def main() -> None:
    """Run what was asked for."""
    wanted = parser(__doc__)
    wanted.add_argument("names", nargs="*", choices=[*MODULES, "lookback", "page", []])
    arguments = wanted.parse_args()
    options = options_of(arguments)
    names = arguments.names or [*MODULES, "lookback"]
    for name in names:
        if name in MODULES:
            importlib.import_module(MODULES[name]).run(start_spark(), options)
        elif name == "lookback" and real_messages():
            importlib.import_module("benchmarks.lookback").run()
    print(*page.build())


if __name__ == "__main__":
    main()
