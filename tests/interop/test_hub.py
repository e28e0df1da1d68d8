"""Models from a hub: fetched whole or not at all, pinned, verified, and the same as where they come from."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.interop import opus
from tests.interop.loopback_hub import LoopbackHub, Repository, loopback
from tests.interop.test_marian import assert_same_logits, write_ours

import saccade as library
from saccade.errors import DownloadError, ModelError, OutputExists
from saccade.locate import locate_model
from saccade.search.settings import SearchSettings
from saccade.text.tokenizer import Tokenizer, Tokenizers, TokenizerSettings

NAME = "Helsinki-NLP/opus-mt-en-de"
FETCHED = ["config.json", "vocab.json", "source.spm", "target.spm", "tokenizer_config.json", "generation_config.json"]
FETCHED += ["README.md", "model.safetensors"]
CARD = {"license": "cc-by-4.0", "language": ["en", "de"]}


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LoopbackHub]:
    with loopback(tmp_path, monkeypatch) as running:
        yield running


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Path]:
    """A model of transformers and its directory, with what else such repositories hold."""
    path = tmp_path_factory.mktemp("theirs") / "opus-mt-en-de"
    model = opus.write(path)
    (path / "README.md").write_text("---\nlicense: cc-by-4.0\n---\n# opus-mt-en-de\n", "utf-8")
    for name in ("tf_model.h5", "rust_model.ot", "pytorch_model.bin", ".gitattributes"):
        (path / name).write_bytes(b"something large that nobody asks for")
    return model, path


@pytest.fixture
def repository(hub: LoopbackHub, theirs: tuple[Any, Path]) -> Repository:
    return hub.publish(NAME, theirs[1], card=CARD)


@pytest.fixture
def pickled(hub: LoopbackHub, theirs: tuple[Any, Path]) -> tuple[Repository, bytes]:
    """A repository whose parameters are a pickle only, and what they are in safetensors."""
    repository = hub.publish(NAME, theirs[1], card=CARD)
    files = dict(repository.commits.popitem()[1])
    repository.branches.clear()
    weights = files.pop("model.safetensors")
    repository.commit(files)
    return repository, weights


def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "hub" / NAME


# The same model


def their_translations(model: Any, path: Path, texts: list[str]) -> list[str]:
    tokenizer = opus.MarianTokenizer.from_pretrained(path)
    found = model.generate(
        **tokenizer(texts, return_tensors="pt", padding=True),
        num_beams=5,
        length_penalty=0.0,
        max_new_tokens=30,
        bad_words_ids=[[model.config.pad_token_id]],
    )
    # Of two vocabularies, their tokenizer knows the padding of the source only.
    return [text.replace("<pad>", "").strip() for text in tokenizer.batch_decode(found, skip_special_tokens=True)]


SEARCH = SearchSettings(beam=5, length_penalty=0.0, max_length_factor=0.0, max_length_extra=30)


@pytest.mark.parametrize(
    "make",
    [{}, {"kind": "bpe", "separate": True}, {"codes": opus.SEVERAL, "seed": 2}],
    ids=["opus", "two vocabularies", "multilingual"],
)
def test_a_model_of_theirs_is_the_same_here(hub: LoopbackHub, tmp_path: Path, saccade: Any, make: Any) -> None:
    model = opus.write(tmp_path / "theirs", **make)
    hub.publish(NAME, tmp_path / "theirs")
    ended = saccade("get", NAME)
    assert ended.code == 0, ended.stderr
    ours = Path(ended.stdout.removesuffix("\n"))
    assert_same_logits(ours, model, tmp_path / "theirs")
    translations = set()
    for code in make.get("codes", [""]):
        texts = [f"{code} {text}".strip() for text in opus.ENGLISH]
        expected = their_translations(model, tmp_path / "theirs", texts)
        translations |= set(expected)
        for engine in ("ctranslate2", "torch"):
            translator = library.load(f"hf:{NAME}", engine=engine)  # type: ignore[arg-type]
            found = translator.translate(opus.ENGLISH, to=code.strip("<>") or None, search=SEARCH)
            assert [each.text.replace(" ⁇ ", "").strip() for each in found] == expected
    assert len(translations) > 3, "a model that always says the same would show little"


def test_what_we_exported_comes_back(hub: LoopbackHub, tmp_path: Path, saccade: Any) -> None:
    """Through every option that takes a model."""
    learned = Tokenizer.learn([*opus.ENGLISH, *opus.GERMAN], TokenizerSettings(vocabulary=320), seed=1)
    write_ours(tmp_path / "ours", Tokenizers(learned, learned))
    library.export_model(tmp_path / "ours", tmp_path / "exported", to="marian")
    files = (tmp_path / "a.en", tmp_path / "a.de")
    for file, lines in zip(files, (opus.ENGLISH, opus.GERMAN), strict=True):
        file.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    hub.publish("our-team/words", tmp_path / "exported", card={"license": "mit"})
    name = "hf:our-team/words"
    limits = ("--set", "search.max_length_factor=0", "--set", "search.max_length_extra=30")
    ended = saccade("translate", "--model", name, files[0], *limits)
    assert ended.code == 0, ended.stderr
    here = library.load(tmp_path / "ours")
    search = replace(here.search, max_length_factor=0.0, max_length_extra=30)
    assert ended.stdout.splitlines() == [each.text for each in here.translate(opus.ENGLISH, search=search)]
    assert "Licence: mit" in ended.stderr
    hub.requests.clear()
    for words in (
        ("info", name),
        ("view", "--model", name, "A dog runs."),
        ("score", "--model", name, *files),
        ("align", "--model", name, *files),
        ("export", "--model", name, "--to", "ctranslate2", tmp_path / "ct2"),
        ("evaluate", "--model", name, "--source", files[0], "--reference", files[1]),
    ):
        ended = saccade(*words)
        assert ended.code == 0, (words, ended.stderr)
    assert library.evaluate(name, source=files[0], reference=files[1]).comparison.systems == ("words",)
    assert library.describe_model(name)["card"].count("our-team") == 2
    assert isinstance(library.open_model(name), library.Translator)
    assert hub.requests == []


def test_a_training_starts_from_a_model_on_a_hub(
    hub: LoopbackHub, tmp_path: Path, saccade: Any, write_task: Any
) -> None:
    opus.write(tmp_path / "theirs")
    commit = hub.publish(NAME, tmp_path / "theirs", card=CARD).branches["main"][0]
    recipe = write_task(tmp_path)
    make = """layers = 2\nd_model = 16\nd_feedforward = 24\nactivation = "swish"\noutput_bias = true"""
    text = recipe.read_text("utf-8").replace("layers = 1\nd_model = 32\nd_feedforward = 64", make)
    text = text.replace("[training]", f"[training]\nwarm_start = 'hf:{NAME}'").replace(
        "max_tokens = 8", "max_tokens = 40"
    )
    recipe.write_text(text, "utf-8")
    ended = saccade("train", recipe, "--set", "training.updates=2")
    assert ended.code == 0, ended.stderr
    stored = (tmp_path / "run" / "recipe.toml").read_text("utf-8")
    assert f"/{NAME}/{commit}/opus-mt-en-de" in stored, "pinned"
    assert "Licence: cc-by-4.0" in (tmp_path / "run" / "model" / "card.md").read_text("utf-8")


# What is fetched, and when


def test_only_what_is_needed_is_fetched(hub: LoopbackHub, repository: Repository, tmp_path: Path, saccade: Any) -> None:
    hub.page = 3
    commit = repository.branches["main"][0]
    ended = saccade("get", NAME)
    size = sum(len(repository.commits[commit][name]) for name in FETCHED)
    assert ended == (
        0,
        f"{cache(tmp_path) / commit / 'opus-mt-en-de'}\n",
        f"Fetching {NAME} ({size / 1e6:.1f} MB, commit {commit[:12]}). Licence: cc-by-4.0\n",
    )
    assert {request.path.split("/")[4] for request in hub.requests if "/resolve/" in request.path} == {commit}
    assert hub.fetched() == FETCHED
    assert sorted(each.name for each in (cache(tmp_path) / commit).iterdir()) == ["opus-mt-en-de"], "no leftovers"


def test_nobody_is_asked_again(hub: LoopbackHub, repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    path = library.get_model(NAME)
    hub.requests.clear()
    for name in (f"hf:{NAME}", f"hf:{NAME}@main", f"hf:{NAME}@{repository.branches['main'][0]}", Path(f"hf:{NAME}")):
        assert library.load(name).directory.path == path
    assert library.get_model(f"{NAME}@{repository.branches['main'][0]}") == path
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)  # not installed
    assert locate_model(f"hf:{NAME}") == path
    assert hub.requests == []


def test_a_version_stays_until_it_is_asked_for_again(hub: LoopbackHub, repository: Repository) -> None:
    first = library.get_model(NAME)
    files = {**repository.commits[repository.branches["main"][0]], "README.md": b"# newer"}
    newer = repository.commit(files)
    hub.requests.clear()
    assert locate_model(f"hf:{NAME}") == first
    assert hub.requests == []
    path = library.get_model(NAME)
    assert path.parent.name == newer
    assert locate_model(f"hf:{NAME}") == path
    assert library.get_model(NAME) == path
    assert [request.path for request in hub.requests[-1:]] == [f"/api/models/{NAME}/revision/main"]
    assert first.is_dir(), "somebody may have pinned it"


def test_versions_by_name(hub: LoopbackHub, repository: Repository, tmp_path: Path, saccade: Any) -> None:
    commit = repository.branches["main"][0]
    repository.branches["v1.0"] = repository.branches["refs/pr/9"] = [commit]
    repository.commit({"README.md": b"no model any more"})
    for revision in ("v1.0", "refs/pr/9", commit):
        assert saccade("get", NAME, "--revision", revision).code == 0
        assert locate_model(f"hf:{NAME}@{revision}").parent.name == commit
    assert library.get_model(f"hf:{NAME}@v1.0").parent.name == commit
    with pytest.raises(ModelError, match=r"has no config\.json"):
        library.get_model(NAME)


def test_a_directory_of_ones_own(hub: LoopbackHub, repository: Repository, tmp_path: Path, saccade: Any) -> None:
    output = tmp_path / "en-de"
    assert saccade("get", NAME, "-o", output).stdout == f"{output}\n"
    assert not (cache(tmp_path) / "revisions").exists()
    assert library.load(output).directory.description.target_language == "de"
    with pytest.raises(OutputExists, match="nothing was fetched"):
        library.get_model(NAME, output)
    cached = library.get_model(NAME)
    hub.fetched()
    copied = library.get_model(NAME, tmp_path / "copy")
    assert library.describe_model(copied)["sha256"] == library.describe_model(cached)["sha256"]
    assert hub.fetched() == []


def test_the_card_says_where_it_comes_from(hub: LoopbackHub, repository: Repository) -> None:
    card, commit = library.describe_model(library.get_model(NAME))["card"], repository.branches["main"][0]
    assert card.startswith(
        f"# en → de\n\nMade by Helsinki-NLP, and published as {hub.url}/{NAME}, commit {commit}. "
        f"Licence: cc-by-4.0. Converted by saccade {library.__version__}, which changed nothing that it has learned.\n"
    )
    assert card.endswith("# opus-mt-en-de\n"), "that of its authors follows"


@pytest.mark.parametrize(
    ("card", "expected"),
    [
        ({}, "not stated"),
        (None, "not stated"),
        ({"license": ["mit", "cc0-1.0", 7]}, "mit and cc0-1.0"),
        ({"license": "evil\x1b[31m\n" + 200 * "x"}, "evil[31m" + 92 * "x"),
    ],
)
def test_licences_of_every_form(hub: LoopbackHub, repository: Repository, card: Any, expected: str) -> None:
    repository.card = card
    assert f"Licence: {expected}. Converted" in library.describe_model(library.get_model(NAME))["card"]


def test_several_at_once_fetch_once(hub: LoopbackHub, repository: Repository) -> None:
    with ThreadPoolExecutor(3) as pool:
        paths = set(pool.map(lambda _: locate_model(f"hf:{NAME}"), range(3)))
    assert len(paths) == 1
    weights = [request for request in hub.requests if request.path.endswith(".safetensors") and request.is_cache]
    assert len(weights) == 1


def test_what_huggingface_has_cached_is_taken(hub: LoopbackHub, repository: Repository, tmp_path: Path) -> None:
    """Its own client fetches from our hub, too, so that this speaks as the real one does."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.utils import disable_progress_bars

    disable_progress_bars()
    folder = Path(snapshot_download(NAME, endpoint=hub.url, cache_dir=tmp_path / "huggingface" / "hub"))
    assert (folder / "config.json").is_file()
    hub.fetched()
    path = library.get_model(NAME)
    assert hub.fetched() == []
    weights = (folder / "model.safetensors").resolve()
    weights.write_bytes(weights.read_bytes()[:-1] + b"?")
    library.get_model(NAME, tmp_path / "another")  # a copy of ours
    repository.commit({**repository.commits[path.parent.name], "README.md": b"# newer"})
    library.get_model(NAME)
    assert hub.fetched() == FETCHED, "nothing is taken of another commit"


