// Label selectors: from `k=v,!x,y in (a,b)` or a LabelSelector object to a test on labels.
// Source: k8s.io/apimachinery/pkg/labels/selector.go, pkg/apis/meta/v1/helpers.go

import { quoteGo } from "../text/go-quote.ts";
import {
  binaryOperatorList,
  checkLabelKey,
  checkSelectorLength,
  compileLabelRequirements,
  formatLabelRequirement,
  type LabelOperator,
  type LabelRequirement,
  type Labels,
  newLabelRequirement,
  SelectorError,
} from "./label-requirement.ts";
import {
  END,
  endsIdentifier,
  isWhiteSpace,
  type LabelToken,
  type LabelTokenKind,
  NUL,
  symbolAt,
} from "./label-tokens.ts";

/** A selector ready to match. Made once per request, called once per object. */
export type ParsedLabelSelector = {
  /** Sorted by key; all must hold. */
  readonly requirements: readonly LabelRequirement[];
  /** True when it matches everything. */
  readonly empty: boolean;
  /** The canonical text, which parses to the same selector. "" for the selector that matches nothing, too. */
  readonly text: string;
  /** Allocates nothing but for `>` and `<`. Absent labels are no labels. */
  readonly matches: (labels: Labels | undefined) => boolean;
};

/** The LabelSelector object of meta/v1. */
export type LabelSelector = {
  readonly matchLabels?: Labels;
  readonly matchExpressions?: readonly LabelSelectorRequirement[];
};

export type LabelSelectorRequirement = {
  readonly key: string;
  /** `In`, `NotIn`, `Exists` or `DoesNotExist`. */
  readonly operator: string;
  readonly values?: readonly string[];
};

const NO_LABELS: Labels = {};

/** The meaning of an absent LabelSelector. */
export const matchNothing: ParsedLabelSelector = {
  requirements: [],
  empty: false,
  text: "",
  matches: () => false,
};

/**
 * Parses the text of `labelSelector=`; the empty text selects everything.
 * @throws SelectorError with upstream's wording
 */
export function parseLabelSelector(text: string): ParsedLabelSelector {
  checkSelectorLength(text);
  return compileLabelSelector(parseRequirements(text));
}

/** A selector in which all the given requirements must hold. */
export function compileLabelSelector(requirements: readonly LabelRequirement[]): ParsedLabelSelector {
  const sorted = [...requirements].sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));
  const matches = compileLabelRequirements(sorted);
  return {
    requirements: sorted,
    empty: sorted.length === 0,
    get text() {
      return sorted.map(formatLabelRequirement).join(",");
    },
    matches: (labels) => matches(labels ?? NO_LABELS),
  };
}

/**
 * The selector of a LabelSelector object: absent selects nothing, `{}` everything.
 * @throws SelectorError for an unknown operator or an invalid label
 */
export function selectorFromLabelSelector(selector: LabelSelector | undefined): ParsedLabelSelector {
  if (selector === undefined) return matchNothing;
  const fromLabels = Object.entries(selector.matchLabels ?? {}).map(([key, value]) =>
    newLabelRequirement(key, "=", [value]),
  );
  const fromExpressions = (selector.matchExpressions ?? []).map(({ key, operator, values }) =>
    newLabelRequirement(key, labelOperatorOf(operator), values ?? []),
  );
  return compileLabelSelector([...fromLabels, ...fromExpressions]);
}

/**
 * The operator of a requirement in an object.
 * @throws SelectorError for one that labels do not have
 */
export function labelOperatorOf(operator: string): LabelOperator {
  switch (operator) {
    case "In":
      return "in";
    case "NotIn":
      return "notin";
    case "Exists":
      return "exists";
    case "DoesNotExist":
      return "!";
    default:
      throw new SelectorError(`${quoteGo(operator)} is not a valid label selector operator`);
  }
}

type TokenReader = {
  /** The next token; the closing one for ever. */
  readonly peek: () => LabelToken;
  readonly take: () => LabelToken;
};

/** Reads tokens lazily: nothing is read after the fault of a refused selector. */
function createTokenReader(text: string): TokenReader {
  let at = 0;
  let next: LabelToken | undefined;
  const read = (): LabelToken => {
    while (isWhiteSpace(text.charCodeAt(at))) at++;
    const first = text.charCodeAt(at);
    if (Number.isNaN(first) || first === NUL) return END;
    if (endsIdentifier(first)) {
      const symbol = symbolAt(text, at);
      at += symbol.literal.length;
      return symbol;
    }
    const start = at;
    while (at < text.length && !endsIdentifier(text.charCodeAt(at))) at++;
    const literal = text.slice(start, at);
    return { kind: literal === "in" || literal === "notin" ? literal : "identifier", literal };
  };
  return {
    peek() {
      next ??= read();
      return next;
    },
    take() {
      const token = next ?? read();
      next = undefined;
      return token;
    },
  };
}

