"""Captions of photographs: Show, Attend and Tell on Flickr8k, in English or Chinese, beside a decoder that is blind.

    python benchmarks/flickr8k.py features --data DIR --weights efficientnet-lite0.safetensors --work DIR
    python benchmarks/flickr8k.py train    --data DIR --work DIR --language en [--encoder blind] [--attention hard] …
    python benchmarks/flickr8k.py page     --data DIR --work DIR --language en

DIR holds images/, train.tsv, dev.tsv, train.zh.tsv and dev.zh.tsv (image name, tab, caption). Training goes on where it
was stopped, and ends with BLEU-4 on dev.tsv against all captions of an image.
"""

import argparse
import base64
import json
import time
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch.nn.utils import clip_grad_norm_

from saccade.data.captions import CaptionCorpus
from saccade.data.features import features, open_features
from saccade.data.images import Captioned, read_captions
from saccade.engines.captions import CaptionEngine, caption_trace
from saccade.evaluation.captions import caption_bleu
from saccade.models.captioner import AnyCaptioner, captioner
from saccade.models.captioner_settings import CaptionerSettings
from saccade.models.pretrained import SIZE, EfficientNet
from saccade.nn import dropout
from saccade.search.settings import SearchSettings
from saccade.text.tokenizer import Tokenizer, TokenizerSettings
from saccade.trace.overlay import overlay
from saccade.trace.trace import Picture
from saccade.trace.words import words
from saccade.training.captions import CaptionLearner
from saccade.training.schedule import linear

SEARCH = SearchSettings(beam=4, max_length_extra=40)


def captioned(options: argparse.Namespace, split: str) -> list[Captioned]:
    language = "" if options.language == "en" else f".{options.language}"
    return read_captions(options.data / f"{split}{language}.tsv", options.data / "images")


def make_features(options: argparse.Namespace) -> None:
    network = EfficientNet(options.weights)
    for split in ("dev", "train"):
        images = [each.image for each in captioned(options, split)]
        made = features(
            options.work / f"{split}.npy",
            images,
            network,
            size=SIZE,
            network=network.checksum,
            advanced=lambda done, split=split: print(split, done, flush=True) if done % 512 == 0 else None,
        )
        print(split, made.shape, f"{time.process_time():.0f} CPU seconds so far", flush=True)


def corpus(options: argparse.Namespace, split: str, tokenizer: Tokenizer) -> CaptionCorpus:
    given = captioned(options, split)
    stored = open_features(options.work / f"{split}.npy")
    places = [stored.place[each.image.name] for each in given]
    assert places == list(range(len(places))), "features were computed in the order of the captions"
    return CaptionCorpus(stored.grids, [tokenizer.encode_many(map(str.lower, each.captions)) for each in given])


def learned_tokenizer(options: argparse.Namespace) -> Tokenizer:
    path = options.work / f"captions.{options.language}.spm"
    if not path.exists():
        lines = [text.lower() for each in captioned(options, "train") for text in each.captions]
        coverage = 0.9995 if options.language == "zh" else 1.0
        settings = TokenizerSettings(kind="bpe", vocabulary=options.vocabulary, character_coverage=coverage)
        Tokenizer.learn(lines, settings, seed=1).save(path)
    return Tokenizer.load(path)


def settings_of(options: argparse.Namespace) -> CaptionerSettings:
    return CaptionerSettings(
        encoder=options.encoder,
        decoder=options.decoder,
        attention=options.attention,
        d_model=options.d_model,
        dropout=options.dropout,
        coverage=options.coverage,
        layers=3,
        d_feedforward=2 * options.d_model,
    )


