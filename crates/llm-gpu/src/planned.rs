//! A step that is made and not yet on a device.

use crate::error::Result;
use crate::layout::Layout;
use crate::maker::Fixed;
use crate::plan::{Buffers, Plan};
use crate::walk::plan;
use llm_core::listing::Listed;
use llm_core::{Hyperparameters, Tensor};

/// A step that is made and not yet on a device: an op without kernels was refused before this, and
/// what it will need is known.
#[derive(Debug)]
pub struct Planned {
    pub(crate) plan: Plan,
    pub(crate) buffers: Buffers,
    pub(crate) layout: Layout,
    pub(crate) fixed: Fixed,
    /// B and T.
    pub(crate) batch: [usize; 2],
    pub(crate) hyper: Hyperparameters,
}

impl Planned {
    /// From the list of a loss and the parameters of its model, by name.
    ///
    /// ```
    /// use llm_core::listing::listing;
    /// use llm_core::model::{Config, Mode, TinyGPT};
    /// use llm_core::{Hyperparameters, TokenDataset};
    /// let model = TinyGPT::new(Config::new(256, 8, 16, 1), 1).unwrap();
    /// let batch = TokenDataset::from_bytes(b"once upon a time".to_vec()).batch(1, 0, [2, 8]).unwrap();
    /// let (_, list) = listing(|| model.loss(&batch, Mode::Training).unwrap());
    /// let parameters: Vec<_> = model.parameters().collect();
    /// let planned = llm_gpu::Planned::new(&list, &parameters, Hyperparameters::default()).unwrap();
    /// assert!(planned.bytes() > 0);
    /// ```
    ///
    /// # Errors
    /// [`GpuError::NoKernels`] for the first op that has none; [`GpuError::List`] when the list is not
    /// that of a loss over a batch of tokens, or a parameter takes no part in it.
    pub fn new(
        list: &[Listed],
        parameters: &[(String, &Tensor)],
        hyper: Hyperparameters,
    ) -> Result<Planned> {
        let layout = Layout::new(parameters, &hyper)?;
        let (plan, fixed, batch) = plan(list, &layout)?;
        let buffers = plan.buffers();
        Ok(Planned { plan, buffers, layout, fixed, batch, hyper })
    }

    /// Memory that it will need on the device.
    pub fn bytes(&self) -> u64 {
        self.buffers.bytes()
    }

    /// Calls of a gradient and an update.
    pub fn calls(&self) -> usize {
        self.plan.calls.len()
    }

    /// The calls and rooms themselves.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }
}