/** Outside the operator's place `in` and `notin` are ordinary keys and values. */
const isIdentifier = (kind: LabelTokenKind): boolean => kind === "identifier" || kind === "in" || kind === "notin";

const startsRequirement = (kind: LabelTokenKind): boolean => isIdentifier(kind) || kind === "!";

const endsRequirement = (kind: LabelTokenKind): boolean => kind === "end" || kind === ",";

/** Each costs some microseconds, while values of one cost little: no tool sends more than a few. */
const MAX_REQUIREMENTS = 1_000;

function parseRequirements(text: string): readonly LabelRequirement[] {
  const reader = createTokenReader(text);
  const requirements: LabelRequirement[] = [];
  const first = reader.peek();
  if (first.kind === "end") return requirements;
  if (!startsRequirement(first.kind)) {
    throw new SelectorError(`found '${first.literal}', expected: !, identifier, or 'end of string'`);
  }
  for (;;) {
    requirements.push(parseRequirement(reader));
    if (requirements.length > MAX_REQUIREMENTS) {
      throw new SelectorError(`the selector has more than ${MAX_REQUIREMENTS} requirements`);
    }
    const { kind, literal } = reader.take();
    if (kind === "end") return requirements;
    if (kind !== ",") throw new SelectorError(`found '${literal}', expected: ',' or 'end of string'`);
    const next = reader.peek();
    if (!startsRequirement(next.kind)) {
      throw new SelectorError(`found '${next.literal}', expected: identifier after ','`);
    }
  }
}

function parseRequirement(reader: TokenReader): LabelRequirement {
  try {
    const negated = reader.peek().kind === "!";
    if (negated) reader.take();
    const { kind, literal: key } = reader.take();
    if (!isIdentifier(kind)) throw new SelectorError(`found '${key}', expected: identifier`);
    checkLabelKey(key);
    if (negated) return newLabelRequirement(key, "!", []);
    if (endsRequirement(reader.peek().kind)) return newLabelRequirement(key, "exists", []);
    const operator = parseOperator(reader);
    const values = operator === "in" || operator === "notin" ? parseValues(reader) : [parseExactValue(reader)];
    return newLabelRequirement(key, operator, values);
  } catch (error) {
    if (!(error instanceof SelectorError)) throw error;
    throw new SelectorError(`unable to parse requirement: ${error.message}`);
  }
}

function parseOperator(reader: TokenReader): LabelOperator {
  const { kind, literal } = reader.take();
  switch (kind) {
    case "in":
    case "notin":
    case "=":
    case "==":
    case "!=":
      return kind;
    case ">":
      return "gt";
    case "<":
      return "lt";
    default:
      throw new SelectorError(`found '${literal}', expected: ${binaryOperatorList}`);
  }
}

/** The one value behind `=`, which may be missing: `k=` asks for the empty value. */
function parseExactValue(reader: TokenReader): string {
  if (endsRequirement(reader.peek().kind)) return "";
  const { kind, literal } = reader.take();
  if (!isIdentifier(kind)) throw new SelectorError(`found '${literal}', expected: identifier`);
  return literal;
}

/** A list in parentheses. A missing value, as in `()`, `(a,)` and `(a,,b)`, is the empty one. */
function parseValues(reader: TokenReader): readonly string[] {
  const open = reader.take();
  if (open.kind !== "(") throw new SelectorError(`found '${open.literal}' expected: '('`);
  const first = reader.peek();
  if (first.kind === ")") {
    reader.take();
    return [""];
  }
  if (!isIdentifier(first.kind) && first.kind !== ",") {
    throw new SelectorError(`found '${first.literal}', expected: ',', ')' or identifier`);
  }
  const values: string[] = [];
  let expectsValue = true;
  for (;;) {
    const { kind, literal } = reader.take();
    if (isIdentifier(kind) && expectsValue) {
      values.push(literal);
      expectsValue = false;
      const next = reader.peek();
      if (next.kind !== "," && next.kind !== ")") {
        throw new SelectorError(`found '${next.literal}', expected: ',' or ')'`);
      }
    } else if (kind === "," || kind === ")") {
      if (expectsValue) values.push("");
      if (kind === ")") return values;
      expectsValue = true;
    } else throw new SelectorError(`found '${literal}', expected: ',', or identifier`);
  }
}
