"""Write docs/reference/: ``python -m tools.reference``; ``--check`` says what is out of date."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

from tools.reference import commands, config, errors, refused, tables

ROOT = Path(__file__).parents[2]
PAGES = {
    "config": config.page,
    "options": commands.page,
    "errors": errors.page,
    "refused": refused.page,
    "tables": tables.page,
}


@cache
def written() -> dict[Path, str]:
    """Path -> text of every page, from the code as it is."""
    folder = ROOT / "docs/reference"
    return {folder / f"{name}.md": page(ROOT).rstrip() + "\n" for name, page in PAGES.items()}


def main() -> int:
    """Write the pages, or check them; the number of pages that are out of date."""
    stale = {p: t for p, t in written().items() if not p.exists() or p.read_text("utf-8") != t}
    for path, text in stale.items():
        if "--check" in sys.argv:
            print(f"{path.relative_to(ROOT)} is out of date: make reference")
            continue
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, "utf-8")
    return len(stale) if "--check" in sys.argv else 0


if __name__ == "__main__":
    sys.exit(main())
