//! Several processes on one run: what they must have in common before the first step, and how the error
//! of one ends all.

use crate::defaults::INTERVAL;
use crate::error::{Result, RunError, usage};
use crate::folder::Target;
use crate::note::Note;
use crate::options::{Habits, Options};
use crate::plan::Plan;
use llm_core::base::{CrewError, Message, with_causes};
use llm_core::checkpoint::weights_checksum;
use llm_core::crew::{Crew, micro_batches};
use llm_core::kernels::gemm::Precision;
use llm_core::kernels::gemm::bf16::{self, Order};
use llm_core::kernels::gemm::engine::{self, Engine};
use llm_core::kernels::simd::{self, Level};
use llm_core::recipe::Recipe;
use llm_core::{Error, message, settings};

/// Bytes of a hash by which processes compare the reasons of their errors.
const HASH: usize = 8;

/// This process among those of its crew; without one it is alone, and agrees with itself.
#[derive(Debug)]
pub(super) struct Team<'a>(Option<&'a mut dyn Crew>);

/// What processes with different hardware use in common.
#[derive(Debug, Default)]
pub(super) struct Common {
    kernels: Option<Note>,
    engine: Option<Note>,
    order: Option<Note>,
}

impl Common {
    /// The notes that matter for products of this precision.
    pub(super) fn notes(self, matmul: Precision) -> impl Iterator<Item = Note> {
        let order = self.order.filter(|_| matmul == Precision::Bf16);
        [self.kernels, self.engine, order].into_iter().flatten()
    }
}

