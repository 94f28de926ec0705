//! Models and tokenizers of other programs.

use super::causes::system;
use super::core::core;
use llm_core::base::Language;
use llm_formats::FormatError;

/// Why a model or a tokenizer of another program cannot be read or written.
pub fn formats(e: &FormatError, language: &dyn Language) -> String {
    use FormatError as E;
    match e {
        E::File { path, error } => format!("'{}'：{}", path.display(), formats(error, language)),
        E::Io(e) => format!("无法读取：{}", system(e, language)),
        E::Missing { advice } => advice.said(language),
        E::Content(why) => why.said(language),
        E::Refused(e) | E::Core(e) => core(e, language),
        E::Tokenizer(e) => {
            format!("{}；拿走分词器的文件，可以不带分词器导入模型", core(e, language))
        }
        E::HeadsUnknown => "它没有写明有几个注意力头".into(),
        E::HeadsDiffer { found, given } => format!("它有 {found} 个头，不是给出的 {given} 个"),
        E::Attention { spec, source } => format!(
            "它用 {} 注意力，头数 {}，这里做不出：{}",
            spec.name.escape_default(),
            spec.n_heads,
            core(source, language)
        ),
        E::Vocabulary { kind, tokens, rows } => {
            format!("{kind} 分词器有 {tokens} 个词元，模型有 {rows} 个")
        }
        E::HeadBias => "它的输出头有偏置（b_lm），Hugging Face 的模型放不下".into(),
        E::Piece { piece, holder } => format!("它有{}，{holder} 放不下", piece.said(language)),
        E::AttentionKind { name } => format!("它用 '{name}' 注意力，Hugging Face 的模型放不下"),
        E::TokenizerKind { kind } => format!("{kind} 分词器不能写成 Hugging Face 的文件"),
        E::NotInGguf { piece, family } => {
            format!("它有{}，给 {family} 的 GGUF 文件放不下", piece.said(language))
        }
        E::NoGgufTokens { kind, why } => {
            format!("{kind} 分词器不能写成 GGUF：{}", why.said(language))
        }
        E::LongRun(e) => format!("有一段没有空白的文本太长：{}", core(e, language)),
        other => other.to_string(),
    }
}
