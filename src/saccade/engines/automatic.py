"""Which engine runs a model. Unless told otherwise, the fastest that can do what is asked."""

import importlib.util
from collections.abc import Collection, Generator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from saccade.directory import ModelDirectory
from saccade.engines.engine import Advanced, Compute, Constrained, Engine, EngineName, Ids, Sentences, Traced, quiet
from saccade.errors import ModelError, need_torch
from saccade.models.settings import TransformerSettings
from saccade.parameters import open_parameters
from saccade.search.constraints import FREE, Constraints
from saccade.search.hypothesis import Hypothesis
from saccade.search.settings import SearchSettings
from saccade.trace.trace import KINDS, Kind

if TYPE_CHECKING:
    from saccade.engines.ctranslate2 import CTranslate2Engine
    from saccade.engines.torch import TorchEngine


def load_engine(
    directory: ModelDirectory, name: EngineName = "auto", *, device: str = "cpu", compute: Compute = "float32"
) -> Engine:
    """The engine of this name. `auto` is CTranslate2 for Transformers on a CPU, and torch for everything else, also for
    what CTranslate2 does not know of a Transformer: SSRU decoders and shortlists.
    """
    model = directory.description.model
    if name == "ctranslate2":
        from saccade.engines.ctranslate2 import CTranslate2Engine

        return CTranslate2Engine(directory, device=device, compute=compute)
    is_plain = isinstance(model, TransformerSettings) and model.decoder == "attention" and not directory.has_shortlist
    suits_ctranslate2 = is_plain and device == "cpu"
    if name == "auto" and suits_ctranslate2 and importlib.util.find_spec("ctranslate2") is not None:
        return Automatic(directory, compute)
    if compute != "float32":
        extra = ', decoder = "ssru"' if isinstance(model, TransformerSettings) and model.decoder == "ssru" else ""
        raise ModelError(
            f'compute must be "float32" with torch, not "{compute}", which CTranslate2 has, for Transformers only '
            f'(this model is of kind = "{model.kind}"{extra}): use engine = "ctranslate2", or leave compute out.'
        )
    need_torch(f'Running a model of kind = "{model.kind}" with torch')
    from saccade.engines.torch import TorchEngine

    return TorchEngine.load(directory, device)


def load_ensemble(
    directories: Sequence[ModelDirectory], name: EngineName, *, device: str = "cpu", compute: Compute = "float32"
) -> Engine:
    """Several models that translate together, with torch; those that cannot are refused."""
    if name == "ctranslate2" or compute != "float32":
        asked = 'engine = "ctranslate2"' if name == "ctranslate2" else f'compute = "{compute}"'
        raise ModelError(
            f"{asked} translates with one model at a time, but {len(directories)} are to translate together: "
            "CTranslate2 cannot mix what they say at each step. "
            'Use engine = "torch", or "auto", and leave compute out.'
        )
    _check_alike(directories)
    need_torch("Translating with several models together")
    from saccade.engines.torch import TorchEngine

    return TorchEngine.load_ensemble(directories, device)


class Automatic(Engine):
    """CTranslate2, and torch for what that cannot do; each is loaded when it is first needed."""

    def __init__(self, directory: ModelDirectory, compute: Compute = "float32") -> None:
        self._directory = directory
        self._compute: Compute = compute
        with open_parameters(directory.stored):  # a file cut short is refused now
            pass

    def translate(
        self, sources: Sentences, settings: SearchSettings, *, constraints: Constrained = (), advanced: Advanced = quiet
    ) -> list[list[Hypothesis]]:
        from saccade.engines.ctranslate2 import beyond

        asked = beyond(settings, constraints)
        if asked is None:
            return self._fast.translate(sources, settings, advanced=advanced)
        need_torch(f"Searching with {asked}")
        return self._torch.translate(sources, settings, constraints=constraints, advanced=advanced)

    def stream(
        self, source: Ids, settings: SearchSettings, *, constraints: Constraints = FREE
    ) -> Generator[int, None, Hypothesis]:
        need_torch("Streaming tokens")
        return self._torch.stream(source, settings, constraints=constraints)

    def token_log_probs(self, sources: Sentences, targets: Sentences) -> list[tuple[float, ...]]:
        return self._fast.token_log_probs(sources, targets)

    def trace(
        self, sources: Sentences, targets: Sentences, *, kinds: Collection[Kind] = KINDS, advanced: Advanced = quiet
    ) -> list[Traced]:
        self.need_attention()
        return self._torch.trace(sources, targets, kinds=kinds, advanced=advanced)

    def need_constraints(self, what: str) -> None:
        need_torch(what)

    def need_attention(self) -> None:
        need_torch("Looking at attention")
        self._torch.need_attention()

    @cached_property
    def _fast(self) -> "CTranslate2Engine":
        from saccade.engines.ctranslate2 import CTranslate2Engine

        return CTranslate2Engine(self._directory, compute=self._compute)

    @cached_property
    def _torch(self) -> "TorchEngine":
        from saccade.engines.torch import TorchEngine

        return TorchEngine.load(self._directory)


def _check_alike(directories: Sequence[ModelDirectory]) -> None:
    """An id must mean the same target piece to all, and a text must be one that all can read."""
    first, *others = directories
    for other in others:
        one, two = (", ".join(map(str, directory.description.directions)) for directory in (first, other))
        if one != two:
            raise ModelError(
                "Models that translate together must translate the same languages, but "
                f"{first.path} translates {one} and {other.path} {two}. Leave one of them out."
            )
        if first.tokenizers.target.checksum != other.tokenizers.target.checksum:
            raise ModelError(
                "Models that translate together must write with the same target vocabulary, but those of "
                f"{first.path} and {other.path} differ. Train both on one prepared corpus, such as with another seed "
                "or another kind of model; sources may be cut in different ways."
            )
