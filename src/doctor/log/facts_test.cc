// Evidence beside the failure.
#include <gtest/gtest.h>

#include <algorithm>

#include "doctor/log/for_test.h"

namespace snug::doctor::log {
namespace {

// The last value a source gave a key; empty when it gave none.
std::string value_of(const LogFacts& facts, std::string_view key, LogSettingSource source) {
  const auto found =
      std::find_if(facts.settings.rbegin(), facts.settings.rend(),
                   [&](const LogSetting& s) { return s.key == key && s.source == source; });
  return found == facts.settings.rend() ? "" : found->value;
}

constexpr std::string_view kRun =
    "$ torchrun --standalone --nproc_per_node=2 --nnodes 2 train.py config/train_gpt2.py "
    "--batch_size=64\n"
    "Overriding config with config/train_gpt2.py:\n"
    "# launch: torchrun --nproc_per_node=8 train.py on 8X A100 40GB\n"
    "\n"
    "wandb_run_name='gpt2-124M#1' # name\n"
    "batch_size = 12\n"
    "gradient_accumulation_steps = 5 * 8\n"
    "\n"
    "Overriding: batch_size = 64\n"
    "tokens per iteration will be: 491,520\n"
    "defaulting to vocab_size of GPT-2 to 50304 (50257 rounded up for efficiency)\n"
    "Initializing from OpenAI GPT-2 weights: gpt2-xl\n"
    "number of parameters: 123.59M\n"
    "num decayed parameter tensors: 50, with 124,354,560 parameters\n"
    "using fused AdamW: True\n"
    "compiling the model... (takes a ~minute)\n"
    "step 0: train loss 10.9914, val loss 10.9912\n"
    "iter 3: loss 10.9886, time 34567.11ms, mfu -100.00%\n"
    "iter 17: loss 9.2, time 200.11ms, mfu 20.00%\n"
    "step 250: train loss 3.1, val loss 3.2\n";

TEST(LogFacts, NanoGptsOwnLines) {
  const LogFacts facts = read_text(kRun).facts;
  EXPECT_EQ(facts.tokens_per_iteration, 491520);
  EXPECT_EQ(facts.vocab_size, 50304);
  EXPECT_EQ(facts.pretrained, "gpt2-xl");
  ASSERT_TRUE(facts.parameter_count);
  EXPECT_EQ(facts.parameter_count->low, 123585000);
  EXPECT_EQ(facts.decayed_parameter_count, 124354560);
  EXPECT_EQ(facts.fused_adamw, true);
  EXPECT_TRUE(facts.is_compiled);
  EXPECT_FALSE(facts.is_resumed);
  EXPECT_EQ(facts.last_iteration, 17);
  EXPECT_EQ(facts.evaluation_count, 2);
  EXPECT_TRUE(read_text("Resuming training from out\n").facts.is_resumed);
  EXPECT_TRUE(read_text("WARNING: using slow attention. Flash Attention requires PyTorch >= 2.0\n")
                  .facts.uses_slow_attention);
  EXPECT_EQ(read_text("found vocab_size = 65 (inside data/x/meta.pkl)\n").facts.vocab_size, 65);
}

TEST(LogFacts, SettingsBySource) {
  const LogFacts facts = read_text(kRun).facts;
  EXPECT_EQ(value_of(facts, "batch_size", LogSettingSource::kCommandLine), "64");
  EXPECT_EQ(value_of(facts, "batch_size", LogSettingSource::kConfigEcho), "12");
  EXPECT_EQ(value_of(facts, "batch_size", LogSettingSource::kOverride), "64");
  EXPECT_EQ(value_of(facts, "wandb_run_name", LogSettingSource::kConfigEcho), "'gpt2-124M#1'");
  EXPECT_EQ(value_of(facts, "gradient_accumulation_steps", LogSettingSource::kConfigEcho), "5 * 8");
  EXPECT_EQ(facts.config_files, std::vector<std::string>{"config/train_gpt2.py"});
  EXPECT_NE(facts.config_text.find("batch_size = 12\n"), std::string::npos);
  EXPECT_EQ(facts.config_text.find("tokens per"), std::string::npos);
  EXPECT_EQ(facts.world_size, 4);
  // The file's comment is of another run.
  EXPECT_TRUE(facts.cards.empty());
}

TEST(LogFacts, SettingsInPassing) {
  const LogFacts facts =
      read_text(
          "model args {'n_layer': 12, \"n_head\": 6} and per_gpu_train_batch_size=4, "
          "dtype=float16\n"
          "def get_batch(batch_size=batch_size): block_size = n\n"
          "export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True\n"
          "python train.py \\\n  --compile=False \\\n  --block_size=256\n--block_size=1\n")
          .facts;
  EXPECT_EQ(value_of(facts, "n_layer", LogSettingSource::kMention), "12");
  EXPECT_EQ(value_of(facts, "n_head", LogSettingSource::kMention), "6");
  EXPECT_EQ(value_of(facts, "per_gpu_train_batch_size", LogSettingSource::kMention), "4");
  EXPECT_EQ(value_of(facts, "dtype", LogSettingSource::kMention), "float16");
  EXPECT_EQ(value_of(facts, "batch_size", LogSettingSource::kMention), "");
  EXPECT_EQ(value_of(facts, "block_size", LogSettingSource::kCommandLine), "256");
  EXPECT_EQ(value_of(facts, "compile", LogSettingSource::kCommandLine), "False");
  EXPECT_EQ(value_of(facts, "PYTORCH_CUDA_ALLOC_CONF", LogSettingSource::kEnvironment),
            "expandable_segments:True");
}

// A config holds text only.
TEST(LogFacts, SettingsAreText) {
  const LogFacts facts =
      read_text("Overriding: out_dir = a\xFF\nOverriding: out_dir\xFF = b\n").facts;
  EXPECT_TRUE(facts.settings.empty());
  EXPECT_EQ(read_text("Overriding: out_dir = \xC3\xA9\n").facts.settings.size(), 1U);
}

TEST(LogFacts, TorchVersion) {
  for (const char* text :
       {"PyTorch version: 2.3.1\n", "PyTorch version: Version: 2.3.1\n", "torch==2.3.1\n",
        "PyTorch 2.3.1 ; macOS\n", "torch 2.3 or so, torch 2.3.1",
        "- PyTorch version (GPU?): 2.3.1 (True)\n"}) {
    EXPECT_EQ(read_text(text).facts.torch_version, "2.3.1") << text;
  }
  EXPECT_EQ(read_text("torch/nn/functional.py, torchvision 0.2, torch.Size([2, 3])\n")
                .facts.torch_version,
            "");
}

TEST(LogFacts, NvidiaSmi) {
  const LogFacts facts =
      read_text(
          "|===============================+======================+======================|\n"
          "|   0  NVIDIA GeForce ... WDDM  | 00000000:01:00.0  On |                  N/A |\n"
          "| N/A   53C    P8     8W /  N/A |    451MiB /  6144MiB |      6%      Default |\n"
          "|   1  Tesla K80           On   | 00000000:04:00.0 Off |                    0 |\n"
          "| N/A   28C    P8    26W / 149W |      1MiB / 11439MiB |      0%      Default |\n"
          "|    1   N/A  N/A      2345      C   python                          1120MiB |\n")
          .facts;
  ASSERT_EQ(facts.cards.size(), 2U);
  EXPECT_EQ(facts.cards[0].name, "NVIDIA GeForce ...");
  EXPECT_EQ(facts.cards[1].name, "Tesla K80");
}

TEST(LogFacts, CardsInPassing) {
  const LogFacts facts =
      read_text(
          "GPU models: GPU 0: NVIDIA GeForce RTX 3060 Laptop GPU\nGPU 1: NVIDIA A100-SXM4-40GB\n"
          "on GTX1650 (4GB), 8xH100 and an RTX 3060\n/usr/lib/nvidia/tesla470/a100.so\n")
          .facts;
  std::vector<std::string> names;
  for (const LogCard& card : facts.cards) names.push_back(card.name);
  EXPECT_EQ(names, (std::vector<std::string>{"NVIDIA GeForce RTX 3060 Laptop GPU",
                                             "NVIDIA A100-SXM4-40GB", "GTX1650", "H100"}));
}

TEST(LogFacts, ShapesAreKeptEvenWithoutAFailure) {
  const LogFacts facts = read_text(
                             "    buf0 = empty_strided_cuda((12, 1024, 50304), (51511296,\n"
                             "    50304, 1), torch.float32)\n")
                             .facts;
  ASSERT_EQ(facts.shapes.size(), 1U);
  EXPECT_EQ(facts.shapes[0].dims, (std::vector<std::int64_t>{12, 1024, 50304}));
  EXPECT_EQ(byte_count_of(facts.shapes[0]), std::int64_t{12} * 1024 * 50304 * 4);
  EXPECT_EQ(byte_count_of(LogShape{{1LL << 40, 1LL << 40}, "float32", 1}), std::nullopt);
  EXPECT_EQ(byte_count_of(LogShape{{2}, "quaternion", 1}), std::nullopt);
}

TEST(LogFacts, HintsAboutTf32AreHarmless) {
  for (const char* text :
       {"/x/torch/_inductor/compile_fx.py:167: UserWarning: TensorFloat32 tensor cores for float32 "
        "matrix multiplication available but not enabled. Consider setting "
        "`torch.set_float32_matmul_precision('high')` for better performance.\n",
        "UserWarning: Please use the new API settings to control TF32 behavior, such as "
        "torch.backends.cudnn.conv.fp32_precision = 'tf32'\n"}) {
    EXPECT_EQ(events_in(text), "matmul precision") << text;
  }
}

// The advice of PyTorch's own message is no setting of the run, wherever it is wrapped.
TEST(LogFacts, AdviceOfTheMessageIsNoSetting) {
  for (const char* text :
       {"memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to\n",
        "memory is large try setting\n    PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to\n",
        "memory is large try sett\ning PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to\n"}) {
    EXPECT_TRUE(read_text(text).facts.settings.empty()) << text;
  }
  EXPECT_EQ(read_text("I try:\nPYTORCH_CUDA_ALLOC_CONF=expandable_segments:True python train.py\n")
                .facts.settings.at(0)
                .value,
            "expandable_segments:True");
}

TEST(LogFacts, Wsl) {
  EXPECT_TRUE(
      read_text("Linux D1 5.15.153.1-microsoft-standard-WSL2 #1 SMP x86_64\n").facts.is_wsl);
  EXPECT_TRUE(read_text("/usr/lib/wsl/lib/libcuda.so.1\n").facts.is_wsl);
  EXPECT_FALSE(read_text("Linux host 6.1.0-18-amd64\n").facts.is_wsl);
}

TEST(LogFacts, MultiprocessorsAndDtypes) {
  const LogSummary sms = read_text(
      "W0903 20:13:19.043000 55763 torch/_inductor/utils.py:1436] [0/0] Not enough SMs to use "
      "max_autotune_gemm mode\n");
  ASSERT_EQ(sms.events.size(), 1U);
  EXPECT_EQ(sms.events[0].kind, LogEventKind::kNotEnoughSms);
  for (const char* text :
       {"RuntimeError: Current CUDA Device does not support bfloat16. Please switch dtype to "
        "float16.\n",
        "UserWarning: Tesla T4 does not support bfloat16 compilation natively, skipping\n",
        "ValueError: Bfloat16 is only supported on GPUs with compute capability of at least 8.0.\n",
        "ValueError: Your setup doesn't support bf16/gpu.\n",
        "ptxas /tmp/x.ptx, line 9; error : Feature '.bf16' requires .target sm_80 or higher\n"}) {
    const LogSummary summary = read_text(text);
    ASSERT_EQ(summary.events.size(), 1U) << text;
    EXPECT_EQ(summary.events[0].kind, LogEventKind::kDtypeUnsupported) << text;
    EXPECT_EQ(summary.events[0].dtype, "bfloat16") << text;
  }
  const LogSummary half =
      read_text("RuntimeError: \"addmm_impl_cpu_\" not implemented for 'Half'\n");
  EXPECT_EQ(half.events.at(0).dtype, "float16");
}

}  // namespace
}  // namespace snug::doctor::log
