//! The device that computes the steps: the CPU, or a GPU.

#[cfg(feature = "gpu")]
use crate::error::usage;
use crate::error::{Result, RunError};
use crate::note::Note;
#[cfg(feature = "gpu")]
use llm_core::base::Message;
use llm_core::base::escape::clipped;
use llm_core::kernels::gemm::Precision;
use llm_core::train::{RunPlan, Trainer, Work};
use llm_core::{TinyGPT, TokenDataset, TokenId, message};
use serde::Serialize;
use std::fmt;
use std::str::FromStr;
use std::time::Instant;

/// The device that is to compute the steps of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Device {
    /// The CPU.
    #[default]
    Cpu,
    /// A GPU.
    Gpu(Which),
    /// None: the GPUs are to be listed.
    List,
}

/// One of the GPUs that there are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Which {
    /// By its number, from 0: the first one stands for `gpu` too.
    Number(usize),
    /// By its number among those of NVIDIA's.
    Nvidia(usize),
    /// A Mac's.
    Metal,
    /// The first with this in its name, its interface or its driver's name.
    Named(String),
}

/// `cpu`, `gpu`, `gpu:NUMBER`, `gpu:NAME`, `list`; PyTorch's `cuda`, `cuda:NUMBER` and `mps`.
impl FromStr for Device {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Device, String> {
        let (kind, of) = text.split_once(':').map_or((text, None), |(kind, of)| (kind, Some(of)));
        let is_number = |of: &str| of.bytes().all(|digit| digit.is_ascii_digit());
        let number = of.map_or(Some(0), |of| of.parse().ok().filter(|_| is_number(of)));
        match (kind, of, number) {
            ("cpu", None, _) => Ok(Device::Cpu),
            ("list", None, _) => Ok(Device::List),
            ("mps", _, Some(0)) => Ok(Device::Gpu(Which::Metal)),
            ("gpu", _, Some(n)) => Ok(Device::Gpu(Which::Number(n))),
            ("cuda", _, Some(n)) => Ok(Device::Gpu(Which::Nvidia(n))),
            ("gpu", Some(of), _) if !is_number(of) => Ok(Device::Gpu(Which::Named(of.into()))),
            _ => Err(format!("'{}' is no device; examples: cpu, gpu, gpu:1, list", clipped(text))),
        }
    }
}

/// As it is typed.
impl fmt::Display for Which {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Which::Number(n) => write!(f, "gpu:{n}"),
            Which::Nvidia(n) => write!(f, "cuda:{n}"),
            Which::Metal => write!(f, "mps"),
            Which::Named(name) => write!(f, "gpu:{name}"),
        }
    }
}

/// A GPU that a driver of this machine offers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct AdapterInfo {
    /// Number, from 0: those on a card of their own come first, a software renderer last.
    pub number: usize,
    /// Number among those of NVIDIA's, if it is one.
    pub cuda: Option<usize>,
    /// The adapter's name.
    pub name: String,
    /// Vulkan, Metal or DX12, in small letters.
    pub interface: &'static str,
    /// The driver's name.
    pub driver: String,
    /// The driver's version.
    pub version: String,
    /// Place on the bus, which tells equal cards apart; empty where it is not told.
    pub bus: String,
    /// Bytes of its memory, where that is told.
    pub memory: Option<u64>,
    /// Rows of its matrix units, where some can be used for products in f16.
    pub units: Option<usize>,
    /// Whether it is a software renderer on the CPU.
    pub is_software: bool,
}

impl AdapterInfo {
    /// How it is called on a command line, and what it is.
    pub fn label(&self) -> String {
        let AdapterInfo { number, name, interface, version, .. } = self;
        format!("gpu:{number} {name} ({interface}, {version})")
    }
}

