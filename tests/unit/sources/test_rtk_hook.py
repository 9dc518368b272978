"""The hook beyond the recorded vectors: what a rewrite means for a replay, and texts meant to hurt."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dedupstats.sources.rtk_hook import Hooked, hooked, rewrite, session_offset
from dedupstats.sources.rtk_rules import FILTERED, ROWS

RELEASES = ["0.42.4", "0.44.2", "1.1.0"]


# --- rewrite ---


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        # The word behind any redirect counts as its target and stays behind.
        ("head -5 2>&1 f", None),
        ("git log 2>&1 HEAD", "rtk git log 2>&1 HEAD"),
        ("head -5 f>/dev/null", "rtk read f --max-lines 5 >/dev/null"),
        ("git log >& /dev/null", "rtk git log >& /dev/null"),
        ("git log < /dev/null", "rtk git log < /dev/null"),
        ("git log >/dev/null.txt", None),
        ("git log > '/dev/null'", None),
        ("git log >& out", None),
        ("cat > /dev/null a b", None),
        # Quotes hide redirects, only single ones hide substitutions.
        ('git log --grep "a > b"', 'rtk git log --grep "a > b"'),
        ('git log "`x`"', None),
        (r"git log \`x\`", r"rtk git log \`x\`"),
        ("git log '$((1))'", None),
        # Levels of wrappers.
        ("exec " * 9 + "git log", "exec " * 9 + "rtk git log"),
        ("exec " * 10 + "git log", None),
        ("exec", None),
        ("uv run", None),
        ("uv run exec x", "rtk uv run exec x"),
        ("X=1 env sudo Y='a b' git log", "X=1 env sudo Y='a b' rtk git log"),
        ('X="a git log', 'X="a rtk git log'),
        # A later row wins, and a match without usable spelling is left for good.
        ("npm exec lint", None),
        ("npm run  tsc", None),
        ("npx prettierd x", None),
        ("npx x", "rtk npx x"),
        ("uv pip sync", None),
        ("bin/rake test", None),
        ("bin/rails test", "rtk rake test"),
        ("./node_modules/.bin/jest", None),
        ("vendor/bin/phpstan analyze", "rtk phpstan analyze"),
        ("php a/vendor/bin/pest -x", "rtk pest -x"),
        ("golangci-lint --color never --fast run ./x", "rtk golangci-lint --color never --fast run ./x"),
        ("golangci-lint -- run", None),
        ("mvn -q -B clean verify", "rtk mvn -q -B clean verify"),
        ("mvn spring-boot:run", "rtk mvn spring-boot:run"),
        ("/usr/bin/jq . a", "rtk /usr/bin/jq . a"),
        ("(cd a && swift build)", "(cd a && rtk swift build)"),
        ("(cd a && ls)", None),
        # Pipelines.
        ("git log | grep --color=always fix -- -f", "git log | rtk grep --color=always fix -- -f"),
        ("git log | grep -nf p", None),
        ("git log | sudo grep x", "git log | sudo rtk grep x"),
        ("| grep x", None),
        ("git log |& grep x", None),
        ("ls {a,b} | grep x", None),
    ],
)
def test_rewrite(command: str, expected: str | None) -> None:
    assert rewrite(command) == expected


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("git log &&\n\n  ls\ngit diff", "rtk git log && rtk ls\nrtk git diff"),
        ("git log &&\n# why\nls", None),
        ("git log | # why\nhead", None),
        ("git log &&", "rtk git log && "),
        ("ls\ngit log &&\n", "rtk ls\nrtk git log && "),
        ("ls\nf() {\ngit log\n}", None),
        ("ls # (\ngit log", "rtk ls # (\nrtk git log"),
        ("ls '('\n  git log \n", "rtk ls '('\n  rtk git log"),
        ("ls\n&& git log", None),
        ("git commit -m 'a\nb'\nls", None),
        ("git commit -m 'a\nb", None),
        ("timeout -k5 --signal=INT 9 git log", "timeout -k5 --signal=INT 9 rtk git log"),
        ("timeout --unknown 9 git log", None),
        ("nice -n 5 -- git log", "nice -n 5 -- rtk git log"),
        ("nice +5 git log", "nice +5 rtk git log"),
        ("nice", None),
        ("sh -c 'cd a && git log'", "sh -c 'cd a && rtk git log'"),
        ('bash -c "git log $X"', None),
        ("bash -lc 'git log'", None),
        ("tail -5 a b", None),
        ("java -jar my-Spring.jar", "rtk java -jar my-Spring.jar"),
        ("rg --files-with-matches x | head", None),
        ("rg x | tail --follow", None),
        ("pnpm -r --filter a i", "rtk pnpm -r --filter a i"),
    ],
)
def test_rewrite_of_1_1_0(command: str, expected: str | None) -> None:
    assert rewrite(command, "1.1.0") == expected


def test_an_unknown_release_is_refused() -> None:
    with pytest.raises(KeyError):
        rewrite("git status", "0.43.0")


def test_input_above_1_mib_is_left() -> None:
    fits = "git log " + "x" * ((1 << 20) - 8)
    assert rewrite(fits) == "rtk " + fits
    assert rewrite(fits + "x") is None


def test_ignored_commands_are_in_no_table() -> None:
    """Otherwise they would need a list of their own."""
    ignored = re.findall(
        r"\S+",
        """cd echo printf export source mkdir rm mv cp chmod chown touch which type test sleep kill set unset
        sort uniq tr cut awk sed for while if case then else do done fi rtk bash sh true false wait pwd
        node ruby""",
    )
    first_words = {name.split()[0] for row in ROWS + FILTERED for name in row.names}
    assert first_words.isdisjoint(ignored)
    assert rewrite("python -c 'import pytest'") is None


# --- session_offset ---


@pytest.mark.parametrize(
    ("rewritten", "offset"),
    [
        ("rtk ls", 3),
        ("rtk", 3),
        (" rtk ls", None),
        ("rtkx ls; rtk ls", 12),
        ("FOO=1 rtk ls", None),
        ("sudo rtk ls && rtk git log", 18),
        ("{ rtk ls; }", None),
        ("( rtk ls )", None),
        ("! rtk ls", None),
        ("(cd a && rtk ls)", 12),
        ("ls\nrtk ls", None),
        ("echo '&& rtk ls' && rtk git status", 12),
        ("é & rtk ls", 7),
    ],
)
def test_session_offset(rewritten: str, offset: int | None) -> None:
    assert session_offset(rewritten) == offset


# --- hooked ---


@pytest.mark.parametrize(
    ("command", "identity", "mode"),
    [
        ("git rebase x", None, "no"),
        ("rtk git status", None, "no"),
        ("FOO=1 pytest", None, "no_session"),
        ("uv run pytest", None, "no_session"),
        # Spliced into the quotes, so the real command has none.
        ("echo '&& rtk ls' && git status", None, "no_session"),
        ("git status", "git status", "exact"),
        ("git log -5 2>&1", "git log -5", "exact"),
        ("git log 2>&1 HEAD", "git log HEAD", "exact"),
        ("git log --grep '2>&1' 2>/dev/null", "git log --grep '2>&1'", "exact"),
        ("git commit -m 'a\nb'", "git commit -m 'a\nb'", "exact"),
        ("git status # what now", "git status", "exact"),
        ("git status &", "git status", "exact"),
        ("ls a#b", "ls a#b", "exact"),
        ("git log ${A} 'x'", "git log ${A} 'x'", "exact"),
        # Only commands before and behind it that print nothing.
        ("cd 'a b' && git status || true", "git status", "exact"),
        ("A=1 B='x;y'; export C=$A; set -euo pipefail; mkdir -p d; ls d", "ls d", "exact"),
        ("(cd a && git status)", "git status", "exact"),
        ("{ cd a; git status; }", "git status", "exact"),
        ("cd - && ls", "ls", "mixed"),
        ("set -x; ls", "ls", "mixed"),
        ("A=1 x; ls", "ls", "mixed"),
        ("echo x; ls", "ls", "mixed"),
        ("git status; git log", "git status", "mixed"),
        ("git status\ngit log", "git status", "mixed"),
        ("cd a && FOO=1 git log; git status", "git status", "mixed"),
        # What the other stages print goes into the pipe.
        ("cd a && git log | sort | grep fix", "grep fix", "exact"),
        ("git log | grep x; git log | sort", "grep x", "mixed"),
        # The model's own `rtk` gets the session, its output is not what the model sees.
        ("rtk git log | head && FOO=1 git status", "git log", "mixed"),
        # `rtk read` decides file by file.
        ("cat a.txt", "read:a.txt", "exact"),
        ("cat -n 'a b.txt' 2>/dev/null", "read:a b.txt", "exact"),
        (r'cat "a"\ b', "read:a b", "exact"),
        ('cat "$F"', "read:$F", "exact"),
        ("head -20 a.txt", "read:a.txt", "exact"),
        ("cd a; tail -n 5 x", "read:x", "exact"),
        ("cat a b", "read:a b", "mixed"),
        ("cat *.md", "read:*.md", "mixed"),
        ("cat '*.md'", "read:*.md", "exact"),
    ],
)
def test_hooked(command: str, identity: str | None, mode: str) -> None:
    assert hooked(command) == Hooked(rewrite(command), identity, mode)


# --- texts meant to hurt ---

MANY = 100_000


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(piece * (MANY // len(piece) + 1) + tail, id=f"{piece[:16]!r}*")
        for piece, tail in [
            *(
                (piece, "git log")
                for piece in ("(", "{ ", "\\", "`", "$", "/", "=", "exec ", "env ", "A=1 ", "; ")
            ),
            *(
                (piece, "git log")
                for piece in ('A="\\" ', "A='\"' ", "a=x';", "uv run ", "& ", "rtk ls; ", "[ ")
            ),
            *(
                (piece, "")
                for piece in ("git ", "git;", "git log '", 'git log "', "git log\n", "git log &&\n")
            ),
            *(
                (piece, "")
                for piece in ("(git log;", "git log & ", "git log | ", "git log \0", "git log \udc80")
            ),
            *(
                (piece, "")
                for piece in ("git log \\\n", "git log #", "bash -c '", "git log 2>&1 x ", "cat 'a' ")
            ),
        ]
    ]
    + [
        pytest.param(head + piece * (MANY // len(piece)) + tail, id=f"{head}{piece[:16]!r}*")
        for head, piece, tail in [
            ("git", " ", "log"),
            ("git log", " ", "\\\n x"),
            ("git log", " \\", "\n"),
            ("git log ", ">", ""),
            ("git log ", ">/dev/null ", "x"),
            ("git log ", "1", ">/dev/null x"),
            ("git log;", " ", "x"),
            ("git log &&", "\n", ""),
            ("git log ", " #", ""),
            ("git log ", "'\"", ""),
            ("git log ", '"\\"', ""),
            ("git ", "-C x ", "log"),
            ("git ", "-C ", ""),
            ("pnpm ", "-r ", "x"),
            ("golangci-lint ", "-c x ", ""),
            ("mvn ", "test", ""),
            ("mvn ", "a ", ""),
            ("java -jar ", "spring", ""),
            ("java -jar ", ".jar ", ""),
            ("php ", "a/", "phpunit"),
            ("", "vendor/bin/", "phpunit"),
            ("timeout ", "-k 5 ", ""),
            ("ls ", "|a", "|grep x"),
            ("ls | grep ", "-a ", "-f"),
            ("ls | tail ", " -", ""),
            ("head -", "5", " a b"),
            ("cat ", "a ", ""),
            ("cat ", "\\a", ""),
            ("cd", " ", "; git log"),
            ("set -", "a", "; git log"),
        ]
    ],
)
def test_hostile_texts_end_and_do_not_raise(command: str) -> None:
    """Where time grew with the square of the length, these would take minutes each."""
    assert hooked(command).mode in ("no", "no_session", "exact", "mixed")
    for release in RELEASES:
        rewrite(command, release)


PIECES = [
    *(
        "git log",
        "git",
        "log",
        "ls",
        "cat a",
        "head -5 f",
        "npx tsc",
        "uv run",
        "timeout 5",
        "bash -c",
        "rtk",
        "cd a",
    ),
    *(
        "|",
        "|&",
        "||",
        "&&",
        "&",
        ";",
        "\n",
        "\r\n",
        "\\\n",
        "\\",
        "'",
        '"',
        "`",
        "$(",
        "$((",
        "$X",
        "(",
        ")",
        "{",
        "}",
    ),
    *(
        ">",
        ">>",
        "<",
        "<<",
        "2>&1",
        ">/dev/null",
        "> out",
        " ",
        "\t",
        "#",
        "A=1",
        "FOO='x y'",
        "-f",
        "é",
        "\0",
        "\udc80",
    ),
]
COMMANDS = st.lists(st.sampled_from(PIECES), max_size=12).map(" ".join) | st.lists(
    st.sampled_from(PIECES), max_size=12
).map("".join)


@settings(max_examples=200, deadline=None, derandomize=True, database=None)
@given(COMMANDS | st.text(max_size=40))
def test_any_text(command: str) -> None:
    for release in RELEASES:
        rewritten = rewrite(command, release)
        if rewritten is not None:
            assert re.search(r"\brtk ", rewritten)
            assert [rewritten.count(quote) for quote in "'\""] == [command.count(quote) for quote in "'\""]
    got = hooked(command)
    assert got.rewritten == rewrite(command)
    if got.identity is not None:
        assert session_offset(got.rewritten or "") is not None
