#include "backend/cpu/gemm.h"

#include <fmt/format.h>

#include <omp.h>

#include <dnnl.hpp>
#include <string_view>
#include <vector>

#include "backend/cpu/threads.h"
#include "base/bytes.h"
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

[[noreturn]] void refuse(const GemmShape& s, const dnnl::error& error) {
  throw DeviceError(fmt::format("oneDNN has no product of ({}, {}) and ({}, {}): {}", s.m, s.k, s.k,
                                s.n, error.what()));
}

// oneDNN shapes a product for the number of threads that OpenMP would use now.
int threads_for(const GemmShape& shape) { return shape.one_thread ? 1 : omp_get_max_threads(); }

// What one call at a time needs: handles that are pointed at the operands of each call.
struct Slot {
  Slot(const dnnl::matmul::primitive_desc& description, const GemmShape& shape)
      : stream(cpu_engine()),
        a(description.src_desc(), cpu_engine(), nullptr),
        b(description.weights_desc(), cpu_engine(), nullptr),
        c(description.dst_desc(), cpu_engine(), nullptr),
        scratch(description.scratchpad_desc(), cpu_engine(), nullptr) {
    if (shape.bias) bias = memory(matrix(1, shape.n, false), cpu_engine(), nullptr);
  }

  dnnl::stream stream;
  memory a, b, c, bias, scratch;
};

}  // namespace

struct Gemm::State {
  explicit State(const GemmShape& s)
      : shape(s),
        description(describe(s)),
        scratch_bytes(
            align_up(static_cast<std::int64_t>(description.scratchpad_desc().get_size()), 64)) {}

  GemmShape shape;
  dnnl::matmul::primitive_desc description;
  std::int64_t scratch_bytes;
  dnnl::matmul primitive;
  std::vector<Slot> slots;
};

Gemm::Gemm(const GemmShape& shape) {
  const ThreadCountScope scope(threads_for(shape));
  try {
    state_ = std::make_unique<State>(shape);
  } catch (const dnnl::error& error) {
    refuse(shape, error);
  }
}

Gemm::~Gemm() = default;

std::int64_t Gemm::scratch_bytes() const noexcept { return state_->scratch_bytes; }

const char* Gemm::implementation() const noexcept { return state_->description.impl_info_str(); }

const GemmShape& Gemm::shape() const noexcept { return state_->shape; }

void Gemm::prepare(int slots) {
  const ThreadCountScope scope(threads_for(state_->shape));
  try {
    if (!state_->primitive) state_->primitive = dnnl::matmul(state_->description);
    while (static_cast<int>(state_->slots.size()) < slots) {
      state_->slots.emplace_back(state_->description, state_->shape);
    }
  } catch (const dnnl::error& error) {
    refuse(state_->shape, error);
  }
}

bool Gemm::run(const Operands& operands, int slot) const noexcept {
  // The C interface: the C++ one builds a map of arguments on every call.
  const Slot& s = state_->slots[static_cast<std::size_t>(slot)];
  dnnl_memory_set_data_handle(s.a.get(), const_cast<float*>(operands.a));
  dnnl_memory_set_data_handle(s.b.get(), const_cast<float*>(operands.b));
  dnnl_memory_set_data_handle(s.c.get(), operands.c);
  dnnl_memory_set_data_handle(s.scratch.get(), operands.scratch);
  dnnl_exec_arg_t arguments[5] = {{DNNL_ARG_SRC, s.a.get()},
                                  {DNNL_ARG_WEIGHTS, s.b.get()},
                                  {DNNL_ARG_DST, s.c.get()},
                                  {DNNL_ARG_SCRATCHPAD, s.scratch.get()},
                                  {}};
  int count = 4;
  if (state_->shape.bias) {
    dnnl_memory_set_data_handle(s.bias.get(), const_cast<float*>(operands.bias));
    arguments[count++] = {DNNL_ARG_BIAS, s.bias.get()};
  }
  return dnnl_primitive_execute(state_->primitive.get(), s.stream.get(), count, arguments) ==
         dnnl_success;
}

bool Gemm::packs_in_its_own_memory() const noexcept {
  return std::string_view(implementation()).substr(0, 3) != "brg";
}

Gemm& GemmCache::get(const GemmShape& shape) {
  std::unique_ptr<Gemm>& gemm = gemms_[shape];
  if (gemm) return *gemm;
  const ThreadCountScope scope(threads_);
  gemm = std::make_unique<Gemm>(shape);
  return *gemm;
}

}  // namespace snug::cpu
