// Walks the order of one class: what runs before the loop over the micro-batches, one micro-batch of each kind, and what runs after.
#include "ir/check/class_state.h"

#include "ir/check/describe.h"
#include "ir/support/format.h"
#include "ir/support/match.h"

#include <map>

namespace sspc::check {

namespace {

/// One step of the order, as far as it touches values. Posts are taken one by one.
struct Item {
    enum class Kind { Run, Post, Allocate, Free } kind = Kind::Run;
    int block = -1;
    const Post* post = nullptr;
    BufferId buffer;
    int micro = -1;

    std::vector<int> key() const {
        return {static_cast<int>(kind), block, post != nullptr ? post->message.value : -1,
                post != nullptr ? static_cast<int>(post->kind) : -1, post != nullptr ? post->buffer.value : buffer.value};
    }
};

class Walk {
public:
    Walk(const Checked& checked, size_t class_index, Sink& sink)
        : checked_(checked), class_(checked.program.classes[class_index]), sink_(sink) {
        outcome_.sent = IdVector<MessageId, MessageEnd>(checked.program.messages.size());
        outcome_.received = outcome_.sent;
        state_.emplace(checked, class_index, outcome_, sink);
    }

    Outcome run() {
        split_order();
        state_->set_region(ClassState::Region::BeforeLoop);
        for (const Item& item : before_) {
            take(*state_, item);
        }
        state_->set_region(ClassState::Region::Loop);
        loop();
        for (const Item& item : between_) {
            take(*state_, item);
        }
        state_->leave_loop();
        state_->set_region(ClassState::Region::AfterLoop);
        for (const Item& item : after_) {
            take(*state_, item);
        }
        state_->expect_freed(Life::Step, "the step");
        state_->expect_freed(Life::Micro, "the step");
        outcome_.contents = state_->contents;
        return std::move(outcome_);
    }

private:
    void split_order() {
        std::vector<Item> items;
        for (const OrderStep& step : class_.order) {
            std::visit(Match{[&](const RunBlock& x) { items.push_back({Item::Kind::Run, x.block, nullptr, {}, x.micro}); },
                             [&](const Posts& x) {
                                 for (const Post& p : x.posts) {
                                     items.push_back({Item::Kind::Post, -1, &p, {}, p.micro});
                                 }
                             },
                             [&](const AllocateInstance& x) {
                                 items.push_back({Item::Kind::Allocate, -1, nullptr, x.buffer, x.micro});
                             },
                             [&](const FreeInstance& x) {
                                 items.push_back({Item::Kind::Free, -1, nullptr, x.buffer, x.micro});
                             },
                             [&](const Record&) {}, [&](const Wait&) {}},
                       step);
        }
        size_t last = 0;
        for (size_t i = 0; i < items.size(); ++i) {
            last = items[i].micro >= 0 ? i : last;
        }
        scripts_.resize(static_cast<size_t>(checked_.micros));
        bool in_loop = false;
        for (size_t i = 0; i < items.size(); ++i) {
            if (items[i].micro >= 0) {
                in_loop = true;
                scripts_[static_cast<size_t>(items[i].micro)].push_back(items[i]);
            } else if (!in_loop) {
                before_.push_back(items[i]);
            } else {
                (i < last ? between_ : after_).push_back(items[i]);
            }
        }
    }

    void take(ClassState& state, const Item& item) {
        switch (item.kind) {
        case Item::Kind::Run:
            state.run_block(class_.blocks[static_cast<size_t>(item.block)]);
            break;
        case Item::Kind::Post:
            state.post(*item.post);
            break;
        case Item::Kind::Allocate:
            state.set_place("the order's allocate");
            state.allocate(item.buffer);
            break;
        case Item::Kind::Free:
            state.set_place("the order's free");
            state.free(item.buffer);
            break;
        }
    }

    /// Micro-batches that do the same are interpreted once; all must leave the same behind.
    void loop() {
        std::map<std::vector<int>, int> known;
        std::optional<ClassState> left;
        int first = 0;
        for (int micro = 0; micro < checked_.micros; ++micro) {
            std::vector<int> key;
            for (const Item& item : scripts_[static_cast<size_t>(micro)]) {
                const auto part = item.key();
                key.insert(key.end(), part.begin(), part.end());
            }
            if (!known.emplace(std::move(key), micro).second) {
                continue;
            }
            ClassState state = *state_;
            for (const Item& item : scripts_[static_cast<size_t>(micro)]) {
                take(state, item);
            }
            state.expect_freed(Life::Micro, format("micro-batch {0}", micro));
            repeatable(state, micro);
            if (!left) {
                left.emplace(std::move(state));
                first = micro;
            } else {
                compare(*left, first, state, micro);
            }
        }
        if (left) {
            state_->contents = left->contents;
            state_->memory = left->memory;
        }
    }

    /// What a micro-batch finds, the next one must find too.
    void repeatable(const ClassState& after, int micro) {
        for (const BufferId id : class_.buffers.ids()) {
            if (class_.buffers[id].life == Life::Micro) {
                continue;
            }
            const Content& found = state_->contents[id];
            const bool kept = found.is_nothing() || found == after.contents[id] ||
                              (found.state == Content::State::Identity && after.contents[id].accumulating);
            if (!kept || state_->memory.is_allocated(id) != after.memory.is_allocated(id)) {
                sink_.report(diag::MicroBatchesDiffer, Span{}, micro + 1, describe_devices(checked_, class_), micro,
                             format("it does not find `{0}` as it was", class_.buffers[id].name));
            }
        }
    }

    void compare(const ClassState& one, int first, const ClassState& other, int micro) {
        for (const BufferId id : class_.buffers.ids()) {
            if (class_.buffers[id].life != Life::Micro && !(one.contents[id] == other.contents[id])) {
                sink_.report(diag::MicroBatchesDiffer, Span{}, micro, describe_devices(checked_, class_), first,
                             format("they leave `{0}` otherwise", class_.buffers[id].name));
                return;
            }
        }
    }

    const Checked& checked_;
    const Class& class_;
    Sink& sink_;
    Outcome outcome_;
    std::optional<ClassState> state_;
    std::vector<Item> before_, between_, after_;
    std::vector<std::vector<Item>> scripts_;
};

} // namespace

Outcome interpret_class(const Checked& checked, size_t class_index, Sink& sink) {
    return Walk(checked, class_index, sink).run();
}

} // namespace sspc::check
