#include <gtest/gtest.h>

#include "doctor/log/for_test.h"

namespace snug::doctor::log {
namespace {

std::string frames_in(std::string_view text) {
  const LogSummary summary = read_text(text);
  std::string out;
  if (summary.events.empty()) return "no event";
  for (const LogFrame& frame : summary.events.back().frames) {
    out += fmt::format("{}:{} {} | {}\n", frame.file, frame.line, frame.function, frame.source);
  }
  return out;
}

TEST(LogTraceback, CPythonsWithUnderlines) {
  EXPECT_EQ(frames_in("Traceback (most recent call last):\n"
                      "  File \"/home/u/nanoGPT/train.py\", line 264, in <module>\n"
                      "    losses = estimate_loss()\n"
                      "             ^^^^^^^^^^^^^^^\n"
                      "  File \"<frozen runpy>\", line 88, in _run_code\n"
                      "  File \"/home/u/nanoGPT/model.py\", line 187, in forward\n"
                      "    loss = F.cross_entropy(logits, targets)\n"
                      "RuntimeError: CUDA error: out of memory\n"),
            "/home/u/nanoGPT/train.py:264 <module> | losses = estimate_loss()\n"
            "<frozen runpy>:88 _run_code | \n"
            "/home/u/nanoGPT/model.py:187 forward | loss = F.cross_entropy(logits, targets)\n");
}

TEST(LogTraceback, WindowsPaths) {
  EXPECT_EQ(frames_in("Traceback (most recent call last):\n"
                      "  File \"C:\\Users\\u\\nanoGPT\\train.py\", line 300, in <module>\n"
                      "    logits, loss = model(X, Y)\n"
                      "  File \"D:\\\\x\\\\model.py\", line 187, in forward\n"
                      "    loss = F.cross_entropy(logits, targets)\n"
                      "RuntimeError: CUDA error: out of memory\n"),
            "C:/Users/u/nanoGPT/train.py:300 <module> | logits, loss = model(X, Y)\n"
            "D:/x/model.py:187 forward | loss = F.cross_entropy(logits, targets)\n");
}

// As JSON writes a text.
TEST(LogTraceback, LineEndsThatAreEscaped) {
  EXPECT_EQ(
      frames_in("{\"message\": \"Traceback (most recent call last):\\n  File "
                "\\\"/u/train.py\\\", line 300, in <module>\\n    logits, loss = model(X, Y)\\n"
                "  File \\\"C:\\\\nano\\\\model.py\\\", line 187, in forward\\n    x = f(y)\\n"
                "RuntimeError: CUDA error: out of memory\\n\"}\n"),
      "/u/train.py:300 <module> | logits, loss = model(X, Y)\n"
      "C:/nano/model.py:187 forward | x = f(y)\n");
}

TEST(LogTraceback, SourceOnTheSameLine) {
  EXPECT_EQ(frames_in("  File \"a.py\", line 612, in run_iteration    output = self.network(data)\n"
                      "  File \"b.py\", line 7, in forward\n"
                      "    return x\n"
                      "RuntimeError: CUDA error: out of memory\n"),
            "a.py:612 run_iteration | output = self.network(data)\nb.py:7 forward | return x\n");
}

TEST(LogTraceback, WrappedByATerminal) {
  EXPECT_EQ(
      frames_in(
          "[rank0]: Traceback (most recent call last):\n\n"
          "[rank0]:   File \"/home/u/site-packages/torch/autograd/graph.py\", line 769, in "
          "_engine_run_backwa\n\n"
          "rd\n\n"
          "[rank0]:     return Variable._execution_engine.run_backward()\n"
          "[rank0]:   File \"/home/u/torch/_functorch/runtime_wrappers.py\", line\n\n"
          " 1861, in backward\n\n"
          "[rank0]:     out = call_compiled_backward()\n"
          "[rank0]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"),
      "/home/u/site-packages/torch/autograd/graph.py:769 _engine_run_backward | return "
      "Variable._execution_engine.run_backward()\n"
      "/home/u/torch/_functorch/runtime_wrappers.py:1861 backward | out = "
      "call_compiled_backward()\n");
}

TEST(LogTraceback, RichBox) {
  const std::string_view text =
      "╭───────────── Traceback (most recent call last) ──────────────╮\n"
      "│ /home/xx/nanoGPT/train.py:224 in estimate_loss               │\n"
      "│                                                              │\n"
      "│   223 │   │   │   if 'out of memory' in str(e): raise        │\n"
      "│ ❱ 224 │   │   │   logits, loss = model(X, Y)                 │\n"
      "│   225 │   │   │   losses[k] = loss.item()                    │\n"
      "╰──────────────────────────────────────────────────────────────╯\n"
      "OutOfMemoryError: CUDA out of memory. Tried to allocate 86.00 MiB. GPU 0 has a\n"
      "total capacity of 23.69 GiB of which 83.94 MiB is free.\n";
  EXPECT_EQ(frames_in(text),
            "/home/xx/nanoGPT/train.py:224 estimate_loss | logits, loss = model(X, Y)\n");
  EXPECT_EQ(
      events_in(text),
      "cuda out of memory; request 86.00 MiB; capacity 23.69 GiB; free 83.94 MiB; device 0; cut");
}

TEST(LogTraceback, IPython) {
  const std::string_view text =
      "OutOfMemoryError                          Traceback (most recent call last)\n"
      "Cell In[12], line 5\n"
      "      4 # move\n"
      "----> 5 model.to(device)\n\n"
      "File /opt/torch/nn/modules/module.py:1160, in Module.to(self, *args, **kwargs)\n"
      "   1158     return t.to(device)\n"
      "-> 1160 return self._apply(convert)\n\n"
      "OutOfMemoryError: CUDA out of memory. Tried to allocate 148.00 MiB (GPU 0; 14.75 GiB total "
      "capacity; "
      "13.46 GiB already allocated; 14.81 MiB free; 13.55 GiB reserved in total by PyTorch)\n";
  EXPECT_EQ(frames_in(text),
            "<cell>:5  | model.to(device)\n"
            "/opt/torch/nn/modules/module.py:1160 Module.to | return self._apply(convert)\n");
  EXPECT_EQ(read_text(text).events.size(), 1U);
}

TEST(LogTraceback, EachRankHasItsOwn) {
  const LogSummary summary = read_text(
      "[rank0]: Traceback (most recent call last):\n"
      "[rank1]: Traceback (most recent call last):\n"
      "[rank0]:   File \"train.py\", line 300, in <module>\n"
      "[rank1]:   File \"train.py\", line 224, in estimate_loss\n"
      "[rank0]:     scaler.scale(loss).backward()\n"
      "[rank1]:     logits, loss = model(X, Y)\n"
      "[rank1]: RuntimeError: CUDA error: out of memory\n"
      "[rank0]: RuntimeError: CUDA error: out of memory\n");
  ASSERT_EQ(summary.events.size(), 2U);
  ASSERT_EQ(summary.events[0].frames.size(), 1U);
  EXPECT_EQ(summary.events[0].frames[0].source, "logits, loss = model(X, Y)");
  ASSERT_EQ(summary.events[1].frames.size(), 1U);
  EXPECT_EQ(summary.events[1].frames[0].source, "scaler.scale(loss).backward()");
}

// Two processes write at once and nothing tells their lines apart; a traceback before it is over.
TEST(LogTraceback, WithoutRanksTheFramesOfBothAreKept) {
  EXPECT_EQ(frames_in("Traceback (most recent call last):\n"
                      "  File \"old.py\", line 1, in f\n"
                      "    g()\n"
                      "KeyError: 'x'\n"
                      "Traceback (most recent call last):\n"
                      "  File \"train.py\", line 264, in <module>\n"
                      "    losses = estimate_loss()\n"
                      "             ^^^^^^^^^^^^^^^\n"
                      "Traceback (most recent call last):\n"
                      "  File \"model.py\", line 187, in forward\n"
                      "Traceback (most recent call last):\n"
                      "    loss = F.cross_entropy(logits, targets)\n"
                      "RuntimeError: CUDA error: out of memory\n"),
            "train.py:264 <module> | losses = estimate_loss()\n"
            "model.py:187 forward | loss = F.cross_entropy(logits, targets)\n");
}

TEST(LogTraceback, DeepOnesLoseTheirMiddle) {
  std::string text("Traceback (most recent call last):\n");
  for (int depth = 0; depth < 500; ++depth) {
    text += fmt::format("  File \"a.py\", line {}, in f\n    g()\n", depth + 1);
  }
  text += "RuntimeError: CUDA error: out of memory\n";
  const LogSummary summary = read_text(text);
  ASSERT_EQ(summary.events.size(), 1U);
  const std::vector<LogFrame>& frames = summary.events[0].frames;
  EXPECT_LE(frames.size(), 64U);
  EXPECT_EQ(frames.front().line, 1);
  EXPECT_EQ(frames[10].line, 11);
  EXPECT_EQ(frames.back().line, 500);
}

}  // namespace
}  // namespace snug::doctor::log
