//! Tests rules on reading against commands that do not name the file: they find it, put its name together, serve or pack
//! the folder.

use super::*;

/// They may read `.env`.
const READING: &[&str] = &[
    "python3 -c \"print(open('.e'+'nv').read())\"",
    "python3 -c \"print(open('.e' 'nv').read())\"",
    "python3 -c \"import glob; [print(open(f).read()) for f in glob.glob('.*')]\"",
    "python3 -c \"import os; print(open(os.listdir('.')[0]).read())\"",
    "python3 -c \"print(open(chr(46)+'env').read())\"",
    "python3 -c \"print(open('%senv' % '.').read())\"",
    "python3 -c \"print(open('{}env'.format('.')).read())\"",
    "python3 -c \"print(open('vne.'[::-1]).read())\"",
    "python3 -c \"print(open(''.join(['.','e','n','v'])).read())\"",
    "python3 -c \"print(open('\\x2eenv').read())\"",
    "python3 - <<'E'\nimport os\nfor d, _, fs in os.walk('.'):\n    for f in fs:\n        print(open(os.path.join(d, f)).read())\nE",
    "python3 -c \"import pathlib; [print(p.read_text()) for p in pathlib.Path('.').rglob('*')]\"",
    "python3 -c \"import pathlib; [print(p.read_text()) for p in pathlib.Path('sub').iterdir()]\"",
    "python3 -c \"import shutil; shutil.copytree('.','/tmp/x')\"",
    "python3 -c \"import shutil; shutil.make_archive('/tmp/x','zip','.')\"",
    "python3 -c \"import dotenv; print(dotenv.dotenv_values())\"",
    "perl -e 'open F, \".e\".\"nv\"; print <F>'",
    "perl -e 'open F, join(\"\", \".e\",\"nv\"); print <F>'",
    "perl -e 'for (glob \".*\") { open F, $_; print <F> }'",
    "perl -MFile::Find -e 'find(sub { open F, $_; print <F> }, \".\")'",
    "ruby -e 'puts File.read(\".e\"+\"nv\")'",
    "ruby -e 'Dir.each_child(\".\") { |f| puts File.read(f) }'",
    "node -e 'console.log(require(\"fs\").readFileSync(\".e\"+\"nv\",\"utf8\"))'",
    "node -e 'console.log(require(\"fs\").readFileSync(`.${\"env\"}`,\"utf8\"))'",
    "node -e 'const fs=require(\"fs\"); for (const f of fs.readdirSync(\".\")) console.log(fs.readFileSync(f,\"utf8\"))'",
    "node -e 'require(\"fs\").cpSync(\".\",\"/tmp/x\",{recursive:true})'",
    "php -r 'echo file_get_contents(\".e\".\"nv\");'",
    "lua -e 'print(io.open(\".e\"..\"nv\"):read(\"a\"))'",
    "awk 'BEGIN{f=\".e\" \"nv\"; while((getline l < f)>0) print l}'",
    "sqlite3 :memory: \"select readfile('.e'||'nv')\"",
    "python3 -m http.server",
    "python3 -m http.server 8000 &",
    "npx serve",
    "npx serve .",
    "npx http-server -p 80",
    "php -S localhost:8000",
    "ruby -run -e httpd",
    "busybox httpd -f",
    "caddy file-server",
    "fd -H -t f -x cat",
    "find . | cpio -o",
    "git add -f . && git diff --cached",
    "git add --force -A",
    "git add -fA",
    "git add -Af",
    "git add -f '*'",
    "git add -f ':(glob)**'",
    "git add -f --al",
    "git add --for .",
    "git add --force .",
    "git stage -f .",
    "git add -f sub",
    "git add -f -- sub/",
    "grep -f .env a.txt",
    "grep --file=.env a.txt",
    "git stash -a; git stash show -p",
    "sftp h <<< 'put .env'",
    "echo 'put .env' | sftp h",
    "rg -g '*' SECRET",
    "rg -g '*' SECRET sub",
    "rg -g '**' SECRET",
    "rg -ng '*env' SECRET",
    "rg -g'.[e]nv' SECRET",
    "rg -g=.env SECRET",
    "rg -g 'sub/.e*' SECRET",
    "rg -g '{a,sub/.env}' SECRET",
    "rg -g '*.rs' -g '.env' SECRET",
    "rg --glob='.env*' SECRET",
    "rg --iglob .ENV SECRET",
    "rg --ignore-file a.txt SECRET",
    "rg --type-add 'x:.env' -tx SECRET",
    "RIPGREP_CONFIG_PATH=a.txt rg SECRET",
    "ag -G env SECRET",
];

