"""What happens in the Claude Code sessions on the shop. Each result is what the folder really answers."""

from __future__ import annotations

from typing import Any

from samples.shop import SHOP, visits
from samples.transcript import Task, Transcript
from samples.workspace import Call, Workspace

NO_OUTPUT = "(Bash completed with no output)"
GIT_LOG = "4e1d0aa Stock: all or none\n91b7c3e Stock: lock\n07aa5d2 First version"
VAT_FAILURE = """Exit code 1
.F......                                                                 [100%]
=================================== FAILURES ===================================
____________________________ test_vat_is_rounded_once __________________________

    def test_vat_is_rounded_once(cart: Cart) -> None:
        for sku in ("H-010", "H-011", "H-012"):
            cart.add(sku)
>       assert cart.vat() == Decimal("0.74")
E       AssertionError: assert Decimal('0.75') == Decimal('0.74')

tests/test_cart.py:20: AssertionError
=========================== short test summary info ============================
FAILED tests/test_cart.py::test_vat_is_rounded_once
1 failed, 7 passed in 0.31s"""
PASSED = "........                                                                 [100%]\n8 passed in 0.29s"
PER_LINE = "round(vat_of(line.sku) * line.total(), 2)"
ONCE = "vat_of(line.sku) * line.total()"


def cart(log: Transcript) -> None:
    """Repeats in sight, an error twice, a changed re-read, A-B-A, parallel calls, growing output counts."""
    folder = Workspace("/srv/tansy", dict(SHOP), silence=NO_OUTPUT)
    log.loose("permission-mode", permissionMode="default")
    log.prompt("The tax on a receipt is sometimes a cent too high. Please find out why and fix it.")
    log.step(folder.glob("**/*.py"), folder.grep("round\\("), say="I look for the places that round.")
    log.step(
        folder.read("tansy/cart.py"),
        folder.read("tansy/prices.py"),
        folder.read("tests/test_cart.py"),
        thinking="Rounding per line can add up to more than a cent. The test tells what is wanted.",
        order="interleaved",
    )
    log.step(folder.bash("pytest -q", VAT_FAILURE, "Run the tests", is_error=True))
    log.step(folder.todo("Round once", "Run the tests", "Check the orders"))
    log.step(folder.bash("pytest -q", VAT_FAILURE, "Run the tests", is_error=True), say="The same once more.")
    log.step(folder.edit("tansy/cart.py", PER_LINE, ONCE), say="I take the rounding out of the sum.")
    log.step(folder.read("tansy/cart.py"), folder.grep("round\\("))
    log.step(folder.edit("tansy/cart.py", ONCE, PER_LINE), say="Wait: the receipt prints the lines, too.")
    log.step(folder.read("tansy/cart.py"), say="Back as it was. I look at the orders before I go on.")
    log.step(folder.read("tansy/orders.py"), folder.read("tansy/mail.py"), folder.ls("templates/mail"))
    log.step(folder.cat("templates/mail/placed.txt"), folder.cat("templates/mail/cancelled.txt"))
    log.step(folder.todo("Round once", "Run the tests", "Check the orders", done=1))
    log.step(folder.read("tansy/prices.py"), say="The rates once more.")
    log.step(folder.edit("tansy/cart.py", f"sum(({PER_LINE} for", f"round(sum(({ONCE} for"))
    log.step(
        folder.edit("tansy/cart.py", "), Decimal(0))\n\n    def total", "), Decimal(0)), 2)\n\n    def total")
    )
    log.step(folder.bash("pytest -q", PASSED, "Run the tests"))
    log.broken('ains the rest of a line that was written over","stderr":"","interrupted":false}}')
    log.step(
        folder.git_status(), folder.bash("git diff --stat", " tansy/cart.py | 3 +--", "Size of the change")
    )
    log.step(folder.todo("Round once", "Run the tests", "Check the orders", done=2))
    log.say("The tax is now rounded once per receipt. All eight tests pass.")
    log.system("turn_duration", durationMs=212_000, isMeta=False)
    log.pause(minutes=23)
    log.prompt("Thanks. Does the voucher still work?")
    log.step(folder.grep("voucher"), folder.read("tansy/cart.py", 40, 14), order="result first")
    log.step(folder.read("tests/test_cart.py"))
    log.step(folder.bash("pytest -q", PASSED, "Run the tests"), folder.bash("make lint", "", "Lint"))
    log.step(
        folder.bash("pytest -q -k voucher", ".  [100%]\n1 passed, 7 deselected in 0.12s", "Voucher only")
    )
    log.say("Yes: `discount` works on the net sum, which did not change. A test covers it.")
    log.loose("last-prompt", lastPrompt="Thanks. Does the voucher still work?")


