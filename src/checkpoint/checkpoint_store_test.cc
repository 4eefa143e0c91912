#include "checkpoint/checkpoint_store.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "checkpoint/checkpoint_testing.h"

namespace snug::checkpoint {
namespace {

namespace fs = std::filesystem;
using testing::FaultPlan;
using testing::FaultyFileSystem;
using testing::names_in;
using testing::read_text;
using testing::state_at;
using testing::TinyModel;
using testing::write_text;
using Names = std::set<std::string>;

class CheckpointStoreTest : public ::testing::Test {
 protected:
  CheckpointStore store(int keep_count = 3) { return {out_, keep_count}; }
  CheckpointStore faulty_store(FaultPlan& plan) {
    return {out_, 3, std::make_unique<FaultyFileSystem>(plan)};
  }
  CheckpointStore unsynced() {
    no_faults_ = {};
    return faulty_store(no_faults_);
  }
  Saved save(CheckpointStore store, int iteration, bool is_best = false) {
    model_.fill(iteration);
    return store.save(testing::state_at(iteration), model_.tensors(), is_best);
  }
  // Flips one bit near the end of the file: of a tensor, or of the last brace.
  void damage(const Path& file) {
    std::string text = testing::read_text(file);
    char& victim = text.at(text.size() - 2);
    victim = static_cast<char>(victim ^ 1);
    testing::write_text(file, text);
  }
  template <typename Failure, typename Call>
  std::string message_of(Call call) {
    try {
      call();
    } catch (const Failure& error) {
      return error.what();
    }
    return "nothing thrown";
  }
  void expect_has(const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << "wanted: " << part << "\nfound: " << text;
  }

