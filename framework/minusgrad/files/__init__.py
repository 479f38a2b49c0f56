"""Run folders: checkpoints, trajectory segments, the master file, and the readers of measured data.

Enters: named arrays with units. Leaves: files that are on disk, complete and hashed. Knows no physics. May
import: `errors`, `engine`, `scene`.
"""
