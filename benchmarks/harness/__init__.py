"""How the scoreboard measures, records and shows; what it measures is in the rooms beside."""
