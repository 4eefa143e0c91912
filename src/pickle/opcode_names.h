// Opcodes that plain data never needs, and that could run code or reach outside the file.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

namespace snug::pickle {

constexpr std::uint64_t kHighestProtocol = 5;

constexpr std::array<std::pair<std::uint8_t, std::string_view>, 15> kRefusedOpcodes{{
    {'c', "GLOBAL"},
    {0x93, "STACK_GLOBAL"},
    {'R', "REDUCE"},
    {'b', "BUILD"},
    {'i', "INST"},
    {'o', "OBJ"},
    {0x81, "NEWOBJ"},
    {0x92, "NEWOBJ_EX"},
    {0x82, "EXT1"},
    {0x83, "EXT2"},
    {0x84, "EXT4"},
    {'P', "PERSID"},
    {'Q', "BINPERSID"},
    {0x97, "NEXT_BUFFER"},
    {0x98, "READONLY_BUFFER"},
}};

}  // namespace snug::pickle
