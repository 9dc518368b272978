"""Which commands RTK's Claude Code hook knows: the declared half of `rtk_hook`.

The tables hold what the hooks of RTK 0.42.4, 0.44.2 and 1.1.0 were seen to do (permission rules and
configuration left out). How a command line is taken apart before a row applies is told in `rtk_hook`.

Commands the hook ignores by name (`cd`, `echo`, `rm`, `sed`, `python -c`, ...) need no table: none of them is
the name of a row, so they are left alone anyway.
"""

import re
from enum import IntEnum
from typing import Final, NamedTuple

__all__ = [
    "FILTERED",
    "MAX_WRAPPERS",
    "PHP_NAMES",
    "PHP_TOOLS",
    "PROCESS_WRAPPERS",
    "ROWS",
    "SHELLS",
    "WRAPPERS",
    "ProcessWrapper",
    "Release",
    "Row",
]


class Release(IntEnum):
    """The releases whose rules differ, oldest first."""

    R0_42_4 = 0
    R0_44_2 = 1
    R1_1_0 = 2

    @property
    def version(self) -> str:
        """The release as RTK writes it, for example `0.44.2`."""
        return self.name.removeprefix("R").replace("_", ".")


class Row(NamedTuple):
    """Commands that one `rtk` subcommand takes over.

    Attributes:
        rtk: What stands in place of the name, without `rtk `; empty for a command that is matched but left.
        names: Spellings that are replaced, wrappers such as `npx` included.
        args: Regular expression of what must follow the name.
        mark: `p` where 1.1.0 rewrites it as the first stage of a pipeline (producer), `b` where it is
            rewritten as the last stage too.
        since: First release that has the row.
        until: Last release that has it.
        unless: Regular expression; a command in which it is found is left.
    """

    rtk: str
    names: tuple[str, ...]
    args: str
    mark: str = ""
    since: Release = Release.R0_42_4
    until: Release = Release.R1_1_0
    unless: str = ""


class ProcessWrapper(NamedTuple):
    """A command that runs another one and may have options of its own before it.

    Attributes:
        values: Options followed by a value (`-k 5`, `-k5`, `--kill-after=5`).
        flags: Options without a value.
        operands: Words between the options and the command.
        numeric: Whether `-5` and `+5` are options.
    """

    values: frozenset[str] = frozenset()
    flags: frozenset[str] = frozenset()
    operands: int = 0
    numeric: bool = False


_NEW: Final = Release.R0_44_2
_NEWEST: Final = Release.R1_1_0

# What may follow a name.
_BARE: Final = r"(?=\s|\Z)"  # arguments or nothing
_MORE: Final = r"\s"  # at least one argument
_OPEN: Final = ""  # anything, the word may even go on


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def _open(subcommands: str) -> str:
    """One of the subcommands, and the word may go on (`git statusx`)."""
    return rf"\s+(?:{'|'.join(subcommands.split())})"


def _word(subcommands: str) -> str:
    """One of the subcommands, up to a word boundary (`swift build)`)."""
    return _open(subcommands) + r"\b"


def _whole(subcommands: str) -> str:
    """One of the subcommands, then a blank or the end."""
    return _open(subcommands) + _BARE


_GIT_GLOBALS: Final = (
    r"(?:\s++(?:-[Cc]\s++\S++|--(?:git-dir|work-tree)(?:=\S++|\s++\S++)"
    r"|--(?:no-pager|no-optional-locks|bare|literal-pathspecs)(?=\s)))*+"
)
_GIT: Final = "status log diff show add commit push pull branch fetch stash worktree"
_GIT_WHOLE: Final = r"(?=[\s;|&()<>]|\Z)"
_PNPM: Final = _open("exec i install list ls outdated run")
_PNPM_GLOBALS: Final = r"(?:\s++(?:(?:--filter|-F)\s++\S++|--filter=\S++|-r(?=\s)|-w(?=\s)|--recursive))*+"
_GOLANGCI_VALUES: Final = r"-c|--(?:color|config|cpu-profile-path|mem-profile-path|trace-path)"
_GOLANGCI_GLOBALS: Final = rf"(?:\s++(?:(?:{_GOLANGCI_VALUES})\s++\S++|-(?!-\s)\S++))*+"
_MAVEN: Final = r"(?:\s++\S++)*?\s++(?:compile|test|integration-test|package|install|verify|deploy)\b"

# Programs in front of a tool of the Node world; the prefix goes when the tool has a row.
_NODE_RUN: Final = (
    *("npm", "npm run", "npm run-script", "npm rum", "npm urn", "npx"),
    *("pnpm", "pnpm run", "pnpm run-script", "pnpx"),
)
_NODE_EXEC: Final = ("npm exec", "npm x", "pnpm exec", "pnpm dlx")


