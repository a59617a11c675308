// From the text of a file to its syntax tree: characters, tokens, ANTLR's tree, ours.
#include "frontend/parse/parser.h"

#include "frontend/parse/builder.h"
#include "frontend/parse/error_strategy.h"
#include "frontend/parse/limits.h"
#include "ir/support/check.h"
#include "ir/support/unicode.h"

#include "SspLexer.h"
#include "SspParser.h"

namespace sspc {

using sspc_grammar::SspLexer;
using sspc_grammar::SspParser;

namespace {

/// What keeps bytes from being text at all.
bool check_bytes(FileId file, std::string_view text, Sink& sink) {
    if (text.size() > most_mebibytes << 20) {
        sink.report(diag::SourceTooLarge, Span{file, 0, 0}, most_mebibytes);
        return false;
    }
    for (size_t i = 0; i < text.size();) {
        const CodePoint point = decode_utf8(text, i);
        const auto at = static_cast<uint32_t>(i);
        if (!point.valid) {
            constexpr char digits[] = "0123456789ABCDEF";
            const auto byte = static_cast<unsigned char>(text[i]);
            sink.report(diag::NotUtf8, Span{file, at, at + 1}, std::string("0x") + digits[byte >> 4] + digits[byte & 15]);
            return false;
        }
        if (point.value == 0) {
            sink.report(diag::NulByte, Span{file, at, at + 1});
            return false;
        }
        i += static_cast<size_t>(point.bytes);
    }
    return true;
}

/// The fast way first: SLL prediction that gives up at the first error. Null: there is an error, or SLL was not enough.
SspParser::ModuleContext* parse_fast(SspParser& parser) {
    parser.setErrorHandler(std::make_shared<antlr4::BailErrorStrategy>());
    parser.getInterpreter<antlr4::atn::ParserATNSimulator>()->setPredictionMode(antlr4::atn::PredictionMode::SLL);
    try {
        return parser.module();
    } catch (const antlr4::ParseCancellationException&) {
        return nullptr;
    }
}

SspParser::ModuleContext* parse_with_recovery(SspParser& parser, const Offsets& offsets, const Span& unclosed, Sink& sink) {
    parser.reset();
    parser.setErrorHandler(std::make_shared<ErrorStrategy>(offsets, unclosed, sink));
    parser.getInterpreter<antlr4::atn::ParserATNSimulator>()->setPredictionMode(antlr4::atn::PredictionMode::LL);
    return parser.module();
}

std::optional<syntax::Module> parse_text(FileId file, std::string_view text, uint32_t base, const SourceMap& sources, Sink& sink) {
    const size_t errors_before = sink.error_count();
    const Offsets offsets(file, text, base);
    antlr4::ANTLRInputStream input(text.data(), text.size());
    SspLexer lexer(&input);
    lexer.removeErrorListeners();
    antlr4::CommonTokenStream tokens(&lexer);
    tokens.fill();
    const TokenCheck check = check_tokens(tokens.getTokens(), offsets, sink);
    if (check.too_deep) {
        return std::nullopt;
    }
    tokens.seek(0);
    SspParser parser(&tokens);
    parser.removeErrorListeners();
    SspParser::ModuleContext* tree = parse_fast(parser);
    if (tree == nullptr) {
        tokens.seek(0);
        tree = parse_with_recovery(parser, offsets, check.unclosed, sink);
    }
    if (sink.error_count() > errors_before) {
        return std::nullopt;
    }
    SSPC_CHECK(parser.getNumberOfSyntaxErrors() == 0, "every syntax error is reported");
    syntax::Module module = Builder(file, sources, offsets, tokens, sink).module(tree);
    if (sink.error_count() > errors_before) {
        return std::nullopt;
    }
    return module;
}

} // namespace

std::optional<syntax::Module> parse(FileId file, const SourceMap& sources, Sink& sink) {
    std::string_view text = sources.text(file);
    if (!check_bytes(file, text, sink)) {
        return std::nullopt;
    }
    constexpr std::string_view mark = "\xEF\xBB\xBF"; // byte-order mark
    const bool marked = text.starts_with(mark);
    text.remove_prefix(marked ? mark.size() : 0);
    try {
        return parse_text(file, text, marked ? 3 : 0, sources, sink);
    } catch (const InternalError&) {
        throw;
    } catch (const std::exception& error) { // ANTLR's own failures stop here
        throw InternalError(__FILE__, __LINE__, std::string("the parser failed: ") + error.what());
    }
}

} // namespace sspc
