//! Detects losses that other programs cause: in databases, clouds, clusters, containers and backups.

use std::borrow::Cow;

use super::CommandLoss;
use super::needed_words::needed_words;
use crate::permissions::shell::{Analysis, Part, Word};
use crate::permissions::subcommands::has;

const VOLUMES: &str = "it removes volumes, with the data in them";
const RESOURCES: &str = "it destroys what runs there, with the data in it";
const DATABASE: &str = "it empties a database, which only a backup can restore";
const STORED: &str = "it removes stored files, which may be nowhere else";
const UNCOMMITTED: &str = "it loses changes that are not committed";
const OVERWRITTEN: &str = "it overwrites a branch: commits that only it has are lost";
const FIRMWARE: &str = "it changes the firmware of this machine, which may no longer start";
const BACKUPS: &str = "it removes backups";
const POWER: &str = "it ends or restarts this machine, and what is not saved is lost";
const SERVER: &str = "it removes it from the server";
const TYPED: &str =
    "it types into another program of yours, which may do anything with it, outside of the sandbox";

const RIGHTS: &str =
    "it gives a user the rights of other groups, maybe of those that administer this machine";
const TRUST: &str = "it makes this machine trust certificates, and with them whoever has their keys";

/// Programs that end or restart the machine, whatever their words.
pub(super) const ENDING_MACHINE: &str = "reboot poweroff halt shutdown";

