"""The command lines of the RTK sample: 406 different ones, 88 of them run more than once.

The three that only the Claude Code session ran (`cat pages/tea.md`, `grep -n shiso pages`, `ls pages`) are
not listed here.
"""

from __future__ import annotations

from dataclasses import dataclass

PROJECTS = {
    "tansy": "/srv/tansy",
    "labels": "/srv/labels",
    "books": "/srv/books",
    "site": "\\\\?\\C:\\work\\tansy-site",
}
ALL = tuple(PROJECTS)
BIG = 100
"""tokens: commands that answer less are run in every project"""


@dataclass(frozen=True)
class Command:
    """A command line.

    Attributes:
        original: As it was typed.
        rtk: As RTK names it.
        projects: Where it is run.
        runs: How often.
        size: Output tokens, roughly: the sums are fitted afterwards.
        churn: How likely it answers something else than last time.
        taken: Tokens that filtering takes off for each token that it leaves, roughly.
    """

    original: str
    rtk: str
    projects: tuple[str, ...]
    runs: int
    size: int
    churn: float
    taken: float = 0.0


READ_OFTEN = """
24 900 tansy/orders.py
21 640 tansy/cart.py
17 330 README.md
15 420 tansy/stock.py
14 380 tests/test_cart.py
13 820 data/products.csv
12 210 CLAUDE.md
11 60 Makefile
10 400 tansy/prices.py
9 260 templates/checkout.html
8 360 labels/printer.py
8 190 tansy/mail.py
7 300 pyproject.toml
7 450 tests/test_orders.py
6 310 labels/layout.py
5 90 config.json
5 700 books/ledger.py
4 350 books/vat.py
4 240 tansy/schema.sql
4 150 theme/site.css
4 40 .env.example
4 330 tansy/database.py
4 120 tests/conftest.py
3 950 books/2026.csv
3 260 docs/deploy.md
3 80 batch.csv
3 410 CHANGELOG.md
3 70 tansy/__main__.py
3 220 docs/taxes.md
3 130 package.json
"""
"""runs, tokens, path: 30 files, 237 runs"""
READ_CHURN = 0.52
"""how likely a file has changed since it was last read"""
FILTERED_READ = 500
"""tokens: of larger files the filter takes a little off"""
READ_ONCE_FOLDERS = ("docs", "templates/mail", "tansy/admin", "tests/data", "books/reports")
READ_ONCE_NAMES = """
anise basil borage chives dill fennel hyssop lovage mint rue sage sorrel thyme
"""
READ_ONCE = 62

RUN_OFTEN = """
62 24 0.55 3.0 git status
34 210 0.85 2.5 git diff
30 70 0.6 12.0 pytest -q
20 60 0.3 1.5 ls -la .
18 90 0.6 0.8 git log --oneline -10
19 40 0.7 0.6 git diff --stat
13 60 0.5 6.0 make test
15 18 0.3 0.5 git branch
10 30 0.5 5.0 make lint
9 80 0.25 1.5 ls -la tansy
12 45 0.5 9.0 npm run build
8 50 0.5 3.0 ruff check .
7 120 0.6 2.0 mypy tansy
6 180 0.9 2.5 git diff --cached
6 55 0.2 1.5 ls -la tests
6 50 0.4 2.0 docker ps
5 10 0.3 0.0 git stash list
4 20 0.0 0.0 git remote -v
"""
"""runs, tokens, churn, tokens taken off per token left, command line"""
UNKNOWN_OFTEN = """
5 hostname
4 date -u
3 uptime
"""
"""runs, command line: unknown to RTK, run natively, 0 tokens in its history"""
PASSED_OFTEN = """
4 git rebase main
3 git tag
3 docker stop tansy
"""
"""the same, passed through"""
RUN_TWICE = """
grep -rn Decimal tansy
grep -rn voucher .
grep -rn OutOfStock tansy
grep -rn TODO .
grep -rn vat books
grep -rn _lock tansy
grep -rn cp437 labels
grep -rn lang pages
grep -rn def tansy
grep -rn import tests
find . -name '*.py'
find . -name '*.csv'
find . -size +100k
find templates -type f
pytest tests/test_cart.py
pytest tests/test_orders.py
pytest -x
pytest --lf
git show HEAD
git show HEAD~1
git log -5
git log --stat -3
git blame tansy/cart.py
wc -l tansy/*.py
tree -L 2
du -sh .
pip list
pip list --outdated
curl -s localhost:8080
docker logs tansy
docker images
npm list
psql -c '\\dt'
systemctl status tansy
"""
SEARCH_WORDS = """
add batch cancel cents checkout count csv discount eur fee form gram header invoice jar label latin letter
limit line mail missing move net number order overdue page parcel patience pay place pot price quantity
queue receipt round seed send sent shelf sku sleep state stock sum tax tea total visitor
"""
SEARCH_FOLDERS = ("tansy", "tests", "books")
ONCE = 253
PROXIED = frozenset(
    (
        "cat tansy/orders.py",
        "cat tansy/cart.py",
        "cat data/products.csv",
        "cat tansy/stock.py",
        "cat books/ledger.py",
        "cat tansy/prices.py",
        "git diff",
        "pytest -q",
        "docker logs tansy",
    )
)
"""asked for in full once by `rtk proxy`"""


