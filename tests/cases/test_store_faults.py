"""Fault cases of class X: the store, and the files that are read into it.

X08 and X09 are in tests/unit/sources/test_probe.py as well; X19 is in tests/cases/test_sql.py.
"""

from __future__ import annotations

import os
import signal
import sqlite3
import stat
import subprocess
import sys
import textwrap
from contextlib import closing
from pathlib import Path

import duckdb
import pytest
from support import docker_agent, rtk
from support.claude import Transcript
from support.command import Ran, run
from support.snapshot import duplicates, everything, unbalanced

from dedupstats import DedupstatsError, import_paths, open_store
from dedupstats.report.tables import write_file
from dedupstats.store import MIGRATIONS

READERS = [
    ("rates",),
    ("report",),
    ("sql", "from session"),
    ("export", "{folder}"),
]


EMISSION_PATH = 13
"""column of the view `emission`"""


def child(script: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run a script in a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script), *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )


def log(session: str, *texts: str) -> Transcript:
    made = Transcript(session)
    for number, text in enumerate(texts, 1):
        made.read(f"{session}-t{number}", "a", text, f"m-{session}-{number}")
    return made


def three_logs(folder: Path) -> Path:
    """Three files whose sessions copy from each other, and a database."""
    for name in ("s1", "s2", "s3"):
        made = log(name, "x" * 300, "x" * 300, name)
        made.read("shared", "b", "y" * 400, "m-shared")
        made.write(folder / f"{name}.jsonl")
    rtk.write_history(
        folder / "history.db", commands=[rtk.Command("2026-03-01T09:00:00+00:00", "ls", "rtk ls", 9, 4)]
    )
    return folder


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    (tmp_path / "logs").mkdir()
    return three_logs(tmp_path / "logs")


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return tmp_path / "store" / "a.duckdb"


def refused(ran: Ran, *words: str) -> None:
    """One line and a hint, exit 3, nothing on stdout."""
    lines = ran.err.splitlines()
    assert (ran.code, ran.out, len(lines)) == (3, "", 2), ran
    assert lines[0].startswith("dedupstats: ")
    for word in words:
        assert word in ran.err


def files_in(folder: Path) -> list[tuple[str, int, int]]:
    """Names, sizes and times of all files below a folder."""
    return sorted(
        (str(path), path.stat().st_size, path.stat().st_mtime_ns)
        for path in folder.rglob("*")
        if path.is_file()
    )


# -- the store -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", [("import", "{logs}"), *READERS], ids=lambda command: command[0])
def test_x01_another_process_has_the_store_open(
    logs: Path, db: Path, tmp_path: Path, command: tuple[str, ...]
) -> None:
    run("import", str(logs), "--db", str(db))
    holder = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import sys, duckdb; c = duckdb.connect(sys.argv[1]); print(1, flush=True); input()",
            db,
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        assert holder.stdout is not None
        holder.stdout.readline()
        words = [word.format(logs=logs, folder=tmp_path / "out") for word in command]
        ran = run(*words, "--db", str(db))
    finally:
        holder.communicate(b"\n")
    refused(ran, str(db), "in use", str(holder.pid), "wait until it has finished")
    assert not (tmp_path / "out").exists()
    with open_store(db, read_only=True) as store:
        assert store.query("select count(*) from emission") == [(12,)]


