//! Files with the extension safetensors that are not what they should be, and those that are.

use crate::error::{FormatError, Result};
use crate::imported::Note;
use crate::own_names;
use crate::safetensors::{Contents, Data, Dtype, Named, Values, Wanted, write};
use llm_core::model::{Mlp, Norm, Positions, SingleHead};
use llm_core::tokenizer::{ByteTokenizer, CharTokenizer, IdsTokenizer, Tokenizer};
use llm_core::{Attention, AttentionSpec, Config, TinyGPT};
use serde_json::{Value, json};
use std::sync::Arc;

/// The attention of programs that have one head.
pub(crate) fn one_head(spec: &AttentionSpec) -> llm_core::Result<Arc<dyn Attention>> {
    Ok(Arc::new(SingleHead::from_spec(spec)?))
}

/// What is to be done about an error.
#[derive(Debug, PartialEq)]
pub(crate) enum Mend {
    /// The file.
    Content,
    /// Name of the file, or what may be read.
    Place,
}

/// What is to be done about a file that is named.
pub(crate) fn mend(error: &FormatError) -> Mend {
    match error {
        FormatError::File { error, .. } => match **error {
            FormatError::Io(_) | FormatError::Missing { .. } => Mend::Place,
            FormatError::File { .. } | FormatError::Core(_) => panic!("{error:?}"),
            _ => Mend::Content,
        },
        other => panic!("no file is named: {other:?}"),
    }
}

/// A file with this header and these bytes after it.
pub(crate) fn file(header: &[u8], body: &[u8]) -> Vec<u8> {
    [&(header.len() as u64).to_le_bytes()[..], header, body].concat()
}

fn wanted(name: &str, shape: &[usize]) -> Wanted {
    Wanted::parameter(name.into(), shape.to_vec())
}

/// Reads two tensors, `a [2]` and `b [1, 2]`, and passes over those called `skip..`.
fn read(bytes: &[u8]) -> Result<Vec<(usize, Vec<f32>)>> {
    let mut found = Vec::new();
    let contents = Contents::open(bytes, bytes.len() as u64)?;
    let list = [wanted("a", &[2]), wanted("b", &[1, 2])];
    contents.read(
        &list,
        |name| name.starts_with("skip"),
        |i, values| {
            let Values::Floats(values) = values else { panic!("no floats") };
            found.push((i, values));
            Ok(())
        },
    )?;
    Ok(found)
}

fn why<T>(result: Result<T>) -> String {
    match result {
        Err(FormatError::Io(e)) => panic!("{e:?}"),
        Err(FormatError::Core(e)) => panic!("{e:?}"),
        Err(refused) => refused.to_string(),
        Ok(_) => panic!("accepted"),
    }
}

fn floats(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|x| x.to_le_bytes()).collect()
}

fn entry(dtype: &str, shape: &[usize], start: usize, end: usize) -> Value {
    json!({"dtype": dtype, "shape": shape, "data_offsets": [start, end]})
}

fn good() -> Value {
    json!({
        "a": entry("F32", &[2], 8, 16),
        "b": entry("F32", &[1, 2], 0, 8),
        "skipped": entry("I64", &[], 16, 24),
        "__metadata__": {"x": "y"},
    })
}

fn body() -> Vec<u8> {
    [floats(&[1.0, 2.0, 3.0, 4.0]), vec![0xff; 8]].concat()
}

#[test]
fn tensors_come_in_the_order_of_the_file() {
    let found = read(&file(good().to_string().as_bytes(), &body())).unwrap();
    assert_eq!(found, [(1, vec![1.0, 2.0]), (0, vec![3.0, 4.0])]);
}