def review(log: Transcript) -> None:
    """Subagents that read and run the same, their rows as progress, one whose own file is gone."""
    folder = Workspace("/srv/tansy", dict(SHOP), silence=NO_OUTPUT)
    log.prompt("Review how orders take and put back stock. Use two agents, then sum up.")
    log.step(folder.read("tansy/orders.py"), folder.read("tansy/stock.py"))

    def locks(agent: Transcript) -> str:
        agent.step(folder.grep("_lock"), folder.glob("tansy/*.py"))
        agent.step(folder.read("tansy/stock.py"))
        agent.step(folder.read("tansy/orders.py"), folder.read("tests/test_orders.py"))
        agent.step(folder.grep("Thread|Lock"), folder.bash("git log --oneline -3 -- tansy/stock.py", GIT_LOG))
        agent.step(folder.read("tansy/stock.py"), say="Once more with the tests in mind.")
        agent.step(folder.cat("tansy/orders.py"), say="Without the numbers, to count the locks.")
        agent.step(folder.cat("tansy/orders.py"), say="I counted `_lock` twice. Again.")
        return "`take` and `put_back` hold the lock; `of` does not, and `missing` reads without one."

    def letters(agent: Transcript) -> str:
        agent.step(folder.grep("send\\("))
        agent.step(folder.read("tansy/mail.py"), folder.read("tansy/orders.py"))
        agent.step(folder.cat("templates/mail/placed.txt"), folder.cat("templates/mail/cancelled.txt"))
        agent.step(folder.read("templates/mail/shipped.txt"))
        agent.step(folder.cat("tansy/orders.py"), say="Where is `send` called?")
        return "Letters go out for placed and cancelled orders only. There is no letter for sent ones."

    def prices(agent: Transcript) -> str:
        agent.step(folder.read("tansy/prices.py"))
        agent.step(folder.read("data/products.csv", 1, 12))
        return "Prices are cached for the life of the process."

    log.delegate(
        Task("Explore", "Check locking", "Does every access to the stock hold its lock?", locks),
        Task("Explore", "Check letters", "Which letters go out, and when?", letters),
        say="Two agents look at locking and at letters.",
    )
    log.step(folder.read("tansy/stock.py"), say="I check the claim about `of` myself.")
    log.step(folder.cat("tansy/orders.py"), say="And the one about letters.")
    log.delegate(Task("Explore", "Check prices", "When are prices read?", prices, is_kept=False))
    log.loose(
        "queue-operation", operation="enqueue", timestamp="2026-11-10T13:31:07.512Z", content="be brief"
    )
    log.loose("queue-operation", operation="dequeue", timestamp="2026-11-10T13:31:09.020Z")
    log.prompt("be brief")
    log.step(
        folder.write(
            "REVIEW.md", "# Review\n\n- `Stock.of` reads without the lock.\n- No letter for sent orders.\n"
        )
    )
    log.step(folder.cat("REVIEW.md"))
    log.say("Two findings, in REVIEW.md.")
    log.loose("summary", summary="Review of stock and letters", leafUuid=log.tip)


