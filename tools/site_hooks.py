"""What mkdocs does besides: equations become MathML, which browsers draw without a script.

And what the theme forgets for those who listen to a page.
"""

from __future__ import annotations

import html
import re
from typing import Any

from latex2mathml.converter import convert

BLOCK = re.compile(r'<div class="arithmatex">\\\[(.*?)\\\]</div>', re.DOTALL)
INLINE = re.compile(r'<span class="arithmatex">\\\((.*?)\\\)</span>', re.DOTALL)


def on_page_content(content: str, **_: Any) -> str:
    """Replace what arithmatex marks as TeX."""
    content = BLOCK.sub(
        lambda found: f'<div class="formula">{_mathml(found, "block")}</div>', content
    )
    return INLINE.sub(lambda found: _mathml(found, "inline"), content)


def on_post_page(output: str, **_: Any) -> str:
    """A name for the search, which is a dialog."""
    search = 'data-md-component="search" role="dialog"'
    return output.replace(search, f'{search} aria-label="Search"')


def _mathml(found: re.Match[str], display: str) -> str:
    return convert(html.unescape(found.group(1)).strip(), display=display)
