// Reads Python pickles, protocols 0 to 5, as plain data. It can run nothing: every opcode that
// would import, call or build a Python object is refused by name. In torch's dialect the names that
// torch.save uses for tensors are known, and no others; they become data, too.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "pickle/document.h"

namespace snug::pickle {

enum class PickleDialect { kPlain, kTorch };

// Whatever the bytes are, returns a document within PickleLimits or throws DataError naming `name`,
// the byte offset and the reason. What follows the end of the pickle is ignored, as in Python.
PickleDocument parse_pickle(std::string_view bytes, const std::string& name,
                            PickleDialect dialect = PickleDialect::kPlain);

// The same of the pickle that `bytes` begin with, which is taken off them.
PickleDocument take_pickle(std::string_view& bytes, const std::string& name, PickleDialect dialect);

// The same for a file of at most PickleLimits::kFileBytes.
PickleDocument read_pickle(const std::filesystem::path& path);

}  // namespace snug::pickle
