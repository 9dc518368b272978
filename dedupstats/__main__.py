"""`python -m dedupstats` and the console script: runs the command line and prints our errors as one line."""

from __future__ import annotations

import io
import os
import sys

from dedupstats.errors import DedupstatsError


def main() -> None:
    """Run the command line; exit statuses are those of DESIGN: 0, 1 gate, 2 usage, 3 unusable input."""
    # names in logs may hold any character; an output that cannot show one gets a visible escape
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    from dedupstats.cli.app import app

    try:
        app()
    except DedupstatsError as error:
        sys.stdout.flush()
        # messages may quote what stands in a log
        from dedupstats.report.text import safe_text

        print(f"dedupstats: {safe_text(error.message)}", file=sys.stderr)  # noqa: T201
        if error.hint:
            print(f"  {safe_text(error.hint)}", file=sys.stderr)  # noqa: T201
        sys.exit(error.exit_code)
    except BrokenPipeError:
        # the reader has seen enough; nothing more can be written, not even at the interpreter's end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except OSError as error:
        print(f"dedupstats: {error.strerror or error}", file=sys.stderr)  # noqa: T201
        sys.exit(3)
    except (KeyboardInterrupt, RuntimeError) as error:
        # DuckDB's way to say that Ctrl-C ended a query
        if isinstance(error, RuntimeError) and str(error) != "Query interrupted":
            raise
        print("dedupstats: interrupted; what was committed stays", file=sys.stderr)  # noqa: T201
        sys.exit(130)


if __name__ == "__main__":
    main()