def _home(path: str) -> tuple[str, ...]:
    """Where a file is read: those that every project has, in all of them."""
    if path in ("README.md", "Makefile", "CHANGELOG.md", "pyproject.toml"):
        return ALL
    if path.startswith(("labels", "batch")):
        return ("labels",)
    if path.startswith("books"):
        return ("books",)
    if path.startswith(("config", "theme", "package")):
        return ("site",)
    return ("tansy",)


def _read_often() -> list[Command]:
    commands = []
    for row in READ_OFTEN.split("\n")[1:-1]:
        runs, tokens, path = row.split()
        taken = 0.15 if int(tokens) > FILTERED_READ else 0.0
        commands.append(
            Command(f"cat {path}", "rtk read", _home(path), int(runs), int(tokens), READ_CHURN, taken)
        )
    return commands


def _read_once() -> list[Command]:
    paths = [f"{folder}/{name}.txt" for folder in READ_ONCE_FOLDERS for name in READ_ONCE_NAMES.split()]
    return [
        Command(f"cat {path}", "rtk read", _home(path), 1, 90 + 37 * number % 260, 0.0)
        for number, path in enumerate(paths[:READ_ONCE])
    ]


def _run_often() -> list[Command]:
    commands = []
    for row in RUN_OFTEN.split("\n")[1:-1]:
        runs, tokens, churn, taken, line = row.split(maxsplit=4)
        projects = ALL if int(tokens) < BIG else ("tansy",)
        commands.append(
            Command(line, f"rtk {line}", projects, int(runs), int(tokens), float(churn), float(taken))
        )
    for row in UNKNOWN_OFTEN.split("\n")[1:-1]:
        runs, line = row.split(maxsplit=1)
        commands.append(Command(line, f"rtk fallback: {line}", ("tansy", "books"), int(runs), 0, 0.0))
    for row in PASSED_OFTEN.split("\n")[1:-1]:
        runs, line = row.split(maxsplit=1)
        commands.append(Command(line, f"rtk {line} (passthrough)", ALL, int(runs), 0, 0.0))
    return commands


def _run_twice() -> list[Command]:
    return [
        Command(line, _named(line), ("tansy",), 2, 60 + 71 * number % 340, 0.4, 4.0)
        for number, line in enumerate(RUN_TWICE.split("\n")[1:-1])
    ]


def _run_once() -> list[Command]:
    lines = [f"grep -rn {word} {folder}" for word in SEARCH_WORDS.split() for folder in SEARCH_FOLDERS]
    lines += [f"git show {number * 2654435761 % 2**28:07x}" for number in range(60)]
    lines += [f"docker logs --tail {10 * number} tansy" for number in range(1, 41)]
    return [
        Command(line, _named(line), ("tansy",), 1, 90 + 97 * number % 700, 0.0, 3.0 + number % 7)
        for number, line in enumerate(lines[:ONCE])
    ]


def _named(line: str) -> str:
    """How RTK names a command: searches without their arguments."""
    word = line.split(maxsplit=1)[0]
    return f"rtk {word}" if word in ("grep", "find") else f"rtk {line}"


COMMANDS = (*_read_often(), *_read_once(), *_run_often(), *_run_twice(), *_run_once())
