//! Words that several flags take, or that stand for what libraries know.

use crate::words::{Word, described, one_of, possible};
use clap::builder::{TypedValueParser, ValueParser};
use llm_core::kernels::gemm::Precision;
use llm_core::kernels::small::SmallKind;
use llm_core::recipe::{DataForm, EndOfText};
use llm_run::arch::Arch;
use llm_run::defaults::Preset;
use llm_stories::FactKind;

/// What matrices are kept as; `None`: f32.
pub type Kept = Option<SmallKind>;

/// The words for [`Kept`].
pub(super) const KINDS: &[Word<Kept>] = described![
    "f32" = None,
    "bf16" = Some(SmallKind::Bf16),
    "q8" = Some(SmallKind::Q8),
    "q4" = Some(SmallKind::Q4),
];

/// What matrices are rounded to.
pub(super) const ROUNDED: &[Word<Precision>] =
    &[("f32", Precision::F32, ""), ("bf16", Precision::Bf16, ""), ("f16", Precision::F16, "")];

/// Reads the name of a kind of facts of the stories.
pub(super) fn facts() -> ValueParser {
    let named = |typed: String| FactKind::ALL.into_iter().find(|kind| kind.name() == typed);
    let names = FactKind::ALL.map(|kind| (kind.name(), ""));
    possible(names).try_map(move |typed| named(typed).ok_or("unknown")).into()
}

/// What files hold.
pub(super) const FORMS: &[Word<DataForm>] = described![
    /// Text; anything else is refused
    /// zh: 文本；不是文本就拒绝
    "text" = DataForm::Text,
    /// Any bytes, learned as if they were text
    /// zh: 任意字节，当作文本来学
    "bytes" = DataForm::Bytes,
    /// Conversations in JSON, lines or a list: messages, prompt and completion, text and others
    /// zh: JSON 写的对话，一行行或一个列表：messages、prompt 和 completion、text 等
    "chats" = DataForm::Chats,
    /// Token numbers of 16 bits, little-endian, as in nanoGPT's train.bin
    /// zh: 16 位的词元编号，小端序，与 nanoGPT 的 train.bin 相同
    "u16" = DataForm::U16,
];

/// Where texts end in files.
pub(super) const ENDS: &[Word<EndOfText>] = described![
    /// Nowhere: all files are one text
    /// zh: 不结束：所有文件是一段文本
    "none" = EndOfText::None,
    /// After each file, when there are several
    /// zh: 有几个文件时，每个之后
    "files" = EndOfText::Files,
    /// There, and where <|endoftext|> is written
    /// zh: 那里，以及写着 <|endoftext|> 的地方
    "marked" = EndOfText::Marked,
];

/// Sets of options; those that every program has come first.
const ARCHES: &[Word<Arch>] = described![
    /// Plain norms, an output head of its own with a bias
    /// zh: 普通的归一化，独立的、带偏置的输出头
    "baseline" = Arch::Baseline,
    /// GPT-2's options
    /// zh: GPT-2 的选项
    "gpt2" = Arch::Gpt2,
    /// Llama's: gains alone, a gated MLP, rotary positions, no biases
    /// zh: Llama 的：归一化只有增益，MLP 带门，旋转位置，没有偏置
    "llama" = Arch::Llama,
    /// Qwen3's: Llama's with normed queries and keys, and heads twice as wide
    /// zh: Qwen3 的：在 Llama 的基础上归一化查询和键，头加宽一倍
    "qwen3" = Arch::Qwen3,
];
/// Sets of values to start from.
pub(super) const PRESETS: &[Word<Preset>] = described![
    /// The C++ original's
    /// zh: C++ 原版的
    "original" = Preset::Original,
];

/// Reads the name of a set of options: of every one, or of one that every program has.
pub(super) fn arches(all: bool) -> ValueParser {
    one_of(if all { ARCHES } else { &ARCHES[..Arch::EVERYWHERE.len()] })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_can_be_typed() {
        let typed = KINDS.iter().filter_map(|(word, kind, _)| Some((*word, (*kind)?)));
        assert_eq!(typed.collect::<Vec<_>>(), SmallKind::ALL.map(|kind| (kind.name(), kind)));
        assert_eq!(KINDS[0], ("f32", None, ""));
    }
}
