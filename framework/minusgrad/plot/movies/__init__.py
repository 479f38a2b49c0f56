"""Movies of a run: its pictures frame by frame.

Enters: recorded arrays. Leaves: a WebP, GIF or MP4 file. `subjects` chooses what moves; each subject
reads all frames once to find limits and colours that hold throughout, prepares a figure, and then shows
frame by frame. May import: what `plot` may.
"""
