"""The structured perceptron (Collins, 2002), naive and averaged.

Where the best path differs from the true one, features of the true path gain 1 and those of the other lose 1.
"""

from libc.stdint cimport int64_t

from crfkit.data.dataset cimport Dataset
from crfkit.loops.kernels cimport K
from crfkit.weights.layout cimport Layout
from crfkit.loops.structs cimport LatticeC, SentenceC
from crfkit.trainers.base cimport wrong_labels
from .paths cimport AveragedTrainer, Paths


cdef class Perceptron(AveragedTrainer):
    """The loss is the number of wrong labels."""
    cdef Paths paths

    measured_steps = False
    steps_like_values = True

    def __init__(self, Dataset data, Layout layout, options, **unused):
        self.paths = Paths(layout)

    cdef int step(self, const SentenceC* sent, double* loss) except -1 nogil:
        cdef:
            LatticeC* lat = &self.lattice.c
            int64_t wrong
            double certain = 1
        K.score(&self.layout.c, self.w, 1.0, sent, lat)
        wrong = wrong_labels(lat, sent, self.path)
        if wrong:
            self.paths.follow(self, sent, self.path, &certain, 1, sent.weight, self.u)
        loss[0] += wrong
