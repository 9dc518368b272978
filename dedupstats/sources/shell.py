r"""Shell-read class: commands that can be said to read only, from their text alone.

The rule is that of claude-code.md section 15: simple commands joined by ``&&``, ``;`` or ``|``, each of them
one of a list of readers, no redirection but ``2>/dev/null`` and ``2>&1``, no substitution, no background, no
assignment in front. "Yes" is a claim, everything else is no claim, so whatever is unsure is a no.

Where the rule is silent:

* A newline ends a command as ``;`` does (after ``&&``, ``|`` and ``;`` it is nothing, as in the shell); a
  backslash at a line's end continues the line only after a blank. A last ``;`` is accepted.
* ``$NAME`` and ``${NAME}`` are plain values and allowed, but not in a sed script, which they could complete
  with a command. Other ``${...}``, ``$'...'``, ``$[...]``, unquoted parentheses, braces and ``<``, comments,
  ``||``, ``|&``, NUL and carriage returns: no.
* Readers that write or start a program on request are refused in that form: ``uniq IN OUT``, ``file -C``,
  ``tree -R``, ``sort --compress-program``, ``rg --pre``, and for git ``--output``, ``--ext-diff``,
  ``grep -O``. GNU programs and git accept shortened long options, so their beginnings are refused too. An
  option's letter is refused wherever it stands in a cluster, even where it is the value of another option.
* A sed script is accepted if it consists of addresses, braces and the commands
  ``p = d q Q l n N D P g G h H x``, ``s`` and ``y`` (flags ``g p i I m M`` and digits). The rule would allow
  ``b``, ``t``, ``a``, ``i``, ``c``, ``r`` and script files; where these end, or what they hold, is unsure.
* ``git branch -l NAME`` is refused (it created the branch before git 2.19); ``git remote`` lists bare or with
  ``-v`` only.
* The text is read as a POSIX shell does. What PowerShell would read otherwise is refused: an escaped ``;``,
  ``|``, ``&``, ``<``, ``>`` always (``cd C:\dir\; ...``), and beside a cmdlet a backslash before other signs
  or a line's end, backticks, typographic quotes and here-strings.
"""

import re
from collections.abc import Callable, Sequence
from typing import Final

# ----------------------------------------------------------------------------
# Readers, as data

#: Commands that read whatever their arguments are.
_FREE: Final = frozenset(
    {
        "cat",
        "cd",
        "cmp",
        "column",
        "cut",
        "diff",
        "du",
        "egrep",
        "fgrep",
        "grep",
        "head",
        "jq",
        "ls",
        "md5sum",
        "nl",
        "pwd",
        "sha1sum",
        "sha256sum",
        "stat",
        "tail",
        "tr",
        "wc",
        "which",
    }
)
_CMDLETS: Final = frozenset(
    {"Get-ChildItem", "Get-Content", "Get-Item", "Measure-Object", "Select-String", "Test-Path"},
)

#: Commands that read but for some options: short letters, long options.
_GUARDED: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    "file": ("C", ("--compile",)),
    "rg": ("", ("--pre", "--hostname-bin")),
    "sort": ("o", ("--output", "--compress-program")),
    "tree": ("oR", ()),
}

_FIND_ACTIONS: Final = ("-delete", "-exec", "-ok", "-fprint", "-fls")

_GIT_READERS: Final = frozenset(
    {
        "blame",
        "describe",
        "diff",
        "grep",
        "log",
        "ls-files",
        "ls-tree",
        "rev-parse",
        "shortlog",
        "show",
        "status",
    },
)
_GIT_REFUSED: Final = ("--output", "--ext-diff", "--open-files-in-pager")

#: Options of ``git branch`` and ``git tag`` that keep them listing.
_LISTING: Final = frozenset(
    {
        "--all",
        "--color",
        "--column",
        "--ignore-case",
        "--no-abbrev",
        "--no-color",
        "--no-column",
        "--remotes",
        "--show-current",
        "--verbose",
        "-a",
        "-av",
        "-avv",
        "-i",
        "-l",
        "-r",
        "-rv",
        "-v",
        "-va",
        "-vv",
        "-vva",
        "-n",
    },
)
#: Those that make them list even with operands (patterns, commits).
_LISTING_OPERANDS: Final = frozenset(
    {"--contains", "--list", "--merged", "--no-contains", "--no-merged", "--points-at"},
)
#: Those with a value.
_LISTING_VALUES: Final = frozenset({"--abbrev", "--color", "--column", "--format", "--sort"})
_LISTING_SEPARATE_VALUES: Final = frozenset({"--format", "--sort"})

