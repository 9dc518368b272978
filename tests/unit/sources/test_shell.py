import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedupstats.sources.shell import reads_only

READS = r"""
cat a
  cat a ;
pwd && ls -la
cat a 2>/dev/null
cat a 2> /dev/null; ls
cat a 2>&1 | head -5
cd "/a b" && ls -la "$HOME/x" ${HOME}
cat a#b
"cat" 'a b'
\ls
grep -rn "a;b|c & d > e" src
grep 'it`s $(x)' f
grep "x\"y" f | wc -l
jq '.a | {b: .c}' f.json
sort -k2,2 -u f | uniq -c
tree -L 2 -I node_modules
rg --pre-glob x y
find . -name '*.py' -type f
find . \( -name a -o -name b \) -print
git status
git -C /x --no-pager log --oneline -5
git log --oneline --no-ext-diff
git diff --output-indicator-new=x
git show HEAD:a.py | grep -n x
git grep -n foo
git branch
git branch -a
git branch -vv
git branch --list 'feat*'
git branch --contains abc
git branch --merged main
git branch --sort -committerdate
git branch --sort=-committerdate --format='%(refname)'
git tag
git tag -l 'v*'
git tag -n
git tag --points-at HEAD
git remote
git remote -v
git stash list
git stash list -p
sed -n '1,5p' f
sed -n "10,20p" f
sed -n '$p' f
sed --quiet -e 1p -e '$p' f
sed -nE 's|(a)/x|\1|p' f
sed -ne '/foo[^/]*bar/,$p' f
sed -n --expression='/[[:space:]]/{=;p}' f
sed -n '1!G;h;$p' f
Get-Content C:\a\b.txt | Select-String foo
Get-ChildItem -Path "C:\a b" -Recurse | Measure-Object
""".strip().split("\n")

NO_CLAIM = r"""
cat $(rm x)
cat "$(rm x)"
cat `rm x`
cat "${x:-`rm y`}"
cat ${x:=y}
cat $'a'
cat $[x=1]
cat <(ls)
cat a > b
cat a >> b
cat a 2>b
cat a 2>/dev/nullx
cat a 2>&12
cat a2>/dev/null
cat a &>/dev/null
cat < a
cat <<EOF
cat a &
cat a & rm b
cat a && rm b
cat a; rm b
cat a | tee b
cat a || ls
cat a |& ls
cat a &&
cat a |
cat a ;; ls
; cat a
;
(cat a)
{ cat a; }
cat {a,b}
cat a # b
! grep a b
FOO=1 cat a
if cat a; then ls; fi
for i in 1; do cat a; done
cat "a
cat 'a
cat a\
/bin/cat a
cats a
echo hi
xargs cat
tree -o x
tree -ao x
tree -R -H . -L 1
sort -o x
sort -uo x f
sort --output=x
sort --out x
sort --compress-program=x
uniq a b
uniq - b
rg --pre x y
file -C -m x
find . -delete
find . '-delete'
find . -del\ete
find . -exec rm {} +
find . -execdir rm x ;
find . -okdir rm x
find . -fprint x
find . -fprintf x y
find . -fls x
git
git $X
git commit -m x
git -c core.pager=x log
git --git-dir=x log
git -C
git diff --output=x
git log --outp x
git log --ext-diff
git grep -O foo
git grep -nOless foo
git grep --open-files-in-pager foo
git branch x
git branch -v x
git branch -l x
git branch -D x
git branch --list -D x
git branch --sort x y
git branch --set-upstream-to=x
git branch --edit-description
git tag v1
git tag -d v1
git tag --sort=x v1
git remote add o u
git remote show origin
git remote -v update
git stash
git stash pop
git stash list --output=x
sed 1p f
sed -n
sed -n w
sed -n -i 1p f
sed -ni 1p f
sed -n 1p f -i
sed -n -i.bak 1p f
sed -n --in-place 1p f
sed -n --in-place=.bak 1p f
sed -n -f s f
sed -n 'w out'
sed -n '1,5p;w x'
sed -n 's/a/b/w x' f
sed -n 's/a/b/pw x' f
sed -n 's/a/b/e' f
sed -ne 's/a/b/e' f
sed -n -e 1p -e 'w x' f
sed -n --expression='w x' f
sed -n '1e rm x' f
sed -n '/a/ W x' f
sed -n 's/[\]/]/w x/' f
sed -n '/a\/w x/p;w y' f
sed -n 's,a,b,w x' f
sed -n "$p" f
sed -n "it's $x's" f
sed -n -e"$x" f
sed -n "1,${n}p" f
cd C:\x\; npm install
dir C:\x
Get-Content a; Remove-Item b
Get-Content a`;b
Get-ChildItem "C:\a\" ; rm "b\"
Get-ChildItem C:\a\(rm b)
Get-Content (rm b)
Get-Content a | ForEach-Object { rm $_ }
""".strip().split("\n")


