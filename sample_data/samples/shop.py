"""The files of an invented web shop for herbs and seeds, as the agents of the samples see them."""

from __future__ import annotations

CART = '''"""The cart of a visitor: lines, totals, vouchers."""

from dataclasses import dataclass, field
from decimal import Decimal

from tansy.prices import price_of, vat_of
from tansy.stock import Stock


@dataclass
class Line:
    """One product in the cart."""

    sku: str
    quantity: int = 1

    def total(self) -> Decimal:
        return price_of(self.sku) * self.quantity


@dataclass
class Cart:
    """All lines of one visitor, in the order in which they were added."""

    visitor: str
    lines: list[Line] = field(default_factory=list)
    voucher: str | None = None

    def add(self, sku: str, quantity: int = 1) -> None:
        """Add a product, or more of one that is there already."""
        for line in self.lines:
            if line.sku == sku:
                line.quantity += quantity
                return
        self.lines.append(Line(sku, quantity))

    def remove(self, sku: str) -> None:
        self.lines = [line for line in self.lines if line.sku != sku]

    def net(self) -> Decimal:
        return sum((line.total() for line in self.lines), Decimal(0))

    def vat(self) -> Decimal:
        # rounded per line: the sum can be a cent off
        return sum((round(vat_of(line.sku) * line.total(), 2) for line in self.lines), Decimal(0))

    def total(self) -> Decimal:
        return self.net() + self.vat() - self.discount()

    def discount(self) -> Decimal:
        if self.voucher == "SPRING10":
            return round(self.net() / 10, 2)
        return Decimal(0)

    def missing(self, stock: Stock) -> list[str]:
        """Products that the stock cannot serve."""
        return [line.sku for line in self.lines if stock.of(line.sku) < line.quantity]
'''

PRICES = '''"""Prices and taxes, read once from data/products.csv."""

import csv
from decimal import Decimal
from functools import cache
from pathlib import Path

DATA = Path(__file__).parent.parent / "data" / "products.csv"
REDUCED = {"seed", "herb"}


@cache
def _rows() -> dict[str, dict[str, str]]:
    with DATA.open(newline="") as file:
        return {row["sku"]: row for row in csv.DictReader(file)}


def price_of(sku: str) -> Decimal:
    """Net price of one piece."""
    return Decimal(_rows()[sku]["price"])


def vat_of(sku: str) -> Decimal:
    """Tax rate of a product: reduced for what can be eaten or sown."""
    kind = _rows()[sku]["kind"]
    return Decimal("0.07") if kind in REDUCED else Decimal("0.19")


def name_of(sku: str) -> str:
    return _rows()[sku]["name"]
'''

STOCK = '''"""What lies on the shelves."""

from collections import Counter
from threading import Lock


class OutOfStockError(Exception):
    """There is not enough of a product."""


class Stock:
    """Counts of products, safe for several workers."""

    def __init__(self, counts: dict[str, int]) -> None:
        self._counts = Counter(counts)
        self._lock = Lock()

    def of(self, sku: str) -> int:
        return self._counts[sku]

    def take(self, sku: str, quantity: int) -> None:
        """Take pieces off the shelf, all or none."""
        with self._lock:
            if self._counts[sku] < quantity:
                raise OutOfStockError(sku)
            self._counts[sku] -= quantity

    def put_back(self, sku: str, quantity: int) -> None:
        with self._lock:
            self._counts[sku] += quantity

    def low(self, limit: int = 5) -> list[str]:
        return sorted(sku for sku, count in self._counts.items() if count < limit)
'''

