// The words of the `.sspd` text: one table for each enumeration, shared by the printer and the parser.
#pragma once

#include "ir/program/program.h"

#include <array>
#include <optional>
#include <string_view>
#include <utility>

namespace sspc::sspd {

template <typename T, size_t N>
using Words = std::array<std::pair<T, std::string_view>, N>;

inline constexpr Words<Phase, 3> phases{{{Phase::Forward, "forward"},
                                         {Phase::Backward, "backward"},
                                         {Phase::Update, "update"}}};
inline constexpr Words<Reduce, 5> reductions{{{Reduce::None, "none"},
                                              {Reduce::Sum, "sum"},
                                              {Reduce::Max, "max"},
                                              {Reduce::Min, "min"},
                                              {Reduce::Prod, "prod"}}};
inline constexpr Words<AxisRole, 3> roles{{{AxisRole::Device, "device"},
                                           {AxisRole::Stage, "stage"},
                                           {AxisRole::Micro, "micro"}}};
inline constexpr Words<Life, 3> lives{{{Life::Persistent, "persistent"},
                                       {Life::Step, "step"},
                                       {Life::Micro, "micro"}}};
inline constexpr Words<Space, 4> spaces{{{Space::Static, "static"},
                                         {Space::Frame, "frame"},
                                         {Space::Scratch, "scratch"},
                                         {Space::Register, "register"}}};
inline constexpr Words<Stream, 2> streams{{{Stream::Compute, "compute"},
                                           {Stream::Communication, "communication"}}};
inline constexpr Words<Block::Kind, 6> blocks{{{Block::Kind::Start, "start"},
                                               {Block::Kind::Forward, "forward"},
                                               {Block::Kind::Backward, "backward"},
                                               {Block::Kind::InputGradient, "input_gradient"},
                                               {Block::Kind::WeightGradient, "weight_gradient"},
                                               {Block::Kind::Finish, "finish"}}};
inline constexpr Words<MoveKind, 7> moves{{{MoveKind::AllReduce, "all_reduce"},
                                           {MoveKind::ReduceScatter, "reduce_scatter"},
                                           {MoveKind::AllGather, "all_gather"},
                                           {MoveKind::AllToAll, "all_to_all"},
                                           {MoveKind::Slice, "slice"},
                                           {MoveKind::ToPartial, "to_partial"},
                                           {MoveKind::Exchange, "exchange"}}};
inline constexpr Words<Program::Result::What, 4> results{
    {{Program::Result::What::Loss, "loss"},
     {Program::Result::What::GradNorm, "grad_norm"},
     {Program::Result::What::Output, "output"},
     {Program::Result::What::Gradient, "gradient"}}};
inline constexpr Words<TensorKind, 4> tensor_kinds{{{TensorKind::Input, "input"},
                                                    {TensorKind::Parameter, "parameter"},
                                                    {TensorKind::State, "state"},
                                                    {TensorKind::Value, "value"}}};
inline constexpr Words<Init::Kind, 6> inits{{{Init::Kind::Zeros, "zeros"},
                                             {Init::Kind::Ones, "ones"},
                                             {Init::Kind::Constant, "constant"},
                                             {Init::Kind::Normal, "normal"},
                                             {Init::Kind::Uniform, "uniform"},
                                             {Init::Kind::TruncatedNormal, "truncated_normal"}}};
inline constexpr Words<DType, 11> types{{{DType::F64, "f64"},
                                         {DType::F32, "f32"},
                                         {DType::BF16, "bf16"},
                                         {DType::F16, "f16"},
                                         {DType::F8E4M3, "f8e4m3"},
                                         {DType::F8E5M2, "f8e5m2"},
                                         {DType::I64, "i64"},
                                         {DType::I32, "i32"},
                                         {DType::I8, "i8"},
                                         {DType::U8, "u8"},
                                         {DType::Bool, "bool"}}};
inline constexpr Words<DrawKind, 3> draws{{{DrawKind::Uniform, "uniform"},
                                           {DrawKind::Normal, "normal"},
                                           {DrawKind::Bernoulli, "bernoulli"}}};
/// Operations written as calls. Those of `infix` are written between their arguments.
inline constexpr Words<ExprOp, 28> calls{{{ExprOp::Neg, "neg"},
                                          {ExprOp::Not, "not"},
                                          {ExprOp::Exp, "exp"},
                                          {ExprOp::Log, "log"},
                                          {ExprOp::Sqrt, "sqrt"},
                                          {ExprOp::Rsqrt, "rsqrt"},
                                          {ExprOp::Tanh, "tanh"},
                                          {ExprOp::Sigmoid, "sigmoid"},
                                          {ExprOp::Erf, "erf"},
                                          {ExprOp::Sin, "sin"},
                                          {ExprOp::Cos, "cos"},
                                          {ExprOp::Abs, "abs"},
                                          {ExprOp::Sign, "sign"},
                                          {ExprOp::Floor, "floor"},
                                          {ExprOp::Ceil, "ceil"},
                                          {ExprOp::Round, "round"},
                                          {ExprOp::IsNan, "is_nan"},
                                          {ExprOp::Cast, "cast"},
                                          {ExprOp::StopGradient, "stop_gradient"},
                                          {ExprOp::Mod, "mod"},
                                          {ExprOp::Pow, "pow"},
                                          {ExprOp::Min, "min"},
                                          {ExprOp::Max, "max"},
                                          {ExprOp::FloorDiv, "floor_div"},
                                          {ExprOp::Where, "where"},
                                          {ExprOp::Iota, "iota"},
                                          {ExprOp::Step, "step"},
                                          {ExprOp::Random, "draw"}}};

struct Infix {
    ExprOp op;
    std::string_view sign;
    int level; ///< higher binds tighter; all are left-associative
};
inline constexpr std::array<Infix, 12> infix{{{ExprOp::Or, "or", 1},
                                              {ExprOp::And, "and", 2},
                                              {ExprOp::Eq, "==", 3},
                                              {ExprOp::Ne, "!=", 3},
                                              {ExprOp::Le, "<=", 3},
                                              {ExprOp::Ge, ">=", 3},
                                              {ExprOp::Lt, "<", 3},
                                              {ExprOp::Gt, ">", 3},
                                              {ExprOp::Add, "+", 4},
                                              {ExprOp::Sub, "-", 4},
                                              {ExprOp::Mul, "*", 5},
                                              {ExprOp::Div, "/", 5}}};
inline constexpr int primary_level = 6;

template <typename T, size_t N>
std::string_view word(const Words<T, N>& words, T value) {
    for (const auto& [key, text] : words) {
        if (key == value) {
            return text;
        }
    }
    return "?";
}
template <typename T, size_t N>
std::optional<T> find_word(const Words<T, N>& words, std::string_view text) {
    for (const auto& [key, known] : words) {
        if (known == text) {
            return key;
        }
    }
    return std::nullopt;
}
template <typename T, size_t N>
std::string list_words(const Words<T, N>& words) {
    std::string text;
    for (const auto& entry : words) {
        text += (text.empty() ? "`" : ", `") + std::string(entry.second) + "`";
    }
    return text;
}

/// Arguments that a call takes; -1: any number.
int arity(ExprOp op);
/// The type that an operation has where the text states none.
DType usual_type(ExprOp op, const std::vector<ExprPtr>& args);

} // namespace sspc::sspd
