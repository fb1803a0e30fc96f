"""The structures of loops/simd/crf.h for Cython, and the sequences of a data set. The fields are explained there."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t


cdef extern from "crf.h" nogil:
    const int CRFKIT_AHEAD
    ctypedef float weight_t

    ctypedef struct LayoutC:
        int32_t L, P
        int32_t A, H
        int32_t B
        int32_t has_tau
        int64_t n_pairs
        const int64_t* u_ptr
        const uint16_t* u_label
        const uint8_t* u_exists
        const int64_t* b_ptr
        const uint16_t* b_prev2
        const uint16_t* b_prev
        const uint16_t* b_label
        const uint8_t* tau_mask
        int64_t cold0, tau0, rich0, n_cells

    ctypedef struct DatasetC:
        int64_t n_seq, n_tok
        int32_t longest
        const int64_t* seq_ptr
        const int64_t* u_ptr
        const int32_t* u_id
        const float* u_val
        const int64_t* b_ptr
        const int32_t* b_id
        const uint16_t* label
        const float* seq_weight

    ctypedef struct SentenceC:
        int32_t T
        const int64_t* u_ptr
        const int32_t* u_id
        const float* u_val
        const int64_t* b_ptr
        const int32_t* b_id
        const float* b_val
        const uint16_t* label
        double weight

    ctypedef struct PairC:
        int32_t source "from"
        int32_t to
        double score, e

    ctypedef struct ChangeC:
        uint16_t source "from"
        uint16_t to
        int32_t at
        double score, e

    int64_t crfkit_sums_bytes(int64_t, int64_t) noexcept nogil
    int64_t crfkit_most_places(int64_t, int64_t) noexcept nogil

    ctypedef struct EdgeC:
        int32_t L, P
        int32_t n
        double max, range
        double base
        double* score
        double* E
        double* ET
        PairC* pair
        int32_t* row_ptr
        int32_t* column_ptr
        int32_t* column
        int32_t* room
        double* row_top
        const EdgeC* plain
        ChangeC* changed

    double crfkit_row_top(const EdgeC*, int32_t) noexcept
    void crfkit_set_score(EdgeC*, int32_t, int32_t, double) noexcept
    const PairC* crfkit_find_pair(const EdgeC*, int32_t, int32_t) noexcept
    double crfkit_edge_score(const EdgeC*, int32_t, int32_t) noexcept

    ctypedef struct LatticeC:
        int32_t L, P, T
        int32_t n_own
        int32_t forbidden
        int32_t log_domain
        int32_t counted
        int32_t n_places
        const int32_t* place
        double* at_places
        double* score
        double* pot
        double* alpha
        double* beta
        double* right
        double* node
        double* rowmax
        double* inv
        const EdgeC** edge
        EdgeC shared
        EdgeC* own
        PairC* merged[2]
        double* counts
        double* outer
        double* pair
        double* unfolded
        double* tops
        double logz
        double quantum
        const double* quanta
        const double* cold_quanta

    ctypedef struct VisitsC:
        const int64_t* sum_ptr
        const int32_t* sum
        const int64_t* row_ptr
        const int32_t* row
        const float* row_val
        const int64_t* cell_ptr
        const uint32_t* cell
        const uint16_t* label
        const float* cell_val

    ctypedef struct DualC:
        float* node
        float* pair
        float* rich
        const int64_t* pair_cell
        double overlap
        double* sum

    ctypedef struct WayC:
        double squared
        double stretched
        double reach


cdef extern from "sequences.h" nogil:
    double weight_of "crfkit_weight_of"(const DatasetC*, int64_t) noexcept
    SentenceC dataset_sentence "crfkit_dataset_sentence"(const DatasetC*, int64_t) noexcept
