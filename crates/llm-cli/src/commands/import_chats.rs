//! `import chats`: what people have said in an app, as conversations that a model can learn.

use crate::args::ImportArgs;
use crate::console::{Out, note};
use crate::error::{Result, RunError, usage};
use crate::events::{self, Event};
use crate::next_commands::{self, quoted};
use crate::program::Program;
use llm_core::base::escape::one_line;
use llm_core::base::{Message, replace_file};
use llm_core::{counted, message};
use llm_formats::FormatError;
use llm_formats::chat::exported::{Exports, LeftOut};
use llm_formats::data_files;
use llm_formats::first_look::Look;
use std::ffi::OsStr;
use std::io;
use std::path::PathBuf;
use std::slice::from_ref;

/// Reads the files and saves the conversations.
///
/// # Errors
/// What reading or saving refuses, and when none of those who speak is named as the one who
/// answers; a file that is there is kept.
pub(super) fn import_chats(program: &Program, args: &ImportArgs) -> Result<()> {
    if args.heads.is_some() {
        return usage("--heads is for models");
    }
    let refused =
        |e| RunError::not_created(&args.save, e, "nothing was imported, choose another --save");
    if args.save.symlink_metadata().is_ok() {
        return Err(refused(io::Error::other(message!("it is there already"))));
    }
    let mut found = read(args)?;
    let days = found.days();
    if !found.names().is_empty() {
        let me = args.me.as_deref().and_then(|me| found.meant(me));
        found.answered_by(&me.ok_or_else(|| nobody(program, args, &found))?);
    }
    if found.conversations.is_empty() {
        let why = message!("there is no question with an answer in it");
        return Err(RunError::Data(message!("{}; nothing was imported", why)));
    }
    replace_file(&args.save, |out| found.write(out)).map_err(refused)?;
    let (conversations, left_out) = (found.conversations.len(), found.left_out);
    let messages = found.conversations.iter().map(Vec::len).sum();
    let path = &args.save.display().to_string();
    let mut out = Out::default();
    if args.output.json() {
        out.write(&events::line(&Event::Imported { conversations, messages, left_out, path }));
    }
    if !args.output.quiet() {
        let (what, of) = (counted!(conversations, "conversation"), counted!(messages, "message"));
        note(match days {
            Some([first, last]) => message!("imported {} of {}, {} to {}", what, of, first, last),
            None => message!("imported {} of {}", what, of),
        });
        left(left_out).into_iter().for_each(note);
        note(message!("saved conversations '{}'", one_line(path)));
        let (name, data) =
            (next_commands::program(program), next_commands::data(from_ref(&args.save), &[]));
        note(message!("next    {}{} --time 2m", name, data));
    }
    out.finish()
}

fn read(args: &ImportArgs) -> Result<Exports> {
    data_files::exported(&args.sources).map_err(|e| {
        let packed = |path: &&PathBuf| Look::of(path) == Some(Look::Zip);
        match (e, args.sources.iter().find(packed)) {
            (FormatError::Core(e), _) => RunError::hint(e, "nothing was imported"),
            (_, Some(path)) => RunError::Data(message!(
                "'{}' is a zip archive: unpack it, and import the .txt or .json file in it",
                path.display()
            )),
            (other, None) => RunError::Data(message!("{}; nothing was imported", other.message())),
        }
    })
}

/// Refused: the names of those who speak, and what to type.
fn nobody(program: &Program, args: &ImportArgs, found: &Exports) -> RunError {
    const MOST: usize = 20;
    let names = found.names();
    let shown =
        names.iter().take(MOST).map(|(who, n)| format!("{} ({n})", quoted(OsStr::new(who))));
    let more = (names.len() > MOST).then(|| "..".to_string());
    let shown = shown.chain(more).collect::<Vec<_>>().join(", ");
    let files: String =
        args.sources.iter().map(|path| format!(" {}", quoted(path.as_os_str()))).collect();
    let one = names.first().map_or(String::new(), |(who, _)| quoted(OsStr::new(who)));
    let (name, save) = (next_commands::program(program), quoted(args.save.as_os_str()));
    let command = format!("{name} import chats{files} --me {one} --save {save}");
    RunError::Usage(match &args.me {
        Some(me) => message!(
            "--me {}: nobody is called so, or several are; there are, with their messages: {}; \
             for example {}",
            quoted(OsStr::new(me)),
            shown,
            command
        ),
        None => message!(
            "--me is missing: the name of the one who answers, as the model will; there are, with \
             their messages: {}; for example {}",
            shown,
            command
        ),
    })
}

/// What was left out, if anything.
fn left(out: LeftOut) -> Option<Message> {
    let LeftOut { media, system, deleted, unasked, unanswered, texts } = out;
    let kinds = [
        (media, message!("{} without text (media)", media)),
        (system, message!("{} of the app or of tools", system)),
        (deleted, message!("{} deleted", deleted)),
        (unasked, message!("{} answers that nobody asked for", unasked)),
        (unanswered, message!("{} questions without an answer", unanswered)),
        (texts, message!("{} texts that are no conversation", texts)),
    ];
    let some = kinds.into_iter().filter(|(n, _)| *n > 0).map(|(_, kind)| kind);
    let all = some.reduce(|before, kind| message!("{}, {}", before, kind))?;
    Some(message!("messages left out: {}", all))
}
