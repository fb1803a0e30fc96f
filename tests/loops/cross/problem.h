/* Problems made from a seed: a layout of random features, weights, a sentence, scratch; and a hash of what becomes
 * of them. */
#ifndef PROBLEM_H
#define PROBLEM_H

#include "kernels.h"

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
            y.n_pairs += mask[i * y.P + j] = chance(L > 20 ? 0.1 : 0.7);
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
        .tops = ROOM(double, 2 * y->P), .quantum = 0x1p-33,
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

static int32_t *index_of(const LayoutC *y) { return ROOM(int32_t, 2 * y->P + 2 + (int64_t)y->L * y->P + y->b_ptr[RICH]); }

/* Which steps the sentence has: where the position has rich attributes, lists if the shared one is a list too, or else by turns a matrix and changes. */
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
            edge->pair = pairs_of(y), edge->room = index_of(y);
        else if (lat->n_own % 2)
            edge->plain = &lat->shared, edge->changed = ROOM(ChangeC, (int64_t)y->L * y->P + y->b_ptr[RICH]);
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

#endif