def second_thoughts(log: Transcript) -> None:
    """A rewind, a rejection, cancelled siblings, an interrupt, an API error, a picture, a cut list."""
    folder = Workspace("/srv/tansy", dict(SHOP), silence=NO_OUTPUT)
    log.prompt("Make the checkout page look less crowded.")
    root = log.tip
    log.step(folder.read("templates/checkout.html"), folder.read_image("design/checkout.png"))
    log.say("The table has no heading. Shall I add one and move the voucher below the total?")
    kept = log.tip
    log.prompt("Yes, and use two columns.")
    log.step(folder.grep("cart\\.", "templates"), folder.read("tansy/cart.py"))
    log.step(folder.edit("templates/checkout.html", "  <table>\n", '  <table class="two">\n'))
    log.step(folder.read("templates/checkout.html"))
    log.say("Two columns it is.")
    folder.files["templates/checkout.html"] = SHOP["templates/checkout.html"]
    log.prompt("Yes, but keep one column.", parent=kept)
    log.step(folder.read("tansy/cart.py"), say="The cart again: the other try is forgotten.")
    log.step(folder.read("templates/checkout.html"))
    rejected = (
        "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a "
        "file edit, the new_string was NOT written to the file)."
    )
    arguments: dict[str, Any] = {
        "file_path": folder.path("templates/checkout.html"),
        "content": "<form></form>\n",
    }
    log.step(Call("Write", arguments, rejected, is_error=True, details="User rejected tool use"))
    log.prompt("[Request interrupted by user for tool use]")
    log.prompt("Do not start over. Only move the voucher.")
    voucher = '  <label>Voucher <input name="voucher" value="{{ cart.voucher }}"></label>\n'
    total = '  <p class="total">Total: {{ cart.total }}</p>\n'
    log.step(folder.edit("templates/checkout.html", voucher + total, total + voucher))
    sibling = "<tool_use_error>Sibling tool call errored</tool_use_error>"
    log.step(
        folder.read("templates/receipt.html"),
        Call("Read", {"file_path": folder.path("templates/base.html")}, sibling, is_error=True),
        Call("Read", {"file_path": folder.path("templates/menu.html")}, sibling, is_error=True),
    )
    log.system(
        "api_error", level="error", error={"status": 529}, retryInMs=1020, retryAttempt=1, maxRetries=10
    )
    log.failed_request("API Error: 529 Overloaded")
    log.prompt("go on")
    log.step(folder.glob("**/*", truncated=True), folder.read("templates/checkout.html"))
    log.step(folder.read("templates/receipt.html"))
    log.step(folder.read("data/products.csv"), folder.grep("H-0[12]", "data"))
    log.step(
        folder.grep("H-0[12]", "data"), folder.grep("no such word"), folder.grep("checkout", content=False)
    )
    log.step(
        folder.bash("mkdir -p static", "", "Make a folder"),
        folder.bash("touch static/site.css", "", "Empty file"),
    )
    log.step(folder.read_image("design/checkout.png"))
    log.say("The voucher now stands below the total.")
    log.loose("session-note", note="a row of a kind that nobody knows yet", root=root)


