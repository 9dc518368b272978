import hashlib
import json
import math
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dedupstats.sources import calls, go_json
from dedupstats.sources.calls import keys
from dedupstats.sources.go_json import canonical


def sha64(data: bytes) -> int:
    value = int(hashlib.sha256(data).hexdigest()[:16], 16)
    return value - (1 << 64) if value >> 63 else value


def norm(arguments: dict[str, Any], *, tool: str = "t", cwd: str | None = None) -> int:
    return keys(tool, json.dumps(arguments), cwd).norm_key


def same_norm(one: dict[str, Any], other: dict[str, Any], *, tool: str = "t", cwd: str | None = None) -> bool:
    return norm(one, tool=tool, cwd=cwd) == norm(other, tool=tool, cwd=cwd)


# ----------------------------------------------------------------------------
# The three hashes


def test_keys_are_cuts_of_the_documented_hashes() -> None:
    found = keys("Read", '{"path": "/a", "n": 1}', None)
    assert found.call_key == sha64(b'Read\0{"n":1,"path":"/a"}')
    assert found.args_sha64 == sha64(b'{"n":1,"path":"/a"}')
    assert found.norm_key == found.call_key


def test_text_and_its_bytes_have_the_same_keys() -> None:
    text = '{"s": "é<\u2028", "f": 1.5}'
    assert keys("t", text, None) == keys("t", text.encode(), None)


def test_a_remembered_call_has_the_keys_of_a_new_one() -> None:
    first = keys("t", b'{"a":1}', None)
    assert keys("t", b'{"a":1}', None) == first
    calls._memo.clear()
    assert keys("t", b'{"a":1}', None) == first


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "_MEMO_CALLS", 3)
    calls._memo.clear()
    for number in range(10):
        keys("t", f'{{"a":{number}}}', None)
    keys("t", '{"a":"' + "x" * 5_000 + '"}', None)
    assert len(calls._memo) == 1


def test_tool_and_working_directory_are_part_of_the_memory() -> None:
    assert keys("a", '{"path":"x"}', "/1").call_key != keys("b", '{"path":"x"}', "/1").call_key
    assert keys("a", '{"path":"x"}', "/1").norm_key != keys("a", '{"path":"x"}', "/2").norm_key


@pytest.mark.parametrize(
    ("one", "other", "same_call", "same_arguments"),
    [
        # The corner cases of docker-agent.md section 4 that are about the key.
        pytest.param('{"a":1,"b":"x"}', ' {"b":"\\u0078", "a":1}', True, True, id="D14"),
        pytest.param('{"n":1}', '{"n":1.0}', True, True, id="D15-fraction"),
        pytest.param('{"n":1}', '{"n":1e0}', True, True, id="D15-exponent"),
        pytest.param('{"n":1e23}', '{"n":100000000000000000000000}', True, True, id="D15-large"),
        pytest.param('{"n":1}', '{"n":"1"}', False, False, id="D15-string"),
        pytest.param('{"n":9007199254740992}', '{"n":9007199254740993}', True, False, id="D16"),
        pytest.param("{}", "", True, True, id="D17-empty"),
        pytest.param("null", "[1]", True, False, id="D17-no-object"),
        pytest.param('{"a":', '{"b":', True, False, id="D17-broken"),
        pytest.param('{"a":1e400}', '{"a":1e401}', True, False, id="D17-overflow"),
        pytest.param('{"a":1,"a":2}', '{"a":2}', True, True, id="D18"),
        pytest.param('{"a":{"x":1,"x":2.5}}', '{"a":{"x":2.5}}', True, True, id="D18-slow"),
        pytest.param('{"p":"a"}', '{"p":"./a"}', False, False, id="D19"),
        pytest.param('{"n":-0}', '{"n":-0.0}', True, True, id="D20-same"),
        pytest.param('{"n":0}', '{"n":-0}', False, False, id="D20-differs"),
        pytest.param('{"s":"\u00e9"}', '{"s":"e\u0301"}', False, False, id="D21-composition"),
        pytest.param('{"s":"\\ud800"}', '{"s":"\\udfff"}', True, False, id="D21-surrogates"),
        pytest.param('{"s":"\\ud800"}', '{"s":"\ufffd"}', True, False, id="D21-replacement"),
        pytest.param('{"o":{"b":[1],"a":null}}', '{"o":{"a":null,"b":[1]}}', True, True, id="D56"),
        pytest.param('{"\\ud800":1,"\\udc00":2}', '{"\ufffd":2}', True, False, id="D59"),
        pytest.param('{"f":0.1}', '{"f":0.10000000000000000555}', True, True, id="D60"),
    ],
)
def test_same_call_and_same_arguments(one: str, other: str, same_call: bool, same_arguments: bool) -> None:  # noqa: FBT001
    first, second = keys("t", one, None), keys("t", other, None)
    assert (first.call_key == second.call_key) is same_call
    assert (first.args_sha64 == second.args_sha64) is same_arguments


