// Units that multiply bfloat16: whether this process may use them.
#pragma once

namespace snug::cpu {

// Intel's matrix unit. The processor has it, the kernel has allowed it to this process (asked for
// once), and the variable that limits oneDNN's instruction set (ONEDNN_MAX_CPU_ISA,
// DNNL_MAX_CPU_ISA) does not exclude it.
bool amx_usable();

// AVX-512's products of bfloat16 pairs (vdpbf16ps), by the same conditions.
bool avx512_bf16_usable();

// Whether these pairs are multiplied faster than the same numbers widened to float. They are not on
// Intel's processors since Sapphire Rapids, which do half as many a cycle as AVX-512 does floats.
bool avx512_bf16_pays();

}  // namespace snug::cpu
