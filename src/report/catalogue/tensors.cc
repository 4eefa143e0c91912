// Names of tensors. In English, without its placeholder, a row is the label that the doctor gives;
// the placeholder is the block that the module is of, "h.3." or nothing.
#include <algorithm>

#include "report/catalogue/tables.h"

namespace snug::report {
namespace {

// clang-format off
constexpr Texts kTensors[] = {
// Of the modelled run.
{"logits", "logits", "logits", "Logits"},
{"logits in fp32", "logits（fp32）", "logits（fp32）", "Logits in fp32"},
{"logits' maxima", "logits 的最大值", "logits の最大値", "Maxima der Logits"},
{"logits' sums", "logits 的和", "logits の和", "Summen der Logits"},
{"log-probabilities", "对数概率", "対数確率", "Log-Wahrscheinlichkeiten"},
{"log-probabilities in fp32", "对数概率（fp32）", "対数確率（fp32）", "Log-Wahrscheinlichkeiten in fp32"},
{"gradient of logits", "logits 的梯度", "logits の勾配", "Gradient der Logits"},
{"gradient of logits, cast", "logits 的梯度（转换精度后）", "logits の勾配（型変換後）", "Gradient der Logits, umgewandelt"},
{"zero gradient of logits", "logits 的零梯度", "logits のゼロ勾配", "Null-Gradient der Logits"},
{"gradient of log-probabilities", "对数概率的梯度", "対数確率の勾配", "Gradient der Log-Wahrscheinlichkeiten"},
{"gradient of log-probabilities in fp32", "对数概率的梯度（fp32）", "対数確率の勾配（fp32）", "Gradient der Log-Wahrscheinlichkeiten in fp32"},
{"loss", "损失", "損失", "Loss"},
{"loss, divided", "损失（除以累积步数后）", "損失（分割後）", "Loss, geteilt"},
{"loss, scaled", "损失（缩放后）", "損失（スケーリング後）", "Loss, skaliert"},
{"loss's total weight", "损失的总权重", "損失の重みの合計", "Gesamtgewicht des Loss"},
{"gradient of the loss", "损失的梯度", "損失の勾配", "Gradient des Loss"},
{"lm_head input, cast", "lm_head 的输入（转换精度后）", "lm_head の入力（型変換後）", "umgewandelte Eingabe von lm_head"},
{"gradient of lm_head input", "lm_head 输入的梯度", "lm_head の入力の勾配", "Gradient der Eingabe von lm_head"},
{"ln_f output", "ln_f 的输出", "ln_f の出力", "Ausgabe von ln_f"},
{"ln_f normalised", "ln_f 的归一化值", "ln_f の正規化値", "normierte Werte von ln_f"},
{"X (tokens)", "X（输入 token）", "X（入力トークン）", "X (Eingabe-Token)"},
{"Y (targets)", "Y（目标 token）", "Y（目標トークン）", "Y (Ziel-Token)"},
{"positions", "位置编号", "位置番号", "Positionen"},
{"token embeddings", "token 嵌入", "トークン埋め込み", "Token-Embeddings"},
{"position embeddings", "位置嵌入", "位置埋め込み", "Positions-Embeddings"},
{"embeddings", "嵌入之和", "埋め込みの和", "Summe der Embeddings"},
{"embeddings, dropped out", "嵌入之和（dropout 后）", "埋め込みの和（dropout 後）", "Summe der Embeddings nach Dropout"},
{"gradient of position embeddings", "位置嵌入的梯度", "位置埋め込みの勾配", "Gradient der Positions-Embeddings"},
{"partial sums of embedding_dense_backward", "embedding_dense_backward 的部分和", "embedding_dense_backward の部分和", "Teilsummen von embedding_dense_backward"},
{"sorted indices of embedding_dense_backward", "embedding_dense_backward 的排序索引", "embedding_dense_backward の整列済みインデックス", "sortierte Indizes von embedding_dense_backward"},
{"cub scratch", "cub 的临时空间", "cub の作業領域", "Zwischenspeicher von cub"},
{"residual stream", "残差流", "残差ストリーム", "Residualstrom"},
{"residual stream after {0}attn", "{0}attn 之后的残差流", "{0}attn 後の残差ストリーム", "Residualstrom nach {0}attn"},
{"residual stream after {0}mlp", "{0}mlp 之后的残差流", "{0}mlp 後の残差ストリーム", "Residualstrom nach {0}mlp"},
{"gradient of the residual stream", "残差流的梯度", "残差ストリームの勾配", "Gradient des Residualstroms"},
{"{0}ln_1 output", "{0}ln_1 的输出", "{0}ln_1 の出力", "Ausgabe von {0}ln_1"},
{"{0}ln_1 normalised", "{0}ln_1 的归一化值", "{0}ln_1 の正規化値", "normierte Werte von {0}ln_1"},
{"{0}ln_2 output", "{0}ln_2 的输出", "{0}ln_2 の出力", "Ausgabe von {0}ln_2"},
{"{0}ln_2 normalised", "{0}ln_2 的归一化值", "{0}ln_2 の正規化値", "normierte Werte von {0}ln_2"},
{"layer norm output", "层归一化的输出", "レイヤー正規化の出力", "Ausgabe der Layer-Norm"},
{"layer norm's mean", "层归一化的均值", "レイヤー正規化の平均", "Mittelwerte der Layer-Norm"},
{"layer norm's rstd", "层归一化的标准差倒数", "レイヤー正規化の標準偏差の逆数", "Kehrwerte der Standardabweichung der Layer-Norm"},
{"layer norm's partial sums", "层归一化的部分和", "レイヤー正規化の部分和", "Teilsummen der Layer-Norm"},
{"gradient of a layer norm's input", "层归一化输入的梯度", "レイヤー正規化の入力の勾配", "Gradient der Eingabe einer Layer-Norm"},
{"{0}attn.c_attn input, cast", "{0}attn.c_attn 的输入（转换精度后）", "{0}attn.c_attn の入力（型変換後）", "umgewandelte Eingabe von {0}attn.c_attn"},
{"{0}attn.c_attn output", "{0}attn.c_attn 的输出", "{0}attn.c_attn の出力", "Ausgabe von {0}attn.c_attn"},
{"gradient of {0}attn.c_attn input", "{0}attn.c_attn 输入的梯度", "{0}attn.c_attn の入力の勾配", "Gradient der Eingabe von {0}attn.c_attn"},
{"gradient of {0}attn.c_attn output", "{0}attn.c_attn 输出的梯度", "{0}attn.c_attn の出力の勾配", "Gradient der Ausgabe von {0}attn.c_attn"},
{"{0}attn.c_proj input, cast", "{0}attn.c_proj 的输入（转换精度后）", "{0}attn.c_proj の入力（型変換後）", "umgewandelte Eingabe von {0}attn.c_proj"},
{"{0}attn.c_proj output", "{0}attn.c_proj 的输出", "{0}attn.c_proj の出力", "Ausgabe von {0}attn.c_proj"},
{"gradient of {0}attn.c_proj input", "{0}attn.c_proj 输入的梯度", "{0}attn.c_proj の入力の勾配", "Gradient der Eingabe von {0}attn.c_proj"},
{"{0}mlp.c_fc input, cast", "{0}mlp.c_fc 的输入（转换精度后）", "{0}mlp.c_fc の入力（型変換後）", "umgewandelte Eingabe von {0}mlp.c_fc"},
{"{0}mlp.c_fc output (GELU input)", "{0}mlp.c_fc 的输出（GELU 的输入）", "{0}mlp.c_fc の出力（GELU の入力）", "Ausgabe von {0}mlp.c_fc (Eingabe von GELU)"},
{"gradient of {0}mlp.c_fc input", "{0}mlp.c_fc 输入的梯度", "{0}mlp.c_fc の入力の勾配", "Gradient der Eingabe von {0}mlp.c_fc"},
{"{0}mlp.gelu output", "{0}mlp.gelu 的输出", "{0}mlp.gelu の出力", "Ausgabe von {0}mlp.gelu"},
{"gradient of GELU input", "GELU 输入的梯度", "GELU の入力の勾配", "Gradient der Eingabe von GELU"},
{"{0}mlp.c_proj input, cast", "{0}mlp.c_proj 的输入（转换精度后）", "{0}mlp.c_proj の入力（型変換後）", "umgewandelte Eingabe von {0}mlp.c_proj"},
{"{0}mlp.c_proj output", "{0}mlp.c_proj 的输出", "{0}mlp.c_proj の出力", "Ausgabe von {0}mlp.c_proj"},
{"gradient of {0}mlp.c_proj input", "{0}mlp.c_proj 输入的梯度", "{0}mlp.c_proj の入力の勾配", "Gradient der Eingabe von {0}mlp.c_proj"},
{"{0}mlp output, dropped out", "{0}mlp 的输出（dropout 后）", "{0}mlp の出力（dropout 後）", "Ausgabe von {0}mlp nach Dropout"},
{"gradient of {0}mlp output", "{0}mlp 输出的梯度", "{0}mlp の出力の勾配", "Gradient der Ausgabe von {0}mlp"},
{"{0}attn output", "{0}attn 的输出", "{0}attn の出力", "Ausgabe von {0}attn"},
{"{0}attn output, dropped out", "{0}attn 的输出（dropout 后）", "{0}attn の出力（dropout 後）", "Ausgabe von {0}attn nach Dropout"},
{"{0}attn output, contiguous", "{0}attn 的输出（连续存放）", "{0}attn の出力（連続配置）", "Ausgabe von {0}attn, zusammenhängend"},
{"{0}attn output by head", "{0}attn 各头的输出", "{0}attn のヘッド別の出力", "Ausgabe von {0}attn je Head"},
{"{0}attn output in fp32", "{0}attn 的输出（fp32）", "{0}attn の出力（fp32）", "Ausgabe von {0}attn in fp32"},
{"{0}attn output times its gradient", "{0}attn 的输出与其梯度之积", "{0}attn の出力とその勾配の積", "Ausgabe von {0}attn mal ihr Gradient"},
{"gradient of {0}attn output", "{0}attn 输出的梯度", "{0}attn の出力の勾配", "Gradient der Ausgabe von {0}attn"},
{"gradient of {0}attn output by head", "{0}attn 各头输出的梯度", "{0}attn のヘッド別の出力の勾配", "Gradient der Ausgabe von {0}attn je Head"},
{"gradient of {0}attn output, contiguous", "{0}attn 输出的梯度（连续存放）", "{0}attn の出力の勾配（連続配置）", "Gradient der Ausgabe von {0}attn, zusammenhängend"},
{"gradient of {0}attn output, padded", "{0}attn 输出的梯度（填充后）", "{0}attn の出力の勾配（パディング後）", "Gradient der Ausgabe von {0}attn, aufgefüllt"},
{"{0}attn log-sum-exp", "{0}attn 的 log-sum-exp 值", "{0}attn の log-sum-exp 値", "Log-Sum-Exp von {0}attn"},
{"{0}attn rng state", "{0}attn 的随机数状态", "{0}attn の乱数状態", "Zufallszustand von {0}attn"},
{"{0}attn scores", "{0}attn 的分数", "{0}attn のスコア", "Scores von {0}attn"},
{"{0}attn scores, scaled", "{0}attn 的分数（缩放后）", "{0}attn のスコア（スケーリング後）", "Scores von {0}attn, skaliert"},
{"{0}attn scores, masked", "{0}attn 的分数（遮蔽后）", "{0}attn のスコア（マスク後）", "Scores von {0}attn, maskiert"},
{"{0}attn scores in fp32", "{0}attn 的分数（fp32）", "{0}attn のスコア（fp32）", "Scores von {0}attn in fp32"},
{"gradient of {0}attn scores", "{0}attn 分数的梯度", "{0}attn のスコアの勾配", "Gradient der Scores von {0}attn"},
{"{0}attn maxima", "{0}attn 的行最大值", "{0}attn の行ごとの最大値", "Zeilenmaxima von {0}attn"},
{"{0}attn sums", "{0}attn 的行和", "{0}attn の行ごとの和", "Zeilensummen von {0}attn"},
{"{0}attn rows without a key", "{0}attn 中没有键的行", "{0}attn でキーのない行", "Zeilen von {0}attn ohne Key"},
{"{0}attn causal mask", "{0}attn 的因果掩码", "{0}attn の因果マスク", "kausale Maske von {0}attn"},
{"{0}attn causal mask's values", "{0}attn 因果掩码的值", "{0}attn の因果マスクの値", "Werte der kausalen Maske von {0}attn"},
{"{0}attn.bias (causal mask)", "{0}attn.bias（因果掩码）", "{0}attn.bias（因果マスク）", "{0}attn.bias (kausale Maske)"},
{"{0}attn probabilities", "{0}attn 的概率", "{0}attn の確率", "Wahrscheinlichkeiten von {0}attn"},
{"{0}attn probabilities, dropped out", "{0}attn 的概率（dropout 后）", "{0}attn の確率（dropout 後）", "Wahrscheinlichkeiten von {0}attn nach Dropout"},
{"{0}attn probabilities, cast", "{0}attn 的概率（转换精度后）", "{0}attn の確率（型変換後）", "Wahrscheinlichkeiten von {0}attn, umgewandelt"},
{"gradient of {0}attn probabilities", "{0}attn 概率的梯度", "{0}attn の確率の勾配", "Gradient der Wahrscheinlichkeiten von {0}attn"},
{"probabilities times their gradient", "概率与其梯度之积", "確率とその勾配の積", "Wahrscheinlichkeiten mal ihr Gradient"},
{"{0}attn.q in fp32", "{0}attn.q（fp32 精度）", "{0}attn.q（fp32 精度）", "{0}attn.q in fp32"},
{"{0}attn.k in fp32", "{0}attn.k（fp32 精度）", "{0}attn.k（fp32 精度）", "{0}attn.k in fp32"},
{"{0}attn.v in fp32", "{0}attn.v（fp32 精度）", "{0}attn.v（fp32 精度）", "{0}attn.v in fp32"},
{"{0}attn.q, scaled", "{0}attn.q（缩放后）", "{0}attn.q（スケーリング後）", "{0}attn.q, skaliert"},
{"{0}attn.k, scaled", "{0}attn.k（缩放后）", "{0}attn.k（スケーリング後）", "{0}attn.k, skaliert"},
{"{0}attn.q, contiguous", "{0}attn.q（连续存放）", "{0}attn.q（連続配置）", "{0}attn.q, zusammenhängend"},
{"{0}attn.k, contiguous", "{0}attn.k（连续存放）", "{0}attn.k（連続配置）", "{0}attn.k, zusammenhängend"},
{"{0}attn.v, contiguous", "{0}attn.v（连续存放）", "{0}attn.v（連続配置）", "{0}attn.v, zusammenhängend"},
{"{0}attn.q, padded", "{0}attn.q（填充后）", "{0}attn.q（パディング後）", "{0}attn.q, aufgefüllt"},
{"{0}attn.k, padded", "{0}attn.k（填充后）", "{0}attn.k（パディング後）", "{0}attn.k, aufgefüllt"},
{"{0}attn.v, padded", "{0}attn.v（填充后）", "{0}attn.v（パディング後）", "{0}attn.v, aufgefüllt"},
{"gradient of q", "q 的梯度", "q の勾配", "Gradient von q"},
{"gradient of k", "k 的梯度", "k の勾配", "Gradient von k"},
{"gradient of v", "v 的梯度", "v の勾配", "Gradient von v"},
{"gradient of q, k or v", "q、k 或 v 的梯度", "q、k、v のいずれかの勾配", "Gradient von q, k oder v"},
{"flash attention's partial log-sum-exp", "flash attention 的部分 log-sum-exp", "flash attention の部分 log-sum-exp", "Teil-Log-Sum-Exp von Flash-Attention"},
{"flash attention's partial results", "flash attention 的部分结果", "flash attention の部分結果", "Teilergebnisse von Flash-Attention"},
{"flash attention's row sums", "flash attention 的行和", "flash attention の行ごとの和", "Zeilensummen von Flash-Attention"},
{"flash attention's fp32 gradient of q", "flash attention 中 q 的 fp32 梯度", "flash attention の q の fp32 勾配", "Gradient von q in fp32 in Flash-Attention"},
{"efficient attention's row sums", "efficient attention 的行和", "efficient attention の行ごとの和", "Zeilensummen von Efficient-Attention"},
{"efficient attention's workspace", "efficient attention 的工作区", "efficient attention のワークスペース", "Arbeitsbereich von Efficient-Attention"},
{"zero", "零值", "ゼロ値", "Nullwert"},
{"dropout mask", "dropout 掩码", "dropout マスク", "Dropout-Maske"},
{"gradient of dropout's input", "dropout 输入的梯度", "dropout の入力の勾配", "Gradient der Eingabe von Dropout"},
{"partial sums", "部分和", "部分和", "Teilsummen"},
{"semaphores of a sum", "求和用的信号量", "総和のセマフォ", "Semaphore einer Summe"},
{"cuBLAS workspace", "cuBLAS 工作区", "cuBLAS のワークスペース", "Arbeitsbereich von cuBLAS"},
{"cuBLASLt workspace", "cuBLASLt 工作区", "cuBLASLt のワークスペース", "Arbeitsbereich von cuBLASLt"},
{"gradient", "梯度", "勾配", "Gradient"},
{"autocast copy", "autocast 副本", "autocast のコピー", "Autocast-Kopie"},
{"step", "步数计数", "ステップ数", "Schrittzähler"},
{"exp_avg", "exp_avg", "exp_avg", "exp_avg"},
{"exp_avg_sq", "exp_avg_sq", "exp_avg_sq", "exp_avg_sq"},
{"sqrt of exp_avg_sq", "exp_avg_sq 的平方根", "exp_avg_sq の平方根", "Wurzel von exp_avg_sq"},
{"state_dict", "state_dict 中的副本", "state_dict 内のコピー", "Kopie im state_dict"},
{"weights to broadcast", "待广播的权重", "ブロードキャストする重み", "zu verteilende Gewichte"},
{"DDP bucket", "DDP 梯度桶", "DDP のバケット", "DDP-Bucket"},
{"chunk offsets of the gradient norms", "梯度范数的分块偏移", "勾配ノルムのチャンク位置", "Blockgrenzen der Gradientennormen"},
{"gradient norms per chunk", "各分块的梯度范数", "チャンク別の勾配ノルム", "Gradientennormen je Block"},
{"gradient norm", "梯度范数", "勾配ノルム", "Gradientennorm"},
{"gradient norms", "各梯度的范数", "各勾配のノルム", "Gradientennormen"},
{"total gradient norm", "梯度的总范数", "勾配全体のノルム", "gesamte Gradientennorm"},
{"GradScaler's scale", "GradScaler 的缩放因子", "GradScaler のスケール", "Faktor des GradScaler"},
{"GradScaler's growth tracker", "GradScaler 的增长计数", "GradScaler の増加カウンタ", "Zähler des GradScaler"},
{"GradScaler's found_inf", "GradScaler 的 found_inf 标志", "GradScaler の found_inf フラグ", "found_inf des GradScaler"},
// Of readings of a number, of a shape or of a line of the traceback.
{"attention scores", "注意力分数", "アテンションスコア", "Attention-Scores"},
{"gradient of attention scores", "注意力分数的梯度", "アテンションスコアの勾配", "Gradient der Attention-Scores"},
{"attention scores or probabilities", "注意力分数或概率", "アテンションのスコアまたは確率", "Attention-Scores oder -Wahrscheinlichkeiten"},
{"MLP hidden activation", "MLP 隐藏层激活值", "MLP の隠れ層のアクティベーション", "verborgene MLP-Aktivierung"},
{"gradient of MLP hidden activation", "MLP 隐藏层激活值的梯度", "MLP の隠れ層のアクティベーションの勾配", "Gradient der verborgenen MLP-Aktivierung"},
{"MLP activation", "MLP 激活值", "MLP のアクティベーション", "MLP-Aktivierung"},
{"token embedding (weight, gradient or AdamW state)", "token 嵌入（权重、梯度或 AdamW 状态）", "トークン埋め込み（重み・勾配・AdamW 状態のいずれか）", "Token-Embedding (Gewicht, Gradient oder AdamW-Zustand)"},
{"token embedding (half-precision weight or copy)", "token 嵌入（半精度权重或副本）", "トークン埋め込み（半精度の重みまたはコピー）", "Token-Embedding (Gewicht oder Kopie in halber Genauigkeit)"},
{"MLP weight (weight, gradient or AdamW state)", "MLP 权重（权重、梯度或 AdamW 状态）", "MLP の重み（重み・勾配・AdamW 状態のいずれか）", "MLP-Gewicht (Gewicht, Gradient oder AdamW-Zustand)"},
{"MLP weight (half-precision weight or copy)", "MLP 权重（半精度权重或副本）", "MLP の重み（半精度の重みまたはコピー）", "MLP-Gewicht (Gewicht oder Kopie in halber Genauigkeit)"},
{"logits-sized buffer", "与 logits 同样大的缓冲区", "logits と同じ大きさのバッファ", "Puffer in der Größe der Logits"},
{"buffer", "缓冲区", "バッファ", "Puffer"},
{"vocabulary-wide tensor of cross_entropy", "cross_entropy 中与词表同宽的张量", "cross_entropy の語彙幅のテンソル", "Tensor von cross_entropy in Vokabularbreite"},
{"output of softmax", "softmax 的输出", "softmax の出力", "Ausgabe von softmax"},
{"embedding", "嵌入", "埋め込み", "Embedding"},
{"AdamW state", "AdamW 状态", "AdamW の状態", "AdamW-Zustand"},
{"weight", "权重", "重み", "Gewicht"},
};
// clang-format on

constexpr std::string_view kBlock = "{0}";

bool has_label(const Texts& texts, std::string_view label) {
  const std::string_view english = texts[0];
  const std::size_t at = english.find(kBlock);
  if (at == std::string_view::npos) return english == label;
  return label.size() + kBlock.size() == english.size() &&
         label.substr(0, at) == english.substr(0, at) &&
         label.substr(at) == english.substr(at + kBlock.size());
}

bool is_latin(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

}  // namespace

std::span<const Texts> tensor_table() { return kTensors; }

const Texts* tensor_texts(std::string_view label) {
  const auto row = std::find_if(std::begin(kTensors), std::end(kTensors),
                                [&](const Texts& texts) { return has_label(texts, label); });
  return row == std::end(kTensors) ? nullptr : row;
}

std::string describe_tensor(Language language, std::string_view label, const std::string& owner) {
  if (label.empty()) return owner;
  const Texts* const texts = tensor_texts(label);
  if (texts == nullptr) return std::string(label);
  const bool has_place = std::string_view((*texts)[0]).find(kBlock) != std::string_view::npos;
  if (has_place) return text_in(language, *texts, {owner.empty() ? owner : owner + "."});
  std::string name = text_in(language, *texts);
  if (owner.empty()) return name;
  if (is_wide_script(language) && is_latin(name.front())) name.insert(0, 1, ' ');
  return text_in(language, TextId::kTensorOf, {name, owner});
}

}  // namespace snug::report
