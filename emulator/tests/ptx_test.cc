// The interpreter of PTX on small texts, each beside a kernel that g++ compiled: where they say the
// same it agrees, where the text is wrong it tells.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include "emulator/card.h"
#include "emulator/card_launch.h"
#include "second_opinion.h"

// Names without mangling, as they stand in the texts.
extern "C" void scale_kernel(const float* in, float* out, float factor, int count) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) out[i] = in[i] * factor;
}
extern "C" void wrong_kernel(const float* in, float* out, float factor, int count) {
  scale_kernel(in, out, factor, count);
}
extern "C" void sum_kernel(const float* in, float* out) {
  static const char declared = 0;
  auto& room = *static_cast<float(*)[64]>(emulator::shared_object(&declared, 256, 4));
  room[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  float sum = room[threadIdx.x] + room[threadIdx.x ^ 32];
  for (int flip = 16; flip > 0; flip /= 2) sum += __shfl_xor_sync(~0U, sum, flip);
  out[threadIdx.x] = sum;
}

namespace {

std::string scale_text(const std::string& name, const std::string& instruction) {
  return R"(.version 9.0
.target sm_86
.address_size 64
.visible .entry )" +
         name + R"((
	.param .u64 )" +
         name + R"(_param_0,
	.param .u64 .ptr .align 1 )" +
         name + R"(_param_1,
	.param .f32 )" +
         name + R"(_param_2,
	.param .u32 )" +
         name + R"(_param_3
)
.maxntid 64
{
	.reg .pred 	%p<2>;
	.reg .f32 	%f<4>;
	.reg .b32 	%r<6>;
	.reg .b64 	%rd<8>;

	ld.param.u64 	%rd1, [)" +
         name + R"(_param_0];
	ld.param.u64 	%rd2, [)" +
         name + R"(_param_1];
	ld.param.f32 	%f1, [)" +
         name + R"(_param_2];
	ld.param.u32 	%r2, [)" +
         name + R"(_param_3];
	mov.u32 	%r3, %ctaid.x;
	mov.u32 	%r4, %ntid.x;
	mov.u32 	%r5, %tid.x;
	mad.lo.s32 	%r1, %r3, %r4, %r5;
	setp.ge.s32 	%p1, %r1, %r2;
	@%p1 bra 	$L__BB0_2;

	cvta.to.global.u64 	%rd3, %rd1;
	mul.wide.s32 	%rd4, %r1, 4;
	add.s64 	%rd5, %rd3, %rd4;
	ld.global.nc.f32 	%f2, [%rd5];
	)" +
         instruction + R"(
	cvta.to.global.u64 	%rd6, %rd2;
	add.s64 	%rd7, %rd6, %rd4;
	st.global.f32 	[%rd7], %f3;

$L__BB0_2:
	ret;

}
)";
}

constexpr char kSum[] = R"(.version 9.0
.target sm_86
.visible .entry sum_kernel(
	.param .u64 sum_kernel_param_0,
	.param .u64 sum_kernel_param_1
)
{
	// demoted variable
	.shared .align 4 .b8 room[256];
	ld.param.u64 	%rd1, [sum_kernel_param_0];
	ld.param.u64 	%rd2, [sum_kernel_param_1];
	mov.u32 	%r1, %tid.x;
	mul.wide.u32 	%rd3, %r1, 4;
	add.s64 	%rd4, %rd1, %rd3;
	ld.global.f32 	%f1, [%rd4];
	shl.b32 	%r2, %r1, 2;
	mov.u32 	%r3, room;
	add.s32 	%r4, %r3, %r2;
	st.shared.f32 	[%r4], %f1;
	bar.sync 	0;
	xor.b32 	%r5, %r4, 128;
	sub.s32 	%r5, %r5, %r3;
	xor.b32 	%r5, %r2, 128;
	add.s32 	%r5, %r3, %r5;
	ld.shared.f32 	%f2, [%r5];
	ld.shared.f32 	%f3, [%r4+0];
	add.rn.f32 	%f4, %f3, %f2;
	mov.u32 	%r6, 16;
$again:
	mov.b32 	%r7, %f4;
	shfl.sync.bfly.b32 	%r8|%p1, %r7, %r6, 31, -1;
	{ mov.b32 	%f5, %r8;}
	add.rn.f32 	%f4, %f4, %f5;
	shr.u32 	%r6, %r6, 1;
	setp.ne.s32 	%p2, %r6, 0;
	@%p2 bra 	$again;
	add.s64 	%rd5, %rd2, %rd3;
	st.global.f32 	[%rd5], %f4;
	ret;
}
)";

class Ptx : public testing::Test {
 protected:
  Ptx() {
    emulator::insert_card(emulator::card_by_name("rtx3060"));
    cudaMalloc(&in_, 400);
    cudaMalloc(&out_, 400);
    float values[100];
    for (int i = 0; i < 100; ++i) values[i] = 1.0f / static_cast<float>(i + 1);
    cudaMemcpy(in_, values, 400, cudaMemcpyHostToDevice);
  }
  ~Ptx() override {
    emulator::g_launch_runner = nullptr;
    emulator::insert_card(emulator::card_by_name("rtx3060"));
  }
  emulator::ptx::Comparison of(const std::string& kernel) {
    return emulator::ptx::comparisons().at(kernel);
  }
  float *in_ = nullptr, *out_ = nullptr;
};

TEST_F(Ptx, AgreesBitForBit) {
  emulator::ptx::load_ptx(scale_text("scale_kernel", "mul.rn.f32 	%f3, %f2, %f1;"));
  emulator::launch(scale_kernel, {2, 64}, nullptr, in_, out_, 3.7f, 100);
  const auto result = of("scale_kernel");
  EXPECT_EQ(result.problem, "");
  EXPECT_TRUE(result.exact);
  EXPECT_EQ(result.words, 100u);
  EXPECT_EQ(result.different, 0u);
}

TEST_F(Ptx, TellsWhereTheTextSaysSomethingElse) {
  emulator::ptx::load_ptx(scale_text("wrong_kernel", "add.rn.f32 	%f3, %f2, %f1;"));
  emulator::launch(wrong_kernel, {2, 64}, nullptr, in_, out_, 3.7f, 100);
  EXPECT_NE(of("wrong_kernel").problem.find("word 0"), std::string::npos)
      << of("wrong_kernel").problem;
}

TEST_F(Ptx, BarriersSharedMemoryAndShuffles) {
  emulator::ptx::load_ptx(kSum);
  emulator::launch(sum_kernel, {1, 64}, nullptr, in_, out_);
  EXPECT_EQ(of("sum_kernel").problem, "");
  EXPECT_EQ(of("sum_kernel").different, 0u);
  EXPECT_EQ(of("sum_kernel").words, 64u);
}

TEST_F(Ptx, UnknownInstructionsAreNamed) {
  try {
    emulator::ptx::load_ptx(scale_text("scale_kernel", "frobnicate.f32 	%f3, %f2, %f1;"));
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("frobnicate"), std::string::npos);
  }
}

}  // namespace
