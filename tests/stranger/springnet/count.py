"""Count the masses of a tube."""

from minusgrad.plugin import UserError


def options(parser):
    parser.add_argument("around", type=int, help="masses around the tube")
    parser.add_argument("--rings", type=int, default=1, help="rings along it")


def run(arguments):
    if arguments.around < 3:
        raise UserError(f"a ring has 3 masses at least, got {arguments.around}; give more")
    print(arguments.around * arguments.rings)
    return 0
