//! `serve`: a model behind HTTP.

use super::loaded::loaded;
use crate::args::ServeArgs;
use crate::console::{json_line, note, print};
use crate::error::{Result, RunError};
use crate::program::Program;
use crate::signals::Signals;
use llm_core::base::bytes;
use llm_core::message;
use llm_run::plan::Loaded;
use llm_serve::{Access, Server, memory};
use serde_json::json;

/// Loads the model, and answers until a signal comes.
///
/// # Errors
/// What loading refuses; a key that cannot be read, and an address on which it cannot listen.
pub fn serve(program: &Program, args: &ServeArgs) -> Result<()> {
    let signals = Signals::listen();
    let key = args.api_key_file.as_ref().map(|path| {
        let refused =
            |e: std::io::Error| RunError::Input { path: path.clone(), why: e.to_string().into() };
        std::fs::read_to_string(path).map(|key| key.trim().to_string()).map_err(refused)
    });
    let (_, Loaded { mut run, tokenizer, .. }) =
        loaded(program, &args.load, &args.apart, &args.output)?;
    let weights = args.weights.flatten();
    if let Some(kind) = weights {
        run.model = run.model.rounded(kind)?;
    }
    let access = Access {
        host: args.host.clone(),
        port: args.port.unwrap_or(8080),
        key: key.transpose()?.or(args.api_key.clone()),
        origins: args.allow_origin.clone(),
    };
    let name = args.apart.adapter.as_ref().unwrap_or(&args.load);
    let name = name.file_name().map_or("model".into(), |name| name.to_string_lossy());
    let server = Server::bind(access, &name, &run.model, tokenizer)?;
    let address = format!("http://{}", server.address());
    let (context, size) = (run.model.config().seq_len, memory(&run.model, weights));
    if args.output.json() {
        let at = json!({"event": "serving", "address": address, "model": name, "context": context, "memory": size});
        print(json_line(&at))?;
    } else {
        print(address + "\n")?;
        let (what, size) = (&*name, bytes(size));
        note(message!(
            "model {} · context of {} tokens · {} of memory · Ctrl-C ends",
            what,
            context,
            size
        ));
    }
    signals.heed();
    let stopped = server.run(&run.model, weights, || signals.pending().is_some())?;
    if !args.output.quiet() {
        note(message!("{} texts written, {} cut", stopped.written, stopped.cut));
    }
    Ok(())
}
