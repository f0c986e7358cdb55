//! From the bytes of an answer of 50,000 events to stream events, for both wire formats.

use std::fmt::Write as _;
use std::hint::black_box;

use belvedere::provider::table::ProviderTable;
use belvedere::provider::{Credential, Feed, Service, anthropic, openai};
use criterion::{Criterion, Throughput};

const EVENTS: usize = 50_000;
/// What one read of a socket returns at most.
const CHUNK: usize = 16 * 1024;

/// Returns a decoder of one wire format.
type Decoder = fn(Service) -> Feed;

fn service() -> Service {
    let row = ProviderTable::default().rows().next().expect("a row").clone();
    Service::new(row, Credential::None)
}

fn anthropic_answer() -> String {
    let mut answer = String::new();
    answer.push_str("event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n");
    for count in 0..EVENTS {
        let _ = write!(
            answer,
            "event: content_block_delta\ndata: {{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{{\"type\":\"text_delta\",\"text\":\" word{count}\"}}}}\n\n"
        );
    }
    answer.push_str("data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":50000}}\n\ndata: {\"type\":\"message_stop\"}\n\n");
    answer
}

fn openai_answer() -> String {
    let mut answer = String::new();
    for count in 0..EVENTS {
        let _ = write!(
            answer,
            "data: {{\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\" word{count}\"}},\"finish_reason\":null}}]}}\n\n"
        );
    }
    answer.push_str("data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n");
    answer
}

pub(crate) fn bench(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("decode");
    group.sample_size(20);
    let formats: [(&str, Decoder, String); 2] =
        [("anthropic", anthropic::feed, anthropic_answer()), ("openai", openai::feed, openai_answer())];
    for (name, feed, answer) in formats {
        group.throughput(Throughput::Bytes(answer.len() as u64));
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                let mut feed = feed(service());
                let mut events = 0;
                for chunk in answer.as_bytes().chunks(CHUNK) {
                    feed.push(chunk).unwrap();
                    while let Some(event) = feed.next_event() {
                        black_box(event);
                        events += 1;
                    }
                }
                feed.end().unwrap();
                events
            });
        });
    }
    group.finish();
}
