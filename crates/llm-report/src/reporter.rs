//! A face for programs that have something else to do than to make pages.

use crate::losses::loss_picture;
use crate::run::{About, page};
use crate::text::html;
use llm_run::Result;
use llm_run::log::Curves;
use llm_run::plan::Plan;
use llm_run::training::{Event, Face, Identity, PageOf};

/// A [`Face`] that makes the page of a run and the picture of its losses; what happens is passed to
/// `tell`.
#[derive(Debug)]
pub struct Reporter<T> {
    about: About,
    tell: T,
}

impl<T: FnMut(&Event<'_>) + Send> Reporter<T> {
    /// The reporter of a run that is about to begin.
    ///
    /// # Errors
    /// As [`About::of`].
    pub fn new(who: &Identity, plan: &Plan, tell: T) -> Result<Reporter<T>> {
        Ok(Reporter { about: About::of(who, plan)?, tell })
    }
}

impl<T: FnMut(&Event<'_>) + Send> Face for Reporter<T> {
    fn event(&mut self, event: &Event<'_>) {
        (self.tell)(event);
    }

    fn page(&mut self, of: &PageOf<'_>) -> Option<String> {
        let early = of.ending.early.map(|why| llm_messages::early(why).into());
        html(&page(&self.about, of, early)).ok()
    }

    fn picture(&mut self, curves: &Curves) -> Option<String> {
        loss_picture(curves)
    }
}
