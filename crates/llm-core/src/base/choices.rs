//! The names of an enum's choices.

/// `ALL`, the choices in their order, and `name` of a type whose choices are texts in settings,
/// files and variables.
#[doc(hidden)]
#[macro_export]
macro_rules! choices {
    ($Type:ident, $($Choice:ident = $name:literal),+) => {
        impl $Type {
            /// All choices, each at the place of its number.
            pub const ALL: [$Type; [$($name),+].len()] = [$($Type::$Choice),+];

            /// The names of all, for messages.
            pub const NAMES: &'static str = concat!($(" | ", $name),+).split_at(3).1;

            /// The name in settings and files.
            pub const fn name(self) -> &'static str {
                match self { $($Type::$Choice => $name),+ }
            }
        }
    };
}
pub(crate) use choices;
