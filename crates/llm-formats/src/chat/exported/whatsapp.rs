//! WhatsApp's exported text: a message begins where a line begins with a date, in the manner of the
//! phone's language and land.

use super::spoken::{LeftOut, Moment, Spoken};

/// What stands before a message.
struct Head<'t> {
    /// Three numbers, in an order that a single one does not show.
    date: [u32; 3],
    /// Minutes since midnight.
    minute: u32,
    /// The hours are counted as in the United States, with AM or PM.
    american: bool,
    /// What follows.
    rest: &'t str,
}

/// Stands before what the app itself says, on an iPhone.
const MARK: char = '\u{200e}';

/// Words of the first half of the day and of the second.
const HALVES: [(bool, &[&str]); 2] = [
    (false, &["am", "上午", "凌晨", "早上", "清晨", "오전", "午前", "πμ", "ص"]),
    (true, &["pm", "下午", "晚上", "中午", "傍晚", "오후", "午後", "μμ", "م"]),
];

/// What a message is that someone took back; here and below one after the other.
const DELETED: &str = "\
    this message was deleted|you deleted this message|\
    diese nachricht wurde gelöscht|du hast diese nachricht gelöscht|\
    se eliminó este mensaje|este mensaje fue eliminado|eliminaste este mensaje|\
    此消息已删除|您删除了这条消息|你已删除此消息|此訊息已刪除|您已刪除此訊息|ce message a été supprimé|\
    vous avez supprimé ce message|mensagem apagada|esta mensagem foi apagada|\
    questo messaggio è stato eliminato";

/// How a line ends that stands for something that is not text.
const OMITTED: &str = " omitted| weggelassen| omitida| omitido|已忽略|已省略| ausgeschlossen";

/// How a line ends that names a file beside the text.
const ATTACHED: &str = "\
    (file attached)|(Datei angehängt)|(archivo adjunto)|(文件附件)|(檔案已附加)|\
    (fichier joint)";

/// What the app says about itself in the name of a person.
const SYSTEM: &str = "\
    Messages and calls are end-to-end encrypted|Messages to this chat and calls are now|\
    Nachrichten und Anrufe sind Ende-zu-Ende|llamadas están cifrados de extremo a extremo|\
    消息和通话都进行端到端加密|訊息和通話經端對端加密|appels sont chiffrés de bout en bout|\
    joined using this group's invite link|Waiting for this message";

/// Words of the mark at the end of a message that was changed later.
const EDITED: &str = "edited|bearbeitet|editó|编辑|編輯|modifié";

/// Whether a text is such an export: one of its first lines begins with a date.
pub(super) fn is_one(text: &str) -> bool {
    text.lines().filter(|line| !line.trim().is_empty()).take(20).any(|line| head(line).is_some())
}

/// Whether someone says something in a line.
pub(crate) fn is_said(line: &str) -> bool {
    head(line).is_some_and(|head| head.rest.contains(": "))
}

/// The messages of an export.
pub(super) fn read(text: &str, left_out: &mut LeftOut) -> Vec<Spoken> {
    let mut found: Vec<(Head<'_>, String)> = Vec::new();
    for line in text.lines() {
        match (head(line), found.last_mut()) {
            (Some(head), _) => found.push((Head { rest: "", ..head }, head.rest.into())),
            (None, Some((_, said))) => {
                said.push('\n');
                said.push_str(line);
            }
            (None, None) => {}
        }
    }
    let order = order(&found.iter().map(|(head, _)| head).collect::<Vec<_>>());
    let message = |(head, said): (Head<'_>, String)| {
        let when = head.moment(order);
        let left = match spoken(&said) {
            Ok((who, text)) => return Some(Spoken { when, who, text }),
            Err(kind) => kind,
        };
        *left(left_out) += 1;
        None
    };
    found.into_iter().filter_map(message).collect()
}

impl Head<'_> {
    /// With the places of the year, the month and the day.
    fn moment(&self, order: [usize; 3]) -> Moment {
        let [year, month, day] = order.map(|place| self.date[place]);
        let year = if year < 100 { year + 2000 } else { year };
        Moment { year, month, day, minute: self.minute }
    }
}

