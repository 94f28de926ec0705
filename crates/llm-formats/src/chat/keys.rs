//! Keys beside what is said: those that change what is learned are read, or refused by name.

use super::json::{Fields, Part};
use llm_core::base::Message;
use llm_core::message;
use serde_json::Value;

/// Keys that say whether an answer is learned, as other programs have it: 0 and `false` mean that it
/// is not. The first may also say how much it counts.
const LEARNED: &str = "weight|train|training|trainable|learn|loss|loss_mask";

const WEIGHT: &str = "weight";

/// Keys of a line and of a message with what cannot be learned here.
const REFUSED: &str = "\
    tools|tool_calls|functions|function_call|image|images|audio|audios|video|videos|documents|history|\
    chosen|rejected|rejected_response|rejected_messages|chat_template_kwargs|train_detail|\
    training_detail|loss_scale|label";

/// Whether a key of a line is one of these.
pub(super) fn is_known(key: &str) -> bool {
    [LEARNED, REFUSED].into_iter().flat_map(|keys| keys.split('|')).any(|known| known == key)
}

/// Highest weight of an answer.
const MOST: f64 = 100.0;

/// Takes out of a line or a message what says how much its answers count, 0 for those that are not learned; nothing
/// where nothing does. What would be lost is refused.
///
/// # Errors
/// The key that cannot be learned with, or that says something else.
pub(super) fn learned(of: &mut Fields) -> Result<Option<f32>, Message> {
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
            Part::Scalar(Value::Bool(is)) => Some(f32::from(u8::from(*is))),
            Part::Scalar(Value::Number(n)) => {
                let fits = |x: &f64| match key {
                    WEIGHT => (0.0..=MOST).contains(x),
                    _ => [0.0, 1.0].contains(x),
                };
                n.as_f64().filter(fits).map(|x| x as f32)
            }
            _ => None,
        };
        let is = is.ok_or_else(|| match key {
            WEIGHT => message!("its {} is {}: only 0 to {} are read", key, shown(&part), MOST),
            _ => message!("its {} is {}: only 0, 1, true and false are read", key, shown(&part)),
        })?;
        all = Some(all.unwrap_or(1.0) * is);
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
