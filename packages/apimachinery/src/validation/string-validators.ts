// Syntax rules of names, label keys and values, and the exact sentences Kubernetes refuses them with.
// Source: k8s.io/apimachinery/pkg/util/validation/validation.go, pkg/api/validation/path/name.go

import { byteLength } from "./byte-length.ts";

/** Each validator gives one sentence per broken rule; an empty list means valid. Lengths are UTF-8 bytes. */
export type StringValidator = (value: string) => readonly string[];

const DNS_1123_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const DNS_1123_SUBDOMAIN = `${DNS_1123_LABEL}(\\.${DNS_1123_LABEL})*`;
const WILDCARD_SUBDOMAIN = `\\*\\.${DNS_1123_SUBDOMAIN}`;
const DNS_1035_LABEL = "[a-z]([-a-z0-9]*[a-z0-9])?";
const QUALIFIED_NAME = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const LABEL_VALUE = `(${QUALIFIED_NAME})?`;
const CONFIG_MAP_KEY = "[-._a-zA-Z0-9]+";

export const DNS_1123_LABEL_MAX_LENGTH = 63;
export const DNS_1123_SUBDOMAIN_MAX_LENGTH = 253;
export const DNS_1035_LABEL_MAX_LENGTH = 63;
export const QUALIFIED_NAME_MAX_LENGTH = 63;
export const LABEL_VALUE_MAX_LENGTH = 63;

const dns1123Label = new RegExp(`^(?:${DNS_1123_LABEL})$`);
const dns1123Subdomain = new RegExp(`^(?:${DNS_1123_SUBDOMAIN})$`);
const wildcardSubdomain = new RegExp(`^(?:${WILDCARD_SUBDOMAIN})$`);
const dns1035Label = new RegExp(`^(?:${DNS_1035_LABEL})$`);
const qualifiedNamePart = new RegExp(`^(?:${QUALIFIED_NAME})$`);
const labelValue = new RegExp(`^(?:${LABEL_VALUE})$`);
const configMapKey = new RegExp(`^(?:${CONFIG_MAP_KEY})$`);

const DNS_1123_LABEL_RULE = patternRule(
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
  DNS_1123_LABEL,
  ["my-name", "123-abc"],
);
const DNS_1123_SUBDOMAIN_RULE = patternRule(
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
  DNS_1123_SUBDOMAIN,
  ["example.com"],
);
const WILDCARD_SUBDOMAIN_RULE = patternRule(
  "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character",
  WILDCARD_SUBDOMAIN,
  ["*.example.com"],
);
const DNS_1035_LABEL_RULE = patternRule(
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character",
  DNS_1035_LABEL,
  ["my-name", "abc-123"],
);
const QUALIFIED_NAME_RULE = patternRule(
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
  QUALIFIED_NAME,
  ["MyName", "my.name", "123-abc"],
);
const LABEL_VALUE_RULE = patternRule(
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
  LABEL_VALUE,
  ["MyValue", "my_value", "12345"],
);
const CONFIG_MAP_KEY_RULE = patternRule(
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
  CONFIG_MAP_KEY,
  ["key.name", "KEY_NAME", "key-name"],
);

/** The sentence for a broken pattern. The blanks between examples are upstream's. */
function patternRule(rule: string, pattern: string, examples: readonly string[]): string {
  return `${rule} (e.g. ${examples.map((example) => `'${example}', `).join(" or ")}regex used for validation is '${pattern}')`;
}

/** Newer validators of upstream (`k8s.io/apimachinery/pkg/api/validate/content`) say bytes; both count them. */
type LengthUnit = "bytes" | "characters";

function check(
  value: string,
  maxLength: number,
  pattern: RegExp,
  rule: string,
  unit: LengthUnit = "characters",
): readonly string[] {
  const tooLong = byteLength(value) > maxLength;
  const matches = pattern.test(value);
  if (!tooLong && matches) return [];
  return [...(tooLong ? [`must be no more than ${maxLength} ${unit}`] : []), ...(matches ? [] : [rule])];
}

