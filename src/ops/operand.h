// Operands of an op: members of its definition, typed by what the op does to them. A definition
// lists them once, by name, in operands(); liveness, traffic, reports and tests walk that list.
#pragma once

#include <string_view>
#include <tuple>
#include <vector>

#include "base/tensor.h"

namespace snug::ops {

enum class Access : std::uint8_t {
  kRead,
  kWrite,   // every byte that is used later is written before it is read
  kUpdate,  // read and written: added to, or changed in place
};

// One tensor. An optional one may be kNoTensor.
template <Access access, bool optional = false>
struct Operand {
  static constexpr Access kAccess = access;
  static constexpr bool kIsOptional = optional;

  TensorId id = kNoTensor;

  constexpr Operand() = default;
  constexpr Operand(TensorId tensor) : id(tensor) {}
  constexpr operator TensorId() const { return id; }
  constexpr bool is_present() const { return id != kNoTensor; }
};

using Read = Operand<Access::kRead>;
using Write = Operand<Access::kWrite>;
using Update = Operand<Access::kUpdate>;
template <class T>
using Optional = Operand<T::kAccess, true>;

// Any number of tensors that are treated alike.
template <Access access>
struct OperandList {
  static constexpr Access kAccess = access;

  std::vector<TensorId> ids;

  OperandList() = default;
  OperandList(std::vector<TensorId> tensors) : ids(std::move(tensors)) {}
};

using ReadList = OperandList<Access::kRead>;
using WriteList = OperandList<Access::kWrite>;

// A row of operands().
template <class Member>
struct NamedOperand {
  std::string_view name;
  Member member;  // pointer to the definition's Operand or OperandList
};
template <class Member>
NamedOperand(std::string_view, Member) -> NamedOperand<Member>;

// visit(name, id, access) for every tensor of `definition`; absent optional ones are left out.
template <class Definition, class Visit>
void for_each_operand(const Definition& definition, Visit&& visit) {
  const auto visit_one = [&](const auto& row) {
    const auto& operand = definition.*row.member;
    using Type = std::remove_cvref_t<decltype(operand)>;
    if constexpr (requires { operand.ids; }) {
      for (const TensorId id : operand.ids) visit(row.name, id, Type::kAccess);
    } else {
      if (operand.is_present()) visit(row.name, operand.id, Type::kAccess);
    }
  };
  std::apply([&](const auto&... rows) { (visit_one(rows), ...); }, Definition::operands());
}

// The name of the first operand that must be there and is not; empty when there is none.
template <class Definition>
std::string_view missing_operand(const Definition& definition) {
  std::string_view missing;
  const auto look_at = [&](const auto& row) {
    const auto& operand = definition.*row.member;
    if constexpr (requires { operand.id; }) {
      if (!operand.kIsOptional && !operand.is_present() && missing.empty()) missing = row.name;
    }
  };
  std::apply([&](const auto&... rows) { (look_at(rows), ...); }, Definition::operands());
  return missing;
}

}  // namespace snug::ops