# Pull requests that convert


def test_a_conversion_by_the_bot_is_taken(
    hub: LoopbackHub, pickled: tuple[Repository, bytes], theirs: tuple[Any, Path], saccade: Any
) -> None:
    repository, weights = pickled
    main = repository.branches["main"][0]
    repository.convert(weights, status="closed")
    number = repository.convert(weights)
    converted = repository.branches[f"refs/pr/{number}"][0]
    ended = saccade("get", NAME)
    assert ended.code == 0, ended.stderr
    assert f"The parameters are those of refs/pr/{number}, where SFconvertbot has converted them" in ended.stderr
    assert hub.fetched() == FETCHED
    path = Path(ended.stdout.strip())
    assert path.parent.name == main
    card = library.describe_model(path)["card"]
    assert f"Its parameters are those of refs/pr/{number}, commit {converted}, converted by SFconvertbot. " in card
    assert_same_logits(path, *theirs)


OTHER = {"config.json": b"{}"}


@pytest.mark.parametrize(
    "changes",
    [
        {"title": "Adding safetensors"},
        {"status": "closed"},
        {"status": "merged"},
        {"isPullRequest": False},
        {"author": {"name": "SFconvertbot2"}},
        {"author": None},
        {"num": "4"},
        {"parent": "0" * 40},
        {"files": OTHER},
        {"files": {"extra.json": b"{}"}},
    ],
    ids=str,
)
def test_any_other_pull_request_is_not(pickled: tuple[Repository, bytes], changes: dict[str, Any]) -> None:
    repository, weights = pickled
    repository.convert(weights, **changes)
    with pytest.raises(ModelError, match="Nor has the hub's bot converted this very version"):
        library.get_model(NAME)


