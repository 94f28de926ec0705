//! A GPU as the one who computes steps: `--device`.

use crate::error::{Result, RunError};
use llm_core::base::Message;
use llm_core::base::escape::clipped;
use llm_core::train::{Trainer, Work};
use llm_core::{TokenDataset, message};
use llm_run::folder::run_of;
use llm_run::log::RunInfo;
use llm_run::plan::Plan;
use std::str::FromStr;

/// What is typed: `cpu`, `gpu` or `gpu:NAME`; PyTorch's `cuda` and `mps`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Device {
    /// The processor.
    Cpu,
    /// A GPU with this in its name, or the system's first.
    Gpu(Option<String>),
}

impl FromStr for Device {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Device, String> {
        match text.split_once(':') {
            None if text == "cpu" => Ok(Device::Cpu),
            None if text == "gpu" => Ok(Device::Gpu(None)),
            // As PyTorch's users type it.
            None if text == "mps" => Ok(Device::Gpu(None)),
            None if text == "cuda" => Ok(Device::Gpu(Some("nvidia".into()))),
            Some(("cuda", _)) => Ok(Device::Gpu(Some("nvidia".into()))),
            Some(("gpu", name)) if !name.is_empty() => Ok(Device::Gpu(Some(name.into()))),
            _ => Err(format!("'{}' is no device; examples: cpu, gpu, gpu:nvidia", clipped(text))),
        }
    }
}

/// A GPU with a run's weights on it.
pub(crate) struct OnGpu {
    /// It.
    pub work: Box<dyn Work>,
    /// Adapter, interface and driver.
    pub name: String,
    /// What is said of it before the first step.
    pub lines: Vec<Message>,
}

/// The GPU that was asked for, with this run on it; `None` for the processor.
///
/// # Errors
/// [`RunError::Usage`] in a program that was built without GPUs, or for a model that has no kernels;
/// [`RunError::Unavailable`] where there is no such GPU; what it says itself.
pub(crate) fn opened(
    device: Option<&Device>,
    trainer: &Trainer,
    data: Option<&TokenDataset>,
) -> Result<Option<OnGpu>> {
    match (device, data) {
        (Some(Device::Gpu(name)), Some(data)) => open(name.as_deref(), trainer, data).map(Some),
        _ => Ok(None),
    }
}

/// That the steps before were computed elsewhere, where the run that goes on says so.
pub(crate) fn moved(plan: &Plan, device: &str) -> Option<Message> {
    let before = RunInfo::read(&run_of(plan.loaded.as_deref()?)?)?.device;
    let there: Message = match &*before {
        "" => "the processor".into(),
        name => name.to_string().into(),
    };
    (before != device).then(|| message!("note    the steps so far were computed on {}", there))
}

#[cfg(not(feature = "gpu"))]
fn open(_: Option<&str>, _: &Trainer, _: &TokenDataset) -> Result<OnGpu> {
    Err(RunError::Usage(message!(
        "--device gpu: this program was built without GPUs; cargo build --release --features gpu \
         makes one that has them"
    )))
}

#[cfg(feature = "gpu")]
fn open(name: Option<&str>, trainer: &Trainer, data: &TokenDataset) -> Result<OnGpu> {
    use llm_core::base::bytes;
    use llm_gpu::{Gpu, GpuWork};
    let work = Gpu::open(name).and_then(|gpu| GpuWork::new(gpu, trainer, data)).map_err(refused)?;
    let (name, [here, there]) = (work.name().to_string(), work.first_losses());
    let mut lines = vec![message!(
        "device  {} · {} kernels a step · {} there · the first loss is {:.4}, {:.4} on the processor",
        name,
        work.calls(),
        bytes(work.bytes()),
        there,
        here
    )];
    if work.is_a_processor() {
        lines.push("note    it is the processor in disguise: --device cpu is faster".into());
    }
    Ok(OnGpu { work: Box::new(work), name, lines })
}

#[cfg(feature = "gpu")]
fn refused(e: llm_gpu::GpuError) -> RunError {
    use llm_core::Error;
    use llm_gpu::GpuError;
    let why = message!("--device gpu: {}", e.message());
    match e {
        GpuError::NoAdapter { .. } => RunError::Unavailable(why),
        GpuError::NoKernels { .. } | GpuError::List(_) => RunError::Usage(why),
        _ => RunError::from(Error::Device(why)),
    }
}

#[cfg(test)]
mod tests {
    use super::Device;

    #[test]
    fn what_people_type() {
        let gpu = |name: &str| Ok(Device::Gpu(Some(name.into())));
        for (text, want) in [
            ("cpu", Ok(Device::Cpu)),
            ("gpu", Ok(Device::Gpu(None))),
            ("gpu:RTX 4090", gpu("RTX 4090")),
            ("cuda", gpu("nvidia")),
            ("cuda:0", gpu("nvidia")),
            ("mps", Ok(Device::Gpu(None))),
        ] {
            assert_eq!(text.parse(), want, "{text}");
        }
        for text in ["", "gpu:", "GPU", "cpu:0", "tpu"] {
            assert!(text.parse::<Device>().is_err(), "{text}");
        }
    }
}