@pytest.mark.parametrize("arguments", ["", " \n", "null", b""])
def test_no_arguments_are_no_arguments_however_they_are_written(arguments: str | bytes) -> None:
    assert keys("t", arguments, None) == keys("t", "{}", None)


def test_text_that_is_no_json_is_hashed_as_it_stands() -> None:
    assert keys("t", "{broken", None).args_sha64 == sha64(b"{broken")
    assert keys("t", b"{\xff", None).args_sha64 == sha64(b"{\xff")
    assert keys("t", "\ud800", None).args_sha64 == sha64(b"\xed\xa0\x80")
    assert keys("t", "{broken", None).norm_key == sha64(b"t\0null")


def test_integers_of_any_length_stay_exact() -> None:
    digits = "123456789" * 600
    assert keys("t", f'{{"n":{digits}}}', None).args_sha64 == sha64(f'{{"n":{digits}}}'.encode())
    assert canonical(f'{{"n":{digits}}}') == "null"


# ----------------------------------------------------------------------------
# Canonical text beyond the recorded vectors


def test_the_last_of_names_that_become_one_wins_by_place_in_the_text() -> None:
    assert canonical('{"\\ud800":1,"\\udc00":2,"\\ud800":3}') == '{"\ufffd":3}'
    assert canonical('{"\\ud800":1,"\\udc00":2}') == '{"\ufffd":2}'


@pytest.mark.parametrize(
    ("raw", "replacements"),
    [(b"\xff", 1), (b"\xe2\x82", 2), (b"\xed\xa0\x80", 3), (b"\xf0\x9f\x98", 3), (b"\xc0\x80", 2)],
)
def test_each_invalid_byte_is_one_replacement(raw: bytes, replacements: int) -> None:
    assert canonical(b'{"a":"x' + raw + b'y"}') == '{"a":"x' + "\ufffd" * replacements + 'y"}'


def test_surrogates_in_the_text_itself() -> None:
    assert canonical('{"a":"\ud800"}') == '{"a":"\ufffd"}'
    assert keys("\ud800", '{"a":"\ud800"}', "/\ud800") == keys("\ud800", '{"a":"\\ud800"}', "/\ud800")
    assert keys("t", '{"path":"a"}', "/\ud800").norm_key == sha64('t\0{"path":"/\ufffd/a"}'.encode())


@pytest.mark.parametrize("opening", ["[", '{"a":'])
def test_nesting_up_to_the_limit_of_go(opening: str) -> None:
    closing = "]" if opening == "[" else "}"

    def nested(levels: int) -> str:
        inner = levels - 1
        return '{"a":' + opening * inner + "1" + closing * inner + "}"

    assert canonical(nested(10_000)) == nested(10_000)
    assert keys("t", nested(10_000), None).args_sha64 == sha64(nested(10_000).encode())
    assert canonical(nested(10_001)) == "null"
    assert canonical(opening * 200_000) == "null"


BROKEN = [
    *("[", "{", "}", "]", "[]]", "{}{}", '"', ":", ",", "tru", "nul", "-", "1.", ".1", "01", "1 2", "\v1"),
    *('{"a"}', '{"a":1]', "[1}", "[1,]", '{"a":1,}', "[,1]", '{,"a":1}', '{"a"::1}', '{"a":\f1}', '"\\x"'),
    *("[1 2]", "{1:2}", '{"a":1 "b":2}', "\ufeff1"),
]


@pytest.mark.parametrize("text", BROKEN)
def test_broken_json_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="JSON"):
        go_json.parse(text)


# ----------------------------------------------------------------------------
# Properties

