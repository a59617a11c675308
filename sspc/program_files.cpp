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
        backend::Feed feed;
        feed.kind = spec.kind == FeedSpec::Kind::NextToken ? backend::Feed::Kind::NextToken
                                                           : backend::Feed::Kind::Columns;
        feed.file = spec.file.string();
        feed.inputs = spec.inputs;
        feed.columns = spec.columns;
        feed.seed = spec.seed;
        feed.rows = spec.rows;
        feeds.push_back(std::move(feed));
    }
    return feeds;
}

} // namespace

std::map<std::string, std::string> sources_of(Session& session, const Program& program) {
    backend::EmitOptions options;
    options.target = target_of(session.options);
    options.feeds = feeds_of(*session.elaborated);
    options.sources = &session.sources;
    options.graph = &session.elaborated->graph;
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
