use super::fuzzing::*;
use super::*;
use proptest::prelude::*;

fn read(text: &str) -> Result<Exports, Message> {
    Exports::read([(message!("a file"), text.as_bytes())])
}

/// Each conversation, the turns one after the other.
fn made(text: &str, me: &str) -> (Vec<String>, LeftOut) {
    let mut found = read(text).unwrap();
    if let Some(me) = found.meant(me) {
        found.answered_by(&me);
    }
    let turns = |turns: &Vec<Turn>| {
        let said = turns.iter().map(|turn| format!("{}: {}", &turn.role[..1], turn.content));
        said.collect::<Vec<_>>().join(" | ")
    };
    (found.conversations.iter().map(turns).collect(), found.left_out)
}

#[test]
fn one_answers_and_the_others_ask() {
    let (found, left_out) = made(WHATSAPP, "tom");
    assert_eq!(found, ["u: is it far?\nto the sea | a: a day\nor two"]);
    let wanted = LeftOut { system: 1, unasked: 2, unanswered: 2, ..LeftOut::default() };
    assert_eq!(left_out, wanted);
    assert_eq!(made(TELEGRAM, "Tom").0, ["u: Mia: who comes?\nAnn: I do\nso there | a: me too"]);
    assert_eq!(made(DISCORD, "Tom").0, ["u: a | a: b"]);
    assert_eq!(made(CHATGPT, "").0, ["u: q | a: c"]);
    let lines = LeftOut { texts: 1, ..LeftOut::default() };
    assert_eq!(made(LINES, ""), (vec!["u: q | a: c".to_string()], lines));
}

#[test]
fn names_are_listed_and_found() {
    let found = read(WHATSAPP).unwrap();
    assert_eq!(found.names(), [("Mia", 4), ("Tom", 4)]);
    assert_eq!(found.days().unwrap(), ["2024-01-02", "2024-01-13"]);
    let two = read(&WHATSAPP.replace("Mia", "TOM")).unwrap();
    for (name, of_one, of_two) in
        [("tom", Some("Tom"), None), ("Tom", Some("Tom"), Some("Tom")), ("Ann", None, None)]
    {
        let meant = |found: &Exports| found.meant(name);
        assert_eq!(
            (meant(&found), meant(&two)),
            (of_one.map(String::from), of_two.map(String::from))
        );
    }
    assert!(read(CHATGPT).unwrap().names().is_empty());
}

#[test]
fn what_is_written_is_read_again() {
    let mut found = read(WHATSAPP).unwrap();
    found.answered_by("Tom");
    let mut lines = Vec::new();
    found.write(&mut lines).unwrap();
    let again = Exports::read([(message!("lines"), &lines[..])]).unwrap();
    assert_eq!(again.conversations, found.conversations);
}

#[test]
fn what_cannot_be_read_is_named() {
    for (text, why) in [
        (&TELEGRAM[..400], "a file: its JSON is cut off (EOF while parsing"),
        (&CHATGPT[..300], "a file: its JSON is cut off (EOF while parsing"),
        (
            &DISCORD.replace("\"content\": \"a\", ", ""),
            "a file: it has the form of Discord, but: missing field",
        ),
        ("once upon a time", "a file: it is no export of WhatsApp (.txt)"),
        ("{\"a\": 1}", "a file, line 1: it has none of"),
    ] {
        let said = read(text).unwrap_err().to_string();
        assert!(said.starts_with(why), "{said}");
    }
    let said = Exports::read([(message!("a file"), &b"[\xff"[..])]).unwrap_err().to_string();
    assert_eq!(said, "a file: it is no UTF-8");
}

/// What is read and not learned stays so, and whatever else a template may ask for stays too.
#[test]
fn an_answer_that_is_not_learned_is_written_as_one() {
    let line = r#"{"messages":[{"role":"user","content":"a","name":"Ada"},{"role":"assistant","content":"b","weight":0},{"role":"user","content":"c"},{"role":"assistant","content":"d","weight":0.25}]}"#;
    let (mut written, mut again) = (Vec::new(), Vec::new());
    read(line).unwrap().write(&mut written).unwrap();
    read(std::str::from_utf8(&written).unwrap()).unwrap().write(&mut again).unwrap();
    assert_eq!(written, again);
    let text = String::from_utf8(written).unwrap();
    assert!(text.contains("\"weight\":0}") && text.contains("\"weight\":0.25}"), "{text}");
    assert!(text.contains("\"name\":\"Ada\""), "{text}");
}

#[test]
fn depth_and_length_are_bounded() {
    for open in
        ["[", "{\"messages\": ", "{\"mapping\": ", "[[{\"messages\": [", "{\"chats\": {\"list\": ["]
    {
        read_exports(open.repeat(100_000).as_bytes());
    }
    let parts = TELEGRAM.replace("\"who comes?\"", &("[".repeat(9000) + &"]".repeat(9000)));
    read_exports(parts.as_bytes());
    read_exports(
        DISCORD
            .replace("\"content\": \"a\"", &format!("\"author\": \"{}\"", "é".repeat(9000)))
            .as_bytes(),
    );
    read_exports(" - ".repeat(100_000).as_bytes());
    read_exports(WHATSAPP.replace("Mia", &"<".repeat(100_000)).as_bytes());
    read_exports(WHATSAPP.replace("early", &"\u{200e}<a>".repeat(20_000)).as_bytes());
    read_exports(WHATSAPP.replace("1/2", &"9".repeat(100_000)).as_bytes());
}

proptest! {
    #[test]
    fn whatever_is_in_a_file_is_no_panic(
        which in 0..ALL.len(),
        cut in 0..1200usize,
        put in prop::collection::vec((0..1200usize, any::<u8>()), 0..6),
        line in "[\\[\\]0-9/.:, \u{200e}<>APMm\n-]{0,60}",
        bytes in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let whole = ALL[which].as_bytes();
        let mut changed = whole.to_vec();
        for (at, byte) in put {
            if let Some(place) = changed.get_mut(at) {
                *place = byte;
            }
        }
        read_exports(&whole[..cut.min(whole.len())]);
        read_exports(&changed);
        read_exports(&[WHATSAPP.as_bytes(), line.as_bytes()].concat());
        read_exports(line.as_bytes());
        read_exports(&bytes);
    }
}
