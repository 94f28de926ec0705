//! A run of an adapter: what its file holds, the weights that it needs, and any number of processes.

use super::*;
use crate::crew::InProcess;
use crate::model::AdapterSpec;
use crate::train::{OneProcess, ProcessGroup, Work, check_usable};
use std::path::PathBuf;

struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    /// A folder with a model in `base`.
    fn new() -> Place {
        let place = Place { folder: tempfile::tempdir().unwrap() };
        save(&place.at("base"), &under(3), &tokenizer(), true).unwrap();
        place
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

/// A trained model to stand under an adapter.
fn under(seed: u64) -> Trainer {
    let config = Config { dropout: 0.1, ..Config::new(5, 8, 6, 2) };
    let model = TinyGPT::with_attention(config, Arc::new(SingleHead), seed).unwrap();
    let mut trainer = Trainer::new(model, Recipe::new([2, 8], 9, 1e-2)).unwrap();
    trainer.step(&data()).unwrap();
    trainer
}

fn spec() -> AdapterSpec {
    let block =
        |i| [(format!("blocks.{i}.w_qkv"), vec![6, 6, 6]), (format!("blocks.{i}.w_out"), vec![6])];
    let AdapterSpec(mut all) = AdapterSpec::uniform((0..2).flat_map(block), 2, 0.1 + 0.2);
    all[2].1[1].rank = 1; // the second block has a line of its own
    AdapterSpec(all)
}

/// A run at its start.
fn start(place: &Place) -> Trainer {
    let mut model = under(3).model.with_adapter(&spec(), 7).unwrap();
    model.set_base_file(&place.at("base"));
    Trainer::new(model, Recipe { accum: 4, ..Recipe::new([1, 8], 20, 1e-2) }).unwrap()
}

fn load(path: &Path, base: Option<&Path>) -> Result<Trainer> {
    Checkpoint::load_on(path, base, OPTIMIZERS)?.into_trainer(Arc::new(SingleHead))
}

fn steps(trainer: &mut Trainer, n: usize) {
    for _ in 0..n {
        trainer.step(&data()).unwrap();
    }
}

fn saved(trainer: &Trainer, path: &Path) -> Vec<u8> {
    save(path, trainer, &tokenizer(), true).unwrap();
    std::fs::read(path).unwrap()
}

/// A pickle, say: the whole path of the weights goes along.
#[test]
fn what_is_in_memory_finds_its_weights() {
    let place = Place::new();
    let mut run = start(&place);
    steps(&mut run, 2);
    let bytes = to_bytes(&run, &tokenizer(), true).unwrap();
    let read = Checkpoint::from_bytes("it", &bytes).unwrap();
    let mut again = read.into_trainer(Arc::new(SingleHead)).unwrap();
    assert!(to_bytes(&again, &tokenizer(), true).unwrap() == bytes);
    for run in [&mut run, &mut again] {
        steps(run, 1);
    }
    assert!(saved(&run, &place.at("a")) == saved(&again, &place.at("b")));
}

#[test]
fn what_was_ended_between_two_steps_goes_on_to_the_same_bytes() {
    let place = Place::new();
    let mut whole = start(&place);
    let (before, first) = (whole.model.weights_blake3(), whole.model.clone());
    steps(&mut whole, 6);
    let wanted = saved(&whole, &place.at("whole"));
    for ended in [0, 1, 5] {
        let mut run = start(&place);
        steps(&mut run, ended);
        saved(&run, &place.at("ended"));
        let mut run = load(&place.at("ended"), None).unwrap();
        assert_eq!(run.model.adapter().unwrap(), spec());
        assert!(run.model.parameters().all(|(_, p)| !p.wants_grad()));
        steps(&mut run, 6 - ended);
        assert!(saved(&run, &place.at("went_on")) == wanted, "ended after {ended}");
    }
    // The model under it is as it was, the pairs are not, and it is a small part of the file.
    assert_eq!(whole.model.weights_blake3(), before);
    check_usable((&whole).into()).unwrap();
    let moved =
        whole.model.trained().zip(first.trained()).all(|((_, a), (_, b))| a.data() != b.data());
    assert!(moved);
    let names: Vec<_> = Checkpoint::load(&place.at("whole")).unwrap().meta.adapter.unwrap().0;
    assert_eq!(names.len(), 4);
}

fn why(error: Error) -> String {
    match error {
        Error::Checkpoint { source, .. } => source.to_string(),
        other => panic!("{other}"),
    }
}

/// What every rank ends with.
fn learned(place: &Place, divided: bool, crew: &mut dyn crate::crew::Crew) -> Vec<u8> {
    let mut run = start(place);
    let mut group = ProcessGroup::new(crew);
    if divided {
        group.divide(&run.model, run.optimizer.as_mut()).unwrap();
    }
    for _ in 0..3 {
        run.step_with(&data(), &mut group, &mut ()).unwrap();
    }
    group.before_saving(&run.model, run.optimizer.as_mut()).unwrap();
    match group.rank() {
        0 => bytes_at(&place.at("run"), &run),
        _ => Vec::new(),
    }
}

fn bytes_at(at: &Path, run: &Trainer) -> Vec<u8> {
    let mut out = Vec::new();
    Prepared::new(at, run.into(), &tokenizer(), true).unwrap().write(&mut out).unwrap();
    out
}

#[test]
fn any_number_of_processes_and_threads_comes_to_the_same_bytes() {
    let place = Place::new();
    let mut run = start(&place);
    for _ in 0..3 {
        run.step_with(&data(), &mut OneProcess, &mut ()).unwrap();
    }
    let alone = bytes_at(&place.at("run"), &run);
    for size in [1, 2, 4] {
        for divided in [false, true] {
            let all = InProcess::run(size, |crew| learned(&place, divided, crew));
            assert!(all[0] == alone, "{size} processes, divided: {divided}");
        }
    }
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    assert!(one.install(|| InProcess::run(1, |crew| learned(&place, false, crew)))[0] == alone);
}

#[test]
fn the_weights_under_an_adapter_are_found_and_known() {
    let place = Place::new();
    let mut run = start(&place);
    steps(&mut run, 1);
    std::fs::create_dir_all(place.at("a/b")).unwrap();
    let path = place.at("a/b/run");
    saved(&run, &path);
    let file = Checkpoint::load(&path).unwrap();
    assert_eq!(file.parameter_count(), run.model.parameter_count());
    // The whole folder may move.
    std::fs::rename(place.at("a"), place.at("c")).unwrap();
    load(&place.at("c/b/run"), None).unwrap();
    std::fs::create_dir(place.at("d")).unwrap();
    std::fs::rename(place.at("c"), place.at("d/a")).unwrap();
    std::fs::rename(place.at("base"), place.at("d/base")).unwrap();
    load(&place.at("d/a/b/run"), None).unwrap();

    let hash: String =
        run.model.weights_blake3()[..8].iter().map(|byte| format!("{byte:02x}")).collect();
    let path = place.at("d/a/b/run");
    let refused = |base: Option<&Path>| why(load(&path, base).unwrap_err());
    std::fs::rename(place.at("d/base"), place.at("moved")).unwrap();
    let gone = refused(None);
    assert!(gone.contains(&format!("BLAKE3 {hash}..")) && gone.contains("../../base'"), "{gone}");
    load(&path, Some(&place.at("moved"))).unwrap();
    // The same weights from another file, without an optimizer and after it forgot its steps.
    save(&place.at("again"), &Trainer { step: 0, ..under(3) }, &tokenizer(), false).unwrap();
    load(&path, Some(&place.at("again"))).unwrap();

    save(&place.at("other"), &under(4), &tokenizer(), true).unwrap();
    let other = refused(Some(&place.at("other")));
    assert!(other.contains("other': its weights have "), "{other}");
    assert!(refused(Some(&path)).contains("an adapter of the weights"));
    std::fs::write(place.at("text"), "a text").unwrap();
    assert!(refused(Some(&place.at("text"))).contains("not a checkpoint"));
    let needless = Checkpoint::load_on(&place.at("moved"), Some(&path), OPTIMIZERS);
    assert!(why(needless.unwrap_err()).contains("needs no other file"));
    // In memory there is no other file.
    let bytes = std::fs::read(&path).unwrap();
    let alone = why(Checkpoint::from_bytes("page", &bytes).unwrap_err());
    assert!(alone.contains(&hash), "{alone}");
}

/// The fault that would be lost without a word: a base that learns too.
#[test]
fn a_base_that_was_changed_is_not_saved() {
    let place = Place::new();
    let mut run = start(&place);
    let path = place.at("run");
    let good = saved(&run, &path);
    run.model.blocks[1].w_fc.data_mut()[3] += 0.5;
    let refused = why(save(&path, &run, &tokenizer(), true).unwrap_err());
    assert!(refused.contains("blocks.1.w_fc"), "{refused}");
    assert!(std::fs::read(&path).unwrap() == good);
    let nameless = Trainer::new(
        under(3).model.with_adapter(&spec(), 7).unwrap(),
        Recipe::new([1, 8], 20, 1e-2),
    );
    let refused = why(save(&path, &nameless.unwrap(), &tokenizer(), true).unwrap_err());
    assert!(refused.contains("was not named"), "{refused}");
}

/// Whatever the lines of an adapter say, they are refused or read.
#[test]
fn lines_of_a_foreign_adapter_are_refused() {
    let place = Place::new();
    let good = saved(&start(&place), &place.at("run"));
    let (contents, body) = apart(&good);
    let mut header: header::Header = postcard::from_bytes(&encoded(&contents)).unwrap();
    let at =
        header.settings.iter().position(|(key, _)| key.starts_with("adapter.matrices")).unwrap();
    for line in [
        "",
        "w_out",
        "w_out 0-1",
        "w_out 1-0 6*2*1",
        "w_out 0-99999999999 6*2*1",
        "w_out 0-1 6*2",
        "w_out 0-1 6*2*1*1",
        "w_out 0-1 6*2*NaN",
        "w_out 0-1 6*0*1",
        "w_out 0-1 7*2*1",
        "w_out 0-1 6*9999999*1",
        "nothing 0-1 6*2*1",
        "w_out 0-9 6*2*1",
        "ln 0-1 6*2*1",
        "w_out 0-1 6*2*1 x",
    ] {
        header.settings[at].1 = Value::Text(line.into());
        let file = signed(&postcard::to_stdvec(&header).unwrap(), &body);
        std::fs::write(place.at("bad"), file).unwrap();
        assert!(load(&place.at("bad"), None).is_err(), "{line}");
    }
}

/// A base of bf16 numbers is read as such, its moments are left out, and learns an adapter to the same bytes; one with
/// other numbers is f32, and a file of an adapter is read whole.
#[test]
fn a_base_of_bf16_numbers_is_read_as_such() {
    let place = Place::new();
    let read = |name: &str| Checkpoint::load_frozen(&place.at(name), None, OPTIMIZERS).unwrap();
    let model = |read: Checkpoint| read.into_trainer(Arc::new(SingleHead)).unwrap().model;
    assert!(!read("base").has_optimizer());
    assert_eq!(model(read("base")).half_count(), 0);

    let mut rounded = under(3);
    for (_, p) in rounded.model.parameters_mut() {
        p.data_mut().iter_mut().for_each(|x| *x = f32::from_bits(x.to_bits() & 0xffff_0000));
    }
    save(&place.at("base"), &rounded, &tokenizer(), true).unwrap();
    let half = model(read("base"));
    assert!(half.half_count() > 0);
    let learned = |model: TinyGPT, name: &str| {
        let mut model = model.with_adapter(&spec(), 7).unwrap();
        model.set_base_file(&place.at("base"));
        let recipe = Recipe { accum: 4, ..Recipe::new([1, 8], 20, 1e-2) };
        let mut run = Trainer::new(model, recipe).unwrap();
        steps(&mut run, 3);
        (saved(&run, &place.at(name)), run)
    };
    let (bytes, _) = learned(rounded.model, "one");
    let (same, mut run) = learned(half, "other");
    assert!(bytes == same);
    // What goes on has its base as it was read, and its own numbers and moments.
    let again = read("other");
    assert!(again.has_optimizer());
    let mut again = again.into_trainer(Arc::new(SingleHead)).unwrap();
    assert_eq!(again.model.half_count(), run.model.half_count());
    steps(&mut run, 2);
    steps(&mut again, 2);
    assert!(saved(&run, &place.at("one")) == saved(&again, &place.at("other")));
}
