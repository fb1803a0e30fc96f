/* The table of loops, compiled for each instruction set. */
#ifndef CRFKIT_KERNELS_H
#define CRFKIT_KERNELS_H

#include "crf.h"

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
    /* the scores of a step, other than a list, into label j, at this stride: where they are, or in the row given */
    const double *(*column_of)(const EdgeC *, int32_t j, double *row, int64_t *stride);
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
    /* potentials of such a list, with the max of the plain one */
    void (*exp_changed)(EdgeC *, const EdgeC *plain);
    void (*exchange_scores)(const EdgeC *, int back);
    /* potentials, or scores, as a matrix: that of the step, or the one given */
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
