r"""What RTK's Claude Code hook makes of a Bash command.

RTK elides repeated output only in processes that carry a session, and a process gets its session from the
hook: it rewrites a command such as `git status` to `rtk git status`, and session output dedup splices
` --session <id>` into the result. A transcript keeps the command as the model wrote it, so a replay has to
know what the hook would have done with it.

The rules are those of the published binaries 0.42.4, 0.44.2 and 1.1.0, permission rules and configuration
left out; the place of the session is that of RTK pull request 2937. In short:

- Nothing is rewritten if there is a substitution or a redirect to or from a file anywhere.
- Operators and `&` split the line into clauses, each is decided alone. Up to 0.44.2 a newline is a blank like
  any other; 1.1.0 decides each line.
- Of a pipeline, 0.42.4 rewrites the first stage, 0.44.2 only a last `grep` or `rg`, 1.1.0 also a first
  stage that only `cat`, `head` or `tail` read from.
- Assignments and wrappers (`env`, `command`, `uv run`) stay in front, trailing redirects stay behind, the
  rest is looked up in the tables of `rtk_rules`.

Every pattern is anchored and every repetition possessive or bounded, so time is linear in the length of the
command whatever is in it; no text raises.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import Final, Literal, NamedTuple

from dedupstats.sources.rtk_rules import (
    FILTERED,
    MAX_WRAPPERS,
    PHP_NAMES,
    PHP_TOOLS,
    PROCESS_WRAPPERS,
    ROWS,
    SHELLS,
    WRAPPERS,
    Release,
    Row,
)

__all__ = ["Hooked", "hooked", "rewrite", "session_offset"]

_RELEASES: Final = {release.version: release for release in Release}

# RTK refuses hook input of more bytes than this. The input is JSON around the command, so its length in
# characters is a lower bound.
_MAX_INPUT: Final = 1 << 20

# Words in quotes or with escapes, as the hook reads them: an open quote runs to the end.
_QUOTED: Final = r"""\\.?+|'[^']*+'?+|"(?:[^"\\]++|\\.?+)*+"?+"""
_REDIRECT: Final = r"&>>?|>>?(?:&[0-9-]*+)?|<<?"

# The gate and the early exit in one: matches a whole command that has no substitution and no redirect with a
# file. Not files are `>&1`, `>&-` and the word /dev/null. Single quotes hide everything, double quotes hide
# redirects only.
_UNGATED: Final = re.compile(
    r"""(?:
        [^\\'"`$<>&]++ | \\.?+ | '[^']*+(?:'|\Z) | "(?:[^"\\`$]++|\\.?+|\$(?!\())*+(?:"|\Z)
        | \$(?!\() | >>?&[0-9-]++
        | (?:&>>?|>>?&?|<(?!<))\s*+/dev/null(?=[\s$*?`(){}!|;&<>]|\Z) | &(?!>)
    )*+\Z""",
    re.VERBOSE | re.DOTALL,
)
# With the blanks around it; those before it only from where they begin, or a run of blanks costs its square.
_CONTINUATION: Final = re.compile(r"(?:(?<![ \t\v\f])[ \t\v\f]+)?\\\r?\n[ \t\v\f]*+")

# Wherever a clause begins, there is the start or one of these before it.
_MARKS: Final = re.compile(r"[|&;(){}<>\n]")

# What may fail the gate: a command without it need not be matched.
_GATES: Final = re.compile(r"[<>`$]")

# Up to and with the next operator, pipe, `&` or grouping mark outside quotes, or the end. Such patterns match
# wherever they are tried, but for the end itself, so `finditer` goes through a text without searching.
_SEPARATOR: Final = re.compile(
    rf"""(?!\Z)(?:[^\\'"|&;<>()\{{\}}]++|{_QUOTED}|{_REDIRECT})*+(\|\||&&|;|\|&?|&|[()\{{\}}]|\Z)""",
    re.DOTALL,
)
# Up to and with the next line break outside quotes.
_LINE_BREAK: Final = re.compile(rf"""(?:[^\\'"\r\n]++|{_QUOTED})*+([\r\n])""", re.DOTALL)
_BALANCED: Final = re.compile(r"""(?:[^\\'"]++|\\.?+|'[^']*+'|"(?:[^"\\]++|\\.?+)*+")*+\Z""", re.DOTALL)
# Tokens of one clause: a redirect, a word, or a mark that is neither.
_TOKEN: Final = re.compile(
    rf"""(?P<redirect>[0-9]*+>>?(?:&[0-9-]*+)?|&>>?|<<?)
        | (?P<word>\$[A-Za-z_][A-Za-z0-9_]*+|(?:[^\s\\'"$*?`(){{}}!|;&<>]++|{_QUOTED})++)
        | [^\s]""",
    re.VERBOSE | re.DOTALL,
)

