from libc.stdint cimport int64_t

from .rows cimport Rows
from .table cimport TextC


cdef struct PlaceC:                     # where messages say the fault is, counted from 1
    int64_t sentence, token


cpdef int fill_rows(Rows rows, sentences, bint labelled=*, int64_t before=*) except -1

# Append bytes, or a str that is not plain ASCII. Declared here so that the compiler does not inline it into the loop, which
# rarely needs it.
cdef int copy_characters(Rows rows, text, const PlaceC* place) except -1

# Find the characters of a str in plain ASCII, as nearly all are; False for anything else.
cdef bint plain_text(text, TextC* found) noexcept

cdef bytes label_of(label, const PlaceC* place, bint free)
