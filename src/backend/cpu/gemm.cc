#include "backend/cpu/gemm.h"

#include <fmt/format.h>

#include <dnnl.hpp>

#include "base/error.h"

namespace snug::cpu {
namespace {

using dnnl::memory;

memory::desc matrix(std::int64_t rows, std::int64_t columns, bool transposed) {
  const memory::dims strides = transposed ? memory::dims{1, rows} : memory::dims{columns, 1};
  return {{rows, columns}, memory::data_type::f32, strides};
}

dnnl::engine& cpu_engine() {
  static dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

dnnl::matmul::primitive_desc describe(const GemmShape& s) {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (s.accumulate) {
    dnnl::post_ops post_ops;
    post_ops.append_sum(1.0f);
    attributes.set_post_ops(post_ops);
  }
  const memory::desc a = matrix(s.m, s.k, s.transpose_a), b = matrix(s.k, s.n, s.transpose_b),
                     c = matrix(s.m, s.n, false), bias = matrix(1, s.n, false);
  const dnnl::matmul::desc matmul =
      s.bias ? dnnl::matmul::desc(a, b, bias, c) : dnnl::matmul::desc(a, b, c);
  return {matmul, attributes, cpu_engine()};
}

}  // namespace

struct Gemm::State {
  explicit State(const GemmShape& s)
      : shape(s),
        description(describe(s)),
        stream(cpu_engine()),
        a(description.src_desc(), cpu_engine(), nullptr),
        b(description.weights_desc(), cpu_engine(), nullptr),
        c(description.dst_desc(), cpu_engine(), nullptr),
        scratch(description.scratchpad_desc(), cpu_engine(), nullptr) {
    if (s.bias) bias = memory(matrix(1, s.n, false), cpu_engine(), nullptr);
  }

  GemmShape shape;
  dnnl::matmul::primitive_desc description;
  dnnl::stream stream;
  dnnl::matmul primitive;
  memory a, b, c, bias, scratch;  // handles only: pointed at the operands of each call
};

Gemm::Gemm(const GemmShape& shape) {
  try {
    state_ = std::make_unique<State>(shape);
  } catch (const dnnl::error& error) {
    throw DeviceError(fmt::format("oneDNN has no product of ({}, {}) and ({}, {}): {}", shape.m,
                                  shape.k, shape.k, shape.n, error.what()));
  }
}

Gemm::~Gemm() = default;

std::int64_t Gemm::scratch_bytes() const noexcept {
  return static_cast<std::int64_t>(state_->description.scratchpad_desc().get_size());
}

const char* Gemm::implementation() const noexcept { return state_->description.impl_info_str(); }

void Gemm::prepare() {
  if (!state_->primitive) state_->primitive = dnnl::matmul(state_->description);
}

void Gemm::run(const float* a, const float* b, const float* bias, float* c, void* scratch) const {
  // The C interface: the C++ one builds a map of arguments on every call.
  const State& s = *state_;
  dnnl_memory_set_data_handle(s.a.get(), const_cast<float*>(a));
  dnnl_memory_set_data_handle(s.b.get(), const_cast<float*>(b));
  dnnl_memory_set_data_handle(s.c.get(), c);
  dnnl_memory_set_data_handle(s.scratch.get(), scratch);
  dnnl_exec_arg_t arguments[5] = {{DNNL_ARG_SRC, s.a.get()},
                                  {DNNL_ARG_WEIGHTS, s.b.get()},
                                  {DNNL_ARG_DST, s.c.get()},
                                  {DNNL_ARG_SCRATCHPAD, s.scratch.get()},
                                  {}};
  int count = 4;
  if (s.shape.bias) {
    dnnl_memory_set_data_handle(s.bias.get(), const_cast<float*>(bias));
    arguments[count++] = {DNNL_ARG_BIAS, s.bias.get()};
  }
  const dnnl_status_t status =
      dnnl_primitive_execute(s.primitive.get(), s.stream.get(), count, arguments);
  if (status != dnnl_success) {
    throw DeviceError(fmt::format("oneDNN failed with status {} in a product of ({}, {}, {})",
                                  static_cast<int>(status), s.shape.m, s.shape.n, s.shape.k));
  }
}

Gemm& GemmCache::get(const GemmShape& shape) {
  std::unique_ptr<Gemm>& gemm = gemms_[shape];
  if (!gemm) gemm = std::make_unique<Gemm>(shape);
  return *gemm;
}

}  // namespace snug::cpu
