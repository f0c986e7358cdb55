//! What a caller says reaches the commands of a skill as words: nothing of it runs.

use std::path::Path;
use std::process::Command;

use belvedere::agent::{AgentEvent, EventKind, ToolEvent};
use belvedere::message::{AgentId, SkillPiece};
use belvedere::permission::{Answer, ApprovalId, PermissionMode};
use belvedere::subagent::Command as TreeCommand;
use serde_json::json;

use super::called::{said, session, session_in};
use super::{Shelf, text};
use crate::agent::reply;

/// Loads a skill of one line, and runs what has become of the line; `None` if it is not to be run.
fn run(line: &str, arguments: &str, folder: &Path) -> Option<String> {
    let block = format!("```!\n{line}\n```\n");
    let shelf = Shelf::with(&[(".claude/commands/c.md", &block)]);
    let loaded = shelf.skill("c").load(arguments, "session-1");
    let mut outputs = loaded.pieces.iter().filter_map(|piece| match piece {
        SkillPiece::Command { line, .. } => {
            let output = Command::new("bash").args(["-c", line]).current_dir(folder).output().unwrap();
            Some(Some(String::from_utf8_lossy(&output.stdout).trim_end().to_owned()))
        }
        SkillPiece::Refused(_) => Some(None),
        SkillPiece::Text(_) => None,
    });
    outputs.next().unwrap()
}

