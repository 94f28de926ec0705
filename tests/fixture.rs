//! Reading `fixtures/*.safetensors`, made by `fixtures/generate.py` with PyTorch in float64.

use llm_core::{Tensor, TokenId};
use safetensors::{Dtype, SafeTensors};
use std::collections::HashMap;
use std::fmt;

/// One file, all of it.
pub struct Fixture {
    arrays: HashMap<String, (Vec<usize>, Vec<f64>)>,
    meta: HashMap<String, String>,
}

impl fmt::Debug for Fixture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fixture").field("arrays", &self.arrays.len()).finish_non_exhaustive()
    }
}

impl Fixture {
    /// Reads `fixtures/{name}.safetensors`.
    ///
    /// # Panics
    /// When it is missing or not of that format.
    pub fn read(name: &str) -> Fixture {
        let path = crate::workspace().join("tests/fixtures").join(format!("{name}.safetensors"));
        let bytes = std::fs::read(path).unwrap();
        let file = SafeTensors::deserialize(&bytes).unwrap();
        let (_, metadata) = SafeTensors::read_metadata(&bytes).unwrap();
        let number = |dtype: Dtype, b: &[u8]| match dtype {
            Dtype::F64 => f64::from_le_bytes(b.try_into().unwrap()),
            Dtype::I64 => i64::from_le_bytes(b.try_into().unwrap()) as f64,
            other => panic!("unexpected {other:?}"),
        };
        let arrays = file
            .tensors()
            .into_iter()
            .map(|(name, view)| {
                let values = view.data().chunks_exact(8).map(|b| number(view.dtype(), b)).collect();
                (name, (view.shape().to_vec(), values))
            })
            .collect();
        Fixture { arrays, meta: metadata.metadata().clone().unwrap_or_default() }
    }

    /// An array in float64.
    ///
    /// # Panics
    /// When no array has that name.
    pub fn values(&self, name: &str) -> &[f64] {
        &self.arrays.get(name).unwrap_or_else(|| panic!("no array {name}")).1
    }

    /// Shape of an array.
    pub fn shape(&self, name: &str) -> &[usize] {
        &self.arrays[name].0
    }

    /// Names that begin with `prefix`, without it.
    pub fn names(&self, prefix: &str) -> Vec<String> {
        let mut names: Vec<_> =
            self.arrays.keys().filter_map(|n| n.strip_prefix(prefix)).map(str::to_string).collect();
        names.sort();
        names
    }

    /// An input, as a parameter tensor; the file's inputs are exactly representable in f32.
    pub fn input(&self, name: &str) -> Tensor {
        let constant = self.constant(name);
        Tensor::parameter(constant.view().to_owned())
    }

    /// An input that wants no gradient.
    pub fn constant(&self, name: &str) -> Tensor {
        let data = self.values(name).iter().map(|&x| x as f32).collect();
        Tensor::from_vec(self.shape(name), data).unwrap()
    }

    /// Token numbers.
    pub fn tokens(&self, name: &str) -> Vec<TokenId> {
        self.values(name).iter().map(|&x| x as TokenId).collect()
    }

    /// A number from the file's metadata.
    ///
    /// # Panics
    /// When it is missing or no number.
    pub fn meta(&self, name: &str) -> f64 {
        self.meta[name].parse().unwrap()
    }

    /// Whether there is an array of this name.
    pub fn has(&self, name: &str) -> bool {
        self.arrays.contains_key(name)
    }

    /// [`Fixture::meta`], where there may be none.
    ///
    /// # Panics
    /// When it is no number.
    pub fn meta_if_any(&self, name: &str) -> Option<f64> {
        self.meta.get(name).map(|text| text.parse().unwrap())
    }

    /// Whether there is metadata of this name.
    pub fn has_meta(&self, name: &str) -> bool {
        self.meta.contains_key(name)
    }

    /// A word from the file's metadata.
    pub fn word(&self, name: &str) -> &str {
        &self.meta[name]
    }

    /// A yes-or-no from the file's metadata.
    pub fn flag(&self, name: &str) -> bool {
        self.meta[name] == "true"
    }
}
