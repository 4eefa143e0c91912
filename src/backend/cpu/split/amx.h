// Intel's matrix unit (AMX): whether this process may use it for bfloat16.
#pragma once

namespace snug::cpu {

// The processor has it, the kernel has allowed it to this process (asked for once), and the
// variable that limits oneDNN's instruction set (ONEDNN_MAX_CPU_ISA, DNNL_MAX_CPU_ISA) does not
// exclude it.
bool amx_usable();

}  // namespace snug::cpu