#[test]
fn headers_that_cannot_be_are_refused() {
    let with = |name: &str, entry: Value| {
        let mut header = good();
        header[name] = entry;
        header.to_string()
    };
    let long = "x".repeat(5000);
    let axes = vec![1; 9];
    for (header, needle) in [
        ("[]".to_string(), "not a safetensors file"),
        (" {}".into(), "not a safetensors file"),
        ("{".into(), "header"),
        ("{}x".into(), "header"),
        (with("a", json!(3)), "header"),
        (with("a", entry("F99", &[2], 8, 16)), "F99"),
        (with("a", json!({"dtype": "F32", "shape": [2]})), "data_offsets"),
        (with("a", entry("F32", &axes, 8, 16)), "axes"),
        (with("a", entry("F32", &[3], 8, 16)), "header"),
        (with("a", entry("F32", &[2], 12, 20)), "header"),
        (with("a", entry("F32", &[2], 0, 8)), "header"),
        (with("a", entry("F32", &[2], 16, 8)), "header"),
        (with("a", entry("F32", &[usize::MAX, 2], 8, 16)), "header"),
        (with("a", entry("F32", &[1 << 62, 4], 8, 16)), "header"),
        (with(&long, entry("F32", &[2], 8, 16)), "5000 bytes, the limit is 4096"),
        (with("skip more", entry("U8", &[4], 24, 28)), "bytes of tensors"),
        (with("__metadata__", json!({"x": 3})), "header"),
        (with("__metadata__", json!(["x"])), "header"),
        (good().to_string().replacen("\"skipped\"", "\"a\"", 1), "twice"),
        (good().to_string().replacen("\"shape\"", "\"more\":[1,2],\"shape\"", 1), "more"),
    ] {
        let refused = why(read(&file(header.as_bytes(), &body())));
        assert!(refused.contains(needle), "{header}: {refused}");
        assert!(refused.len() < 400 && !refused.contains(char::is_control), "{refused}");
    }
    let names: String = (0..(1 << 16) + 2)
        .map(|i| format!("\"skip{i}\":{{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}},"))
        .collect();
    let many = format!("{{{}", names.trim_end_matches(',')) + "}";
    assert!(why(read(&file(many.as_bytes(), b""))).contains("more than 65536 tensors"));
    let entries: String = (0..(1 << 12) + 1).map(|i| format!("\"{i}\":\"\",")).collect();
    let many = format!("{{\"__metadata__\":{{{}}}}}", entries.trim_end_matches(','));
    assert!(why(read(&file(many.as_bytes(), b""))).contains("more than 4096 entries"));
    assert!(why(read(&file(b"{\xff}", b""))).contains("UTF-8"));
}

#[test]
fn lengths_must_be_those_of_the_file() {
    let good = file(good().to_string().as_bytes(), &body());
    for end in 0..good.len() {
        assert!(matches!(read(&good[..end]), Err(FormatError::Content(_))), "{end}");
    }
    assert!(why(read(&[&good[..], b"x"].concat())).contains("bytes of tensors"));
    for (length, needle) in
        [(1u64 << 40, "its header would"), (u64::MAX, "its header would"), (0, "safetensors")]
    {
        let bytes = [&length.to_le_bytes()[..], &good[8..]].concat();
        assert!(why(read(&bytes)).contains(needle), "{length}");
    }
    // At the limit the header is read, above it is not.
    for (length, needle) in [(16 << 20, "header"), ((16 << 20) + 1, "the limit is")] {
        let refused = why(read(&file(&vec![b'{'; length], b"")));
        assert!(refused.contains(needle), "{refused}");
    }
}