impl Which {
    /// The place of this one among all.
    pub fn among(&self, all: &[AdapterInfo]) -> Option<usize> {
        all.iter().position(|of| match self {
            Which::Number(n) => of.number == *n,
            Which::Nvidia(n) => of.cuda == Some(*n),
            Which::Metal => of.interface == "metal",
            // Not in the driver's version, whose digits are no name.
            Which::Named(part) => [&of.name, of.interface, &of.driver]
                .iter()
                .any(|name| name.to_lowercase().contains(&part.to_lowercase())),
        })
    }
}

impl Device {
    /// Refuses what no run is computed on: a list, and a GPU in a program that was built without GPUs.
    ///
    /// # Errors
    /// [`RunError::Usage`].
    pub fn check(&self) -> Result<()> {
        match self {
            Device::List => {
                Err(RunError::Usage(message!("{device} list says which GPUs there are")))
            }
            Device::Gpu(_) if !cfg!(feature = "gpu") => Err(without_gpus()),
            _ => Ok(()),
        }
    }
}

/// The GPUs that drivers of this machine offer.
///
/// # Errors
/// [`RunError::Usage`] in a program that was built without GPUs.
#[cfg(feature = "gpu")]
pub fn adapters() -> Result<Vec<AdapterInfo>> {
    Ok(described(&llm_gpu::Adapter::all()))
}

/// The GPUs that drivers of this machine offer.
///
/// # Errors
/// [`RunError::Usage`] in a program that was built without GPUs.
#[cfg(not(feature = "gpu"))]
pub fn adapters() -> Result<Vec<AdapterInfo>> {
    Err(without_gpus())
}

#[cfg(feature = "gpu")]
fn described(all: &[llm_gpu::Adapter]) -> Vec<AdapterInfo> {
    let mut cuda = 0..;
    let one = |(number, of): (usize, &llm_gpu::Adapter)| {
        let [driver, version] = of.driver().map(String::from);
        AdapterInfo {
            number,
            cuda: of.is_nvidia().then(|| cuda.next()).flatten(),
            name: of.name().into(),
            interface: of.interface(),
            driver,
            version,
            bus: of.bus().into(),
            memory: of.memory(),
            units: of.units().map(|units| units.edge),
            is_software: of.is_a_processor(),
        }
    };
    all.iter().enumerate().map(one).collect()
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
    opened_by([0, 1], device, run, on)
}

/// [`opened`] by one of several processes, its rank and how many they are: a number stands for the card of rank 0, and those of
/// the others follow it, from the first one again where there are no more.
///
/// # Errors
/// As [`opened`].
pub fn opened_by(
    of: [usize; 2],
    device: &Device,
    run: &Trainer,
    on: Option<&TokenDataset>,
) -> Result<Option<OnGpu>> {
    match (device, on) {
        (Device::Gpu(which), Some(data)) => open(of, which, run, data).map(Some),
        _ => Ok(None),
    }
}

/// Steps that a run still has, from which on it is a long one.
const LONG: u64 = 1000;
/// Steps that are timed of each format.
const TIMED: u64 = 8;

/// Times the first steps of a long run on a GPU whose products are to be in f16, in f16 and in f32; where f32 is faster, the
/// run's are in f32. Nothing of these steps is kept.
///
/// # Errors
/// As [`opened`]; what a step says.
pub fn in_the_faster(
    device: &Device,
    run: &mut Trainer,
    on: Option<&TokenDataset>,
) -> Result<Option<Note>> {
    let left = run.recipe.total_steps.saturating_sub(run.step);
    let is_asked = run.recipe.matmul == Precision::F16 && matches!(device, Device::Gpu(_));
    let Some(data) = on.filter(|_| is_asked && left >= LONG) else { return Ok(None) };
    let mut seconds = [0.0; 2];
    for (matmul, seconds) in [Precision::F16, Precision::F32].into_iter().zip(&mut seconds) {
        let mut run = run.clone();
        run.recipe.matmul = matmul;
        let Some(mut gpu) = opened(device, &run, on)? else { continue };
        let mut steps = |n| run.run(data, &RunPlan::new(n), gpu.work.as_mut(), &mut ());
        steps(1)?;
        let begin = Instant::now();
        steps(TIMED)?;
        *seconds = begin.elapsed().as_secs_f64() / TIMED as f64;
    }
    let [f16, f32] = seconds;
    if f32 < f16 {
        run.recipe.matmul = Precision::F32;
    }
    Ok(Some(Note::Faster { f16, f32 }))
}

