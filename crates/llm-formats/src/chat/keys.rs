//! Keys beside what is said: those that change what is learned are read, or refused by name.

use super::json::{Fields, Part};
use llm_core::base::Message;
use llm_core::message;
use serde_json::Value;

/// Keys that say whether an answer is learned, as other programs have it: 0 and `false` mean that it
/// is not.
const LEARNED: &str = "weight|train|training|trainable|learn|loss|loss_mask";

/// Keys of a line and of a message with what cannot be learned here.
const REFUSED: &str = "\
    tools|tool_calls|functions|function_call|image|images|audio|audios|video|videos|documents|history|\
    chosen|rejected|rejected_response|rejected_messages|chat_template_kwargs|train_detail|\
    training_detail|loss_scale|label";

/// Whether a key of a line is one of these.
pub(super) fn is_known(key: &str) -> bool {
    [LEARNED, REFUSED].into_iter().flat_map(|keys| keys.split('|')).any(|known| known == key)
}

/// Takes out of a line or a message what says whether its answers are learned; nothing where nothing
/// does. What would be lost is refused.
///
/// # Errors
/// The key that cannot be learned with, or that says something else.
pub(super) fn learned(of: &mut Fields) -> Result<Option<bool>, Message> {
    if let Some(key) = of.double() {
        let key = key.escape_debug().to_string();
        return Err(message!("it has the key '{}' twice", key));
    }
    for key in REFUSED.split('|') {
        match of.take(key) {
            None => {}
            // What is judged good is learned.
            Some(Part::Scalar(Value::Bool(true))) if key == "label" => {}
            Some(Part::Scalar(value)) if key == "label" && value != false => {
                of.passed.push(key.into());
            }
            Some(Part::Text(_)) if key == "label" => of.passed.push(key.into()),
            Some(part) if part.is_nothing() => {}
            Some(part) => {
                let kind = kind_of(&part);
                return Err(message!("it has {} ({}), which cannot be learned here", key, kind));
            }
        }
    }
    let mut all = None;
    for key in LEARNED.split('|') {
        let Some(part) = of.take(key) else { continue };
        let is = match &part {
            Part::Scalar(Value::Bool(is)) => Some(*is),
            Part::Scalar(Value::Number(n)) if n.as_f64() == Some(0.0) => Some(false),
            Part::Scalar(Value::Number(n)) if n.as_f64() == Some(1.0) => Some(true),
            _ => None,
        };
        let is = is.ok_or_else(|| {
            message!("its {} is {}: only 0, 1, true and false are read", key, shown(&part))
        })?;
        all = Some(all.unwrap_or(true) && is);
    }
    Ok(all)
}

fn shown(part: &Part) -> Message {
    match part {
        Part::Scalar(Value::Number(n)) => Message::from(n.to_string()),
        other => kind_of(other),
    }
}

pub(super) fn kind_of(part: &Part) -> Message {
    match part {
        Part::Scalar(Value::Null) => message!("null"),
        Part::Scalar(Value::Bool(_)) => message!("true or false"),
        Part::Scalar(Value::Number(_)) => message!("a number"),
        Part::Text(_) | Part::Scalar(_) => message!("a text"),
        Part::List(_) | Part::Deep { is_list: true, .. } => message!("a list"),
        Part::Object(_) | Part::Deep { .. } => message!("an object"),
    }
}