#[test]
fn the_set_of_tensors_must_be_the_expected_one() {
    for (change, needle) in [
        (("\"skipped\"", "\"other\""), "tensor other does not belong"),
        (("\"b\":", "\"skipped2\":"), "tensor b is missing"),
        (
            (
                "\"b\":{\"data_offsets\":[0,8],\"dtype\":\"F32\"",
                "\"b\":{\"data_offsets\":[0,8],\"dtype\":\"I32\"",
            ),
            "tensor b is I32",
        ),
        (("[1,2]", "[2,1]"), "tensor b is [2, 1], this model needs [1, 2]"),
    ] {
        let (from, to) = change;
        let header = good().to_string();
        assert!(header.contains(from), "{header}");
        let refused = why(read(&file(header.replacen(from, to, 1).as_bytes(), &body())));
        assert!(refused.contains(needle), "{refused}");
    }
    let wide = json!({"a": entry("F64", &[2], 0, 16), "b": entry("F32", &[1, 2], 16, 24)});
    let refused = why(read(&file(wide.to_string().as_bytes(), &[0; 24])));
    assert!(refused.contains("F64") && refused.contains("model.float()"), "{refused}");
    for bad in [f32::NAN, f32::INFINITY] {
        let body = [floats(&[1.0, bad, 3.0, 4.0]), vec![0; 8]].concat();
        let refused = why(read(&file(good().to_string().as_bytes(), &body)));
        assert_eq!(refused, "tensor b has a value that is not finite");
    }
}

/// The numbers of both formats of 16 bits, by their definition: sign, exponent, fraction.
fn by_definition(bits: u16, exponent_bits: i32) -> f64 {
    let fraction_bits = 15 - exponent_bits;
    let bias = (1 << (exponent_bits - 1)) - 1;
    let exponent = i32::from(bits & 0x7FFF) >> fraction_bits;
    let fraction = f64::from(bits & ((1 << fraction_bits) - 1)) / f64::from(1 << fraction_bits);
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    match exponent {
        0 => sign * fraction * 2f64.powi(1 - bias),
        e if e == (1 << exponent_bits) - 1 => f64::NAN, // or infinite: not finite
        e => sign * (1.0 + fraction) * 2f64.powi(e - bias),
    }
}

#[test]
fn every_number_of_sixteen_bits_is_read_as_it_is() {
    for (dtype, exponent_bits) in [("F16", 5), ("BF16", 8)] {
        let all: Vec<u16> = (0..=u16::MAX).collect();
        let finite = |&bits: &u16| by_definition(bits, exponent_bits).is_finite();
        let (finite, other): (Vec<u16>, Vec<u16>) = all.into_iter().partition(finite);
        let n = finite.len();
        let read = |numbers: &[u16]| -> Result<Vec<f32>> {
            let bytes: Vec<u8> = numbers.iter().flat_map(|x| x.to_le_bytes()).collect();
            let header = json!({"a": entry(dtype, &[numbers.len()], 0, bytes.len())});
            let bytes = file(header.to_string().as_bytes(), &bytes);
            let mut found = Vec::new();
            let contents = Contents::open(&bytes[..], bytes.len() as u64)?;
            contents.read(
                &[wanted("a", &[numbers.len()])],
                |_| false,
                |_, values| {
                    let Values::Floats(values) = values else { panic!("no floats") };
                    found = values;
                    Ok(())
                },
            )?;
            Ok(found)
        };
        let found = read(&finite).unwrap();
        assert_eq!(found.len(), n);
        for (bits, x) in finite.iter().zip(found) {
            let want = by_definition(*bits, exponent_bits);
            assert_eq!(
                (f64::from(x), x.is_sign_negative()),
                (want, bits >> 15 == 1),
                "{dtype} {bits:x}"
            );
        }
        for bits in [other[0], other[1], other[other.len() - 1]] {
            assert!(why(read(&[0, bits])).contains("not finite"));
        }
    }
}

