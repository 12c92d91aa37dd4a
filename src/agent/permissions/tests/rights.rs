//! Tests of commands that give more rights, and of subcommands that are named like programs.

use super::*;
use Verdict::{Allow, Ask, Deny};

#[test]
fn more_rights_are_asked_about() {
    let asked = [
        "usermod -aG sudo x",
        "sudo usermod -a -G docker me",
        "usermod --groups=sudo x",
        "useradd -m -G wheel x",
        "gpasswd -a x sudo",
        "adduser x sudo",
        "addgroup me docker",
        "chmod u+s x",
        "chmod +s x",
        "chmod ug+s x",
        "chmod 4755 x",
        "chmod 06755 x",
        "chmod -R 2755 x",
        "chmod u=rwxs,g=rx x",
        "chmod u+x,g+s x",
        "find . -exec chmod u+s {} +",
        "install -m 4755 a b",
        "install -Dm4755 a b",
        "install --mode=u+s a b",
        "sudo setcap cap_net_raw+ep ./x",
        "sudo update-ca-certificates",
        "update-ca-trust extract",
        "trust anchor x.crt",
        "mkcert -install",
        "security add-trusted-cert -d -r trustRoot x.pem",
        "certutil -A -d sql:x -t C -n x -i x.crt",
        "keytool -importcert -cacerts -file x",
        "dotnet dev-certs https --trust",
        "sudo cp x.crt /usr/local/share/ca-certificates/",
        "tee /etc/pki/ca-trust/source/anchors/x < x.crt",
        "incrontab x",
        "incrontab -e",
        "mysqladmin status drop x",
        "mysqladmin -u root status drop x",
        "npm run env -- reboot",
        "npm exec -- shutdown now",
        "uv run reboot",
        "npx -c reboot",
        "ssh h sudo reboot",
        "watch reboot",
        "su -c 'shutdown -h now'",
        "nix-shell --run poweroff",
        "git for-each-repo --config=x reset --hard",
        "git for-each-repo --config x -- push --force",
        "git for-each-repo --config=x config core.pager x",
    ];
    check(&permissions(&[("bash", Allow)]), PermissionMode::Auto, Ask, &asked);
    let free = [
        "usermod -c x y",
        "groupadd x",
        "adduser --system --group app",
        "adduser -D app",
        "chmod 755 x",
        "chmod 0755 x",
        "chmod +x x.sh",
        "chmod u+rwX,go-w x",
        "chmod a-s x",
        "chmod -R 1777 x",
        "chmod o+s x",
        "install -m 755 a b",
        "install -Dm644 a b",
        "mkdir -m 700 x",
        "getcap x",
        "trust list",
        "mkcert localhost",
        "certutil -L -d x",
        "incrontab -l",
        "mysqladmin status",
        "npm run halt",
        "vagrant halt",
        "docker compose restart",
        "npm run env",
        "keytool -importcert -keystore store -file y",
        "git for-each-repo --config=x fetch",
    ];
    check(&permissions(&[("bash", Allow)]), PermissionMode::Auto, Allow, &free);
}

#[test]
fn a_subcommand_is_no_program() {
    let rules = permissions(&[("bash(rm *)", Deny), ("bash(cp *)", Deny), ("bash(git push *)", Deny)]);
    let clients = [
        "aws s3 rm s3://x/y", "aws s3 cp a s3://x", "gcloud storage rm gs://x/y", "gsutil cp a gs://x",
        "helm rm x", "uv pip rm x", "s3cmd put rm s3://x", "rclone cp a b", "heroku rm x", "vercel env rm x",
        "terraform state rm x", "pulumi stack rm --help", "nerdctl rm x", "docker-compose rm x",
        "lxc cp a b", "svn rm x", "hg rm x", "svn cp a b", "jj rm", "doctl compute rm --help",
    ];
    for text in clients {
        let verdict = command(&rules, PermissionMode::Auto, text).verdict;
        assert_ne!(verdict, Deny, "{text}");
    }
    let running = [
        "uv run rm x",
        "uv run -- rm x",
        "uv tool run rm x",
        "poetry run rm x",
        "pipenv run rm x",
        "hatch run rm x",
        "pdm run rm x",
        "rye run rm x",
        "bundle exec rm x",
        "npm exec -- rm x",
        "npm x -- rm x",
        "pnpm exec rm x",
        "yarn exec rm x",
        "mise exec -- rm x",
        "mise x node@20 -- rm x",
        "asdf exec rm x",
        "direnv exec . rm x",
        "nix-shell --run 'rm x'",
        "nix develop -c rm x",
        "devbox run rm x",
        "devbox run -- rm x",
        "conda run -n x rm x",
        "pixi run rm x",
        "rbenv exec rm x",
        "nvm exec 20 rm x",
        "docker-compose run web rm x",
        "nerdctl exec x rm y",
        "heroku run rm x",
        "lxc exec x -- rm y",
        "aws ecs execute-command --command 'rm x'",
        "gcloud compute ssh x -- rm y",
        "fly ssh console -C 'rm x'",
        "jj util exec -- rm x",
        "jj git push",
        "svn diff --diff-cmd rm x",
        "consul lock x rm y",
        "rclone --password-command 'rm x' ls y:",
        "doppler run -- rm x",
        "op run -- rm x",
        "some-tool rm x",
        "git for-each-repo --config=x push",
        "git for-each-repo --config x -- push origin",
    ];
    check(&rules, PermissionMode::Auto, Deny, &running);
}

#[test]
fn a_variable_that_an_option_of_a_runner_sets_is_an_assignment() {
    let rules = permissions(&[("bash(ls *)", Allow), ("bash(git diff *)", Allow)]);
    let asked = [
        "xargs --process-slot-var=PATH ls < x",
        "xargs --process-slot-var PATH -n1 ls < x",
        "xargs -0 -P2 --process-slot-var=LD_LIBRARY_PATH ls < x",
        "gxargs --process-slot-var=PATH ls < x",
        "xargs --process-slot-var=GIT_EXTERNAL_DIFF git diff < x",
        "xargs --process-slot=PATH ls < x",
        "xargs --proc PATH ls < x",
        "xargs --process-slot-var=\"$x\" ls < x",
        "xargs --process-slot-var=x xargs --process-slot-var=PATH ls < x",
        "parallel --process-slot-var=PATH ls < x",
        "parallel --process-slot-var PATH ls < x",
        "xargs --process-slot-var=PATH env ls < x",
    ];
    check(&rules, PermissionMode::Ask, Ask, &asked);
    let plan = ["xargs --process-slot-var=PATH -n1 cat < x", "xargs --process-slot-var PATH wc < x"];
    check(&permissions(&[]), PermissionMode::Plan, Deny, &plan);
    let free = [
        "xargs -0 -n 1 ls < x", "xargs --max-args=1 ls < x", "xargs --process-slot-var=slot ls < x",
        "xargs -l ls < x", "xargs -i{} ls {} < x", "xargs -P 4 -I{} ls {} < x",
    ];
    check(&rules, PermissionMode::Ask, Allow, &free);
}
