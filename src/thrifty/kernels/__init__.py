"""Free functions on arrays: compiled kernels without classes, names or validation."""
