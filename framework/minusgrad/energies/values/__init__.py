"""Values of fields and of arguments of terms: read-only views, data of elements, parameters, drawn values."""
