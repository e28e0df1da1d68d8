"""Models of `transformers` in saccade, and ours in `transformers`: the same tokens, logits and translations."""

import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file
from tests.interop import opus
from torch import Tensor
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

from saccade import directory
from saccade.data.batch import collate
from saccade.directory import Description, Direction, ModelDirectory
from saccade.engines.torch import TorchEngine
from saccade.errors import ModelError, OutputExists
from saccade.interop.marian import export, import_model
from saccade.models.build import build
from saccade.models.settings import RecurrentSettings, TransformerSettings
from saccade.search.settings import SearchSettings
from saccade.text.tokenizer import BOS, EOS, Tokenizer, Tokenizers, TokenizerSettings
from saccade.translator import load

TEXTS = [
    "A dog runs.",
    "The cat sleeps on the sofa, quietly!",
    ">>deu<< Is it 5 o'clock?",
    ">>xyz<< an unknown language",
    ">>not a code",
    "中 is known in German, 中文 too, 汉字 nowhere",
    "emoji 😀😀 and 👩‍👩‍👧 and zzz",
    "  two  blanks\tand a tab ",
    "ﬁne ｆｕｌｌ width ½ ™ 〜 …",
    "zero\u200bwidth, soft\u00adhyphen, e\u0301 and \ufeff",
    "„Quotes“ «and» ‘more’ — dashes",
    "control\x07\x00s ▁ and <s>",
    "",
    "   ",
]
TARGETS = ["Ein Hund läuft.", "Die Katze schläft leise auf dem Sofa!", "Ist es 5 Uhr?", "Hallo", "中文", "oder", "zzz"]


@pytest.fixture(scope="module", params=["unigram", "bpe, separate"])
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Path, Path]:
    """A model of theirs, its directory, and the one that it was imported to."""
    path = tmp_path_factory.mktemp("marian")
    kind, _, separate = request.param.partition(", ")
    theirs = opus.write(path / "theirs", kind=kind, separate=bool(separate))
    import_model(path / "theirs", path / "ours")
    return theirs, path / "theirs", path / "ours"


def tokenizer_of(path: Path) -> Any:
    return opus.MarianTokenizer.from_pretrained(path)


def their_ids(path: Path, side: str) -> dict[str, int]:
    name = "target_vocab.json" if side == "target" and (path / "target_vocab.json").exists() else "vocab.json"
    ids: dict[str, int] = json.loads((path / name).read_text("utf-8"))
    return ids


def our_ids(directory: ModelDirectory, side: str) -> dict[str, int]:
    tokenizer = getattr(directory.tokenizers, side)
    return {tokenizer.piece(id): id for id in range(len(tokenizer))}


def logits(path: Path, texts: Sequence[str], targets: list[str]) -> list[Tensor]:
    """Of every position of every target, in our order."""
    opened = ModelDirectory.open(path)
    engine, tokenizers = TorchEngine.load(opened), opened.tokenizers
    sources, wanted = tokenizers.source.encode_many(texts), tokenizers.target.encode_many(targets)
    with torch.inference_mode():
        found = engine.model.logits(engine.model(collate(sources, wanted)))
    return [found[row, : len(target) + 1] for row, target in enumerate(wanted)]


def their_logits(model: Any, path: Path, texts: Sequence[str], targets: list[str]) -> list[Tensor]:
    tokenizer = tokenizer_of(path)
    labels, mask = tokenizer(text_target=targets, return_tensors="pt", padding=True).values()
    # Their tokenizer pads targets with the source's <pad>, which may be no id of a target at all.
    labels = labels.masked_fill(mask == 0, model.config.pad_token_id)
    with torch.inference_mode():
        found = model(**tokenizer(list(texts), return_tensors="pt", padding=True), labels=labels).logits
    return [found[row, : int(each.sum())] for row, each in enumerate(mask)]


