// From a device program to an executable.
#include "sspc/program_files.h"

namespace sspc {

backend::Target target_of(const Options& options) {
    return options.target == "mpi"    ? backend::Target::Mpi
           : options.target == "cuda" ? backend::Target::Cuda
                                      : backend::Target::Cpu;
}

namespace {

std::vector<backend::Feed> feeds_of(const Elaborated& elaborated) {
    std::vector<backend::Feed> feeds;
    for (const FeedSpec& spec : elaborated.feeds) {
        for (size_t i = 0; i < spec.inputs.size(); ++i) {
            backend::Feed feed;
            feed.input = spec.inputs[i];
            feed.file = spec.file.string();
            feed.seed = spec.seed;
            feed.rows = spec.rows;
            if (spec.kind == FeedSpec::Kind::NextToken) {
                feed.kind = i == 0 ? backend::Feed::Kind::NextTokenInputs
                                   : backend::Feed::Kind::NextTokenLabels;
            } else {
                feed.kind = backend::Feed::Kind::Tensor;
                feed.tensor = spec.columns.at(i);
                feed.shuffle = true;
            }
            feeds.push_back(std::move(feed));
        }
    }
    return feeds;
}

} // namespace

std::map<std::string, std::string> sources_of(Session& session, const Program& program) {
    backend::EmitOptions options;
    options.target = target_of(session.options);
    options.feeds = feeds_of(*session.elaborated);
    options.sources = &session.sources;
    options.rows = session.elaborated->graph.rows;
    return backend::emit(program, options);
}

std::optional<std::filesystem::path> executable_of(Session& session, const Program& program,
                                                   const std::filesystem::path& directory) {
    backend::BuildOptions options;
    options.target = target_of(session.options);
    options.runtime = stdlib_folder() / "runtime";
    options.directory = directory;
    options.verbose = session.options.verbose;
    return backend::build_program(sources_of(session, program), options, session.sink);
}

} // namespace sspc
