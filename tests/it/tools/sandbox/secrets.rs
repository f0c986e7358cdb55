//! What of a home and of the system no command reads, and what builds go on reading.

use std::os::unix::fs::symlink;
use std::path::Path;

use belvedere::sandbox::{Hosts, Sandbox, SandboxPlaces};

use super::{Inside, text_of};

/// Places with secrets, none of which has to stand in a list by its name. What ends with a slash is a folder of some.
const SECRETS: &str = "
    snap/firefox/common/.mozilla/firefox/x.default/key4.db snap/chromium/common/chromium/Default/Cookies
    .var/app/org.mozilla.firefox/.mozilla/firefox/x/logins.json .var/app/com.google.Chrome/config/google-chrome/Default/Cookies
    .config/google-chrome-beta/Default/Cookies .config/google-chrome-unstable/Default/Cookies .config/opera/Cookies
    .config/BraveSoftware/Brave-Browser/Default/Cookies .config/vivaldi-snapshot/Cookies .librewolf/x/key4.db .zen/x/key4.db
    .waterfox/x/key4.db .floorp/x/key4.db .config/qutebrowser/cookies .local/share/qutebrowser/webengine/Cookies
    .local/share/epiphany/cookies.sqlite .config/falkon/cookies .tor-browser/key4.db .config/thorium/Cookies
    .claude/history.jsonl .claude/projects/x/1.jsonl .claude/todos/1.json .claude/settings.json .claude/shell-snapshots/s.sh
    .claude/.credentials.json .claude/statsig/x .claude/file-history/x .claude/debug/x .codex/history.jsonl
    .codex/sessions/x.jsonl .codex/auth.json .codex/config.toml .gemini/oauth_creds.json .gemini/tmp/x .qwen/oauth_creds.json
    .aider.chat.history.md .aider.input.history .config/opencode/opencode.json .local/share/opencode/storage/x .crush/x
    .config/crush/crush.json .local/share/crush/crush.json .goose/x .config/goose/secrets.yaml .config/goose/config.yaml
    .cursor/mcp.json .config/Cursor/User/globalStorage/state.vscdb .config/Code/User/globalStorage/state.vscdb
    .config/Code/User/History/x/1 .config/VSCodium/User/globalStorage/state.vscdb .vscode/argv.json .vscode-server/data/x
    .config/JetBrains/x/options/security.xml .config/zed/settings.json .config/github-copilot/apps.json
    .codeium/config.json .continue/config.json .config/io.datasette.llm/keys.json .config/shell_gpt/.sgptrc .ollama/id_ed25519
    .lmstudio/credentials .cache/lm-studio/x .config/fabric/.env .config/mods/mods.yml .config/aichat/config.yaml
    .config/fish/fish_history .zhistory .zsh_sessions/x .histfile .local/share/zsh/history .local/share/atuin/history.db
    .local/state/nvim/shada/main.shada .local/share/nvim/shada/main.shada .local/state/bash/history .viminfo.tmp .sh_history
    .ksh_history .tcsh_history .dbshell .mongorc.js .mongodb/mongosh/x .rediscli_history .influx_history .scala_history
    .julia/logs/repl_history.jl .ipython/profile_default/history.sqlite .jupyter/jupyter_server_config.json
    .local/share/jupyter/runtime/kernel.json .local/state/lesshst .lesshst .wget-hsts .recently-used
    .local/share/recently-used.xbel .local/share/Trash/files/x .local/share/mc/history .local/share/nushell/history.txt
    .config/nushell/history.txt .local/share/xonsh/x.json .config/powershell/x.ps1 .local/share/powershell/PSReadLine/h.txt
    .gradle/gradle-local.properties .gradle/secrets.properties .m2/settings-security.xml .m2/foojay.json .sbt/.credentials
    .ivy2/.credentials .lein/credentials.clj.gpg .lein/profiles.clj .config/pip/other.conf .config/pypoetry/auth.toml
    .config/hatch/config.toml .local/share/hatchling/x .pypirc .config/twine/x .config/conda/x .anaconda/navigator/x
    .continuum/anaconda-client/tokens/x .config/binstar/x .authinfo .authinfo.gpg .netrc.gpg .config/weechat/sec.conf
    .weechat/sec.conf .irssi/config .config/hexchat/x .config/discord/Cookies .config/discordcanary/x .config/Element/x
    .config/Mattermost/x .config/teams/Cookies .config/skypeforlinux/x .config/zoomus.conf .zoom/data/x .config/WhatsApp/x
    .docker/contexts/meta/x/meta.json .docker/contexts/tls/x/key.pem .docker/trust/private/x .docker/machine/x
    .config/containers/auth.json .config/containers/containers.conf .config/podman/x .minikube/client.key .kind/x .k3d/x
    .rancher/cli2.json .config/k9s/x .config/argocd/config .argocd/config .config/helm/registry/config.json .helm/x
    .local/share/gopass/stores/x .password-store/x.gpg .config/keepassxc/keepassxc.ini .cache/keepassxc/x .keepass/x.kdbx
    .config/KeePass/x .local/share/keyrings/login.keyring .pki/nssdb/key4.db .config/Bitwarden/data.json .config/1Password/x
    .config/Enpass/x .config/lastpass/x .lpass/x .bitwarden/x .config/rbw/config.json .cache/rbw/x .local/share/rbw/x
    .aws/credentials .aws-sam/x .azure/msal_token_cache.json .config/gcloud/credentials.db .oci/config .bluemix/config.json
    .config/doctl/config.yaml .config/hcloud/cli.toml .config/exoscale/x .config/vultr-cli.yaml .vultr-cli.yaml .linode-cli
    .config/scw/config.yaml .ovh.conf .config/ovh/x .terraform.d/credentials.tfrc.json .terraformrc .tofurc .pulumi/credentials.json
    .config/flyctl/x .fly/config.yml .netlify/config.json .config/netlify/config.json .vercel/auth.json .now/auth.json
    .config/railway/config.json .railway/config.json .config/heroku/x .config/supabase/access-token .supabase/access-token
    .config/wrangler/config.json .wrangler/config/default.toml .config/.wrangler/config/default.toml .cloudflared/cert.pem
    .config/firebase/x .config/configstore/firebase-tools.json .config/ngrok/ngrok.yml .ngrok2/ngrok.yml .config/turso/x
    .config/stripe/config.toml .config/sentry/x .sentryclirc .config/shopify/x .config/twilio-cli/config.json .twilio-cli/x
    .config/gh/hosts.yml .config/glab-cli/config.yml .config/tea/config.yml .config/hub .config/lab/x .config/jira-cli/x
    .jira.d/x .config/linear/x .config/bb/x .arcrc .config/git-credential-oauth/x .gitcookies .git-credential-cache/socket
    .subversion/auth/svn.simple/x .hgrc .bazaar/authentication.conf .cvspass .config/hub.yml .grip/settings.py
    .ssh/id_ed25519 .ssh2/x .putty/x .config/remmina/x .local/share/remmina/x .config/filezilla/sitemanager.xml .lftp/bookmarks
    .config/lftp/x .config/rclone/rclone.conf .s3cfg .mc/config.json .config/mc/ini .config/b2/x .b2_account_info .boto
    .dropbox/x .config/syncthing/key.pem .local/state/syncthing/key.pem .config/Nextcloud/x .config/onedrive/refresh_token
    .config/transmission/x .config/rtorrent/x .vnc/passwd .config/freerdp/x .config/openvpn3/x .openvpn/x .cisco/x
    .config/wireguard/x .config/tailscale/x .zerotier-one/x .config/NordVPN/x .config/protonvpn/x .config/mullvad/x
    .msmtprc .config/msmtp/config .mbsyncrc .offlineimaprc .fetchmailrc .muttrc .mutt/x .config/neomutt/x .mailrc .davmail.properties
    .config/evolution/sources/x .local/share/evolution/x .thunderbird/x/logins.json .config/aerc/accounts.conf .config/himalaya/x
    .config/vdirsyncer/config .config/khal/x .config/davfs2/secrets .davfs2/secrets .smbcredentials .config/smb/x .cifs
    .my.cnf .mylogin.cnf .pgpass .pg_service.conf .config/pgcli/config .config/mycli/x .config/dbeaver/x .local/share/DBeaverData/x
    .config/robo3t/x .3T/x .cassandra/credentials .config/redis/x .snowsql/config .databrickscfg .dbt/profiles.yml .kaggle/kaggle.json
    .config/wandb/settings .netrc .config/comet/x .comet.config .huggingface/token .cache/huggingface/token .config/replicate/x
    .bitcoin/wallet.dat .electrum/wallets/x .ethereum/keystore/x .config/solana/id.json .config/Exodus/x .monero/x .near-credentials/x
    .brownie/accounts/x .starkli/x .config/sui/x .aptos/config.yaml .config/Ledger/x .local/share/Steam/config/x .steam/x
    .android/adbkey .android/adb_key .gnupg/private-keys-v1.d/x.key .config/sops/age/keys.txt .config/age/x .minisign/minisign.key
    .config/minisign/x .step/secrets/x .config/step/x .acme.sh/account.conf .lego/x .config/letsencrypt/x .local/share/mkcert/rootCA-key.pem
    .local/share/caddy/x .vault-token .config/vault/x .consul-token .nomad-token .config/teleport/x .tsh/keys/x .config/okta/x .okta/x
    .saml2aws .aws-vault/x .granted/x .config/aws-sso/x .config/chezmoi/chezmoi.toml .local/share/chezmoi/x .dotfiles/x .yadm/x
    .env .env.local .secrets .secrets.env .password .token .github_token .apikeys .config/environment.d/secrets.conf .pam_environment
    .wakatime.cfg .config/spotify/x .config/spotifyd/x .config/mpv/x .config/obs-studio/x .config/obsidian/x .config/Slack/Cookies
    .local/share/TelegramDesktop/x .config/Signal/config.json .purple/accounts.xml .erlang.cookie .hex/hex.config .pub-cache/credentials.json
    .conan/.conan.db .conan2/credentials.json .dotnet/corefx/cryptography/x509stores/my/x .microsoft/usersecrets/x/secrets.json
    .aspnet/https/x.pfx .aspnet/DataProtection-Keys/x .config/dart/pub-credentials.json .expo/state.json .config/eas/x
    Library/Application_Support/Google/Chrome/Default/Cookies Library/Keychains/login.keychain-db Library/Messages/chat.db
    Library/Cookies/x Library/Safari/History.db Library/Containers/x/Data/x Library/Caches/com.apple.Safari/x
