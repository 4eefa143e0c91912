// cudart: streams, events, graphs, host functions.
#include "card/card_state.h"

using emulator::CardState;
using emulator::with_card;

namespace {

// Waiting is not allowed while a graph is being captured.
template <typename Work>
cudaError_t waiting(Work work) {
  return with_card([&](CardState& card) {
    if (card.queues.capturing()) return cudaErrorStreamCaptureUnsupported;
    return work(card);
  });
}

}  // namespace

extern "C" {

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return with_card([&](CardState& card) {
    *stream = card.queues.create_stream(!(flags & cudaStreamNonBlocking));
    return cudaSuccess;
  });
}

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return cudaStreamCreateWithFlags(stream, cudaStreamDefault);
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int) {
  return cudaStreamCreateWithFlags(stream, flags);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return with_card([&](CardState& card) {
    return card.queues.destroy_stream(stream) ? cudaSuccess : cudaErrorInvalidResourceHandle;
  });
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return waiting([&](CardState& card) {
    if (!card.queues.knows(stream)) return cudaErrorInvalidResourceHandle;
    card.queues.finish(stream);
    return card.sticky_error;
  });
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
  return waiting([&](CardState& card) {
    if (!card.queues.knows(stream)) return cudaErrorInvalidResourceHandle;
    if (card.sticky_error != cudaSuccess) return card.sticky_error;
    return card.queues.idle(stream) ? cudaSuccess : cudaErrorNotReady;
  });
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  return with_card([&](CardState& card) {
    *event = card.queues.create_event();
    return cudaSuccess;
  });
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return cudaEventCreateWithFlags(event, cudaEventDefault);
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return with_card([&](CardState& card) {
    return card.queues.destroy_event(event) ? cudaSuccess : cudaErrorInvalidResourceHandle;
  });
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return with_card([&](CardState& card) {
    if (!card.queues.knows(stream) || !card.queues.knows(event)) {
      return cudaErrorInvalidResourceHandle;
    }
    card.queues.record(event, stream);
    return cudaSuccess;
  });
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  return with_card([&](CardState& card) {
    if (!card.queues.knows(stream) || !card.queues.knows(event)) {
      return cudaErrorInvalidResourceHandle;
    }
    card.queues.wait(stream, event);
    return cudaSuccess;
  });
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return waiting([&](CardState& card) {
    if (!card.queues.knows(event)) return cudaErrorInvalidResourceHandle;
    card.queues.finish(event);
    return card.sticky_error;
  });
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  return waiting([&](CardState& card) {
    if (!card.queues.knows(event)) return cudaErrorInvalidResourceHandle;
    return event->completed == event->recorded ? card.sticky_error : cudaErrorNotReady;
  });
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
  return with_card([&](CardState& card) {
    if (!card.queues.knows(begin) || !card.queues.knows(end) || !begin->recorded ||
        !end->recorded) {
      return cudaErrorInvalidResourceHandle;
    }
    if (begin->completed != begin->recorded || end->completed != end->recorded) {
      return cudaErrorNotReady;
    }
    *milliseconds = std::chrono::duration<float, std::milli>(end->when - begin->when).count();
    return cudaSuccess;
  });
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  return with_card([&](CardState& card) {
    return emulator::enqueue_work(card, stream, [=] { function(data); });
  });
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  return with_card([&](CardState& card) {
    if (!stream || card.queues.capturing()) return cudaErrorStreamCaptureUnsupported;
    card.queues.begin_capture(stream);
    return cudaSuccess;
  });
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  return with_card([&](CardState& card) {
    if (!card.queues.capturing() || !card.queues.captures(stream)) {
      return cudaErrorStreamCaptureUnsupported;
    }
    *graph = new CUgraph_st{card.queues.end_capture()};
    return cudaSuccess;
  });
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long) {
  *exec = new CUgraphExec_st{graph->operations};
  return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph) {
  return with_card([&](CardState& card) {
    card.queues.finish_all();
    delete graph;
    return cudaSuccess;
  });
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream) {
  return with_card([&](CardState& card) {
    return emulator::enqueue_work(card, stream, [graph] {
      for (const emulator::Operation& operation : graph->operations) {
        if (operation.run) operation.run();
      }
    });
  });
}
}