/// Programs, the words that make them destroy data, and the loss.
///
/// The words are operands in a row: one of several (`rm|remove`), the beginning of one (`delete-*`), any one (`?`),
/// or any number (`*`); `/` marks names of a list such as `pod,ns/x`. A word with `-` is an option anywhere, one with
/// `!-` an option that is written out, as unknown words are names there, and one with `=` the end of any word.
pub(in crate::permissions) const LOSSES: &[(&str, &str, &str)] = &[
    // Containers and virtual machines.
    ("docker podman nerdctl", "volume rm|remove|prune", VOLUMES),
    ("docker podman nerdctl", "system prune --volumes", VOLUMES),
    ("docker podman nerdctl", "rm|remove !-v|--volumes", VOLUMES),
    ("docker podman nerdctl", "container rm|remove !-v|--volumes", VOLUMES),
    ("docker podman nerdctl", "compose down -v|--volumes", VOLUMES),
    ("docker podman nerdctl", "compose rm !-v|--volumes", VOLUMES),
    ("docker podman nerdctl", "compose up !-V|--renew-anon-volumes", VOLUMES),
    ("docker-compose podman-compose", "down -v|--volumes", VOLUMES),
    ("docker-compose podman-compose", "rm !-v|--volumes", VOLUMES),
    ("docker-compose podman-compose", "up !-V|--renew-anon-volumes", VOLUMES),
    ("podman", "system reset", VOLUMES),
    ("podman", "machine rm|reset", RESOURCES),
    ("vagrant qm pct", "destroy", RESOURCES),
    ("lxc incus", "* delete", RESOURCES),
    ("multipass limactl colima", "delete|purge", RESOURCES),
    ("virsh", "undefine --remove-all-storage", RESOURCES),
    ("virsh", "vol-delete|pool-delete|snapshot-delete", RESOURCES),
    ("VBoxManage vboxmanage", "unregistervm|closemedium --delete", RESOURCES),
    // Clusters.
    (
        "kubectl oc",
        "delete /ns|namespace|namespaces|project|projects|pv|pvc|persistentvolume|persistentvolumes|\
         persistentvolumeclaim|persistentvolumeclaims|crd|crds|customresourcedefinition|customresourcedefinitions",
        "it removes everything that belongs to it in the cluster, with the data",
    ),
    ("k kubecolor", "delete /ns|namespace|namespaces|pv|pvc|crd|crds", RESOURCES),
    ("kubectl oc", "delete -A|--all-namespaces", RESOURCES),
    (
        "kubectl oc",
        "delete /all|deploy|deployment|deployments|svc|service|services|sts|statefulset|statefulsets --all",
        RESOURCES,
    ),
    ("eksctl kops", "delete", RESOURCES),
    ("helmfile", "destroy", RESOURCES),
    ("etcdctl", "del --prefix|--from-key", DATABASE),
    ("consul", "kv delete -recurse", DATABASE),
    ("vault", "kv destroy", DATABASE),
    ("vault", "kv metadata delete", DATABASE),
    ("vault", "secrets disable", DATABASE),
    // Infrastructure as code.
    ("terraform tofu cdktf cdk aws-cdk", "destroy", RESOURCES),
    ("terragrunt", "* destroy", RESOURCES),
    ("terraform tofu terragrunt", "apply -destroy", RESOURCES),
    ("pulumi", "destroy|down", RESOURCES),
    ("pulumi", "stack rm", RESOURCES),
    ("sls serverless", "remove", RESOURCES),
    ("sam", "delete", RESOURCES),
    // Clouds.
    ("aws", "s3 rm --recursive", STORED),
    ("aws", "s3 rb --force", STORED),
    ("aws", "s3 sync --delete", STORED),
    ("aws", "? delete-*|batch-delete-*|terminate-*|purge-*|schedule-key-deletion|close-account", RESOURCES),
    ("gcloud", "* delete|destroy|purge", RESOURCES),
    ("gcloud", "storage rm -r|-R|--recursive", STORED),
    ("gcloud", "storage rm =**", STORED),
    ("gsutil", "rm -r|-R", STORED),
    ("gsutil", "rb", STORED),
    ("gsutil", "rm =**", STORED),
    ("gsutil", "rsync -d", STORED),
    ("s5cmd", "rm|rb", STORED),
    ("bq", "rm", DATABASE),
    ("az", "* delete|delete-batch|purge", RESOURCES),
    ("azcopy", "remove|rm", STORED),
    ("doctl hcloud linode-cli scw ibmcloud vultr-cli civo exo", "* delete|destroy|rm", RESOURCES),
    ("oci", "* delete|terminate", RESOURCES),
    ("heroku", "destroy|apps:destroy|addons:destroy|pg:reset|pg:backups:delete", RESOURCES),
    ("fly flyctl", "* destroy", RESOURCES),
    ("railway", "down|delete", RESOURCES),
    ("vercel", "remove|rm", RESOURCES),
    ("netlify", "sites:delete", RESOURCES),
    ("wrangler", "* delete", RESOURCES),
    ("firebase firebase-tools", "firestore:delete|database:remove", DATABASE),
    ("supabase", "db reset", DATABASE),
    ("supabase", "projects delete", RESOURCES),
    ("rclone", "purge|delete|sync", STORED),
    ("mc", "mirror --remove", STORED),
    ("s3cmd", "sync --delete-removed", STORED),
    ("mc s3cmd", "rm|del -r|--recursive", STORED),
    ("mc s3cmd", "rb", STORED),
    ("hadoop hdfs", "fs|dfs -rm -r|-R|-skipTrash", STORED),
    ("hadoop hdfs", "fs|dfs -rmr", STORED),
    // Forges and registries.
    ("gh glab", "repo|project delete", "it removes the repository, with its issues"),
    ("gh glab", "release|issue|gist|codespace|secret|variable delete|remove", SERVER),
    ("gh", "repo sync --force", OVERWRITTEN),
    ("gh glab", "api =DELETE", SERVER),
    ("gh glab", "api =FORCE=TRUE", OVERWRITTEN),
    ("hub", "delete", "it removes the repository, with its issues"),
    ("npm pnpm", "unpublish", "it removes what is published"),
    ("tau taucode", "uninstall --purge", "it removes tau's settings and every session"),
    // Databases.
    ("dropdb", "", DATABASE),
    ("mysqladmin mariadb-admin", "* drop", DATABASE),
    ("dotnet dotnet-ef", "* database drop", DATABASE),
    ("dotnet-ef", "database drop", DATABASE),
    ("turso", "db destroy", DATABASE),
    ("pscale", "database|branch delete", DATABASE),
    ("neonctl neon", "projects|branches|databases delete", DATABASE),
    ("rabbitmqctl", "reset|force_reset|delete_queue|delete_vhost|purge_queue", DATABASE),
    ("kafka-topics kafka-topics.sh", "--delete", DATABASE),
    (
        "rails rake",
        "db:drop|db:drop:*|db:reset|db:purge|db:migrate:reset|db:schema:load|db:truncate_all|db:seed:replant",
        DATABASE,
    ),
    ("artisan", "migrate:fresh|migrate:refresh|migrate:reset|db:wipe", DATABASE),
    ("console", "doctrine:database:drop|doctrine:schema:drop", DATABASE),
    ("manage.py django-admin", "flush|reset_db", DATABASE),
    ("mix", "ecto.drop|ecto.reset", DATABASE),
    ("prisma", "migrate reset", DATABASE),
    ("prisma", "db push --force-reset", DATABASE),
    ("sequelize sequelize-cli", "db:drop", DATABASE),
    ("typeorm mikro-orm", "schema:drop|database:drop|migration:fresh", DATABASE),
    ("knex", "migrate:rollback --all", DATABASE),
    ("sqlx diesel", "database drop|reset", DATABASE),
    ("sea-orm-cli", "migrate fresh|reset|refresh", DATABASE),
    ("dbmate migrate", "drop", DATABASE),
    ("alembic", "downgrade base", DATABASE),
    ("flask", "db downgrade base", DATABASE),
    ("influx", "bucket|org delete", DATABASE),
    ("curl http https xh", "=DELETE =/_ALL", DATABASE),
    ("curl http https xh", "=DELETE =/*", DATABASE),
    ("flyway", "clean", DATABASE),
    ("mvn mvnw", "* flyway:clean|liquibase:dropAll", DATABASE),
    ("gradle gradlew", "* flywayClean|dropAll", DATABASE),
    ("wp", "db drop|reset|clean", DATABASE),
    ("drush", "sql-drop|sql:drop", DATABASE),
    ("mongorestore", "--drop", DATABASE),
    ("pg_restore", "-c|--clean", DATABASE),
    ("nats", "stream|str|s purge|rm|delete|del", DATABASE),
    ("liquibase", "dropAll|drop-all", DATABASE),
    // Processes, backups, accounts and keys of this machine.
    ("killall5", "", super::processes::EVERY_PROCESS),
    ("usermod useradd", "-G|--groups", RIGHTS),
    ("gpasswd groupmems", "-a|--add|-A|--administrators|-M|--members", RIGHTS),
    (
        "adduser addgroup",
        "* sudo|wheel|admin|root|adm|docker|lxd|incus-admin|libvirt|disk|shadow|kmem",
        RIGHTS,
    ),
    ("dseditgroup", "-a", RIGHTS),
    ("dscl", "-append|-merge", RIGHTS),
    ("setcap", "", "whoever starts the program gets more rights"),
    ("update-ca-certificates update-ca-trust", "", TRUST),
    ("trust", "anchor", TRUST),
    ("security", "add-trusted-cert|trust-settings-import|authorizationdb", TRUST),
    ("certutil certutil.exe", "-A|-addstore|-M", TRUST),
    ("mkcert", "-install", TRUST),
    ("keytool", "-import|-importcert =CACERTS", TRUST),
    ("step", "certificate install", TRUST),
    ("caddy", "trust", TRUST),
    ("dotnet", "dev-certs https --trust", TRUST),
    ("loginctl", "terminate-user|kill-user|terminate-session|kill-session", super::processes::EVERY_PROCESS),
    ("systemctl", "kill|stop|restart user@*|user-*|user.slice|session-*", super::processes::EVERY_PROCESS),
    ("systemctl loginctl", "reboot|poweroff|halt|kexec|soft-reboot|rescue|emergency|exit", POWER),
    (ENDING_MACHINE, "", POWER),
    ("init telinit", "0|1|6|s|S", POWER),
    ("kexec", "-e|--exec", POWER),
    ("slay gnome-session-quit", "", super::processes::EVERY_PROCESS),
    ("fuser", "-k|--kill -m|-M|-c|--mount", super::processes::EVERY_PROCESS),
    ("restic", "forget", BACKUPS),
    ("borg", "delete|prune", BACKUPS),
    ("snapper tmutil", "delete|remove", BACKUPS),
    ("timeshift", "--delete|--delete-all", BACKUPS),
    ("flashrom", "-w|--write", FIRMWARE),
    ("flashrom", "-E|--erase", FIRMWARE),
    ("efibootmgr", "-B|--delete-bootnum", FIRMWARE),
    ("mdadm", "--zero-superblock", "it destroys what is on the disk"),
    ("zfs", "rollback -r|-R", BACKUPS),
    ("crontab", "-r", "it removes every cron job of the user"),
    ("userdel deluser", "-r|--remove|--remove-home|--remove-all-files", "it removes a home directory"),
    (
        "gpg gpg2",
        "--delete-secret-keys|--delete-secret-key|--delete-secret-and-public-key",
        "it removes private keys, and what they encrypt can no longer be read",
    ),
    ("security", "delete-*", "it removes stored keys"),
    ("trash-empty", "", "it empties the trash"),
    ("gio", "trash --empty", "it empties the trash"),
    // Programs of the user that run already.
    ("tmux", "send*|pas*|pi*|resp*|ru*", TYPED),
    ("tmux", "* send|send-keys|paste-buffer|pipe-pane|respawn-pane|respawn-window|run-shell", TYPED),
    ("screen", "-X stuff|paste|process|exec|eval|at", TYPED),
    ("vi vim gvim nvim", "--remote-send|--remote-expr", TYPED),
    ("emacsclient", "-e|--eval", TYPED),
    ("kitty kitten", "@ * send-text|send-key|launch", TYPED),
    ("wezterm", "cli send-text", TYPED),
    ("zellij", "action|ac write|write-chars", TYPED),
    ("xdotool", "* type|key", TYPED),
    ("ydotool", "type|key", TYPED),
    ("wtype", "", TYPED),
    // Version control other than git.
    ("hg", "update|up|checkout|co -C|--clean", UNCOMMITTED),
    ("hg", "purge|clean", UNCOMMITTED),
    ("hg sl", "push -f|--force", OVERWRITTEN),
    ("hg sl", "revert -a|--all", UNCOMMITTED),
    ("hg", "strip", "it removes commits"),
    ("bfg", "", "it rewrites commits, and what it leaves out is lost"),
    ("p4", "revert ...|./...|//...", UNCOMMITTED),
    ("svn", "revert -R|--recursive", UNCOMMITTED),
    ("svn", "cleanup --remove-unversioned|--remove-ignored", UNCOMMITTED),
];

