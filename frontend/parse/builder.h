// From ANTLR's tree to the syntax tree, one typed function a rule. Only trees without syntax errors are built.
#pragma once

#include "frontend/parse/offsets.h"
#include "frontend/syntax/ast.h"
#include "ir/support/sink.h"
#include "ir/support/source_map.h"

#include "SspParser.h"

namespace sspc {

class Builder {
public:
    using Parser = sspc_grammar::SspParser;

    Builder(FileId file, const SourceMap& sources, const Offsets& offsets, antlr4::BufferedTokenStream& tokens, Sink& sink)
        : file_(file), sources_(sources), offsets_(offsets), tokens_(tokens), sink_(sink) {}

    syntax::Module module(Parser::ModuleContext* ctx);

private:
    // build_module.cpp
    template <typename Decl, typename Context>
    Decl declaration(Context* ctx);
    std::string doc_before(const antlr4::Token* token);
    std::vector<syntax::Parameter> parameters(Parser::ParametersContext* ctx);
    syntax::Type type(Parser::TypeContext* ctx);
    syntax::Import import(Parser::ImportDeclContext* ctx);
    syntax::Plan plan(Parser::PlanDeclContext* ctx);
    syntax::Data data(Parser::DataDeclContext* ctx);
    syntax::Feed feed(Parser::FeedDeclContext* ctx);

    // build_statement.cpp
    std::vector<syntax::Statement> body(Parser::BodyContext* ctx);
    syntax::Statement statement(Parser::StatementContext* ctx);
    std::optional<syntax::BlockIndex> block_index(Parser::BlockIndexContext* ctx);
    syntax::Target target(Parser::TargetContext* ctx);
    syntax::Minimize minimize(Parser::MinimizeStatementContext* ctx);

    // build_plan.cpp
    std::vector<syntax::PlanStatement> plan_body(Parser::PlanBodyContext* ctx);
    syntax::PlanStatement plan_statement(Parser::PlanStatementContext* ctx);
    syntax::Mesh mesh(Parser::MeshStatementContext* ctx);
    syntax::Shard shard(Parser::ShardStatementContext* ctx);
    syntax::Stages stages(Parser::StagesStatementContext* ctx);
    syntax::Placement placement(Parser::PlacementContext* ctx);
    syntax::MeshAxisRef mesh_axis(Parser::MeshAxisRefContext* ctx);

    // build_schedule.cpp
    std::vector<syntax::ScheduleStatement> schedule_body(Parser::ScheduleBodyContext* ctx);
    syntax::ScheduleStatement schedule_statement(Parser::ScheduleStatementContext* ctx);

    // build_selector.cpp
    syntax::Selectors selectors(Parser::SelectorsContext* ctx);
    syntax::Selectors only(Parser::OnlyForContext* ctx);
    syntax::Selector path(Parser::PathContext* ctx, syntax::Selector::Of of, const antlr4::Token* prefix);
    syntax::Selector::Component component(Parser::ComponentContext* ctx);

    // build_expression.cpp
    syntax::ExprPtr expr(Parser::ExprContext* ctx); ///< null for null
    syntax::ExprPtr literal(Parser::LiteralContext* ctx);
    syntax::ExprPtr indexed(Parser::IndexExprContext* ctx);
    syntax::ExprPtr call(Parser::CallExprContext* ctx);
    syntax::IndexEntry index_entry(Parser::IndexEntryContext* ctx);
    syntax::Argument argument(Parser::ArgumentContext* ctx);
    syntax::Arguments arguments(Parser::ArgumentsContext* ctx);
    syntax::NamedCall named_call(Parser::NamedCallContext* ctx);
    syntax::Range range(Parser::RangeContext* ctx);
    std::vector<syntax::ExprPtr> expr_list(Parser::ExprListContext* ctx);
    int64_t integer(const antlr4::Token* token);
    double number(std::string_view digits, const Span& span);
    int64_t size_bytes(std::string_view text, const Span& span);
    std::string string_value(const antlr4::Token* token);

    // words
    syntax::Name name(antlr4::ParserRuleContext* ctx);
    std::optional<syntax::Name> optional_name(antlr4::ParserRuleContext* ctx);
    std::vector<syntax::Name> names(Parser::NameListContext* ctx);
    std::vector<syntax::Name> axes(Parser::AxesContext* ctx);

    Span span(const antlr4::Token* token) const;
    Span span(const antlr4::ParserRuleContext* ctx) const;
    std::string_view text(const Span& span) const { return sources_.text(span); }

    FileId file_;
    const SourceMap& sources_;
    const Offsets& offsets_;
    antlr4::BufferedTokenStream& tokens_;
    Sink& sink_;
};

/// `if c { … } else if d { … } else { … }` of any kind of statement.
template <typename Statement, typename Contexts, typename Bodies, typename BuildExpr, typename BuildBody>
syntax::If<Statement> build_if(const Contexts& conditions, const Bodies& bodies, BuildExpr build_expr, BuildBody build_body) {
    syntax::If<Statement> result;
    for (size_t i = 0; i < conditions.size(); ++i) {
        result.branches.push_back({build_expr(conditions[i]), build_body(bodies[i])});
    }
    if (bodies.size() > conditions.size()) {
        result.otherwise = build_body(bodies.back());
    }
    return result;
}

} // namespace sspc
