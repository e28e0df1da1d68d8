"""What CTranslate2 reads is made once, found again, made anew when the model has changed, and never half there."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from safetensors.numpy import load_file, save_file

from saccade.directory import ModelDirectory
from saccade.engines import ct2_cache
from saccade.engines.ctranslate2 import CTranslate2Engine
from saccade.errors import ModelError


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache/saccade/ct2"


@pytest.fixture
def model(trained: Path, tmp_path: Path) -> ModelDirectory:
    """A model directory of its own, in which nothing was built."""
    copy = shutil.copytree(trained / "run/model", tmp_path / "model", ignore=shutil.ignore_patterns("ct2"))
    return ModelDirectory.open(Path(copy))


def kept(path: Path) -> list[str]:
    """The names of all that is kept here, drafts included."""
    return sorted(each.name for each in path.iterdir()) if path.is_dir() else []


def change(model: ModelDirectory) -> None:
    """Other parameters in a file of the same size and time."""
    file = model.path / "model.safetensors"
    times = file.stat().st_atime_ns, file.stat().st_mtime_ns
    parameters = load_file(file)
    parameters["target_embedding.weight"][5] += 1
    save_file(parameters, file)
    os.utime(file, ns=times)


def test_it_is_made_once_and_found_again(model: ModelDirectory, cache: Path):
    path = ct2_cache.find_or_build(model, "float32")
    assert isinstance(path, Path)
    assert path.parent == model.path / "ct2"
    assert kept(path) == ["config.json", "model.bin", "shared_vocabulary.json"]
    before = (path / "model.bin").stat()
    assert ct2_cache.find_or_build(model, "float32") == path
    assert (path / "model.bin").stat() == before
    assert kept(cache) == []


def test_int8_has_one_of_its_own_and_is_smaller(model: ModelDirectory):
    exact, small = (ct2_cache.find_or_build(model, compute) for compute in ("float32", "int8"))
    assert isinstance(exact, Path)
    assert isinstance(small, Path)
    assert kept(model.path / "ct2") == sorted([exact.name, small.name])
    assert (small / "model.bin").stat().st_size < 0.8 * (exact / "model.bin").stat().st_size, "and its table is not"


def test_a_changed_model_is_noticed_and_the_old_one_removed(model: ModelDirectory):
    pair = [[5, 6]], [[6, 7]]
    before = CTranslate2Engine(model).score(*pair)
    (old,) = kept(model.path / "ct2")
    killed = model.path / f"ct2/.{old}.0a1b2c3d4e5f.saccade-draft"
    killed.mkdir()
    os.utime(killed, (1, 1))
    change(model)
    assert CTranslate2Engine(model).score(*pair) != before
    (new,) = kept(model.path / "ct2")
    assert new != old


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_model_that_is_read_only(model: ModelDirectory, cache: Path):
    model.path.chmod(0o500)
    path = ct2_cache.find_or_build(model, "float32")
    assert isinstance(path, Path)
    assert path.parent == cache


def test_where_a_model_cannot_be_written_to_the_cache_is_taken(model: ModelDirectory, cache: Path):
    (model.path / "ct2").touch()  # a directory of that name cannot be made, whoever asks
    path = ct2_cache.find_or_build(model, "float32")
    assert isinstance(path, Path)
    assert path.parent == cache
    before = (path / "model.bin").stat()
    assert ct2_cache.find_or_build(model, "float32") == path
    assert (path / "model.bin").stat() == before


def test_where_nothing_can_be_written_it_stays_in_memory(model: ModelDirectory, cache: Path):
    expected = CTranslate2Engine(model).score([[5, 6]], [[6, 7]])
    shutil.rmtree(model.path / "ct2")
    (model.path / "ct2").touch()
    cache.parent.parent.touch()
    assert not isinstance(ct2_cache.find_or_build(model, "float32"), Path)
    assert CTranslate2Engine(model).score([[5, 6]], [[6, 7]]) == expected


def test_a_damaged_one_is_made_anew(model: ModelDirectory):
    path = ct2_cache.find_or_build(model, "float32")
    assert isinstance(path, Path)
    size = (path / "model.bin").stat().st_size
    os.truncate(path / "model.bin", size // 2)
    CTranslate2Engine(model)
    assert (path / "model.bin").stat().st_size == size


def test_what_fails_leaves_nothing_behind(model: ModelDirectory):
    parameters = load_file(model.path / "model.safetensors")
    save_file(parameters | {"more": parameters["target_embedding.weight"]}, model.path / "model.safetensors")
    with pytest.raises(ModelError, match="but more is not a parameter of this model"):
        CTranslate2Engine(model)
    assert kept(model.path / "ct2") == []
    os.truncate(model.path / "model.safetensors", 1000)
    with pytest.raises(ModelError, match="must be a whole safetensors file"):
        CTranslate2Engine(model)


BUILD = """
import sys
from pathlib import Path
from saccade.directory import ModelDirectory
from saccade.engines import ct2_cache

model = ModelDirectory.open(Path(sys.argv[1]))
print("ready", flush=True)
sys.stdin.readline()
print(ct2_cache.find_or_build(model, "float32"))
assert "torch" not in sys.modules
"""


def test_several_processes_at_once(model: ModelDirectory):
    command = [sys.executable, "-c", BUILD, str(model.path)]
    several = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) for _ in range(3)
    ]
    for process in several:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in several:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    answers = {process.communicate()[0] for process in several}
    assert [process.returncode for process in several] == [0, 0, 0]
    (only,) = answers
    assert kept(model.path / "ct2") == [Path(only.strip()).name]
