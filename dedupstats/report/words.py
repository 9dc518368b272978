"""The sentences of the report that no figure changes."""

from __future__ import annotations

KINDS = {
    "call-pooled": "upper bound: RTK's published measure, on logs",
    "call-session": "upper bound",
    "repeat-pooled": "upper bound",
    "bytes-session": "upper bound, for programs that compare content alone",
    "repeat-session": "what a program could leave out that remembers the results of the whole session",
    "repeat-turn": "what a program could leave out that forgets them at each turn",
    "repeat-in-sight": "what can be left out without pointing at text the model lacks",
    "changed": "never a repeat: what must not be left out",
}
"""what the figure of each repeat rule is (DESIGN.md section 6)"""

CLASSES = {
    "text": "shown as it came; can be a repeat",
    "truncated": "cut in place by the host; what was shown can be a repeat",
    "image": "an image or other file in base64; never a repeat; their tokens are not counted",
    "empty": "no text, or the host's sentence for none; never a repeat",
    "stub": "the host had already put a stub in its place; never a repeat",
    "spilled": "too large: the host showed a preview and put the rest into a file; never a repeat",
    "masked": "the log holds a mask instead of the text; never a repeat",
    "errors": "flagged as an error, whatever the class (they are in the rows above too); never a repeat",
}
"""what the results of each class are; `errors` cuts across the classes"""

REPEATABLE = ("text", "truncated")

SOURCES = {"claude_code": "Claude Code", "docker_agent": "docker-agent", "rtk": "RTK"}
"""how people call our own sources: to ask these would load every reader"""

CONTEXTS = {
    "main": "main thread",
    "agent": "subagent",
    "side": "side request (summary, question, suggestion)",
}

RETENTION = {
    "claude_code": "Claude Code deletes transcripts after 30 days",
    "rtk": "RTK deletes rows after 90 days",
}
"""what removes logs before they can be read, by source"""

LIMITS = (
    "Leaving text out saves tokens, not time: the tools still run.",
    (
        "Repeats are figures of what happened. Replayed figures are what engines would have decided "
        "on this history: a model that is shown a marker might have gone on otherwise, and nothing is said "
        "about logs to come."
    ),
    (
        "Upper bounds are marked as such. What no copy that is still visible covers cannot be left out "
        "without pointing at text that the model lacks."
    ),
    (
        "Tokens of RTK's own rows are bytes / 4, rounded up, as RTK counts. Against the token counts that "
        "the API reported for single tool results in public logs, that is low in the median: by 29 % for "
        "Claude models up to version 4.6 (5,134 results), by 52 % from 4.7 on (3,501 results). Shares "
        "suffer less than sums."
    ),
    (
        "Shares of repeats and replays are of what tools returned, each result once, not of all input "
        "(where they are of that, they say so): prompts, the model's own text and what is sent again with "
        "every request are not in them. Where input and its cost are told, the parts add up to what "
        "requests recorded; how they are split rests on estimates of tokens, whose errors are named."
    ),
    "What a resume lost on its way (results that the host did not load again) is not modelled.",
)
"""what the report does not say"""
