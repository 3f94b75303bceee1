// Field selectors: `metadata.name=x,spec.user!=y`, with backslash escapes in values.
// Source: k8s.io/apimachinery/pkg/fields/selector.go

import { checkSelectorLength, SelectorError } from "./label-requirement.ts";

export type FieldRequirement = {
  readonly field: string;
  readonly operator: "=" | "!=";
  readonly value: string;
};

/** A selector ready to match. Which fields a resource supports is for its strategy to say. */
export type ParsedFieldSelector = {
  readonly requirements: readonly FieldRequirement[];
  /** True when it matches everything. */
  readonly empty: boolean;
  /** The canonical text, which parses to the same selector. */
  readonly text: string;
  /** Does not allocate. `getField` gives "" for a field that the object does not have. */
  readonly matches: <T>(object: T, getField: (object: T, field: string) => string) => boolean;
  /** The value that the field must have, where the selector asks for exactly one. */
  readonly requiresExactMatch: (field: string) => string | undefined;
};

/** Longest first, since `=` begins `==`. */
const OPERATORS = ["!=", "==", "="] as const;

/**
 * Parses the text of `fieldSelector=`; the empty text selects everything.
 * @throws SelectorError with upstream's wording
 */
export function parseFieldSelector(text: string): ParsedFieldSelector {
  checkSelectorLength(text);
  const requirements = splitTerms(text)
    .sort()
    .filter((term) => term !== "")
    .map((term) => parseTerm(text, term))
    // `=` alone asks an unnamed field for nothing, which upstream drops.
    .filter(({ field, value }) => field !== "" || value !== "");
  return compileFieldSelector(requirements);
}

/** A selector in which all the given requirements must hold. */
export function compileFieldSelector(requirements: readonly FieldRequirement[]): ParsedFieldSelector {
  const tests = testsByField(requirements);
  return {
    requirements,
    empty: requirements.length === 0,
    text: requirements.map(({ field, operator, value }) => `${field}${operator}${escapeFieldValue(value)}`).join(","),
    matches(object, getField) {
      for (const [field, { equal, unequal }] of tests) {
        const value = getField(object, field);
        if ((equal !== undefined && value !== equal) || unequal.has(value)) return false;
      }
      return true;
    },
    requiresExactMatch: (name) => requirements.find(({ field, operator }) => field === name && operator === "=")?.value,
  };
}

/** One test per field, however often the selector names it: the cost per object depends on the fields, not on the requirements. */
function testsByField(requirements: readonly FieldRequirement[]) {
  const tests = new Map<string, { equal: string | undefined; readonly unequal: Set<string> }>();
  for (const { field, operator, value } of requirements) {
    const test = tests.get(field) ?? { equal: undefined, unequal: new Set<string>() };
    tests.set(field, test);
    if (operator === "!=") test.unequal.add(value);
    else if (test.equal === undefined) test.equal = value;
    // No value is two values.
    else if (test.equal !== value) test.unequal.add(test.equal);
  }
  return tests;
}

/** Writes a value so that it survives inside a selector. */
export function escapeFieldValue(value: string): string {
  return value.replace(/[\\,=]/g, "\\$&");
}

/** @throws SelectorError for an unknown escape and for a bare comma or equals sign */
export function unescapeFieldValue(escaped: string): string {
  let value = "";
  let inEscape = false;
  for (const char of escaped) {
    const special = char === "\\" || char === "," || char === "=";
    if (inEscape) {
      if (!special) throw new SelectorError(`invalid field selector: invalid escape sequence: \\${char}`);
      inEscape = false;
      value += char;
    } else if (char === "\\") inEscape = true;
    else if (special) {
      throw new SelectorError(`invalid field selector: unescaped character in value: ${char.charCodeAt(0)}`);
    } else value += char;
  }
  if (inEscape) throw new SelectorError("invalid field selector: invalid escape sequence: \\");
  return value;
}

/** Splits at commas that are not escaped with a backslash. */
function splitTerms(text: string): string[] {
  const terms: string[] = [];
  let start = 0;
  for (let i = 0; i < text.length; i++) {
    if (text[i] === "\\") i++;
    else if (text[i] === ",") {
      terms.push(text.slice(start, i));
      start = i + 1;
    }
  }
  terms.push(text.slice(start));
  return terms;
}

function parseTerm(selector: string, term: string): FieldRequirement {
  for (let i = 0; i < term.length; i++) {
    const operator = OPERATORS.find((candidate) => term.startsWith(candidate, i));
    if (operator === undefined) continue;
    const value = unescapeFieldValue(term.slice(i + operator.length));
    return { field: term.slice(0, i), operator: operator === "!=" ? "!=" : "=", value };
  }
  throw new SelectorError(`invalid selector: '${selector}'; can't understand '${term}'`);
}
