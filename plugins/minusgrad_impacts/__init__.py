"""Impacts with times of impact: balls, masses above a ground, rigid bodies."""
