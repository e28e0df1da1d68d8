"""Models of a hub, fetched and converted: the files that a Marian model needs, and nothing else."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from saccade import __version__
from saccade.directory import PARAMETERS
from saccade.errors import DownloadError, ModelError
from saccade.files import draft_directory, lock, write_atomically
from saccade.interop import marian, marian_npz
from saccade.interop import marian_files as files
from saccade.interop.hub_cache import COMMIT, MAIN, DownloadReporter, HubName, find
from saccade.interop.hub_repository import BOT, HubRepository, RemoteFile
from saccade.interop.marian_vocabulary import SPM
from saccade.text.formats.opening import check_new

README = marian.README
PATIENCE = 3600.0  # seconds that a process waits for another one that fetches the same model
MOST_PARAMETERS, MOST_OTHERS = 8 * 2**30, 32 * 2**20  # bytes
REQUIRED = (files.CONFIG, files.VOCABULARY, *SPM)
OPTIONAL = (files.TOKENIZER, files.GENERATION, files.TARGET_VOCABULARY, README)
CONVERSION = {PARAMETERS, ".gitattributes"}
"""All that a conversion may change."""


@dataclass(frozen=True, slots=True)
class _Plan:
    """What is to be fetched: files of one commit, and parameters that may be those of another."""

    small: tuple[RemoteFile, ...]
    parameters: RemoteFile
    commit: str
    """That of the parameters."""
    branch: str | None = None
    """Where they were converted, if they are not from the main branch."""

    @property
    def size(self) -> int:
        return self.parameters.size + sum(file.size for file in self.small)


def get(name: HubName, output: Path | None = None, reporter: DownloadReporter | None = None) -> Path:
    """Ask which commit the revision is now, fetch and convert it unless it is here, and say where it is.

    With `output`, the model directory is made there, and nothing stays in the cache.
    """
    if output is not None:
        check_new(output, "fetched", "directory")
    known = find(name)
    if known is not None and COMMIT.fullmatch(name.revision):
        return _copied(known, output)
    reporter, repository = reporter or DownloadReporter(), HubRepository(name.repository)
    if known is not None and repository.is_offline:
        return _copied(known, output)
    told = repository.resolve(name.revision)
    folder = name.folder / told["sha"]
    made = folder / name.name
    refusal = DownloadError(
        f"Another process has been fetching {name.repository} for an hour, and holds {folder / '.lock'}. "
        "Wait for it, or end it, and run the same command again."
    )
    folder.mkdir(parents=True, exist_ok=True)
    with lock(folder / ".lock", refusal, patience=PATIENCE):
        if not made.is_dir():
            _make(repository, told, folder / ".download", output or made, reporter)
            shutil.rmtree(folder / ".download", ignore_errors=True)
    if made.is_dir() and not COMMIT.fullmatch(name.revision):
        name.reference.parent.mkdir(exist_ok=True)
        write_atomically(name.reference, str(told["sha"]))
    return _copied(made, output) if made.is_dir() else output or made


def _copied(model: Path, output: Path | None) -> Path:
    if output is None:
        return model
    with draft_directory(output) as draft:
        shutil.copytree(model, draft, dirs_exist_ok=True)
    return output


def _make(
    repository: HubRepository, told: Mapping[str, Any], downloads: Path, output: Path, reporter: DownloadReporter
) -> None:
    """Fetch what a model needs, and nothing else, and make a model directory of it."""
    downloads.mkdir(exist_ok=True)
    commit, licence = str(told["sha"]), _licence(told)
    plan = _plan(repository, commit, downloads)
    reporter.found(repository.name, commit, licence, plan.size)
    if plan.branch is not None:
        reporter.noted(
            f"The parameters are those of {plan.branch}, where {BOT} has converted them to safetensors; {MAIN} has "
            "them as a pickle only, which saccade does not read."
        )
    done = 0
    for file in (*plan.small, plan.parameters):
        own = plan.commit if file is plan.parameters else commit

        def received(count: int, before: int = done) -> None:
            reporter.received(before + count, plan.size)

        repository.fetch(file, own, downloads / file.path, received)
        done += file.size
    marian.import_model(downloads, output, provenance=_provenance(repository, commit, licence, plan))


# What to fetch


def _plan(repository: HubRepository, commit: str, downloads: Path) -> _Plan:
    """The files of a Marian model that is safe to read, in one of the layouts; anything else is refused."""
    tree = repository.tree(commit)
    if files.CONFIG not in tree and marian_npz.DECODER in tree:
        return _original(repository, commit, tree, downloads)
    if files.CONFIG in tree:
        _fetch_small(repository, tree[files.CONFIG], commit, downloads)
        files.check_kind(files.read_json(downloads / files.CONFIG), origin=f"{files.CONFIG} of {repository.url}")
    if missing := [name for name in REQUIRED if name not in tree]:
        raise ModelError(
            f"{repository.url} must hold a Marian model as Hugging Face lays it out, but it has no "
            f"{' and no '.join(missing)}. Look for an OPUS-MT model; there is no import for other kinds."
        )
    small = tuple(_bounded(repository, tree[name]) for name in (*REQUIRED, *OPTIONAL) if name in tree)
    if PARAMETERS in tree:
        return _Plan(small, _bounded(repository, tree[PARAMETERS], MOST_PARAMETERS), commit)
    return _converted(repository, commit, tree, small) or _refused(repository, commit, tree)


def _original(repository: HubRepository, commit: str, tree: Mapping[str, RemoteFile], downloads: Path) -> _Plan:
    """Marian's own files, which decoder.yml names."""
    _fetch_small(repository, tree[marian_npz.DECODER], commit, downloads)
    parameters, vocabularies = marian_npz.listed_files(downloads / marian_npz.DECODER)
    required = dict.fromkeys((marian_npz.DECODER, *vocabularies, *SPM))
    if missing := [name for name in (parameters, *required) if name not in tree]:
        raise ModelError(
            f"{repository.url} must hold a model with Marian's own files, but it has no {' and no '.join(missing)}. "
            "Look for another version of it."
        )
    small = tuple(_bounded(repository, tree[name]) for name in (*required, README) if name in tree)
    return _Plan(small, _bounded(repository, tree[parameters], MOST_PARAMETERS), commit)


