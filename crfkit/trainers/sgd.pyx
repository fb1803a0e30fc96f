"""Stochastic gradient descent on the L2-penalised likelihood.

    w <- (1 - rate * l2 / |S|) w + rate * (observed - expected)
"""

from crfkit.core.kernels cimport K
from crfkit.core.lattice cimport lattice_expect, lattice_load_weights, lattice_path_score
from crfkit.core.structs cimport LatticeC, SentenceC
from crfkit.trainers.scaled cimport ScaledTrainer


cdef class Sgd(ScaledTrainer):
    """Options: l2, rate, decay, batch_size (crfkit.options.Sgd). The loss is the negative log-likelihood met on the way."""

    cdef int step(self, const SentenceC* sent, double* loss) except -1 nogil:
        cdef LatticeC* lat = &self.lattice.c
        lattice_load_weights(lat, &self.layout.c, self.w, self.scale)
        K.score(&self.layout.c, self.w, self.scale, sent, lat)
        lattice_expect(lat)
        loss[0] += sent.weight * (lat.logz - lattice_path_score(lat, sent.label))
        K.add_pairs(lat, 1.0)
        K.finish_pairs(lat)
        K.update_expected(&self.layout.c, sent, lat, self.gain(sent.weight), self.out)
        return 0