@pytest.mark.parametrize("command", ["rates", "spend", "top", "simulate", "observed"])
def test_prices_have_changed_and_the_store_cannot_be_written(
    logs: Path, db: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    """A command that only reads says why it wants to write; what needs no prices still answers."""
    run("import", str(logs), "--db", str(db))
    access = os.access
    monkeypatch.setattr(
        os, "access", lambda path, mode: access(path, mode) and not (mode == os.W_OK and Path(path) == db)
    )
    assert run(command, "--db", str(db)).code == 0
    own = tmp_path / "prices.toml"
    own.write_text('[[price]]\nmodel = "m"\ninput = 1\noutput = 1\n')
    monkeypatch.setenv("DEDUPSTATS_PRICES", str(own))
    refused(run(command, "--db", str(db)), "figures are of other prices", f"{db} is not writable")
    assert run("sql", "from session", "--db", str(db)).code == 0
    assert run("report", "--db", str(db)).code == 0


_KILLED = """
    import os, signal, sys
    from dedupstats import import_paths, open_store
    from dedupstats.ingest import write
    from dedupstats.store import Store
    write.BATCH_FILES = 1
    commit, left, when = write.Batch.commit, int(sys.argv[3]), sys.argv[4]
    def counted(batch):
        global left
        if left == 0:
            if when == "inside":
                # everything is written, only the commit is missing
                Store.query, query = lambda self, sql, *more: (
                    os.kill(os.getpid(), signal.SIGKILL) if sql == "commit" else query(self, sql, *more)
                ), Store.query
            else:
                os.kill(os.getpid(), signal.SIGKILL)
        left -= 1
        commit(batch)
    write.Batch.commit = counted
    with open_store(sys.argv[2]) as store:
        import_paths(store, [sys.argv[1]])
"""


@pytest.mark.parametrize(("commits", "when"), [(0, "between"), (1, "inside"), (3, "inside"), (4, "between")])
def test_x02_killed_import(logs: Path, db: Path, commits: int, when: str) -> None:
    with open_store(":memory:") as store:
        import_paths(store, [logs])
        undisturbed = everything(store)
    killed = child(_KILLED, logs, db, commits, when)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    with open_store(db, read_only=True) as store:
        whole = store.query(
            "select c.path, count(*) from raw.emission join raw.context c using (context_key) group by all"
        )
        assert sorted(count for _, count in whole) == [4] * min(commits, 3)
        assert store.query("select count(*) from raw.unit") == [(commits,)]
        assert store.is_stale == (commits > 0)
    with open_store(db) as store:
        import_paths(store, [logs])
        assert everything(store) == undisturbed
        assert (duplicates(store), unbalanced(store), store.is_stale) == ({}, [], False)


def test_x02_killed_while_units_were_replaced(logs: Path, db: Path) -> None:
    with open_store(db) as store:
        import_paths(store, [logs])
        before = everything(store)
    assert child(
        _KILLED.replace("[sys.argv[1]]", "[sys.argv[1]], force=True"), logs, db, 1, "inside"
    ).returncode
    with open_store(db) as store:
        import_paths(store, [logs])
        assert everything(store) == before


def test_x02_the_next_import_settles_what_a_killed_one_left(logs: Path, db: Path) -> None:
    """All units are in, only the history is not: nothing is left to read, and readers are told."""
    unsettled = """
        import os, signal, sys
        from dedupstats import import_paths, open_store
        from dedupstats import history
        history.complete = lambda store: os.kill(os.getpid(), signal.SIGKILL)
        with open_store(sys.argv[2]) as store:
            import_paths(store, [sys.argv[1]])
    """
    assert child(unsettled, logs, db).returncode == -signal.SIGKILL
    for command in (("sql", "select count(*) from emission"), ("report",)):
        ran = run(*command, "--db", str(db))
        assert [line for line in ran.err.splitlines() if "import was stopped" in line] == [
            ran.err.splitlines()[0]
        ]
        assert "dedupstats import" in ran.err.splitlines()[0]
    assert run("import", str(logs), "--db", str(db)).out.endswith("s)\n")
    ran = run("sql", "select count(*) as n from emission", "--format", "csv", "--db", str(db))
    assert (ran.out.split(), ran.err) == (["n", "12"], "")


def test_x03_a_log_of_the_store_that_cannot_be_replayed(logs: Path, db: Path) -> None:
    assert child(_KILLED, logs, db, 2, "between").returncode == -signal.SIGKILL
    wal = db.with_name("a.duckdb.wal")
    whole, store_bytes = wal.read_bytes(), db.read_bytes()
    wal.write_bytes(whole[:2000] + b"\xff" * 40 + whole[2040:])
    damaged = files_in(db.parent)
    for command in (("import", str(logs)), ("rates",), ("sql", "from session")):
        refused(run(*command, "--db", str(db)), f"{wal} is damaged", f"move {wal} away")
    assert files_in(db.parent) == damaged
    # the way out that the hint tells
    wal.unlink()
    assert run("import", str(logs), "--db", str(db)).code == 0
    # cut off anywhere, as by a full disk: what was committed before the cut is there, whole
    for length in (len(whole) // 2, 30):
        db.write_bytes(store_bytes)
        wal.write_bytes(whole[:length])
        assert run("import", str(logs), "--db", str(db)).code == 0
        with open_store(db, read_only=True) as store:
            assert store.query("select count(*) from emission") == [(12,)]
            assert duplicates(store) == {}


_LIMITED = """
    import resource, signal, sys
    from dedupstats.__main__ import main
    limit, sys.argv = int(sys.argv[1]), ["dedupstats", *sys.argv[2:]]
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    main()
"""
"""A file that may not grow beyond a size fails as one on a full disk does."""


def test_x04_disk_full(logs: Path, db: Path) -> None:
    run("import", str(logs / "s1.jsonl"), "--db", str(db))
    size = db.stat().st_size
    log("s4", *(f"{number:05}" * 400 for number in range(2000))).write(logs / "s4.jsonl")
    ran = child(_LIMITED, size, "import", logs, "--db", db, "--keep-content")
    assert (ran.returncode, ran.stdout, len(ran.stderr.splitlines())) == (3, "", 2), ran
    assert ran.stderr.startswith(f"dedupstats: cannot write {db}")
    assert "make room on the disk" in ran.stderr
    with open_store(db) as store:
        assert store.query("select count(*) from emission where path like '%s1.jsonl'") == [(4,)]
        import_paths(store, [logs])
        assert store.query("select count(*) from emission") == [(2012,)]


def test_x04_disk_full_when_the_store_is_made(logs: Path, db: Path) -> None:
    ran = child(_LIMITED, 20_000, "import", logs, "--db", db)
    assert (ran.returncode, ran.stdout, len(ran.stderr.splitlines())) == (3, "", 2), ran
    db.unlink(missing_ok=True)
    db.with_name("a.duckdb.wal").unlink(missing_ok=True)
    assert run("import", str(logs), "--db", str(db)).code == 0


@pytest.mark.parametrize(
    "when", ["duckdb.connect", "dedupstats.ingest.write.Batch.add", "dedupstats.history.complete"]
)
def test_x05_ctrl_c_resets_nothing(logs: Path, db: Path, monkeypatch: pytest.MonkeyPatch, when: str) -> None:
    run("import", str(logs), "--db", str(db))
    with open_store(db, read_only=True) as store:
        expected = everything(store)
    before, names = db.read_bytes(), sorted(db.parent.iterdir())
    log("s4", "new").write(logs / "s4.jsonl")

    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    old = os.umask(0o022)
    with monkeypatch.context() as pressed:
        pressed.setattr(when, interrupt)
        ran = run("import", str(logs), "--db", str(db))
    assert os.umask(old) == 0o022
    assert (ran.code, ran.out, len(ran.err.splitlines())) == (130, "", 2)
    assert ran.err.startswith("dedupstats: interrupted; what was committed stays\n")
    if when != "dedupstats.history.complete":
        assert (db.read_bytes(), sorted(db.parent.iterdir())) == (before, names)
    (logs / "s4.jsonl").unlink()
    with open_store(db) as store:
        import_paths(store, [logs])
        kept = [row for row in everything(store)["emission"] if row[EMISSION_PATH] != str(logs / "s4.jsonl")]
        assert kept == expected["emission"]


def test_x05_a_real_interrupt(logs: Path, db: Path) -> None:
    script = """
        import os, signal, sys
        signal.signal(signal.SIGINT, signal.default_int_handler)
        from dedupstats import history
        from dedupstats.__main__ import main
        history.complete = lambda store: os.kill(os.getpid(), signal.SIGINT)
        sys.argv = ["dedupstats", "import", sys.argv[1], "--db", sys.argv[2]]
        main()
    """
    ran = child(script, logs, db)
    assert (ran.returncode, ran.stdout) == (130, "")
    assert run("import", str(logs), "--db", str(db)).code == 0


def test_x06_newer_store(logs: Path, db: Path) -> None:
    with open_store(db) as store:
        store.query("insert into raw.migration values (?, 'future', 0)", [MIGRATIONS() + 1])
    before = db.read_bytes()
    for command in (("import", str(logs)), ("rates",), ("report",), ("sql", "from session")):
        refused(run(*command, "--db", str(db)), str(MIGRATIONS() + 1), f"up to {MIGRATIONS()}", "upgrade")
    assert db.read_bytes() == before


def test_x07_a_folder_that_cannot_be_written(
    logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "closed"
    folder.mkdir()
    access = os.access
    monkeypatch.setattr(
        os, "access", lambda path, mode: access(path, mode) and not (mode == os.W_OK and Path(path) == folder)
    )
    refused(run("import", str(logs), "--db", str(folder / "a.duckdb")), f"{folder} is not writable", "--db")
    assert list(folder.iterdir()) == []
    (tmp_path / "file").write_text("x")
    refused(run("import", str(logs), "--db", str(tmp_path / "file" / "a.duckdb")), "cannot make the folder")
    refused(run("import", str(logs), "--db", str(folder)), str(folder))


def test_x18_the_store_is_the_owners_alone(logs: Path, tmp_path: Path) -> None:
    db = tmp_path / "new" / "a.duckdb"
    old = os.umask(0o022)
    try:
        assert child(_KILLED, logs, db, 2, "between").returncode == -signal.SIGKILL
    finally:
        os.umask(old)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in db.parent.iterdir()}
    assert modes == {"a.duckdb": 0o600, "a.duckdb.wal": 0o600}


def test_a_store_that_is_damaged_in_the_middle(logs: Path, db: Path, tmp_path: Path) -> None:
    """Brother of X03: the file itself. Wherever the damage is met, it is one line."""
    log("s4", *(f"{number:05}" * 300 for number in range(300))).write(logs / "s4.jsonl")
    run("import", str(logs), "--db", str(db), "--keep-content")
    whole = db.read_bytes()
    for start in (12_288, 100_000):
        damaged = bytearray(whole)
        for at in range(start, len(damaged), 50_000):
            damaged[at : at + 64] = b"\xff" * 64
        db.write_bytes(bytes(damaged))
        for command in (
            ("import", str(logs), "--force"),
            ("rates",),
            ("report",),
            ("export", str(tmp_path / "out")),
        ):
            ran = run(*command, "--db", str(db))
            assert ran.code == 0 or (ran.code == 3 and len(ran.err.splitlines()) == 2), (start, command, ran)
        assert db.exists()


def test_a_store_of_somebody_else(logs: Path, db: Path) -> None:
    db.parent.mkdir()
    with duckdb.connect(str(db)) as connection:
        connection.execute("create table mine (a int)").fetchall()
    before = db.read_bytes()
    for command in (("import", str(logs)), ("rates",)):
        refused(run(*command, "--db", str(db)), "no dedupstats store")
    assert db.read_bytes() == before


# -- the files -----------------------------------------------------------------------------------------------


def database(path: Path, *, wal_only: bool = False) -> Path:
    items = docker_agent.read("c1", "a", "abc", 1)
    return docker_agent.database(path, 38, docker_agent.session("d", items), wal_only=wal_only)


def sizes(db: Path) -> list[int]:
    with open_store(db, read_only=True) as store:
        return [size for (size,) in store.query("select bytes from emission order by all")]


def test_x08_a_resting_wal_database(tmp_path: Path, db: Path) -> None:
    path = database(tmp_path / "session.db")
    docker_agent.change(path, "pragma journal_mode = wal")
    assert path.read_bytes()[18:20] == b"\2\2", "the file says that its mode is WAL"
    assert [entry.name for entry in tmp_path.iterdir()] == ["session.db"]
    assert run("import", str(path), "--db", str(db)).code == 0
    assert sizes(db) == [3]


def test_x09_all_is_in_the_wal(tmp_path: Path, db: Path) -> None:
    path = database(tmp_path / "session.db", wal_only=True)
    assert path.stat().st_size == 4096
    assert run("import", str(path), "--db", str(db)).code == 0
    assert sizes(db) == [3]


def test_x10_reading_leaves_no_trace(logs: Path, db: Path) -> None:
    database(logs / "session.db", wal_only=True)
    docker_agent.change(logs / "history.db", "pragma journal_mode = wal")
    (logs / "truncated.db").write_bytes((logs / "history.db").read_bytes()[:5000])
    before = files_in(logs)
    for options in ((), ("--force",), ("--keep-content", "--force")):
        assert run("import", str(logs), "--db", str(db), *options).code == 0
    assert files_in(logs) == before


def test_x11_the_source_is_locked(logs: Path, db: Path) -> None:
    with closing(sqlite3.connect(logs / "history.db", isolation_level=None)) as owner:
        owner.execute("begin exclusive")
        ran = run("import", str(logs / "history.db"), str(logs / "s1.jsonl"), "--db", str(db))
    assert (ran.code, "not readable" in ran.err) == (0, False)
    with open_store(db, read_only=True) as store:
        assert store.query("select count(*) from rtk_command") == [(1,)]
        assert store.query("select count(*) from emission") == [(4,)]


def test_x12_lone_surrogates(tmp_path: Path, db: Path) -> None:
    """In the text, and in every name that a log can hold; file names are in tests/unit/ingest."""
    half = "a\ud83d"
    made = Transcript(half, cwd=f"/home/{half}", version=half)
    made.rows = []
    for number in (1, 2):
        made.call(f"{half}{number}", half, {"file_path": half, half: half}, f"m{number}", model=half)
        made.result(f"{half}{number}", half)
    made.row(half, operation=half)
    made.write(tmp_path / "logs" / "s1.jsonl")
    ran = run("import", str(tmp_path / "logs"), "--db", str(db), "--keep-content")
    assert ran.code == 0, ran.err
    with open_store(db, read_only=True) as store:
        assert store.query("select bytes, chars from emission") == [(4, 2)] * 2
        assert store.query("select count(*) from emission_repeat where repeat_session") == [(1,)]
        assert store.query("select distinct content from emission") == [(r"a\ud83d",)]
    out = tmp_path / "out"
    for command in (
        *(("rates", "--by", by) for by in ("tool", "model", "project", "session", "version")),
        *(("rates", "--format", form) for form in ("md", "csv", "json")),
        *(("report", "--format", form) for form in ("terminal", "md", "html", "json")),
        *(("sql", "from emission", "--format", form) for form in ("table", "md", "csv", "json")),
        ("export", str(out)),
    ):  # fmt: skip
        ran = run(*command, "--db", str(db))
        assert ran.code == 0, (command, ran.err)
        ran.data.decode("utf-8")
        assert not any("\ud800" <= character <= "\udfff" for character in ran.out)


def test_x13_nul_inside_a_result(tmp_path: Path, db: Path) -> None:
    log("s1", "a\0b", "ab").write(tmp_path / "s1.jsonl")
    assert run("import", str(tmp_path / "s1.jsonl"), "--db", str(db), "--keep-content").code == 0
    assert sizes(db) == [2, 3]
    with open_store(db, read_only=True) as store:
        assert store.query("select count(*) from emission_repeat where repeat_session") == [(0,)]
        assert store.query("select content from emission order by bytes") == [("ab",), ("a\0b",)]


def test_x14_a_huge_line(tmp_path: Path, db: Path) -> None:
    path = tmp_path / "s1.jsonl"
    lines = log("s1", "abc", "abcd").lines()
    with path.open("w") as file:
        file.writelines(line + "\n" for line in lines[:2])
        file.write('{"type":"user","uuid":"huge","message":{"content":"')
        for _ in range(65):
            file.write("x" * 1024 * 1024)
        file.write('"}}\n')
        file.writelines(line + "\n" for line in lines[2:])
    measured = """
        import re, sys
        from pathlib import Path
        from dedupstats import import_paths, open_store
        with open_store(sys.argv[2]) as store:
            summary = import_paths(store, [sys.argv[1]])
        # getrusage would tell the peak of the process that started this one
        peak = re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1]
        print(summary.used, summary.skipped, int(peak) // 1024)
    """
    ran = child(measured, path, db)
    used, skipped, peak = map(int, ran.stdout.split())
    assert (used, skipped) == (4, 1)
    assert peak < 400, "MB"
    with open_store(db, read_only=True) as store:
        assert store.query("select line, reason from skipped") == [(3, "line longer than 16777216 bytes")]


def test_x15_rewritten_and_replaced_files(tmp_path: Path, db: Path) -> None:
    path = log("s1", "1", "22", "333").write(tmp_path / "s1.jsonl")
    contents = [("1", "22", "333"), ("4444", "5"), ("666666",) * 9, ()]
    for number, texts in enumerate(contents):
        made = log("s1", *texts).write(tmp_path / "new")
        if number == 2:
            made.rename(path)
        else:
            path.write_bytes(made.read_bytes())
            made.unlink()
        ran = run("import", str(path), "--db", str(db))
        assert sizes(db) == sorted(map(len, texts))
        # an emptied file holds no log
        assert ran.code == (0 if texts else 3)
    with open_store(db, read_only=True) as store:
        assert store.query("select count(*) from file where gone_at is not null") == [(0,)]


def test_x16_same_size_and_time_other_content(tmp_path: Path, db: Path) -> None:
    path = log("s1", *["abc"] * 40).write(tmp_path / "s1.jsonl")
    run("import", str(path), "--db", str(db))
    status, data = path.stat(), path.read_bytes()
    at = data.rindex(b"abc")
    path.write_bytes(data[:at] + b"x" + data[at + 1 :])
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (status.st_size, status.st_mtime_ns)
    run("import", str(path), "--db", str(db))
    with open_store(db, read_only=True) as store:
        assert store.query("select count(distinct sha256) from emission") == [(2,)]


def test_x17_sources_that_the_host_deletes(tmp_path: Path, db: Path) -> None:
    path = log("s1", *"abcdefghij").write(tmp_path / "logs" / "s1.jsonl")
    assert "deletes its logs after 30 days" in run("import", str(path.parent), "--db", str(db)).err
    path.unlink()
    log("s2", "k").write(tmp_path / "logs" / "s2.jsonl")
    said = [run("import", str(path.parent), "--db", str(db)).err for _ in range(2)]
    assert ["1 file gone since the last import" in text for text in said] == [True, False], "said once"
    assert all("30 days" not in text for text in said)
    with open_store(db, read_only=True) as store:
        assert store.query("select count(*), count(*) filter (is_gone) from emission") == [(11, 10)]


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody who may not read")
def test_files_and_folders_of_somebody_else(tmp_path: Path) -> None:
    """The real thing, beside the pretended ones of tests/unit/ingest: modes, and a user who is not root."""
    (tmp_path / "logs").mkdir()
    (tmp_path / "other").mkdir()
    logs = three_logs(tmp_path / "logs")
    (logs / "s1.jsonl").chmod(0)
    (logs / "history.db").chmod(0)
    log("s9", "abc").write(logs / "closed" / "s9.jsonl")
    (logs / "closed").chmod(0)
    nobody = """
        import os, sys
        from dedupstats import import_paths, open_store
        from dedupstats.sources import all_sources
        with open_store(":memory:") as store:
            import_paths(store, [sys.argv[2]])  # loads all that it needs, while it may
            os.setgid(65534)
            os.setuid(65534)
            summary = import_paths(store, [sys.argv[1]])
            print(summary.files["claude_code"], sorted((p.split("/")[-1], r) for p, r in summary.unreadable))
    """
    for folder in (logs, *logs.parents):
        if folder.stat().st_uid == 0 and folder.is_relative_to("/tmp") and folder != Path("/tmp"):  # noqa: S108
            folder.chmod(0o755)
    other = three_logs(tmp_path / "other")
    (tmp_path / "other" / "history.db").unlink()
    ran = child(nobody, logs, other)
    (logs / "closed").chmod(0o755)
    refused_files = [(name, "Permission denied") for name in ("closed", "history.db", "s1.jsonl")]
    assert ran.stdout.strip() == f"2 {refused_files}"


def test_a_log_that_no_reader_understands_costs_only_itself(tmp_path: Path) -> None:
    """A row whose `type` is a list, and one byte that is no UTF-8 inside a block: both once ended the run."""
    good = log("good", "x" * 300).write(tmp_path / "good.jsonl")
    odd = tmp_path / "odd.jsonl"
    odd.write_bytes(good.read_bytes().replace(b'"good"', b'"odd"') + b'{"type":["x"],"sessionId":"odd"}\n')
    with open_store(":memory:") as store:
        summary = import_paths(store, [tmp_path])
        assert summary.unreadable == []
        assert store.query("select distinct session_id from emission where session_id = 'good'") == [
            ("good",)
        ]
        assert store.query("select count(*) from emission where session_id <> 'good' or is_copy") == [(1,)]


def test_an_output_never_replaces_a_store(tmp_path: Path) -> None:
    db = tmp_path / "a.duckdb"
    with open_store(db):
        pass
    before = db.read_bytes()
    with pytest.raises(DedupstatsError, match="is a DuckDB file and stays as it is"):
        write_file(db, "text")
    assert db.read_bytes() == before


def test_a_session_that_begins_with_a_pasted_image_is_recognised(tmp_path: Path) -> None:
    row = (
        '{"parentUuid":null,"isSidechain":false,"type":"user","message":{"role":"user","content":"'
        + "x" * 300_000
        + '"},"uuid":"u0","sessionId":"s1"}\n'
    )
    path = tmp_path / "s1.jsonl"
    path.write_bytes(row.encode() + log("s1", "x" * 300).write(tmp_path / "rest.txt").read_bytes())
    with open_store(":memory:") as store:
        import_paths(store, [path])
        assert store.query("select count(*) from emission") == [(1,)]