#[test]
fn what_is_written_is_read_by_others_and_by_us() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let values: Vec<f32> = (0..21_000).map(|i| i as f32).collect();
    let named = |name: &str, shape: &[usize], data| Named {
        name: name.into(),
        shape: shape.to_vec(),
        data,
    };
    let column = |first: usize, rows: &mut [f32]| {
        let places = (0..).map(|i| i % 3 * 7000 + first + i / 3);
        rows.iter_mut().zip(places).for_each(|(x, place)| *x = values[place]);
    };
    let tensors = || {
        vec![
            named("z", &[3, 7000], Data::Floats((&values[..]).into())),
            named("turned", &[7000, 3], Data::Rows(Box::new(column))),
            named("bytes", &[3], Data::Bytes(b"abc".as_slice().into())),
        ]
    };
    write(&path, ("key", "value"), tensors()).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let theirs = ::safetensors::SafeTensors::deserialize(&bytes).unwrap();
    assert_eq!(theirs.tensor("z").unwrap().data(), floats(&values));
    assert_eq!(theirs.tensor("bytes").unwrap().data(), b"abc");
    let turned = theirs.tensor("turned").unwrap();
    assert_eq!(turned.shape(), [7000, 3]);
    for (i, row) in turned.data().chunks(12).enumerate() {
        let columns = [values[i], values[7000 + i], values[14_000 + i]];
        assert_eq!(row, floats(&columns), "{i}");
    }
    // A tensor's first byte is at a multiple of its width, and the same contents are the same file.
    assert_eq!(u64::from_le_bytes(bytes[..8].try_into().unwrap()) % 8, 0);
    write(&path, ("key", "value"), tensors()).unwrap();
    assert!(std::fs::read(&path).unwrap() == bytes);
}

fn tokenizers() -> [Box<dyn Tokenizer>; 3] {
    let chars = CharTokenizer::from_text("abc \n猫\u{e9}d".as_bytes()).unwrap();
    [Box::new(ByteTokenizer), Box::new(chars), Box::new(IdsTokenizer::new(300).unwrap())]
}

#[test]
fn our_own_file_comes_back_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    for tokenizer in tokenizers() {
        let v = tokenizer.vocab_size();
        let gated = Config { norm: Norm::Rms, mlp: Mlp::SwiGlu, ..Config::gpt2(v, 6, 4, 1) };
        let gated = Config { mlp_bias: false, positions: Positions::None, ..gated };
        let squared = Config { mlp: Mlp::Relu2, n_inner: 5, ..Config::new(v, 6, 4, 1) };
        for base in [Config::new(v, 6, 4, 2), Config::gpt2(v, 6, 4, 1), gated, squared] {
            let config = Config { dropout: 0.25, ..base };
            let mut model = TinyGPT::new(config.clone(), 7).unwrap();
            for (_, p) in model.parameters_mut() {
                p.data_mut().iter_mut().enumerate().for_each(|(i, x)| *x += i as f32 / 64.0);
            }
            own_names::export(&path, &model, tokenizer.as_ref()).unwrap();
            assert!(own_names::is_ours(&path));
            let imported = own_names::import(&path, None, &one_head).unwrap();
            assert_eq!(imported.config, config);
            let (trainer, spec) = imported.into_trainer().unwrap();
            assert_eq!((spec.kind.as_str(), spec.blob), (tokenizer.name(), tokenizer.blob()));
            for ((name, a), (again, b)) in model.parameters().zip(trainer.model.parameters()) {
                assert_eq!((&name, a.data()), (&again, b.data()));
            }
        }
    }
}

/// An attention without settings of its own is described as it was before there were any.
#[test]
fn an_attentions_settings_come_back() {
    let mut spec = AttentionSpec::new("wide", 2);
    let plain = json!({ "name": "wide", "n_heads": 2, "head_mask": [] });
    assert_eq!(serde_json::to_value(&spec).unwrap(), plain);
    assert_eq!(serde_json::from_value::<AttentionSpec>(plain).unwrap(), spec);
    spec.window = Some(8);
    let text = serde_json::to_string(&spec).unwrap();
    assert_eq!(serde_json::from_str::<AttentionSpec>(&text).unwrap(), spec);
    assert!(serde_json::from_str::<AttentionSpec>(&text.replace("window", "Window")).is_err());
}

