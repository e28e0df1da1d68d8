"""Attention as a file: a picture (.svg, .png), a page to explore (.html) or the trace itself (.json)."""

from collections.abc import Sequence
from pathlib import Path

from saccade.errors import DataError
from saccade.trace.file import save_all
from saccade.trace.grid import head_grid
from saccade.trace.overlay import overlay
from saccade.trace.page import page
from saccade.trace.png import png
from saccade.trace.svg import svg
from saccade.trace.trace import AttentionTrace, Kind

ENDINGS = (".svg", ".png", ".html", ".json")


def draw(
    traces: AttentionTrace | Sequence[AttentionTrace],
    path: str | Path,
    *,
    layer: int | None = None,
    head: int | None = None,
    kind: Kind | None = None,
    grid: bool = False,
) -> Path:
    """Write traces as the ending of `path` says; pictures show the first, pages and JSON all of them.

    Pictures show one layer or head, counted from 0, or the mean of all; with `grid`, every layer and head.
    """
    traces, path = [traces] if isinstance(traces, AttentionTrace) else traces, Path(path)
    first, title = traces[0], traces[0].target.text

    def picture() -> str:
        if grid:
            return head_grid(first, kind=kind, title=title)
        if (kind or first.main) == "image":
            return overlay(first, title=title)
        return svg(first, layer, head, kind=kind, title=title)

    match path.suffix.lower():
        case ".json":
            save_all(traces, path)
        case ".html":
            path.write_text(page(traces, title=title), encoding="utf-8")
        case ".svg":
            path.write_text(picture(), encoding="utf-8")
        case ".png":
            path.write_bytes(png(picture()))
        case other:
            came = f"ends in {other}" if other else "has no ending"
            raise DataError(f"{path} must end in {', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}, but {came}.")
    return path
