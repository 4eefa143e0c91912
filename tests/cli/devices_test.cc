// `snug devices`: what it reads of the machine, what it makes of readings, and the program itself,
// on machines with cards and without.
#include <fmt/format.h>

#include "base/bytes.h"
#include "cli/devices_report.h"
#include "cli/testing.h"

namespace snug {
namespace {

using namespace std::string_literals;

// A /proc of our own.
class ProcessesTest : public ::testing::Test {
 protected:
  void add(int pid, const std::string& command_line, const std::string& comm = "",
           int resident_pages = 1) {
    const std::string folder = std::to_string(pid);
    folder_.write(folder + "/cmdline", command_line);
    folder_.write(folder + "/comm", comm + "\n");
    folder_.write(folder + "/statm",
                  fmt::format("{} {} 1 1 0 1 0\n", 2 * resident_pages + 7, resident_pages));
  }
  std::string name(int pid) const { return machine::process_name(pid, folder_.path().string()); }

  TestDirectory folder_;
};

TEST_F(ProcessesTest, AreNamedByProgramAndWhatItRuns) {
  add(1, "/usr/bin/python3\0-u\0/home/a/train.py\0--key=secret\0"s);
  EXPECT_EQ(name(1), "python3 train.py");
  add(2, "snug\0train\0config.py\0"s);
  EXPECT_EQ(name(2), "snug train");
  add(3, "/opt/server\0--password\0secret\0"s);
  EXPECT_EQ(name(3), "server");
  add(4, "bash\0-c\0curl -H secret\0"s);
  EXPECT_EQ(name(4), "bash");
  add(5, "python\0"s);
  EXPECT_EQ(name(5), "python");
}

TEST_F(ProcessesTest, AreNamedByTheKernelWithoutACommandLine) {
  add(1, "", "kworker/0:1");
  EXPECT_EQ(name(1), "kworker/0:1");
  add(2, "sshd: somebody [priv]\0"s, "sshd");
  EXPECT_EQ(name(2), "sshd");
}

TEST_F(ProcessesTest, OfAnotherContainerHaveNoName) { EXPECT_EQ(name(4711), "?"); }

// A number of the host's may be another process's here: no name rather than a wrong one.
TEST_F(ProcessesTest, OfTheDriverAreNamedOnlyWhereNumbersAreShared) {
  add(11, "python3\0train.py\0"s);
  const std::string proc = folder_.path().string();
  EXPECT_EQ(machine::name_of_drivers_process(11, proc), "python3 train.py");
  EXPECT_EQ(machine::name_of_drivers_process(12, proc), "? (not visible here)");
  folder_.write("self/ns/x", "");
  std::filesystem::create_symlink("pid:[4026531836]", folder_.path() / "self/ns/pid");
  EXPECT_EQ(machine::name_of_drivers_process(11, proc), "python3 train.py");
  std::filesystem::remove(folder_.path() / "self/ns/pid");
  std::filesystem::create_symlink("pid:[4026532281]", folder_.path() / "self/ns/pid");
  EXPECT_EQ(machine::name_of_drivers_process(11, proc), "? (outside this container)");
}

TEST_F(ProcessesTest, LargestComeFirst) {
  add(10, "small\0"s, "", 3);
  add(11, "large\0"s, "", 500);
  add(12, "middle\0"s, "", 40);
  add(13, "", "kthread", 0);
  folder_.write("meminfo", "MemTotal: 1 kB\n");
  folder_.write("12x/statm", "9 9 9\n");
  const auto found = machine::largest_processes(2, folder_.path().string());
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].pid, 11);
  EXPECT_EQ(found[0].name, "large");
  EXPECT_EQ(found[0].resident_bytes, 500 * ::sysconf(_SC_PAGESIZE));
  EXPECT_EQ(found[1].name, "middle");
  EXPECT_EQ(machine::largest_processes(9, folder_.path().string()).size(), 3u);
  EXPECT_TRUE(machine::largest_processes(9, "/nowhere").empty());
}

TEST(TerminalText, HasNothingATerminalActsOn) {
  EXPECT_EQ(machine::terminal_text("a b\033[2J\n\x7F"), "a b?[2J??");
  EXPECT_EQ(machine::terminal_text("поезд"), "?????");
}

