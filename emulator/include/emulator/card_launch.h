// A kernel goes to the fake card's queue: what <<<>>> is to nvcc.
#pragma once

#include <memory>
#include <utility>

#include "cuda_runtime_api.h"
#include "emulator/launch.h"

namespace emulator {

// Bad shapes become the error that cudaGetLastError() tells.
void enqueue_launch(std::unique_ptr<KernelCall> call, const LaunchShape& shape,
                    cudaStream_t stream);

template <typename... Params>
void launch(void (*kernel)(Params...), const LaunchShape& shape, cudaStream_t stream,
            std::type_identity_t<Params>... args) {
  enqueue_launch(std::make_unique<KernelCallOf<Params...>>(kernel, std::move(args)...), shape,
                 stream);
}

}  // namespace emulator
