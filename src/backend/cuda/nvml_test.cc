#include "backend/cuda/nvml.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "backend/cuda/nvml_for_test.h"

namespace snug::cuda {
namespace {

// Two cards, and the library of a new driver.
class NvmlTest : public ::testing::Test {
 protected:
  NvmlTest() {
    g_driver = {};
    g_driver.cards = {{"NVIDIA GeForce RTX 3060",
                       12 * kGigabyte,
                       kGigabyte / 4,
                       8 * kGigabyte,
                       15 * kGigabyte / 4,
                       {{300, 1 * kGigabyte}, {200, 2 * kGigabyte}},
                       {{200, 2 * kGigabyte}, {100, kGigabyte / 2}}},
                      {"NVIDIA A100-SXM4-80GB",
                       80 * kGigabyte,
                       0,
                       70 * kGigabyte,
                       10 * kGigabyte,
                       {{400, kNvmlNotAvailable}, {401, kGigabyte}},
                       {}}};
    symbols_ = fake_symbols();
  }
  ~NvmlTest() override { EXPECT_EQ(g_driver.open_sessions, 0); }

  CardsReading read() const { return Nvml(functions()).read(); }
  NvmlFunctions functions() const {
    return nvml_functions([this](const char* name) {
      const auto found = symbols_.find(name);
      return found == symbols_.end() ? nullptr : found->second;
    });
  }
  static void expect_first_processes(const CardsReading& reading) {
    ASSERT_EQ(reading.cards.size(), 2u);
    const auto& processes = reading.cards[0].processes;
    ASSERT_EQ(processes.size(), 3u);
    EXPECT_EQ(processes[0].pid, 200);
    EXPECT_EQ(processes[0].bytes, 2LL << 30);
    EXPECT_EQ(processes[1].pid, 300);
    EXPECT_EQ(processes[1].bytes, 1LL << 30);
    EXPECT_EQ(processes[2].pid, 100);
    EXPECT_EQ(processes[2].bytes, 1LL << 29);
  }