/// They read files that are named elsewhere, so any.
const LISTED: &[&str] = &[
    "sort --files0-from=list",
    "sort --files0-f list",
    "wc --files0-from=list",
    "wc --files0-from=list -l && shuf --files0-from list",
    "tar -T list -cf /tmp/x.tar",
    "tar cf /tmp/x.tar -T list",
    "tar cfT /tmp/x.tar list",
    "tar -cf /tmp/x.tar -Tlist",
    "tar -cf /tmp/x.tar --files-from=list",
    "rsync --files-from=list . /tmp/x",
    "xargs -a list cat",
    "xargs -a list -I{} cat {}",
    "xargs --arg-file=list head -1",
    "find . -type f | tar cT -",
    "parallel cat :::: list",
    "parallel -a list cat",
    "cat list | parallel cat",
    "7z a /tmp/x.7z @list",
    "gcc @list",
    "jar cf /tmp/x.jar @list",
    "cloc --list-file=list",
    "cloc --list-file list",
    "enscript --filelist list",
    "black --files-from list",
    "cmd --some-file-list list",
    "ctags -L list",
    "ctags -Llist",
    "cscope -i list",
    "ffmpeg -f concat -i list /tmp/out",
    "ar -M <<E\ncreate /tmp/x.a\naddmod .env\nE",
];

/// They do not, or name other files.
const OTHERS: &[&str] = &[
    "python3 -c \"print(open('src/' + 'main.rs').read())\"",
    "python3 -c \"import sys; print(open(sys.argv[1]).read())\" a.txt",
    "python3 - <<'E'\nimport glob\nfor f in glob.glob('src/**/*.rs', recursive=True):\n    s = open(f).read()\n    open(f, 'w').write(s.replace('a', 'b'))\nE",
    "python3 - <<'E'\nimport os\nfor d, _, fs in os.walk('.'):\n    for f in fs:\n        if f.endswith('.rs'):\n            print(open(os.path.join(d, f)).read())\nE",
    "python3 -c \"import pathlib; [print(p.read_text()) for p in pathlib.Path('.').rglob('*.txt')]\"",
    "python3 -c \"import pathlib; [print(p.read_text()) for p in pathlib.Path('src').iterdir()]\"",
    "python3 -c \"import os; print(os.listdir('.'))\"",
    "python3 -c \"x = 'a' + 'b' + 'c'; print(f'{x}.txt', '%s.rs' % x)\"",
    "python3 -c \"import json; d = json.load(open('package.json')); print(d['name'] + '@' + d['version'])\"",
    "node -e 'console.log(require(\"./package.json\").version + \".\" + \"0\")'",
    "node -e 'for (const f of fs.readdirSync(\"src\")) console.log(fs.readFileSync(\"src/\" + f, \"utf8\"))'",
    "perl -pi -e 's/foo/bar/' a.txt",
    "ruby -e 'puts Dir[\"src/*.rs\"].map { |f| File.read(f) }'",
    "python3 -m http.server -d src",
    "npx serve src",
    "php -S localhost:8000 -t src",
    "fd -e rs -x wc -l",
    "rg -g '*.rs' SECRET",
    "rg -g'*.rs' SECRET",
    "rg -ig '*.txt' SECRET sub",
    "rg -g '!dist' -g '!.env.example' SECRET",
    "rg -g 'src/**/*.{rs,toml}' SECRET .",
    "rg --glob='*.env.md' SECRET",
    "rg -trust -m1 -A 3 'a.u' src",
    "rg --ignore-case SECRET",
    "git add -f a.txt",
    "git add -f src",
    "git add -A '*.rs'",
    "git add sub",
    "du --files0-from=list",
    "npm install @types/node",
    "7z a /tmp/x.7z @missing",
    "kubectl create configmap x --from-file=a.txt",
    "docker run --env-file a.txt x",
    "ctags -R src",
    "parallel wc -l ::: a.txt list",
    "find -files0-from list -name x",
    "sort -T /tmp a.txt",
    "tar -czf /tmp/x.tgz src",
    "grep -f list a.txt",
    "rsync -a src/ /tmp/x",
    "git add -A",
    "git stash",
    "cargo build",
    "cargo test",
    "npm test",
    "npm run build",
    "make",
];

#[test]
fn what_takes_a_whole_folder_or_makes_a_name_may_read_a_file_in_it() {
    let stage = Stage::new();
    std::fs::write(stage.work().join("list"), "a.txt\n").unwrap();
    for list in [Deny, Ask] {
        let rules = stage.permissions(&[("read(**/.env)", list)]);
        stage.check(&rules, PermissionMode::Auto, &[Ask, Deny], READING);
        stage.check(&rules, PermissionMode::Auto, &[Ask, Deny], LISTED);
        stage.check(&rules, PermissionMode::Auto, &[Allow], OTHERS);
    }
    // Without such a file or such a rule, nothing is asked.
    stage.check(&stage.permissions(&[]), PermissionMode::Auto, &[Allow], READING);
    stage.check(&stage.permissions(&[]), PermissionMode::Auto, &[Allow], LISTED);
    let elsewhere = stage.permissions(&[("read(**/*.pem)", Deny)]);
    stage.check(&elsewhere, PermissionMode::Auto, &[Allow], READING);
}

#[test]
fn a_file_of_rules_may_make_a_search_read_a_hidden_file() {
    let stage = Stage::new();
    let rules = stage.permissions(&[("read(**/.env)", Deny)]);
    let commands = ["rg SECRET", "rg SECRET sub"];
    stage.check(&rules, PermissionMode::Ask, &[Allow], &commands);
    std::fs::write(stage.work().join("sub/.rgignore"), "!.env\n").unwrap();
    stage.check(&rules, PermissionMode::Ask, &[Ask], &commands);
}
