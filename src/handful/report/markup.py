"""HTML from values. Every string is escaped on its way in, unless it is HTML that was made here."""

from __future__ import annotations

import html
import json
import zlib
from collections.abc import Iterable, Sequence
from importlib import resources
from typing import Any

from handful.report.cases import Span


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


def element(name: str, *children: object, **attributes: object) -> Html:
    """`class_` is the attribute class, and an underscore a hyphen; an attribute that is None is left out."""
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{html.escape(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Html(f"<{name}{given}>{joined(children)}</{name}>")


def joined(parts: Iterable[object]) -> Html:
    return Html("".join(part if isinstance(part, Html) else html.escape(str(part)) for part in parts))


def document(title: str, policy: str, style: str, *body: object, made_by: str) -> str:
    """A whole page. Its policy is for the browser: what the page may run, and that it may load nothing."""
    head = joined(
        [
            Html('<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'),
            Html(f'<meta http-equiv="Content-Security-Policy" content="{policy}">'),
            Html('<meta name="color-scheme" content="light dark">'),
            Html(f'<meta name="generator" content="{html.escape(made_by)}">'),
            element("title", title),
            element("style", Html(style)),
        ]
    )
    return f"<!doctype html>\n{element('html', element('head', head), element('body', *body), lang='en')}\n"


def packaged(package: str, name: str) -> str:
    """The text of a file that comes with the package."""
    return (resources.files(package) / name).read_text(encoding="utf-8")


def data(value: Any) -> Html:
    """JSON inside a script element. What could end the element or the line is written as an escape."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Html(text)


def table(columns: Sequence[str], rows: Iterable[Sequence[object]], *, names: int = 1) -> Html:
    """The first columns are `names`, the others numbers."""

    def row(kind: str, cells: Sequence[object]) -> Html:
        return element("tr", *(element(kind, c, class_="name" if i < names else None) for i, c in enumerate(cells)))

    head, body = row("th", columns), [row("td", cells) for cells in rows]
    return element("div", element("table", element("thead", head), element("tbody", *body)), class_="wide")


def marked(text: str, spans: Iterable[Span]) -> Html:
    """A sentence with its slots; the same colour for the same slot everywhere."""
    parts: list[object] = []
    reached = 0
    for start, end, key in sorted(spans):
        parts += [text[reached:start], element("mark", text[start:end], element("span", key), style=_tint(key))]
        reached = end
    return joined([*parts, text[reached:]])


def _tint(key: str) -> str:
    return f"--hue:{zlib.crc32(key.encode()) % 360}"