/// The places of the year, the month and the day in all dates: those with which each is one, none
/// is before the one above it, and the whole is the shortest.
fn order(heads: &[&Head<'_>]) -> [usize; 3] {
    let mut orders = [[2, 1, 0], [2, 0, 1], [0, 1, 2]];
    if heads.iter().any(|head| head.american) {
        orders.swap(0, 1);
    }
    let unlikely = |order: &[usize; 3]| {
        let dates: Vec<Moment> = heads.iter().map(|head| head.moment(*order)).collect();
        let odd = dates.iter().filter(|date| !date.is_possible()).count();
        let back = dates.windows(2).filter(|pair| pair[1] < pair[0]).count();
        let whole = dates.iter().max().zip(dates.iter().min());
        (odd, back, whole.map(|(last, first)| last.minutes() - first.minutes()))
    };
    orders.into_iter().min_by_key(unlikely).unwrap_or(orders[0])
}

/// `12/31/23, 9:15 PM - ..` or `[31.12.23, 21:15:07] ..`
fn head(line: &str) -> Option<Head<'_>> {
    let line = line.trim_start_matches(is_mark);
    let (stamp, rest) = match line.strip_prefix('[') {
        Some(inner) => inner.split_once(']')?,
        None => line.split_once(" - ")?,
    };
    // Numbers, and what stands before, between and after them, without space.
    let (mut numbers, mut between) = (Vec::<u32>::new(), vec![String::new()]);
    let mut before = None;
    for c in stamp.chars().filter(|c| !is_mark(*c)) {
        let digit = digit(c);
        match (digit, numbers.last_mut()) {
            (Some(digit), Some(number)) if before.is_some() => *number = *number * 10 + digit,
            (Some(digit), _) => {
                numbers.push(digit);
                between.push(String::new());
            }
            (None, _) if c.is_whitespace() => {}
            (None, _) => between.last_mut()?.push(c),
        }
        before = digit;
        let long = between.last()?.len() > 32 || numbers.last().is_some_and(|n| *n > 9999);
        if long || numbers.len() > 6 {
            return None;
        }
    }
    let is_time = |text: &String| matches!(text.as_str(), ":" | ".");
    let is_date = |text: &String| matches!(text.as_str(), "/" | "." | "-" | "年" | "月");
    let ([a, b, c, hour, minute, ..], 5..) = (&numbers[..], numbers.len()) else { return None };
    let with_seconds = numbers.len() == 6;
    if !between[0].is_empty()
        || !between[1..3].iter().all(is_date)
        || !between[4..numbers.len()].iter().all(is_time)
        || with_seconds && numbers[5] > 60
    {
        return None;
    }
    let words = [&*between[3], between.last()?].concat().replace('.', "");
    let lower = words.to_lowercase();
    let said = |(_, halves): &&(bool, &[&str])| halves.iter().any(|half| lower.contains(half));
    let half = HALVES.iter().find(said).map(|(second, _)| *second);
    let hour = match (half, *hour) {
        (Some(true), hour @ 1..12) => hour + 12,
        (Some(false), 12) => 0,
        (_, hour) => hour,
    };
    let american = between[1] == "/" && (words.contains("AM") || words.contains("PM"));
    let head = Head { date: [*a, *b, *c], minute: hour * 60 + minute, american, rest };
    (hour < 24 && *minute < 60).then_some(head)
}

/// Which number a message that is left out counts for.
type Kind = fn(&mut LeftOut) -> &mut usize;

/// The speaker and the text of a message, or the kind of what is no such thing.
fn spoken(said: &str) -> Result<(String, String), Kind> {
    const QUOTES: [char; 5] = ['"', '“', '”', '„', '«'];
    let is_end = |rest: &str| rest.is_empty() || rest.starts_with([' ', '\n', '\u{a0}']);
    let colon = said.match_indices(':').find(|(at, _)| is_end(&said[at + 1..]));
    let Some((at, _)) = colon else { return Err(|left| &mut left.system) };
    let (who, said) = (without_marks(&said[..at]), &said[at + 1..]);
    // Such as: X changed the subject to "a: b".
    if who.contains(QUOTES) || who.contains('\n') || who.is_empty() {
        return Err(|left| &mut left.system);
    }
    let mut text = said.trim();
    // The app's own words begin with a mark.
    let is_app = text.starts_with(MARK);
    let (first, below) = text.split_once('\n').unwrap_or((text, ""));
    let mut is_caption = any(ATTACHED, |end| first.trim_end().ends_with(end));
    if is_caption {
        text = below;
    }
    while let Some((before, is_edit)) = bracketed(text) {
        is_caption |= !is_edit;
        text = before;
    }
    let in_app = text.contains(MARK);
    let text = without_marks(text);
    let is_line = !text.contains('\n') && (in_app || text.split_whitespace().count() < 4);
    let lower = text.to_lowercase();
    if any(DELETED, |words| words == lower.trim_end_matches(['.', '。'])) {
        return Err(|left| &mut left.deleted);
    }
    let is_omitted = is_line && any(OMITTED, |end| text.ends_with(end));
    if text.is_empty() || text == "null" || is_omitted {
        return Err(|left| &mut left.media);
    }
    if is_app && !is_caption || any(SYSTEM, |words| text.contains(words)) {
        return Err(|left| &mut left.system);
    }
    Ok((who, text))
}

