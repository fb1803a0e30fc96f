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

#include <stddef.h>
#include <stdint.h>

typedef float weight_t; /* stored weights */

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
    int64_t n_pairs;         /* how many of them belong to features */
    const int64_t *u_ptr;    /* [A+1] features of attribute a: u_ptr[a] .. u_ptr[a+1] */
    const uint16_t *u_label; /* [u_ptr[A]] their labels, ascending within a row */
    const uint8_t *u_exists; /* [H][P/8] a bit for each cell of the hot rows: whether it is a feature's */
    const int64_t *b_ptr;    /* [B+1] */
    const uint16_t *b_prev2; /* [b_ptr[B]] the label before b_prev, or NULL: no feature looks at it (weights/history) */
    const uint16_t *b_prev;  /* [b_ptr[B]] */
    const uint16_t *b_label; /* [b_ptr[B]] */
    const uint8_t *tau_mask; /* [L][P] 1 where a label-pair feature exists */
    int64_t cold0, tau0, rich0, n_cells;
} LayoutC;

typedef struct {
    int64_t n_seq, n_tok;
    int32_t longest;         /* positions of the longest sequence */
    const int64_t *seq_ptr;  /* [n_seq+1] first token of each sequence */
    const int64_t *u_ptr;    /* [n_tok+1] */
    const int32_t *u_id;     /* attributes of a token, ascending, so that dense rows come first */
    const float *u_val;      /* their values, or NULL: all 1 */
    const int64_t *b_ptr;    /* [n_tok+1], or NULL: no rich edges */
    const int32_t *b_id;     /* all have the value 1 */
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
    const float *b_val;      /* or NULL; the scales of an online trainer (calibrated.pyx), which only scores and stochastic steps need */
    const uint16_t *label;   /* [T] or NULL */
    double weight;           /* of the instance, 1 unless the input says otherwise */
} SentenceC;

/* A label pair that has a weight: the label before and the label, the score, and the potential exp(score - max). */
typedef struct {
    int32_t from, to;
    double score, e;
} PairC;

/* The pairs of a list in the order in which sums over them are taken (sums.inc), for one direction: from labels, or to labels. */
typedef struct {
    int32_t n;                 /* groups of eight labels that have pairs */
    int32_t *begin;            /* [n+1] the places of a group; multiples of eight */
    uint16_t *label;           /* [n][8] whose sum a lane is */
    uint16_t *other;           /* [begin[n]] the label at the other end */
    double *more;              /* [begin[n]] potential minus `base`; 0 where a lane has no pair */
    int32_t *place;            /* of each pair */
} SumsC;

#define CRFKIT_SUMS_HEAD 128 /* bytes for the two of a list */

/* The most places that this many pairs can take: a group is as long as its longest lane, which is no longer than the shortest lane
 * of the group before. */
static inline int64_t crfkit_most_places(int64_t L, int64_t pairs)
{
    int64_t all = (L + 7) / 8 * 8 * L;
    return pairs + 8 * L < all ? pairs + 8 * L : all;
}

/* Bytes for all of it. */
static inline int64_t crfkit_sums_bytes(int64_t L, int64_t pairs)
{
    int64_t most = crfkit_most_places(L, pairs);
    return CRFKIT_SUMS_HEAD + (pairs + 8) * 12 + 2 * (most * 10 + pairs * 4 + (L / 8 + 2) * 4 + (L + 8) * 2 + 64);
}

/* One step: the scores of going from a label to the next, and their potentials exp(score - max). A step has one of two forms:
 *
 *   matrix    `pair` is NULL; score and E hold all pairs, ET is E transposed where that is available;
 *   list      `pair` has the pairs with a weight, sorted by the label before and then by the label; `column` has their places in
 *             the other order. All other pairs have the score 0 and the potential `base`. E and ET are undefined. */
typedef struct {
    int32_t L, P;
    int32_t n;                 /* pairs on the list */
    double max, range;         /* about the largest score; from the smallest that is not -inf to the largest, or to max if that is greater */
    double base;               /* exp(0 - max) */
    double *score;             /* [L][P] padding -inf; NULL for some lists */
    double *E;                 /* [L][P] padding 0 */
    double *ET;                /* [L][P] or NULL */
    PairC *pair;               /* [n] or NULL */
    int32_t *row_ptr;          /* [L+1] pairs from label i: row_ptr[i] .. row_ptr[i+1] */
    int32_t *column_ptr;       /* [L+1] places of the pairs to label j: column_ptr[j] .. column_ptr[j+1] */
    int32_t *column;           /* [n] */
    int32_t *room;             /* [2 P + n + 2] of a step with rich attributes, for its own index or row_top */
    SumsC *sums;               /* [2] of pairs from labels, of pairs to labels; NULL for some lists */
    double *above;             /* [n, up to whole vectors] potentials of the pairs minus `base`, and */
    int32_t *cell;             /* [n] where the pairs stand in L x P; both where there are sums */
    double *row_top;           /* [P] the best score of the pairs from label i, or more; -inf without pairs. NULL where they are not
                                * known: setting a score clears it */
} EdgeC;