#: Letters that sed may be given, and the long options that stand for them.
_SED_LETTERS: Final = frozenset("nErsuz")
_SED_LONG: Final = {
    "--expression": "e",
    "--null-data": "z",
    "--quiet": "n",
    "--regexp-extended": "E",
    "--separate": "s",
    "--silent": "n",
}
_SED_DELIMITERS: Final = "/|#,:;@!%+_~="

# "@" stands for the delimiter. It is an ordinary character inside brackets: a sed that ends the expression
# there refuses the script, since the bracket is left open. Whether a backslash protects "]" is not settled,
# so the two are not allowed together.
_SED_BRACKET: Final = r"\[\^?+\]?+(?:\[:[a-z]++:\]|\[(?![:.=])|\\(?![]\n])|[^]\[\\\n])*+\]"
_SED_EXPRESSION: Final = rf"(?:[^@\\\n\[]|\\[^\n]|{_SED_BRACKET})*+"
_SED_SUBSTITUTION: Final = rf"[sy]@{_SED_EXPRESSION}@(?:[^@\\\n]|\\.)*+@[gpiImM0-9]*+"
_SED_SIMPLE: Final = r"[ \t\n;{}!,]|[0-9+~$]|[pdqQlnNDPgGhHx=]"
_SED_HARMLESS: Final = re.compile(
    "(?:{})++".format(
        "|".join(
            [
                _SED_SIMPLE,
                f"@{_SED_EXPRESSION}@[IM]*+".replace("@", "/"),
                *(_SED_SUBSTITUTION.replace("@", re.escape(sign)) for sign in _SED_DELIMITERS),
            ],
        ),
    ),
    re.DOTALL,
)

# ----------------------------------------------------------------------------
# Reading the text

_FIRST_WORD: Final = re.compile(r"[ \t\n]*+([A-Za-z0-9-]++)")
_BLANKS: Final = r"[ \t]++(?:\\\n[ \t]*+)*+"
_EXPANSION: Final = r"\$(?:\{[A-Za-z_][A-Za-z_0-9]*+\}|(?![({\['\"]))"
_TOKEN: Final = re.compile(
    rf"""(?:{_BLANKS})?+(?:
        (?P<redirection>2>(?:&1|[ \t]*+/dev/null)(?=[ \t\n;|&]|\Z))
      | (?P<word>(?!\#)(?:
            [^ \t\r\n'"\\`$<>|&;(){{}}]++
          | '[^']*+'
          | "(?:[^"\\`$]++|\\.|{_EXPANSION}|\$(?="))*+"
          | \\[^\n;|&<>]
          | {_EXPANSION}
        )++)
      | (?P<newline>\n++)
      | (?P<join>&&|\|(?![|&])|;)
      | (?P<unsure>.)
    )""",
    re.VERBOSE | re.DOTALL,
)
_QUOTED: Final = re.compile(r"""'([^']*+)'|"((?:[^"\\]++|\\.)*+)"|\\(.)""", re.DOTALL)
_ESCAPED_IN_QUOTES: Final = re.compile(r'\\(?:([$`"\\])|\n)')
#: The beginning of a word up to a variable.
_VARIABLE: Final = re.compile(
    r"""(?:[^$'"\\]++|'[^']*+'|\\.|"(?:[^"\\$]++|\\.)*+(?:"|(?=\$)))*+\$""",
    re.DOTALL,
)
#: What PowerShell reads otherwise than a shell.
_UNLIKE_POWERSHELL: Final = re.compile(r"""\\[^\w\s.*?\\-]|\\\n|@["']|[`\u2018-\u201e]""")


def reads_only(command: str) -> bool:
    """Return whether a shell command is known to read only; False is no claim.

    Takes time linear in the length of the command and accepts any text.
    """
    first = _FIRST_WORD.match(command)
    if first and first[1] not in _NAMES:
        return False
    text = command.strip(" \t\n")
    if "\0" in text:
        return False
    words: list[str] = []
    join = ""
    for token in _TOKEN.finditer(text):
        kind = token.lastgroup
        if kind == "word":
            words.append(token["word"])
        elif kind == "join":
            if not _reads(words, text):
                return False
            join = token["join"]
            words = []
        elif kind == "newline":
            if words and not _reads(words, text):
                return False
            words = []
        elif kind == "unsure":
            return False
    return _reads(words, text) if words else join == ";"


