"""The verbs of the command line: for each a module that knows its options and runs it.

Only the module of the verb that is used is imported, so that help needs none of them.
"""

VERBS = {
    "demo": ("first_steps", "run and draw a scene of each of four plugins"),
    "init": ("first_steps", "write files to start from: those of the tutorial, or of a scene"),
    "doctor": ("doctor.verb", "facts for a report: versions, engine, machine, extras, a kernel that runs"),
    "run": ("runs", "run a scene into a new folder"),
    "fit": ("runs", "parameter estimation: do the [fit] of a scene, into a new folder"),
    "resume": ("runs", "continue an interrupted run or fit, bit for bit"),
    "repeat": ("runs", "compute a run once more in a new folder, bit for bit, with the numbers of its page"),
    "sweep": ("..sweeps.verb", "run a scene at many points: a table of runs, sensitivity indices"),
    "info": ("folders", "print contents and state of a run"),
    "verify": ("folders", "compare every file of a run with its hash"),
    "compare": ("folders", "find the first step and field in which two runs differ"),
    "export": ("folders", "write recorded series as CSV"),
    "validate": (
        "..published.verb",
        "compute published numbers again: a table of both, with sources and tolerances",
    ),
    "check": ("gradients", "gradient check: test the derivatives of a scene, an energy or a file of kernels"),
    "plot": ("folders", "draw pictures of a run"),
    "movie": ("folders", "draw the frames of a run as a film"),
    "view": ("views", "show a run in a browser, in 3D with a slider over time, or save such a page"),
    "modes": ("modes", "normal modes of a saved state: frequencies, a picture, an animation"),
    "buckling": ("buckling", "loads at which a saved state buckles: factors, a picture, an animation"),
    "elastic": ("elastic", "stress and elastic constants of a saved crystal"),
    "scenes": (
        "listings",
        "list the scenes that come with minusgrad, or those of a folder, with their pictures",
    ),
    "kinds": ("kinds", "list all kinds of blocks in scenes, or the keys of one with unit, default, meaning"),
    "energies": (
        "listings",
        "list installed energies, maps, Lagrangians, dissipations, magnetic fields and constraints",
    ),
    "states": ("kinds", "list initial states, or the keys of one"),
    "steppers": ("kinds", "list integrators and minimisers, or the keys of one"),
    "observers": ("kinds", "list observers, or the keys of one"),
    "source": ("gradients", "print the generated Taichi code of an energy, and the size of its graph"),
    "plugins": ("listings", "list installed plugins"),
    "devices": ("listings", "list the devices of this machine that kernels can run on: number, name, memory"),
    "new-plugin": ("new_plugin", "write a plugin to begin with: an energy, a state, a scene, tests"),
    "schema": ("listings", "print the JSON schema of scene files, for editors"),
    "completion": (
        "shell_completion",
        "print a script by which bash, zsh or fish completes verbs and options",
    ),
    "bench": ("benchmarks", "run the benchmarks: time and memory relative to C and to peer packages"),
}
"""By name: the module of the verb, relative to this package, and its help.

The module has `VERB_options(parser)` and `VERB(arguments)`, which returns the exit code; "-" is "_" there.
"""

FOUR_QUESTIONS = {
    "check": "are the derivatives of my energy, scene or kernel right?",
    "verify": "are the files of a run the bytes that were written?",
    "validate": "does minusgrad compute the numbers that others have published?",
    "bench": "how fast is it, beside C and peer packages?",
}
"""Verbs that are easily confused: the question that each answers. The help of each of them has all."""

LISTS = (
    *("info", "verify", "compare", "scenes", "kinds", "energies", "states", "steppers", "observers"),
    *("source", "plugins", "devices", "schema", "completion"),
)
"""The verbs that print nothing but their result, so that `--quiet` has no meaning for them."""
SAVING = ("run", "fit", "resume", "repeat", "sweep")
"""The verbs whose results are on disk, whatever becomes of their output."""
