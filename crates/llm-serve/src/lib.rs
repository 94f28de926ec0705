//! A model behind HTTP: the API that OpenAI's clients speak, for several writers at once.
//!
//! One thread owns the model and writes all answers; each connection has a thread that reads a request, hands it
//! in and sends what comes back. HTTP is hyper's, driven by blocking sockets with deadlines: no runtime.
//!
//! | path | answers |
//! |---|---|
//! | `GET /` | a page |
//! | `GET /health` | whether it answers |
//! | `GET /v1/models`, `/v1/models/NAME` | the model |
//! | `POST /v1/completions` | texts that go on, and log-probabilities of prompts |
//! | `POST /v1/chat/completions` | an answer, by the model's own template |
//! | `POST /tokenize` | tokens of a text |
//! | `POST /attention` | what each head looks at from one token |
//!
//! What a request asks for and the server does not do is refused by name. Equal requests with a seed get equal bytes,
//! whoever else is asking.
//!
//! Each module imports only from those above it in this list:
//!
//! | module | holds |
//! |---|---|
//! | `error` | refusals, as clients know them |
//! | `fields` | a request's fields, each taken once |
//! | `model` | what is known of the model without its weights |
//! | `ask` | what is asked for |
//! | `attention` | the maps of a token |
//! | `engine` | the thread that writes |
//! | `socket` | a connection's bytes, with deadlines |
//! | `answer` | answers as JSON |
//! | `stream` | answers as they come |
//! | `guard` | who may ask |
//! | `routes` | paths and methods |
//! | `doors` | the connections, of which there is a largest number |

mod error;

mod fields;

mod model;

mod ask;

mod attention;

mod engine;

mod socket;

mod answer;

mod stream;

mod guard;

mod routes;

mod doors;

#[cfg(any(test, fuzzing))]
#[doc(hidden)]
pub mod fuzzing;

pub use engine::{Stopped, WRITERS};
pub use guard::Access;

use doors::Doors;
use engine::{Engine, Job};
use llm_core::TinyGPT;
use llm_core::kernels::small::SmallKind;
use llm_core::tokenizer::Tokenizer;
use llm_run::Result;
use model::Served;
use routes::Service;
use std::fmt;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};

/// Requests that wait for a place; more are refused.
const QUEUE: usize = 64;

/// Bytes that a server keeps: the weights, small copies of them, and what every writer's text may leave.
pub fn memory(model: &TinyGPT, weights: Option<SmallKind>) -> u64 {
    let (config, attention) = (model.config(), model.attention());
    let kept = WRITERS * config.n_layers * config.seq_len * attention.cache_row(config);
    let numbers: usize = model.parameters().map(|(_, w)| w.numel()).sum();
    4 * (kept + numbers) as u64 + weights.map_or(0, |kind| model.small_bytes(kind))
}

/// A server that listens, and does not answer yet.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    service: Arc<Service>,
    jobs: Receiver<Job>,
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("listener", &self.listener).finish_non_exhaustive()
    }
}

impl Server {
    /// Listens where `access` says; `name` is the model's for clients.
    ///
    /// # Errors
    /// [`RunError::Usage`](llm_run::RunError::Usage) for an address that others reach, without a key;
    /// [`RunError::Data`](llm_run::RunError::Data) with what the system says of the address.
    pub fn bind(
        access: Access,
        name: &str,
        model: &TinyGPT,
        tokenizer: Arc<dyn Tokenizer>,
    ) -> Result<Server> {
        let (listener, address, guard) = access.listen()?;
        let served = Served::new(name, model, tokenizer);
        let (to_engine, jobs) = sync_channel(QUEUE);
        Ok(Server {
            listener,
            address,
            service: Arc::new(Service { served, guard, to_engine }),
            jobs,
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers until `stop` says so, which is asked many times a second: on this thread, in whose pool it computes.
    ///
    /// # Errors
    /// [`RunError::Core`](llm_run::RunError::Core) where there is no room for the writers.
    pub fn run(
        self,
        model: &TinyGPT,
        weights: Option<SmallKind>,
        stop: impl Fn() -> bool,
    ) -> Result<Stopped> {
        let engine = Engine::new(model, weights, self.service.served.clone())?;
        let doors = Doors::open(self.listener, self.service);
        let stopped = engine.run(&self.jobs, stop);
        doors.close(self.address);
        Ok(stopped)
    }
}