def test_a_conversion_that_removes_a_file_is_not_taken(pickled: tuple[Repository, bytes]) -> None:
    repository, weights = pickled
    repository.convert(weights)
    head = repository.branches["refs/pr/4"][0]
    repository.commits[head] = {name: each for name, each in repository.commits[head].items() if name != "vocab.json"}
    with pytest.raises(ModelError, match="Nor has the hub's bot"):
        library.get_model(NAME)


def test_a_conversion_of_an_older_version_is_not_taken(pickled: tuple[Repository, bytes]) -> None:
    repository, weights = pickled
    old = repository.branches["main"][0]
    repository.convert(weights)
    repository.commit({**repository.commits[old], "README.md": b"# newer"})
    for revision in ("main", old):
        with pytest.raises(ModelError, match="Nor has the hub's bot"):
            library.get_model(NAME, revision=revision)


def test_hubs_without_pull_requests(hub: LoopbackHub, pickled: tuple[Repository, bytes]) -> None:
    hub.answer = lambda path, told: {} if "/discussions" in path else told
    with pytest.raises(ModelError, match="Nor has the hub's bot"):
        library.get_model(NAME)


# Marian's own files


def test_marians_own_files(hub: LoopbackHub, tmp_path: Path) -> None:
    model = opus.write_original(tmp_path / "original", codes=opus.SEVERAL, seed=2)
    hub.publish(NAME, tmp_path / "original", card=CARD)
    path = library.get_model(NAME)
    assert_same_logits(path, model, tmp_path / "original-hf")
    for code in opus.SEVERAL:
        expected = their_translations(model, tmp_path / "original-hf", [f"{code} {text}" for text in opus.ENGLISH])
        found = library.load(path).translate(opus.ENGLISH, to=code.strip("<>"), search=SEARCH)
        assert [each.text.strip() for each in found] == expected
    expected = ["decoder.yml", "opus.vocab.yml", "source.spm", "target.spm", "README.md", "opus.model1.npz"]
    assert hub.fetched() == expected


