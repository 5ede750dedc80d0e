//! Texts that are JSON, almost JSON, or hard to read.

use std::sync::LazyLock;

/// Numbers in spellings that test a parser: zeros, small ones, exponents, the limits of floats and
/// of each integer type, and numbers of more digits than either has.
pub(crate) static NUMBERS: LazyLock<Vec<&str>> = LazyLock::new(|| {
    "0 -0 -0.0 0.0 0e0 0e999 -0e-999 0e99999999999999999999
    1 -1 4.0 -4.0 4.5 0.10e1 0.01e2 0.011e2
    1e2 1E2 1e+2 1E+02 100e-2 1e-2 12.50e1 12.55e1 1.5e300 123456789012345678
    0.1 0.30000000000000004
    2.2250738585072011e-308 2.2250738585072014e-308 4.9e-324 5e-324 2e-324 1e-400
    1e308 1.7976931348623157e308 1e309 1E400 -1e400 1e99999999999999999999 1e-99999999999999999999
    127 128 -128 -129 255 256 32767 32768 65535 65536
    2147483647 2147483648 -2147483648 -2147483649 4294967295 4294967296
    9007199254740991 9007199254740992 9007199254740993
    9223372036854775807 9223372036854775808 -9223372036854775808 -9223372036854775809
    18446744073709551615 18446744073709551616 18446744073709551615.0
    1844674407370955161.5e1 1844674407370955161.6e1 99999999999999999999999999999999999999
    170141183460469231731687303715884105727 170141183460469231731687303715884105728
    -170141183460469231731687303715884105728 -170141183460469231731687303715884105729
    340282366920938463463374607431768211455 340282366920938463463374607431768211456
    3.4028235e38 3.5e38 1e39 1e-46 16777217
    0.000000000000000000000000000000000000000000000000000000000000000000000000000000001
    1000000000000000000000000000000000000000000000000000000e-54
    10000000000000000000000000000000000000000000000000000001e-55
    3141592653589793238462643383279502884197e-39"
        .split_whitespace()
        .collect()
});

/// Valid JSON other than numbers.
pub(crate) static GOOD: LazyLock<Vec<&str>> = LazyLock::new(|| {
    let plain = r##"
    null true false
    "" "\u0000" "\u00e9\u00E9" "\ud83d\ude00" "\uD83D\uDE00" "\ud800" "\udc00" "\ud800\ud800"
    "\ud800x" "\ud800\n" "\ud800\u0041" "\udc00\ud800" "\"\\\/\b\f\n\r\t" "tools\/call"
    "\\u0041"
    [] [1,2] [[],[[]],{}] [null,true,false] ["a","b\\","c\""]
    {} {"a":1} {"":""} {"a":{"a":{"a":[]}}} {"a":1,"a":2} {"a\u0062":1,"\"":2}
    "##;
    let others = [
        " [ ] ",
        "\t{\n}\r",
        "{ \"a\" : 1 , \"b\" : [ 1 , 2 ] , \"c\" : { } }",
        "[1 , -0 , 1.5e3]",
        "\"\u{7f}\u{80}\u{2028}\u{2029}\"",
        "\"\u{10ffff}😀語é\"",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"echo\",\"arguments\":{\"text\":\"hi\"},\"_meta\":{\"progressToken\":\"t\"}}}",
        "{\"jsonrpc\":\"2.0\",\"id\":\"\\u0061\",\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"line\\nline\"}],\"isError\":false}}",
        "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]",
        "\"a long string without anything special in it, long enough that whole blocks of it are skipped at once and not word by word, and then some\"",
        "\"a long string with one escape at its very end, long enough that whole blocks of it are skipped at once and not word by word, and then\\n\"",
    ];
    plain.split_whitespace().chain(others).collect()
});

/// Invalid JSON.
pub(crate) static BAD: LazyLock<Vec<&str>> = LazyLock::new(|| {
    let plain = r##"
    nul nulll tru True TRUE fals falsey n t f NaN Infinity undefined 'a' a ,1 /**/1
    " "a "\ "\" "\a" "\x41" "\u" "\u0" "\u00" "\u000" "\u000g" "\u+041" "\uD83D\u" "a"b
    -Infinity +1 - --1 -a .5 -.5 5. 5.e1 1e 1e+ 1E- 1e1.5 01 -01 00 1_000 0x10 1,
    [ [1 [1, [1,] [,1] [,] [1,,2] [1} ] []] [[] [1:2] ["a":1] [1]// [} [{]}
    { {" {"a {"a" {"a": {"a":1 {"a":1, {"a":1,} {,} {"a"} {"a",1} {a:1} {1:1} {null:1} {"a"::1}
    {"a":1] {] } {}} {"a":} {:1} {[]:1} {"a":[}]
    "##;
    let others = [
        "",
        " ",
        "\n",
        "null null",
        "\"\\u 000\"",
        "\"\\u00e\u{e9}\"",
        "\"\\\u{e9}\"",
        "\"\n\"",
        "\"\t\"",
        "\"\u{0}\"",
        "\"\u{1f}\"",
        "\"\\\n\"",
        "\u{0}",
        "1\u{0}",
        "[\u{0}]",
        "{\u{0}}",
        "\u{feff}1",
        "\u{a0}1",
        "1\u{a0}",
        "\u{b}1",
        "\u{c}1",
        "1 2",
        "[1 2]",
        "{\"a\":1 \"b\":2}",
        "// c\n1",
        "1 x",
        "{} {}",
    ];
    plain.split_whitespace().chain(others).collect()
});

/// Seeds of mutations.
pub(crate) const ALL: &[&str] = &[
    "[null,true,false,0,-1,1.5e3,\"\"]",
    "{ \"a\" : 1 , \"b\" : [ 1 , 2 ] , \"c\" : { } }",
    "\"\\ud83d\\ude00\\ud800\\\"\\\\\\/\\b\\f\\n\\r\\t\"",
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"echo\",\"arguments\":{\"text\":\"hi\"},\"_meta\":{\"progressToken\":\"t\"}}}",
    "{\"a\":{\"b\":{\"c\":[[],[[]],{}]}},\"a\":null}",
    "[-0,0.0,1e400,-1E-5,18446744073709551616]",
    "[[[[[[[[[[[]]]]]]]]]]]",
    "{\"k\":\"v\",\"é\":\"語\"}",
    "\"a long string without anything special in it, long enough that whole blocks of it are skipped at once and not word by word, and then some\"",
    "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[{}]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]",
];

/// Bytes that mutations insert.
pub(crate) const CHARACTERS: &[char] = &[
    '"', '\\', '/', '{', '}', '[', ']', ':', ',', '0', '1', '9', '-', '+', '.', 'e', 'E', 'u', 'd',
    '8', 't', 'f', 'n', ' ', '\n', '\r', '\t', '\u{0}', '\u{1f}', '\u{7f}', 'é', '\u{2028}', '😀',
    'a',
];
pub(crate) static TOKENS: LazyLock<Vec<&str>> = LazyLock::new(|| {
    let plain = r#"
    null true false {} [] {"a": [[[[[[[[ ]]]]]]]] \u0041 \ud800 \udc00 \u \" "a": "" , :
    1e400 -0 0.0 1e2 1e 18446744073709551616 -9223372036854775809
    "#;
    plain.split_whitespace().chain(["  ", "\r\n"]).collect()
});
