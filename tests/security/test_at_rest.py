"""What someone who steals the folder without the key can read: nothing that anybody said, named or tagged."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

import holdfast
from holdfast.recall.embedding.choose import open_factory
from holdfast.storage.vector_codec import stored_vector
from tests.behaviours.embedders import HERE, board
from tests.security.raw import files, open_store, run, stored_bytes
from tests.support import FixedClock

SENSIBLE = f"{HERE}:sensible"
WORDS = (
    "Xylographie", "Quetzalfeder", "zwergplanet", "KEYHEADQ", "keytailq", "Hintwörtlein", "catquorl", "tagvermil",
    "tagOchrebright", "speakerjutland", "convofjord", "Adalheidis", "Bertramus", "agentkorvus", "servicemonolith",
    "sessionbasalt", "sharedspacequill", "chatroomlagoon", "systemcobalt", "factkeymarrow", "factvaluetundra",
    "handlerkeyspindle", "handlervaluegranit", "renamedkeyumbra", "editedtextsaffron", "idempotenzschiefer",
    "trashedtextonyx", "runidpelikan", "teamporphyr", "internalebony",
)  # fmt: skip


@pytest.fixture(scope="module", params=["a key in the settings", "a key file", "ephemeral"])
def session(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Path, holdfast.Memory]]:
    folder = tmp_path_factory.mktemp("rest")
    key = {"a key file": None, "ephemeral": "ephemeral"}.get(request.param, "33" * 32)
    with open_store(folder, key=key, clock=FixedClock(), embedder=SENSIBLE) as memory:
        _speak(memory)
        yield folder, memory


def _speak(memory: holdfast.Memory) -> None:
    ada = memory.user("Adalheidis", teams=["teamporphyr"])
    ada.remember(
        "Xylographie and the Quetzalfeder on a zwergplanet",
        key="KEYHEADQ/deep/keytailq",
        hint="Hintwörtlein",
        category="catquorl",
        tags=["tagvermil", "tagOchrebright"],
        speaker="speakerjutland",
        conversation="convofjord",
        at=datetime(2026, 1, 1, tzinfo=UTC),
        idempotency_key="idempotenzschiefer",
    )
    ada.edit("KEYHEADQ/deep/keytailq", text="editedtextsaffron")
    ada.rename("KEYHEADQ/deep/keytailq", new_key="KEYHEADQ/renamedkeyumbra")
    ada.remember("trashedtextonyx", key="waste", in_context=True)
    ada.trash("waste")
    ada.remember("internalebony", key="inner", in_context=False)
    ada.facts.store("factkeymarrow", "factvaluetundra", tags=["tagvermil"])
    ada.create_space("sharedspacequill")
    ada.share("user:Bertramus", level="read")
    ada.share("agent:agentkorvus", space="shared:sharedspacequill", level="readwrite")
    memory.agent("agentkorvus").remember(
        "Quetzalfeder again", space="shared:sharedspacequill", key="keytailq"
    )
    memory.service("servicemonolith", run="runidpelikan").remember("Xylographie by night", key="keytailq")
    boss = memory.administration("Bertramus")
    boss.set_participants("chatroomlagoon", ["user:Adalheidis"])
    boss.set_system_access("systemcobalt", {"team:teamporphyr": "manage"})
    ada.remember("zwergplanet chat", space="chat:chatroomlagoon", key="keytailq")
    ada.remember("zwergplanet system", space="system:systemcobalt", key="keytailq")
    for session in (None, "sessionbasalt"):
        handle = memory.handle("Adalheidis", session=session)
        assert handle is not None
        handle.store("handlerkeyspindle", b"handlervaluegranit", category="catquorl", tags=["tagvermil"])
    memory.settle()
    assert ada.recall("Quetzalfeder") != []


def _found(folder: Path) -> list[tuple[str, str]]:
    """Words in any file, in the usual encodings, whatever case they are written in."""
    found = []
    for name, body in files(folder, without=(".key",)).items():
        lowered = body.lower()
        for word in WORDS:
            forms = {
                form.encode(encoding)
                for form in (word.lower(), word.lower()[:8])
                for encoding in ("utf-8", "utf-16-le", "utf-16-be")
            }
            if any(form in lowered for form in forms):
                found.append((name, word))
    return found


def test_the_search_for_words_would_find_one(tmp_path: Path) -> None:
    (tmp_path / "leak.db").write_bytes(b"..XYLOGRAPHIE.." + "convofjord".encode("utf-16-le"))

    assert _found(tmp_path) == [("leak.db", "Xylographie"), ("leak.db", "convofjord")]


def test_no_word_key_tag_hint_name_or_space_is_in_any_byte_while_the_store_is_open(
    session: tuple[Path, holdfast.Memory],
) -> None:
    folder, memory = session
    memory.user("Adalheidis").remember("Quetzalfeder", key="KEYHEADQ/keytailq")
    assert memory.user("Adalheidis").get("KEYHEADQ/renamedkeyumbra").text == "editedtextsaffron"

    assert _found(folder) == []
    assert any(name.endswith("-wal") and body for name, body in files(folder).items())


def test_no_word_is_in_any_byte_of_the_file_after_everything_went_from_the_log_into_it(
    session: tuple[Path, holdfast.Memory],
) -> None:
    folder, _ = session
    run(folder, "PRAGMA wal_checkpoint(TRUNCATE)")

    assert _found(folder) == []


def test_no_word_is_in_any_byte_after_the_store_was_closed(tmp_path: Path) -> None:
    with open_store(tmp_path, key="33" * 32, embedder=SENSIBLE) as memory:
        _speak(memory)

    assert _found(tmp_path) == []
    assert sorted(files(tmp_path)) == ["holdfast.db"]


def test_no_vector_is_in_any_byte_while_the_store_is_open_nor_after_it_was_closed(tmp_path: Path) -> None:
    """A vector says much of its text; whoever has the model could guess it back."""
    board.reset()
    with open_store(tmp_path, embedder=SENSIBLE) as memory:
        _speak(memory)
        embedder = open_factory(SENSIBLE)
        vectors = [embedder.embed(text) for text in tuple(board.notes)]
        assert len(vectors) > 5
        forms = [form for vector in vectors for form in (stored_vector(vector), vector.tobytes())]
        windows = {form[at : at + 16] for form in forms for at in range(0, len(form) - 15, 2)}
        opened = stored_bytes(tmp_path)
        assert run(tmp_path, "SELECT count(*) FROM derived") == [(len(vectors),)]
    closed = stored_bytes(tmp_path)

    assert [window for window in windows if window in opened or window in closed] == []


VISIBLE = {
    "spaces": "space id kind name owner listed key_id created_us sealed seq entries indexed length removed settled",
    "data_keys": "space key_id master created_us wrapped uses",
    "names": "name sealed",
    "entries": (
        "entry space partition owner key revision born seq created_us updated_us expires_us trashed_us flags length"
        " key_id labels sealed"
    ),
    "revisions": "entry revision seq updated_us expires_us flags key_id sealed",
    "labels": "space label seq entry",
    "terms": "hint tags key body",
    "models": "model name dimensions state overlap created_us",
    "derived": "entry model revision key_id sealed",
    "progress": "model space seq",
    "grants": "space grantee granted_by level created_us expires_us mac",
    "members": "space member level mac",
    "rules": "role may_read may_manage",
    "agents": "agent owner enabled own chat user default_ttl mac",
    "receipts": "principal key space number request answer created_us",
    "proposals": "id person proposer space number created_us expires_us answer sealed",
    "audit": "position at_us operation actor space object revision key_id link",
    "audit_head": "one position link code",
}
"""Every column there is: ids, keyed hashes, seals, times, counts and flags. A new one must be thought about here and
in docs/threat-model.md."""

READABLE = {("rules", "role"), ("audit", "operation"), ("models", "name"), ("models", "state")}
"""The columns that hold plain text: names of roles, names of operations, names and states of models."""


def test_what_stays_visible_in_the_file_is_exactly_what_is_listed(
    session: tuple[Path, holdfast.Memory],
) -> None:
    folder, _ = session
    tables = {
        name: " ".join(column for (column,) in run(folder, "SELECT name FROM pragma_table_info(?)", (name,)))
        for (name,) in run(
            folder,
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'terms\\__%' ESCAPE '\\'"
            " AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'",
        )
    }

    assert tables == VISIBLE


def test_only_roles_models_and_names_of_operations_are_stored_as_text(
    session: tuple[Path, holdfast.Memory],
) -> None:
    folder, memory = session
    memory.administration("Bertramus").set_rules("guest", {"ai.memory.read": True})
    text = set()
    for table, columns in VISIBLE.items():
        if table == "terms":
            continue
        for column in columns.split():
            if run(folder, f"SELECT 1 FROM {table} WHERE typeof({column}) = 'text' LIMIT 1"):
                text.add((table, column))

    assert text == READABLE


def test_equal_texts_of_one_person_do_not_show_as_equal(tmp_path: Path) -> None:
    with open_store(tmp_path) as memory:
        for name in ("one", "two"):
            memory.user("ada").remember("the very same text", key=name)
        sealed = [body for (body,) in run(tmp_path, "SELECT sealed FROM entries")]

    assert len({body[:12] for body in sealed}) == 2
    assert len({body[12:28] for body in sealed}) == 2


def test_equal_keys_and_words_of_two_people_have_nothing_in_common_in_the_file(tmp_path: Path) -> None:
    with open_store(tmp_path) as memory:
        for name in ("ada", "bob"):
            memory.user(name).remember("the very same text", key="folder/name", tags=["red"])
        keys = {key for (key,) in run(tmp_path, "SELECT key FROM entries")}
        labels = {label for (label,) in run(tmp_path, "SELECT label FROM labels")}

    assert len(keys) == 2
    assert len(labels) == 4
