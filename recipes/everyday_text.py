"""The text that recipes/everyday.toml learns from: lines of a mixed corpus, by origin.

    python recipes/everyday_text.py "$SACCADE_DATA/parallel" "$SACCADE_DATA/everyday"

The directory must hold `en-de.train` and `en-zh.train`, each as `.en.gz`, its translation, and `.origin.gz`, which
names the origin of every line. Only origins whose licences allow a model to be given away are taken.
"""

import gzip
import sys
from contextlib import ExitStack
from pathlib import Path

GROUPS = {
    "en-de": {
        "tatoeba": ["tatoeba"],
        "europarl": ["europarl-short-300k"],
        "bible": ["bible"],
        "software": ["gettext/libreoffice-help", "gettext/libreoffice-ui", "docs/tldr-pages"],
    },
    "en-zh": {
        "tatoeba": ["tatoeba"],
        "captions": ["3am"],
        "bible": ["bible"],
        "un": ["un-dev"],
        "software": [
            "docs/python-docs-3.13",
            "docs/kubernetes-website",
            "docs/tldr-pages",
            "docs/flutter-angular-cn",
            "gettext/libreoffice-help",
            "gettext/libreoffice-ui",
        ],
    },
}
"""The files that are written for each pair of languages, and the origins of their lines."""


def write_groups(source: Path, output: Path) -> None:
    """One pair of files for every group."""
    output.mkdir(parents=True, exist_ok=True)
    for pair, groups in GROUPS.items():
        group_of = {origin: group for group, origins in groups.items() for origin in origins}
        languages = pair.split("-")
        counts = dict.fromkeys(groups, 0)
        with ExitStack() as stack:
            names = (f"{pair}.train.{part}.gz" for part in (*languages, "origin"))
            read = [
                stack.enter_context(gzip.open(source / name, "rt", encoding="utf-8", newline="\n")) for name in names
            ]
            written = {
                group: [
                    stack.enter_context(
                        (output / f"{pair}.{group}.{language}").open("w", encoding="utf-8", newline="\n")
                    )
                    for language in languages
                ]
                for group in groups
            }
            for *texts, origin in zip(*read, strict=True):
                if group := group_of.get(origin.strip()):
                    counts[group] += 1
                    for file, text in zip(written[group], texts, strict=True):
                        file.write(text)
        print(f"{pair}: {', '.join(f'{group} {count:,}' for group, count in counts.items())}")


if __name__ == "__main__":
    write_groups(*map(Path, sys.argv[1:3]))
