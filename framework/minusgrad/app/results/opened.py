"""Run folders from Python: `minusgrad.open`."""

from pathlib import Path

from ...errors import CheckpointError
from ...files import checkpoint
from ...files.run_folder import RunDir
from .ensemble_run import EnsembleRun
from .fit import Fit
from .run import Run


def open(folder: Path | str) -> Run:
    """A run folder to be read, finished or running: a `Run`, of a fit `Fit`, of an ensemble `EnsembleRun`.

        run = minusgrad.open("runs/two_body")
        run["position"]; run.times; run.series("total"); run.to_xarray(); run.plot()

    Nothing is compiled and nothing is written. Raises `RunFolderError` if the folder is not a run.
    """
    path = Path(folder)
    RunDir.open(path, read_only=True)
    newest, _ = checkpoint.newest(path / "ckpt")
    try:
        meta = {} if newest is None else checkpoint.load(newest).meta
    except CheckpointError:
        meta = {}  # a damaged checkpoint does not keep segments from being read
    if meta.get("fit") is True:
        return Fit(path)
    return EnsembleRun(path) if "ensemble" in meta else Run(path)
