//! The OpenAPI document: a file that a test makes from the handlers and the types.

use axum::response::{IntoResponse, Response};

/// Its text. `TAU_BLESS=1 cargo test -p taucode-cli --lib openapi` writes it again.
const DOCUMENT: &str = include_str!("openapi.json");

/// This document. Needs no token.
#[cfg_attr(test, utoipa::path(get, path = "/openapi.json", tag = "server", security(()), responses(
    (status = 200, description = "The OpenAPI 3.1 document", body = Object),
)))]
pub(super) async fn document() -> Response {
    ([("content-type", "application/json")], DOCUMENT).into_response()
}

#[cfg(test)]
mod tests {
    use utoipa::openapi::path::{Operation, PathItem};
    use utoipa::openapi::schema::AdditionalProperties;
    use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
    use utoipa::openapi::{Content, Ref, RefOr, ResponseBuilder, Schema, SecurityRequirement};
    use utoipa::{Modify, OpenApi};

    use super::super::super::problem::Problem;
    use super::super::super::types::{EventFrame, ExportFormat};
    use super::super::{answers, archive, attempts, branches, jobs, prompts, reading, server, sessions};
    use super::DOCUMENT;

    /// The responses that every request can have: status and description.
    const ALWAYS: [(&str, &str); 6] = [
        ("400", "The request is not valid"),
        ("401", "The token is missing or wrong"),
        ("403", "The host or the origin is not allowed"),
        ("429", "There are too many requests"),
        ("500", "The server failed"),
        ("503", "The server cannot take this now"),
    ];
    /// Further responses for requests with a body.
    const WITH_BODY: [(&str, &str); 2] = [("413", "The body is too large"), ("415", "The body is not JSON")];

    /// Further responses for requests about a session.
    const OF_SESSION: [(&str, &str); 1] = [("404", "There is no such session")];

    /// The document.
    #[derive(OpenApi)]
    #[openapi(
        info(
            title = "tau",
            description = "Sessions with a coding agent: prompts in, events out. Event streams are server-sent \
                           events; their records are described in docs/server.md and docs/rpc.md."
        ),
        paths(
            sessions::list, sessions::create, sessions::show, sessions::put, sessions::change, sessions::delete, sessions::close,
            archive::archive,
            prompts::prompt, prompts::prompt_anywhere, prompts::steer, prompts::follow_up, prompts::abort,
            branches::tree, branches::fork, branches::undo, branches::compact,
            answers::approval, answers::question,
            jobs::list, jobs::output, jobs::stop,
            attempts::list, attempts::begin, attempts::stop, attempts::changes, attempts::take, attempts::drop_all,
            attempts::worktree,
            reading::events, reading::history, reading::commands, reading::export,
            server::models, server::metrics, server::health, super::document,
        ),
        components(schemas(Problem, EventFrame, ExportFormat)),
        modifiers(&SharedParts)
    )]
    struct Document;

    /// Adds the parts common to all requests.
    struct SharedParts;

    impl Modify for SharedParts {
        fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
            let scheme = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).build();
            let components = document.components.get_or_insert_default();
            components.add_security_scheme("token", SecurityScheme::Http(scheme));
            document.security = Some(vec![SecurityRequirement::new("token", Vec::<String>::new())]);
            for (path, item) in &mut document.paths.paths {
                for operation in operations(item) {
                    let of_session: &[(&str, &str)] = if path.contains("{id}") { &OF_SESSION } else { &[] };
                    let with_body: &[(&str, &str)] =
                        if operation.request_body.is_some() { &WITH_BODY } else { &[] };
                    complete(operation, &[&ALWAYS, of_session, with_body].concat());
                }
            }
            for schema in components.schemas.values_mut() {
                close(schema);
            }
        }
    }

    fn operations(item: &mut PathItem) -> impl Iterator<Item = &mut Operation> {
        [&mut item.get, &mut item.post, &mut item.put, &mut item.patch, &mut item.delete]
            .into_iter()
            .flatten()
    }

    /// Adds a setting that the macro omits for variants: unknown fields are refused there, too.
    fn close(schema: &mut RefOr<Schema>) {
        let RefOr::T(Schema::OneOf(several)) = schema else { return };
        for item in &mut several.items {
            if let RefOr::T(Schema::Object(object)) = item
                && !object.properties.is_empty()
            {
                object.additional_properties = Some(Box::new(AdditionalProperties::FreeForm(false)));
            }
        }
    }

    /// Adds responses where an operation has none with their status, and describes the content of all error
    /// responses.
    fn complete(operation: &mut Operation, added: &[(&str, &str)]) {
        let responses = &mut operation.responses.responses;
        for (status, description) in added {
            let response = || ResponseBuilder::new().description(*description).build().into();
            responses.entry((*status).to_owned()).or_insert_with(response);
        }
        for (_, response) in responses.iter_mut().filter(|(status, _)| status.as_str() >= "400") {
            if let RefOr::T(response) = response {
                let content = Content::new(Some(Ref::from_schema_name("Problem")));
                response.content.insert("application/problem+json".to_owned(), content);
            }
        }
    }

    #[test]
    fn the_document_describes_the_handlers_and_the_types() {
        let mut made = Vec::new();
        let lines = serde_json::ser::PrettyFormatter::with_indent(b" ");
        let mut serializer = serde_json::Serializer::with_formatter(&mut made, lines);
        serde::Serialize::serialize(&Document::openapi(), &mut serializer).unwrap();
        made.push(b'\n');
        if std::env::var_os("TAU_BLESS").is_some() {
            let path = concat!(env!("CARGO_MANIFEST_DIR"), "/serve/routes/openapi.json");
            std::fs::write(path, &made).unwrap();
            return;
        }
        assert!(made == DOCUMENT.as_bytes(), "openapi.json is old; TAU_BLESS=1 writes it again");
    }
}