/// What stands before the app's own `<..>` at the end, and whether that says that the message was
/// changed.
fn bracketed(text: &str) -> Option<(&str, bool)> {
    let (before, inside) = text.trim_end().strip_suffix('>')?.rsplit_once('<')?;
    let is_edit = any(EDITED, |word| inside.contains(word));
    let is_apps = before.is_empty() || before.ends_with(MARK) || is_edit;
    let is_long = inside.chars().count() > 80 || inside.contains(['>', '\n']);
    (is_apps && !is_long).then(|| (before.trim_end_matches(is_mark).trim_end(), is_edit))
}

fn any(words: &str, is_it: impl FnMut(&str) -> bool) -> bool {
    words.split('|').any(is_it)
}

/// Also one of the Arab world, of Persia or of India.
fn digit(c: char) -> Option<u32> {
    let zeros = [0x30, 0x660, 0x6F0, 0x966];
    zeros.into_iter().find_map(|zero| (c as u32).checked_sub(zero).filter(|digit| *digit < 10))
}

/// What says in which direction text runs.
fn is_mark(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

fn without_marks(text: &str) -> String {
    text.chars().filter(|c| !is_mark(*c)).collect::<String>().trim().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> (Vec<String>, LeftOut) {
        assert!(is_one(text), "{text}");
        let mut left_out = LeftOut::default();
        let found = read(text, &mut left_out);
        let shown = |said: &Spoken| {
            let Moment { year, month, day, minute } = said.when;
            let time = format!("{year}-{month}-{day} {}:{}", minute / 60, minute % 60);
            format!("{time} {}|{}", said.who, said.text)
        };
        (found.iter().map(shown).collect(), left_out)
    }

    #[test]
    fn dates_are_those_of_many_lands() {
        for line in [
            "12/31/23, 9:15 PM - Mia: a",
            "12/31/23, 9:15\u{202f}PM - Mia: a",
            "31/12/2023, 9:15 pm - Mia: a",
            "31/12/23, 9:15\u{a0}p.\u{a0}m. - Mia: a",
            "31.12.23, 21:15 - Mia: a",
            "31.12.2023 klo 21.15 - Mia: a",
            "31/12/2023 à 21:15 - Mia: a",
            "31-12-2023 21:15 - Mia: a",
            "2023-12-31 21:15 - Mia: a",
            "2023/12/31 下午9:15 - Mia: a",
            "2023. 12. 31. 오후 9:15 - Mia: a",
            "٣١/١٢/٢٠٢٣، ٩:١٥ م - Mia: a",
            "[31.12.23, 21:15:07] Mia: a",
            "\u{200e}[12/31/23, 9:15:07\u{202f}PM] Mia: a",
            "[2023/12/31 下午9:15:07] Mia: a",
            "[2023-12-31, 21:15:07] \u{202a}Mia\u{202c}: a\r",
        ] {
            assert_eq!(all(line).0, ["2023-12-31 21:15 Mia|a"], "{line}");
        }
        for line in [
            "",
            "1, 2 - a: b",
            "1/2/3, 4:75 - a: b",
            "1/2/3, 24:00 - a: b",
            "1/2/3 4 - a: b",
            "1/2/3, 4:5:6:7 - a: b",
            "1/2/99999, 4:15 - a: b",
            "at 1/2/3, 4:15 - a: b",
            "{\"a\": \"1/2/3, 4:15 - a: b\"}",
            "[1, 2]",
        ] {
            assert!(!is_one(line), "{line}");
        }
    }

    #[test]
    fn day_and_month_are_told_apart_by_the_whole_file() {
        let days = |dates: [&str; 3]| {
            let text: String = dates.iter().map(|d| format!("{d}, 12:01 AM - A: b\n")).collect();
            all(&text).0.iter().map(|line| line[5..].replace(" 0:1 A|b", "")).collect::<Vec<_>>()
        };
        assert_eq!(days(["1/2/24", "1/3/24", "2/13/24"]), ["1-2", "1-3", "2-13"]);
        assert_eq!(days(["1/2/24", "2/2/24", "13/2/24"]), ["2-1", "2-2", "2-13"]);
        // None is above 12: forwards, and then in the shorter time.
        assert_eq!(days(["2/1/24", "1/12/24", "1/12/24"]), ["1-2", "12-1", "12-1"]);
        assert_eq!(days(["5/3/24", "1/4/24", "2/4/24"]), ["3-5", "4-1", "4-2"]);
        assert_eq!(days(["1/4/24", "2/4/24", "3/4/24"]), ["4-1", "4-2", "4-3"]);
        assert_eq!(days(["4/1/24", "4/2/24", "4/3/24"]), ["4-1", "4-2", "4-3"]);
        assert_eq!(days(["4/1/24", "4/1/24", "4/1/24"]), ["4-1", "4-1", "4-1"]);
        assert_eq!(days(["23/4/1", "23/4/1", "23/5/11"]), ["4-1", "4-1", "5-11"]);
    }

    #[test]
    fn a_message_goes_on_below() {
        let text =
            "torn line\n31.12.23, 21:15 - Mia: one\ntwo: 2\n\n3\n31.12.23, 21:16 - Tom: <3\n";
        let wanted = ["2023-12-31 21:15 Mia|one\ntwo: 2\n\n3", "2023-12-31 21:16 Tom|<3"];
        assert_eq!(all(text), (wanted.map(String::from).to_vec(), LeftOut::default()));
    }

    #[test]
    fn what_nobody_said_is_counted() {
        let media = [
            "Mia: <Media omitted>",
            "Mia: <Medien ausgeschlossen>",
            "Mia: <省略多媒体文件>",
            "Mia: \u{200e}image omitted",
            "Mia: image omitted",
            "Mia: \u{200e}Bild weggelassen",
            "Mia: \u{200e}<attached: 00000012-PHOTO.jpg>",
            "Mia: a.pdf • \u{200e}2 pages \u{200e}document omitted",
            "Mia: IMG-20231231-WA0001.jpg (file attached)",
            "Mia:",
        ];
        let system = [
            "Messages and calls are end-to-end encrypted. Only people in this chat can read them.",
            "Mia added Tom",
            "Mia changed the subject from “a: b” to “c: d”",
            "Mia: \u{200e}Messages and calls are end-to-end encrypted.",
            "Trip: \u{200e}Mia added Tom",
            "Tom joined using this group's invite link",
            "Mia: \u{200e}Missed voice call",
        ];
        let deleted = [
            "Mia: This message was deleted",
            "Mia: \u{200e}You deleted this message.",
            "Mia: Diese Nachricht wurde gelöscht.",
            "Mia: Eliminaste este mensaje.",
            "Mia: 此消息已删除",
        ];
        let said = [
            ("Mia: I omitted it on purpose, as you know", "I omitted it on purpose, as you know"),
            ("Mia: ok \u{200e}<This message was edited>", "ok"),
            ("Mia: use <b>", "use <b>"),
            ("Mia: is it end-to-end encrypted?", "is it end-to-end encrypted?"),
            ("Mia: IMG-1.jpg (file attached)\nat sea", "at sea"),
            ("Mia: \u{200e}IMG-1.jpg (file attached)\nat home", "at home"),
            ("Mia: at sea\n\u{200e}<attached: 1.jpg>", "at sea"),
            ("Mia: @\u{2068}Tom\u{2069} come", "@Tom come"),
        ];
        let texts = said.iter().map(|(line, _)| *line);
        let lines = media.into_iter().chain(system).chain(deleted).chain(texts);
        let text: String = lines.map(|line| format!("31.12.23, 21:15 - {line}\n")).collect();
        let (found, left_out) = all(&text);
        let wanted = said.map(|(_, text)| format!("2023-12-31 21:15 Mia|{text}"));
        assert_eq!(found, wanted);
        let counts = (left_out.media, left_out.system, left_out.deleted);
        assert_eq!(counts, (media.len(), system.len(), deleted.len()));
    }
}
