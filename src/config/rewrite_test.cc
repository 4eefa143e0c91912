#include "config/rewrite.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "config/config_for_test.h"
#include "config/fields.h"
#include "config/python_reader.h"

namespace snug {
namespace {

using Values = std::map<std::string, std::string>;  // repr by key
using Changes = std::vector<Change>;

// What the reader makes of a file with these bytes. No range is checked.
Values read_values(const std::string& bytes) {
  const TestFile file(bytes);
  LoadedConfig config;
  PythonReader reader(config);
  reader.read(read_config_file(file.path()));
  Values values;
  for (const Field& field : all_fields()) {
    values[std::string(field.key)] = python_repr(field_value(config.values, field));
  }
  return values;
}

// The text, after the promise about values and about a second time was checked from outside.
std::string rewritten(const std::string& source, const Changes& changes) {
  std::string text = rewrite_config("mine.py", source, changes, "to fit").text;
  Values wanted = read_values(source);
  for (const Change& change : changes) wanted[change.key] = change.after;
  EXPECT_EQ(read_values(text), wanted) << source << "\n--- became ---\n" << text;
  EXPECT_EQ(rewrite_config("mine.py", text, changes, "to fit").text, text);
  return text;
}

std::vector<std::string> notes_of(const std::string& source, const Changes& changes) {
  return rewrite_config("mine.py", source, changes, "to fit").notes;
}

template <typename E>
bool throws(const std::string& source, const Changes& changes) {
  try {
    rewrite_config("mine.py", source, changes, "");
  } catch (const E&) {
    return true;
  }
  return false;
}

constexpr const char* kTrainGpt2 =
    "# config for training GPT-2 (124M) down to very nice loss of ~2.85 on 1 node of 8X A100 40GB\n"
    "# launch as the following (e.g. in a screen session) and wait ~5 days:\n"
    "# $ torchrun --standalone --nproc_per_node=8 train.py config/train_gpt2.py\n"
    "\n"
    "wandb_log = True\n"
    "wandb_project = 'owt'\n"
    "wandb_run_name='gpt2-124M'\n"
    "\n"
    "# these make the total batch size be ~0.5M\n"
    "# 12 batch size * 1024 block size * 5 gradaccum * 8 GPUs = 491,520\n"
    "batch_size = 12\n"
    "block_size = 1024\n"
    "gradient_accumulation_steps = 5 * 8\n"
    "\n"
    "# this makes total number of tokens be 300B\n"
    "max_iters = 600000\n"
    "lr_decay_iters = 600000\n"
    "\n"
    "# eval stuff\n"
    "eval_interval = 1000\n"
    "eval_iters = 200\n"
    "log_interval = 10\n"
    "\n"
    "# weight decay\n"
    "weight_decay = 1e-1\n";

constexpr const char* kTrainShakespeareChar =
    "# train a miniature character-level shakespeare model\n"
    "# good for debugging and playing on macbooks and such\n"
    "\n"
    "out_dir = 'out-shakespeare-char'\n"
    "eval_interval = 250 # keep frequent because we'll overfit\n"
    "eval_iters = 200\n"
    "log_interval = 10 # don't print too too often\n"
    "\n"
    "# we expect to overfit on this small dataset, so only save when val improves\n"
    "always_save_checkpoint = False\n"
    "\n"
    "wandb_log = False # override via command line if you like\n"
    "wandb_project = 'shakespeare-char'\n"
    "wandb_run_name = 'mini-gpt'\n"
    "\n"
    "dataset = 'shakespeare_char'\n"
    "gradient_accumulation_steps = 1\n"
    "batch_size = 64\n"
    "block_size = 256 # context of up to 256 previous characters\n"
    "\n"
    "# baby GPT model :)\n"
    "n_layer = 6\n"
    "n_head = 6\n"
    "n_embd = 384\n"
    "dropout = 0.2\n"
    "\n"
    "learning_rate = 1e-3 # with baby networks can afford to go a bit higher\n"
    "max_iters = 5000\n"
    "lr_decay_iters = 5000 # make equal to max_iters usually\n"
    "min_lr = 1e-4 # learning_rate / 10 usually\n"
    "beta2 = 0.99 # make a bit bigger because number of tokens per iter is small\n"
    "\n"
    "warmup_iters = 100 # not super necessary potentially\n"
    "\n"
    "# on macbook also add\n"
    "# device = 'cpu'  # run on cpu only\n"
    "# compile = False # do not torch compile the model\n";

constexpr const char* kFinetuneShakespeare =
    "import time\n"
    "\n"
    "out_dir = 'out-shakespeare'\n"
    "eval_interval = 5\n"
    "eval_iters = 40\n"
    "wandb_log = False # feel free to turn on\n"
    "wandb_project = 'shakespeare'\n"
    "wandb_run_name = 'ft-' + str(time.time())\n"
    "\n"
    "dataset = 'shakespeare'\n"
    "init_from = 'gpt2-xl' # this is the largest GPT-2 model\n"
    "\n"
    "# only save checkpoints if the validation loss improves\n"
    "always_save_checkpoint = False\n"
    "\n"
    "# the number of examples per iter:\n"
    "# 1 batch_size * 32 grad_accum * 1024 tokens = 32,768 tokens/iter\n"
    "# shakespeare has 301,966 tokens, so 1 epoch ~= 9.2 iters\n"
    "batch_size = 1\n"
    "gradient_accumulation_steps = 32\n"
    "max_iters = 20\n"
    "\n"
    "# finetune at constant LR\n"
    "learning_rate = 3e-5\n"
    "decay_lr = False\n";

std::string eval_gpt2(const std::string& sizes, const std::string& parameters,
                      const std::string& name) {
  return "# evaluate the base gpt2\n# " + sizes + "\n# " + parameters +
         " parameters\nbatch_size = 8\n"
         "eval_iters = 500 # use more iterations to get good estimate\n"
         "eval_only = True\nwandb_log = False\ninit_from = '" +
         name + "'\n";
}

// The text with each pair's first, found once, replaced by its second.
std::string replaced(std::string text,
                     const std::vector<std::pair<std::string, std::string>>& pairs) {
  for (const auto& [from, to] : pairs) {
    const std::size_t at = text.find(from);
    EXPECT_NE(at, text.npos) << from;
    EXPECT_EQ(text.find(from, at + 1), text.npos) << from;
    if (at != text.npos) text.replace(at, from.size(), to);
  }
  return text;
}

TEST(Rewrite, ShippedConfigs) {
  EXPECT_EQ(rewritten(kTrainGpt2, {{"batch_size", "12", "4"},
                                   {"gradient_accumulation_steps", "40", "120"},
                                   {"wandb_run_name", "'gpt2-124M'", "'small'"},
                                   {"dtype", "'auto'", "'float16'"},
                                   {"compile", "True", "False"}}),
            replaced(kTrainGpt2, {{"\nbatch_size = 12\n", "\nbatch_size = 4  # was: 12\n"},
                                  {"steps = 5 * 8\n", "steps = 120  # was: 5 * 8\n"},
                                  {"name='gpt2-124M'\n", "name='small'  # was: 'gpt2-124M'\n"}}) +
                "\n# Added by Snug: to fit\n"
                "dtype = 'float16'  # was: 'auto'\n"
                "compile = False  # was: True\n");
  EXPECT_EQ(
      rewritten(kTrainShakespeareChar, {{"block_size", "256", "128"}, {"min_lr", "1e-4", "0.0"}}),
      replaced(kTrainShakespeareChar,
               {{"block_size = 256 # context", "block_size = 128  # was: 256 # context"},
                {"min_lr = 1e-4 # learn", "min_lr = 0.0  # was: 1e-4 # learn"}}));
  const std::string sizes[] = {eval_gpt2("n_layer=12, n_head=12, n_embd=768", "124M", "gpt2"),
                               eval_gpt2("n_layer=48, n_head=25, n_embd=1600", "1558M", "gpt2-xl")};
  for (const std::string& source : sizes) {
    EXPECT_EQ(rewritten(source, {{"eval_iters", "500", "50"}, {"eval_only", "True", "False"}}),
              replaced(source, {{"eval_iters = 500 #", "eval_iters = 50  # was: 500 #"},
                                {"eval_only = True", "eval_only = False  # was: True"}}));
  }
}

// The clock moves between two readings; the formula with it stays.
TEST(Rewrite, TimeGoesOn) {
  const auto text = [](const std::string& source, const Changes& changes) {
    return rewrite_config("mine.py", source, changes, "").text;
  };
  EXPECT_EQ(
      text(kFinetuneShakespeare, {{"batch_size", "1", "2"}}),
      replaced(kFinetuneShakespeare, {{"\nbatch_size = 1\n", "\nbatch_size = 2  # was: 1\n"}}));
  EXPECT_EQ(text("import time\nbatch_size = 1\nout_dir = 'b' + str(batch_size) + str(time.time())",
                 {{"batch_size", "1", "2"}}),
            "import time\nbatch_size = 2  # was: 1\nout_dir = 'b' + str(1) + str(time.time())"
            "  # was: 'b' + str(batch_size) + str(time.time())");
  EXPECT_EQ(text("out_dir = str(time . time(  # now\n))", {{"out_dir", "", "'x'"}}),
            "out_dir = 'x'  # was: str(time . time( ))  # now");
}

struct Row {
  const char* source;
  Changes changes;
  const char* wanted;
};

void check(const std::vector<Row>& rows) {
  for (const Row& row : rows) EXPECT_EQ(rewritten(row.source, row.changes), row.wanted);
}

const Changes kFour = {{"batch_size", "12", "4"}};

TEST(Rewrite, KeepsTheLookOfALine) {
  check({
      {"batch_size=12", kFour, "batch_size=4  # was: 12"},
      {"batch_size\t=\t12\t# tab\n", kFour, "batch_size\t=\t4  # was: 12\t# tab\n"},
      {"batch_size   =12   \n", kFour, "batch_size   =4  # was: 12   \n"},
      {"batch_size = 12# tight\n", kFour, "batch_size = 4  # was: 12  # tight\n"},
      {"batch_size = 12;\n", kFour, "batch_size = 4;  # was: 12\n"},
      {"x = 'é'\r\nbatch_size = 12 # für zwei\r\n# \xE2\x82\xAC\r\n", kFour,
       "x = 'é'\r\nbatch_size = 4  # was: 12 # für zwei\r\n# \xE2\x82\xAC\r\n"},
      {"seed = 1\rbatch_size = 12\rseed = 2", kFour,
       "seed = 1\rbatch_size = 4  # was: 12\rseed = 2"},
      {"seed = 1\nbatch_size = 12\r\nseed = 2\r", kFour,
       "seed = 1\nbatch_size = 4  # was: 12\r\nseed = 2\r"},
      {"# batch_size = 12\n'batch_size = 12'\nbatch_size = 12\n", kFour,
       "# batch_size = 12\n'batch_size = 12'\nbatch_size = 4  # was: 12\n"},
  });
}

TEST(Rewrite, TakesOutTheByteOrderMark) {
  EXPECT_EQ(rewritten("\xEF\xBB\xBF# é\r\nbatch_size = 12\r\n", kFour),
            "# é\r\nbatch_size = 4  # was: 12\r\n");
  EXPECT_EQ(notes_of("\xEF\xBB\xBF", {}),
            (std::vector<std::string>{"mine.py: the byte-order mark at its start is left out: "
                                      "Python's exec() refuses it"}));
}

TEST(Rewrite, ReplacesValuesOfManyKinds) {
  check({
      {"batch_size = 12 if n_layer > 6 else 24", kFour,
       "batch_size = 4  # was: 12 if n_layer > 6 else 24"},
      {"batch_size = (1 + 2) * (4)\n", kFour, "batch_size = 4  # was: (1 + 2) * (4)\n"},
      {"batch_size = ((12))\n", kFour, "batch_size = 4  # was: ((12))\n"},
      {"batch_size = (  # of one card\n    12  # was 24\n)  # end\n", kFour,
       "batch_size = 4  # was: ( 12 )  # of one card  # was 24  # end\n"},
      {"batch_size = (3 *\r\n    4)\r\nseed = 3\r\n", kFour,
       "batch_size = 4  # was: (3 * 4)\r\nseed = 3\r\n"},
      {"batch_size = \\\n  12\n", kFour, "batch_size = \\\n  4  # was: 12\n"},
      {"batch_size = 3 * \\\n  4\n", kFour, "batch_size = 4  # was: 3 * 4\n"},
      {"batch_size = 12 \\\n\nseed = 3\n", kFour, "batch_size = 4  # was: 12\nseed = 3\n"},
      {"batch_size = 12 \\\n  # c\n", kFour, "batch_size = 4  # was: 12  # c\n"},
      {"batch_size += 2", kFour, "batch_size = 4  # was: batch_size += 2"},
      {"batch_size //=2;seed=3", kFour, "batch_size =4;seed=3  # was: batch_size //= 2"},
      {"batch_size = batch_size * 2\n", kFour, "batch_size = 4  # was: batch_size * 2\n"},
      {"start = 'a  # b' \"c\" # d\n",
       {{"start", "", "'it\\'s \"x\"'"}},
       "start = 'it\\'s \"x\"'  # was: 'a  # b' \"c\" # d\n"},
      {"start = '''a\n'b'\n'''\n",
       {{"start", "", "'\\n'"}},
       "start = '\\n'  # was: \"a\\n'b'\\n\"\n"},
      {"start = 'a\\\nb'\n", {{"start", "", "''"}}, "start = ''  # was: 'ab'\n"},
      {"eval_only=not False\n",
       {{"eval_only", "", "False"}},
       "eval_only=False  # was: not False\n"},
      {"learning_rate = 6e-4\n",
       {{"learning_rate", "", "1e-05"}},
       "learning_rate = 1e-05  # was: 6e-4\n"},
  });
}

TEST(Rewrite, SeveralStatementsOnALine) {
  const Changes both = {{"batch_size", "12", "4"}, {"block_size", "1024", "512"}};
  const Changes width = {{"n_embd", "64", "32"}};
  check({
      {"batch_size = 12; block_size = 1024 # sizes\n", kFour,
       "batch_size = 4; block_size = 1024  # was: batch_size = 12 # sizes\n"},
      {"seed = 1 ;batch_size = 12;block_size=1024;\n", both,
       "seed = 1 ;batch_size = 4;block_size=512;  # was: batch_size = 12; block_size = 1024\n"},
      {"import time; batch_size = 12\n", kFour,
       "import time; batch_size = 4  # was: batch_size = 12\n"},
      {"batch_size = block_size = 64 # both\n",
       {{"batch_size", "64", "4"}, {"block_size", "64", "4"}},
       "batch_size = block_size = 4  # was: 64 # both\n"},
      {"batch_size = block_size = 64\n", both,
       "batch_size = 4; block_size = 512  # was: batch_size = block_size = 64\n"},
      {"n_head = n_embd = 64\n", width, "n_head = 64; n_embd = 32  # was: n_head = n_embd = 64\n"},
      {"n_embd  = n_head = n_head // 2 # half\n", width,
       "n_head = n_head // 2; n_embd = 32  # was: n_embd = n_head = n_head // 2 # half\n"},
      {"n_embd = n_head = n_embd = (8 *\n 2); seed = 3\n", width,
       "n_head = (8 *\n 2); n_embd = 32; seed = 3"
       "  # was: n_embd = n_head = n_embd = (8 * 2)\n"},
      {"n_embd = n_embd = 64\n", width, "n_embd = n_embd = 32  # was: 64\n"},
  });
}

TEST(Rewrite, TheLastOfSeveralDecides) {
  const std::string source =
      "batch_size = 8\nbatch_size *= 2\nseed = batch_size\nbatch_size = 12\n";
  EXPECT_EQ(rewritten(source, kFour),
            "batch_size = 8\nbatch_size *= 2\nseed = batch_size\nbatch_size = 4  # was: 12\n");
  EXPECT_EQ(notes_of(source, kFour),
            (std::vector<std::string>{
                "mine.py:4: batch_size is set 3 times: the last one decides and was changed"}));
}

TEST(Rewrite, FormulasKeepTheirValue) {
  check({
      {"batch_size = 12\nseed = batch_size * 2 # twice\n", kFour,
       "batch_size = 4  # was: 12\nseed = 12 * 2  # was: batch_size * 2 # twice\n"},
      {"batch_size = 12\nseed += batch_size\n", kFour,
       "batch_size = 4  # was: 12\nseed += 12  # was: seed += batch_size\n"},
      {"batch_size = 12; seed = (batch_size  # b\n + 1)", kFour,
       "batch_size = 4; seed = (12  # b\n + 1)"
       "  # was: batch_size = 12; seed = (batch_size + 1)"},
      {"batch_size = 12\nx = batch_size\nseed = x + 1\n", kFour,
       "batch_size = 4  # was: 12\nx = 12  # was: batch_size\nseed = x + 1\n"},
      {"seed = batch_size + 1\nbatch_size = 12\n", kFour,
       "seed = batch_size + 1\nbatch_size = 4  # was: 12\n"},
      {"seed = -3\nmax_iters = 5 - seed ** 2\n",
       {{"seed", "", "7"}},
       "seed = 7  # was: -3\nmax_iters = 5 - (-3) ** 2  # was: 5 - seed ** 2\n"},
      {"dataset = 'é'\nout_dir = 'out-' + dataset\n",
       {{"dataset", "", "'b'"}},
       "dataset = 'b'  # was: 'é'\nout_dir = 'out-' + 'é'  # was: 'out-' + dataset\n"},
      {"batch_size = 12\nsizes = [batch_size, 2]\n", kFour,
       "batch_size = 4  # was: 12\nsizes = [12, 2]  # was: [batch_size, 2]\n"},
      {"batch_size = 12\nseed = 24 // (batch_size - 4)\n", kFour,  // would divide by zero
       "batch_size = 4  # was: 12\nseed = 24 // (12 - 4)  # was: 24 // (batch_size - 4)\n"},
      {"n_head = 4\nn_embd = seed = n_head * 2\n",
       {{"n_head", "", "2"}, {"n_embd", "", "6"}},
       "n_head = 2  # was: 4\n"
       "seed = 4 * 2; n_embd = 6  # was: n_embd = seed = n_head * 2\n"},
  });
  EXPECT_EQ(notes_of("batch_size = 12\nseed = batch_size * batch_size\n", kFour),
            (std::vector<std::string>{
                "mine.py:2: seed keeps its value, computed while batch_size was 12"}));
}

TEST(Rewrite, FormulasStayThatAreRightAnyway) {
  check({
      {"max_iters = 600\nlr_decay_iters = max_iters # equal\n",
       {{"max_iters", "600", "300"}, {"lr_decay_iters", "600", "300"}},
       "max_iters = 300  # was: 600\nlr_decay_iters = max_iters # equal\n"},
      {"batch_size = 12\ngradient_accumulation_steps = 10\n"
       "tokens = batch_size * gradient_accumulation_steps\nmax_iters = 6000 // tokens\n",
       {{"batch_size", "12", "4"}, {"gradient_accumulation_steps", "10", "30"}},
       "batch_size = 4  # was: 12\ngradient_accumulation_steps = 30  # was: 10\n"
       "tokens = batch_size * gradient_accumulation_steps\nmax_iters = 6000 // tokens\n"},
      {"batch_size = 12\ndropout = 0.1 if batch_size > 2 else 0.0\n", kFour,
       "batch_size = 4  # was: 12\ndropout = 0.1 if batch_size > 2 else 0.0\n"},
      // Right for Snug, which converts, but a float for nanoGPT.
      {"max_iters = 600\nlr_decay_iters = max_iters / 2\n",
       {{"max_iters", "600", "300"}, {"lr_decay_iters", "300", "150"}},
       "max_iters = 300  # was: 600\nlr_decay_iters = 150  # was: max_iters / 2\n"},
      {"batch_size = 4.0\n", kFour, "batch_size = 4.0\n"},
      {"batch_size = 2 + 2 # four\n", kFour, "batch_size = 2 + 2 # four\n"},
  });
}

TEST(Rewrite, AddsWhatTheFileDoesNotSet) {
  const Changes two = {{"n_layer", "12", "6"}, {"dropout", "0.0", "0.5"}};
  const std::string added =
      "# Added by Snug: to fit\nn_layer = 6  # was: 12\n"
      "dropout = 0.5  # was: 0.0\n";
  EXPECT_EQ(rewritten("", two), added);
  EXPECT_EQ(rewritten("# nothing", two), "# nothing\n\n" + added);
  EXPECT_EQ(rewritten("seed = 3\n", two), "seed = 3\n\n" + added);
  EXPECT_EQ(rewritten("seed = 3\n\n", two), "seed = 3\n\n" + added);
  EXPECT_EQ(rewritten("seed = n_layer \\\n", two), "seed = n_layer \\\n\n" + added);
  EXPECT_EQ(rewritten("seed = 3\r\nbeta1 = 0.5", {two[0]}),
            "seed = 3\r\nbeta1 = 0.5\r\n\r\n# Added by Snug: to fit\r\nn_layer = 6  # was: 12\r\n");
  // Later ones join those that stand there for the same reason.
  EXPECT_EQ(rewritten(rewritten("seed = 3\n", {two[0]}), {two[1]}), "seed = 3\n\n" + added);
  EXPECT_EQ(rewrite_config("mine.py", "seed = 3\n", {two[0]}, "").text,
            "seed = 3\n\n# Added by Snug\nn_layer = 6  # was: 12\n");
  EXPECT_EQ(rewrite_config("mine.py", "", {two[0]}, "a\nb\r\xFF").text,
            "# Added by Snug: a b ?\nn_layer = 6  # was: 12\n");
  EXPECT_EQ(rewrite_config("mine.py", "", {{"n_layer", "a\nb", "6"}}, "").text,
            "# Added by Snug\nn_layer = 6\n");
  EXPECT_EQ(notes_of("seed = 3\n", two),
            (std::vector<std::string>{"mine.py does not set n_layer: added at its end",
                                      "mine.py does not set dropout: added at its end"}));
}

TEST(Rewrite, KeepsTheOldestNote) {
  check({
      {"batch_size = 8  # was: 12 # c\n", kFour, "batch_size = 4  # was: 12 # c\n"},
      {"batch_size = 8  # was: 4\n", kFour, "batch_size = 4\n"},
      {"batch_size = 8  # was: 4 # c\n", kFour, "batch_size = 4 # c\n"},
      {"batch_size = 8  # was: 2 * '#' # c\n", kFour, "batch_size = 4  # was: 2 * '#' # c\n"},
      {"batch_size = 8; seed = 3  # was: batch_size = 12  # c\n",
       {{"batch_size", "8", "4"}, {"seed", "3", "5"}},
       "batch_size = 4; seed = 5  # was: batch_size = 12; seed = 3  # c\n"},
      {"n_head = n_embd = 8  # was: 16\n",
       {{"n_embd", "8", "4"}},
       "n_head = 8; n_embd = 4  # was: n_head = n_embd = 16\n"},
      {"eval_iters = 8  # was: eval_iters += 5\n",
       {{"eval_iters", "8", "4"}},
       "eval_iters = 4  # was: eval_iters += 5\n"},
      // Words of the user are no note of ours.
      {"batch_size = 8  # was: 12 until May\n", kFour,
       "batch_size = 4  # was: 8  # was: 12 until May\n"},
      {"batch_size = 8; seed = 3 # was: 12\n", kFour,
       "batch_size = 4; seed = 3  # was: batch_size = 8 # was: 12\n"},
      {"batch_size = 8 # was: it's\n", kFour, "batch_size = 4  # was: 8 # was: it's\n"},
  });
  const std::string once = rewritten(kTrainGpt2, {{"batch_size", "12", "4"}});
  EXPECT_EQ(rewritten(once, {{"batch_size", "4", "12"}}), kTrainGpt2);
}

// Without a reader such a helper would be refused as a mistyped key.
TEST(Rewrite, TakesOutHelpersThatWouldBeRefused) {
  const Row rows[] = {
      {"batchsize = 12 # b\nbatch_size = batchsize\n", kFour,
       "pass  # was: batchsize = 12 # b\nbatch_size = 4  # was: batchsize\n"},
      {"n_layers = 3; batchsize = n_layers * (4 # c\n)\nbatch_size = batchsize\n", kFour,
       "pass; pass  # was: n_layers = 3; batchsize = n_layers * (4 )  # c\n"
       "batch_size = 4  # was: batchsize\n"},
      {"seed = batchsize = 12\nbatch_size = batchsize\n", kFour,
       "seed = 12  # was: seed = batchsize = 12\nbatch_size = 4  # was: batchsize\n"},
      {"batchsize = 12\nbatch_size = batchsize\nseed = batchsize\n", kFour,
       "batchsize = 12\nbatch_size = 4  # was: batchsize\nseed = batchsize\n"},
      {"favourite = 12\nbatch_size = favourite\n", kFour,
       "favourite = 12\nbatch_size = 4  # was: favourite\n"},
  };
  for (const Row& row : rows) {
    const std::string text = rewritten(row.source, row.changes);
    EXPECT_EQ(text, row.wanted);
    EXPECT_EQ(load_text(text).values.batch_size, 4);
  }
  EXPECT_EQ(
      notes_of("batchsize = 12\nbatch_size = batchsize\n", kFour),
      (std::vector<std::string>{"mine.py:1: batchsize was taken out: nothing reads it any more"}));
}

TEST(Rewrite, WritesTheTypeOfTheKey) {
  const auto line = [](const std::string& key, const std::string& after) {
    return rewrite_config("mine.py", key + " = " + key, {{key, "", after}}, "").text;
  };
  EXPECT_EQ(line("learning_rate", "1"), "learning_rate = 1.0  # was: learning_rate");
  EXPECT_EQ(line("max_iters", "1e3"), "max_iters = 1000  # was: max_iters");
  EXPECT_EQ(line("eval_only", "1"), "eval_only = True  # was: eval_only");
  EXPECT_EQ(line("start", "\"a\""), "start = 'a'  # was: start");
}

TEST(Rewrite, RefusesWhatItCannotDo) {
  EXPECT_TRUE(throws<InternalError>("", {{"batchsize", "1", "2"}}));
  for (const char* after : {"", "x", "2.5", "'2'", "True", "None", "1 + 1", "[2]", "2; seed = 3"}) {
    EXPECT_TRUE(throws<InternalError>("", {{"batch_size", "1", after}})) << after;
  }
  EXPECT_TRUE(throws<InternalError>("", {{"dropout", "0.0", "inf"}}));
  EXPECT_TRUE(throws<InternalError>("", {{"start", "''", "'\xFF'"}}));
  EXPECT_TRUE(throws<ConfigError>("batch_size = ", kFour));
  EXPECT_TRUE(throws<ConfigError>("batch_size = unknown", kFour));
  EXPECT_TRUE(throws<ConfigError>("if True:\n    batch_size = 12", kFour));
  EXPECT_TRUE(throws<ConfigError>("# \xFF\nbatch_size = 12", kFour));
  EXPECT_TRUE(throws<ConfigError>(std::string("batch_size = 12\0", 16), kFour));
  EXPECT_TRUE(throws<ConfigError>(std::string(kMaxConfigBytes + 1, '\n'), kFour));
  // The file may be read, but what would come of it could not.
  EXPECT_TRUE(
      throws<ConfigError>("batch_size = 12\n" + std::string(kMaxConfigBytes - 16, '\n'), kFour));
  EXPECT_EQ(error_of([] { rewrite_config("mine.py", "\n\nn_head = time.time() + x", {}, ""); }),
            "mine.py:3: `x` has no value yet\n"
            "    n_head = time.time() + x\n"
            "                           ^\n"
            "a name is set on a line above, or is a setting");
}

// Random files of lines, each with the names that it sets and reads.
class Generator {
 public:
  explicit Generator(unsigned seed) : random_(seed) {}