def _node(tools: str, fronts: tuple[str, ...] = _NODE_RUN + _NODE_EXEC) -> tuple[str, ...]:
    names = _words(tools)
    return names + tuple(f"{front} {name}" for front in fronts for name in names)


def _plain(names: str, mark: str = "") -> tuple[Row, ...]:
    """Rows of commands that keep their name, whatever their arguments."""
    return tuple(Row(name, (name,), _BARE, mark) for name in names.split())


# If several rows match, the last one counts, and a match that cannot be replaced is left for good.
ROWS: Final[tuple[Row, ...]] = (
    Row("git", ("git", "yadm"), _GIT_GLOBALS + _open(_GIT), "p", until=Release.R0_42_4),
    Row("git", ("git", "yadm"), _GIT_GLOBALS + _open(_GIT + " checkout"), "p", since=_NEW, until=_NEW),
    Row("git", ("git", "yadm"), _GIT_GLOBALS + _open(_GIT + " checkout") + _GIT_WHOLE, "p", since=_NEWEST),
    Row("gh", ("gh",), _open("pr issue run repo api release"), unless=r"(?i)--(?:json|jq|template)"),
    Row("glab", ("glab",), _open("mr issue ci pipeline api release")),
    Row("cargo", ("cargo",), _open("build test clippy check fmt install"), "p"),
    Row("pnpm", ("pnpm",), _PNPM, until=_NEW),
    Row("pnpm", ("pnpm",), _PNPM_GLOBALS + _PNPM, since=_NEWEST),
    Row("npm", ("npm",), _whole("exec run run-script rum urn x")),
    Row("npx", ("npx",), _MORE),
    # `cat` with any option but -n, and anything with a redirect that is no trailing one.
    Row("read", ("cat", "head", "tail"), _MORE, unless=r"\Acat +(?=-)(?!-n[ \t])|\s(?:>|<(?=\s|\Z))"),
    Row("grep", ("grep", "rg"), _MORE, "b", until=Release.R0_42_4),
    Row("grep", ("grep",), _MORE, "b", since=_NEW),
    Row("rg", ("rg",), _MORE, "b", since=_NEW),
    Row("ast-grep", ("ast-grep",), _MORE, "p", since=_NEWEST),
    *(Row(name, (name,), _MORE, "p") for name in ("find", "diff")),
    *_plain("ls tree wc df du ps", "p"),
    Row("tsc", _node("tsc"), _BARE),
    Row("lint", (*_node("biome eslint"), *_node("lint", _NODE_RUN)), _BARE, "p"),
    Row("", tuple(f"{front} lint" for front in _NODE_EXEC), _BARE),
    Row("prettier", _node("prettier"), _OPEN, "p"),
    Row("next", tuple(f"{name} build" for name in _node("next")), _OPEN, "p"),
    Row("jest", tuple(name + run for name in _node("jest") for run in (" run", "")), _BARE),
    Row("vitest", tuple(name + run for name in _node("vitest") for run in (" run", "")), _BARE),
    Row("playwright", _node("playwright"), _OPEN),
    Row("prisma", _node("prisma"), _OPEN),
    Row("ctest", ("ctest",), _BARE, since=_NEWEST),
    Row("docker", ("docker",), r"\s+(?:ps|images|logs|run|exec|build|compose\s+(?:ps|logs|build))"),
    Row("kubectl", ("kubectl",), _open("get logs describe apply")),
    Row("oc", ("oc",), _open("get logs describe apply status adm"), since=_NEW),
    *(Row(name, (name,), _MORE) for name in ("curl", "wget", "aws", "gt")),
    Row("mypy", ("mypy", "python -m mypy", "python3 -m mypy"), _BARE, "p"),
    Row("pytest", ("pytest", "python -m pytest", "python3 -m pytest"), _BARE, "p"),
    Row("ruff", ("ruff",), _open("check format"), "p"),
    Row("sqlfluff", ("sqlfluff",), _open("lint"), since=_NEWEST),
    Row("pip", ("pip", "pip3", "uv pip"), _open("list outdated install show"), "p"),
    Row("uv", ("uv",), _whole("run"), since=_NEW),
    Row("uv", ("uv",), r"\s+(?:sync|pip\s+install)\b"),
    Row("go", ("go",), _open("test build vet"), "p"),
    Row("golangci-lint", ("golangci-lint", "golangci"), _GOLANGCI_GLOBALS + _whole("run"), "p"),
    Row(
        "sbt",
        ("sbt",),
        r"\s+[\"']?(?:testOnly|testQuick|test|compile|run|clean|assembly|package)(?=[\s\"']|\Z)",
        since=_NEW,
    ),
    Row("bundle", ("bundle",), _word("install update"), "p"),
    Row("rake", ("rake", "rails", "bin/rails", "bundle exec rake", "bundle exec rails"), _open("test"), "p"),
    *(Row(name, (name, f"bundle exec {name}"), _BARE, "p") for name in ("rspec", "rubocop")),
    Row("php", ("php",), _whole("artisan -l"), since=_NEW),
    Row("phpt", ("php run-tests.php",), _BARE, since=_NEWEST),
    Row("phpstan", ("phpstan",), _word("analyse analyze"), "p", since=_NEW),
    *(Row(name, (name,), _BARE, "p", since=_NEW) for name in ("phpunit", "pest", "paratest", "ecs", "pint")),
    *_plain("psql"),
    Row("bun", ("bun",), _word("install add remove test build run pm x"), since=_NEWEST),
    Row("bunx", ("bunx",), _MORE, since=_NEWEST),
    Row("deno", ("deno",), _word("test lint check run task compile install"), since=_NEWEST),
    Row("brew", ("brew",), _word("install upgrade"), "p"),
    Row("composer", ("composer",), _word("install update require"), "p"),
    Row("dotnet", ("dotnet",), _word("build"), "p"),
    Row("mix", ("mix",), _whole("compile format"), "p"),
    Row("poetry", ("poetry",), _word("install lock update"), "p"),
    Row("swift", ("swift",), _word("build test"), "p"),
    Row("systemctl", ("systemctl",), _word("status"), "p"),
    Row("terraform", ("terraform",), _open("plan"), "p"),
    Row("tofu", ("tofu",), _whole("fmt init plan validate"), "p"),
    Row("pulumi", ("pulumi",), _whole("preview up destroy refresh stack"), since=_NEW),
    Row("shopify", ("shopify",), r"\s+theme\s+(?:push|pull)", "p"),
    Row("pio", ("pio",), _open("run"), "p"),
    Row("quarto", ("quarto",), _open("render"), "p"),
    Row("trunk", ("trunk",), _open("build"), "p"),
    Row("mvn", ("mvn", "mvnw", "./mvnw"), _MAVEN, "p"),
    Row("mvnd", ("mvnd",), _MAVEN, since=_NEWEST),
    Row("gradlew", ("./gradlew", "gradlew", "gradle"), _BARE),
    *_plain("ansible-playbook fail2ban-client gcloud make ping rsync sops"),
    *_plain("hadolint helm iptables markdownlint pre-commit shellcheck yamllint liquibase", "p"),
)

