"""A notebook: an energy in a cell, displayed and declared again, stepped, run and resumed."""

from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

DECLARED = """
from minusgrad import Node, Parameter, local_energy

@local_energy("bowl", over="nodes", x=Node("m", ("d",)), k=Parameter("N/m"))
def bowl(x, k):
    return {factor} * k * x[0].dot(x[0])

bowl
"""
CELLS = [
    "import numpy as np\nimport minusgrad as mg",
    DECLARED.format(factor=0.25),
    DECLARED.format(factor=0.5),
    "_, bowl(k=1.0)",
    """
sim = mg.Simulation(fields={"x": np.eye(2)}, energies=[bowl(k=1.0)], stepper=mg.Leapfrog(dt=0.01))
sim.step(10)

@sim.every(10)
def look(sim):
    if sim.stepper.step == 40 and not done:
        raise RuntimeError("stop here")
""",
    "sim",
    """
done = False
try:
    sim.run(steps=90, out="runs/bowl", record=10)
except mg.CallbackError as error:
    print(error)
""",
    """
done = True
run = mg.resume("runs/bowl", energies=[bowl], callbacks=[look])
x = run["position"]
assert abs(x[-1, 0, 0] - np.cos(1.0)) < 1e-4, x[-1]
print(x.shape, "from", run.series("position").step[0])
""",
]


def test_an_energy_of_a_cell_is_run_and_resumed(tmp_path: Path) -> None:
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text.strip()) for text in CELLS])
    done = nbclient.NotebookClient(
        book, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    printed = "".join(o.get("text", "") for cell in done.cells for o in cell.outputs)
    assert "callback 'look' failed at step 40: RuntimeError: stop here" in printed
    assert "(10, 2, 2) from 10" in printed
    assert (tmp_path / "runs/bowl/source/bowl.py").read_text().count("0.5 * k") == 1