#[test]
fn a_file_with_our_names_alone_needs_the_number_of_heads() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    for (config, kind) in [
        (Config::new(256, 6, 4, 2), "byte"),
        (Config { tied_head: true, ..Config::new(9, 6, 4, 1) }, "ids"),
        (Config { n_inner: 5, ..Config::gpt2(9, 6, 4, 1) }, "ids"),
        (Config { norm: Norm::Rms, mlp: Mlp::SwiGlu, ..Config::gpt2(9, 6, 4, 2) }, "ids"),
        (
            Config { mlp: Mlp::SwiGlu, mlp_bias: false, n_inner: 7, ..Config::new(9, 6, 4, 1) },
            "ids",
        ),
    ] {
        let model = TinyGPT::new(config.clone(), 7).unwrap();
        let tensors = model.parameters().map(|(name, p)| Named {
            name,
            shape: p.shape().to_vec(),
            data: Data::Floats(p.data().into()),
        });
        write(&path, ("format", "np"), tensors.collect()).unwrap();
        assert!(!own_names::is_ours(&path));
        let refused = own_names::import(&path, None, &one_head).map(drop).unwrap_err();
        assert!(refused.to_string().contains("does not say how many"), "{refused}");
        let refused = own_names::import(&path, Some(2), &one_head).map(drop).unwrap_err();
        assert!(refused.to_string().contains("with heads: 2,"), "{refused}");
        let imported = own_names::import(&path, Some(1), &one_head).unwrap();
        let init = llm_core::model::Init::FanIn;
        assert_eq!(imported.config, Config { init, ..config });
        assert_eq!(imported.tokenizer.name(), kind);
        assert_eq!(imported.notes, [Note::Undescribed]);
    }
}

#[test]
fn descriptions_that_do_not_fit_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    let model = TinyGPT::new(Config::new(9, 6, 4, 1), 7).unwrap();
    own_names::export(&path, &model, &IdsTokenizer::new(9).unwrap()).unwrap();
    let good = std::fs::read(&path).unwrap();
    let header =
        String::from_utf8(good[8..8 + good[0] as usize + 256 * good[1] as usize].into()).unwrap();
    let body = &good[8 + header.len()..];
    for (from, to, needle) in [
        ("vocab_size\\\":9", "vocab_size\\\":10", "[9, 4], this model needs [10, 4]"),
        ("vocab_size\\\":9", "vocab_size\\\":-1", "metadata"),
        ("vocab_size\\\":9", "vocab_size\\\":9000000000", "vocab_size"),
        ("n_layers\\\":1", "n_layers\\\":0", "n_layers"),
        ("n_layers\\\":1", "n_layers\\\":2", "tensor blocks.1.w_qkv is missing"),
        ("head_bias\\\":true", "head_bias\\\":false", "tensor b_lm does not belong"),
        ("n_heads\\\":1", "n_heads\\\":2", "with heads: 2,"),
        ("n_heads\\\":1", "n_heads\\\":0", "with heads: 0,"),
        ("single-head", "other", "other attention with heads: 1,"),
        ("ids", "words", "words tokenizer"),
        ("ids", "byte", "byte tokenizer"),
        ("\\\"tokenizer", "\\\"extra\\\":1,\\\"tokenizer", "metadata"),
        ("vocab_size\\\":9", "odd_key\\\":1,\\\"vocab_size\\\":9", "odd_key"),
        ("dropout\\\":0.0", "dropout\\\":2.0", "dropout"),
    ] {
        assert!(header.contains(from), "{header} {from}");
        let bytes = file(header.replacen(from, to, 1).as_bytes(), body);
        let refused = why(own_names::read(&bytes[..], bytes.len() as u64, None, &one_head));
        assert!(refused.contains(needle), "{refused}");
    }
    let refused = why(own_names::read(&good[..], good.len() as u64, Some(4), &one_head));
    assert_eq!(refused, "it has 1 heads, not the 4 that were given");
    let mut smaller = good.clone();
    *smaller.last_mut().unwrap() = 1; // the vocabulary's highest byte
    assert!(
        why(own_names::read(&smaller[..], smaller.len() as u64, None, &one_head)).contains("ids")
    );
    assert!(matches!(Dtype::F32.bitsize(), 32));
}
