//! The words of a command of the user's set-up, and which programs in it load code from the folder they run in.
//!
//! Pure. Owns a rough reading of shell lines that finds every word, whatever surrounds it. Leaves files to `run_files`.
//! Invariant: in doubt there are more words, and a program counts as one that loads from its folder.

/// Stands for a part of a word that only the shell knows, such as a variable.
pub(super) const UNKNOWN: char = '\u{f8ff}';
/// Stands for the user's home.
pub(super) const HOME: char = '\u{f8fe}';
/// How deep commands in commands are looked at.
const MAX_DEPTH: usize = 8;

/// Programs that run a file which they are given.
#[rustfmt::skip]
const INTERPRETERS: [&str; 27] = [
    ".", "source", "sh", "bash", "dash", "zsh", "fish", "ksh", "ash", "python", "python2", "python3", "pypy", "pypy3",
    "node", "nodejs", "deno", "bun", "tsx", "ts-node", "ruby", "perl", "php", "lua", "pwsh", "osascript", "eval",
];

/// Programs that fetch what they run, and look for it in the folder they run in first.
const FETCHERS: [&str; 9] = ["npx", "bunx", "pnpx", "npm", "pnpm", "yarn", "bun", "uv", "uvx"];

/// Other programs that run code of the folder they run in: its settings, plug-ins, tasks or tests.
#[rustfmt::skip]
const LOADERS: [&str; 61] = [
    "deno", "poetry", "pipenv", "pdm", "hatch", "rye", "tox", "nox", "pytest", "py.test", "mypy", "pylint", "flake8",
    "make", "gmake", "just", "task", "rake", "bundle", "gradle", "mvn", "ant", "sbt", "cargo", "go", "dotnet", "mix",
    "lein", "prettier", "eslint", "stylelint", "jest", "vitest", "mocha", "webpack", "vite", "rollup", "nx", "turbo",
    "lerna", "pre-commit", "lefthook", "husky", "lint-staged", "rubocop", "rspec", "composer", "phpunit", "phpstan",
    "php-cs-fixer", "terraform", "ansible-playbook", "cmake", "ctest", "ninja", "bazel", "meson", "ktlint", "detekt",
    "xcodebuild", "direnv",
];

/// Variables that say from where an interpreter loads.
#[rustfmt::skip]
const LOAD_PATHS: [&str; 9] = [
    "PATH", "PYTHONPATH", "PYTHONSTARTUP", "NODE_PATH", "NODE_OPTIONS", "BASH_ENV", "ENV", "PERL5LIB", "RUBYLIB",
];

/// What stands before the name of a program.
#[rustfmt::skip]
const BEFORE_PROGRAMS: [&str; 20] = [
    "env", "sudo", "exec", "command", "builtin", "nohup", "time", "timeout", "nice", "xargs", "if", "then", "else",
    "elif", "do", "while", "until", "!", "{", "setsid",
];

/// One command of a line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct SetupCommand {
    pub(super) words: Vec<String>,
}

impl SetupCommand {
    /// Returns where the name of the program is.
    fn program(&self) -> Option<usize> {
        let is_before = |word: &str| {
            let is_assignment = || {
                let name = word.split_once('=').map_or("", |(name, _)| name);
                !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            };
            let is_number = || word.trim_end_matches(['s', 'm', 'h']).parse::<f64>().is_ok();
            word.starts_with('-') || BEFORE_PROGRAMS.contains(&base_name(word)) || is_assignment() || is_number()
        };
        self.words.iter().position(|word| !is_before(word))
    }
}

fn base_name(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

/// Returns `true` if a program of this name runs the file that it is given.
pub(super) fn is_interpreter(word: &str) -> bool {
    let name = base_name(word);
    // `python3.11` is one, too.
    let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    INTERPRETERS.contains(&name) || (!plain.is_empty() && INTERPRETERS.contains(&plain))
}

/// How a command finds the code that it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Loading {
    /// Nothing says that it looks for any in the folder it runs in.
    Elsewhere,
    /// It looks there first, and works as well in another folder.
    Fetched,
    /// It runs code of the folder it runs in.
    Here,
}

/// Says how a line finds the code that it runs, apart from the files it names.
pub(super) fn loading(line: &str) -> Loading {
    commands(line).iter().map(loading_of).max().unwrap_or(Loading::Elsewhere)
}

fn loading_of(command: &SetupCommand) -> Loading {
    let words = &command.words;
    let is_load_path = |word: &String| word.split_once('=').is_some_and(|(name, _)| LOAD_PATHS.contains(&name));
    if words.iter().any(is_load_path) {
        return Loading::Here;
    }
    let Some(at) = command.program() else { return Loading::Elsewhere };
    let (program, rest) = (words[at].as_str(), &words[at + 1..]);
    // Behind `xargs`, `find -exec` and their like, a program is no first word.
    if let Some(at) = words.iter().position(|word| FETCHERS.contains(&base_name(word))) {
        return fetched(base_name(&words[at]), &words[at + 1..]);
    }
    if is_interpreter(program) {
        let inner = rest.iter().filter(|word| word.contains(char::is_whitespace)).map(|word| loading(word)).max();
        let name = base_name(program);
        let is_module = |word: &String| word.starts_with('-') && !word.starts_with("--") && word.contains('m');
        let names_file = rest.first().is_some_and(|word| !word.starts_with('-') && word.contains(['/', '.']));
        // Code in the line, or on standard input, imports from the folder.
        let is_own = match name {
            _ if name.starts_with("py") => !names_file || rest.iter().any(is_module),
            "node" | "nodejs" | "bun" | "deno" => !names_file,
            _ => false,
        };
        let own = if is_own { Loading::Fetched } else { Loading::Elsewhere };
        return inner.unwrap_or(Loading::Elsewhere).max(own);
    }
    let is_in_folder = !program.starts_with(['/', HOME, UNKNOWN]) && program.contains('/');
    let is_installed_there = ["node_modules/", "venv/", "vendor/bin/"].iter().any(|part| program.contains(part));
    if is_in_folder || is_installed_there || LOADERS.contains(&base_name(program)) {
        return Loading::Here;
    }
    Loading::Elsewhere
}