# A quoted value ends with a blank behind it, else it is no quoted value and goes up to the first blank.
_ASSIGNMENT: Final = (
    r"""[A-Z_][A-Z0-9_]*+=(?:"(?:[^"\\]++|\\.)*+"(?=\s)|'(?:[^'\\]++|\\.)*+'(?=\s)|\S*+)\s++"""
)
# First words with which `_Rules.lead` (or an assignment) and `_Rules.wrapper` can match.
_LEADS: Final = frozenset({"env", "sudo"})
_WRAPPED: Final = frozenset(name.split()[0] for names in WRAPPERS.values() for name in names)
_JOINS: Final = {"&&": " && ", "||": " || ", "&": " & ", ";": "; ", "": ""}

# Searches that 0.44.2 leaves in a pipeline: patterns from a file.
_PATTERN_FILE: Final = re.compile(r"-(?!-)\S*f|--file(?:=|\Z)")
# And as first stage of one, 1.1.0 only: lists of files.
_FILE_LIST: Final = re.compile(r"-(?!-)\S*[lL]|--files(?:-with\S*)?\Z")
# A stage that shows what it reads: 1.1.0 lets its predecessor be rewritten.
_SHOWS: Final = re.compile(r"(?:cat|head)(?=\s|\Z)|tail(?!.*?\s(?:-(?!-)\S*[fF]|--f))(?=\s|\Z)", re.DOTALL)

_OPERAND: Final = r"(?!-)[A-Za-z0-9._/~+@:,=-]+"
_HEAD: Final = re.compile(r"head\s++-(?:-lines=)?(\d++)\s++(\S++)\Z")
_TAIL: Final = re.compile(r"tail\s++-(?:n\s++|-lines(?:=|\s++))?(\d++)\s++(\S++)\Z")
_HEAD_1_1: Final = re.compile(rf"head\s++(?:-(?:n\s++|-lines(?:=|\s++))?(\d++)\s++)?({_OPERAND})\Z")
_TAIL_1_1: Final = re.compile(rf"tail\s++-(?:n\s++|-lines(?:=|\s++))?(\d++)\s++({_OPERAND})\Z")
_HEAD_DEFAULT: Final = "10"

# The script of `bash -c`; in double quotes only if the outer shell has nothing to expand in it.
_SHELL_SCRIPT: Final = re.compile(
    rf"""(?:\S*/)?(?:{SHELLS})[ \t]++-c[ \t]++(?:'([^'\0\r\n]+)'|"([^"\0\r\n$`\\]+)")(?=[ \t]|\Z)"""
)
_WORD: Final = re.compile(rf"""(?:[^\s\\'"]++|{_QUOTED})++""", re.DOTALL)

_Place = Literal["", "first", "last"]


class _Entry(NamedTuple):
    """A row as it is looked up: by the first word of a command, its path dropped."""

    row: Row
    rest: re.Pattern[str]
    prefixes: tuple[str, ...]
    unless: re.Pattern[str] | None


class _Rules(NamedTuple):
    """The rules of one release, compiled.

    Attributes:
        release: The release.
        names: The first words, their paths dropped, of all that a rule applies to, up to 0.44.2; later ones
            look into wrappers and scripts too.
        lead: Assignments, `env` and `sudo` before a command.
        wrapper: A wrapper before it.
        windowed: How a `head` or `tail` begins that is judged by its options instead of the tables.
        rows: `ROWS` by first word.
        filtered: `FILTERED` by first word.
    """

    release: Release
    names: frozenset[str]
    lead: re.Pattern[str]
    wrapper: re.Pattern[str]
    windowed: tuple[str, ...]
    rows: dict[str, tuple[_Entry, ...]]
    filtered: dict[str, tuple[_Entry, ...]]