/** A DNS label that may begin with a digit: namespaces. */
export const isDNS1123Label: StringValidator = (value) =>
  check(value, DNS_1123_LABEL_MAX_LENGTH, dns1123Label, DNS_1123_LABEL_RULE).map((fault) =>
    fault === DNS_1123_LABEL_RULE && dns1123Subdomain.test(value) ? "must not contain dots" : fault,
  );

/** Labels joined by dots: the names of most kinds, API groups, key prefixes. */
export const isDNS1123Subdomain: StringValidator = (value) =>
  check(value, DNS_1123_SUBDOMAIN_MAX_LENGTH, dns1123Subdomain, DNS_1123_SUBDOMAIN_RULE);

/** `*.` and a subdomain, as ingress hosts may have. */
export const isWildcardDNS1123Subdomain: StringValidator = (value) =>
  check(value, DNS_1123_SUBDOMAIN_MAX_LENGTH, wildcardSubdomain, WILDCARD_SUBDOMAIN_RULE);

/** A DNS label that begins with a letter: versions, resource names. */
export const isDNS1035Label: StringValidator = (value) =>
  check(value, DNS_1035_LABEL_MAX_LENGTH, dns1035Label, DNS_1035_LABEL_RULE);

/** A label or annotation key, a finalizer: `name` or `example.com/name`. */
export const isQualifiedName: StringValidator = (value) => {
  const slash = value.indexOf("/");
  if (slash === -1) return checkNamePart(value);
  if (value.includes("/", slash + 1)) {
    return [
      `a valid label key ${QUALIFIED_NAME_RULE} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
    ];
  }
  const prefix = value.slice(0, slash);
  const prefixFaults =
    prefix === ""
      ? ["must be non-empty"]
      : check(prefix, DNS_1123_SUBDOMAIN_MAX_LENGTH, dns1123Subdomain, DNS_1123_SUBDOMAIN_RULE, "bytes");
  const nameFaults = checkNamePart(value.slice(slash + 1));
  if (prefixFaults.length === 0) return nameFaults;
  return [...prefixFaults.map((fault) => `prefix part ${fault}`), ...nameFaults];
};

function checkNamePart(name: string): readonly string[] {
  if (name === "") return ["name part must be non-empty", `name part ${QUALIFIED_NAME_RULE}`];
  return check(name, QUALIFIED_NAME_MAX_LENGTH, qualifiedNamePart, QUALIFIED_NAME_RULE, "bytes").map(
    (fault) => `name part ${fault}`,
  );
}

export const isValidLabelValue: StringValidator = (value) =>
  check(value, LABEL_VALUE_MAX_LENGTH, labelValue, LABEL_VALUE_RULE, "bytes");

/** A key of `data` in a ConfigMap or Secret. */
export const isConfigMapKey: StringValidator = (value) => [
  ...check(value, DNS_1123_SUBDOMAIN_MAX_LENGTH, configMapKey, CONFIG_MAP_KEY_RULE),
  ...climbsOutOfDirectory(value),
];

/** Config keys become file names, so those that mean a directory are refused. */
function climbsOutOfDirectory(value: string): readonly string[] {
  if (value === "." || value === "..") return [`must not be '${value}'`];
  return value.startsWith("..") ? ["must not start with '..'"] : [];
}

/** A name as one segment of a URL path; the weakest rule for names. */
export const isValidPathSegmentName: StringValidator = (name) =>
  name === "." || name === ".." ? [`may not be '${name}'`] : isValidPathSegmentPrefix(name);

/** The beginning of such a name: more will be appended, so `.` and `..` are fine. */
export const isValidPathSegmentPrefix: StringValidator = (name) =>
  ["/", "%"].filter((illegal) => name.includes(illegal)).map((illegal) => `may not contain '${illegal}'`);
