//! What is too long, in the words of services: by these alone it is known, however large the request was.

use belvedere::provider::ErrorKind;

use super::http::refusal;
use super::server::Reply;

/// As the services of today say it, each in a few words.
#[rustfmt::skip]
const TOO_LONG: [&str; 40] = [
    // Told by the words, without a number that says it.
    "input length and `max_tokens` exceed context limit: 1 + 2 > 3",
    "This model's maximum context length is 8192 tokens",
    "The input token count (9) exceeds the maximum number of tokens allowed (8).",
    "prompt is too long: 208310 tokens > 200000 maximum",
    "input length and `max_tokens` exceed context limit: 190000 + 32000 > 200000, decrease input length or `max_tokens` and try again",
    "This model's maximum context length is 8192 tokens. However, your messages resulted in 9313 tokens. Please reduce the length of the messages.",
    "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 301022 tokens.",
    "Your input exceeds the context window of this model. Please adjust your input and try again.",
    "the request exceeds the available context size. try increasing the context size",
    "request (9313 tokens) exceeds the available context size (8192 tokens), try increasing it",
    "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
    "The input token count exceeds the maximum number of tokens allowed 1048576.",
    "Request payload size exceeds the limit: 20971520 bytes.",
    "Prompt contains 40112 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
    "Please reduce the length of the messages or completion. Current length is 9012 while limit is 8192",
    "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
    "`inputs` tokens + `max_new_tokens` must be <= 4097. Given: 5024 `inputs` tokens and 512 `max_new_tokens`",
    "Input validation error: `inputs` must have less than 4096 tokens. Given: 5024",
    "Invalid request: Your request exceeded model token limit: 131072 (requested: 140210)",
    "Prompt exceeds max length",
    "Range of input length should be [1, 30720]",
    "invalid params, context window exceeds limit (2013)",
    "prompt token count of 138040 exceeds the limit of 128000",
    "too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 5392.",
    "This endpoint's maximum context length is 163840 tokens. However, you requested about 201123 tokens (190000 of text input, 11123 in the output).",
    "The prompt (total length 9027) is too long to fit into the model (context length 8192). Make sure that `max_model_len` is no smaller",
    "Requested token count exceeds the model's maximum context length of 8192 tokens. You requested a total of 9000 tokens",
    "The input (9027 tokens) is longer than the model's context length (8192 tokens).",
    "Trying to keep the first 9027 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens",
    "prompt too long; exceeded max context length by 812 tokens",
    "Input is too long for requested model.",
    "The maximum tokens you requested exceeds the model limit of 8192: input 9000 tokens",
    "input is too long: 9027 tokens, at most 8192 are allowed for this prompt",
    "The prompt is too long: 140000, model maximum context length: 131071",
    "Token limit exceeded: the conversation has 140210 tokens, the maximum is 131072",
    "The message you submitted was too long, please reload the conversation and submit something shorter.",
    "Input length 9027 exceeds maximum allowed token size 8192",
    "exceed_context_size_error: the request has 9027 tokens, n_ctx is 8192",
    "Requests to this model must have at most 32000 input tokens; this one has 40112",
    "context overflow: 40112 tokens in the prompt",
];

/// What has numbers or sizes in it, and is about something else.
const OTHER: [&str; 10] = [
    "tools.0.name: String is too long: 80 characters, at most 64",
    "Rate limit reached: 200000 tokens per minute, requested 210000. Try again in 3 s.",
    "messages.3.content.1.image: image exceeds 5 MB maximum: 5316852 bytes > 5242880 bytes",
    "Array too long. Expected an array with maximum length 128, but got an array with length 4096 instead.",
    "max_tokens: 64000 > 32000, which is the maximum allowed number of output tokens for this model",
    "temperature must be less than 2",
    "The model `m-32768` does not take `reasoning_effort`",
    "A PDF may have at most 100 pages, this one has 2048",
    "context_management: unknown",
    "at most 4096 stop sequences, each of at most 1024 characters",
];

async fn kind_of(words: &str) -> ErrorKind {
    let body = serde_json::json!({"error": {"type": "invalid_request_error", "message": words}}).to_string();
    refusal(Reply::new(400, "application/json", body)).await.kind
}

#[tokio::test]
async fn the_words_of_services_for_too_long_are_known() {
    let mut missed = Vec::new();
    for words in TOO_LONG {
        if kind_of(words).await != ErrorKind::ContextTooLong {
            missed.push(words);
        }
    }
    assert!(missed.is_empty(), "{missed:#?}");
}

#[tokio::test]
async fn other_sizes_are_not_taken_for_the_length_of_a_conversation() {
    for words in OTHER {
        assert_ne!(kind_of(words).await, ErrorKind::ContextTooLong, "{words}");
    }
}
