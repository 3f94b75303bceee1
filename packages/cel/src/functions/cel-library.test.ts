// Results of the function libraries. Texts and values are those of kube-apiserver's libraries, cel-go/ext and Go's own packages.

import { describe, expect, it } from "vitest";
import { createCelMeter } from "../cel-budget.ts";
import { CelEvaluationError } from "../cel-value.ts";
import { checkCel } from "../check-cel.ts";
import { evaluateCel } from "../evaluate-cel.ts";
import { parseCel } from "../parse-cel.ts";
import { CEL_NAMES } from "./cel-library.ts";

function evaluate(source: string): unknown {
  const expression = parseCel(source, CEL_NAMES);
  const [fault] = checkCel(expression, {}).faults;
  if (fault !== undefined) throw fault;
  return evaluateCel(expression, { names: {}, meter: createCelMeter(1_000_000) });
}

const LIBRARIES: { readonly [name: string]: readonly string[] } = {
  strings: [
    "'Rook 👑 x'.charAt(5) == '👑' && 'ab'.charAt(2) == ''",
    "'tacocat'.indexOf('ac') == 1 && 'tacocat'.indexOf('ac', 2) == -1 && '👑a'.indexOf('a') == 1 && 'a'.indexOf('', 1) == 1",
    "'tacocat'.lastIndexOf('c') == 4 && 'tacocat'.lastIndexOf('c', 3) == 2 && 'tacocat'.lastIndexOf('') == 7",
    "'TacoÖ'.lowerAscii() == 'tacoÖ' && 'tacoö'.upperAscii() == 'TACOö'",
    "'hello hello'.replace('he', 'we') == 'wello wello' && 'hello hello'.replace('he', 'we', 1) == 'wello hello'",
    "'hello'.replace('he', 'we', 0) == 'hello' && 'ab'.replace('', '-') == '-a-b-' && 'a$'.replace('$', '$&') == 'a$&'",
    "'👑b'.replace('', '-') == '-👑-b-' && '👑b'.replace('', '-', 1) == '-👑b' && '👑b'.replace('', '-', 2) == '-👑-b' && 'ab'.replace('', '-', 9) == '-a-b-'",
    "'a b c'.split(' ') == ['a', 'b', 'c'] && 'a b c'.split(' ', 2) == ['a', 'b c'] && 'a b'.split(' ', 0) == [] && 'ab'.split('') == ['a', 'b']",
    "'tacocat'.substring(4) == 'cat' && 'tacocat'.substring(0, 4) == 'taco' && '👑ab'.substring(1, 2) == 'a'",
    "' \\u0085 trim\\n'.trim() == 'trim' && '\\ufeffx'.trim().size() == 2",
    "['x', 'y'].join() == 'xy' && ['x', 'y'].join('-') == 'x-y' && [].join() == ''",
    "strings.quote('a\"b\\n') == '\"a\\\\\"b\\\\n\"'",
    "'%s is %d%%, %.2f %x %X %b %o %e'.format([dyn('a'), 5, 1.555, 255, 'hi', 5, 8, 12.5]) == 'a is 5%, 1.55 ff 6869 101 10 1.250000×10⁰¹'",
    "'%s %s %s'.format([dyn([1, 2]), {'b': true}, null]) == '[1, 2] {\"b\":true} null'",
    "'abc'.matches('^[a-c]+$') && matches('abc', 'b') && !'abc'.matches('^b')",
  ],
  lists: [
    "[1, 2, 2, 3].sum() == 8 && [1.5, 2.5].sum() == 4.0 && [duration('1m'), duration('1s')].sum() == duration('61s') && dyn([]).sum() == 0",
    "[3, 1, 2].min() == 1 && ['b', 'a'].max() == 'b' && [1, 2, 2].isSorted() && ![2, 1].isSorted() && [].isSorted()",
    "[1, 2, 2].indexOf(2) == 1 && [1, 2, 2].lastIndexOf(2) == 2 && [1].indexOf(5) == -1 && [[1], [2]].indexOf([2]) == 1",
  ],
  sets: [
    "sets.contains([1, 2, 3], [2, 3]) && !sets.contains([1], [1, 2]) && sets.contains([1], [])",
    "sets.equivalent([1, 2, 2], [2, 1]) && !sets.equivalent([1], [2]) && sets.intersects([1, 2], [2]) && !sets.intersects([1], [])",
  ],
  regex: [
    "'abc 123'.find('[0-9]*') == '' && 'abc 123'.find('[0-9]+') == '123' && 'abc'.find('x') == ''",
    "'123 abc 456'.findAll('[0-9]+') == ['123', '456'] && '123 abc 456'.findAll('[0-9]+', 1) == ['123'] && 'a1b22'.findAll('[0-9]+', 0) == []",
    "'aaa'.find('a+?') == 'a' && 'aaa'.find('a+') == 'aaa' && 'ab'.find('a|ab') == 'a' && 'foobar'.find('(?U)o+') == 'o'",
    "'a👑b'.findAll('') == ['', '', '', ''] && 'baaab'.findAll('a*') == ['', 'aaa', '']",
  ],
  quantity: [
    "quantity('200M').compareTo(quantity('0.2G')) == 0 && quantity('50Mi').compareTo(quantity('50M')) == 1 && quantity('1') == quantity('1000m')",
    "quantity('150Mi').isGreaterThan(quantity('100Mi')) && quantity('50M').isLessThan(quantity('100M')) && quantity('1e3') == quantity('1k')",
    "quantity('50k').add(quantity('20k')) == quantity('70k') && quantity('50k').sub(20000) == quantity('30k') && quantity('50k').add(20) == quantity('50020')",
    "quantity('50k').asInteger() == 50000 && quantity('50k').sub(20000).asApproximateFloat() == 30000.0 && sign(quantity('-1')) == -1 && quantity('0').sign() == 0",
    "isQuantity('1.3Gi') && isQuantity('+.5') && isQuantity('5.') && !isQuantity('1,3G') && !isQuantity('200K') && !isQuantity('Mi') && !isQuantity('') && !isQuantity('1e2.5')",
    "quantity('50000000G').isInteger() && !quantity('9999999999999999999999999999999999999G').isInteger() && !quantity('1.5').isInteger() && !quantity('1000m').isInteger()",
    "quantity('0.0000000001') == quantity('1n')",
  ],
  ip: [
    "isIP('127.0.0.1') && isIP('::1') && !isIP('127.0.0.256') && !isIP(':::1') && !isIP('10.0.0.01') && !isIP('::ffff:1.2.3.4') && !isIP('fe80::1%eth0')",
    "ip('192.168.0.1').family() == 4 && ip('::1').family() == 6 && string(ip('2001:DB8:0:0:0:0:0:1')) == '2001:db8::1'",
    "ip.isCanonical('2001:db8::abcd') && !ip.isCanonical('2001:DB8::ABCD') && !ip.isCanonical('2001:db8::0:0:0:abcd') && ip.isCanonical('10.0.0.1')",
    "string(ip('1:0:0:2:0:0:0:3')) == '1:0:0:2::3' && string(ip('1:0:2:3:4:5:6:7')) == '1:0:2:3:4:5:6:7' && string(ip('::')) == '::'",
    "ip('0.0.0.0').isUnspecified() && ip('127.9.9.9').isLoopback() && ip('224.0.0.1').isLinkLocalMulticast() && ip('ff02::1').isLinkLocalMulticast()",
    "!ip('224.0.1.1').isLinkLocalMulticast() && ip('169.254.1.1').isLinkLocalUnicast() && ip('fe80::1').isLinkLocalUnicast() && !ip('fd80::1').isLinkLocalUnicast()",
    "ip('192.168.0.1').isGlobalUnicast() && !ip('255.255.255.255').isGlobalUnicast() && ip('2001:db8::abcd').isGlobalUnicast() && !ip('ff00::1').isGlobalUnicast()",
    "cidr('192.168.0.0/24').containsIP('192.168.0.1') && !cidr('192.168.0.0/24').containsIP(ip('192.168.1.1')) && !cidr('::/0').containsIP('10.0.0.1')",
    "cidr('192.168.0.0/16').containsCIDR('192.168.10.0/24') && !cidr('192.168.1.0/24').containsCIDR(cidr('192.168.0.0/16')) && cidr('10.0.0.0/8').containsCIDR('10.0.0.0/8')",
    "cidr('192.168.0.1/24').masked() == cidr('192.168.0.0/24') && cidr('::1/128').prefixLength() == 128 && string(cidr('192.168.0.1/24').ip()) == '192.168.0.1'",
    "isCIDR('::1/128') && !isCIDR('192.168.0.0/33') && !isCIDR('192.168.0.0') && !isCIDR('::ffff:1.2.3.4/24') && string(cidr('FD00::/8')) == 'fd00::/8'",
    "type(ip('::1')) == net.IP && type(cidr('::/0')) == net.CIDR",
  ],
  url: [
    "url('https://example.com:80/').getHost() == 'example.com:80' && url('https://[::1]:80/').getHostname() == '::1' && url('https://[::1]/').getHost() == '[::1]'",
    "url('https://user:pass@example.com:80/docs/home?k1=a&k2=b&k2=c#anchor').getQuery() == {'k1': ['a'], 'k2': ['b', 'c']}",
    "url('https://example.com/with space/').getEscapedPath() == '/with%20space/' && url('https://example.com').getEscapedPath() == ''",
    "url('HTTPS://example.com/').getScheme() == 'https' && url('/path').getScheme() == '' && url('/path').getHost() == '' && url('https://a/').getPort() == ''",
    "url('https://a/p?key with spaces=value%20x').getQuery() == {'key with spaces': ['value x']} && url('https://a/path?').getQuery() == {}",
    "isURL('/path') && isURL('https://user:pass@example.com:80/path?query=val#f') && !isURL('https://a:b:c/') && !isURL('../relative') && !isURL('') && !isURL('https://a/%zz')",
  ],
  format: [
    "!format.dns1123Label().validate('my-name').hasValue() && format.dns1123Label().validate('My').value().size() == 1",
    "!format.named('uuid').value().validate('123e4567-e89b-12d3-a456-426614174000').hasValue() && !format.named('none').hasValue()",
    "!format.dns1123LabelPrefix().validate('my-').hasValue() && format.dns1123Label().validate('my-').hasValue()",
    "format.uri().validate('../a').value() == ['parse \"../a\": invalid URI for request'] && !format.uri().validate('http://a').hasValue()",
    "format.date().validate('2021-13-01').value() == ['invalid date'] && format.byte().validate('*').value() == ['invalid base64']",
    "!format.datetime().validate('2021-01-01T00:00:00Z').hasValue() && format.uuid().validate('x').value() == ['does not match the UUID format']",
    "!format.qualifiedName().validate('a.b/c').hasValue() && format.labelValue().validate('a b').hasValue() && !format.dns1035Label().validate('a1').hasValue()",
  ],
  semver: [
    "isSemver('1.0.0') && !isSemver('v1.0') && isSemver('v1.0', true) && isSemver('01.01.01', true) && !isSemver('1.0-rc', true) && !isSemver('01.0.0')",
    "semver('1.2.3').major() == 1 && semver('1.2.3').minor() == 2 && semver('v1.2', true).patch() == 0",
    "semver('1.2.3').compareTo(semver('1.10.0')) == -1 && semver('1.0.0-rc.1').isLessThan(semver('1.0.0')) && semver('1.0.0').isGreaterThan(semver('1.0.0-alpha'))",
    "semver('1.0.0-alpha.1').isLessThan(semver('1.0.0-alpha.beta')) && semver('1.0.0+a') == semver('1.0.0+b') && semver('1.0.0-a.b').isGreaterThan(semver('1.0.0-a'))",
  ],
  conversions: [
    "string(1.0) == '1' && string(10.49) == '10.49' && string(1e6) == '1e+06' && string(0.00001) == '1e-05' && string(true) == 'true' && string(b'AB') == 'AB'",
    "double('1e3') == 1000.0 && double('inf') > 1e300 && int(-2.9) == -2 && uint('3') == 3u && int(duration('1s')) == 1000000000",
    "string(timestamp('2020-01-01T00:00:00.5Z')) == '2020-01-01T00:00:00.5Z' && string(duration('1m30s')) == '90s' && string(duration('-1.5s')) == '-1.5s'",
    "timestamp('9999-12-31T23:59:59Z').getFullYear() == 9999 && timestamp('0001-01-01T00:00:00Z').getFullYear() == 1",
  ],
};

