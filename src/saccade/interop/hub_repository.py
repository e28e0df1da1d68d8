"""One repository of models on a hub: what it holds, and its files, bounded, resumed and verified.

huggingface_hub says where the hub is and who is asking: HF_ENDPOINT, HF_TOKEN, `hf auth login`, HF_HUB_OFFLINE,
proxies. A file that is in its cache is taken from there. All else is fetched by us: huggingface_hub keeps no part of a
file for the next process, does not check sha256, and stores whatever a server sends.
"""

import hashlib
import json
import re
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import quote

from saccade.errors import DownloadError, MissingDependency
from saccade.files import sha256_of
from saccade.interop.hub_cache import COMMIT

_SHA256 = re.compile(r"[0-9a-f]{64}")
BOT, TITLE = "SFconvertbot", "Adding `safetensors` variant of this model"
"""Who converts models on the hub, and what its pull requests are called."""
MOST_JSON = 8 * 2**20  # bytes of an answer
MOST_PAGES = 10  # of a thousand files each
ATTEMPTS = 4  # in a row that bring nothing


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """What the hub says of a file."""

    path: str
    size: int  # in bytes
    blob: str
    """The checksum that git gives to its content, or to what stands for it."""
    sha256: str | None
    """None for small files, which git holds itself."""

    def is_whole(self, path: Path) -> bool:
        """Whether a file has this size and checksum."""
        if not path.is_file() or path.stat().st_size != self.size:
            return False
        if self.sha256 is not None:
            return sha256_of(path) == self.sha256
        content = path.read_bytes()
        return hashlib.sha1(b"blob %d\0%b" % (len(content), content), usedforsecurity=False).hexdigest() == self.blob


