use super::*;
use proptest::prelude::*;

const WHATSAPP: &str = "\
1/2/24, 9:00 AM - Messages and calls are end-to-end encrypted.
1/2/24, 9:01 AM - Tom: early
1/2/24, 9:02 AM - Mia: is it far?
1/2/24, 9:02 AM - Mia: to the sea
1/2/24, 9:03 AM - Tom: a day
1/2/24, 3:02 PM - Tom: or two
1/2/24, 9:02 PM - Mia: and by ship?
1/3/24, 3:02 AM - Tom: asleep
1/13/24, 9:03 AM - Mia: hello?
";
const TELEGRAM: &str = r#"{"name": "Trip", "type": "private_group", "id": 1, "messages": [
    {"id": 1, "type": "message", "date": "2024-01-02T09:01:00", "from": "Mia", "text": "who comes?"},
    {"id": 2, "type": "message", "date": "2024-01-02T09:02:00", "from": "Ann", "text": "I do"},
    {"id": 3, "type": "message", "date": "2024-01-02T09:02:00", "from": "Ann", "text": ["so ", {"type": "bold", "text": "there"}]},
    {"id": 4, "type": "message", "date": "2024-01-02T09:03:00", "from": "Tom", "text": "me too"}]}"#;
const DISCORD: &str = r#"{"guild": {"id": "0"}, "channel": {"id": "1"}, "messages": [
    {"type": "Default", "timestamp": "2024-01-02T09:01:00+00:00", "content": "a", "author": {"name": "mia", "nickname": null}},
    {"type": "Reply", "timestamp": "2024-01-02T09:02:00+00:00", "content": "b", "author": {"name": "tom", "nickname": "Tom"}}]}"#;
const CHATGPT: &str = r#"[{"title": "", "mapping": {
    "r": {"message": null, "parent": null, "children": ["a"]},
    "a": {"message": {"author": {"role": "user"}, "content": {"content_type": "text", "parts": ["q"]}}, "parent": "r", "children": ["b"]},
    "b": {"message": {"author": {"role": "assistant"}, "content": {"content_type": "text", "parts": ["c"]}}, "parent": "a", "children": []}
    }, "current_node": "b"}]"#;
const LINES: &str = "{\"prompt\": \"q\", \"completion\": \"c\"}\n{\"text\": \"t\"}\n";
const ALL: [&str; 5] = [WHATSAPP, TELEGRAM, DISCORD, CHATGPT, LINES];

fn read(text: &str) -> Result<Exported, Message> {
    Exported::read([(message!("a file"), text.as_bytes())])
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
        let meant = |found: &Exported| found.meant(name);
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
    let again = Exported::read([(message!("lines"), &lines[..])]).unwrap();
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
    let said = Exported::read([(message!("a file"), &b"[\xff"[..])]).unwrap_err().to_string();
    assert_eq!(said, "a file: it is no UTF-8");
}

/// Whatever it is, it is read or refused in a line.
fn endure(bytes: &[u8]) {
    match Exported::read([(message!("a file"), bytes)]) {
        Ok(mut found) => {
            let names: Vec<_> = found.names().iter().map(|(who, _)| who.to_string()).collect();
            found.days();
            if let Some(me) = names.first() {
                found.answered_by(&found.meant(me).unwrap());
            }
            for turns in &found.conversations {
                assert!(!turns.is_empty());
            }
            found.write(&mut io::sink()).unwrap();
        }
        Err(why) => assert!(!why.to_string().contains('\n'), "{why}"),
    }
}

#[test]
fn depth_and_length_are_bounded() {
    for open in
        ["[", "{\"messages\": ", "{\"mapping\": ", "[[{\"messages\": [", "{\"chats\": {\"list\": ["]
    {
        endure(open.repeat(100_000).as_bytes());
    }
    let parts = TELEGRAM.replace("\"who comes?\"", &("[".repeat(9000) + &"]".repeat(9000)));
    endure(parts.as_bytes());
    endure(" - ".repeat(100_000).as_bytes());
    endure(WHATSAPP.replace("Mia", &"<".repeat(100_000)).as_bytes());
    endure(WHATSAPP.replace("early", &"\u{200e}<a>".repeat(20_000)).as_bytes());
    endure(WHATSAPP.replace("1/2", &"9".repeat(100_000)).as_bytes());
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
        endure(&whole[..cut.min(whole.len())]);
        endure(&changed);
        endure(&[WHATSAPP.as_bytes(), line.as_bytes()].concat());
        endure(line.as_bytes());
        endure(&bytes);
    }
}