# Commands without a row for which RTK ships a declared filter: `rtk ` is put in front, nothing is replaced.
FILTERED: Final[tuple[Row, ...]] = (
    Row(
        "",
        (
            *_words(
                "jq stat ssh just task jj jira turbo nx gcc xcodebuild ty basedpyright oxlint skopeo yadm"
            ),
            "ollama run",
            "pnpm nx",
        ),
        _BARE,
        since=_NEW,
    ),
    Row("", ("mise",), _word("run exec install upgrade"), since=_NEW),
    Row("", ("mvn spring-boot:run",), r"\b", since=_NEW),
    Row("", ("java -jar",), r"\s.*\.jar", since=_NEW, until=_NEW),
    Row("", ("java -jar",), r"\s+(?=\S*(?i:spring))\S*\.jar", since=_NEWEST),
)

# Written before a command and kept there; the command is decided alone. Only `uv run` may fall back to a row.
_PRECOMMANDS: Final = _words("noglob command builtin exec nocorrect")
WRAPPERS: Final = {
    Release.R0_42_4: _PRECOMMANDS,
    Release.R0_44_2: (*_PRECOMMANDS, "uv run"),
    Release.R1_1_0: (*_PRECOMMANDS, "uv run"),
}
# Levels of wrappers the hook looks through.
MAX_WRAPPERS: Final = 10

# Likewise, 1.1.0 only.
PROCESS_WRAPPERS: Final = {
    "timeout": ProcessWrapper(
        values=frozenset({"-s", "-k", "--signal", "--kill-after"}),
        flags=frozenset({"--preserve-status", "--foreground", "-v", "--verbose"}),
        operands=1,
    ),
    "time": ProcessWrapper(
        values=frozenset({"-f", "-o", "--format", "--output"}),
        flags=frozenset({"-p", "-a", "-v", "--append", "--verbose", "--portability", "--quiet"}),
    ),
    "nice": ProcessWrapper(values=frozenset({"-n", "--adjustment"}), numeric=True),
    "nohup": ProcessWrapper(),
}

# Shells whose `-c '...'` script 1.1.0 rewrites in place.
SHELLS: Final = "sh|bash|dash|ksh|zsh"

# Where Composer puts its tools does not matter to the hook, nor does `php ` in front.
_PHP: Final = ("phpunit", "phpstan", "pest", "paratest", "ecs", "pint")
PHP_NAMES: Final = frozenset({"php", *_PHP})
PHP_TOOLS: Final = re.compile(rf"(?:php\s+)?(?:(?:\S*/)?vendor/bin/|\./)?({'|'.join(_PHP)})(?=\s|\Z)")
