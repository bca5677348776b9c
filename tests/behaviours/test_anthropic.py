"""The tool memory_20250818: the words of its reference implementation, over the entries of the own store."""

import random
import re
from pathlib import Path
from typing import Any

import pytest
from anthropic.lib.tools._beta_builtin_memory_tool import BetaLocalFilesystemMemoryTool
from anthropic.lib.tools._beta_functions import ToolError

from holdfast.domain.errors import HoldfastError
from holdfast.entrypoints.python.memory import Memory
from tests.behaviours.interface import Interface
from tests.behaviours.looking import refusal, unchanged
from tests.behaviours.test_stores import create, value

FOLDER_SIZE = re.compile(r"^[\d.]+[BKMG](\t.*/$)", re.MULTILINE)
HEADER_SIZE = re.compile(r"(excluding hidden items:\n)[\d.]+[BKMG]")
NAMES = (
    "a",
    "b.md",
    "c",
    ".hidden",
    "deep/er.txt",
    "c/d",
    "c/d/e",
    "c/d/e/f",
    "日本",
    "../b.md",
    "./a",
    "c//d",
)
TEXTS = ("", "one", "one\n", "one\ntwo\none two\n", "x" * 1536, "tab\there\n\n\n", "ünï\r\ncode\r\n")
PASSAGES = ("one", "two", "", "x", "\n", "nothing of it", "one\ntwo")


def ours(own: Any, command: dict[str, Any]) -> tuple[bool, str]:
    try:
        return True, own.anthropic.memory(**command)
    except HoldfastError as error:
        return False, error.message


def theirs(tool: BetaLocalFilesystemMemoryTool, command: dict[str, Any]) -> tuple[bool, str | None]:
    """None where the reference has no words: it lets an error of the file system through."""
    try:
        answer = True, str(tool.call(command))
    except ToolError as error:
        answer = False, str(error)
    except OSError:
        return False, None
    finally:
        _drop_empty_folders(tool.memory_root)
    return answer


def _drop_empty_folders(root: Path) -> None:
    """A folder of ours is the path of its files."""
    for folder in sorted((each for each in root.rglob("*") if each.is_dir()), reverse=True):
        if not any(folder.iterdir()):
            folder.rmdir()


def without_folder_sizes(text: str | None) -> str | None:
    """What a folder takes is a matter of the disk."""
    return text and HEADER_SIZE.sub(r"\1", FOLDER_SIZE.sub(r"\1", text))


def a_path(dice: random.Random) -> str:
    roots = ["/memories/"] * 12 + ["/memories", "/etc/", "/memories/../", "/memories//"]
    return dice.choice(roots) + dice.choice(NAMES) + dice.choice(["", "", "", "", "/"])


def a_command(dice: random.Random) -> dict[str, Any]:
    kind = dice.choice(["view", "view", "create", "create", "str_replace", "insert", "delete", "rename"])
    path = dice.choice(["/memories", "/memories/", a_path(dice), a_path(dice), a_path(dice)])
    match kind:
        case "view":
            lines = dice.choice([None, None, [1, 2], [2, -1], [0, 1], [5, 3], [-4, 2]])
            return {"command": kind, "path": path} | ({} if lines is None else {"view_range": lines})
        case "create":
            return {"command": kind, "path": path, "file_text": dice.choice(TEXTS)}
        case "str_replace":
            old, new = dice.choice(PASSAGES), dice.choice(PASSAGES)
            return {"command": kind, "path": path, "old_str": old, "new_str": new}
        case "insert":
            text = dice.choice(["new", "new\n\n", "", "two\nlines\n"])
            return {"command": kind, "path": path, "insert_line": dice.randint(-1, 4), "insert_text": text}
        case "rename":
            return {"command": kind, "old_path": path, "new_path": a_path(dice)}
        case _:
            return {"command": kind, "path": path}


@pytest.mark.parametrize("seed", range(6))
def test_any_sequence_of_commands_is_answered_as_the_reference_answers_it(
    interface: Interface, memory: Memory, tmp_path: Path, seed: int
) -> None:
    dice, bot = random.Random(seed), memory.agent("bot")
    tool = BetaLocalFilesystemMemoryTool(str(tmp_path))
    for _ in range(20 if interface.remote else 150):  # there each command is a request
        command = a_command(dice)
        expected, answer = theirs(tool, command), ours(bot, command)
        assert answer[0] == expected[0], (command, answer, expected)
        if expected[1] is not None:
            assert without_folder_sizes(answer[1]) == without_folder_sizes(expected[1]), command


def test_a_folder_lists_two_levels_with_sizes_and_without_hidden_files(memory: Memory) -> None:
    bot = memory.agent("bot")
    for path, text in (("a.md", ""), ("b/c.md", "x" * 1536), ("b/d/e.md", "deep"), (".b", "hidden")):
        bot.anthropic.memory("create", path=f"/memories/{path}", file_text=text)
    assert bot.anthropic.memory("view", path="/memories").splitlines() == [
        "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items:",
        "4K\t/memories",
        "0B\t/memories/a.md",
        "4K\t/memories/b/",
        "1.5K\t/memories/b/c.md",
        "4K\t/memories/b/d/",
    ]