def assert_same_logits(ours: Path, model: Any, theirs: Path, texts: Sequence[str] = TEXTS) -> None:
    texts = texts[: len(TARGETS)]
    there, here = their_ids(theirs, "target"), our_ids(ModelDirectory.open(ours), "target")
    columns = [here[piece] for piece in there]
    for mine, yours in zip(logits(ours, texts, TARGETS), their_logits(model, theirs, texts, TARGETS), strict=True):
        torch.testing.assert_close(mine[:, columns], yours[:, list(there.values())], atol=1e-5, rtol=1e-5)


# From transformers


def check_tokens(theirs: Path, ours: Path, text: str) -> None:
    tokenizer, tokenizers = tokenizer_of(theirs), ModelDirectory.open(ours).tokenizers
    for side, words in (("source", {"text": text}), ("target", {"text_target": text})):
        own = getattr(tokenizers, side)
        expected = tokenizer(**words, add_special_tokens=False).input_ids
        there = {id: piece for piece, id in their_ids(theirs, side).items()}
        assert [own.piece(id) for id in own.encode(text)] == [there[id] for id in expected], (side, text)
        assert list(own.encode_with_spans(text).ids) == own.encode(text)


@pytest.mark.parametrize("text", TEXTS)
def test_tokens_are_those_of_their_tokenizer(pair: tuple[Any, Path, Path], text: str) -> None:
    check_tokens(*pair[1:], text)


def test_so_are_those_of_any_text(pair: tuple[Any, Path, Path]) -> None:
    """But for specials that are spelled out, which are specials there and text here."""
    tokenizer, tokenizers = tokenizer_of(pair[1]), ModelDirectory.open(pair[2]).tokenizers
    there, own = {id: piece for piece, id in their_ids(pair[1], "source").items()}, tokenizers.source

    @given(st.text(max_size=30) | st.text(alphabet="".join(opus.ENGLISH) + "  <>äß中😀\u0301\u3000", max_size=40))
    @settings(max_examples=300)
    def check(text: str) -> None:
        assume(not any(special in text for special in tokenizer.all_special_tokens))
        expected = [there[id] for id in tokenizer(text, add_special_tokens=False).input_ids]
        assert [own.piece(id) for id in own.encode(text)] == expected

    check()


def test_a_piece_that_only_the_other_language_has_keeps_its_meaning(tmp_path: Path) -> None:
    """Unknown to the English SentencePiece model, but in the vocabulary that both share: Marian finds it there."""
    opus.write(tmp_path / "theirs")
    import_model(tmp_path / "theirs", tmp_path / "ours")
    source = ModelDirectory.open(tmp_path / "ours").tokenizers.source
    known = [piece for piece in ("中", "文", "中文") if piece in their_ids(tmp_path / "theirs", "source")]
    assert known, "else this test would show nothing"
    assert [source.piece(id) for id in source.encode(known[0])] == ["▁", known[0]]


def test_logits_are_theirs(pair: tuple[Any, Path, Path]) -> None:
    assert_same_logits(pair[2], pair[0], pair[1])


@pytest.mark.parametrize("beam", [1, 5])
def test_a_search_finds_what_theirs_finds(pair: tuple[Any, Path, Path], beam: int) -> None:
    """Without a length penalty, as the best hypothesis then depends on no rule when to stop."""
    model, theirs, ours = pair
    tokenizer, opened = tokenizer_of(theirs), ModelDirectory.open(ours)
    texts, there = TEXTS[:7], their_ids(theirs, "target")
    found = model.generate(
        **tokenizer(texts, return_tensors="pt", padding=True),
        num_beams=beam,
        length_penalty=0.0,
        max_new_tokens=30,
        bad_words_ids=[[there["<pad>"]]],
        output_scores=True,
        return_dict_in_generate=True,
    )
    search = SearchSettings(beam=beam, length_penalty=0.0, max_length_factor=0.0, max_length_extra=30)
    hypotheses = TorchEngine.load(opened).translate(opened.tokenizers.source.encode_many(texts), search)
    pieces = {id: piece for piece, id in there.items()}
    outputs = set()
    for row, [best] in enumerate(hypotheses):
        wanted = [pieces[id] for id in found.sequences[row].tolist()[1:] if pieces[id] != "<pad>"]
        ids = (*best.ids, EOS) if best.finished else best.ids
        assert [opened.tokenizers.target.piece(id) for id in ids] == wanted
        outputs.add(tuple(wanted))
        if beam > 1:
            assert best.log_prob == pytest.approx(float(found.sequences_scores[row]), abs=1e-4)
    assert len(outputs) > 3, "a model that always says the same would show little"


