/* The loops over vectors: sums, updates and exponentials of many numbers; part of driver.c. */
#ifndef VECTORS_H
#define VECTORS_H

#include "problem.h"

static void run_vectors(int64_t n)
{
    const float *rows[3] = {floats(n, -1, 1), floats(n, -1, 1), floats(n, -1, 1)};
    const double c[3] = {0.3, -0.7, 1.1};
    const double *g = doubles(n, -1, 1), *h = doubles(n, -1, 1);
    double out[6], *wide = doubles((n + 7) / 8 * 8, -600, 600);
    float *sum = ROOM(float, n);
    add_double(K->dot(n, g, rows[0]));
    add_double(K->dot_doubles(n, g, h));
    add_double(K->dot_floats(n, rows[1], rows[2]));
    say("dot");
    K->dots(n / 3, n, 3, rows, rows[1], g, out);
    ADD(out, 6);
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
    K->pseudo_gradient(n, 0.4, rows[0], g, x);
    ADD(x, n);
    say("pseudo_gradient");
    memcpy(sum, rows[1], n * sizeof(float));
    K->keep_descent(n, x, sum);
    ADD(sum, n);
    say("keep_descent");
    float *moved = ROOM(float, n);
    add_double(K->project_step(n, rows[0], 0.8, sum, x, moved));
    ADD(moved, n);
    say("project_step");
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
    int32_t *id = ROOM(int32_t, n);
    for (int64_t size = n; size > 0; size /= 2) { /* the longest, and at most 256 of them, are sorted differently */
        for (int64_t k = 0; k < size; k++)
            id[k] = (int32_t)uniform(0, (double)size); /* some are equal */
        K->sort_ids(size, id, size % 3 ? moved : NULL);
        ADD(id, size);
        ADD(moved, size);
    }
    say("sort_ids");
}

#endif