";

/// What builds and git read of a home, and programs that lie there.
const OPEN: &str = "
    .cargo/config.toml .cargo/registry/index/x .cargo/bin/rustup .rustup/settings.toml .rustup/toolchains/x/bin/rustc
    .npm/_cacache/index-v5/x .nvm/nvm.sh .nvm/versions/node/v20/bin/node .fnm/x .volta/bin/x .yarn/berry/cache/x
    .local/share/pnpm/store/x .cache/pnpm/x .cache/yarn/x .bun/install/cache/x .deno/bin/deno .cache/deno/x .cache/node-gyp/x
    .cache/ms-playwright/chromium/x .pyenv/versions/3.12/bin/python .pyenv/shims/python .virtualenvs/x/bin/python .cache/pip/http/x
    .local/share/uv/python/x .cache/uv/x .conda/envs/x .cache/pypoetry/x .local/lib/python3.12/site-packages/x.py .local/bin/x
    .m2/repository/junit/junit.jar .m2/wrapper/x .gradle/caches/modules-2/x .gradle/wrapper/dists/x .sdkman/candidates/java/x
    .ivy2/cache/x .cache/coursier/x .sbt/boot/x .konan/x .gem/ruby/3.2.0/x .rbenv/shims/ruby .rvm/x .bundle/cache/x
    .config/go/env .cache/go-build/x .ccache/x .conan2/p/x .dotnet/dotnet .nuget/packages/x .composer/vendor/bin/x .pub-cache/hosted/x
    .ghcup/bin/ghc .stack/x .cabal/packages/x .opam/default/bin/ocaml .mix/archives/x .hex/packages/x .julia/packages/x .elan/bin/lean
    .asdf/shims/x .tool-versions .local/share/mise/installs/x .config/mise/config.toml .linuxbrew/x
    .gitconfig .gitconfig-work .gitignore_global .config/git/config .config/git/ignore .git-templates/hooks/x .vimrc .inputrc
    .claude/CLAUDE.md .claude/skills/x/SKILL.md .cache/huggingface/hub/x notes.txt src/other/main.rs Documents/x
