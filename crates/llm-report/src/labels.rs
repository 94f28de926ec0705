//! What kinds of facts, heads and courses are called, and how a run stands.

use llm_core::base::Message;
use llm_core::message;
use llm_core::optim::ScheduleKind;
use llm_lens::Role;
use llm_stories::FactKind;

/// What a kind of fact is called; in English as in tables and files.
pub fn fact_label(kind: FactKind) -> Message {
    match kind {
        FactKind::Thing => message!("thing"),
        FactKind::Found => message!("found-item"),
        FactKind::Spot => message!("spot"),
        FactKind::Pronoun => message!("he-she"),
        FactKind::Receiver => message!("receiver"),
        FactKind::Holder => message!("who-has"),
        FactKind::OtherPerson => message!("other-person"),
        FactKind::OtherItem => message!("other-item"),
    }
}

/// The use of a head that looks at such places.
pub fn role_label(role: Role) -> Message {
    match role {
        Role::Previous => message!("looks at the previous token"),
        Role::First => message!("looks at the first token, where little is to be had"),
        Role::Itself => message!("looks at the token itself"),
        Role::Word => message!("looks at the letters of its own word"),
        Role::Same => message!("looks at earlier mentions of the same word"),
        Role::After => message!("looks at what followed the same token before (induction)"),
        Role::Copy => message!("looks at tokens like the one that comes next (copying)"),
        Role::Separator => message!("looks at spaces, punctuation and line ends"),
        Role::Answer => message!("looks the answer up: earlier mentions of the word to be told"),
    }
}

/// The course of a learning rate after the warm-up.
pub fn course_label(kind: ScheduleKind) -> Message {
    match kind {
        ScheduleKind::Constant => message!("constant"),
        ScheduleKind::Cosine => message!("cosine"),
        ScheduleKind::Linear => message!("linear"),
        ScheduleKind::Wsd => message!("wsd"),
    }
}

/// The state of a run, by its name in run.json and in lists.
pub fn state_label(name: &str) -> Message {
    match name {
        "running" => message!("running"),
        "done" => message!("done"),
        "stopped" => message!("stopped"),
        "interrupted" => message!("interrupted"),
        "diverged" => message!("diverged"),
        "failed" => message!("failed"),
        _ => message!("cut off"),
    }
}