/// Clients of databases, which take statements as words or input.
pub(in crate::permissions) const CLIENTS: &str = "psql mysql mariadb sqlite3 duckdb cockroach clickhouse clickhouse-client cqlsh sqlcmd sqlplus \
                       pgcli mycli litecli usql bq turso mongosh mongo redis-cli valkey-cli wrangler prisma trino hive beeline \
                       spark-sql impala-shell snowsql isql osql influx dolt ysqlsh presto vsql mclient surreal \
                       clickhouse-local mssql-cli";
/// Programs that send what they read to a service.
const SENDERS: &str = "nc ncat netcat nc.openbsd nc.traditional socat telnet";
/// Objects of a database that hold data, or rights.
const HOLDING: &str = "database schema keyspace table tablespace collection owned role user login type extension sequence \
                       server foreign measurement series shard bucket";
/// Words behind which a statement begins within another: `EXPLAIN ANALYZE DELETE …`, `DO $$ BEGIN DROP … END $$`.
const BEFORE_STATEMENT: &str = "begin then else loop do as analyze explain atomic execute";
/// Words with which a statement runs the texts in it.
const RUNNING_TEXTS: &str = "execute exec prepare immediate sp_executesql dblink_exec dblink";

/// Programs that can say what they would do, and then do nothing.
const TRYING: &str = "kubectl oc k kubecolor aws npm pnpm rclone restic borg rake docker docker-compose mc s3cmd s5cmd \
                      azcopy trash-empty";
