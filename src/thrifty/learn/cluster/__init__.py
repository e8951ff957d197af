"""Training on the workers of a Dask cluster.

- `training_set.py`: a Dask DataFrame as a `TrainingSet` whose rows stay on the workers, as bins.
- `file_rows.py`: the same from a table in files, which workers read.
- `partitions.py`: the files that its partitions are read from, for messages.
- `parts.py`: objects that hold these rows, one on each worker; they are called all at once, and
  made again if their worker is lost.

Dask is imported where it is used: it is an extra of Thrifty.
"""

from __future__ import annotations

from thrifty.learn.cluster.parts import Parts
from thrifty.learn.cluster.training_set import ClusterTrainingSet, is_dask

__all__ = ["ClusterTrainingSet", "Parts", "is_dask"]
