"""A model that was never trained, so that it is there at once."""

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny Transformer that spells unknown characters in bytes; tests that change anything take a copy."""
    import torch

    from saccade import directory
    from saccade.models.build import build
    from saccade.models.settings import TransformerSettings
    from saccade.text.tokenizer import Tokenizer, Tokenizers, TokenizerSettings

    learned = Tokenizer.learn(["A dog runs.", "Ein Hund rennt."], TokenizerSettings(vocabulary=300), seed=1)
    settings = TransformerSettings(layers=1, d_model=16, d_feedforward=16, num_heads=2)
    torch.manual_seed(1)
    made = build(settings, len(learned), len(learned))
    path = tmp_path_factory.mktemp("random") / "model"
    pair = directory.Direction(source="en", target="de")
    directory.save(
        path,
        directory.Description(directions=(pair,), max_tokens=32, model=settings),
        Tokenizers(learned, learned),
        {name: values.detach().numpy() for name, values in made.named_parameters()},
        "# A model that was never trained\n",
    )
    return path
