"""How much of what coding agents are shown had they been shown before, from the agents' own logs."""
