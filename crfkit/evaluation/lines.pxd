from libc.stdint cimport int64_t

# What a line is.
cdef enum:
    NO_TOKEN
    TOKEN
    BLANK

# Where the cells of a line stand that matter here. Ends are exclusive.
cdef struct CellC:
    const char* start
    const char* end


cdef struct CutC:
    int64_t columns
    CellC first, gold, before, found    # before: the last but one, found: the last
    const char* stop                    # of a line with one label: its end, without what does not count


cdef class Lines:
    cdef readonly object path           # of the input, for error messages
    cdef int separator                  # a byte, BLANKS, or TABS_OR_BLANKS
    cdef int form                       # of the lines, as text/table.pxd numbers them
    cdef int64_t gold_column            # -1: the last but one
    cdef int64_t least                  # columns that a row has
    cdef int64_t n_cols, first_row      # of all rows, and the line where that was seen
    cdef bint words, comments
    cdef bint alone                     # rows have one label, in gold_column; or in the last,
    cdef bint added                     # if there are more than `least`
    cdef bint hashes                    # a sentence began with '#',
    cdef bint begun                     # the last one did
    cdef bint[2] marked                 # as in text/rows.pxd
    cdef char mark                      # before the probabilities that may follow labels, 0 without: a header told of /0.97 (CRF++),
                                        # or a row had :0.970000 (CRFsuite)
    cdef bint skipping                  # the sentence is a further analysis of the last one

    cdef int read(self, const char* at, const char* stop, bint between, int64_t line, CutC* cut) except -1 nogil