  std::map<std::string, void*> symbols_;
};

TEST_F(NvmlTest, ReadsTwoCards) {
  const CardsReading reading = read();
  EXPECT_EQ(reading.problem, "");
  EXPECT_EQ(reading.driver, "550.54.14");
  ASSERT_EQ(reading.cards.size(), 2u);
  const CardReading& first = reading.cards[0];
  EXPECT_EQ(first.index, 0);
  EXPECT_EQ(first.name, "NVIDIA GeForce RTX 3060");
  EXPECT_EQ(first.total_bytes, 12LL << 30);
  EXPECT_EQ(first.used_bytes, 15LL << 28);
  EXPECT_EQ(first.free_bytes, 8LL << 30);
  EXPECT_EQ(first.busy_percent, 97);
  EXPECT_EQ(first.celsius, 64);
  EXPECT_EQ(first.problem, "");
  EXPECT_EQ(reading.cards[1].index, 1);
  EXPECT_EQ(reading.cards[1].name, "NVIDIA A100-SXM4-80GB");
}

TEST_F(NvmlTest, ProcessOfBothListsIsOneAndTheLargestComesFirst) { expect_first_processes(read()); }

TEST_F(NvmlTest, MemoryThatIsNotToldIsNotANumber) {
  const CardsReading reading = read();
  const auto& processes = reading.cards.at(1).processes;
  ASSERT_EQ(processes.size(), 2u);
  EXPECT_EQ(processes[0].pid, 401);
  EXPECT_EQ(processes[1].pid, 400);
  EXPECT_EQ(processes[1].bytes, std::nullopt);
}

TEST_F(NvmlTest, PartsOfADividedCardAddUp) {
  g_driver.cards[1].compute = {{7, kGigabyte}, {7, 2 * kGigabyte}, {8, kNvmlNotAvailable}, {8, 1}};
  const auto processes = read().cards.at(1).processes;
  ASSERT_EQ(processes.size(), 2u);
  EXPECT_EQ(processes[0].bytes, 3LL << 30);
  EXPECT_EQ(processes[1].bytes, std::nullopt);
}

TEST_F(NvmlTest, ADividedCardIsKnownAsOne) {
  EXPECT_FALSE(read().cards.at(1).is_divided);
  g_driver.divided = true;
  EXPECT_TRUE(read().cards.at(1).is_divided);
  EXPECT_FALSE(read().cards.at(0).is_divided);
}

TEST_F(NvmlTest, OlderDriversHaveOlderFunctions) {
  symbols_.erase("nvmlDeviceGetComputeRunningProcesses_v3");
  expect_first_processes(read());
  EXPECT_TRUE(g_driver.calls.contains("compute_v2"));
  symbols_.erase("nvmlDeviceGetComputeRunningProcesses_v2");
  expect_first_processes(read());
  EXPECT_TRUE(g_driver.calls.contains("compute_v1"));
}

TEST_F(NvmlTest, FunctionThatFailsGivesWayToAnOlderOne) {
  g_driver.errors["compute_v3"] = 13;  // NVML_ERROR_FUNCTION_NOT_FOUND
  const CardsReading reading = read();
  expect_first_processes(reading);
  EXPECT_EQ(reading.cards[0].problem, "");
}

TEST_F(NvmlTest, FirstDriversOf535HaveWiderEntries) {
  symbols_["nvmlDeviceGetComputeRunningProcesses_v3"] = address(fake_compute_wide);
  symbols_["nvmlDeviceGetConfComputeMemSizeInfo"] = address(fake_init);
  symbols_.erase("nvmlDeviceGetGraphicsRunningProcesses_v3");
  const auto processes = read().cards.at(0).processes;
  ASSERT_EQ(processes.size(), 2u);
  EXPECT_EQ(processes[0].pid, 200);
  EXPECT_EQ(processes[1].pid, 300);
  EXPECT_EQ(processes[1].bytes, 1LL << 30);
}

TEST_F(NvmlTest, LaterDriversOf535DoNot) {
  symbols_["nvmlDeviceGetConfComputeMemSizeInfo"] = address(fake_init);
  symbols_["nvmlDeviceGetRunningProcessDetailList"] = address(fake_init);
  expect_first_processes(read());
}

TEST_F(NvmlTest, ManyProcessesGetMoreRoom) {
  g_driver.cards[0].compute.clear();
  for (unsigned pid = 1; pid <= 1000; ++pid) g_driver.cards[0].compute.push_back({pid, pid});
  const auto processes = read().cards.at(0).processes;
  ASSERT_EQ(processes.size(), 1000u);
  EXPECT_EQ(processes[2].pid, 1000);  // after the two that draw
}

TEST_F(NvmlTest, MemoryWithoutVersion2) {
  const auto expect_memory = [this] {
    const CardReading card = read().cards.at(0);
    EXPECT_EQ(card.total_bytes, 12LL << 30);
    EXPECT_EQ(card.used_bytes, 4LL << 30);  // with what the driver keeps
    EXPECT_EQ(card.free_bytes, 8LL << 30);
    EXPECT_EQ(card.problem, "");
  };
  g_driver.errors["nvmlDeviceGetMemoryInfo_v2"] = 25;  // argument version mismatch
  expect_memory();
  symbols_.erase("nvmlDeviceGetMemoryInfo_v2");
  expect_memory();
}

TEST_F(NvmlTest, ErrorsOfACardLeaveTheRest) {
  g_driver.errors["nvmlDeviceGetMemoryInfo_v2"] = kNotSupported;
  g_driver.errors["nvmlDeviceGetMemoryInfo"] = kNotSupported;
  CardReading card = read().cards.at(0);
  EXPECT_EQ(card.total_bytes, std::nullopt);
  EXPECT_EQ(card.used_bytes, std::nullopt);
  EXPECT_EQ(card.free_bytes, std::nullopt);
  EXPECT_EQ(card.problem, "memory not known: error 3");
  EXPECT_EQ(card.processes.size(), 3u);

  g_driver.errors = {{"compute_v3", kGpuIsLost}, {"compute_v2", 13}, {"compute_v1", 13}};
  card = read().cards.at(0);
  EXPECT_EQ(card.problem, "processes not known: GPU is lost");
  EXPECT_EQ(card.processes.size(), 2u);  // those that draw
  EXPECT_EQ(card.total_bytes, 12LL << 30);

  g_driver.errors = {{"graphics_v3", kNotSupported}};
  card = read().cards.at(0);
  EXPECT_EQ(card.problem, "");
  EXPECT_EQ(card.processes.size(), 2u);

  g_driver.errors = {{"nvmlDeviceGetUtilizationRates", kNotSupported},
                     {"nvmlDeviceGetTemperature", kNotSupported},
                     {"nvmlDeviceGetName", kNotSupported}};
  card = read().cards.at(0);
  EXPECT_EQ(card.busy_percent, std::nullopt);
  EXPECT_EQ(card.celsius, std::nullopt);
  EXPECT_EQ(card.name, "?");
  EXPECT_EQ(card.problem, "");
}

TEST_F(NvmlTest, CardThatCannotBeOpenedIsStillACard) {
  g_driver.errors["nvmlDeviceGetHandleByIndex_v2"] = kGpuIsLost;
  const CardsReading reading = read();
  ASSERT_EQ(reading.cards.size(), 2u);
  EXPECT_EQ(reading.cards[1].index, 1);
  EXPECT_EQ(reading.cards[1].problem, "cannot be opened: GPU is lost");
  EXPECT_EQ(reading.problem, "");
}

TEST_F(NvmlTest, NoCardsAreSaidPlainly) {
  g_driver.cards.clear();
  EXPECT_EQ(read().problem, "no card: the NVIDIA driver sees none");
  g_driver.errors = {{"nvmlDeviceGetCount_v2", 999}};
  EXPECT_EQ(read().problem, "no card: the NVIDIA driver does not count its cards: error 999");
  g_driver.errors = {{"nvmlInit_v2", kDriverNotLoaded}};
  EXPECT_EQ(read().problem, "no card: the NVIDIA driver does not answer: Driver Not Loaded");
  g_driver.errors.clear();
  for (const char* name :
       {"nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetCount_v2", "nvmlInit_v2"}) {
    symbols_.erase(name);
    EXPECT_EQ(read().problem, std::string("no card: libnvidia-ml has no function ") + name);
  }
}

TEST_F(NvmlTest, DriverVersionMayBeUnknown) {
  g_driver.errors["nvmlSystemGetDriverVersion"] = 999;
  EXPECT_EQ(read().driver, "");
  EXPECT_EQ(read().cards.size(), 2u);
}

TEST_F(NvmlTest, LibraryWithTheLeastFunctions) {
  const auto all = symbols_;
  symbols_.clear();
  for (const char* name :
       {"nvmlInit_v2", "nvmlShutdown", "nvmlDeviceGetCount_v2", "nvmlDeviceGetHandleByIndex_v2"}) {
    symbols_[name] = all.at(name);
  }
  const CardsReading reading = read();
  ASSERT_EQ(reading.cards.size(), 2u);
  EXPECT_EQ(reading.cards[0].problem,
            "memory not known: libnvidia-ml cannot tell it; "
            "processes not known: libnvidia-ml cannot tell them");
}

TEST_F(NvmlTest, NamesOfFullLengthEnd) {
  const std::string name(200, 'x');
  g_driver.cards[0].name = name.c_str();
  EXPECT_EQ(read().cards.at(0).name, std::string(kNvmlNameBytes - 1, 'x'));
}

// SNUG_NVML as long as it lives.
class LibraryNamed {
 public:
  explicit LibraryNamed(const char* path) { ::setenv("SNUG_NVML", path, 1); }
  ~LibraryNamed() { ::unsetenv("SNUG_NVML"); }
};

TEST(Nvml, LibraryThatIsNotThere) {
  const LibraryNamed named("/nowhere/libnvidia-ml.so.1");
  const CardsReading reading = Nvml().read();
  EXPECT_EQ(reading.problem,
            "no card: /nowhere/libnvidia-ml.so.1 is not there (SNUG_NVML names it)");
  EXPECT_TRUE(reading.cards.empty());
}

TEST(Nvml, LibraryThatIsSomethingElse) {
  {
    const LibraryNamed named("/proc/self/status");
    const std::string problem = Nvml().read().problem;
    EXPECT_TRUE(problem.starts_with("no card: /proc/self/status cannot be loaded: ")) << problem;
  }
  const LibraryNamed named("libc.so.6");
  EXPECT_EQ(Nvml().read().problem, "no card: libnvidia-ml has no function nvmlInit_v2");
}

// With a driver or without one.
TEST(Nvml, ThisMachineHasCardsOrAReason) {
  const CardsReading reading = Nvml().read();
  EXPECT_EQ(reading.cards.empty(), !reading.problem.empty());
  EXPECT_TRUE(reading.problem.empty() || reading.problem.starts_with("no card: "));
  for (const CardReading& card : reading.cards) EXPECT_NE(card.name, "");
}

}  // namespace
}  // namespace snug::cuda