describe.each(Object.entries(LIBRARIES))("%s", (_name, sources) => {
  it.each(sources)("%s", (source) => {
    expect(evaluate(source)).toBe(true);
  });
});

it.each([
  ["'ab'.charAt(3)", "index out of range: 3"],
  ["'ab'.substring(2, 1)", "invalid substring range. start: 2, end: 1"],
  ["[1].map(x, x > 1, x).min()", "min called on empty list"],
  ["quantity('200K')", "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"],
  ["quantity('1.5').asInteger()", "cannot convert value to integer"],
  ["ip('fe80::1%eth0')", 'IP address "fe80::1%eth0" with zone value is not allowed'],
  ["ip('::ffff:1.2.3.4')", 'IPv4-mapped IPv6 address "::ffff:1.2.3.4" is not allowed'],
  ["url('../a')", 'URL parse error during conversion from string: parse "../a": invalid URI for request'],
  [
    "url('https://a:b/')",
    'URL parse error during conversion from string: parse "https://a:b/": invalid port ":b" after host',
  ],
  ["timestamp('9999-12-31T23:59:59Z') + duration('1s')", "timestamp overflow"],
  ["'%d'.format([dyn('a')])", "error during formatting: decimal clause can only be used on integers, was given string"],
  ["'%s %s'.format(dyn(['a']))", "index 1 out of range"],
  ["string(b'\\xff')", "invalid UTF-8 in bytes, cannot convert to string"],
  ["bool('yes')", "type conversion error from 'string' to 'bool'"],
  ["timestamp('2020-01-01T00:00:00Z').getHours('Nowhere')", "unknown time zone Nowhere"],
])("%s cannot be evaluated", (source, why) => {
  const answer = (): unknown => {
    try {
      return evaluate(source);
    } catch (error) {
      return error;
    }
  };
  expect(answer()).toEqual(new CelEvaluationError(why));
});

