from crfkit.data.dataset cimport Dataset
from .tables cimport Features
from .workspace cimport Workspace
from .strings cimport StringTable


cdef class TableBuilder(Features):
    cdef readonly StringTable label_table
    cdef readonly Dataset dataset
    cdef Workspace workspace
    cdef bint crfsuite, finished


cdef int check_labels(TableBuilder builder) except -1
