"""Values of fields and of arguments of terms: read-only arrays, data of elements, parameters, drawn ones;
labels of atoms."""