@pytest.mark.parametrize("command", READS)
def test_reads(command: str) -> None:
    assert reads_only(command) is True


@pytest.mark.parametrize("command", [*NO_CLAIM, "", "  ", "\n", "cat a\0", "cat 'a\0'", "cat a\r\nls"])
def test_no_claim(command: str) -> None:
    assert reads_only(command) is False


def test_quotes_that_only_powershell_knows() -> None:
    assert reads_only("cat 'a\u2019 ; rm b ; cat \u2018c'")
    assert not reads_only("Get-Content 'a\u2019 ; rm b ; Get-Content \u2018c'")


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("cat a\nls\n\n  wc b\n", True),
        ("cat a ;\nls", True),
        ("cat a &&\n  ls", True),
        ("cat a |\nwc -l", True),
        ("cat a \\\n  -n", True),
        ("grep 'a\nb' c", True),
        ("cat a\nrm b", False),
        ("cat a\n&& ls", False),
        ("cat a &&\n", False),
        # The shell joins these lines within a word.
        ("find . -del\\\nete", False),
        ("cat a; r\\\nm x", False),
    ],
)
def test_lines(command: str, expected: bool) -> None:  # noqa: FBT001
    assert reads_only(command) is expected


def test_one_bad_command_anywhere_spoils_the_chain() -> None:
    for join in (" && ", "; ", " | ", "\n"):
        assert reads_only(join.join(["cat a"] * 5))
        assert not any(
            reads_only(join.join(["cat a"] * place + ["rm b"] + ["cat a"] * (4 - place)))
            for place in range(5)
        )


@given(st.text(alphabet="cat sednfi-w/p'\"\\$;|&<>(){}#\n\t`=!1", max_size=40))
def test_any_tail_is_accepted_without_error(tail: str) -> None:
    for head in ("cat ", "sed -n ", "git branch ", "find . ", "uniq ", ""):
        assert reads_only(head + tail) in {True, False}


@given(st.text(max_size=30))
def test_a_single_quoted_argument_is_only_data(text: str) -> None:
    quoted = "'" + text.replace("'", "'\\''") + "'"
    assert reads_only(f"grep {quoted} f") is ("\0" not in text)
    assert not reads_only(f"rm {quoted}")


@given(st.lists(st.sampled_from(["cat a", "ls", "\\", "$(", ")", "`", ";", "&&", "|", ">", " ", "\n"])))
def test_nothing_unquoted_hides_a_command(parts: list[str]) -> None:
    assert not reads_only("".join(parts) + "; rm b")


@pytest.mark.parametrize(
    "command",
    [
        'cat "' + "a" * 1_000_000,
        'cat "' + '\\"' * 500_000,
        "cat " + "'\"" * 500_000,
        "cat " + "2> " * 300_000,
        "cat a" + "\n" * 1_000_000 + "(",
        "cat" + " \\\n" * 300_000 + "(",
        "sed -n '" + "s/[a/" * 200_000 + "'",
        "sed -n '" + "/[[:a:]" * 150_000 + "'",
        "sed -n " + "'a'" * 300_000 + '"$x"',
        "git " + "-C x " * 200_000,
        "cat a;" * 170_000 + "x",
    ],
    ids=lambda command: command[:12],
)
def test_hostile_megabyte(command: str) -> None:
    # A second at most; a reader that is not linear would take hours.
    assert not reads_only(command)
