"""Compare the updates of our training with those of a plain torch.nn loop, and of other toolkits.

    python -m benchmarks.train
    python -m benchmarks.train --size all --windows 9 --peers benchmarks/peers
    python -m benchmarks.train --epoch

Contestants take turns in processes of their own; what counts is the ratio to the plain loop in the same round. The
sentences are Multi30k if SACCADE_DATA is set, else generated. docs/speed.md says what is the same for all.
"""

from collections.abc import Sequence

from benchmarks.command import add_peers, check_peers, make_training_parser, measure_training, run_command
from benchmarks.training import race, tables
from benchmarks.training.work import DropoutPlaces, TrainingWork

PLAIN: tuple[DropoutPlaces, ...] = ("everywhere", "paper")
"""The first is the baseline: torch.nn.Transformer with its defaults."""
OURS: tuple[DropoutPlaces, ...] = ("paper", "feed-forward", "everywhere")
"""Our default, and the same as each plain loop."""


def main(arguments: Sequence[str] | None = None) -> None:
    parser = make_training_parser(__doc__)
    add_peers(parser)
    parser.add_argument(
        "--epoch", action="store_true", help="then train an epoch with each contestant and report its peak memory"
    )
    options = parser.parse_args(arguments)
    check_peers(options.peers)

    def contestants(work: TrainingWork) -> list[race.TrainingContestant]:
        places = ("paper", "everywhere") if work.size == "base" else OURS  # all are in memory at once
        rows = [race.plain(work, where) for where in PLAIN] + [race.ours(work, where) for where in places]
        return rows + (race.peers(work, options.peers) if options.peers else [])

    measure_training(options, contestants, tables.training_table, epoch=options.epoch)


if __name__ == "__main__":
    run_command(main)
