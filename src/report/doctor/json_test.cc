#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "report/columns.h"
#include "report/doctor/for_test.h"

namespace snug::report {
namespace {

using Json = nlohmann::json;

class DoctorJsonTest : public testing::Test {
 protected:
  DoctorReport report(Language language) const {
    return report_for_test(language, memory_, fixes_);
  }

  doctor::torch::TorchMemory memory_ = doctor::torch::torch_memory(run_for_test());
  fit::Fixes fixes_ = fixes_for_test();
};

TEST_F(DoctorJsonTest, HasItsMembers) {
  const Json json = Json::parse(doctor_json(report(Language::kGerman)));
  EXPECT_EQ(json["cause"], "capacity");
  EXPECT_TRUE(json["request_bytes"].is_number_integer());
  EXPECT_EQ(json["language"], "de");
  const Json& candidate = json["candidates"][0];
  EXPECT_EQ(candidate["tensor"], "logits");
  EXPECT_EQ(candidate["shape"], Json({65536, 50304}));
  EXPECT_EQ(candidate["dtype"], "bfloat16");
  EXPECT_EQ(candidate["bytes"], std::int64_t{65536} * 50304 * 2);
  EXPECT_EQ(candidate["phase"], "first_evaluation");
  EXPECT_EQ(candidate["confidence"], 0.99);
  for (const char* part :
       {"params", "gradients", "optimizer", "half_copies", "saved_activations", "loss_head"}) {
    EXPECT_TRUE(json["pytorch"]["breakdown"][part].is_number_integer()) << part;
  }
  for (const char* phase : {"start", "evaluate_first", "train_first", "train", "evaluate_later"}) {
    const Json& peak = json["pytorch"]["peaks"][phase];
    EXPECT_TRUE(peak["allocated_bytes"].is_number_integer()) << phase;
    EXPECT_TRUE(peak["op"].is_string()) << phase;
  }
  for (const char* member : {"kind", "name", "changes", "effective_batch", "total_bytes",
                             "saved_bytes", "time_ratio", "same_result", "fits", "needs_edit"}) {
    for (const Json& fix : json["fixes"]) EXPECT_TRUE(fix.contains(member)) << member;
    EXPECT_TRUE(json["recommended"].contains(member)) << member;
    EXPECT_TRUE(json["safest"].contains(member)) << member;
  }
  EXPECT_EQ(json["recommended"]["changes"]["batch_size"], 4);
  EXPECT_EQ(json["snug"]["changes"], "--checkpoint_blocks=9");
  EXPECT_EQ(json["notes"][0]["id"], "first_step_needs_more");
}

TEST_F(DoctorJsonTest, IsValidWhateverTheLogHad) {
  DoctorReport r = report(Language::kJapanese);
  r.diagnosis->event = doctor::log::LogEvent{};
  r.diagnosis->event->text = std::string("out of \xC3\x28\xFF\0 memory", 18);
  r.diagnosis->candidates[0].tensor = "\xE6\x98";
  const std::string text = doctor_json(r);
  EXPECT_TRUE(Json::accept(text));
  EXPECT_EQ(clean(text).find("\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"),
            std::string::npos);
}

TEST_F(DoctorJsonTest, HasNullsWithoutAnything) {
  DoctorReport r;
  const Json json = Json::parse(doctor_json(r));
  for (const char* member :
       {"cause", "request_bytes", "pytorch", "recommended", "safest", "snug"}) {
    EXPECT_TRUE(json.at(member).is_null()) << member;
  }
  EXPECT_TRUE(json["fixes"].empty());
}

}  // namespace
}  // namespace snug::report
