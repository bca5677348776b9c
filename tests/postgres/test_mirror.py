"""The Markdown mirror over PostgreSQL: the same files, the same names ignoring case."""

from pathlib import Path

import holdfast
from holdfast.entrypoints.mirror.mirror import Mirror
from tests.behaviours.looking import refused
from tests.mirror.desk import KEY, said


def test_files_and_memories_follow_each_other(dsn: str, tmp_path: Path) -> None:
    with holdfast.open(dsn, key=KEY, sweep_seconds=0, embedder="none") as memory:
        mirror = Mirror(memory.running, tmp_path / "files", settle=0, delete_delay=0)
        alice, place = memory.user("alice"), tmp_path / "files" / "users" / "alice" / "memory"

        def upsert(name: str, body: str) -> None:
            alice.files.update_user_memory("upsert", name, type="user", description="about", body=body)

        upsert("One", "first")
        upsert("two", "second")
        with refused("conflict"):
            upsert("one", "in another case")
        mirror.sync()
        assert sorted(path.name for path in place.glob("*.md")) == ["MEMORY.md", "One.md", "two.md"]
        (place / "One.md").write_text(said("edited"))
        (place / "three.md").write_text(said("added"))
        (place / "two.md").unlink()
        for _ in range(3):
            mirror.sync()
        bodies = {entry.key: entry.text for entry in alice.list(partition="files")}
        assert bodies == {"One": "edited", "three": "added"}
        assert alice.files.index() == (place / "MEMORY.md").read_text()
        alice.forget("all")
        mirror.sync()
        assert [path.name for path in place.glob("*.md")] == ["MEMORY.md"]
        mirror.stop()
