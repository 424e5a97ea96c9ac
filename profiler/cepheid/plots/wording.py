"""How may a text that anybody could have written stand on a page?

Three places take it, each with its own danger: HTML, the plotting library, which reads tags and
links in whatever it labels, and a file's name. What is invisible or turns the reading direction is
shown as a mark, so that nobody is fooled by what is not seen.
"""

import html
import json
import re
from typing import Any

UNSEEN = "\N{REPLACEMENT CHARACTER}"
# Controls, line and paragraph separators, halves of pairs, and all that reorders or hides text.
_UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]+"
)
_NO_FILE_NAME = re.compile(r"[^A-Za-z0-9._-]+")
_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "$": "&#36;"})
LABEL_CHARACTERS = 40
FILE_CHARACTERS = 60


def plain(text: str, most: int | None = None) -> str:
    """On one line, nothing hidden in it, cut."""
    seen = " ".join(_UNSEEN.sub(UNSEEN, text).split())
    if most is not None and len(seen) > most:
        seen = f"{seen[: most - 1].rstrip()}…"
    return seen or UNSEEN


def in_html(text: str, most: int | None = None) -> str:
    return html.escape(plain(text, most))


def label(text: str, most: int = LABEL_CHARACTERS) -> str:
    """For the plotting library: it reads a few tags, links and formulas, and knows entities."""
    return plain(text, most).translate(_ENTITIES)


def in_file_name(text: str) -> str:
    """Never empty, hidden, or a path."""
    return _NO_FILE_NAME.sub("-", text).strip("-.")[:FILE_CHARACTERS].strip("-.") or "job"


def in_script(thing: Any) -> str:
    """JSON that cannot end the script element around it, whatever texts it holds."""
    text = json.dumps(thing, allow_nan=False, ensure_ascii=True, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