  testing::TemporaryFolder temporary_;
  Path out_ = temporary_.path() / "runs" / "out";
  TinyModel model_;
  FaultPlan no_faults_;
};

TEST_F(CheckpointStoreTest, LoadsWhatItSaved) {
  const Saved saved = save(store(), 250);
  EXPECT_EQ(saved.folder, (out_ / "step-000250").string());
  EXPECT_TRUE(saved.warnings.empty());
  EXPECT_EQ(testing::names_in(saved.folder),
            Names({"model.safetensors", "optimizer.safetensors", "state.json"}));
  EXPECT_EQ(testing::names_in(out_), Names({"latest", "step-000250"}));
  EXPECT_EQ(fs::read_symlink(out_ / "latest"), "step-000250");

  model_.fill(0);
  const Loaded loaded = store().load(model_.tensors());
  EXPECT_TRUE(model_.holds(250));
  EXPECT_EQ(loaded.state.iteration, 250);
  EXPECT_EQ(loaded.folder, saved.folder);
  EXPECT_TRUE(loaded.warnings.empty());
}

TEST_F(CheckpointStoreTest, KeepsTheNewestAndTheBest) {
  save(store(2), 100);
  save(store(2), 200, true);
  for (const int iteration : {300, 400, 500}) save(store(2), iteration);
  EXPECT_EQ(testing::names_in(out_),
            Names({"best", "latest", "step-000200", "step-000400", "step-000500"}));
  EXPECT_EQ(fs::read_symlink(out_ / "best"), "step-000200");
  EXPECT_EQ(store().load(model_.tensors(), WhichCheckpoint::kBest).state.iteration, 200);
  EXPECT_TRUE(model_.holds(200));
  save(store(2), 600, true);
  EXPECT_EQ(testing::names_in(out_), Names({"best", "latest", "step-000500", "step-000600"}));
}

TEST_F(CheckpointStoreTest, ANewRunInAnOldFolderIsTheNewest) {
  save(store(2), 5000);
  save(store(2), 250);
  EXPECT_EQ(store().peek()->state.iteration, 250);
  save(store(2), 500);
  EXPECT_EQ(testing::names_in(out_), Names({"latest", "step-000250", "step-000500"}));
}

TEST_F(CheckpointStoreTest, SavingAnIterationAgainReplacesIt) {
  save(store(1), 250, true);
  model_.fill(7);
  TrainingState state = testing::state_at(250);
  state.seed = 7;
  store(1).save(state, model_.tensors(), false);
  EXPECT_EQ(testing::names_in(out_), Names({"best", "latest", "step-000250"}));
  model_.fill(0);
  EXPECT_EQ(store().load(model_.tensors()).state.seed, 7u);
  EXPECT_TRUE(model_.holds(7));
}

TEST_F(CheckpointStoreTest, SamplingNeedsNoOptimizer) {
  const Saved saved = save(store(), 10);
  fs::remove(Path(saved.folder) / "optimizer.safetensors");
  EXPECT_EQ(store().load(model_.weights_only()).state.iteration, 10);
  EXPECT_TRUE(store().peek(Parts::kWeights).has_value());
  EXPECT_THROW(store().peek(), DataError);
  EXPECT_THROW(store().load(model_.tensors()), DataError);
}

TEST_F(CheckpointStoreTest, DamageAnywhereFallsBackToTheOneBefore) {
  for (const char* file : {"model.safetensors", "optimizer.safetensors", "state.json"}) {
    for (const bool cut : {false, true}) {
      fs::remove_all(out_);
      save(store(), 100);
      const Path victim = Path(save(store(), 200).folder) / file;
      cut ? fs::resize_file(victim, fs::file_size(victim) / 2) : damage(victim);
      model_.fill(0);
      const Loaded loaded = store().load(model_.tensors());
      EXPECT_EQ(loaded.state.iteration, 100) << file;
      EXPECT_TRUE(model_.holds(100)) << file;
      ASSERT_EQ(loaded.warnings.size(), 1u);
      expect_has(loaded.warnings[0], victim.string());
      EXPECT_EQ(loaded.warnings[0].find('\n'), std::string::npos);
    }
  }
}

TEST_F(CheckpointStoreTest, AMissingFileFallsBackToo) {
  save(store(), 100);
  const Saved saved = save(store(), 200);
  fs::remove(Path(saved.folder) / "state.json");
  const auto peeked = store().peek();
  EXPECT_EQ(peeked->state.iteration, 100);
  ASSERT_EQ(peeked->warnings.size(), 1u);
  expect_has(peeked->warnings[0], "step-000200/state.json");
  save(store(1), 300);  // what cannot be read is not removed, nor is it what is kept
  EXPECT_EQ(testing::names_in(out_), Names({"latest", "step-000200", "step-000300"}));
  EXPECT_TRUE(store().peek()->warnings.empty());
}

TEST_F(CheckpointStoreTest, AnOlderOneOfAnotherModelIsAnErrorThatTellsBoth) {
  TinyModel wide(6);
  store().save(testing::state_at(100), wide.tensors(), false);
  damage(Path(save(store(), 200).folder) / "model.safetensors");
  const auto message = message_of<DataError>([&] { store().load(model_.tensors()); });
  expect_has(message, "step-000100: tensor 'wte.weight'");
  expect_has(message, "wanted F32 (7, 5), found F32 (7, 6)");
  expect_has(message, "step-000200/model.safetensors: the content has changed");
}

TEST_F(CheckpointStoreTest, MissingRenamedAndUnwantedTensorsAreNamed) {
  save(store(), 100);
  TinyModel other;
  other.weights[0].name = "transformer.wte.weight";
  expect_has(message_of<DataError>([&] { store().load(other.tensors()); }),
             "tensor 'transformer.wte.weight' is missing");
  other.weights.erase(other.weights.begin());
  expect_has(message_of<DataError>([&] { store().load(other.tensors()); }),
             "tensor 'wte.weight' is not one of this model");
}

TEST_F(CheckpointStoreTest, NothingToLoadIsSaid) {
  EXPECT_EQ(store().peek(), std::nullopt);
  const auto message = message_of<DataError>([&] { store().load(model_.tensors()); });
  expect_has(message, "no checkpoint to load in " + out_.string());
  expect_has(message, "train from scratch");
  EXPECT_FALSE(fs::exists(out_));
  damage(Path(save(store(), 1).folder) / "model.safetensors");
  expect_has(message_of<DataError>([&] { store().load(model_.tensors()); }), "has changed");
}

TEST_F(CheckpointStoreTest, ABestThatIsGoneGivesTheNewest) {
  save(store(), 100);
  const Loaded loaded = store().load(model_.tensors(), WhichCheckpoint::kBest);
  EXPECT_EQ(loaded.state.iteration, 100);
  ASSERT_EQ(loaded.warnings.size(), 1u);
  expect_has(loaded.warnings[0], "best leads to no usable checkpoint");
}

TEST_F(CheckpointStoreTest, ChecksThatOutDirCanBeWritten) {
  store().check_writable();
  EXPECT_TRUE(testing::names_in(out_).empty());
  CheckpointStore((out_ / "a" / "").string(), 1).check_writable();
  EXPECT_EQ(testing::names_in(out_), Names({"a"}));

  testing::write_text(out_ / "file", "");
  CheckpointStore at_file(out_ / "file", 1), below_file(out_ / "file" / "out", 1);
  expect_has(message_of<ConfigError>([&] { at_file.check_writable(); }), "is a file");
  expect_has(message_of<DeviceError>([&] { below_file.check_writable(); }),
             "name another --out_dir");
  fs::create_directory(out_ / "latest");
  expect_has(message_of<ConfigError>([&] { store().check_writable(); }), "latest is a folder");
  fs::remove(out_ / "latest");

  FaultPlan plan;
  plan.fault_at = 0;
  plan.error_number = EROFS;
  CheckpointStore read_only = faulty_store(plan);
  expect_has(message_of<DeviceError>([&] { read_only.check_writable(); }), out_.string());
  EXPECT_THROW(store(0), ConfigError);
}

TEST_F(CheckpointStoreTest, TooLittleSpaceIsToldBeforeWriting) {
  FaultPlan plan;
  plan.free_bytes = 1000;
  CheckpointStore full = faulty_store(plan);
  const auto message =
      message_of<DeviceError>([&] { full.save(testing::state_at(1), model_.tensors(), false); });
  expect_has(message, "needs 1.00 MiB");
  expect_has(message, "1000 B (1000 bytes) free");
  EXPECT_TRUE(testing::names_in(out_).empty());
}

TEST_F(CheckpointStoreTest, CheckingTheSpaceTouchesNothing) {
  store().check_space(model_.tensors());
  EXPECT_FALSE(fs::exists(out_.parent_path()));
  FaultPlan plan;
  plan.free_bytes = 1000;
  CheckpointStore full = faulty_store(plan);
  EXPECT_THROW(full.check_space(model_.tensors()), DeviceError);
  EXPECT_EQ(plan.operation_count, 0);
  CheckpointStore("relative-and-not-there", 1).check_space(model_.tensors());
  EXPECT_FALSE(fs::exists("relative-and-not-there"));
}

TEST_F(CheckpointStoreTest, OneTrainingAtATime) {
  {
    CheckpointStore first = store(), second = store();
    first.check_writable();
    first.check_writable();  // it is its own
    const auto message = message_of<DeviceError>([&] { second.check_writable(); });
    expect_has(message, "out_dir is in use by another training");
    expect_has(message, out_.string());
    save(store(), 100);
    EXPECT_EQ(second.load(model_.tensors()).state.iteration, 100);
  }
  store().check_writable();
}

TEST_F(CheckpointStoreTest, ADamagedOneTakesNoPlaceAmongThoseKept) {
  save(store(2), 100);
  damage(Path(save(store(2), 200).folder) / "model.safetensors");
  CheckpointStore resumed = store(2);
  EXPECT_EQ(resumed.load(model_.tensors()).state.iteration, 100);
  resumed.save(testing::state_at(150), model_.tensors(), false);
  EXPECT_EQ(testing::names_in(out_),
            Names({"latest", "step-000100", "step-000150", "step-000200"}));
  resumed.save(testing::state_at(250), model_.tensors(), false);
  EXPECT_EQ(testing::names_in(out_), Names({"latest", "step-000150", "step-000250"}));
}

TEST_F(CheckpointStoreTest, ADamagedOneThatIsSavedAgainCounts) {
  save(store(1), 100);
  save(store(2), 200);
  damage(out_ / "step-000200" / "model.safetensors");
  CheckpointStore resumed = store(1);
  EXPECT_EQ(resumed.load(model_.tensors()).state.iteration, 100);
  resumed.save(testing::state_at(200), model_.tensors(), false);
  EXPECT_EQ(testing::names_in(out_), Names({"latest", "step-000200"}));
}

TEST_F(CheckpointStoreTest, SetsAsideWhatAnEarlierRunLeft) {
  store().check_writable();
  EXPECT_EQ(store().set_aside({"log"}), std::nullopt);
  testing::write_text(out_ / "log", "");
  EXPECT_EQ(store().set_aside({"log"}), std::nullopt);  // nothing to lose
  testing::write_text(out_ / "log", "lines");
  EXPECT_EQ(store().set_aside({"log"}), out_ / "earlier-1");
  EXPECT_EQ(testing::read_text(out_ / "earlier-1" / "log"), "lines");
  save(store(), 100, true);
  EXPECT_EQ(store().set_aside({"log"}), out_ / "earlier-2");
  EXPECT_EQ(testing::names_in(out_ / "earlier-2"), Names({"best", "latest", "step-000100"}));
  EXPECT_EQ(testing::names_in(out_), Names({"earlier-1", "earlier-2"}));
}

// A kill at any operation of it, then a new run that reads: the whole old run is there, in order.
TEST_F(CheckpointStoreTest, AKillWhileSettingAsideDoesNotSplitTheRun) {
  bool done = false;
  for (int operation = 0; !done; ++operation) {
    fs::remove_all(out_);
    for (const int iteration : {100, 200, 300}) save(unsynced(), iteration, iteration == 200);
    write_text(out_ / "log", "lines");
    FaultPlan plan;
    plan.fault_at = operation;
    try {
      faulty_store(plan).set_aside({"log"});
      done = true;
      continue;
    } catch (const testing::PowerLoss&) {
    }
    SCOPED_TRACE(operation);
    if (fs::exists(out_ / "earlier-1")) {  // it was through
      EXPECT_EQ(names_in(out_ / "earlier-1").size(), 6u);
      continue;
    }
    EXPECT_EQ(unsynced().load(model_.tensors()).state.iteration, 300);
    EXPECT_EQ(unsynced().load(model_.tensors(), WhichCheckpoint::kBest).state.iteration, 200);
    unsynced().check_writable();
    EXPECT_EQ(names_in(out_),
              Names({"best", "latest", "log", "step-000100", "step-000200", "step-000300"}));
  }
  EXPECT_EQ(names_in(out_), Names({"earlier-1"}));
}

TEST_F(CheckpointStoreTest, AFolderThatWasMovedAwayIsMadeAnew) {
  CheckpointStore running = store();
  running.check_writable();
  running.save(state_at(100), model_.tensors(), false);
  EXPECT_EQ(running.reclaim(), std::nullopt);
  fs::rename(out_, out_.parent_path() / "moved");
  const auto told = running.reclaim();
  ASSERT_TRUE(told);
  expect_has(*told, out_.string() + " was moved or removed");
  EXPECT_THROW(store().check_writable(), DeviceError);  // locked again
  running.save(state_at(200), model_.tensors(), false);
  EXPECT_EQ(names_in(out_), Names({"latest", "step-000200"}));
  EXPECT_EQ(names_in(out_.parent_path() / "moved"), Names({"latest", "step-000100"}));
}

TEST_F(CheckpointStoreTest, TheErrorThatStoppedASaveIsTold) {
  class Failing : public FaultyFileSystem {
   public:
    using FaultyFileSystem::FaultyFileSystem;
    std::optional<std::int64_t> free_bytes(const Path& folder) override {
      if (asked_++ > 0) throw FileError("read the free space of", folder, ENOENT);
      return std::nullopt;
    }
    int asked_ = 0;
  };
  for (const int error_number : {EIO, ENOSPC}) {
    FaultPlan plan;
    plan.fault_at = 8;
    plan.error_number = error_number;
    CheckpointStore broken(out_, 1, std::make_unique<Failing>(plan));
    const auto message =
        message_of<DeviceError>([&] { broken.save(state_at(1), model_.tensors(), false); });
    expect_has(message, error_number == EIO ? "Input/output error" : "No space left");
    EXPECT_EQ(message.find("make room") == std::string::npos, error_number == EIO) << message;
  }
}

// A run keeps three, the best one, and writes one more.
TEST_F(CheckpointStoreTest, ARunNeedsSpaceForAllThatAreThereAtOnce) {
  save(unsynced(), 100);
  FaultPlan plan;
  plan.free_bytes = 4 * checkpoint_bytes(model_.tensors());
  faulty_store(plan).check_space(model_.tensors(), CheckpointStore::Space::kResumedRun);
  CheckpointStore full = faulty_store(plan);
  expect_has(message_of<DeviceError>(
                 [&] { full.check_space(model_.tensors(), CheckpointStore::Space::kNewRun); }),
             "the 5 checkpoints that are there at once");
}

// What a foreign out_dir may hold: links under the names that are written.
TEST_F(CheckpointStoreTest, NothingIsWrittenThroughALink) {
  const Path precious = temporary_.path() / "precious";
  write_text(precious, "mine");
  fs::create_directories(out_);
  FileSystem disk;
  fs::create_symlink(precious, out_ / "file");
  EXPECT_THROW(disk.create_file(out_ / "file"), FileError);
  fs::create_symlink(precious, out_ / (".tmp-probe-" + std::to_string(::getpid())));
  fs::create_symlink(precious, out_ / ".tmp-link-latest");
  fs::create_symlink(precious, out_ / "latest");
  save(unsynced(), 100, true);
  EXPECT_EQ(read_text(precious), "mine");
  EXPECT_EQ(fs::read_symlink(out_ / "latest"), "step-000100");
}

TEST_F(CheckpointStoreTest, RemovesWhatKilledRunsLeftAndNothingElse) {
  save(store(), 100);
  for (const char* name : {".tmp-99999-0", ".tmp-removed-step-000050", ".tmp-mine", ".tmp-busy"}) {
    fs::create_directory(out_ / name);
    testing::write_text(out_ / name / "model.safetensors", "half");
  }
  testing::write_text(out_ / ".tmp-mine" / "notes.txt", "keep me");
  testing::write_text(out_ / ".tmp-probe-99999", "");
  fs::create_symlink("step-000100", out_ / ".tmp-link-latest");
  fs::create_directory(out_ / "step-notes");
  const FolderLock busy(out_ / ".tmp-busy");
  store().check_writable();
  EXPECT_EQ(testing::names_in(out_),
            Names({".tmp-busy", ".tmp-mine", "latest", "step-000100", "step-notes"}));
}

// Starts another run in the same out_dir in the middle of a save.
class MeddlingFileSystem : public FileSystem {
 public:
  explicit MeddlingFileSystem(Path out_dir) : out_dir_(std::move(out_dir)) {}
  int create_file(const Path& path) override {
    CheckpointStore(out_dir_, 1).check_writable();
    return FileSystem::create_file(path);
  }

