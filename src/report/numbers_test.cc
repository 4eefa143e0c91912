#include "report/numbers.h"

#include <gtest/gtest.h>

namespace snug::report {
namespace {

TEST(Numbers, GermanHasCommasAndBlanks) {
  EXPECT_EQ(amount_in(Language::kGerman, "1,234.50 MiB"), "1.234,50 MiB");
  EXPECT_EQ(amount_in(Language::kGerman, "123.59M"), "123,59\u00A0Mio.");
  EXPECT_EQ(amount_in(Language::kGerman, "97%"), "97\u00A0%");
  EXPECT_EQ(amount_in(Language::kGerman, "491,520"), "491.520");
  EXPECT_EQ(millions_in(Language::kGerman, 116600000), "116,6\u00A0Mio.");
  EXPECT_EQ(percent_in(Language::kGerman, 12.34, 1), "12,3\u00A0%");
}

TEST(Numbers, TheOthersAreAsInEnglish) {
  for (const Language language : {Language::kEnglish, Language::kChinese, Language::kJapanese}) {
    EXPECT_EQ(amount_in(language, "1,234.50 MiB"), "1,234.50 MiB");
    EXPECT_EQ(millions_in(language, 116600000), "116.6M");
    EXPECT_EQ(percent_in(language, 12.34, 1), "12.3%");
  }
}

// Settings, versions and what somebody typed are no amounts.
TEST(Numbers, OtherTextsStay) {
  for (const char* text : {"", "1", "50304", "1.5", "1,5", "2.15.0", "12,34", "n_layer = 11",
                           "batch_size = 20, block_size = 1024", "1,2345", ",123", "1,234.5"}) {
    EXPECT_EQ(amount_in(Language::kGerman, text), text) << text;
  }
}

}  // namespace
}  // namespace snug::report
