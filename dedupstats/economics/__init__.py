"""Tokens, prices, what carrying a tool result costs, compactions: pure functions over rows.

Nothing here knows the store or a file but those of packages; sections are those of token-economics.md.
"""
