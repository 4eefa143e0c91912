// A data set is replaced whole: whatever is left by a kill between the renames of its files,
// training takes the old one, the new one, or says that it is neither; never a mix.
#include "data/dataset_publication.h"

#include <gtest/gtest.h>

#include "base/test_directory.h"
#include "data/meta.h"
#include "data/prepare_char.h"
#include "data/token_file.h"

namespace snug::data {
namespace {

class PublicationTest : public ::testing::Test {
 protected:
  PublicationTest() {
    folder_.write("old.txt", std::string(500, 'a') + std::string(500, 'b'));
    folder_.write("new.txt", std::string(700, 'c') + std::string(600, 'd'));
    prepare_char(folder_.path() / "old.txt", dataset_);
  }

  // What the files are of; "" when the data set is refused.
  std::string taken() const {
    try {
      const std::optional<Meta> meta = read_meta(dataset_);
      const TokenFile train(dataset_ / "train.bin", {2, 4}), val(dataset_ / "val.bin", {2, 4});
      const bool old_tokens = train.token_count() == 900 && val.token_count() == 100;
      const bool new_tokens = train.token_count() == 1170 && val.token_count() == 130;
      if (meta->itos[0] == "a" && old_tokens) return "old";
      if (meta->itos[0] == "c" && new_tokens) return "new";
      return "a mix";
    } catch (const DataError& error) {
      expect_holds(error.what(), {"half replaced", "snug prepare"});
      return "";
    }
  }

  TestDirectory folder_;
  std::filesystem::path dataset_ = folder_.path() / "set";
};

TEST_F(PublicationTest, AllFilesAreReplacedAndNoMarkStays) {
  EXPECT_EQ(taken(), "old");
  prepare_char(folder_.path() / "new.txt", dataset_);
  EXPECT_EQ(taken(), "new");
  EXPECT_FALSE(std::filesystem::exists(dataset_ / ".snug-publishing"));
}

// The state after a kill between two renames, made by hand: the mark, and a part of the new names.
TEST_F(PublicationTest, AFolderThatIsHalfReplacedIsRefusedUntilItIsPreparedAgain) {
  folder_.write("other/x", "");
  prepare_char(folder_.path() / "new.txt", folder_.path() / "other");
  std::filesystem::rename(folder_.path() / "other/train.bin", dataset_ / "train.bin");
  EXPECT_EQ(taken(), "a mix");  // what it would be without the mark
  folder_.write("set/.snug-publishing", "");
  EXPECT_EQ(taken(), "");
  prepare_char(folder_.path() / "new.txt", dataset_);
  EXPECT_EQ(taken(), "new");
}

TEST_F(PublicationTest, TheMarkIsNotWrittenThroughALink) {
  folder_.write("precious", "mine");
  std::filesystem::create_symlink("../precious", dataset_ / ".snug-publishing");
  EXPECT_THROW(prepare_char(folder_.path() / "new.txt", dataset_), DeviceError);
  EXPECT_EQ(folder_.read("precious"), "mine");
}

}  // namespace
}  // namespace snug::data
