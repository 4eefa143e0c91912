#include "report/web/page_template.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/error.h"

namespace snug::report {
namespace {

std::string filled_with(std::string_view page, const std::vector<PageValue>& values) {
  return fill_page(page, values);
}

TEST(PageTemplate, FillsEveryPlaceholder) {
  EXPECT_EQ(filled_with("<p>{{a}}</p>{{b}}{{a}}", {page_text("a", "1"), page_markup("b", "<b>")}),
            "<p>1</p><b>1");
  EXPECT_EQ(filled_with("nothing { } {to} fill }}", {}), "nothing { } {to} fill }}");
}

TEST(PageTemplate, EscapesText) {
  EXPECT_EQ(filled_with("<a title=\"{{t}}\">", {page_text("t", "\"><script>&")}),
            "<a title=\"&quot;&gt;&lt;script&gt;&amp;\">");
}

TEST(PageTemplate, JsonCannotEndItsScript) {
  EXPECT_EQ(filled_with("<script>{{j}}</script>", {page_json("j", "[\"</script><!--\"]")}),
            "<script>[\"\\u003c/script>\\u003c!--\"]</script>");
}

TEST(PageTemplate, LeavesPlaceholdersOfValuesAlone) {
  EXPECT_EQ(filled_with("{{a}}{{b}}", {page_text("a", "{{b}}"), page_markup("b", "{{a}}")}),
            "{{b}}{{a}}");
}

TEST(PageTemplate, RefusesWhatDoesNotMatch) {
  EXPECT_THROW(filled_with("{{a}}", {}), InternalError);
  EXPECT_THROW(filled_with("{{a", {page_text("a", "")}), InternalError);
  EXPECT_THROW(filled_with("{{a}}", {page_text("a", ""), page_text("b", "")}), InternalError);
}

TEST(PageTemplate, SharedStyleIsEmbedded) {
  EXPECT_TRUE(shared_page_style().starts_with("/*"));
  EXPECT_NE(shared_page_style().find("--ground"), std::string_view::npos);
  EXPECT_TRUE(shared_page_style().ends_with("}\n"));
}

}  // namespace
}  // namespace snug::report
