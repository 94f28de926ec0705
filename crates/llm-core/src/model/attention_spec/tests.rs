//! What does not fit a model, and what is saved.

use super::*;
use crate::model::RotaryScaling;

#[test]
fn what_does_not_fit_is_named() {
    let config = Config::new(256, 8, 12, 2);
    let plain = AttentionSpec::new("modern", 4);
    let rotary = |theta, width| Some(Rotary { width, ..Rotary::new(theta) });
    let plain = || plain.clone();
    for (spec, field) in [
        (AttentionSpec { n_heads: 0, ..plain() }, "heads"),
        (AttentionSpec { n_heads: 5, ..plain() }, "heads"),
        (AttentionSpec { kv_heads: Some(0), ..plain() }, "kv_heads"),
        (AttentionSpec { kv_heads: Some(3), ..plain() }, "kv_heads"),
        (AttentionSpec { head_dim: Some(0), ..plain() }, "head_dim"),
        (AttentionSpec { head_dim: Some(usize::MAX), ..plain() }, "head_dim"),
        (AttentionSpec { rotary: rotary(1e4, None), ..plain() }, "head_dim"), // D = 3
        (AttentionSpec { rotary: rotary(1e4, Some(4)), ..plain() }, "rotary_dim"),
        (AttentionSpec { rotary: rotary(1.0, Some(2)), ..plain() }, "rope_theta"),
        (AttentionSpec { window: Some(0), ..plain() }, "window"),
        (AttentionSpec { soft_cap: Some(0.0), ..plain() }, "soft_cap"),
        (AttentionSpec { soft_cap: Some(-50.0), ..plain() }, "soft_cap"),
        (AttentionSpec { soft_cap: Some(f64::NAN), ..plain() }, "soft_cap"),
        (AttentionSpec { soft_cap: Some(1e39), ..plain() }, "soft_cap"), // of which f32 makes ∞
        (AttentionSpec { soft_cap: Some(1e-60), ..plain() }, "soft_cap"), // of which f32 makes 0
        (AttentionSpec { head_mask: vec![true; 4], ..plain() }, "head_mask"),
    ] {
        let refused = spec.check(&config).unwrap_err();
        assert!(matches!(refused, Error::Config { field: f, .. } if f == field), "{refused}");
    }
    let fits =
        AttentionSpec { head_dim: Some(5), n_heads: 5, head_mask: vec![true; 10], ..plain() };
    fits.check(&config).unwrap();
}

fn everything() -> AttentionSpec {
    let scaling = RotaryScaling { factor: 8.0, low: 1.0, high: 4.0, original: 8192 };
    let mut other = Settings::default();
    other.insert("sinks", Value::Whole(4)).unwrap();
    AttentionSpec {
        kv_heads: Some(2),
        head_dim: Some(8),
        rotary: Some(Rotary { theta: 500.0, width: Some(4), scaling: Some(scaling) }),
        window: Some(5),
        soft_cap: Some(30.0),
        qk_norm: true,
        biases: [true, false],
        head_mask: vec![true; 6],
        other,
        ..AttentionSpec::new("own", 6)
    }
}

#[test]
fn a_description_comes_back_by_its_keys() {
    let plain = AttentionSpec::new("multi-head", 4);
    assert!(plain.settings().unwrap().is_empty());
    let alone = |spec: &AttentionSpec| AttentionSpec {
        head_mask: spec.head_mask.clone(),
        ..AttentionSpec::new(spec.name.as_str(), spec.n_heads)
    };
    for spec in [plain, everything()] {
        let again = alone(&spec).with_settings(spec.settings().unwrap()).unwrap();
        assert_eq!(again, spec);
    }
    assert_eq!(everything().settings().unwrap().len(), 13);
}

#[test]
fn invalid_keys_are_refused() {
    let of = |key: &str, value| {
        let mut settings = Settings::default();
        settings.insert(key, value).unwrap();
        AttentionSpec::new("own", 4).with_settings(settings)
    };
    for (key, value, needle) in [
        ("window", Value::Bool(true), "'window' is true"),
        ("qk_norm", Value::Whole(1), "'qk_norm' is 1"),
        ("rotary.width", Value::Whole(8), "without 'rotary.theta'"),
        ("rotary.scaling.low", Value::Double(1.0), "is missing"),
    ] {
        let refused = of(key, value).unwrap_err().to_string();
        assert!(refused.contains(needle), "{refused}");
    }
    let mut twice = everything();
    twice.other.insert("window", Value::Whole(9)).unwrap();
    assert!(twice.settings().unwrap_err().to_string().contains("is a field"));
    let endless = Rotary::new(f64::INFINITY);
    assert!(AttentionSpec { rotary: Some(endless), ..everything() }.settings().is_err());
}
