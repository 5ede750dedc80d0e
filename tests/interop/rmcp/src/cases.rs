//! Cases of both eras.

use std::time::Duration;

use futures::future::join_all;
use rmcp::model::*;
use rmcp::service::{PeerRequestOptions, ServiceError};
use serde_json::{Value, json};

use crate::handler::typed;
use crate::{NOT_OFFERED, Outcome, Run, Session, check, refused, text_of};

pub const ALL: &[(&str, Run)] = crate::cases! {
    "connect: version, capabilities, serverInfo, instructions" => connects,
    "tools/list, resources/list, resources/templates/list, prompts/list" => lists,
    "tools/call: content of every kind" => calls,
    "tools/call: isError, unknown tool, unknown method" => fails,
    "tools/call: 50 at once overlap" => overlaps,
    "tools/call: progress" => progress,
    "tools/call: cancelled while it runs; no late response" => cancels,
    "tools/call: the client's timeout cancels it" => times_out,
    "resources/read: text, binary, template, unknown" => reads,
    "prompts/get: simple, with arguments, embedded, image, unknown" => prompts,
    "completion/complete: prompt argument, template variable" => completes,
    "skills/list, skills/get, files with the SDK's verification, directories" => skills,
};

/// The SDK checks the entries that it receives, and the files against them.
async fn skills(session: &Session) -> Outcome {
    let service = &session.service;
    let declared = service.peer_info().is_some_and(|info| info.capabilities.supports_skills());
    if !declared {
        return Err(format!("{NOT_OFFERED} by this server, or before 2025-06-18: skills").into());
    }
    let listed = service.list_all_skills().await?;
    let skill = listed.first().ok_or("no skill")?;
    let got = service.get_skill(GetSkillRequestParams::new(&skill.uri)).await?;
    check(got.skill == *skill, "skills/get", &got)?;
    check(skill.validate().is_ok(), "validate", skill)?;
    let SkillResources::Files(files) = &skill.resources else { return Err("no files".into()) };
    for file in files {
        let params = ReadResourceRequestParams::new(&file.uri);
        let read = json!(service.read_resource(params).await?);
        let text = read["contents"][0]["text"].as_str().unwrap_or_default();
        check(file.verify(text.as_bytes()).is_ok(), "verify", &read)?;
    }
    let root = skill.uri.trim_end_matches("/SKILL.md");
    let directory = ReadResourceDirectoryRequestParams::new(root);
    let children = service.read_resource_directory(directory).await?;
    check(children.resources.iter().any(Resource::is_directory), "a directory", &children)?;
    let file = ReadResourceDirectoryRequestParams::new(&skill.uri);
    refused(service.read_resource_directory(file).await, -32602)?;
    let unknown = GetSkillRequestParams::new("skill://unknown/SKILL.md");
    refused(service.get_skill(unknown).await, -32602)
}

const NON_ASCII: &str = "Zażółć gęślą jaźń – 日本語 🦀 \u{2028} \u{7f} \"\\";

fn shape(result: &Value) -> Vec<Value> {
    result["content"].as_array().into_iter().flatten().map(|block| block["type"].clone()).collect()
}

async fn connects(session: &Session) -> Outcome {
    let info = json!(session.service.peer_info().as_deref());
    check(info["protocolVersion"] == json!(session.mode.revision), "protocolVersion", &info)?;
    for capability in ["tools", "resources", "prompts"] {
        check(info["capabilities"][capability].is_object(), capability, &info)?;
    }
    check(
        info["serverInfo"]["name"].is_string() && info["instructions"].is_string(),
        "serverInfo, instructions",
        &info,
    )
}

async fn lists(session: &Session) -> Outcome {
    let tools = json!(session.service.list_all_tools().await?);
    let names: Vec<_> = tools.as_array().into_iter().flatten().map(|tool| &tool["name"]).collect();
    check(names.contains(&&json!("test_simple_text")), "test_simple_text", &names)?;
    let resources = json!(session.service.list_all_resources().await?);
    check(resources.to_string().contains("test://static-text"), "test://static-text", &resources)?;
    let templates = json!(session.service.list_all_resource_templates().await?);
    check(templates[0]["uriTemplate"] == "test://template/{id}/data", "the template", &templates)?;
    let prompts = json!(session.service.list_all_prompts().await?);
    check(
        prompts.to_string().contains("test_prompt_with_arguments"),
        "test_prompt_with_arguments",
        &prompts,
    )
}

async fn calls(session: &Session) -> Outcome {
    for (tool, wanted) in [
        ("test_simple_text", json!(["text"])),
        ("test_image_content", json!(["image"])),
        ("test_audio_content", json!(["audio"])),
        ("test_embedded_resource", json!(["resource"])),
        ("test_multiple_content_types", json!(["text", "image", "resource"])),
    ] {
        // 2025-03-26 added audio.
        if tool == "test_audio_content" && session.mode.revision < ProtocolVersion::V_2025_03_26 {
            continue;
        }
        let result = session.call(tool, json!({})).await?;
        check(json!(shape(&result)) == wanted, tool, &result)?;
    }
    Ok(())
}

async fn fails(session: &Session) -> Outcome {
    let result = session.call("test_error_handling", json!({})).await?;
    check(
        result["isError"] == true && !text_of(&result).is_empty(),
        "isError, with a text",
        &result,
    )?;
    refused(session.call("no_such_tool", json!({})).await, -32602)?;
    let unknown = ClientRequest::CustomRequest(CustomRequest::new(
        "unknown/method",
        Some(json!({ "key": NON_ASCII })),
    ));
    refused(session.service.send_request(unknown).await, -32601)
}

