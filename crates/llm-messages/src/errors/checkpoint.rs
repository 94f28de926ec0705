//! Files that are no checkpoints, or damaged ones.

use super::causes::{chain, word};
use llm_core::base::{CheckpointError, Language};

/// What is wrong with the content of a checkpoint.
pub fn checkpoint(e: &CheckpointError, language: &dyn Language) -> String {
    use CheckpointError as E;
    match e {
        E::NotACheckpoint => "不是本程序的检查点".into(),
        E::TooShort { actual } => format!("文件有 {actual} 字节，对检查点来说太短"),
        E::OldFormat { found } => {
            format!("格式 {found}，已不再读取；提交 ba6595f 的程序能读它，并重新保存成格式 2")
        }
        E::Version { found, newest } => format!("格式 {found}，本程序能读 {newest}"),
        E::Flags { flags } => format!("不认识的标志 {flags:#x}"),
        E::Length { actual, expected } => {
            format!("文件有 {actual} 字节，文件头写的是 {expected}")
        }
        E::Limit { what, value, limit } => {
            format!("{}是 {value}，上限是 {limit}", what.said(language))
        }
        E::Padding { after } => format!("{}之后的填充不是零", after.said(language)),
        E::HeaderChecksum => "文件头的校验和不符".into(),
        E::HeaderEncoding(cause) => format!("文件头无法解码：{}", chain(cause, language)),
        E::HeaderRest { extra } => format!("文件头多出 {extra} 字节"),
        E::Architecture { found, known } => {
            format!("架构是 '{}'，本程序认识 '{known}'", found.escape_default())
        }
        E::Setting { field, reason } => {
            format!("{}：{}", word(field, language), reason.said(language))
        }
        E::TensorCount { actual, expected } => {
            format!("有 {actual} 个张量，这个模型有 {expected} 个")
        }
        E::Tensor { tensor, field, found, expected } => {
            format!("张量 {tensor}：{field} 是 {found}，这个模型需要 {expected}")
        }
        E::TensorChecksum { tensor } => format!("张量 {tensor} 的校验和不符"),
        E::FileChecksum => "文件的校验和不符".into(),
        E::TokenizerHash => "分词器数据的 BLAKE3 与文件头写的不同".into(),
        E::NotFinite { tensor } => format!("张量 {tensor} 里有非有限的值"),
        E::Negative { tensor } => format!("张量 {tensor} 里有负数，但它是平方的均值"),
        E::Attention { saved, given } => {
            format!("由 {}做成，{}会读成别的意思", saved.said(language), given.said(language))
        }
        other => other.to_string(),
    }
}