/// Options of them without a value.
const FLAGS: &str = "--recursive --prune --force --delete --verbose";
/// Programs that choose the database by these variables.
const READING: [(&str, &str); 4] = [
    ("rails rake", "RAILS_ENV RACK_ENV"),
    ("mix", "MIX_ENV"),
    ("sequelize sequelize-cli knex", "NODE_ENV"),
    ("console", "APP_ENV"),
];

/// The programs with such uses.
pub(super) fn programs() -> impl Iterator<Item = &'static str> {
    let listed = LOSSES.iter().flat_map(|(programs, ..)| programs.split(' '));
    listed.chain(CLIENTS.split_whitespace()).chain(SENDERS.split_whitespace())
}

/// The loss caused by a program, unless it is about a database for tests.
pub(super) fn find_loss(name: &str, words: &[Word], part: &Part) -> Option<CommandLoss> {
    let literals: Vec<Cow<'_, str>> =
        words.iter().skip(1).map(|word| word.literal().unwrap_or_default()).collect();
    let rows = LOSSES.iter().filter(|(programs, ..)| has(programs, name));
    let of_row = |(_, needed, text): &(&str, &str, &'static str)| {
        let found = needed_words(needed, words, &literals)?;
        (!only_tells(name, &found, &literals)).then_some((found, *text))
    };
    let sends = || has(SENDERS, name) || literals.iter().any(|text| text.starts_with("telnet:"));
    let shown = |word: &Word| word.literal().map_or_else(|| word.display(), Cow::into_owned);
    let texts = || words.iter().skip(1).map(shown).map(Cow::Owned).collect::<Vec<_>>();
    let statement = || (has(CLIENTS, name) || sends()).then(|| statement(&texts(), part)).flatten();
    if let Some((found, text)) = rows.filter_map(of_row).next().filter(|_| !is_for_tests(name, words, part)) {
        let named = std::iter::once(name.to_owned()).chain(found).collect();
        return Some((text.to_owned(), Some(named)));
    }
    if let Some(text) = mutation_loss(name, &literals, part) {
        return Some((text.to_owned(), None));
    }
    statement().map(|found| (of_statement(found), None))
}