#[cfg(not(feature = "gpu"))]
fn open(_: [usize; 2], _: &Which, _: &Trainer, _: &TokenDataset) -> Result<OnGpu> {
    Err(without_gpus())
}

#[cfg(feature = "gpu")]
fn open(
    [rank, ranks]: [usize; 2],
    which: &Which,
    trainer: &Trainer,
    data: &TokenDataset,
) -> Result<OnGpu> {
    if trainer.recipe.matmul == Precision::Bf16 {
        return usage(message!("{matmul} bf16 is for the processor; on a GPU it is {matmul} f16"));
    }
    let f16 = trainer.recipe.matmul == Precision::F16;
    let gpu = found(which, rank, f16)?;
    let work = llm_gpu::GpuWork::among(ranks as u32, gpu, trainer, data).map_err(refused)?;
    let (name, is_software) = (work.gpu.name().to_string(), work.gpu.is_a_processor());
    let emulates = f16 && work.gpu.units().is_none();
    let (kernels, bytes, losses) = (work.calls(), work.bytes(), work.losses);
    Ok(OnGpu { work: Box::new(work), name, is_software, emulates, kernels, bytes, losses })
}

/// The GPU that is asked for.
#[cfg(feature = "gpu")]
fn found(which: &Which, rank: usize, with_units: bool) -> Result<llm_gpu::Gpu> {
    let all = llm_gpu::Adapter::all();
    let infos = described(&all);
    let first = which.among(&infos);
    // Of equal cards each process has one.
    let found = first.and_then(|at| {
        let alike = infos.iter().filter(|of| of.name == infos[at].name);
        let all: Vec<usize> = alike.map(|of| of.number).collect();
        let place = all.iter().position(|number| *number == at)?;
        all.get((place + rank) % all.len()).copied()
    });
    let found = found.and_then(|at| all.get(at));
    found.ok_or_else(|| not_there(which, &infos))?.open(with_units).map_err(refused)
}

/// Reads a text, of which it knows the first n tokens, and gives the scores of what follows.
pub type Reading = Box<dyn FnMut(&[TokenId], usize) -> llm_core::Result<Vec<f32>> + Send>;

/// A model on the GPU that is asked for, to be measured there; `None` for the CPU.
///
/// # Errors
/// As [`opened`].
pub fn measuring(device: &Device, model: &TinyGPT) -> Result<Option<Box<dyn Work>>> {
    device.check()?;
    #[cfg(feature = "gpu")]
    if let Device::Gpu(which) = device {
        return Ok(Some(Box::new(there(which, model)?)));
    }
    let _ = model;
    Ok(None)
}

/// A model on the GPU that is asked for, to write there; `None` for the CPU.
///
/// # Errors
/// As [`opened`].
pub fn reading(device: &Device, model: &TinyGPT) -> Result<Option<Reading>> {
    device.check()?;
    #[cfg(feature = "gpu")]
    if let Device::Gpu(which) = device {
        let mut reader = there(which, model)?.reader(model).map_err(refused)?;
        return Ok(Some(Box::new(move |text, known| Ok(reader.read(text, known)?))));
    }
    let _ = model;
    Ok(None)
}

#[cfg(feature = "gpu")]
fn there(which: &Which, model: &TinyGPT) -> Result<llm_gpu::GpuModel> {
    llm_gpu::GpuModel::new(found(which, 0, false)?, model).map_err(refused)
}