  struct Line {
    std::string text, line_end;  // text has the end, too
    std::vector<std::string> names;
  };

  template <typename T>
  const T& pick(const std::vector<T>& list) {
    return list[std::uniform_int_distribution<std::size_t>(0, list.size() - 1)(random_)];
  }
  bool chance(double p) { return std::bernoulli_distribution(p)(random_); }

  std::vector<Line> file() {
    helpers_.clear();
    line_end_ = pick<std::string>({"\n", "\n", "\r\n", "\r"});
    std::vector<Line> lines(std::uniform_int_distribution<std::size_t>(0, 12)(random_));
    for (Line& line : lines) line = next_line();
    return lines;
  }

  Changes changes() {
    Changes changes;
    for (const std::string& key : kWhole) {
      if (chance(0.3)) changes.push_back({key, "0", pick<std::string>({"1", "2", "5", "48"})});
    }
    if (chance(0.3)) changes.push_back({"dropout", "0.0", pick<std::string>({"0.25", "1e-05"})});
    if (chance(0.3)) changes.push_back({"out_dir", "''", pick<std::string>({"'#;'", "'\\n'"})});
    if (chance(0.3)) changes.push_back({"bias", "False", pick<std::string>({"True", "False"})});
    return changes;
  }

 private:
  const std::vector<std::string> kWhole = {"batch_size", "block_size", "n_layer", "n_head", "seed"};
  const std::vector<std::string> kHelpers = {"tokens", "wish", "half"};

