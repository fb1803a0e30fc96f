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
    'Before training, keep the N attributes with the highest mutual information with the label: mi:1000 keeps 1,000.'

    prune: float | None
    'After training, drop weights whose absolute value is smaller.'

    partial: bool
    'The label of a token may be a choice, as in B-PER|I-PER, or ?, which means any: what is not known is left open in training.'

    outside: str
    'With dev: the label outside of chunks.'

    patience: int | None
    'With dev: stop after N passes without a better score.'

    init: Any
    'Start from the weights of this model. Its features that do not occur in these data are ignored.'

    seed: int
    'Seed of the random order of the sequences.'

    threads: int
    'Number of threads. 0: as many as pay with lbfgs and owlqn, at most one per processor; else one. With 2 or more, sgd, adf and sapo change the weights without locks, so models differ from run to run. Models of all other trainers do not depend on it.'

    log: str | bytes | os.PathLike[Any] | IO[Any] | None
    'Write one JSON object per pass to this file.'

    checkpoint: str | bytes | os.PathLike[Any] | None
    'After each pass, write to this file what resume needs.'

    checkpoint_every: str | int | None
    'With checkpoint: write it every N passes, or every N minutes when N ends in m.'

    resume: bool
    'Continue from checkpoint if the file exists. The model is the same as without the interruption.'

    workers: int | None
    'Let N processes hold the data and work on them. TRAIN are files or patterns.'

    cluster: str | None
    'Let the workers of a dask.distributed scheduler hold the data and work on them. TRAIN are files that they can open, or patterns.'

    shards: int | None
    'With workers or cluster: cut the data into about N shards. Online trainers average the weights of all shards after each pass. By default the size of the data decides.'

    worker_timeout: int
    'With workers or cluster: give up a worker that has not answered for this many seconds.'

    max_memory: str | int | None
    'Refuse to train if it would take more memory than this, such as 2G.'

    weights: Literal['float32', 'float16', 'int8']
    'Number format of the weights in the model file: float16 takes half the space, int8 a quarter. With dev, the loss in score is printed.'

    data_dir: str | bytes | os.PathLike[Any] | None
    'Keep the data in files in this folder, not in memory. The model is the same to the byte.'

    max_iter: int | None
    'Maximum number of iterations.'

    epsilon: float | None
    "Stop when the duality gap shows that the objective exceeds the optimum by at most this fraction of it. With sbcd: stop when the gradient's norm falls below EPSILON times that of the weights, or EPSILON if that is more."

    delta: float | None
    'Stop when the last PERIOD iterations improved the objective by less than this fraction of it.'

    period: int | None
    'Number of iterations that delta looks back.'

    l2: float | None
    'Weight of the L2 penalty: l2/2 |w|^2 is added to the objective. By default one that fits the data, from 0.03 (attributes with one label each) to 1; less where values are below 1.'

    memory: int | None
    'Number of steps that the quasi-Newton method remembers.'

    train_accuracy: bool | None
    'In each pass, report the share of right labels, and of sentences without an error, on the training data.'

    warm_up: int | None
    'Maximum number of passes of dual coordinate ascent before the first iteration, which save many iterations. 0: none. With l2=0 or init: none. With owlqn: maximum number of these passes for each value of l1. 0: none. With fewer than 30000 tokens, l1=0 or init: none.'

    l1: float | None
    'Weight of the L1 penalty: l1 |w|_1 is added to the objective; many weights become zero. By default one that fits the data, from 0.1 (attributes with one label each) to 0.4; less where values are below 1.'

    path: str | float | Iterable[float] | None
    'Falling values of l1, such as 10,3,1. Each starts from the solution of the value before. Each gives a model, named after MODEL and the value (m.l1-3 for m). With dev only the best model is written, as MODEL.'

    kappa: float | None
    'First stability factor: second derivatives of a block are multiplied by it. It adapts.'

    recursions: Literal['auto', 'sparse', 'dense'] | None
    'Loops over label pairs. sparse: over pairs with a weight; dense: over all pairs; auto: the faster one.'

    passes: int | None
    'Passes over the training data. By default sgd makes 30 to 100 and adf 20 to 80, until they have seen 100,000 sequences; cw makes 20 if an attribute occurs fewer than 4 times on average, else 10; perceptron and mira make 20, and more where a token has one or two attributes. Where sequences are few and long, sgd makes up to 800, perceptron and mira up to 160.'

    rate: float | None
    'First learning rate. By default the best of several that are tried on a sample of the data.'

    decay: float | None
    'Factor on the learning rate after each pass. 1: constant. 0: the rate falls at every step, as 1/t, unless l2 is 0. By default 0.85; with more than 30 passes of sgd, but without patience, nearer to 1, 0.952 with 100, up to 0.994 with 800, so that the rate falls as far.'

    batch_size: int | None
    'Sequences per update. Their gradients, at the same weights, are added.'

    crf_loss: bool | None
    'Report the negative log-likelihood of all training data after each pass.'

    dropout: float | None
    'Learn each sequence without some of its attributes, left out at random with this probability. By default 0; for parsers 0.1, with which they leave out lines of TEMPLATE, and rare values, too.'

    alpha: float | None
    'Factor on the learning rate of a feature after a window without it.'

    beta: float | None
    'Factor on the learning rate of a feature after a window with it in every sequence.'

    window: int | None
    'Number of sequences after which learning rates fall. By default a tenth of the data; without rate at least 100, and more where nearly all sequences have the same features or passes are many; 200 on a stream.'

    nbest: int | None
    'Candidates, the best paths, to learn from at each step.'

    search: Literal['astar', 'beam'] | None
    'How to find candidates: astar, exactly; beam, approximately.'

    beam: int | None
    'Width of search beam: partial paths kept at each position.'

    ratio: float | None
    'Leave out candidates that are less than RATIO times as probable as the best one. 0: keep all, as in the papers.'

    average: bool | None
    'Average the weights over all steps, or keep the last ones.'

    aggressiveness: float | None
    'C: the largest multiple of one path that a step adds to the weights or takes from them.'

    shrinking: int | None
    'Work as CRF++ does: take the sequences in the order of the data, subtract the lead of a wrong path from its number of wrong labels, let C bound all that a sequence adds in all passes, leave out sequences that were right in N passes, and end when none is left. 0: no.'

    regularization: float | None
    'r: the larger it is, the less one sequence changes weights and variances. By default the best of 3, 30, 300 and 3000 on a sample of the data.'

    confidence: float | None
    'Probability of being right that each step aims for.'

    depth: int | None
    'Labels to look ahead before each decision; 0: only at the label itself.'

    margin: float | None
    'By how much the correct label, or the correct action of a parser, must score above all others. By default 3 for each attribute of a token, from 3 to 100, less where values are below 1; for a parser 100.'

    direction: Literal['forward', 'backward'] | None
    'Label from left to right (forward) or from right to left (backward).'

    labels: bool | None
    'For parsers (P lines): also learn the relations of arcs, from the column deprel.'

    oracle: Literal['either', 'first'] | None
    'For parsers: where both left and shift are correct, learn the one that scores higher (either), or always left (first). Both are correct while the head of a left arc has children in the queue: the arc can wait.'

class OfLearn(OfEstimator, total=False):
    format: Literal['columns', 'conllu', 'crfsuite']
    "Data format: CoNLL columns, CoNLL-U, or CRFsuite's attribute lines. The last takes no TEMPLATE."

    comments: bool
    'Lines that begin with # and stand before a sentence are comments, not tokens.'

    label: str | None
    'Name of the column to predict. By default the last column.'

    dev: Any
    'After each pass, score the weights on this file, and keep the best ones. The score is F1 if labels mark chunks, else accuracy.'