fn of_statement(found: &str) -> String {
    format!("{found} removes data, which only a backup can restore")
}

/// The loss if a part writes a statement that removes data to a connection of the shell: `echo FLUSHALL >/dev/tcp/…`.
pub(super) fn find_sent_statement(part: &Part, analysis: &Analysis) -> Option<CommandLoss> {
    let mut redirects = analysis.parts.iter().flat_map(|part| &part.redirects);
    if !redirects.any(|redirect| redirect.target.display().contains("/dev/tcp/")) {
        return None;
    }
    let literals: Vec<Cow<'_, str>> = part.words.iter().skip(1).filter_map(Word::literal).collect();
    statement(&literals, part).map(|found| (of_statement(found), None))
}

/// The loss caused by a mutation of GraphQL that is given to the client of a forge.
fn mutation_loss(name: &str, literals: &[Cow<'_, str>], part: &Part) -> Option<&'static str> {
    if !has("gh glab", name) || !literals.iter().any(|text| text == "graphql") {
        return None;
    }
    let texts = literals.iter().map(AsRef::as_ref).chain(part.texts.iter().map(String::as_str));
    let mut changing = texts.filter(|text| text.contains("mutation"));
    let loss = |text: &str| {
        let mut names = text.split(|c: char| !c.is_alphanumeric());
        let is_forced = || text.split_whitespace().collect::<String>().contains("force:true");
        match names
            .any(|name| name.strip_prefix("delete").is_some_and(|what| what.starts_with(char::is_uppercase)))
        {
            true => Some(SERVER),
            false => is_forced().then_some(OVERWRITTEN),
        }
    };
    changing.find_map(loss)
}

/// Whether a program with the words of a row only tells how it is used, or what it would do.
fn only_tells(name: &str, found: &[String], literals: &[Cow<'_, str>]) -> bool {
    let Some((last, before)) = literals.split_last() else { return false };
    let is_subcommand = |text: &Cow<'_, str>| !text.starts_with('-') && found.contains(&text.to_string());
    let is_help = has("--help -help", last) || name == "aws" && last == "help";
    if is_help && before.len() == found.len() && before.iter().all(is_subcommand) {
        return true;
    }
    // An unknown word may end the options, or revoke it.
    let is_about = |(_, text): &(usize, &Cow<'_, str>)| {
        text.is_empty() || *text == "--" || text.starts_with("--") && text.contains("dry")
    };
    let mut about = literals.iter().enumerate().filter(is_about);
    let Some((at, text)) = about.next().filter(|_| has(TRYING, name) && about.next().is_none()) else {
        return false;
    };
    let is_flag = |text: &Cow<'_, str>| {
        let is_known = found.contains(&text.to_string()) || has(FLAGS, text);
        !text.starts_with('-') || is_known || text.contains('=')
    };
    has("--dryrun --dry-run --dry-run=client --dry-run=server", text)
        && at.checked_sub(1).and_then(|before| literals.get(before)).is_none_or(is_flag)
}

/// Whether a variable says that a program uses a database for tests: `RAILS_ENV=test`.
fn is_for_tests(name: &str, words: &[Word], part: &Part) -> bool {
    let Some((_, variables)) = READING.iter().find(|(programs, _)| has(programs, name)) else { return false };
    let of_word = |pair: &[Word]| {
        let [before, word] = pair else { return None };
        let text = word.literal().filter(|_| before.literal().is_some_and(|text| !text.starts_with('-')))?;
        let (variable, value) = text.split_once('=')?;
        has(variables, variable).then(|| value == "test")
    };
    let given = part.values.iter().filter(|(variable, _)| has(variables, variable));
    let given = given.map(|(_, word)| word.literal().is_some_and(|value| value == "test"));
    // Only rake takes them as words.
    let words = words.windows(2).filter(|_| has("rails rake", name)).filter_map(of_word);
    let values: Vec<bool> = given.chain(words).collect();
    !values.is_empty() && values.iter().all(|is_test| *is_test)
}

/// The statement that removes data, among the words or the input of a client.
fn statement(literals: &[Cow<'_, str>], part: &Part) -> Option<&'static str> {
    // A text may begin with a comment, which looks like an option.
    let words = literals.iter().flat_map(|text| {
        let is_short = text.starts_with('-') && !text.starts_with("--");
        let glued = if is_short { text.get(2..) } else { text.split_once('=').map(|(_, value)| value) };
        [Some(text.as_ref()), glued.filter(|_| text.starts_with('-'))].into_iter().flatten()
    });
    let removes_given =
        part.more_arguments && literals.iter().any(|word| has("del unlink", &word.to_lowercase()));
    words
        .chain(part.texts.iter().map(String::as_str))
        .find_map(removing)
        .or_else(|| removes_given.then_some("it"))
}

/// The statement of a text that removes data.
fn removing(text: &str) -> Option<&'static str> {
    let is_call = |text: &str| {
        ["dropDatabase(", ".drop(", "deleteMany({})", "remove({})"].iter().any(|call| text.contains(call))
    };
    let packed: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    let flushes = |text: &str| ["call('flush", "call(\"flush"].iter().any(|call| text.contains(call));
    // Redis takes a command in each line, also behind `$` and its length.
    let is_flush = |line: &str| {
        line.split_whitespace().next().is_some_and(|first| has("flushall flushdb", &first.to_lowercase()))
    };
    let lines = |text: &str| text.replace("\\r", "\n").replace("\\n", "\n").lines().any(is_flush);
    if is_call(&packed) || flushes(&packed.to_lowercase()) || lines(text) {
        return Some("it");
    }
    let code = without_data(text).to_lowercase();
    let runs = || code.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| has(RUNNING_TEXTS, word));
    let found = code.split(';').find_map(|statement| {
        let words: Vec<&str> = statement.split_whitespace().collect();
        (0..words.len()).filter_map(|at| inner_statement(&words, at)).find_map(|words| removed_by(&words))
    });
    // The texts in quotes of such a statement are statements.
    let quoted = || text.split(['\'', '"']).skip(1).find_map(removing);
    found.or_else(|| (text.contains(['\'', '"']) && runs()).then(quoted).flatten())
}

/// The words of the statement that begins at a word of another, up to its parenthesis: `(delete from x returning *)`.
fn inner_statement<'a>(words: &[&'a str], at: usize) -> Option<Vec<&'a str>> {
    let (first, before) = (words.get(at)?, at.checked_sub(1).and_then(|before| words.get(before)));
    let is_in = first.starts_with('(') || before.is_some_and(|before| before.ends_with('('));
    let is_behind = before.is_none_or(|before| has(BEFORE_STATEMENT, before) || before.ends_with('$'));
    let start = first.trim_start_matches('(');
    if !is_in && !is_behind || !has("drop truncate alter delete", start) {
        return None;
    }
    let rest = words.get(at + 1..)?.iter().copied();
    let mut depth = 0_i32;
    let is_within = move |word: &&str| {
        let before = depth;
        depth += word.chars().map(|c| i32::from(c == '(') - i32::from(c == ')')).sum::<i32>();
        !is_in || before >= 0
    };
    Some(std::iter::once(start).chain(rest.take_while(is_within)).collect())
}

