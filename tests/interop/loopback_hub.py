"""A hub on this machine, which speaks the calls of Hugging Face's that a download makes, and remembers who asked what.

Large files are sent from another origin, as a hub's are from its network of caches.
"""

import hashlib
import json
import re
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple, Self
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

BOT, TITLE = "SFconvertbot", "Adding `safetensors` variant of this model"
LARGE = re.compile(r".*\.(safetensors|bin|npz|h5|ot)")
Files = Mapping[str, bytes]


@contextmanager
def loopback(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator["LoopbackHub"]:
    """A hub that this process asks, and caches below `folder`: as the environment would say, had it been read now."""
    from huggingface_hub import close_session, constants

    monkeypatch.setenv("SACCADE_CACHE", str(folder / "cache"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.delenv("HF_TOKEN", raising=False)
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(folder / "huggingface" / "token"))
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(folder / "huggingface" / "hub"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    with LoopbackHub() as hub:
        monkeypatch.setattr(constants, "ENDPOINT", hub.url)
        template = hub.url + "/{repo_id}/resolve/{revision}/{filename}"
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
        close_session()
        yield hub
        close_session()


class Request(NamedTuple):
    method: str
    path: str
    range: str | None
    token: str | None
    is_cache: bool
    """Asked of the other origin."""


@dataclass
class Repository:
    """Branches of commits, each a table of files, and pull requests."""

    card: dict[str, Any] = field(default_factory=dict)
    commits: dict[str, Files] = field(default_factory=dict)
    branches: dict[str, list[str]] = field(default_factory=dict)
    """The newest commit first."""
    discussions: list[dict[str, Any]] = field(default_factory=list)
    token: str | None = None
    """What one must show to see it."""
    is_gated: bool = False

    def commit(self, files: Files, branch: str = "main", *, parent: str | None = None) -> str:
        """A new commit on a branch, which starts from `parent` if it is new."""
        name = hashlib.sha1(repr((sorted(files.items()), branch, len(self.commits))).encode()).hexdigest()
        self.commits[name] = dict(files)
        self.branches[branch] = [name, *(self.branches.get(branch) or ([parent] if parent else []))]
        return name

    def convert(self, weights: bytes, **changes: Any) -> int:
        """A pull request as the hub's bot makes it, or a changed one; its number."""
        number = len(self.discussions) + 4
        head = self.branches["main"][0]
        files = {**self.commits[head], "model.safetensors": weights, ".gitattributes": b"*.safetensors\n"}
        parent = changes.pop("parent", head)
        self.commit(files | changes.pop("files", {}), f"refs/pr/{number}", parent=parent)
        told = {"num": number, "title": TITLE, "status": "open", "isPullRequest": True, "author": {"name": BOT}}
        self.discussions.append(told | changes)
        return number


def entry(path: str, content: bytes) -> dict[str, Any]:
    """What the hub tells of a file."""
    told: dict[str, Any] = {"type": "file", "path": path, "size": len(content)}
    if LARGE.fullmatch(path):
        checksum = hashlib.sha256(content).hexdigest()
        told["lfs"] = {"oid": checksum, "size": len(content), "pointerSize": 134}
        content = b"version https://git-lfs.github.com/spec/v1\noid sha256:%b\n" % checksum.encode()
    return told | {"oid": hashlib.sha1(b"blob %d\0%b" % (len(content), content)).hexdigest()}


class LoopbackHub:
    """Serves repositories, as long as it is entered."""

    def __init__(self) -> None:
        self.repositories: dict[str, Repository] = {}
        self.requests: list[Request] = []
        self.page = 1000  # files of an answer
        self.knows_ranges, self.is_down = True, False
        self.send: Callable[[str, bytes], bytes] = lambda path, content: content
        """What is sent of a file; a test may spoil it."""
        self.answer: Callable[[str, Any], Any] = lambda path, told: told
        """What is told in JSON; a test may change it."""
        self.cut: dict[str, int] = {}
        """The next answer with this file breaks off after so many bytes."""
        self.stall: dict[str, int] = {}
        """Answers with this file stop after so many bytes, and stay open."""
        self.released = threading.Event()

    def __enter__(self) -> Self:
        self._servers = [_Server(("127.0.0.1", 0), self._handler(is_cache)) for is_cache in (False, True)]
        self.url, self.cache_url = (f"http://127.0.0.1:{server.server_port}" for server in self._servers)
        self._threads = [threading.Thread(target=server.serve_forever, args=(0.01,)) for server in self._servers]
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.released.set()
        for server, thread in zip(self._servers, self._threads, strict=True):
            server.shutdown()
            thread.join()
            server.server_close()

    def publish(self, name: str, directory: Path, **options: Any) -> Repository:
        """A repository with the files of a directory."""
        repository = self.repositories[name] = Repository(**options)
        repository.commit({path.name: path.read_bytes() for path in directory.iterdir()})
        return repository

    def fetched(self) -> list[str]:
        """The names of all files that were sent, in order, and nothing remembered from now on."""
        names = [request.path.rsplit("/", 1)[1] for request in self.requests if "/resolve/" in request.path]
        self.requests.clear()
        return list(dict.fromkeys(names))

    def _handler(self, is_cache: bool) -> type[BaseHTTPRequestHandler]:
        hub = self

        class Handler(_Handler):
            def do_GET(self) -> None:
                authorization = self.headers.get("Authorization")
                hub.requests.append(
                    Request(self.command, unquote(self.path), self.headers.get("Range"), authorization, is_cache)
                )
                self.respond(hub, is_cache)

            do_HEAD = do_GET

        return Handler


class _Server(ThreadingHTTPServer):
    def handle_error(self, *_: Any) -> None:
        """Say nothing of those who hang up, as a client does that has seen enough."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(*_)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def respond(self, hub: LoopbackHub, is_cache: bool) -> None:
        parts, query = urlsplit(self.path), parse_qs(urlsplit(self.path).query)
        api = re.fullmatch(
            r"/api/models/([^/]+/[^/]+)/(revision|tree|commits|discussions)(?:/([^/]+))?(/.+)?", parts.path
        )
        file = re.fullmatch(r"/([^/]+/[^/]+)/resolve/([^/]+)/([^/]+)", parts.path)
        match = api or file
        repository = hub.repositories.get(match[1]) if match else None
        if hub.is_down:
            return self.refuse(503, "")
        if match is None or repository is None:
            return self.refuse(401, "RepoNotFound", "Repository not found")
        shown = (self.headers.get("Authorization") or "").removeprefix("Bearer ")
        if not is_cache and shown and shown != (repository.token or shown):
            return self.refuse(401, "", "Invalid credentials in Authorization header")
        if not is_cache and repository.token is not None and not shown:
            return self.refuse(
                403 if repository.is_gated else 401, "GatedRepo" if repository.is_gated else "RepoNotFound"
            )
        if api and api[2] == "discussions":
            told = {"discussions": repository.discussions, "count": len(repository.discussions), "start": 0}
            return self.tell(hub, told)
        assert api or file
        revision = unquote((api or file)[3 if api else 2])  # type: ignore[index]
        commit = repository.branches.get(revision, [revision])[0]
        if commit not in repository.commits:
            return self.refuse(404, "RevisionNotFound")
        if file:
            return self.send_file(hub, repository, commit, unquote(file[3]), is_cache)
        assert api
        if api[4]:
            self.refuse(404, "EntryNotFound")  # nothing here has folders
        elif api[2] == "revision":
            self.tell(hub, {"id": api[1], "sha": commit, "cardData": repository.card, "private": False})
        elif api[2] == "commits":
            self.tell(hub, [{"id": each, "title": ""} for each in repository.branches.get(revision, [commit])])
        else:
            listed = [entry(path, content) for path, content in sorted(repository.commits[commit].items())]
            start = int(query.get("cursor", ["0"])[0])
            rest = start + hub.page
            more = f'<{hub.url}{parts.path}?recursive=true&cursor={rest}>; rel="next"' if rest < len(listed) else ""
            self.tell(hub, listed[start:rest], Link=more)

    def tell(self, hub: LoopbackHub, told: Any, **headers: str) -> None:
        told = hub.answer(self.path, told)
        content = told if isinstance(told, bytes) else json.dumps(told).encode()
        self.begin(200, len(content), {"Content-Type": "application/json", **headers})
        self.wfile.write(content)

    def refuse(self, status: int, code: str, message: str = "") -> None:
        content = json.dumps({"error": message}).encode()
        self.begin(status, len(content), {"X-Error-Code": code, "X-Error-Message": message})
        if self.command == "GET":
            self.wfile.write(content)

    def send_file(self, hub: LoopbackHub, repository: Repository, commit: str, path: str, is_cache: bool) -> None:
        if path not in repository.commits[commit]:
            return self.refuse(404, "EntryNotFound")
        content = repository.commits[commit][path]
        told = entry(path, content)
        headers = {"X-Repo-Commit": commit, "ETag": f'"{told["oid"]}"', "Accept-Ranges": "bytes"}
        if "lfs" in told and not is_cache:
            linked = {"X-Linked-Etag": f'"{told["lfs"]["oid"]}"', "X-Linked-Size": str(len(content))}
            return self.begin(302, 0, {**headers, **linked, "Location": f"{hub.cache_url}{self.path}"})
        content, status = hub.send(path, content), 200
        wanted = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range") or "")
        if wanted and hub.knows_ranges:
            start = int(wanted[1])
            headers["Content-Range"] = f"bytes {start}-{len(content) - 1}/{len(content)}"
            content, status = content[start:], 206
        self.begin(status, len(content), headers)
        if self.command == "HEAD":
            return
        stop = hub.cut.pop(path, hub.stall.get(path, len(content)))
        self.wfile.write(content[:stop])
        self.wfile.flush()
        if path in hub.stall:
            hub.released.wait()
        if stop < len(content):
            self.close_connection = True

    def begin(self, status: int, length: int, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(length))
        for name, value in headers.items():
            if value:
                self.send_header(name, value)
        self.end_headers()
