//! `--device list`: the GPUs that there are.

use crate::console::{Out, json_line, note};
use crate::error::Result;
use crate::events::Event;
use llm_core::base::{Message, bytes};
use llm_core::message;
use llm_messages::columns::left;
use llm_run::device::{AdapterInfo, adapters};

/// Prints them, one a line.
///
/// # Errors
/// [`RunError::Usage`](crate::error::RunError::Usage) in a program that was built without GPUs; when
/// standard output fails.
pub(super) fn list(json: bool) -> Result<()> {
    let (all, mut out) = (adapters()?, Out::default());
    if all.is_empty() && !json {
        note("no GPU was found");
    }
    for of in &all {
        match json {
            true => out.write(json_line(&Event::Adapter(of)).as_bytes()),
            false => out.line(line(of)),
        }
    }
    out.finish()
}

fn line(of: &AdapterInfo) -> Message {
    let AdapterInfo { number, cuda, name, interface, driver, version, bus, .. } = of;
    let about = [
        Some(message!("{}", name)),
        Some(message!("{}, {} {}", *interface, driver, version)),
        of.memory.map(|memory| message!("{} of memory", bytes(memory))),
        of.units.map(|edge| message!("matrix units of {} × {}", edge, edge)),
        cuda.map(|number| format!("cuda:{number}").into()),
        Some(message!("bus {}", bus)).filter(|_| !bus.is_empty()),
        of.is_software.then(|| "a software renderer on the CPU".into()),
    ];
    let about = Message::joined("{} · {}", about.into_iter().flatten()).unwrap_or_default();
    message!("{} {}", left(&format!("gpu:{number}"), 7), about)
}
