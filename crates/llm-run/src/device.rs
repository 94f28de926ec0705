//! The device that computes the steps: the CPU, or a GPU.

use crate::error::{Result, RunError};
use crate::note::Note;
use llm_core::base::escape::clipped;
#[cfg(feature = "gpu")]
use llm_core::kernels::gemm::Precision;
use llm_core::train::{Trainer, Work};
use llm_core::{TokenDataset, message};
use std::fmt;
use std::str::FromStr;

/// The device that is to compute the steps of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Device {
    /// The CPU.
    #[default]
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

impl Device {
    /// Refuses a GPU in a program that was built without GPUs.
    ///
    /// # Errors
    /// [`RunError::Usage`].
    pub fn check(&self) -> Result<()> {
        match self {
            Device::Gpu(_) if !cfg!(feature = "gpu") => Err(without_gpus()),
            _ => Ok(()),
        }
    }
}

fn without_gpus() -> RunError {
    RunError::Usage(message!(
        "{device} gpu: this program was built without GPUs; cargo's feature gpu makes one that has them"
    ))
}

/// A GPU with a run's weights on it.
pub struct OnGpu {
    /// The GPU as a [`Work`].
    pub work: Box<dyn Work>,
    /// Adapter, interface and driver.
    pub name: String,
    /// Whether this adapter is a software renderer on the CPU.
    pub is_software: bool,
    /// Whether products in f16 are asked for, and no matrix units of the GPU can be used for them.
    pub emulates: bool,
    /// Kernels that a step calls.
    pub kernels: usize,
    /// Bytes of GPU memory that a step needs.
    pub bytes: u64,
    /// The first loss on the CPU and on the GPU, in nats per token.
    pub losses: [f32; 2],
}

impl fmt::Debug for OnGpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnGpu").field("name", &self.name).finish_non_exhaustive()
    }
}

impl OnGpu {
    /// What is worth saying about the GPU before the first step.
    pub fn notes(&self) -> Vec<Note> {
        let OnGpu { ref name, is_software, emulates, kernels, bytes, losses, .. } = *self;
        let software = is_software.then_some(Note::SoftwareRenderer);
        let emulates = emulates.then_some(Note::NoMatrixUnits);
        let found = Note::OnGpu { name: name.clone(), kernels, bytes, losses };
        [Some(found), software, emulates].into_iter().flatten().collect()
    }
}

/// The GPU that is asked for, with this run on it; `None` for the CPU, and without data.
///
/// # Errors
/// [`RunError::Usage`] in a program that was built without GPUs, or for a model that has no kernels;
/// [`RunError::Unavailable`] where there is no such GPU; what the GPU itself says.
pub fn opened(device: &Device, run: &Trainer, on: Option<&TokenDataset>) -> Result<Option<OnGpu>> {
    match (device, on) {
        (Device::Gpu(name), Some(data)) => open(name.as_deref(), run, data).map(Some),
        _ => Ok(None),
    }
}

#[cfg(not(feature = "gpu"))]
fn open(_: Option<&str>, _: &Trainer, _: &TokenDataset) -> Result<OnGpu> {
    Err(without_gpus())
}

#[cfg(feature = "gpu")]
fn open(name: Option<&str>, trainer: &Trainer, data: &TokenDataset) -> Result<OnGpu> {
    use llm_gpu::{Gpu, GpuWork};
    let f16 = trainer.recipe.matmul == Precision::F16;
    let open = if f16 { Gpu::open_with_units } else { Gpu::open };
    let work = open(name).and_then(|gpu| GpuWork::new(gpu, trainer, data)).map_err(refused)?;
    let (name, is_software) = (work.gpu.name().to_string(), work.gpu.is_a_processor());
    let emulates = f16 && work.gpu.units().is_none();
    let (kernels, bytes, losses) = (work.calls(), work.bytes(), work.losses);
    Ok(OnGpu { work: Box::new(work), name, is_software, emulates, kernels, bytes, losses })
}

#[cfg(feature = "gpu")]
fn refused(e: llm_gpu::GpuError) -> RunError {
    use llm_core::Error;
    use llm_gpu::GpuError as Gpu;
    let why = message!("{device} gpu: {}", e.message());
    match e {
        Gpu::NoAdapter { .. } => RunError::Unavailable(why),
        Gpu::Memory { .. } => RunError::Memory(Error::Device(why), message!("{batch} or {seq}")),
        Gpu::NoKernels { .. } | Gpu::NoOptimizer { .. } | Gpu::List(_) => RunError::Usage(why),
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
