"""The secret that signs local tokens: from the settings, or made once in the data directory."""

from __future__ import annotations

import logging
import os
import stat
import subprocess
import sys
from pathlib import Path
from threading import Barrier, Thread

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from holdfast.domain.errors import InvalidField
from holdfast.entrypoints.http.tokens import SECRET_FILE, local_secret
from holdfast.settings import Settings, load

LONG_ENOUGH = "a secret of thirty-two characters"
ROOT = Path(__file__).resolve().parents[2]


def _settings(folder: Path, **given: str) -> Settings:
    return load({}, data_dir=str(folder), **given)


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_the_configured_secret_is_taken_as_it_is_written_and_no_file_is_made(tmp_path: Path) -> None:
    assert local_secret(_settings(tmp_path, jwt_secret=LONG_ENOUGH)).key == LONG_ENOUGH.encode()
    assert list(tmp_path.iterdir()) == []


def test_a_secret_is_made_once_for_its_owner_alone_and_read_on_later_starts(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    old = os.umask(0)
    try:
        first = local_secret(_settings(folder))
        second = local_secret(_settings(folder))
    finally:
        os.umask(old)

    assert first == second
    assert len(first.key) == 64
    assert _mode(folder / SECRET_FILE) == 0o600
    assert _mode(folder) == 0o700
    assert [file.name for file in folder.iterdir()] == [SECRET_FILE]


def test_two_data_directories_have_two_secrets(tmp_path: Path) -> None:
    assert local_secret(_settings(tmp_path / "one")) != local_secret(_settings(tmp_path / "two"))


def test_the_text_of_the_file_may_be_configured_instead_of_it(tmp_path: Path) -> None:
    made = local_secret(_settings(tmp_path / "one"))
    text = (tmp_path / "one" / SECRET_FILE).read_text().strip()

    assert local_secret(_settings(tmp_path / "two", jwt_secret=text)) == made


@pytest.mark.parametrize("text", ["short", "x" * 31])
def test_a_configured_secret_under_32_bytes_is_refused_with_the_remedy(tmp_path: Path, text: str) -> None:
    with pytest.raises(InvalidField, match="openssl rand -hex 32") as refused:
        local_secret(_settings(tmp_path, jwt_secret=text))

    assert text not in refused.value.message


def test_the_length_counts_bytes_not_characters(tmp_path: Path) -> None:
    assert local_secret(_settings(tmp_path, jwt_secret="é" * 16)).key == ("é" * 16).encode()


@pytest.mark.parametrize("body", [b"", b"\n", b"too short\n", b"\xff" * 64])
def test_a_damaged_file_is_refused_with_the_remedy_and_left_as_it_is(tmp_path: Path, body: bytes) -> None:
    (tmp_path / SECRET_FILE).write_bytes(body)

    with pytest.raises(InvalidField, match="remove it"):
        local_secret(_settings(tmp_path))

    assert (tmp_path / SECRET_FILE).read_bytes() == body


def test_a_file_that_cannot_be_read_is_refused_with_the_remedy(tmp_path: Path) -> None:
    (tmp_path / SECRET_FILE).mkdir(mode=0o700)

    with pytest.raises(InvalidField, match="HOLDFAST_JWT_SECRET"):
        local_secret(_settings(tmp_path))


def test_a_data_directory_that_is_a_file_is_refused_with_the_remedy(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("")

    with pytest.raises(InvalidField, match="HOLDFAST_JWT_SECRET"):
        local_secret(_settings(tmp_path / "data"))


def test_a_file_open_to_others_is_used_with_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    made = local_secret(_settings(tmp_path))
    assert caplog.records == []
    (tmp_path / SECRET_FILE).chmod(0o640)

    with caplog.at_level(logging.WARNING, "holdfast"):
        assert local_secret(_settings(tmp_path)) == made

    assert "chmod 600" in caplog.text
    assert made.key.decode() not in caplog.text


@pytest.mark.parametrize("secret", ["ab" * 32, "AB" * 32, f" {'ab' * 32}\n"])
@pytest.mark.parametrize("place", ["memory_key", "memory_old_keys"])
def test_the_memory_key_is_refused_as_token_secret(tmp_path: Path, secret: str, place: str) -> None:
    with pytest.raises(InvalidField, match="memory key") as refused:
        local_secret(_settings(tmp_path, jwt_secret=secret, **{place: "ab" * 32}))

    assert "abab" not in refused.value.message.lower()


def test_the_bytes_of_the_memory_key_are_refused_too(tmp_path: Path) -> None:
    with pytest.raises(InvalidField, match="memory key"):
        local_secret(_settings(tmp_path, jwt_secret="k" * 32, memory_key="6b" * 32))


def test_a_file_that_holds_the_memory_key_is_refused(tmp_path: Path) -> None:
    (tmp_path / SECRET_FILE).write_text("ab" * 32 + "\n")
    (tmp_path / SECRET_FILE).chmod(0o600)

    with pytest.raises(InvalidField, match="memory key"):
        local_secret(_settings(tmp_path, memory_key="AB" * 32))


def test_a_public_key_is_refused_as_secret_since_everyone_has_it(tmp_path: Path) -> None:
    public = generate_private_key(SECP256R1()).public_key()
    pem = public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()

    with pytest.raises(InvalidField, match="no secret"):
        local_secret(_settings(tmp_path, jwt_secret=pem))


def test_a_secret_does_not_show_itself(tmp_path: Path) -> None:
    secret = local_secret(_settings(tmp_path, jwt_secret=LONG_ENOUGH))

    assert LONG_ENOUGH not in f"{secret} {secret!r}"


def test_many_threads_that_start_at_once_agree_on_one_secret(tmp_path: Path) -> None:
    barrier = Barrier(8)
    found: list[bytes] = []

    def start() -> None:
        barrier.wait()
        found.append(local_secret(_settings(tmp_path)).key)

    threads = [Thread(target=start) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(found) == 8
    assert len(set(found)) == 1
    assert [file.name for file in tmp_path.iterdir()] == [SECRET_FILE]


def test_two_processes_that_start_at_once_agree_on_one_secret(tmp_path: Path) -> None:
    """Each says when it is ready and then waits for the word, so that they make it at the same moment."""
    program = (
        "import sys; from holdfast.settings import load; from holdfast.entrypoints.http.tokens import local_secret\n"
        "settings = load({}, data_dir=sys.argv[1])\n"
        "print('ready', flush=True); sys.stdin.readline(); print(local_secret(settings).key.hex())"
    )
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", program, str(tmp_path / "data")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        )
        for _ in range(2)
    ]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    said = [process.communicate()[0].strip() for process in processes]

    assert len(said[0]) == 128
    assert said[0] == said[1]
    assert [file.name for file in (tmp_path / "data").iterdir()] == [SECRET_FILE]
