"""Writes reproduce.md, the page of the papers' claims, and its Chinese twin, from the findings of runs:

saccade reproduce all
python docs/make_reproduce.py runs/reproduce

Claims without a finding there stay as the pages have them.
"""

import re
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

from saccade.reproduce.claims import CLAIMS, open_claim
from saccade.reproduce.finding import TEXTS, Finding

DOCS = Path(__file__).parent
IMAGES = DOCS / "images" / "reproduce"


@dataclass(frozen=True)
class Words:
    """What a page says in its language."""

    page: Path
    head: str
    columns: tuple[str, str, str]
    verdicts: dict[bool, str]
    holds_if: str
    run_with: str


ENGLISH = Words(
    page=DOCS / "reproduce.md",
    head="""\
# The papers' claims, run

<!-- Written by docs/make_reproduce.py from the findings of `saccade reproduce all`. -->

[简体中文](reproduce.zh-CN.md)

What the papers behind attention say, as experiments that run in minutes on one core, on generated data. Each has a
baseline that should fail, three seeds, and a rule, written down in the code, that computes the verdict. A claim
that does not hold here is kept, and says so: these are small models on small tasks, and not the papers' own
experiments. ± is the standard deviation over seeds; CPU seconds are those of one training. The figures are those of
the commits that [the log](log.md) names. Since then every experiment but `gradients` trains through the loop of
`saccade train`, so the digits of a new run may differ slightly; `turing` and `recall` were run again since.

```bash
saccade reproduce --list
saccade reproduce length        # one of them: finding.json, finding.md and a plot, below runs/reproduce
saccade reproduce all           # all of them, side by side; goes on where it was interrupted
saccade reproduce all --quick   # to see them run: little training, one seed, and no verdict
```

How an experiment came to its form, with forms that were given up, is told in [the log](log.md).
""",
    columns=("claim", "what it says", "here"),
    verdicts={True: "**holds**", False: "**does not hold**"},
    holds_if="Holds if:",
    run_with="Run with",
)
CHINESE = Words(
    page=DOCS / "reproduce.zh-CN.md",
    head="""\
# 论文的论断，跑出来看

<!-- 由 docs/make_reproduce.py 从 `saccade reproduce all` 的结果生成。 -->

[English](reproduce.md)

注意力背后的论文说了什么，这里都做成了实验：数据是生成的，单核几分钟就能跑完。每个实验都有一个理应失败的基线、
三个随机种子，和一条写在代码里的判定规则，结论由规则算出。在这里不成立的论断照样保留并写明：这些是小任务上的小模型，
并不是论文原来的实验。± 是各种子间的标准差；CPU 秒数是一次训练的用时。表中数字出自[日志](log.md)所记的那些提交；
此后，除 `gradients` 外的实验都改用 `saccade train` 的训练循环，重新运行时末位数字可能略有出入；
`turing` 和 `recall` 已用新循环重新跑过。

```bash
saccade reproduce --list
saccade reproduce length        # 其中一个：在 runs/reproduce 下写出 finding.json、finding.md 和图
saccade reproduce all           # 全部，并行运行；中断后可接着跑
saccade reproduce all --quick   # 只看它们能跑：训练很少，一个种子，不下结论
```

每个实验是怎样成形的，放弃过哪些做法，见[日志](log.md)（英文）。
""",
    columns=("论断", "内容", "在这里"),
    verdicts={True: "**成立**", False: "**不成立**"},
    holds_if="判定规则：",
    run_with="运行：",
)


def main(runs: Path) -> None:
    """Both pages, and the plots beside them."""
    IMAGES.mkdir(parents=True, exist_ok=True)
    chinese = tomllib.loads((DOCS / "reproduce.zh-CN.toml").read_text(encoding="utf-8"))
    findings = {name: Finding.load(runs / name) for name in CLAIMS if (runs / name / "finding.json").exists()}
    for name, finding in findings.items():
        open_claim(name).plot(finding, IMAGES / f"{name}.png")
    write(ENGLISH, findings, TEXTS)
    write(CHINESE, findings, chinese)


def write(words: Words, findings: dict[str, Finding], texts: dict[str, dict[str, str]]) -> None:
    """A page: what is claimed and whether it holds, then each claim with its rule, plot and figures."""
    before = words.page.read_text(encoding="utf-8") if words.page.exists() else ""
    sections = dict(re.findall(r"^## (\w+)\n\n(.*?)\n*(?=^## |\Z)", before, re.MULTILINE | re.DOTALL))
    for name, finding in findings.items():
        parts = [
            f"{texts[name]['claim']}\n",
            f"{words.holds_if} {texts[name]['rule']}\n",
            f"![{name}](images/reproduce/{name}.png)\n",
            open_claim(name).table(finding),
            f"\n{words.verdicts[finding.holds]} · {words.run_with} `saccade reproduce {name}`",
        ]
        sections[name] = "\n".join(parts)
    lines = [words.head, f"| {' | '.join(words.columns)} |", "|---|---|---|"]
    for name in CLAIMS:
        verdict = next(verdict for verdict in words.verdicts.values() if f"\n{verdict} · " in sections[name])
        lines.append(f"| [{name}](#{name}) | {texts[name]['short']} | {verdict} |")
    lines += [f"\n## {name}\n\n{sections[name]}" for name in CLAIMS]
    words.page.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(words.page)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