TEST(ProcessorFacts, ReadsCpuinfo) {
  const std::string text =
      "processor\t: 0\nmodel\t\t: 207\nmodel name\t: Some CPU @ 2.0: fast\nflags\t\t: fpu avx2 "
      "avx512f\npower management:\n\nmodel name\t: another\n";
  EXPECT_EQ(cpu::cpuinfo_value(text, "model name"), "Some CPU @ 2.0: fast");
  EXPECT_EQ(cpu::cpuinfo_value(text, "model"), "207");
  EXPECT_EQ(cpu::cpuinfo_value(text, "power management"), "");
  EXPECT_EQ(cpu::cpuinfo_value(text, "Features"), "");
  EXPECT_EQ(cpu::vector_extensions(cpu::cpuinfo_value(text, "flags")), (Words{"AVX2", "AVX-512"}));
  EXPECT_EQ(cpu::vector_extensions("avx2x xavx512f amx_tile"), Words{"AMX"});
}

TEST(ProcessorFacts, OfThisMachine) {
  const cpu::ProcessorFacts facts = cpu::processor_facts();
  EXPECT_GE(facts.online_cores, 1);
  EXPECT_GE(facts.allowed_cores, 1);
  EXPECT_GE(facts.threads, facts.allowed_cores);  // more where OpenMP binds its first thread
  EXPECT_FALSE(facts.model.empty() || facts.onednn_isa.empty() || facts.kernels_isa.empty());
}

cuda::CardReading card_called(const std::string& name, std::int64_t mib) {
  cuda::CardReading card;
  card.name = name;
  card.total_bytes = mib * kMiB;
  return card;
}

std::string known_as(const std::string& name, std::int64_t mib) {
  const fit::Card* card = cli::known_card(card_called(name, mib));
  return card == nullptr ? "nothing" : std::string(card->key);
}

TEST(KnownCard, EveryCardIsKnownWithItsMemory) {
  for (const fit::Card& card : fit::all_cards()) {
    const std::string name = fmt::format("NVIDIA {}", card.name);
    EXPECT_EQ(known_as(name, card.reported_mib), card.key);
    EXPECT_EQ(known_as(name, card.memory_mib), card.key);
  }
}

TEST(KnownCard, MemoryTellsCardsOfOneNameApart) {
  EXPECT_EQ(known_as("NVIDIA GeForce RTX 4060 Ti", 8188), "rtx4060ti");
  EXPECT_EQ(known_as("NVIDIA GeForce RTX 4060 Ti", 16380), "rtx4060ti-16gb");
  EXPECT_EQ(known_as("NVIDIA GeForce RTX 3060", 12288), "rtx3060");
  EXPECT_EQ(known_as("NVIDIA GeForce RTX 3060", 8192), "rtx3060-8gb");
  EXPECT_EQ(known_as("NVIDIA A100-SXM4-80GB", 81920), "a100-80gb");
  EXPECT_EQ(known_as("NVIDIA GeForce RTX 2080 Ti", 22528), "nothing");  // rebuilt with more
  EXPECT_EQ(known_as("NVIDIA GeForce GT 710", 2048), "nothing");
  EXPECT_EQ(known_as("?", 2048), "nothing");
  cuda::CardReading untold;
  untold.name = "NVIDIA GeForce RTX 3090";
  ASSERT_NE(cli::known_card(untold), nullptr);
  EXPECT_EQ(cli::known_card(untold)->key, "rtx3090");
}

// Two cards, of which the second tells little.
cli::DeviceSnapshot two_cards() {
  cli::DeviceSnapshot snapshot;
  cuda::CardReading first = card_called("NVIDIA GeForce RTX 3060", 12288);
  first.used_bytes = 3 * kGiB;
  first.free_bytes = 9 * kGiB;
  first.busy_percent = 97;
  first.processes = {{::getpid(), 2 * kGiB}, {2147483000, std::nullopt}};
  cuda::CardReading second;
  second.index = 1;
  second.name = "odd \xFF\033[31m";
  second.problem = "memory not known: Not Supported";
  snapshot.gpu = {{first, second}, "550.54.14", "", ""};
  snapshot.memory = {{16 * kGiB, 10 * kGiB, "cgroup"}, 64 * kGiB, 16 * kGiB, std::nullopt};
  snapshot.processes = {{7, "trainer", kGiB}};
  return snapshot;
}