class Hooked(NamedTuple):
    """What the hook does with a command, and what that means for a replay.

    Attributes:
        rewritten: The rewritten command, without session; None if it is left alone.
        identity: What dedup calls the process that gets the session: the text after `rtk ` without
            redirects, `read:PATH` for `rtk read`; None if no process gets one.
        mode: `no` if it is left alone; `no_session` if no process gets a session; `exact` if the output is
            that of one process with a session (others only feed it, or print nothing); `mixed` if other
            output may be in between.
    """

    rewritten: str | None
    identity: str | None
    mode: Literal["no", "no_session", "exact", "mixed"]


def rewrite(command: str, release: str = "0.44.2") -> str | None:
    """What RTK's Claude Code hook makes of a Bash command.

    Args:
        command: The command as the model wrote it.
        release: The RTK release: `0.42.4`, `0.44.2` or `1.1.0`.

    Returns:
        The command with `rtk` in front of what RTK takes over, or None if the hook leaves it alone.

    Raises:
        KeyError: No rules are known for the release.
    """
    rules = _rules(release)
    if rules.release < Release.R1_1_0 and not _may_apply(rules, command):
        # most commands end here
        return None
    # `$((` gates even in single quotes.
    if len(command) > _MAX_INPUT or (
        _GATES.search(command) and ("$((" in command or not _UNGATED.match(command))
    ):
        return None
    broken = "\\\n" in command or "\\\r\n" in command
    text = (_CONTINUATION.sub(" ", command) if broken else command).strip()
    if rules.release >= Release.R1_1_0 and ("\n" in text or "\r" in text):
        return _rewrite_block(text, rules)
    return _rewrite_line(text, rules)


def _may_apply(rules: _Rules, command: str) -> bool:
    """Whether a word that may begin a clause is one that a rule is about, or an assignment."""
    names = rules.names
    for part in _MARKS.split(command):
        words = part.split(None, 1)
        if words and ("=" in words[0] or _base(words[0]) in names):
            return True
    return False


@cache
def _rules(version: str) -> _Rules:
    release = _RELEASES[version]
    sudo = r"|sudo\s++" if release < Release.R1_1_0 else ""
    rows, filtered = _index(ROWS, release), _index(FILTERED, release)
    return _Rules(
        release=release,
        names=frozenset({*rows, *filtered, *PHP_NAMES, *_LEADS, *_WRAPPED, "head", "tail"}),
        lead=re.compile(rf"(?:env\s++{sudo}|{_ASSIGNMENT})+"),
        wrapper=re.compile(rf"({'|'.join(WRAPPERS[release])})(?: \s*+|\Z)"),
        windowed=("head -", "tail ") if release < Release.R1_1_0 else ("head ", "tail "),
        rows=rows,
        filtered=filtered,
    )


def _index(table: tuple[Row, ...], release: Release) -> dict[str, tuple[_Entry, ...]]:
    """The rows of a release by first word, last row first."""
    index: dict[str, list[_Entry]] = {}
    for row in reversed(table):
        if not row.since <= release <= row.until:
            continue
        by_word: dict[str, list[str]] = {}
        for name in sorted(row.names, key=len, reverse=True):
            by_word.setdefault(_base(name.split()[0]), []).append(name)
        for word, names in by_word.items():
            rests = "|".join("".join(rf"\s+{re.escape(part)}" for part in name.split()[1:]) for name in names)
            index.setdefault(word, []).append(
                _Entry(
                    row,
                    re.compile(f"(?:{rests}){row.args}"),
                    tuple(names),
                    re.compile(row.unless) if row.unless else None,
                )
            )
    return {word: tuple(entries) for word, entries in index.items()}


def _base(word: str) -> str:
    """A command name without its path."""
    return word.rpartition("/")[2] or word


