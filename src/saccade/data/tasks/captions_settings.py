"""The settings of learning to describe photographs. No torch here."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from annotated_types import Interval

from saccade.fields import Checked, Positive


@dataclass(frozen=True, kw_only=True, slots=True)
class CaptionsSettings(Checked):
    """A folder of images, and what people said of them."""

    MODELS: ClassVar[tuple[str, ...]] = ("captioner",)

    kind: Literal["captions"] = "captions"
    """The task."""
    images: Path
    """The folder of the images."""
    train: Path
    """Their captions: a table (image name, tab, caption), or the JSON of Karpathy's splits."""
    valid: Path
    """The same of images that are not learned from; of JSON, its split `val`."""
    language: str = "en"
    """The language of the captions, such as en or zh."""
    network: Path
    """The parameters of EfficientNet-Lite0, a safetensors file; docs/captions.md says how to get it."""
    features: Path
    """Directory for what the network makes of the images, computed once; about 125 kB an image."""
    vocabulary: Annotated[int, Interval(ge=5, le=1_000_000)] = 3000
    """Pieces of the subword vocabulary that is learned from the captions, the 4 specials included."""
    lowercase: bool = True
    """Captions are learned and written in lower case."""
    batch: Positive = 16
    """Images of a batch; each comes with all its captions."""