def test_texts_come_out_as_theirs(pair: tuple[Any, Path, Path]) -> None:
    """Pieces of the other language, unknown to the target's SentencePiece model, among them."""
    _, theirs, ours = pair
    tokenizer, target = tokenizer_of(theirs), ModelDirectory.open(ours).tokenizers.target
    there = {piece: id for piece, id in their_ids(theirs, "target").items() if piece not in ("<unk>", "</s>", "<pad>")}
    draw = np.random.default_rng(1)
    for _ in range(100):
        pieces = [str(piece) for piece in draw.choice(list(there), size=8)]
        ids = [our_ids(ModelDirectory.open(ours), "target")[piece] for piece in pieces]
        text, spans = target.decode_with_spans(ids)
        assert text == tokenizer.decode([there[piece] for piece in pieces], skip_special_tokens=True)
        assert all(0 <= start <= end <= len(text) for start, end in spans)
        marks = "".join(text[start:end] for start, end in spans)
        assert marks.replace(" ", "") == text.replace(" ", "")


@pytest.mark.parametrize(
    "changes",
    [
        {"activation_function": "relu"},
        {"activation_function": "gelu", "decoder_layers": 1},
        {"scale_embedding": False},
        {"kind": "bpe", "separate": True, "scale_embedding": False},
        {"kind": "bpe", "separate": True, "tie_word_embeddings": False},
        {"encoder_layers": 1, "encoder_attention_heads": 4, "decoder_attention_heads": 4},
    ],
    ids=str,
)
def test_models_of_every_make_that_ours_can_be(tmp_path: Path, changes: dict[str, Any]) -> None:
    model = opus.write(tmp_path / "theirs", **changes)
    import_model(tmp_path / "theirs", tmp_path / "ours")
    assert_same_logits(tmp_path / "ours", model, tmp_path / "theirs")


def rewritten(path: Path, change: Any) -> None:
    """The tensors changed by a function of their table."""
    save_file(change(load_file(path / "model.safetensors")), path / "model.safetensors", metadata={"format": "pt"})


@pytest.mark.parametrize(
    "change",
    [
        lambda tensors: {
            "lm_head.weight" if name == "model.shared.weight" else name: tensors[name] for name in tensors
        },
        lambda tensors: tensors | {"lm_head.weight": tensors["model.shared.weight"].copy()},
        lambda tensors: tensors | {"model.encoder.embed_positions.weight": positions(64, 16)},
        lambda tensors: {name: values.astype(np.float64) for name, values in tensors.items()},
    ],
    ids=["named for the head", "twice", "with positions", "in double precision"],
)
def test_files_of_other_writers(tmp_path: Path, change: Any) -> None:
    model = opus.write(tmp_path / "theirs")
    rewritten(tmp_path / "theirs", change)
    import_model(tmp_path / "theirs", tmp_path / "ours")
    assert_same_logits(tmp_path / "ours", model, tmp_path / "theirs")