 private:
  Path out_dir_;
};

TEST_F(CheckpointStoreTest, ASaveUnderWayIsLeftAloneByOthers) {
  save({out_, 1, std::make_unique<MeddlingFileSystem>(out_)}, 100);
  EXPECT_EQ(store().load(model_.tensors()).state.iteration, 100);
}

TEST_F(CheckpointStoreTest, ACheckpointWithNotesInItIsNotRemoved) {
  testing::write_text(Path(save(store(1), 100).folder) / "notes.txt", "the good one");
  save(store(1), 200);
  EXPECT_EQ(testing::names_in(out_), Names({"latest", "step-000100", "step-000200"}));
  EXPECT_EQ(testing::names_in(out_ / "step-000100").size(), 4u);
}

TEST_F(CheckpointStoreTest, WithoutLinksATextFileNamesTheFolder) {
  FaultPlan plan;
  plan.links_unsupported = true;
  save(faulty_store(plan), 100, true);
  save(faulty_store(plan), 200);
  EXPECT_EQ(testing::read_text(out_ / "latest"), "step-000200\n");
  EXPECT_EQ(store().load(model_.tensors(), WhichCheckpoint::kBest).state.iteration, 100);
}

TEST_F(CheckpointStoreTest, StepNames) {
  EXPECT_EQ(step_name(250), "step-000250");
  EXPECT_EQ(step_name(12345678), "step-12345678");
  EXPECT_EQ(parse_step_name("step-000250"), 250);
  EXPECT_EQ(parse_step_name("step-12345678"), 12345678);
  for (const char* name : {"", "step-", "step-250", "step--00250", "step-000250x", "step-0000250",
                           "step-99999999999999999999", "stop-000250", "step-000250.replaced"}) {
    EXPECT_EQ(parse_step_name(name), std::nullopt) << name;
  }
}

}  // namespace
}  // namespace snug::checkpoint
