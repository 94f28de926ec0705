//! A file system in memory, of one folder, that can fail at any call and lose power at any time.

use super::folder::{Change, Node, State};
use crate::base::file_calls::Files;
use crate::base::target::Target;
use std::cell::RefCell;
use std::io::{self, Write};
use std::path::Path;
use std::rc::Rc;

/// Kinds of calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Call {
    Find,
    OpenDirectory,
    Create,
    Write,
    Mode,
    Sync,
    Rename,
    SyncDirectory,
    Remove,
}

/// Which calls fail, and how.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fault {
    /// The first of them, counted from 1.
    pub(super) at: usize,
    /// The system's number.
    pub(super) error: i32,
    pub(super) extent: Extent,
    /// The call does what it should, and reports an error all the same.
    pub(super) done: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    Once,
    /// From then on, but for removing: a full disk.
    UntilRoom,
    /// From then on: a broken disk.
    ForEver,
}

/// The file system.
#[derive(Clone)]
pub(super) struct Simulated(Rc<RefCell<Inner>>);

struct Inner {
    state: State,
    fault: Option<Fault>,
    /// Calls of this kind do nothing: as a program would behave that does not make them.
    forgotten: Option<Call>,
    calls: Vec<Call>,
    /// The state before each call.
    moments: Vec<State>,
}

impl Simulated {
    pub(super) fn new(state: State, fault: Option<Fault>, forgotten: Option<Call>) -> Simulated {
        let (calls, moments) = (Vec::new(), Vec::new());
        Simulated(Rc::new(RefCell::new(Inner { state, fault, forgotten, calls, moments })))
    }

    /// The calls so far.
    pub(super) fn calls(&self) -> Vec<Call> {
        self.0.borrow().calls.clone()
    }

    pub(super) fn state(&self) -> State {
        self.0.borrow().state.clone()
    }

    /// The state between any two calls, and now.
    pub(super) fn moments(&self) -> Vec<State> {
        let mut moments = self.0.borrow().moments.clone();
        moments.push(self.state());
        moments
    }

    fn call<T>(&self, call: Call, effect: impl FnOnce(&mut State) -> T) -> io::Result<Option<T>> {
        let mut inner = self.0.borrow_mut();
        let before = inner.state.clone();
        inner.moments.push(before);
        inner.calls.push(call);
        if inner.forgotten == Some(call) {
            return Ok(None);
        }
        let n = inner.calls.len();
        let fails = |f: &Fault| match f.extent {
            Extent::Once => n == f.at,
            Extent::UntilRoom => n >= f.at && call != Call::Remove,
            Extent::ForEver => n >= f.at,
        };
        match inner.fault.filter(fails) {
            None => Ok(Some(effect(&mut inner.state))),
            Some(Fault { error, done, .. }) => {
                if done && call != Call::Create {
                    effect(&mut inner.state);
                }
                Err(io::Error::from_raw_os_error(error))
            }
        }
    }
}

/// A temporary file.
pub(super) struct Temporary {
    files: Simulated,
    name: String,
    node: usize,
    renamed: bool,
}

impl Write for Temporary {
    /// Takes less than it is given, as a system may.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let part = &bytes[..bytes.len().min(200)];
        self.files.call(Call::Write, |state| {
            let node = &mut state.nodes[self.node];
            node.open.push((node.seen.len(), part.to_vec()));
            node.seen.extend(part);
        })?;
        Ok(part.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.renamed {
            let remove = |state: &mut State| state.change(Change::Unset(self.name.clone()));
            let _ = self.files.call(Call::Remove, remove); // who drops a file hears no error
        }
    }
}

impl Files for Simulated {
    type Temporary = Temporary;
    type Directory = ();

    fn find(&self, path: &Path) -> io::Result<Target> {
        self.call(Call::Find, |_| ())?;
        let name = path.file_name().unwrap_or_default().to_os_string();
        Ok(Target { directory: "".into(), name, mode: None })
    }

    fn open_directory(&self, _: &Target) -> io::Result<()> {
        self.call(Call::OpenDirectory, |_| ()).map(drop)
    }

    fn create(&self, target: &Target) -> io::Result<Temporary> {
        let name = format!("{}000001", target.prefix().to_str().unwrap());
        let node = self.call(Call::Create, |state| {
            assert!(!state.names.contains_key(&name), "made twice");
            state.nodes.push(Node::default());
            let node = state.nodes.len() - 1;
            state.change(Change::Set(name.clone(), node));
            node
        })?;
        let node = node.expect("creating is never forgotten");
        Ok(Temporary { files: self.clone(), name, node, renamed: false })
    }

    fn take_over_mode(&self, _: &Temporary, _: &Target) -> io::Result<()> {
        self.call(Call::Mode, |_| ()).map(drop)
    }

    fn sync(&self, file: &Temporary) -> io::Result<()> {
        let synced = self.call(Call::Sync, |state| {
            let node = &mut state.nodes[file.node];
            assert!(!node.sync_failed, "a file whose sync failed was synced again");
            node.on_disk = node.seen.clone();
            node.open.clear();
        });
        if synced.is_err() {
            // What was not written is forgotten, and looks as if it were.
            let node = &mut self.0.borrow_mut().state.nodes[file.node];
            node.open.truncate(1);
            node.sync_failed = true;
        }
        synced.map(drop)
    }

    fn rename(&self, mut file: Temporary, target: &Target) -> io::Result<()> {
        let to = target.name.to_str().unwrap().to_string();
        self.call(Call::Rename, |state| {
            assert!(!state.nodes[file.node].sync_failed, "renamed after a failed sync");
            state.change(Change::Set(to, file.node));
            state.change(Change::Unset(file.name.clone()));
        })?;
        file.renamed = true;
        Ok(())
    }

    fn sync_directory(&self, _: &()) -> io::Result<()> {
        let synced = self.call(Call::SyncDirectory, |state| {
            state.names_on_disk = state.names.clone();
            state.open.clear();
        });
        synced.map(drop)
    }
}
