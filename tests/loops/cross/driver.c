/* Runs every loop of the table on inputs made from a seed, and prints a hash of all that each of them leaves behind. Two
 * builds that print the same lines gave the same bits: another compiler, processor or instruction set.
 *
 *     driver [base|avx2|avx512]
 */
#include "problem.h"
#include "vectors.h"

/* One step forward and one backward. */
static void run_steps(const EdgeC *edge, const double *x, const double *pot, const char *loop)
{
    double *out = ROOM(double, edge->P), *out2 = ROOM(double, edge->P), *fresh = ROOM(double, edge->P), sum;
    add_double(K->chain_forward(edge->P, edge, x, pot, fresh, &sum, out));
    add_double(sum);
    ADD(out, edge->P);
    add_double(K->chain_backward(edge, pot, x, out, fresh, out2));
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
    EdgeC merged = {.L = y->L, .P = y->P, .pair = pairs_of(y), .room = index_of(y)};
    K->merge_list(y, w, 0.75, &all, 0, &other.shared, &merged, (PairC *[]){pairs_of(y), pairs_of(y)});
    K->exp_changed(&merged, &other.shared);
    add_edge(&merged);
    say("merge_list and exp_changed");
    ChangeC changed[3];
    for (int32_t k = 0; k < 3; k++) { /* the second pair twice */
        const PairC *pair = other.shared.pair + (k < 2 ? k : 1);
        changed[k] = (ChangeC){(uint16_t)pair->from, (uint16_t)pair->to, (int32_t)(pair - other.shared.pair), k < 1 ? 0.5 : -1.5, 0, 0};
    }
    EdgeC changes = {.L = y->L, .P = y->P, .n = 3, .plain = &other.shared, .changed = changed};
    for (int back = 0; back < 2; back++) {
        K->exchange_scores(&changes, back);
        add_edge(&other.shared);
    }
    say("exchange_scores");
}

static void run_paths(LatticeC *lat)
{
    uint16_t path[LONGEST];
    double tops[128];
    for (int32_t i = 0; i < lat->P; i++)
        tops[i] = i < lat->L ? crfkit_row_top(&lat->shared, i) : -__builtin_inf();
    for (int known = 1; known >= 0; known--) {
        lat->shared.row_top = known ? tops : NULL;
        add_double(K->viterbi(lat, path));
        ADD(path, lat->T);
        add_rows(lat, lat->alpha);
        say(known ? "viterbi(row_top)" : "viterbi");
    }
    for (int32_t t = 1; t < lat->T; t++)
        for (int32_t j = 0; j < lat->L; j++)
            ADD_ONE((int32_t){K->came_from(lat, t, j)});
    say("came_from");
    for (int32_t t = 1; t < lat->T && lat->shared.pair == NULL; t++)
        for (int32_t j = 0; j < lat->L; j++) {
            int64_t stride;
            const double *score = K->column_of(lat->edge[t], j, lat->tops + lat->P, &stride);
            for (int32_t i = 0; i < lat->L; i++)
                add_double(score[i * stride]);
        }
    say("column_of");
    if (lat->shared.pair == NULL) {
        uint16_t second[LONGEST] = {0}; /* there may be none */
        add_double(K->second_path(lat, path, second));
        ADD(second, lat->T);
        say("second_path");
    }
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
    VisitsC ones = visits;
    ones.row_val = ones.cell_val = NULL;
    double *of_ones = ROOM(double, y->n_cells);
    K->scatter_visits(y, &ones, s, lat, of_ones, of_sums);
    ADD(of_ones, y->n_cells);
    say("scatter_visits(ones)");
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

    int32_t n = 0;
    int64_t *cell = ROOM(int64_t, matrix);
    for (int32_t k = 0; k < matrix; k++)
        if (y->tau_mask[k])
            cell[n++] = k;
    DualC dual = {.node = floats((int64_t)s->T * y->P, 0, 0.01), .pair = floats(n, 0, 0.01),
                  .rich = floats(RICH * (int64_t)s->T * y->L * y->L, 0, 0.01), .pair_cell = cell, .overlap = 0.5,
                  .sum = ROOM(double, y->P)};
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
    double *fresh = ROOM(double, P), sum;
    for (int32_t same = 0; same < 2; same++)
        add_double(K->chain_forward(P, NULL, NULL, y, fresh, &sum, out2));
    add_double(sum);
    out2[L - 1] *= 1 + 1e-12; /* a change */
    add_double(K->chain_forward(P, NULL, NULL, y, fresh, &sum, out2));
    out2[L - 1] *= 1 + 1e-15; /* rounding */
    add_double(K->chain_forward(P, NULL, NULL, y, fresh, &sum, out2));
    SAY_ROWS("chain_forward");
    for (int32_t same = 0; same < 2; same++)
        add_double(K->chain_backward(&edge, x, y, out, fresh, out2));
    SAY_ROWS("chain_backward");
    const int32_t pairs = L > 1 ? 11 : 1;
    uint16_t from[11], to[11];
    for (int32_t k = 0; k < pairs; k++)
        from[k] = (uint16_t)(k * L / pairs), to[k] = (uint16_t)(k * k % L);
    K->pick_potentials(&edge, pairs, from, to, M);
    SAY_ROWS("pick_potentials");
    K->chain_features(pairs, from, to, E, x, y, 0.5, 0.25, M, M2);
    K->chain_features(pairs, from, to, E, y, x, 0.5, 0.25, M, NULL);
    SAY_ROWS("chain_features");
    K->chain_nodes(P, x, y, 0.5, 0.25, out, out2);
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
    add_double(K->dot_row(P, x, y));
    say("dot_row");
    int32_t n = K->at_least(L, x, 0.5, which);
    ADD(which, n);
    say("at_least");
}

static void run_case(const CaseC *c)
{
    snprintf(about, sizeof about, "L=%d T=%d spread=%g%s%s%s%s", c->labels, c->length, c->spread, c->forbid ? " forbid" : "",
             c->lists ? " lists" : "", c->values ? " values" : "", c->rich ? " rich" : "");
    LayoutC layout = make_layout(c->labels);
    weight_t *w = make_weights(&layout, c->spread);
    SentenceC sentence = make_sentence(&layout, c);
    LatticeC lat = make_lattice(&layout);
    if (!c->values)
        lat.cold_quanta = NULL;
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
        else if (lat.own[k].plain != NULL)
            ADD(lat.own[k].changed, lat.own[k].n);
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