";

fn put(home: &Path, places: &str, text: &str) {
    for place in places.split_whitespace() {
        let path = home.join(place);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
}

#[tokio::test]
async fn a_home_is_closed_but_for_what_builds_need() {
    let Some(inside) = Inside::new().await else { return };
    let home = inside.bench.outside("home");
    put(&home, SECRETS, "CANARY");
    put(&home, OPEN, "OPEN");
    let lines = |list: &str| list.split_whitespace().map(|place| format!("{place}\n")).collect::<String>();
    inside.bench.put("secrets", lines(SECRETS));
    inside.bench.put("open", lines(OPEN));
    let read = |list: &str, wanted: &str| {
        format!(
            "cd {}; while read -r f; do [ \"$(cat \"$f\" 2>&1)\" = {wanted} ] || echo \"$f\"; done < {}",
            home.display(),
            inside.bench.path(list).display()
        )
    };
    let unread = inside.works(&read("secrets", "CANARY")).await;
    let all: Vec<&str> = SECRETS.split_whitespace().collect();
    let unread: Vec<&str> = unread.lines().collect();
    let leaked: Vec<&&str> = all.iter().filter(|place| !unread.contains(place)).collect();
    assert!(all.len() > 250 && leaked.is_empty(), "read: {leaked:?}");
    let missing = inside.works(&read("open", "OPEN")).await;
    assert!(missing.lines().all(|line| !line.contains('/') && !line.starts_with('.')), "not read: {missing}");
    let found = inside.bash(&format!("grep -rs CANARY {}; true", home.display())).await;
    assert!(!text_of(&found).contains("CANARY"), "{}", text_of(&found));
    // Nor are they listed.
    let listed =
        text_of(&inside.bash(&format!("ls -R {}/.config/google-chrome-beta {0}/.var {0}/snap", home.display())).await);
    assert!(!listed.contains("Cookies") && !listed.contains("app"), "{listed}");
}

#[tokio::test]
async fn settings_that_often_hold_passwords_are_read_as_empty() {
    let Some(inside) = Inside::new().await else { return };
    let home = inside.bench.outside("home");
    put(
        &home,
        ".bashrc .profile .bash_profile .zshenv .npmrc .bundle/config .config/pip/pip.conf .gradle/gradle.properties",
        "export CANARY=1",
    );
    put(&home, ".m2/settings.xml", "<settings><servers>CANARY</servers></settings>");
    let said = inside.works(&format!("cd {}; cat .bashrc .npmrc .bundle/config .config/pip/pip.conf .m2/settings.xml .gradle/gradle.properties && echo done", home.display())).await;
    assert!(!said.contains("CANARY") && said.contains("<settings/>") && said.contains("done"), "{said}");
    let said = inside.works(&format!("HOME={} bash -lc 'echo ok; echo $CANARY' 2>&1", home.display())).await;
    assert!(said.starts_with("ok\n") && !said.to_lowercase().contains("denied"), "{said}");
    for line in ["echo x >> .bashrc", "rm .npmrc", "mv .profile p", "echo x > .zprofile"] {
        inside.refused(&format!("cd {} && {line}", home.display())).await;
    }
    assert_eq!(std::fs::read_to_string(home.join(".bashrc")).unwrap(), "export CANARY=1");
}

#[tokio::test]
async fn links_of_a_home_lead_to_no_secret_either() {
    let Some(inside) = Inside::new().await else { return };
    let home = inside.bench.outside("home");
    put(&home, "dotfiles/config/newtool/token dotfiles/bashrc dotfiles/toolrc", "CANARY");
    put(&home, "src/other/lib.rs", "OPEN");
    std::fs::create_dir_all(home.join(".config")).unwrap();
    symlink("../dotfiles/config/newtool", home.join(".config/newtool")).unwrap();
    symlink("dotfiles/bashrc", home.join(".bashrc")).unwrap();
    symlink("dotfiles/toolrc", home.join(".toolrc")).unwrap();
    // These lead to what is everybody's, or to what is worked on.
    symlink("/usr", home.join(".system")).unwrap();
    symlink(inside.bench.path(""), home.join(".work")).unwrap();
    symlink(inside.bench.outside(""), home.join(".above")).unwrap();
    inside.bench.put("mine.txt", "MINE");
    let home = home.display();
    let found = text_of(
        &inside
            .bash(&format!(
                "cat {home}/.config/newtool/token {home}/dotfiles/toolrc {home}/.bashrc {home}/dotfiles/bashrc; true"
            ))
            .await,
    );
    assert!(!found.contains("CANARY"), "{found}");
    let said = inside.works(&format!("cat mine.txt {home}/src/other/lib.rs && ls /usr/bin | head -1")).await;
    assert!(said.contains("MINE") && said.contains("OPEN"), "{said}");
}

/// A sandbox of a home that is laid out in another way than beside the project.
async fn at_home(inside: &Inside, home: &Path, open: &[&str]) -> super::ToolSet {
    let open = open.iter().map(|name| home.join(name)).collect();
    let work = vec![inside.bench.context.project.to_path_buf()];
    let places = SandboxPlaces { home: Some(home.to_path_buf()), open, work, ..SandboxPlaces::default() };
    let sandbox = Sandbox::new(places, inside.bench.outside("cache-2"), Hosts::default(), true).unwrap();
    let shell = crate::support::shell().with_sandbox(sandbox);
    assert_eq!(shell.check_sandbox().await, None);
    crate::support::tools_of(&shell)
}

#[tokio::test]
async fn a_project_in_the_home_is_worked_in_wherever_it_lies() {
    let Some(mut inside) = Inside::new().await else { return };
    let home = inside.bench.outside("home");
    for project in [".dotfiles", ".config/nvim", ".local/share/chezmoi", "src/shop", ".work/deep/shop"] {
        put(&home, &format!("{project}/.env {project}/.tool/x {project}/main"), "OPEN");
        put(&home, ".config/other/token .local/share/other/token .work/token .work/deep/token", "CANARY");
        let root = std::sync::Arc::new(home.join(project));
        (inside.bench.context.cwd, inside.bench.context.project) = (root.clone(), root.clone());
        inside.tools = at_home(&inside, &home, &[]).await;
        let said = inside.works("cat .env .tool/x main && echo new > .cache-of-ours && cat .cache-of-ours").await;
        assert!(said.starts_with("OPENOPENOPENnew"), "{project}: {said}");
        // So it is for commands that only read.
        let said = inside.works("cat .env .tool/x main").await;
        assert!(said.starts_with("OPENOPENOPEN"), "{project}: {said}");
        let said = text_of(&inside.bash(&format!("cd {}; cat .config/other/token .local/share/other/token .work/token .work/deep/token; ls .config .work; true", home.display())).await);
        assert!(!said.contains("CANARY"), "{project}: {said}");
    }
}

#[tokio::test]
async fn a_home_that_is_worked_in_hides_what_is_named() {
    let Some(mut inside) = Inside::new().await else { return };
    let home = inside.bench.outside("home");
    put(&home, ".eslintrc .tool/x", "OPEN");
    let root = std::sync::Arc::new(home.clone());
    (inside.bench.context.cwd, inside.bench.context.project) = (root.clone(), root);
    inside.tools = at_home(&inside, &home, &[]).await;
    assert!(inside.works("cat .eslintrc .tool/x").await.starts_with("OPENOPEN"));
    for place in [".ssh/id_ed25519", ".netrc"] {
        let said = inside.bash(&format!("cat {place}; true")).await;
        assert!(!text_of(&said).contains("CANARY"), "{place}: {}", text_of(&said));
    }
}

#[tokio::test]
async fn what_the_user_opens_is_read() {
    let Some(mut inside) = Inside::new().await else { return };
    let home = inside.bench.outside("home");
    put(&home, ".tool/x .config/tool/x .npmrc", "OPEN");
    put(&home, ".tool-2 .config/other", "CANARY");
    put(&home, ".gitconfig", "[include]\n\tpath = ~/.git-work/config\n[http]\n\tcookieFile = ~/.cookies\n");
    put(&home, ".git-work/config", "[user]\n\tname = OPEN\n");
    put(&home, ".cookies", "CANARY");
    inside.tools = at_home(&inside, &home, &[".tool", ".config/tool", ".npmrc"]).await;
    let home = home.display();
    let said = inside.works(&format!("cat {home}/.tool/x {home}/.config/tool/x {home}/.npmrc")).await;
    assert!(said.starts_with("OPENOPENOPEN"), "{said}");
    assert!(inside.works(&format!("HOME={home} git config user.name")).await.starts_with("OPEN"));
    for place in [".tool-2", ".config/other", ".cookies"] {
        inside.refused(&format!("cat {home}/{place}")).await;
    }
}

#[tokio::test]
async fn the_systems_keys_are_hidden_also_from_root() {
    let Some(inside) = Inside::new().await else { return };
    for pattern in ["/etc/shadow*", "/etc/gshadow*", "/etc/sudoers*", "/etc/ssh/ssh_host_*_key"] {
        let said = text_of(&inside.bash(&format!("for f in {pattern}; do [ ! -e $f ] || cat $f; done; true")).await);
        assert!(!said.contains("root:") && !said.contains("PRIVATE") && !said.contains("ALL="), "{pattern}: {said}");
    }
}
