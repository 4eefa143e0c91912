// The promise, proven: under a hard limit equal to the plan's total a run trains to its end, with
// one byte less allowed it is refused before it starts, and all settings of one effective batch
// leave the same weights, bit for bit.
#include <array>
#include <optional>

#include "base/bytes.h"
#include "cli/testing.h"

namespace snug {
namespace {

struct Size {
  const char* name;
  Words arguments;
  std::int64_t layers;
};

const std::array<Size, 3> kSizes = {
    Size{"small", {"--n_layer=2", "--n_head=2", "--n_embd=32", "--block_size=32"}, 2},
    Size{"wide",
         {"--n_layer=3", "--n_head=4", "--n_embd=192", "--block_size=48", "--bias=True",
          "--dropout=0.1"},
         3},
    Size{"long", {"--n_layer=4", "--n_head=1", "--n_embd=40", "--block_size=300"}, 4}};

struct Memory {
  const char* name;
  Words arguments;
};

// An effective batch of 12 in all of them.
std::vector<Memory> memory_settings(std::int64_t layers) {
  const std::string all = "--checkpoint_blocks=" + std::to_string(layers);
  const auto split = [](const char* batch, const char* steps, const Words& more = {}) {
    return Words{std::string("--batch_size=") + batch,
                 std::string("--gradient_accumulation_steps=") + steps} +
           more;
  };
  return {
      {"12x1", split("12", "1")},
      {"6x2", split("6", "2")},
      {"4x3", split("4", "3")},
      {"1x12", split("1", "12")},
      {"12x1 checkpointed", split("12", "1", {"--grad_checkpoint=True"})},
      {"3x4 checkpointed", split("3", "4", {all})},
      {"12x1 one block", split("12", "1", {"--checkpoint_blocks=1"})},
      {"6x2 keep all", split("6", "2", {"--recompute_light=False"})},
      {"2x6 small pieces", split("2", "6", {"--loss_chunk=32", "--eval_batch_size=1"})},
      {"4x3 large evaluation", split("4", "3", {"--eval_batch_size=40"})},
      {"12x1 short evaluation", split("12", "1", {"--eval_block_size=7"})},
  };
}

class Proof : public CliTest {
 protected:
  static Words run_words(const Size& size, const Memory& memory, const std::string& precision,
                         const std::string& out_dir) {
    return Words{"--dataset=small",      "--device=cpu",
                 "--eval_iters=1",       "--eval_sequences=10",
                 "--max_iters=2",        "--eval_interval=2",
                 "--warmup_iters=0",     "--threads=2",
                 "--learning_rate=1e-2", precision,
                 "--out_dir=" + out_dir} +
           size.arguments + memory.arguments;
  }
  std::int64_t planned_total(const Words& words) const {
    const ProgramResult plan = run(Words{"plan", "--json", "--memory_budget=8GiB"} + words);
    EXPECT_EQ(plan.exit_code, 0) << plan.err;
    return nlohmann::json::parse(plan.out).at("total_bytes");
  }
  ProgramResult train_within(const Words& words, std::int64_t bytes) const {
    ProgramSettings limited = settings();
    limited.address_space = bytes;
    return run_program(Words{"train"} + words, limited);
  }
};

TEST_F(Proof, EverySettingFitsWhereThePlanSaysSo) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer's own memory is not in the plan";
  int count = 0;
  for (const Size& size : kSizes) {
    for (const std::string precision :
         {"--dtype=float32", "--optimizer_dtype=bfloat16", "--dtype=bfloat16", "--dtype=float16"}) {
      // Of 16-bit arithmetic one size: its scratch does not depend on the others' peculiarities.
      const bool sixteen_bits = precision == "--dtype=bfloat16" || precision == "--dtype=float16";
      if (sixteen_bits && &size != &kSizes[1]) continue;
      std::optional<FileBytes> same_for_all;
      for (const Memory& memory : memory_settings(size.layers)) {
        SCOPED_TRACE(std::string(size.name) + ", " + precision + ", " + memory.name);
        const std::string out_dir = "out-" + std::to_string(count);
        const Words words = run_words(size, memory, precision, out_dir);
        const std::int64_t total = planned_total(words);
        const ProgramResult fitting = train_within(words, total);
        ASSERT_EQ(fitting.exit_code, 0) << fitting.err;
        const FileBytes weights = weights_and_optimizer(out_dir);
        if (!same_for_all) same_for_all = weights;
        EXPECT_EQ(weights, *same_for_all);
        const ProgramResult refused = train_within(words, total - 1);
        EXPECT_EQ(refused.exit_code, 3) << refused.err;
        ++count;
      }
    }
  }
  EXPECT_EQ(count, 88);  // as the README says
}

// Measuring how fast the machine is takes less than what is planned with it.
TEST_F(Proof, PlanningTakesLittleMemory) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer's own memory is not in the plan";
  ProgramSettings limited = settings();
  limited.address_space = 1500 * kMiB;
  const ProgramResult result = run_program(
      {"plan", "--device=cpu", "--n_head=1", "--n_embd=4096", "--vocab_size=65"}, limited);
  EXPECT_EQ(result.exit_code, 3) << result.err;
  EXPECT_NE(result.out.find("Does not fit."), std::string::npos) << result.err;
}

// A control group limits what is resident, whoever allocated it. Where none can be made (no root,
// a read-only mount) this says so and checks nothing; the limit on address space above is stricter.
class MemoryGroup {
 public:
  MemoryGroup() {
    for (const std::string parent : {"/sys/fs/cgroup/memory", "/sys/fs/cgroup"}) {
      const bool version1 = std::filesystem::exists(parent + "/memory.limit_in_bytes");
      const bool version2 = std::filesystem::exists(parent + "/cgroup.controllers");
      if (!version1 && !version2) continue;
      const std::string folder = parent + "/snug-proof-" + std::to_string(::getpid());
      std::error_code failed;
      if (!std::filesystem::create_directory(folder, failed)) continue;
      path_ = folder;
      limit_file_ = folder + (version1 ? "/memory.limit_in_bytes" : "/memory.max");
      if (set_limit(kGiB)) return;
      remove();
    }
  }
  ~MemoryGroup() { remove(); }
  MemoryGroup(const MemoryGroup&) = delete;
  MemoryGroup& operator=(const MemoryGroup&) = delete;

  const std::string& path() const { return path_; }
  bool set_limit(std::int64_t bytes) const {
    std::ofstream file(limit_file_);
    file << bytes << std::flush;
    return file.good();
  }

 private:
  void remove() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove(path_, ignored);
    path_.clear();
  }
  std::string path_, limit_file_;
};

TEST_F(Proof, AControlGroupOfThePlansTotalIsEnough) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer's own memory is not in the plan";
  const MemoryGroup group;
  if (group.path().empty()) GTEST_SKIP() << "no control group for memory can be made here";
  for (const Memory& memory : memory_settings(kSizes[1].layers)) {
    SCOPED_TRACE(memory.name);
    const Words words = run_words(kSizes[1], memory, "--dtype=float32", "out-group");
    const std::int64_t total = planned_total(words);
    ASSERT_TRUE(group.set_limit(total));
    ProgramSettings limited = settings();
    limited.cgroup = group.path();
    const ProgramResult result =
        run_program(Words{"train", "--memory_budget=" + std::to_string(total)} + words, limited);
    EXPECT_EQ(result.exit_code, 0) << result.signal << result.err;
  }
}

}  // namespace
}  // namespace snug