def _reads(words: Sequence[str], text: str) -> bool:
    """Return whether one simple command reads only; words are still quoted."""
    if not words:
        return False
    name = _unquoted(words[0])
    if name in _FREE:
        return True
    if name in _CMDLETS:
        return not _UNLIKE_POWERSHELL.search(text)
    check = _CHECKS.get(name)
    return check is not None and check(words[1:])


def _unquoted(word: str) -> str:
    """Return a word as the program gets it, but for variables and wildcards."""
    if "'" in word or '"' in word or "\\" in word:
        return _QUOTED.sub(_bare, word)
    return word


def _bare(quoted: re.Match[str]) -> str:
    single, double, escaped = quoted.groups()
    if double is not None:
        return _ESCAPED_IN_QUOTES.sub(r"\1", double)
    return single if single is not None else escaped


# ----------------------------------------------------------------------------
# Readers with conditions


def _refused(arguments: Sequence[str], letters: str, options: tuple[str, ...]) -> bool:
    """Return whether one of the arguments is, or may be, a refused option."""
    for argument in arguments:
        if argument.startswith("--"):
            option = argument.partition("=")[0]
            if option != "--" and any(refused.startswith(option) for refused in options):
                return True
        elif argument.startswith("-") and any(letter in argument for letter in letters):
            return True
    return False


def _guarded(letters: str, options: tuple[str, ...]) -> Callable[[Sequence[str]], bool]:
    return lambda words: not _refused([_unquoted(word) for word in words], letters, options)


def _find(words: Sequence[str]) -> bool:
    return not any(_unquoted(word).startswith(_FIND_ACTIONS) for word in words)


def _uniq(words: Sequence[str]) -> bool:
    """A second operand is the file that uniq writes."""
    operands = [word for word in map(_unquoted, words) if word == "-" or not word.startswith("-")]
    return len(operands) <= 1


def _git(words: Sequence[str]) -> bool:
    arguments = [_unquoted(word) for word in words]
    start = 0
    while arguments[start : start + 1] in (["-C"], ["--no-pager"]):
        start += 2 if arguments[start] == "-C" else 1
    command, rest = "".join(arguments[start : start + 1]), arguments[start + 1 :]
    if _refused(rest, "O" if command == "grep" else "", _GIT_REFUSED):
        return False
    if command in {"branch", "tag"}:
        return _lists(command, rest)
    if command == "remote":
        return all(argument in {"-v", "--verbose"} for argument in rest)
    return command in _GIT_READERS or (command == "stash" and rest[:1] == ["list"])


def _lists(command: str, arguments: Sequence[str]) -> bool:
    """Return whether ``git branch`` or ``git tag`` list: listing options only, operands only with some."""
    operands = lists = False
    rest = iter(arguments)
    for argument in rest:
        option, equals, _ = argument.partition("=")
        if option in _LISTING_OPERANDS or (command == "tag" and argument in {"-l", "-n"}):
            lists = True
        elif option in _LISTING_SEPARATE_VALUES and not equals:
            next(rest, None)
        elif not argument.startswith("-"):
            operands = True
        elif not (option in _LISTING_VALUES if equals else argument in _LISTING):
            return False
    return lists or not operands


def _sed(words: Sequence[str]) -> bool:
    """Return whether sed is silent (-n), edits nothing in place, and its scripts are harmless."""
    silent = False
    scripts: list[str] = []
    operands: list[str] = []
    rest = iter(words)
    for word in rest:
        argument = _unquoted(word)
        if argument == "-" or not argument.startswith("-"):
            operands.append(word)
            continue
        if argument.startswith("--expression="):
            argument = "-e" + argument.partition("=")[2]
        letters, option_e, script = _SED_LONG.get(argument, argument[1:]).partition("e")
        if not _SED_LETTERS.issuperset(letters):
            return False
        silent = silent or "n" in letters
        if script and _VARIABLE.match(word):
            return False
        if option_e:
            scripts.append(script or _script(next(rest, "")))
    if not scripts:
        scripts = [_script(word) for word in operands[:1]]
    return silent and bool(scripts) and all(map(_SED_HARMLESS.fullmatch, scripts))


def _script(word: str) -> str:
    """Return the sed script that a word holds, or one that is refused where a variable completes it."""
    return "e" if _VARIABLE.match(word) else _unquoted(word)


_CHECKS: Final[dict[str, Callable[[Sequence[str]], bool]]] = {
    "find": _find,
    "git": _git,
    "sed": _sed,
    "uniq": _uniq,
    **{name: _guarded(letters, options) for name, (letters, options) in _GUARDED.items()},
}
_NAMES: Final = _FREE | _CMDLETS | _CHECKS.keys()
