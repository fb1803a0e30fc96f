/* The structures every loop works on, and the table of loops compiled for each instruction set.
 *
 * Separated by lifetime: the layout of the weights (which features exist) and the data set never change
 * while a trainer runs; the weights change; a lattice is the scratch of one thread.
 *
 * Letters used everywhere: T positions, L labels, P labels padded to a multiple of 8 (so that rows are
 * aligned and loops along labels need no tail), A unigram attributes, t position, i previous label, j label.
 */
#ifndef CRFKIT_CRF_H
#define CRFKIT_CRF_H

#include <stdint.h>

typedef float weight_t; /* stored weights */
typedef double real_t;  /* lattices: scores, potentials, marginals */

/* Which features exist, and where the weight of each stands in one flat array of cells:
 *
 *   [ hot rows: H x P | cold features, one cell each | label pairs: L x P | rich edge features ]
 *     0                 cold0                          tau0                 rich0          n_cells
 *
 * Attributes are numbered so that the H with the most labels come first. Those have a dense row of P cells,
 * where the cells of features that do not exist stay zero; the others have a cell for each feature. */
typedef struct {
    int32_t L, P;
    int32_t A, H;
    int32_t B;               /* rich bigram attributes (templates B with macros) */
    int32_t has_tau;         /* label-pair weights exist (a plain B template) */
    const int64_t *u_ptr;    /* [A+1] features of attribute a: u_ptr[a] .. u_ptr[a+1] */
    const uint16_t *u_label; /* [u_ptr[A]] their labels, ascending within a row */
    const int64_t *b_ptr;    /* [B+1] */
    const uint16_t *b_prev;  /* [b_ptr[B]] */
    const uint16_t *b_label; /* [b_ptr[B]] */
    const uint8_t *tau_mask; /* [L][P] 1 where a label-pair feature exists */
    int64_t cold0, tau0, rich0, n_cells;
} LayoutC;

typedef struct {
    int64_t n_seq, n_tok;
    int32_t longest;         /* positions of the longest sequence */
    int32_t max_rich;        /* most positions with rich attributes in one sequence */
    const int64_t *seq_ptr;  /* [n_seq+1] first token of each sequence */
    const int64_t *u_ptr;    /* [n_tok+1] */
    const int32_t *u_id;     /* attributes of a token, ascending, so that dense rows come first */
    const float *u_val;      /* their values, or NULL: all 1 */
    const int64_t *b_ptr;    /* [n_tok+1], or NULL: no rich edges */
    const int32_t *b_id;
    const float *b_val;      /* or NULL */
    const uint16_t *label;   /* [n_tok], or NULL */
    const float *seq_weight; /* [n_seq], or NULL: all 1 */
} DatasetC;

/* A view of one sequence; pointers into a data set or into the scratch of a tagger. u_ptr and b_ptr hold
 * offsets into u_id and b_id as they stand here (no base is subtracted). */
typedef struct {
    int32_t T;
    const int64_t *u_ptr;    /* [T+1] */
    const int32_t *u_id;
    const float *u_val;      /* or NULL */
    const int64_t *b_ptr;    /* [T+1] or NULL */
    const int32_t *b_id;
    const float *b_val;      /* or NULL */
    const uint16_t *label;   /* [T] or NULL */
    double weight;           /* of the instance, 1 unless the input says otherwise */
} SentenceC;

typedef struct {
    int32_t L, P, T;
    int32_t cap_T, cap_slots;
    int32_t n_slots;    /* edge matrices of their own in this sequence */
    real_t *score;      /* [T][P] node scores; padding -inf */
    real_t *pot;        /* [T][P] exp(score - row maximum); padding 0 */
    real_t *alpha;      /* [T][P] forward, each row sums to 1 */
    real_t *beta;       /* [T][P] backward, scaled so that alpha*beta is the node marginal */
    real_t *node;       /* [T][P] node marginals */
    double *rowmax;     /* [T] maximum of score[t] */
    double *inv;        /* [T] 1 / (sum of the forward row before scaling) */
    int32_t *slot;      /* [T] own edge matrix of the edge into t, or -1: the shared one */
    real_t *tau;        /* [L][P] shared edge scores; padding -inf */
    real_t *etau;       /* [L][P] exp(tau - taumax); padding 0 */
    real_t *etauT;      /* [L][P] transposed */
    real_t *edge;       /* [slots][L][P] edge scores of positions with rich edges */
    real_t *eedge;      /* [slots][L][P] their exp(edge - edgemax) */
    double *edgemax;    /* [slots] */
    real_t *pair;       /* [L][P] expected label pairs of the shared edges */
    uint16_t *back;     /* [T][P] Viterbi back pointers */
    double taumax;
    double taurange;    /* largest minus smallest finite shared edge score */
    double range;       /* the same for nodes, and own edges, of this sequence (largest over rows) */
    double logz;
    int32_t log_domain; /* the range is too wide for the scaled recursion: forward-backward worked on logarithms */
    double quantum;     /* expectations are rounded to multiples of this so that sums are exact in any order */
} LatticeC;

/* The loops. Every entry is the same C compiled for another instruction set; all give the same bits. */
typedef struct {
    const char *name;
    /* shared edge scores from the weights, times scale; call again when label-pair weights change */
    void (*load_tau)(const LayoutC *, const weight_t *w, double scale, LatticeC *);
    /* exponentials of the shared edge scores; needs load_tau */
    void (*exp_tau)(LatticeC *);
    /* node and rich edge scores; needs room for the sequence and load_tau */
    void (*score)(const LayoutC *, const weight_t *w, double scale, const SentenceC *, LatticeC *);
    /* potentials of the sequence, its range; needs score */
    void (*exp_scores)(LatticeC *);
    /* forward, backward, logz; needs exp_tau and exp_scores */
    void (*forward_backward)(LatticeC *);
    /* node marginals into lat->node; pair sums of the shared edges into lat->pair */
    void (*marginals)(LatticeC *);
    /* gradient += sentence weight * (expected - observed), all exact sums; needs marginals */
    void (*scatter_gradient)(const LayoutC *, const SentenceC *, LatticeC *, double *gradient);
    /* weights += gain * (observed - expected), only where features exist; needs marginals */
    void (*scatter_expected)(const LayoutC *, const SentenceC *, LatticeC *, double gain, weight_t *w);
    double (*viterbi)(LatticeC *, uint16_t *labels);
    /* sums and products of long vectors, in a fixed order */
    double (*dot)(int64_t n, const double *x, const double *y);
    void (*axpy)(int64_t n, double a, const double *x, double *y);
} KernelsC;

extern const KernelsC crfkit_base;
#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#define CRFKIT_X86 1
extern const KernelsC crfkit_avx2;
extern const KernelsC crfkit_avx512;
#endif

/* The variant asked for by name, or the best this processor runs when name is NULL or empty.
 * NULL when there is no such variant here. */
const KernelsC *crfkit_select(const char *name);

#endif
