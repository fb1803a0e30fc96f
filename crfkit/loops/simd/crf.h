/* The structures every loop works on.
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
    const uint16_t *b_prev2; /* [b_ptr[B]] the label before b_prev, or NULL: no feature looks at it (weights/cells) */
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

/* A pair that has another score, and potential, at one step. */
typedef struct {
    uint16_t from, to;
    int32_t at;        /* its place on the list, if the plain step is one */
    double score, e;
    double kept;       /* scratch */
} ChangeC;

/* The pairs of a list in the order in which sums over them are taken (sums.inc), for one direction: from labels, or to labels. */
typedef struct {
    int32_t n;                 /* groups of eight lanes, in each of which are pairs of one label */
    int32_t firsts;            /* so many of them begin labels, each a different one; the others go on with labels that have more pairs */
    int32_t *begin;            /* [n+1] the places of a group; multiples of eight */
    uint16_t *label;           /* [n][8] whose sum a lane is */
    uint16_t *other;           /* [begin[n]] the label at the other end */
    double *more;              /* [begin[n]] potential minus `base`; 0 where a lane has no pair */
    int32_t *place;            /* of each pair */
} SumsC;

#define CRFKIT_SUMS_HEAD 128 /* bytes for the two of a list */

/* So many pairs are in a lane at most: twice as many as a label has on average, and some more. */
static inline int32_t crfkit_longest_lane(int64_t L, int64_t pairs) { return (int32_t)(2 * pairs / L + 8); }

/* The most places that this many pairs can take: a group is as long as its longest lane, which is no longer than the shortest lane
 * of the group before, but for the first ones that begin labels, and that go on with them. */
static inline int64_t crfkit_most_places(int64_t L, int64_t pairs) { return pairs + 2 * 8 * crfkit_longest_lane(L, pairs); }

/* The most lanes: one for each label, up to whole groups, and those that go on. */
static inline int64_t crfkit_most_lanes(int64_t L, int64_t pairs) { return L + 8 + pairs / crfkit_longest_lane(L, pairs) + 8; }

/* Bytes for all of it. */
static inline int64_t crfkit_sums_bytes(int64_t L, int64_t pairs)
{
    int64_t places = crfkit_most_places(L, pairs), lanes = crfkit_most_lanes(L, pairs);
    return CRFKIT_SUMS_HEAD + (pairs + 8) * 12 + 2 * (places * 10 + pairs * 4 + (lanes / 8 + 2) * 4 + lanes * 2 + 64);
}

/* One step: the scores of going from a label to the next, and their potentials exp(score - max). A step has one of three forms:
 *
 *   matrix    `pair` is NULL; score and E hold all pairs, ET is E transposed where that is available;
 *   list      `pair` has the pairs with a weight, sorted by the label before and then by the label; `column` has their places in
 *             the other order. All other pairs have the score 0 and the potential `base`. E and ET are undefined;
 *   changes   the step is the same as `plain`, a matrix or a list, but for the pairs in `changed`. */
typedef struct EdgeC {
    int32_t L, P;
    int32_t n;                 /* pairs on the list, or changes */
    double max, range;         /* about the largest score; from the smallest that is not -inf to the largest, or to max if that is greater */
    double base;               /* exp(0 - max) */
    double *score;             /* [L][P] padding -inf; NULL for some lists, and for changes */
    double *E;                 /* [L][P] padding 0; of changes undefined, too */
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
    const struct EdgeC *plain; /* or NULL */
    ChangeC *changed;          /* [n] in the order of the features; a pair may be there several times */
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

/* The change of the pair i, j, or NULL if it has none. */
static inline const ChangeC *crfkit_find_change(const EdgeC *edge, int32_t i, int32_t j)
{
    for (int32_t k = 0; k < edge->n; k++)
        if (edge->changed[k].from == i && edge->changed[k].to == j)
            return edge->changed + k;
    return NULL;
}

/* What the step from label i to label j scores. */
static inline double crfkit_edge_score(const EdgeC *edge, int32_t i, int32_t j)
{
    if (edge->score != NULL)
        return edge->score[(int64_t)i * edge->P + j];
    if (edge->plain != NULL) {
        const ChangeC *change = crfkit_find_change(edge, i, j);
        return change != NULL ? change->score : crfkit_edge_score(edge->plain, i, j);
    }
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
    if (edge->plain != NULL) {
        const ChangeC *change = crfkit_find_change(edge, i, j);
        return change != NULL ? change->e : crfkit_edge_potential(edge->plain, i, j);
    }
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
    EdgeC shared;       /* plain label pairs; score is NULL for lists where best paths are never searched */
    EdgeC *own;         /* [n_own] in order of their positions: plain label pairs and rich attributes */
    PairC *merged[2];   /* room for the longest of their lists, each */
    double *counts;     /* where only listed pairs are counted: the sums of alpha[t-1]' right[t] over the shared steps of a sequence, and of
                         * changes over the pairs that do not change, in the order of sums[0]; forward_backward leaves them */
    double *outer;      /* [L][P] sum of alpha[t-1]' right[t] over shared steps, still to be multiplied by their potentials; where
                         * only listed pairs are counted, those of these, as in `counts` */
    double *pair;       /* [L][P] sum of all other pair marginals; where only listed pairs are counted, [n] of these */
    double *unfolded;   /* [L][max(P, 64)] scratch: a list as a matrix, steps in columns */
    double *tops;       /* [2][P] room for the shared step's row_top, and for a column of a step */
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

#endif