def migration(log: Transcript) -> None:
    """A compaction with a restored file and re-reads after it, the host's own stub, a spilled output."""
    folder = Workspace("/srv/tansy", dict(SHOP), arrow="\t", silence=NO_OUTPUT)
    log.loose("permission-mode", permissionMode="acceptEdits")
    log.prompt("Move the orders from memory into SQLite, step by step.")
    note = {"path": folder.path("CLAUDE.md"), "type": "Project", "content": SHOP["CLAUDE.md"]}
    log.attach(type="nested_memory", path=folder.path("CLAUDE.md"), content=note, displayPath="CLAUDE.md")
    log.step(
        folder.read("tansy/orders.py"), folder.read("tansy/stock.py"), folder.read("tests/test_orders.py")
    )
    log.step(folder.todo("Schema", "Orders", "Stock", "Tests"))
    log.step(
        folder.grep("_orders"), folder.grep("_counts"), folder.grep("OutOfStockError"), order="interleaved"
    )
    log.step(
        folder.fetch(
            "https://docs.example/sqlite-transactions",
            "How do I take several rows or none?",
            "Open the transaction with `BEGIN IMMEDIATE`, update, look at the number of changed rows, and "
            "roll back if it is too small. Readers are not held up in WAL mode.",
        )
    )
    log.step(folder.write("tansy/schema.sql", SCHEMA), say="First the schema.")
    log.step(folder.write("tansy/database.py", DATABASE))
    log.step(folder.bash("python -m compileall -q tansy", "", "Check the syntax"))
    log.step(folder.read("tansy/database.py"), folder.read("tansy/orders.py"))
    log.step(folder.read_unchanged("tansy/database.py"), say="I read the helper once more.")
    for name in ("tansy/mail.py", "tansy/prices.py", "tansy/cart.py", "Makefile"):
        log.step(folder.read(name))
    log.step(folder.read("data/products.csv"))
    log.step(_spilled(log, folder), say="Which pages are asked for while orders are written?")
    log.step(folder.grep("send\\("), folder.bash("pytest -q", PASSED, "Run the tests"))
    log.step(
        folder.edit(
            "tansy/orders.py", "import StrEnum\n", "import StrEnum\n\nfrom tansy.database import connect\n"
        )
    )
    log.step(folder.edit("tansy/orders.py", ": the shop is small", ", for now"))
    log.step(folder.todo("Schema", "Orders", "Stock", "Tests", done=2))
    log.compact(
        "1. Asked for: orders move from memory into SQLite, step by step.\n2. Done: schema.sql, database.py; "
        "orders.py imports connect.\n3. Next: Orders.place and Orders.cancel, then the stock, then tests.",
        {folder.path("tansy/database.py"): DATABASE},
        "Please continue from where we left off.",
    )
    log.prompt("Now place and cancel.")
    log.step(
        folder.read("tansy/orders.py"), folder.read("tansy/stock.py"), say="I read the two modules again."
    )
    log.step(folder.read("tests/test_orders.py"), folder.read_unchanged("tansy/database.py"))
    log.step(folder.grep("_orders"))
    log.step(folder.edit("tansy/orders.py", "        self._orders[order.number] = order\n", PLACE))
    log.step(folder.bash("pytest -q", PASSED, "Run the tests"))
    log.step(folder.read("tansy/orders.py"), folder.git_status())
    log.attach(type="total_tokens_reminder", text="<total_tokens>171200 tokens left</total_tokens>")
    log.pause(minutes=95)
    log.prompt("Go on with cancel.")
    log.step(folder.read("tansy/orders.py"), folder.cat("tansy/schema.sql"))
    log.step(folder.edit("tansy/orders.py", "        order.move(State.CANCELLED)\n", CANCEL))
    log.step(folder.bash("pytest -q", PASSED, "Run the tests"))
    log.step(folder.bash("pytest -q", PASSED, "Run the tests"), folder.git_status())
    log.step(folder.todo("Schema", "Orders", "Stock", "Tests", done=3))
    log.say("Placing and cancelling now write to the database. Both run in one transaction.")


SCHEMA = """create table orders (
  number integer primary key,
  visitor text not null,
  total text not null,
  placed_at text not null,
  state text not null default 'new'
);
create table order_lines (
  number integer not null references orders(number),
  sku text not null,
  quantity integer not null check (quantity > 0)
);
create index order_lines_number on order_lines(number);
"""
DATABASE = '''"""The database of the shop: one file, one writer."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

FILE = Path("tansy.db")
SCHEMA = (Path(__file__).parent / "schema.sql").read_text("utf-8")


@contextmanager
def connect(file: Path = FILE) -> Iterator[sqlite3.Connection]:
    """A connection in a transaction: committed at the end, rolled back on an error."""
    is_new = not file.exists()
    connection = sqlite3.connect(file, isolation_level=None)
    try:
        if is_new:
            connection.executescript(SCHEMA)
        connection.execute("begin immediate")
        yield connection
        connection.execute("commit")
    finally:
        connection.close()
'''
PLACE = """        with connect() as database:
            database.execute("insert into orders values (?, ?, ?, ?, 'new')", order.row())
"""
CANCEL = """        order.move(State.CANCELLED)
        with connect() as database:
            database.execute("update orders set state = 'cancelled' where number = ?", (number,))
"""


def _spilled(log: Transcript, folder: Workspace) -> Call:
    """A command whose output was too large: the model is shown its first 2 KB; the file is gone."""
    output = visits(900)
    file = f"{log.session}/tool-results/b7k2m9x4q.txt"
    text = (
        f"<persisted-output>\nOutput too large ({len(output) / 1024:.1f}KB). Full output saved to: "
        f"/home/demo/.claude/projects/-srv-tansy/{file}\n\n"
        f"Preview (first 2KB):\n{output[:2000]}\n...\n</persisted-output>"
    )
    return folder.bash("cat /var/log/tansy/access.log", text, "Show the access log")
