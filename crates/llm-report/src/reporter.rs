//! A front end for programs that have something else to do than to make pages.

use crate::losses::loss_picture;
use crate::run::{About, page};
use crate::text::html;
use llm_run::Result;
use llm_run::folder::Target;
use llm_run::log::Curves;
use llm_run::plan::Plan;
use llm_run::training::{Event, Face, Identity, PageOf};

/// A [`Face`] that makes the page of a run and the picture of its losses; what happens is passed to
/// `tell`.
#[derive(Debug)]
pub struct Reporter<T> {
    about: Option<About>,
    tell: T,
}

impl<T: FnMut(&Event<'_>) + Send> Reporter<T> {
    /// A reporter of one run, which [`llm_run::training::run`] tells what the run is.
    pub fn new(tell: T) -> Reporter<T> {
        Reporter { about: None, tell }
    }
}

impl<T: FnMut(&Event<'_>) + Send> Face for Reporter<T> {
    fn begins(&mut self, plan: &Plan, _: Option<&Target>, who: &mut Identity) -> Result<()> {
        self.about = Some(About::of(who, plan)?);
        Ok(())
    }

    fn event(&mut self, event: &Event<'_>) {
        (self.tell)(event);
    }

    fn page(&mut self, of: &PageOf<'_>) -> Option<String> {
        let early = of.ending.early.map(|why| llm_messages::early(why).into());
        html(&page(self.about.as_ref()?, of, early)).ok()
    }

    fn picture(&mut self, curves: &Curves) -> Option<String> {
        loss_picture(curves)
    }
}
