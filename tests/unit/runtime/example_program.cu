// A program in the shape of a generated one: linear regression, the batch cut over two devices, plain gradient descent.
//
//   model line { input x: f32[batch, feature]; input y: f32[batch]; param w[feature] = normal(std: 0.1);
//                p = sum[feature] x * w;  loss = mean[batch] (p - y)^2;  minimize loss using sgd(lr: 0.1); output p; }
//   plan two for line { mesh g[dp: 2]; shard batch over dp; }
#include "common/error.h"
#include "common/gemm.h"
#include "common/kernel.h"
#include "common/launcher.h"
#include "common/math.h"
#include "common/network.h"
#include "common/trace.h"

#include <cuda_runtime.h>

#include <cstdint>

namespace plan {
namespace {

constexpr int64_t batch = 6;
constexpr int64_t feature = 5;

/// The parts of the axes that the device at mesh coordinates `at` works on.
struct Parts {
    ssp::Interval batch_dp; // batch over dp

    explicit Parts(const int* at) { batch_dp = ssp::part_of(ssp::Interval{0, batch}, 2, at[1]); }
};

/// Where the tensors lie in the arenas.
enum Offset : int64_t { w_at = 0, grad_at = 256, loss_at = 512, p_at = 768, fixed_bytes = 1024 };
enum ScratchOffset : int64_t { x_at = 0, y_at = 256, d_at = 512, scratch_bytes = 768 };

/// d[batch] = 2 / batch * (p - y);  loss = sum[batch] (p - y)^2 / batch
struct loss_kernel {
    const float* p;
    const float* y;
    float* d;
    float* loss;
    int64_t rows;

    template <typename Row>
    SSP_KERNEL void operator()(const Row& row, int64_t) const {
        const float sum = row.template reduce<ssp::Reduction::Sum, float>(ssp::extent(rows), [&](int64_t i) {
            const float difference = p[i] - y[i];
            return difference * difference;
        });
        row.each(ssp::extent(rows), [&](int64_t i) { d[i] = 2.0f / float(batch) * (p[i] - y[i]); });
        row.once([&] { *loss = sum / float(batch); });
    }
};

/// w = w - 0.1 * grad
struct update_kernel {
    float* w;
    const float* grad;

    SSP_KERNEL void operator()(int64_t i) const { w[i] = w[i] - 0.1f * grad[i]; }
};

class Line : public ssp::Stage {
public:
    explicit Line(ssp::Device& device) : device_(device), parts_(device.at.data()) {
        SSP_CUDA(cudaEventCreateWithFlags(&gradient_ready_, cudaEventDisableTiming));
        SSP_CUDA(cudaEventCreateWithFlags(&gradient_summed_, cudaEventDisableTiming));
    }
    ~Line() override {
        cudaEventDestroy(gradient_ready_);
        cudaEventDestroy(gradient_summed_);
    }

    void step(int64_t) override {
        forward_and_backward();
        sum_gradients();
        update();
    }

private:
    float* fixed(int64_t offset) const { return reinterpret_cast<float*>(device_.fixed + offset); }
    float* scratch(int64_t offset) const { return reinterpret_cast<float*>(device_.scratch + offset); }

    void forward_and_backward() {
        const ssp::Span span(device_.compute, "F0 B0", 0);
        const int64_t rows = parts_.batch_dp.size();
        device_.load(0, scratch(x_at), {{batch, {1}}, {feature, {}}}, 0);
        device_.load(1, scratch(y_at), {{batch, {1}}}, 0);
        // p[batch] = sum[feature] x * w
        ssp::gemm(device_.compute, {rows, 1, feature, false, false, feature, 1, 1}, 1.0, false, scratch(x_at), fixed(w_at),
                  fixed(p_at));
        ssp::launch_rows(device_.compute, ssp::extent(int64_t(1)),
                         loss_kernel{fixed(p_at), scratch(y_at), scratch(d_at), fixed(loss_at), rows});
        // grad w[feature] = sum[batch] x * d
        ssp::gemm(device_.compute, {feature, 1, rows, true, false, feature, 1, 1}, 1.0, false, scratch(x_at), scratch(d_at),
                  fixed(grad_at));
        SSP_CUDA(cudaEventRecord(gradient_ready_, device_.compute));
    }

    void sum_gradients() {
        ssp::site("line.ssp:4 all_reduce of grad w");
        const ssp::Span span(device_.communication, "all_reduce of grad w");
        SSP_CUDA(cudaStreamWaitEvent(device_.communication, gradient_ready_, 0));
        ssp::Network::Message message;
        message.axes = {1};
        device_.network->all_reduce(device_.communication, message,
                                    {{fixed(grad_at), fixed(grad_at), ssp::DType::F32, {{feature, {}, {}}}}});
        SSP_CUDA(cudaEventRecord(gradient_summed_, device_.communication));
    }

    void update() {
        const ssp::Span span(device_.compute, "update");
        SSP_CUDA(cudaStreamWaitEvent(device_.compute, gradient_summed_, 0));
        ssp::launch(device_.compute, ssp::extent(feature), update_kernel{fixed(w_at), fixed(grad_at)});
    }

    ssp::Device& device_;
    Parts parts_;
    cudaEvent_t gradient_ready_ = nullptr;
    cudaEvent_t gradient_summed_ = nullptr;
};

ssp::ProgramInfo program() {
    ssp::ProgramInfo info;
    info.model = "line";
    info.plan = "two";
    info.mesh_names = {"micro", "dp"};
    info.mesh = {1, 2};
    info.communicators = {{1}};
    info.arenas = {{fixed_bytes, 0, scratch_bytes}};
    info.make = [](int, ssp::Device& device) -> ssp::Stage* { return new Line(device); };
    info.inputs = {{"x", ssp::DType::F32, {batch, feature}}, {"y", ssp::DType::F32, {batch}}};
    info.stored = {{"w", false, ssp::DType::F32, ssp::ProgramInfo::Init::Normal, 0, 0.1, {0, w_at, {{feature, {}}}, {}}, {}}};
    using What = ssp::ProgramInfo::What;
    info.results = {{"loss", What::Loss, ssp::DType::F32, {0, loss_at, {}, {1}}},
                    {"w", What::Gradient, ssp::DType::F32, {0, grad_at, {{feature, {}}}, {}}},
                    {"p", What::Output, ssp::DType::F32, {0, p_at, {{batch, {1}}}, {}}}};
    return info;
}

} // namespace
} // namespace plan

int main(int argc, char** argv) { return ssp::run(plan::program(), argc, argv); }
