"""Where RTK's database may lie (rtk.md 2.1)."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

from dedupstats.sources.base import Place

if TYPE_CHECKING:
    from collections.abc import Mapping

HERE = "./rtk/history.db"
"""the database in the working directory, as a place is shown"""


def places(env: Mapping[str, str], home: Path, platform: str) -> list[Place]:
    """Every place where RTK may have put its database (rtk.md 2.1).

    RTK itself takes the first that applies. One person can have several databases (a snap-packaged
    editor sees its own home), so all are listed and merged. RTK writes into its working directory only
    where it knows no better place, so what lies there counts only if nothing lies in the others.
    """
    found: list[Place] = []
    if path := env.get("RTK_DB_PATH"):
        found.append(Place(Path(path), "$RTK_DB_PATH"))
    config = _config_place(env, home, platform)
    if path := _configured_path(config.path):
        found.append(Place(Path(path), f"database_path in {config.shown_as}"))
    found += _data_places(env, home, platform)
    found += [
        Place(path, "~/" + path.relative_to(home).as_posix())
        for path in sorted(home.glob("snap/code/*/.local/share/rtk/history.db"))
    ]
    # not Path.exists, which raises below a folder that cannot be read
    if not any(os.path.exists(place.path) for place in found):  # noqa: PTH110
        found.append(Place(Path("rtk/history.db"), HERE))
    return list({place.path: place for place in reversed(found)}.values())[::-1]


def _config_place(env: Mapping[str, str], home: Path, platform: str) -> Place:
    """RTK's config.toml (rtk.md 2.1)."""
    if platform == "win32":
        folder = Path(env.get("APPDATA") or home / "AppData" / "Roaming")
        return Place(folder / "rtk" / "config.toml", r"%APPDATA%\rtk\config.toml")
    if platform == "darwin":
        folder = home / "Library" / "Application Support"
        return Place(folder / "rtk" / "config.toml", "~/Library/Application Support/rtk/config.toml")
    if configured := env.get("XDG_CONFIG_HOME"):
        return Place(Path(configured) / "rtk" / "config.toml", "$XDG_CONFIG_HOME/rtk/config.toml")
    return Place(home / ".config" / "rtk" / "config.toml", "~/.config/rtk/config.toml")


def _configured_path(config: Path) -> str | None:
    """`[tracking] database_path`; None if the file has none or RTK could not read it either."""
    try:
        tracking = tomllib.loads(config.read_text("utf-8-sig")).get("tracking")
    except (OSError, ValueError, RecursionError):
        return None
    path = tracking.get("database_path") if isinstance(tracking, dict) else None
    return path if isinstance(path, str) and path else None


def _data_places(env: Mapping[str, str], home: Path, platform: str) -> list[Place]:
    """`rtk/history.db` in the local data directory of the system (rtk.md 2.1)."""
    if platform == "win32":
        folder = Path(env.get("LOCALAPPDATA") or home / "AppData" / "Local")
        return [Place(folder / "rtk" / "history.db", r"%LOCALAPPDATA%\rtk\history.db")]
    if platform == "darwin":
        folder = home / "Library" / "Application Support"
        return [Place(folder / "rtk" / "history.db", "~/Library/Application Support/rtk/history.db")]
    places = [Place(home / ".local/share/rtk/history.db", "~/.local/share/rtk/history.db")]
    if configured := env.get("XDG_DATA_HOME"):
        places.insert(0, Place(Path(configured) / "rtk" / "history.db", "$XDG_DATA_HOME/rtk/history.db"))
    return places
