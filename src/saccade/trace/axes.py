"""What stands along the two sides of a matrix of weights, for each kind of attention."""

from dataclasses import dataclass

from saccade.trace.trace import AttentionTrace, Kind


@dataclass(frozen=True, slots=True)
class Axes:
    """Rows look, columns are looked at."""

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    row_name: str
    column_name: str


def axes(trace: AttentionTrace, kind: Kind | None = None) -> Axes:
    """The tokens, cells or slots that the weights of one kind lie between, and what to call them."""
    kind = kind or trace.main
    source, target = trace.source.tokens, trace.target.tokens
    numbers = tuple(str(number) for number in range(1, trace.of(kind)[0].weights.shape[2] + 1))
    match kind:
        case "cross":
            return Axes(target, source, "target", "source")
        case "encoder":
            return Axes(source, source, "source, looking", "source, looked at")
        case "decoder":
            return Axes(target, trace.read, "target, writing", "target, read so far")
        case "image":
            if trace.image is not None:
                width = trace.image.columns
                numbers = tuple(f"{at // width + 1}.{at % width + 1}" for at in range(trace.image.rows * width))
            return Axes(target, numbers, "target", "cell of the image, row.column")
        case "memory":
            return Axes(target, numbers, "step", "memory slot")