impl<'a> Team<'a> {
    /// The processes of `crew`, or one alone.
    pub(super) fn new(crew: Option<&'a mut dyn Crew>) -> Team<'a> {
        Team(crew.filter(|crew| crew.size() > 1))
    }

    /// The channel between the processes.
    pub(super) fn crew(&mut self) -> Option<&mut dyn Crew> {
        self.0.as_mut().map(|crew| &mut **crew as &mut dyn Crew)
    }

    /// Number of processes.
    pub(super) fn size(&self) -> usize {
        self.0.as_ref().map_or(1, |crew| crew.size())
    }

    /// Whether another process speaks for this one.
    fn follows(&self) -> bool {
        self.0.as_ref().is_some_and(|crew| crew.rank() > 0)
    }

    /// An error that every process finds at the same place, of which the first speaks.
    pub(super) fn said_once(&self, e: RunError) -> RunError {
        if self.follows() { RunError::Elsewhere(e.kind().code()) } else { e }
    }

    /// The result of `f` if all processes succeed. A process that succeeded ends in silence when another
    /// failed; of several with the same reason the first speaks.
    ///
    /// # Errors
    /// This process's own, or [`RunError::Elsewhere`].
    pub(super) fn agree<T>(&mut self, f: impl FnOnce() -> Result<T>) -> Result<T> {
        let (mine, follows) = (f(), self.follows());
        let Some(crew) = &mut self.0 else { return mine };
        let found = |e: &RunError| {
            let hash = blake3::hash(e.message().to_string().as_bytes());
            (e.kind().code(), hash.as_bytes()[..HASH].to_vec())
        };
        let (code, reason) = mine.as_ref().err().map_or((0, vec![0; HASH]), found);
        let all = crew.gather(&[&[code], &reason[..]].concat())?;
        let mut all = all.chunks_exact(1 + HASH);
        let first = all.clone().next().map(|of| of[1..].to_vec());
        let Some(failed) = all.find(|of| of[0] != 0) else { return mine };
        match mine {
            Ok(_) => Err(RunError::Elsewhere(failed[0])),
            Err(_) if follows && first == Some(reason) => Err(RunError::Elsewhere(code)),
            own => own,
        }
    }

    /// Before anything is read: checks that all run one version of the program, and chooses kernels that
    /// round alike.
    ///
    /// # Errors
    /// [`RunError::Usage`] for all when the versions differ.
    pub(super) fn greet(&mut self, version: &str) -> Result<Common> {
        self.same("program", version.as_bytes(), |member| {
            RunError::Usage(message!(
                "process {} runs another version of the program than process 0",
                member
            ))
        })?;
        let Some(crew) = &mut self.0 else { return Ok(Common::default()) };
        let engine = (engine::asked() != Engine::Own).then(|| {
            engine::own_alone();
            Note::OwnEngine
        });
        let all = crew.gather(&[simd::available() as u8, bf16::available() as u8])?;
        let members = all.as_chunks::<2>().0;
        let [least, most] = least_and_most(&Level::ALL, members.iter().map(|[level, _]| *level));
        // Processes keep different kernels where all round alike.
        let kernels = (least.is_fused() != most.is_fused())
            .then(|| Note::CommonKernels { used: simd::at_most(least).name(), best: most.name() });
        let [least, most] = least_and_most(&Order::ALL, members.iter().map(|[_, order]| *order));
        let used = bf16::at_most(least);
        let order = Note::CommonOrder { used: used.name(), best: most.name() };
        Ok(Common { kernels, engine, order: (most > used).then_some(order) })
    }

    /// Checks that the processes can share a step of this run, and that all have the same run before them.
    ///
    /// # Errors
    /// As [`Team::check_size`]; [`RunError::Usage`] or [`RunError::Data`] for all, naming the first process
    /// that differs.
    pub(super) fn check(&mut self, options: &Options, plan: &Plan) -> Result<()> {
        self.check_size(options, &plan.trainer.recipe)?;
        if self.0.is_none() {
            return Ok(());
        }
        let trainer = &plan.trainer;
        let (config, recipe) = (trainer.model.config(), &trainer.recipe);
        let data = format!("{:?} {:?}", recipe.data, recipe.val_data);
        self.same("data", data.as_bytes(), |member| {
            RunError::Data(message!("process {} reads other data than process 0", member))
        })?;
        let Habits { eval_every, save_every, skip_spikes, patience, .. } = options.habits;
        let every = [eval_every, save_every].map(|every| every.unwrap_or(INTERVAL));
        let watched = (skip_spikes, patience, options.shard_optimizer, every);
        let attention = trainer.model.attention().spec();
        let course = (trainer.step, plan.steps, &attention, plan.tokenizer.name(), watched);
        let all = format!("{:?} {course:?}", settings::collect(config, recipe)?);
        self.same("settings", all.as_bytes(), |member| {
            RunError::Usage(message!("process {} has other settings than process 0", member))
        })?;
        let weights = weights_checksum(&trainer.model).to_le_bytes();
        self.same("weights", &weights, |member| {
            RunError::Data(message!("process {} has loaded other weights than process 0", member))
        })
    }

    /// Checks that all compute on the same kind of device: others round in another way.
    ///
    /// # Errors
    /// [`RunError::Usage`] for all, naming the first process that differs.
    pub(super) fn alike(&mut self, device: &str) -> Result<()> {
        self.same("devices", device.as_bytes(), |member| {
            RunError::Usage(message!(
                "process {} computes on another kind of device than process 0",
                member
            ))
        })
    }

    /// Where the run is saved: by the first process alone. A dry run tries a named file, and makes no
    /// folder; a test that memorises a batch saves nothing.
    ///
    /// # Errors
    /// As [`Plan::target`].
    pub(super) fn target(&mut self, options: &Options, plan: &Plan) -> Result<Option<Target>> {
        let follows = self.follows() || options.overfit;
        self.agree(|| match (follows, options.dry_run && options.save.is_none()) {
            (true, _) => Ok(None),
            (false, true) => plan.check_target(options).map(|()| None),
            (false, false) => plan.target(options),
        })
    }

    /// Checks that the processes can share a step of this run.
    ///
    /// # Errors
    /// [`RunError::Usage`] with the numbers that fit, or the options that make this number fit.
    pub(super) fn check_size(&self, options: &Options, recipe: &Recipe) -> Result<()> {
        let checked = check_size(self.size(), options, recipe);
        checked.map_err(|e| self.said_once(e))
    }

    /// Checks that all processes have the same.
    ///
    /// # Errors
    /// `why`, for all, with the first process that differs from process 0.
    fn same(&mut self, what: &'static str, text: &[u8], why: fn(usize) -> RunError) -> Result<()> {
        let Some(crew) = &mut self.0 else { return Ok(()) };
        let same = crew.equal(what.into(), blake3::hash(text).as_bytes());
        same.map_err(|e| match e {
            Error::Crew(CrewError::Unequal { member, .. }) => self.said_once(why(member)),
            other => other.into(),
        })
    }
}

fn check_size(size: usize, options: &Options, recipe: &Recipe) -> Result<()> {
    let Err(unfit) = micro_batches(0, size, recipe.accum.into()) else { return Ok(()) };
    if !size.is_power_of_two() || options.given.contains_key("accum") || recipe.accum > 1 {
        return Err(unfit.into());
    }
    let Recipe { batch_size: batch, seq_len, .. } = *recipe;
    let mut ways = vec![with_causes(&unfit)];
    if batch.is_multiple_of(size) {
        let share = batch / size;
        ways.push(message!(
            "{batch} {} {accum} {} makes steps of {} tokens as now, {} × {} for each process",
            share,
            size,
            batch * seq_len,
            share,
            seq_len
        ));
    }
    ways.push(message!(
        "{accum} {} makes steps of {} tokens, {} × {} for each process",
        size,
        batch * size * seq_len,
        batch,
        seq_len
    ));
    let all = Message::joined("{}; {}", ways);
    usage(all.unwrap_or_else(|| unfit.to_string().into()))
}

/// The kinds, given by their places in `kinds`, of the process with the least and of that with the most.
/// A place outside `kinds`, which no process of this version sends, counts as the first.
fn least_and_most<T: Copy>(kinds: &[T], places: impl Iterator<Item = u8> + Clone) -> [T; 2] {
    [places.clone().min(), places.max()]
        .map(|place| *kinds.get(usize::from(place.unwrap_or(0))).unwrap_or(&kinds[0]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use llm_core::crew::InProcess;
    use llm_core::settings::Value;

    fn refused(size: usize, accum: u32, batch: usize, given: bool) -> String {
        let recipe = Recipe { accum, ..Recipe::new([batch, 64], 10, 1e-3) };
        let mut options = Options::default();
        if given {
            options.given.insert("accum", Value::Whole(1));
        }
        check_size(size, &options, &recipe).unwrap_err().message().to_string()
    }

    #[test]
    fn numbers_and_options_that_fit_are_named() {
        assert_eq!(
            refused(3, 16, 8, false),
            "16 micro-batches can be shared by 1, 2, 4, 8 or 16 processes, not by 3"
        );
        assert_eq!(
            refused(4, 1, 8, false),
            "one micro-batch is for one process, not for 4; batch 2 accum 4 makes steps of 512 \
             tokens as now, 2 × 64 for each process; accum 4 makes steps of 2048 tokens, 8 × 64 for \
             each process"
        );
        assert!(!refused(4, 1, 6, false).contains("as now"));
        assert!(!refused(4, 1, 8, true).contains("batch 2"));
    }

    /// What ranks 0 and 1 come to when each says this.
    fn agreed(said: [Option<&'static str>; 2]) -> Vec<std::result::Result<(), String>> {
        InProcess::run(2, |crew| {
            let mine = said[crew.rank()];
            let mut team = Team::new(Some(crew));
            let own = mine.map_or(Ok(()), |why| Err(RunError::Usage(why.into())));
            team.agree(|| own).map_err(|e| format!("{} {e}", e.kind().code()))
        })
    }

    #[test]
    fn an_error_of_one_process_ends_all_and_is_said_once() {
        let elsewhere = Err("2 another process ended the run".to_string());
        assert_eq!(agreed([None, None]), [Ok(()), Ok(())]);
        assert_eq!(agreed([Some("x"), Some("x")]), [Err("2 x".into()), elsewhere.clone()]);
        assert_eq!(agreed([None, Some("y")]), [elsewhere.clone(), Err("2 y".into())]);
        assert_eq!(agreed([Some("x"), Some("y")]), [Err("2 x".into()), Err("2 y".into())]);
    }
}
