//! What the recorded answers of `conform dev judges` cannot show: known failures, selection, messages, chunks.

use crate::{
    leaf::Leaf, suite, value::is_equal, Answer, Check, Culprit, Input, KnownFailures, Level, Raised, Run,
    Set, Suite, Verdict,
};
use serde_json::{json, Value};
use std::{convert::Infallible, env, fs, process};

/// Returns a suite with the cases `text/hello` and `text/moon`, which a client answers with the body as text.
fn make_suite() -> Suite {
    let case = |name: &str, text: &str, fields: Value| {
        let trial = |name: &str, set: &str, level: &str, cuts: Value| json!({"name": name, "set": set, "level": level, "inputs": ["bytes"], "cuts": cuts});
        json!({
            "id": format!("tin-chat/text/{name}"), "kind": "stream", "title": format!("Says {name}"), "level": "must",
            "spec": "tin-chat/text.yaml", "line": 7, "capabilities": [],
            "stream": {"status": 200, "headers": {}, "request": {}, "body": text},
            "expect": {"fields": fields, "content": [{"type": "text", "fields": {"text": {"equals": text}}}]},
            "trials": [
                trial("as-is", "fast", "must", json!([2])), trial("whole", "standard", "should", json!([])),
                trial("bytewise", "full", "must", json!("every")),
            ],
        })
    };
    let fields = json!({"status": {"equals": "complete"}, "usage.output": {"equals": 3}});
    let cases = [
        case("hello", "Hello", fields.clone()),
        case("moon", "Good night, moon", fields),
        json!({"id": "tin-chat/requests/one", "kind": "request"}),
    ];
    suite::parse(&json!({"suite": 1, "api": "tin-chat", "cases": cases}).to_string()).expect("a suite")
}

fn answer(text: &str) -> Value {
    json!({"status": "complete", "stop": {"reason": "stop"}, "usage": {"output": 3},
           "content": [{"type": "text", "text": text}]})
}

fn read(input: &Input<'_>) -> Value {
    answer(&String::from_utf8(input.chunks.concat()).expect("text"))
}

/// Is wrong about the moon.
fn read_wrongly(input: &Input<'_>) -> Value {
    answer(&String::from_utf8(input.chunks.concat()).expect("text").replace("moon", "sun"))
}

fn known(name: &str, entries: &str) -> KnownFailures {
    let path = env::temp_dir().join(format!("streamconform-{}-{name}.yaml", process::id()));
    fs::write(&path, format!("known-failures: 1\n# why\nentries:\n{entries}")).expect("a writable folder");
    let known = KnownFailures::read(&path);
    fs::remove_file(&path).expect("the file");
    known.expect("a file of known failures")
}

fn entry(pattern: &str, more: &str) -> String {
    format!("  - match: \"{pattern}\"\n    verdict: fail\n    reason: not yet\n    issue: me/tin#1\n{more}")
}

#[test]
fn a_right_client_passes() {
    let report = Run::new([make_suite()]).claims(["usage"]).judge(read);
    assert!(report.is_ok());
    assert_eq!(report.to_string(), "0 of 4 trials failed; 0 known failures, 0 warnings");
}

#[test]
fn a_report_shows_path_values_case_level_and_source() {
    let report = Run::new([make_suite()]).claims(["usage"]).judge(read_wrongly);
    let expected = "\
tin-chat/text/moon@as-is
  Says moon (must, specs/tin-chat/text.yaml:7)
  content.0.text: expected \"Good night, moon\", got \"Good night, sun\"

1 of 4 trials failed; 0 known failures, 1 warnings";
    assert_eq!(report.to_string(), expected);
    let output = report.to_test_output(2, false);
    assert!(output.contains("test tin-chat/text/moon@as-is ... FAILED\n"));
    assert!(output.contains("test tin-chat/text/moon@whole ... ok, with a warning\n"));
    assert!(
        output.ends_with("test result: FAILED. 3 passed; 1 failed; 0 ignored; 0 measured; 2 filtered out\n")
    );
}

#[test]
fn strict_makes_warnings_failures() {
    let report = Run::new([make_suite()]).claims(["usage"]).strict().judge(read_wrongly).to_string();
    assert!(report.contains("  and 1 like it: tin-chat/text/moon@whole\n"), "{report}");
}

