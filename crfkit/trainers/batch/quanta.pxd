from crfkit.data.dataset cimport Dataset
from crfkit.memory cimport Arena
from crfkit.weights.layout cimport Layout

cdef double find_quanta(Dataset data, Layout layout, object sums_of_all, double* quantum) except -1
cdef double* spread_quanta(Layout layout, const double* quanta, Arena owner) except NULL
