// Integer and logical instructions, conversions, comparisons, branches.
#include <bit>
#include <cmath>

#include "thread.h"

namespace emulator::ptx {
namespace {

struct Operands {
  Thread& thread;
  const Step& step;
  std::size_t shift = 0;  // operands before the sources, beyond the first
  std::uint64_t raw(std::size_t i) const {
    return truncated(thread.get(step.in->operands[i + shift], step.type), step.type);
  }
  std::int64_t s(std::size_t i) const { return as_signed(raw(i), step.type); }
  void result(std::uint64_t value) const {
    thread.set(step.in->operands[0], truncated(value, step.type));
  }
};

template <typename Function>
void binary(Thread& t, const Step& step, Function function) {
  const Operands o{t, step};
  o.result(function(o.raw(1), o.raw(2)));
}

__extension__ typedef __int128 Wide;
__extension__ typedef unsigned __int128 UnsignedWide;

Wide product(const Operands& o) {
  return o.step.type.kind == 's'
             ? static_cast<Wide>(o.s(1)) * o.s(2)
             : static_cast<Wide>(static_cast<UnsignedWide>(o.raw(1)) * o.raw(2));
}

std::uint64_t part_of_product(const Operands& o) {
  const Wide all = product(o);
  if (o.step.in->has("hi")) return static_cast<std::uint64_t>(all >> o.step.type.bits);
  return static_cast<std::uint64_t>(all);
}

void set_wide(const Operands& o, std::uint64_t value) {
  if (!o.step.in->has("wide")) return o.result(value);
  const Type twice{o.step.type.kind, o.step.type.bits * 2, false};
  o.thread.set(o.step.in->operands[0], truncated(value, twice));
}

void mul(Thread& t, const Step& step) {
  const Operands o{t, step};
  set_wide(o, part_of_product(o));
}

void mad(Thread& t, const Step& step) {
  const Operands o{t, step};
  const unsigned bits = step.in->has("wide") ? step.type.bits * 2 : step.type.bits;
  const std::uint64_t addend = t.get(step.in->operands[3], {step.type.kind, bits, false});
  set_wide(o, part_of_product(o) + addend);
}

void divide(Thread& t, const Step& step) {
  const Operands o{t, step};
  const bool remainder = step.in->opcode == "rem";
  if (o.raw(2) == 0) return o.result(~std::uint64_t{0});
  if (step.type.kind == 's') {
    return o.result(static_cast<std::uint64_t>(remainder ? o.s(1) % o.s(2) : o.s(1) / o.s(2)));
  }
  o.result(remainder ? o.raw(1) % o.raw(2) : o.raw(1) / o.raw(2));
}

void shift(Thread& t, const Step& step) {
  const Operands o{t, step};
  const std::uint64_t amount =
      truncated(t.get(step.in->operands[2], {'u', 32, false}), {'u', 32, false});
  const bool gone = amount >= step.type.bits;
  if (step.in->opcode == "shl") return o.result(gone ? 0 : o.raw(1) << amount);
  if (step.type.kind == 's') {
    return o.result(static_cast<std::uint64_t>(o.s(1) >> (gone ? step.type.bits - 1 : amount)));
  }
  o.result(gone ? 0 : o.raw(1) >> amount);
}

void funnel(Thread& t, const Step& step) {
  const Operands o{t, step};
  const std::uint64_t both = o.raw(2) << 32 | o.raw(1);
  const std::uint64_t wanted =
      truncated(t.get(step.in->operands[3], {'u', 32, false}), {'u', 32, false});
  const std::uint64_t amount =
      step.in->has("wrap") ? wanted & 31 : std::min<std::uint64_t>(wanted, 32);
  o.result(step.in->has("l") ? (amount == 32 ? o.raw(1) : both << amount >> 32) : both >> amount);
}

void min_max(Thread& t, const Step& step) {
  const Operands o{t, step};
  const bool first_less = step.type.kind == 's' ? o.s(1) < o.s(2) : o.raw(1) < o.raw(2);
  o.result(first_less == (step.in->opcode == "min") ? o.raw(1) : o.raw(2));
}

void logic3(Thread& t, const Step& step) {
  const Operands o{t, step};
  const std::uint64_t table = step.in->operands[4].value;
  std::uint64_t value = 0;
  for (unsigned bit = 0; bit < 32; ++bit) {
    const unsigned row = static_cast<unsigned>((o.raw(1) >> bit & 1) << 2 |
                                               (o.raw(2) >> bit & 1) << 1 | (o.raw(3) >> bit & 1));
    value |= (table >> row & 1) << bit;
  }
  o.result(value);
}

void bit_field(Thread& t, const Step& step) {
  const Operands o{t, step};
  const Type word{'u', 32, false};
  if (step.in->opcode == "bfe") {
    const std::uint64_t at = t.get(step.in->operands[2], word) & 255,
                        count = t.get(step.in->operands[3], word) & 255;
    const std::uint64_t field =
        at >= 64 ? 0 : truncated(o.raw(1) >> at, {'u', static_cast<unsigned>(count), false});
    const bool extend = step.type.kind == 's' && count > 0;
    return o.result(extend ? static_cast<std::uint64_t>(
                                 as_signed(field, {'s', static_cast<unsigned>(count), false}))
                           : field);
  }
  const std::uint64_t at = t.get(step.in->operands[3], word) & 255,
                      count = t.get(step.in->operands[4], word) & 255;
  const std::uint64_t mask =
      truncated(~std::uint64_t{0}, {'u', static_cast<unsigned>(count), false}) << at;
  o.result((o.raw(2) & ~mask) | ((o.raw(1) << at) & mask));
}

void permute(Thread& t, const Step& step) {
  const Operands o{t, step};
  const std::uint64_t both = o.raw(2) << 32 | o.raw(1), selector = o.raw(3);
  std::uint64_t value = 0;
  for (unsigned i = 0; i < 4; ++i) {
    const std::uint64_t pick = selector >> 4 * i & 15;
    std::uint64_t byte = both >> (pick & 7) * 8 & 255;
    if (pick & 8) byte = byte & 128 ? 255 : 0;
    value |= byte << 8 * i;
  }
  o.result(value);
}

bool compare(const std::string& how, const Operands& o, const Step& step) {
  const Type type = step.type;
  if (type.kind == 'f' || type.kind == 'h' || type.kind == 't') {
    const double a = as_float(o.raw(1), type), b = as_float(o.raw(2), type);
    const bool unordered = std::isnan(a) || std::isnan(b);
    if (how == "num") return !unordered;
    if (how == "nan") return unordered;
    const bool or_unordered = how.size() == 3;  // "ltu"
    if (unordered) return or_unordered;
    const std::string plain = how.substr(0, 2);
    return plain == "lt"   ? a < b
           : plain == "le" ? a <= b
           : plain == "gt" ? a > b
           : plain == "ge" ? a >= b
           : plain == "eq" ? a == b
                           : a != b;
  }
  const auto order = [&](auto a, auto b) {
    return how == "lt" || how == "lo"   ? a < b
           : how == "le" || how == "ls" ? a <= b
           : how == "gt" || how == "hi" ? a > b
           : how == "ge" || how == "hs" ? a >= b
           : how == "eq"                ? a == b
                                        : a != b;
  };
  return type.kind == 's' ? order(o.s(1), o.s(2)) : order(o.raw(1), o.raw(2));
}

// setp.lt[.and].type p[|q], a, b [, c]
void set_predicate(Thread& t, const Step& step) {
  const Instruction& in = *step.in;
  const bool combines = in.has("and") || in.has("or") || in.has("xor");
  const std::size_t targets = in.operands.size() - (combines ? 3 : 2);
  bool value = compare(in.words[0], {t, step, targets - 1}, step);
  if (combines) {
    const bool other = t.get(in.operands.back(), {'p', 1, false}) & 1;
    value = in.has("and") ? value && other : in.has("or") ? value || other : value != other;
  }
  t.set(in.operands[0], value);
  if (targets > 1) t.set(in.operands[1], !value);
}

void select(Thread& t, const Step& step) {
  const bool first = t.get(step.in->operands[3], {'p', 1, false}) & 1;
  t.set(step.in->operands[0],
        truncated(t.get(step.in->operands[first ? 1 : 2], step.type), step.type));
}

double rounded_to_integer(double value, const Instruction& in) {
  if (in.has("rzi")) return std::trunc(value);
  if (in.has("rmi")) return std::floor(value);
  if (in.has("rpi")) return std::ceil(value);
  return std::nearbyint(value);
}

std::uint64_t float_to_integer(double value, Type type, const Instruction& in) {
  if (std::isnan(value)) return 0;
  const double whole = rounded_to_integer(value, in);
  const double low = type.kind == 's' ? -std::ldexp(1.0, static_cast<int>(type.bits) - 1) : 0;
  const double high = std::ldexp(1.0, static_cast<int>(type.bits) - (type.kind == 's' ? 1 : 0));
  if (whole < low)
    return static_cast<std::uint64_t>(type.kind == 's' ? static_cast<std::int64_t>(low) : 0);
  if (whole >= high)
    return type.kind == 's' ? (std::uint64_t{1} << (type.bits - 1)) - 1
                            : truncated(~std::uint64_t{0}, type);
  return type.kind == 's' ? static_cast<std::uint64_t>(static_cast<std::int64_t>(whole))
                          : static_cast<std::uint64_t>(whole);
}

bool is_float(Type type) { return type.kind == 'f' || type.kind == 'h' || type.kind == 't'; }

// cvt.to.from d, a: "from" is the last word here
void convert(Thread& t, const Step& step) {
  const Type to = step.from, from = step.type;
  const Instruction& in = *step.in;
  if (to.pair) {  // cvt.rn.bf16x2.f32 d, high, low
    const Type half{to.kind, 16, false};
    const std::uint64_t high = from_float(as_float(t.get(in.operands[1], from), from), half);
    const std::uint64_t low = from_float(as_float(t.get(in.operands[2], from), from), half);
    return t.set(in.operands[0], high << 16 | low);
  }
  const std::uint64_t raw = truncated(t.get(in.operands[1], from), from);
  std::uint64_t value = raw;
  if (is_float(from) && is_float(to)) {
    double number = as_float(raw, from);
    const bool whole = in.has("rzi") || in.has("rni") || in.has("rmi") || in.has("rpi");
    if (whole) number = rounded_to_integer(number, in);
    if (in.has("sat")) number = std::isnan(number) ? 0 : std::fmin(1, std::fmax(0, number));
    value = from_float(number, to);
  } else if (is_float(from)) {
    value = float_to_integer(as_float(raw, from), to, in);
  } else if (is_float(to)) {
    // One rounding: an integer of 64 bits goes to float directly.
    const bool single = to.kind != 'f' || to.bits == 32;
    if (from.kind == 's') {
      const std::int64_t x = as_signed(raw, from);
      value = from_float(single ? static_cast<float>(x) : static_cast<double>(x), to);
    } else {
      value = from_float(single ? static_cast<float>(raw) : static_cast<double>(raw), to);
    }
  } else if (from.kind == 's') {
    value = static_cast<std::uint64_t>(as_signed(raw, from));
  }
  t.set(in.operands[0], truncated(value, to));
}

void convert_address(Thread& t, const Step& step) {
  const std::uint64_t value = t.get(step.in->operands[1], step.type);
  const auto base = reinterpret_cast<std::uint64_t>(t.shared_base());
  if (!step.in->has("shared")) return t.set(step.in->operands[0], value);
  t.set(step.in->operands[0], step.in->has("to") ? value - base : value + base);
}

// Packs and unpacks vectors, else copies.
void move(Thread& t, const Step& step) {
  const Operand &to = step.in->operands[0], &from = step.in->operands[1];
  if (from.kind == Operand::Kind::kVector) {
    const unsigned width = step.type.bits / static_cast<unsigned>(from.parts.size());
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < from.parts.size(); ++i) {
      value |= truncated(t.get(from.parts[i], {'b', width, false}), {'b', width, false})
               << width * i;
    }
    return t.set(to, value);
  }
  const std::uint64_t value = t.get(from, step.type);
  if (to.kind != Operand::Kind::kVector) return t.set(to, truncated(value, step.type));
  const unsigned width = step.type.bits / static_cast<unsigned>(to.parts.size());
  for (std::size_t i = 0; i < to.parts.size(); ++i) {
    t.set(to.parts[i], truncated(value >> width * i, {'b', width, false}));
  }
}

void branch(Thread& t, const Step& step) { t.jump(step.in->operands[0].value); }
void leave(Thread& t, const Step&) { t.leave(); }

}  // namespace

