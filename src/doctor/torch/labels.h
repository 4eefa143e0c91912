// Names of the tensors around each linear op, shared by forward and backward.
#pragma once

#include "doctor/torch/ops.h"

namespace snug {

constexpr TorchLinearLabels kAttentionInLabels{"attn.c_attn input, cast", "attn.c_attn output",
                                               "gradient of attn.c_attn input"};
constexpr TorchLinearLabels kAttentionOutLabels{"attn.c_proj input, cast", "attn.c_proj output",
                                                "gradient of attn.c_proj input"};
constexpr TorchLinearLabels kMlpInLabels{"mlp.c_fc input, cast", "mlp.c_fc output (GELU input)",
                                         "gradient of mlp.c_fc input"};
constexpr TorchLinearLabels kMlpOutLabels{"mlp.c_proj input, cast", "mlp.c_proj output",
                                          "gradient of mlp.c_proj input"};
constexpr TorchLinearLabels kHeadLabels{"lm_head input, cast", "logits",
                                        "gradient of lm_head input", TorchRole::kLoss};

}  // namespace snug
