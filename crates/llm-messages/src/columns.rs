//! Texts in columns of a terminal, where a Chinese character takes two.

/// Columns that a terminal gives to a text: two for the wide characters of East Asia.
pub fn width(text: &str) -> usize {
    text.chars().map(|c| if is_wide(c) { 2 } else { 1 }).sum()
}

fn is_wide(c: char) -> bool {
    matches!(c, '\u{1100}'..='\u{115F}' | '\u{2E80}'..='\u{A4CF}' | '\u{AC00}'..='\u{D7A3}' | '\u{F900}'..='\u{FAFF}' | '\u{FE30}'..='\u{FE6F}' | '\u{FF00}'..='\u{FF60}' | '\u{FFE0}'..='\u{FFE6}' | '\u{1F300}'..='\u{1FAFF}' | '\u{20000}'..='\u{3FFFD}')
}

/// The text, and spaces up to this width.
pub fn left(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(width(text))))
}

/// Spaces, and the text at the end of this width.
pub fn right(text: &str, columns: usize) -> String {
    format!("{}{text}", " ".repeat(columns.saturating_sub(width(text))))
}

/// Marks that may not begin a line.
const CLOSING: &str = "，。：；、！？）”》】…,.:;!?)]}'%";
/// Marks that may not end a line.
const OPENING: &str = "（“《【([{<";

/// The text in lines of at most `columns` columns, the second and the rest behind `indent` columns.
/// Chinese has no spaces: a line may end behind every character of it.
pub fn wrapped(text: &str, columns: usize, indent: usize) -> String {
    let (mut lines, mut line) = (Vec::new(), String::new());
    for piece in pieces(text) {
        if width(&line) + width(piece.trim_end()) > columns && !line.trim().is_empty() {
            lines.push(line.trim_end().to_string());
            line = " ".repeat(indent);
        }
        line.push_str(piece);
    }
    lines.push(line.trim_end().to_string());
    lines.join("\n")
}

/// Columns that a label takes at most, with the spaces behind it.
const LABEL: usize = 16;

/// A line of prose in as many as it needs, each of at most `columns` columns; those after the first
/// begin where its text does, behind a label and two spaces. A table's line stays, and so does what
/// can be typed: it is there to be copied.
pub fn broken(line: &str, columns: usize) -> String {
    let begin = line.len() - line.trim_start().len();
    let gap = line[begin..].find("  ").map(|at| &line[begin + at..]);
    let text = gap.map_or(begin, |gap| line.len() - gap.trim_start().len());
    let (beside, text) = line.split_at(text);
    let is_table = text.contains("  ") || text.contains('\x1b');
    let is_flag = |rest: &str| rest.starts_with(|c: char| c == '-' || c.is_ascii_alphabetic());
    if width(line) <= columns || is_table || text.split(" -").skip(1).any(is_flag) {
        return line.into();
    }
    wrapped(line, columns, if width(beside) <= LABEL { width(beside) } else { begin })
}

/// The parts of a text that stay whole.
fn pieces(text: &str) -> Vec<&str> {
    let mut begin = 0;
    let mut pieces = Vec::new();
    let chars: Vec<(usize, char)> = text.char_indices().collect();
    // What a bracket is about stays next to it: `[默认：`.
    let mut is_label = false;
    for pair in chars.windows(2) {
        let ((_, a), (at, b)) = (pair[0], pair[1]);
        is_label = a == '[' || is_label && !"： ]".contains(a);
        let between =
            !is_label && (is_wide(a) || is_wide(b)) && !CLOSING.contains(b) && !OPENING.contains(a);
        if (a == ' ' || between) && b != ' ' {
            pieces.push(&text[begin..at]);
            begin = at;
        }
    }
    pieces.push(&text[begin..]);
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chinese_character_takes_two_columns() {
        assert_eq!((width("loss"), width("损失")), (4, 4));
        assert_eq!(
            (left("头", 4), right("头", 4), left("头数", 3)),
            ("头  ".into(), "  头".into(), "头数".into())
        );
    }

    #[test]
    fn prose_is_broken_behind_its_label_and_nothing_else_is() {
        for (line, want) in [
            ("model   4 layers · width 128", "model   4 layers ·\n        width 128"),
            ("  one two three four", "  one two three\n  four"),
            ("数据    内置故事，文法 1：学", "数据    内置故事，\n        文法 1：学"),
            ("step 7  (7/90)  loss=1.25  lr=0.1", "step 7  (7/90)  loss=1.25  lr=0.1"),
            ("next    train-gpt generate --load x", "next    train-gpt generate --load x"),
            ("short", "short"),
        ] {
            assert_eq!(broken(line, 18), want);
        }
    }

    #[test]
    fn lines_end_where_they_may() {
        assert_eq!(
            wrapped("训练损失（平滑），即 --loss 的值", 10, 2),
            "训练损失\n  （平\n  滑），即\n  --loss\n  的值"
        );
        assert_eq!(wrapped("one two three", 7, 1), "one two\n three");
        assert_eq!(wrapped("       train-gpt", 4, 0), "       train-gpt");
    }
}
