"""`crfkit-crf-learn`: CRF++'s crf_learn, its options and what it prints; the models are CRF++'s files."""

from __future__ import annotations

from typing import Any

import click

from crfkit import foreign
from crfkit.cli.common import HELP_FLAGS, Integer, is_given, note
from crfkit.constants import MOST_THREADS
from crfkit.foreign.crfpp_parts import line_of, refuse_shared
from crfkit.foreign.parts import parts_of
from crfkit.learning.judging import judge
from crfkit.learning.progress import StopRequest
from crfkit.learning.training import Training
from crfkit.parallel import threads_of
from crfkit.replacing import check_writable, refuse_overwriting, replacing
from crfkit.template import dialects
from crfkit.values import plural

from .common import Command, Positive, version_option
from .log import Log

MOST = 2**31 - 1
ALGORITHMS = {"crf": "lbfgs", "crf-l2": "lbfgs", "crf-l1": "owlqn", "mira": "mira"}


@click.command(cls=Command, context_settings=HELP_FLAGS)
@click.option("-f", "--freq", type=Integer(0, MOST), default=1, metavar="INT", help="use features that occur no less than INT (default 1)")
@click.option("-m", "--maxiter", type=Integer(1, MOST), default=100000, metavar="INT", help="print and make at most INT iterations (default 100000)")
@click.option("-c", "--cost", type=Positive(), default=1.0, metavar="FLOAT", help="set FLOAT for cost parameter (default 1.0)")
@click.option("-e", "--eta", type=Positive(), default=0.0001, metavar="FLOAT", help="set FLOAT for termination criterion (default 0.0001)")
@click.option("-C", "--convert", is_flag=True, help="convert text model to binary model")
@click.option("-t", "--textmodel", is_flag=True, help="build also text model file for debugging")
@click.option("-a", "--algorithm", default="CRF", metavar="(CRF|CRF-L2|CRF-L1|MIRA)", help="select training algorithm")
@click.option("-p", "--thread", type=Integer(0, MOST_THREADS), default=0, metavar="INT", help="number of threads (default auto-detect)")
@click.option("-H", "--shrinking-size", type=Integer(1, MOST), default=20, metavar="INT",
              help="iterations in a row that a sentence must be right before MIRA skips it (default 20)")
@version_option("-v", "--version")
@click.argument("files", nargs=-1)
@click.pass_context
def crf_learn(ctx: click.Context, convert: bool, files: tuple[str, ...], **given: Any) -> None:
    """Train a model: TEMPLATE TRAIN MODEL, or with --convert make one: TEXTMODEL MODEL."""
    if not files and not any(is_given(ctx, name) for name in ctx.params):
        click.echo(ctx.get_help())  # where programs look for the name of CRF++
        return
    wanted = ("TEXTMODEL", "MODEL") if convert else ("TEMPLATE", "TRAIN", "MODEL")
    if len(files) != len(wanted):
        raise click.UsageError(f"expected {' '.join(wanted)}, found {plural(len(files), 'file')}", ctx)
    *inputs, model = files
    refuse_overwriting("MODEL", inputs, model)
    if convert:
        foreign.convert(inputs[0], model, "crfpp")
        return
    if given["algorithm"].lower() not in ALGORITHMS:
        raise click.UsageError(f"--algorithm: expected CRF, CRF-L2, CRF-L1 or MIRA, found {given['algorithm']!r}", ctx)
    targets = {model: "crfpp", **({f"{model}.txt": "crfpp-text"} if given["textmodel"] else {})}
    refuse_overwriting("MODEL", inputs, *targets, "-")  # where its log goes
    for target in targets:
        check_writable(target)
    _learn(ctx, inputs[0], inputs[1], targets, given)


def main() -> None:
    crf_learn(prog_name="crfkit-crf-learn")


def _learn(ctx: click.Context, template: str, train: str, targets: dict[str, str], given: dict[str, Any]) -> None:
    """Train, and write the model to the targets, each in its format."""
    parsed = dialects.load_crfpp(template, lambda text: note(f"warning: {text}"))
    for line in parsed.lines:
        line_of(line)
    refuse_shared(parsed)
    for form in targets.values():
        foreign.ready(form)
    algorithm = ALGORITHMS[given["algorithm"].lower()]
    settings = {
        "Number of thread(s)": threads_of(given["thread"]), "Freq": given["freq"], "eta": f"{given['eta']:.5f}", "C": f"{given['cost']:.5f}",
        "shrinking size": given["shrinking_size"],
    }
    log = Log(settings, algorithm == "owlqn", given["maxiter"])
    last = 1 if algorithm == "lbfgs" else 0  # the pass after a warm-up that is cut short
    stop = StopRequest(lambda: log.lines + last >= log.limit)
    with stop.on_signals():
        (trained,) = Training(train, parsed, *judge(algorithm, _options(algorithm, given)), log, stop).models()
        parts = parts_of(trained)
        for target, form in targets.items():
            with replacing(target) as file:
                file.write(foreign.model_bytes(parts, form))
    log.done()
    if stop.signal is not None:
        ctx.exit(128 + stop.signal)


def _options(algorithm: str, given: dict[str, Any]) -> dict[str, Any]:
    """The options of crfkit's trainer for the objective and the features of CRF++."""
    chosen = {"features": "all", "min_freq": max(given["freq"], 1), "threads": given["thread"], "train_accuracy": True}
    if algorithm == "mira":
        own = {"aggressiveness": given["cost"], "shrinking": given["shrinking_size"], "average": False, "passes": given["maxiter"]}
    else:
        # CRF++ ends after three iterations that change the objective by less than eta: so does a sum of three below it.
        own = {"max_iter": given["maxiter"], "delta": given["eta"], "period": 3, "epsilon": given["eta"] / 10}
        own |= {"l2": 1 / given["cost"]} if algorithm == "lbfgs" else {"l1": 1 / given["cost"], "l2": 0.0}
    return {**chosen, **own}


if __name__ == "__main__":
    main()