# Interrupted, broken, spoilt


def count(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def run(hub: LoopbackHub, tmp_path: Path, *words: str, **more: str) -> "subprocess.Popen[str]":
    """`saccade` in a process of its own, which finds the hub by its environment."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("HF_")}
    environment |= {"HF_ENDPOINT": hub.url, "HF_HOME": str(tmp_path / "huggingface"), **more}
    command = [sys.executable, "-m", "saccade", *words]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_a_download_that_was_killed_goes_on(hub: LoopbackHub, repository: Repository, tmp_path: Path) -> None:
    whole = len(repository.commits[repository.branches["main"][0]]["model.safetensors"])
    hub.stall["model.safetensors"] = whole // 2
    process = run(hub, tmp_path, "get", NAME)
    downloads = cache(tmp_path) / repository.branches["main"][0] / ".download"
    while count(downloads / "model.safetensors.part") == 0:
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    kept = count(downloads / "model.safetensors.part")
    assert 0 < kept <= whole // 2
    hub.stall.clear()
    hub.requests.clear()
    library.load(f"hf:{NAME}")
    (asked,) = [request for request in hub.requests if "/resolve/" in request.path and request.is_cache]
    assert asked.range == f"bytes={kept}-"
    assert hub.fetched() == ["model.safetensors"], "and nothing that was whole"


def test_ctrl_c_leaves_what_came(hub: LoopbackHub, repository: Repository, tmp_path: Path) -> None:
    hub.stall["model.safetensors"] = 1000
    process = run(hub, tmp_path, "get", NAME)
    downloads = cache(tmp_path) / repository.branches["main"][0] / ".download"
    while not (downloads / "model.safetensors.part").exists():
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate()
    assert process.returncode == 130
    assert "Traceback" not in errors
    hub.stall.clear()
    hub.released.set()
    hub.requests.clear()
    library.load(f"hf:{NAME}")
    assert hub.fetched() == ["model.safetensors"]


def test_a_connection_that_breaks_is_taken_up_again(hub: LoopbackHub, repository: Repository) -> None:
    hub.cut["model.safetensors"] = 5000
    library.get_model(NAME)
    ranges = [
        request.range for request in hub.requests if request.path.endswith("model.safetensors") and request.is_cache
    ]
    assert ranges == [None, "bytes=5000-"]


def test_a_server_that_knows_no_ranges(hub: LoopbackHub, repository: Repository) -> None:
    """It sends all of the file again."""
    hub.cut["config.json"] = 100
    hub.knows_ranges = False
    library.get_model(NAME)
    assert [request.range for request in hub.requests if request.path.endswith("/config.json")] == [None, "bytes=100-"]


@pytest.mark.parametrize("name", ["model.safetensors", "source.spm"])
def test_a_spoilt_file_is_removed(hub: LoopbackHub, repository: Repository, tmp_path: Path, name: str) -> None:
    hub.send = lambda path, content: content[:-1] + b"?" if path == name else content
    with pytest.raises(DownloadError, match=rf"{name} of .* must have the checksum \w+, but what came has another"):
        library.get_model(NAME)
    downloads = cache(tmp_path) / repository.branches["main"][0] / ".download"
    assert not list(downloads.glob(f"{name}*"))
    hub.send = lambda path, content: content
    hub.fetched()
    library.get_model(NAME)
    assert hub.fetched() == FETCHED[FETCHED.index(name) :], "nothing that was whole"


def test_a_file_that_changed_on_the_disk_is_fetched_again(
    hub: LoopbackHub, repository: Repository, tmp_path: Path
) -> None:
    downloads = cache(tmp_path) / repository.branches["main"][0] / ".download"
    downloads.mkdir(parents=True)
    (downloads / "vocab.json").write_bytes(b"{}")
    (downloads / "model.safetensors.part").write_bytes(bytes(10**6))  # longer than it can be
    library.get_model(NAME)
    assert hub.fetched() == FETCHED


# Nothing is trusted


def changed(entries: list[dict[str, Any]], name: str, **changes: Any) -> list[dict[str, Any]]:
    return [each | changes if each["path"] == name else each for each in entries]


LARGE = {"oid": "0" * 64, "size": 2**40, "pointerSize": 134}


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (lambda told: changed(told, "model.safetensors", lfs=LARGE), r"at most 8,589,934,592 bytes, but it has 1,099,"),
        (lambda told: changed(told, "vocab.json", size=2**30), r"vocab.json of .* at most 33,554,432 bytes"),
        (lambda told: changed(told, "vocab.json", size=-1), "an answer has another form than a hub's"),
        (lambda told: changed(told, "vocab.json", size="1"), "an answer has another form than a hub's"),
        (lambda told: changed(told, "vocab.json", oid="../../x"), "an answer has another form than a hub's"),
        (lambda told: {"a": 1}, "an answer has another form than a hub's"),
        (lambda told: b"[" * 10**6, "an answer is no JSON"),
        (lambda told: b" " * (8 * 2**20 + 1), "an answer is longer than 8,388,608 bytes"),
    ],
)
def test_trees_that_no_hub_has(hub: LoopbackHub, repository: Repository, answer: Any, problem: str) -> None:
    hub.answer = lambda path, told: answer(told) if "/tree/" in path else told
    with pytest.raises((DownloadError, ModelError), match=problem):
        library.get_model(NAME)
    assert not [name for name in hub.fetched() if name not in ("config.json",)]


def test_a_commit_that_is_a_path(hub: LoopbackHub, repository: Repository, tmp_path: Path) -> None:
    hub.answer = lambda path, told: told | {"sha": "../../../evil"} if "/revision/" in path else told
    with pytest.raises(DownloadError, match="an answer has another form than a hub's"):
        library.get_model(NAME)
    assert not (tmp_path / "cache").exists()


def test_a_next_page_elsewhere(hub: LoopbackHub, repository: Repository) -> None:
    """The token would be shown to whoever is there."""
    hub.page = 1
    real, hub.url = hub.url, "http://127.0.0.2:1"
    with pytest.raises(DownloadError, match="the next page is said to be elsewhere"):
        library.get_model(NAME)
    hub.url = real


def test_pages_without_end(hub: LoopbackHub, repository: Repository) -> None:
    hub.page = 1
    with pytest.raises(DownloadError, match="must be a model of a few files, but it has more than 10"):
        library.get_model(NAME)


def test_more_than_was_announced(hub: LoopbackHub, repository: Repository, tmp_path: Path) -> None:
    hub.send = lambda path, content: content + b"more" if path == "model.safetensors" else content
    with pytest.raises(DownloadError, match=r"model\.safetensors is longer than its [\d,]+ bytes"):
        library.get_model(NAME)
    (rest,) = (cache(tmp_path) / repository.branches["main"][0] / ".download").glob("*.part")
    assert count(rest) == 0


def test_less_than_was_announced(hub: LoopbackHub, repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("saccade.interop.hub_repository.time.sleep", lambda seconds: None)
    hub.send = lambda path, content: content[:1000] if path == "model.safetensors" else content
    with pytest.raises(DownloadError, match="it ended too early"):
        library.get_model(NAME)


def test_a_token_is_shown_to_the_hub_alone(
    hub: LoopbackHub, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.token = "hf_secret"
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    library.get_model(NAME)
    shown = {(request.is_cache, request.token) for request in hub.requests}
    assert shown == {(False, "Bearer hf_secret"), (True, None)}


# The environment


def test_the_environment_of_other_tools_is_understood(hub: LoopbackHub, repository: Repository, tmp_path: Path) -> None:
    repository.token = "hf_stored"
    (tmp_path / "huggingface").mkdir()
    (tmp_path / "huggingface" / "token").write_text("hf_stored", "utf-8")
    process = run(hub, tmp_path, "get", NAME)
    output, errors = process.communicate()
    assert process.returncode == 0, errors
    hub.requests.clear()
    offline = run(hub, tmp_path, "get", NAME, HF_HUB_OFFLINE="1")
    assert offline.communicate() == (output, "")
    assert hub.requests == []


def test_the_remedy_for_a_pickle_works(
    hub: LoopbackHub, theirs: tuple[Any, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command of the message is run as it stands, but not in a process of its own, which takes long."""
    import io

    model, path = theirs
    stored = io.BytesIO()
    torch.save(model.state_dict(), stored)
    repository = hub.publish(NAME, path)
    files = dict(repository.commits[repository.branches["main"][0]]) | {"pytorch_model.bin": stored.getvalue()}
    del files["model.safetensors"]
    repository.commit(files)
    with pytest.raises(ModelError) as caught:
        library.get_model(NAME)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DISABLE_SAFETENSORS_CONVERSION", "1")
    exec(str(caught.value).splitlines()[1].removeprefix("python -c ").strip('"'))
    library.import_model("opus-mt-en-de-safe", "opus-mt-en-de")
    assert_same_logits(tmp_path / "opus-mt-en-de", model, path)