/// Says how a program loads that fetches others.
fn fetched(program: &str, words: &[String]) -> Loading {
    let verb = words.iter().find(|word| !word.starts_with('-')).map(String::as_str).unwrap_or_default();
    match (program, verb) {
        ("npx" | "bunx" | "pnpx" | "uvx", _)
        | ("npm" | "pnpm" | "yarn" | "bun", "exec" | "x" | "dlx")
        | ("uv", "run" | "tool" | "x") => Loading::Fetched,
        _ => Loading::Here,
    }
}

/// Returns the commands of a line, those in others too, with their words without quotes.
pub(super) fn commands(line: &str) -> Vec<SetupCommand> {
    let mut reader = Reader { left: line.chars().collect(), at: 0, done: Vec::new(), depth: 0 };
    reader.read();
    reader.done
}

struct Reader {
    left: Vec<char>,
    at: usize,
    done: Vec<SetupCommand>,
    depth: usize,
}

impl Reader {
    fn read(&mut self) {
        let (mut command, mut word, mut is_word) = (SetupCommand::default(), String::new(), false);
        let mut quote = None;
        while let Some(&char) = self.left.get(self.at) {
            self.at += 1;
            match (char, quote) {
                ('\'', Some('\'')) | ('"', Some('"')) => quote = None,
                (char, Some('\'')) => word.push(char),
                ('\\', _) => {
                    let escaped = self.left.get(self.at).copied();
                    self.at += 1;
                    word.extend(escaped.filter(|char| *char != '\n'));
                    is_word = true;
                }
                ('$', _) => {
                    word.push(self.expansion());
                    is_word = true;
                }
                ('`', _) => {
                    let end = self.left[self.at..].iter().position(|char| *char == '`');
                    let end = end.map_or(self.left.len(), |end| self.at + end);
                    self.inner(self.at, end);
                    self.at = end + 1;
                    word.push(UNKNOWN);
                    is_word = true;
                }
                (char, Some(_)) => word.push(char),
                ('\'' | '"', None) => (quote, is_word) = (Some(char), true),
                ('~', None) if word.is_empty() => (word, is_word) = (HOME.to_string(), true),
                (';' | '|' | '&' | '(' | ')' | '\n', None) => {
                    take(&mut word, &mut is_word, &mut command);
                    self.done.push(std::mem::take(&mut command));
                }
                (char, None) if char.is_whitespace() || "<>".contains(char) => {
                    take(&mut word, &mut is_word, &mut command);
                }
                (char, None) => {
                    word.push(char);
                    is_word = true;
                }
            }
        }
        take(&mut word, &mut is_word, &mut command);
        self.done.push(command);
        self.done.retain(|command| !command.words.is_empty());
    }

    /// Passes over what follows a `$`, and reads the commands in it. Returns what stands for it.
    fn expansion(&mut self) -> char {
        let (open, close) = match self.left.get(self.at) {
            Some('(') => ('(', ')'),
            Some('{') => ('{', '}'),
            _ => {
                let is_name = |char: &&char| char.is_ascii_alphanumeric() || "_@*#?!$-".contains(**char);
                let name: String = self.left[self.at..].iter().take_while(is_name).collect();
                self.at += name.chars().count();
                return if name == "HOME" { HOME } else { UNKNOWN };
            }
        };
        let (from, mut depth) = (self.at + 1, 0);
        while let Some(&char) = self.left.get(self.at) {
            self.at += 1;
            depth += usize::from(char == open);
            depth -= usize::from(char == close);
            if depth == 0 {
                break;
            }
        }
        let (from, to) = (from.min(self.at), self.at.saturating_sub(1).max(from.min(self.at)));
        self.inner(from, to);
        if self.left[from..to].iter().collect::<String>() == "HOME" { HOME } else { UNKNOWN }
    }

    fn inner(&mut self, from: usize, to: usize) {
        if self.depth >= MAX_DEPTH {
            return;
        }
        let left = self.left[from..to.min(self.left.len())].to_vec();
        let mut inner = Self { left, at: 0, done: Vec::new(), depth: self.depth + 1 };
        inner.read();
        self.done.append(&mut inner.done);
    }
}

/// Ends a word of a command.
fn take(word: &mut String, is_word: &mut bool, command: &mut SetupCommand) {
    if std::mem::take(is_word) {
        command.words.push(std::mem::take(word));
    }
}
