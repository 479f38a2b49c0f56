"""Programs in time as one writes them in Taichi alone: fields over all steps, and `ti.ad.Tape`.

The scoreboard measures against them, and the exams of the scenes compare gradients with theirs. Each module
is a complete program that imports the engine and NumPy.
"""