  std::string name() {
    std::vector<std::string> known = kWhole;
    known.insert(known.end(), helpers_.begin(), helpers_.end());
    names_.push_back(pick(known));
    return names_.back();
  }

  std::string number(int depth) {
    if (depth == 0 || chance(0.3)) return pick<std::string>({"3", "0x10", "1_0", "(7)", "64"});
    if (chance(0.5)) return name();
    const std::string a = number(depth - 1), b = number(depth - 1);
    return pick<std::string>({a + " + " + b, "(" + a + ") *(" + b + ") % 97",
                              "(" + a + " if " + b + " > 5 else 8)", "max(" + a + ", " + b + ")",
                              "abs(-" + a + ") // 2"});
  }

  std::string wrapped(const std::string& value) {
    if (chance(0.8)) return value;
    return pick<std::string>(
        {"(\n  " + value + ")", "( # it's\n" + value + " # \"two\n )", "\\\n  " + value});
  }

  std::string statement() {
    const std::string is = pick<std::string>({"=", " = ", " =\t", "  = "});
    switch (std::uniform_int_distribution<int>(0, 8)(random_)) {
      case 0:
        return pick<std::string>({"pass", "import time", "'batch_size = 3'", "'''a\nb'''"});
      case 1: {
        const std::string value = wrapped(number(2)), helper = pick(kHelpers);
        names_.push_back(helper);
        if (std::find(helpers_.begin(), helpers_.end(), helper) == helpers_.end()) {
          helpers_.push_back(helper);
        }
        return helper + is + value;
      }
      case 2:
        return name() + pick<std::string>({"+=", " *= ", " -= "}) + wrapped(number(1));
      case 3: {
        const std::string first = name(), second = name();
        return first + is + second + is + wrapped(number(1));
      }
      case 4:
        names_.push_back("out_dir");
        return "out_dir" + is +
               wrapped(pick<std::string>(
                   {"'a#'", "'''x\n'y'''", "'n' + str(" + number(1) + ")", "out_dir + 'é'"}));
      case 5:
        names_.push_back("dropout");
        return "dropout" + is + wrapped(pick<std::string>({"0.5", "1e-3 * 2", "dropout / 2"}));
      case 6:
        names_.push_back("bias");
        return "bias" + is + wrapped(pick<std::string>({"True", "not bias", name() + " > 9"}));
      default:
        return name() + is + wrapped(number(2));
    }
  }