ORDERS = '''"""From a cart to a parcel."""

from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from enum import StrEnum

from tansy.cart import Cart
from tansy.mail import send
from tansy.stock import OutOfStockError, Stock


class State(StrEnum):
    NEW = "new"
    PAID = "paid"
    PACKED = "packed"
    SENT = "sent"
    CANCELLED = "cancelled"


MOVES = {
    State.NEW: {State.PAID, State.CANCELLED},
    State.PAID: {State.PACKED, State.CANCELLED},
    State.PACKED: {State.SENT},
    State.SENT: set(),
    State.CANCELLED: set(),
}


@dataclass
class Order:
    """Later price changes do not touch it."""

    number: int
    visitor: str
    lines: list[tuple[str, int]]
    total: Decimal
    placed_at: datetime
    state: State = State.NEW

    def move(self, state: State) -> None:
        if state not in MOVES[self.state]:
            raise ValueError(f"order {self.number}: {self.state} -> {state}")
        self.state = state


class Orders:
    """All orders, kept in memory: the shop is small."""

    def __init__(self, stock: Stock) -> None:
        self._stock = stock
        self._orders: dict[int, Order] = {}
        self._next = 1001

    def place(self, cart: Cart) -> Order:
        """Place an order and take its products off the shelf, all or none."""
        taken: list[tuple[str, int]] = []
        try:
            for line in cart.lines:
                self._stock.take(line.sku, line.quantity)
                taken.append((line.sku, line.quantity))
        except OutOfStockError:
            for sku, quantity in taken:
                self._stock.put_back(sku, quantity)
            raise
        order = Order(self._next, cart.visitor, taken, cart.total(), datetime.now(UTC))
        self._orders[order.number] = order
        self._next += 1
        send(order.visitor, "placed", number=order.number, total=order.total)
        return order

    def cancel(self, number: int) -> None:
        order = self._orders[number]
        order.move(State.CANCELLED)
        for sku, quantity in order.lines:
            self._stock.put_back(sku, quantity)
        send(order.visitor, "cancelled", number=number)
'''

MAIL = '''"""Letters to visitors. Texts are in templates/mail/."""

from pathlib import Path
from string import Template

FOLDER = Path(__file__).parent.parent / "templates" / "mail"
OUTBOX: list[tuple[str, str]] = []


def send(visitor: str, name: str, **values: object) -> None:
    """Fill a template and put the letter into the outbox."""
    text = Template((FOLDER / f"{name}.txt").read_text("utf-8"))
    OUTBOX.append((visitor, text.substitute(values)))
'''

TEST_CART = """from decimal import Decimal

import pytest

from tansy.cart import Cart


@pytest.fixture
def cart() -> Cart:
    return Cart("visitor-1")


def test_the_same_product_is_one_line(cart: Cart) -> None:
    cart.add("H-010")
    cart.add("H-010", 2)
    assert [(line.sku, line.quantity) for line in cart.lines] == [("H-010", 3)]


def test_vat_is_rounded_once(cart: Cart) -> None:
    for sku in ("H-010", "H-011", "H-012"):
        cart.add(sku)
    assert cart.vat() == Decimal("0.74")


def test_voucher(cart: Cart) -> None:
    cart.add("T-030", 2)
    cart.voucher = "SPRING10"
    assert cart.discount() == Decimal("3.18")
"""

TEST_ORDERS = """import pytest

from tansy.cart import Cart
from tansy.orders import Orders, State
from tansy.stock import OutOfStockError, Stock


def test_all_or_none() -> None:
    stock = Stock({"H-010": 5, "H-011": 0})
    cart = Cart("visitor-1")
    cart.add("H-010", 2)
    cart.add("H-011")
    with pytest.raises(OutOfStockError):
        Orders(stock).place(cart)
    assert stock.of("H-010") == 5


def test_sent_orders_stay_sent() -> None:
    orders = Orders(Stock({"H-010": 5}))
    cart = Cart("visitor-1")
    cart.add("H-010")
    order = orders.place(cart)
    for state in (State.PAID, State.PACKED, State.SENT):
        order.move(state)
    with pytest.raises(ValueError, match="sent -> cancelled"):
        orders.cancel(order.number)
"""

README = """# Tansy

A small shop for herbs, seeds and tools. Python 3.12, no framework, one process.

    make run     # http://localhost:8080
    make test

Money is `Decimal` everywhere. Taxes are rounded once per receipt, not per line.
"""

CLAUDE = """# Notes for the agent

- Run `make test` before you say that something works.
- Money is Decimal. Never float.
- Letters to visitors are in templates/mail/, one file each, in plain words.
"""

MAKEFILE = """run:
\tpython -m tansy

test:
\tpytest -q

.PHONY: run test
"""

CHECKOUT = """<form id="checkout" method="post" action="/orders">
  <h1>Your order</h1>
  <table>
    {% for line in cart.lines %}
    <tr><td>{{ line.name }}</td><td>{{ line.quantity }}</td><td>{{ line.total }}</td></tr>
    {% endfor %}
  </table>
  <label>Voucher <input name="voucher" value="{{ cart.voucher }}"></label>
  <p class="total">Total: {{ cart.total }}</p>
  <button>Order and pay</button>
</form>
"""

