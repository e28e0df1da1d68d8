"""A starter recipe, sized to the data and the time there is, as recipes that were tried (docs/log.md). No torch."""

import math
import os
import re
import statistics
import time
from collections import Counter
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from string import Template

import numpy as np

from saccade.data.corpus import read
from saccade.data.settings import CorpusSettings
from saccade.errors import DataError, SettingsError
from saccade.models.settings import TransformerSettings
from saccade.text.languages import check_language, is_known, language_of

MAX_EPOCHS = 100
FEWEST_PAIRS = 20
_SAMPLE = 10_000  # pairs looked at closely; beyond these, one in a hundred
_EFFICIENCY = 0.4  # of the best speed of products; the rest is padding, small products and validation (docs/speed.md)
_COVERAGE = 0.9995
_MANY_CHARACTERS = ("zh", "ja", "ko", "yue", "wuu", "lzh")


@dataclass(frozen=True, slots=True)
class _Preset:
    """When a preset is worth its time, and what suits it."""

    pairs: int
    """It wants at least so many pairs,"""
    tokens: int
    """and so many tokens to learn from in all, or `_EPOCHS` times the corpus."""
    vocabulary: int
    learning_rate: float


_EPOCHS = 20
_PRESETS = {
    "base": _Preset(1_000_000, 400_000_000, 32_000, 0.0005),
    "small": _Preset(50_000, 40_000_000, 16_000, 0.001),
    "tiny": _Preset(0, 0, 8_000, 0.002),
}


@dataclass(frozen=True, slots=True)
class CorpusSize:
    """What matters of a corpus for the size of a model."""

    pairs: int
    bytes_per_pair: float
    """Of the longer side, on average."""
    num_characters: int
    """Different characters, rare ones left out."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The settings that depend on the corpus and on the time."""

    pairs: int
    preset: str
    vocabulary: int
    hold_out: int
    updates: int
    batch_tokens: int
    learning_rate: float
    warmup: int
    validate_every: int
    epochs: float
    minutes: float
    """Estimated for this machine's processor, with nothing else running."""

    def duration(self) -> str:
        """How long training takes and what it sees in that time."""
        time = f"{max(2, round(self.minutes))} minutes" if self.minutes < 90 else f"{self.minutes / 60:.1f} hours"
        return f"about {self.epochs:.{0 if self.epochs >= 10 else 1}f} epochs in {time}"


def starter_recipe(
    *,
    directory: Path,
    source: Path | None = None,
    target: Path | None = None,
    file: Path | None = None,
    source_language: str | None = None,
    target_language: str | None = None,
    minutes: float = 60,
) -> tuple[str, Plan]:
    """The text of a recipe for `directory`, sized to `source` and `target` or a TSV `file`, and its plan."""
    try:
        corpus = CorpusSettings(source=source, target=target, file=file)
    except ValueError as error:
        raise SettingsError("A starter recipe", [f"{error}."]) from None
    languages = _languages(corpus, source_language, target_language)
    plan = plan_training(measure_corpus(corpus), minutes, measure_speed())
    paths = "\n".join(f'{name} = "{_quoted(path, directory)}"' for name, path in corpus.files.items())
    coverage = any(language_of(code) in _MANY_CHARACTERS for code in languages)
    return _render(plan, paths, languages, coverage), plan


def measure_corpus(corpus: CorpusSettings) -> CorpusSize:
    """Read the files once. Refused are unequal lengths, lines without a tab, and less than there is to learn from."""
    if corpus.source is not None and corpus.target is not None and corpus.source.resolve() == corpus.target.resolve():
        raise DataError(f"Source and target must be two files, but both are {corpus.source}. Name the translations.")
    num_bytes, pairs, sampled, characters = 0, 0, 0, Counter[str]()
    for pair in read(corpus):
        pairs += 1
        if pairs <= _SAMPLE or pairs % 100 == 0:
            sampled += 1
            num_bytes += max(len(text.encode()) for text in pair)
            for text in pair:
                characters.update(text)
    if pairs < FEWEST_PAIRS:
        names = " and ".join(map(str, corpus.paths))
        raise DataError(f"A model needs at least {FEWEST_PAIRS} pairs to learn from, but {names} has {pairs}.")
    counts = np.sort(np.fromiter(characters.values(), np.int64))[::-1]
    num_covering = int(np.searchsorted(np.cumsum(counts), _COVERAGE * counts.sum())) + 1
    return CorpusSize(pairs, num_bytes / sampled, num_covering)


def measure_speed(seconds: float = 0.3) -> float:
    """Floating-point operations a second of all cores: the median of many small products, which ignores other load."""
    matrix, times, end = np.ones((64, 64), np.float32), [], time.perf_counter() + seconds
    while (start := time.perf_counter()) < end:
        matrix @ matrix
        times.append(time.perf_counter() - start)
    return (os.cpu_count() or 1) * 2 * 64**3 / statistics.median(times)


