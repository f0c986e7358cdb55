{
  description = "A coding agent in a full-screen terminal, with every subagent live in its own pane";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs =
    { self, nixpkgs }:
    let
      systems = [
        "x86_64-linux"
        "aarch64-linux"
        "x86_64-darwin"
        "aarch64-darwin"
      ];
      forEach = make: nixpkgs.lib.genAttrs systems (system: make nixpkgs.legacyPackages.${system});
      manifest = (builtins.fromTOML (builtins.readFile ./Cargo.toml)).package;
    in
    {
      packages = forEach (pkgs: {
        default = pkgs.rustPlatform.buildRustPackage {
          pname = manifest.name;
          inherit (manifest) version;
          src = self;
          cargoLock.lockFile = ./Cargo.lock;
          buildType = "dist";
          nativeBuildInputs = [ pkgs.installShellFiles ];
          # The tests start servers, terminals and sandboxes, which a build in Nix's own sandbox does not allow.
          doCheck = false;
          postInstall = pkgs.lib.optionalString (pkgs.stdenv.buildPlatform.canExecute pkgs.stdenv.hostPlatform) ''
            $out/bin/belvedere man man
            installManPage man/*.1
            installShellCompletion --cmd belvedere \
              --bash <($out/bin/belvedere completions bash) \
              --zsh <($out/bin/belvedere completions zsh) \
              --fish <($out/bin/belvedere completions fish)
          '';
          meta = {
            inherit (manifest) description;
            license = [
              pkgs.lib.licenses.mit
              pkgs.lib.licenses.asl20
            ];
            mainProgram = manifest.name;
            platforms = systems;
          };
        };
      });

      devShells = forEach (pkgs: {
        default = pkgs.mkShell {
          packages = [
            pkgs.cargo
            pkgs.clippy
            pkgs.rustc
            pkgs.rustfmt
          ];
        };
      });
    };
}
