"""Draw docs/images/report.png: the report on a made-up project, as Chromium shows it.

Run it from the root of the repository: `.venv/bin/python tools/report_picture.py`.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

from tapestry.folders import temporary_folder

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs/images/report.png"


def main() -> None:
    """Render the page and take its upper part."""
    sys.path.insert(0, str(ROOT))
    from tests.report.conftest import report_of
    from tests.report.made_up import bulletin_board

    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    with temporary_folder() as folder, sync_playwright() as playwright:
        page = folder / "report.html"
        report_of(folder, *bulletin_board(), project="bulletin_board").write(page)
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        view = browser.new_page(viewport={"width": 1200, "height": 1420})
        view.goto(page.as_uri())
        PICTURE.parent.mkdir(exist_ok=True)
        view.screenshot(path=PICTURE)
        browser.close()
    print(f"{PICTURE.relative_to(ROOT)}: {PICTURE.stat().st_size // 1000} kB")


if __name__ == "__main__":
    main()