/// The kind of a statement that removes data.
fn removed_by(words: &[&str]) -> Option<&'static str> {
    let rest = words.get(2..).unwrap_or_default();
    match (*words.first()?, *words.get(1)?) {
        ("drop", what) if has(HOLDING, what) || what.starts_with("${") || rest.contains(&"cascade") => {
            Some("DROP")
        }
        ("truncate", _) => Some("TRUNCATE"),
        ("alter", "table") if rest.get(1) == Some(&"delete") => {
            is_of_all(rest).then_some("DELETE of all rows")
        }
        ("alter", "table") => {
            const OTHERS: &str = "constraint index default not";
            let drops = |pair: &[&str]| matches!(pair, ["drop", what] if !has(OTHERS, what));
            rest.windows(2).any(drops).then_some("DROP")
        }
        ("delete", _) => {
            let from = words.iter().position(|word| *word == "from")?;
            is_of_all(words.get(from + 1..)?).then_some("DELETE without WHERE")
        }
        _ => None,
    }
}

/// Whether the words of a statement choose no rows: there is no condition, or one that is always true.
fn is_of_all(words: &[&str]) -> bool {
    let chooses = words.iter().position(|word| has("where limit join", word));
    chooses.and_then(|at| words.get(at..)).is_none_or(|chosen| {
        let [first, test @ ..] = chosen else { return true };
        let test = test.concat();
        let test = test.trim_matches(['(', ')']);
        let is_same = test.split_once('=').is_some_and(|(one, other)| one == other);
        *first == "where" && (is_same || test.is_empty() || has("true 1 1<>0 notfalse", test))
    })
}

/// A text of SQL without comments and the contents of quotes. MySQL runs what is in `/*! … */`.
fn without_data(text: &str) -> String {
    let mut code = String::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let is_line_start = code.trim_end_matches([' ', '\t']).ends_with('\n') || code.trim().is_empty();
        let behind = |start: &str, end: &str| {
            let inner = rest.strip_prefix(start)?;
            Some(inner.split_once(end).map_or("", |(_, behind)| behind))
        };
        let skipped = if let Some(run) = rest.strip_prefix("/*!") {
            Some(run.trim_start_matches(|c: char| c.is_ascii_digit()))
        } else if c == '#' && !is_line_start {
            None
        } else {
            let pairs = [("--", "\n"), ("#", "\n"), ("/*", "*/"), ("'", "'")];
            pairs.into_iter().find_map(|(start, end)| behind(start, end)).or_else(|| rest.strip_prefix("*/"))
        };
        rest = match skipped {
            Some(skipped) => {
                code.push(if c == '-' || c == '#' { '\n' } else { ' ' });
                skipped
            }
            None => {
                code.push(c);
                rest.get(c.len_utf8()..).unwrap_or_default()
            }
        };
    }
    code
}