TEST(DevicesReport, JsonOfTwoCards) {
  const auto replace = nlohmann::ordered_json::error_handler_t::replace;
  const auto json = parsed_json(cli::devices_json(two_cards(), {}).dump(2, ' ', false, replace));
  EXPECT_EQ(json["driver"], "550.54.14");
  EXPECT_TRUE(json["problem"].is_null());
  ASSERT_EQ(json["cards"].size(), 2u);
  const auto& first = json["cards"][0];
  EXPECT_EQ(first["index"], 0);
  EXPECT_EQ(first["name"], "NVIDIA GeForce RTX 3060");
  EXPECT_EQ(first["known_as"], "rtx3060");
  EXPECT_EQ(first["total_bytes"], 12 * kGiB);
  EXPECT_EQ(first["used_bytes"], 3 * kGiB);
  EXPECT_EQ(first["free_bytes"], 9 * kGiB);
  EXPECT_EQ(first["processes"][0]["pid"], ::getpid());
  EXPECT_EQ(first["processes"][0]["bytes"], 2 * kGiB);
  EXPECT_EQ(first["processes"][1]["name"], "?");
  EXPECT_TRUE(first["processes"][1]["bytes"].is_null());
  const auto& second = json["cards"][1];
  EXPECT_TRUE(second["known_as"].is_null() && second["total_bytes"].is_null());
  EXPECT_EQ(second["problem"], "memory not known: Not Supported");
  EXPECT_EQ(json["memory"]["used_bytes"], 6 * kGiB);
  EXPECT_EQ(json["memory"]["machine_bytes"], 64 * kGiB);
  EXPECT_EQ(json["memory"]["cgroup_limit_bytes"], 16 * kGiB);
  EXPECT_TRUE(json["memory"]["ulimit_bytes"].is_null());
}

TEST(DevicesReport, TextOfTwoCards) {
  const std::string text = cli::devices_text(two_cards(), {});
  expect_holds(text, {"driver      550.54.14", "card 0      NVIDIA GeForce RTX 3060",
                      "--card=rtx3060", "12.00 GiB; 3.00 GiB used, 9.00 GiB free", "97% busy",
                      "2147483000     unknown  ?", "memory      unknown; unknown used",
                      "card 1      odd ??[31m", "memory not known: Not Supported",
                      "RAM         16.00 GiB; 6.00 GiB used, 10.00 GiB available",
                      "limited by  the cgroup: machine 64.00 GiB, cgroup 16.00 GiB, ulimit -v none",
                      "trainer"});
  EXPECT_EQ(text.find("no card"), std::string::npos);
}

TEST(DevicesReport, NumbersAreCudas) {
  cli::DeviceSnapshot snapshot = two_cards();
  snapshot.gpu.cards[0].pci_address = "0000:01:00";
  snapshot.gpu.cards[1].pci_address = "0000:02:00";
  expect_holds(cli::devices_text(snapshot, {}), {"numbers     the driver's"});
  cuda::number_cards({{}, "CUDA does not start: error 803"}, snapshot.gpu);
  expect_holds(cli::devices_text(snapshot, {}), {"the driver's: CUDA does not start: error 803"});
  cuda::number_cards({{"0000:02:00", "0000:01:00"}, ""}, snapshot.gpu);
  const std::string text = cli::devices_text(snapshot, {});
  expect_holds(text, {"card 1      NVIDIA GeForce RTX 3060", "card 0      odd "});
  EXPECT_EQ(text.find("numbers"), std::string::npos);
  EXPECT_EQ(cli::devices_json(snapshot, {})["cards"][0]["index"], 1);
  EXPECT_EQ(cli::devices_json(snapshot, {})["cards"][0]["nvml_index"], 0);
}

TEST(DevicesReport, HiddenAndDividedCardsAreSaid) {
  cli::DeviceSnapshot snapshot = two_cards();
  snapshot.gpu.cards[0].pci_address = "0000:01:00";
  snapshot.gpu.cards[1].pci_address = "0000:02:00";
  snapshot.gpu.cards[0].is_divided = true;
  cuda::number_cards({{"0000:01:00"}, ""}, snapshot.gpu);
  ::setenv("CUDA_VISIBLE_DEVICES", "0", 1);
  const std::string text = cli::devices_text(snapshot, {});
  ::unsetenv("CUDA_VISIBLE_DEVICES");
  expect_holds(text, {"divided     by MIG", "card -      odd ",
                      "hidden      no run can use it: CUDA does not see it "
                      "(CUDA_VISIBLE_DEVICES=0)"});
  EXPECT_EQ(text.find("may take"), std::string::npos) << "of a part nothing is known";
  const auto json = cli::devices_json(snapshot, {});
  EXPECT_TRUE(json["cards"][1]["index"].is_null());
  EXPECT_EQ(json["cards"][1]["hidden_from_cuda"], true);
  EXPECT_EQ(json["cards"][0]["divided"], true);
}

TEST(DevicesReport, MemoryThatNobodyIsToldToHold) {
  cli::DeviceSnapshot snapshot = two_cards();
  snapshot.gpu.cards[0].processes.clear();
  expect_holds(cli::devices_text(snapshot, {}), {"processes   none is told"});
  snapshot.gpu.cards[0].used_bytes = 300 * kMiB;
  EXPECT_EQ(cli::devices_text(snapshot, {}).find("none is told"), std::string::npos);
}

