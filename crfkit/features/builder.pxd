"""The index of a corpus that is being read; see builder.pyx."""

from crfkit.data.dataset cimport Dataset
from .tables cimport Features
from .workspace cimport Workspace
from .strings cimport StringTable

cdef enum:
    MOST_LABELS = 0xFFFF


cdef class TableBuilder(Features):
    cdef readonly StringTable label_table
    cdef readonly Dataset dataset
    cdef Workspace workspace
    cdef bint crfsuite, finished

