// Selectors: path patterns and their prefixes.
#include "frontend/parse/builder.h"

#include <limits>

namespace sspc {

using namespace syntax;
using Parser = Builder::Parser;

namespace {

constexpr size_t most_names = 1000; ///< that one component may stand for

bool adjacent(const antlr4::Token* a, const antlr4::Token* b) { return a->getStopIndex() + 1 == b->getStartIndex(); }

Selector::Of prefixed(size_t prefix, bool messages) {
    using Of = Selector::Of;
    if (prefix == Parser::GRAD) {
        return messages ? Of::MessagesOfGradient : Of::Gradient;
    }
    return messages ? Of::MessagesOfUpdate : Of::Update;
}

} // namespace

Selectors Builder::only(Parser::OnlyForContext* ctx) { return ctx == nullptr ? Selectors() : selectors(ctx->selectors()); }

Selectors Builder::selectors(Parser::SelectorsContext* ctx) {
    Selectors all;
    for (auto* item : ctx->selector()) {
        if (auto* c = dynamic_cast<Parser::TaskSelectorContext*>(item)) {
            all.push_back(path(c->path(), Selector::Of::Tasks, nullptr));
        } else if (auto* c = dynamic_cast<Parser::PrefixedSelectorContext*>(item)) {
            all.push_back(path(c->path(), prefixed(c->start->getType(), false), c->start));
        } else if (auto* c = dynamic_cast<Parser::CommSelectorContext*>(item)) {
            for (auto* message : c->commItem()) {
                const bool bare = message->GRAD() == nullptr && message->UPDATE() == nullptr;
                Selector one = path(message->path(), bare ? Selector::Of::Messages : prefixed(message->start->getType(), true),
                                    bare ? nullptr : message->start);
                if (one.of == Selector::Of::Tasks) {
                    one.of = Selector::Of::Messages; // `comm(grad*)`
                }
                one.text = "comm(" + one.text + ")";
                if (c->commItem().size() == 1) {
                    one.span = span(c);
                }
                all.push_back(std::move(one));
            }
        }
    }
    return all;
}

Selector Builder::path(Parser::PathContext* ctx, Selector::Of of, const antlr4::Token* prefix) {
    Selector selector;
    selector.of = of;
    selector.span = prefix == nullptr ? span(ctx) : join(span(prefix), span(ctx));
    selector.text = std::string(text(selector.span));
    selector.exact = ctx->BANG() != nullptr;
    for (auto* item : ctx->component()) {
        selector.components.push_back(component(item));
    }
    // `grad*` without a space is a pattern for names, `grad *` the gradient of everything.
    if (prefix != nullptr && adjacent(prefix, ctx->start) && !selector.components[0].any_depth) {
        for (std::string& glob : selector.components[0].names) {
            glob.insert(0, prefix->getText());
        }
        selector.of = Selector::Of::Tasks;
    }
    return selector;
}

Selector::Component Builder::component(Parser::ComponentContext* ctx) {
    Selector::Component component;
    component.span = span(ctx);
    component.any_depth = ctx->STARSTAR() != nullptr;
    if (auto* glob = ctx->glob()) {
        component.names = {""};
        const auto append = [&](const std::vector<std::string>& alternatives) {
            if (alternatives.size() * component.names.size() > most_names) {
                sink_.report(diag::TooManyAlternatives, component.span, most_names);
                return;
            }
            std::vector<std::string> longer;
            for (const std::string& head : component.names) {
                for (const std::string& tail : alternatives) {
                    longer.push_back(head + tail);
                }
            }
            component.names = std::move(longer);
        };
        if (glob->globWord() != nullptr) {
            append({name(glob->globWord()).text});
        }
        for (auto* wild : glob->globWild()) {
            std::vector<std::string> alternatives;
            for (auto* alternative : wild->alternative()) {
                alternatives.emplace_back(text(span(alternative)));
            }
            append(wild->STAR() != nullptr ? std::vector<std::string>{"*"} : alternatives);
            if (wild->globWord() != nullptr) {
                append({name(wild->globWord()).text});
            }
        }
    }
    if (auto* index = ctx->componentIndex()) {
        if (index->expr().empty()) {
            component.index = Selector::Component::Index::Any;
        } else {
            component.index = index->DOTDOT() == nullptr ? Selector::Component::Index::One : Selector::Component::Index::Range;
            component.first = expr(index->expr(0));
            component.last = index->DOTDOT() == nullptr ? nullptr : expr(index->expr(1));
        }
    }
    if (ctx->HASH() != nullptr) {
        const antlr4::Token* token = ctx->INT()->getSymbol();
        const int64_t value = integer(token);
        if (value < 1 || value > std::numeric_limits<int>::max()) {
            sink_.report(diag::NumberOutOfRange, span(token), token->getText(), "an occurrence, which counts from 1");
        } else {
            component.occurrence = static_cast<int>(value);
        }
    }
    return component;
}

} // namespace sspc
