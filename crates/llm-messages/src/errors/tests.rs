use super::*;
use crate::{Catalogue, LIBRARIES};
use llm_core::base::{CheckpointError, CrewError, Language, Message};
use llm_core::{AttentionSpec, Error, IoAction, message};
use llm_formats::FormatError;
use std::io;

struct Chinese(Catalogue);

impl Language for Chinese {
    fn translation(&self, template: &str) -> Option<&str> {
        self.0.translation(template)
    }

    fn option(&self, name: &str) -> String {
        name.into()
    }
}

fn chinese() -> Chinese {
    const SYSTEM: &str = "\"permission denied\" = \"没有权限\"";
    Chinese(Catalogue::new(&[LIBRARIES, SYSTEM]))
}

#[test]
fn errors_are_said_with_their_causes() {
    let denied = || io::Error::from_raw_os_error(13);
    let reads = |cause| Error::io(IoAction::GoOnReading, "a", cause);
    let grown = message!("it had {} bytes when it was opened and has {} now", 3, 4);
    let setting =
        CheckpointError::Setting { field: "settings", reason: message!("'{}' is missing", "k") };
    let unequal = CrewError::Unequal { what: message!("weights"), member: 2 };
    let all = [
        (
            Error::config("lr", message!("{} is not a finite number above 0", 0.0)),
            "lr：0 不是大于 0 的有限数",
        ),
        (reads(denied()), "无法继续读取 'a'：没有权限"),
        (reads(io::Error::other(grown)), "无法继续读取 'a'：打开时有 3 字节，现在有 4 字节"),
        (Error::Checkpoint { path: "b".into(), source: setting }, "检查点 'b'：settings：缺少 'k'"),
        (Error::Crew(unequal), "进程 2 的权重与进程 0 不同"),
        (Error::Hook("Its own.".into()), "its own"),
        (Error::Hook(Box::new(Message::from("no token is allowed"))), "没有允许的词元"),
        (Error::Logits { value: f32::NAN }, "无法选出下一个词元：模型的分数是 NaN，它的权重不能用"),
    ];
    for (error, want) in all {
        assert_eq!(core(&error, &chinese()), want, "{error}");
    }
}

#[test]
fn formats_are_said_with_what_is_inside() {
    let source = Error::config("attention", message!("'{}' is not known here", "x"));
    let spec = AttentionSpec::new("x", 2);
    let words = || Error::tokenizer("bpe", message!("no such words"));
    let all = [
        (FormatError::Io(io::Error::from_raw_os_error(13)), "无法读取：没有权限"),
        (
            FormatError::Attention { spec, source },
            "它用 x 注意力，头数 2，这里做不出：attention：这里不认识 'x'",
        ),
        (FormatError::Refused(words()), "bpe 分词器：没有这种分词"),
        (
            FormatError::Tokenizer(words()),
            "bpe 分词器：没有这种分词；拿走分词器的文件，可以不带分词器导入模型",
        ),
    ];
    for (error, want) in all {
        let error = FormatError::File { path: "f".into(), error: Box::new(error) };
        assert_eq!(formats(&error, &chinese()), format!("'f'：{want}"), "{error}");
    }
}

#[test]
fn a_reason_is_a_part_of_a_line() {
    assert_eq!(reason("Permission denied (os error 13)"), "permission denied");
    assert_eq!(reason("Éx.\n"), "éx");
    assert_eq!(reason(""), "");
}
