"""BLEU in the form of most published Multi30k figures: both sides lower-cased and tokenised as Moses does it.

python -m benchmarks.moses_bleu TRANSLATIONS REFERENCES [LANGUAGE]
"""

import sys
from pathlib import Path

from sacrebleu.metrics.bleu import BLEU
from sacremoses import MosesPunctNormalizer, MosesTokenizer


def tokenise_lines(path: str, language: str) -> list[str]:
    """Lines as the literature's scripts prepare them: punctuation normalised, lower-cased, tokenised."""
    normalise, tokenise = MosesPunctNormalizer(language).normalize, MosesTokenizer(language).tokenize
    lines = Path(path).read_text(encoding="utf-8").splitlines()
    return [tokenise(normalise(line.lower()), return_str=True, escape=False) for line in lines]


def main(translations: str, references: str, language: str = "de") -> None:
    bleu = BLEU(tokenize="none", force=True)
    print(bleu.corpus_score(tokenise_lines(translations, language), [tokenise_lines(references, language)]))
    print(f"{bleu.get_signature()}, on lower-cased text tokenised by sacremoses")


if __name__ == "__main__":
    main(*sys.argv[1:])