class HubRepository:
    """A repository by its name, such as Helsinki-NLP/opus-mt-en-de."""

    def __init__(self, name: str) -> None:
        try:
            from huggingface_hub import constants, try_to_load_from_cache

            utils: Any = import_module("huggingface_hub.utils")  # Any: it gives names away that it does not declare
        except ImportError:
            raise MissingDependency(
                f"Fetching {name} needs huggingface_hub, which is not installed. "
                'Install it with: pip install "saccade[hub]"'
            ) from None
        self.name, self.endpoint = name, constants.ENDPOINT
        self.is_offline = bool(constants.HF_HUB_OFFLINE)
        self._timeout = float(constants.HF_HUB_DOWNLOAD_TIMEOUT)
        self._headers = utils.build_hf_headers(library_name="saccade") | {"Accept-Encoding": "identity"}
        self._session, self._httpx, self._cached = utils.get_session(), utils.httpx, try_to_load_from_cache

    @property
    def url(self) -> str:
        """Its page."""
        return f"{self.endpoint}/{self.name}"

    def resolve(self, revision: str) -> dict[str, Any]:
        """What the hub says of a revision; its commit is `sha`."""
        told = self._json(self._api(f"revision/{quote(revision, safe='')}"), revision)[0]
        return self._table(told, sha=_is_commit)

    def tree(self, commit: str) -> dict[str, RemoteFile]:
        """All files of a commit by path."""
        found: dict[str, RemoteFile] = {}
        url: str | None = self._api(f"tree/{commit}?recursive=true")
        for _ in range(MOST_PAGES):
            assert url is not None
            entries, url = self._json(url, commit)
            files = [self._file(entry) for entry in self._list(entries) if self._table(entry).get("type") == "file"]
            found |= {file.path: file for file in files}
            if url is None:
                return found
        raise DownloadError(f"{self.url} must be a model of a few files, but it has more than {len(found):,}.")

    def last_commits(self, revision: str) -> list[str]:
        """The newest commits of a revision, the latest first."""
        entries, _ = self._json(self._api(f"commits/{quote(revision, safe='')}"), revision)
        return [str(self._table(entry, id=_is_commit)["id"]) for entry in self._list(entries)]

    def conversions(self) -> list[int]:
        """The numbers of open pull requests that the hub's bot has made to convert the parameters to safetensors."""
        query = f"discussions?type=pull_request&status=open&author={BOT}&p=0"
        told, _ = self._json(self._api(query), optional=True)  # some repositories, and some hubs, have no discussions
        found = [self._table(entry) for entry in self._list(self._table(told or {}).get("discussions", []))]
        return [
            each["num"]
            for each in found
            if each.get("title") == TITLE
            and each.get("status") == "open"
            and each.get("isPullRequest") is True
            and self._table(each.get("author") or {}).get("name") == BOT
            and type(each.get("num")) is int
        ]

    def fetch(self, file: RemoteFile, commit: str, to: Path, received: Callable[[int], None]) -> None:
        """Bring a file here, unless it is; what a process before this one has fetched of it is not fetched again."""
        if not file.is_whole(to):
            partial = to.with_name(f"{to.name}.part")
            cached = self._cached(self.name, file.path, revision=commit)
            if isinstance(cached, str) and file.is_whole(Path(cached)):
                shutil.copyfile(cached, partial)
            self._complete(file, commit, partial, received)
            if not file.is_whole(partial):
                partial.unlink()
                raise DownloadError(
                    f"{file.path} of {self.url} must have the checksum {file.sha256 or file.blob}, but what came has "
                    "another, and was removed. Run the same command again; if it says so again, tell the hub."
                )
            partial.replace(to)
        received(file.size)

    def _complete(self, file: RemoteFile, commit: str, partial: Path, received: Callable[[int], None]) -> None:
        partial.touch()
        failures = 0
        while (size := partial.stat().st_size) != file.size:
            try:
                self._receive(file, commit, partial, received)
                problem = "it ended too early"
            except self._httpx.TransportError as error:
                problem = str(error) or type(error).__name__
            failures = 0 if partial.stat().st_size > size else failures + 1
            if failures == ATTEMPTS:
                raise self._unreachable(problem)
            if partial.stat().st_size != file.size:
                time.sleep(1.0 + failures)

    def _receive(self, file: RemoteFile, commit: str, partial: Path, received: Callable[[int], None]) -> None:
        """One request for all that is missing; what comes is stored as far as it comes."""
        start = size if (size := partial.stat().st_size) < file.size else 0
        wanted = {"Range": f"bytes={start}-"} if start else {}
        with self._get(f"{self.url}/resolve/{commit}/{quote(file.path)}", wanted) as response:
            self._check(response, commit)
            if response.status_code == 206:
                if not response.headers.get("Content-Range", "").startswith(f"bytes {start}-"):
                    raise self._malformed(f"{file.path} goes on at another place than asked for")
            else:  # all of it, whatever was asked for
                start = 0
            with partial.open("r+b") as output:
                output.truncate(start)
                output.seek(start)
                for chunk in response.iter_bytes():  # as it comes: what is held back is lost when it ends
                    if output.tell() + len(chunk) > file.size:
                        output.truncate(0)
                        raise self._malformed(f"{file.path} is longer than its {file.size:,} bytes")
                    output.write(chunk)
                    received(output.tell())

    # What the hub answers

    @contextmanager
    def _get(self, url: str, more: Mapping[str, str] | None = None) -> Iterator[Any]:
        """The answer to a request, of which nothing has been read yet."""
        if self.is_offline:
            raise DownloadError(
                f"{self.name} has not been fetched yet, and HF_HUB_OFFLINE is set. Unset it and run "
                f"`saccade get {self.name}`, here or where there is a network, and copy the model directory."
            )
        options = {"timeout": self._timeout, "follow_redirects": True}  # to other hosts without the token
        try:
            with self._session.stream("GET", url, headers={**self._headers, **(more or {})}, **options) as response:
                yield response
        except self._httpx.TransportError:
            raise
        except (self._httpx.HTTPError, self._httpx.InvalidURL) as error:
            raise self._unreachable(str(error)) from None

    def _api(self, path: str) -> str:
        return f"{self.endpoint}/api/models/{self.name}/{path}"

    def _json(self, url: str, revision: str = "main", *, optional: bool = False) -> tuple[Any, str | None]:
        """An answer, and where the next page of it is; None if there is none and it is `optional`."""
        try:
            with self._get(url) as response:
                if optional and response.status_code in (403, 404):
                    return None, None
                self._check(response, revision)
                following = response.links.get("next", {}).get("url")
                if following is not None and not following.startswith(f"{self.endpoint}/"):
                    raise self._malformed("the next page is said to be elsewhere")
                return self._parsed(response), following
        except self._httpx.TransportError as error:
            raise self._unreachable(str(error) or type(error).__name__) from None

    def _parsed(self, response: Any) -> Any:
        content = bytearray()
        for chunk in response.iter_bytes():
            content += chunk
            if len(content) > MOST_JSON:
                raise self._malformed(f"an answer is longer than {MOST_JSON:,} bytes")
        try:
            return json.loads(content)
        except (ValueError, RecursionError):
            raise self._malformed("an answer is no JSON") from None

    def _check(self, response: Any, revision: str) -> None:
        """Refuse an answer that is none, in words for a user."""
        status = response.status_code
        if status in (200, 206):
            return
        code, remark = (response.headers.get(name, "") for name in ("X-Error-Code", "X-Error-Message"))
        if code == "RevisionNotFound":
            raise DownloadError(f"{self.url} must have the revision {revision}, but it has none of that name.")
        if code == "GatedRepo" or status == 403:
            raise DownloadError(
                f"{self.name} is for those only whom its owner lets in. Ask for access on {self.url}, then run "
                "`hf auth login`, or set HF_TOKEN."
            )
        if status == 401 and "credentials" in remark:
            raise DownloadError(
                f"{self.endpoint} must know the token that it is shown, but it does not. Run `hf auth login` again, or "
                "set HF_TOKEN to a valid one."
            )
        if status in (401, 404):
            raise DownloadError(
                f"{self.name} must be a model on {self.endpoint}, but there is none of that name that you may see. "
                "Check the name; for a private model, run `hf auth login`, or set HF_TOKEN."
            )
        raise DownloadError(f"{self.endpoint} must send {self.name}, but it answers {status}. Try again later.")

    def _file(self, entry: Mapping[str, Any]) -> RemoteFile:
        table = self._table(entry, path=_is_text, size=_is_size, oid=_is_commit)
        if table.get("lfs") is None:
            return RemoteFile(table["path"], table["size"], table["oid"], None)
        large = self._table(table["lfs"], oid=_is_sha256, size=_is_size)
        return RemoteFile(table["path"], large["size"], table["oid"], large["oid"])

    def _table(self, told: Any, **checks: Callable[[Any], bool]) -> dict[str, Any]:
        if not isinstance(told, dict) or not all(check(told.get(name)) for name, check in checks.items()):
            raise self._malformed("an answer has another form than a hub's")
        return told

    def _list(self, told: Any) -> list[Any]:
        if not isinstance(told, list):
            raise self._malformed("an answer has another form than a hub's")
        return told

    def _malformed(self, problem: str) -> DownloadError:
        return DownloadError(
            f"{self.endpoint} must answer as a hub does, but {problem}. Nothing was kept of it. Check HF_ENDPOINT."
        )

    def _unreachable(self, problem: str) -> DownloadError:
        return DownloadError(
            f"Cannot fetch {self.name} from {self.endpoint}: {problem.rstrip('.')}. Check the network, the proxy and "
            "HF_ENDPOINT, and run the same command again: it goes on where this one stopped."
        )


def _is_commit(value: Any) -> bool:
    return isinstance(value, str) and COMMIT.fullmatch(value) is not None


def _is_sha256(value: Any) -> bool:
    return isinstance(value, str) and _SHA256.fullmatch(value) is not None


def _is_size(value: Any) -> bool:
    return type(value) is int and value >= 0


def _is_text(value: Any) -> bool:
    return isinstance(value, str)
