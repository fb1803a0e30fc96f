from libc.stdint cimport int64_t, uint16_t

from crfkit.data.dataset cimport Dataset
from crfkit.lattice.lattice cimport Lattice
from crfkit.weights.layout cimport Layout
from crfkit.memory cimport Arena
from crfkit.loops.structs cimport weight_t
from crfkit.threads cimport Threads
from .nests cimport Nests, Survey
from .visits cimport Visits


cdef enum Work:                 # on cells, in parts
    ADD_UP                      # sum the weights of nests
    HAND_DOWN                   # add the gradient of nests to their parts
    GATHER                      # add up the gradients of all workers
    FINISH                      # add the gradient of the penalty, and clear cells without a feature

cdef enum:
    PARTS = 16                  # vectors are cut into so many parts, whatever the number of threads


cdef class Worker(Arena):
    cdef Lattice lattice
    cdef double* g              # the gradient of its share
    cdef double* g_sums         # and of the sums of nests
    cdef uint16_t* path         # the best path of a sequence
    cdef int64_t wrong, flawed  # wrong labels, and sequences with one, where these are counted


cdef class Objective(Arena):
    cdef Dataset data
    cdef Layout layout
    cdef readonly double l2
    cdef Survey survey          # for the visits, until they are listed
    cdef Visits visits          # None before the first evaluation
    cdef Nests nests            # theirs
    cdef double* quanta
    cdef int64_t n_chunks
    cdef int64_t* chunk         # [n_chunks+1] where they begin
    cdef double* nll            # [n_chunks]
    cdef int64_t tokens, sequences  # of all data
    cdef int64_t next_chunk
    cdef double bound           # values above it need not be exact: an evaluation may then be given up
    cdef int64_t given_up       # whether the last one was, or met scores that are not finite
    cdef list workers
    cdef Threads pool
    cdef readonly tuple extent  # where attributes have values: the largest value of each, and the sum of all terms (largest_factors, sums_of_terms)
    cdef bint counts            # evaluations count wrong labels, too
    cdef readonly int64_t wrong, flawed     # of all workers, in the last evaluation
    cdef const weight_t* w      # of this evaluation
    cdef double* g
    cdef double squared_norm    # of the gradient
    cdef double w_squares[16]   # sums of each part
    cdef double g_squares[16]

    cdef double evaluate(self, const weight_t* w, double* g) except? -1
    cdef double sum_up(self) except? -1
    cdef int list_visits(self) except -1
    cdef int only_once(self) except -1
