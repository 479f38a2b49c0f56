"""What a program with a command line costs at least: argparse, one command, and its help."""

import argparse

parser = argparse.ArgumentParser("program", description="A program.")
verbs = parser.add_subparsers(metavar="VERB")
verbs.add_parser("run", help="run something")
parser.parse_args(["--help"])
