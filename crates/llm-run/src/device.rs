//! Who computes the steps: the processor, or a GPU.

use crate::error::{Result, RunError};
use crate::folder::run_of;
use crate::log::RunInfo;
use crate::plan::Plan;
use llm_core::base::escape::clipped;
use llm_core::base::{Message, bytes};
use llm_core::kernels::gemm::Precision;
use llm_core::train::{Trainer, Work};
use llm_core::{TokenDataset, message};
use std::fmt;
use std::str::FromStr;

/// Who is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Device {
    /// The processor.
    Cpu,
    /// A GPU with this in its name, or the system's first.
    Gpu(Option<String>),
}

/// `cpu`, `gpu` or `gpu:NAME`; PyTorch's `cuda` and `mps`.
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
pub struct OnGpu {
    /// It.
    pub work: Box<dyn Work>,
    /// Adapter, interface and driver.
    pub name: String,
    /// Whether it is the processor, which a driver offers as a GPU.
    pub is_processor: bool,
    /// Whether products in f16 were asked for, and it has no units for them that can be used.
    pub emulates: bool,
    /// Kernels that a step calls.
    pub kernels: usize,
    /// Bytes of its memory that a step needs.
    pub bytes: u64,
    /// The first loss on the processor, and there.
    pub losses: [f32; 2],
}

impl fmt::Debug for OnGpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnGpu").field("name", &self.name).finish_non_exhaustive()
    }
}

impl OnGpu {
    /// What is said of it before the first step.
    pub fn lines(&self) -> Vec<Message> {
        let [here, there] = self.losses;
        let mut lines = vec![message!(
            "device  {} · {} kernels a step · {} there · the first loss is {:.4}, {:.4} on the processor",
            self.name,
            self.kernels,
            bytes(self.bytes),
            there,
            here
        )];
        if self.is_processor {
            lines.push(message!("note    it is the processor in disguise: {device} cpu is faster"));
        }
        if self.emulates {
            lines.push(message!(
                "note    no matrix units that can be used: products in f16 are emulated, and f32 is as fast"
            ));
        }
        lines
    }
}

/// What is said before the first step of who computes it.
pub fn lines(gpu: Option<&OnGpu>, trainer: &Trainer) -> Vec<Message> {
    match (gpu, trainer.recipe.matmul) {
        (Some(gpu), _) => gpu.lines(),
        (None, Precision::F16) => {
            vec![message!("note    products in f16 are emulated by a processor: f32 is faster")]
        }
        (None, Precision::F32 | Precision::Bf16) => Vec::new(),
    }
}

/// The GPU that was asked for, with this run on it; `None` for the processor.
///
/// # Errors
/// [`RunError::Usage`] in a program that was built without GPUs, or for a model that has no kernels;
/// [`RunError::Unavailable`] where there is no such GPU; what it says itself.
pub fn opened(
    device: Option<&Device>,
    trainer: &Trainer,
    data: Option<&TokenDataset>,
) -> Result<Option<OnGpu>> {
    match (device, data) {
        (Some(Device::Gpu(name)), Some(data)) => open(name.as_deref(), trainer, data).map(Some),
        _ => Ok(None),
    }
}

/// That the steps before were computed elsewhere than on `device`, by its name, for a run that goes on.
pub fn moved(plan: &Plan, device: &str) -> Option<Message> {
    let before = RunInfo::read(&run_of(plan.loaded.as_deref()?)?)?.device;
    let there: Message = match &*before {
        "" => message!("the processor"),
        name => name.to_string().into(),
    };
    (before != device).then(|| message!("note    the steps so far were computed on {}", there))
}

#[cfg(not(feature = "gpu"))]
fn open(_: Option<&str>, _: &Trainer, _: &TokenDataset) -> Result<OnGpu> {
    Err(RunError::Usage(message!(
        "{device} gpu: this program was built without GPUs; cargo's feature gpu makes one that has them"
    )))
}

#[cfg(feature = "gpu")]
fn open(name: Option<&str>, trainer: &Trainer, data: &TokenDataset) -> Result<OnGpu> {
    use llm_gpu::{Gpu, GpuWork};
    let f16 = trainer.recipe.matmul == Precision::F16;
    let open = if f16 { Gpu::open_with_units } else { Gpu::open };
    let work = open(name).and_then(|gpu| GpuWork::new(gpu, trainer, data)).map_err(refused)?;
    let (name, is_processor) = (work.name().to_string(), work.is_a_processor());
    let emulates = f16 && work.gpu().units().is_none();
    let (kernels, bytes, losses) = (work.calls(), work.bytes(), work.first_losses());
    Ok(OnGpu { work: Box::new(work), name, is_processor, emulates, kernels, bytes, losses })
}

#[cfg(feature = "gpu")]
fn refused(e: llm_gpu::GpuError) -> RunError {
    use llm_core::Error;
    use llm_gpu::GpuError;
    let why = message!("{device} gpu: {}", e.message());
    match e {
        GpuError::NoAdapter { .. } => RunError::Unavailable(why),
        GpuError::Memory { .. } => {
            RunError::Memory(Error::Device(why), message!("{batch} or {seq}"))
        }
        GpuError::NoKernels { .. } | GpuError::NoOptimizer { .. } | GpuError::List(_) => {
            RunError::Usage(why)
        }
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
