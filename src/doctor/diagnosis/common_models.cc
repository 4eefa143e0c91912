#include "doctor/diagnosis/common_models.h"

namespace snug::doctor::diagnosis {
namespace {

// Name, size, prior, usual length in tokens, before 2023.
// clang-format off
constexpr CommonSize kVocabularies[] = {
    {"GPT-2",            50257, 1.0, 1024, true},
    {"nanoGPT",          50304, 1.2, 1024, false},  // who asks is more often of nanoGPT
    {"Llama 2, Mistral", 32000, 0.4, 0, false},
    {"Phi-3",            32064, 0.15, 0, false},
    {"Llama 3",         128256, 0.3, 0, false},
    {"Qwen",            151936, 0.3, 0, false},
    {"Qwen 7B",         152064, 0.15, 0, false},
    {"minimind",          6400, 0.3, 512, false},
    {"nanochat",         65536, 0.3, 2048, false},
    {"BERT",             30522, 0.1, 512, true},
    {"BERT Chinese",     21128, 0.1, 512, true},
    {"SmolLM",           49152, 0.1, 0, false},
    {"OPT",              50272, 0.1, 0, false},
    {"Gemma",           256000, 0.1, 0, false},
    {"Gemma 3",         262144, 0.1, 0, false},
};

constexpr CommonSize kHeadCounts[] = {
    {"GPT-2",             12, 1.0, 1024, true},
    {"GPT-2 medium",      16, 0.5, 1024, true},
    {"GPT-2 large",       20, 0.3, 1024, true},
    {"GPT-2 XL",          25, 0.3, 1024, true},
    {"Llama",             32, 0.3, 0, false},
    {"minimind",           8, 0.3, 512, false},
    {"nanoGPT character",  6, 0.3, 256, false},
    {"Llama 13B",         40, 0.1, 0, false},
};

constexpr CommonSize kHiddenWidths[] = {
    {"GPT-2",             3072, 1.0, 1024, true},
    {"GPT-2 medium",      4096, 0.5, 1024, true},
    {"GPT-2 large",       5120, 0.3, 1024, true},
    {"GPT-2 XL",          6400, 0.3, 1024, true},
    {"minimind",          1408, 0.5, 512, false},
    {"minimind 768",      2048, 0.3, 512, false},
    {"nanoGPT character", 1536, 0.3, 256, false},
    {"TinyLlama",         5632, 0.2, 0, false},
    {"Llama 2 7B",       11008, 0.3, 0, false},
    {"Llama 2 13B",      13824, 0.1, 0, false},
    {"Llama 3 8B",       14336, 0.2, 0, false},
    {"Llama 3.2",         8192, 0.2, 0, false},
    {"Qwen2 0.5B",        4864, 0.2, 0, false},
    {"Qwen2 1.5B",        8960, 0.15, 0, false},
    {"Qwen2 7B",         18944, 0.15, 0, false},
};

constexpr CommonLength kLengths[] = {
    {1024, 1.0}, {512, 0.7}, {256, 0.6}, {2048, 0.6}, {128, 0.3},
    {4096, 0.3}, {768, 0.1}, {64, 0.1},  {8192, 0.1},
};

constexpr CommonModel kModels[] = {
    {"GPT-2",          50257,  768,  3072, 1.0, true},
    {"nanoGPT",        50304,  768,  3072, 1.0},
    {"GPT-2 medium",   50257, 1024,  4096, 0.5, true},
    {"GPT-2 large",    50257, 1280,  5120, 0.4, true},
    {"GPT-2 XL",       50257, 1600,  6400, 0.5, true},
    {"GPT-2 medium",   50304, 1024,  4096, 0.4},
    {"GPT-2 large",    50304, 1280,  5120, 0.3},
    {"GPT-2 XL",       50304, 1600,  6400, 0.4},
    {"minimind",        6400,  512,  1408, 0.2},
    {"minimind 768",    6400,  768,  2048, 0.2},
    {"nanochat",       65536, 1280,  5120, 0.2},
    {"TinyLlama",      32000, 2048,  5632, 0.3},
    {"Llama 2 7B",     32000, 4096, 11008, 0.5},
    {"Llama 2 13B",    32000, 5120, 13824, 0.3},
    {"Mistral 7B",     32000, 4096, 14336, 0.3},
    {"Phi-3 mini",     32064, 3072,  8192, 0.2},
    {"Llama 3 8B",    128256, 4096, 14336, 0.4},
    {"Llama 3.2 1B",  128256, 2048,  8192, 0.3},
    {"Llama 3.2 3B",  128256, 3072,  8192, 0.3},
    {"Qwen2 0.5B",    151936,  896,  4864, 0.3},
    {"Qwen2 1.5B",    151936, 1536,  8960, 0.3},
    {"Qwen2 7B",      152064, 3584, 18944, 0.3},
    {"Qwen3 0.6B",    151936, 1024,  3072, 0.3},
    {"Qwen3 8B",      151936, 4096, 12288, 0.2},
    {"BERT",           30522,  768,  3072, 0.2, true},
    {"BERT Chinese",   21128,  768,  3072, 0.2, true},
};

// Layers, heads, width, prior: nanoGPT's and GPT-2's own, then what people make of them.
constexpr CommonGpt kGpts[] = {
    {12, 12,  768, 1.0},  {24, 16, 1024, 0.6},  {36, 20, 1280, 0.5}, {48, 25, 1600, 0.5},
    { 6,  6,  384, 0.4},  { 4,  4,  128, 0.05}, { 4,  4,  256, 0.05}, { 8,  8,  512, 0.1},
    {12,  8,  512, 0.08}, {12, 12,  576, 0.1},  {12, 12,  600, 0.02}, {12, 10,  640, 0.08},
    {16, 10,  640, 0.08}, {10, 10,  640, 0.04}, {12, 11,  704, 0.04}, { 6, 12,  768, 0.05},
    { 8, 12,  768, 0.05}, {16, 12,  768, 0.06}, {24, 12,  768, 0.06}, {32, 12,  768, 0.06},
    {12, 14,  896, 0.04}, {12, 16, 1024, 0.06}, {16, 16, 1024, 0.08}, {20, 16, 1024, 0.04},
    {24, 20, 1280, 0.04}, {24, 25, 1600, 0.03}, {32, 25, 1600, 0.03}, {24, 16, 2048, 0.06},
    {24, 32, 2048, 0.06}, {32, 32, 2048, 0.02}, {32, 20, 2560, 0.04}, {32, 32, 4096, 0.03},
};
// clang-format on

}  // namespace

std::span<const CommonGpt> common_gpts() { return kGpts; }
std::span<const CommonSize> common_vocabularies() { return kVocabularies; }
std::span<const CommonSize> common_head_counts() { return kHeadCounts; }
std::span<const CommonSize> common_hidden_widths() { return kHiddenWidths; }
std::span<const CommonLength> common_lengths() { return kLengths; }
std::span<const CommonModel> common_models() { return kModels; }

}  // namespace snug::doctor::diagnosis
