//! Tests of what is written: pages, sources, sentences; one binary, modules named by what they look
//! at. Those of what the libraries do are in `tests.rs`.

#![allow(clippy::unwrap_used)] // also in the helpers between the tests

mod attention_contract;
mod docs;
mod floors;
mod grouped_queries;
mod literals;
mod many_machines;
mod named_path;
mod plain_words;
mod promised;
mod same_bytes;
mod templates;
mod translations;
mod type_names;
mod web_page;
mod weight;
