"""The autodiff tests of Taichi and of Quadrants, put to `minusgrad check`.

    python -m benchmarks.engine_tests CHECKOUT [FILE ...]

CHECKOUT is a clone of github.com/taichi-dev/taichi or Genesis-Embodied-AI/quadrants at the tag of the
installed engine. Each test runs as it is, and afterwards every reverse that it made (a tape, or
`kernel.grad()`) is put to the check, and to central differences, which share no code with it. The program
prints a table of counts.
"""