/* How many places the pairs from labels have in its sums. */
static inline int32_t crfkit_places(const EdgeC *edge) { return edge->sums[0].begin[edge->sums[0].n]; }

/* The pair i, j of a list, or NULL if it has no weight. */
static inline const PairC *crfkit_find_pair(const EdgeC *edge, int32_t i, int32_t j)
{
    int32_t low = edge->row_ptr[i], high = edge->row_ptr[i + 1];
    while (low < high) {
        int32_t middle = (low + high) / 2;
        if (edge->pair[middle].to < j)
            low = middle + 1;
        else
            high = middle;
    }
    return low < edge->row_ptr[i + 1] && edge->pair[low].to == j ? edge->pair + low : NULL;
}

/* What the step from label i to label j scores. */
static inline double crfkit_edge_score(const EdgeC *edge, int32_t i, int32_t j)
{
    if (edge->score != NULL)
        return edge->score[(int64_t)i * edge->P + j];
    const PairC *pair = crfkit_find_pair(edge, i, j);
    return pair != NULL ? pair->score : 0;
}

/* The best score of the pairs from label i; of a list, of those on it. */
static inline double crfkit_row_top(const EdgeC *edge, int32_t i)
{
    double top = -__builtin_inf();
    if (edge->pair == NULL) {
        for (int64_t j = (int64_t)i * edge->P, end = j + edge->L; j < end; j++)
            top = edge->score[j] > top ? edge->score[j] : top;
        return top;
    }
    for (int32_t k = edge->row_ptr[i]; k < edge->row_ptr[i + 1]; k++)
        top = edge->pair[k].score > top ? edge->pair[k].score : top;
    return top;
}

/* Sets the score of a step, where there is a matrix of scores. A list must have this pair already. Potentials do not change. */
static inline void crfkit_set_score(EdgeC *edge, int32_t i, int32_t j, double score)
{
    double *cell = edge->score + (int64_t)i * edge->P + j, old = *cell;
    *cell = score;
    if (edge->pair != NULL)
        edge->pair[crfkit_find_pair(edge, i, j) - edge->pair].score = score;
    if (edge->row_top != NULL && (score > edge->row_top[i] || old == edge->row_top[i]))
        edge->row_top[i] = crfkit_row_top(edge, i);
}

/* The potential of the step from label i to label j. */
static inline double crfkit_edge_potential(const EdgeC *edge, int32_t i, int32_t j)
{
    if (edge->pair == NULL)
        return edge->E[(int64_t)i * edge->P + j];
    const PairC *pair = crfkit_find_pair(edge, i, j);
    return pair != NULL ? pair->e : edge->base;
}

#define CRFKIT_AHEAD 24 /* visits: rows and cells are prefetched this far ahead */

/* Which sums, rows and cells the tokens of a sequence visit; see trainers/batch/visits.pyx. The lists extend CRFKIT_AHEAD
 * numbers beyond the last sequence of a data set. */
typedef struct {
    const int64_t *sum_ptr;  /* [T+1] */
    const int32_t *sum;      /* rows of P sums of weights */
    const int64_t *row_ptr;  /* [T+1] */
    const int32_t *row;      /* dense rows of weights */
    const float *row_val;    /* or NULL: all 1 */
    const int64_t *cell_ptr; /* [T+1] */
    const uint32_t *cell;    /* cells of cold features, from cold0 on */
    const uint16_t *label;   /* of these */
    const float *cell_val;   /* or NULL, too */
} VisitsC;

/* Scratch of one thread. Steps into positions with rich attributes have potentials of their own; all others share one
 * EdgeC. The scaled recursion keeps
 *     alpha[t] = (alpha[t-1] E_t) * pot[t] * inv[t],      right[t] = pot[t] * beta[t] * inv[t],
 * so that P(y[t] = j) = alpha[t][j] beta[t][j] and P(y[t-1] = i, y[t] = j) = alpha[t-1][i] E_t[i][j] right[t][j].
 * When scores lie too far apart for that (see forward_backward), alpha and beta hold logarithms instead. */
