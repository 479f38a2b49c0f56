"""Values of arguments of terms: data of elements, parameters, and values drawn at random."""
