"""Training from Python: `learn` and `learn_path`. What they start is in crfkit.learning.training."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from crfkit.errors import Interrupted, OptionError
from crfkit.model import Model
from crfkit.options import explained, show_options
from crfkit.template.parsing import Template
from crfkit.text.sources import Weighted, listed

from .judging import judge, refuse_losses
from .progress import Progress, StopRequest, heard
from .training import Training

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from crfkit.options.given import OfLearn


def learn(
    train: Any,
    template: str | bytes | os.PathLike[Any] | Template | None = None,
    algorithm: str = "lbfgs",
    *,
    progress: bool | str | Callable[[dict[str, Any]], Any] | Progress | None = None,
    stop: Callable[[], Any] | None = None,
    sample_weight: Iterable[float] | None = None,
    **given: Unpack[OfLearn],
) -> Model:
    """Train a model.

    `train` is a path, a list of paths, or sentences: lists of rows of columns, the label last. `template` is a path, a
    Template, or the text of a template. A str is a path if such a file exists; otherwise it is a text if it has a line
    end or a macro such as "%x[0,0]". With format="crfsuite" there is no template, and rows are pairs
    (attributes, label): see crfkit.text.items. `dev` takes what `train` takes; `log` may be an open file, `init` a Model or a Tagger.

    With adf and passes=1, crfkit learns from standard input, pipes and open files as they arrive, without holding them
    in memory.

    `progress`: True prints what the command prints, on standard error. A function receives the record of each pass, a
    dictionary as in `log`; without `log` and `dev` it does not have `mean_abs_weight` and `active`. Warnings are
    CrfkitWarning.

    `stop`: a function that is called often. Once it returns True, training ends and `learn` returns the model so far.
    Ctrl-C also ends training, and raises Interrupted, a KeyboardInterrupt with the model in its attribute `model`.
    While data are read, or when pressed twice, it interrupts at once. Only the main thread notices Ctrl-C, and only if
    the program has no handler of its own.

    `sample_weight`: how many times each sentence counts, for sentences in memory. As @weight in CRFsuite's files, it may be
    any number that is not negative.
    """
    if given.get("path") is not None and given.get("dev") is None:
        raise OptionError("--path without --dev makes a model for each value: use learn_path")
    (model,) = learn_path(train, template, algorithm, progress=progress, stop=stop, sample_weight=sample_weight, **given)
    return model


def learn_path(
    train: Any,
    template: str | bytes | os.PathLike[Any] | Template | None = None,
    algorithm: str = "owlqn",
    *,
    progress: bool | str | Callable[[dict[str, Any]], Any] | Progress | None = None,
    stop: Callable[[], Any] | None = None,
    sample_weight: Iterable[float] | None = None,
    **given: Unpack[OfLearn],
) -> Iterator[Model]:
    """Train a model for each value of the option `path`, a list of falling values of l1.

    Each starts from the weights of the one before and is yielded as soon as it is trained. Its value is
    `model.header["options"]["l1"]`. With `dev` there is one model, the best on the development data. All other
    arguments are those of `learn`. Nothing is read before the first model is requested.
    """
    request = StopRequest(stop)
    algorithm, options, run = judge(algorithm, given)
    if run.data_dir is not None and run.cluster is None:  # whose machines have folders of their own
        run = replace(run, data_dir=os.path.abspath(run.data_dir))  # the caller may go to another folder meanwhile
    train = listed(train)
    refuse_losses(run, train, template)
    train = train if sample_weight is None else Weighted(train, sample_weight)
    training = Training(train, template, algorithm, options, run, heard(progress), request)
    return _until_ctrl_c(training.models(), request)


def _until_ctrl_c(models: Generator[Model, None, None], stop: StopRequest) -> Iterator[Model]:
    """The models; Ctrl-C meanwhile is Interrupted, with the model it cut short. Who holds the exception does not hold the run."""
    last = None
    with closing(models):
        while True:
            with stop.on_ctrl_c():
                model = next(models, None)
            if stop.signal is not None:  # maybe while the memory of a run that was over was given back
                raise Interrupted(last if model is None else model)
            if model is None:
                return
            last = model
            yield model


show_options(learn_path)
_names = show_options(learn)
if learn.__doc__:  # python -OO has none
    learn.__doc__ = f"{inspect.cleandoc(learn.__doc__)}\n\nOptions, with the trainers that use them:\n\n{explained(*_names)}"