#[cfg(feature = "gpu")]
fn not_there(which: &Which, all: &[AdapterInfo]) -> RunError {
    let there: Vec<_> = all.iter().map(AdapterInfo::label).collect();
    if *which == Which::Metal && !there.is_empty() {
        let there = Message::list(there);
        return RunError::Unavailable(message!("{device} mps is a Mac's GPU; adapters: {}", there));
    }
    let asked = (*which != Which::Number(0)).then(|| which.to_string());
    refused(llm_gpu::GpuError::NoAdapter { asked, there })
}

#[cfg(feature = "gpu")]
fn refused(e: llm_gpu::GpuError) -> RunError {
    use llm_core::Error;
    use llm_gpu::GpuError as Gpu;
    let why = message!("{device} gpu: {}", e.message());
    let size = match e {
        Gpu::Memory { of_weights: true, .. } => message!("{dmodel} or {layers}"),
        _ => message!("{batch} or {seq}"),
    };
    match e {
        Gpu::NoAdapter { .. } | Gpu::Limit { .. } => RunError::Unavailable(why),
        Gpu::Memory { .. } => RunError::Memory(Error::Device(why), size),
        Gpu::NoKernels { .. } | Gpu::NoOptimizer { .. } | Gpu::List(_) => RunError::Usage(why),
        _ => RunError::from(Error::Device(why)),
    }
}

#[cfg(test)]
mod tests {
    use super::{AdapterInfo, Device, Which};

    #[test]
    fn what_people_type() {
        let gpu = |which| Ok(Device::Gpu(which));
        for (text, want) in [
            ("cpu", Ok(Device::Cpu)),
            ("list", Ok(Device::List)),
            ("gpu", gpu(Which::Number(0))),
            ("gpu:1", gpu(Which::Number(1))),
            ("gpu:RTX 4090", gpu(Which::Named("RTX 4090".into()))),
            ("cuda", gpu(Which::Nvidia(0))),
            ("cuda:2", gpu(Which::Nvidia(2))),
            ("mps", gpu(Which::Metal)),
        ] {
            assert_eq!(text.parse(), want, "{text}");
        }
        let none =
            ["", "gpu:", "GPU", "cpu:0", "tpu", "cuda:x", "cuda:+1", "cuda:", "mps:1", "list:"];
        for text in none.into_iter().chain(["gpu:99999999999999999999"]) {
            assert!(text.parse::<Device>().is_err(), "{text}");
        }
    }

    /// Two equal cards of NVIDIA's behind one of AMD's, and a processor whose version has digits.
    #[test]
    fn equal_cards_are_told_apart_and_versions_are_no_names() {
        let card = |number, cuda, name: &str, driver: &str| AdapterInfo {
            number,
            cuda,
            name: name.into(),
            driver: driver.into(),
            version: "Mesa 22.3.6 (LLVM 15.0.7)".into(),
            interface: "vulkan",
            ..AdapterInfo::default()
        };
        let all = [
            card(0, None, "AMD Radeon RX 7600", "radv"),
            card(1, Some(0), "NVIDIA GeForce RTX 4090", "NVIDIA"),
            card(2, Some(1), "NVIDIA GeForce RTX 4090", "NVIDIA"),
            card(3, None, "llvmpipe", "llvmpipe"),
        ];
        for (text, place) in [
            ("gpu", Some(0)),
            ("gpu:2", Some(2)),
            ("gpu:4", None),
            ("cuda", Some(1)),
            ("cuda:1", Some(2)),
            ("cuda:2", None),
            ("gpu:nvidia", Some(1)),
            ("gpu:rtx 4090", Some(1)),
            ("gpu:RADV", Some(0)),
            ("gpu:15.0", None),
            ("gpu:22.3.6", None),
            ("mps", None),
        ] {
            let Ok(Device::Gpu(which)) = text.parse() else { panic!("{text}") };
            assert_eq!(which.among(&all), place, "{text}");
        }
        let mac = [AdapterInfo { interface: "metal", ..AdapterInfo::default() }];
        assert_eq!(Which::Metal.among(&mac), Some(0));
    }
}