typedef struct {
    int32_t L, P, T;
    int32_t n_own;      /* steps with potentials of their own */
    int32_t forbidden;  /* some shared edge score is -inf: set by whoever forbids transitions */
    int32_t log_domain; /* forward_backward worked on logarithms */
    int32_t counted;    /* expectations are wanted of the pairs on the shared list only, which are all that have features */
    int32_t n_places;   /* pairs that have features, where these are few and the shared step is a matrix */
    const int32_t *place; /* or NULL; [3][n_places]: in L x P; in its transpose, in order; which of the first those are */
    double *at_places;  /* [n_places, up to whole vectors] scratch */
    double *score;      /* [T][P] node scores; padding -inf */
    double *pot;        /* [T][P] exp(score - rowmax); padding 0 */
    double *alpha;      /* [T][P] */
    double *beta;       /* [T][P] */
    double *right;      /* [T][P] */
    double *node;       /* [T][P] node marginals; padding 0 */
    double *rowmax;     /* [T] */
    double *inv;        /* [T] */
    const EdgeC **edge; /* [T] the step into t: `shared`, or one of `own`. None leads into position 0 */
    EdgeC shared;       /* plain label pairs; score is always there */
    EdgeC *own;         /* [n_own] in order of their positions: plain label pairs and rich attributes */
    PairC *merged[2];   /* room for the longest of their lists, each */
    double *counts;     /* where only listed pairs are counted: the sums of alpha[t-1]' right[t] over the shared steps of a sequence,
                         * in the order of sums[0]; forward_backward leaves them */
    double *outer;      /* [L][P] sum of alpha[t-1]' right[t] over shared steps, still to be multiplied by their potentials; where
                         * only listed pairs are counted, those of these, as in `counts` */
    double *pair;       /* [L][P] sum of all other pair marginals; where only listed pairs are counted, [n] of these */
    double *unfolded;   /* [L][max(P, 64)] scratch: a list as a matrix, steps in columns */
    double *tops;       /* [P] room for the shared step's row_top */
    double logz;
    double quantum;     /* expectations are rounded to multiples of this: their sums are exact in any order */
    const double *quanta; /* [A] the same for each unigram attribute, and */
    const double *cold_quanta; /* for each cell that is not of a dense row; both only where attributes have values */
} LatticeC;

/* The dual variables of one sequence, expectations minus the truth: of its nodes, of the label pairs that have weights,
 * and of the rich edge features, in the order in which they are met. */
typedef struct {
    float *node;              /* [T][P] */
    float *pair;              /* [n_pairs] */
    float *rich;
    const int64_t *pair_cell; /* [n_pairs] the label pairs, as cells of L x P */
    double overlap; /* attributes that two of its positions share, on average */
    double *sum;    /* [P] scratch */
} DualC;

/* Norms of the residual of a sequence's dual variables, their distance from the expectations. */
typedef struct {
    double squared;   /* the sum of its squares */
    double stretched; /* about the squared change of the weights in a full step with a gain of 1 */
    double reach;     /* about the largest change of a score of the sequence in such a step */
} WayC;

