"""The table of loops of loops/simd/kernels.h for Cython. All loops are called through `K`, the table for this processor."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t

from .structs cimport DualC, EdgeC, LatticeC, LayoutC, PairC, SentenceC, VisitsC, WayC, weight_t


cdef extern from "kernels.h" nogil:
    # Calls through the table cannot raise: without `noexcept` each would take the GIL to check.
    ctypedef struct KernelsC:
        const char* name
        void (*load_tau)(const LayoutC*, const weight_t*, double, LatticeC*) noexcept nogil
        void (*exp_tau)(LatticeC*) noexcept nogil
        void (*load_places)(const LayoutC*, const weight_t*, double, LatticeC*) noexcept nogil
        void (*load_listed)(const LayoutC*, const weight_t*, double, LatticeC*) noexcept nogil
        int64_t (*list_pairs)(EdgeC*, const uint8_t*, int64_t, PairC*, int32_t*) noexcept nogil
        void (*list_sums)(EdgeC*, char*) noexcept nogil
        void (*score)(const LayoutC*, const weight_t*, double, const SentenceC*, LatticeC*) noexcept nogil
        double (*potentials)(LatticeC*) noexcept nogil
        int (*forward_backward)(LatticeC*) noexcept nogil
        void (*node_marginals)(LatticeC*) noexcept nogil
        void (*add_pairs)(LatticeC*, double) noexcept nogil
        void (*finish_pairs)(LatticeC*) noexcept nogil
        void (*score_visits)(const LayoutC*, const VisitsC*, const weight_t*, const double*, const SentenceC*,
                             LatticeC*) noexcept nogil
        void (*scatter_visits)(const LayoutC*, const VisitsC*, const SentenceC*, const LatticeC*, double*,
                               double*) noexcept nogil
        void (*scatter_pairs)(const LayoutC*, LatticeC*, double*) noexcept nogil
        void (*update_expected)(const LayoutC*, const SentenceC*, LatticeC*, double, weight_t*) noexcept nogil
        void (*update_pairs)(const LayoutC*, const SentenceC*, LatticeC*, double, weight_t*) noexcept nogil
        WayC (*dual_way)(const SentenceC*, LatticeC*, const DualC*) noexcept nogil
        void (*update_dual)(const LayoutC*, const SentenceC*, LatticeC*, const DualC*, double, double,
                            weight_t*) noexcept nogil
        double (*expected_score)(const LayoutC*, const SentenceC*, const LatticeC*, const weight_t*, const DualC*) noexcept nogil
        void (*soften)(const LayoutC*, const SentenceC*, const DualC*, double, const float*, const float*,
                       const float*, weight_t*) noexcept nogil
        void (*clip)(int64_t, double, weight_t*, double*) noexcept nogil
        double (*viterbi)(LatticeC*, uint16_t*) noexcept nogil
        int32_t (*came_from)(const LatticeC*, int32_t, int32_t) noexcept nogil
        const double* (*column_of)(const EdgeC*, int32_t, double*, int64_t*) noexcept nogil
        double (*second_path)(LatticeC*, const uint16_t*, uint16_t*) noexcept nogil
        int32_t (*at_least)(int32_t, const double*, double, int32_t*) noexcept nogil
        int32_t (*next_best)(int32_t, int32_t, const double*, int32_t) noexcept nogil
        void (*max_plus)(int32_t, int32_t, const double*, const double*, double*) noexcept nogil
        double (*pair_marginal)(const LatticeC*, int32_t, int32_t, int32_t) noexcept nogil
        int32_t (*chain_forward)(int32_t, const EdgeC*, const double*, const double*, double*, double*, double*) noexcept nogil
        int32_t (*chain_backward)(const EdgeC*, const double*, const double*, double*, double*, double*) noexcept nogil
        void (*merge_list)(const LayoutC*, const weight_t*, double, const SentenceC*, int32_t, const EdgeC*, EdgeC*,
                           PairC**) noexcept nogil
        void (*exp_changed)(EdgeC*, const EdgeC*) noexcept nogil
        void (*exchange_scores)(const EdgeC*, int) noexcept nogil
        const double* (*unfold)(const EdgeC*, int, double*) noexcept nogil
        double (*chain_times)(int32_t, const double*, double*) noexcept nogil
        void (*chain_nodes)(int32_t, const double*, const double*, double, double, double*, double*) noexcept nogil
        void (*chain_pairs)(int32_t, int32_t, const double*, const double*, const double*, double, double, double*,
                            double*) noexcept nogil
        void (*pick_potentials)(const EdgeC*, int32_t, const uint16_t*, const uint16_t*, double*) noexcept nogil
        void (*chain_features)(int32_t, const uint16_t*, const uint16_t*, const double*, const double*, const double*, double,
                               double, double*, double*) noexcept nogil
        void (*add_outers)(int32_t, int32_t, int64_t, int64_t, const double*, const double*, double, const double*,
                           double*) noexcept nogil
        double (*dot_row)(int32_t, const double*, const double*) noexcept nogil
        void (*multiply)(int32_t, const double*, double*) noexcept nogil
        void (*exp_row)(int64_t, const double*, double, double*) noexcept nogil
        double (*dot)(int64_t, const double*, const float*) noexcept nogil
        double (*dot_doubles)(int64_t, const double*, const double*) noexcept nogil
        double (*dot_floats)(int64_t, const float*, const float*) noexcept nogil
        void (*add)(int64_t, double*, const double*) noexcept nogil
        void (*add_floats)(int64_t, double*, double, const float*) noexcept nogil
        void (*dots)(int64_t, int64_t, int32_t, const float**, const float*, const double*, double*) noexcept nogil
        void (*combine)(int64_t, int64_t, int32_t, const float**, const double*, double, const double*,
                        float*) noexcept nogil
        void (*keep)(int64_t, int64_t, const uint8_t*, double*) noexcept nogil
        void (*pseudo_gradient)(int64_t, double, const float*, const double*, double*) noexcept nogil
        void (*keep_descent)(int64_t, const double*, float*) noexcept nogil
        double (*project_step)(int64_t, const float*, double, const float*, const double*, float*) noexcept nogil
        double (*sizes)(int64_t, const float*) noexcept nogil
        void (*dual_sums)(int64_t, double, double, const float*, const double*, double*) noexcept nogil
        void (*sort_ids)(int64_t, int32_t*, float*) noexcept nogil
        double (*exp)(double) noexcept nogil
        double (*log)(double) noexcept nogil

    const KernelsC* crfkit_select(const char* name) noexcept


cdef const KernelsC* K
