"""Do the engines agree? CTranslate2 beside torch, and int8 beside float32, on the same sentences of a trained model.

    python -m benchmarks.engines --model runs/multi30k --source test.en --reference test.de

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
    options = parser.parse_args()

    sources = list(open_text(options.source))[: options.sentences]
    references = list(open_text(options.reference))[: options.sentences]
    search = saccade.SearchSettings(beam=options.beam)
    translators = {
        "ctranslate2": saccade.load(options.model, engine="ctranslate2"),
        "torch": saccade.load(options.model, engine="torch"),
        "ctranslate2, int8": saccade.load(options.model, engine="ctranslate2", compute="int8"),
    }
    results = {name: translator.translate(sources, search=search) for name, translator in translators.items()}

    language = translators["torch"].directory.description.target_language
    scores = {
        name: bleu([translation.text for translation in translations], references, language)
        for name, translations in results.items()
    }
    for name, score in scores.items():
        print(f"{name:20} BLEU {score:.2f}")
    print(f"int8 costs {scores['ctranslate2'] - scores['ctranslate2, int8']:.2f} BLEU")
    pairs = list(zip(results["ctranslate2"], results["torch"], strict=True))
    alike = [(one, other) for one, other in pairs if one.tokens == other.tokens]
    apart = max(abs(one.log_prob - other.log_prob) for one, other in alike)
    print(f"torch and CTranslate2 agree on {len(alike) / len(pairs):.2%} of {len(pairs)} sentences;")
    print(f"there, log-probabilities are at most {apart:.1e} apart")
    for number, (one, other) in enumerate(pairs, start=1):
        if one.tokens != other.tokens:
            print(f"sentence {number}: scores {one.score:.6f} and {other.score:.6f}")


if __name__ == "__main__":
    main()