def plan_training(corpus: CorpusSize, minutes: float, speed: float) -> Plan:
    """The largest model that the corpus is enough for and the time allows; never more than `MAX_EPOCHS` epochs."""
    for preset, wanted in _PRESETS.items():  # the last one wants nothing
        vocabulary = _vocabulary(corpus, wanted.vocabulary)
        # As measured on Multi30k with vocabularies of 1,000 to 8,000; Chinese characters of three bytes are much alike.
        bytes_per_token = 3.2 + 0.4 * math.log2(vocabulary / 1000)
        num_tokens = corpus.pairs * (1 + corpus.bytes_per_pair / bytes_per_token)
        seconds_per_token = operations_per_token(preset, vocabulary) / (_EFFICIENCY * speed)
        affordable = 60 * minutes / seconds_per_token
        if corpus.pairs >= wanted.pairs and affordable >= min(wanted.tokens, _EPOCHS * num_tokens):
            break
    batch_tokens = 1 << min(12, max(9, round(math.log2(num_tokens / 400))))
    tokens_per_update = min(batch_tokens, num_tokens)
    updates = max(10, _rounded(min(affordable, MAX_EPOCHS * num_tokens) / tokens_per_update))
    return Plan(
        pairs=corpus.pairs,
        preset=preset,
        vocabulary=vocabulary,
        hold_out=min(1000, max(1, _rounded(corpus.pairs / 10))),
        updates=updates,
        batch_tokens=batch_tokens,
        learning_rate=wanted.learning_rate,
        warmup=min(4000, max(1, _rounded(updates / 10))),
        validate_every=max(1, _rounded(updates / 20)),
        epochs=updates * tokens_per_update / num_tokens,
        minutes=updates * tokens_per_update * seconds_per_token / 60,
    )


def operations_per_token(preset: str, vocabulary: int) -> float:
    """Floating-point operations of training for a token of each side: six for every parameter that it meets."""
    sizes = TransformerSettings.PRESETS[preset]
    layers, d_model, d_feedforward = (int(sizes[name]) for name in ("layers", "d_model", "d_feedforward"))
    attention, feedforward = 4 * d_model**2, 2 * d_model * d_feedforward
    return 6.0 * (layers * (3 * attention + 2 * feedforward) + d_model * vocabulary)


def _vocabulary(corpus: CorpusSize, most: int) -> int:
    """Doubles with the corpus; never too small for its characters, the 256 bytes and the specials."""
    fitting = 1000 << max(0, round(math.log2(corpus.pairs / 3000)))
    least = 500 * math.ceil((260 + 1.25 * corpus.num_characters + 250) / 500)
    return max(least, min(most, fitting))


def _rounded(number: float) -> int:
    """Downwards, to two digits."""
    step = int(10 ** max(0, int(math.log10(max(number, 1))) - 1))
    return int(number) // step * step


# Languages and paths


def _languages(corpus: CorpusSettings, source: str | None, target: str | None) -> tuple[str, str]:
    guesses = (None, None) if source and target else guess_languages(corpus)
    codes = (source or guesses[0], target or guesses[1])
    options = ("source_language (--from)", "target_language (--to)")
    missing = [option for option, code in zip(options, codes, strict=True) if code is None]
    if missing or (codes[0] == codes[1] and not (source and target)):
        names = " and ".join(path.name for path in corpus.paths)
        raise SettingsError(
            "A starter recipe",
            [f"the names {names} do not tell the two languages. Give {' and '.join(missing or options)}, such as en."],
        )
    return check_language(codes[0] or "", origin=options[0]), check_language(codes[1] or "", origin=options[1])


def guess_languages(corpus: CorpusSettings) -> tuple[str | None, str | None]:
    """Source and target language as the names of the files tell."""
    if corpus.source is not None and corpus.target is not None:
        return _language_in(corpus.source.name), _language_in(corpus.target.name)
    name = corpus.paths[0].name.lower()
    for pair in re.finditer(r"(?=(?<![a-z])([a-z]{2,3})[-_]([a-z]{2,3})(?![a-z]))", name):
        if is_known(pair[1]) and is_known(pair[2]):
            return pair[1], pair[2]
    return None, None


def _language_in(name: str) -> str | None:
    """The code at the end of a name, such as `en` in corpus.de-en.en.gz and train_en.txt."""
    parts = name.split(".")
    while parts and parts[-1].lower() in ("gz", "zst", "txt"):
        parts.pop()
    code = re.search(r"(?:^|[-_])([a-z]{2,3}([-_]([A-Z]{2}|[A-Z][a-z]{3}))?)$", parts[-1] if parts else "")
    return code[1] if code and is_known(code[1]) else None


def _quoted(path: Path, directory: Path) -> str:
    """As the recipe names it: relative to its own directory where the file lies near, so that both can move."""
    path, directory = path.resolve(), directory.resolve()
    near = path.is_relative_to(directory.parent)
    text = Path(os.path.relpath(path, directory)).as_posix() if near else path.as_posix()
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("$", "$$")


def _render(plan: Plan, paths: str, languages: tuple[str, str], coverage: bool) -> str:
    commented = ("hold_out", "vocabulary", "updates", "batch_tokens", "warmup")
    values: dict[str, object] = {name: getattr(plan, name) for name in commented} | {"preset": f'"{plan.preset}"'}
    values = {name: str(value).ljust(29 - len(name)) for name, value in values.items()}  # comments stand in column 33
    template = (files("saccade") / "starter_recipe.toml").read_text(encoding="utf-8")
    return Template(template).substitute(
        values,
        source=languages[0],
        target=languages[1],
        paths=paths,
        coverage=f"character_coverage = {_COVERAGE}      # the rarest characters are spelled in bytes\n" * coverage,
        learning_rate=plan.learning_rate,
        validate_every=plan.validate_every,
        duration=plan.duration(),
    )
