/* The sequences of a data set, one at a time. */
#ifndef CRFKIT_SEQUENCES_H
#define CRFKIT_SEQUENCES_H

#include "crf.h"

/* The weight of sequence s. */
static inline double crfkit_weight_of(const DatasetC *data, int64_t s) { return data->seq_weight != NULL ? data->seq_weight[s] : 1; }

/* A view of sequence s. */
static inline SentenceC crfkit_dataset_sentence(const DatasetC *data, int64_t s)
{
    int64_t first = data->seq_ptr[s];
    SentenceC sent = {
        .T = (int32_t)(data->seq_ptr[s + 1] - first),
        .u_ptr = data->u_ptr + first,
        .u_id = data->u_id,
        .u_val = data->u_val,
        .b_ptr = data->b_ptr != NULL ? data->b_ptr + first : NULL,
        .b_id = data->b_id,
        .label = data->label != NULL ? data->label + first : NULL,
        .weight = crfkit_weight_of(data, s),
    };
    return sent;
}

#endif
