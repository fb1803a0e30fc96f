"""Options as arguments of Python functions, for type checkers and editors. `make docs` writes this from the options."""

import os
from collections.abc import Iterable
from typing import IO, Any, Literal, TypedDict

class OfEstimator(TypedDict, total=False):
    features: Literal['observed', 'all']
    'Features of an attribute: one for each label it was seen with (observed), or for each label (all).'

    min_freq: int
    'Drop attributes that occur fewer than N times.'

    select: str | None
    'Before training, keep the N attributes of the highest mutual information with the label.'

    prune: float | None
    'After training, drop weights of a smaller absolute value.'

    patience: int | None
    'With dev: stop after N passes without a better score.'

    init: Any
    'Start from the weights of this model. Features that do not exist here are ignored.'

    seed: int
    'Seed of the random order of the sequences.'

    threads: int
    'Threads. 0: one for each processor with lbfgs and owlqn, else one. With 2 or more, sgd, adf and sapo change the weights without locks: models then differ from run to run. Models of all other trainers do not depend on it.'

    log: str | bytes | os.PathLike[Any] | IO[str] | None
    'Write one JSON object a pass.'

    checkpoint: str | bytes | os.PathLike[Any] | None
    'After each pass, write to this file what resume needs.'

    checkpoint_every: str | int | None
    'With checkpoint: write it every N passes, or every N minutes when N ends in m.'

    resume: bool
    'Go on from checkpoint, if the file exists. The model is that of a run without interruption.'

    workers: int | None
    'Have N processes hold the data and work on them. TRAIN are files or patterns.'

    cluster: str | None
    'Have the workers of a dask.distributed scheduler hold the data and work on them. TRAIN are files that they can open, or patterns.'

    shards: int | None
    'With workers or cluster: cut the data into about N shards. Online trainers mix the weights of all shards after each pass. Without it: as the size of the data says.'

    worker_timeout: int
    'With workers or cluster: seconds after which a worker that does not answer is given up.'

    max_memory: str | int | None
    'Refuse to train if it would take more memory than this, such as 2G.'

    weights: Literal['float32', 'float16', 'int8']
    "Numbers in which the model's file keeps its weights: float16 takes half of the room, int8 a quarter. With dev, what that costs is printed."

    data_dir: str | bytes | os.PathLike[Any] | None
    'Keep the data in files in this folder, not in memory. The model is the same to the byte.'

    max_iter: int | None
    'Iterations at most.'

    epsilon: float | None
    'Stop when the duality gap shows that the objective is at most EPSILON times the optimum above it.'

    delta: float | None
    'Stop when the last PERIOD iterations improved the objective by a smaller part of it than this.'

    period: int | None
    'Iterations that delta looks back.'

    l2: float | None
    'Weight of the L2 penalty: l2/2 |w|^2 is added to the objective. Without it: one that fits the data, from 0.1, where attributes are rare, to 1.'

    memory: int | None
    'Steps that the quasi-Newton method remembers.'

    train_accuracy: bool | None
    'Report the share of right labels, and of sentences with no other, on the training data in each pass.'

    warm_up: int | None
    'Passes of dual coordinate ascent before the first iteration, at most. They save many iterations. 0: none. With l2=0: none.'

    l1: float | None
    'Weight of the L1 penalty: l1 |w|_1 is added to the objective; many weights become zero.'

    path: str | float | Iterable[float] | None
    'Falling values of l1, such as 10,3,1. Each starts from the solution of the value before. Each gives a model, named after MODEL and the value (m.l1-3 for m). With dev only the best model is written, as MODEL.'

    kappa: float | None
    'First stability factor: second derivatives of a block are multiplied by it. It adapts.'

    recursions: Literal['auto', 'sparse', 'dense'] | None
    'Loops over label pairs. sparse: over pairs with a weight; dense: over all pairs; auto: the faster one.'

    passes: int | None
    'Passes over the training data. Without it, cw makes 20 where an attribute occurs fewer than 4 times in the mean, else 10.'

    rate: float | None
    'First learning rate. Without it, several are tried on a sample of the data, and the best one is taken.'

    decay: float | None
    'Factor on the rate after each pass. 1: constant. 0: the rate falls at every step, as 1/t.'

    batch_size: int | None
    'Sequences in an update. Their gradients, at the same weights, are added up.'

    crf_loss: bool | None
    'Report the negative log-likelihood of all training data after each pass.'

    alpha: float | None
    'Factor on the rate of a feature after a window without it.'

    beta: float | None
    'Factor on the rate of a feature after a window with it in every sequence.'

    window: int | None
    'Sequences after which rates fall. Without it: a tenth of the data, and without rate at least 100; 200 on a stream.'

    nbest: int | None
    'Candidates, the best paths, to learn from at each step.'

    search: Literal['astar', 'beam'] | None
    'How candidates are found: astar, exactly; beam, approximately.'

    beam: int | None
    'Width of search beam: partial paths kept at each position.'

    ratio: float | None
    'Leave out candidates that are less than RATIO times as probable as the best one. 0: keep all, as in the papers.'

    average: bool | None
    'Average the weights over all steps, or keep the last ones.'

    aggressiveness: float | None
    'C: how much of one path, at most, a step adds to the weights or takes from them.'

    shrinking: int | None
    'As CRF++ does: take the sequences in the order of the data, take the lead of a wrong path off its wrong labels, let C bound all that a sequence adds in all passes, and leave out those that were right in N passes; end when nothing is left to do. 0: no.'

    regularization: float | None
    'r. The larger it is, the less one sequence changes weights and variances. Without it, 3, 30, 300 and 3000 are tried on a sample of the data, and the best one is taken.'

    confidence: float | None
    'Probability of being right that each step asks for.'

    depth: int | None
    'Labels to look ahead before each decision; 0: only at the label itself.'

    margin: float | None
    'By how much the correct label, or action of a parser, has to score above all others. Without it: 30, of a parser 100.'

    direction: Literal['forward', 'backward'] | None
    'Label from left to right (forward) or from right to left (backward).'

    labels: bool | None
    'Of a parser (P lines): an arc has a relation, too, that of the column deprel.'

class OfLearn(OfEstimator, total=False):
    format: Literal['columns', 'conllu', 'crfsuite']
    "Format of the data: CoNLL columns, CoNLL-U, or CRFsuite's attribute lines. The last takes no TEMPLATE."

    comments: bool
    'Lines that begin with # and stand before a sentence are comments, not tokens.'

    label: str | None
    'Name of the column to predict. Without it: the last column.'

    dev: Any
    'Score the weights on this file after each pass, and keep the best ones. The score is F1 where labels mark chunks, else accuracy.'
