"""The file that we write is the one that CTranslate2's own writer would, and it runs without us."""

from pathlib import Path

import ctranslate2
import numpy as np
import pytest
import sentencepiece
from ctranslate2 import specs
from tests.contracts.models import every_model

from saccade.directory import Description, Direction, ModelDirectory
from saccade.interop.ctranslate2 import convert, parameter_shapes, pieces, sinusoids
from saccade.models.settings import TransformerSettings
from saccade.nn.positions import sinusoids as ours
from saccade.training.checkpoint import parameters

TRANSFORMERS = {name: tiny for name, tiny in every_model().items() if name.startswith("transformer")}
ACTIVATIONS = {"relu": specs.Activation.RELU, "gelu": specs.Activation.GELU, "swish": specs.Activation.SWISH}


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_it_knows_the_parameters_of_a_model(name: str):
    tiny = TRANSFORMERS[name]
    tokenizers, model = tiny.tokenizers(), tiny.build()
    shapes = parameter_shapes(tiny.settings, len(tokenizers.source), len(tokenizers.target))
    assert shapes == {name: tuple(values.shape) for name, values in model.named_parameters()}


def test_positions_are_those_of_the_model():
    for kind in ("paper", "marian"):
        assert np.array_equal(sinusoids(1000, 64, kind), ours(1000, 64, kind).numpy())


@pytest.mark.parametrize("quantize", ["float32", "int8"])
@pytest.mark.parametrize("name", TRANSFORMERS)
def test_it_is_what_the_writer_of_ctranslate2_would_write(name: str, quantize: str, tmp_path: Path):
    """Byte by byte, but for its choice of which of two names for the same matrix is the alias."""
    tiny = TRANSFORMERS[name]
    settings, tokenizers = tiny.settings, tiny.tokenizers()
    assert isinstance(settings, TransformerSettings)
    learned = parameters(tiny.build().float())
    description = Description(directions=(Direction(source="de", target="en"),), max_tokens=9, model=settings)
    files = convert(ModelDirectory(tmp_path, description, tokenizers), learned, quantize=quantize, positions=16)

    spec = specs.TransformerSpec.from_config(
        (settings.layers, settings.num_decoder_layers),
        settings.num_heads,
        pre_norm=settings.norm == "pre",
        activation=ACTIVATIONS[settings.activation],
    )
    fill(spec, settings, learned)
    spec.register_source_vocabulary(pieces(tokenizers.source))
    spec.register_target_vocabulary(pieces(tokenizers.target))
    spec.config.add_source_eos, spec.config.layer_norm_epsilon = True, settings.norm_epsilon
    spec.validate()
    spec.optimize(quantization=quantize)
    spec.save(str(tmp_path))

    assert {path.name for path in tmp_path.iterdir()} == files.keys()
    written = Variables(files["model.bin"])
    expected = Variables((tmp_path / "model.bin").read_bytes())
    assert written.header == expected.header
    assert written.all() == expected.all()