/// A line, arguments, and what is printed; `-` for a line that is not run.
type Variant = (&'static str, &'static str, &'static str);

#[rustfmt::skip]
const WORDS: &[Variant] = &[
    ("echo $ARGUMENTS", "don't stop", "don't stop"),
    ("echo $ARGUMENTS", "a; touch canary", "a; touch canary"),
    ("echo $ARGUMENTS", "a && touch canary", "a && touch canary"),
    ("echo $ARGUMENTS", "a | touch canary &", "a | touch canary &"),
    ("echo $ARGUMENTS", "$(touch canary)", "$(touch canary)"),
    ("echo $ARGUMENTS", "`touch canary`", "`touch canary`"),
    ("echo $ARGUMENTS", "a\ntouch canary", "a touch canary"),
    ("echo $ARGUMENTS", "> canary", "> canary"),
    ("echo $ARGUMENTS", "# * ~ {a,b} !x", "# * ~ {a,b} !x"),
    ("echo $ARGUMENTS", "$HOME $1 ${PATH} \\$x", "$HOME $1 ${PATH} \\$x"),
    ("echo $ARGUMENTS", "\"two words\" 'x y'", "two words x y"),
    ("echo $ARGUMENTS", "'; touch canary; '", "; touch canary;"),
    ("echo \"$ARGUMENTS\"", "a\"; touch canary; \"", "a\"; touch canary; \""),
    ("echo \"$ARGUMENTS\"", "$(touch canary) `touch canary` \\", "$(touch canary) `touch canary` \\"),
    ("echo \"$ARGUMENTS\"", "\\\"; touch canary", "\\\"; touch canary"),
    ("echo '$ARGUMENTS'", "'; touch canary; '", "'; touch canary; '"),
    ("echo '$ARGUMENTS'", "it's \"so\" \\", "it's \"so\" \\"),
    ("echo a'$1'b\"$1\"c$1", "q'\"q", "aq'\"qbq'\"qcq'\"q"),
    ("echo é$1-ü \"ß$1\"", "ä'x", "éä'x-ü ßä'x"),
    ("echo x/$ARGUMENTS", "a; touch canary", "x/a; touch canary"),
    ("echo --title=$ARGUMENTS", "a b; touch canary", "--title=a b; touch canary"),
    ("printf '<%s>' $1 \"$2\"", "'a b' c;d", "<a b><c;d>"),
    ("echo $(echo \"$1\")", "\");touch${IFS}canary;(\"", ");touch${IFS}canary;("),
    ("echo $(echo $1)", "$(touch${IFS}canary)", "$(touch${IFS}canary)"),
    ("echo \"$(echo '$ARGUMENTS')\"", "')\"; touch canary", "')\"; touch canary"),
    ("x=$ARGUMENTS; echo \"$x\"", "a touch canary", "a touch canary"),
    ("export ISSUE=$1; echo \"$ISSUE\"", "a;touch${IFS}canary", "a;touch${IFS}canary"),
    ("TITLE=\"$ARGUMENTS\" && echo \"$TITLE\"", "$(touch canary)", "$(touch canary)"),
    ("for f in $ARGUMENTS; do echo \"<$f>\"; done", "a'b; touch canary", "<a'b;>\n<touch>\n<canary>"),
    ("if [ -n \"$1\" ]; then echo \"yes $1\"; fi", "a\"];touch", "yes a\"];touch"),
    ("[[ \"$1\" == prod ]] || echo other", "]];touch${IFS}canary", "other"),
    ("case $1 in a*) echo A;; *) echo B;; esac", "a)touch", "A"),
    ("cat <<EOF\nhi $ARGUMENTS\nEOF", "$(touch canary) `touch canary` \\ '", "hi $(touch canary) `touch canary` \\ '"),
    ("cat <<'EOF'\nhi $ARGUMENTS\nEOF", "it's $(touch canary) \\", "hi it's $(touch canary) \\"),
    ("cat <<-\\END | tr a-z A-Z\n\thi $1\n\tEND", "$(touch", "HI $(TOUCH"),
    ("cat <<< \"$ARGUMENTS\"", "$(touch canary)", "$(touch canary)"),
    ("cat <<< $ARGUMENTS", "a; touch canary", "a; touch canary"),
    ("(cd . && echo $1) | cat", "$(touch", "$(touch"),
    ("cat <(echo $1)", "a);touch", "a);touch"),
    ("echo hi # $ARGUMENTS", "x\ntouch canary", "hi"),
    ("echo hi # \"$1", "x\ntouch canary", "hi"),
    ("time -p echo $1 2>/dev/null", "a;b", "a;b"),
    ("timeout 5 echo $1", "a;b", "a;b"),
    ("bash -c 'echo \"$1\"' _ $ARGUMENTS", "$(touch canary) b", "$(touch"),
    ("echo a b | awk '{print $2}'; echo $1", "q w", "b\nq"),
    ("echo 'a b' | awk '!seen[$0]++ {print $1}'; echo $ARGUMENTS", "q", "a\nq"),
    ("echo a | sed 's/a/b/'; echo $1", "x'", "b\nx'"),
    ("echo $ARGUMENTS | xargs echo got", "a b", "got a b"),
    ("printf '%s\\n' one | while read -r f; do echo \"$f $1\"; done", "a;b", "one a;b"),
    ("echo $((1 + $1))", "41", "42"),
    ("eval echo $1", "7", "7"),
    ("echo `echo $ARGUMENTS`", "plain words", "plain words"),
    ("echo \\$1 '\\$1' \"\\$1\"", "zz", "$1 $1 $1"),
    ("echo $$1 | tr -d 0-9", "x", ""),
    ("find . -maxdepth 0 -name \"$1\" -o -print", "x;y", "."),
    ("git --version $1 >/dev/null; echo $1", "", ""),
];

#[rustfmt::skip]
const CODE: &[(&str, &str)] = &[
    ("$ARGUMENTS", "touch canary"),
    ("$1 canary", "touch"),
    ("./$1", "x"),
    ("eval $ARGUMENTS", "touch canary"),
    ("eval \"echo '$ARGUMENTS'\"", "'; touch canary; '"),
    ("bash -c \"echo $ARGUMENTS\"", "x; touch canary"),
    ("bash -lc 'echo $ARGUMENTS'", "x; touch canary"),
    ("sh -ec \"$1\"", "touch"),
    ("bash $1", "canary.sh"),
    ("env -i bash -c \"$ARGUMENTS\"", "touch canary"),
    ("env A=b $1", "ls"),
    ("sudo $ARGUMENTS", "touch canary"),
    ("timeout 5 $ARGUMENTS", "touch canary"),
    ("command $1 canary", "touch"),
    ("exec $ARGUMENTS", "touch canary"),
    (". $1", "canary"),
    ("source \"$1\"", "canary"),
    ("trap \"$ARGUMENTS\" EXIT", "touch canary"),
    ("echo $ARGUMENTS | bash", "touch canary"),
    ("echo \"$ARGUMENTS\" | sudo sh -s", "touch canary"),
    ("bash <<EOF\n$ARGUMENTS\nEOF", "touch canary"),
    ("bash <<< \"$ARGUMENTS\"", "touch canary"),
    ("python3 - <<'EOF'\nprint(\"$ARGUMENTS\")\nEOF", "\"); open('canary','w'); (\""),
    ("echo $ARGUMENTS | xargs sh -c 'touch $0'", "canary"),
    ("echo $ARGUMENTS | xargs -I{} bash -c '{}'", "touch canary"),
    ("xargs $1 < /dev/null", "touch"),
    ("awk \"BEGIN{$ARGUMENTS}\"", "system(\"touch canary\")"),
    ("awk -v x=1 'BEGIN{$ARGUMENTS}'", "system(\"touch canary\")"),
    ("echo a | sed \"s/a/$1/\"", "b/e"),
    ("echo a | sed -n -e \"$ARGUMENTS\"", "1e touch canary"),
    ("perl -ne \"$ARGUMENTS\" /dev/null", "END{`touch canary`}"),
    ("perl -l -e \"$ARGUMENTS\"", "`touch canary`"),
    ("python3 -c \"print('$ARGUMENTS')\"", "'); open('canary','w'); ('"),
    ("node -e \"$ARGUMENTS\"", "require('fs').writeFileSync('canary','')"),
    ("ruby -rjson -e \"$ARGUMENTS\"", "`touch canary`"),
    ("find . -maxdepth 0 $ARGUMENTS", "-exec touch canary ;"),
    ("find $ARGUMENTS", ". -exec touch canary ;"),
    ("git $ARGUMENTS", "-c alias.x=!touch x"),
    ("git -c $1 log", "core.pager=touch"),
    ("git grep $ARGUMENTS", "-Otouch canary"),
    ("make $1", "X=$(shell touch canary)"),
    ("npx $1", "evil"),
    ("ssh host echo $1", ";touch"),
    ("x=$1; $x canary", "touch"),
    ("x=$ARGUMENTS; ${x}", "touch"),
    ("for c in $ARGUMENTS; do $c canary; done", "touch"),
    ("echo $ARGUMENTS | while read -r c; do $c; done", "touch canary"),
    ("$(echo $1) canary", "touch"),
    ("PATH=$1:$PATH ls", "."),
    ("GIT_SSH_COMMAND=\"$1\" git fetch", "touch"),
    ("LD_PRELOAD=$1 ls", "x.so"),
    ("export $1", "PATH=."),
    ("echo $((1 + $1))", "a[$(touch${IFS}canary)]"),
    ("n=$1; echo $((n + 1))", "a[$(touch${IFS}canary)]"),
    ("[[ $1 -eq 1 ]]", "a[$(touch${IFS}canary)]"),
    ("(( $1 > 2 ))", "a[$(touch${IFS}canary)]"),
    ("let x=$1", "a[$(touch${IFS}canary)]"),
    ("declare -i x=$1", "a[$(touch${IFS}canary)]"),
    ("test -v \"$1\"", "a[$(touch${IFS}canary)]"),
    ("echo ${X:-$1}", "$(touch${IFS}canary)"),
    ("f() { $1; }; f", "touch"),
    ("echo $'a$1'", "'; touch canary"),
    ("echo `echo $ARGUMENTS`", "x; touch canary"),
    ("cat <<EOF\n$ARGUMENTS\nEOF", "EOF\ntouch canary"),
    ("cat <<'EOF'\n$1\nEOF\necho b", "EOF"),
    ("cat <<'EOF'\nE$1\nEOF\necho b", "OF"),
    ("echo \"unclosed $1", "x"),
];

#[test]
fn an_argument_is_a_word_wherever_it_stands() {
    let folder = tempfile::tempdir().unwrap();
    for (line, arguments, printed) in WORDS {
        let output = run(line, arguments, folder.path());
        assert_eq!(output.as_deref(), Some(*printed), "{line} with {arguments}");
        assert!(!folder.path().join("canary").exists(), "{line} with {arguments}");
    }
}

#[test]
fn an_argument_that_would_be_code_is_refused_unless_it_is_a_number() {
    let folder = tempfile::tempdir().unwrap();
    for (line, arguments) in CODE {
        assert_eq!(run(line, arguments, folder.path()), None, "{line} with {arguments}");
        assert!(!folder.path().join("canary").exists(), "{line} with {arguments}");
    }
}

#[test]
fn what_has_no_argument_stays_as_it_is_written() {
    let filled = |body: &str, arguments: &str| {
        let shelf = Shelf::with(&[(".claude/commands/c.md", body)]);
        text(&shelf.skill("c").load(arguments, "session-1"))
    };
    let awk = "Run:\n```sh\nawk '!seen[$0]++ {print $1}'\n```";
    assert_eq!(filled(awk, ""), awk);
    assert_eq!(filled(awk, "now"), format!("{awk}\n\nARGUMENTS: now"));
    let sql = "Find $1:\n```sql\nSELECT * FROM t WHERE a = $1 AND b = $2\n```\nof $2";
    assert_eq!(filled(sql, "x y"), sql.replacen("Find $1", "Find x", 1).replace("of $2", "of y"));
    assert_eq!(filled(sql, "x"), sql.replacen("Find $1", "Find x", 1));
    let hinted = format!("---\nargument-hint: [table]\n---\n{sql}");
    assert!(filled(&hinted, "x").contains("WHERE a = x AND b = $2"));
    assert_eq!(filled("\\$0 is $0, \\$ARGUMENTS is $ARGUMENTS", "x"), "$0 is x, $ARGUMENTS is x");
    assert_eq!(filled("$ARGUMENTS[0] and $ARGUMENTS[3]", "x"), "x and $ARGUMENTS[3]");
    assert_eq!(filled("```!\necho $2\n```\nend $1", "x"), "[echo $2]\nend x");
    assert_eq!(filled("A:\n```!\ngit log\n```\n```\ncode\n```", ""), "A:\n[git log]\n```\ncode\n```");
}

const ALL: &str = "---\nallowed-tools: Bash\n---\nA !`echo $ARGUMENTS` B";

fn asked_about(event: &AgentEvent) -> Option<(ApprovalId, String)> {
    match &event.kind {
        EventKind::Tool(ToolEvent::ApprovalRequested { request }) => Some((request.id.clone(), request.title.clone())),
        _ => None,
    }
}

#[tokio::test]
async fn a_model_gets_nothing_run_by_what_it_says_to_a_skill() {
    let files = [(".claude/commands/all.md", ALL), (".claude/commands/code.md", "!`bash -c \"echo $ARGUMENTS\"`")];
    let calls = [
        ("all", "a; touch canary"),
        ("all", "$(touch canary) `touch canary` > canary"),
        ("code", "x; touch canary"),
        ("all", "@Cargo.toml don't"),
    ];
    let calls = calls.map(|(skill, args)| json!({"call": "Skill", "input": {"skill": skill, "args": args}}));
    let (mut session, provider) =
        session_in(&files, Some(reply(json!({"turn": 0}), calls.to_vec())), PermissionMode::BypassPermissions);
    session.ask("go").await;
    let read = format!("{:?}", provider.requests().last().unwrap().messages);
    for words in [
        "A a; touch canary B",
        "$(touch canary) `touch canary` > canary",
        "A @Cargo.toml don't B",
        "[not run: an argument",
    ] {
        assert!(read.contains(words), "{words}: {read}");
    }
    assert!(!session.root().join("canary").exists());
    session.quit().await;
}

#[tokio::test]
async fn what_a_skill_may_run_is_not_lent_to_what_its_caller_says() {
    let files = [
        (".claude/commands/all.md", "---\nallowed-tools: Bash\n---\n!`touch $ARGUMENTS` !`touch own`"),
        (".claude/commands/named.md", "---\nallowed-tools: Bash(touch:*)\n---\n!`touch $ARGUMENTS`"),
        (".claude/commands/sh.md", ALL),
    ];
    let (mut session, _provider) = session(&files, None);
    session.say("/all ../canary");
    let (id, title) = session.wait(asked_about).await;
    assert!(title.contains("touch ../canary"), "{title}");
    session.send(TreeCommand::Answer { id, answer: Answer::No { comment: None } });
    session.ended(AgentId::MAIN).await;
    assert!(session.root().join("own").exists(), "what the author wrote is lent what the author allows");
    session.ask("/named given").await;
    assert!(session.root().join("given").exists(), "the author names the program, whatever its words");
    session.quit().await;
    let (mut session, provider) = session_in(&files, None, PermissionMode::BypassPermissions);
    session.ask("/sh don't stop").await;
    let read = said(&provider);
    assert!(read.last().unwrap().contains("A don't stop B"), "{read:?}");
    session.quit().await;
}
