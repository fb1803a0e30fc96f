/* Runs every loop of the table on inputs made from a seed, and prints a hash of all that each of them leaves behind. Two
 * builds that print the same lines gave the same bits: another compiler, processor or instruction set.
 *
 *     driver [base|avx2|avx512]
 */
#include "crf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ATTRIBUTES = 40, HOT = 12, RICH = 6, LONGEST = 19 };

typedef struct {
    int32_t labels, length;
    double spread;
    int forbid, lists, values, rich;
} CaseC;

static const KernelsC *K;
static uint64_t state, digest;
static char about[80];

/* splitmix64 */
static uint64_t next(void)
{
    uint64_t x = state += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static double uniform(double low, double high) { return low + (high - low) * ((double)(next() >> 11) * 0x1p-53); }

static int chance(double p) { return uniform(0, 1) < p; }

/* Zeros, aligned as vectors need it. */
static void *room(int64_t n, size_t size)
{
    size_t bytes = ((size_t)n * size + 127) / 64 * 64;
    void *data = aligned_alloc(64, bytes);
    if (data == NULL)
        abort();
    return memset(data, 0, bytes);
}

#define ROOM(type, n) ((type *)room(n, sizeof(type)))

static double *doubles(int64_t n, double low, double high)
{
    double *x = ROOM(double, n);
    for (int64_t k = 0; k < n; k++)
        x[k] = uniform(low, high);
    return x;
}

static float *floats(int64_t n, double low, double high)
{
    float *x = ROOM(float, n);
    for (int64_t k = 0; k < n; k++)
        x[k] = (float)uniform(low, high);
    return x;
}

/* FNV-1a */
static void add(const void *data, size_t bytes)
{
    for (size_t k = 0; k < bytes; k++)
        digest = (digest ^ ((const unsigned char *)data)[k]) * 0x100000001b3u;
}

#define ADD(data, n) add(data, (size_t)(n) * sizeof *(data))
#define ADD_ONE(value) add(&(value), sizeof(value))

static void add_double(double x) { ADD_ONE(x); }

static void say(const char *loop)
{
    printf("%s %s %016llx\n", about, loop, (unsigned long long)digest);
    digest = 0xcbf29ce484222325u;
}

/* What a trainer has: a layout of random features, weights, one sentence, scratch. */

static LayoutC make_layout(int32_t L)
{
    LayoutC y = {.L = L, .P = (L + 7) / 8 * 8, .A = ATTRIBUTES, .H = HOT, .B = RICH, .has_tau = 1};
    int64_t *u_ptr = ROOM(int64_t, ATTRIBUTES + 1), *b_ptr = ROOM(int64_t, RICH + 1);
    uint16_t *u_label = ROOM(uint16_t, ATTRIBUTES * L), *prev = ROOM(uint16_t, RICH * L * L), *label = ROOM(uint16_t, RICH * L * L);
    uint8_t *exists = ROOM(uint8_t, HOT * y.P / 8), *mask = ROOM(uint8_t, (int64_t)L * y.P);
    for (int32_t a = 0; a < ATTRIBUTES; a++) {
        u_ptr[a + 1] = u_ptr[a];
        for (int32_t j = 0; j < L; j++)
            if (chance(a < HOT ? 0.8 : 0.1)) {
                u_label[u_ptr[a + 1]++] = (uint16_t)j;
                if (a < HOT)
                    exists[(a * y.P + j) / 8] |= (uint8_t)(1 << j % 8);
            }
    }
    for (int32_t b = 0; b < RICH; b++) {
        b_ptr[b + 1] = b_ptr[b];
        for (int32_t k = 0; k < L * L; k++)
            if (chance(2.0 / L)) {
                prev[b_ptr[b + 1]] = (uint16_t)(k / L);
                label[b_ptr[b + 1]++] = (uint16_t)(k % L);
            }
    }
    for (int32_t i = 0; i < L; i++)
        for (int32_t j = 0; j < L; j++)
            mask[i * y.P + j] = chance(L > 20 ? 0.1 : 0.7);
    y.u_ptr = u_ptr, y.u_label = u_label, y.u_exists = exists, y.b_ptr = b_ptr, y.b_prev = prev, y.b_label = label;
    y.tau_mask = mask;
    y.cold0 = (int64_t)HOT * y.P;
    y.tau0 = (y.cold0 + u_ptr[ATTRIBUTES] - u_ptr[HOT] + 7) / 8 * 8;
    y.rich0 = y.tau0 + (int64_t)L * y.P;
    y.n_cells = y.rich0 + b_ptr[RICH];
    return y;
}

static weight_t *make_weights(const LayoutC *y, double spread)
{
    weight_t *w = floats(y->n_cells, -spread, spread);
    for (int64_t k = 0; k < (int64_t)HOT * y->P; k++)
        if (!(y->u_exists[k / 8] >> k % 8 & 1))
            w[k] = 0;
    for (int64_t k = 0; k < (int64_t)y->L * y->P; k++)
        if (!y->tau_mask[k])
            w[y->tau0 + k] = 0;
    return w;
}

static SentenceC make_sentence(const LayoutC *y, const CaseC *c)
{
    int32_t T = c->length;
    int64_t *u_ptr = ROOM(int64_t, T + 1), *b_ptr = ROOM(int64_t, T + 1);
    int32_t *u_id = ROOM(int32_t, T * ATTRIBUTES), *b_id = ROOM(int32_t, T * RICH);
    uint16_t *label = ROOM(uint16_t, T);
    for (int32_t t = 0; t < T; t++) {
        u_ptr[t + 1] = u_ptr[t], b_ptr[t + 1] = b_ptr[t];
        for (int32_t a = 0; a < ATTRIBUTES; a++)
            if (chance(0.2))
                u_id[u_ptr[t + 1]++] = a;
        for (int32_t b = 0; b < RICH && t % 3 == 1; b++)
            if (chance(0.5))
                b_id[b_ptr[t + 1]++] = b;
        label[t] = (uint16_t)(next() % (uint64_t)y->L);
    }
    SentenceC s = {.T = T, .u_ptr = u_ptr, .u_id = u_id, .label = label, .weight = 1.25};
    if (c->values)
        s.u_val = floats(u_ptr[T], -2, 2);
    if (c->rich)
        s.b_ptr = b_ptr, s.b_id = b_id, s.b_val = c->values ? floats(b_ptr[T], -2, 2) : NULL;
    return s;
}

/* What the sentence visits. Its first hot attribute stands for a row of sums, whatever that adds up. */
static VisitsC make_visits(const LayoutC *y, const SentenceC *s)
{
    int64_t most = s->u_ptr[s->T] * y->P + CRFKIT_AHEAD;
    int64_t *sum_ptr = ROOM(int64_t, s->T + 1), *row_ptr = ROOM(int64_t, s->T + 1), *cell_ptr = ROOM(int64_t, s->T + 1);
    int32_t *sum = ROOM(int32_t, most), *row = ROOM(int32_t, most);
    uint32_t *cell = ROOM(uint32_t, most);
    uint16_t *label = ROOM(uint16_t, most);
    float *row_val = ROOM(float, most), *cell_val = ROOM(float, most);
    for (int32_t t = 0; t < s->T; t++) {
        int64_t sums = sum_ptr[t], rows = row_ptr[t], cells = cell_ptr[t];
        for (int64_t u = s->u_ptr[t]; u < s->u_ptr[t + 1]; u++) {
            int32_t a = s->u_id[u];
            float v = s->u_val ? s->u_val[u] : 1;
            if (a < 3)
                sum[sums++] = a;
            else if (a < HOT)
                row_val[rows] = v, row[rows++] = a;
            else
                for (int64_t f = y->u_ptr[a]; f < y->u_ptr[a + 1]; f++) {
                    cell[cells] = (uint32_t)(f - y->u_ptr[HOT]);
                    cell_val[cells] = v;
                    label[cells++] = y->u_label[f];
                }
        }
        sum_ptr[t + 1] = sums, row_ptr[t + 1] = rows, cell_ptr[t + 1] = cells;
    }
    return (VisitsC){sum_ptr, sum, row_ptr, row, s->u_val ? row_val : NULL, cell_ptr, cell, label, s->u_val ? cell_val : NULL};
}

static LatticeC make_lattice(const LayoutC *y)
{
    int64_t matrix = (int64_t)y->L * y->P, rows = (int64_t)LONGEST * y->P;
    LatticeC lat = {
        .L = y->L, .P = y->P,
        .score = ROOM(double, rows), .pot = ROOM(double, rows), .alpha = ROOM(double, rows), .beta = ROOM(double, rows),
        .right = ROOM(double, rows), .node = ROOM(double, rows), .rowmax = ROOM(double, LONGEST), .inv = ROOM(double, LONGEST),
        .edge = ROOM(const EdgeC *, LONGEST), .own = ROOM(EdgeC, LONGEST),
        .shared = {.L = y->L, .P = y->P, .score = ROOM(double, matrix), .E = ROOM(double, matrix), .ET = ROOM(double, matrix)},
        .outer = ROOM(double, matrix), .pair = ROOM(double, matrix), .unfolded = ROOM(double, y->L * (int64_t)(y->P > 64 ? y->P : 64)),
        .quantum = 0x1p-33,
    };
    double *quanta = doubles(y->A + y->B, 0, 0), *cold = doubles(y->n_cells, 0, 0);
    for (int32_t a = 0; a < y->A + y->B; a++)
        quanta[a] = a % 2 ? 0x1p-33 : 0x1p-32;
    for (int64_t k = 0; k < y->n_cells; k++)
        cold[k] = k % 2 ? 0x1p-33 : 0x1p-32;
    lat.quanta = quanta, lat.cold_quanta = cold;
    return lat;
}

static PairC *pairs_of(const LayoutC *y) { return ROOM(PairC, (int64_t)y->L * y->P + y->b_ptr[RICH]); }

static int32_t *index_of(const LayoutC *y) { return ROOM(int32_t, 2 * (y->L + 1) + (int64_t)y->L * y->P + y->b_ptr[RICH]); }

/* Which steps the sentence has: lists where that into which they lead has rich attributes and the shared one is a list too. */
static void make_steps(const LayoutC *y, const SentenceC *s, LatticeC *lat)
{
    lat->n_own = 0;
    lat->merged[0] = pairs_of(y), lat->merged[1] = pairs_of(y);
    for (int32_t t = 1; t < s->T; t++) {
        lat->edge[t] = &lat->shared;
        if (s->b_ptr == NULL || s->b_ptr[t] == s->b_ptr[t + 1])
            continue;
        EdgeC *edge = lat->own + lat->n_own++;
        *edge = (EdgeC){.L = y->L, .P = y->P};
        if (lat->shared.pair != NULL)
            edge->pair = pairs_of(y), edge->row_ptr = index_of(y);
        else
            edge->score = ROOM(double, (int64_t)y->L * y->P), edge->E = ROOM(double, (int64_t)y->L * y->P);
        lat->edge[t] = edge;
    }
}

static void add_edge(const EdgeC *edge)
{
    ADD_ONE(edge->n);
    ADD_ONE(edge->max);
    ADD_ONE(edge->range);
    ADD_ONE(edge->base);
    if (edge->score != NULL)
        ADD(edge->score, (int64_t)edge->L * edge->P);
    if (edge->pair == NULL) {
        ADD(edge->E, (int64_t)edge->L * edge->P);
        return;
    }
    ADD(edge->pair, edge->n);
    ADD(edge->row_ptr, edge->L + 1);
    ADD(edge->column_ptr, edge->L + 1);
    ADD(edge->column, edge->n);
}

static void add_rows(const LatticeC *lat, const double *rows) { ADD(rows, (int64_t)lat->T * lat->P); }

/* Marginals of labels and of label pairs, as every trainer takes them. */
static int expect(LatticeC *lat)
{
    if (K->forward_backward(lat) != 0)
        return -1;
    K->node_marginals(lat);
    K->add_pairs(lat, 1.0);
    K->finish_pairs(lat);
    return 0;
}

/* One step forward and one backward. */
static void run_steps(const EdgeC *edge, const double *x, const double *pot, const char *loop)
{
    double *out = ROOM(double, edge->P), *out2 = ROOM(double, edge->P);
    add_double(K->forward_step(edge->P, edge, x, pot, out));
    ADD(out, edge->P);
    K->backward_step(edge, pot, x, out, out2);
    ADD(out, edge->P);
    ADD(out2, edge->P);
    say(loop);
}

/* Two times of a matrix whose pairs with features are written alone, and what changes them. */
static void run_places(const LayoutC *y, const weight_t *weights, const SentenceC *sentence)
{
    int32_t n = 0, L = y->L, P = y->P, matrix = L * P, *place = ROOM(int32_t, 3 * matrix), *number = ROOM(int32_t, matrix);
    weight_t *w = ROOM(weight_t, y->n_cells);
    LatticeC lat = make_lattice(y);
    for (int32_t k = 0; k < matrix; k++)
        if (k % P < L && y->tau_mask[k]) {
            number[k] = n;
            place[n++] = k;
        }
    for (int32_t k = 0, m = n; k < matrix; k++)
        if (k % P < L && y->tau_mask[k % P * P + k / P]) {
            place[n + m] = number[k % P * P + k / P];
            place[m++] = k;
        }
    lat.place = place, lat.n_places = n, lat.at_places = ROOM(double, n + 8), lat.shared.max = -1;
    memcpy(w, weights, sizeof(weight_t) * y->n_cells);
    K->load_tau(y, w, 0.0, &lat);
    for (double scale = 0.25; scale < 3; scale *= 8) {
        K->load_places(y, w, scale, &lat);
        add_edge(&lat.shared);
        ADD(lat.shared.ET, matrix);
    }
    say("load_places");
    lat.outer = doubles(matrix, 0, 1);
    K->update_pairs(y, sentence, &lat, 0.1, w);
    ADD(w, y->n_cells);
    say("update_pairs(places)");
}

static void run_lists(const LayoutC *y, const weight_t *w, const double *x, const LatticeC *lat)
{
    int64_t matrix = (int64_t)y->L * y->P;
    double *M = ROOM(double, matrix);
    EdgeC edge = lat->shared;
    run_steps(&edge, x, x, "steps(matrix)");
    ADD_ONE((int64_t){K->list_pairs(&edge, NULL, matrix, pairs_of(y), index_of(y))});
    add_edge(&edge);
    say("list_pairs");
    K->list_sums(&edge, ROOM(char, crfkit_sums_bytes(y->L, edge.n)));
    run_steps(&edge, x, x, "steps(sums)");
    edge.sums = NULL;
    run_steps(&edge, x, x, "steps(list)");
    ADD(K->unfold(&edge, 0, M), matrix);
    ADD(K->unfold(&edge, 1, M), matrix);
    say("unfold");
    K->exp_pairs(&edge, 0.5);
    add_edge(&edge);
    say("exp_pairs");
    LatticeC other = make_lattice(y);
    K->load_tau(y, ROOM(weight_t, y->n_cells), 1.0, &other);
    K->list_pairs(&other.shared, y->tau_mask, matrix, pairs_of(y), index_of(y));
    K->list_sums(&other.shared, ROOM(char, crfkit_sums_bytes(y->L, other.shared.n)));
    K->load_listed(y, w, 0.75, &other);
    add_edge(&other.shared);
    for (int k = 0; k < 2; k++)
        ADD(other.shared.sums[k].more, other.shared.sums[k].begin[other.shared.sums[k].n]);
    say("load_listed");
    int64_t attributes[2] = {0, RICH};
    int32_t id[RICH];
    for (int32_t b = 0; b < RICH; b++)
        id[b] = b;
    SentenceC all = {.T = 1, .b_ptr = attributes, .b_id = id, .weight = 1};
    EdgeC merged = {.L = y->L, .P = y->P, .pair = pairs_of(y), .row_ptr = index_of(y)};
    K->merge_list(y, w, 0.75, &all, 0, &other.shared, &merged, (PairC *[]){pairs_of(y), pairs_of(y)});
    K->exp_pairs(&merged, 0);
    add_edge(&merged);
    say("merge_list");
}

static void run_paths(LatticeC *lat)
{
    uint16_t path[LONGEST];
    double tops[128];
    for (int32_t i = 0; i < lat->P; i++)
        tops[i] = i < lat->L ? crfkit_row_top(&lat->shared, i) : -__builtin_inf();
    lat->shared.row_top = tops;
    add_double(K->viterbi(lat, path));
    ADD(path, lat->T);
    add_rows(lat, lat->alpha);
    say("viterbi(row_top)");
    lat->shared.row_top = NULL;
    add_double(K->viterbi(lat, path));
    ADD(path, lat->T);
    add_rows(lat, lat->alpha);
    say("viterbi");
    for (int32_t t = 1; t < lat->T; t++)
        for (int32_t j = 0; j < lat->L; j++)
            ADD_ONE((int32_t){K->came_from(lat, t, j)});
    say("came_from");
    for (int32_t t = 1; t < lat->T; t++)
        for (int32_t k = 0; k < lat->L * lat->L; k++)
            add_double(crfkit_edge_score(lat->edge[t], k / lat->L, k % lat->L));
    say("crfkit_edge_score");
    for (int32_t t = 0; t < lat->T; t++)
        for (int32_t i = -1, n = 0; n == 0 || i >= 0; n++) {
            i = K->next_best(lat->L, lat->P, lat->alpha + t * lat->P, i);
            ADD_ONE(i);
        }
    say("next_best");
}

static void run_sums(LatticeC *lat)
{
    add_double(K->potentials(lat));
    add_rows(lat, lat->pot);
    say("potentials");
    int status = K->forward_backward(lat);
    ADD_ONE(status);
    ADD_ONE(lat->log_domain);
    ADD_ONE(lat->logz);
    add_rows(lat, lat->alpha);
    add_rows(lat, lat->beta);
    add_rows(lat, lat->right);
    say(lat->log_domain ? "forward_backward(log)" : "forward_backward");
    K->node_marginals(lat);
    add_rows(lat, lat->node);
    say("node_marginals");
    for (int32_t t = 1; t < lat->T; t++)
        for (int32_t k = 0; k < lat->L * lat->L; k++)
            add_double(K->pair_marginal(lat, t, k / lat->L, k % lat->L));
    say("pair_marginal");
    K->add_pairs(lat, 0.75);
    ADD(lat->outer, (int64_t)lat->L * lat->P);
    say("add_pairs");
    K->finish_pairs(lat);
    ADD(lat->pair, (int64_t)lat->L * lat->P);
    say("finish_pairs");
}

static void run_updates(const LayoutC *y, const SentenceC *s, const weight_t *weights, LatticeC *lat)
{
    int64_t matrix = (int64_t)y->L * y->P;
    double *gradient = ROOM(double, y->n_cells), *of_sums = ROOM(double, 3 * y->P), *sums = doubles(3 * y->P, -1, 1);
    weight_t *w = ROOM(weight_t, y->n_cells);
    VisitsC visits = make_visits(y, s);

    K->scatter_visits(y, &visits, s, lat, gradient, of_sums);
    ADD(gradient, y->n_cells);
    ADD(of_sums, 3 * y->P);
    say("scatter_visits");
    K->scatter_pairs(y, lat, gradient);
    ADD(gradient, y->n_cells);
    say("scatter_pairs");

    memcpy(w, weights, sizeof(weight_t) * y->n_cells);
    expect(lat);
    K->update_expected(y, s, lat, 0.1, w);
    ADD(w, y->n_cells);
    say("update_expected");
    K->add_pairs(lat, 1.0);
    K->update_pairs(y, s, lat, 0.1, w);
    ADD(w, y->n_cells);
    ADD(lat->pair, matrix);
    say("update_pairs");

    int32_t n = 0, *cell = ROOM(int32_t, matrix);
    for (int32_t k = 0; k < matrix; k++)
        if (y->tau_mask[k])
            cell[n++] = k;
    DualC dual = {.node = floats((int64_t)s->T * y->P, 0, 0.01), .pair = floats(n, 0, 0.01),
                  .rich = floats(RICH * (int64_t)s->T * y->L * y->L, 0, 0.01), .pair_cell = cell, .n_pairs = n,
                  .overlap = 0.5, .sum = ROOM(double, y->P)};
    expect(lat);
    WayC way = K->dual_way(s, lat, &dual);
    ADD_ONE(way);
    add_rows(lat, lat->node);
    say("dual_way");
    add_double(K->expected_score(y, s, lat, w, &dual));
    say("expected_score");
    K->update_dual(y, s, lat, &dual, 0.3, 0.2, w);
    ADD(dual.node, (int64_t)s->T * y->P);
    ADD(dual.pair, n);
    ADD(dual.rich, RICH * (int64_t)s->T * y->L * y->L);
    ADD(w, y->n_cells);
    say("update_dual");
    float *pull = ROOM(float, y->n_cells), *grown = ROOM(float, y->n_cells), *inverse = ROOM(float, y->n_cells);
    weight_t *soft = ROOM(weight_t, y->n_cells);
    for (int64_t k = 0; k < y->n_cells; k++) {
        pull[k] = 0.07f * (float)(k % 11) - 0.4f;
        grown[k] = 0.3f * w[k];
        inverse[k] = 1.0f / (float)(1 + k % 5);
    }
    K->soften(y, s, &dual, 0.1, pull, grown, inverse, soft);
    ADD(soft, y->n_cells);
    say("soften");

    double *received = ROOM(double, y->n_cells);
    for (double due = 0.01; due < 0.05; due += 0.01)
        K->clip(y->n_cells, due, w, received);
    ADD(w, y->n_cells);
    ADD(received, y->n_cells);
    say("clip");
    K->score_visits(y, &visits, weights, sums, s, lat);
    add_rows(lat, lat->score);
    say("score_visits");
}

static void run_chains(int32_t L)
{
    int32_t P = (L + 7) / 8 * 8, which[512];
    int64_t matrix = (int64_t)L * P;
    double *E = ROOM(double, matrix), *ET = ROOM(double, matrix), *x = ROOM(double, P), *y = ROOM(double, P);
    double *out = ROOM(double, P), *out2 = ROOM(double, P), *M = ROOM(double, matrix), *M2 = ROOM(double, matrix);
    for (int32_t i = 0; i < L; i++) {
        x[i] = uniform(0.01, 1), y[i] = uniform(0.01, 1);
        for (int32_t j = 0; j < L; j++)
            E[i * P + j] = uniform(0.01, 1);
    }
    for (int32_t i = 0; i < L; i++)
        for (int32_t j = 0; j < L; j++)
            ET[j * P + i] = E[i * P + j];
#define SAY_ROWS(loop) (ADD(out, P), ADD(out2, P), ADD(M, matrix), ADD(M2, matrix), say(loop))
    EdgeC edge = {.L = L, .P = P, .E = E, .ET = ET};
    add_double(K->forward_step(P, NULL, NULL, y, out2));
    SAY_ROWS("forward_step");
    K->backward_step(&edge, x, y, out, out2);
    SAY_ROWS("backward_step");
    int32_t row[] = {0, L / 2, L - 1}, at[] = {L - 1, L / 2 * P, (L - 1) * P};
    K->chain_features(&edge, 3, row, at, x, y, 0.5, 0.25, M, M2);
    SAY_ROWS("chain_features");
    add_double(K->chain_nodes(P, x, y, 0.5, 0.25, out, out2));
    SAY_ROWS("chain_nodes");
    K->chain_pairs(L, P, x, E, y, 0.5, 0.25, M, M2);
    K->chain_pairs(L, P, y, E, x, 0.5, 0.25, M, NULL);
    SAY_ROWS("chain_pairs");
    K->add_outers(L, P, 1, P, x, y, 0.5, NULL, M);
    K->add_outers(L, P, 1, P, x, y, 1.0, E, M);
    SAY_ROWS("add_outers");
    K->max_plus(L, P, x, E, out);
    SAY_ROWS("max_plus");
    K->multiply(P, x, out);
    SAY_ROWS("multiply");
    add_double(K->chain_times(P, y, out));
    SAY_ROWS("chain_times");
    out2[L - 1] = out[L - 1] * (1 + 1e-12); /* rounding, or a change */
    add_double(K->replace_row(P, out, out2));
    add_double(K->replace_row(P, out, out2));
    out2[L - 1] = out[L - 1] * (1 + 1e-15);
    add_double(K->replace_row(P, out, out2));
    SAY_ROWS("replace_row");
    add_double(K->dot_row(P, x, y));
    say("dot_row");
    int32_t n = K->at_least(L, x, 0.5, which);
    ADD(which, n);
    say("at_least");
}

static void run_vectors(int64_t n)
{
    const float *rows[3] = {floats(n, -1, 1), floats(n, -1, 1), floats(n, -1, 1)};
    const double c[3] = {0.3, -0.7, 1.1};
    const double *g = doubles(n, -1, 1), *h = doubles(n, -1, 1);
    double out[9], *wide = doubles((n + 7) / 8 * 8, -600, 600);
    float *sum = ROOM(float, n);
    add_double(K->dot(n, g, rows[0]));
    add_double(K->dot_doubles(n, g, h));
    add_double(K->dot_floats(n, rows[1], rows[2]));
    say("dot");
    K->dots(n / 3, n, 3, rows, rows[0], rows[1], g, out);
    ADD(out, 9);
    say("dots");
    K->combine(n / 3, n, 3, rows, c, -0.9, g, sum);
    ADD(sum, n);
    K->combine(n / 3, n, 2, rows, c, 0, NULL, sum);
    ADD(sum, n);
    say("combine");
    double *x = doubles(n, -1, 1);
    uint8_t *exists = ROOM(uint8_t, n / 8 + 1);
    for (int64_t k = 0; k < n / 8 + 1; k++)
        exists[k] = (uint8_t)uniform(0, 256);
    K->add(n, x, g);
    K->add_floats(n, x, 0.3, rows[2]);
    ADD(x, n);
    say("add");
    K->keep(n / 3, n - n / 5, exists, x);
    ADD(x, n);
    say("keep");
    K->look_around(n, 0.4, rows[0], g, x);
    ADD(x, n);
    say("look_around");
    memcpy(sum, rows[1], n * sizeof(float));
    K->descend(n, x, sum);
    ADD(sum, n);
    say("descend");
    float *moved = ROOM(float, n);
    add_double(K->bend(n, rows[0], 0.8, sum, x, moved));
    ADD(moved, n);
    say("bend");
    add_double(K->sizes(n, rows[0]));
    say("sizes");
    K->dual_sums(n, 0.4, 0.1, rows[0], g, out);
    ADD(out, 3);
    say("dual_sums");
    K->exp_row((n + 7) / 8 * 8, wide, 1.1, wide);
    ADD(wide, (n + 7) / 8 * 8);
    say("exp_row");
    for (int64_t k = 0; k < n; k++) {
        double x = uniform(-745, 709);
        add_double(K->exp(x));
        add_double(K->log(K->exp(x)));
        add_double(K->log(uniform(0, 4)));
    }
    say("exp log");
}

static void run_case(const CaseC *c)
{
    snprintf(about, sizeof about, "L=%d T=%d spread=%g%s%s%s%s", c->labels, c->length, c->spread, c->forbid ? " forbid" : "",
             c->lists ? " lists" : "", c->values ? " values" : "", c->rich ? " rich" : "");
    LayoutC layout = make_layout(c->labels);
    weight_t *w = make_weights(&layout, c->spread);
    SentenceC sentence = make_sentence(&layout, c);
    LatticeC lat = make_lattice(&layout);
    double *x = doubles(layout.P, 0, 1);
    for (int32_t j = layout.L; j < layout.P; j++)
        x[j] = 0;
    K->load_tau(&layout, w, 0.75, &lat);
    K->exp_tau(&lat);
    add_edge(&lat.shared);
    ADD(lat.shared.ET, (int64_t)layout.L * layout.P);
    say("exp_tau");
    run_places(&layout, w, &sentence);
    if (c->forbid) {
        for (int32_t i = 0; i < layout.L; i++)
            for (int32_t j = 0; j < layout.L; j++)
                if (i != j && chance(0.3))
                    lat.shared.score[i * layout.P + j] = -__builtin_inf(), lat.forbidden = 1;
        K->exp_tau(&lat);
    }
    run_lists(&layout, w, x, &lat);
    if (c->lists)
        K->list_pairs(&lat.shared, NULL, (int64_t)layout.L * layout.P, pairs_of(&layout), index_of(&layout));
    make_steps(&layout, &sentence, &lat);
    K->score(&layout, w, 0.75, &sentence, &lat);
    add_rows(&lat, lat.score);
    for (int32_t k = 0; k < lat.n_own; k++)
        if (lat.own[k].score != NULL)
            ADD(lat.own[k].score, (int64_t)layout.L * layout.P);
        else
            ADD(lat.own[k].pair, lat.own[k].n);
    say("score");
    run_paths(&lat);
    run_sums(&lat);
    run_updates(&layout, &sentence, w, &lat);
}

int main(int argc, char **argv)
{
    static const int32_t labels[] = {1, 2, 7, 8, 9, 22, 24, 47, 51, 65, 96};
    K = crfkit_select(argc > 1 ? argv[1] : NULL);
    if (K == NULL) {
        printf("no such variant here\n");
        return 2;
    }
    state = 12;
    digest = 0xcbf29ce484222325u;
    for (size_t k = 0; k < sizeof labels / sizeof *labels; k++) {
        for (int kind = 0; kind < 12; kind++) {
            CaseC c = {.labels = labels[k], .length = kind == 3 ? 1 : LONGEST, .spread = kind % 4 == 2 ? 300 : kind % 4 == 1 ? 3 : 0.5,
                       .forbid = kind % 3 == 2, .lists = kind / 6, .values = kind % 5 == 0, .rich = kind % 2};
            run_case(&c);
        }
        snprintf(about, sizeof about, "L=%d", labels[k]);
        run_chains(labels[k]);
    }
    for (int64_t n = 1; n < 4000; n = 3 * n + 2) {
        snprintf(about, sizeof about, "n=%d", (int)n);
        run_vectors(n);
    }
    return 0;
}
