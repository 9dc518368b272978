"""What the sample logs are made of: an invented shop, the tools of an agent, three kinds of log."""