  Line next_line() {
    names_.clear();
    std::string text;
    if (chance(0.8)) {
      text = statement();
      while (chance(0.2)) text += pick<std::string>({";", "; "}) + statement();
      if (chance(0.1)) text += ";";
    }
    text += pick<std::string>({"", "", "  ", "# c", " # it's", "\t# é", "  # was: 3",
                               "  # was: 3 apples", " # was: seed = 3"});
    std::string raw;
    for (const char c : text + "\n") raw += c == '\n' ? line_end_ : std::string(1, c);
    return {raw, line_end_, names_};
  }

  std::mt19937 random_;
  std::string line_end_;
  std::vector<std::string> helpers_, names_;
};

std::string joined(const std::vector<Generator::Line>& lines) {
  std::string text;
  for (const Generator::Line& line : lines) text += line.text;
  return text;
}

// Lines that have nothing to do with a changed key stand in the result as they were, in order, the
// first of them at its start if it was so; and no comment is lost.
void check_bytes(const std::vector<Generator::Line>& lines, const Changes& changes,
                 const std::string& text) {
  std::size_t at = 0;
  bool anchored = true;
  for (const Generator::Line& line : lines) {
    const bool concerned = std::any_of(changes.begin(), changes.end(), [&](const Change& change) {
      return std::count(line.names.begin(), line.names.end(), change.key) > 0;
    });
    if (concerned) {
      anchored = false;
      continue;
    }
    std::size_t found = at;
    if (!anchored) {
      found = text.find(line.line_end + line.text, at);
      ASSERT_NE(found, text.npos) << line.text << "\n--- in ---\n" << text;
      found += line.line_end.size();
    }
    ASSERT_EQ(text.substr(found, line.text.size()), line.text) << text;
    at = found + line.text.size();
    anchored = true;
  }
  for (const char* comment : {"# c", "# it's", "# \xC3\xA9", "# \"two", "# was: 3 apples"}) {
    const auto count = [&](const std::string& where) {
      int n = 0;
      for (std::size_t i = where.find(comment); i != where.npos; i = where.find(comment, i + 1))
        ++n;
      return n;
    };
    ASSERT_GE(count(text), count(joined(lines))) << comment << "\n" << text;
  }
}

TEST(RewriteFuzz, HoldsItsPromise) {
  Generator generator(7);
  int rewritten_count = 0;
  for (int i = 0; i < 1000; ++i) {
    const std::vector<Generator::Line> lines = generator.file();
    const Changes changes = generator.changes();
    const std::string source = joined(lines);
    try {
      read_values(source);
    } catch (const ConfigError&) {  // a number became too large
      continue;
    }
    check_bytes(lines, changes, rewritten(source, changes));
    if (::testing::Test::HasFailure()) FAIL() << "of file " << i << "\n" << source;
    ++rewritten_count;
  }
  EXPECT_GT(rewritten_count, 800);
}

// Whatever the bytes are, they are rewritten as promised or refused as unreadable.
TEST(RewriteFuzz, TakesAnyBytes) {
  const std::string valid =
      "\xEF\xBB\xBF'''doc'''\r\nimport time; n_layers = 3\r\nout_dir = 'é' + str(time.time())\n"
      "batch_size = n_head = 5 * 8  # was: 12 # c\nseed += (batch_size # in\n  - 2)\\\n\n"
      "n_layer = n_layers\nmax_iters = 4 if n_head > 2 else [n_head]; x = n_head, 3\n"
      "start = r'a' '''b\nc'''; eval_only = not bias # was: start = 'x'; eval_only = 1\n";
  const Changes changes = {{"batch_size", "40", "4"},
                           {"n_layer", "3", "2"},
                           {"start", "''", "'#'"},
                           {"n_head", "40", "8"},
                           {"dropout", "0.0", "0.5"}};
  const std::vector<std::string> pieces = {"\n", "\r", ";", "#", "\\\n",     "'",
                                           "(",  ")",  " ", "3", "n_head = "};
  std::mt19937 random(5);
  const auto below = [&](std::size_t n) {
    return std::uniform_int_distribution<std::size_t>(0, n - 1)(random);
  };
  int rewritten_count = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string text = valid;
    for (std::size_t edits = below(4); edits > 0; --edits) {
      const std::size_t at = below(text.size());
      if (below(2) == 0) text.erase(at, below(6));
      if (below(2) == 0) text.insert(at, pieces[below(pieces.size())]);
      if (below(4) == 0) text.insert(at, text.substr(below(text.size()), below(30)));
    }
    try {
      const std::string once = rewrite_config("mine.py", text, changes, "to fit").text;
      EXPECT_EQ(rewrite_config("mine.py", once, changes, "to fit").text, once);
      ++rewritten_count;
    } catch (const ConfigError& error) {
      EXPECT_STRNE(error.what(), "");
    } catch (const InternalError& error) {
      FAIL() << error.what() << "\n" << text;
    }
  }
  EXPECT_GT(rewritten_count, 1000);
}

}  // namespace
}  // namespace snug
