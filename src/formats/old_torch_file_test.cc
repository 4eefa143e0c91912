// What torch.save wrote before PyTorch 1.6, in the protocols that it can be told to take.
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>

#include "base/error.h"
#include "base/temporary_folder.h"
#include "formats/torch/torch_file.h"
#include "pickle/writer.h"

namespace snug::formats {
namespace {

std::string little_endian(std::uint64_t value) {
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &value, bytes.size());
  return bytes;
}

std::string protocol_bytes(int protocol, std::string_view program) {
  std::string bytes = {'\x80', static_cast<char>(protocol)};
  if (protocol >= 4) bytes += '\x95' + little_endian(program.size());
  return bytes + std::string(program);
}

std::string machine_pickle() {
  pickle::PickleWriter pickle;
  pickle.begin_dict();
  pickle.text("little_endian");
  pickle.boolean(true);
  pickle.end_dict();
  return pickle.finish();
}

// {"w": a tensor of three elements in storage "7"}
std::string value_pickle() {
  pickle::PickleWriter pickle;
  pickle.begin_dict();
  pickle.text("w");
  pickle.global("torch._utils", "_rebuild_tensor_v2");
  pickle.begin_tuple();
  pickle.begin_tuple();
  pickle.text("storage");
  pickle.global("torch", "FloatStorage");
  pickle.text("7");
  pickle.text("cpu");
  pickle.integer(3);
  pickle.none();
  pickle.end_tuple();
  pickle.persistent_id();
  pickle.integer(0);
  for (const int item : {3, 1}) {
    pickle.begin_tuple();
    pickle.integer(item);
    pickle.end_tuple();
  }
  pickle.boolean(false);
  pickle.none();
  pickle.end_tuple();
  pickle.reduce();
  pickle.end_dict();
  return pickle.finish();
}

std::string old_file(int protocol, std::string_view version) {
  const std::string_view magic("\x8a\x0al\xfc\x9c\x46\xf9 j\xa8P\x19.", 13);
  pickle::PickleWriter keys;
  keys.begin_list();
  keys.text("7");
  keys.end_list();
  const float values[] = {1.5F, -2.0F, 0.25F};
  std::string data(sizeof values, '\0');
  std::memcpy(data.data(), values, sizeof values);
  return protocol_bytes(protocol, magic) + protocol_bytes(protocol, version) + machine_pickle() +
         value_pickle() + keys.finish() + little_endian(3) + data;
}

constexpr std::string_view kKnown("M\xe9\x03.", 4), kNext("M\xea\x03.", 4);

TEST(OldTorchFile, AnyProtocolIsRead) {
  const TemporaryFolder folder;
  for (const int protocol : {2, 3, 4, 5}) {
    std::ofstream(folder.path("a.pt"), std::ios::binary) << old_file(protocol, kKnown);
    ASSERT_TRUE(torch::is_torch_file(folder.path("a.pt"))) << protocol;
    torch::TorchFile file(folder.path("a.pt"));
    float values[3] = {};
    file.tensor(*file.root().find("w"), "w").read(0, values);
    EXPECT_EQ(values[0], 1.5F) << protocol;
    EXPECT_EQ(values[1], -2.0F) << protocol;
    EXPECT_EQ(values[2], 0.25F) << protocol;
  }
}

TEST(OldTorchFile, AnotherVersionIsRefused) {
  const TemporaryFolder folder;
  std::ofstream(folder.path("a.pt"), std::ios::binary) << old_file(4, kNext);
  EXPECT_THROW(torch::TorchFile file(folder.path("a.pt")), DataError);
}

TEST(OldTorchFile, CutOffAnywhere) {
  const TemporaryFolder folder;
  for (const int protocol : {2, 4}) {
    const std::string whole = old_file(protocol, kKnown);
    for (std::size_t length = 0; length < whole.size(); ++length) {
      std::ofstream(folder.path("a.pt"), std::ios::binary) << whole.substr(0, length);
      EXPECT_THROW(torch::TorchFile file(folder.path("a.pt")), DataError) << length;
    }
  }
}

}  // namespace
}  // namespace snug::formats
