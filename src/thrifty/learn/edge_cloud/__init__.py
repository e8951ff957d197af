"""Edge/cloud classification (Nan 2018, sec. 7.1): gated devices, and a cloud that adds up.

`EdgeCloudClassifier.fit` calls, in this order:

1. `devices.DeviceTable.of`: merge equal rows, standardize the table, and divide its columns among
   the devices.
2. Soft gates, in one of two ways. `direct.penalty_path` trains gates and contributions together
   for increasing penalties (OPT-Direct-Clf). `relaxation.relaxation_path` decides who should
   transmit by Frank-Wolfe and then imitates it (OPT-Relax-Clf).
3. `hard_gates.harden`: set the threshold that meets the share of transmissions, fit the
   contributions again, and choose among the candidates on validation rows (not in the thesis).
4. The devices that ever transmit become a `thrifty.model.EdgeCloud`.

`gated_sum` has the model that is trained, its losses and gradients; `lbfgs` has the optimizer.
"""

from __future__ import annotations

from thrifty.learn.edge_cloud.classifier import EdgeCloudClassifier

__all__ = ["EdgeCloudClassifier"]