/* The loops. Every entry is the same C compiled for another instruction set; all give the same bits. */
typedef struct {
    const char *name;
    /* shared edge scores from the weights, times scale; call again when label-pair weights change */
    void (*load_tau)(const LayoutC *, const weight_t *w, double scale, LatticeC *);
    /* their potentials as a matrix; needs load_tau */
    void (*exp_tau)(LatticeC *);
    /* both, if few places have features and all others were zero at the last call */
    void (*load_places)(const LayoutC *, const weight_t *w, double scale, LatticeC *);
    /* both at once if only features are counted: scores and potentials of the pairs on the shared list */
    void (*load_listed)(const LayoutC *, const weight_t *w, double scale, LatticeC *);
    /* a matrix of scores as a list of its nonzero pairs, or of the features if these are given, which are `most`; needs room for `most`
     * pairs and for 2 (L + 1) + `most` numbers. Returns how many there are; changes nothing if that is more */
    int64_t (*list_pairs)(EdgeC *, const uint8_t *features, int64_t most, PairC *, int32_t *index);
    /* the sums of a list, in room of crfkit_sums_bytes */
    void (*list_sums)(EdgeC *, char *room);
    /* node and rich edge scores; needs load_tau, and room for the sequence */
    void (*score)(const LayoutC *, const weight_t *w, double scale, const SentenceC *, LatticeC *);
    /* potentials of nodes and own matrices; the widest range of their products, a logarithm, or -1 if a position allows no label */
    double (*potentials)(LatticeC *);
    /* potentials, forward, backward, logz; needs exp_tau and score. 0, or -1 when no path is possible */
    int (*forward_backward)(LatticeC *);
    /* node marginals into node */
    void (*node_marginals)(LatticeC *);
    /* adds this sequence's pair marginals, times gain, to outer and pair */
    void (*add_pairs)(LatticeC *, double gain);
    /* pair = pair + outer * potentials; outer = 0: the expected label pairs of all sequences added so far */
    void (*finish_pairs)(LatticeC *);
    /* score, of a sequence whose visits are listed */
    void (*score_visits)(const LayoutC *, const VisitsC *, const weight_t *w, const double *sums, const SentenceC *,
                         LatticeC *);
    /* gradient += weight * (expected - observed) of nodes and rich edges, that of sums apart, and - weight * observed of label pairs, whose
     * expectations scatter_pairs adds; needs node_marginals; beta is scratch */
    void (*scatter_visits)(const LayoutC *, const VisitsC *, const SentenceC *, const LatticeC *, double *gradient,
                           double *of_sums);
    /* gradient += pair, rounded; pair = 0 */
    void (*scatter_pairs)(const LayoutC *, LatticeC *, double *gradient);
    /* w += gain * (observed - expected), where features of nodes and rich edges exist; needs forward_backward; beta, node and pot are
     * scratch */
    void (*update_expected)(const LayoutC *, const SentenceC *, LatticeC *, double gain, weight_t *w);
    /* the same for features of label pairs; needs add_pairs; outer = pair = 0 */
    void (*update_pairs)(const LayoutC *, const SentenceC *, LatticeC *, double gain, weight_t *w);
    /* node = node - truth - dual, the residual of a sequence */
    WayC (*dual_way)(const SentenceC *, LatticeC *, const DualC *);
    /* a step of dual coordinate ascent; needs the marginals of one sequence, finish_pairs included, and dual_way;
     * pair = 0 */
    void (*update_dual)(const LayoutC *, const SentenceC *, LatticeC *, const DualC *, double rate, double gain,
                        weight_t *w);
    /* the score that the marginals expect; needs those of one sequence, finish_pairs included */
    double (*expected_score)(const LayoutC *, const SentenceC *, const LatticeC *, const weight_t *w, const DualC *);
    /* w = inverse * soft(pull + sum, l1), for the features of a sequence */
    void (*soften)(const LayoutC *, const SentenceC *, const DualC *, double l1, const float *pull, const float *sum,
                   const float *inverse, weight_t *w);
    /* cumulative L1 penalty: each of n weights moves towards zero, never across it, by what it has not yet received of
     * `due`. received[k] is the sum of its moves, with their sign */
    void (*clip)(int64_t n, double due, weight_t *w, double *received);
    /* best path; its score. Ties go to the smaller label */
    double (*viterbi)(LatticeC *, uint16_t *labels);
    /* the label before j on the best path that ends in label j at position t, after viterbi; the first of several */
    int32_t (*came_from)(const LatticeC *, int32_t t, int32_t j);
    /* the second best path, after viterbi found `best`, where steps are matrices; its score, -inf if there is none. The order of equal
     * ones: see decode/nbest.pyx. Overwrites right */
    double (*second_path)(LatticeC *, const uint16_t *best, uint16_t *labels);
    /* the places of those of n numbers that are at least `least`, in order; how many */
    int32_t (*at_least)(int32_t n, const double *x, double least, int32_t *which);
    /* the best of L numbers after number i in the order from the best to the worst, equal ones by their places; i = -1: the first.
     * Rows of P, padding -inf. -1 if there is none */
    int32_t (*next_best)(int32_t L, int32_t P, const double *x, int32_t i);
    /* out[i] = max over j of x[j] + M[j][i], of rows of P */
    void (*max_plus)(int32_t L, int32_t P, const double *x, const double *M, double *out);
    /* P(y[t-1] = i, y[t] = j) after forward_backward */
    double (*pair_marginal)(const LatticeC *, int32_t t, int32_t i, int32_t j);
    /* one step of the recursions. alpha = (before E) o pot, scaled to the sum 1; sum: that before scaling. At the first position
     * edge and before are NULL. Returns whether alpha was the same, up to rounding of each number; fresh is room for a row */
    int32_t (*chain_forward)(int32_t P, const EdgeC *, const double *before, const double *pot, double *fresh, double *sum,
                             double *alpha);
    /* and back: right = pot o next, beta = E right, scaled to the sum 1; the same of beta */
    int32_t (*chain_backward)(const EdgeC *, const double *pot, const double *next, double *right, double *fresh, double *beta);
    /* a list of plain label pairs with the weights of a position's rich attributes added, in the room that the step has for it */
    void (*merge_list)(const LayoutC *, const weight_t *w, double scale, const SentenceC *, int32_t t, const EdgeC *plain,
                       EdgeC *, PairC **merged);
    /* potentials of such a list, with the max of the plain one; the largest score */
    double (*exp_changed)(EdgeC *, const EdgeC *plain);
    /* potentials, or scores, of a list as a matrix */
    const double *(*unfold)(const EdgeC *, int potentials, double *matrix);
    /* row o= by, scaled to the sum 1; the sum before that */
    double (*chain_times)(int32_t P, const double *by, double *row);
    /* with p = alpha o beta / (alpha . beta): first += gain p, second += gain2 p (1 - p), unless that is NULL */
    void (*chain_nodes)(int32_t P, const double *alpha, const double *beta, double gain, double gain2, double *first, double *second);
    /* the same with p[i][j] = left[i] E[i][j] right[j] */
    void (*chain_pairs)(int32_t L, int32_t P, const double *left, const double *E, const double *right, double gain,
                        double gain2, double *first, double *second);
    /* the potentials of n pairs of labels, in order */
    void (*pick_potentials)(const EdgeC *, int32_t n, const uint16_t *from, const uint16_t *to, double *e);
    /* the same as chain_pairs for n pairs with the potentials e only; sums have the numbers of the pairs */
    void (*chain_features)(int32_t n, const uint16_t *from, const uint16_t *to, const double *e, const double *left,
                           const double *right, double gain, double gain2, double *first, double *second);
    /* out += E o alpha' right, or gain * alpha' right if E is NULL, summed over n pairs of rows at this stride */
    void (*add_outers)(int32_t L, int32_t P, int64_t n, int64_t apart, const double *alpha, const double *right, double gain,
                       const double *E, double *out);
    double (*dot_row)(int32_t P, const double *x, const double *y);
    void (*multiply)(int32_t P, const double *by, double *row);
    void (*exp_row)(int64_t n, const double *x, double scale, double *out);
    /* products and sums of long vectors; the order of summation depends on nothing but the lengths */
    double (*dot)(int64_t n, const double *x, const float *y);
    double (*dot_doubles)(int64_t n, const double *x, const double *y);
    double (*dot_floats)(int64_t n, const float *x, const float *y);
    /* x += y, and x += a y */
    void (*add)(int64_t n, double *x, const double *y);
    void (*add_floats)(int64_t n, double *x, double a, const float *y);
    /* over elements first .. last: out[2 k + 0, 1] = rows[k] . y, rows[k] . g */
    void (*dots)(int64_t first, int64_t last, int32_t n_rows, const float **rows, const float *y, const double *g, double *out);
    /* over elements first .. last: out = a g + sum_k c[k] rows[k]; out may be one of the rows, g may be NULL */
    void (*combine)(int64_t first, int64_t last, int32_t n_rows, const float **rows, const double *c, double a,
                    const double *g, float *out);
    /* over elements first .. last: x = 0 where the bit of an element is not set */
    void (*keep)(int64_t first, int64_t last, const uint8_t *exists, double *x);
    /* see orthants.inc */
    void (*pseudo_gradient)(int64_t n, double l1, const float *w, const double *g, double *pseudo);
    void (*keep_descent)(int64_t n, const double *pseudo, float *d);
    double (*project_step)(int64_t n, const float *old, double step, const float *d, const double *pseudo, float *w);
    double (*sizes)(int64_t n, const float *w);
    void (*dual_sums)(int64_t n, double l1, double l2, const float *w, const double *g, double *out);
    /* sorts the attributes of a token, ascending, and their values (or NULL) with them */
    void (*sort_ids)(int64_t n, int32_t *id, float *value);
    double (*exp)(double);
    double (*log)(double);
} KernelsC;

extern const KernelsC crfkit_base;
#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#define CRFKIT_X86 1
extern const KernelsC crfkit_avx2;
extern const KernelsC crfkit_avx512;
#endif

/* The variant of this name, or the best one for this processor if name is NULL or empty. NULL if there is no such variant here. */
const KernelsC *crfkit_select(const char *name);

#endif
