"""Whole programs that the scoreboard starts: each written for one task, as a user of that tool would."""