describe("a long text", () => {
  const MB = 1_000_000;
  const run = (source: string, text: string, limit = MB): { readonly value: unknown; readonly spent: number } => {
    const meter = createCelMeter(limit);
    return { value: evaluateCel(parseCel(source, CEL_NAMES), { names: { text }, meter }), spent: meter.spent };
  };

  it("is changed a piece at a time, without a trace of the pieces", () => {
    const text = '👑Ab"~'.repeat(10_001);
    expect(run("text.replace('', '-')", text).value).toBe(["", ...text, ""].join("-"));
    expect(run("text.replace('', '-', 40000)", text).value).toBe(
      `-${[...text].slice(0, 40_000).join("-")}${[...text].slice(40_000).join("")}`,
    );
    expect(run("text.replace('b', '$&')", text).value).toBe(text.split("b").join("$&"));
    expect(run("text.replace('b', '', 10000)", text).value).toBe(text.replaceAll("b", "").replace(/"~$/, 'b"~'));
    expect(run("text.lowerAscii()", text).value).toBe(text.replaceAll("A", "a"));
    expect(run("text.upperAscii()", text).value).toBe(text.replaceAll("b", "B"));
    expect(run("strings.quote(text)", text).value).toBe(`"${text.replaceAll('"', '\\"')}"`);
    expect(run("jsonpatch.escapeKey(text)", text).value).toBe(text.replaceAll("~", "~0"));
    expect(run("text.substring(50000, 50002)", text).value).toBe("👑A");
    expect(run("text.charAt(50003)", text).value).toBe('"');
    expect(run("text.lastIndexOf('~')", text).value).toBe(50_004n);
  });

  it("costs more where it becomes a longer one, or a list of very many", () => {
    const long = "a".repeat(2_400_000);
    expect(() => run("text.replace('', 'ab')", long)).toThrow("cost limit");
    expect(() => run("text.replace('a', 'abcd')", long)).toThrow("cost limit");
    expect(() => run("text.split('')", long)).toThrow("cost limit");
    expect(() => run("text.split(',')", ",".repeat(1_500_000))).toThrow("cost limit");
    expect(run("text.split('').size()", "a".repeat(100_000)).value).toBe(100_000n);
    expect(run("text.split(',').size()", long).value).toBe(1n);
  });
});
