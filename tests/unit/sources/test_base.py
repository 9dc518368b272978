"""Keys, interned names, and the measuring of shown text."""

from __future__ import annotations

import hashlib
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedupstats.model import Provenance, ReadOnly
from dedupstats.sources import SOURCES, all_sources
from dedupstats.sources.base import Names, hash64, mix64
from dedupstats.sources.measure import SHORT, class_counts, measure, sha64, to_bytes, to_storable

ANY_TEXT = st.text(st.characters(codec=None))
"""Lone surrogates and NUL included."""


def test_a_key_is_the_same_on_every_machine() -> None:
    digest = hashlib.blake2b(b"claude_code\0a", digest_size=8).digest()
    assert hash64("claude_code", "a") == int.from_bytes(digest, "big", signed=True)
    assert hash64("a", "b") != hash64("ab") != hash64("b", "a")


@given(ANY_TEXT)
def test_every_text_has_a_key_that_the_store_can_hold(text: str) -> None:
    assert -(2**63) <= hash64(text) < 2**63


def test_keys_of_the_rows_of_a_context_differ_and_fit() -> None:
    keys = [
        mix64(key, number)
        for key, number in itertools.product((0, 1, -1, 2**63 - 1, -(2**63), hash64("a")), range(2000))
    ]
    assert len(set(keys)) == len(keys)
    assert all(-(2**63) <= key < 2**63 for key in keys)


def test_mix64_is_splitmix64() -> None:
    # first outputs of the reference implementation for seed 0 (Vigna, splitmix64.c)
    reference = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]
    assert [mix64(0, number) % 2**64 for number in range(3)] == reference


def test_names_are_interned_once() -> None:
    names = Names()
    assert names.key("a") == names.key("a") == Names().key("a") == hash64("a")
    assert names.texts == {hash64("a"): "a"}
    assert names.optional(None) is None
    assert names.optional("") is None
    assert names.optional("b") == hash64("b")


def test_a_tool_is_its_name_and_what_is_known_of_it() -> None:
    names = Names()
    plain = names.tool("Réad")
    known = names.tool("Réad", "file", ReadOnly.YES, Provenance.TABLE)
    assert plain != known
    assert names.tool("Réad") == plain
    assert names.tools[plain] == ("Réad", None, ReadOnly.UNKNOWN.value, Provenance.NONE.value, 5)
    assert names.tool("a\ud83d") in names.tools


@given(ANY_TEXT)
def test_measuring_against_counting_by_hand(text: str) -> None:
    data = text.encode("utf-8", "surrogatepass")
    found = measure(text)
    assert found.sha256 == hashlib.sha256(data).digest()
    assert found.sha64 == sha64(data) == int.from_bytes(found.sha256[:8], "big", signed=True)
    assert (found.bytes, found.chars) == (len(data), len(text))
    assert found.lines == len(data.split(b"\n")) - data.endswith(b"\n") - (not data)
    ascii_text = [character for character in text if ord(character) < 128]
    counts = (
        sum(character.isalpha() for character in ascii_text),
        sum(character.isdigit() for character in ascii_text),
        sum(character in "\r\n" for character in ascii_text),
        sum(not character.isalnum() and character not in " \t\r\n" for character in ascii_text),
        len(data) - len(ascii_text),
    )
    assert (found.letters, found.digits, found.newlines, found.other_ascii, found.non_ascii) == counts
    assert class_counts(data) == counts


@given(ANY_TEXT.filter(bool))
def test_long_texts_are_counted_as_short_ones_are(text: str) -> None:
    part = measure(text + "\n")
    times = SHORT // part.bytes + 1
    assert part.bytes <= SHORT < part.bytes * times
    assert measure((text + "\n") * times)[2:] == tuple(number * times for number in part[2:])


def test_what_is_hashed_beside_the_text_changes_no_size() -> None:
    plain, more = measure("ab"), measure("ab", b"\0image")
    assert plain.sha256 != more.sha256
    assert plain[2:] == more[2:]


def test_half_a_surrogate_pair() -> None:
    assert to_bytes("a\ud83d") == b"a\xed\xa0\xbd"
    assert to_storable("a\ud83d") == r"a\ud83d"
    assert to_storable("a\U0001f600\0") == "a\U0001f600\0"


def test_the_list_of_sources() -> None:
    assert [source.name for source in all_sources()][: len(SOURCES)] == list(SOURCES)
    with pytest.raises(KeyError):
        SOURCES["nobody"]