async fn overlaps(session: &Session) -> Outcome {
    // The SDK sends a request when its future is first polled.
    let calls = (0..50).map(|_| session.call("slow", json!({ "seconds": 1 })));
    let mut done = 0;
    for result in join_all(calls).await {
        done += usize::from(!text_of(&result?).is_empty());
    }
    check(done == 50, "50 answers", done)
}

async fn progress(session: &Session) -> Outcome {
    session.call("test_tool_with_progress", json!({})).await?;
    let seen = session.seen.wait("notifications/progress", 3).await;
    let values: Vec<_> = seen.iter().filter_map(|params| params["progress"].as_f64()).collect();
    check(
        values == [0.0, 50.0, 100.0] && seen.iter().all(|params| params["total"] == 100.0),
        "0, 50, 100 of 100",
        &seen,
    )
}

fn slow(seconds: f64) -> ClientRequest {
    let arguments = json!({ "seconds": seconds }).as_object().cloned().unwrap_or_default();
    ClientRequest::CallToolRequest(CallToolRequest::new(
        CallToolRequestParams::new("slow").with_arguments(arguments),
    ))
}

async fn still_works(session: &Session) -> Outcome {
    let result = session.call("test_simple_text", json!({})).await?;
    check(!text_of(&result).is_empty(), "a later call must still succeed", &result)
}

async fn cancels(session: &Session) -> Outcome {
    let call = session
        .service
        .send_cancellable_request(slow(1.5), PeerRequestOptions::no_options())
        .await?;
    let seen = session.seen.wait("notifications/progress", 2).await;
    check(
        seen.len() >= 2 && seen[0]["progressToken"] == json!(call.progress_token),
        "progress of the call",
        &seen,
    )?;
    call.cancel(Some("the test cancelled".into())).await?;
    still_works(session).await?;
    let before = session.seen.all("notifications/progress").len();
    // Past its end: the recording must show no late response.
    tokio::time::sleep(Duration::from_millis(1700)).await;
    check(
        session.seen.all("notifications/progress").len() == before,
        "progress of a cancelled call",
        before,
    )?;
    still_works(session).await
}

async fn times_out(session: &Session) -> Outcome {
    let options = PeerRequestOptions::with_timeout(Duration::from_millis(300));
    let call = session.service.send_cancellable_request(slow(1.0), options).await?;
    let answer = call.await_response().await;
    check(matches!(answer, Err(ServiceError::Timeout { .. })), "a timeout", answer)?;
    still_works(session).await
}

async fn reads(session: &Session) -> Outcome {
    let read = async |uri: &str| {
        session
            .service
            .read_resource(ReadResourceRequestParams::new(uri))
            .await
            .map(|result| json!(result))
    };
    let text = read("test://static-text").await?;
    check(
        text["contents"][0]["text"].is_string() && text["contents"][0]["mimeType"] == "text/plain",
        "text",
        &text,
    )?;
    let binary = read("test://static-binary").await?;
    check(
        binary["contents"][0]["blob"].as_str().is_some_and(|blob| blob.starts_with("iVBORw0KGgo")),
        "a PNG",
        &binary,
    )?;
    let template = read("test://template/123/data").await?;
    check(
        template["contents"][0]["uri"] == "test://template/123/data",
        "the template's uri",
        &template,
    )?;
    refused(
        read("test://no-such-resource").await,
        if session.mode.modern { -32602 } else { -32002 },
    )
}

async fn prompts(session: &Session) -> Outcome {
    let get = async |name: &str, arguments: Value| {
        let params: GetPromptRequestParams = typed(json!({ "name": name, "arguments": arguments }))
            .map_err(ServiceError::McpError)?;
        session.service.get_prompt(params).await.map(|result| json!(result)["messages"].clone())
    };
    let simple = get("test_simple_prompt", json!({})).await?;
    check(simple[0]["content"]["text"].is_string(), "text", &simple)?;
    let filled =
        get("test_prompt_with_arguments", json!({ "arg1": NON_ASCII, "arg2": "élan 🎉" })).await?;
    let said = filled[0]["content"]["text"].as_str().unwrap_or_default();
    check(said.contains(NON_ASCII) && said.contains("élan 🎉"), "both values", said)?;
    let embedded =
        get("test_prompt_with_embedded_resource", json!({ "resourceUri": "test://example" }))
            .await?;
    check(embedded.to_string().contains("test://example"), "the resource", &embedded)?;
    let image = get("test_prompt_with_image", json!({})).await?;
    check(image.to_string().contains("image/png"), "the image", &image)?;
    refused(get("no_such_prompt", json!({})).await, -32602)?;
    refused(get("test_prompt_with_arguments", json!({ "arg1": "only" })).await, -32602)
}

async fn completes(session: &Session) -> Outcome {
    let prompt = json!({ "type": "ref/prompt", "name": "test_prompt_with_arguments" });
    let template = json!({ "type": "ref/resource", "uri": "test://template/{id}/data" });
    for params in [
        json!({ "ref": prompt, "argument": { "name": "arg1", "value": "par" } }),
        json!({ "ref": template, "argument": { "name": "id", "value": "1" } }),
    ] {
        let params: CompleteRequestParams = typed(params)?;
        let completion = json!(session.service.complete(params).await?);
        check(completion["completion"]["values"].is_array(), "values", &completion)?;
    }
    Ok(())
}
