//! `--device list`: the GPUs that there are.

use crate::console::{Out, json_line, note};
use crate::error::{Result, usage};
use crate::events::Event;
use llm_core::base::{Message, bytes};
use llm_core::message;
use llm_messages::columns::left;
use llm_run::device::{AdapterInfo, Device, adapters};

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

/// The device that is asked for, which flags that are for the processor refuse; none where all were to be listed, and are.
///
/// # Errors
/// As [`list`]; [`RunError::Usage`](crate::error::RunError::Usage) naming such a flag that is given.
pub(super) fn chosen(
    device: Option<&Device>,
    json: bool,
    for_the_cpu: &[(&'static str, bool)],
) -> Result<Option<Device>> {
    let device = device.cloned().unwrap_or_default();
    match for_the_cpu.iter().find(|(_, is_given)| *is_given) {
        _ if device == Device::List => list(json).map(|()| None),
        Some((flag, _)) if device != Device::Cpu => {
            usage(message!("{} is for the processor: leave --device out", *flag))
        }
        _ => Ok(Some(device)),
    }
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