def positions(number: int, d_model: int) -> np.ndarray:
    """Entry by entry, from the definition."""
    table = np.zeros((number, d_model), np.float32)
    for position in range(number):
        for place in range(d_model // 2):
            angle = position / 10000 ** (2 * place / d_model)
            table[position, place], table[position, d_model // 2 + place] = np.sin(angle), np.cos(angle)
    return table


def test_half_precision_is_read(tmp_path: Path) -> None:
    model = opus.write(tmp_path / "theirs")
    model.half().save_pretrained(tmp_path / "theirs")
    import_model(tmp_path / "theirs", tmp_path / "ours")
    model = opus.MarianMTModel.from_pretrained(tmp_path / "theirs", dtype=torch.float32).eval()
    assert_same_logits(tmp_path / "ours", model, tmp_path / "theirs")


def test_a_file_without_a_bias_has_none(tmp_path: Path) -> None:
    model = opus.write(tmp_path / "theirs")
    model.final_logits_bias.zero_()
    rewritten(tmp_path / "theirs", lambda tensors: {n: v for n, v in tensors.items() if n != "final_logits_bias"})
    import_model(tmp_path / "theirs", tmp_path / "ours")
    assert_same_logits(tmp_path / "ours", model, tmp_path / "theirs")


def test_what_is_said_of_an_imported_model(tmp_path: Path) -> None:
    opus.write(tmp_path / "opus-mt-en-de")
    (tmp_path / "opus-mt-en-de" / "generation_config.json").write_text('{"num_beams": 4}', encoding="utf-8")
    (tmp_path / "opus-mt-en-de" / "README.md").write_text("license: cc-by-4.0", encoding="utf-8")
    import_model(tmp_path / "opus-mt-en-de", tmp_path / "ours")
    opened = ModelDirectory.open(tmp_path / "ours")
    assert (opened.description.source_language, opened.description.target_language) == ("en", "de")
    assert (opened.description.search.beam, opened.description.max_tokens) == (4, 63)
    assert (opened.tokenizers.shared, opened.tokenizers.shares_vocabulary) == (False, True)
    card = (tmp_path / "ours" / "card.md").read_text("utf-8")
    assert card.startswith("# en → de\n\nImported from opus-mt-en-de, a Marian model")
    assert card.endswith("\nlicense: cc-by-4.0")
    translator = load(tmp_path / "ours")
    trace = translator.translate("  A  dog 😀 ", attention=True).attention
    assert trace is not None
    assert trace.source.text == "  A  dog 😀 "


def test_an_imported_model_learns_on(tmp_path: Path, saccade: Any, write_task: Any) -> None:
    """With its own tokenizers, its output bias among what is learned, and what it never said still unsaid."""
    opus.write(tmp_path / "theirs")
    import_model(tmp_path / "theirs", tmp_path / "ours")
    (tmp_path / "task").mkdir()
    recipe = write_task(tmp_path / "task")
    make = """layers = 2\nd_model = 16\nd_feedforward = 24\nactivation = "swish"\noutput_bias = true"""
    text = recipe.read_text("utf-8").replace("layers = 1\nd_model = 32\nd_feedforward = 64", make)
    text = text.replace("[training]", "[training]\nwarm_start = '../ours'").replace("max_tokens = 8", "max_tokens = 40")
    recipe.write_text(text, "utf-8")
    ended = saccade("train", recipe, "--set", "training.learning_rate=0.003")
    assert ended.code == 0, ended.stderr
    before, after = ModelDirectory.open(tmp_path / "ours"), ModelDirectory.open(tmp_path / "task" / "run")
    assert after.tokenizers.checksums == before.tokenizers.checksums
    old, new = before.parameters()["output_bias"], after.parameters()["output_bias"]
    assert new[BOS] < -9000
    assert (np.delete(new, BOS) != np.delete(old, BOS)).mean() > 0.9
    pairs = (["dog cat", "bee fox"], ["Hund Katze", "Biene Fuchs"])
    assert sum(load(after.path).score(*pairs)) > sum(load(before.path).score(*pairs)) + 5


# To transformers


@pytest.fixture(scope="module")
def languages() -> dict[str, Tokenizers]:
    settings = TokenizerSettings(vocabulary=320)
    shared = Tokenizer.learn([*opus.ENGLISH, *opus.GERMAN], settings, seed=1)
    own = replace(settings, byte_fallback=False, kind="unigram", vocabulary=90)
    source, target = (Tokenizer.learn(lines, own, seed=1) for lines in (opus.ENGLISH, opus.GERMAN))
    return {"shared": Tokenizers(shared, shared), "separate": Tokenizers(source, target)}


def write_ours(path: Path, tokenizers: Tokenizers, **changes: Any) -> None:
    sizes = {"layers": 2, "d_model": 16, "d_feedforward": 24, "num_heads": 2}
    make = TransformerSettings(**(sizes | changes))
    torch.manual_seed(3)
    model = build(make, len(tokenizers.source), len(tokenizers.target))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.3 * torch.randn_like(parameter)
    description = Description(
        directions=(Direction(source="en", target="de"),),
        max_tokens=100,
        model=make,
        search=SearchSettings(beam=5, length_penalty=0.0, max_length_factor=0.0, max_length_extra=40),
    )
    parameters = {name: values.detach().numpy() for name, values in model.named_parameters()}
    directory.save(path, description, tokenizers, parameters, "# A card\n")


MAKES = [
    ("shared", {}),
    ("shared", {"activation": "swish", "decoder_layers": 1, "output_bias": True}),
    ("shared", {"activation": "gelu", "embeddings": "tied"}),
    ("separate", {"embeddings": "tied"}),
    ("separate", {"embeddings": "separate", "output_bias": True}),
]


@pytest.mark.parametrize(("vocabulary", "changes"), MAKES, ids=str)
def test_ours_is_the_same_there(
    tmp_path: Path, languages: dict[str, Tokenizers], vocabulary: str, changes: dict[str, Any]
) -> None:
    """Nothing is missing or left over, logits, greedy search and a beam of five: ids and texts."""
    write_ours(tmp_path / "ours", languages[vocabulary], **changes)
    opened = ModelDirectory.open(tmp_path / "ours")
    export(opened, tmp_path / "theirs")
    model, report = opus.MarianMTModel.from_pretrained(tmp_path / "theirs", output_loading_info=True)
    assert not any(report.values()), report
    model.eval()
    plain = [text for text in TEXTS if not text.startswith(">>")]  # which is a language there, and text here
    assert_same_logits(tmp_path / "ours", model, tmp_path / "theirs", plain)

    tokenizer, translator = tokenizer_of(tmp_path / "theirs"), load(tmp_path / "ours")
    texts = opus.ENGLISH
    inputs = tokenizer(texts, return_tensors="pt", padding=True)
    for beam in (1, 5):
        search = replace(translator.search, beam=beam)
        expected = [each.text for each in translator.translate(texts, search=search)]
        assert len(set(expected)) > 1, "a model that always says the same would show little"
        found = model.generate(**inputs, num_beams=beam, max_new_tokens=40, forced_eos_token_id=None)
        # A text of theirs has no <unk>, and no white space at its ends.
        texts_there = tokenizer.batch_decode(found, skip_special_tokens=True)
        assert texts_there == [text.replace(" ⁇ ", "").strip() for text in expected]


def test_the_export_says_how_to_search(tmp_path: Path, languages: dict[str, Tokenizers]) -> None:
    write_ours(tmp_path / "ours", languages["shared"])
    export(ModelDirectory.open(tmp_path / "ours"), tmp_path / "theirs")
    told = AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "theirs").generation_config
    assert isinstance(AutoTokenizer.from_pretrained(tmp_path / "theirs"), opus.MarianTokenizer)
    assert (told.num_beams, told.length_penalty, told.bad_words_ids, told.forced_eos_token_id) == (
        5,
        0,
        [[0], [2]],
        None,
    )
    assert (tmp_path / "theirs" / "README.md").read_text("utf-8") == "# A card\n"


@pytest.mark.parametrize(("vocabulary", "changes"), MAKES, ids=str)
def test_there_and_back_is_where_we_were(
    tmp_path: Path, languages: dict[str, Tokenizers], vocabulary: str, changes: dict[str, Any]
) -> None:
    write_ours(tmp_path / "ours", languages[vocabulary], **changes)
    before = ModelDirectory.open(tmp_path / "ours")
    export(before, tmp_path / "theirs")
    import_model(tmp_path / "theirs", tmp_path / "back")
    after = ModelDirectory.open(tmp_path / "back")
    assert after.tokenizers.checksums == before.tokenizers.checksums
    assert after.description.model == before.description.model
    assert after.description.max_tokens == 511
    told, meant = after.description.search, before.description.search
    assert (told.beam, told.length_penalty) == (meant.beam, meant.length_penalty)
    old, new = before.parameters(), after.parameters()
    assert old.keys() == new.keys()
    assert all(np.array_equal(old[name], new[name]) for name in old)


def test_theirs_comes_back_the_same(pair: tuple[Any, Path, Path], tmp_path: Path) -> None:
    """Marian → ours → Marian: other ids, the same pieces and logits."""
    export(ModelDirectory.open(pair[2]), tmp_path / "again")
    model = opus.MarianMTModel.from_pretrained(tmp_path / "again").eval()
    assert_same_logits(pair[2], model, tmp_path / "again")
    for name in ("source.spm", "target.spm"):
        assert (tmp_path / "again" / name).read_bytes() == (pair[1] / name).read_bytes()
    for text in TEXTS:
        check_tokens(tmp_path / "again", pair[2], text)


# What is refused


def test_a_model_that_marian_cannot_be(tmp_path: Path, languages: dict[str, Tokenizers]) -> None:
    write_ours(tmp_path / "pre", languages["shared"], norm="pre")
    with pytest.raises(ModelError, match=r'must have norm = "post".*saccade export --to ctranslate2'):
        export(ModelDirectory.open(tmp_path / "pre"), tmp_path / "theirs")
    opened = ModelDirectory.open(tmp_path / "pre")
    recurrent = replace(opened, description=replace(opened.description, model=RecurrentSettings()))
    with pytest.raises(ModelError, match='but it is of kind = "recurrent"'):
        export(recurrent, tmp_path / "theirs")
    write_ours(tmp_path / "positions", languages["shared"], positions="marian")
    with pytest.raises(ModelError, match=r'must have positions = "paper".*has "marian" and 1e-05.*--to ctranslate2'):
        export(ModelDirectory.open(tmp_path / "positions"), tmp_path / "theirs")
    assert not (tmp_path / "theirs").exists()


def test_nothing_is_overwritten(pair: tuple[Any, Path, Path], tmp_path: Path) -> None:
    with pytest.raises(OutputExists, match="nothing was imported"):
        import_model(pair[1], tmp_path)
    with pytest.raises(OutputExists, match="nothing was exported"):
        export(ModelDirectory.open(pair[2]), tmp_path)


def test_a_pickle_is_refused_and_its_remedy_works(tmp_path: Path) -> None:
    """The command of the message is run as it stands, but not in a process of its own, which takes long."""
    model = opus.write(tmp_path / "theirs")
    (tmp_path / "theirs" / "model.safetensors").unlink()
    torch.save(model.state_dict(), tmp_path / "theirs" / "pytorch_model.bin")
    with pytest.raises(ModelError, match=r"pytorch_model\.bin, a pickle, which can run any program") as caught:
        import_model(tmp_path / "theirs", tmp_path / "ours")
    exec(str(caught.value).splitlines()[1].removeprefix("python -c ").strip('"'))
    import_model(tmp_path / "theirs-safe", tmp_path / "ours")
    assert_same_logits(tmp_path / "ours", model, tmp_path / "theirs")


def test_torch_is_not_needed(pair: tuple[Any, Path, Path], tmp_path: Path) -> None:
    code = """
import sys
from pathlib import Path
sys.modules["torch"] = sys.modules["transformers"] = None
from saccade.directory import ModelDirectory
from saccade.interop.marian import export, import_model
import_model(Path(sys.argv[1]), Path("ours"))
export(ModelDirectory.open(Path("ours")), Path("theirs"))
"""
    done = subprocess.run([sys.executable, "-c", code, pair[1]], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    shutil.rmtree(tmp_path / "theirs")


def test_the_commands(pair: tuple[Any, Path, Path], tmp_path: Path, saccade: Any) -> None:
    ended = saccade("import", "--from", "marian", pair[1], tmp_path / "ours")
    assert ended == (0, f"{tmp_path / 'ours'}\n", "")
    ended = saccade("export", "--to", "marian", "--model", tmp_path / "ours", tmp_path / "theirs")
    assert ended == (0, f"{tmp_path / 'theirs'}\n", "")
    ended = saccade("translate", "--model", tmp_path / "ours", stdin="A dog runs.\n\n")
    assert (ended.code, ended.stdout.count("\n")) == (0, 2)
    assert saccade("import", tmp_path / "nothing", tmp_path / "new").code == 1
