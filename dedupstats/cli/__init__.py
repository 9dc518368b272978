"""The command line: parses, calls the library, prints. One file per command, no logic."""