strings = st.text() | st.text(alphabet='"\\/<>&\x00\b\t\x1f\x7f\u2028\u2029é\ufffd😀-0', max_size=8)
plain_values = st.recursive(
    strings | st.booleans() | st.none() | st.integers(-(2**60), 2**60) | st.integers(-2, 2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(strings, inner, max_size=3),
    max_leaves=8,
)
names = strings | st.sampled_from(["path", "paths", "command", "description", "timeout", "file_path"])
paths = st.text(alphabet="abC:/\\.~ ", max_size=12)
plain_arguments = st.dictionaries(names, plain_values | paths | st.lists(paths, max_size=3), max_size=5)
working_directories = st.none() | st.sampled_from(["/w", "/", "C:\\w", "\\\\host\\share\\w", "w", "/é"])
#: Pieces that put together are JSON often enough, and duplicate names and odd numbers with it.
PIECES = [
    *('"a"', '"b"', '"-0"', '"\\ud800"', '"\\ud83d\\ude00"', ":", ",", "{", "}", "[", "]", " ", "\n"),
    *("-0", "0", "1", "1.0", "2e5", "9007199254740993", "null", "true"),
]
pieces = st.lists(st.sampled_from(PIECES), max_size=14).map("".join)


def fast_keys(tool: str, text: str, cwd: str | None) -> calls.Keys | None:
    try:
        return calls._fast_keys(tool, text, cwd)[0]
    except go_json.NOT_PLAIN:
        return None


@given(plain_arguments, st.sampled_from(["t", "Bash", "PowerShell"]), working_directories, st.booleans())
def test_both_paths_agree(arguments: dict[str, Any], tool: str, cwd: str | None, ascii_only: bool) -> None:  # noqa: FBT001
    text = json.dumps(arguments, ensure_ascii=ascii_only)
    assert fast_keys(tool, text, cwd) in {None, calls._slow_keys(tool, text, cwd)}


def test_the_fast_path_takes_plain_arguments() -> None:
    text = '{"command": "ls <a>\\n", "n": [1, -7, {"x": null}], "b": true}'
    assert fast_keys("Bash", text, "/w") == calls._slow_keys("Bash", text, "/w")


@given(pieces)
@example('{"a":-0}')
@example('{"a":[ -0\n]}')
@example('{"a":"-0","b":0,"a":{"a":1,"a":2}}')
def test_both_paths_agree_on_odd_text(text: str) -> None:
    for odd in (text, f'{{"a":{text}}}'):
        assert fast_keys("t", odd, None) in {None, calls._slow_keys("t", odd, None)}


@given(pieces)
def test_the_parser_takes_what_the_standard_library_takes(text: str) -> None:
    try:
        expected = json.loads(text)
    except ValueError:
        with pytest.raises(ValueError, match="JSON"):
            go_json.parse(text)
    else:
        as_written = go_json._Style(string=str, number=str)
        assert (
            json.loads(go_json._write(go_json.parse(text), as_written).decode(errors="surrogatepass"))
            == expected
        )


@given(st.text() | st.binary())
def test_any_text_has_keys(arguments: str | bytes) -> None:
    assert keys("t", arguments, "/w")


@given(st.floats(allow_nan=False, allow_infinity=False))
@example(1e21)
@example(999999999999999934463.0)
@example(1e-6)
@example(9.999999999999999e-7)
@example(-0.0)
@example(5e-324)
def test_go_numbers(number: float) -> None:
    text = go_json._go_number(repr(number))
    assert float(text) == number
    assert math.copysign(1, float(text)) == math.copysign(1, number)
    digits = text.lstrip("-").partition("e")[0].replace(".", "").strip("0")
    assert len(digits) == len(Decimal(repr(number)).normalize().as_tuple().digits) or number == 0
    assert ("e" in text) is (number != 0 and not 1e-6 <= abs(number) < 1e21)


@given(plain_arguments)
def test_canonical_text_is_its_own_canonical_text(arguments: dict[str, Any]) -> None:
    text = canonical(json.dumps(arguments))
    assert canonical(text) == text


# ----------------------------------------------------------------------------
# Normalisation


def test_spelling_of_a_path_changes_the_call_but_not_the_normalised_one() -> None:
    one = keys("read_file", '{"path":"a","limit":5}', "/w")
    two = keys("read_file", '{"limit":5,"path":"a"}', "/w")
    three = keys("read_file", '{"path":"./a","limit":5}', "/w")
    assert one == two
    assert one.call_key != three.call_key
    assert one.norm_key == three.norm_key


@pytest.mark.parametrize(
    ("path", "cwd", "expected"),
    [
        ("a/b", "/w", "/w/a/b"),
        ("./a//b/", "/w", "/w/a/b"),
        ("../a", "/w/x", "/w/a"),
        ("../../../a", "/w", "/a"),
        ("/a/../b/./c", "/w", "/b/c"),
        ("/a/..b/.c", "/w", "/a/..b/.c"),
        ("/", "/w", "/"),
        ("//a/b", "/w", "/a/b"),
        ("///a", None, "/a"),
        (".", "/w/", "/w"),
        ("a\\b", "/w", "/w/a/b"),
        ("a:b", "/w", "/w/a:b"),
        ("~/a/../b", "/w", "~/b"),
        ("~a", "/w", "/w/~a"),
        ("https://x.example/a//b", "/w", "https://x.example/a//b"),
        ("./a/../../b", None, "../b"),
        (".", None, "."),
        ("C:\\a\\..\\B", None, "c:/B"),
        ("C:a", None, "c:a"),
        ("b\\c", "C:\\a", "c:/a/b/c"),
        ("..\\b", "C:\\a", "c:/b"),
        ("..\\..\\b", "C:\\a", "c:/b"),
        ("D:/x/./y", "C:\\a", "d:/x/y"),
        ("c:x", "C:\\a", "c:/a/x"),
        ("D:x", "C:\\a", "d:x"),
        ("/x", "C:\\a", "c:/x"),
        ("\\x", "c:/a", "c:/x"),
        ("\\\\host\\share\\.\\x", "/w", "//host/share/x"),
        ("//host/share/x", "C:\\a", "//host/share/x"),
        ("x", "\\\\host\\share", "//host/share/x"),
    ],
)
def test_paths(path: str, cwd: str | None, expected: str) -> None:
    assert calls._path(path, cwd) == expected


def test_lists_of_paths() -> None:
    assert same_norm({"paths": ["a", "./b", 1]}, {"paths": ["/w/a", "b", 1]}, cwd="/w")
    assert not same_norm({"paths": ["a", "b"]}, {"paths": ["b", "a"]}, cwd="/w")


@pytest.mark.parametrize("empty", [None, "", [], {}])
def test_empty_members_are_dropped(empty: object) -> None:
    assert same_norm({"a": 1, "b": empty}, {"a": 1})
    assert norm({"b": empty}) == sha64(b"t\0null")


@pytest.mark.parametrize("value", [0, False, 0.0, " ", [None], {"a": None}])
def test_other_members_are_kept(value: object) -> None:
    assert not same_norm({"a": 1, "b": value}, {"a": 1})


def test_a_description_is_dropped_where_it_is_a_remark() -> None:
    for tool in ("Bash", "PowerShell", "shell", "git_log", "write_file"):
        assert same_norm({"cmd": "ls", "description": "x"}, {"cmd": "ls"}, tool=tool)
    assert not same_norm({"prompt": "p", "description": "x"}, {"prompt": "p"}, tool="Task")


def test_a_timeout_is_dropped() -> None:
    assert same_norm({"command": "ls", "timeout": 5.5}, {"command": "ls"}, tool="Bash")


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("  ls   -l\t a \n", "ls -l a"),
        ("grep 'a  b'  \"c  d\"   e", "grep 'a  b' \"c  d\" e"),
        ('echo "a\\"  b"  c', 'echo "a\\"  b" c'),
        ("cat a\\   b", "cat a\\  b"),
        ("echo 'open   end", "echo 'open   end"),
        ("cat <<E\na   b\nE\n", "cat <<E\na   b\nE"),
        ("a  b\nc  d", "a b\nc d"),
        ("", ""),
    ],
)
def test_commands(command: str, expected: str) -> None:
    assert calls._command(command, calls._SHELL_BLANKS) == expected
    if expected:
        assert same_norm({"command": command}, {"command": expected}, tool="Bash")


def test_powershell_escapes_with_a_backtick() -> None:
    assert same_norm({"command": 'ls "C:\\a\\"  b'}, {"command": 'ls "C:\\a\\" b'}, tool="PowerShell")
    assert not same_norm({"command": 'ls "a`"  b"'}, {"command": 'ls "a`" b"'}, tool="PowerShell")


def test_a_command_that_is_a_list_is_left_alone() -> None:
    assert not same_norm({"command": ["a  b"]}, {"command": ["a b"]})