#[test]
fn sets_levels_and_globs_select_trials() {
    let count = |run: Run| run.claims(["usage"]).judge(read).to_string();
    let run = || Run::new([make_suite()]);
    assert!(count(run().set(Set::Fast)).starts_with("0 of 2 "));
    assert!(count(run().set(Set::Full)).starts_with("0 of 6 "));
    assert!(count(run().level(Level::Must)).starts_with("0 of 2 "));
    assert!(count(run().select("tin-chat/*/moon")).starts_with("0 of 2 "));
    assert!(count(run().select("**@whole").select("tin-chat/text/moon@as-is")).starts_with("0 of 3 "));
    assert!(count(run().select("moon")).starts_with("0 of 0 "));
}

#[test]
fn known_failures_cover_trials_and_checks() {
    let entries = [
        ("tin-chat/text/moon", ""),
        ("tin-chat/**", "    message: \"content.0.text: expected\"\n"),
        ("tin-chat/text/moon@as-is:content.*.text", "    expires: \"2999-01-01\"\n"),
    ];
    for (i, (pattern, more)) in entries.iter().enumerate() {
        let run = Run::new([make_suite()]).claims(["usage"]).level(Level::Must).select("**/moon");
        let report =
            run.known_failures(known(&format!("covers-{i}"), &entry(pattern, more))).judge(read_wrongly);
        assert!(report.is_ok(), "{report}");
        assert!(report.to_test_output(0, false).contains("moon@as-is ... ignored, not yet (me/tin#1)\n"));
    }
}

#[test]
fn entries_that_are_out_of_date_are_reported_with_their_lines() {
    let entries = [
        ("tin-chat/text/hello", "", "is fixed, all 2 trials pass: remove the entry"),
        ("tin-chat/**", "", "fails in only 2 of 4 trials: narrow the pattern"),
        ("**/moon", "    message: status\n", "fails in a different way: update or remove the entry"),
        ("tin-chat/text/mars", "", "matches nothing in the suite"),
        ("**/moon", "    expires: \"2020-02-29\"\n", "expired on 2020-02-29"),
        ("**/moon:usage.output", "", "is fixed, all 2 trials pass: remove the entry"),
    ];
    for (i, (pattern, more, message)) in entries.iter().enumerate() {
        let entries = entry("**/moon@as-is", "    message: content\n") + &entry(pattern, more);
        let run =
            Run::new([make_suite()]).claims(["usage"]).known_failures(known(&format!("old-{i}"), &entries));
        let report = run.judge(read_wrongly);
        assert!(!report.is_ok());
        assert_eq!(report.problems.len(), 1, "{report}");
        assert!(report.problems[0].contains(&format!(".yaml:9: `{pattern}` {message}")), "{report}");
    }
    let twice = entry("tin-chat/requests/one", "") + &entry("tin-chat/requests/one", "");
    let report =
        Run::new([make_suite()]).claims(["usage"]).known_failures(known("twice", &twice)).judge(read);
    assert!(report.to_string().contains("yaml:4: remove one"), "{report}");
}

#[test]
fn entries_by_cause_cover_nothing_and_unknown_keys_are_errors() {
    let cause = "  - {cause: text-truncated, api: tin-chat, trials: 2, reason: not yet, issue: me/tin#1}\n";
    let run = Run::new([make_suite()]).claims(["usage"]).known_failures(known("cause", cause));
    assert!(!run.judge(read_wrongly).is_ok());
    assert!(run.judge(read).is_ok());
    let path = env::temp_dir().join(format!("streamconform-{}-wrong.yaml", process::id()));
    fs::write(&path, "known-failures: 1\nentries:\n- {macth: x, reason: y, issue: z}\n")
        .expect("a writable folder");
    let error = KnownFailures::read(&path).expect_err("an unknown key").to_string();
    fs::remove_file(&path).expect("the file");
    assert!(error.contains("macth"), "{error}");
}

#[test]
fn a_claim_of_which_nothing_was_compared_fails() {
    let hide = |input: &Input<'_>| {
        let mut answer = read(input);
        answer["usage"] = json!({"input": 5});
        answer
    };
    let report = Run::new([make_suite()]).claims(["usage"]).judge(hide);
    assert_eq!(report.problems.len(), 1);
    assert!(report.problems[0]
        .starts_with("`usage` is claimed, but none of the 4 trials that expect it compared"));
    assert!(Run::new([make_suite()]).claims(["stop"]).judge(hide).is_ok());
}

