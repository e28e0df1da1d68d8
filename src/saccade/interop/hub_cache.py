"""Models of a hub that were fetched, by their names. Nothing here uses the network.

SACCADE_CACHE/hub/OWNER/NAME/
  revisions/main        the commit that this revision was when it was last asked for
  COMMIT/NAME/          the model directory
  COMMIT/.download/     files that were fetched so far; gone when the model directory is there
"""

import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from saccade.errors import ModelError
from saccade.fields import HUB
from saccade.files import user_cache

MAIN = "main"
COMMIT = re.compile(r"[0-9a-f]{40}")
_WORD = r"[A-Za-z0-9](?:[\w.-]{0,94}[A-Za-z0-9])?"
_NAME = re.compile(
    rf"(?:{HUB})?(?P<owner>{_WORD})/(?P<name>{_WORD})(?:@(?P<revision>[A-Za-z0-9][\w./+-]{{0,199}}))?", re.ASCII
)


class DownloadReporter:
    """Watches a download in silence; override what you want to hear of."""

    def found(self, name: str, commit: str, licence: str, size: int) -> None:
        """The model, what its licence is called, and how many bytes will be here when all is."""

    def received(self, done: int, size: int) -> None:
        """So many of the bytes are here now."""

    def noted(self, remark: str) -> None:
        """Something that a user of the model should know."""


@dataclass(frozen=True, slots=True)
class HubName:
    """A model on a hub, and which version of it."""

    owner: str
    name: str
    revision: str = MAIN

    @classmethod
    def parse(cls, text: str, revision: str | None = None) -> "HubName":
        """Of hf:OWNER/NAME or hf:OWNER/NAME@REVISION, with or without the prefix."""
        match = _NAME.fullmatch(text if revision is None else f"{text}@{revision}")
        if match is None or ".." in match[0]:
            given = f"{text} with the revision {revision}" if revision else text
            raise ModelError(
                "A model on a hub must be named as OWNER/NAME or OWNER/NAME@REVISION, such as "
                f"Helsinki-NLP/opus-mt-en-de, but this is {given}."
            )
        return cls(match["owner"], match["name"], match["revision"] or MAIN)

    @property
    def repository(self) -> str:
        return f"{self.owner}/{self.name}"

    @property
    def folder(self) -> Path:
        """Where all versions of it are kept."""
        return user_cache() / "hub" / self.owner / self.name

    @property
    def reference(self) -> Path:
        """The file that says which commit the revision was."""
        return self.folder / "revisions" / quote(self.revision, safe="")


def find(name: HubName) -> Path | None:
    """The model directory, if it was fetched before."""
    commit = name.revision if COMMIT.fullmatch(name.revision) else None
    if commit is None and name.reference.is_file():
        commit = name.reference.read_text("utf-8")
    path = name.folder / commit / name.name if commit and COMMIT.fullmatch(commit) else None
    return path if path is not None and path.is_dir() else None
