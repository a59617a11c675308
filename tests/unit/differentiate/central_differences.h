// Compares derived gradients with central differences of the interpreted loss.
#pragma once

#include "ir/interpret/graph_interpreter.h"
#include "ir/passes/differentiate.h"
#include "tests/support/graph_builder.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <random>

namespace sspc::test {

/// A builder whose leaves get random values.
class GradientCase : public GraphBuilder {
public:
    explicit GradientCase(uint32_t seed = 1) : random_(seed) {}

    /// Values in [low, high) for the parameters and float inputs made from here on.
    double low = -2;
    double high = 2;

    TensorId random_param(const std::string& path, const std::vector<AxisId>& axes) {
        return with_values(param(path, axes, DType::F64));
    }
    TensorId random_input(const std::string& path, const std::vector<AxisId>& axes) {
        return with_values(input(path, axes, DType::F64));
    }
    /// Integers in [0, limit).
    TensorId index_input(const std::string& path, const std::vector<AxisId>& axes, int limit) {
        const TensorId id = input(path, axes, DType::I64);
        std::uniform_int_distribution<int> pick(0, limit - 1);
        set(id, [&] { return pick(random_); });
        return id;
    }
    void set_values(TensorId id, std::vector<double> data) {
        given_.emplace_back(id, std::move(data));
    }
    int64_t random_size() {
        constexpr std::array<int64_t, 6> sizes{1, 2, 3, 4, 5, 7};
        return sizes[std::uniform_int_distribution<size_t>(0, sizes.size() - 1)(random_)];
    }

    /// Makes the loss: a sum of `value` weighted by random numbers.
    void finish(TensorId value) {
        const std::vector<AxisId> axes = graph.tensors[value].axes;
        const TensorId weights = random_input("weights", axes);
        const ExprPtr body = at(value) * at(weights);
        graph.loss = make_value("loss", {}, body, Reduce::Sum, axes);
    }

    /// Checks every element of every gradient.
    void check(double tolerance = 1e-6) {
        ASSERT_EQ(verify(graph), std::nullopt) << print_graph(graph);
        Sink sink;
        const auto training = differentiate(graph, sink);
        ASSERT_TRUE(training) << print_graph(graph);
        derived = *training;
        Environment environment;
        environment.values.resize(derived.tensors.size());
        for (const auto& [id, data] : given_) {
            environment.values[id].data = data;
        }
        const auto error = run(derived, environment, 1, 0, Precision::F64);
        ASSERT_EQ(error, std::nullopt) << print_graph(derived);
        for (const Graph::Gradient& gradient : derived.gradients) {
            const Value found = environment.values[gradient.gradient];
            for (size_t i = 0; i < found.data.size(); ++i) {
                const double expected = difference(environment, gradient.parameter, i);
                ASSERT_NEAR(found.data[i], expected, tolerance * (1 + std::fabs(expected)))
                    << "element " << i << " of " << derived.tensors[gradient.gradient].path
                    << " in\n"
                    << print_graph(derived);
            }
        }
    }

    Graph derived;

private:
    TensorId with_values(TensorId id) {
        std::uniform_real_distribution<double> pick(low, high);
        set(id, [&] { return pick(random_); });
        return id;
    }
    template <typename Draw>
    void set(TensorId id, Draw draw) {
        std::vector<double> data;
        const int64_t count = element_count(graph, graph.tensors[id].axes);
        for (int64_t i = 0; i < count; ++i) {
            data.push_back(draw());
        }
        set_values(id, std::move(data));
    }
    double difference(const Environment& environment, TensorId parameter, size_t element) const {
        constexpr double h = 1e-5;
        const auto loss_at = [&](double shift) {
            Environment moved = environment;
            moved.values[parameter].data[element] += shift;
            EXPECT_EQ(run(graph, moved, 1, 0, Precision::F64), std::nullopt);
            return moved.values[graph.loss].data[0];
        };
        return (loss_at(h) - loss_at(-h)) / (2 * h);
    }

    std::mt19937 random_;
    std::vector<std::pair<TensorId, std::vector<double>>> given_;
};

inline ExprPtr real(double value) {
    return constant(value, DType::F64);
}

} // namespace sspc::test