#[test]
fn cases_that_need_an_unclaimed_capability_are_skipped_and_counted() {
    let mut suite = make_suite();
    suite.cases[1].capabilities.push("parallel_tool_calls".to_owned());
    let report = Run::new([suite]).claims(["usage"]).judge(read_wrongly).to_string();
    assert!(report.ends_with("; 2 skipped: parallel_tool_calls is not claimed"), "{report}");
}

#[test]
#[should_panic(expected = "unknown capability `tools`")]
fn an_unknown_claim_is_an_error() {
    drop(Run::new([make_suite()]).claims(["tools"]));
}

#[test]
fn a_panic_and_an_error_fail_with_their_messages() {
    let run = Run::new([make_suite()]).claims(["usage"]).select("**/hello@as-is");
    let panics = |_: &Input<'_>| -> Value { panic!("index out of bounds") };
    assert!(run
        .judge(panics)
        .to_string()
        .contains("invariant.no-panic: the client panicked: index out of bounds"));
    let report = run.judge(|_| Err::<Value, _>("bad\nframe")).to_string();
    assert!(
        report.contains("  &str: bad\\nframe\n  status: expected \"complete\", got \"error\""),
        "{report}"
    );
}

#[test]
fn an_outcome_that_is_not_in_the_normal_form_is_the_adapters_fault() {
    let suite = make_suite();
    let (case, trial) = suite.find("tin-chat/text/hello@as-is").expect("a trial");
    let claims = ["usage"].into_iter().collect();
    for (outcome, problem) in [
        (json!([]), "the outcome is not an object"),
        (json!({"status": "done", "content": []}), "status: expected one of its values"),
        (json!({"status": "complete", "content": [{"type": "text"}]}), "content.0.text: expected a string"),
        (
            json!({"status": "complete", "content": [], "usage": {"input": -1}}),
            "usage.input: expected a count",
        ),
    ] {
        let judgement = crate::judge(&suite, case, trial, &outcome.into(), &claims);
        let checks: Vec<_> = judgement.checks.iter().map(Check::to_string).collect();
        assert!(checks[0].starts_with(&format!("invariant.outcome-schema: {problem}")), "{checks:?}");
        assert_eq!((judgement.verdict, judgement.culprit), (Verdict::Fail, Some(Culprit::Adapter)));
    }
}

#[test]
fn chunks_are_cut_as_the_trial_says() {
    let suite = make_suite();
    let chunks = |id: &str| {
        let (case, trial) = suite.find(id).expect("a trial");
        case.input(trial).chunks
    };
    assert_eq!(chunks("tin-chat/text/hello@as-is"), [b"He".to_vec(), b"llo".to_vec()]);
    assert_eq!(chunks("tin-chat/text/hello@whole"), [b"Hello".to_vec()]);
    assert_eq!(chunks("tin-chat/text/hello@bytewise").len(), 5);
}

#[test]
fn numbers_are_equal_by_value() {
    let pairs = [
        (json!(1), json!(1.0), true),
        (json!(0), json!(-0.0), true),
        (json!(1), json!(true), false),
        (json!(u64::MAX), json!({"$integer": "18446744073709551615"}), true),
        (json!({"$integer": "123456789012345678901"}), json!(123456789012345678901_f64), false),
        (json!({"a": 1, "b": [2.5]}), json!({"b": [2.50], "a": 1e0}), true),
        (json!({"a": null}), json!({}), false),
    ];
    for (one, other, expected) in pairs {
        assert_eq!(is_equal(&one, &other), expected, "{one} {other}");
    }
}

#[test]
fn patterns_match_as_in_python() {
    for (pattern, text, expected) in [
        ("^ab$", "ab\n", true),
        ("^ab$", "ab\nc", false),
        ("{", "{}", true),
        (r"^a{2}\{$", "aa{", true),
        ("^[A-Za-z]{140000}$", &"x".repeat(140_000), true),
    ] {
        let leaf: Leaf = serde_json::from_value(json!({ "matches": pattern })).expect("a leaf");
        assert_eq!(leaf.matches(&text.into(), false), expected, "{pattern}");
    }
}

#[test]
fn answers_are_made_of_results() {
    let right: Answer = Ok::<_, Infallible>(answer("x")).into();
    assert_eq!((right.outcome, right.raised), (answer("x"), None));
    let wrong: Answer = Err("no".to_owned()).into();
    let raised = Raised { kind: "alloc::string::String".to_owned(), message: "no".to_owned() };
    assert_eq!((wrong.outcome["status"].as_str(), wrong.raised), (Some("error"), Some(raised)));
}
