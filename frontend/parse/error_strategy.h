// Reports syntax errors in the user's words and goes on at the next statement.
#pragma once

#include "frontend/parse/offsets.h"
#include "ir/support/sink.h"

#include <antlr4-runtime.h>

namespace sspc {

/// An error leaves every rule up to the nearest list of statements or declarations; that list skips to the end of the broken one and
/// continues. Rules that only wait for a `;` at the end of a line get it.
class ErrorStrategy : public antlr4::DefaultErrorStrategy {
public:
    /// `unclosed`: the bracket to point at when the file ends too early.
    ErrorStrategy(const Offsets& offsets, Span unclosed, Sink& sink) : offsets_(offsets), unclosed_(unclosed), sink_(sink) {}

    void reset(antlr4::Parser* parser) override;
    void reportError(antlr4::Parser* parser, const antlr4::RecognitionException& error) override;
    void recover(antlr4::Parser* parser, std::exception_ptr error) override;
    antlr4::Token* recoverInline(antlr4::Parser* parser) override;
    void sync(antlr4::Parser* parser) override;

private:
    void report(antlr4::Parser* parser, const antlr4::Token* at, const std::string& expected, const antlr4::misc::IntervalSet& set);
    /// Adds what the parser could take now to what is expected at this token.
    void expect(antlr4::Parser* parser);
    void skip_broken(antlr4::Parser* parser, const antlr4::misc::IntervalSet& next);

    const Offsets& offsets_;
    Span unclosed_;
    Sink& sink_;
    antlr4::misc::IntervalSet expected_; ///< at token `expected_at_`
    size_t expected_at_ = static_cast<size_t>(-1);
    size_t item_at_ = static_cast<size_t>(-1); ///< the token at which the last item of a list began
};

} // namespace sspc
