//! What llm-core refuses.

use super::causes::{chain, system, word};
use super::checkpoint::checkpoint;
use super::crew::crew;
use llm_core::base::{Language, bytes};
use llm_core::{Error, IoAction};

/// An error of llm-core, and its causes.
pub fn core(e: &Error, language: &dyn Language) -> String {
    match e {
        Error::Shape { op, expected, got } => format!("{op}：应为 {expected}，得到 {got:?}"),
        Error::Config { field, reason } => {
            format!("{}：{}", word(field, language), reason.said(language))
        }
        Error::TokenOutOfRange { token, position, vocab_size } => {
            format!("第 {position} 个位置的词元 {token} 超出 {vocab_size} 个词元的词表")
        }
        Error::UnknownUnit { unit, position } => {
            format!("第 {position} 字节的 {} 不在模型的词表里", unit.said(language))
        }
        Error::Tokenizer { kind, reason } => format!("{kind} 分词器：{}", reason.said(language)),
        Error::NumbersOnly => "ids 分词器：模型导入时没有分词器，只认识词元编号".into(),
        Error::DataTooSmall { what, len, seq_len, needed } => format!(
            "{}有 {len} 个词元，而 {seq_len} 的窗口至少需要 {needed} 个",
            what.said(language)
        ),
        Error::Backward { .. } | Error::Gradient { .. } => e.to_string(),
        Error::Diverged { what, value, step, lr, grad_norm } => format!(
            "第 {step} 步的{}是 {value}（学习率 {lr:e}，梯度范数 {grad_norm}）",
            what.said(language)
        ),
        Error::Unusable { what, value, step } => {
            format!("第 {step} 步之后模型不能用：{}是 {value}", what.said(language))
        }
        Error::Stopped { step } => format!("在第 {step} 步之后的一步里停止"),
        Error::Crew(e) => crew(e, language),
        Error::Hook(own) => chain(own.as_ref(), language),
        Error::Logits { value } => {
            format!("无法选出下一个词元：{}", Error::no_next(*value).said(language))
        }
        Error::Memory { needed, available } => {
            format!("约需内存 {}，可用 {}", bytes(*needed), bytes(*available))
        }
        Error::Io { action, path, source } => {
            let (tried, path) = (tried(*action), path.display());
            format!("无法{tried} '{path}'：{}", system(source, language))
        }
        Error::Checkpoint { path, source } => {
            format!("检查点 '{}'：{}", path.display(), checkpoint(source, language))
        }
        other => other.to_string(),
    }
}

/// What was tried on a file.
fn tried(action: IoAction) -> &'static str {
    match action {
        IoAction::Read => "读取",
        IoAction::GoOnReading => "继续读取",
        IoAction::Create => "创建",
        IoAction::Write => "写入",
        IoAction::Save => "保存",
        _ => "处理",
    }
}
