"""Policies at work: what they decide on recorded events."""