def train(options: argparse.Namespace) -> None:
    torch.set_num_threads(options.threads)
    tokenizer = learned_tokenizer(options)
    learn_from, valid = (corpus(options, split, tokenizer) for split in ("train", "dev"))
    run = options.work / options.name
    run.mkdir(exist_ok=True)
    dropout.seed(options.seed)
    model = captioner(settings_of(options), len(tokenizer), learn_from.features.shape[-1])
    learner = CaptionLearner(model, label_smoothing=options.smoothing)
    optimizer = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), fused=True)
    per_epoch = learn_from.num_batches(options.images)
    updates = options.epochs * per_epoch
    begun, seconds = resume(run, learner, optimizer)
    print(f"{sum(p.numel() for p in model.parameters()):,} parameters, from update {begun} to {updates}", flush=True)
    started = time.process_time() - seconds
    for update in range(begun + 1, updates + 1):
        learner.train()
        dropout.seed(options.seed, update)
        for group in optimizer.param_groups:
            group["lr"] = linear(update, highest=options.rate, warmup=per_epoch // 2, updates=updates)
        batch = learn_from.batch(update - 1, images=options.images, seed=options.seed)
        optimizer.zero_grad()
        loss, told = learner(batch)
        (loss / batch.num_targets).backward()
        clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if update % 50 == 0:
            line = {"update": update, "loss": told.item() / batch.num_targets}
            note(run, line | {"seconds": time.process_time() - started})
        if update % per_epoch == 0:
            note(run, {"epoch": update // per_epoch, "valid": validate(learner, valid)})
        if update % 100 == 0 or update == updates:
            save(run, learner, optimizer, update, time.process_time() - started)
    evaluate(options, run, model, tokenizer, valid, time.process_time() - started)


def note(run: Path, line: dict[str, object]) -> None:
    print(json.dumps(line), flush=True)
    with (run / "metrics.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


def save(run: Path, learner: CaptionLearner, optimizer: torch.optim.Optimizer, update: int, seconds: float) -> None:
    """Model, moments and place, as safetensors."""
    names = [name for name, _ in learner.model.named_parameters()]
    held = {f"model.{name}": parameter.detach() for name, parameter in learner.model.named_parameters()}
    for at, state in optimizer.state_dict()["state"].items():
        held |= {f"{key}.{names[at]}": value for key, value in state.items()}
    told = {"update": str(update), "seconds": str(seconds), "baseline": str(learner.baseline or "")}
    save_file(held, run / "checkpoint.unfinished", metadata=told)
    (run / "checkpoint.unfinished").replace(run / "checkpoint.safetensors")


def resume(run: Path, learner: CaptionLearner, optimizer: torch.optim.Optimizer) -> tuple[int, float]:
    path = run / "checkpoint.safetensors"
    if not path.exists():
        return 0, 0.0
    from safetensors import safe_open

    held = load_file(path)
    with safe_open(path, "pt") as opened:
        told = opened.metadata()
    fill(learner.model, path)
    names = [name for name, _ in learner.model.named_parameters()]
    keys = ("step", "exp_avg", "exp_avg_sq")
    state = {at: {key: held[f"{key}.{name}"] for key in keys} for at, name in enumerate(names)}
    optimizer.load_state_dict(optimizer.state_dict() | {"state": state})
    learner.baseline = float(told["baseline"]) if told["baseline"] else None
    return int(told["update"]), float(told["seconds"])


def fill(model: AnyCaptioner, path: Path) -> None:
    held = load_file(path)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(held[f"model.{name}"])


@torch.inference_mode()
def validate(learner: CaptionLearner, valid: CaptionCorpus) -> float:
    """Cross-entropy of a token of the first 200 images."""
    learner.eval()
    smoothing, learner.label_smoothing = learner.label_smoothing, 0.0
    total, count = 0.0, 0
    for begin in range(0, min(200, len(valid.captions)), 20):
        batch = valid.of(range(begin, begin + 20))
        total, count = total + learner(batch)[1].item(), count + batch.num_targets
    learner.label_smoothing = smoothing
    return total / count


def evaluate(
    options: argparse.Namespace,
    run: Path,
    model: AnyCaptioner,
    tokenizer: Tokenizer,
    valid: CaptionCorpus,
    seconds: float,
) -> None:
    grids = torch.from_numpy(np.asarray(valid.features, dtype=np.float32))
    found = CaptionEngine(model).describe(grids, SEARCH)
    said = [tokenizer.decode(each[0].ids) for each in found]
    references = [[text.lower() for text in each.captions] for each in captioned(options, "dev")]
    (run / "dev.txt").write_text("\n".join(said) + "\n", encoding="utf-8")
    for name, change in {"as written": str, "without punctuation": bare}.items():
        score = caption_bleu(
            [change(text) for text in said],
            [[change(text) for text in each] for each in references],
            language=options.language,
        )
        assert score.interval is not None
        note(
            run,
            {
                "dev": name,
                "BLEU-4": round(score.value, 2),
                "interval": [round(score.interval.lower, 2), round(score.interval.upper, 2)],
                "signature": score.signature,
                "seconds": round(seconds),
                "different captions": len(set(said)),
            },
        )


def bare(text: str) -> str:
    """As captions are compared in the literature."""
    return " ".join("".join(c if c.isalnum() or c.isspace() else " " for c in text).split())


def draw_page(options: argparse.Namespace) -> None:
    """Some images of dev.tsv with where was looked for each word; photographs of others, so not to be published."""
    tokenizer, given = learned_tokenizer(options), captioned(options, "dev")[: options.number]
    stored = open_features(options.work / "dev.npy")
    model = captioner(settings_of(options), len(tokenizer), stored.shape[-1])
    run = options.work / options.name
    fill(model, run / "checkpoint.safetensors")
    grids = torch.from_numpy(stored.of([each.image.name for each in given]))
    engine = CaptionEngine(model)
    found = [each[0] for each in engine.describe(grids, SEARCH)]
    sheets = []
    for each, caption, traced in zip(given, found, engine.trace(grids, [each.ids for each in found]), strict=True):
        address = "data:image/jpeg;base64," + base64.b64encode(each.image.read_bytes()).decode()
        picture = Picture(*stored.shape[:2], address)
        trace = words(caption_trace(traced, caption, tokenizer, picture, model=options.name))
        sheets.append(overlay(trace, title=tokenizer.decode(caption.ids)))
    path = run / "page.html"
    path.write_text("<!doctype html><meta charset=utf-8>" + "<hr>".join(sheets), encoding="utf-8")
    print(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["features", "train", "page"])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--weights", type=Path)
    parser.add_argument("--language", choices=["en", "zh"], default="en")
    parser.add_argument("--name", default="run", help="directory of the run, below --work")
    parser.add_argument("--encoder", choices=["features", "blind"], default="features")
    parser.add_argument("--decoder", choices=["lstm", "transformer"], default="lstm")
    parser.add_argument("--attention", choices=["soft", "hard", "mean"], default="soft")
    parser.add_argument("--vocabulary", type=int, default=3000)
    parser.add_argument("--d-model", type=int, default=256)
    parser.add_argument("--dropout", type=float, default=0.3)
    parser.add_argument("--coverage", type=float, default=1.0)
    parser.add_argument("--smoothing", type=float, default=0.1)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--images", type=int, default=16, help="images of a batch, each with all its captions")
    parser.add_argument("--rate", type=float, default=0.002)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--number", type=int, default=24, help="images of the page")
    options = parser.parse_args()
    {"features": make_features, "train": train, "page": draw_page}[options.what](options)


if __name__ == "__main__":
    main()
