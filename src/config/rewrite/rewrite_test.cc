#include "config/rewrite/for_test.h"

namespace snug::config::rewrite {
namespace {

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

}  // namespace
}  // namespace snug::config::rewrite
