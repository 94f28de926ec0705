//! The choices that a model's settings offer.

use serde::{Deserialize, Serialize};

/// An enum with each choice's name and row next to it; `ALL`, `name` and `row` follow.
macro_rules! choices {
    ($(#[$of:meta])* pub enum $Type:ident of $Row:ident {
        $($(#[$meta:meta])* $Choice:ident = $name:literal $row:tt,)+
    }) => {
        $(#[$of])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        pub enum $Type {
            $($(#[$meta])* #[serde(rename = $name)] $Choice,)+
        }

        impl $Type {
            /// All of them.
            pub const ALL: &'static [$Type] = &[$($Type::$Choice),+];

            /// The name in settings and files.
            pub fn name(self) -> &'static str {
                match self {
                    $($Type::$Choice => $name,)+
                }
            }

            /// The description.
            pub fn row(self) -> &'static $Row {
                match self {
                    $($Type::$Choice => {
                        const ROW: $Row = $Row $row;
                        &ROW
                    })+
                }
            }
        }
    };
}
pub(super) use choices;

/// How the weights are drawn at the start. Biases are always 0, gains 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Init {
    /// Normal with standard deviation 1/√fan_in: the baseline.
    #[default]
    FanIn,
    /// GPT-2's: normal with 0.02, and 0.02/√(2L) for the two projections into the residual stream.
    Gpt2,
}

/// Which form of GELU an [`Mlp::Gelu`] has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Activation {
    /// GELU in its tanh form, as in GPT-2: the baseline.
    #[default]
    GeluTanh,
    /// GELU as it is defined, with the error function.
    Gelu,
}

/// How a model knows the order of its tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Positions {
    /// A learned row for each position, `wpe`, is added to the token's: the baseline.
    #[default]
    Learned,
    /// No positions are given, and there is no `wpe`: what comes first shows in what causal
    /// attention may read.
    None,
    /// The attention turns queries and keys by their positions, and there is no `wpe`. Only for an
    /// attention that does so, see [`Attention::is_rotary`](super::Attention::is_rotary).
    Rotary,
}