// What is free less CUDA's context; nothing is said of a card that does not tell what is free.
TEST(DevicesReport, TellsWhatARunMayTake) {
  const std::vector<cuda::CardReading> cards = two_cards().gpu.cards;
  const std::int64_t context = fit::cuda_context(fit::card_named("rtx3060")).high_bytes;
  ASSERT_GT(context, 0);
  EXPECT_EQ(cli::usable_bytes(cards[0]), 9 * kGiB - context);
  EXPECT_EQ(cli::usable_bytes(cards[1]), std::nullopt);
  const std::string text = cli::devices_text(two_cards(), {});
  const std::string told = "a run       may take about " + format_bytes(9 * kGiB - context);
  expect_holds(text, {told.c_str()});
  EXPECT_EQ(text.find("may take"), text.rfind("may take"));
  cuda::CardReading full = cards[0];
  full.free_bytes = kMiB;
  EXPECT_EQ(cli::usable_bytes(full), 0);
}

// The program in the root folder, which needs no data.
ProgramResult devices(const Words& arguments = {}, std::int64_t address_space = 0) {
  ProgramSettings settings;
  settings.folder = "/";
  settings.address_space = address_space;
  return run_program(Words{"devices"} + arguments, settings);
}

// The program finds no library while it lives.
class WithoutLibrary {
 public:
  WithoutLibrary() { ::setenv("SNUG_NVML", "/nowhere/libnvidia-ml.so.1", 1); }
  ~WithoutLibrary() { ::unsetenv("SNUG_NVML"); }
};

TEST(CliDevices, ShowsThisMachine) {
  const ProgramResult result = devices();
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  expect_holds(result.out, {"card", "processor   ", "cores       ", " by oneDNN, ", "RAM         ",
                            "limited by  the ", "largest     pid"});
}

TEST(CliDevices, JsonOfThisMachine) {
  const ProgramResult result = devices({"--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto json = parsed_json(result.out);
  ASSERT_FALSE(json.is_discarded()) << result.out;
  ASSERT_TRUE(json["cards"].is_array());
  EXPECT_EQ(json["cards"].empty(), !json["problem"].is_null());
  for (const auto& card : json["cards"]) {
    EXPECT_TRUE(card["index"].is_number() && card["name"].is_string());
    EXPECT_TRUE(card["processes"].is_array());
  }
  EXPECT_GE(json["cpu"]["threads"], 1);
  const auto& memory = json["memory"];
  EXPECT_EQ(
      memory["total_bytes"].get<std::int64_t>(),
      memory["used_bytes"].get<std::int64_t>() + memory["available_bytes"].get<std::int64_t>());
  EXPECT_LE(memory["total_bytes"], memory["machine_bytes"]);
  ASSERT_GE(memory["processes"].size(), 1u);
  EXPECT_GT(memory["processes"][0]["bytes"], 0);
}

TEST(CliDevices, NoLibraryIsSaidPlainly) {
  const WithoutLibrary none;
  const ProgramResult text = devices();
  EXPECT_EQ(text.exit_code, 0) << text.err;
  expect_holds(text.out, {"no card: /nowhere/libnvidia-ml.so.1 is not there", "processor"});
  const auto json = parsed_json(devices({"--json"}).out);
  ASSERT_FALSE(json.is_discarded());
  EXPECT_TRUE(json["cards"].empty() && json["driver"].is_null());
  EXPECT_NE(json["problem"].get<std::string>().find("is not there"), std::string::npos);
}

TEST(CliDevices, TellsTheLimitOfItsProcess) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer needs the address space itself";
  const WithoutLibrary none;
  const auto json = parsed_json(devices({"--json"}, kGiB).out);
  ASSERT_FALSE(json.is_discarded());
  EXPECT_EQ(json["memory"]["ulimit_bytes"], kGiB);
  EXPECT_EQ(json["memory"]["total_bytes"], kGiB);
}

TEST(CliDevices, OtherArgumentsAreRefused) {
  for (const char* bad : {"gpu", "--jsn", "--json=1"}) {
    const ProgramResult result = devices({bad});
    EXPECT_EQ(result.exit_code, 2);
    expect_holds(result.err, {bad, "--json"});
    EXPECT_EQ(result.out, "");
  }
}

TEST(CliDevices, HelpNamesItsFlag) {
  const ProgramResult result = devices({"--help"});
  EXPECT_EQ(result.exit_code, 0);
  expect_holds(result.out, {"snug devices", "--json"});
}

}  // namespace
}  // namespace snug