LABEL = '''"""Labels for jars and seed bags, 57 x 32 mm."""

from dataclasses import dataclass

WIDTH_MM, HEIGHT_MM = 57, 32


@dataclass(frozen=True)
class Label:
    """What stands on one label."""

    title: str
    latin: str
    grams: int
    batch: str


def lines(label: Label, width: int = 24) -> list[str]:
    """The label as lines of text, each cut to the width of the printer."""
    return [
        label.title.upper()[:width],
        label.latin[:width],
        f"{label.grams} g".rjust(width),
        f"Batch {label.batch}"[:width],
    ]
'''

PRINTER = '''"""The label printer: a queue, and a serial line that is sometimes asleep."""

import time
from collections import deque

from labels.layout import Label, lines


class Printer:
    """Prints one label after the other."""

    def __init__(self, port, pause: float = 0.2) -> None:
        self._port = port
        self._pause = pause
        self._queue: deque[Label] = deque()

    def add(self, label: Label, copies: int = 1) -> None:
        self._queue.extend([label] * copies)

    def run(self) -> int:
        """Print all; the number of labels printed."""
        done = 0
        while self._queue:
            label = self._queue.popleft()
            self._port.write("\\r\\n".join(lines(label)).encode("cp437") + b"\\f")
            time.sleep(self._pause)
            done += 1
        return done
'''

SITE_PAGE = """---
title: Tea and herbs 茶と薬草
season: spring
---
Our herbs grow in pots on the roof. New this year: 紫蘇 (shiso), ヨモギ (yomogi)
and lemongrass. Sent on the same day, except on Mondays ☂. Visit our café.

<product sku="H-014"/>
<product sku="H-021"/>
"""

SITE_CONFIG = """{
  "title": "Tansy",
  "languages": ["en", "ja"],
  "theme": {"accent": "#6b8e23", "font": "Vollkorn"},
  "pages": ["index", "tea", "shipping"]
}
"""

_PLANTS = (
    "Anise", "Basil", "Borage", "Chives", "Dill", "Fennel", "Lovage", "Mint", "Sage", "Sorrel", "Tansy",
    "Thyme",
)  # fmt: skip
_FORMS = (("herb", "H", "in a pot", 240), ("seed", "S", "seeds, 2 g", 190), ("tea", "T", "dried, 40 g", 590))


def products() -> str:
    """The list of products as CSV: every plant in three forms."""
    rows = ["sku,kind,name,price,stock"]
    for kind, letter, form, cents in _FORMS:
        for number, plant in enumerate(_PLANTS, start=10):
            price = cents + 37 * number % 400
            rows.append(f'{letter}-{number:03},{kind},"{plant}, {form}",{price / 100:.2f},{number * 7 % 40}')
    return "\n".join(rows) + "\n"


def visits(count: int) -> str:
    """The access log of a quiet day."""
    pages = ("/", "/herbs", "/seeds", "/cart", "/orders", "/static/site.css")
    lines = []
    for number in range(count):
        second = number * 37
        page = pages[number * number % 6]
        lines.append(
            f"2026-11-09T{6 + second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}Z "
            f"GET {page} 200 {number * 811 % 900 + 100}"
        )
    return "\n".join(lines) + "\n"


SHOP = {
    "CLAUDE.md": CLAUDE,
    "Makefile": MAKEFILE,
    "README.md": README,
    "data/products.csv": products(),
    "tansy/__init__.py": "",
    "tansy/cart.py": CART,
    "tansy/mail.py": MAIL,
    "tansy/orders.py": ORDERS,
    "tansy/prices.py": PRICES,
    "tansy/stock.py": STOCK,
    "templates/checkout.html": CHECKOUT,
    "templates/mail/cancelled.txt": "Your order $number was cancelled.\n",
    "templates/mail/placed.txt": "Thank you. Your order $number comes to $total.\n",
    "tests/test_cart.py": TEST_CART,
    "tests/test_orders.py": TEST_ORDERS,
}
LABELS = {
    "README.md": "# Labels\n\nPrints the labels of the shop. `python -m labels batch.csv`\n",
    "batch.csv": "title,latin,grams,batch,copies\nThyme,Thymus,40,26-11A,12\nSage,Salvia,30,26-11A,8\n",
    "labels/layout.py": LABEL,
    "labels/printer.py": PRINTER,
}
SITE = {
    "config.json": SITE_CONFIG,
    "pages/index.md": "---\ntitle: Tansy\n---\nHerbs, seeds and tea.\n",
    "pages/shipping.md": "---\ntitle: Shipping\n---\nWe pack every day but Monday. Free from 40 € on.\n",
    "pages/tea.md": SITE_PAGE,
    "theme/site.css": "body { font-family: Vollkorn; color: #333 }\na { color: #6b8e23 }\n",
}
