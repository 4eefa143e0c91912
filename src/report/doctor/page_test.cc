#include <gtest/gtest.h>

#include "report/doctor/for_test.h"
#include "report/doctor/rendering.h"
#include "report/doctor/report.h"

namespace snug::report {
namespace {

class DoctorPageTest : public testing::Test {
 protected:
  std::string page(Language language) const {
    return doctor_page(report_for_test(language, memory_, fixes_));
  }

  doctor::torch::TorchMemory memory_ = doctor::torch::torch_memory(run_for_test());
  fit::Fixes fixes_ = fixes_for_test();
};

TEST_F(DoctorPageTest, SaysItsLanguage) {
  EXPECT_NE(page(Language::kChinese).find("<html lang=\"zh-Hans\">"), std::string::npos);
  EXPECT_NE(page(Language::kGerman).find("<html lang=\"de\">"), std::string::npos);
}

TEST_F(DoctorPageTest, AsksTheNetworkForNothing) {
  for (const Language language : kAllLanguages) {
    const std::string html = page(language);
    for (const char* bad : {"http://", "https://", "<script", "src=", "url("}) {
      EXPECT_EQ(html.find(bad), std::string::npos) << bad;
    }
  }
}

TEST_F(DoctorPageTest, EscapesWhatTheLogAndTheUserWrote) {
  DoctorReport r = report_for_test(Language::kEnglish, memory_, fixes_);
  r.diagnosis->candidates[0].label = "<img src=x onerror=alert(1)>\"&";
  r.diagnosis->notes = {{doctor::diagnosis::NoteId::kOtherError, {"<script>"}}};
  r.arguments = {"</code><b>"};
  r.snug->device = "<i>";
  const std::string html = doctor_page(r);
  for (const char* bad : {"<img", "<script>", "</code><b>", "<i>"}) {
    EXPECT_EQ(html.find(bad), std::string::npos) << bad;
  }
  EXPECT_NE(html.find("&lt;img src=x onerror=alert(1)&gt;&quot;&amp;"), std::string::npos);
}

TEST_F(DoctorPageTest, HasABarForEveryPart) {
  const std::string html = page(Language::kEnglish);
  EXPECT_NE(html.find("title=\"tensors of this run 6.78 GiB\""), std::string::npos);
  EXPECT_NE(html.find("title=\"weights 474.45 MiB\""), std::string::npos);
}

TEST_F(DoctorPageTest, OpensAndClosesTheSameElements) {
  const std::string html = page(Language::kJapanese);
  for (const char* name : {"section", "table", "tr", "td", "th", "p", "dl", "dd", "pre", "span",
                           "ul", "li", "div", "main"}) {
    const auto count = [&](const std::string& tag) {
      std::size_t found = 0;
      for (std::size_t at = html.find(tag); at != std::string::npos; at = html.find(tag, at + 1)) {
        const char next = html[at + tag.size()];
        found += next == '>' || next == ' ' ? 1 : 0;
      }
      return found;
    };
    EXPECT_EQ(count(std::string("<") + name), count(std::string("</") + name)) << name;
  }
}

// A heading on a phone does not part 6.14 from its GiB.
TEST(DoctorPage, HeadingsKeepUnitsWithTheirNumbers) {
  EXPECT_EQ(with_kept_units("asked for 6.14 GiB where 20.00 MiB was free: a GiB"),
            "asked for 6.14\u00A0GiB where 20.00\u00A0MiB was free: a GiB");
}

}  // namespace
}  // namespace snug::report
