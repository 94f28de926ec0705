//! A token as a label of one line.

use llm_core::TokenId;
use llm_core::base::escape::safe_token;
use llm_core::tokenizer::Tokenizer;
use llm_messages::columns::{right, width};

/// What a token stands for, with its spaces and line ends to be seen: `a`, `␣cat`, `↵`, `\x1B`; its
/// number when it stands for no text.
pub fn label(tokenizer: &dyn Tokenizer, token: TokenId) -> String {
    match tokenizer.bytes_of(token) {
        [] => format!("#{token}"),
        bytes => safe_token(bytes).replace('\n', "↵").replace('\t', "\\t").replace(' ', "␣"),
    }
}

/// The text, cut to `most` columns with an ellipsis, and padded to them on the left.
pub fn fitted(text: &str, most: usize) -> String {
    let mut short = text.to_string();
    if width(text) > most {
        short.clear();
        for c in text.chars() {
            if width(&short) + width(&c.to_string()) + 1 > most {
                break;
            }
            short.push(c);
        }
        short.push('…');
    }
    right(&short, most)
}

#[cfg(test)]
mod tests {
    use super::*;
    use llm_core::tokenizer::{ByteTokenizer, CharTokenizer, IdsTokenizer};

    #[test]
    fn labels_are_one_visible_line() {
        let labels = b" a\n\t\x1b".map(|b| label(&ByteTokenizer, b.into()));
        assert_eq!(labels, ["␣", "a", "↵", "\\t", "\\x1B"]);
        assert_eq!(label(&IdsTokenizer::new(9).unwrap(), 7), "#7");
        let chars = CharTokenizer::from_text("猫".as_bytes()).unwrap();
        assert_eq!(label(&chars, 0), "猫");
    }

    #[test]
    fn labels_fit() {
        assert_eq!(fitted("cat", 5), "  cat");
        assert_eq!(fitted("category", 5), "cate…");
        assert_eq!(fitted("猫猫猫", 5), "猫猫…");
        assert_eq!(width(&fitted("猫猫猫", 4)), 4);
    }
}