const std::map<std::string, Handler>& arithmetic_handlers() {
  static const std::map<std::string, Handler> handlers = {
      {"add", [](Thread& t, const Step& s) { binary(t, s, [](auto a, auto b) { return a + b; }); }},
      {"sub", [](Thread& t, const Step& s) { binary(t, s, [](auto a, auto b) { return a - b; }); }},
      {"and", [](Thread& t, const Step& s) { binary(t, s, [](auto a, auto b) { return a & b; }); }},
      {"or", [](Thread& t, const Step& s) { binary(t, s, [](auto a, auto b) { return a | b; }); }},
      {"xor", [](Thread& t, const Step& s) { binary(t, s, [](auto a, auto b) { return a ^ b; }); }},
      {"not",
       [](Thread& t, const Step& s) {
         Operands{t, s}.result(~Operands{t, s}.raw(1));
       }},
      {"neg",
       [](Thread& t, const Step& s) {
         Operands{t, s}.result(0 - Operands{t, s}.raw(1));
       }},
      {"abs",
       [](Thread& t, const Step& s) {
         const std::int64_t x = Operands{t, s}.s(1);
         Operands{t, s}.result(static_cast<std::uint64_t>(x < 0 ? -x : x));
       }},
      {"popc",
       [](Thread& t, const Step& s) {
         t.set(s.in->operands[0], static_cast<std::uint64_t>(std::popcount(Operands{t, s}.raw(1))));
       }},
      {"clz",
       [](Thread& t, const Step& s) {
         t.set(s.in->operands[0],
               static_cast<std::uint64_t>(std::countl_zero(Operands{t, s}.raw(1))) -
                   (64 - s.type.bits));
       }},
      {"mul", mul},
      {"mad", mad},
      {"div", divide},
      {"rem", divide},
      {"shl", shift},
      {"shr", shift},
      {"shf", funnel},
      {"min", min_max},
      {"max", min_max},
      {"lop3", logic3},
      {"bfe", bit_field},
      {"bfi", bit_field},
      {"prmt", permute},
      {"setp", set_predicate},
      {"selp", select},
      {"cvt", convert},
      {"cvta", convert_address},
      {"mov", move},
      {"bra", branch},
      {"ret", leave},
      {"exit", leave}};
  return handlers;
}

}  // namespace emulator::ptx