def _converted(
    repository: HubRepository, commit: str, tree: Mapping[str, RemoteFile], small: tuple[RemoteFile, ...]
) -> _Plan | None:
    """The parameters from a pull request of the hub's bot that changes nothing else, and starts from this commit."""
    if repository.last_commits(MAIN)[:1] != [commit]:
        return None
    for number in repository.conversions():
        branch = f"refs/pr/{number}"
        head, *parents = repository.last_commits(branch) or [""]
        if parents[:1] != [commit]:
            continue
        theirs = repository.tree(head)
        changed = {path for path in tree.keys() | theirs.keys() if tree.get(path) != theirs.get(path)}
        if PARAMETERS in theirs and changed <= CONVERSION:
            return _Plan(small, _bounded(repository, theirs[PARAMETERS], MOST_PARAMETERS), head, branch)
    return None


def _refused(repository: HubRepository, commit: str, tree: Mapping[str, RemoteFile]) -> _Plan:
    name = repository.name.partition("/")[2]
    if files.PICKLE not in tree:
        raise ModelError(
            f"{repository.url} must hold the parameters of a model as {PARAMETERS}, but it has no such file. "
            "Look for another version of it."
        )
    raise ModelError(
        f"{repository.url} must hold its parameters as {PARAMETERS}, but it has {files.PICKLE}, a pickle, which can "
        "run any program when it is read; saccade reads none. Nor has the hub's bot converted this very version. If "
        "you trust its authors, let transformers convert it once, outside of saccade, and import it with "
        f"`saccade import {name}-safe {name}`:\n"
        """python -c "from transformers import MarianMTModel as M, MarianTokenizer as T; [kind.from_pretrained("""
        f"""'{repository.name}', revision='{commit}').save_pretrained('{name}-safe') for kind in (M, T)]\""""
    )


def _fetch_small(repository: HubRepository, file: RemoteFile, commit: str, downloads: Path) -> None:
    repository.fetch(_bounded(repository, file), commit, downloads / file.path, lambda count: None)


def _bounded(repository: HubRepository, file: RemoteFile, most: int = MOST_OTHERS) -> RemoteFile:
    """The same; one that is larger than any of its kind is refused before any of it is fetched."""
    if file.size > most:
        raise ModelError(
            f"{file.path} of {repository.url} must have at most {most:,} bytes, but it has {file.size:,}. "
            "No Marian model has a file like that."
        )
    return file


# What to say of it


def _licence(told: Mapping[str, Any]) -> str:
    """What the card on the hub calls it, as far as that can be printed on a line."""
    card = told.get("cardData")
    stated = card.get("license") if isinstance(card, dict) else None
    words = [word for word in (stated if isinstance(stated, list) else [stated]) if isinstance(word, str)]
    printable = "".join(letter for letter in " and ".join(words) if letter.isprintable())
    return printable[:100] or "not stated"


def _provenance(repository: HubRepository, commit: str, licence: str, plan: _Plan) -> str:
    owner = repository.name.partition("/")[0]
    converted = ""
    if plan.branch is not None:
        converted = f"Its parameters are those of {plan.branch}, commit {plan.commit}, converted by {BOT}. "
    return (
        f"Made by {owner}, and published as {repository.url}, commit {commit}. Licence: {licence}. {converted}"
        f"Converted by saccade {__version__}, which changed nothing that it has learned."
    )