def test_a_file_is_shown_with_line_numbers_and_by_range(memory: Memory) -> None:
    bot = memory.agent("bot")
    bot.anthropic.memory("create", path="/memories/f", file_text="a\nb\nc")
    whole = bot.anthropic.memory("view", path="/memories/f")
    assert whole == "Here's the content of /memories/f with line numbers:\n     1\ta\n     2\tb\n     3\tc"
    some = bot.anthropic.memory("view", path="/memories/f", view_range=[2, -1])
    assert some.splitlines()[1:] == ["     2\tb", "     3\tc"]


def test_a_file_that_exists_is_not_created_again(memory: Memory) -> None:
    bot = memory.agent("bot")
    bot.anthropic.memory("create", path="/memories/f", file_text="first")
    with unchanged(memory):
        found = refusal(lambda: bot.anthropic.memory("create", path="/memories/f", file_text="second"))
    assert found == ("conflict", "File /memories/f already exists")


def test_files_are_the_entries_of_the_own_store_and_can_be_restored(memory: Memory) -> None:
    bot = memory.agent("bot")
    bot.anthropic.memory("create", path="/memories/notes/f.md", file_text="about the harbour")
    assert value(bot, "/memories/notes/f.md") == "about the harbour"
    create(bot, "/memories/g", {"n": 1})
    assert bot.anthropic.memory("view", path="/memories/g").endswith('     1\t{"n": 1}')
    bot.anthropic.memory("delete", path="/memories/notes")
    assert value(bot, "/memories/notes/f.md") is None
    bot.restore("notes/f.md")
    assert value(bot, "/memories/notes/f.md") == "about the harbour"


def test_a_key_that_no_path_leads_to_is_no_file(memory: Memory) -> None:
    bot = memory.agent("bot")
    for key in ("/abs", "x/", "../y", "a//b", "https://example.com", "good"):
        bot.stores.memory("create", key=key, content="1")
    lines = bot.anthropic.memory("view", path="/memories").splitlines()[2:]
    assert lines == ["1B\t/memories/good"]
    assert refusal(lambda: bot.anthropic.memory("delete", path="/memories/x"))[0] == "not_found"
    assert bot.stores.memory("view", key="x/")["value"] == "1"


def test_a_folder_is_renamed_whole_or_not_at_all(memory: Memory) -> None:
    bot = memory.agent("bot")
    for path in ("a/one", "a/b/two"):
        bot.anthropic.memory("create", path=f"/memories/{path}", file_text=path)
    bot.anthropic.memory("rename", old_path="/memories/a", new_path="/memories/z/y")
    assert value(bot, "/memories/z/y/one") == "a/one"
    assert value(bot, "/memories/z/y/b/two") == "a/b/two"
    with unchanged(memory):
        code, _ = refusal(
            lambda: bot.anthropic.memory("rename", old_path="/memories/z", new_path="/memories/z/y/x")
        )
    assert code == "conflict"


def test_nobody_sees_the_files_of_another(memory: Memory) -> None:
    memory.agent("bot").anthropic.memory("create", path="/memories/f", file_text="x")
    code, _ = refusal(lambda: memory.agent("other").anthropic.memory("view", path="/memories/f"))
    assert code == "not_found"


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ({"command": "format", "path": "/memories/a"}, "invalid_field"),
        ({"command": "view"}, "missing_field"),
        ({"command": "create", "path": "/memories/a"}, "missing_field"),
        ({"command": "insert", "path": "/memories/a", "insert_text": "x"}, "missing_field"),
        ({"command": "rename", "old_path": "/memories/a"}, "missing_field"),
        ({"command": "view", "path": "/memories/a", "view_range": ["1", 2]}, "invalid_field"),
        ({"command": "view", "path": "/memories/a", "file_text": 5}, "invalid_field"),
        ({"command": "delete", "path": "/memories/a", "insert_line": "1"}, "invalid_field"),
        ({"command": "delete", "path": "/memories/a", "view_range": 1}, "invalid_field"),
        ({"command": "create", "path": "/memories/a", "file_text": "x" * 65_537}, "too_large"),
        ({"command": "create", "path": "/memories/" + "a" * 513, "file_text": "x"}, "too_large"),
        ({"command": "create", "path": "/memories/a\x00", "file_text": "x"}, "invalid_key"),
        ({"command": "create", "path": "/memories/ a", "file_text": "x"}, "invalid_field"),
        ({"command": "view", "path": "/memories/known "}, "not_found"),
        ({"command": "delete", "path": "/memories/known "}, "not_found"),
        ({"command": "rename", "old_path": "/memories/known", "new_path": "/memories/b "}, "invalid_field"),
    ],
)
def test_what_the_reference_has_no_words_for_is_refused_in_ours(
    memory: Memory, said: dict[str, Any], code: str
) -> None:
    bot = memory.agent("bot")
    bot.anthropic.memory("create", path="/memories/known", file_text="x")
    with unchanged(memory):
        assert refusal(lambda: bot.anthropic.memory(**said))[0] == code
