"""Do the engines agree? CTranslate2 beside torch, and int8 beside float32, on the same sentences of a trained model.

    python benchmarks/engines.py --model runs/multi30k --source test.en --reference test.de

Prints the share of sentences that both engines translate alike, how far apart the log-probabilities of those are,
and what int8 costs in BLEU. docs/speed.md has the figures.
"""

import argparse
from pathlib import Path

import saccade
from saccade.evaluation.scores import bleu
from saccade.text.formats.opening import open_text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--reference", type=Path, required=True)
    parser.add_argument("--sentences", type=int, default=1000)
    parser.add_argument("--beam", type=int, default=5)
    asked = parser.parse_args()

    sources = list(open_text(asked.source))[: asked.sentences]
    references = list(open_text(asked.reference))[: asked.sentences]
    search = saccade.SearchSettings(beam=asked.beam)
    translators = {
        "ctranslate2": saccade.load(asked.model, engine="ctranslate2"),
        "torch": saccade.load(asked.model, engine="torch"),
        "ctranslate2, int8": saccade.load(asked.model, engine="ctranslate2", compute="int8"),
    }
    found = {name: each.translate(sources, search=search) for name, each in translators.items()}

    language = translators["torch"].directory.description.target_language
    scores = {name: bleu([each.text for each in several], references, language) for name, several in found.items()}
    for name, score in scores.items():
        print(f"{name:20} BLEU {score:.2f}")
    print(f"int8 costs {scores['ctranslate2'] - scores['ctranslate2, int8']:.2f} BLEU")
    pairs = list(zip(found["ctranslate2"], found["torch"], strict=True))
    alike = [(one, other) for one, other in pairs if one.tokens == other.tokens]
    apart = max(abs(one.log_prob - other.log_prob) for one, other in alike)
    print(f"torch and CTranslate2 agree on {len(alike) / len(pairs):.2%} of {len(pairs)} sentences;")
    print(f"there, log-probabilities are at most {apart:.1e} apart")
    for number, (one, other) in enumerate(pairs, start=1):
        if one.tokens != other.tokens:
            print(f"sentence {number}: scores {one.score:.6f} and {other.score:.6f}")


if __name__ == "__main__":
    main()
