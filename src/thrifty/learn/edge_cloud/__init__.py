"""Edge/cloud prediction (Nan 2018, sec. 7.1): gated devices, and a cloud that adds up.

`EdgeCloudClassifier` and `EdgeCloudRegressor` differ in the loss alone. `fit`, in `base.py`,
calls, in this order:

1. `devices.DeviceTable.of`: merge equal rows, standardize the table, and divide its columns among
   the devices.
2. Soft gates, in one of three ways. `direct.penalty_path` trains gates and contributions together
   for increasing penalties (OPT-Direct-Clf), from several starts. `relaxation.relaxation_path`
   decides who should transmit by Frank-Wolfe and then imitates it (OPT-Relax-Reg and
   OPT-Relax-Clf). `projection.projection_path` is projected gradient descent (eq. 7.3-7.5).
3. `hard_gates.harden`: set the threshold that meets the share of transmissions, fit the
   contributions again, and choose among the candidates on validation rows, for this share and all
   smaller ones; `hard_gates.refit` fits the chosen one on all rows (not in the thesis).
4. The devices that ever transmit become a `thrifty.model.EdgeCloud`.

`gated_sum` has the model that is trained and its gradients, `losses` what they are gradients of;
`lbfgs` has the optimizer.
"""

from __future__ import annotations

from thrifty.learn.edge_cloud.classifier import EdgeCloudClassifier
from thrifty.learn.edge_cloud.regressor import EdgeCloudRegressor

__all__ = ["EdgeCloudClassifier", "EdgeCloudRegressor"]
