//! What the variants of an error say.

/// The sentence of each variant of an error, as its `message()` and its [`Display`](std::fmt::Display):
/// `Variant { a, b } = "{} of {}"` is a [`message!`](crate::message) whose places are filled by the
/// fields that are named, in their order; behind `=>` stands what is another [`Message`](crate::base::Message).
///
/// ```
/// use llm_core::says;
///
/// pub enum Lost {
///     Part { name: String, of: usize },
///     All,
/// }
///
/// says! { Lost {
///     Part { name, of } = "{} is lost, of {}",
///     All = "all is lost",
/// } }
///
/// assert_eq!(Lost::Part { name: "one".into(), of: 3 }.to_string(), "one is lost, of 3");
/// assert_eq!(Lost::All.message().template(), "all is lost");
/// ```
#[macro_export]
macro_rules! says {
    ($error:ident {
        $($variant:ident $({ $($field:ident),+ })? $(($value:ident $(, $second:ident)?))?
            $(= $template:literal)? $(=> $message:expr)?),+ $(,)?
    }) => {
        impl $error {
            /// The sentence for a person.
            pub fn message(&self) -> $crate::base::Message {
                match self {
                    $($error::$variant { $($($field,)+)? $(0: $value, $(1: $second,)?)? .. } => {
                        $crate::says!(
                            @ [$($template)?] [$($message)?] $($($field)+)? $($value $($second)?)?
                        )
                    })+
                }
            }
        }

        impl std::fmt::Display for $error {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.message().fmt(f)
            }
        }
    };
    (@ [$template:literal] [] $($value:ident)*) => {
        $crate::message!($template $(, $value)*)
    };
    (@ [] [$message:expr] $($value:ident)*) => {
        $message
    };
}
