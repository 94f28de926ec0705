//! Paths and methods: what a request gets.

use crate::answer::Answer;
use crate::ask::Ask;
use crate::attention::Look;
use crate::engine::Job;
use crate::error::{Refusal, Res, expected, stopping};
use crate::fields::read;
use crate::guard::Guard;
use crate::model::Served;
use crate::socket::Socket;
use crate::stream::{Content, Events, next, whole};
use hyper::body::{Body, Incoming};
use hyper::header::{CONTENT_LENGTH, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use serde_json::{Value, json};
use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, TrySendError, channel};

/// Most bytes of a request's body.
const BODY: usize = 1 << 20;
/// The page for a browser.
const PAGE: &str = include_str!("page.html");
/// What the page may do: ask this server, by what stands in it.
const OWN: &str = "default-src 'none'; connect-src 'self'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
                   base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// What connections share.
pub struct Service {
    pub served: Arc<Served>,
    pub guard: Guard,
    pub to_engine: SyncSender<Job>,
}

type Reply = Response<Content>;

impl Service {
    /// The response to a request.
    pub async fn answer(
        self: Arc<Self>,
        request: Request<Incoming>,
        socket: Socket,
    ) -> Result<Reply, Infallible> {
        let origin = self.guard.allowed(request.headers()).cloned();
        let answered = self.answered(request, &socket).await;
        socket.answering();
        let mut reply = answered.unwrap_or_else(|why| of_json(why.status, &why.json()));
        let headers = reply.headers_mut();
        if let Some(origin) = origin {
            headers.insert("access-control-allow-origin", origin);
        }
        for (name, value) in [
            ("access-control-allow-headers", "authorization, content-type"),
            ("vary", "origin"),
            ("cache-control", "no-store"),
            ("x-content-type-options", "nosniff"),
            ("content-security-policy", OWN),
        ] {
            headers.insert(name, HeaderValue::from_static(value));
        }
        Ok(reply)
    }

    async fn answered(&self, request: Request<Incoming>, socket: &Socket) -> Res<Reply> {
        let (parts, body) = request.into_parts();
        let (path, method, headers) = (parts.uri.path(), parts.method, &parts.headers);
        // A browser asks before whether a page may.
        let asks_before = method == Method::OPTIONS && self.guard.allowed(headers).is_some();
        self.guard.check(headers, asks_before || ["/", "/health"].contains(&path))?;
        let allowed = match path {
            "/v1/completions" | "/v1/chat/completions" | "/tokenize" | "/attention" => Method::POST,
            "/" | "/health" | "/v1/models" => Method::GET,
            _ if path.strip_prefix("/v1/models/") == Some(&self.served.name) => Method::GET,
            _ => return Err(Refusal::new(404, "there is nothing at this path")),
        };
        if asks_before {
            return Ok(reply(204, "text/plain", String::new()));
        }
        if method != allowed {
            return Err(Refusal::new(405, format!("this path is for {allowed}")));
        }
        let length = headers.get(CONTENT_LENGTH).and_then(|n| n.to_str().ok()?.parse().ok());
        let body = all_of(body, length.unwrap_or(0)).await?;
        socket.answering();
        let served = &self.served;
        let answer = match path {
            "/" => return Ok(reply(200, "text/html; charset=utf-8", PAGE.into())),
            "/health" => json!({"status": "ok"}),
            "/v1/models" => json!({"object": "list", "data": [self.model()]}),
            "/v1/completions" => return self.write(Ask::completion(&body, served)?, &body, socket),
            "/v1/chat/completions" => return self.write(Ask::chat(&body, served)?, &body, socket),
            "/tokenize" => self.tokenize(&body)?,
            "/attention" => {
                let (to, from) = channel();
                self.hand_in(Job::Look(Look::read(&body, served)?, to))?;
                next(&from, socket)??
            }
            _ => self.model(),
        };
        Ok(of_json(200, &answer))
    }

    fn model(&self) -> Value {
        let Served { name, created, context, .. } = &*self.served;
        let talks = self.served.has_template();
        json!({"id": name, "object": "model", "created": created, "owned_by": "you", "max_model_len": context, "has_template": talks})
    }

    /// `content` or `prompt`, a text, to its tokens.
    fn tokenize(&self, body: &[u8]) -> Res<Value> {
        let text = read(body, |fields| {
            fields.usual("model", &[json!(self.served.name)]);
            fields.usual("add_special_tokens", &[json!(false)]);
            let text = fields.text("content")?.or(fields.text("prompt")?);
            text.ok_or_else(|| expected("content", "a text"))
        })?;
        let tokens = self.served.tokens(&text)?;
        let shown: Vec<String> = tokens.iter().map(|&token| self.served.shown(token)).collect();
        let (count, context) = (tokens.len(), self.served.context);
        Ok(json!({"tokens": tokens, "text": shown, "count": count, "max_model_len": context}))
    }

    fn write(&self, ask: Ask, body: &[u8], socket: &Socket) -> Res<Reply> {
        let (ask, (to, from)) = (Arc::new(ask), channel());
        self.hand_in(Job::Write(ask.clone(), to))?;
        let answer = Answer::new(ask, self.served.clone(), body);
        if !answer.ask.stream {
            return Ok(of_json(200, &whole(answer, &from, socket)?));
        }
        let mut reply = reply(200, "text/event-stream", String::new());
        *reply.body_mut() = Content::Events(Box::new(Events::new(answer, from, socket.clone())));
        Ok(reply)
    }

    fn hand_in(&self, job: Job) -> Res<()> {
        self.to_engine.try_send(job).map_err(|e| match e {
            TrySendError::Full(_) => {
                Refusal::new(429, "too many requests are waiting").coded("queue_full")
            }
            TrySendError::Disconnected(_) => stopping(),
        })
    }
}

/// A request's body, if it is not too long; `length` is what its head says.
async fn all_of(body: Incoming, length: u64) -> Res<Vec<u8>> {
    let (mut body, mut all) = (pin!(body), Vec::new());
    let fits = |n: usize| match n <= BODY {
        true => Ok(()),
        false => Err(Refusal::new(413, format!("a body of more than {BODY} bytes"))),
    };
    fits(length.try_into().unwrap_or(usize::MAX))?;
    while let Some(frame) = poll_fn(|cx| body.as_mut().poll_frame(cx)).await {
        let frame = frame.map_err(|_| Refusal::new(400, "the body was cut"))?;
        let bytes = frame.into_data().unwrap_or_default();
        fits(all.len() + bytes.len())?;
        all.extend_from_slice(&bytes);
    }
    Ok(all)
}

fn of_json(status: u16, value: &Value) -> Reply {
    reply(status, "application/json", value.to_string())
}

fn reply(status: u16, kind: &'static str, text: String) -> Reply {
    let mut reply = Response::new(Content::Whole(Some(text.into())));
    *reply.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    reply.headers_mut().insert("content-type", HeaderValue::from_static(kind));
    reply
}