def fill(spec, settings: TransformerSettings, learned) -> None:
    """By hand, as a converter for CTranslate2 does it."""
    d = settings.d_model
    table = sinusoids(16, d, settings.positions)

    def linear(into, name, rows=slice(None)):
        into.weight, into.bias = learned[f"{name}.weight"][rows], learned[f"{name}.bias"][rows]

    def norm(into, name):
        into.gamma, into.beta = learned[f"{name}.weight"], learned[f"{name}.bias"]

    target = learned["target_embedding.weight"]
    spec.encoder.embeddings[0].weight = learned.get("source_embedding.weight", target)
    spec.decoder.embeddings.weight = target
    spec.decoder.projection.weight = learned.get("output_embedding.weight", target)
    if settings.output_bias:
        spec.decoder.projection.bias = learned["output_bias"]
    for stack, layers, prefix in (
        (spec.encoder, spec.encoder.layer, "encoder"),
        (spec.decoder, spec.decoder.layer, "decoder"),
    ):
        stack.position_encodings.encodings = table
        stack.scale_embeddings = float(np.sqrt(np.float64(d)))
        if settings.norm == "pre":
            norm(stack.layer_norm, f"{prefix}_norm")
        for number, layer in enumerate(layers):
            mine = f"{prefix}.{number}"
            linear(layer.self_attention.linear[0], f"{mine}.self_attention.projection")
            linear(layer.self_attention.linear[1], f"{mine}.self_attention.output")
            norm(
                layer.self_attention.layer_norm, f"{mine}.around_{'attention' if prefix == 'encoder' else 'self'}.norm"
            )
            linear(layer.ffn.linear_0, f"{mine}.feed_forward.widen")
            linear(layer.ffn.linear_1, f"{mine}.feed_forward.narrow")
            norm(layer.ffn.layer_norm, f"{mine}.around_feed_forward.norm")
            if prefix == "decoder":
                linear(layer.attention.linear[0], f"{mine}.cross_attention.projection", slice(None, d))
                linear(layer.attention.linear[1], f"{mine}.cross_attention.projection", slice(d, None))
                linear(layer.attention.linear[2], f"{mine}.cross_attention.output")
                norm(layer.attention.layer_norm, f"{mine}.around_cross.norm")


class Variables:
    """What a model.bin holds, read by its rules."""

    def __init__(self, content: bytes) -> None:
        self.content, self.place = content, 0
        self.header = (self.number(4), self.text(), self.number(4))
        self.values = dict(self.variable() for _ in range(self.number(4)))
        self.aliases = {self.text(): self.text() for _ in range(self.number(4))}
        assert self.place == len(content)

    def all(self) -> dict[str, object]:
        """Every variable under every name; of a quantized matrix, an alias has the scale as well."""
        aliases = {alias: self.values[name] for alias, name in self.aliases.items()}
        scales = {
            f"{alias}_scale": self.values[f"{name}_scale"]
            for alias, name in self.aliases.items()
            if f"{name}_scale" in self.values
        }
        return self.values | aliases | scales

    def take(self, count: int) -> bytes:
        self.place += count
        return self.content[self.place - count : self.place]

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size), "little")

    def text(self) -> str:
        return self.take(self.number(2)).decode().removesuffix("\0")

    def variable(self) -> tuple[str, object]:
        name = self.text()
        shape = tuple(self.number(4) for _ in range(self.number(1)))
        return name, (shape, self.number(1), self.take(self.number(4)))


@pytest.mark.parametrize("quantize", ["float32", "int8"])
def test_an_exported_model_runs_without_us(saccade, trained: Path, tmp_path: Path, quantize: str):
    """As CTranslate2's documentation says, with SentencePiece and nothing else."""
    ended = saccade("export", "-m", trained / "run", "--to", "ctranslate2", tmp_path / "out", "--quantize", quantize)
    assert (ended.code, ended.stdout, ended.stderr) == (0, f"{tmp_path}/out\n", "")
    pieces = sentencepiece.SentencePieceProcessor(str(tmp_path / "out/tokenizer.spm"))
    translator = ctranslate2.Translator(str(tmp_path / "out"), intra_threads=1)
    result = translator.translate_batch(pieces.encode(["lion fox", "bee ant"], out_type=str), beam_size=5)
    assert [pieces.decode(each.hypotheses[0]) for each in result] == ["Löwe Fuchs", "Biene Ameise"]


def test_nothing_is_overwritten(saccade, trained: Path, tmp_path: Path):
    (tmp_path / "out").mkdir()
    ended = saccade("export", "-m", trained / "run", "--to", "ctranslate2", tmp_path / "out")
    assert (ended.code, ended.stdout) == (1, "")
    assert ended.stderr == (
        f"error: {tmp_path}/out exists already. Remove it or name another directory; nothing was written.\n"
    )
