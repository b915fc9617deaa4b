# ruff: noqa: E501
"""Inputs that would hang, flood or kill a careless shell."""

from __future__ import annotations

_DEEP = 3000
LINES: tuple[str, ...] = (
    # loops without end
    "while :; do :; done", "while true; do echo x; done", "until false; do :; done", "for ((;;)); do :; done",
    "while :; do while :; do :; done; done", "f() { f; }; f", "f() { g; }; g() { f; }; f", "f() { f | f; }; f",
    "f() { f & f; }; f", ":(){ :|:& };:", "bomb() { bomb | bomb & }; bomb", "while :; do sleep 0; done",
    "while :; do x=$(date); done", "i=0; while [ $i -ge 0 ]; do i=$((i+1)); done", "trap 'kill $$' EXIT; kill $$",
    "while :; do echo a; done | wc -l", "while :; do echo a; done | sort", "yes | sort", "yes | wc -l", "yes", "yes | tail",
    "cat /dev/zero", "cat /dev/urandom | head -c 10", "yes | while read x; do :; done", "sleep infinity", "sleep 1e9",
    "tail -f /dev/null", "tail -f notes.txt | grep zzz", "watch -n 0.1 date", "watch true", "wait", "read x",
    "timeout 1 yes", "timeout 1 sh -c 'while :; do :; done'", "while read x; do echo $x; done", "cat", "cat -",
    "seq 1 1000000000", "seq 1000000000 | tail -1", "seq 1 0.0000001 2", "seq -s , 1 99999999", "yes $(seq 1 10000)",
    "exec sh -c 'exec sh -c \"while :; do :; done\"'", "eval 'while :; do :; done'", "x='echo $x; eval $x'; eval $x",
    "x='eval $x'; eval $x", ". ./self.sh", "echo '. ./self.sh' > self.sh; . ./self.sh", "echo 'sh self.sh' > self.sh; sh self.sh",
    "$(yes)", "echo $(yes)", "echo `yes`", "x=$(while :; do echo a; done)", "set -e; while :; do false || true; done",
    "trap 'echo x' ERR; while :; do false; done", "while :; do (exit 1); done", "find / -exec find / \\;", "xargs < notes.txt yes",
    # doubling, floods, sizes
    "a=x; while :; do a=$a$a; done", "a=x; for i in $(seq 60); do a=$a$a$a; done; echo ${#a}", "printf '%1000000000d' 1",
    "printf '%.1000000000f' 1", "printf '%*d' 999999999 1", "printf '%s' {1..100000000}", "echo {1..1000000000}",
    "echo {a..z}{a..z}{a..z}{a..z}{a..z}{a..z}", "echo {1..9}{1..9}{1..9}{1..9}{1..9}{1..9}{1..9}", "awk 'BEGIN{while(1)s=s \"x\"}'",
    "awk 'BEGIN{s=\"x\";while(1)s=s s}'", "awk 'BEGIN{while(1);}'", "awk 'BEGIN{for(;;)a[i++]=i}'", "awk 'BEGIN{while(1)print}'",
    "awk 'BEGIN{printf \"%1000000000d\",1}'", "awk 'function f(){f()} BEGIN{f()}'", "awk 'BEGIN{$100000000=1}'",
    "awk 'BEGIN{NF=1000000000}'", "awk 'BEGIN{print substr(\"x\",1,1e300)}'", "awk 'BEGIN{print 2^1e300}'", "awk '{while(1)$0=$0 $0}' notes.txt",
    "sed ':a;s/x/xx/;ta' <<< x", "sed ':a;ba' notes.txt", "sed ':a;G;ba' notes.txt", "sed 'H;G;H;G' long.txt", "sed 's/.*/&&/;:a;s/.*/&&/;ta' notes.txt",
    "jq -n '[range(1e12)]'", "jq -n 'def f: f; f'", "jq -n 'repeat(1)'", "jq -n '[repeat(1)]'", "jq -n '\"x\"*1e10'",
    "jq -n 'reduce range(1e9) as $i (0;.+1)'", "jq -n '[limit(1e9;repeat(1))]'", "jq -n '. as $x | [$x,$x] | until(false;.+.)'",
    "jq -n '[.[1e9]=1]'", "jq -n 'last(range(1e12))'", "jq -n '\"a\" | until(false; . + .)'", "jq -n 'def f(x): f(f(x)); f(1)'",
    "echo '2^1000000000' | bc", "echo '9999999^999999' | bc", "echo 'scale=999; 1/3' | bc", "expr 99999999999999999999 '*' 99999999999999999999",
    "echo $((2**63))", "echo $((1<<99999))", "echo $((9999999999999999999999))", "x=x; echo $((x))", "x='y+1'; y='x+1'; echo $((x))",
    "truncate -s 1T big", "fold -w 1 long.txt | fold -w 1", "split -l 1 long.txt", "head -c 1T notes.txt", "tail -n 999999999999 notes.txt",
    "dd if=/dev/zero of=/tmp/x bs=1G count=1000", "shuf -i 1-10000000000", "cut -c1-999999999 notes.txt", "tr '\\000-\\377' x < bin.dat",
    "numfmt --to=iec 999999999999999999999999999", "factor 99999999999999999999999", "base64 -w 1 long.txt", "date -d '@99999999999999999'",
    "date -d '+99999999999 years'", "cal 1 999999", "column -t long.txt", "xxd < /dev/zero", "od /dev/urandom", "md5sum /dev/zero", "sort /dev/zero",
    "a=(); while :; do a+=(x x x x x x x x); done", "a[99999999999]=1; echo ${#a[@]}", "a=({1..1000000}); echo ${#a[@]}",
    "x=$(printf '%0.sx' {1..100000}); y=${x//x/xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx}; echo ${#y}",
    "mkdir -p $(printf 'a/%.0s' {1..2000})", "echo x > /$(printf 'a%.0s' {1..5000})", "cp -r . ./copy", "cp -r / /tmp/all", "ln -s a b; ln -s b a; cat a",
    "ln -s . loop; find . -follow", "tar cf - / | tar tf - | wc -l", "gzip -c /dev/zero", "rm -rf /", "rm -rf --no-preserve-root /; ls", "mv / /tmp", "chmod -R 000 /; ls",
    # patterns that backtrack
    "echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab | grep -E '(a+)+$'", "echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa! | grep -E '^(a|a)*$'",
    "echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa | grep '\\(a*\\)*\\1b'", "echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa | grep -E '(a*)*\\1b'",
    "echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa | sed -E 's/(a*)*b/x/'", "echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa | sed 's/\\(a*\\)*\\1b/x/'",
    "echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa | awk '/(a+)+b/'", "[[ aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa =~ (a+)+b ]]; echo $?",
    "case aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa in *a*a*a*a*a*a*a*a*a*b) ;; esac", "x=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa; echo ${x##*a*a*a*a*a*a*a*b}",
    "x=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa; echo ${x//*a*a*a*b/y}", "grep -E '(((a{100}){100}){100})' notes.txt", "grep -E 'a{99999}' notes.txt", "grep 'a\\{1,32767\\}' notes.txt",
    "grep -P '(a+)+\\1$' notes.txt", "grep -P '(?=(a+)+b)' notes.txt", "find . -regex '\\(a*\\)*\\1b'", "expr aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa : '\\(a*\\)*b'",
    "jq -n '\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\" | test(\"(a+)+b\")'", "jq -n '\"a\" | test(\"(\")'", "ls *a*a*a*a*a*a*a*a*a*b", "sort -t '' notes.txt", "cut -d '' -f1 notes.txt",
    # nesting
    "(" * _DEEP, ")" * _DEEP, "$(" * _DEEP, "`" * 999, "{ " * _DEEP, "${" * _DEEP, "echo " + "$((" * _DEEP, "if " * _DEEP, "while " * _DEEP, "! " * _DEEP + "true",
    "echo $((" + "(" * _DEEP + "1" + ")" * _DEEP + "))", "echo " + "$(echo " * 200 + "x" + ")" * 200, "(" * 90 + "echo x" + ")" * 90, "echo $((" + "-" * _DEEP + "1))",
    "[[ " + "( " * _DEEP + "a" + " )" * _DEEP + " ]]", "[ " + "! " * _DEEP + "a ]", "[ " + "( " * _DEEP + "a ]", "case x in " * _DEEP, "f() " * _DEEP, "a=" * _DEEP, "\\" * 9999,
    "'" * 9999, '"' * 9999, '"$(' * _DEEP, "<(" * _DEEP, "a[" * _DEEP, "${a[" * _DEEP, "; " * _DEEP, "| " * _DEEP, "& " * _DEEP, "echo a" + " && echo a" * _DEEP, "echo" + " a" * 50_000,
    "true" + " | cat" * 600, "cat " + "<< A " * 500, "echo " + "x" * 1_000_000, "grep '" + "(" * _DEEP + "' notes.txt", "grep -E '" + "(" * _DEEP + "' notes.txt", "grep -E '" + "(a" * 500 + ")" * 500 + "' notes.txt",
    "grep '" + "[" * _DEEP + "'", "sed '" + "{" * _DEEP + "' notes.txt", "sed '" + "s/a/b/;" * 5000 + "' notes.txt", "awk 'BEGIN{" + "(" * _DEEP + "}'", "awk '" + "{" * _DEEP + "'", "awk 'BEGIN{x=" + "-" * _DEEP + "1}'",
    "jq '" + "[" * _DEEP + "'", "jq '" + "(" * _DEEP + "'", "jq -n '" + "1+" * _DEEP + "1'", "jq -n '" + "-" * _DEEP + "1'", "jq -n '" + ".a" * _DEEP + "'", "echo '" + "[" * _DEEP + "' | jq .",
    "echo '" + "[" * 500 + "]" * 500 + "' | jq -c .", "expr " + "'(' " * _DEEP + "1", "find . " + "'(' " * _DEEP, "find . " + "! " * _DEEP + "-name x", "test " + "'(' " * _DEEP, "echo '" + "(" * _DEEP + "1' | bc",
    # odd characters
    "echo \ud800", "echo \udcff | cat", "echo '\udfff' | grep x", "x='\ud800'; echo ${#x}", "printf '\\xff\\xfe' | wc -c", "printf '\\xff' | sed 's/./x/'", "printf '\\xff' | awk '{print length}'", "printf '\\xff' | jq -R .",
    "printf '\\000' | wc -c", "echo \0 x", "printf '\\udead'", "echo $'\\ud800'", "tr '\ud800' x < notes.txt", "grep '\ud800' notes.txt", "awk '/\ud800/' notes.txt", "jq -n '\"\\ud800\"'", "cut -d '\ud800' -f1 notes.txt",
    "date '+\ud800'", "sort -t '\ud800' notes.txt", "find . -name '\ud800'", "touch '\ud800'; ls", "mkdir '\udc80'; cd '\udc80'; pwd", "export \ud800=1", "case \ud800 in *) echo y;; esac", "\ud800", "echo \x1b[2J", "base64 -d <<< '\ud800'",
    "md5sum <<< '\ud800'", "printf '%s' '\ud800' | od -c", "printf '%c' '\ud800'", "printf '%d' \"'\ud800\"", "echo {\ud800..\udfff}", "[ '\ud800' = x ]", "[[ '\ud800' =~ . ]]", "tar cf t '\ud800'", "xargs <<< '\ud800'", "read x <<< '\ud800'; echo $x",
    "printf '%5000000s' x | sed 's/ /x/g' | wc -c", "printf '%9000000s' x", "head -c 5000000 /dev/zero | tr '\\000' x | wc -c", "sort <<< \"$(seq 1 50000)\" | tail -1", "seq 50000 | sed 's/1/2/g' | awk '{s+=$1} END {print s}'",
)  # fmt: skip
