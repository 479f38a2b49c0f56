"""Bounded reading: a library reads a stranger's file in a child process, within limits of time and memory.

    from minusgrad.plugin import bounded_read

    def read(file, data):                       a function of a module, of the file's name and its bytes
        import meshlane
        ...
        return {"points": points, "cells": cells}      arrays, numbers, texts, lists and dictionaries

    found = bounded_read(read, "rod.vtk", data, loads=("meshlane",))

Use it wherever code that is not ours parses bytes that others wrote. `door` has the function, `limits` the
limits, `process` the child, `plain_data` the form in which a result travels: never a pickle, so that a
library that a file took over can return wrong numbers and no code.
"""
