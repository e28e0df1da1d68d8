"""Where a model is on this machine: a path stays as it is, and a name on a hub leads to what was fetched."""

from pathlib import Path

from saccade.fields import HUB
from saccade.interop.hub_cache import DownloadReporter, HubName, find


def is_name(model: str | Path) -> bool:
    """Whether this names a model, as `hf:Helsinki-NLP/opus-mt-en-de` does, and is no path."""
    return (model if isinstance(model, str) else model.as_posix()).startswith(HUB)


def locate_model(model: str | Path, reporter: DownloadReporter | None = None) -> Path:
    """The directory of a model. One on a hub is fetched, unless it was fetched before: then nobody is asked."""
    if not is_name(model):
        return Path(model)
    name = HubName.parse(model if isinstance(model, str) else model.as_posix())
    if (path := find(name)) is not None:
        return path
    from saccade.interop import hub  # with all that reads a model of others

    return hub.get(name, reporter=reporter)
