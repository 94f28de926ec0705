//! Paths and methods: what a request gets.

use crate::answer::Answer;
use crate::ask::Ask;
use crate::attention::Look;
use crate::engine::Job;
use crate::error::{Refusal, Res, stopping};
use crate::fields::{expected, read};
use crate::guard::Guard;
use crate::model::Served;
use crate::socket::Socket;
use crate::stream::{Content, Events, next, whole};
use hyper::body::{Body, Incoming};
use hyper::header::{ACCESS_CONTROL_ALLOW_ORIGIN, CONTENT_LENGTH, HeaderValue, VARY};
use hyper::{Method, Request, Response, StatusCode};
use serde_json::{Value, json};
use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, TrySendError, channel};

/// Most bytes of a request's body.
const BODY: usize = 1 << 20;
/// The page for a browser.
const PAGE: &str = include_str!("page.html");

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
        let origin =
            self.guard.allowed(request.headers()).and_then(|o| HeaderValue::from_str(o).ok());
        let answered = self.answered(request, &socket).await;
        socket.answering();
        let mut reply = answered.unwrap_or_else(|refusal| {
            let mut reply = of_json(refusal.status, &refusal.json());
            if refusal.status == 405 {
                let allowed = refusal.param.as_deref().unwrap_or_default();
                reply.headers_mut().extend(
                    HeaderValue::from_str(allowed).ok().map(|value| (hyper::header::ALLOW, value)),
                );
            }
            reply
        });
        let headers = reply.headers_mut();
        headers.insert("x-content-type-options", HeaderValue::from_static("nosniff"));
        if let Some(origin) = origin {
            headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
            headers.insert(VARY, HeaderValue::from_static("origin"));
        }
        Ok(reply)
    }

    async fn answered(&self, request: Request<Incoming>, socket: &Socket) -> Res<Reply> {
        let (parts, body) = request.into_parts();
        let (path, method) = (parts.uri.path(), parts.method);
        let asks_before = method == Method::OPTIONS; // a browser, whether a page may ask
        let is_public = asks_before || ["/", "/health"].contains(&path);
        self.guard.check(&parts.headers, is_public)?;
        let name = path.strip_prefix("/v1/models/");
        let allowed = match path {
            "/" | "/health" | "/v1/models" => Method::GET,
            "/v1/completions" | "/v1/chat/completions" | "/tokenize" | "/attention" => Method::POST,
            _ if name == Some(&self.served.name) => Method::GET,
            _ => return Err(Refusal::new(404, "there is nothing at this path")),
        };
        if asks_before && self.guard.allowed(&parts.headers).is_some() {
            let mut reply = reply(204, "text/plain", String::new());
            for (name, value) in [
                ("access-control-allow-methods", "GET, POST"),
                ("access-control-allow-headers", "authorization, content-type"),
            ] {
                reply.headers_mut().insert(name, HeaderValue::from_static(value));
            }
            return Ok(reply);
        }
        if method != allowed {
            return Err(Refusal {
                param: Some(allowed.to_string()),
                ..Refusal::new(405, format!("this path is for {allowed}"))
            });
        }
        if parts.headers.get(CONTENT_LENGTH).and_then(|n| n.to_str().ok()?.parse().ok())
            > Some(BODY)
        {
            return Err(too_long());
        }
        let body = all_of(body).await?;
        socket.answering();
        let served = &self.served;
        match path {
            "/" => {
                let mut page = reply(200, "text/html; charset=utf-8", PAGE.into());
                let own = "default-src 'none'; connect-src 'self'; style-src 'unsafe-inline'; \
                           script-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
                page.headers_mut().insert("content-security-policy", HeaderValue::from_static(own));
                Ok(page)
            }
            "/health" => Ok(of_json(200, &json!({"status": "ok"}))),
            "/v1/models" => Ok(of_json(200, &json!({"object": "list", "data": [self.model()]}))),
            "/v1/completions" => self.write(Ask::completion(&body, served)?, &body, socket),
            "/v1/chat/completions" => self.write(Ask::chat(&body, served)?, &body, socket),
            "/tokenize" => Ok(of_json(200, &self.tokenize(&body)?)),
            "/attention" => {
                let look = Look::read(&body, served)?;
                let (to, from) = channel();
                self.hand_in(Job::Look(look, to))?;
                let maps = next(&from, socket).ok().flatten().unwrap_or_else(|| Err(stopping()))?;
                Ok(of_json(200, &maps))
            }
            _ => Ok(of_json(200, &self.model())),
        }
    }

    fn model(&self) -> Value {
        let Served { name, created, context, format, .. } = &*self.served;
        let talks = format.template.is_own; // the page offers to write on where it does not
        json!({"id": name, "object": "model", "created": created, "owned_by": "you", "max_model_len": context, "has_template": talks})
    }

    /// `content` or `prompt`, a text, to its tokens.
    fn tokenize(&self, body: &[u8]) -> Res<Value> {
        let text = read(body, |fields| {
            fields.usual(&[
                ("model", &[json!(self.served.name)]),
                ("add_special_tokens", &[json!(false)]),
            ]);
            match (fields.text("content")?, fields.text("prompt")?) {
                (Some(text), None) | (None, Some(text)) => Ok(text),
                _ => Err(expected("content", "a text, or one as 'prompt'")),
            }
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
        let events = Events::new(answer, from, socket.clone());
        let mut reply = reply(200, "text/event-stream", String::new());
        *reply.body_mut() = Content::Events(Box::new(events));
        Ok(reply)
    }

    fn hand_in(&self, job: Job) -> Res<()> {
        self.to_engine.try_send(job).map_err(|e| match e {
            TrySendError::Full(_) => {
                Refusal::new(429, "too many requests are waiting; ask again later")
                    .coded("queue_full")
            }
            TrySendError::Disconnected(_) => stopping(),
        })
    }
}

fn too_long() -> Refusal {
    Refusal::new(413, format!("a body of more than {BODY} bytes"))
}

/// A request's body, if it is not too long.
async fn all_of(mut body: Incoming) -> Res<Vec<u8>> {
    let mut all = Vec::new();
    while let Some(frame) = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
        let cut = |_| Refusal::new(400, "the body was cut");
        let Ok(bytes) = frame.map_err(cut)?.into_data() else { continue };
        if all.len() + bytes.len() > BODY {
            return Err(too_long());
        }
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
    let headers = reply.headers_mut();
    headers.insert("content-type", HeaderValue::from_static(kind));
    headers.insert("cache-control", HeaderValue::from_static("no-store"));
    reply
}
