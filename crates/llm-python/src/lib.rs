//! The trainer in Python: one class, whose keyword arguments are the settings of the library, with numpy
//! in and out and the same checkpoints as the programs.
//!
//! Whatever computes runs on threads of its own that end with the call: no thread and no pool stands
//! between two calls, so that a process may be forked, by `multiprocessing` for example. Python's thread
//! meanwhile waits without the GIL and looks for signals.
//!
//! Each module imports only from those above it in this list:
//!
//! | module | holds |
//! |---|---|
//! | `words` | how what the libraries say is said here |
//! | `errors` | their errors as exceptions |
//! | `models` | the three attentions |
//! | `keywords` | settings as keyword arguments |
//! | `arrays` | arrays of numpy, in and out |
//! | `conversations` | conversations as Python has them |
//! | `given` | texts, files and token numbers as Python has them |
//! | `state` | what a trainer is between two calls |
//! | `work` | a call that computes, on threads of its own |
//! | `trainer` | the class: made, described, copied |
//! | `training` | its steps |
//! | `measuring` | its loss on unseen text, its gradients |
//! | `hooks` | functions of Python's inside a model |
//! | `writing` | text from it, and text as tokens |
//! | `chatting` | answers of a model that has learned conversations |
//! | `weights` | its weights |
//! | `looking` | what is inside |
//! | `patching` | which part carries an answer |
//! | `heads` | what its heads do, and which can go |
//! | `files` | checkpoints |
//! | `formats` | files of other programs |
//! | `module` | functions without a class, and what Python imports |

mod words;

mod errors;

mod models;

mod keywords;

mod arrays;

mod conversations;

mod given;

mod state;

mod work;

mod trainer;

mod training;

mod measuring;

mod hooks;

mod writing;

mod chatting;

mod weights;

mod looking;

mod patching;

mod heads;

mod files;

mod formats;

mod module;
