{
  description = "A coding agent in your terminal";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs = { self, nixpkgs }:
    let
      systems = [ "x86_64-linux" "aarch64-linux" "x86_64-darwin" "aarch64-darwin" ];
      each = make: nixpkgs.lib.genAttrs systems (system: make nixpkgs.legacyPackages.${system});
    in
    {
      packages = each (pkgs: {
        default = pkgs.rustPlatform.buildRustPackage {
          pname = "taucode";
          version = (nixpkgs.lib.importTOML ./Cargo.toml).workspace.package.version;
          src = self;
          cargoLock.lockFile = ./Cargo.lock;
          cargoBuildFlags = [ "--bin" "tau" ];
          # They need terminals, ports and the programs of a developer's machine.
          doCheck = false;
          nativeBuildInputs = [ pkgs.installShellFiles ];
          postInstall = ''
            ln -s tau $out/bin/taucode
            for shell in bash zsh fish; do $out/bin/tau completions $shell >tau.$shell; done
            installShellCompletion --cmd tau --bash tau.bash --zsh tau.zsh --fish tau.fish
            $out/bin/tau man >tau.1
            installManPage tau.1
          '';
          meta = {
            description = "A coding agent in your terminal";
            license = nixpkgs.lib.licenses.mit;
            mainProgram = "tau";
          };
        };
      });
    };
}
