"""Whole programs that the scoreboard starts: what somebody would write who has one thing to compute."""
