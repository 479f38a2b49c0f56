"""Adapters for the public scoreboard Mosaic (pasteurlabs/mosaic), and its two finite-element cases here.

`problems` are the two cases as functions of energies, `structural/` and `thermal/` the adapters that Mosaic
runs ("tesseracts"), `gradient_error` the table of gradient errors. Nothing of Mosaic's code is here.
"""
