// Resolves `data` and `feed`: which files the model's inputs come from.
#include "frontend/elaborate/elaborator.h"

#include "ir/support/format.h"

#include <algorithm>
#include <set>

namespace sspc::elaboration {

namespace {

struct DataFile {
    enum class Kind { Text, Safetensors } kind = Kind::Text;
    std::filesystem::path path;
};

std::optional<DataFile> resolve_data(Elaborator& elaborator, const syntax::ExprPtr& expr, int file) {
    Sink& sink = elaborator.sink();
    const auto* ref = std::get_if<syntax::NameRef>(&expr->kind);
    if (ref == nullptr) {
        sink.report(diag::WrongType, expr->span, "the name of a `data` declaration", "an expression");
        return std::nullopt;
    }
    const auto found = elaborator.library().find(&syntax::Module::datas, ref->name, file);
    if (!found) {
        Diagnostic& d = sink.report(diag::UnknownDeclaration, expr->span, "data", ref->name);
        if (auto help = elaborator.did_you_mean(ref->name, elaborator.library().names(&syntax::Module::datas, file)); !help.empty()) {
            d.help(std::move(help));
        }
        return std::nullopt;
    }
    const syntax::ExprPtr& source = found.declaration->source;
    const auto* call = std::get_if<syntax::Call>(&source->kind);
    const auto* callee = call != nullptr ? std::get_if<syntax::NameRef>(&call->callee->kind) : nullptr;
    const std::string kind = callee != nullptr ? callee->name : "";
    if (kind != "text" && kind != "safetensors") {
        sink.report(diag::NotImplemented, source->span, format("data from `{0}`", kind.empty() ? "this" : kind))
            .help("known are `text(\"file\")` and `safetensors(\"file\")`");
        return std::nullopt;
    }
    const auto* text = call->args.size() == 1 ? std::get_if<syntax::StringLiteral>(&call->args[0].value->kind) : nullptr;
    if (text == nullptr) {
        sink.report(diag::MissingArgument, source->span, kind, "as its one argument", "\"file\"");
        return std::nullopt;
    }
    const std::filesystem::path folder = elaborator.library().file(found.file).path.parent_path();
    return DataFile{kind == "text" ? DataFile::Kind::Text : DataFile::Kind::Safetensors, (folder / text->value).lexically_normal()};
}

struct Source {
    std::string kind;
    std::vector<syntax::ExprPtr> arguments; ///< the data, then the columns
    uint64_t seed = 0;
    bool fine = true;
};

Source read_source(Elaborator& elaborator, const syntax::Feed& feed) {
    Source out;
    Sink& sink = elaborator.sink();
    const auto* call = std::get_if<syntax::Call>(&feed.source->kind);
    const auto* callee = call != nullptr ? std::get_if<syntax::NameRef>(&call->callee->kind) : nullptr;
    out.kind = callee != nullptr ? callee->name : "";
    if (out.kind != "next_token" && out.kind != "columns") {
        sink.report(diag::NotImplemented, feed.source->span, format("a feed from `{0}`", out.kind.empty() ? "this" : out.kind))
            .help("known are `next_token(data, seed: 1)` and `columns(data, \"name\", …, seed: 1)`");
        out.fine = false;
        return out;
    }
    for (const syntax::Argument& arg : call->args) {
        if (!arg.name) {
            out.arguments.push_back(arg.value);
        } else if (arg.name->text == "seed") {
            const auto seed = elaborator.integer_of(arg.value, "`seed`");
            out.fine = out.fine && seed.has_value();
            out.seed = static_cast<uint64_t>(seed.value_or(0));
        } else {
            sink.report(diag::UnknownArgument, arg.name->span, out.kind, "parameter", arg.name->text);
            out.fine = false;
        }
    }
    if (out.arguments.empty()) {
        sink.report(diag::MissingArgument, feed.source->span, out.kind, "as its first argument", "data");
        out.fine = false;
    }
    return out;
}

} // namespace

std::vector<FeedSpec> evaluate_feeds(Elaborator& elaborator, const std::string& model, const Frame&) {
    std::vector<FeedSpec> out;
    std::set<std::string> fed;
    Sink& sink = elaborator.sink();
    Frame constants;
    Elaborator::InFrame in(elaborator, constants);
    for (const int file : elaborator.library().visible(0)) {
        for (const syntax::Feed& feed : elaborator.library().file(file).module.feeds) {
            if (feed.inputs.empty() || feed.inputs.front().empty() || feed.inputs.front().front().text != model) {
                continue;
            }
            constants.file = file;
            FeedSpec spec;
            spec.span = feed.span;
            bool fine = true;
            std::vector<const Tensor*> tensors;
            std::vector<std::string> names;
            for (const Tensor& t : elaborator.graph().tensors) {
                if (t.kind == TensorKind::Input) {
                    names.push_back(t.path);
                }
            }
            for (const std::vector<syntax::Name>& path : feed.inputs) {
                std::string input;
                for (size_t i = 1; i < path.size(); ++i) {
                    input += (i > 1 ? "." : "") + path[i].text;
                }
                if (std::find(names.begin(), names.end(), input) == names.end() || path.front().text != model) {
                    Diagnostic& d = sink.report(diag::UnknownDeclaration, path.back().span, format("input of `{0}`", model), input);
                    if (auto help = elaborator.did_you_mean(input, names); !help.empty()) {
                        d.help(std::move(help));
                    }
                    fine = false;
                    continue;
                }
                for (const Tensor& t : elaborator.graph().tensors) {
                    if (t.kind == TensorKind::Input && t.path == input) {
                        tensors.push_back(&t);
                    }
                }
                spec.inputs.push_back(input);
            }
            const bool repeated = std::any_of(spec.inputs.begin(), spec.inputs.end(), [&](const auto& i) { return fed.contains(i); });
            if (repeated) {
                continue; // the file's own feed comes before those of its imports
            }
            const Source source = read_source(elaborator, feed);
            fine = fine && source.fine;
            const auto data = source.fine ? resolve_data(elaborator, source.arguments.front(), file) : std::nullopt;
            fine = fine && data.has_value();
            if (feed.rows) {
                const auto it = elaborator.model_axes().find(feed.rows->text);
                if (it == elaborator.model_axes().end()) {
                    std::vector<std::string> axes;
                    for (const auto& [name, axis] : elaborator.model_axes()) {
                        axes.push_back(name);
                    }
                    Diagnostic& d = sink.report(diag::UnknownAxis, feed.rows->span, feed.rows->text);
                    if (auto help = elaborator.did_you_mean(feed.rows->text, axes); !help.empty()) {
                        d.help(std::move(help));
                    }
                    fine = false;
                } else {
                    spec.rows = it->second;
                    elaborator.graph().rows = it->second;
                }
            }
            if (!fine) {
                continue;
            }
            const bool tokens = source.kind == "next_token";
            if ((data->kind == DataFile::Kind::Text) != tokens) {
                sink.report(diag::WrongType, source.arguments.front()->span,
                            tokens ? "data from `text(…)`" : "data from `safetensors(…)`", "the other kind");
                continue;
            }
            if (tokens) {
                const bool fits = tensors.size() == 2 && source.arguments.size() == 1 && is_integer(tensors[0]->dtype) &&
                                  tensors[0]->dtype == tensors[1]->dtype && tensors[0]->axes == tensors[1]->axes &&
                                  tensors[0]->axes.size() == 2;
                if (!fits) {
                    sink.report(diag::WrongType, feed.source->span, "two integer inputs [rows, positions] for `next_token`",
                                format("{0} of other axes or types", tensors.size()));
                    continue;
                }
            } else {
                for (size_t i = 1; i < source.arguments.size(); ++i) {
                    if (const auto* text = std::get_if<syntax::StringLiteral>(&source.arguments[i]->kind)) {
                        spec.columns.push_back(text->value);
                    }
                }
                if (spec.columns.size() != spec.inputs.size()) {
                    sink.report(diag::WrongNumberOfResults, feed.source->span, format("{0} column", spec.columns.size()),
                                format("{0} inputs", spec.inputs.size()));
                    continue;
                }
            }
            spec.kind = tokens ? FeedSpec::Kind::NextToken : FeedSpec::Kind::Columns;
            spec.file = data->path;
            spec.seed = source.seed;
            fed.insert(spec.inputs.begin(), spec.inputs.end());
            out.push_back(std::move(spec));
        }
    }
    return out;
}

} // namespace sspc::elaboration