def _matches(pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    """Adjacent matches from the start on; unlike `finditer` it does not search on where one fails."""
    match = pattern.match(text)
    while match:
        yield match
        match = pattern.match(text, match.end())


def _rewrite_line(text: str, rules: _Rules) -> str | None:
    """A command without line breaks that separate: each clause for itself."""
    marks = [match.span(1) for match in _SEPARATOR.finditer(text)]
    if marks and marks[-1][0] == len(text):
        marks.pop()
    if not marks:
        return _rewrite_clause(text, rules)
    operators = [span for span in marks if text[span[0]] not in "(){}"]
    if (
        rules.release > Release.R0_42_4
        and len(operators) < len(marks)
        and any(text[start:end] in ("|", "|&") for start, end in operators)
    ):
        return None
    parts: list[str] = []
    pipes: list[tuple[int, int]] = []
    changed = False
    begin = 0
    for start, end in (*operators, (len(text), len(text))):
        operator = text[start:end]
        if operator in ("|", "|&"):
            pipes.append((start, end))
            continue
        clause = text[begin:start].strip()
        done = (
            _rewrite_pipeline(text, begin, pipes, start, rules) if pipes else _rewrite_clause(clause, rules)
        )
        changed = changed or done is not None
        parts += (
            clause if done is None else done,
            ";" if operator == ";" and end == len(text) else _JOINS[operator],
        )
        begin = end
        pipes = []
    return "".join(parts) if changed else None


def _rewrite_pipeline(
    text: str, begin: int, pipes: list[tuple[int, int]], end: int, rules: _Rules
) -> str | None:
    """The clause `text[begin:end]`, which has pipes."""
    if (
        rules.release == Release.R0_44_2
        and _rewrite_clause(text[pipes[-1][1] : end].strip(), rules, "last") is None
    ):
        return None
    starts = [begin, *(pipe_end for _, pipe_end in pipes)]
    stages = [text[a:b].strip() for a, b in zip(starts, [*(at for at, _ in pipes), end], strict=True)]
    rest = text[pipes[0][0] : end].strip()
    if rules.release == Release.R0_42_4:
        if stages[0].split(None, 1)[:1] in (["find"], ["fd"]):
            return None
        done = _rewrite_clause(stages[0], rules)
        return None if done is None else f"{done} {rest}"
    if "" in stages or any(text[a:b] == "|&" for a, b in pipes):
        return None
    done = _rewrite_clause(stages[-1], rules, "last")
    if done is not None:
        return f"{text[begin : starts[-1]].strip()} {done}"
    if rules.release >= Release.R1_1_0 and all(_SHOWS.match(stage) for stage in stages[1:]):
        done = _rewrite_clause(stages[0], rules, "first")
    return None if done is None else f"{done} {rest}"


def _rewrite_clause(text: str, rules: _Rules, place: _Place = "", depth: int = 0) -> str | None:
    """One command with what stands before and behind it; `place` is that in a pipeline."""
    if depth == MAX_WRAPPERS or not text:
        return None
    word = text.split(None, 1)[0]
    if not (_base(word) in rules.names or "=" in word or "<" in word or ">" in word) and (
        rules.release < Release.R1_1_0
    ):
        return None
    if ("=" in word or word in _LEADS) and (lead := rules.lead.match(text)):
        if "RTK_DISABLED=" in lead[0]:
            return None
        inner = _rewrite_clause(text[lead.end() :].strip(), rules, place, depth + 1)
        return None if inner is None else lead[0] + inner
    if word in _WRAPPED and (wrapper := rules.wrapper.match(text)):
        inner = _rewrite_clause(text[wrapper.end() :], rules, place, depth + 1)
        if inner is not None:
            return f"{wrapper[1]} {inner}"
        if wrapper[1] != "uv run" or wrapper.end() == len(text):
            return None
    if rules.release >= Release.R1_1_0:
        if at := _wrapped_at(text):
            inner = _rewrite_clause(text[at:], rules, place, depth + 1)
            return None if inner is None else f"{text[:at].rstrip()} {inner}"
        if script := _SHELL_SCRIPT.match(text):
            return _rewrite_script(text, script, rules)
    body, redirects = _cut_redirects(text)
    if body == "rtk" or body.startswith("rtk "):
        return None
    if not place and body.startswith(rules.windowed):
        window = _rewrite_window(body, rules)
        gap = " " if redirects and not redirects[0].isspace() else ""
        return None if window is None else window + gap + redirects
    done = _look_up(body, rules, place)
    return None if done is None else done + redirects


def _wrapped_at(text: str) -> int:
    """Where the command behind a process wrapper (`timeout 5`) begins; 0 if there is none."""
    words = _WORD.finditer(text)
    first = next(words, None)
    wrapper = PROCESS_WRAPPERS.get(_base(first[0])) if first else None
    if wrapper is None:
        return 0
    operands = wrapper.operands
    options = True
    for match in words:
        word = match[0]
        if options and word == "--":
            options = False
        elif options and word in wrapper.values:
            next(words, None)
        elif options and (word.startswith("-") or (wrapper.numeric and word.startswith("+"))):
            attached = word.partition("=")[0] in wrapper.values or word[:2] in wrapper.values
            if not (attached or word in wrapper.flags or (wrapper.numeric and word[1:].isdigit())):
                return 0
        elif operands:
            options = False
            operands -= 1
        else:
            return match.start()
    return 0


def _rewrite_script(text: str, script: re.Match[str], rules: _Rules) -> str | None:
    """`bash -c '...'`: the script rewritten in its quotes."""
    quoted = script.lastindex or 0
    inner = rewrite(script[quoted], rules.release.version)
    return None if inner is None else text[: script.start(quoted)] + inner + text[script.end(quoted) :]


def _cut_redirects(text: str) -> tuple[str, str]:
    """A clause without its trailing redirects, and these with the blanks before them.

    The word behind any redirect counts as its target, behind `2>&1` too.
    """
    if "<" not in text and ">" not in text:
        return text, ""
    tokens = [(match.lastgroup, match.start()) for match in _TOKEN.finditer(text)]
    cut = len(text)
    while tokens:
        kind, at = tokens.pop()
        if kind == "word" and tokens and tokens[-1][0] == "redirect":
            kind, at = tokens.pop()
        if kind != "redirect":
            break
        cut = at
    body = text[:cut].rstrip()
    return body, text[len(body) :]


def _rewrite_window(text: str, rules: _Rules) -> str | None:
    """`head` and `tail` of one file: `rtk read` with a number of lines."""
    newest = rules.release >= Release.R1_1_0
    if head := (_HEAD_1_1 if newest else _HEAD).match(text):
        return f"rtk read {head[2]} --{'head' if newest else 'max'}-lines {head[1] or _HEAD_DEFAULT}"
    if tail := (_TAIL_1_1 if newest else _TAIL).match(text):
        return f"rtk read {tail[2]} --tail-lines {tail[1]}"
    return None


def _look_up(text: str, rules: _Rules, place: _Place) -> str | None:
    """A bare command by the tables."""
    if not text:
        return None
    word = text.split(None, 1)[0]
    name = _base(word)
    if name in PHP_NAMES and (php := PHP_TOOLS.match(text)):
        word = name = php[1]
        text = name + text[php.end() :]
    for entry in rules.rows.get(name, ()):
        if entry.rest.match(text, len(word)):
            return _replace_name(text, entry) if _fits(text, entry.row, place) else None
    if not place and any(entry.rest.match(text, len(word)) for entry in rules.filtered.get(name, ())):
        return f"rtk {text}"
    return None


def _fits(text: str, row: Row, place: _Place) -> bool:
    """Whether the command may be rewritten at this place of a pipeline."""
    if not place:
        return True
    if row.mark != "b":
        return place == "first" and row.mark == "p"
    words = text.replace('"', "").split()[1:]
    options = words[: words.index("--")] if "--" in words else words
    return not any(
        _PATTERN_FILE.match(option) or (place == "first" and _FILE_LIST.match(option)) for option in options
    )


def _replace_name(text: str, entry: _Entry) -> str | None:
    """Put `rtk` and the row's name in place of a spelling; the text has to begin with it as declared."""
    if not entry.row.rtk or (entry.unless and entry.unless.search(text)):
        return None
    for prefix in entry.prefixes:
        size = len(prefix)
        if text == prefix:
            return f"rtk {entry.row.rtk}"
        if text.startswith(prefix) and text[size] == " ":
            return f"rtk {entry.row.rtk} {text[size:].lstrip()}"
    return None


_Role = Literal["blank", "comment", "line", "continued", "unsafe"]

_BLOCK_WORDS: Final = re.compile(
    r"(?:for|while|until|if|then|else|elif|fi|do|done|case|esac|select|function|coproc|[(){}])(?=\s|\Z)"
)
_CONTINUERS: Final = ("&&", "||", "|&", "|")
# Up to a comment: a `#` that begins a word.
_CODE: Final = re.compile(rf"""(?:[^\\'"#]++|{_QUOTED}|(?<![\s|&;()])\#)*+""", re.DOTALL)
_IN_QUOTES: Final = re.compile(_QUOTED, re.DOTALL)
_PAIRS: Final = {")": "(", "}": "{"}


def _rewrite_block(text: str, rules: _Rules) -> str | None:
    """A command of several lines, from 1.1.0: each line for itself, if they can be told apart."""
    cuts = [match.start(1) for match in _matches(_LINE_BREAK, text)]
    if len(cuts) != text.count("\n") + text.count("\r"):
        return _rewrite_line(text, rules) if not cuts and _BALANCED.match(text) else None
    lines = list(zip([0, *(cut + 1 for cut in cuts)], [*cuts, len(text)], strict=True))
    roles = [_role(text[begin:end].strip()) for begin, end in lines]
    if "unsafe" in roles:
        return None
    parts: list[str] = []
    done_to = 0
    index = 0
    while index < len(lines):
        last = _last_joined(roles, index)
        begin, end = lines[index][0], lines[last][1]
        if roles[last] == "comment" and last > index:
            return None
        unit = text[begin:end]
        done = _rewrite_line(unit.strip(), rules) if roles[index] in ("line", "continued") else None
        if done is not None:
            indent = len(unit) - len(unit.lstrip())
            parts += (text[done_to : begin + indent], done)
            done_to = end
        index = last + 1
    return "".join((*parts, text[done_to:])) if parts else None


def _role(line: str) -> _Role:
    """What a line is to its neighbours."""
    if not line:
        return "blank"
    if line.startswith("#"):
        return "comment"
    match = _CODE.match(line)
    code = line[: match.end() if match else 0].rstrip()
    if (
        _BLOCK_WORDS.match(code)
        or code.startswith((*_CONTINUERS, "(("))
        or code.endswith("))")
        or not _grouped(_IN_QUOTES.sub("", code))
    ):
        return "unsafe"
    if code.endswith(_CONTINUERS):
        return "continued" if match and match.end() == len(line) else "unsafe"
    return "line"


def _grouped(code: str) -> bool:
    """Whether no parenthesis or brace is left open, each kind counted for itself."""
    depth = {"(": 0, "{": 0}
    for mark in re.findall(r"[(){}]", code):
        depth[_PAIRS.get(mark, mark)] += 1 if mark in depth else -1
        if min(depth.values()) < 0:
            return False
    return not any(depth.values())


def _last_joined(roles: list[_Role], index: int) -> int:
    """The last line that belongs to the one at `index`."""
    last = index
    while roles[last] == "continued":
        following = last + 1
        while following < len(roles) and roles[following] == "blank":
            following += 1
        if following == len(roles):
            break
        last = following
    return last


# `rtk` as a word at the start or behind an operator, quoted or not.
_SESSION: Final = re.compile(r"(?:\A|[&|;]\s*+)rtk(?= |\Z)")


def session_offset(rewritten: str) -> int | None:
    """Where the hook splices ` --session <id>` into a rewritten command (RTK pull request 2937).

    That is behind the first `rtk` that begins the text or follows `&`, `|` or `;`; it is spliced once, and
    the search is blind to quotes. An `rtk` behind a prefix (`FOO=1 rtk ...`) gets none.

    Args:
        rewritten: What `rewrite` returned.

    Returns:
        The offset in characters, or None if no session is spliced.
    """
    match = _SESSION.search(rewritten)
    return match.end() if match else None


def hooked(command: str) -> Hooked:
    """What the hook of 0.44.2, the release nearest to session output dedup, does with a command.

    Args:
        command: The command as the model wrote it.

    Returns:
        The rewrite and what of the output a replay of dedup can decide on.
    """
    rewritten = rewrite(command)
    if rewritten is None:
        return Hooked(None, None, "no")
    if _ALONE.match(rewritten):
        identity, single = _identity(rewritten)
        return Hooked(rewritten, identity, "exact" if single else "mixed")
    at = session_offset(rewritten)
    if at is None:
        return Hooked(rewritten, None, "no_session")
    rtk: _Part | None = None
    silent = True
    for part in _parts(rewritten):
        if part.begin == at - len("rtk"):
            rtk = part
        elif not part.piped and not _SILENT.match(part.text):
            silent = False
    if rtk is None:
        # Spliced into a quoted text, which is altered; the process behind it has no session.
        return Hooked(rewritten, None, "no_session")
    identity, single = _identity(rtk.text)
    return Hooked(rewritten, identity, "exact" if silent and single and not rtk.piped else "mixed")


class _Part(NamedTuple):
    """A command as the shell runs it, and whether its output goes into a pipe."""

    begin: int
    text: str
    piped: bool


# Up to and with what ends a command for the shell: unlike the hook, it knows line breaks and comments.
_END: Final = re.compile(
    rf"""(?!\Z)(?:[^\\'"|&;<>()\n#]++|{_QUOTED}|{_REDIRECT}|(?<![\s|&;()])\#)*+
        (\|\||&&|;|\|&?|&|[()\n]|\#[^\n]*+|\Z)""",
    re.VERBOSE | re.DOTALL,
)
# One command without marks or quotes, the usual case.
_ALONE: Final = re.compile(r"""rtk [^\\'"|&;<>(){}\n#]*+\Z""")
# Commands that print nothing when they succeed. `cd -` prints the directory, `set -x` every command.
_SILENT: Final = re.compile(
    rf"""(?:\{{\s++)?+(?:
        \}}? | true(?:\s.*)? | cd(?:\s++(?!-(?:\s|\Z)).*)? | (?:export|mkdir)\s.*
        | set\s++(?!-\S*[xv])[-+].*
        | (?:[A-Za-z_]\w*+\+?=(?:[^\s\\'"]++|{_QUOTED})*+(?:\s++|\Z))++
    )\Z""",
    re.VERBOSE | re.DOTALL,
)
# Redirects that pass the gate, with one blank before them; the group keeps what is quoted.
_REDIRECTED: Final = re.compile(
    rf"""({_QUOTED})|\s?(?:(?:(?<!\S)[0-9]++)?>>?(?:&[0-9-]++|&?\s*+/dev/null)|(?:&>>?|<)\s*+/dev/null)""",
    re.DOTALL,
)
_READ_VALUES: Final = frozenset({"--max-lines", "--tail-lines"})
_UNQUOTE: Final = re.compile(r"""'([^']*+)'?+|"((?:[^"\\]++|\\.?+)*+)"?+|\\(.?)""", re.DOTALL)
_GLOB: Final = re.compile(r"[*?\[{]")


def _parts(text: str) -> Iterator[_Part]:
    for match in _END.finditer(text):
        begin = match.start()
        part = text[begin : match.start(1)]
        bare = part.lstrip()
        yield _Part(begin + len(part) - len(bare), bare.rstrip(), match[1] in ("|", "|&"))


def _identity(text: str) -> tuple[str, bool]:
    """The identity of an `rtk` command, and whether it is surely one process with one decision.

    `rtk read` decides once per file.
    """
    command = text[len("rtk ") :]
    if "<" in command or ">" in command:
        command = _REDIRECTED.sub(r"\1", command).strip()
    if not command.startswith("read "):
        return command, True
    words = (match[0] for match in _WORD.finditer(command[len("read ") :]))
    paths: list[str] = []
    for word in words:
        if word in _READ_VALUES:
            next(words, None)
        elif not word.startswith("-"):
            paths.append(word)
    single = len(paths) == 1 and not _GLOB.search(_IN_QUOTES.sub("", paths[0]))
    return "read:" + " ".join(_UNQUOTE.sub(r"\1\2\3", path) for path in paths), single
