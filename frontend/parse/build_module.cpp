// Declarations.
#include "frontend/parse/builder.h"

#include "SspLexer.h"

#include <algorithm>

namespace sspc {

using namespace syntax;
using Parser = Builder::Parser;

std::string Builder::doc_before(const antlr4::Token* token) {
    std::vector<std::string> lines;
    for (size_t i = token->getTokenIndex(); i-- > 0;) {
        const antlr4::Token* before = tokens_.get(i);
        if (before->getChannel() == antlr4::Token::DEFAULT_CHANNEL) {
            break;
        }
        if (before->getChannel() == sspc_grammar::SspLexer::DOC_CHANNEL) {
            std::string_view line = text(span(before)).substr(3);
            line.remove_prefix(!line.empty() && line[0] == ' ' ? 1 : 0);
            lines.emplace_back(line);
        }
    }
    std::string doc;
    for (size_t i = lines.size(); i-- > 0;) {
        doc += lines[i] + (i > 0 ? "\n" : "");
    }
    return doc;
}

Type Builder::type(Parser::TypeContext* ctx) {
    Type result;
    result.span = span(ctx);
    if (ctx->name() != nullptr) {
        result.name = name(ctx->name());
        result.axes = axes(ctx->axes());
    }
    for (auto* item : ctx->type()) {
        result.tuple.push_back(type(item));
    }
    return result;
}

std::vector<Parameter> Builder::parameters(Parser::ParametersContext* ctx) {
    std::vector<Parameter> all;
    if (ctx == nullptr) {
        return all;
    }
    for (auto* item : ctx->parameter()) {
        Parameter parameter;
        parameter.name = name(item->name());
        parameter.over = item->OVER() != nullptr;
        if (item->type() != nullptr) {
            parameter.type = type(item->type());
        }
        parameter.initial = expr(item->expr());
        parameter.span = span(item);
        const auto same = [&](const Parameter& other) { return other.name.text == parameter.name.text; };
        if (const auto first = std::find_if(all.begin(), all.end(), same); first != all.end()) {
            sink_.report(diag::GivenTwice, parameter.name.span, parameter.name.text).note(first->name.span, "the first is here");
        }
        all.push_back(std::move(parameter));
    }
    return all;
}

template <typename Decl, typename Context>
Decl Builder::declaration(Context* ctx) {
    Decl decl;
    decl.doc = doc_before(ctx->start);
    decl.name = name(ctx->name());
    decl.params = parameters(ctx->parameters());
    decl.span = span(ctx);
    return decl;
}

Import Builder::import(Parser::ImportDeclContext* ctx) {
    Import result;
    result.span = span(ctx);
    for (auto* part : ctx->name()) {
        result.path.push_back(name(part));
    }
    if (ctx->STRING() != nullptr) {
        result.file = string_value(ctx->STRING()->getSymbol());
    }
    return result;
}

Plan Builder::plan(Parser::PlanDeclContext* ctx) {
    Plan plan = declaration<Plan>(ctx);
    plan.is_default = ctx->DEFAULT() != nullptr;
    plan.model = named_call(ctx->namedCall());
    plan.body = plan_body(ctx->planBody());
    return plan;
}

Data Builder::data(Parser::DataDeclContext* ctx) {
    Data data;
    data.doc = doc_before(ctx->start);
    data.name = name(ctx->name());
    data.span = span(ctx);
    data.source = expr(ctx->expr());
    return data;
}

Feed Builder::feed(Parser::FeedDeclContext* ctx) {
    Feed feed;
    feed.doc = doc_before(ctx->start);
    feed.span = span(ctx);
    for (auto* dotted : ctx->dotted()) {
        std::vector<Name> path;
        for (auto* part : dotted->name()) {
            path.push_back(name(part));
        }
        feed.inputs.push_back(std::move(path));
    }
    feed.source = expr(ctx->expr());
    feed.rows = optional_name(ctx->name());
    return feed;
}

Module Builder::module(Parser::ModuleContext* ctx) {
    Module module;
    module.file = file_;
    for (auto* item : ctx->declaration()) {
        if (auto* c = item->importDecl()) {
            module.imports.push_back(import(c));
        } else if (auto* c = item->opDecl()) {
            Op op = declaration<Op>(c);
            op.body = body(c->body());
            module.ops.push_back(std::move(op));
        } else if (auto* c = item->gradDecl()) {
            Gradient gradient = declaration<Gradient>(c);
            gradient.body = body(c->body());
            module.gradients.push_back(std::move(gradient));
        } else if (auto* c = item->moduleDecl()) {
            ModuleDecl decl = declaration<ModuleDecl>(c);
            decl.body = body(c->body());
            module.modules.push_back(std::move(decl));
        } else if (auto* c = item->optimizerDecl()) {
            Optimizer optimizer = declaration<Optimizer>(c);
            optimizer.body = body(c->body());
            module.optimizers.push_back(std::move(optimizer));
        } else if (auto* c = item->modelDecl()) {
            Model model = declaration<Model>(c);
            model.body = body(c->body());
            module.models.push_back(std::move(model));
        } else if (auto* c = item->scheduleDecl()) {
            Schedule schedule = declaration<Schedule>(c);
            schedule.body = schedule_body(c->scheduleBody());
            module.schedules.push_back(std::move(schedule));
        } else if (auto* c = item->planDecl()) {
            module.plans.push_back(plan(c));
        } else if (auto* c = item->dataDecl()) {
            module.datas.push_back(data(c));
        } else if (auto* c = item->feedDecl()) {
            module.feeds.push_back(feed(c));
        }
    }
    return module;
}

} // namespace sspc
