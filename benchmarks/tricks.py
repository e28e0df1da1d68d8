"""Measure what each trick of our training gains: with all of them, and without one at a time.

python -m benchmarks.tricks
"""

from collections.abc import Sequence

from benchmarks.command import make_training_parser, measure_training, run_command
from benchmarks.training import race, tables
from benchmarks.training.twins import TRICKS
from benchmarks.training.work import TrainingWork


def main(arguments: Sequence[str] | None = None) -> None:
    options = make_training_parser(__doc__).parse_args(arguments)

    def contestants(work: TrainingWork) -> list[race.TrainingContestant]:
        lacking = [race.ours(work, "paper", without=name, name=trick.description) for name, trick in TRICKS.items()]
        return [race.ours(work, "paper"), *lacking]

    measure_training(options, contestants, tables.tricks_table)


if __name__ == "__main__":
    run_command(main)
